//! What a reader of a page did stays when the page is kept fresh: the focus, and what was scrolled.

use std::fs::File;
use std::time::Duration;

use crate::browser::{Browser, enter};
use crate::scene::Scene;

/// How long a page takes to catch up once with what happened before it was heard.
const CATCHES_UP: Duration = Duration::from_secs(1);

fn is_live(browser: &Browser) {
    browser.wait_for("document.getElementById('fresh').textContent === 'live'");
    std::thread::sleep(CATCHES_UP);
}

#[test]
fn the_focus_stays_at_the_same_row_and_the_same_step() {
    let Some(browser) = Browser::start() else {
        return;
    };
    let scene = Scene::new(&[]);
    let thread = scene.thread();
    let above = scene.thread();
    enter(&browser, &scene, "/");
    is_live(&browser);
    // Both rows have a link to the same workflow.
    let link = format!("#row-{thread} a[href^='/workflows/']");
    browser.script(&format!("document.querySelector({link:?}).focus()"));
    let third = scene.thread();
    browser.wait_for(&format!("document.getElementById('row-{third}')"));
    let row = "document.activeElement.closest('tr').id";
    assert_eq!(browser.value(row), format!("row-{thread}"));
    scene.world.uwf(&["thread", "kill", &above]).exits(0);
    browser.wait_for(&format!(
        "document.querySelector('#row-{above} .status.cancelled')"
    ));
    assert_eq!(browser.value(row), format!("row-{thread}"));

    scene.world.step(&thread).exits(0);
    scene.world.step(&thread).exits(0);
    browser.open(&format!("http://{}/threads/{thread}", scene.server.at));
    is_live(&browser);
    browser.script("[...document.querySelectorAll('.step > details > summary')].at(-1).focus()");
    let step = "document.activeElement.closest('article').id";
    let before = browser.value(step);
    scene
        .world
        .uwf(&["thread", "resume", &thread, "-p", "yes"])
        .exits(0);
    browser.wait_for("document.querySelectorAll('article.step').length === 4");
    assert_eq!(browser.value(step), before);
    browser.complains_of_nothing();
}

#[test]
fn a_text_that_is_selected_stays_so_and_the_page_catches_up_after_that() {
    let Some(browser) = Browser::start() else {
        return;
    };
    let scene = Scene::new(&[]);
    let thread = scene.thread();
    enter(&browser, &scene, &format!("/threads/{thread}"));
    is_live(&browser);
    browser.script("getSelection().selectAllChildren(document.querySelector('h1'))");
    let selected = browser.value("String(getSelection())");
    assert_ne!(selected, "");
    scene.world.step(&thread).exits(0);
    std::thread::sleep(CATCHES_UP);
    assert_eq!(browser.value("String(getSelection())"), selected);
    let steps = "document.querySelectorAll('article.step').length";
    assert_eq!(browser.value(steps), 1);
    browser.script("getSelection().removeAllRanges()");
    browser.wait_for(&format!("{steps} === 2"));
    browser.complains_of_nothing();
}

#[test]
fn the_page_of_what_is_said_now_is_kept_fresh() {
    let Some(browser) = Browser::start() else {
        return;
    };
    let scene = Scene::held();
    let thread = scene.thread();
    enter(&browser, &scene, &format!("/threads/{thread}/live"));
    is_live(&browser);
    let mut child = scene.world.spawn(&["thread", "step", &thread]);
    scene.world.agent_at_work(&thread);
    browser.wait_for("document.querySelector('#live li pre')");
    File::create(scene.go()).unwrap();
    assert!(child.wait().unwrap().success());
    browser.wait_for("!document.querySelector('#live li')");
    browser.complains_of_nothing();
}

#[test]
fn what_was_scrolled_stays_and_what_is_said_is_followed_to_its_end() {
    let Some(browser) = Browser::start() else {
        return;
    };
    let scene = Scene::saying(
        "seq 100 >&2; for nth in 1 2; do wait_for more$nth; seq 101 200 >&2; done; wait_for go; printf -- '---\\nplan: held\\n---\\n'",
    );
    let task = "a line of the task\n".repeat(100);
    let started = ["thread", "start", &scene.workflow, "-p", &task];
    let started = scene.world.uwf(&started).exits(0).json();
    let thread = started["thread"].as_str().unwrap();
    let mut child = scene.world.spawn(&["thread", "step", thread]);
    scene.world.agent_at_work(thread);
    enter(&browser, &scene, &format!("/threads/{thread}"));
    is_live(&browser);
    let log = "document.querySelector('#live .live')";
    let lines = "document.querySelectorAll('#live li').length";
    let rest = format!("{log}.scrollHeight - {log}.clientHeight - {log}.scrollTop");
    browser.wait_for(&format!("{lines} > 39"));
    browser.wait_for(&format!("{log}.scrollTop > 0 && {rest} < 2"));
    let last = format!("{log}.innerText.trim().endsWith('\\n200')");
    File::create(scene.world.project().join("more1")).unwrap();
    browser.wait_for(&last);
    browser.wait_for(&format!("{rest} < 2"));
    // A reader who scrolled up stays there.
    browser.script(&format!("{log}.scrollTop = 30"));
    browser.script("document.querySelector('#task details').open = true");
    let text = "document.querySelector('#task pre')";
    browser.script(&format!("{text}.scrollTop = 70; {text}.old = true"));
    File::create(scene.world.project().join("more2")).unwrap();
    std::thread::sleep(CATCHES_UP);
    assert!(browser.value(&rest).as_f64().unwrap() > 100.0);
    File::create(scene.go()).unwrap();
    assert!(child.wait().unwrap().success());
    browser.wait_for("document.querySelectorAll('article.step').length === 2");
    assert_eq!(browser.value(&format!("{text}.scrollTop")), 70);
    assert_eq!(browser.value(&format!("Boolean({text}.old)")), false);
    browser.complains_of_nothing();
}
