//! The smallest world in which an agent can be called: a root, a store, a workflow and a thread.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tempfile::TempDir;
use uwf_cas_fs::Store;
use uwf_protocol::ids::{CasRef, RoleName, ThreadId};
use uwf_protocol::limits::Limits;
use uwf_protocol::nodes::{Detail, StepNode};
use uwf_protocol::policy::ContextPolicy;
use uwf_protocol::run::{Attempt, KitFailure};
use uwf_protocol::work::Work;
use uwf_protocol::workflow::{Role, Workflow};
use uwf_protocol::{schemas, workflow_stored};
use uwf_storage::{Env, Root, RunDir};

pub(crate) const NOW: i64 = 1_780_416_525_000;

pub(crate) struct World {
    dir: TempDir,
    pub(crate) store: Store,
    pub(crate) thread: ThreadId,
    pub(crate) start: CasRef,
    /// What the engine would tell as the thread's head.
    pub(crate) head: CasRef,
    pub(crate) instruction: String,
}

/// A step as the agent left it.
pub(crate) struct Step {
    pub(crate) hash: CasRef,
    pub(crate) node: StepNode,
    pub(crate) detail: Detail,
    pub(crate) output: Value,
    pub(crate) prompt: String,
}

impl World {
    /// Makes a thread of a workflow whose two roles answer with `$status: done` and a `text`.
    pub(crate) fn new() -> Self {
        let dir = TempDir::new().unwrap();
        let store = Store::open(dir.path().join("root/cas"));
        store.create(NOW).unwrap();
        let schema = json!({
            "type": "object",
            "properties": { "$status": { "const": "done" }, "text": { "type": "string" } },
            "required": ["$status", "text"],
        });
        let schema = store.put_schema(&schema, NOW).unwrap();
        let role = |goal: &str| Role {
            description: String::new(),
            goal: goal.to_owned(),
            capabilities: Vec::new(),
            procedure: String::new(),
            output: String::new(),
            schema,
            extract: None,
            checks: None,
            session: None,
            context: ContextPolicy::default(),
            work: Work::Agent,
        };
        let workflow = Workflow {
            name: "demo".to_owned(),
            description: String::new(),
            roles: IndexMap::from([
                ("writer".parse().unwrap(), role("You write.")),
                ("reviewer".parse().unwrap(), role("You review.")),
            ]),
            conditions: IndexMap::new(),
            graph: IndexMap::new(),
            limits: Limits::default(),
            supervisor: None,
            context: ContextPolicy::default(),
            workspace: None,
        };
        let (type_hash, payload) = workflow_stored::to_payload(&workflow);
        let workflow = store.put(type_hash, &payload, NOW).unwrap();
        let start = json!({ "workflow": workflow, "prompt": "Write about trees.", "cwd": "/" });
        let start = store.put(schemas::START_NODE, &start, NOW).unwrap();
        Self {
            dir,
            store,
            thread: "01J7K9Z0000000000000000004".parse().unwrap(),
            start,
            head: start,
            instruction: "Begin.".to_owned(),
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    /// Writes a program in the shell's language, and returns its path.
    pub(crate) fn script(&self, name: &str, body: &str) -> String {
        let written = format!("{name}.new");
        self.write(&written, &format!("#!/bin/sh\n{body}\n"));
        // What is open for writing cannot be run, and whatever another test starts just now would inherit it.
        let copied = Command::new("sh")
            .args(["-c", "cp \"$0\" \"$1\" && chmod 755 \"$1\"", &written, name])
            .current_dir(self.path(""))
            .status()
            .unwrap();
        assert!(copied.success());
        self.path(name).to_str().unwrap().to_owned()
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    pub(crate) fn run_dir(&self) -> RunDir {
        Root::at(self.path("root")).run(self.thread)
    }

    /// Calls an agent as the engine does, and returns its exit code.
    pub(crate) fn call(&self, agent: &str, own: &[&str], role: &str) -> i32 {
        let root = self.path("root");
        let home = self.path("home");
        let variables = [
            ("HOME", home.to_str().unwrap()),
            ("UWF_STORAGE_ROOT", root.to_str().unwrap()),
            ("UWF_HEAD", self.head.as_str()),
            ("UWF_EDGE_PROMPT", &self.instruction),
        ];
        let call = [self.thread.as_str(), role];
        let args = own.iter().chain(&call);
        let order = Order {
            agent: agent.to_owned(),
            args: args.map(ToString::to_string).collect(),
            variables: variables
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .to_vec(),
            cwd: self.dir.path().to_owned(),
        };
        // A prompt may be longer than any variable.
        let file = self.path("order.json");
        fs::write(&file, serde_json::to_string(&order).unwrap()).unwrap();
        let status = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "world::as_an_agent", "--nocapture"])
            .env(ORDER, &file)
            .stdout(Stdio::null())
            .status()
            .unwrap();
        status.code().unwrap()
    }

    /// Calls an agent that must succeed, and moves the head to its step.
    pub(crate) fn step(&mut self, agent: &str, own: &[&str], role: &str) -> Step {
        assert_eq!(self.call(agent, own, role), 0);
        let pending = self.run_dir().outbox.read_pending().unwrap().unwrap();
        assert_eq!(pending.head, self.head);
        self.run_dir().outbox.clear_pending().unwrap();
        self.head = pending.step;
        self.read_step(pending.step)
    }

    /// Calls an agent that must fail, and puts the attempt on record as the engine does.
    pub(crate) fn fail(&self, agent: &str, own: &[&str], role: &str) -> KitFailure {
        let run = self.run_dir();
        assert_ne!(self.call(agent, own, role), 0);
        assert_eq!(run.outbox.read_pending().unwrap(), None);
        let failure = run.scratch.read_failure().unwrap();
        run.ledger
            .append_attempt(&Attempt {
                agent: agent.to_owned(),
                phase: failure.phase,
                class: failure.class,
                error: failure.error.clone(),
                feedback: failure.feedback.clone(),
                session_id: failure.session_id.clone(),
                usage: failure.usage.clone(),
                raw: failure.raw,
                turns: failure.turns.clone(),
                started_at_ms: NOW,
                ended_at_ms: NOW,
                ..Attempt::of(self.head, role.parse::<RoleName>().unwrap())
            })
            .unwrap();
        run.scratch.clear_failure().unwrap();
        failure
    }

    pub(crate) fn text(&self, hash: CasRef) -> String {
        self.store
            .get(hash)
            .unwrap()
            .payload
            .as_str()
            .unwrap()
            .to_owned()
    }

    fn read_step(&self, hash: CasRef) -> Step {
        let read = |hash: CasRef| {
            let node = self.store.get(hash).unwrap();
            self.store.validate(node.type_hash, &node.payload).unwrap();
            node.payload
        };
        let node: StepNode = serde_json::from_value(read(hash)).unwrap();
        Step {
            hash,
            detail: serde_json::from_value(read(node.detail)).unwrap(),
            output: read(node.output),
            prompt: self.text(node.assembled_prompt.unwrap()),
            node,
        }
    }
}

/// How an agent is called in a process of its own: a process supervises one program at a time.
#[derive(Serialize, Deserialize)]
struct Order {
    agent: String,
    args: Vec<String>,
    variables: Vec<(String, String)>,
    cwd: PathBuf,
}

/// The variable that names the file with the order, in a process that was started to be an agent.
const ORDER: &str = "UWF_AGENTS_TEST_ORDER";

#[test]
fn as_an_agent() {
    let Ok(file) = std::env::var(ORDER) else {
        return;
    };
    let order: Order = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    let variables: Vec<_> = order
        .variables
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    let env = Env::from_parts(&variables, &order.cwd, NOW, 7);
    #[expect(clippy::exit, reason = "this process is an agent, not a test")]
    std::process::exit(uwf_agents::run(&order.agent, &order.args, &env).unwrap());
}

/// Checks that a part of what went wrong is told.
#[track_caller]
pub(crate) fn says(failure: &KitFailure, part: &str) {
    assert!(failure.error.contains(part), "{}", failure.error);
}
