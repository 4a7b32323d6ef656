//! The example that writes release notes: run by its own script on repositories as people have them.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::processes::kill;
use crate::world::{Run, World, binary, path_with, wait_until};

const ROLES: [&str; 6] = [
    "collector",
    "drafter",
    "checker",
    "drafter",
    "checker",
    "publisher",
];

const SUBJECTS: [&str; 6] = [
    "add a parser",
    "Report errors with their line.",
    "fixup! add a parser",
    "WIP",
    "wipe the cache when it is too old",
    r#"Say "yes", C:\new and --- in one subject that is much longer than anybody will want to read"#,
];

const NOTES: &str = r#"# Release notes

- Add a parser
- Report errors with their line
- Wipe the cache when it is too old
- Say "yes", C:\new and --- in one subject that is much longer than any…
"#;

/// A repository with a tag and some commits after it, and `uwf` on the PATH.
struct Repository {
    world: World,
}

impl Repository {
    fn new(subjects: &[&str]) -> Self {
        let repository = Self {
            world: World::new(),
        };
        let bin = repository.bin();
        std::fs::create_dir(&bin).unwrap();
        symlink(binary(), bin.join("uwf")).unwrap();
        repository.git(&["init", "--quiet"]);
        repository.commit("Begin");
        repository.git(&["tag", "v1.0"]);
        for subject in subjects {
            repository.commit(subject);
        }
        repository
    }

    fn bin(&self) -> PathBuf {
        self.world.dir().join("bin")
    }

    fn commit(&self, subject: &str) {
        self.git(&["commit", "--quiet", "--allow-empty", "-m", subject]);
    }

    fn git(&self, args: &[&str]) {
        let done = self.command("git").args(args).output().unwrap();
        assert!(done.status.success(), "git {args:?}: {done:?}");
    }

    /// Returns a command that runs in the repository, with a PATH, a home and a name for commits.
    fn command(&self, program: impl AsRef<Path>) -> Command {
        let mut command = Command::new(program.as_ref());
        command
            .current_dir(self.world.project())
            .env_clear()
            .env("PATH", path_with(&self.bin()))
            .env("HOME", self.world.dir())
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .stdin(Stdio::null());
        for who in ["AUTHOR", "COMMITTER"] {
            command
                .env(format!("GIT_{who}_NAME"), "Ada")
                .env(format!("GIT_{who}_EMAIL"), "ada@example.org");
        }
        command
    }

    fn script(&self) -> Command {
        let script = "../../examples/release-notes/run.sh";
        let mut command = self.command(Path::new(env!("CARGO_MANIFEST_DIR")).join(script));
        command.arg(self.world.project());
        command
    }

    fn run(&self) -> Run {
        self.script().output().unwrap().into()
    }

    fn root(&self) -> PathBuf {
        self.world.project().join(".git/uwf")
    }

    fn uwf(&self, args: &[&str]) -> Value {
        let root = self.root();
        let mut command = self.command(binary());
        command.args(args).arg("--root").arg(root);
        Run::from(command.output().unwrap()).exits(0).json()
    }

    /// Returns the threads, the newest first.
    fn threads(&self) -> Vec<Value> {
        let threads = self.uwf(&["thread", "list", "--all"]);
        threads.as_array().unwrap().clone()
    }

    /// Returns the steps of a thread that `thread list` has shown.
    fn steps(&self, thread: &Value) -> Vec<Value> {
        let steps = self.uwf(&["thread", "steps", thread["thread"].as_str().unwrap()]);
        steps["steps"].as_array().unwrap()[1..].to_vec()
    }

    fn notes(&self) -> Option<String> {
        std::fs::read_to_string(self.world.project().join("RELEASE_NOTES.md")).ok()
    }
}

fn roles(steps: &[Value]) -> Vec<&str> {
    steps
        .iter()
        .map(|step| step["role"].as_str().unwrap())
        .collect()
}

#[test]
fn the_notes_are_drafted_rejected_mended_and_written() {
    let repository = Repository::new(&SUBJECTS);
    repository.run().exits(0);
    assert_eq!(repository.notes().as_deref(), Some(NOTES));
    let threads = repository.threads();
    assert_eq!(threads.len(), 1);
    assert_eq!(threads[0]["status"], json!("completed"));
    let steps = repository.steps(&threads[0]);
    assert_eq!(roles(&steps), ROLES);
    assert_eq!(steps[2]["output"]["$status"], json!("rejected"));
    assert_eq!(
        steps[2]["output"]["broken"].as_array().map(Vec::len),
        Some(4)
    );
    assert_eq!(steps[4]["output"]["$status"], json!("accepted"));
}

#[test]
fn the_next_call_starts_a_thread_of_its_own() {
    let repository = Repository::new(&SUBJECTS);
    repository.run().exits(0);
    repository.commit("Print a summary");
    repository.run().exits(0);
    let threads = repository.threads();
    assert_eq!(threads.len(), 2);
    for thread in &threads {
        assert_eq!(roles(&repository.steps(thread)), ROLES);
    }
    let notes = format!("{NOTES}- Print a summary\n");
    assert_eq!(repository.notes(), Some(notes));
}

#[test]
fn without_commits_since_the_tag_there_is_nothing_to_write() {
    let repository = Repository::new(&[]);
    repository.run().exits(0);
    let threads = repository.threads();
    assert_eq!(threads[0]["status"], json!("completed"));
    let steps = repository.steps(&threads[0]);
    assert_eq!(roles(&steps), ["collector"]);
    assert_eq!(steps[0]["output"]["$status"], json!("nothing"));
    assert_eq!(repository.notes(), None);
}

#[test]
fn notes_that_no_variable_can_hold_are_written_too() {
    // Far fewer commits with long subjects than short ones are needed to get there.
    let subject = format!(
        "Begin a very long story{}",
        " and go on with it".repeat(800)
    );
    let repository = Repository::new(&[subject.as_str(); 6]);
    repository.run().exits(0);
    let line = "- Begin a very long story and go on with it and go on with it and go on…\n";
    let notes = format!("# Release notes\n\n{}", line.repeat(6));
    assert_eq!(repository.notes(), Some(notes));
}

#[test]
fn an_interrupted_run_goes_on_where_it_stood() {
    for interrupted_at in [1, 3, 6] {
        let repository = Repository::new(&SUBJECTS);
        let steps = repository.world.dir().join("steps");
        let gate = repository.world.dir().join("gate");
        // Counts the calls that step, and holds one of them up until the script above it is gone.
        let wrapper = format!(
            "[ \"$1 $2\" != 'thread step' ] || {{\n  echo step >> {steps}\n  [ $(grep -c '' {steps}) != {interrupted_at} ] || \
             while [ ! -e {gate} ]; do sleep 0.02; done\n}}\nexec {uwf} \"$@\"",
            steps = steps.display(),
            gate = gate.display(),
            uwf = binary().display(),
        );
        let script = repository.world.script("../wrapper", &wrapper);
        std::fs::rename(script, repository.bin().join("uwf")).unwrap();
        let count = || {
            std::fs::read_to_string(&steps)
                .unwrap_or_default()
                .lines()
                .count()
        };

        let run = repository.script().stdout(Stdio::null()).spawn().unwrap();
        wait_until("the step is held up", || count() == interrupted_at);
        kill(run);
        std::fs::write(&gate, "").unwrap();
        wait_until("the step that was under way has ended", || {
            repository.steps(&repository.threads()[0]).len() == interrupted_at
        });
        // The step's process lets the thread go a moment after it moved the head.
        wait_until("the thread is free", || {
            repository.threads()[0]["status"] != json!("running")
        });

        if interrupted_at < ROLES.len() {
            repository.run().exits(0);
        }
        let threads = repository.threads();
        assert_eq!(threads.len(), 1, "interrupted at {interrupted_at}");
        assert_eq!(threads[0]["status"], json!("completed"));
        assert_eq!(roles(&repository.steps(&threads[0])), ROLES);
        assert_eq!(count(), ROLES.len(), "interrupted at {interrupted_at}");
        assert_eq!(repository.notes().as_deref(), Some(NOTES));
    }
}
