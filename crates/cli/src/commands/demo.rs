//! `uwf demo`: runs a bundled workflow from start to end, with the commands that a person would type. Each command is a
//! process of this program.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use uwf_protocol::exit::Exit;
use uwf_util::shell_words;

use crate::commands::Context;
use crate::failure::Failure;
use crate::output::{Format, write};

const WORKFLOW: &str = include_str!("../../../../examples/demo/plan-develop-review.yaml");
const SCRIPT: &str = include_str!("../../../../examples/demo/script.yaml");
const WORKFLOW_FILE: &str = "plan-develop-review.yaml";
const SCRIPT_FILE: &str = "script.yaml";
/// The demo fails after this many cycles, which the bundled workflow never needs.
const MOST_STEPS: usize = 20;

pub(crate) fn run(context: &Context, dir: Option<&Path>) -> Result<Exit, Failure> {
    let demo = Demo::create(context, dir)?;
    write(&format!(
        "A workflow of three roles, played by a scripted agent, in {}\n",
        demo.dir.display()
    ))?;
    demo.call(&["workflow", "put", WORKFLOW_FILE])?;
    demo.call(&["config", "set", "agents.script.command", "uwf-mock"])?;
    let script = serde_json::json!([demo.dir.join(SCRIPT_FILE)]).to_string();
    demo.call(&["config", "set", "agents.script.args", &script])?;
    demo.call(&["config", "set", "defaultAgent", "script"])?;
    let task = "Greet the user by name";
    demo.call(&["thread", "start", "plan-develop-review", "-p", task])?;
    let threads = demo.ask(&["thread", "list"])?;
    let thread = word(&threads[0], "thread")?;
    for _ in 0..MOST_STEPS {
        demo.call(&["thread", "step", &thread])?;
        let shown = demo.ask(&["thread", "show", &thread])?;
        if shown["done"] == Value::Bool(true) {
            demo.farewell(&thread, &word(&shown, "head")?)?;
            return Ok(Exit::Done);
        }
    }
    Err(Failure::request("the demo did not come to its end"))
}

/// A folder with a store of its own.
struct Demo {
    dir: PathBuf,
    root: PathBuf,
    program: PathBuf,
    format: Format,
}

impl Demo {
    fn create(context: &Context, dir: Option<&Path>) -> Result<Self, Failure> {
        let site = context.site();
        let dir = match dir {
            Some(dir) => site.env.cwd().join(dir),
            None => {
                let random = site.env.random().map_err(|error| {
                    Failure::request("cannot get random bits from the kernel").cause(&error)
                })?;
                std::env::temp_dir().join(format!("uwf-demo-{:08x}", random as u32))
            }
        };
        let failed = |error: std::io::Error| {
            Failure::request(format!("cannot make the demo in {}", dir.display())).cause(&error)
        };
        if dir.join(WORKFLOW_FILE).exists() {
            return Err(
                Failure::request(format!("there is a demo in {} already", dir.display()))
                    .hint("name another folder: `uwf demo <dir>`"),
            );
        }
        std::fs::create_dir_all(&dir).map_err(failed)?;
        std::fs::write(dir.join(WORKFLOW_FILE), WORKFLOW).map_err(failed)?;
        std::fs::write(dir.join(SCRIPT_FILE), SCRIPT).map_err(failed)?;
        let dir = dir.canonicalize().map_err(failed)?;
        Ok(Self {
            root: dir.join("uwf"),
            dir,
            program: site.env.program(),
            format: context.format,
        })
    }

    /// Shows a command, runs it, and shows what it prints.
    fn call(&self, args: &[&str]) -> Result<(), Failure> {
        write(&format!(
            "$ uwf {}",
            shell_words::join(args.iter().copied())
        ))?;
        let printed = self.run(args, self.format)?;
        write(&format!("{}\n", printed.trim_end()))
    }

    /// Runs a command without showing it, and returns its data.
    fn ask(&self, args: &[&str]) -> Result<Value, Failure> {
        let printed = self.run(args, Format::Json)?;
        serde_json::from_str(&printed).map_err(|error| {
            Failure::request("a command of the demo printed no JSON").cause(&error)
        })
    }

    fn run(&self, args: &[&str], format: Format) -> Result<String, Failure> {
        let output = Command::new(&self.program)
            .args(args)
            .args(["--format", format.name()])
            .current_dir(&self.dir)
            .env("UWF_STORAGE_ROOT", &self.root)
            .env_remove("OCAS_DIR")
            .output()
            .map_err(|error| Failure::request("cannot run this program again").cause(&error))?;
        if !output.status.success() {
            return Err(Failure::request("a command of the demo failed")
                .cause(&String::from_utf8_lossy(&output.stderr)));
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    fn farewell(&self, thread: &str, head: &str) -> Result<(), Failure> {
        let root = self.root.display().to_string();
        let root = shell_words::quote(&root);
        let line = |command: String, what: &str| format!("  {command:<49}# {what}\n");
        let lines = [
            line(format!("uwf thread read {thread}"), "the whole story"),
            line(
                format!("uwf thread steps {thread}"),
                "one line for each step",
            ),
            line(format!("uwf step show {head}"), "what one step recorded"),
            line(
                format!("uwf step read --prompt {head}"),
                "what its agent was told",
            ),
            line("uwf cas verify".to_owned(), "every node against its hash"),
            line(
                "uwf thread fork <step>".to_owned(),
                "go on from any step, in a new thread",
            ),
        ];
        write(&format!(
            "The thread has ended. The reviewer rejected once, and the developer worked twice.\n\
             Look at it:\n\n  export UWF_STORAGE_ROOT={root}\n{}",
            lines.concat().trim_end()
        ))
    }
}

fn word(data: &Value, key: &str) -> Result<String, Failure> {
    let found = data[key].as_str().map(str::to_owned);
    found.ok_or_else(|| Failure::request(format!("a command of the demo printed no `{key}`")))
}
