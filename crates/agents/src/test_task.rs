//! A task for tests.

use std::path::Path;

use serde_json::Value;
use uwf_agent_kit::Task;

/// Returns a task with empty texts: the first visit of `writer`, in the first step.
pub(crate) fn task(run_dir: &Path) -> Task {
    Task {
        thread: "01J7K9Z0000000000000000004".parse().unwrap(),
        role: "writer".parse().unwrap(),
        prompt: String::new(),
        head: uwf_protocol::schemas::TEXT,
        replaces: None,
        agent: String::new(),
        edge_prompt: String::new(),
        cwd: "/".into(),
        run_dir: run_dir.to_owned(),
        visit: 1,
        step: 1,
        session: None,
        schema: Value::Null,
        permissions: None,
        decided: None,
        supervision: uwf_agent_kit::Supervision::default(),
        attempt: None,
        prices: uwf_protocol::prices::Prices::default(),
        masks: uwf_util::mask::Masks::default(),
    }
}
