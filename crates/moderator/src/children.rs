//! Which child threads a role needs: one for the workflow that plays it, or one for each of its branches.

use serde_json::{Value, json};
use uwf_protocol::answer::STATUS_FIELD;
use uwf_protocol::ids::CasRef;
use uwf_protocol::work::{BranchesOf, MAX_ITEMS, Player, Work};

use crate::graph::status_of;
use crate::route::Assignment;
use crate::template::{self, Failure};

/// The names that the prompt of a branch has beside the last answer: its item (or its name), its index from 0, and how many
/// branches there are.
pub(crate) const NAMES_OF_BRANCHES: [&str; 3] = ["item", "index", "count"];

/// A child thread that a role needs.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedChild {
    /// The branch: its name, or the index of its item; empty if the role has no branches.
    pub key: String,
    /// Who does it.
    pub player: Player<CasRef>,
    /// Its task.
    pub prompt: String,
    /// Its item, if the branches are made from a list.
    pub item: Option<Value>,
}

/// Why the child threads of a role are unknown. The thread is blocked.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum PlanError {
    /// The expression of `each` gave something else.
    #[error(
        "`each` gave no list, but {0}; in brackets, as in `[ … ]`, an expression gives a list of any number of items"
    )]
    NoList(&'static str),
    /// The list is too long.
    #[error("`each` gave a list of {0} items, more than {MAX_ITEMS}")]
    TooMany(usize),
    /// The instruction of a branch could not be filled in.
    #[error("the prompt of branch `{key}`: {problem}")]
    Prompt {
        /// The branch.
        key: String,
        /// What is wrong.
        problem: Failure,
    },
    /// The instruction of a branch is blank.
    #[error("the prompt of branch `{0}` is blank")]
    Blank(String),
}

/// Returns the child threads of a role, in the order of its branches. `answer` is the data of the last step, and `items` what
/// `each` gave; it is `null` for roles without. Without an instruction a child gets `task`, that of its parent.
///
/// # Errors
/// When the items are no list or too many, or an instruction cannot be filled in.
pub fn plan(
    work: &Work<CasRef>,
    assignment: &Assignment,
    answer: Option<&Value>,
    items: Value,
    task: &str,
) -> Result<Vec<PlannedChild>, PlanError> {
    let branches = match work {
        Work::Agent => return Ok(Vec::new()),
        Work::Workflow(played) => {
            return Ok(vec![PlannedChild {
                key: String::new(),
                player: Player::Workflow(played.workflow),
                prompt: match assignment.prompt.trim().is_empty() {
                    true => task.to_owned(),
                    false => assignment.prompt.clone(),
                },
                item: None,
            }]);
        }
        Work::Branches(branches) => branches,
    };
    let nothing = json!({});
    let answer = answer.unwrap_or(&nothing);
    let routed = json!({ STATUS_FIELD: status_of(answer) });
    match &branches.of {
        BranchesOf::Each { player, .. } => {
            let items = list_of(items)?;
            let count = items.len();
            let planned = items.into_iter().enumerate().map(|(index, item)| {
                let key = index.to_string();
                let of_item = view(&item, index, count);
                Ok(PlannedChild {
                    prompt: fill_in(&assignment.prompt, &[&routed, answer, &of_item], &key, task)?,
                    player: player.clone(),
                    key,
                    item: Some(item),
                })
            });
            planned.collect()
        }
        BranchesOf::Named(named) => {
            let count = named.len();
            // The store keeps the keys of an object in an order of its own.
            let mut named: Vec<_> = named.iter().collect();
            named.sort_unstable_by_key(|(name, _)| *name);
            let planned = named.into_iter().enumerate().map(|(index, (key, branch))| {
                let of_branch = view(&json!(key), index, count);
                let template = branch.prompt.as_deref().unwrap_or(&assignment.prompt);
                Ok(PlannedChild {
                    prompt: fill_in(template, &[&routed, answer, &of_branch], key, task)?,
                    player: branch.player.clone(),
                    key: key.clone(),
                    item: None,
                })
            });
            planned.collect()
        }
    }
}

fn list_of(items: Value) -> Result<Vec<Value>, PlanError> {
    let found = match items {
        Value::Array(items) if items.len() > MAX_ITEMS => {
            return Err(PlanError::TooMany(items.len()));
        }
        Value::Array(items) => return Ok(items),
        Value::Null => "nothing",
        Value::Bool(_) => "a truth value",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Object(_) => "an object",
    };
    Err(PlanError::NoList(found))
}

fn view(item: &Value, index: usize, count: usize) -> Value {
    let [of_item, of_index, of_count] = NAMES_OF_BRANCHES;
    json!({ of_item: item, of_index: index, of_count: count })
}

fn fill_in(template: &str, views: &[&Value], key: &str, task: &str) -> Result<String, PlanError> {
    if template.trim().is_empty() {
        return Ok(task.to_owned());
    }
    let filled = template::parse(template)
        .map_err(Failure::from)
        .and_then(|template| Ok(template.render(views)?));
    let prompt = filled.map_err(|problem| PlanError::Prompt {
        key: key.to_owned(),
        problem,
    })?;
    match prompt.trim().is_empty() {
        true => Err(PlanError::Blank(key.to_owned())),
        false => Ok(prompt),
    }
}
