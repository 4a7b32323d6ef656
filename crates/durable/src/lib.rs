//! Durable files: the one layer of the program that writes its files and opens them.
//!
//! New files have mode 0600. No file is written through a symbolic link, and no reader sees a file half replaced. Only
//! regular files are opened: a FIFO, a socket, a device or a directory in their place is an error that says so, and an
//! open never blocks. This crate knows no noun of the domain.

#[cfg(not(target_os = "linux"))]
compile_error!(
    "`uwf` needs Linux: this crate reserves disk space with `fallocate`, starts writeback with `fadvise` and watches \
     folders with `inotify`"
);

mod append;
mod calls;
mod digest;
mod dir;
mod draft;
mod error;
mod lock;
mod open;
mod present;
mod record;
mod rewrite;
mod room;
mod walk;
mod watch;

pub use append::{append_line, cut};
pub use digest::sha256;
pub use dir::{create_dir, create_new_dir, names, refuse_link, remove_tree, sync_dir};
pub use draft::{Draft, Durability, Placed, is_temporary, replace};
pub use error::{FileError, FileKind, not_found};
pub use lock::FileLock;
pub use open::{create, open, open_append, read, read_end, read_start};
pub use present::{move_file, remove, sync_file, touch};
pub use record::{blank, overwrite};
pub use rewrite::{Piece, rewrite};
pub use room::{give_back, is_of_full_disk, need_free, set_aside};
pub use walk::{Found, Walk, WalkError, empty_dir};
pub use watch::{Changed, Watch, Watched, Watches};
