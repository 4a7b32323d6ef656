//! Which threads are listed, in which order, and what hides none.

use serde_json::{Value, json};
use uwf_protocol::ids::ThreadId;
use uwf_storage::Reason;

use super::{NOW, USED_NOTHING, World};
use crate::read::thread_state::ThreadStatus;
use crate::{ListFilter, list};

fn listed(world: &World, filter: &ListFilter) -> Vec<(ThreadId, ThreadStatus)> {
    let threads = list(&world.site, filter).unwrap().threads;
    threads
        .into_iter()
        .map(|item| (item.thread, item.status))
        .collect()
}

fn all() -> ListFilter {
    ListFilter {
        all: true,
        ..ListFilter::default()
    }
}

fn with_status(status: ThreadStatus) -> ListFilter {
    ListFilter {
        statuses: Some(vec![status]),
        ..ListFilter::default()
    }
}

#[test]
fn a_thread_is_listed_with_the_keys_of_the_format_in_its_order() {
    let world = World::new();
    let thread = world.start(10, "Hello");
    let (workflow, head, started) = (world.workflow, world.head(thread), NOW - 10);
    let threads = list(&world.site, &ListFilter::default()).unwrap().threads;
    let expected = format!(
        r#"[{{"thread":"{thread}","workflow":"{workflow}","head":"{head}","status":"idle","currentRole":"writer","statusDisplay":"idle","workflowName":"demo","name":null,"labels":{{}},"suspendedRole":null,"suspendMessage":null,"failureReason":null,"steps":0,"task":"Hello","startedAtMs":{started},"changedAtMs":{started},"usage":{USED_NOTHING},"result":null}}]"#
    );
    assert_eq!(serde_json::to_string(&threads).unwrap(), expected);
}

#[test]
fn the_active_threads_are_listed_newest_first_whatever_they_wait_for() {
    let world = World::new();
    let idle = world.start(50, "a");
    let failed = world.start(40, "b");
    world.fail(failed, "no");
    let suspended = world.start(30, "c");
    world.step(suspended, "writer", &json!({}), "");
    world.step(
        suspended,
        "reviewer",
        &json!({ "$status": "ask", "question": "?" }),
        "",
    );
    let blocked = world.start(20, "d");
    world.step(blocked, "nobody", &json!({}), "");
    let running = world.start(10, "e");
    world.write_lease(running, "writer");
    let _lock = world
        .site
        .root
        .run(running)
        .lease
        .try_acquire()
        .unwrap()
        .unwrap();
    let ended = world.start(5, "f");
    world.end(ended, Reason::Cancelled);
    let expected = [
        (running, ThreadStatus::Running),
        (blocked, ThreadStatus::Blocked),
        (suspended, ThreadStatus::Suspended),
        (failed, ThreadStatus::Failed),
        (idle, ThreadStatus::Idle),
    ];
    assert_eq!(listed(&world, &ListFilter::default()), expected);
    for (thread, status) in expected {
        assert_eq!(listed(&world, &with_status(status)), [(thread, status)]);
    }
    let display = &list(&world.site, &with_status(ThreadStatus::Suspended))
        .unwrap()
        .threads[0];
    assert_eq!(display.status_display, "suspended [question]");
}

#[test]
fn ended_threads_are_listed_when_asked_for_and_once() {
    let world = World::new();
    let old = world.start(30, "a");
    world.end(old, Reason::Completed);
    let again = world.start(20, "b");
    let head = world.head(again);
    world.end(again, Reason::Cancelled);
    world.state().insert(again, head).unwrap();
    assert_eq!(
        listed(&world, &ListFilter::default()),
        [(again, ThreadStatus::Idle)]
    );
    let both = [(again, ThreadStatus::Idle), (old, ThreadStatus::Completed)];
    assert_eq!(listed(&world, &all()), both);
    let completed = with_status(ThreadStatus::Completed);
    assert_eq!(listed(&world, &completed), [(old, ThreadStatus::Completed)]);
    assert_eq!(listed(&world, &with_status(ThreadStatus::Cancelled)), []);
}

#[test]
fn a_thread_that_cannot_be_read_is_listed_as_corrupt_and_hides_no_other() {
    let world = World::new();
    let sound = world.start(30, "a");
    let headless = world.start(20, "b");
    world.remove(world.head(headless));
    let startless = world.start(10, "c");
    let start = world.head(startless);
    world.step(startless, "writer", &json!({}), "");
    std::fs::write(world.node_file(start), "rubbish").unwrap();
    let listing = list(&world.site, &ListFilter::default()).unwrap();
    let statuses: Vec<_> = listing
        .threads
        .iter()
        .map(|item| (item.thread, item.status))
        .collect();
    let expected = [
        (startless, ThreadStatus::Corrupt),
        (headless, ThreadStatus::Corrupt),
        (sound, ThreadStatus::Idle),
    ];
    assert_eq!(statuses, expected);
    assert!(
        listing.threads[0]
            .error
            .as_ref()
            .unwrap()
            .contains(start.as_str())
    );
    assert_eq!(listing.warnings.len(), 2);
    assert_eq!(listed(&world, &with_status(ThreadStatus::Corrupt)).len(), 2);
}

#[test]
fn a_damaged_line_of_the_history_is_a_warning() {
    let world = World::new();
    let ended = world.start(10, "a");
    world.end(ended, Reason::Completed);
    let path = world.site.root.history_file();
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, format!("rubbish\n{text}")).unwrap();
    let listing = list(&world.site, &all()).unwrap();
    assert_eq!((listing.threads.len(), listing.warnings.len()), (1, 1));
}

#[test]
fn what_a_page_leaves_out_is_not_read() {
    let world = World::new();
    let threads: Vec<ThreadId> = (1..=4)
        .map(|age| world.start(age, &age.to_string()))
        .collect();
    world.remove(world.head(threads[0]));
    world.remove(world.head(threads[3]));
    let filter = ListFilter {
        skip: 1,
        take: Some(2),
        ..ListFilter::default()
    };
    let idle = |thread| (thread, ThreadStatus::Idle);
    assert_eq!(
        listed(&world, &filter),
        [idle(threads[1]), idle(threads[2])]
    );
    let filter = ListFilter {
        after_ms: Some(NOW - 4),
        before_ms: Some(NOW - 1),
        ..ListFilter::default()
    };
    assert_eq!(
        listed(&world, &filter),
        [idle(threads[1]), idle(threads[2])]
    );
}

#[test]
fn a_page_counts_only_what_the_status_lets_through() {
    let world = World::new();
    let threads: Vec<ThreadId> = (1..=4)
        .map(|age| world.start(age, &age.to_string()))
        .collect();
    world.fail(threads[0], "no");
    let filter = ListFilter {
        skip: 1,
        take: Some(1),
        ..with_status(ThreadStatus::Idle)
    };
    assert_eq!(listed(&world, &filter), [(threads[2], ThreadStatus::Idle)]);
}

/// Returns the threads that a filter lets through, as JSON.
fn items(world: &World, filter: &ListFilter) -> Vec<Value> {
    let threads = list(&world.site, filter).unwrap().threads;
    let items = threads
        .iter()
        .map(|item| serde_json::to_value(item).unwrap());
    items.collect()
}

#[test]
fn a_list_says_what_each_thread_is_about_and_what_it_waits_for() {
    let world = World::new();
    let failed = world.start(40, "\nFix the roof.\nSoon.");
    world.fail(failed, "no ladder");
    let suspended = world.start(30, "Paint");
    world.step(suspended, "writer", &json!({}), "");
    let asks = json!({ "$status": "ask", "question": "which colour?" });
    world.step(suspended, "reviewer", &asks, "");
    let [paint, fix] = &items(&world, &ListFilter::default())[..] else {
        panic!("two threads are listed");
    };
    assert_eq!(fix["task"], json!("Fix the roof."));
    assert_eq!(fix["failureReason"], json!("no ladder"));
    assert_eq!(
        (&fix["steps"], &fix["usage"]["runs"]),
        (&json!(0), &json!(1))
    );
    assert_eq!(fix["changedAtMs"], json!(NOW + 1));
    assert_eq!(paint["suspendedRole"], json!("reviewer"));
    assert_eq!(paint["suspendMessage"], json!("Need: which colour?"));
    assert_eq!(paint["failureReason"], json!(null));
    assert_eq!(paint["steps"], json!(2));
}

#[test]
fn the_chains_of_ended_threads_are_not_read() {
    let world = World::new();
    let thread = world.start(30, "Paint\nall");
    let first = world.step(thread, "writer", &json!({}), "");
    world.step(thread, "reviewer", &json!({ "$status": "done" }), "");
    world.end(thread, Reason::Completed);
    world.remove(first);
    let [item] = &items(&world, &all())[..] else {
        panic!("one thread is listed");
    };
    assert_eq!(item["task"], json!("Paint"));
    assert_eq!(
        (&item["steps"], &item["usage"]),
        (&json!(null), &json!(null))
    );
}
