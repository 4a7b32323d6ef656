//! Forms that say something else than their address takes: nothing is done, and the answer says what is wrong.

use serde_json::{Value, json};

use crate::forms::{Person, hidden, leads};
use crate::scene::Scene;
use crate::web_client::{Answer, bearer};

const FORM: &str = "Content-Type: application/x-www-form-urlencoded";

/// Sends a body of some kind to an action of a thread, as a program.
fn send(scene: &Scene, path: &str, kind: &str, body: &str) -> Answer {
    let path = format!("/api/v1/threads/{path}");
    scene.server.ask("POST", &path, &[&bearer(), kind], body)
}

#[track_caller]
fn refused(answer: &Answer, status: u16, code: &str) -> Value {
    assert_eq!(answer.status, status, "{}", answer.body);
    let error = answer.json()["error"].clone();
    assert_eq!(error["code"], code, "{}", answer.body);
    error
}

#[test]
fn a_field_that_an_address_does_not_take_is_refused() {
    let scene = Scene::new(&[]);
    let thread = scene.thread();
    let kill = format!("{thread}/kill");
    let stale = json!({ "head": "0000000000000" }).to_string();
    // What `curl -d` sends if nobody says that it is JSON.
    let error = refused(&send(&scene, &kill, FORM, &stale), 400, "field");
    assert!(error["message"].as_str().unwrap().contains("unknown field"));
    let hint = error["hint"].as_str().unwrap();
    assert!(hint.contains("`head`") && hint.contains("application/json"));
    let json = "content-type: Application/JSON; charset=utf-8";
    refused(&send(&scene, &kill, json, &stale), 409, "changed");
    let misspelt = json!({ "haed": "0000000000000" }).to_string();
    let error = refused(&send(&scene, &kill, json, &misspelt), 400, "field");
    assert!(error["message"].as_str().unwrap().contains("`haed`"));
    refused(&send(&scene, &kill, FORM, "prompt="), 400, "field");
    let form = FORM.to_ascii_uppercase();
    refused(
        &send(&scene, &kill, &form, "head=0000000000000"),
        409,
        "changed",
    );
    let then = json!({ "workflow": "review", "prompt": "x", "then": "run" });
    refused(&scene.act("threads", &then), 400, "field");
    assert_eq!(scene.world.show(&thread)["status"], "idle");
}

#[test]
fn a_body_of_another_kind_is_refused() {
    let scene = Scene::new(&[]);
    let thread = scene.thread();
    let kill = format!("{thread}/kill");
    for kind in [
        "Content-Type: text/plain",
        "Content-Type: multipart/form-data; boundary=x",
        "X-None: 1",
    ] {
        let error = refused(&send(&scene, &kill, kind, "{}"), 415, "media-type");
        assert!(error["hint"].as_str().unwrap().contains("application/json"));
    }
    assert_eq!(scene.world.show(&thread)["status"], "idle");
    // Without a body, there is nothing to misread.
    assert_eq!(send(&scene, &kill, "X-None: 1", "").status, 200);
}

#[test]
fn a_choice_is_yes_only_if_it_says_so() {
    let scene = Scene::new(&[]);
    let thread = scene.thread();
    for no in ["0", "false", "no", "off", "2"] {
        for action in ["fork", "poke"] {
            let form = format!("restore={no}");
            let sent = send(&scene, &format!("{thread}/{action}"), FORM, &form);
            refused(&sent, 400, "field");
        }
        let form = format!("whole={no}");
        refused(
            &send(&scene, &format!("{thread}/label"), FORM, &form),
            400,
            "field",
        );
    }
    let named = json!({ "name": "nice-one" });
    assert_eq!(
        scene.act(&format!("threads/{thread}/label"), &named).status,
        200
    );
    let part = json!({ "labels": ["a=b"], "whole": false });
    assert_eq!(
        scene.act(&format!("threads/{thread}/label"), &part).status,
        200
    );
    assert_eq!(scene.world.show(&thread)["name"], "nice-one");
    let whole = send(&scene, &format!("{thread}/label"), FORM, "whole=on");
    assert_eq!(whole.status, 200, "{}", whole.body);
    assert_eq!(scene.world.show(&thread)["name"], json!(null));
}

#[test]
fn a_message_of_a_pause_is_a_text_however_long_it_is() {
    let scene = Scene::new(&[]);
    let thread = scene.thread();
    // An argument may have 128 KiB.
    for text in ["-", "@/etc/passwd", "…", &"long ".repeat(40_000)] {
        let paused = scene.act(
            &format!("threads/{thread}/pause"),
            &json!({ "message": text }),
        );
        assert_eq!(paused.status, 200, "{}", paused.body);
        let shown = scene.world.show(&thread);
        assert_eq!(shown["paused"]["reason"].as_str().unwrap(), text.trim());
        let unpaused = scene.act(&format!("threads/{thread}/unpause"), &json!({}));
        assert_eq!(unpaused.status, 200, "{}", unpaused.body);
    }
}

/// Returns the entries of the log about acts, in their order.
fn log(scene: &Scene) -> Vec<String> {
    let log = scene.acts_in_log();
    let entries = log.split("\"act=").skip(1);
    let entries = entries.map(|rest| format!("act={}", rest.split('"').next().unwrap()));
    entries.collect()
}

#[test]
fn those_who_are_refused_are_logged() {
    let scene = Scene::new(&[]);
    assert_eq!(scene.server.post("/login", &[], "token=wrong").status, 401);
    let person = Person::of(&scene.server);
    let thread = scene.thread();
    let path = format!("/threads/{thread}/do/kill");
    let wrong_key = scene.server.post(&path, &[person.cookie()], "key=x");
    assert_eq!(wrong_key.status, 403);
    let foreign = ["Origin: http://evil.example", person.cookie(), FORM];
    let foreign = scene.server.ask("POST", &path, &foreign, "key=x");
    assert_eq!(foreign.status, 403);
    let wrong = ["Authorization: Bearer wrong"];
    assert_eq!(
        scene
            .server
            .ask("GET", "/api/v1/threads", &wrong, "")
            .status,
        401
    );
    assert_eq!(scene.server.ask("GET", "/", &wrong, "").status, 303);
    assert_eq!(
        scene
            .act(&format!("threads/{thread}/kill"), &json!({}))
            .status,
        200
    );
    assert_eq!(
        log(&scene),
        [
            "act=log-in by=nobody from=127.0.0.1 result=token",
            "act=log-in by=session-1 from=127.0.0.1 result=done",
            "act=kill by=session-1 from=127.0.0.1 result=key",
            "act=kill by=session-1 from=127.0.0.1 result=origin",
            "act=request by=nobody from=127.0.0.1 result=unknown",
            "act=request by=nobody from=127.0.0.1 result=unknown",
            "act=kill by=token from=127.0.0.1 result=asked",
            "act=kill by=token from=127.0.0.1 result=done",
        ]
    );
}

#[test]
fn a_server_for_looking_lets_people_out_and_logs_whom_it_refuses() {
    let scene = Scene::new(&["--read-only"]);
    let person = Person::of(&scene.server);
    let thread = scene.thread();
    scene.act(&format!("threads/{thread}/kill"), &json!({}));
    let key = hidden(&person.look("/").body, "key").unwrap();
    let form = format!("key={key}");
    let left = scene.server.post("/logout", &[person.cookie()], &form);
    assert_eq!(left.status, 303, "{}", left.body);
    assert_eq!(left.header("location"), Some("/login"));
    assert_eq!(person.look("/").status, 303);
    let stranger = scene.server.post("/logout", &[], &form);
    assert_eq!(stranger.status, 401, "{}", stranger.body);
    let read_only = "act=kill by=token from=127.0.0.1 result=read-only".to_owned();
    assert!(log(&scene).contains(&read_only), "{:?}", log(&scene));
}

#[test]
fn what_was_done_of_a_form_before_it_was_refused_is_said() {
    let scene = Scene::new(&[]);
    let person = Person::of(&scene.server);
    let thread = scene.thread();
    let labels: Vec<String> = (0..65).map(|number| format!("l{number}=x")).collect();
    let path = format!("/threads/{thread}/do/label");
    let fields = [
        ("whole", "1"),
        ("name", "given"),
        ("labels", &*labels.join(" ")),
    ];
    let refused = person.fill(&path, &fields);
    assert_eq!(refused.status, 422, "{}", refused.body);
    let said = format!("uwf thread rename {thread} given");
    assert!(refused.body.contains(&said), "{}", refused.body);
    assert!(refused.body.contains("was done"), "{}", refused.body);
    assert!(refused.body.contains("65 labels"), "{}", refused.body);
    assert_eq!(scene.world.show(&thread)["name"], "given");
}

#[test]
fn a_page_about_something_else_than_steps_is_never_stale() {
    let scene = Scene::new(&[]);
    let person = Person::of(&scene.server);
    let thread = scene.thread();
    let path = format!("/threads/{thread}/do/pause");
    let page = person.look(&path);
    scene.world.step(&thread).exits(0);
    let sent = person.send(&page, &path, &[("message", "stop")]);
    assert_eq!(sent.status, 303, "{}", sent.body);
    assert_eq!(scene.world.show(&thread)["status"], "paused");
    let path = format!("/threads/{thread}/do/kill");
    let page = person.look(&path);
    assert!(!page.body.contains("--head"), "{}", page.body);
    leads(&person.fill(&format!("/threads/{thread}/do/unpause"), &[]));
    scene.world.step(&thread).exits(0);
    leads(&person.send(&page, &path, &[]));
    assert_eq!(scene.world.show(&thread)["status"], "cancelled");
    let thread = scene.thread();
    // A program that says a head is held to it.
    let stale = json!({ "head": "0000000000000" });
    let unpause = scene.act(&format!("threads/{thread}/unpause"), &stale);
    refused(&unpause, 409, "changed");
}

#[test]
fn what_was_typed_is_not_lost_if_the_session_has_ended() {
    let scene = Scene::new(&[]);
    let person = Person::of(&scene.server);
    let thread = scene.thread();
    let path = format!("/threads/{thread}/do/pause");
    let page = person.look(&path);
    let key = hidden(&person.look("/").body, "key").unwrap();
    let form = format!("key={key}");
    leads(&scene.server.post("/logout", &[person.cookie()], &form));
    let said = "a long <b>reason</b>";
    let sent = person.send(&page, &path, &[("message", said)]);
    assert_eq!(sent.status, 401, "{}", sent.body);
    let next = path.replace('/', "%2F");
    let link = format!("href=\"/login?next={next}\"");
    assert!(sent.body.contains(&link), "{}", sent.body);
    let kept = "a long &lt;b&gt;reason&lt;/b&gt;";
    assert!(sent.body.contains(kept), "{}", sent.body);
    assert!(!sent.body.contains(&*key), "{}", sent.body);
    // What is too long for that is not read.
    let long = "x".repeat(9 * 1024);
    let sent = person.send(&page, &path, &[("message", &long)]);
    assert_eq!(sent.status, 401, "{}", sent.body);
    assert!(sent.body.contains(&link), "{}", sent.body);
}

#[test]
fn a_refused_form_is_shown_with_its_texts_and_leads_back_to_itself() {
    let scene = Scene::new(&[]);
    let person = Person::of(&scene.server);
    let task = format!("{}the end of <it>", "a long task\n".repeat(6_000));
    let fields = [
        ("workflow", "review"),
        ("prompt", &*task),
        ("name", "bad name!"),
        ("then", "run"),
    ];
    let refused = person.fill("/new", &fields);
    assert_eq!(refused.status, 400, "{}", refused.body);
    assert!(refused.body.contains("href=\"/new\""), "{}", refused.body);
    let end = "the end of &lt;it&gt;</pre>";
    assert!(refused.body.contains(end), "{}", refused.body);
    assert!(!refused.body.contains("<code>then"), "{}", refused.body);
    let thread = scene.thread();
    let (back, form) = (format!("/threads/{thread}"), "do/label");
    let form = format!("{back}/{form}");
    let refused = person.fill(&form, &[("whole", "1"), ("labels", "team=x wrong")]);
    assert_eq!(refused.status, 400, "{}", refused.body);
    for part in [
        format!("href=\"{back}\""),
        format!("href=\"{form}\""),
        "team=x wrong</pre>".to_owned(),
    ] {
        assert!(refused.body.contains(&part), "{part}: {}", refused.body);
    }
}

#[test]
fn nobody_is_told_to_copy_a_text_from_a_form_without_one() {
    let scene = Scene::new(&[]);
    let person = Person::of(&scene.server);
    let thread = scene.thread();
    let paths = ["kill", "label"].map(|action| format!("/threads/{thread}/do/{action}"));
    let pages = paths.each_ref().map(|path| person.look(path));
    let key = hidden(&pages[0].body, "key").unwrap();
    let form = format!("key={key}");
    leads(&scene.server.post("/logout", &[person.cookie()], &form));
    let hidden_fields: [&[(&str, &str)]; 2] = [&[], &[("whole", "1")]];
    for ((path, page), fields) in paths.iter().zip(&pages).zip(hidden_fields) {
        let sent = person.send(page, path, fields);
        assert_eq!(sent.status, 401, "{}", sent.body);
        assert!(sent.body.contains("/login?next="), "{}", sent.body);
        assert!(!sent.body.contains("copy what you typed"), "{}", sent.body);
        assert!(!sent.body.contains("What you sent"), "{}", sent.body);
    }
    let sent = person.send(&pages[1], &paths[1], &[("name", "given")]);
    assert!(sent.body.contains("copy what you typed"), "{}", sent.body);
    assert!(sent.body.contains(">\ngiven</pre>"), "{}", sent.body);
}

#[test]
fn every_refusal_below_the_address_of_data_is_data() {
    let scene = Scene::new(&[]);
    for path in [
        "/api/",
        "/api/v1",
        "/api/v1/",
        "/api/v1/nothing",
        "/api/v2/threads",
    ] {
        refused(&scene.server.get(path), 404, "not-found");
    }
}

#[test]
fn a_thread_has_the_same_hint_as_for_the_command() {
    let scene = Scene::new(&[]);
    let thread = scene.thread();
    scene.world.uwf(&["thread", "pause", &thread]).exits(0);
    let shown = scene.world.show(&thread)["hint"].clone();
    assert!(shown.as_str().unwrap().contains("unpause"), "{shown}");
    let data = scene.server.get(&format!("/api/v1/threads/{thread}"));
    assert_eq!(data.json()["hint"], shown);
}
