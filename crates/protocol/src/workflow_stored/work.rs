//! How the work of a role is written, in the store and in files: beside the other fields of the role, and only if no agent
//! does it.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::ids::{CasRef, RoleName};
use crate::work::{Branch, Branches, BranchesOf, Join, List, Played, Player, Work};

const ALL: &str = "all";
const ANY: &str = "any";

/// Returns the fields of the work. An agent has none.
pub(crate) fn write<S: Serialize>(work: &Work<S>) -> Map<String, Value> {
    let mut fields = Map::new();
    match work {
        Work::Agent => {}
        Work::Workflow(played) => {
            fields.insert("workflow".to_owned(), json!(played.workflow));
            insert(&mut fields, "returns", played.returns.as_ref());
        }
        Work::Branches(branches) => {
            match &branches.of {
                BranchesOf::Each { list, player } => {
                    let list = match list {
                        List::Expression(expression) => json!(expression),
                        List::Items(items) => json!(items),
                    };
                    fields.insert("each".to_owned(), list);
                    fields.extend(write_player(player));
                }
                BranchesOf::Named(named) => {
                    let branch = |branch: &Branch<S>| {
                        let mut fields = write_player(&branch.player);
                        insert(&mut fields, "prompt", branch.prompt.as_ref());
                        Value::Object(fields)
                    };
                    let named = named.iter().map(|(name, one)| (name.clone(), branch(one)));
                    fields.insert("branches".to_owned(), named.collect());
                }
            }
            fields.insert("join".to_owned(), write_join(branches.join));
            insert(&mut fields, "max", branches.max.as_ref());
        }
    }
    fields
}

/// Returns how a number of branches is written, in the store and in files.
pub(crate) fn write_join(join: Join) -> Value {
    match join {
        Join::All => json!(ALL),
        Join::Any => json!(ANY),
        Join::Count(count) => json!(count),
    }
}

/// Returns the join that a word means.
pub(crate) fn join_of(word: &str) -> Option<Join> {
    match word {
        ALL => Some(Join::All),
        ANY => Some(Join::Any),
        _ => None,
    }
}

fn write_player<S: Serialize>(player: &Player<S>) -> Map<String, Value> {
    let (key, value) = match player {
        Player::Role(role) => ("role", json!(role)),
        Player::Workflow(workflow) => ("workflow", json!(workflow)),
    };
    Map::from_iter([(key.to_owned(), value)])
}

fn insert<T: Serialize>(fields: &mut Map<String, Value>, key: &str, value: Option<&T>) {
    if let Some(value) = value {
        fields.insert(key.to_owned(), json!(value));
    }
}

/// The fields of a role that say who does its work.
#[derive(Deserialize)]
pub(crate) struct StoredWork {
    workflow: Option<CasRef>,
    returns: Option<String>,
    role: Option<RoleName>,
    each: Option<StoredList>,
    branches: Option<IndexMap<String, StoredBranch>>,
    join: Option<StoredJoin>,
    max: Option<u64>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum StoredList {
    Expression(String),
    Items(Vec<Value>),
}

#[derive(Deserialize)]
struct StoredBranch {
    workflow: Option<CasRef>,
    role: Option<RoleName>,
    prompt: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum StoredJoin {
    Count(u64),
    Word(String),
}

impl StoredWork {
    /// Returns the work; `None` if the fields contradict each other.
    pub(crate) fn read(self) -> Option<Work<CasRef>> {
        let join = match self.join {
            None => Join::All,
            Some(StoredJoin::Count(count)) => Join::Count(count),
            Some(StoredJoin::Word(word)) => join_of(&word)?,
        };
        let of = match (self.each, self.branches) {
            (None, None) => {
                return Some(match (self.workflow, self.role) {
                    (None, None) => Work::Agent,
                    (Some(workflow), None) => Work::Workflow(Played {
                        workflow,
                        returns: self.returns,
                    }),
                    (_, Some(_)) => return None,
                });
            }
            (Some(_), Some(_)) => return None,
            (Some(list), None) => BranchesOf::Each {
                list: match list {
                    StoredList::Expression(expression) => List::Expression(expression),
                    StoredList::Items(items) => List::Items(items),
                },
                player: player(self.workflow, self.role)?,
            },
            (None, Some(named)) => {
                let branches = named.into_iter().map(|(name, stored)| {
                    let branch = Branch {
                        player: player(stored.workflow, stored.role)?,
                        prompt: stored.prompt,
                    };
                    Some((name, branch))
                });
                BranchesOf::Named(branches.collect::<Option<_>>()?)
            }
        };
        let max = self.max;
        Some(Work::Branches(Branches { of, join, max }))
    }
}

fn player(workflow: Option<CasRef>, role: Option<RoleName>) -> Option<Player<CasRef>> {
    match (workflow, role) {
        (Some(workflow), None) => Some(Player::Workflow(workflow)),
        (None, Some(role)) => Some(Player::Role(role)),
        (None, None) | (Some(_), Some(_)) => None,
    }
}
