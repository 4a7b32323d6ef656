//! `uwf completions` and `uwf man`: what shells and `man` know about the commands.

use std::io;
use std::path::Path;

use clap::CommandFactory as _;
use clap_mangen::Man;
use uwf_protocol::exit::Exit;

use crate::args::{Cli, Shell, furnished, whole};
use crate::completion;
use crate::failure::{Failure, note};
use crate::output;

pub(super) fn completions(shell: Shell) -> Result<Exit, Failure> {
    let script = completion::script(shell);
    let script =
        script.map_err(|error| Failure::request("cannot make the script").cause(&error))?;
    output::write(script.trim_end())?;
    Ok(Exit::Done)
}

pub(super) fn man(dir: Option<&Path>) -> Result<Exit, Failure> {
    let tree = furnished(whole::<Cli>(), "");
    let Some(dir) = dir else {
        let page =
            page(&tree).map_err(|error| Failure::request("cannot make the page").cause(&error))?;
        output::write(page.trim_end())?;
        return Ok(Exit::Done);
    };
    let written = std::fs::create_dir_all(dir).and_then(|()| clap_mangen::generate_to(tree, dir));
    written.map_err(|error| {
        Failure::request(format!("cannot write the pages to `{}`", dir.display())).cause(&error)
    })?;
    note(&format!("the pages are in `{}`", dir.display()));
    Ok(Exit::Done)
}

pub(super) fn version() -> Result<Exit, Failure> {
    output::write(Cli::command().render_version().trim_end())?;
    Ok(Exit::Done)
}

/// Returns the page of a command, as `man` reads it.
fn page(command: &clap::Command) -> io::Result<String> {
    let mut page = Vec::new();
    Man::new(command.clone()).render(&mut page)?;
    String::from_utf8(page).map_err(io::Error::other)
}
