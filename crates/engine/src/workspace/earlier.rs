//! Folders on record that lie in a worktree which the thread does not work in any more: that of the thread that it was forked
//! from, or its own under another root. What lies there stays as it is.

use std::path::{Path, PathBuf};

use indexmap::IndexSet;
use uwf_protocol::ids::ThreadId;
use uwf_snapshot::tree_around;
use uwf_storage::real;

use crate::Site;
use crate::thread::Thread;

/// Returns the folder in which a step is to be done again that was done in this one. In place of a folder in an earlier worktree,
/// it is the one of the working tree that the thread was started in; its own worktree stands for that.
pub(crate) fn folder_again(site: &Site, thread: &Thread, folder: String) -> String {
    let Some(below) = below_earlier(site, thread.id, Path::new(&folder)) else {
        return folder;
    };
    let own = thread.start.cwd.as_deref().unwrap_or_default();
    let tree = real(Path::new(own));
    let again = tree_around(&tree).join(below);
    again.to_str().map_or(folder, str::to_owned)
}

/// Returns the working tree of a thread that stands for one on record: its own worktree in place of an earlier one.
pub(crate) fn tree_now(site: &Site, thread: ThreadId, tree: PathBuf) -> PathBuf {
    let own = site.root.worktree(thread).read().ok().flatten();
    match own.filter(|own| own.made && own.place != tree) {
        Some(own) if below_earlier(site, thread, &tree).is_some() => own.place,
        Some(_) | None => tree,
    }
}

/// Tells whether a path lies in an earlier worktree.
pub(crate) fn is_earlier(site: &Site, thread: ThreadId, path: &Path) -> bool {
    below_earlier(site, thread, path).is_some()
}

/// Returns the way to a path from the earlier worktree in which it lies; `None` if it lies in none. Worktrees are called after
/// their threads.
fn below_earlier(site: &Site, thread: ThreadId, path: &Path) -> Option<PathBuf> {
    let own = site.root.worktree(thread).read().ok().flatten();
    if own.is_some_and(|own| path.starts_with(own.place)) {
        return None;
    }
    let before = origins(site, thread);
    path.ancestors().find_map(|tree| {
        let called: ThreadId = tree.file_name()?.to_str()?.parse().ok()?;
        // Where the chain of forks is not on record any more, the worktree is gone with it.
        let is_earlier = before.contains(&called) || !tree.exists();
        let below = path.strip_prefix(tree).ok()?;
        is_earlier.then(|| below.to_owned())
    })
}

/// Returns the thread, and those that it was forked from, newest first, as far as that is on record.
pub(crate) fn origins(site: &Site, thread: ThreadId) -> IndexSet<ThreadId> {
    let mut all = IndexSet::new();
    let mut next = Some(thread);
    while let Some(thread) = next.filter(|thread| all.insert(*thread)) {
        let origin = site.root.run(thread).origin.read();
        next = origin.and_then(|origin| origin.thread);
    }
    all
}
