//! The program that a thread runs, in any language.
//!
//! Each language has its own node types, so the type of the stored node tells the language. This module answers the questions that do not depend on the language; the moderator says what comes
//! next. Code that needs the graph itself matches on it.

use std::sync::{Arc, LazyLock};

use serde_json::Value;
use uwf_pipeline::{Pipeline, nodes};

use crate::ids::{CasRef, RoleName};
use crate::limits::Limits;
use crate::policy::ContextPolicy;
use crate::schemas;
use crate::workflow::{Role, Workflow, WorkflowSupervisor};
use crate::workflow_stored::{self, StoredError};
use crate::workspace::WorkspaceMode;

/// The limits of a pipeline: it has counters of its own.
static NO_LIMITS: LazyLock<Limits> = LazyLock::new(Limits::default);

/// A stored program.
#[derive(Debug, Clone, PartialEq)]
#[expect(
    clippy::large_enum_variant,
    reason = "there are few programs in memory at once, and most are graphs"
)]
pub enum Program {
    /// Roles and a graph that says who comes next.
    Graph(Workflow),
    /// Steps in a fixed order. A resume may have changed it since the start of the thread.
    Pipeline(Arc<Pipeline>),
}

impl Program {
    /// Reads the payload of a node of this type.
    ///
    /// # Errors
    /// When no language stores its programs under the type, or the payload is malformed.
    pub fn from_node(type_hash: CasRef, payload: &Value) -> Result<Self, StoredError> {
        if type_hash == schemas::PIPELINE {
            let pipeline = nodes::pipeline_of(payload)?;
            return Ok(Self::Pipeline(Arc::new(pipeline)));
        }
        workflow_stored::from_payload(type_hash, payload).map(Self::Graph)
    }

    /// Returns the graph, if the program is one.
    #[must_use]
    pub fn as_graph(&self) -> Option<&Workflow> {
        match self {
            Self::Graph(workflow) => Some(workflow),
            Self::Pipeline(_) => None,
        }
    }

    /// Returns its name.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Graph(workflow) => &workflow.name,
            Self::Pipeline(pipeline) => &pipeline.name,
        }
    }

    /// Returns how far a thread may go by itself.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        match self {
            Self::Graph(workflow) => &workflow.limits,
            Self::Pipeline(_) => &NO_LIMITS,
        }
    }

    /// Returns when a model judges a thread, if the program says so.
    #[must_use]
    pub fn supervisor(&self) -> Option<&WorkflowSupervisor> {
        match self {
            Self::Graph(workflow) => workflow.supervisor.as_ref(),
            Self::Pipeline(_) => None,
        }
    }

    /// Returns how much of what happened the prompts of its roles show, as far as the program says it.
    #[must_use]
    pub fn context(&self) -> ContextPolicy {
        match self {
            Self::Graph(workflow) => workflow.context,
            Self::Pipeline(_) => ContextPolicy::default(),
        }
    }

    /// Returns where the agents of a thread work, if the program says so.
    #[must_use]
    pub fn workspace(&self) -> Option<WorkspaceMode> {
        self.as_graph()?.workspace
    }

    /// Returns the names of the roles, in the order of the program. A pipeline has none: the keys of its steps depend on items.
    pub fn roles(&self) -> impl Iterator<Item = &RoleName> {
        let roles = match self {
            Self::Graph(workflow) => Some(workflow.roles.keys()),
            Self::Pipeline(_) => None,
        };
        roles.into_iter().flatten()
    }

    /// Returns the definition of a role; `None` if the program has no such role.
    #[must_use]
    pub fn task(&self, role: &RoleName) -> Option<&Role> {
        match self {
            Self::Graph(workflow) => workflow.roles.get(role),
            Self::Pipeline(_) => None,
        }
    }
}
