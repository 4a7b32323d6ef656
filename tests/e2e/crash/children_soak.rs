//! Engines of parents and children, and the adapters of their agents, are killed at random while they work: no child is made
//! twice, and no work that was finished is done again.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::json;

use super::reader::{Ledger, read_every_node};
use super::soak::{Chance, soak};
use crate::processes::{kill_if_there, variable, with_variable};
use crate::world::{Run, World, wait_until};

const NOTE: &str =
    "frontmatter: { type: object, required: [note], properties: { note: { type: string } } }";
/// How many processes are killed in each world of a soak. A run of all tests kills fewer in its one.
const KILLS: usize = 200;
const KILLS_OF_ONE: usize = 60;
const BRANCHES: usize = 6;
/// A branch whose agent was lost three times at one place has failed for good.
const MOST_LOST: usize = 2;

/// A world with workflows on three levels. The tool behind their agent writes down what it has finished.
fn world() -> World {
    let world = World::new();
    world.write(
        "bottom.yaml",
        &format!("name: bottom\nroles:\n  coder: {{ goal: g, {NOTE} }}\ngraph:\n  $START: {{ _: {{ role: coder, prompt: Code. }} }}\n  coder: [{{ role: $END }}]\n"),
    );
    world.write(
        "middle.yaml",
        &format!("name: middle\nroles:\n  planner: {{ goal: g, {NOTE} }}\n  build: {{ goal: g, workflow: ./bottom.yaml }}\ngraph:\n  $START: {{ _: {{ role: planner, prompt: Plan. }} }}\n  planner: [{{ role: build, prompt: Build. }}]\n  build: [{{ role: $END }}]\n"),
    );
    world.put("name: top\nroles:\n  all: { goal: g, each: [a, b, c, d, e, f], workflow: ./middle.yaml, max: 3 }\ngraph:\n  $START: { _: { role: all, prompt: 'Do {{item}}.' } }\n  all: [{ role: $END }]\n");
    let body = "cat > /dev/null; sleep 0.05; printf -- '---\\nnote: n\\n---\\n'; echo $UWF_HEAD >> finished";
    let tool = world.script("tool", body);
    world.agent("uwf-command", &["--", tool.to_str().unwrap()]);
    world
}

/// Returns the number and the command line of every process that may be killed: engines and adapters of this world.
fn targets(world: &World) -> Vec<(String, String)> {
    let root = format!("UWF_STORAGE_ROOT={}", world.root().display());
    let found = with_variable(&root).into_iter().filter_map(|process| {
        let (pid, line) = process.split_once(' ')?;
        Some((pid.to_owned(), line.to_owned()))
    });
    found
        .filter(|(_, line)| line.contains(" thread ") || line.contains("uwf-command "))
        .collect()
}

/// Returns how often the work after each head was finished.
fn finished(world: &World) -> BTreeMap<String, usize> {
    let text = std::fs::read_to_string(world.project().join("finished")).unwrap_or_default();
    let mut found = BTreeMap::new();
    for line in text.lines() {
        *found.entry(line.to_owned()).or_default() += 1;
    }
    found
}

/// Kills one of the processes that may be killed, and tells whether it did. `lost` counts the adapters by the heads of their
/// work.
fn kill_one(world: &World, chance: &mut Chance, lost: &mut BTreeMap<String, usize>) -> bool {
    let targets = targets(world);
    if targets.is_empty() {
        return false;
    }
    let (pid, line) = &targets[chance.below(targets.len())];
    let head = variable(pid, "UWF_HEAD").filter(|_| line.contains("uwf-command "));
    if head.as_ref().and_then(|head| lost.get(head)) == Some(&MOST_LOST) || !kill_if_there(pid) {
        return false;
    }
    if let Some(head) = head {
        *lost.entry(head).or_default() += 1;
    }
    true
}

#[test]
fn threads_on_three_levels_survive_kill_upon_kill() {
    let (worlds, mut chance) = soak();
    let most = match worlds {
        1 => KILLS_OF_ONE,
        _ => KILLS,
    };
    for _ in 0..worlds {
        let world = world();
        let mut kills = 0;
        // How often adapters were killed after each head. What their tools had just finished may be done again.
        let mut lost: BTreeMap<String, usize> = BTreeMap::new();
        let mut threads = 0;
        while kills < most {
            let thread = world.start("top");
            threads += 1;
            while world.show(&thread)["done"] != json!(true) {
                let command = ["run", "step"][chance.below(2)];
                let mut call = world.spawn(&["thread", command, &thread]);
                while call.try_wait().unwrap().is_none() {
                    // Nothing depends on how long this takes: it only has the kills come at different moments.
                    std::thread::sleep(Duration::from_millis(chance.below(60) as u64));
                    if kills < most {
                        kills += usize::from(kill_one(&world, &mut chance, &mut lost));
                    }
                }
                let ended = Run::from(call.wait_with_output().unwrap());
                assert!(
                    [-1, 0, 3, 5].contains(&ended.code),
                    "{}: {}",
                    ended.code,
                    ended.stderr
                );
            }
            wait_until("nobody works any more", || targets(&world).is_empty());
            let ledger = Ledger::read(&world.root());
            assert_eq!(ledger.threads.len(), threads * (1 + 2 * BRANCHES));
            assert_eq!(ledger.threads[&thread].len(), 1);
            let steps = world.uwf(&["thread", "steps", &thread]).exits(0).json();
            let last = steps["steps"].as_array().unwrap().last().unwrap();
            assert_eq!(last["output"]["failed"], json!(0), "{last}");
        }
        let finished = finished(&world);
        assert_eq!(finished.len(), threads * 2 * BRANCHES);
        for (work, count) in finished {
            let thread = work.split(' ').next().unwrap();
            let may_be = 1 + lost.get(thread).copied().unwrap_or_default();
            assert!(
                count <= may_be,
                "{work} was finished {count} times, {lost:?}"
            );
        }
        read_every_node(&world.root());
    }
}
