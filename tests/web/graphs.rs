//! The drawing of a graph with many roles side by side can be read.

use crate::browser::{Browser, axe, enter};
use crate::scene::Scene;

/// Returns a workflow whose first role leads to so many others.
fn fan(roles: usize) -> String {
    let all: Vec<String> = (0..roles).map(|nth| format!("a-role-{nth}")).collect();
    let says = |words: &str| {
        format!(
            "{{ goal: It is done., frontmatter: {{ type: object, properties: {{ $status: {{ enum: [{words}] }} }}, required: [$status] }} }}"
        )
    };
    let mut text = format!("name: fan\nroles:\n  first: {}\n", says(&all.join(", ")));
    for role in &all {
        text.push_str(&format!("  {role}: {}\n", says("ok")));
    }
    text.push_str("graph:\n  $START: { _: { role: first, prompt: go } }\n  first:\n");
    for role in &all {
        text.push_str(&format!("    {role}: {{ role: {role}, prompt: go }}\n"));
    }
    for role in &all {
        text.push_str(&format!("  {role}: {{ ok: {{ role: $END }} }}\n"));
    }
    text
}

#[test]
fn a_graph_with_many_roles_side_by_side_is_scrolled_and_not_made_tiny() {
    let (Some(browser), Some(axe)) = (Browser::start(), axe()) else {
        return;
    };
    let scene = Scene::new(&[]);
    let workflow = scene.world.put(&fan(12));
    let thread = scene.world.start(&workflow);
    enter(&browser, &scene, "/");
    let mut mistakes = Vec::new();
    for path in [
        format!("/threads/{thread}"),
        format!("/workflows/{workflow}"),
    ] {
        browser.open(&format!("http://{}{path}", scene.server.at));
        for width in [320, 1200] {
            browser.width(width);
            let graph = "document.querySelector('svg.graph')";
            let scale =
                format!("{graph}.getBoundingClientRect().width / {graph}.viewBox.baseVal.width");
            let scale = browser.value(&scale).as_f64().unwrap();
            assert!(scale > 0.6, "{path} at {width}: {scale}");
            let place = "document.querySelector('.drawing')";
            browser.wait_for(&format!("{place}.scrollWidth > {place}.clientWidth"));
            let page = browser.value(
                "[document.documentElement.scrollWidth, document.documentElement.clientWidth]",
            );
            assert_eq!(page[0], page[1], "{path} at {width}");
            browser.script(&format!("{place}.focus()"));
            assert_eq!(browser.value("document.activeElement.className"), "drawing");
            mistakes.extend(browser.mistakes(&axe, &path));
        }
    }
    assert!(mistakes.is_empty(), "{mistakes:#?}");
}

#[test]
fn a_wide_graph_opens_where_its_thread_stands_or_at_its_start() {
    let Some(browser) = Browser::start() else {
        return;
    };
    let scene = Scene::new(&[]);
    let workflow = scene.world.put(&fan(12));
    scene
        .world
        .mock("roles:\n  first:\n    - output: { $status: a-role-11 }\n");
    let thread = scene.world.start(&workflow);
    scene.world.step(&thread).exits(0);
    browser.width(320);
    enter(&browser, &scene, "/");
    for (path, node) in [
        (format!("/threads/{thread}"), ".node.current"),
        (format!("/workflows/{workflow}"), ".node"),
    ] {
        browser.open(&format!("http://{}{path}", scene.server.at));
        let place = |of: &str, side: &str| {
            format!("document.querySelector('{of}').getBoundingClientRect().{side}")
        };
        let is_inside = format!(
            "{} >= {} && {} <= {}",
            place(node, "left"),
            place(".drawing", "left"),
            place(node, "right"),
            place(".drawing", "right"),
        );
        browser.wait_for(&is_inside);
        let scrolled = browser.value("document.querySelector('.drawing').scrollLeft");
        assert!(scrolled.as_f64().unwrap() > 0.0, "{path}");
    }
}
