//! The lock between those who are about to refer to nodes that were there before, and the collector of garbage.
//!
//! Writers share it for an instant; the collector has it alone while it decides and removes. A node that is new, or
//! was put again, needs no lock: the collector removes nothing that is young.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, UTIME_NOW, UTIME_OMIT, utimensat};
use rustix::io::Errno;

use crate::error::{StoreError, io as io_error};

/// The file that is locked, in the directory of the store.
const NAME: &str = ".gc.lock";
/// How long the last use of a node may be ago until putting it again makes it young.
const FRESH_MS: i64 = 30 * 60 * 1000;

/// Keeps nodes in their place: while it lives, no garbage is removed.
#[derive(Debug)]
#[must_use = "the nodes are kept only while it lives"]
pub struct Hold {
    _lock: Option<File>,
}

/// Takes the lock together with others. A directory that is not there has no garbage.
pub(crate) fn share(dir: &Path) -> Result<Hold, StoreError> {
    let lock = match open(dir) {
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        opened => {
            let file = opened.map_err(io_error("open the lock of", dir))?;
            retry(|| file.lock_shared()).map_err(io_error("lock", dir))?;
            Some(file)
        }
    };
    Ok(Hold { _lock: lock })
}

/// Takes the lock alone, and waits for it as long as it takes.
pub(crate) fn own(dir: &Path) -> Result<Hold, StoreError> {
    let file = open(dir).map_err(io_error("open the lock of", dir))?;
    retry(|| file.lock()).map_err(io_error("lock", dir))?;
    Ok(Hold { _lock: Some(file) })
}

/// Makes the file of a node young that is put again, if it is not, and tells whether it is there at all.
pub(crate) fn refresh(dir: &Path, path: &Path, now_ms: i64) -> Result<bool, StoreError> {
    let used = fs::metadata(path).and_then(|found| found.modified());
    match used.map(ms_since_epoch) {
        Ok(used_ms) if used_ms >= now_ms.saturating_sub(FRESH_MS) => return Ok(true),
        Ok(_) => {}
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(io_error("look at", path)(error)),
    }
    // Where no lock can be made, nobody collects.
    let Ok(_hold) = share(dir) else {
        return Ok(true);
    };
    // Who may not do that may still read.
    let made_young = utimensat(CWD, path, &NOW, AtFlags::empty());
    Ok(made_young != Err(Errno::NOENT))
}

/// The time of the file's own clock, for when it was last written.
const NOW: Timestamps = Timestamps {
    last_access: Timespec {
        tv_sec: 0,
        tv_nsec: UTIME_OMIT,
    },
    last_modification: Timespec {
        tv_sec: 0,
        tv_nsec: UTIME_NOW,
    },
};

/// Returns a time of a file in milliseconds since 1970.
pub(crate) fn ms_since_epoch(time: SystemTime) -> i64 {
    let ms = |length: Duration| i64::try_from(length.as_millis()).unwrap_or(i64::MAX);
    match time.duration_since(UNIX_EPOCH) {
        Ok(after) => ms(after),
        Err(before) => -ms(before.duration()),
    }
}

fn open(dir: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(true).mode(0o600);
    options.open(dir.join(NAME))
}

fn retry(mut lock: impl FnMut() -> io::Result<()>) -> io::Result<()> {
    loop {
        match lock() {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}
