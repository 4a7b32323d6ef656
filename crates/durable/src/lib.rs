//! Files that survive: the one layer of the program that writes files, and opens those that it keeps.
//!
//! What it makes is for its owner alone, is never written through a symbolic link, and is never seen half replaced.
//! What it opens is a regular file: a FIFO, a socket, a device or a directory in its place is an error that says so,
//! and nothing ever waits for one. No noun of the domain is known here.

#[cfg(not(target_os = "linux"))]
compile_error!(
    "`uwf` needs Linux: this crate sets room aside with `fallocate` and writes dirty pages with `fadvise`"
);

mod append;
mod calls;
mod dir;
mod draft;
mod error;
mod lock;
mod open;
mod present;
mod record;
mod room;

pub use append::{append_line, cut};
pub use dir::{create_dir, names, sync_dir};
pub use draft::{Draft, Durability, Placed, is_temporary, replace};
pub use error::{FileError, FileKind, not_found};
pub use lock::FileLock;
pub use open::{create, open, open_append, read, read_end, read_start};
pub use present::{remove, sync_file, touch};
pub use record::{blank, overwrite};
pub use room::{give_back, is_of_full_disk, set_aside};
