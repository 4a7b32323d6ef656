//! The tags of the process log: one for each place that logs, never used twice, never changed.

use uwf_storage::Tag;

pub(crate) const THREAD_CREATED: Tag = Tag::new("7HNQ4B2X");
pub(crate) const ROUTED: Tag = Tag::new("M3K8V9T1");
pub(crate) const AGENT_STARTED: Tag = Tag::new("R5J2W8N4");
pub(crate) const HEAD_MOVED: Tag = Tag::new("C6P9E3H7");
pub(crate) const THREAD_ARCHIVED: Tag = Tag::new("F4D8Q2K5");
pub(crate) const STEP_FAILED: Tag = Tag::new("B8T5N1V6");
pub(crate) const RESUMED: Tag = Tag::new("K2R7M4N8");
pub(crate) const ADOPTED: Tag = Tag::new("A3D0PT5E");
pub(crate) const PENDING_REFUSED: Tag = Tag::new("Q8W2X6Y4");
pub(crate) const FORKED: Tag = Tag::new("G5T8S2R1");
pub(crate) const KILLED: Tag = Tag::new("H9V4J7C3");
pub(crate) const LIMIT_REACHED: Tag = Tag::new("W3M8T6Q1");
pub(crate) const COLLECTED: Tag = Tag::new("D7G3C9R5");
pub(crate) const POKED: Tag = Tag::new("P6K3E9Y2");
pub(crate) const ATTEMPT_NOT_KEPT: Tag = Tag::new("Z4T7K2W9");
pub(crate) const ACCEPTED: Tag = Tag::new("Z4C7V1K8");
pub(crate) const RAISED: Tag = Tag::new("N5X2B9R7");
