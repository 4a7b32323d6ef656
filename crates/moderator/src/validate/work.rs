//! Checks of roles that other threads play: their branches, and the expressions in them.

use serde_json::Value;
use uwf_protocol::ids::RoleName;
use uwf_protocol::work::{Branches, BranchesOf, Join, List, Played, Player, Work};
use uwf_protocol::workflow::{Destination, Problem, Severity, Workflow};

use super::{Edge, all_edges, conditions, with_suggestion};
use crate::children::NAMES_OF_BRANCHES;
use crate::condition::{self, Mention};
use crate::template;

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
    problems.extend(same_tasks(workflow));
    problems
}

/// Finds edges that give all branches of a list the same task.
fn same_tasks(workflow: &Workflow<Value>) -> Vec<Problem> {
    let problem = |edge: Edge<'_>| {
        let Destination::Role(role) = edge.to else {
            return None;
        };
        let is_same = has_items(&workflow.roles.get(role)?.work)
            && !tells_branches_apart(edge.prompt.unwrap_or_default());
        let [item, ..] = NAMES_OF_BRANCHES;
        let message = format!(
            "every branch of `{role}` gets the same task: name `{{{{{item}}}}}` in the prompt"
        );
        is_same.then(|| Problem {
            severity: Severity::Warning,
            ..edge.problem("prompt", message)
        })
    };
    all_edges(workflow)
        .into_iter()
        .filter_map(problem)
        .collect()
}

/// Tells whether the branches of a role are made from a list that may have several items.
fn has_items(work: &Work<Value>) -> bool {
    match work {
        Work::Branches(branches) => match &branches.of {
            BranchesOf::Each { list, .. } => match list {
                List::Expression(_) => true,
                List::Items(items) => items.len() > 1,
            },
            BranchesOf::Named(_) => false,
        },
        Work::Workflow(_) | Work::Agent => false,
    }
}

/// Tells whether a prompt differs from branch to branch. What is wrong with one that cannot be parsed is told elsewhere.
fn tells_branches_apart(prompt: &str) -> bool {
    let [item, index, _] = NAMES_OF_BRANCHES;
    let Ok(template) = template::parse(prompt) else {
        return true;
    };
    let mut names = template.names().into_iter();
    names.any(|name| {
        name.split('.')
            .next()
            .is_some_and(|first| first == item || first == index)
    })
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
