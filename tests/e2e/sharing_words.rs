//! What commands say about shared threads: on machines that have only fetched them, in lists, and when something is missing.

use std::fs;

use serde_json::json;

use crate::gates::{at_work, open_gate, runs};
use crate::postgres::{new_schema, own_server};
use crate::postgres_admin::Admin;
use crate::processes;
use crate::sharing::{at_remote, machines_in, shared, with_remote, with_server};
use crate::sharing_runs;
use crate::world::{Run, World, wait_until};

#[test]
fn a_database_that_is_not_there_is_made_with_createdb() {
    with_server(|server| {
        let world = World::new();
        let url = server.url();
        let (before, options) = url.split_once('?').unwrap_or((&url, ""));
        let place = before.rsplit_once('/').unwrap().0;
        let url = format!("{place}/nowhere?{options}");
        let said = world.uwf(&["remote", "add", &url]).exits(1);
        let said = said.says("has no such database").says("`createdb ");
        assert!(!said.stderr.contains("check the user"), "{}", said.stderr);
    });
}

#[test]
fn a_fetched_run_is_found_in_its_folder_by_each_machine() {
    with_server(|server| {
        let machines = sharing_runs::machines(server, &sharing_runs::pipeline(&["A", "B"]));
        let thread = sharing_runs::shared(&machines);
        let [one, other] = &machines;
        let there = |words: &[&str]| {
            let mut command = other.command(&[&["orchestrate"], words].concat());
            command.current_dir(one.project());
            Run::from(command.output().unwrap()).exits(0)
        };
        let listed = there(&["list", "--json"]).json();
        assert_eq!(listed["runs"][0]["thread"], json!(thread), "{listed}");
        let status = there(&["status", "r", "--json"]).json();
        assert_eq!(status["thread"], json!(thread), "{status}");
        there(&["report", "r"]);
        assert!(there(&["logs", "r"]).stdout.contains("A.1"));
    });
}

#[test]
fn what_a_machine_does_not_have_of_a_run_is_not_called_gone() {
    with_server(|server| {
        let text = "name: p\nsteps:\n- name: A\n  command: [sh, -c, 'head -c 200000 /dev/zero | tr \"\\\\0\" x']\n";
        let machines = sharing_runs::machines(server, text);
        let [one, other] = &machines;
        let run = ["orchestrate", "run", "p.yaml", "--run-id", "r", "--json"];
        let thread = one.uwf(&run).exits(0).json()["thread"].clone();
        let thread = thread.as_str().unwrap();
        one.uwf(&["push", thread]).exits(0);
        other.uwf(&["fetch", thread]).exits(0);
        fs::remove_dir_all(one.project().join(".orchestrate")).unwrap();
        let logs = other.uwf(&["orchestrate", "logs", thread]).exits(0);
        let said = logs.says("is not on this machine").stderr;
        assert!(!said.contains("is gone"), "{said}");
        one.write("p.yaml", &sharing_runs::pipeline(&["A", "B"]));
        let second = sharing_runs::begun(&machines, "s");
        one.uwf(&["push", &second]).exits(0);
        other.uwf(&["fetch", &second]).exits(0);
        fs::rename(one.project(), one.dir().join("elsewhere")).unwrap();
        other
            .uwf(&["orchestrate", "resume", &second])
            .exits(2)
            .says("at the same path on each machine");
        fs::rename(one.dir().join("elsewhere"), one.project()).unwrap();
    });
}

#[test]
fn who_pushes_a_run_at_work_is_told_how_to_stop_it() {
    with_server(|server| {
        let machines = sharing_runs::machines(server, &sharing_runs::pipeline(&["A", "B"]));
        let [one, _] = &machines;
        let run = ["orchestrate", "run", "p.yaml", "--run-id", "r"];
        let mut engine = sharing_runs::at_work(&machines, one, &run);
        let pause = one.uwf(&["push", "r"]).exits(5).stderr;
        let pause = pause.split('`').find(|word| word.contains(" pause "));
        let pause: Vec<&str> = pause.unwrap().split(' ').skip(1).collect();
        one.uwf(&pause).exits(0);
        sharing_runs::open_gate(&machines);
        engine.wait().unwrap();
        one.uwf(&["push", "r"]).exits(0);
        assert_eq!(sharing_runs::done(&machines), "A");
    });
}

#[test]
fn a_removal_of_a_shared_thread_says_that_it_is_only_forgotten_here() {
    with_server(|server| {
        let machines = machines_in(server, &new_schema());
        let [one, _] = &machines;
        let thread = shared(&machines, "again");
        let refused = one.uwf(&["thread", "rm", &thread]).exits(1);
        let refused = refused
            .says("it goes on at the remote")
            .says(&format!("`uwf fetch {thread}` brings it again"));
        assert!(!refused.stderr.contains("lose"), "{}", refused.stderr);
        one.uwf(&["thread", "rm", "--force", &thread]).exits(0);
        one.uwf(&["fetch", &thread]).exits(0);
        one.step(&thread).exits(0);
    });
}

#[test]
fn a_shared_thread_is_shown_as_one() {
    with_server(|server| {
        let machines = machines_in(server, &new_schema());
        let [one, other] = &machines;
        let only_here = one.start("again");
        let thread = shared(&machines, "again");
        let text = |world: &World, thread: &str| {
            let show = ["thread", "show", thread, "--format", "text"];
            world.uwf(&show).exits(0).stdout
        };
        for world in &machines {
            assert_eq!(world.show(&thread)["shared"], json!(true));
            let shown = text(world, &thread);
            let line = shown.lines().find(|line| line.starts_with("shared"));
            assert!(
                line.is_some_and(|line| line.contains("list --remote")),
                "{shown}"
            );
        }
        assert!(one.show(&only_here)["shared"].is_null());
        assert!(!text(one, &only_here).contains("shared"));
        one.uwf(&["thread", "kill", &thread]).exits(0);
        other.uwf(&["fetch", &thread]).exits(0);
        let ended = text(other, &thread);
        assert!(
            ended.contains("with other machines") && !ended.contains("--remote"),
            "{ended}"
        );
    });
}

#[test]
fn a_fetch_of_all_threads_lists_what_is_new_and_counts_the_rest() {
    with_server(|server| {
        let machines = machines_in(server, &new_schema());
        let [one, other] = &machines;
        let threads = [(); 3].map(|()| shared(&machines, "again"));
        for fetch in [&["fetch"][..], &["fetch", "--all"]] {
            let as_text = [fetch, &["--format", "text"]].concat();
            let said = |expected: &str| {
                let said = other.uwf(&as_text).exits(0).stdout;
                assert!(said.contains(expected), "{said}");
                said
            };
            assert_eq!(said("nothing new in 3 threads").lines().count(), 1);
            one.step(&threads[1]).exits(0);
            let news = said("nothing new in 2 other threads");
            assert!(news.contains(&threads[1]), "{news}");
            assert!(!news.contains(&threads[0]), "{news}");
            let whole = other.uwf(fetch).exits(0).json();
            assert_eq!(whole.as_array().map(Vec::len), Some(3), "{whole}");
        }
        let named = ["fetch", &threads[0], "--format", "text"];
        let named = other.uwf(&named).exits(0).stdout;
        assert!(named.contains("nothing new") && named.contains(&threads[0]));
    });
}

#[test]
fn a_removal_of_a_thread_that_never_got_to_the_remote_does_not_promise_that_it_is_there() {
    let Some(server) = own_server() else {
        return;
    };
    let schema = new_schema();
    let [one, _] = &machines_in(&server, &schema);
    let thread = one.start("again");
    // The server goes away when the record is here, and before the thread is there.
    Admin::new(&server.url()).run(&format!(
        "CREATE FUNCTION {schema}.wait() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
           PERFORM pg_sleep(60);
           RETURN NEW;
         END $$;
         CREATE TRIGGER wait BEFORE INSERT ON {schema}.threads
         FOR EACH ROW EXECUTE FUNCTION {schema}.wait()"
    ));
    let mut pushing = one.spawn(&["push", &thread]);
    let record = one.root().join("shared").join(format!("{thread}.json"));
    wait_until("the record is here", || record.exists());
    server.pause();
    assert_eq!(pushing.wait().unwrap().code(), Some(5));
    let refused = one.uwf(&["thread", "rm", &thread]).exits(1);
    refused
        .says("it goes on at the remote, if that has it")
        .says(&format!(
            "`uwf push {thread}` sends what the remote does not have"
        ));
}

/// A record that cannot be read does not count as absent.
#[test]
fn a_thread_whose_record_is_damaged_is_said_to_go_on_at_the_remote() {
    with_server(|server| {
        let machines = machines_in(server, &new_schema());
        let [one, _] = &machines;
        let thread = shared(&machines, "again");
        let record = one.root().join("shared").join(format!("{thread}.json"));
        fs::write(record, "{").unwrap();
        let refused = one.uwf(&["thread", "rm", &thread]).exits(1);
        refused.says("it goes on at the remote");
    });
}

#[test]
fn the_list_of_the_remote_names_workflows_and_leases_and_counts_what_has_ended() {
    with_server(|server| {
        let schema = new_schema();
        let machines = machines_in(server, &schema);
        let [one, other] = &machines;
        one.uwf(&["push", "--workflow", "again"]).exits(0);
        let thread = shared(&machines, "again");
        let ended = shared(&machines, "again");
        one.uwf(&["thread", "kill", &ended]).exits(0);
        let stranger = World::new();
        with_remote(&stranger, server, &schema);
        let list = ["thread", "list", "--remote", "--format", "text"];
        let free = stranger.uwf(&list).exits(0).stdout;
        assert!(free.contains("ready") && free.contains("again"), "{free}");
        assert!(free.contains("1 ended thread not shown; --all"), "{free}");
        assert!(!free.contains(&ended), "{free}");
        let mut working = at_work(other, &["thread", "step", &thread]);
        let leased = stranger.uwf(&list).exits(0).stdout;
        assert!(
            leased.contains("leased") && leased.contains("machine `"),
            "{leased}"
        );
        assert!(!leased.contains("ready"), "{leased}");
        open_gate(other);
        assert!(working.wait().unwrap().success());
        let all = stranger
            .uwf(&[&list[..], &["--all"]].concat())
            .exits(0)
            .stdout;
        assert!(all.contains(&ended) && !all.contains("not shown"), "{all}");
        one.uwf(&["thread", "kill", &thread]).exits(0);
        let none = stranger.uwf(&list).exits(0).stdout;
        assert!(none.contains("no such active thread"), "{none}");
        assert!(none.contains("2 ended threads not shown"), "{none}");
        // The list of a machine that has fetched an ended thread shows how many steps it has.
        stranger.uwf(&["fetch", &thread]).exits(0);
        let fetched = stranger.uwf(&["thread", "list", "--all"]).exits(0).json();
        assert_eq!(fetched[0]["steps"], json!(1), "{fetched}");
    });
}

#[test]
fn who_fetches_from_an_empty_remote_is_told_so() {
    with_server(|server| {
        let machines = machines_in(server, &new_schema());
        let [one, _] = &machines;
        let fetched = one.uwf(&["fetch", "--all", "--format", "text"]).exits(0);
        let told = "the remote has no thread; `uwf push <thread>` shares one that is here";
        assert!(fetched.stdout.contains(told), "{}", fetched.stdout);
        // A name has no label.
        let args = ["push", "--workflow", "again", "--label", "gpu=yes"];
        one.uwf(&args).exits(2).says("<THREADS|--all>");
    });
}

#[test]
fn the_next_step_says_once_that_the_remote_cannot_be_reached() {
    let Some(server) = own_server() else {
        return;
    };
    let machines = machines_in(&server, &new_schema());
    let [one, _] = &machines;
    let thread = shared(&machines, "again");
    processes::kill(at_work(one, &["thread", "step", &thread]));
    open_gate(one);
    wait_until("the agent has finished", || one.pending(&thread).is_some());
    one.wait_until_free(&thread);
    server.pause();
    let said = one.uwf(&["thread", "step", "--next"]).exits(5).stderr;
    assert_eq!(said.matches("cannot be reached").count(), 1, "{said}");
    server.resume();
    one.uwf(&["thread", "step", "--next"]).exits(0);
}

#[test]
fn a_thread_that_another_remote_shares_is_not_stepped() {
    with_server(|server| {
        let machines = machines_in(server, &new_schema());
        let [one, _] = &machines;
        let thread = shared(&machines, "again");
        let (url, schema) = (server.url(), new_schema());
        let store = || {
            one.uwf(&["remote", "status"]).exits(0).json()["store"]
                .as_str()
                .expect("it is a text")
                .to_owned()
        };
        let first = store();
        let add = [
            "remote", "add", &url, "--schema", &schema, "--format", "text",
        ];
        let added = one.uwf(&add).exits(0).stdout;
        assert!(
            added.contains("a call takes") && added.contains(" ms"),
            "{added}"
        );
        let refused = one.step(&thread).exits(1);
        refused.says(&format!(
            "is shared by the remote with the id `{first}`; the remote of the config has the id `{}`",
            store()
        ));
        let status = one.uwf(&["remote", "status", "--format", "text"]).exits(0);
        assert!(status.stdout.contains("Id "), "{}", status.stdout);
    });
}

#[test]
fn a_thread_that_two_remotes_share_is_stepped_by_its_own_remote_alone() {
    with_server(|server| {
        let machines = machines_in(server, &new_schema());
        let [one, other] = &machines;
        let thread = shared(&machines, "again");
        // A third machine shares its copy of the thread by another remote.
        let third = World::new();
        let schema = new_schema();
        with_remote(&third, server, &schema);
        let bundle = third.dir().join("bundle");
        let bundle = bundle.to_str().unwrap();
        one.uwf(&["thread", "export", &thread, "-o", bundle])
            .exits(0);
        third.uwf(&["thread", "import", bundle]).exits(0);
        third.uwf(&["push", &thread]).exits(0);
        let before = runs(one);
        one.uwf(&["remote", "add", &server.url(), "--schema", &schema])
            .exits(0)
            .says("1 thread here is shared by another remote");
        one.step(&thread)
            .exits(1)
            .says("the remote of the config has the id");
        assert_eq!(runs(one), before);
        // What the other remote shares is left alone, and is no failure.
        let fetched = one.uwf(&["fetch"]).exits(0);
        fetched.says("1 thread here is shared by another remote");
        // It did not keep the lease there.
        assert!(at_remote(&third, &thread)["leftMs"].is_null());
        other.step(&thread).exits(0);
    });
}
