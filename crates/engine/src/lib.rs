//! One step of a thread and its siblings; starts agents as processes.
