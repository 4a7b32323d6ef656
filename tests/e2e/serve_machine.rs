//! The page about the machine: its agents, and the threads at the remote with their leases.

use crate::gates::{at_work, open_gate};
use crate::postgres::new_schema;
use crate::sharing::{machines_in, shared, with_server};
use crate::web_client::Server;
use crate::world::{ONE_STEP, World};

#[test]
fn agents_are_shown_with_their_roles_and_without_secrets() {
    let world = World::new();
    world.put(ONE_STEP);
    world.agent("uwf-mock", &["--api-key", "abc-secret", "script<b>"]);
    world.configure("agents.careful.command", "uwf-claude");
    world.configure("agents.careful.permissions", "read");
    world.configure("agents.careful.fallback", "[\"default\"]");
    world.configure("agentOverrides.one.writer", "careful");
    let server = Server::start(&world, &[]);
    let agents = server.get("/api/v1/machine").json()["agents"].clone();
    assert_eq!(agents[0]["alias"], "default");
    assert_eq!(agents[0]["default"], true);
    assert_eq!(agents[1]["roles"][0]["role"], "writer");
    assert_eq!(agents[1]["permissions"], "read");
    let page = server.get("/machine").body;
    for shown in [
        "script&lt;b&gt;",
        "as <b>writer</b> of",
        "If it fails: default",
    ] {
        assert!(page.contains(shown), "{shown}: {page}");
    }
    assert!(!page.contains("abc-secret") && !agents.to_string().contains("abc-secret"));
    let refused = server.get("/api/v1/machine/remote");
    assert_eq!(refused.status, 422, "{}", refused.body);
}

#[test]
fn the_page_of_the_remote_says_which_machine_has_a_lease() {
    with_server(|server| {
        let machines = machines_in(server, &new_schema());
        let thread = shared(&machines, "again");
        let [one, other] = &machines;
        let pages = Server::start(other, &["--read-only"]);
        let machine = pages.get("/machine").body;
        assert!(
            machine.contains("href=\"/machine/remote#remote\""),
            "{machine}"
        );
        let own = format!("/threads/{thread}");
        let shown = pages.get(&own).body;
        let asks = "<b>Shared</b>, <a href=\"/machine/remote#remote\">leases</a>";
        assert!(shown.contains(asks), "{shown}");
        let free = pages.get("/machine/remote").body;
        assert!(free.contains("<td>ready</td>"), "{free}");
        assert!(
            free.contains("<th scope=\"col\">Here</th>") && free.contains("<td>yes</td>"),
            "{free}"
        );
        assert!(free.contains("<span class=\"none\">free</span>"), "{free}");
        let mut working = at_work(one, &["thread", "step", &thread]);
        let listed = pages.get("/api/v1/machine/remote").json();
        let printed = other.uwf(&["thread", "list", "--remote"]).exits(0).json();
        assert_eq!(listed[0]["machine"], printed[0]["machine"]);
        let owner = listed[0]["machine"].as_str().unwrap();
        let busy = pages.get("/machine/remote").body;
        assert!(busy.contains(owner) && busy.contains(", for "), "{busy}");
        assert!(
            busy.contains("<td>leased</td>") && !busy.contains("<td>ready</td>"),
            "{busy}"
        );
        // Its lease is known without the remote where it is at work.
        let at_work = Server::start(one, &["--read-only"]).get(&own).body;
        assert!(
            at_work.contains("<b>Shared</b>, leased by this machine"),
            "{at_work}"
        );
        open_gate(one);
        assert!(working.wait().unwrap().success());
    });
}
