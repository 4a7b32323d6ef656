//! How many levels of child threads workflows need.

use std::convert::Infallible;

use serde_json::{Value, json};
use uwf_moderator::levels;
use uwf_protocol::work::{Branch, Branches, BranchesOf, Join, Played, Player, Work};

use crate::common::{role, status_maps};

fn played(workflow: u64) -> Work<Value> {
    Work::Workflow(Played {
        workflow: json!(workflow),
        returns: None,
    })
}

fn branches(players: Vec<Player<Value>>) -> Work<Value> {
    let branch = |(index, player): (usize, Player<Value>)| {
        let prompt = None;
        (index.to_string(), Branch { player, prompt })
    };
    Work::Branches(Branches {
        of: BranchesOf::Named(players.into_iter().enumerate().map(branch).collect()),
        join: Join::All,
        max: None,
    })
}

/// Checks how many levels the roles `a` and `b` need, whose graph is `a → b`. Other workflows are the levels that they need.
#[track_caller]
fn check(a: Work<Value>, b: Work<Value>, expected: [u64; 2]) {
    let mut flow = status_maps(&json!({
        "$START": { "_": { "role": "a", "prompt": "go" } },
        "a": { "_": { "role": "b", "prompt": "go" } },
        "b": { "_": { "role": "$END" } },
    }));
    for (name, work) in [("a", a), ("b", b)] {
        let found = flow.roles.get_mut(&role(name));
        found.expect("it is a role").work = work;
    }
    let mut of = |levels: &Value| Ok::<_, Infallible>(levels.as_u64().unwrap_or_default());
    let Ok(found) = levels(&flow, &mut of);
    let found: Vec<u64> = found.into_values().collect();
    assert_eq!(found, expected);
}

#[test]
fn each_workflow_and_each_set_of_branches_is_one_level() {
    check(Work::Agent, played(0), [0, 1]);
    check(
        played(3),
        branches(vec![Player::Workflow(json!(1))]),
        [4, 2],
    );
    let both = vec![Player::Role(role("a")), Player::Workflow(json!(1))];
    check(played(3), branches(both), [4, 5]);
    check(Work::Agent, branches(vec![Player::Role(role("a"))]), [0, 1]);
}

#[test]
fn roles_that_play_each_other_end_the_search() {
    let of = |name| branches(vec![Player::Role(role(name))]);
    check(of("b"), of("a"), [2, 1]);
}
