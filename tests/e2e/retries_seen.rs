//! Threads that wait for their next attempt, as plans, lists and calls for all threads tell of them.

use serde_json::json;

use crate::retries::{attempts, refusing, status};

#[test]
fn a_dry_run_of_a_thread_that_waits_says_what_is_done_and_when() {
    let (world, thread) = refusing(1, "1h");
    let at = world.step(&thread).exits(3).json()["nextTryAt"].clone();
    let dry = |more: &[&str]| {
        let args = [&["thread", "step", &thread, "--dry-run"], more].concat();
        world.uwf(&args).exits(0)
    };
    let plan = dry(&[]).json();
    assert_eq!(
        (&plan["action"], &plan["role"]),
        (&json!("agent"), &json!("writer"))
    );
    assert_eq!(
        (&plan["nextTryAt"], &plan["nextAgent"]),
        (&at, &json!("default"))
    );
    let text = dry(&["--format", "text"]).stdout;
    let until = at.as_str().unwrap()[..19].replace('T', " ");
    let says = format!("until {until} UTC, then agent default tries again");
    assert!(text.contains(&says), "{text}");
    let now = dry(&["--now"]).json();
    assert_eq!(now.get("nextTryAt"), None, "{now}");
    assert_eq!(attempts(&world, &thread).len(), 1);
}

#[test]
fn steps_of_all_threads_say_which_wait_and_do_them_with_now() {
    let (world, thread) = refusing(1, "1h");
    let at = world.step(&thread).exits(3).json()["nextTryAt"].clone();
    let until = at.as_str().unwrap()[..19].replace('T', " ");
    let all = |more: &[&str]| {
        let args = [&["thread", "step", "--all"], more].concat();
        world.uwf(&args).exits(0)
    };
    let says = format!("note: 0 threads; 1 waits until {until} UTC for its next attempt");
    all(&[]).says(&says);
    let other = world.start("one");
    world.step(&other).exits(3);
    let says = format!("0 threads; 2 wait for their next attempts, the first until {until} UTC");
    all(&[]).says(&says);
    let failed = all(&["--status", "failed"]).stderr;
    assert!(!failed.contains("wait"), "{failed}");
    all(&["--now", "--jobs", "2", "--shared-ok"]).says("note: 2 threads: 2 stepped");
    assert_eq!(status(&world, &thread), "completed");
    assert_eq!(status(&world, &other), "completed");
}

#[test]
fn top_counts_what_waits_for_a_time_apart_from_what_waits_for_a_person() {
    let (world, thread) = refusing(1, "1h");
    world.step(&thread).exits(3);
    let top = || {
        world
            .uwf(&["thread", "top", "--format", "text"])
            .exits(0)
            .stdout
    };
    let begins = |begin: &str| assert!(top().starts_with(begin), "{}", top());
    begins("0 running, 1 waits for its next attempt, 0 wait for a person\n");
    world.mock("roles: { writer: [{ exit: 1 }] }");
    let other = world.start("one");
    world.step(&other).exits(3);
    begins("0 running, 1 waits for its next attempt, 1 waits for a person\n");
}
