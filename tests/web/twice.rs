//! A form that is sent twice, by a double click for example: it does once what it says, and leads to the same place each time.

use crate::forms::{Person, leads};
use crate::scene::Scene;
use crate::web_client::Answer;

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
