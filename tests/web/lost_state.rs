//! State that has lost something: pages say what commands say, and nothing is made where the root was.

use std::fs;

use crate::forms::{Person, leads};
use crate::scene::Scene;
use crate::web_client::TOKEN;
use crate::world::wait_until;

/// Checks that a page and the data say why the command to list threads fails now.
#[track_caller]
fn is_said(scene: &Scene, person: &Person<'_>) {
    let listed = scene.world.uwf(&["thread", "list", "--all"]).exits(4);
    let told = listed
        .stderr
        .lines()
        .find_map(|line| line.strip_prefix("error: "));
    let told = told.unwrap_or_else(|| panic!("{}", listed.stderr));
    let board = scene.server.get("/api/v1/threads").json();
    let warnings = board["warnings"].as_array().unwrap();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(
        warnings[0].as_str().unwrap().contains(told),
        "{warnings:?}, {told}"
    );
    let page = person.look("/");
    assert_eq!(page.status, 200);
    let shown = page.body.matches("<li class=\"failed\">").count();
    assert_eq!(shown, 1, "{}", page.body);
}

#[test]
fn what_the_list_of_threads_refuses_to_hide_is_on_the_first_page() {
    let scene = Scene::new(&[]);
    let person = Person::of(&scene.server);
    let active = scene.thread();
    scene.world.step(&active).exits(0);
    let ended = scene.thread();
    scene.world.uwf(&["thread", "kill", &ended]).exits(0);
    let board = scene.server.get("/api/v1/threads").json();
    assert_eq!(board["warnings"], serde_json::json!([]));
    for file in ["threads.yaml", "history.jsonl"] {
        let path = scene.world.root().join(file);
        let before = fs::read(&path).unwrap();
        fs::write(&path, "").unwrap();
        is_said(&scene, &person);
        fs::write(&path, before).unwrap();
    }
}

#[test]
fn each_damaged_line_is_told_once() {
    let scene = Scene::new(&[]);
    let person = Person::of(&scene.server);
    let ended = scene.thread();
    scene.world.uwf(&["thread", "kill", &ended]).exits(0);
    let path = scene.world.root().join("history.jsonl");
    let before = fs::read_to_string(&path).unwrap();
    fs::write(&path, format!("{before}no\n")).unwrap();
    is_said(&scene, &person);
    fs::write(&path, format!("{before}no\nneither\n")).unwrap();
    let board = scene.server.get("/api/v1/threads").json();
    let warnings = board["warnings"].as_array().unwrap();
    let of = |line: u64| {
        let place = format!("history.jsonl:{line}`");
        warnings
            .iter()
            .filter(|told| told.as_str().unwrap().contains(&place))
            .count()
    };
    assert_eq!((of(2), of(3), warnings.len()), (1, 1, 2), "{warnings:?}");
}

#[test]
fn the_machine_is_shown_with_its_checks_when_the_threads_cannot_be_read() {
    let scene = Scene::new(&[]);
    let person = Person::of(&scene.server);
    let thread = scene.thread();
    scene.world.step(&thread).exits(0);
    let head = scene.possible(&thread).1;
    let step = format!("/steps/{head}");
    let to_thread = format!("href=\"/threads/{thread}#{head}\"");
    assert!(person.look(&step).body.contains(&to_thread));
    fs::write(scene.world.root().join("threads.yaml"), "{ no").unwrap();
    let page = person.look("/machine");
    assert_eq!(page.status, 200, "{}", page.body);
    assert!(page.body.contains("threads.yaml"), "{}", page.body);
    assert!(page.body.contains("Check everything"), "{}", page.body);
    assert_eq!(person.look("/machine/checks").status, 200);
    assert_eq!(person.look(&step).status, 200);
}

#[test]
fn a_root_that_is_gone_does_not_look_like_a_new_one_and_nothing_is_made_there() {
    let scene = Scene::new(&[]);
    let person = Person::of(&scene.server);
    scene.thread();
    let root = scene.world.root();
    let aside = root.with_extension("aside");
    fs::rename(&root, &aside).unwrap();
    for path in ["/", "/login", "/machine", "/new"] {
        let page = person.look(path);
        assert_eq!(page.status, 503, "{path}: {}", page.body);
        assert!(page.body.contains("is gone"), "{}", page.body);
        assert!(!page.body.contains(root.to_str().unwrap()), "{}", page.body);
    }
    let data = scene.server.get("/api/v1/threads");
    assert_eq!(
        (data.status, data.json()["error"]["code"].as_str()),
        (503, Some("gone"))
    );
    let sent = scene.server.post("/login", &[], &format!("token={TOKEN}"));
    assert_eq!(sent.status, 503, "{}", sent.body);
    assert!(!root.exists());
    // A disk that is not mounted leaves an empty folder.
    fs::create_dir(&root).unwrap();
    assert_eq!(person.look("/").status, 503);
    assert_eq!(fs::read_dir(&root).unwrap().count(), 0);
    fs::remove_dir(&root).unwrap();
    fs::rename(&aside, &root).unwrap();
    assert_eq!(person.look("/").status, 200);
}

#[test]
fn a_finished_step_that_is_not_in_the_chain_is_on_the_page() {
    let scene = Scene::saying(
        "[ ! -e second ] || wait_for go\nprintf -- '---\\nplan: p\\n$status: approved\\nsummary: s\\n---\\n'",
    );
    let person = Person::of(&scene.server);
    let thread = scene.thread();
    let page = || person.look(&format!("/threads/{thread}")).body;
    let (start, world) = (scene.possible(&thread).1, &scene.world);
    world.step(&thread).exits(0);
    let first = scene.possible(&thread).1;
    fs::write(world.project().join("second"), "").unwrap();
    let mut engine = world.spawn(&["thread", "step", &thread]);
    world.agent_at_work(&thread);
    engine.kill().unwrap();
    engine.wait().unwrap();
    fs::write(scene.go(), "").unwrap();
    wait_until("the agent has finished", || {
        world.pending(&thread).is_some()
    });
    world.wait_until_free(&thread);
    let step = world.pending(&thread).unwrap()["step"].clone();
    let link = format!("href=\"/steps/{}\"", step.as_str().unwrap());
    let shown = page();
    assert!(shown.contains("waits to be committed"), "{shown}");
    assert!(shown.contains(&link), "{shown}");
    // The thread is moved back by hand, so the step does not follow its head.
    let heads = world.state("threads.yaml").replace(&first, &start);
    fs::write(world.root().join("threads.yaml"), heads).unwrap();
    fs::remove_file(world.project().join("second")).unwrap();
    world.step(&thread);
    let shown = page();
    assert!(shown.contains("is kept: it follows"), "{shown}");
    assert!(shown.contains(&link), "{shown}");
    let address = link.trim_start_matches("href=").trim_matches('"');
    assert_eq!(person.look(address).status, 200);
}

#[test]
fn a_step_of_a_form_that_failed_in_the_background_is_told_on_the_page_of_its_thread() {
    let scene = Scene::held();
    let person = Person::of(&scene.server);
    let (thread, world) = (scene.thread(), &scene.world);
    let address = format!("/threads/{thread}");
    let file = format!("{address}/background");
    assert_eq!(person.look(&file).status, 404);
    leads(&person.fill(&format!("{address}/do/step"), &[("count", "1")]));
    world.agent_at_work(&thread);
    let heads = world.root().join("threads.yaml");
    let before = fs::read(&heads).unwrap();
    fs::write(&heads, "{ no").unwrap();
    fs::write(scene.go(), "").unwrap();
    let told = "The last call in the background failed at";
    wait_until("the step has failed", || {
        person.look(&file).body.contains("exitCode")
    });
    fs::write(&heads, before).unwrap();
    world.wait_until_free(&thread);
    // The call puts its step on record before it fails, which may be at the same tick of the clock.
    let pending = world.pending_file(&thread);
    let said = pending.with_file_name("background.log");
    let at_once = fs::metadata(pending).unwrap().modified().unwrap();
    let said = fs::File::options().write(true).open(said).unwrap();
    said.set_modified(at_once).unwrap();
    let shown = person.look(&address).body;
    assert!(shown.contains(told), "{shown}");
    assert!(shown.contains("threads.yaml"), "{shown}");
    assert!(shown.contains(&format!("href=\"{file}\"")), "{shown}");
    // The next step goes on from there.
    world.step(&thread).exits(0);
    let shown = person.look(&address).body;
    assert!(!shown.contains(told), "{shown}");
}
