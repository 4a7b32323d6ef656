//! What most tests here begin with: a world with a workflow whose reviewer asks, an agent that works as long as a file says,
//! and a server of pages.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::web_client::{Answer, Server, bearer};
use crate::world::{REVIEW, World, wait_until};

/// A text that would do harm if it were taken for markup.
pub(crate) const HOSTILE: &str =
    "</pre><script>document.title='harmed'</script><img src=x onerror=\"document.title='harmed'\">";

/// What the agent that is held says while it works.
pub(crate) const LINE: &str = "a line <b>while</b> it works";

/// A world with a server.
pub(crate) struct Scene {
    pub(crate) world: World,
    pub(crate) server: Server,
    /// The workflow.
    pub(crate) workflow: String,
}

impl Scene {
    /// Returns a scene in which the reviewer asks once, and then approves.
    pub(crate) fn new(more: &[&str]) -> Self {
        let world = World::new();
        let asks = json!({ "output": { "$status": "ask", "question": HOSTILE } });
        let approves = json!({ "output": { "$status": "approved", "summary": "fine" } });
        let writes = json!({ "output": { "plan": HOSTILE } });
        let script = json!({ "roles": { "writer": [writes], "reviewer": [asks, approves] } });
        world.mock(&script.to_string());
        Self::with(world, more)
    }

    /// Returns a scene whose agent says a line, and works until the file [`go`](Self::go) is there, or its test has ended.
    pub(crate) fn held() -> Self {
        Self::saying(&format!(
            "echo '{LINE}' >&2\nwait_for go\nprintf -- '---\\nplan: held\\n---\\n'"
        ))
    }

    /// Returns a scene whose agent is a script, in which `wait_for FILE` waits until the file is there, or its test has ended.
    pub(crate) fn saying(script: &str) -> Self {
        let world = World::new();
        let body = format!(
            "wait_for() {{ while [ -d '{0}' ] && [ ! -e '{0}/'$1 ]; do sleep 0.02; done; }}\n{script}",
            world.project().display(),
        );
        let script = world.script("agent.sh", &body);
        world.agent("uwf-command", &["--", script.to_str().unwrap()]);
        Self::with(world, &[])
    }

    fn with(world: World, more: &[&str]) -> Self {
        let workflow = world.put(REVIEW);
        let server = Server::start(&world, more);
        Self {
            world,
            server,
            workflow,
        }
    }

    /// Returns the file for which the agent waits.
    pub(crate) fn go(&self) -> PathBuf {
        self.world.project().join("go")
    }

    /// Starts a thread by the command.
    pub(crate) fn thread(&self) -> String {
        self.world.start(&self.workflow)
    }

    /// Sends JSON as a program does.
    #[track_caller]
    pub(crate) fn act(&self, path: &str, body: &Value) -> Answer {
        let headers = [&*bearer(), "Content-Type: application/json"];
        self.server.ask(
            "POST",
            &format!("/api/v1/{path}"),
            &headers,
            &body.to_string(),
        )
    }

    /// Returns the entries of the process log about acts, as JSON.
    #[track_caller]
    pub(crate) fn acts_in_log(&self) -> String {
        let event = ["log", "show", "--event", "acted-by-page"];
        let words = [&event[..], &["--format", "json"]].concat();
        self.world.uwf(&words).exits(0).stdout
    }

    /// Returns what can be done to a thread, and its head.
    #[track_caller]
    pub(crate) fn possible(&self, thread: &str) -> (Vec<String>, String) {
        let path = format!("/api/v1/threads/{thread}/actions");
        let answer = self.server.get(&path).json();
        let actions = answer["actions"].as_array().unwrap();
        let words = actions.iter().map(|word| word.as_str().unwrap().to_owned());
        (words.collect(), answer["head"].as_str().unwrap().to_owned())
    }

    /// Waits until a thread has a status and so many steps.
    #[track_caller]
    pub(crate) fn wait_for(&self, thread: &str, status: &str, steps: u64) {
        let is = || {
            // The head moves a moment before the thread is free.
            let _ = self.world.uwf(&["thread", "wait", thread]);
            let shown = self.server.get(&format!("/api/v1/threads/{thread}")).json();
            (
                shown["status"].as_str().unwrap_or_default(),
                shown["steps"].as_u64(),
            ) == (status, Some(steps))
        };
        wait_until(&format!("{thread} is {status} after {steps} steps"), is);
    }
}
