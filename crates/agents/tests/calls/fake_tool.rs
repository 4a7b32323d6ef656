//! Shell scripts in the place of the command line tools that are agents, which print what those print.

use uwf_protocol::run::KitFailure;

use crate::world::{Step, World};

/// A kind of tool: what it prints when it works, as recorded and reduced.
pub(crate) struct Kind {
    pub(crate) agent: &'static str,
    /// What comes before the end: a message and a tool call.
    pub(crate) work: &'static str,
    /// An answer, `ANSWER` standing for its text.
    pub(crate) answer: &'static str,
    /// The end of a call that failed.
    pub(crate) failure: &'static str,
    /// What it says, on stderr and with exit code 1, of a session that it does not know.
    pub(crate) gone: &'static str,
    /// Its arguments for the session `s1`.
    pub(crate) resume: &'static str,
    pub(crate) turns: usize,
}

pub(crate) const GOOD: &str = r"---\n$status: done\ntext: x\n---\nbody\n";

pub(crate) const CLAUDE: Kind = Kind {
    agent: "claude-code",
    work: r#"{"type":"system","subtype":"init","cwd":"/p","session_id":"s1","tools":["Bash"],"model":"some-model"}
{"type":"assistant","message":{"id":"m1","role":"assistant","content":[{"type":"text","text":"I look."}]},"parent_tool_use_id":null,"session_id":"s1"}
{"type":"assistant","message":{"id":"m1","role":"assistant","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"ls"}}]},"parent_tool_use_id":null,"session_id":"s1"}
{"type":"user","message":{"role":"user","content":[{"tool_use_id":"t1","type":"tool_result","content":"a.txt","is_error":false}]},"session_id":"s1"}"#,
    answer: r#"{"type":"assistant","message":{"id":"m2","role":"assistant","content":[{"type":"text","text":"ANSWER"}]},"parent_tool_use_id":null,"session_id":"s1"}
{"type":"result","subtype":"success","is_error":false,"result":"ANSWER","session_id":"s1","num_turns":2,"duration_ms":270,"total_cost_usd":0.5,"usage":{"input_tokens":100,"cache_read_input_tokens":20,"output_tokens":40}}"#,
    failure: r#"{"type":"result","subtype":"error_max_turns","is_error":true,"session_id":"s1","num_turns":5,"usage":{"input_tokens":100,"output_tokens":40},"errors":["Reached maximum number of turns (5)"]}"#,
    gone: "No conversation found with session ID: s1",
    resume: "-p --output-format stream-json --verbose --resume s1",
    turns: 4,
};

pub(crate) const CODEX: Kind = Kind {
    agent: "codex",
    work: r#"{"type":"thread.started","thread_id":"s1"}
{"type":"turn.started"}
{"type":"item.started","item":{"id":"i1","type":"command_execution","command":"ls","aggregated_output":"","exit_code":null,"status":"in_progress"}}
{"type":"item.completed","item":{"id":"i1","type":"command_execution","command":"ls","aggregated_output":"a.txt\n","exit_code":0,"status":"completed"}}"#,
    answer: r#"{"type":"item.completed","item":{"id":"i2","type":"agent_message","text":"ANSWER"}}
{"type":"turn.completed","usage":{"input_tokens":120,"cached_input_tokens":20,"output_tokens":40}}"#,
    failure: r#"{"type":"turn.failed","error":{"message":"unexpected status 500"}}"#,
    gone: "Error: thread/resume: thread/resume failed: no rollout found for thread id s1 (code -32600)",
    resume: "exec --json resume s1 -",
    turns: 3,
};

pub(crate) const CURSOR: Kind = Kind {
    agent: "cursor",
    work: r#"{"type":"system","subtype":"init","cwd":"/p","session_id":"s1","model":"some-model"}
{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"I look."}]},"session_id":"s1"}
{"type":"tool_call","subtype":"completed","call_id":"c1","tool_call":{"shellToolCall":{"args":{"command":"ls"},"result":{"success":{"content":"a.txt"}}}},"session_id":"s1"}"#,
    answer: r#"{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"ANSWER"}]},"session_id":"s1"}
{"type":"result","subtype":"success","is_error":false,"duration_ms":1234,"result":"I look.ANSWER","session_id":"s1"}"#,
    failure: r#"{"type":"result","subtype":"error","is_error":true,"result":"out of credit","session_id":"s1"}"#,
    gone: "Session not found",
    resume: "-p --output-format stream-json --resume s1",
    turns: 4,
};

pub(crate) const GEMINI: Kind = Kind {
    agent: "gemini",
    work: r#"{"type":"init","session_id":"s1","model":"some-model"}
{"type":"message","role":"user","content":"our prompt"}
{"type":"message","role":"assistant","content":"I look.","delta":true}
{"type":"tool_use","tool_name":"list_directory","tool_id":"l1","parameters":{"dir_path":"."}}
{"type":"tool_result","tool_id":"l1","status":"success","output":"a.txt"}"#,
    answer: r#"{"type":"message","role":"assistant","content":"ANSWER","delta":true}
{"type":"result","status":"success","stats":{"total_tokens":160,"input_tokens":120,"output_tokens":40,"cached":20,"duration_ms":202,"tool_calls":1}}"#,
    failure: r#"{"type":"result","status":"error","error":{"type":"unknown","message":"[API Error: 500]"},"stats":{"input_tokens":0}}"#,
    gone: "Error resuming session: Invalid session identifier \"s1\".",
    resume: "--output-format stream-json --resume s1",
    turns: 3,
};

pub(crate) const OPENCODE: Kind = Kind {
    agent: "opencode",
    work: r#"{"type":"step_start","sessionID":"s1","part":{"messageID":"m1","type":"step-start"}}
{"type":"tool_use","sessionID":"s1","part":{"type":"tool","tool":"bash","callID":"c1","state":{"status":"completed","input":{"command":"ls"},"output":"a.txt"},"messageID":"m1"}}"#,
    answer: r#"{"type":"text","sessionID":"s1","part":{"messageID":"m2","type":"text","text":"ANSWER"}}
{"type":"step_finish","sessionID":"s1","part":{"reason":"stop","messageID":"m2","type":"step-finish","tokens":{"input":100,"output":40,"reasoning":0,"cache":{"write":0,"read":20}},"cost":0}}"#,
    failure: r#"{"type":"error","sessionID":"s1","error":{"name":"APIError","data":{"message":"it broke","statusCode":500}}}"#,
    gone: "Error: Session not found",
    resume: "run --format json --session s1",
    turns: 3,
};

pub(crate) const KINDS: [Kind; 5] = [CLAUDE, CODEX, CURSOR, GEMINI, OPENCODE];

/// A world in which a tool is a script. Each call leaves its prompt and arguments in files with its number.
pub(crate) struct Fake {
    pub(crate) world: World,
    pub(crate) kind: Kind,
}

impl Fake {
    pub(crate) fn new(kind: Kind, script: &str) -> Self {
        let fake = Self {
            world: World::new(),
            kind,
        };
        let world = &fake.world;
        world.write("work", fake.kind.work);
        world.write("good", &fake.kind.answer.replace("ANSWER", GOOD));
        world.write("garbage", &fake.kind.answer.replace("ANSWER", "garbage"));
        world.write("failure", fake.kind.failure);
        world.write("gone", fake.kind.gone);
        fake.script(script);
        fake
    }

    pub(crate) fn script(&self, script: &str) {
        let count = "n=$(ls asked-* 2>/dev/null | wc -l); cat > asked-$n; echo \"$@\" > args-$n";
        // `say` prints files with a line end after each.
        let say = "say() { for f in \"$@\"; do cat $f; echo; done; }";
        self.world
            .script("tool", &format!("{count}\n{say}\n{script}"));
    }

    pub(crate) fn own<'a>(program: &'a str, more: &[&'a str]) -> Vec<&'a str> {
        [&["--program", program], more].concat()
    }

    pub(crate) fn step(&mut self) -> Step {
        let program = self.world.path("tool").to_string_lossy().into_owned();
        let own = Self::own(&program, &[]);
        self.world.step(self.kind.agent, &own, "writer")
    }

    pub(crate) fn fail(&self, more: &[&str]) -> KitFailure {
        let program = self.world.path("tool").to_string_lossy().into_owned();
        self.world
            .fail(self.kind.agent, &Self::own(&program, more), "writer")
    }

    pub(crate) fn asked(&self, n: usize) -> String {
        self.world.read(&format!("asked-{n}"))
    }

    pub(crate) fn args(&self, n: usize) -> String {
        self.world.read(&format!("args-{n}")).trim_end().to_owned()
    }
}
