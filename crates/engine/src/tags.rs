//! The tags of the process log: one for each place that logs, never used twice, never changed.

use uwf_storage::Tag;

pub(crate) const THREAD_CREATED: Tag = Tag::new("7HNQ4B2X", "thread-created");
pub(crate) const ROUTED: Tag = Tag::new("M3K8V9T1", "routed");
pub(crate) const AGENT_STARTED: Tag = Tag::new("R5J2W8N4", "agent-started");
pub(crate) const HEAD_MOVED: Tag = Tag::new("C6P9E3H7", "head-moved");
pub(crate) const THREAD_ARCHIVED: Tag = Tag::new("F4D8Q2K5", "thread-archived");
pub(crate) const STEP_FAILED: Tag = Tag::new("B8T5N1V6", "step-failed");
pub(crate) const RESUMED: Tag = Tag::new("K2R7M4N8", "resumed");
pub(crate) const ADOPTED: Tag = Tag::new("A3D0PT5E", "adopted");
pub(crate) const PENDING_REFUSED: Tag = Tag::new("Q8W2X6Y4", "pending-refused");
pub(crate) const FORKED: Tag = Tag::new("G5T8S2R1", "forked");
pub(crate) const HOOK_FAILED: Tag = Tag::new("X7H3K9D2", "hook-failed");
pub(crate) const MIGRATED: Tag = Tag::new("M9W4G7T2", "migrated");
pub(crate) const KILLED: Tag = Tag::new("H9V4J7C3", "killed");
pub(crate) const LIMIT_REACHED: Tag = Tag::new("W3M8T6Q1", "limit-reached");
pub(crate) const COLLECTED: Tag = Tag::new("D7G3C9R5", "collected");
pub(crate) const POKED: Tag = Tag::new("P6K3E9Y2", "poked");
pub(crate) const RAISED: Tag = Tag::new("N5X2B9R7", "raised");
pub(crate) const STEP_INTERRUPTED: Tag = Tag::new("J4X7R2D9", "step-interrupted");
pub(crate) const REFUSED: Tag = Tag::new("T2V6Y8A1", "refused");
pub(crate) const ACCEPTED: Tag = Tag::new("Z4C7V1K8", "accepted");
pub(crate) const ATTEMPT_NOT_KEPT: Tag = Tag::new("Z4T7K2W9", "attempt-not-kept");
pub(crate) const RENAMED: Tag = Tag::new("V8N3A6M2", "renamed");
pub(crate) const LABELLED: Tag = Tag::new("E5B9K1S4", "labelled");
pub(crate) const PAUSED: Tag = Tag::new("S6P3W8D1", "paused");
pub(crate) const UNPAUSED: Tag = Tag::new("Y5N9P2C7", "unpaused");
pub(crate) const REMOVED: Tag = Tag::new("V7R2M9X4", "removed");
pub(crate) const LOCK_NOT_RELEASED: Tag = Tag::new("K5R8N3V6", "lock-not-released");
pub(crate) const IMPORTED: Tag = Tag::new("X9D4N6W2", "imported");
pub(crate) const JUDGED: Tag = Tag::new("J8D2G5E9", "judged");
pub(crate) const NOT_JUDGED: Tag = Tag::new("N6J4F8D3", "not-judged");
pub(crate) const RELEASED: Tag = Tag::new("R2W7S5D8", "released");
pub(crate) const SUMMARIZED: Tag = Tag::new("S3M9R7Z2", "summarized");
pub(crate) const NOT_SUMMARIZED: Tag = Tag::new("N8S3M2R6", "not-summarized");
pub(crate) const REPAIRED: Tag = Tag::new("V2H8C5J7", "repaired");
