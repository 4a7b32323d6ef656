//! Every page that links lead to, over a world in which every text is hostile: none of these texts is markup, and no link is dead.

use std::collections::{BTreeSet, VecDeque};

use serde_json::json;

use crate::forms::Person;
use crate::hostile;
use crate::web_client::{Answer, Server};
use crate::world::{REVIEW, World};

/// A text that would be markup in an element, in an attribute and in a script.
const EVIL: &str = "'\"><script>alert(1)<img src=x onerror=\"alert(1)\">\u{202e}";

/// What is on a page only if a text became markup.
const HARM: [&str; 5] = [
    "<script>",
    "<img",
    "onerror=\"",
    "href=\"javascript",
    "\u{202e}",
];

/// What addresses have that must be among those that are looked at.
const PARTS: [&str; 9] = [
    "/do/pause",
    "/do/fork",
    "/text/answer",
    "/artifact?",
    "/diff?",
    "/costs",
    "?uses=",
    "?files=",
    "/checks",
];

/// How many pages are looked at, at most.
const MOST: usize = 400;

/// Makes threads that have a text in all that they record. Returns the number of them.
pub(crate) fn record(world: &World, evil: &str) -> usize {
    let start = |workflow: &str, more: &[&str]| {
        let args = [&["thread", "start", workflow, "-p", evil], more].concat();
        let started = world.uwf(&args).exits(0).json();
        started["thread"].as_str().unwrap().to_owned()
    };
    // A question, and its answer.
    let answer = |output| json!({ "output": output, "body": evil, "stderr": evil });
    let reviewer = [
        answer(json!({ "$status": "ask", "question": evil })),
        answer(json!({ "$status": "approved", "summary": evil })),
    ];
    let writer = [answer(json!({ "plan": evil }))];
    world.mock(&json!({ "roles": { "writer": writer, "reviewer": reviewer } }).to_string());
    world.put(REVIEW);
    let asks = start("review", &["--label", "a=b"]);
    world.uwf(&["thread", "step", &asks, "--count", "2"]);
    world.uwf(&["thread", "resume", &asks, "-p", evil]).exits(0);
    world
        .uwf(&["thread", "fork", &format!("{asks}~1")])
        .exits(0);
    let paused = start("review", &[]);
    world
        .uwf(&["thread", "pause", &paused, "-m", evil])
        .exits(0);

    // An agent with hostile arguments, artefacts and folders.
    let folder = world.project().join(evil);
    std::fs::create_dir(&folder).unwrap();
    let text = hostile::quoted(evil);
    let answer = format!("---\n$status: again\ntext: {text}\n---\n{evil}\n");
    let answer = world.write("answer.md", &answer);
    let says = format!(
        "echo \"$1\" >&2\n[ \"$2\" = fails ] && exit 1\necho \"$1\" > \"$UWF_ARTIFACTS\"'/<img src=x>.html'\ncat '{}'",
        answer.display()
    );
    let script = world.script("agent.sh", &says);
    let script = script.to_str().unwrap();
    world.agent("uwf-command", &["--", script, evil, "works"]);
    let workflow = world.put(&hostile::workflow(evil));
    let again = start(&workflow, &["--cwd", folder.to_str().unwrap()]);
    for _ in 0..2 {
        world.step(&again).exits(0);
    }
    world.agent("uwf-command", &["--", script, evil, "fails"]);
    world.step(&again).exits(3);

    let line = format!(
        "name: line\ndescription: {text}\nsteps:\n- {{name: Say, command: [echo, {text}]}}\n"
    );
    world.write("line.yaml", &line);
    world.uwf(&["orchestrate", "run", "line.yaml"]).exits(0);
    5
}

/// Returns the addresses of our pages in one of them, without what only a browser sees.
pub(crate) fn links(page: &str) -> Vec<String> {
    let values = page.split(" href=\"").skip(1);
    let values = values.filter_map(|rest| Some(rest.split_once('"')?.0.replace("&amp;", "&")));
    let pages = values.map(|link| link.split('#').next().unwrap_or_default().to_owned());
    pages
        .filter(|link| link.starts_with('/') && !link.starts_with("/assets/"))
        .collect()
}

/// Checks that an answer harms nobody. Returns whether it is a page of ours.
#[track_caller]
fn is_harmless_page(path: &str, answer: &Answer) -> bool {
    assert_eq!(answer.status, 200, "{path}: {}", answer.body);
    let kind = answer.header("content-type").unwrap();
    if !kind.starts_with("text/html") {
        let is_text = kind == "text/plain; charset=utf-8" && path.contains("/text/");
        let is_file = kind == "application/octet-stream" && path.contains("/artifact?");
        let is_data = kind == "application/json";
        assert!(is_text || is_file || is_data, "{path}: {kind}");
        assert_eq!(
            answer.header("x-content-type-options"),
            Some("nosniff"),
            "{path}"
        );
        return false;
    }
    for harm in HARM {
        assert!(
            !answer.body.contains(harm),
            "{path} has {harm}: {}",
            answer.body
        );
    }
    assert_eq!(answer.body.matches("<script").count(), 1, "{path}");
    true
}

#[test]
fn no_recorded_text_is_markup_on_any_page_and_no_link_is_dead() {
    let world = World::new();
    let threads = record(&world, EVIL);
    let server = Server::start(&world, &[]);
    let person = Person::of(&server);
    let mut known = BTreeSet::from(["/".to_owned(), "/new".to_owned()]);
    let mut next: VecDeque<String> = known.iter().cloned().collect();
    let mut with_texts = 0;
    while let Some(path) = next.pop_front() {
        let page = person.look(&path);
        if !is_harmless_page(&path, &page) {
            continue;
        }
        with_texts += usize::from(page.body.contains("&lt;img src=x"));
        for link in links(&page.body) {
            if known.len() < MOST && known.insert(link.clone()) {
                next.push_back(link);
            }
        }
    }
    assert!(
        known.len() < MOST,
        "there are more pages than this test looks at"
    );
    for part in PARTS {
        assert!(
            known.iter().any(|path| path.contains(part)),
            "{part}: {known:?}"
        );
    }
    let shown = known.iter().filter(|path| path.starts_with("/threads/"));
    assert!(shown.count() > threads, "{known:?}");
    assert!(with_texts > 20, "{with_texts}");
}
