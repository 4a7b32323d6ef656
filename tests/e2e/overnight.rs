//! A night of `examples/overnight`: agents mend a failing test suite side by side, over a scripted model, while processes are
//! killed. In the morning everything is done once, and the thread tells what happened.

use std::fs;
use std::path::Path;
use std::process::{Child, Command};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use serde_json::{Value, json};

use crate::crash::soak::{Chance, soak};
use crate::model_server::{ModelServer, Request, Scripted};
use crate::processes::{kill, kill_all_of};
use crate::readme::every_command_prints_what_is_said;
use crate::worktrees::{branches, git, git_at};
use crate::world::{Run, World, wait_until};

/// How often something is killed on the way.
const KILLS: usize = 10;
/// How many answers of the model the night needs without a kill.
const NEEDED: u64 = 22;
/// How many tokens each answer takes from the prompt, and gives.
const TOKENS: [u64; 2] = [1000, 100];

/// Removes the lock of all references of the repository, if it is a second old: a git that was killed left it, and until a person or
/// an agent does what git says then, nobody can commit in the repository.
const FREE_REFERENCES: &str = "lock=$(git rev-parse --git-common-dir)/packed-refs.lock
[ ! -e \"$lock\" ] || { sleep 1; find \"$lock\" ! -newermt '-1 seconds' -delete 2> /dev/null || true; }
";

/// A world whose project is the repository of the example, with the workflow beside it, and a model that answers as the example
/// says.
struct Night {
    world: World,
    server: ModelServer,
    /// How many answers the model has given.
    answered: Arc<AtomicUsize>,
}

impl Night {
    fn prepare() -> Self {
        let world = World::new();
        let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/overnight");
        let mut copy = Command::new("cp");
        copy.arg("-R")
            .arg(example.join("project/."))
            .arg(world.project());
        assert!(copy.status().unwrap().success());
        git(&world, &["init", "--quiet", "--initial-branch=main"]);
        git(&world, &["config", "user.name", "Test"]);
        git(&world, &["config", "user.email", "test@localhost"]);
        git(&world, &["add", "--all"]);
        git(
            &world,
            &["commit", "--quiet", "--message=Three parts and their tests"],
        );
        let script = fs::read_to_string(example.join("model.yaml")).unwrap();
        let script: Vec<Value> = serde_saphyr::from_str(&script).unwrap();
        let answered = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&answered);
        let server = ModelServer::answering(move |request| {
            // As long as a quick model thinks.
            std::thread::sleep(Duration::from_millis(20));
            counted.fetch_add(1, Ordering::SeqCst);
            answer(&script, request)
        });
        world.model("coder", &server.base_url());
        world.configure("defaultModel", "coder");
        world.configure("prices.served-model.input", "3");
        world.configure("prices.served-model.output", "15");
        world.agent("uwf-builtin", &["--allow-shell"]);
        fs::copy(
            example.join("overnight.yaml"),
            world.dir().join("overnight.yaml"),
        )
        .unwrap();
        Self {
            world,
            server,
            answered,
        }
    }

    fn start(&self) {
        let start = ["thread", "start", "../overnight.yaml", "--name", "night"];
        self.world
            .uwf(&[&start[..], &["-p", "Make the tests pass."]].concat())
            .exits(0);
    }

    /// Runs the thread until it ends or is killed.
    fn run(&self) -> Child {
        let mut free = Command::new("sh");
        let free = free.args(["-c", FREE_REFERENCES]);
        assert!(
            free.current_dir(self.world.project())
                .status()
                .unwrap()
                .success()
        );
        self.world.spawn(&["thread", "run", "night", "--wait"])
    }

    /// Runs the thread and kills something soon after the model is asked for the next time. A run that ends before, because of what
    /// an earlier kill left, counts for nothing.
    fn is_killed(&self, chance: &mut Chance) -> bool {
        let asked = self.server.requests().len();
        let mut run = self.run();
        let mut ended = None;
        wait_until("the model is asked", || {
            ended = run.try_wait().unwrap();
            self.server.requests().len() > asked || ended.is_some()
        });
        if let Some(ended) = ended {
            assert_ne!(ended.code(), Some(0), "the night is over too early");
            return false;
        }
        std::thread::sleep(Duration::from_millis(chance.below(60) as u64));
        if chance.below(2) == 0 {
            // The agents, the checks and the processes of the branches, too.
            kill_all_of(&self.world);
        }
        kill(run);
        true
    }

    fn thread(&self, command: &[&str]) -> Value {
        self.world
            .uwf(&[&["thread"], command].concat())
            .exits(0)
            .json()
    }
}

/// Returns what the model answers: the next turn of the entry whose text was asked.
fn answer(script: &[Value], request: &Request) -> Scripted {
    let request = request.json();
    let messages = request["messages"].as_array().unwrap();
    let text = |message: &Value| message["content"].as_str().unwrap_or_default().to_owned();
    let (system, task) = (text(&messages[0]), text(&messages[1]));
    let is_asked = |entry: &&Value| {
        let asked = entry["asked"].as_str().unwrap();
        system.contains(asked) || task.contains(asked)
    };
    let entry = script
        .iter()
        .find(is_asked)
        .unwrap_or_else(|| panic!("nobody answers this: {system}\n{task}"));
    let results: Vec<String> = messages
        .iter()
        .filter(|message| message["role"] == "tool")
        .map(text)
        .collect();
    // What a kill took is called again.
    let lost = results
        .iter()
        .filter(|result| result.contains("was not carried out"))
        .count();
    let answers = messages
        .iter()
        .filter(|message| message["role"] == "assistant")
        .count();
    let turn = answers - lost;
    let turns = entry["turns"].as_array().unwrap();
    let (name, arguments) = turns[turn.min(turns.len() - 1)]
        .as_object()
        .unwrap()
        .iter()
        .next()
        .unwrap();
    let branch = results
        .iter()
        .rev()
        .find_map(|result| branches_in(result).pop());
    let branches = branches_in(&task);
    let arguments = arguments.to_string();
    let arguments = arguments.replace("\"$branches\"", &json!(branches).to_string());
    let arguments = arguments.replace("$branches", &branches.join(" "));
    let arguments = arguments.replace("$branch", &branch.unwrap_or_default());
    let mut arguments: Value = serde_json::from_str(&arguments).unwrap();
    if let Some(command) = arguments.get_mut("command") {
        let asked = command.as_str().unwrap();
        *command = format!("{FREE_REFERENCES}{asked}").into();
    }
    let [input, output] = TOKENS;
    let usage = json!({ "prompt_tokens": input, "completion_tokens": output });
    Scripted::calls(&[(name, arguments)]).using(&usage)
}

/// Returns the branches of threads that a text names, each once.
fn branches_in(text: &str) -> Vec<String> {
    static BRANCH: LazyLock<regex::Regex> =
        LazyLock::new(|| regex::Regex::new("uwf/[0-9A-Za-z]+").unwrap());
    let mut branches: Vec<String> = Vec::new();
    for found in BRANCH.find_iter(text) {
        if !branches.iter().any(|known| known == found.as_str()) {
            branches.push(found.as_str().to_owned());
        }
    }
    branches
}

#[test]
fn every_command_of_the_tutorial_prints_what_it_says() {
    let night = Night::prepare();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/overnight.md");
    every_command_prints_what_is_said(&path, 8, &night.world);
}

#[test]
fn a_night_of_kills_ends_with_everything_mended_and_done_once() {
    let (_, mut chance) = soak();
    let night = Night::prepare();
    night.start();
    let mut kills = 0;
    while kills < KILLS {
        kills += usize::from(night.is_killed(&mut chance));
    }
    let ran = Run::from(night.run().wait_with_output().unwrap()).exits(0);
    let end: Value = serde_json::from_str(ran.stdout.lines().last().unwrap()).unwrap();
    assert_eq!(end["status"], "completed", "{end}");
    mended_on_a_branch_alone(&night);
    done_once(&night);
    tells_the_story(&night);
    nothing_is_left(&night);
}

/// The branch of the thread has all of it, and the user's own is as it was.
fn mended_on_a_branch_alone(night: &Night) {
    let world = &night.world;
    assert_eq!(git(world, &["log", "--oneline", "main"]).lines().count(), 1);
    assert_eq!(git(world, &["status", "--porcelain"]), "");
    let shown = night.thread(&["show", "night"]);
    let place = Path::new(shown["workspace"]["folder"].as_str().unwrap());
    let tests = Command::new("sh")
        .arg("test.sh")
        .current_dir(place)
        .output();
    assert!(tests.unwrap().status.success());
    assert_eq!(git_at(place, &["status", "--porcelain"]), "");
}

/// Each role has one step, and no model is asked about a step that is done.
fn done_once(night: &Night) {
    let steps = night.thread(&["steps", "night"]);
    let roles = steps["steps"].as_array().unwrap()[1..].iter();
    let roles: Vec<&str> = roles.map(|step| step["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["planner", "develop", "reviewer", "merger"]);
    let developed = &steps["steps"][2]["output"];
    assert_eq!(
        (&developed["count"], &developed["failed"]),
        (&json!(3), &json!(0))
    );
    for result in developed["results"].as_array().unwrap() {
        let child = night.thread(&["steps", result["thread"].as_str().unwrap()]);
        assert_eq!(child["steps"].as_array().unwrap().len(), 2, "{child}");
        assert_eq!(child["steps"][1]["checks"][0]["exitCode"], 0, "{child}");
    }
    let asked: Vec<usize> = night.server.requests().iter().map(work_of).collect();
    assert!(asked.is_sorted(), "{asked:?}");
    let total = &night.thread(&["cost", "night"])["total"];
    let most = night.answered.load(Ordering::SeqCst) as u64 * TOKENS.iter().sum::<u64>();
    let needed = NEEDED * TOKENS.iter().sum::<u64>();
    let told = total["tokens"].as_u64().unwrap();
    // Of an agent that was killed before it could tell, only that is known.
    let least = match total["tokensUnknown"].as_u64().unwrap() {
        0 => needed,
        _ => 0,
    };
    assert!((least..=most).contains(&told), "{least} {most} {total}");
}

/// Returns the place of the role that a request is about: planner, developers, reviewer, merger.
fn work_of(request: &Request) -> usize {
    let text = request.json()["messages"].to_string();
    let roles = [
        "You find out which parts fail",
        "You mend one part",
        "You decide whether",
        "You merge the branches",
    ];
    roles.iter().position(|role| text.contains(role)).unwrap()
}

/// What a person looks at in the morning.
fn tells_the_story(night: &Night) {
    let world = &night.world;
    for (args, parts) in [
        (
            &["thread", "list", "--all", "--after", "12h"][..],
            &["completed", "night: Make the tests pass."][..],
        ),
        (
            &["thread", "show", "night"],
            &["branch uwf/night", "Everything passes on `uwf/night`."],
        ),
        (
            &["thread", "steps", "night"],
            &["planner", "(child)", "done after 1 step", "1 check passed"],
        ),
        (
            &["thread", "diff", "night", "--stat"],
            &["lib/leap.sh", "lib/slug.sh", "lib/total.sh"],
        ),
        (&["thread", "cost", "night"], &["developer", "~$"]),
        (&["step", "artifacts", "night@3"], &["changes.diff"]),
        (
            &["step", "cat", "night@3", "changes.diff"],
            &["+++ b/lib/slug.sh"],
        ),
    ] {
        let text = world
            .uwf(&[args, &["--format", "text"]].concat())
            .exits(0)
            .stdout;
        for part in parts {
            assert!(text.contains(part), "{args:?} lacks `{part}`:\n{text}");
        }
    }
    let page = world
        .uwf(&["thread", "read", "night", "--html"])
        .exits(0)
        .stdout;
    for part in [
        "Three parts fail.",
        "every century was a leap year",
        "Merged without conflicts.",
    ] {
        assert!(page.contains(part), "{part}");
    }
}

/// A merge keeps the work, and removing the threads then takes their worktrees and branches away.
fn nothing_is_left(night: &Night) {
    let world = &night.world;
    world.uwf(&["cas", "verify"]).exits(0);
    world
        .uwf(&["thread", "rm", "night"])
        .exits(1)
        .says("uwf/night");
    git(world, &["merge", "--quiet", "uwf/night"]);
    world.uwf(&["thread", "prune", "--ended"]).exits(0);
    assert_eq!(branches(world), ["main"]);
    assert_eq!(git(world, &["worktree", "list"]).lines().count(), 1);
    assert_eq!(
        world
            .uwf(&["thread", "list", "--all", "--children"])
            .exits(0)
            .json(),
        json!([])
    );
}
