//! Pages in several tabs of a real browser, one of which owns the stream of events.

use serde_json::json;

use crate::browser::{Browser, enter};
use crate::scene::Scene;

#[test]
fn a_page_of_a_refusal_does_not_keep_events_from_the_other_tabs() {
    let Some(browser) = Browser::start() else {
        return;
    };
    let scene = Scene::new(&[]);
    enter(&browser, &scene, "/help");
    let absent = "0000000000000000000000000A";
    browser.open(&format!("http://{}/threads/{absent}", scene.server.at));
    browser.wait_for("document.title.startsWith('Not found')");
    browser.new_tab();
    browser.open(&format!("http://{}/", scene.server.at));
    browser.wait_for("document.getElementById('fresh').textContent === 'live'");
    // The page catches up once with what happened before it was heard.
    std::thread::sleep(std::time::Duration::from_secs(1));
    let thread = scene.thread();
    browser.wait_for(&format!(
        "document.querySelector('main a[href=\"/threads/{thread}\"]')"
    ));
}

#[test]
fn the_page_of_a_thread_follows_its_name_its_labels_and_its_forks() {
    let Some(browser) = Browser::start() else {
        return;
    };
    let scene = Scene::new(&[]);
    let thread = scene.thread();
    scene.world.step(&thread).exits(0);
    enter(&browser, &scene, &format!("/threads/{thread}"));
    browser.wait_for("document.getElementById('fresh').textContent === 'live'");
    let shows = |text: &str| browser.wait_for(&format!("main.innerText.includes('{text}')"));
    let uwf = |args: &[&str]| scene.world.uwf(args).exits(0);
    uwf(&["thread", "rename", &thread, "a-new-name"]);
    shows("a-new-name");
    uwf(&["thread", "label", &thread, "key=word"]);
    shows("key=word");
    uwf(&["thread", "fork", &format!("{thread}~1"), "--name", "of-it"]);
    shows("of-it");
    browser.complains_of_nothing();
}

#[test]
fn a_page_that_hears_nothing_is_not_live_and_asks_again() {
    let Some(browser) = Browser::start() else {
        return;
    };
    let scene = Scene::new(&[]);
    // A stream that stalls at once, and a page with little patience.
    let stalled = "window.made = 0;
        window.EventSource = class extends EventTarget {
          constructor() { super(); window.made += 1; }
          close() {}
        };
        const real = window.setTimeout;
        window.setTimeout = (act, time) => real(act, time === 45000 ? 2000 : time);";
    let script = json!({ "source": stalled });
    browser.tell("Page.addScriptToEvaluateOnNewDocument", &script);
    enter(&browser, &scene, "/");
    let says = "document.getElementById('fresh').textContent";
    std::thread::sleep(std::time::Duration::from_secs(1));
    assert_eq!(browser.value(says), "");
    browser.wait_for(&format!("{says} === 'not connected'"));
    browser.wait_for("made > 1");
}

#[test]
fn a_bar_says_that_the_connection_or_the_root_is_lost() {
    let Some(browser) = Browser::start() else {
        return;
    };
    let scene = Scene::new(&[]);
    let thread = scene.thread();
    enter(&browser, &scene, &format!("/threads/{thread}"));
    let bar = "document.getElementById('lost')";
    browser.wait_for("document.getElementById('fresh').textContent === 'live'");
    browser.wait_for(&format!("{bar}.hidden"));
    let root = scene.world.root();
    let aside = root.with_extension("aside");
    std::fs::rename(&root, &aside).unwrap();
    browser.wait_for(&format!(
        "{bar}.checkVisibility() && {bar}.textContent.includes('root of this server is gone')"
    ));
    browser.wait_for("document.getElementById('fresh').textContent === 'out of date'");
    // What the page showed is still there.
    assert_eq!(
        browser.value("Boolean(document.querySelector('article.task'))"),
        true
    );
    std::fs::rename(&aside, &root).unwrap();
    browser.wait_for(&format!("{bar}.hidden"));
    browser.wait_for("document.getElementById('fresh').textContent === 'live'");
    drop(scene);
    browser.wait_for(&format!(
        "{bar}.checkVisibility() && {bar}.textContent.includes('server')"
    ));
}
