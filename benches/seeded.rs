//! A root that was filled without commands: with one long thread, or with many threads.

use std::path::PathBuf;
use std::process::Command;

use serde_json::json;
use uwf_cas_fs::Store;
use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_protocol::schemas;

const NOW: i64 = 1_780_000_000_000;
const WORKFLOW: &str = "name: demo\ndescription: d\nroles:\n  writer:\n    description: d\n    goal: g\n    capabilities: []\n    procedure: p\n    output: o\n    frontmatter: { type: object, properties: { note: { type: string } }, required: [note] }\ngraph:\n  $START: { _: { role: writer, prompt: p } }\n  writer: { _: { role: writer, prompt: p }, $SUSPEND: { role: $SUSPEND, prompt: p } }\n";

/// A root with a workflow and threads.
pub(crate) struct World {
    dir: tempfile::TempDir,
}

impl World {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        let world = Self { dir };
        std::fs::write(world.path("demo.yaml"), WORKFLOW).expect("a workflow");
        world.uwf(&["workflow", "put", "demo.yaml"]);
        world.uwf(&["thread", "start", "demo", "-p", "x"]);
        world
    }

    /// Returns a world with one thread of many steps. The first is of a role of its own.
    pub(crate) fn with_steps(steps: usize) -> Self {
        let world = Self::new();
        let store = world.store();
        let (text, start) = world.head();
        let put = |type_hash, payload: &serde_json::Value| {
            store
                .put_volatile(type_hash, payload, NOW)
                .expect("a node is stored")
        };
        let output = put(schemas::OBJECT, &json!({ "note": "n" }));
        let detail = put(schemas::TEXT, &json!("seed"));
        let mut prev: Option<CasRef> = None;
        for index in 0..steps {
            let role = if index == 0 { "first" } else { "writer" };
            let step = json!({
                "start": start, "prev": prev, "role": role, "output": output, "detail": detail,
                "agent": "uwf-seed", "edgePrompt": format!("step {index}"), "startedAtMs": NOW,
                "completedAtMs": NOW, "cwd": "/", "assembledPrompt": null,
            });
            prev = Some(put(schemas::STEP_NODE, &step));
        }
        let head = prev.expect("there is a step");
        let text = text.replace(&start, head.as_str());
        std::fs::write(world.path("root/threads.yaml"), text).expect("threads are written");
        world
    }

    /// Adds ended threads, which are older than the others.
    pub(crate) fn and_ended(self, threads: u32) -> Self {
        let (_, start) = self.head();
        let listed = self.uwf(&["workflow", "list", "--format", "json"]);
        let listed: serde_json::Value = serde_json::from_str(&listed).expect("JSON");
        let workflow = &listed[0]["hash"];
        let mut lines = String::new();
        for index in 0..threads {
            let thread = ThreadId::new(1_600_000_000_000 + u64::from(index), 1);
            let record = json!({
                "thread": thread, "workflow": workflow, "head": start, "completedAt": NOW, "reason": "completed",
            });
            lines = lines + &record.to_string() + "\n";
        }
        std::fs::write(self.path("root/history.jsonl"), lines).expect("the history is written");
        self
    }

    /// Returns a world with many threads at one start, each tenth with a label.
    pub(crate) fn with_threads(threads: u32) -> Self {
        let world = Self::new();
        let (text, start) = world.head();
        let (mut heads, mut labels) = (text, String::new());
        for index in 0..threads {
            let thread = ThreadId::new(1_700_000_000_000 + u64::from(index), 1);
            heads = heads + thread.as_str() + ": " + &start + "\n";
            if index % 10 == 0 {
                let line = json!({ "thread": thread, "name": format!("task-{index}"), "labels": { "team": "web" } });
                labels = labels + &line.to_string() + "\n";
            }
        }
        let mut lines: Vec<&str> = heads.lines().collect();
        lines.sort_unstable();
        let heads = lines.join("\n") + "\n";
        std::fs::write(world.path("root/threads.yaml"), heads).expect("threads are written");
        std::fs::write(world.path("root/labels.jsonl"), labels).expect("labels are written");
        world
    }

    /// Returns the text of the active threads, and the head of the only one.
    fn head(&self) -> (String, String) {
        let text = std::fs::read_to_string(self.path("root/threads.yaml")).expect("threads");
        let start = text.trim().rsplit(' ').next().expect("a head").to_owned();
        (text, start)
    }

    fn store(&self) -> Store {
        Store::open(self.path("root/cas"))
    }

    /// Returns the path of something in the folder of the root.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Runs a command, and returns what it prints.
    pub(crate) fn uwf(&self, args: &[&str]) -> String {
        let output = Command::new(env!("CARGO_BIN_EXE_uwf"))
            .args(args)
            .current_dir(self.dir.path())
            .env("UWF_STORAGE_ROOT", self.path("root"))
            .output()
            .expect("the command starts");
        let problem = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{args:?}: {problem}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}
