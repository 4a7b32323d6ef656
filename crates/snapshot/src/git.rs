//! Calls of the program `git`.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use rustix::fs::{MemfdFlags, memfd_create};
use uwf_protocol::config::RemoteConfig;

use crate::SnapshotError;
use crate::start::{Ended, Start, Unsupervised};

/// The variables that would lead git to another repository, index or object store: a hook of git sets them for the programs
/// that it starts.
const FOREIGN: [&str; 9] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_NAMESPACE",
    "GIT_PREFIX",
    "GIT_LITERAL_PATHSPECS",
];
/// What holds for every call: no hook and no monitor of the user is started, new objects are written out together, no
/// line ending is a reason to refuse a file, and worktrees are known by whole paths.
const SETTINGS: [&str; 5] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.fsyncMethod=batch",
    "core.safecrlf=false",
    "worktree.useRelativePaths=false",
];
/// How much of the end of a message is kept, in bytes.
const MESSAGE_END: usize = 1000;

/// Calls of git in one directory.
pub(crate) struct Git<'a> {
    directory: &'a Path,
    index: Option<&'a Path>,
    /// Whether the directory is the working tree, whatever the repository says.
    is_tree: bool,
    start: &'a dyn Start,
}

impl<'a> Git<'a> {
    pub(crate) fn at(directory: &'a Path) -> Self {
        Self {
            directory,
            index: None,
            is_tree: false,
            start: &Unsupervised,
        }
    }

    /// Is started in this way.
    pub(crate) fn by(self, start: &'a dyn Start) -> Self {
        Self { start, ..self }
    }

    /// Takes the directory for the working tree, also if the repository names another one (`core.worktree`).
    pub(crate) fn in_this_tree(self) -> Self {
        Self {
            is_tree: true,
            ..self
        }
    }

    /// Uses this index in place of the user's.
    pub(crate) fn with_index(self, index: &'a Path) -> Self {
        Self {
            index: Some(index),
            ..self
        }
    }

    /// Returns what git prints, without the newline at its end.
    pub(crate) fn line<S: AsRef<OsStr>>(&self, args: &[S]) -> Result<String, SnapshotError> {
        let printed = self.bytes(args, b"")?;
        Ok(String::from_utf8_lossy(&printed).trim_end().to_owned())
    }

    /// Returns the path that git prints.
    pub(crate) fn path(&self, args: &[&str]) -> Result<PathBuf, SnapshotError> {
        let mut printed = self.bytes(args, b"")?;
        if printed.last() == Some(&b'\n') {
            printed.pop();
        }
        Ok(self.directory.join(OsString::from_vec(printed)))
    }

    /// Returns what git prints when it is given this input.
    pub(crate) fn bytes<S: AsRef<OsStr>>(
        &self,
        args: &[S],
        input: &[u8],
    ) -> Result<Vec<u8>, SnapshotError> {
        let run = || {
            // A pipe could fill up while nobody reads it.
            let (mut printed, mut said) = (file_of(b"")?, file_of(b"")?);
            let mut command = self.command(args, input)?;
            command
                .stdout(printed.try_clone()?)
                .stderr(said.try_clone()?);
            let ended = self.start.run(&mut command)?;
            Ok((ended, all_of(&mut printed)?, all_of(&mut said)?))
        };
        let run: io::Result<_> = run();
        let (ended, printed, said) = run.map_err(|error| self.not_started(error))?;
        let command = || args.first().map_or_else(String::new, name_of);
        match ended {
            Ended::Exited(status) if status.success() => Ok(printed),
            Ended::Exited(status) => Err(failed(args, status, &said)),
            Ended::TooSlow(limit) => Err(SnapshotError::TooSlow {
                command: command(),
                limit,
            }),
            Ended::Stopped(signal) => Err(SnapshotError::Stopped {
                command: command(),
                signal,
            }),
        }
    }

    /// Returns the first bytes that git prints, at most so many, and how many it prints in all.
    pub(crate) fn beginning<S: AsRef<OsStr>>(
        &self,
        args: &[S],
        most: u64,
    ) -> Result<(Vec<u8>, u64), SnapshotError> {
        let read = || {
            // A pipe could fill up while the answer is read.
            let mut said = file_of(b"")?;
            let mut command = self.command(args, b"")?;
            command.stdout(Stdio::piped()).stderr(said.try_clone()?);
            let mut child = command.spawn()?;
            let mut printed = child.stdout.take().expect("its stdout is a pipe");
            let mut beginning = Vec::new();
            let shown = (&mut printed).take(most).read_to_end(&mut beginning);
            let rest = shown.and_then(|_| io::copy(&mut printed, &mut io::sink()));
            drop(printed);
            let status = child.wait()?;
            let length = beginning.len() as u64 + rest?;
            Ok((beginning, length, status, all_of(&mut said)?))
        };
        let read: io::Result<_> = read();
        let (beginning, length, status, said) = read.map_err(|error| self.not_started(error))?;
        match status.success() {
            true => Ok((beginning, length)),
            false => Err(failed(args, status, &said)),
        }
    }

    fn not_started(&self, error: io::Error) -> SnapshotError {
        match self.directory.is_dir() {
            true => SnapshotError::NoGit(error),
            false => SnapshotError::Gone(self.directory.to_owned()),
        }
    }

    fn command<S: AsRef<OsStr>>(&self, args: &[S], input: &[u8]) -> io::Result<Command> {
        let mut command = Command::new("git");
        for setting in SETTINGS {
            command.args(["-c", setting]);
        }
        command.args(args).current_dir(self.directory);
        for name in FOREIGN {
            command.env_remove(name);
        }
        // Filters are programs that the repository names, and agents may write that.
        command.env_remove(RemoteConfig::PASSWORD);
        // Messages are read by this program, too. A call that only looks must not write the user's index.
        command.env("LC_ALL", "C").env("GIT_OPTIONAL_LOCKS", "0");
        // Nobody is there to answer a question, and nothing is fetched.
        command
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_NO_LAZY_FETCH", "1");
        for who in ["AUTHOR", "COMMITTER"] {
            let name: &OsStr = OsStr::new("uwf");
            command.env(format!("GIT_{who}_NAME"), name);
            command.env(format!("GIT_{who}_EMAIL"), "uwf@localhost");
        }
        if let Some(index) = self.index {
            command.env("GIT_INDEX_FILE", index);
        }
        if self.is_tree {
            command.env("GIT_WORK_TREE", self.directory);
        }
        match input {
            b"" => command.stdin(Stdio::null()),
            input => command.stdin(file_of(input)?),
        };
        Ok(command)
    }
}

/// Returns why a call of git failed.
fn failed<S: AsRef<OsStr>>(args: &[S], status: ExitStatus, said: &[u8]) -> SnapshotError {
    let command = args.first().map_or_else(String::new, name_of);
    if status.code().is_none() {
        // It has refused nothing, so nothing follows from it.
        return SnapshotError::Ended { command, status };
    }
    let said = String::from_utf8_lossy(said);
    let said = said.trim();
    let from = said.ceil_char_boundary(said.len().saturating_sub(MESSAGE_END));
    let message = match &said[from..] {
        "" => status.to_string(),
        said => said.to_owned(),
    };
    SnapshotError::Refused { command, message }
}

fn name_of<S: AsRef<OsStr>>(word: &S) -> String {
    word.as_ref().to_string_lossy().into_owned()
}

/// Returns the whole content of a file.
fn all_of(file: &mut File) -> io::Result<Vec<u8>> {
    file.rewind()?;
    let mut content = Vec::new();
    file.read_to_end(&mut content)?;
    Ok(content)
}

/// Returns a file in memory with this content. A pipe could fill up while git writes its answer.
fn file_of(input: &[u8]) -> io::Result<File> {
    let mut file = File::from(memfd_create("input", MemfdFlags::CLOEXEC)?);
    file.write_all(input)?;
    file.rewind()?;
    Ok(file)
}
