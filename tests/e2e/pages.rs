//! `thread read --html`: a page in one file, in which nothing that was recorded is markup.

use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt, symlink};

use regex::Regex;
use serde_json::json;

use crate::hostile::{quoted, workflow};
use crate::world::{REVIEW, World, path_with};

/// Text that would leave every place in which a page could put it.
const HOSTILE: &str = "</style></pre></title><script>alert(1)</script><img src=x onerror='x'>\" x=\" &lt; <!-- ]]> \u{202e}\u{2066}\u{9b}31m\u{1b}[31m\u{7f}";

/// Returns what a tool prints whose every text is hostile.
fn tool_lines() -> String {
    let call = json!({ "type": "assistant", "session_id": "s1", "message": { "content": [
        { "type": "text", "text": HOSTILE },
        { "type": "tool_use", "id": "t1", "name": HOSTILE, "input": { "command": HOSTILE } },
    ] } });
    let refused = json!({ "type": "user", "session_id": "s1", "message": { "content": [
        { "type": "tool_result", "tool_use_id": "t1", "is_error": true, "content": HOSTILE },
    ] } });
    let answer = format!(
        "---\n$status: again\ntext: {}\n---\n{HOSTILE}\n",
        quoted(HOSTILE)
    );
    let result = json!({ "type": "result", "subtype": "success", "is_error": false, "result": answer,
        "session_id": "s1", "usage": { "input_tokens": 5, "output_tokens": 2 },
        "permission_denials": [{ "tool_name": HOSTILE, "tool_use_id": "t1" }] });
    [call, refused, result]
        .map(|line| format!("{line}\n"))
        .concat()
}

/// A thread in which everything that others can write is hostile: task, goal, instruction, answer, data, tools, the words
/// of a person, failures, and the question for which it waits.
fn hostile() -> (World, String) {
    let world = World::new();
    world.put(&workflow(HOSTILE));
    world.write("lines", &tool_lines());
    world.script("bin/claude", "cat > /dev/null; cat lines");
    world.agent("uwf-claude-code", &[]);
    let args = ["thread", "start", "hostile", "-p", HOSTILE];
    let started = world.uwf(&args).exits(0).json();
    let thread = started["thread"].as_str().unwrap().to_owned();
    let mut step = world.command(&["thread", "step", &thread]);
    step.env("PATH", path_with(&world.project().join("bin")));
    assert!(step.output().unwrap().status.success());
    let spoof = quoted(HOSTILE);
    world.mock(&format!(
        "roles: {{ asker: [{{ exit: 3, stderr: {spoof} }}] }}"
    ));
    world.step(&thread).exits(3);
    world.mock(&format!(
        "roles: {{ asker: [{{ output: {{ $status: $SUSPEND, reason: {spoof} }} }}] }}"
    ));
    world.step(&thread).exits(0);
    world.mock(&format!(
        "roles: {{ asker: [{{ output: {{ $status: again, text: {spoof} }} }}] }}"
    ));
    world
        .uwf(&["thread", "resume", &thread, "-p", HOSTILE])
        .exits(0);
    (world, thread)
}

fn page(world: &World, thread: &str) -> String {
    let args = ["thread", "read", thread, "--html"];
    world.uwf(&args).exits(0).stdout
}

/// Asserts that the tags of a page are among those that we write, and that each is closed where it should be.
#[track_caller]
fn is_well_formed(page: &str) {
    let known = [
        "html", "head", "meta", "style", "title", "body", "main", "header", "p", "span", "h1",
        "h2", "h3", "dl", "div", "dt", "dd", "section", "pre", "nav", "ol", "ul", "li", "a",
        "article", "details", "summary", "table", "tr", "th", "td", "b", "code",
    ];
    let tag = Regex::new(r"<(/?)([^\s>]*)([^>]*)>").unwrap();
    let mut open: Vec<String> = Vec::new();
    for found in tag.captures_iter(page.trim_start_matches("<!doctype html>")) {
        let (name, attributes) = (found[2].to_owned(), &found[3]);
        assert!(known.contains(&name.as_str()), "{}", &found[0]);
        assert!(
            !attributes.contains(" on") && !attributes.contains("src="),
            "{attributes}"
        );
        match (&found[1], name.as_str()) {
            ("/", _) => assert_eq!(open.pop().as_deref(), Some(name.as_str())),
            (_, "meta") => {}
            (_, _) => open.push(name),
        }
    }
    assert_eq!(open, Vec::<String>::new());
}

#[test]
fn nothing_that_was_recorded_is_markup_or_changes_the_direction_of_text() {
    let (world, thread) = hostile();
    let page = page(&world, &thread);
    is_well_formed(&page);
    assert!(
        !page.contains("<script") && !page.contains("<img"),
        "{page}"
    );
    let shown = page.matches("&lt;script&gt;alert(1)").count();
    assert!(shown >= 10, "the hostile text was shown {shown} times only");
    let forbidden = |c: char| {
        c != '\n'
            && (c.is_control()
                || ('\u{200e}'..='\u{2069}').contains(&c) && !"‘’“”–—…←→".contains(c))
    };
    let found: Vec<char> = page.chars().filter(|c| forbidden(*c)).collect();
    assert_eq!(found, Vec::<char>::new());
    for word in ["http:", "https:", "url(", "@import", "<link", "javascript:"] {
        assert!(!page.contains(word), "{word}");
    }
}

#[test]
fn a_page_tells_the_whole_story() {
    let (world, thread) = hostile();
    let page = page(&world, &thread);
    for part in [
        "<title>",
        "class=\"status idle\"",
        "id=\"step-1\"",
        "href=\"#step-3\"",
        ">Instruction<",
        ">Answer<",
        ">Data<",
        ">Question<",
        ">A person says<",
        ">1 tool call<",
        "asker failed, attempt 1 by ",
        "5 tokens in, 2 out",
        "runs of unknown amount",
        "1 tool call was refused",
        "asker is next.",
        "prefers-color-scheme: dark",
        "@media print",
        "name=\"viewport\"",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
}

#[test]
fn a_page_is_written_to_a_file_that_is_named() {
    let (world, thread) = hostile();
    let args = ["thread", "read", &thread, "--html", "-o", "story.html"];
    let run = world
        .uwf(&args)
        .exits(0)
        .says("note: the page is in story.html");
    assert_eq!(run.stdout, "");
    let written = std::fs::read_to_string(world.project().join("story.html")).unwrap();
    assert_eq!(written, page(&world, &thread));
    let args = [
        "thread",
        "read",
        &thread,
        "--html",
        "-o",
        "no/such/folder.html",
    ];
    world
        .uwf(&args)
        .exits(1)
        .says("cannot write `no/such/folder.html`");
    world.uwf(&["thread", "read", &thread, "-o", "x"]).exits(2);
}

#[test]
fn what_threads_contain_is_written_for_its_owner_and_over_no_link_and_no_state() {
    let (world, thread) = hostile();
    let page = ["thread", "read", &thread, "--html", "-o"];
    let bundle = ["thread", "export", &thread, "-o"];
    let at = |name: &str| world.project().join(name);
    let root = world.root();
    let state = root.join("threads.yaml");
    let (before, linked) = (world.state("threads.yaml"), at("linked"));
    std::fs::write(&linked, "mine").unwrap();
    symlink(&linked, at("link")).unwrap();
    symlink(&state, at("alias")).unwrap();
    for command in [&page[..], &bundle] {
        let write = |file: &str| world.uwf(&[command, &[file]].concat());
        std::fs::write(at("old"), "old").unwrap();
        std::fs::set_permissions(at("old"), Permissions::from_mode(0o644)).unwrap();
        write("old").exits(0);
        let mode = at("old").metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        write("link").exits(1).says("is a symbolic link");
        write("/dev/null").exits(1).says("is not a file");
        let store = root.join("cas/story.bin");
        let labels = root.join("labels.jsonl");
        for own in [&state, &store, &labels, &at("alias")] {
            write(own.to_str().unwrap())
                .exits(1)
                .says("belongs to the storage root")
                .says("name another file");
        }
        write(root.join("story").to_str().unwrap()).exits(0);
        assert!(!labels.exists() && !store.exists());
    }
    assert_eq!(std::fs::read_to_string(linked).unwrap(), "mine");
    let graph = ["workflow", "graph", "--thread", &thread, "-o"];
    world
        .uwf(&[&graph[..], &[state.to_str().unwrap()]].concat())
        .exits(1)
        .says("belongs to the storage root");
    assert_eq!(world.state("threads.yaml"), before);
}

#[test]
fn a_link_to_a_file_that_does_not_exist_yet_is_a_way_to_it() {
    let world = World::new();
    world.put(REVIEW);
    let at = |name: &str| world.project().join(name);
    let history = world.root().join("history.jsonl");
    assert!(!history.exists());
    symlink(&history, at("direct")).unwrap();
    symlink("direct", at("by-link")).unwrap();
    symlink("new.svg", at("mine")).unwrap();
    symlink("loop", at("loop")).unwrap();
    let draw = |file: &str| {
        let draw = ["workflow", "graph", "review", "--format", "svg", "-o"];
        world.uwf(&[&draw[..], &[file]].concat())
    };
    for file in ["direct", "by-link"] {
        draw(file).exits(1).says("belongs to the storage root");
    }
    assert!(!history.exists());
    draw("loop").exits(1).says("cannot write `loop`");
    draw("mine").exits(0);
    assert!(at("new.svg").exists());
}
