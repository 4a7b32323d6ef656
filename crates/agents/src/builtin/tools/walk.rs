//! The walk of the tools that look for files: below a folder of the workspace, without following links. `.git`, and what a
//! `.gitignore` in or above the folder ignores, is left out.

use std::io::Read;
use std::time::Instant;

use rustix::fs::FileType;

use super::patterns::{Ignore, Pattern};
use super::workspace::Workspace;

/// How many files a tool looks at.
const MOST_FILES: usize = 20_000;
/// The largest `.gitignore` that is read, in bytes.
const MAX_IGNORE: u64 = 256 << 10;

/// The files below a folder.
#[derive(Default)]
pub(super) struct Found {
    pub(super) files: Vec<String>,
    looked_at: usize,
    /// Whether there was no time to look at all of them.
    is_cut: bool,
}

impl Found {
    pub(super) fn file(path: &str) -> Self {
        Self {
            files: vec![path.to_owned()],
            looked_at: 1,
            is_cut: false,
        }
    }

    fn is_full(&self) -> bool {
        self.looked_at >= MOST_FILES
    }

    /// Returns what to say if there are more.
    pub(super) fn note(&self) -> &'static str {
        match (self.is_cut, self.is_full()) {
            (true, _) => "[it took too long and stopped here; name a folder]\n",
            (false, true) => "[there are too many files; name a folder]\n",
            (false, false) => "",
        }
    }
}

/// Returns the files below a folder that fit a pattern, in the order of their paths. It stops at `over`.
pub(super) fn files(
    workspace: &Workspace,
    path: Option<&str>,
    pattern: Option<&str>,
    over: Instant,
) -> Result<Found, String> {
    let top = path.unwrap_or(".").trim_end_matches('/');
    let top = if top.is_empty() { "." } else { top };
    let pattern = pattern.map(Pattern::parse).transpose()?;
    let mut walk = Walk {
        workspace,
        pattern,
        top: top.to_owned(),
        over,
        found: Found::default(),
    };
    // The folder that was named must be there. Those below it may be gone by now.
    let entries = workspace.entries(top)?;
    let above = above(top);
    let mut ignores: Vec<(String, Ignore)> = above
        .map(|folder| (folder.to_owned(), walk.rules(folder)))
        .collect();
    walk.folder(top, entries, &mut ignores);
    Ok(walk.found)
}

struct Walk<'a> {
    workspace: &'a Workspace,
    pattern: Option<Pattern>,
    top: String,
    /// When it must stop.
    over: Instant,
    found: Found,
}

impl Walk<'_> {
    /// Adds the files of a folder and of those in it. `ignores` has the rules of the folders above, outermost first.
    fn folder(
        &mut self,
        path: &str,
        entries: Vec<(String, FileType)>,
        ignores: &mut Vec<(String, Ignore)>,
    ) {
        ignores.push((path.to_owned(), self.rules(path)));
        for (name, kind) in entries {
            self.found.is_cut |= Instant::now() >= self.over;
            if self.found.is_cut || self.found.is_full() {
                break;
            }
            let inside = below(path, &name);
            let is_folder = kind == FileType::Directory;
            if name == ".git" || is_ignored(ignores, &inside, is_folder) {
                continue;
            }
            self.found.looked_at += 1;
            if is_folder {
                if let Ok(entries) = self.workspace.entries(&inside) {
                    self.folder(&inside, entries, ignores);
                }
            } else if kind == FileType::RegularFile && self.fits(&inside) {
                self.found.files.push(inside);
            }
        }
        ignores.pop();
    }

    fn fits(&self, path: &str) -> bool {
        let inside = relative(&self.top, path);
        let pattern = self.pattern.as_ref();
        pattern.is_none_or(|pattern| pattern.fits(inside) || pattern.fits(path))
    }

    fn rules(&self, folder: &str) -> Ignore {
        let file = self.workspace.read(&below(folder, ".gitignore"));
        let mut text = Vec::new();
        let read = file.map(|file| file.take(MAX_IGNORE).read_to_end(&mut text));
        match read {
            Ok(Ok(_)) => Ignore::parse(&String::from_utf8_lossy(&text)),
            Ok(Err(_)) | Err(_) => Ignore::default(),
        }
    }
}

/// Returns the folders above a folder, outermost first. Of a folder that may be elsewhere there are none.
fn above(top: &str) -> impl Iterator<Item = &str> {
    let is_elsewhere = top.starts_with('/') || top.split('/').any(|name| name == "..");
    let is_top = is_elsewhere || top == ".";
    let ends = top.match_indices('/').map(|(end, _)| &top[..end]);
    std::iter::once(".").chain(ends).filter(move |_| !is_top)
}

/// Tells whether a path is ignored: the innermost rules that are about it count.
fn is_ignored(ignores: &[(String, Ignore)], path: &str, is_folder: bool) -> bool {
    let rules = ignores.iter().rev();
    let mut about =
        rules.filter_map(|(folder, rules)| rules.ignores(relative(folder, path), is_folder));
    about.next().unwrap_or(false)
}

fn below(folder: &str, name: &str) -> String {
    match folder {
        "." => name.to_owned(),
        folder => format!("{folder}/{name}"),
    }
}

fn relative<'a>(folder: &str, path: &'a str) -> &'a str {
    let inside = path.strip_prefix(folder);
    inside
        .and_then(|path| path.strip_prefix('/'))
        .unwrap_or(path)
}
