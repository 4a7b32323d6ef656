//! The remote does what a process that works on a shared run asks for, and its answers are lost.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use serde_json::json;

use crate::postgres::Server;
use crate::proxy::{Cut, proxy};
use crate::sharing::{at_remote, head, with_server};
use crate::sharing_children::{BRANCHES, agree, family, family_at_remote};
use crate::sharing_runs::{agree_on, done, machines, open_gate, pipeline, shared};
use crate::world::{World, wait_until};

/// How many answers to one call are lost until a client gives up.
const TRIES: usize = 9;

/// Answers of a server that are lost from now on, or no more.
#[derive(Default)]
struct Answers {
    are_lost: AtomicBool,
    lost: AtomicUsize,
}

/// Lets a machine ask the server by a proxy that loses the answers for which this is true.
fn lose_if(server: &Server, world: &World, is_lost: impl Fn() -> bool + Send + Sync + 'static) {
    let plan = move || {
        is_lost().then_some(Cut {
            passed: None,
            is_silent: false,
        })
    };
    let url = server.url();
    let port = url.rsplit([':', '/']).nth(1).unwrap();
    let own = proxy(port.parse().unwrap(), Arc::new(plan));
    world.configure("remote.url", &url.replace(port, &own.to_string()));
}

impl Answers {
    /// Lets a machine ask the server by a proxy.
    fn of(server: &Server, world: &World) -> Arc<Self> {
        let answers = Arc::new(Self::default());
        let asked = Arc::clone(&answers);
        lose_if(server, world, move || {
            let is_lost = asked.are_lost.load(Ordering::Relaxed);
            asked
                .lost
                .fetch_add(usize::from(is_lost), Ordering::Relaxed);
            is_lost
        });
        answers
    }

    fn lose(&self) {
        self.are_lost.store(true, Ordering::Relaxed);
    }

    /// Lets answers come again after a client has given up.
    fn let_come(&self) {
        wait_until("a client has given up", || {
            self.lost.load(Ordering::Relaxed) >= TRIES
        });
        self.are_lost.store(false, Ordering::Relaxed);
    }
}

#[test]
fn a_step_of_a_run_whose_answer_is_lost_is_not_done_again() {
    with_server(|server| {
        let steps = ["A", "B", "C"];
        let own_gate = pipeline(&steps).replace(
            "echo B.1; while [ -e wait ]",
            "echo B.1; while [ -e wait-B ]",
        );
        let machines = machines(server, &own_gate);
        let [one, other] = &machines;
        let thread = shared(&machines);
        let answers = Answers::of(server, one);
        let before = head(one, &thread);
        one.write("wait-B", "");
        one.write("wait", "");
        let mut working = one.spawn(&["thread", "run", &thread]);
        wait_until("B is at work", || done(&machines) == "AB");
        answers.lose();
        fs::remove_file(one.project().join("wait-B")).unwrap();
        wait_until("the remote has the step", || {
            at_remote(other, &thread)["head"] != json!(before)
        });
        answers.let_come();
        open_gate(&machines);
        let code = working.wait().unwrap().code();
        assert_eq!(code, Some(5), "no program starts before it is known");
        assert_eq!(done(&machines), "AB");
        one.uwf(&["thread", "run", &thread]).exits(0);
        assert_eq!(done(&machines), "ABC", "nothing is done twice");
        agree_on(&machines, &thread, &steps);
        assert_eq!(one.show(&thread)["refusedSteps"], json!(null));
    });
}

#[test]
fn a_family_is_pushed_though_answers_are_lost_again_and_again() {
    with_server(|server| {
        for every in [3, 4, 5, 7] {
            let (machines, thread) = family(server, BRANCHES);
            let [one, other] = &machines;
            one.step(&thread).exits(0);
            let asked = AtomicUsize::new(1);
            lose_if(server, one, move || {
                asked.fetch_add(1, Ordering::Relaxed).is_multiple_of(every)
            });
            one.uwf(&["push", &thread]).exits(0);
            let there = family_at_remote(other, &thread);
            let statuses: Vec<_> = there.iter().map(|one| one["status"].clone()).collect();
            assert_eq!(statuses, vec![json!("ready"); 3]);
            one.configure("remote.url", &server.url());
            other.uwf(&["fetch", &thread]).exits(0);
            agree(&machines, &thread, 3);
        }
    });
}
