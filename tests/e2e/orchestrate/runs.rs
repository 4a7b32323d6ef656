//! Runs for tests: a pipeline is run in a world, and what the run left is read.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::world::{Run, World, wait_until};

/// What a run did, and what it left.
pub(super) struct Ran {
    pub(super) run: Run,
    /// What `--json` printed.
    pub(super) summary: Value,
    /// The picture of the run.
    pub(super) state: Value,
}

impl Ran {
    /// Asserts the exit code of the command, which its result names, too.
    #[track_caller]
    pub(super) fn exits(mut self, code: i32) -> Self {
        self.run = self.run.exits(code);
        assert_eq!(self.summary["exit_code"], code, "{}", self.summary);
        self
    }

    /// Returns the record of a step of the pipeline.
    #[track_caller]
    pub(super) fn step(&self, name: &str) -> &Value {
        let step = &self.state["steps"][name];
        assert!(!step.is_null(), "no step {name}: {}", self.state);
        step
    }

    /// Returns the exit code and the kind of error of a step.
    #[track_caller]
    pub(super) fn failure(&self, name: &str) -> (i64, &str) {
        let step = self.step(name);
        let code = step["exit_code"].as_i64().unwrap();
        (code, step["error"]["type"].as_str().unwrap_or_default())
    }

    /// Returns the text that a step printed.
    #[track_caller]
    pub(super) fn output(&self, name: &str) -> &str {
        let step = self.step(name);
        let output = step["output"].as_str();
        output.unwrap_or_else(|| panic!("no output: {step}"))
    }

    /// Returns the folder of the run.
    pub(super) fn root(&self) -> &Path {
        let file = Path::new(self.summary["state_file"].as_str().unwrap());
        file.parent().unwrap()
    }

    pub(super) fn id(&self) -> &str {
        self.summary["run_id"].as_str().unwrap()
    }

    /// Returns a log of the run.
    pub(super) fn log(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.root().join("logs").join(name)).unwrap()
    }
}

/// Writes a pipeline and runs it to its end.
#[track_caller]
pub(super) fn run(world: &World, pipeline: &str, args: &[&str]) -> Ran {
    ran(&mut command(world, pipeline, args))
}

/// Returns the command that runs a pipeline, which is written first if it is another one.
pub(super) fn command(world: &World, pipeline: &str, args: &[&str]) -> Command {
    let written = std::fs::read(world.project().join("flow.yaml"));
    if !written.is_ok_and(|written| written == pipeline.as_bytes()) {
        world.write("flow.yaml", pipeline);
    }
    let words = ["orchestrate", "run", "flow.yaml", "--json"];
    world.command(&[&words, args].concat())
}

/// Goes on with a run to its end.
#[track_caller]
pub(super) fn resume(world: &World, id: &str, args: &[&str]) -> Ran {
    let words = ["orchestrate", "resume", id, "--json"];
    ran(&mut world.command(&[&words, args].concat()))
}

/// Runs a command that works on a run.
#[track_caller]
pub(super) fn ran(command: &mut Command) -> Ran {
    read(command.output().unwrap().into())
}

#[track_caller]
fn read(run: Run) -> Ran {
    let summary = run.json();
    let file = summary["state_file"].as_str();
    let file = file.unwrap_or_else(|| panic!("no run: {}", run.stderr));
    let state = std::fs::read(file).unwrap();
    Ran {
        state: serde_json::from_slice(&state).unwrap(),
        summary,
        run,
    }
}

/// A run that goes on while the test looks at it.
pub(super) struct Running {
    child: Child,
}

/// Starts to run a pipeline.
pub(super) fn start(world: &World, pipeline: &str, args: &[&str]) -> Running {
    let mut command = command(world, pipeline, args);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    Running {
        child: command.spawn().unwrap(),
    }
}

impl Running {
    /// Sends a signal to the process that does the steps, and to no other.
    pub(super) fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, signal).unwrap();
    }

    /// Returns the number of the process.
    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(super) fn is_over(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    #[track_caller]
    pub(super) fn wait(self) -> Ran {
        read(self.child.wait_with_output().unwrap().into())
    }
}

/// Returns the folder of the only run of a world, as soon as there is one.
#[track_caller]
pub(super) fn root_of_only_run(world: &World) -> PathBuf {
    let runs = world.project().join(".orchestrate/runs");
    let mut found = None;
    wait_until("the run has a picture", || {
        let mut folders = std::fs::read_dir(&runs).into_iter().flatten();
        found = folders.next().map(|folder| folder.unwrap().path());
        found
            .as_ref()
            .is_some_and(|run| run.join("state.json").exists())
    });
    found.unwrap()
}

/// Returns the picture of a run as it is now.
#[track_caller]
pub(super) fn state_in(root: &Path) -> Value {
    let text = std::fs::read(root.join("state.json")).unwrap();
    serde_json::from_slice(&text).unwrap()
}

/// Waits until a file is in the project.
#[track_caller]
pub(super) fn wait_for_file(world: &World, name: &str) {
    wait_until(&format!("`{name}` is there"), || {
        world.project().join(name).exists()
    });
}

/// Returns a file of the project as text.
#[track_caller]
pub(super) fn text_of(world: &World, name: &str) -> String {
    let path = world.project().join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
