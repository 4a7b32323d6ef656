//! Checks of roles that other threads play: their branches, and the expressions in them.

use serde_json::Value;
use uwf_protocol::ids::RoleName;
use uwf_protocol::work::{Branches, BranchesOf, Join, List, Played, Player, Work};
use uwf_protocol::workflow::{Problem, Workflow};

use super::{conditions, with_suggestion};
use crate::condition::{self, Mention};

/// Returns the problems of all roles.
pub(super) fn check(workflow: &Workflow<Value>) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (role, definition) in &workflow.roles {
        problems.extend(expressions(workflow, role, &definition.work));
        problems.extend(players(workflow, role, &definition.work));
        problems.extend(prompts(role, &definition.work));
        problems.extend(join(role, &definition.work));
        problems.extend(plays_itself(workflow, role));
    }
    problems
}

/// Returns the roles that play branches of a role.
pub(super) fn roles_of(work: &Work<Value>) -> impl Iterator<Item = &RoleName> {
    let players = match work {
        Work::Branches(branches) => Some(branches.players()),
        Work::Agent | Work::Workflow(_) => None,
    };
    players
        .into_iter()
        .flatten()
        .filter_map(|player| match player {
            Player::Role(role) => Some(role),
            Player::Workflow(_) => None,
        })
}

/// Finds expressions that cannot be parsed, and names in them that do not exist.
fn expressions(workflow: &Workflow<Value>, role: &RoleName, work: &Work<Value>) -> Vec<Problem> {
    let (key, expression) = match work {
        Work::Workflow(Played {
            returns: Some(expression),
            ..
        }) => ("returns", expression),
        Work::Branches(Branches {
            of:
                BranchesOf::Each {
                    list: List::Expression(expression),
                    ..
                },
            ..
        }) => ("each", expression),
        Work::Workflow(_) | Work::Branches(_) | Work::Agent => return Vec::new(),
    };
    let path = ["roles", role.as_str(), key];
    let mentions = match condition::mentions(expression) {
        Ok(mentions) => mentions,
        Err(error) => return vec![Problem::new(&path, error.to_string())],
    };
    let is_here = |mention: &&Mention| match mention {
        // The roles and the answers are those of another workflow.
        Mention::Role(_) | Mention::Answer { .. } => key == "each",
        _ => true,
    };
    let mentions = mentions.iter().filter(is_here);
    let wrong =
        mentions.filter_map(|one| conditions::wrong(workflow, one, &condition::VALUE_NAMES));
    wrong.map(|message| Problem::new(&path, message)).collect()
}

/// Finds branches of roles that do not exist.
fn players(workflow: &Workflow<Value>, role: &RoleName, work: &Work<Value>) -> Vec<Problem> {
    let unknown = roles_of(work).filter(|player| !workflow.roles.contains_key(*player));
    let problem = |player: &RoleName| {
        let message = format!("`{player}` is to play a branch of `{role}`, and is not a role");
        let known = workflow.roles.keys().map(RoleName::as_str);
        let message = with_suggestion(message, player.as_str(), known);
        Problem::new(&["roles", role.as_str()], message)
    };
    unknown.map(problem).collect()
}

/// Finds blank prompts of branches.
fn prompts(role: &RoleName, work: &Work<Value>) -> Vec<Problem> {
    let Work::Branches(branches) = work else {
        return Vec::new();
    };
    let BranchesOf::Named(named) = &branches.of else {
        return Vec::new();
    };
    let is_blank = |prompt: &String| prompt.trim().is_empty();
    let blank = named
        .iter()
        .filter(|(_, branch)| branch.prompt.as_ref().is_some_and(is_blank));
    let problem = |name: &str| {
        let path = ["roles", role.as_str(), "branches", name, "prompt"];
        Problem::new(&path, "the prompt is blank")
    };
    blank.map(|(name, _)| problem(name)).collect()
}

/// Finds a number of branches that can never end well.
fn join(role: &RoleName, work: &Work<Value>) -> Option<Problem> {
    let Work::Branches(branches) = work else {
        return None;
    };
    let known = match &branches.of {
        BranchesOf::Named(named) => named.len(),
        BranchesOf::Each {
            list: List::Items(items),
            ..
        } => items.len(),
        BranchesOf::Each { .. } => return None,
    };
    match branches.join {
        Join::Count(count) if count > known as u64 => {
            let message = format!("`join` of `{role}` is {count}, and it has {known} branches");
            Some(Problem::new(&["roles", role.as_str(), "join"], message))
        }
        Join::Count(_) | Join::All | Join::Any => None,
    }
}

/// Finds a role that is a branch of itself, or of one of its own branches.
fn plays_itself(workflow: &Workflow<Value>, role: &RoleName) -> Option<Problem> {
    let mut seen: Vec<&RoleName> = Vec::new();
    let mut next: Vec<&RoleName> = vec![role];
    while let Some(one) = next.pop() {
        let work = workflow.roles.get(one).map(|one| &one.work);
        for player in work.into_iter().flat_map(roles_of) {
            if player == role {
                let message = format!("`{role}` plays itself: it would never end");
                return Some(Problem::new(&["roles", role.as_str()], message));
            }
            if !seen.contains(&player) {
                seen.push(player);
                next.push(player);
            }
        }
    }
    None
}
