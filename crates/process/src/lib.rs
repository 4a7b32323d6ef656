//! The one supervisor of processes: it starts a program, limits it, and ends it with everything that it started.
//!
//! A [`Tree`] is one program or several, together with all their descendants. The process that starts one becomes the
//! *child subreaper* of its descendants: a process whose parent dies becomes our child, whatever session or group it is in.
//! So the kernel tells us when the last descendant has ended, and none escapes by a double fork or by `setsid`.
//!
//! Supervisors can be nested: an engine supervises an agent, which supervises a tool. When the outer supervisor ends
//! its tree, it signals every process of the tree, and the inner supervisor only waits: no program gets a signal twice.
//! After a supervisor has died, another process can [end its tree](end_for_another): it signals the inner supervisor,
//! which ends its own programs.
//!
//! This crate knows no noun of the domain. A process can have one tree at a time, since the
//! kernel tells it of all its children at once.

#[cfg(not(target_os = "linux"))]
compile_error!(
    "`uwf` needs Linux: this crate is a child subreaper, finds processes in `/proc` and signals them by pidfd"
);

mod end;
mod identity;
mod inherited;
mod output;
mod run;
mod short;
mod signals;
mod snapshot;
mod tree;

pub use end::{EndRequest, Target, end, end_for_another, left_running};
pub use identity::{is_alive, process_identity};
pub use inherited::keep_inherited_files;
pub use output::Output;
pub use run::{Limits, NextExit, OutputSeen, WaitEnd};
pub use short::{ShortEnd, ShortLimits, ShortRun, run_limited, run_short};
pub use signals::{
    Event, HeldSignals, Signals, Stop, is_supervised, survive_file_limit, told_to_stop,
};
pub use snapshot::{Process, below, processes};
pub use tree::Tree;

use std::time::Duration;

/// The default time between the request to end and the kill.
pub const GRACE: Duration = Duration::from_secs(5);
