//! What commands say about shared threads when something has changed, and what they advise then.

use serde_json::json;

use crate::gates::at_work;
use crate::postgres::new_schema;
use crate::processes;
use crate::sharing::{machines_in, shared, with_remote, with_server};
use crate::world::{ONE_STEP, World};

/// Calls a command, and returns what it says in text.
#[track_caller]
fn text_of(world: &World, args: &[&str]) -> String {
    let text = [args, &["--format", "text"]].concat();
    world.uwf(&text).exits(0).stdout
}

#[test]
fn a_fetch_says_that_a_thread_has_ended_elsewhere() {
    with_server(|server| {
        let schema = new_schema();
        let machines = machines_in(server, &schema);
        let [one, other] = &machines;
        one.put(ONE_STEP);
        let (killed, stepped) = (shared(&machines, "again"), shared(&machines, "again"));
        let completed = shared(&machines, "one");
        one.step(&stepped).exits(0);
        for thread in [&killed, &stepped] {
            one.uwf(&["thread", "kill", thread]).exits(0);
        }
        one.mock("roles:\n  writer: [{ output: { note: n } }]\n");
        one.step(&completed).exits(0);
        let only_the_end = text_of(other, &["fetch", &killed]);
        let end = "it has ended there (cancelled)";
        assert!(only_the_end.contains(end), "{only_the_end}");
        assert!(!only_the_end.contains("moved forward"), "{only_the_end}");
        let forward = "moved forward to this head; it has ended there";
        let both = text_of(other, &["fetch", &stepped]);
        assert!(both.contains(&format!("{forward} (cancelled)")), "{both}");
        let both = text_of(other, &["fetch", &completed]);
        assert!(both.contains(&format!("{forward} (completed)")), "{both}");
        let again = text_of(other, &["fetch", &killed]);
        assert!(again.contains("nothing new"), "{again}");
        let stranger = World::new();
        with_remote(&stranger, server, &schema);
        let added = text_of(&stranger, &["fetch", &killed]);
        assert!(added.contains(&format!("added; {end}")), "{added}");
    });
}

#[test]
fn a_release_says_how_this_machine_goes_on() {
    with_server(|server| {
        for has_thread in [true, false] {
            let schema = new_schema();
            let machines = machines_in(server, &schema);
            let thread = shared(&machines, "again");
            processes::kill(at_work(&machines[0], &["thread", "step", &thread]));
            let stranger = World::new();
            with_remote(&stranger, server, &schema);
            let releasing = if has_thread { &machines[1] } else { &stranger };
            let root = releasing.root().display().to_string();
            let release = ["--root", &root, "remote", "release", "--yes", &thread];
            let said = text_of(releasing, &release);
            assert!(
                said.contains("any machine that has the thread may go on"),
                "{said}"
            );
            let step = format!("`uwf --root {root} thread step {thread}`");
            assert!(said.contains(&step), "{said}");
            let fetch = format!("`uwf --root {root} fetch {thread}`");
            assert_eq!(said.contains(&fetch), !has_thread, "{said}");
        }
    });
}

#[test]
fn who_removes_a_shared_thread_is_told_that_a_fetch_brings_it_again() {
    with_server(|server| {
        let machines = machines_in(server, &new_schema());
        let [one, _] = &machines;
        let (thread, private) = (shared(&machines, "again"), one.start("again"));
        let fetch = format!("`uwf fetch {thread}` brings it again if the remote has it");
        for ended in [&thread, &private] {
            one.uwf(&["thread", "kill", ended]).exits(0);
        }
        let said = text_of(one, &["thread", "rm", &thread]);
        assert!(said.contains(&fetch), "{said}");
        let said = text_of(one, &["thread", "rm", &private]);
        assert!(!said.contains("uwf fetch"), "{said}");
        let refused = one.step(&thread);
        assert_ne!(refused.code, 0);
        refused.says(&fetch).says("`uwf thread fork ");
        one.uwf(&["fetch", &thread]).exits(0);
        assert_eq!(one.show(&thread)["status"], json!("cancelled"));
        one.uwf(&["config", "unset", "remote"]).exits(0);
        let refused = one.step(&private);
        assert!(!refused.stderr.contains("fetch"), "{}", refused.stderr);
    });
}

#[test]
fn a_push_of_all_threads_counts_those_without_new_steps() {
    with_server(|server| {
        let machines = machines_in(server, &new_schema());
        let [one, other] = &machines;
        let threads = [(); 3].map(|()| shared(&machines, "again"));
        let all = ["push", "--all"];
        assert_eq!(text_of(one, &all).trim_end(), "nothing new in 3 threads");
        other.step(&threads[1]).exits(0);
        let news = text_of(one, &all);
        assert!(news.contains("others have gone on"), "{news}");
        assert!(news.contains(&threads[1]), "{news}");
        assert!(news.contains("nothing new in 2 other threads"), "{news}");
        assert!(!news.contains(&threads[0]), "{news}");
        let whole = one.uwf(&all).exits(0).json();
        assert_eq!(whole.as_array().map(Vec::len), Some(3), "{whole}");
        let named = text_of(one, &["push", &threads[0]]);
        assert!(named.contains("no new steps"), "{named}");
        let labelled = text_of(one, &["push", "--all", "--label", "size=big"]);
        assert!(labelled.contains(&threads[0]), "{labelled}");
    });
}

#[test]
fn a_pause_of_a_shared_thread_says_that_it_holds_here_only() {
    with_server(|server| {
        let machines = machines_in(server, &new_schema());
        let [one, other] = &machines;
        let (thread, private) = (shared(&machines, "again"), one.start("again"));
        let here = "on this machine only";
        let said = text_of(one, &["thread", "pause", &thread]);
        assert!(said.contains(here), "{said}");
        let said = text_of(one, &["thread", "pause", &private]);
        assert!(!said.contains(here), "{said}");
        other.step(&thread).exits(0);
    });
}
