//! Pages about a part of a thread: what it costs, and one step of it.

use serde_json::json;

use crate::changed_files;
use crate::gc::node_file;
use crate::serve_pages::threads;
use crate::web_client::Server;
use crate::world::{REVIEW, World};

#[test]
fn costs_are_what_the_command_sums() {
    let world = World::new();
    let thread = &threads(&world)[0];
    let server = Server::start(&world, &[]);
    for (path, more) in [
        ("costs", &[][..]),
        (
            "costs?by=day&since=2000",
            &["--by", "day", "--since", "2000"],
        ),
        ("costs?label=area", &["--label", "area"]),
        (&format!("threads/{thread}/costs"), &[thread]),
        (
            &format!("threads/{thread}/costs?by=agent"),
            &[thread, "--by", "agent"],
        ),
    ] {
        let mut costs = server.get(&format!("/api/v1/{path}")).json();
        let warnings = costs.as_object_mut().unwrap().remove("warnings");
        assert_eq!(warnings, Some(json!([])), "{path}");
        let args = [&["thread", "cost"], more].concat();
        assert_eq!(costs, world.uwf(&args).json(), "{path}");
    }
    for wrong in ["costs?by=colour", "costs?since=soon", "costs?label=%20"] {
        assert_eq!(
            server.get(&format!("/api/v1/{wrong}")).status,
            400,
            "{wrong}"
        );
    }
    let page = server.get(&format!("/threads/{thread}")).body;
    assert!(
        page.contains(&format!("href=\"/threads/{thread}/costs\"")),
        "{page}"
    );
    let costs = server.get(&format!("/threads/{thread}/costs")).body;
    assert!(
        costs.contains("reviewer") && costs.contains("<tfoot>"),
        "{costs}"
    );
    let all = server.get("/costs").body;
    assert!(all.contains("Make it good"), "{all}");
}

#[test]
fn the_page_of_a_step_says_what_it_was_told_and_what_came_of_it() {
    let world = World::new();
    let thread = &threads(&world)[0];
    let server = Server::start(&world, &[]);
    let head = world.show(thread)["head"].as_str().unwrap().to_owned();
    let page = server.get(&format!("/steps/{head}")).body;
    for shown in [
        "Review: a plan",
        "<th scope=\"row\">summary</th>",
        "Compare with it",
        "Took",
    ] {
        assert!(page.contains(shown), "{shown}: {page}");
    }
    let prev = page.split("/diff?a=").nth(1).unwrap();
    let prev = &prev[..head.len()];
    assert_eq!(server.get(&format!("/diff?a={prev}&b={head}")).status, 200);
    let first = server.get(&format!("/steps/{prev}")).body;
    assert!(
        first.contains("Begin writing") && !first.contains("Compare with it"),
        "{first}"
    );
    let line = "name: line\nsteps:\n- {name: Say, command: [sh, -c, 'echo said; echo warned >&2; exit 3']}\n";
    world.write("line.yaml", line);
    let ran = world.uwf(&["orchestrate", "run", "line.yaml", "--json"]);
    let run = ran.exits(3).json()["thread"].as_str().unwrap().to_owned();
    let head = world.show(&run)["head"].as_str().unwrap().to_owned();
    let page = server.get(&format!("/steps/{head}")).body;
    for shown in [
        "echo said; echo warned",
        "said",
        "warned",
        "Exit code <b>3</b>",
    ] {
        assert!(page.contains(shown), "{shown}: {page}");
    }
}

#[test]
fn a_fork_is_compared_with_its_origin_and_a_version_with_the_one_before() {
    let world = World::new();
    let all = threads(&world);
    let origin = &all[0];
    let old = world.show(origin)["workflow"].as_str().unwrap().to_owned();
    let fork = world
        .uwf(&["thread", "fork", &format!("{origin}~1")])
        .exits(0)
        .json();
    let fork = fork["thread"].as_str().unwrap();
    world.uwf(&["thread", "step", fork]);
    let server = Server::start(&world, &[]);
    let address = format!("/diff?a={origin}&amp;b={fork}");
    for thread in [origin, fork] {
        let page = server.get(&format!("/threads/{thread}")).body;
        assert!(page.contains(&address), "{page}");
    }
    let page = server.get(&format!("/diff?a={origin}&b={fork}")).body;
    assert!(
        page.contains("<b>1 step</b> in common") && page.contains("<h2>Step 2</h2>"),
        "{page}"
    );
    let data = server
        .get(&format!("/api/v1/thread-diff/{origin}/{fork}"))
        .json();
    assert_eq!(data, world.uwf(&["thread", "diff", origin, fork]).json());

    let new = world.put(&REVIEW.replace("You write.", "You write <well>."));
    let page = server.get("/workflows").body;
    let address = format!("/workflows/{new}/since/{old}");
    assert!(page.contains(&format!("href=\"{address}\"")), "{page}");
    let page = server.get(&address).body;
    assert!(page.contains("You write &lt;well&gt;."), "{page}");
    let data = server
        .get(&format!("/api/v1/workflow-diff/{old}/{new}"))
        .json();
    assert_eq!(data, world.uwf(&["workflow", "diff", &old, &new]).json());
}

#[test]
fn a_line_of_a_patch_is_new_or_gone_whatever_it_begins_with() {
    let (world, thread) = changed_files::world();
    changed_files::step(&world, &thread, "printf -- '- item\\n' > list");
    let step = changed_files::step(&world, &thread, "printf -- '++x\\n' > list");
    let server = Server::start(&world, &[]);
    let head = step["head"].as_str().unwrap();
    let page = server.get(&format!("/steps/{head}?files=all")).body;
    for shown in [
        "<div class=\"hint\">--- a/list</div>",
        "<div class=\"hint\">+++ b/list</div>",
        "<del>-- item</del>",
        "<ins>+++x</ins>",
    ] {
        assert!(page.contains(shown), "{shown}: {page}");
    }
}

/// Makes the file of a node one that cannot be read.
fn spoil(world: &World, hash: &serde_json::Value) {
    let file = node_file(world, hash.as_str().unwrap());
    std::fs::write(file, "no node").unwrap();
}

#[test]
fn a_part_of_a_step_that_cannot_be_read_hides_no_other_part() {
    let world = World::new();
    let thread = &threads(&world)[0];
    let server = Server::start(&world, &[]);
    let head = world.show(thread)["head"].as_str().unwrap().to_owned();
    let address = format!("/steps/{head}");
    let files = server.get(&format!("{address}?files=all"));
    assert_eq!(files.status, 200);
    let step = world.uwf(&["cas", "get", &head]).exits(0).json();
    spoil(&world, &step["payload"]["assembledPrompt"]);
    let page = server.get(&address);
    assert_eq!(page.status, 200, "{}", page.body);
    for shown in [
        "Review: a plan",
        "The whole prompt of the agent cannot be read: ",
        "uwf cas verify",
    ] {
        assert!(page.body.contains(shown), "{shown}: {}", page.body);
    }
    let whole = server.get(&format!("{address}/text/prompt"));
    assert_eq!(whole.status, 500, "{}", whole.body);
}
