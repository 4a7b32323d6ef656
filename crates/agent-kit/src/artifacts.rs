//! Artefacts: stores the files that an agent left in the folder of its attempt.
//!
//! The answer is accepted by then, so nothing here fails a step: a file that cannot be kept is left out, and the step says why.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::Path;

use uwf_cas_fs::{BytesError, Store};
use uwf_durable::{Found, Walk};
use uwf_protocol::agent::AgentCall;
use uwf_protocol::agent::env::ARTIFACTS;
use uwf_protocol::artifact::{Artifact, MAX_BYTES, MAX_FILE_BYTES, MAX_FILES};
use uwf_protocol::ids::CasRef;
use uwf_storage::Env;
use uwf_util::mask::{MaskStream, Masks};
use uwf_util::printable::printable;
use uwf_util::size;

use crate::context;
use crate::notes::warning;

/// Stores the files that the agent left in the folder of its attempt, and tells people which are left out. An agent that was
/// started by hand has no such folder.
pub(crate) fn of_attempt(
    (env, call): (&Env, &AgentCall),
    store: &Store,
    masks: &Masks,
    now_ms: i64,
) -> Vec<Artifact> {
    let folder = env.var_os(ARTIFACTS);
    let Some(folder) = folder.filter(|_| context::is_about(env, call)) else {
        return Vec::new();
    };
    let artifacts = collect(store, Path::new(folder), masks, now_ms);
    if let Some(left_out) = left_out(&artifacts) {
        warning(&left_out);
    }
    artifacts
}

/// Stores the files below a folder. No link is followed. A folder that is not there has none.
fn collect(store: &Store, folder: &Path, masks: &Masks, now_ms: i64) -> Vec<Artifact> {
    let mut collection = Collection {
        store,
        masks,
        now_ms,
        left: MAX_BYTES,
        artifacts: Vec::new(),
    };
    let is_folder = folder.symlink_metadata().is_ok_and(|found| found.is_dir());
    if is_folder && let Err(error) = collection.walk(folder) {
        let problem = format!("the folder could not be read to its end: {error}");
        collection.leave_out(".", &problem);
    }
    collection.artifacts
}

struct Collection<'a> {
    store: &'a Store,
    masks: &'a Masks,
    now_ms: i64,
    /// How many bytes may be stored yet.
    left: u64,
    artifacts: Vec<Artifact>,
}

impl Collection<'_> {
    fn walk(&mut self, folder: &Path) -> io::Result<()> {
        let folder: OwnedFd = File::open(folder)?.into();
        let mut walk = Walk::of(&folder, |_| true).map_err(io::Error::other)?;
        while let Some(found) = walk.next().map_err(io::Error::other)? {
            if found == Found::Folder {
                continue;
            }
            let path = walk.path();
            let path = path.to_string_lossy();
            if self.artifacts.len() == MAX_FILES {
                let problem = format!(
                    "a step keeps {MAX_FILES} files at most; this one and those after it are left out"
                );
                self.leave_out(&path, &problem);
                break;
            }
            // A replacement character stands for bytes that are no text.
            if self.masks.text(&path) != path {
                self.leave_out(&path, "its name has a secret of the agent");
            } else if shown(&path) != path || path.contains(char::REPLACEMENT_CHARACTER) {
                self.leave_out(&path, "its name cannot be shown as it is");
            } else if found.is_regular() {
                self.keep(&walk, &path);
            } else {
                self.leave_out(&path, "it is not a regular file");
            }
        }
        Ok(())
    }

    /// Stores a file, or says why it is left out. One that is gone meanwhile is no artefact.
    fn keep(&mut self, walk: &Walk, path: &str) {
        let file = match walk.open_file() {
            Ok(Some(file)) => file,
            Ok(None) => return,
            Err(error) => return self.leave_out(path, &format!("it cannot be read: {error}")),
        };
        match self.store(file) {
            Ok((node, bytes)) => {
                self.left -= bytes;
                self.artifacts.push(Artifact {
                    path: path.to_owned(),
                    bytes,
                    node: Some(node),
                    problem: None,
                });
            }
            Err(problem) => self.leave_out(path, &problem),
        }
    }

    /// Stores the bytes of a file. The error is the problem for people.
    fn store(&self, file: File) -> Result<(CasRef, u64), String> {
        let most = MAX_FILE_BYTES.min(self.left);
        let size = file.metadata().map_or(0, |found| found.len());
        let mut source = Source {
            file,
            most,
            read: 0,
            masking: Some(self.masks.stream()),
            refused: (size > most).then_some(Refused::TooLarge),
        };
        let stored = match source.refused {
            Some(_) => None,
            None => Some(self.store.put_bytes(&mut source, self.now_ms)),
        };
        match (source.refused, stored) {
            (Some(Refused::TooLarge), _) => Err(self.too_large(most)),
            (Some(Refused::HasSecret), _) => Err("it has a secret of the agent".to_owned()),
            (None, Some(Ok(node))) => Ok((node, source.read)),
            (None, Some(Err(BytesError::Store(error)))) if error.is_of_full_disk() => {
                Err("the disk is full".to_owned())
            }
            (None, Some(Err(error))) => Err(error.to_string()),
            (None, None) => unreachable!("what is not refused is stored"),
        }
    }

    fn too_large(&self, most: u64) -> String {
        match most == MAX_FILE_BYTES {
            true => format!("a file may have {} at most", size::format(MAX_FILE_BYTES)),
            false => format!(
                "the files of a step may have {} together",
                size::format(MAX_BYTES)
            ),
        }
    }

    fn leave_out(&mut self, path: &str, problem: &str) {
        self.artifacts.push(Artifact {
            path: shown(&self.masks.text(path)),
            bytes: 0,
            node: None,
            problem: Some(self.masks.text(problem)),
        });
    }
}

/// Returns a path as it can be shown in one line.
fn shown(path: &str) -> String {
    let line = path.replace('\n', "\\n").replace('\t', "\\t");
    printable(&line).into_owned()
}

/// Why the bytes of a file are not stored.
#[derive(Clone, Copy)]
enum Refused {
    TooLarge,
    HasSecret,
}

/// A file that is read until it has too many bytes, or a secret.
struct Source {
    file: File,
    most: u64,
    read: u64,
    /// `None` after the end of the file.
    masking: Option<MaskStream>,
    refused: Option<Refused>,
}

impl Read for Source {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(buffer)?;
        self.read += count as u64;
        // An agent that goes on writing may make it larger than it was.
        if self.read > self.most {
            self.refused = Some(Refused::TooLarge);
        } else if self.finds_secret(&buffer[..count]) {
            self.refused = Some(Refused::HasSecret);
        }
        match self.refused {
            Some(_) => Err(io::Error::other("the file is left out")),
            None => Ok(count),
        }
    }
}

impl Source {
    /// Tells whether a secret was found so far. Nothing more was read at the end of the file: then a secret is found, too, that
    /// could have been the beginning of a longer one.
    fn finds_secret(&mut self, read: &[u8]) -> bool {
        let Some(mut masking) = self.masking.take() else {
            return false;
        };
        if read.is_empty() {
            return masking.finish(&mut Vec::new());
        }
        masking.push(read, &mut Vec::new());
        let has_found = masking.has_found();
        self.masking = Some(masking);
        has_found
    }
}

/// Returns what people read about files that were left out; `None` if there are none.
fn left_out(artifacts: &[Artifact]) -> Option<String> {
    let left_out = artifacts.iter().filter_map(|one| {
        let problem = one.problem.as_ref()?;
        Some(format!("`{}` ({problem})", one.path))
    });
    let left_out: Vec<String> = left_out.collect();
    (!left_out.is_empty()).then(|| format!("left out of the artefacts: {}", left_out.join(", ")))
}
