//! What the pages of `uwf serve` show, and what they must never do with it.

use serde_json::{Value, json};

use crate::hostile;
use crate::web_client::Server;
use crate::world::{AGAIN, ONE_STEP, REVIEW, World};

/// Returns what is on the pages and in the data of a thread.
fn pages_of(server: &Server, thread: &str) -> Vec<(String, String)> {
    let shown = server.get(&format!("/api/v1/threads/{thread}")).json();
    let word = |key: &str| shown[key].as_str().unwrap().to_owned();
    let (workflow, head) = (word("workflow"), word("head"));
    let paths = [
        "/".to_owned(),
        "/?status=idle".to_owned(),
        format!("/threads/{thread}"),
        format!("/steps/{head}"),
        format!("/cas/{head}?uses=all"),
        format!("/workflows/{workflow}"),
        "/workflows".to_owned(),
        format!("/cas/{workflow}"),
        "/machine/checks".to_owned(),
        "/costs?by=role".to_owned(),
        "/costs?by=workflow&label=a".to_owned(),
        format!("/threads/{thread}/costs"),
        format!("/threads/{thread}/costs?by=thread"),
    ];
    let page = |path: String| {
        let page = server.get(&path);
        assert_eq!(page.status, 200, "{path}: {}", page.body);
        (path, page.body)
    };
    paths.into_iter().map(page).collect()
}

#[test]
fn every_text_of_others_is_a_text_on_every_page() {
    let world = World::new();
    let evil = "</script><script>alert(1)</script><img src=x onerror=\"alert(1)\">'\u{202e}\u{1b}[2J[a](javascript:alert(1))";
    let answer = json!({ "$status": "again", "text": evil });
    let script =
        json!({ "roles": { "asker": [ { "output": answer, "body": evil, "stderr": evil } ] } });
    world.mock(&script.to_string());
    let workflow = world.put(&hostile::workflow(evil));
    let prompt = format!("{evil}\n\n{evil}");
    let started = world.uwf(&[
        "thread", "start", &workflow, "-p", &prompt, "--format", "json",
    ]);
    let thread = started.json()["thread"].as_str().unwrap().to_owned();
    world.step(&thread).exits(0);
    world.step(&thread).exits(0);
    let server = Server::start(&world, &[]);
    for (path, page) in pages_of(&server, &thread) {
        for markup in [
            "<script>",
            "<img",
            "onerror=\"",
            "href=\"javascript",
            "\u{202e}",
            "\u{1b}",
        ] {
            assert!(!page.contains(markup), "{path} has {markup}");
        }
        // Our own script is the only one.
        assert_eq!(page.matches("<script").count(), 1, "{path}");
    }
    let refused = server.get("/threads/%3Cscript%3Ealert(1)%3C%2Fscript%3E");
    assert!(refused.body.contains("&lt;script&gt;") && !refused.body.contains("<script>"));
    let searched = server.get("/?q=%22%3E%3Cscript%3E&label=a%3D%3Cb%3E");
    assert!(!searched.body.contains("<script>"), "{}", searched.body);
}

/// Threads of every kind: completed, suspended, failed, cancelled and new.
pub(crate) fn threads(world: &World) -> Vec<String> {
    let script = |verdict: Value| {
        json!({ "roles": {
            "writer": [ { "output": { "plan": "a plan" } } ],
            "reviewer": [ { "output": verdict } ],
        } })
    };
    let start = |task: &str, more: &[&str]| {
        let mut args = vec!["thread", "start", "review", "-p", task, "--format", "json"];
        args.extend(more);
        let started = world.uwf(&args).exits(0);
        started.json()["thread"].as_str().unwrap().to_owned()
    };
    world.put(REVIEW);
    world.mock(&script(json!({ "$status": "approved", "summary": "all is well" })).to_string());
    let completed = start("Make it good", &["--label", "area=web"]);
    world
        .uwf(&["thread", "step", &completed, "-c", "all"])
        .exits(0);
    world.mock(&script(json!({ "$status": "ask", "question": "Which one?" })).to_string());
    let asking = start("Ask me", &["--name", "asking"]);
    world.step(&asking).exits(0);
    world.step(&asking);
    world.mock("roles: { writer: [ { exit: 3 } ] }");
    let failed = start("Fail now", &[]);
    world.step(&failed).exits(3);
    let cancelled = start("Never mind", &[]);
    world.uwf(&["thread", "kill", &cancelled]).exits(0);
    let idle = start("Begin", &[]);
    vec![completed, asking, failed, cancelled, idle]
}

#[test]
fn the_overview_counts_filters_and_pages() {
    let world = World::new();
    let all = threads(&world);
    let server = Server::start(&world, &[]);
    let board = |fields: &str| server.get(&format!("/api/v1/threads{fields}")).json();
    let ids = |board: &Value, key: &str| -> Vec<String> {
        let threads = board[key].as_array().unwrap();
        threads
            .iter()
            .map(|one| one["thread"].as_str().unwrap().to_owned())
            .collect()
    };
    let whole = board("");
    let newest_first: Vec<String> = all.iter().rev().cloned().collect();
    assert_eq!(ids(&whole, "threads"), newest_first);
    assert_eq!(ids(&whole, "urgent"), [all[2].clone(), all[1].clone()]);
    assert_eq!((&whole["total"], &whole["next"]), (&json!(5), &Value::Null));
    let counts = json!([
        { "status": "idle", "count": 1 }, { "status": "suspended", "count": 1 }, { "status": "failed", "count": 1 },
        { "status": "completed", "count": 1 }, { "status": "cancelled", "count": 1 },
    ]);
    assert_eq!(whole["counts"], counts);
    for (fields, expected) in [
        ("?status=suspended", &all[1..2]),
        ("?status=completed,cancelled&q=MIND", &all[3..4]),
        ("?q=ask", &all[1..2]),
        ("?label=area%3Dweb", &all[..1]),
        ("?workflow=review&status=idle", &all[4..]),
    ] {
        let found = board(fields);
        assert_eq!(ids(&found, "threads"), expected, "{fields}");
        assert_eq!(found["total"], 1, "{fields}");
    }
    // The pages together are the whole list, each thread once.
    let (mut seen, mut before) = (Vec::new(), String::new());
    loop {
        let part = board(&format!("?take=2{before}"));
        seen.extend(ids(&part, "threads"));
        let Some(next) = part["next"].as_str() else {
            break;
        };
        before = format!("&before={next}");
    }
    assert_eq!(seen, newest_first);
    let page = server.get("/").body;
    assert!(
        page.contains("Waiting for you") && page.contains("Which one?"),
        "{page}"
    );
    assert!(!page.contains("The newest"), "{page}");
    // A form keeps all choices that the address has.
    let page = server
        .get("/?status=idle&status=failed&label=a%3Db&label=c%3Dd")
        .body;
    for kept in [
        "name=\"status\" value=\"idle\"",
        "name=\"status\" value=\"failed\"",
        "name=\"label\" value=\"a=b\"",
        "name=\"label\" value=\"c=d\"",
    ] {
        assert!(page.contains(kept), "{kept}: {page}");
    }
}

#[test]
fn behind_the_last_page_there_are_no_older_threads() {
    let world = World::new();
    let all = threads(&world);
    let server = Server::start(&world, &[]);
    let page = server.get(&format!("/?before={}", all[0])).body;
    assert!(page.contains("There are no older threads"), "{page}");
    assert!(page.contains("To the newest") && !page.contains("no threads yet"));
}

#[test]
fn more_threads_that_wait_than_a_page_has_are_told_by_their_number() {
    let world = World::new();
    let asks = json!({ "output": { "$status": "ask", "question": "Which?" } });
    let script =
        json!({ "roles": { "writer": [ { "output": { "plan": "p" } } ], "reviewer": [asks] } });
    world.mock(&script.to_string());
    let workflow = world.put(REVIEW);
    let thread = world.start(&workflow);
    world.uwf(&["thread", "step", &thread, "-c", "2"]).exits(0);
    let head = world.show(&thread)["head"].as_str().unwrap().to_owned();
    for _ in 0..20 {
        world.uwf(&["thread", "fork", &head]).exits(0);
    }
    let server = Server::start(&world, &[]);
    let board = server.get("/api/v1/threads").json();
    assert_eq!(board["waiting"], 21);
    assert_eq!(board["urgent"].as_array().unwrap().len(), 20);
    let page = server.get("/").body;
    assert!(page.contains("The newest 20 of 21"), "{page}");
}

#[test]
fn a_thread_shows_where_it_stands_its_way_and_its_steps() {
    let world = World::new();
    let all = threads(&world);
    let server = Server::start(&world, &[]);
    let page = |thread: &str| server.get(&format!("/threads/{thread}")).body;
    let completed = page(&all[0]);
    for text in [
        "Make it good",
        "Done: all is well",
        "Review: a plan",
        "area=web",
        "edge taken",
        "node visited",
    ] {
        assert!(completed.contains(text), "{text}: {completed}");
    }
    let head = world.show(&all[0])["head"].as_str().unwrap().to_owned();
    assert!(
        completed.contains(&format!("<article class=\"step\" id=\"{head}\">")),
        "{completed}"
    );
    assert!(
        completed.contains(&format!(
            "<a href=\"#{head}\" aria-label=\"reviewer, 1 visit\">"
        )),
        "{completed}"
    );
    let asking = page(&all[1]);
    assert!(
        asking.contains("reviewer asks") && asking.contains("Need: Which one?"),
        "{asking}"
    );
    let failed = page(&all[2]);
    assert!(
        failed.contains("Failed attempts") && failed.contains("exit: 3"),
        "{failed}"
    );
}

#[test]
fn the_data_is_what_the_commands_print() {
    let world = World::new();
    let all = threads(&world);
    let server = Server::start(&world, &[]);
    let head = world.show(&all[0])["head"].as_str().unwrap().to_owned();
    let data = |path: &str| server.get(&format!("/api/v1/{path}")).json();
    let printed = |args: &[&str]| {
        let args: Vec<&str> = args.iter().copied().chain(["--format", "json"]).collect();
        world.uwf(&args).json()
    };
    let thread = &all[0];
    let steps = printed(&["thread", "steps", thread]);
    assert_eq!(data(&format!("threads/{thread}/steps")), steps);
    let graph = printed(&["workflow", "graph", "--thread", thread]);
    assert_eq!(data(&format!("threads/{thread}/graph")), graph);
    let step = printed(&["step", "read", &head, "--quota", "all"]);
    assert_eq!(data(&format!("steps/{head}")), step);
    assert_eq!(data("workflows"), printed(&["workflow", "list"]));
    let node = data(&format!("cas/{head}"));
    assert_eq!(node["payload"], printed(&["cas", "get", &head])["payload"]);
    let first = server.get(&format!("/api/v1/cas/{head}"));
    let tag = first.header("etag").unwrap().to_owned();
    // Another version may say more about the same node, so a browser asks each time.
    assert!(tag.starts_with(&format!("\"{head}-")), "{tag}");
    assert_eq!(first.header("cache-control"), Some("private, no-cache"));
    let if_none = |tags: &str| {
        let headers = [
            &*crate::web_client::bearer(),
            &format!("If-None-Match: {tags}"),
        ];
        server.ask("GET", &format!("/api/v1/cas/{head}"), &headers, "")
    };
    // A proxy that compresses an answer weakens its tag.
    for known in [
        tag.clone(),
        format!("W/{tag}"),
        format!("\"other\", W/{tag}"),
        "*".to_owned(),
    ] {
        let again = if_none(&known);
        assert_eq!((again.status, &*again.body), (304, ""), "{known}");
    }
    for other in [format!("\"{head}\""), format!("W/\"{head}\"")] {
        assert_eq!(if_none(&other).status, 200, "{other}");
    }
}

#[test]
fn looking_changes_nothing_and_waits_for_nobody() {
    let world = World::new();
    let all = threads(&world);
    let server = Server::start(&world, &[]);
    let state = || (world.state("threads.yaml"), world.state("history.jsonl"));
    let before = state();
    pages_of(&server, &all[0]);
    pages_of(&server, &all[1]);
    assert_eq!(state(), before);
    // A step goes on while the server is there, and its page is new at once.
    world.mock("roles: { writer: [ { output: { plan: another plan } } ] }");
    world.step(&all[4]).exits(0);
    assert!(
        server
            .get(&format!("/threads/{}", all[4]))
            .body
            .contains("another plan")
    );
}

#[test]
fn a_long_thread_is_shown_page_by_page() {
    let world = World::new();
    world.put(&AGAIN.replace('@', "limits: { maxSteps: 600 }"));
    world.mock("roles: { writer: [ { output: { status: more } } ] }");
    let thread = world.start("again");
    world
        .uwf(&["thread", "step", &thread, "-c", "120"])
        .exits(0);
    let steps = world
        .uwf(&["thread", "steps", &thread, "--format", "json"])
        .json();
    let steps = steps["steps"].as_array().unwrap();
    let hashes: Vec<&str> = steps[1..]
        .iter()
        .map(|step| step["hash"].as_str().unwrap())
        .collect();
    let server = Server::start(&world, &[]);
    let (mut path, mut shown) = (format!("/threads/{thread}"), Vec::new());
    loop {
        let page = server.get(&path).body;
        let articles = page.split("<article class=\"step\" id=\"").skip(1);
        let on_page: Vec<String> = articles.map(|rest| rest[..13].to_owned()).collect();
        assert!((1..=50).contains(&on_page.len()), "{path}");
        shown.splice(0..0, on_page);
        let Some((_, before)) = page.split_once("?before=") else {
            break;
        };
        path = format!("/threads/{thread}?before={}", &before[..13]);
    }
    assert_eq!(shown, hashes);
    let strange = server.get(&format!("/threads/{thread}?before=0123456789ABC"));
    assert_eq!(strange.status, 404);
}

#[test]
fn an_artefact_is_kept_by_the_browser_and_never_shown() {
    let world = World::new();
    let workflow = world.put(ONE_STEP);
    let script = world.script(
        "agent.sh",
        "mkdir \"$UWF_ARTIFACTS/a b\"; echo '<script>' > \"$UWF_ARTIFACTS/a b/\\\"x.html\"; echo x > \"$UWF_ARTIFACTS/bé.txt\"; echo x > \"$UWF_ARTIFACTS/c d.txt\"; printf -- '---\\nnote: n\\n---\\n'",
    );
    world.agent("uwf-command", &["--", script.to_str().unwrap()]);
    let thread = world.start(&workflow);
    world.step(&thread).exits(0);
    let head = world.show(&thread)["head"].as_str().unwrap().to_owned();
    let server = Server::start(&world, &[]);
    let page = server.get(&format!("/steps/{head}")).body;
    let address = format!("{head}/artifact?path=a+b%2F%22x.html");
    assert!(
        page.contains(&format!("href=\"/steps/{address}\"")),
        "{page}"
    );
    let kept = server.get(&format!("/steps/{address}"));
    assert_eq!((kept.status, &*kept.body), (200, "<script>\n"));
    assert_eq!(
        kept.header("content-type"),
        Some("application/octet-stream")
    );
    assert_eq!(
        kept.header("content-disposition"),
        Some("attachment; filename=\"x.html\"; filename*=UTF-8''%22x.html")
    );
    let spaced = server.get(&format!("/steps/{head}/artifact?path=c+d.txt"));
    assert_eq!(
        spaced.header("content-disposition"),
        Some("attachment; filename=\"c d.txt\"")
    );
    let other = server.get(&format!("/steps/{head}/artifact?path=b%C3%A9.txt"));
    assert_eq!(
        other.header("content-disposition"),
        Some("attachment; filename=\"b.txt\"; filename*=UTF-8''b%C3%A9.txt")
    );
    for path in ["", "a+b", "..%2Fconfig.yaml", "%2Fetc%2Fpasswd"] {
        let none = server.get(&format!("/steps/{head}/artifact?path={path}"));
        assert_eq!(none.status, 404, "{path}");
    }
}

#[test]
fn a_family_is_a_tree_on_the_page_of_each_of_its_threads() {
    let world = World::new();
    let role = |name: &str| {
        format!(
            "  {name}:\n    goal: A view.\n    frontmatter: {{ type: object, properties: {{ view: {{ type: string }} }}, required: [view] }}\n"
        )
    };
    world.put(&format!(
        "name: council\nroles:\n{}{}  council:\n    goal: Two views.\n    branches:\n      a: {{ role: security }}\n      b: {{ role: cost }}\ngraph:\n  $START: {{ _: {{ role: council, prompt: 'Your view.' }} }}\n  council: {{ done: {{ role: $END, prompt: '' }}, failed: {{ role: $END, prompt: '' }} }}\n",
        role("security"),
        role("cost"),
    ));
    world.mock("roles: { security: [{ output: { view: s } }], cost: [{ output: { view: c } }] }");
    let thread = world.start("council");
    world.step(&thread).exits(0);
    let server = Server::start(&world, &[]);
    let family = server
        .get(&format!("/api/v1/threads/{thread}/family"))
        .json();
    let children = family["top"]["children"].as_array().unwrap();
    let child = |at: usize| children[at]["thread"].as_str().unwrap();
    assert_eq!((children.len(), &family["hidden"]), (2, &json!(0)));
    let overview = server.get("/").body;
    assert!(
        !overview.contains(child(0)),
        "children are below their parents"
    );
    assert!(server.get("/?children=listed").body.contains(child(0)));
    let page = server.get(&format!("/threads/{}", child(0))).body;
    for link in [&*thread, child(1)] {
        assert!(
            page.contains(&format!("href=\"/threads/{link}\"")),
            "{link}"
        );
    }
    assert!(page.contains("this thread"), "{page}");
    let alone = world.put(ONE_STEP);
    let alone = world.start(&alone);
    assert_eq!(
        server
            .get(&format!("/api/v1/threads/{alone}/family"))
            .json(),
        Value::Null
    );
}

#[test]
fn an_end_without_a_result_and_limits_of_roles_are_said_in_words() {
    let world = World::new();
    let workflow = world.put(&AGAIN.replace('@', "limits: { maxVisits: { writer: 5 } }"));
    let thread = world.start("again");
    world.uwf(&["thread", "kill", &thread]).exits(0);
    let server = Server::start(&world, &[]);
    let page = server.get(&format!("/threads/{thread}")).body;
    assert!(page.contains("It is cancelled."), "{page}");
    let page = server.get(&format!("/workflows/{workflow}")).body;
    assert!(page.contains("maxVisits <b>writer 5</b>"), "{page}");
}
