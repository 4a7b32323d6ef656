//! The fuzz targets: functions that take any bytes and panic when something does not hold.
//!
//! libFuzzer calls them from `fuzz_targets`, a test of the stable toolchain from `tests/smoke.rs`.

pub mod answer;
pub mod dotenv;
pub mod model_stream;
pub mod mutation;
pub mod node;
pub mod pipeline;
pub mod template;
pub mod workflow;

use std::path::PathBuf;

/// A target: takes any bytes, and panics when something does not hold.
pub type Target = fn(&[u8]);

/// All targets by the names of their folders in `corpus`.
pub const TARGETS: [(&str, Target); 7] = [
    ("answer", answer::check),
    ("dotenv", dotenv::check),
    ("model_stream", model_stream::check),
    ("node", node::check),
    ("pipeline", pipeline::check),
    ("template", template::check),
    ("workflow", workflow::check),
];

/// Runs a target on the files that the command line names, such as what libFuzzer has found.
///
/// # Panics
/// When something does not hold, or a file cannot be read.
pub fn replay(target: Target) {
    for path in std::env::args_os().skip(1).map(PathBuf::from) {
        let data = std::fs::read(&path)
            .unwrap_or_else(|error| panic!("cannot read {}: {error}", path.display()));
        target(&data);
    }
}

/// Returns the bytes as text, as a reader of files or streams takes them.
fn text(data: &[u8]) -> std::borrow::Cow<'_, str> {
    String::from_utf8_lossy(data)
}

/// Returns a folder for the files of a target, in memory if the machine has such a place.
fn folder() -> tempfile::TempDir {
    let shared = std::path::Path::new("/dev/shm");
    let made = match shared.is_dir() {
        true => tempfile::tempdir_in(shared),
        false => tempfile::tempdir(),
    };
    made.expect("a temp folder can be made")
}
