//! Reports a panic as a bug, with its own exit code, also in builds in which panics abort.

use std::io::{self, Write as _};

use crate::{screen, stderr};

/// The exit code of a bug.
const BUG: i32 = 101;

/// Makes every panic print what happened and where, and exit with the code of a bug.
pub(crate) fn install_hook() {
    std::panic::set_hook(Box::new(|info| {
        screen::restore();
        stderr::erase_in_panic();
        let bug = stderr::rendered("error", &format!("a bug in uwf: {info}"));
        let hint = stderr::rendered(
            "hint",
            "nothing that was recorded is lost; please report this with the command that you typed",
        );
        // `eprintln!` would panic again if stderr is closed, and abort without the exit code.
        let _ = writeln!(io::stderr(), "{bug}\n{hint}");
        #[expect(clippy::exit, reason = "a hook cannot return a code")]
        std::process::exit(BUG);
    }));
}
