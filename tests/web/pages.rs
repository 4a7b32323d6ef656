//! Pages in a real browser: everybody can use each of them, they stay fresh, and nothing that was recorded runs in them.

use std::fs::File;
use std::time::Duration;

use serde_json::json;

use crate::browser::{Browser, axe, enter};
use crate::scene::Scene;
use crate::web_client::TOKEN;

/// How long a page may be behind.
const SOON: Duration = Duration::from_secs(1);

/// Returns the addresses of all pages that show a thread with its steps, or act on it.
fn addresses(scene: &Scene, thread: &str) -> Vec<String> {
    let shown = scene.world.show(thread);
    let (head, workflow) = (&shown["head"], &shown["workflow"]);
    let (head, workflow) = (head.as_str().unwrap(), workflow.as_str().unwrap());
    let (actions, _) = scene.possible(thread);
    let acts = actions
        .iter()
        .map(|action| format!("/threads/{thread}/do/{action}"));
    let pages = [
        "/".to_owned(),
        "/?status=suspended".to_owned(),
        "/?q=nothing-has-this".to_owned(),
        format!("/threads/{thread}"),
        format!("/threads/{thread}/live"),
        format!("/steps/{head}"),
        format!("/diff?a={head}&b={head}"),
        format!("/diff?a={thread}&b={thread}"),
        format!("/workflows/{workflow}/since/{workflow}"),
        "/workflows".to_owned(),
        format!("/workflows/{workflow}"),
        format!("/cas/{head}?uses=all"),
        "/costs".to_owned(),
        format!("/threads/{thread}/costs"),
        "/machine".to_owned(),
        "/machine/checks".to_owned(),
        "/help".to_owned(),
        "/new".to_owned(),
    ];
    pages.into_iter().chain(acts).collect()
}

#[test]
fn every_page_can_be_used_by_everybody() {
    let (Some(browser), Some(axe)) = (Browser::start(), axe()) else {
        return;
    };
    let scene = Scene::new(&[]);
    let thread = scene.thread();
    scene.world.step(&thread).exits(0);
    scene.world.step(&thread).exits(0);
    browser.open(&format!("http://{}/login", scene.server.at));
    let mut mistakes = browser.mistakes(&axe, "/login");
    enter(&browser, &scene, "/");
    for path in addresses(&scene, &thread) {
        let at = format!("http://{}{path}", scene.server.at);
        browser.width(1280);
        browser.scheme("light");
        browser.open(&at);
        // What is folded is there, too.
        browser.script("for (const one of document.querySelectorAll('details')) one.open = true;");
        mistakes.extend(browser.mistakes(&axe, &format!("{path}, light")));
        let name = path
            .replace(['/', '?', '=', '&'], "-")
            .replace(&thread, "T");
        browser.picture(&format!("{name}-light"));
        browser.scheme("dark");
        mistakes.extend(browser.mistakes(&axe, &format!("{path}, dark")));
        browser.picture(&format!("{name}-dark"));
        browser.width(320);
        let wide = browser.value("[document.documentElement.scrollWidth, innerWidth]");
        if wide[0] != wide[1] {
            mistakes.push(format!("{path} at 320 pixels: {wide}"));
        }
        browser.picture(&format!("{name}-phone"));
        assert_ne!(browser.value("document.title"), "harmed", "{path}");
        let made = browser.value("document.querySelectorAll('main script, main img').length");
        assert_eq!(made, 0, "{path}");
    }
    assert!(mistakes.is_empty(), "{mistakes:#?}");
    browser.complains_of_nothing();
}

#[test]
fn nothing_moves_for_a_reader_who_prefers_that() {
    let Some(browser) = Browser::start() else {
        return;
    };
    let scene = Scene::new(&[]);
    enter(&browser, &scene, &format!("/threads/{}", scene.thread()));
    let moving = "[...document.querySelectorAll('*')].filter((one) => { const style = getComputedStyle(one); \
        return style.animationName !== 'none' || style.transitionDuration !== '0s' || style.scrollBehavior !== 'auto' }).length";
    browser.prefer("prefers-reduced-motion", "no-preference");
    assert_ne!(browser.value(moving), 0);
    browser.prefer("prefers-reduced-motion", "reduce");
    assert_eq!(browser.value(moving), 0);
}

#[test]
fn a_keyboard_is_enough() {
    let Some(browser) = Browser::start() else {
        return;
    };
    let scene = Scene::new(&[]);
    let thread = scene.thread();
    enter(&browser, &scene, "/");
    // The first stop leads past the head of the page.
    browser.press(&["Tab"]);
    assert_eq!(browser.value("document.activeElement.hash"), "#main");
    browser.press(&["j"]);
    browser.press(&["Enter"]);
    browser.wait_for(&format!("location.pathname === '/threads/{thread}'"));
    let reach = |css: &str| {
        for _ in 0..60 {
            if browser.value(&format!("document.activeElement.matches({css:?})")) == true {
                return;
            }
            browser.press(&["Tab"]);
        }
        panic!("no way by Tab to {css}");
    };
    reach("nav.actions a[href$='/do/run']");
    browser.press(&["Enter"]);
    browser.wait_for("document.querySelector('form.act')");
    reach("form.act button");
    browser.press(&["Enter"]);
    browser.wait_for(&format!("location.pathname === '/threads/{thread}'"));
    browser.wait_for("document.querySelector('.status.suspended')");
    reach("nav.actions a[href$='/do/resume']");
    browser.press(&["Enter"]);
    browser.wait_for("document.querySelector('form.act textarea')");
    reach("form.act textarea");
    browser.press(&["y", "e", "s", "j"]);
    assert_eq!(browser.value("document.activeElement.value"), "yesj");
    reach("form.act button");
    browser.press(&["Enter"]);
    browser.wait_for("document.querySelector('.title .status.completed')");
    browser.press(&["?"]);
    browser.wait_for("location.pathname === '/help'");
    browser.complains_of_nothing();
}

#[test]
fn a_page_is_fresh_within_a_second_in_every_tab_and_keeps_what_a_reader_did() {
    let Some(browser) = Browser::start() else {
        return;
    };
    let scene = Scene::held();
    let thread = scene.thread();
    enter(&browser, &scene, "/");
    let first = browser.new_tab();
    browser.open(&format!("http://{}/threads/{thread}", scene.server.at));
    browser.wait_for("document.getElementById('fresh').textContent === 'live'");
    browser.script("document.querySelector('.step.task summary').focus()");
    let open = "document.querySelector('.step.task details').open";
    let was_open = browser.value(open);
    browser.press(&["Enter"]);
    let mut child = scene.world.spawn(&["thread", "step", &thread]);
    scene.world.agent_at_work(&thread);
    let late = browser.wait_for("document.querySelector('.title .status.running')");
    assert!(late < SOON, "{late:?}");
    browser.wait_for("document.querySelector('#live li pre')");
    let said = browser.value("document.querySelector('#live').textContent");
    assert!(
        said.as_str().unwrap().contains(crate::scene::LINE),
        "{said}"
    );
    assert_eq!(
        browser.value("document.querySelectorAll('#live li b b').length"),
        0
    );
    browser.picture("live");
    File::create(scene.go()).unwrap();
    assert!(child.wait().unwrap().success());
    let late = browser.wait_for("document.querySelectorAll('article.step').length === 2");
    assert!(late < SOON, "{late:?}");
    assert_eq!(browser.value(open), !was_open.as_bool().unwrap());
    assert_eq!(browser.value("document.activeElement.tagName"), "SUMMARY");
    let second = scene.thread();
    browser.tab(&first);
    let link = format!("document.querySelector('main a[href=\"/threads/{second}\"]')");
    let late = browser.wait_for(&link);
    assert!(late < SOON, "{late:?}");
    browser.complains_of_nothing();
}

#[test]
fn what_is_said_in_between_is_added_and_the_rest_stays() {
    let Some(browser) = Browser::start() else {
        return;
    };
    // The lines of both outputs are listed one after the other, so a later message comes before an earlier line of the answer.
    let scene = Scene::saying(
        "echo first >&2; echo ---; wait_for more; echo second >&2; wait_for go; printf -- 'plan: held\\n---\\n'",
    );
    let thread = scene.thread();
    let mut child = scene.world.spawn(&["thread", "step", &thread]);
    scene.world.agent_at_work(&thread);
    enter(&browser, &scene, &format!("/threads/{thread}"));
    let all = "[...document.querySelectorAll('#live li')]";
    let texts = format!("{all}.map((one) => one.textContent.trim()).slice(1)");
    browser.wait_for(&format!("{texts}.join() === 'first,---'"));
    browser.wait_for("document.getElementById('fresh').textContent === 'live'");
    // The page catches up once with what happened before it was heard.
    std::thread::sleep(SOON);
    browser.script(&format!("for (const one of {all}) one.seen = true"));
    File::create(scene.world.project().join("more")).unwrap();
    browser.wait_for(&format!("{texts}.join() === 'first,second,---'"));
    let seen = browser.value(&format!("{all}.map((one) => Boolean(one.seen))"));
    assert_eq!(seen, json!([true, true, false, true]));
    File::create(scene.go()).unwrap();
    assert!(child.wait().unwrap().success());
    browser.complains_of_nothing();
}

#[test]
fn what_happens_while_somebody_types_is_shown_afterwards() {
    let Some(browser) = Browser::start() else {
        return;
    };
    let scene = Scene::new(&[]);
    let first = scene.thread();
    enter(&browser, &scene, "/");
    browser.wait_for("document.getElementById('fresh').textContent === 'live'");
    let is_there =
        |thread: &str| format!("document.querySelector('main a[href=\"/threads/{thread}\"]')");
    browser.wait_for(&is_there(&first));
    // The page catches up once with what happened before it was heard.
    std::thread::sleep(SOON);
    browser.type_into("#q", "half a wo");
    let second = scene.thread();
    // Long enough for the page to hear of it, and to leave it out.
    std::thread::sleep(SOON);
    assert_eq!(browser.value(&is_there(&second)), json!(null));
    assert_eq!(browser.value("document.activeElement.value"), "half a wo");
    browser.script("document.activeElement.blur()");
    browser.wait_for(&is_there(&second));
    // What was typed is still there.
    assert_eq!(
        browser.value("document.getElementById('q').value"),
        "half a wo"
    );
    // A part of an address that stands for nothing breaks nothing.
    enter(&browser, &scene, "/");
    browser.open(&format!("http://{}/#%", scene.server.at));
    browser.press(&["j"]);
    browser.wait_for("document.activeElement.matches('main a')");
    browser.complains_of_nothing();
}

#[test]
fn without_scripts_everything_can_be_read_and_done() {
    let Some(browser) = Browser::start() else {
        return;
    };
    let scene = Scene::new(&[]);
    let thread = scene.thread();
    scene.world.step(&thread).exits(0);
    browser.tell(
        "Emulation.setScriptExecutionDisabled",
        &json!({ "value": true }),
    );
    let shown = || browser.text("body");
    browser.open(&format!("http://{}/threads/{thread}", scene.server.at));
    browser.type_into("#token", TOKEN);
    browser.click("#login button");
    wait(|| shown().contains("writer"));
    assert!(shown().contains("the task"), "{}", shown());
    browser.click("nav.actions a[href$='/do/label']");
    wait(|| shown().contains("key=value"));
    browser.type_into("#name", "by-hand");
    browser.click("form.act button");
    wait(|| shown().contains("by-hand"));
    assert_eq!(scene.world.show(&thread)["name"], "by-hand");
    for path in addresses(&scene, &thread) {
        browser.open(&format!("http://{}{path}", scene.server.at));
        assert!(shown().len() > 40, "{path}: {}", shown());
    }
}

#[test]
fn a_long_question_does_not_push_the_answer_out_of_the_view() {
    let Some(browser) = Browser::start() else {
        return;
    };
    let scene = Scene::new(&[]);
    let question = "What about this line?\n".repeat(120);
    let script = json!({ "roles": {
        "writer": [{ "output": { "plan": "p" } }],
        "reviewer": [{ "output": { "$status": "ask", "question": question } }],
    } });
    scene.world.mock(&script.to_string());
    let thread = scene.thread();
    let steps = scene.world.uwf(&["thread", "step", &thread, "-c", "2"]);
    steps.exits(0);
    browser.width(320);
    enter(&browser, &scene, &format!("/threads/{thread}"));
    let text = "document.querySelector('.state .question pre')";
    browser.wait_for(&format!("{text}.scrollHeight > {text}.clientHeight"));
    let answer = "document.querySelector('.actions a.main').getBoundingClientRect().bottom";
    browser.wait_for(&format!("{answer} <= innerHeight"));
}

#[test]
fn the_counts_of_a_changed_file_have_one_sign() {
    let Some(browser) = Browser::start() else {
        return;
    };
    let scene = Scene::saying("echo new > file; printf -- '---\\nplan: p\\n---\\n'");
    let path = crate::slow_disk::page_by_git(&scene);
    enter(&browser, &scene, &path);
    browser.wait_for("document.querySelector('td.number ins')");
    for (count, text) in [("ins", "+1"), ("del", "−0")] {
        let count = format!("document.querySelector('td.number {count}')");
        assert_eq!(browser.value(&format!("{count}.textContent")), text);
        let before = format!("getComputedStyle({count}, '::before').content");
        assert_eq!(browser.value(&before), "none");
    }
}

#[test]
fn on_a_narrow_screen_what_something_cost_is_in_the_first_view() {
    let Some(browser) = Browser::start() else {
        return;
    };
    let scene = Scene::new(&[]);
    let thread = scene.thread();
    scene.world.step(&thread).exits(0);
    browser.width(320);
    enter(&browser, &scene, &format!("/threads/{thread}/costs"));
    let heads = "[...document.querySelectorAll('thead th')]";
    let cost = format!("{heads}.find((one) => one.textContent === 'Cost')");
    browser.wait_for(&format!(
        "{cost}.getBoundingClientRect().right <= innerWidth"
    ));
}

#[test]
fn the_name_of_a_changed_file_is_one_line() {
    let scene = Scene::saying("echo new > 'a\nb\"c.txt'; printf -- '---\\nplan: p\\n---\\n'");
    let path = crate::slow_disk::page_by_git(&scene);
    let page = crate::forms::Person::of(&scene.server).look(&path).body;
    assert!(page.contains("<code>a\\nb&quot;c.txt</code>"), "{page}");
}

fn wait(holds: impl FnMut() -> bool) {
    crate::world::wait_until("the page shows it", holds);
}
