//! A world of its own for each test: a storage root, a project folder and the real binary.

use std::ffi::{OsStr, OsString};
use std::fs::DirEntry;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use assert_cmd::assert::{Assert, OutputAssertExt};
use serde_json::Value;
use tempfile::TempDir;

/// A workflow of one role that ends: the smallest that does something.
pub(crate) const ONE_STEP: &str = r#"
name: one
description: One step
roles:
  writer:
    description: Writes
    goal: You write.
    capabilities: []
    procedure: Write.
    output: A note.
    frontmatter: { type: object, properties: { note: { type: string } }, required: [note] }
graph:
  $START: { _: { role: writer, prompt: "Write a note." } }
  writer: { _: { role: $END, prompt: "Done: {{note}}" } }
"#;

/// A role that works again and again. `@` stands for more keys.
pub(crate) const AGAIN: &str = r#"
name: again
@
roles:
  writer:
    goal: You write.
    frontmatter: { type: object, properties: { status: { enum: [more, done] } }, required: [status] }
graph:
  $START: { _: { role: writer, prompt: "Write." } }
  writer: { more: { role: writer, prompt: "Write more." }, done: { role: $END, prompt: "" } }
"#;

/// A writer and a reviewer who approves, rejects or asks.
pub(crate) const REVIEW: &str = r#"
name: review
description: Write and review
roles:
  writer:
    description: Writes
    goal: You write.
    capabilities: [writing]
    procedure: Write.
    output: A plan.
    frontmatter: { type: object, properties: { plan: { type: string } }, required: [plan] }
  reviewer:
    description: Reviews
    goal: You review.
    capabilities: []
    procedure: Review.
    output: A verdict.
    frontmatter:
      oneOf:
        - { properties: { $status: { const: approved }, summary: { type: string } }, required: [$status, summary] }
        - { properties: { $status: { const: rejected }, reason: { type: string } }, required: [$status, reason] }
        - { properties: { $status: { const: ask }, question: { type: string } }, required: [$status, question] }
graph:
  $START: { _: { role: writer, prompt: "Begin writing" } }
  writer: { _: { role: reviewer, prompt: "Review: {{plan}}" } }
  reviewer:
    approved: { role: $END, prompt: "Done: {{summary}}" }
    rejected: { role: writer, prompt: "Fix {{reason}}" }
    ask: { role: $SUSPEND, prompt: "Need: {{question}}" }
"#;

/// What a command did.
pub(crate) struct Run {
    assert: Assert,
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Run {
    /// Returns stdout as one JSON document.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("no JSON ({error}): {}\n{}", self.stdout, self.stderr))
    }

    /// Asserts the exit code.
    #[track_caller]
    pub(crate) fn exits(mut self, code: i32) -> Self {
        self.assert = self.assert.code(code);
        self
    }

    /// Asserts that stderr says something.
    #[track_caller]
    pub(crate) fn says(self, text: &str) -> Self {
        assert!(
            self.stderr.contains(text),
            "stderr lacks `{text}`:\n{}",
            self.stderr
        );
        self
    }

    /// Runs the command of the hint that begins like this.
    #[track_caller]
    pub(crate) fn follow_hint(&self, begin: &str) {
        let hint = self.stderr.split_once("hint: ").unwrap().1;
        let mut commands = hint.split('`').skip(1).step_by(2);
        let command = commands.find(|one| one.starts_with(begin)).unwrap();
        let status = Command::new("sh").args(["-c", command]).status().unwrap();
        assert!(status.success(), "{command}");
    }
}

impl From<Assert> for Run {
    fn from(assert: Assert) -> Self {
        let output = assert.get_output();
        Self {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
            assert,
        }
    }
}

/// Of a command whose start was the test's own.
impl From<Output> for Run {
    fn from(output: Output) -> Self {
        output.assert().into()
    }
}

/// A temp folder with `root` (the storage root) and `project` (where commands run).
pub(crate) struct World {
    dir: TempDir,
}

impl Drop for World {
    /// Ends what a test that fails leaves at work. Everything that commands of this world start has its home, and nothing else has it.
    fn drop(&mut self) {
        if !std::thread::panicking() {
            return;
        }
        let home = format!("HOME={}", self.dir.path().display());
        // What is ended may be starting something.
        for _ in 0..3 {
            for pid in pids_with(&home) {
                let mut kill = Command::new("kill");
                let _ = kill.args(["-s", "KILL", "--", &pid]).output();
            }
        }
    }
}

/// Returns the numbers of the processes that were started with this variable, such as `NAME=value`.
pub(crate) fn pids_with(variable: &str) -> Vec<String> {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let has = |process: &DirEntry| {
        let environment = std::fs::read(process.path().join("environ")).unwrap_or_default();
        let mut variables = environment.split(|byte| *byte == 0);
        variables.any(|one| one == variable.as_bytes())
    };
    let found = processes.filter(has);
    let names = found.map(|process| process.file_name().display().to_string());
    names.collect()
}

impl World {
    pub(crate) fn new() -> Self {
        let dir = TempDir::new().unwrap();
        std::fs::create_dir(dir.path().join("project")).unwrap();
        Self { dir }
    }

    pub(crate) fn dir(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.dir.path().join("root")
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.dir.path().join("project")
    }

    /// Writes a file of the project and returns its path.
    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.project().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    /// Writes an executable shell script of the project and returns its path.
    pub(crate) fn script(&self, name: &str, body: &str) -> PathBuf {
        use std::os::unix::fs::PermissionsExt;
        let path = self.write(name, &format!("#!/bin/sh\n{body}\n"));
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    /// Returns the command, to be run in the project.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = self.command_of(binary());
        command.args(args);
        command
    }

    /// Returns another program, to be run where and as commands are.
    pub(crate) fn command_of(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(self.project())
            .env_clear()
            .envs(self.environment())
            .stdin(Stdio::null());
        command
    }

    /// Returns the environment of commands: nothing of the outside but PATH, and no colours.
    pub(crate) fn environment(&self) -> Vec<(&'static str, OsString)> {
        let mut environment = vec![
            ("PATH", std::env::var_os("PATH").unwrap_or_default()),
            ("HOME", self.dir.path().into()),
            // Tests read what terminals show.
            ("NO_COLOR", "1".into()),
            ("TZ", "UTC".into()),
            ("UWF_STORAGE_ROOT", self.root().into()),
        ];
        // A measurement of coverage says with it where the binary writes what it ran.
        let profile = "LLVM_PROFILE_FILE";
        environment.extend(std::env::var_os(profile).map(|file| (profile, file)));
        environment
    }

    /// Runs a command to its end.
    pub(crate) fn uwf(&self, args: &[&str]) -> Run {
        self.command(args).assert().into()
    }

    /// Starts a command and leaves it running.
    pub(crate) fn spawn(&self, args: &[&str]) -> Child {
        self.command(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    }

    /// Registers a workflow under the name in its text.
    #[track_caller]
    pub(crate) fn put(&self, yaml: &str) -> String {
        let name = yaml
            .lines()
            .find_map(|line| line.strip_prefix("name: "))
            .unwrap();
        self.write(&format!("{name}.yaml"), yaml);
        let put = self
            .uwf(&["workflow", "put", &format!("{name}.yaml")])
            .exits(0);
        put.json()["hash"].as_str().unwrap().to_owned()
    }

    /// Makes a mock script the default agent.
    #[track_caller]
    pub(crate) fn mock(&self, script: &str) {
        let path = self.write("script.yaml", script);
        self.agent("uwf-mock", &[path.to_str().unwrap()]);
    }

    /// Makes a program the default agent.
    #[track_caller]
    pub(crate) fn agent(&self, command: &str, args: &[&str]) {
        let args = serde_json::to_string(args).unwrap();
        self.configure("agents.default.command", command);
        self.configure("agents.default.args", &args);
        self.configure("defaultAgent", "default");
    }

    /// Sets a key of the config.
    #[track_caller]
    pub(crate) fn configure(&self, key: &str, value: &str) {
        self.uwf(&["config", "set", key, value]).exits(0);
    }

    /// Adds a model that is served at an address, by a provider `local` without a key.
    #[track_caller]
    pub(crate) fn model(&self, alias: &str, base_url: &str) {
        self.configure("providers.local.baseUrl", base_url);
        self.configure(&format!("models.{alias}.provider"), "local");
        self.configure(&format!("models.{alias}.name"), &format!("vendor/{alias}"));
    }

    /// Makes a shell script the default agent.
    #[track_caller]
    pub(crate) fn scripted_agent(&self, body: &str) {
        let script = self.script("agent.sh", body);
        self.agent(script.to_str().unwrap(), &[]);
    }

    /// Starts a thread and returns its id.
    #[track_caller]
    pub(crate) fn start(&self, workflow: &str) -> String {
        let started = self
            .uwf(&["thread", "start", workflow, "-p", "the task"])
            .exits(0);
        started.json()["thread"].as_str().unwrap().to_owned()
    }

    pub(crate) fn step(&self, thread: &str) -> Run {
        self.uwf(&["thread", "step", thread])
    }

    /// Returns what `thread show` says.
    #[track_caller]
    pub(crate) fn show(&self, thread: &str) -> Value {
        self.uwf(&["thread", "show", thread]).exits(0).json()
    }

    /// Waits until an agent works on the thread, and returns the number of its process.
    #[track_caller]
    pub(crate) fn agent_at_work(&self, thread: &str) -> u64 {
        let agent = || self.show(thread)["running"]["agentPid"].as_u64();
        wait_until("an agent works on the thread", || agent().is_some());
        agent().unwrap()
    }

    /// Waits until nobody works on the thread any more.
    #[track_caller]
    pub(crate) fn wait_until_free(&self, thread: &str) {
        wait_until("the thread is free", || {
            self.show(thread)["status"] != "running"
        });
    }

    /// Returns the file of the record of a finished step.
    pub(crate) fn pending_file(&self, thread: &str) -> PathBuf {
        self.root().join("runs").join(thread).join("pending.json")
    }

    /// Returns the record of a finished step that waits to be committed.
    pub(crate) fn pending(&self, thread: &str) -> Option<Value> {
        serde_json::from_slice(&std::fs::read(self.pending_file(thread)).ok()?).ok()
    }

    /// Returns the text of a file under the storage root, empty if there is none.
    pub(crate) fn state(&self, name: &str) -> String {
        std::fs::read_to_string(self.root().join(name)).unwrap_or_default()
    }
}

/// Returns the path of a file or folder of the golden data.
pub(crate) fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/fixtures")
        .join(name)
}

/// Returns the path of the binary under test: `UWF_BIN`, whose file must be called `uwf`, or the one that cargo built.
pub(crate) fn binary() -> &'static Path {
    static BINARY: LazyLock<PathBuf> = LazyLock::new(|| {
        let named = std::env::var_os("UWF_BIN");
        let path = PathBuf::from(named.unwrap_or_else(|| env!("CARGO_BIN_EXE_uwf").into()));
        path.canonicalize()
            .unwrap_or_else(|error| panic!("no binary at {}: {error}", path.display()))
    });
    &BINARY
}

/// Returns PATH with a folder before all others.
pub(crate) fn path_with(bin: &Path) -> String {
    let path = std::env::var("PATH").unwrap_or_default();
    format!("{}:{path}", bin.display())
}

/// Waits until something holds. The limit only ends a test that would wait for ever: no test decides by it.
#[track_caller]
pub(crate) fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(120);
    while !holds() {
        assert!(Instant::now() < deadline, "waited in vain until {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Tells whether the caller asked for the tests that take hours.
pub(crate) fn is_soak() -> bool {
    std::env::var_os("UWF_SOAK").is_some()
}
