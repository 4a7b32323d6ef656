//! How many levels of child threads a workflow needs below its own threads.

use indexmap::IndexMap;
use uwf_protocol::ids::RoleName;
use uwf_protocol::work::{Player, Work};
use uwf_protocol::workflow::{NodeName, Workflow};

/// Returns how many levels of child threads each role of the graph needs. `of` tells how many another workflow needs.
///
/// # Errors
/// The first error of `of`.
pub fn levels<'w, W, E>(
    workflow: &'w Workflow<W>,
    of: &mut dyn FnMut(&W) -> Result<u64, E>,
) -> Result<IndexMap<&'w RoleName, u64>, E> {
    let mut search = Search {
        workflow,
        of,
        known: IndexMap::new(),
    };
    let mut levels = IndexMap::new();
    for node in workflow.graph.keys() {
        if let NodeName::Role(role) = node {
            levels.insert(role, search.role(role)?);
        }
    }
    Ok(levels)
}

struct Search<'w, 'f, W, E> {
    workflow: &'w Workflow<W>,
    of: &'f mut dyn FnMut(&W) -> Result<u64, E>,
    known: IndexMap<&'w RoleName, u64>,
}

impl<'w, W, E> Search<'w, '_, W, E> {
    fn role(&mut self, role: &'w RoleName) -> Result<u64, E> {
        if let Some(known) = self.known.get(role) {
            return Ok(*known);
        }
        // A role that plays itself is another mistake: the search ends here.
        self.known.insert(role, 0);
        let work = self.workflow.roles.get(role).map(|role| &role.work);
        let levels = match work {
            Some(Work::Workflow(played)) => 1 + (self.of)(&played.workflow)?,
            Some(Work::Branches(branches)) => {
                let mut deepest = 0;
                for player in branches.players() {
                    deepest = deepest.max(match player {
                        Player::Role(role) => self.role(role)?,
                        Player::Workflow(workflow) => (self.of)(workflow)?,
                    });
                }
                1 + deepest
            }
            Some(Work::Agent) | None => 0,
        };
        self.known.insert(role, levels);
        Ok(levels)
    }
}
