//! Texts with very long words: no page is wider than its window.

use std::collections::{BTreeSet, VecDeque};

use crate::browser::Browser;
use crate::forms::Person;
use crate::hostile_pages::{links, record};
use crate::web_client::{Server, TOKEN};
use crate::world::World;

/// How many pages are looked at, at most.
const MOST: usize = 90;

/// Returns the addresses of the pages to which links lead.
fn addresses(server: &Server) -> BTreeSet<String> {
    let person = Person::of(server);
    let mut known = BTreeSet::from(["/".to_owned(), "/new".to_owned()]);
    let mut next: VecDeque<String> = known.iter().cloned().collect();
    let mut pages = BTreeSet::new();
    while let Some(path) = next.pop_front() {
        let page = person.look(&path);
        let kind = page.header("content-type").unwrap_or_default();
        if !kind.starts_with("text/html") || pages.len() == MOST {
            continue;
        }
        for link in links(&page.body) {
            if known.insert(link.clone()) {
                next.push_back(link);
            }
        }
        pages.insert(path);
    }
    pages
}

#[test]
fn a_long_word_makes_no_page_wider_than_its_window() {
    let Some(browser) = Browser::start() else {
        return;
    };
    let world = World::new();
    let word = "w".repeat(180);
    record(&world, &word);
    let name = format!("a-{}", "n".repeat(58));
    let label = format!("{}={}", "k".repeat(60), "v".repeat(60));
    let start = ["thread", "start", "review", "-p", &word, "--name", &name];
    let started = world
        .uwf(&[&start[..], &["--label", &label]].concat())
        .exits(0)
        .json();
    let thread = started["thread"].as_str().unwrap();
    let server = Server::start(&world, &[]);
    let mut wide = Vec::new();
    browser.open(&format!("http://{}/login#{TOKEN}", server.at));
    browser.wait_for("document.getElementById('fresh')");
    let mut pages = addresses(&server);
    pages.insert(format!("/threads/{thread}"));
    // A refusal says what was asked for.
    pages.insert(format!("/workflows/{word}"));
    assert!(pages.len() > 40, "{pages:?}");
    for path in &pages {
        browser.open(&format!("http://{}{path}", server.at));
        for width in [320, 1200] {
            browser.width(width);
            browser
                .script("for (const one of document.querySelectorAll('details')) one.open = true;");
            let found = browser.script(
                "const most = document.documentElement.clientWidth;
                 if (document.documentElement.scrollWidth <= most) return null;
                 const parts = [...document.querySelectorAll('body *')];
                 const over = parts.filter((one) => one.getBoundingClientRect().right > most + 1);
                 return over.slice(-3).map((one) => one.outerHTML.slice(0, 90));",
            );
            if !found.is_null() {
                wide.push(format!("{path} at {width}: {found}"));
            }
        }
    }
    assert!(wide.is_empty(), "{wide:#?}");
}
