//! Reports a panic as a bug, with its own exit code, also in builds in which panics abort.

use crate::stderr;

/// The exit code of a bug.
const BUG: i32 = 101;

/// Makes every panic print what happened and where, and exit with the code of a bug.
pub(crate) fn install_hook() {
    std::panic::set_hook(Box::new(|info| {
        crate::screen::restore();
        // `eprintln!` would panic again if stderr is closed, and abort without the exit code.
        stderr::message("error", &format!("a bug in uwf: {info}"));
        stderr::message(
            "hint",
            "nothing that was recorded is lost; please report this with the command that you typed",
        );
        #[expect(clippy::exit, reason = "a hook cannot return a code")]
        std::process::exit(BUG);
    }));
}
