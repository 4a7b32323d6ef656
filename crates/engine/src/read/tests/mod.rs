//! Views of a small world: threads of one workflow, written node by node, so that a test can break any node.

mod graph;
mod list;
mod read;
mod show;
mod step_detail;
mod steps;
mod workflows;

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use uwf_cas_fs::Store;
use uwf_protocol::ids::{CasRef, RoleName, ThreadId};
use uwf_protocol::nodes::{Detail, Extraction, ExtractionMethod, StartNode, StepNode};
use uwf_protocol::run::{Attempt, LeaseRecord, ProcessIdentity};
use uwf_protocol::schemas;
use uwf_storage::{Advance, Archived, Env, HistoryRecord, Reason, Root, State};

use crate::Site;

/// The usage of a thread without runs, as JSON.
const USED_NOTHING: &str = r#"{"runs":0,"costUsd":0.0,"costUnknown":0,"tokens":0,"tokensUnknown":0,"durationMs":0,"durationUnknown":0}"#;

/// What the clock of the world says; threads are made a little before.
const NOW: i64 = 1_780_000_000_000;

/// A storage root with a workflow `demo`: a writer, then a reviewer who is `done`, wants it `again`, or asks.
struct World {
    dir: tempfile::TempDir,
    site: Site,
    workflow: CasRef,
}

impl World {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::at(dir.path().join("root"));
        let env = Env::from_parts(&[], dir.path(), NOW, 7);
        let store = Store::open(root.path().join("cas"));
        let site = Site { env, root, store };
        site.create().unwrap();
        let workflow = put_workflow(&site.store);
        Self {
            dir,
            site,
            workflow,
        }
    }

    fn put(&self, type_hash: CasRef, payload: &Value) -> CasRef {
        self.site.store.put(type_hash, payload, NOW).unwrap()
    }

    fn text(&self, text: &str) -> CasRef {
        self.put(schemas::TEXT, &json!(text))
    }

    /// Makes a thread that is this many milliseconds old.
    fn start(&self, age_ms: i64, prompt: &str) -> ThreadId {
        let start = StartNode {
            workflow: self.workflow,
            prompt: prompt.to_owned(),
            cwd: Some("/".to_owned()),
            parent: None,
            run: None,
            check_files: Vec::new(),
        };
        let head = self.put(schemas::START_NODE, &serde_json::to_value(start).unwrap());
        let thread = ThreadId::new(u64::try_from(NOW - age_ms).unwrap(), 1);
        self.state().insert(thread, head).unwrap();
        thread
    }

    /// Does a step by hand: the data of its answer and what the agent said.
    fn step(&self, thread: ThreadId, role: &str, output: &Value, said: &str) -> CasRef {
        let detail = self.detail(said, ExtractionMethod::Frontmatter, vec![]);
        self.step_with_detail(thread, role, output, detail)
    }

    fn step_with_detail(
        &self,
        thread: ThreadId,
        role: &str,
        output: &Value,
        detail: CasRef,
    ) -> CasRef {
        let head = self.head(thread);
        let (start, prev) = match self.site.store.get(head).unwrap().payload.get("start") {
            Some(start) => (start.as_str().unwrap().parse().unwrap(), Some(head)),
            None => (head, None),
        };
        let step = StepNode {
            start,
            prev,
            role: role.parse().unwrap(),
            output: self.put(schemas::OBJECT, output),
            detail,
            agent: "uwf-mock".to_owned(),
            edge_prompt: Some("Go.".to_owned()),
            started_at_ms: Some(NOW),
            completed_at_ms: Some(NOW + 1500),
            cwd: Some("/".to_owned()),
            assembled_prompt: None,
        };
        let step = self.put(schemas::STEP_NODE, &serde_json::to_value(step).unwrap());
        let moved = self.state().advance(thread, head, step).unwrap();
        assert_eq!(moved, Advance::Moved);
        step
    }

    fn detail(&self, said: &str, method: ExtractionMethod, turns: Vec<CasRef>) -> CasRef {
        let detail = Detail {
            agent: "uwf-mock".to_owned(),
            session_id: None,
            model: None,
            turns,
            usage: None,
            refused_calls: Vec::new(),
            checks: Vec::new(),
            artifacts: Vec::new(),
            files: None,
            permissions: None,
            asked_permission: None,
            extraction: Extraction {
                method,
                attempts: 1,
                model: None,
            },
            raw: self.text(said),
        };
        self.put(schemas::DETAIL, &serde_json::to_value(detail).unwrap())
    }

    fn fail(&self, thread: ThreadId, error: &str) {
        let attempt = Attempt {
            agent: "uwf-mock".to_owned(),
            error: error.to_owned(),
            stderr_tail: "boom".to_owned(),
            session_id: Some("s1".to_owned()),
            started_at_ms: NOW,
            ended_at_ms: NOW + 1,
            ..Attempt::of(self.head(thread), role("writer"))
        };
        self.site
            .root
            .run(thread)
            .ledger
            .append_attempt(&attempt)
            .unwrap();
    }

    /// Writes the lease record of a running step.
    fn write_lease(&self, thread: ThreadId, role_name: &str) {
        let identity = ProcessIdentity {
            pid: 42,
            started: 1,
            boot: "b".to_owned(),
        };
        let record = LeaseRecord {
            engine: identity.clone(),
            agent: Some(identity),
            label: "uwf-mock".to_owned(),
            attempt: None,
            head: None,
            replaces: None,
            keep_running: false,
            role: role(role_name),
            started_at_ms: NOW,
            waiting: false,
            words: None,
            number: None,
            failed: Vec::new(),
            chosen: None,
        };
        let run = self.site.root.run(thread);
        run.create().unwrap();
        run.lease.write_record(&record).unwrap();
    }

    fn end(&self, thread: ThreadId, reason: Reason) {
        let record = HistoryRecord {
            thread,
            workflow: self.workflow,
            head: self.head(thread),
            completed_at: NOW,
            reason,
        };
        assert_eq!(self.state().archive(&record).unwrap(), Archived::Done);
    }

    fn head(&self, thread: ThreadId) -> CasRef {
        self.state().head(thread).unwrap().unwrap()
    }

    fn state(&self) -> State<'_> {
        State::new(&self.site.root)
    }

    fn node_file(&self, hash: CasRef) -> PathBuf {
        self.site.store.dir().join(format!("{hash}.bin"))
    }

    fn remove(&self, hash: CasRef) {
        std::fs::remove_file(self.node_file(hash)).unwrap();
    }

    fn write(&self, path: &str, text: &str) -> PathBuf {
        let path = self.dir.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap_or(Path::new("/"))).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }
}

fn role(name: &str) -> RoleName {
    name.parse().unwrap()
}

fn put_workflow(store: &Store) -> CasRef {
    let answer = store.put_schema(&json!({ "type": "object" }), NOW).unwrap();
    let role = |goal: &str| {
        json!({
            "description": "", "goal": goal, "capabilities": [], "procedure": "", "output": "",
            "frontmatter": answer,
        })
    };
    let workflow = json!({
        "name": "demo",
        "description": "",
        "roles": { "writer": role("You write."), "reviewer": role("You review.") },
        "graph": {
            "$START": { "_": { "role": "writer", "prompt": "Write." } },
            "writer": { "_": { "role": "reviewer", "prompt": "Review." } },
            "reviewer": {
                "done": { "role": "$END", "prompt": "" },
                "again": { "role": "writer", "prompt": "Again." },
                "ask": { "role": "$SUSPEND", "prompt": "Need: {{question}}" },
            },
        },
    });
    store.put(schemas::WORKFLOW, &workflow, NOW).unwrap()
}
