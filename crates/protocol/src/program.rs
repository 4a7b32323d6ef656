//! The program that a thread runs, in any language.
//!
//! Each language has its own node types, so the type of the stored node tells the language. The role graph is the only
//! language so far. This module answers the questions that do not depend on the language; the moderator says what comes
//! next. Code that needs the graph itself matches on it.

use serde_json::Value;

use crate::ids::{CasRef, RoleName};
use crate::limits::Limits;
use crate::workflow::{Role, Workflow, WorkflowSupervisor};
use crate::workflow_stored::{self, StoredError};

/// A stored program.
#[derive(Debug, Clone, PartialEq)]
pub enum Program {
    /// Roles and a graph that says who comes next.
    Graph(Workflow),
}

impl Program {
    /// Reads the payload of a node of this type.
    ///
    /// # Errors
    /// When no language stores its programs under the type, or the payload is malformed.
    pub fn from_node(type_hash: CasRef, payload: &Value) -> Result<Self, StoredError> {
        workflow_stored::from_payload(type_hash, payload).map(Self::Graph)
    }

    /// Returns its name.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Graph(workflow) => &workflow.name,
        }
    }

    /// Returns how far a thread may go by itself.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        match self {
            Self::Graph(workflow) => &workflow.limits,
        }
    }

    /// Returns when a model judges a thread, if the program says so.
    #[must_use]
    pub fn supervisor(&self) -> Option<&WorkflowSupervisor> {
        match self {
            Self::Graph(workflow) => workflow.supervisor.as_ref(),
        }
    }

    /// Returns the names of the roles, in the order of the program.
    pub fn roles(&self) -> impl Iterator<Item = &RoleName> {
        match self {
            Self::Graph(workflow) => workflow.roles.keys(),
        }
    }

    /// Returns the definition of a role; `None` if the program has no such role.
    #[must_use]
    pub fn task(&self, role: &RoleName) -> Option<&Role> {
        match self {
            Self::Graph(workflow) => workflow.roles.get(role),
        }
    }
}
