//! Threads that are removed are gone for good, with all that only they needed, and nothing else is.

use serde_json::{Value, json};

use crate::gates::{NOTE, at_work, gated_agent, open_gate};
use crate::gc::{DAY, age_all, gc, has, text};
use crate::processes::kill;
use crate::resumes::again;
use crate::world::{ONE_STEP, REVIEW, Run, World, wait_until};

const REVIEWED: &str = "roles:\n  writer:\n    - output: { plan: p }\n  reviewer:\n    - output: { $status: approved, summary: s }\n";

fn world(workflow: &str, script: &str) -> World {
    let world = World::new();
    world.put(workflow);
    gated_agent(&world, script);
    world
}

/// Starts a thread and does all its steps.
fn ended(world: &World, workflow: &str) -> String {
    let thread = world.start(workflow);
    let args = ["thread", "step", &thread, "-c", "all"];
    world.uwf(&args).exits(0);
    thread
}

fn rm(world: &World, threads: &[&str]) -> Run {
    world.uwf(&[&["thread", "rm"], threads].concat())
}

fn prune(world: &World, args: &[&str]) -> Value {
    let prune = ["thread", "prune", "--ended"];
    world.uwf(&[&prune, args].concat()).exits(0).json()
}

/// Returns all threads that are on record.
fn threads(world: &World) -> Vec<String> {
    let listed = world.uwf(&["thread", "list", "--all"]).exits(0);
    assert_eq!(listed.stderr, "");
    let listed = listed.json();
    let listed = listed.as_array().unwrap().iter();
    listed.map(|item| text(&item["thread"])).collect()
}

/// Asserts that nothing of a thread is left but the line that says so.
#[track_caller]
fn is_gone(world: &World, thread: &str) {
    assert!(!threads(world).contains(&thread.to_owned()));
    assert!(!world.state("threads.yaml").contains(thread));
    assert!(!world.root().join("runs").join(thread).exists());
    let history = world.state("history.jsonl");
    let mut lines = history.lines().filter(|line| line.contains(thread));
    assert!(lines.next().unwrap().starts_with("{\"removed\":"));
    assert_eq!(lines.next(), None);
    for command in ["show", "step", "pause", "rm", "kill", "read"] {
        let args = ["thread", command, thread];
        world.uwf(&args).exits(1).says("was removed");
    }
    world.uwf(&["cas", "verify"]).exits(0);
    world.uwf(&["doctor"]).exits(0);
}

#[test]
fn a_removed_thread_is_gone_and_its_nodes_are_garbage() {
    let world = world(REVIEW, REVIEWED);
    let kept = ended(&world, "review");
    let thread = world.start("review");
    world.step(&thread).exits(0);
    let args = ["thread", "poke", &thread, "-p", "again"];
    let replaced = text(&world.uwf(&args).exits(0).json()["replaced"]);
    world.step(&thread).exits(0);
    let shown = world.show(&kept);
    let head = text(&world.show(&thread)["head"]);
    let removed = rm(&world, &[&thread]).exits(0).json();
    assert_eq!(
        removed,
        json!({ "thread": thread, "removed": true, "head": head })
    );
    is_gone(&world, &thread);
    assert_eq!(world.show(&kept), shown);
    age_all(&world, 30 * DAY);
    gc(&world, &[]).exits(0);
    assert!(!has(&world, &head) && !has(&world, &replaced));
    world.uwf(&["thread", "read", &kept]).exits(0);
    world.uwf(&["cas", "verify"]).exits(0);
}

#[test]
fn garbage_can_be_collected_when_the_last_thread_was_removed() {
    let world = world(ONE_STEP, NOTE);
    let thread = ended(&world, "one");
    let head = text(&world.show(&thread)["head"]);
    rm(&world, &[&thread]).exits(0);
    age_all(&world, 30 * DAY);
    gc(&world, &[]).exits(0);
    assert!(!has(&world, &head));
    ended(&world, "one");
}

#[test]
fn a_removed_thread_can_be_made_again_until_its_nodes_are_collected() {
    let world = world(ONE_STEP, NOTE);
    let thread = ended(&world, "one");
    let head = text(&world.show(&thread)["head"]);
    rm(&world, &[&thread]).exits(0);
    let shown = world.uwf(&["thread", "show", &thread]).exits(1);
    let shown = shown.says(&format!("uwf thread fork {head}"));
    assert_eq!(shown.stdout, "");
    world.uwf(&["thread", "fork", &head]).exits(0);
}

#[test]
fn forks_of_a_removed_thread_stay_whole() {
    let world = world(REVIEW, REVIEWED);
    let thread = ended(&world, "review");
    let fork = world.uwf(&["thread", "fork", &format!("{thread}~1")]);
    let fork = text(&fork.exits(0).json()["thread"]);
    let story = |thread: &str| world.uwf(&["thread", "read", thread]).exits(0).stdout;
    let before = story(&fork);
    rm(&world, &[&thread]).exits(0);
    age_all(&world, 30 * DAY);
    gc(&world, &[]).exits(0);
    assert_eq!(story(&fork), before);
    world.step(&fork).exits(0);
}

#[test]
fn a_thread_that_has_not_ended_is_removed_by_force_only() {
    let world = world(REVIEW, REVIEWED);
    let thread = world.start("review");
    rm(&world, &[&thread]).exits(1).says("would lose its task");
    world.step(&thread).exits(0);
    rm(&world, &[&thread]).exits(1).says("would lose its step");
    kill(at_work(&world, &["thread", "step", &thread]));
    open_gate(&world);
    wait_until("the agent has finished", || {
        world.pending(&thread).is_some()
    });
    world.wait_until_free(&thread);
    rm(&world, &[&thread])
        .exits(1)
        .says("its step and a finished step that waits to be committed")
        .says(&format!("uwf thread kill {thread}"))
        .says(&format!("uwf thread rm --force {thread}"));
    assert_eq!(world.show(&thread)["steps"], json!(1));
    let finished = text(&world.pending(&thread).unwrap()["step"]);
    rm(&world, &[&thread, "--force"])
        .exits(0)
        .says(&format!("`uwf thread fork {finished}`"));
    is_gone(&world, &thread);
    let cost = world.uwf(&["thread", "cost"]).exits(0).json();
    assert_eq!(cost["total"]["runs"], json!(2), "both were paid for");
    let fork = world.uwf(&["thread", "fork", &finished]).exits(0).json();
    assert_eq!(world.show(&text(&fork["thread"]))["steps"], json!(2));
}

#[test]
fn a_thread_that_ended_and_goes_on_is_removed_with_its_earlier_end() {
    let world = world(&again(), NOTE);
    let thread = ended(&world, "again");
    let mut engine = at_work(&world, &["thread", "resume", &thread]);
    rm(&world, &[&thread, "--force"]).exits(5);
    open_gate(&world);
    assert!(engine.wait().unwrap().success());
    let history = world.state("history.jsonl");
    assert_eq!(history.matches(&thread).count(), 2);
    rm(&world, &[&thread]).exits(0);
    is_gone(&world, &thread);
}

#[test]
fn a_thread_is_not_removed_while_anybody_works_on_it() {
    let world = world(ONE_STEP, NOTE);
    let thread = world.start("one");
    let engine = at_work(&world, &["thread", "step", &thread]);
    for args in [&[thread.as_str()][..], &[&thread, "--force"]] {
        rm(&world, args).exits(5).says("busy");
    }
    // The agent goes on without its engine, and can still finish its step.
    kill(engine);
    rm(&world, &[&thread, "--force"]).exits(5).says("busy");
    open_gate(&world);
    wait_until("the agent has finished", || {
        world.pending(&thread).is_some()
    });
    world.wait_until_free(&thread);
    assert_eq!(world.step(&thread).exits(0).json()["adopted"], json!(true));
}

#[test]
fn a_thread_with_lost_nodes_can_be_removed() {
    let world = world(ONE_STEP, NOTE);
    let thread = world.start("one");
    let head = text(&world.show(&thread)["head"]);
    std::fs::remove_file(world.root().join("cas").join(format!("{head}.bin"))).unwrap();
    rm(&world, &[&thread]).exits(1).says("would lose its steps");
    let removed = rm(&world, &[&thread, "--force", "--format", "text"]).exits(0);
    assert_eq!(removed.stdout, format!("{thread} is removed\n"));
    assert!(threads(&world).is_empty());
}

#[test]
fn a_removal_is_no_loss_but_a_loss_after_it_is_one() {
    let world = world(ONE_STEP, NOTE);
    let [first, kept, last] = [(); 3].map(|()| ended(&world, "one"));
    rm(&world, &[&first, &last]).exits(0);
    assert_eq!(threads(&world), [kept.as_str()]);
    // Without the run folders, too: the seal knows how many lines there must be.
    std::fs::remove_dir_all(world.root().join("runs")).unwrap();
    assert_eq!(threads(&world), [kept.as_str()]);
    let history = world.root().join("history.jsonl");
    let whole = world.state("history.jsonl");
    let cut: Vec<&str> = whole.lines().skip(1).collect();
    std::fs::write(history, cut.join("\n") + "\n").unwrap();
    let lost = world.uwf(&["thread", "list", "--all"]);
    lost.exits(4).says("has lost 1 of its lines");
}

#[test]
fn several_threads_are_tried_in_turn_and_the_first_failure_decides() {
    let world = world(ONE_STEP, NOTE);
    let [a, b, c] = [(); 3].map(|()| world.start("one"));
    let lines = |run: &Run| -> Vec<Value> {
        let lines = run.stdout.lines();
        lines
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    };
    let threads_of = |run: &Run| -> Vec<Value> {
        lines(run)
            .iter()
            .map(|line| line["thread"].clone())
            .collect()
    };
    let paused = world.uwf(&["thread", "pause", &a, "nobody", &b, "-m", "x"]);
    let paused = paused.exits(1).says("nobody");
    assert_eq!(threads_of(&paused), [json!(a), json!(b)]);
    let killed = world.uwf(&["thread", "kill", &a, &a, "nobody", &b]);
    let killed = killed.exits(7).says("has ended").says("nobody");
    assert_eq!(threads_of(&killed), [json!(a), json!(b)]);
    // The newest thread is `@`, also after others have gone.
    let removed = rm(&world, &["@", "@2", "@3"]).exits(1);
    assert_eq!(threads_of(&removed), [json!(b), json!(a)]);
    assert_eq!(threads(&world), [c]);
    world.uwf(&["thread", "rm"]).exits(2);
}

#[test]
fn ended_threads_that_match_are_pruned_in_one_change() {
    let world = world(ONE_STEP, NOTE);
    let completed = [(); 3].map(|()| ended(&world, "one"));
    let cancelled = world.start("one");
    world.uwf(&["thread", "kill", &cancelled]).exits(0);
    let active = world.start("one");
    let of = |pruned: &Value| -> Vec<Value> {
        let threads = pruned["threads"].as_array().unwrap().iter();
        threads.map(|one| one["thread"].clone()).collect()
    };
    assert!(of(&prune(&world, &["--older-than", "1h"])).is_empty());
    let before = world.state("history.jsonl");
    let looked = prune(&world, &["--dry-run", "--status", "cancelled"]);
    assert_eq!(
        (of(&looked), &looked["removed"]),
        (vec![json!(cancelled)], &json!(0))
    );
    assert_eq!(world.state("history.jsonl"), before);
    let about = looked["threads"][0].clone();
    assert_eq!(about["workflowName"], "one", "{about}");
    assert_eq!(about["task"], "the task", "{about}");
    let pruned = prune(&world, &["--status", "completed"]);
    assert_eq!(of(&pruned), completed.clone().map(Value::from));
    assert_eq!(pruned["removed"], json!(3));
    for thread in &completed {
        is_gone(&world, thread);
    }
    assert_eq!(threads(&world), [active.as_str(), &cancelled]);
    assert_eq!(of(&prune(&world, &[])), [json!(cancelled)]);
    assert!(of(&prune(&world, &[])).is_empty());
    world.step(&active).exits(0);
    let text = world.uwf(&["thread", "prune", "--ended", "--format", "text"]);
    assert!(
        text.stdout.contains("1 thread removed; `uwf cas gc`"),
        "{}",
        text.stdout
    );
}

#[test]
fn only_statuses_of_ended_threads_are_pruned_and_only_when_asked() {
    let world = world(ONE_STEP, NOTE);
    ended(&world, "one");
    world.uwf(&["thread", "prune"]).exits(2).says("--ended");
    let prune = |status| world.uwf(&["thread", "prune", "--ended", "--status", status]);
    prune("idle")
        .exits(1)
        .says("`idle` is not a status of threads that have ended");
    prune("complete").exits(1).says("did you mean `completed`?");
    assert_eq!(threads(&world).len(), 1);
}

#[test]
fn a_cancelled_thread_whose_agent_still_ends_is_not_pruned() {
    let world = world(ONE_STEP, NOTE);
    let thread = ended(&world, "one");
    // Whoever has the lock of the thread works on it.
    let lock = world.root().join("runs").join(&thread).join("owner");
    let lock = std::fs::File::open(lock).unwrap();
    lock.lock().unwrap();
    let pruned = prune(&world, &[]);
    assert_eq!(pruned["busy"], json!([thread]));
    assert_eq!((&pruned["removed"], threads(&world).len()), (&json!(0), 1));
    drop(lock);
    assert_eq!(prune(&world, &[])["removed"], json!(1));
    is_gone(&world, &thread);
}

#[test]
fn the_name_of_a_removed_thread_is_free_again() {
    let world = World::new();
    world.put(ONE_STEP);
    let start = ["thread", "start", "one", "-p", "t", "--name", "fix-42"];
    world.uwf(&start).exits(0);
    world.uwf(&start).exits(1).says("fix-42");
    world.uwf(&["thread", "rm", "fix-42", "--force"]).exits(0);
    assert!(!world.state("labels.jsonl").contains("fix-42"));
    world.uwf(&["thread", "show", "fix-42"]).exits(1);
    world.uwf(&start).exits(0);
    world.uwf(&["thread", "show", "fix-42"]).exits(0);
}

#[test]
fn the_folder_that_an_interrupted_removal_left_is_named_and_can_be_removed() {
    let world = world(ONE_STEP, NOTE);
    let [first, second] = [(); 2].map(|()| ended(&world, "one"));
    rm(&world, &[&first, &second]).exits(0);
    for thread in [&first, &second] {
        let folder = world.root().join("runs").join(thread);
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join("pending.json"), "{").unwrap();
    }
    world.uwf(&["thread", "list"]).exits(0);
    let doctor = world.uwf(&["doctor"]).exits(0).stdout;
    assert!(
        doctor.contains(&format!("`uwf thread rm {first}` removes it")),
        "{doctor}"
    );
    rm(&world, &[&first]).exits(0);
    is_gone(&world, &first);
    prune(&world, &[]);
    is_gone(&world, &second);
}

#[test]
fn what_pruned_threads_alone_needed_is_collected_right_after_if_that_is_asked_for() {
    let world = world(ONE_STEP, NOTE);
    let thread = ended(&world, "one");
    let head = text(&world.show(&thread)["head"]);
    // What is young stays, as with `cas gc`.
    let young = ended(&world, "one");
    age_all(&world, 30 * DAY);
    let last = ended(&world, "one");
    let last_head = text(&world.show(&last)["head"]);
    let pruned = prune(&world, &["--gc"]);
    assert_eq!(pruned["removed"], json!(3));
    is_gone(&world, &young);
    assert!(
        pruned["collected"]["removed"].as_u64().unwrap() > 0,
        "{pruned}"
    );
    assert!(
        pruned["collected"]["young"].as_u64().unwrap() > 0,
        "{pruned}"
    );
    assert!(!has(&world, &head) && has(&world, &last_head));
    let prune = ["thread", "prune", "--ended", "--gc"];
    let text = world.uwf(&[&prune[..], &["--format", "text"]].concat());
    let text = text.exits(0).stdout;
    assert!(
        text.starts_with("no ended thread matches\n0 nodes removed"),
        "{text}"
    );
    world.uwf(&[&prune[..], &["--dry-run"]].concat()).exits(2);
}
