//! Each action by its form and as programs send it: it does what its command does, and is refused as that is.

use serde_json::json;

use crate::forms::{Person, hidden, leads};
use crate::scene::Scene;
use crate::web_client::Answer;
use crate::world::REVIEW;

#[test]
fn a_person_goes_the_whole_way_by_forms() {
    let scene = Scene::new(&[]);
    let person = Person::of(&scene.server);
    let empty = person.look("/").body;
    let names = "no threads yet. <a href=\"/new\">New thread</a>";
    assert!(empty.contains(names), "{empty}");
    let project = scene.world.project();
    let folder = project.to_str().unwrap();
    let prompt = "@/etc/passwd is a text here";
    let start = [
        ("workflow", "review"),
        ("prompt", prompt),
        ("cwd", folder),
        ("name", "by-hand"),
        ("labels", "team=web kind=x"),
    ];
    let address = leads(&person.fill("/new", &start));
    let thread = address.strip_prefix("/threads/").unwrap();
    let shown = scene.world.show(thread);
    assert_eq!(shown["task"], prompt);
    assert_eq!(shown["name"], "by-hand");
    assert_eq!(shown["labels"], json!({ "team": "web", "kind": "x" }));

    let (actions, _) = scene.possible(thread);
    assert_eq!(actions, ["run", "step", "pause", "fork", "label", "kill"]);
    leads(&person.fill(&format!("{address}/do/step"), &[("count", "1")]));
    scene.wait_for(thread, "idle", 1);
    leads(&person.fill(&format!("{address}/do/run"), &[]));
    scene.wait_for(thread, "suspended", 2);
    // A text that looks like an option is a text.
    let answer = [("prompt", "--root=/nowhere\r\nor there")];
    leads(&person.fill(&format!("{address}/do/resume"), &answer));
    scene.wait_for(thread, "completed", 3);
    let steps = scene.world.uwf(&["thread", "read", thread]).exits(0).stdout;
    assert!(steps.contains("--root=/nowhere"), "{steps}");
    // A browser ends each line with two characters.
    let path = format!("/api/v1/steps/{}/prompt", scene.possible(thread).1);
    let told = scene.server.get(&path).body;
    assert!(told.contains("/nowhere\\nor there"), "{told}");
    assert_eq!(scene.possible(thread).0, ["fork", "label"]);
    let page = person.look(&address).body;
    assert!(!page.contains("/do/run"), "{page}");
    let impossible = person.look(&format!("{address}/do/run"));
    assert_eq!(impossible.status, 409, "{}", impossible.body);
    let back = format!("href=\"{address}\"");
    assert!(impossible.body.contains(&back), "{}", impossible.body);
}

#[test]
fn a_thread_is_paused_named_redone_forked_and_killed_by_forms() {
    let scene = Scene::new(&[]);
    let person = Person::of(&scene.server);
    let thread = scene.thread();
    let at = |action: &str| format!("/threads/{thread}/do/{action}");
    leads(&person.fill(&at("pause"), &[("message", "-m")]));
    let shown = scene.world.show(&thread);
    assert_eq!(shown["status"], "paused");
    assert_eq!(shown["paused"]["reason"], "-m");
    leads(&person.fill(&at("unpause"), &[]));
    scene.world.step(&thread).exits(0);

    let remark = [("prompt", "once more")];
    let first = scene.possible(&thread).1;
    leads(&person.fill(&at("poke"), &remark));
    crate::world::wait_until("the step is replaced", || {
        scene.possible(&thread).1 != first
    });
    scene.wait_for(&thread, "idle", 1);

    let names = [("whole", "1"), ("name", "mine"), ("labels", "a=b c=d")];
    leads(&person.fill(&at("label"), &names));
    leads(&person.fill(&at("label"), &[("whole", "1"), ("labels", "c=e")]));
    let shown = scene.world.show(&thread);
    assert_eq!(shown["name"], json!(null));
    assert_eq!(shown["labels"], json!({ "c": "e" }));

    let address = format!("{}?step={first}", at("fork"));
    let page = person.look(&address);
    assert!(page.body.contains(&format!("value=\"{first}\"")));
    let fork = leads(&person.send(&page, &at("fork"), &[("step", &first), ("name", "other")]));
    assert_ne!(fork, format!("/threads/{thread}"));
    let forks = scene
        .server
        .get(&format!("/api/v1/threads/{thread}/forks"))
        .json();
    assert_eq!(forks["forks"][0]["name"], "other");
    assert_eq!(forks["forks"][0]["forkedAt"], *first);
    let original = person.look(&format!("/threads/{thread}")).body;
    assert!(original.contains(&format!("href=\"{fork}\"")), "{original}");
    leads(&person.fill(&at("kill"), &[]));
    assert_eq!(scene.world.show(&thread)["status"], "cancelled");
}

#[test]
fn a_form_of_names_changes_only_what_the_person_changed() {
    let scene = Scene::new(&[]);
    let person = Person::of(&scene.server);
    let thread = scene.thread();
    let uwf = |words: &[&str]| _ = scene.world.uwf(words).exits(0);
    uwf(&["thread", "label", &thread, "keep=1", "gone=1", "both=1"]);
    let path = format!("/threads/{thread}/do/label");
    let page = person.look(&path);
    uwf(&["thread", "label", &thread, "other=2", "keep=9", "both=2"]);
    uwf(&["thread", "rename", &thread, "by-command"]);
    let fields = [("whole", "1"), ("labels", "keep=1 mine=3 both=3")];
    leads(&person.send(&page, &path, &fields));
    let shown = scene.world.show(&thread);
    assert_eq!(shown["name"], "by-command");
    let labels = json!({ "keep": "9", "other": "2", "mine": "3", "both": "3" });
    assert_eq!(shown["labels"], labels);
    // The page of a thread without a name and labels was empty, too.
    let bare = scene.thread();
    let path = format!("/threads/{bare}/do/label");
    let page = person.look(&path);
    uwf(&["thread", "label", &bare, "other=2"]);
    let fields = [("whole", "1"), ("name", "by-page")];
    leads(&person.send(&page, &path, &fields));
    let shown = scene.world.show(&bare);
    assert_eq!(shown["name"], "by-page");
    assert_eq!(shown["labels"], json!({ "other": "2" }));
    // A program that says all labels removes the others.
    let all = json!({ "whole": true, "labels": ["a=b"] });
    assert_eq!(
        scene.act(&format!("threads/{bare}/label"), &all).status,
        200
    );
    let shown = scene.world.show(&bare);
    assert_eq!(shown["name"], json!(null));
    assert_eq!(shown["labels"], json!({ "a": "b" }));
}

#[test]
fn a_limit_is_raised_by_the_form_that_says_which() {
    let scene = Scene::new(&[]);
    let person = Person::of(&scene.server);
    let limited = REVIEW.replace("name: review", "name: limited\nlimits: { maxSteps: 1 }");
    let thread = scene.world.start(&scene.world.put(&limited));
    scene.world.step(&thread).exits(0);
    let path = format!("/threads/{thread}/do/resume");
    let page = person.look(&path);
    let raise = hidden(&page.body, "raise").unwrap();
    assert!(raise.starts_with("maxSteps="), "{raise}");
    assert!(page.body.contains("Raise and go on"), "{}", page.body);
    leads(&person.send(&page, &path, &[("raise", &raise)]));
    scene.wait_for(&thread, "suspended", 2);
}

#[test]
fn pages_say_the_question_and_the_limit_of_a_thread_that_has_both() {
    let scene = Scene::new(&[]);
    let person = Person::of(&scene.server);
    let limited = REVIEW.replace("name: review", "name: limited\nlimits: { maxSteps: 2 }");
    let thread = scene.world.start(&scene.world.put(&limited));
    let steps = scene.world.uwf(&["thread", "step", &thread, "-c", "2"]);
    steps.exits(0);
    let live = person.look(&format!("/threads/{thread}")).body;
    let read = ["thread", "read", &thread, "--html"];
    let read = scene.world.uwf(&read).exits(0).stdout;
    for page in [live, read] {
        assert!(page.contains("<h3>reviewer asks</h3>"), "{page}");
        assert!(page.contains("<h3>A limit is reached</h3>"), "{page}");
        assert!(page.contains("2 of 2 steps"), "{page}");
    }
}

#[test]
fn programs_act_and_are_told_why_not() {
    let scene = Scene::new(&[]);
    let started = scene.act(
        "threads",
        &json!({ "workflow": "review", "prompt": "x", "labels": ["a=b"] }),
    );
    assert_eq!(started.status, 201, "{}", started.body);
    let thread = started.json()["thread"].as_str().unwrap().to_owned();
    let at = |action: &str| format!("threads/{thread}/{action}");
    let refused = |answer: Answer, status: u16, code: &str| {
        assert_eq!(answer.status, status, "{}", answer.body);
        assert_eq!(answer.json()["error"]["code"], code);
    };
    refused(
        scene.act(&at("resume"), &json!({ "prompt": "x" })),
        422,
        "request",
    );
    let head = scene.possible(&thread).1;
    let ran = scene.act(&at("run"), &json!({ "head": head }));
    assert_eq!(ran.status, 202, "{}", ran.body);
    scene.wait_for(&thread, "suspended", 2);
    refused(
        scene.act(&at("step"), &json!({ "head": head })),
        409,
        "changed",
    );
    refused(scene.act(&at("step"), &json!({})), 409, "suspended");
    refused(
        scene.act(&at("resume"), &json!({ "raise": "--help" })),
        400,
        "field",
    );
    refused(
        scene.act(&at("resume"), &json!({ "prompt": {} })),
        400,
        "body",
    );
    refused(scene.act(&at("nothing"), &json!({})), 404, "not-found");
    refused(
        scene.act("threads/--help/step", &json!({})),
        404,
        "not-found",
    );
    let killed = scene.act(&at("kill"), &json!({}));
    assert_eq!(killed.json()["cancelled"], true, "{}", killed.body);
    refused(scene.act(&at("pause"), &json!({})), 410, "ended");
    let nothing = json!({ "workflow": "--version", "prompt": "x" });
    refused(scene.act("threads", &nothing), 422, "request");
    refused(
        scene.act("threads", &json!({ "workflow": "review" })),
        400,
        "field",
    );
    let forked = scene.act(&at("fork"), &json!({ "name": "again" }));
    assert_eq!(forked.status, 201, "{}", forked.body);
    assert_eq!(forked.json()["name"], "again");
}

#[test]
fn a_stale_page_and_a_form_of_another_session_do_nothing() {
    let scene = Scene::new(&[]);
    let person = Person::of(&scene.server);
    let thread = scene.thread();
    let path = format!("/threads/{thread}/do/step");
    let stale = person.look(&path);
    assert!(stale.body.contains(&format!("uwf thread step {thread}")));
    let other = Person::of(&scene.server);
    let foreign = other.send(&stale, &path, &[]);
    assert_eq!(foreign.status, 403, "{}", foreign.body);
    scene.world.step(&thread).exits(0);
    let refused = person.send(&stale, &path, &[]);
    assert_eq!(refused.status, 409);
    assert!(refused.body.contains("has changed"), "{}", refused.body);
    scene.wait_for(&thread, "idle", 1);
}

#[test]
fn of_pages_that_act_at_the_same_time_one_does() {
    let scene = Scene::new(&[]);
    let person = Person::of(&scene.server);
    for action in ["step", "poke"] {
        let thread = scene.thread();
        if action == "poke" {
            scene.world.step(&thread).exits(0);
        }
        let path = format!("/threads/{thread}/do/{action}");
        let pages: Vec<Answer> = (0..4).map(|_| person.look(&path)).collect();
        let (_, head) = scene.possible(&thread);
        let shown = format!("uwf thread {action} {thread} --head={head}");
        let page = &pages[0].body;
        assert!(page.contains(&shown), "{page}");
        let fields: &[(&str, &str)] = match action {
            "poke" => &[("prompt", "x")],
            _ => &[],
        };
        let mut answers: Vec<u16> = std::thread::scope(|scope| {
            let (person, path) = (&person, &path);
            let send = |page| scope.spawn(move || person.send(page, path, fields).status);
            let sent: Vec<_> = pages.iter().map(send).collect();
            sent.into_iter().map(|one| one.join().unwrap()).collect()
        });
        answers.sort_unstable();
        assert_eq!(answers, [303, 409, 409, 409], "{action}");
        scene.wait_for(&thread, "idle", 1);
        let history = scene.world.state("history.jsonl");
        let replaced = history
            .lines()
            .filter(|line| line.contains(&*thread))
            .count();
        assert_eq!(replaced, usize::from(action == "poke"), "{history}");
    }
}

#[test]
fn what_a_command_said_is_on_the_page_that_follows_and_in_the_answer() {
    let scene = Scene::new(&[]);
    let person = Person::of(&scene.server);
    // The file of the project hides the workflow of the registry.
    let other = REVIEW.replace("Begin writing", "Begin to write");
    scene.world.write(".workflows/review.yaml", &other);
    let start = [("workflow", "review"), ("prompt", "x"), ("cwd", "/")];
    let address = leads(&person.fill("/new", &start));
    let warning = "is also registered, as another workflow";
    assert!(person.look(&address).body.contains(warning), "{address}");
    // Neither another page nor another person sees it.
    let (page, _) = address.split_once('?').unwrap();
    assert!(!person.look(page).body.contains(warning));
    let other = Person::of(&scene.server);
    assert!(!other.look(&address).body.contains(warning));
    let started = scene.act("threads", &json!({ "workflow": "review", "prompt": "x" }));
    let notices = started.json()["notices"].to_string();
    assert!(notices.contains(warning), "{}", started.body);
}

#[test]
fn a_thread_that_was_started_and_cannot_be_run_is_not_lost() {
    let scene = Scene::new(&[]);
    let person = Person::of(&scene.server);
    scene.world.configure("defaultAgent", "nobody");
    let start = [
        ("workflow", "review"),
        ("prompt", "x"),
        ("cwd", "/"),
        ("then", "run"),
    ];
    let refused = person.fill("/new", &start);
    assert_eq!(refused.status, 422, "{}", refused.body);
    let (_, rest) = refused.body.split_once("href=\"/threads/").unwrap();
    let thread = rest.split_once('"').unwrap().0;
    assert!(refused.body.contains("was started"), "{}", refused.body);
    assert_eq!(scene.world.show(thread)["status"], "idle");
}

#[test]
fn who_did_what_is_logged_and_nothing_secret_is() {
    let scene = Scene::new(&[]);
    let _first = Person::of(&scene.server);
    let person = Person::of(&scene.server);
    let thread = scene.thread();
    let path = format!("/threads/{thread}/do/pause");
    let page = person.look(&path);
    leads(&person.send(&page, &path, &[("message", "a text")]));
    scene.act(&format!("threads/{thread}/kill"), &json!({}));
    scene.act(&format!("threads/{thread}/pause"), &json!({}));
    let log = scene.acts_in_log();
    for said in [
        "act=log-in by=session-2 from=127.0.0.1 result=done",
        "act=pause by=session-2 from=127.0.0.1 result=done",
        "act=kill by=token from=127.0.0.1 result=done",
        "act=pause by=token from=127.0.0.1 result=ended",
    ] {
        assert!(log.contains(said), "{said}: {log}");
    }
    assert!(log.contains(&thread));
    let key = hidden(&page.body, "key").unwrap();
    let (_, session) = person.cookie().split_once('=').unwrap();
    for secret in [&*key, session, crate::web_client::TOKEN, "a text"] {
        assert!(!log.contains(secret), "{log}");
    }
}

#[test]
fn an_act_whose_command_cannot_log_is_done_and_who_did_it_is_told() {
    let scene = Scene::new(&[]);
    let thread = scene.thread();
    let logs = scene.world.root().join("logs");
    std::fs::remove_dir_all(&logs).unwrap();
    std::fs::write(&logs, "no folder").unwrap();
    let killed = scene.act(&format!("threads/{thread}/kill"), &json!({}));
    assert_eq!(scene.world.show(&thread)["status"], "cancelled");
    let notices = killed.json()["notices"].to_string();
    assert!(notices.contains("`uwf log` lacks"), "{notices}");
}

#[test]
fn a_server_for_looking_only_has_no_buttons_and_does_nothing() {
    let scene = Scene::new(&["--read-only"]);
    let person = Person::of(&scene.server);
    let thread = scene.thread();
    let page = person.look(&format!("/threads/{thread}"));
    assert!(!page.body.contains("/do/"), "{}", page.body);
    assert_eq!(
        person.look(&format!("/threads/{thread}/do/kill")).status,
        403
    );
    assert_eq!(person.look("/new").status, 403);
    assert!(scene.possible(&thread).0.is_empty());
    let key = hidden(&page.body, "key").unwrap();
    let form = format!("key={key}");
    let sent = scene.server.post(
        &format!("/threads/{thread}/do/kill"),
        &[person.cookie()],
        &form,
    );
    assert_eq!(sent.status, 403, "{}", sent.body);
    let refused = scene.act(&format!("threads/{thread}/kill"), &json!({}));
    assert_eq!(refused.json()["error"]["code"], "read-only");
    assert_eq!(scene.world.show(&thread)["status"], "idle");
}

#[test]
fn labels_change_as_the_command_changes_them() {
    let scene = Scene::new(&[]);
    let labels = |thread: &str| scene.world.show(thread)["labels"].clone();
    let command = |thread: &str, words: &[&str]| {
        let words = [&["thread", "label", thread, "--"], words].concat();
        scene.world.uwf(&words).exits(0);
    };
    for given in [
        &["a=2", "a=1"][..],
        &["a-", "a=1"],
        &["a=2", "a-"],
        &["a=1", "b=1", "b-"],
        &["c-", "a=3"],
    ] {
        let (by_page, by_command) = (scene.thread(), scene.thread());
        for thread in [&by_page, &by_command] {
            command(thread, &["a=1"]);
        }
        let act = format!("threads/{by_page}/label");
        let sent = scene.act(&act, &json!({ "labels": given }));
        assert_eq!(sent.status, 200, "{given:?}: {}", sent.body);
        command(&by_command, given);
        assert_eq!(labels(&by_page), labels(&by_command), "{given:?}");
    }
}
