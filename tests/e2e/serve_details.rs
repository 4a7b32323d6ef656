//! Pages about a part of a thread: what it costs, and one step of it.

use serde_json::json;

use crate::serve_pages::threads;
use crate::web_client::Server;
use crate::world::World;

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
