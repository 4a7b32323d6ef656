//! A form that is sent twice, by a double click for example: it does once what it says, and leads to the same place each time.

use std::fs::File;

use serde_json::json;

use crate::attacks::{COMMANDS, children_of};
use crate::forms::{Person, leads};
use crate::scene::Scene;
use crate::web_client::Answer;
use crate::world::wait_until;

/// Sends a form several times at once, and once more afterwards. Returns the one place to which all answers lead.
#[track_caller]
fn sent_again(person: &Person<'_>, path: &str, fields: &[(&str, &str)]) -> String {
    let page = person.look(path);
    let send = || person.send(&page, path, fields);
    let mut answers: Vec<Answer> = std::thread::scope(|scope| {
        let sent: Vec<_> = (0..4).map(|_| scope.spawn(send)).collect();
        sent.into_iter().map(|one| one.join().unwrap()).collect()
    });
    answers.push(send());
    let mut places: Vec<String> = answers.iter().map(leads).collect();
    places.dedup();
    assert_eq!(places.len(), 1, "{places:?}");
    places.remove(0)
}

fn threads(scene: &Scene) -> usize {
    let list = scene.server.get("/api/v1/threads").json();
    list["threads"].as_array().unwrap().len()
}

#[test]
fn a_form_that_is_sent_again_does_nothing_more() {
    let scene = Scene::new(&[]);
    let person = Person::of(&scene.server);
    let project = scene.world.project();
    let cwd = project.to_str().unwrap();
    let start = [
        ("workflow", "review"),
        ("prompt", "x"),
        ("cwd", cwd),
        ("then", "run"),
    ];
    let address = sent_again(&person, "/new", &start);
    let thread = address.strip_prefix("/threads/").unwrap();
    scene.wait_for(thread, "suspended", 2);
    assert_eq!(threads(&scene), 1);

    let at = |action: &str| format!("{address}/do/{action}");
    sent_again(&person, &at("resume"), &[("prompt", "yes")]);
    scene.wait_for(thread, "completed", 3);
    let head = scene.possible(thread).1;
    let fork = sent_again(&person, &at("fork"), &[("step", &head)]);
    assert_ne!(fork, address);
    assert_eq!(threads(&scene), 2);
    sent_again(&person, &format!("{fork}/do/kill"), &[]);
}

#[test]
fn another_text_in_the_same_form_is_another_wish_and_a_refused_form_can_be_sent_again() {
    let scene = Scene::new(&[]);
    let person = Person::of(&scene.server);
    let page = person.look("/new");
    let send = |prompt: &str, workflow: &str| {
        let start = [("workflow", workflow), ("prompt", prompt), ("cwd", "/")];
        person.send(&page, "/new", &start)
    };
    for _ in 0..2 {
        assert_eq!(send("a", "nothing").status, 422);
    }
    let first = send("a", "review");
    let other = send("b", "review");
    assert_eq!([first.status, other.status], [303, 303]);
    assert_ne!(first.header("location"), other.header("location"));
    assert_eq!(threads(&scene), 2);
    // A form of another visit is not known here: it is a wish of its own.
    let again = Person::of(&scene.server);
    let start = [("workflow", "review"), ("prompt", "a"), ("cwd", "/")];
    again.fill("/new", &start);
    assert_eq!(threads(&scene), 3);
}

#[test]
fn a_form_that_is_sent_again_and_again_keeps_no_other_command_out() {
    let scene = Scene::new(&[]);
    let person = Person::of(&scene.server);
    let thread = scene.thread();
    let path = format!("/threads/{thread}/do/pause");
    let page = person.look(&path);
    let at_work = |commands| {
        wait_until(&format!("{commands} commands wait"), || {
            children_of(scene.server.child.id()) == commands
        });
    };
    std::thread::scope(|scope| {
        // Dropped by a failure, too, so that nobody waits for ever.
        let state = File::open(scene.world.root().join("locks/state.lock")).unwrap();
        state.lock().unwrap();
        let click = || scope.spawn(|| person.send(&page, &path, &[]));
        let clicks: Vec<_> = (0..2 * COMMANDS).map(|_| click()).collect();
        at_work(1);
        let other =
            scope.spawn(|| scene.act(&format!("threads/{thread}/label"), &json!({ "name": "a" })));
        at_work(2);
        state.unlock().unwrap();
        assert_eq!(other.join().unwrap().status, 200);
        for click in clicks {
            assert_eq!(leads(&click.join().unwrap()), format!("/threads/{thread}"));
        }
    });
}
