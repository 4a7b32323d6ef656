//! `uwf thread cost`: every run counts once, and what is unknown is not zero.

use serde_json::{Value, json};

use crate::overview::FAILING;
use crate::world::{REVIEW, World};

/// A writer whose runs cost something, and a reviewer whose runs do not tell it.
const SCRIPT: &str = r"
roles:
  writer:
    - { output: { plan: p }, usage: { inputTokens: 100, outputTokens: 50, costUsd: 0.2 } }
  reviewer:
    - { output: { $status: ask, question: which? } }
";

/// A world with a suspended thread of one failed attempt and two steps.
fn world() -> (World, String) {
    let world = World::new();
    world.put(REVIEW);
    let thread = world.start("review");
    world.mock(FAILING);
    world.step(&thread).exits(3);
    world.mock(SCRIPT);
    world
        .uwf(&["thread", "step", &thread, "-c", "all"])
        .exits(6);
    (world, thread)
}

fn cost(world: &World, args: &[&str]) -> Value {
    let args = [&["thread", "cost"], args].concat();
    world.uwf(&args).exits(0).json()
}

/// Returns key, runs and cost of each row, and of the total.
fn sums(report: &Value) -> Vec<(Value, u64, Value)> {
    let rows = report["rows"].as_array().unwrap().iter();
    let sum = |row: &Value| {
        let runs = row["runs"].as_u64().unwrap();
        (row["key"].clone(), runs, row["costUsd"].clone())
    };
    rows.chain([&report["total"]]).map(sum).collect()
}

#[test]
fn the_runs_of_a_thread_are_summed_by_role() {
    let (world, thread) = world();
    let report = cost(&world, &[&thread]);
    assert_eq!(report["by"], json!("role"));
    let expected = [
        (json!("writer"), 2, json!(0.6)),
        (json!("reviewer"), 1, json!(null)),
        (json!(null), 3, json!(0.6)),
    ];
    assert_eq!(sums(&report), expected);
    assert_eq!(report["total"]["costUnknown"], json!(1));
    assert_eq!(report["total"], world.show(&thread)["usage"]);
    let text = world.uwf(&["thread", "cost", &thread, "--format", "text"]);
    let text = text.exits(0).stdout;
    assert!(text.contains("unknown  unknown"), "{text}");
    assert!(text.lines().last().unwrap().ends_with(">$0.60"), "{text}");
}

#[test]
fn runs_are_summed_by_what_they_have_in_common() {
    let (world, thread) = world();
    let other = world.start("review");
    let first = |by: &str| sums(&cost(&world, &["--by", by]))[0].clone();
    assert_eq!(first("agent"), (json!("uwf-mock"), 3, json!(0.6)));
    assert_eq!(first("model"), (json!(null), 3, json!(0.6)));
    assert_eq!(first("workflow"), (json!("review"), 3, json!(0.6)));
    let day = first("day");
    assert_eq!(day.0.as_str().unwrap().len(), "2026-11-22".len());
    assert_eq!((day.1, &day.2), (3, &json!(0.6)));
    let all = cost(&world, &[]);
    assert_eq!(all["by"], json!("thread"));
    assert_eq!(all["rows"][0]["task"], json!("the task"));
    let keys: Vec<_> = sums(&all).into_iter().map(|(key, ..)| key).collect();
    assert_eq!(
        keys,
        [json!(thread), json!(null)],
        "a thread without runs costs nothing"
    );
    assert_eq!(cost(&world, &[&other])["rows"], json!([]));
    world.uwf(&["thread", "cost", "--by", "color"]).exits(2);
}

#[test]
fn steps_that_forks_share_count_once() {
    let (world, thread) = world();
    let fork = world.uwf(&["thread", "fork", &format!("{thread}@1")]);
    let fork = fork.exits(0).json()["thread"].as_str().unwrap().to_owned();
    world.step(&fork).exits(0);
    let of_fork = cost(&world, &[&fork]);
    assert_eq!(of_fork["total"]["runs"], json!(2));
    assert_eq!(of_fork["total"], world.show(&fork)["usage"]);
    let all = cost(&world, &[]);
    let expected = [
        (json!(fork), 1, json!(null)),
        (json!(thread), 3, json!(0.6)),
        (json!(null), 4, json!(0.6)),
    ];
    assert_eq!(sums(&all), expected);
    assert_eq!(cost(&world, &[&fork, &thread, &fork]), all);
}

#[test]
fn a_replaced_step_that_a_fork_has_counts_once() {
    for poked in ["thread", "fork"] {
        let world = World::new();
        world.put(REVIEW);
        world.mock(SCRIPT);
        let thread = world.start("review");
        world.step(&thread).exits(0);
        let fork = world.uwf(&["thread", "fork", &format!("{thread}@1")]);
        let fork = fork.exits(0).json()["thread"].as_str().unwrap().to_owned();
        let poke = if poked == "fork" { &fork } else { &thread };
        world.uwf(&["thread", "poke", poke]).exits(0);
        let all = cost(&world, &[]);
        assert_eq!(
            sums(&all).last().unwrap(),
            &(json!(null), 2, json!(0.4)),
            "{poked}"
        );
        assert_eq!(cost(&world, &[&fork, &thread]), all, "{poked}");
        assert_eq!(cost(&world, &[poke])["total"], all["total"], "{poked}");
    }
}

#[test]
fn steps_that_were_copied_onto_another_workflow_count_once() {
    let (world, thread) = world();
    let before = cost(&world, &[])["total"].clone();
    let other = REVIEW.replace("Begin writing", "Begin to write");
    world.write("other/review.yaml", &other);
    let step = format!("{thread}@1");
    let fork = ["thread", "fork", &step, "--workflow", "other/review.yaml"];
    let fork = world.uwf(&fork).exits(0).json()["thread"].clone();
    assert_eq!(cost(&world, &[])["total"], before);
    let of_fork = cost(&world, &[fork.as_str().unwrap()]);
    assert_eq!(of_fork["total"]["runs"], json!(1));
}

#[test]
fn a_step_that_was_replaced_counts_with_its_role_its_agent_and_its_time() {
    let (world, thread) = world();
    let before = cost(&world, &[&thread, "--by", "role"]);
    world
        .uwf(&["thread", "poke", &thread, "-p", "again"])
        .exits(0);
    let report = cost(&world, &[&thread, "--by", "role"]);
    assert_eq!(report["total"]["runs"], json!(4));
    assert_eq!(report["total"], world.show(&thread)["usage"]);
    let rows = |report: &Value| {
        let mut rows = sums(report);
        rows.retain(|(key, ..)| key.is_string());
        rows.iter().map(|(_, runs, _)| *runs).sum::<u64>()
    };
    assert_eq!((rows(&before), rows(&report)), (3, 4));
    for by in ["role", "agent", "day"] {
        let report = cost(&world, &[&thread, "--by", by]);
        let keys = sums(&report);
        let nobodys = keys.iter().filter(|(key, ..)| key.is_null()).count();
        // The last sum is that of all.
        assert_eq!(nobodys, 1, "{by}: {report}");
    }
    let since = world
        .uwf(&["thread", "cost", &thread, "--since", "1d"])
        .exits(0);
    assert_eq!(since.json()["total"]["runs"], json!(4));
    assert_eq!(since.stderr, "");
}

#[test]
fn only_runs_since_a_time_count() {
    let (world, thread) = world();
    let runs = |since: &str| cost(&world, &[&thread, "--since", since])["total"]["runs"].clone();
    assert_eq!((runs("1d"), runs("2100-01-01")), (json!(3), json!(0)));
    world.uwf(&["thread", "cost", "--since", "soon"]).exits(1);
}

#[test]
fn a_thread_that_cannot_be_read_is_named_and_hides_no_other() {
    let (world, thread) = world();
    let broken = world.start("review");
    world.step(&broken).exits(0);
    let start = world.show(&broken)["head"].as_str().unwrap().to_owned();
    let task = world.uwf(&["thread", "start", "review", "-p", "another task"]);
    let lost = task.exits(0).json()["thread"].as_str().unwrap().to_owned();
    let head = world.show(&lost)["head"].as_str().unwrap().to_owned();
    assert_ne!(head, start);
    std::fs::remove_file(world.root().join("cas").join(format!("{head}.bin"))).unwrap();
    let all = world.uwf(&["thread", "cost"]).exits(0);
    assert_eq!(all.json()["total"]["runs"], json!(4));
    all.says(&format!("warning: thread `{lost}` is left out"));
    world.uwf(&["thread", "cost", &lost]).exits(4);
    world.uwf(&["thread", "cost", &thread]).exits(0);
}

#[test]
fn a_sum_can_be_of_the_threads_with_a_label() {
    let (world, thread) = world();
    let other = world.start("review");
    world.step(&other).exits(0);
    world
        .uwf(&["thread", "label", &thread, "team=web"])
        .exits(0);
    world
        .uwf(&["thread", "label", &other, "team=core"])
        .exits(0);
    let keys = |args: &[&str]| {
        let report = cost(&world, args);
        let rows = report["rows"].as_array().unwrap().iter();
        rows.map(|row| row["key"].clone()).collect::<Vec<Value>>()
    };
    let both = [json!(other), json!(thread)];
    assert_eq!(keys(&["--label", "team"]), both);
    assert_eq!(keys(&["--label", "team=web"]), both[1..]);
    assert_eq!(
        keys(&["--label", "team=web", "--label", "env"]),
        [] as [Value; 0]
    );
    let named = keys(&[&thread, &other, "--label", "team=core"]);
    assert_eq!(named, both[..1]);
    world
        .uwf(&["thread", "cost", "--label", "a b"])
        .exits(2)
        .says("is not a label");
}

/// Returns the runs of removed threads, and the total.
fn removed_and_total(world: &World) -> (Value, Value) {
    let all = cost(world, &[]);
    (all["removed"]["runs"].clone(), all["total"].clone())
}

#[test]
fn what_removed_threads_have_cost_is_kept_and_each_step_counts_once() {
    let (world, thread) = world();
    let fork = world.uwf(&["thread", "fork", &format!("{thread}@1")]);
    let fork = fork.exits(0).json()["thread"].as_str().unwrap().to_owned();
    world.step(&fork).exits(0);
    let (none, before) = removed_and_total(&world);
    assert_eq!((none, &before["runs"]), (Value::Null, &json!(4)));
    // The step of both counts for the fork from now on.
    world.uwf(&["thread", "rm", "--force", &thread]).exits(0);
    assert_eq!(removed_and_total(&world), (json!(2), before.clone()));
    assert_eq!(cost(&world, &[&fork])["total"]["runs"], json!(2));
    world.uwf(&["thread", "kill", &fork]).exits(0);
    world.uwf(&["thread", "prune", "--ended"]).exits(0);
    assert_eq!(removed_and_total(&world), (json!(4), before));
    let text = world.uwf(&["thread", "cost", "--format", "text"]).exits(0);
    assert!(
        text.stdout.contains("removed threads  4"),
        "{}",
        text.stdout
    );
    let since = world.uwf(&["thread", "cost", "--since", "1d"]).exits(0);
    assert_eq!(since.json()["total"]["runs"], json!(0));
    since.says(
        "warning: the sum leaves out 4 runs of removed threads, whose times are not on record",
    );
    let labelled = world.uwf(&["thread", "cost", "--label", "team"]).exits(0);
    labelled.says("leaves out 4 runs of removed threads, whose labels are not on record");
    // What was removed before cannot count.
    let later = world.uwf(&["thread", "cost", "--since", "2100-01-01"]);
    assert_eq!(later.exits(0).stderr, "");
}

#[test]
fn a_fork_of_a_removed_thread_counts_its_steps_once_in_any_order() {
    let (world, thread) = world();
    let head = world.show(&thread)["head"].as_str().unwrap().to_owned();
    let (_, before) = removed_and_total(&world);
    world.uwf(&["thread", "rm", "--force", &thread]).exits(0);
    let fork = world.uwf(&["thread", "fork", &head]).exits(0).json();
    let fork = fork["thread"].as_str().unwrap();
    // The failed attempt stays with the removed thread.
    assert_eq!(removed_and_total(&world), (json!(1), before.clone()));
    assert_eq!(cost(&world, &[fork])["total"]["runs"], json!(2));
    let since = world.uwf(&["thread", "cost", "--since", "1d"]).exits(0);
    since.says("leaves out 1 run of removed threads");
    world.uwf(&["thread", "rm", "--force", fork]).exits(0);
    assert_eq!(removed_and_total(&world), (json!(3), before.clone()));
    let again = world.uwf(&["thread", "fork", &head]);
    again.exits(0);
    assert_eq!(removed_and_total(&world), (json!(1), before));
}

#[test]
fn a_removed_thread_that_comes_back_counts_once() {
    let (world, thread) = world();
    let (_, before) = removed_and_total(&world);
    for _ in 0..2 {
        world
            .uwf(&["thread", "export", &thread, "-o", "one.tar"])
            .exits(0);
        world.uwf(&["thread", "rm", "--force", &thread]).exits(0);
        assert_eq!(removed_and_total(&world), (json!(3), before.clone()));
        world.uwf(&["thread", "import", "one.tar"]).exits(0);
        assert_eq!(removed_and_total(&world), (Value::Null, before.clone()));
    }
}

#[test]
fn a_removed_thread_that_comes_back_with_less_keeps_what_it_has_cost() {
    let world = World::new();
    world.put(REVIEW);
    let thread = world.start("review");
    world.mock(FAILING);
    world.step(&thread).exits(3);
    world.mock(SCRIPT);
    world.step(&thread).exits(0);
    let export = |file: &str| {
        world
            .uwf(&["thread", "export", &thread, "-o", file])
            .exits(0);
    };
    let total = || removed_and_total(&world).1;
    export("old.tar");
    world.step(&thread).exits(0);
    export("new.tar");
    let before = total();
    let remove = ["thread", "rm", "--force", &thread];
    world.uwf(&remove).exits(0);
    // It comes back and goes again, twice; what is said of it is not added up.
    for _ in 0..2 {
        world.uwf(&["thread", "import", "old.tar"]).exits(0);
        assert_eq!(removed_and_total(&world), (json!(1), before.clone()));
        world.uwf(&["thread", "import", "old.tar"]).exits(0);
        assert_eq!(total(), before);
        world.uwf(&remove).exits(0);
        assert_eq!(total(), before);
    }
    // The rest of it comes back, too.
    world.uwf(&["thread", "import", "old.tar"]).exits(0);
    world.uwf(&["thread", "import", "new.tar"]).exits(0);
    assert_eq!(removed_and_total(&world), (Value::Null, before.clone()));
    world.uwf(&remove).exits(0);
    assert_eq!(total(), before);
    // What it does here after it came back is new.
    world.uwf(&["thread", "import", "old.tar"]).exits(0);
    world.step(&thread).exits(0);
    let runs = |total: &Value| total["runs"].as_u64().unwrap();
    assert_eq!(runs(&total()), runs(&before) + 1);
    world.uwf(&["thread", "kill", &thread]).exits(0);
    assert_eq!(runs(&total()), runs(&before) + 1);
    world.uwf(&["thread", "prune", "--ended"]).exits(0);
    assert_eq!(runs(&total()), runs(&before) + 1);
    world.uwf(&["doctor", "--offline"]).exits(0);
}

#[test]
fn runs_that_are_missing_of_a_removed_thread_count_once_wherever_they_come_back() {
    let world = World::new();
    world.put(REVIEW);
    let thread = world.start("review");
    let export = |file: &str| world.uwf(&["thread", "export", &thread, "-o", file]);
    export("start.tar").exits(0);
    world.mock(FAILING);
    world.step(&thread).exits(3);
    world.mock(SCRIPT);
    let head = world.step(&thread).exits(0).json()["head"].clone();
    export("new.tar").exits(0);
    let (_, before) = removed_and_total(&world);
    world.uwf(&["thread", "rm", "--force", &thread]).exits(0);
    world.uwf(&["thread", "import", "start.tar"]).exits(0);
    assert_eq!(removed_and_total(&world), (json!(2), before.clone()));
    let fork = ["thread", "fork", head.as_str().unwrap()];
    world.uwf(&fork).exits(0);
    assert_eq!(removed_and_total(&world), (json!(1), before.clone()));
    world.uwf(&["thread", "import", "new.tar"]).exits(0);
    assert_eq!(removed_and_total(&world), (Value::Null, before.clone()));
    world.uwf(&["thread", "rm", "--force", &thread]).exits(0);
    assert_eq!(removed_and_total(&world), (json!(1), before));
}
