//! The facts of a step's detail that views show beside its data: how the data was extracted, what the agent
//! might do, which tool calls were refused, and what was used up.

use serde_json::Value;
use uwf_cas_fs::{Store, StoreError};
use uwf_protocol::artifact::Artifact;
use uwf_protocol::checks::CheckResult;
use uwf_protocol::child::{ChildrenDetail, EndedChild};
use uwf_protocol::ids::CasRef;
use uwf_protocol::nodes::{Extraction, RefusedCalls, Usage};
use uwf_protocol::permissions::Permissions;
use uwf_protocol::schemas;
use uwf_protocol::step_files::StepFiles;

/// The summary of a detail. Of details that the agent kit did not write, only the usage is known.
#[derive(Debug, Default)]
pub(crate) struct DetailSummary {
    pub(crate) extraction: Option<Extraction>,
    pub(crate) refused_calls: Vec<RefusedCalls>,
    /// What came of the checks of the role.
    pub(crate) checks: Vec<CheckResult>,
    /// The files that the agent left.
    pub(crate) artifacts: Vec<Artifact>,
    /// The snapshots before and after it, if the files were recorded.
    pub(crate) files: Option<StepFiles>,
    /// What the agent was allowed to do, if anything said so.
    pub(crate) permissions: Option<Permissions>,
    /// `None` if nothing is known.
    pub(crate) usage: Option<Usage>,
    /// The child threads that did the step.
    pub(crate) children: Vec<EndedChild>,
}

impl DetailSummary {
    /// Reads the summary of a detail node.
    pub(crate) fn read(store: &Store, detail: CasRef) -> Result<Self, StoreError> {
        let node = store.need(detail)?;
        Ok(Self::of(node.type_hash, &node.payload))
    }

    /// Returns the summary of a detail, by its type and its payload.
    pub(crate) fn of(type_hash: CasRef, detail: &Value) -> Self {
        let usage = Usage::of_detail(detail);
        let usage = (usage != Usage::default()).then_some(usage);
        if let Some(ChildrenDetail { children, .. }) = ChildrenDetail::of(type_hash, detail) {
            return Self {
                children,
                ..Self::default()
            };
        }
        if !schemas::is_detail(type_hash) {
            return Self {
                usage,
                ..Self::default()
            };
        }
        let read = |key: &str| detail.get(key).cloned();
        let extraction = read("extraction").and_then(|it| serde_json::from_value(it).ok());
        let refused = read("refusedCalls").and_then(|it| serde_json::from_value(it).ok());
        let permissions = read("permissions").and_then(|it| serde_json::from_value(it).ok());
        let checks = read("checks").and_then(|it| serde_json::from_value(it).ok());
        let artifacts = read("artifacts").and_then(|it| serde_json::from_value(it).ok());
        Self {
            extraction,
            refused_calls: refused.unwrap_or_default(),
            checks: checks.unwrap_or_default(),
            artifacts: artifacts.unwrap_or_default(),
            files: files_of(detail),
            permissions,
            usage,
            children: Vec::new(),
        }
    }
}

/// Returns the snapshots that a detail names, if the files of its step were recorded.
pub(crate) fn files_of(detail: &Value) -> Option<StepFiles> {
    let files = detail.get("files").filter(|files| !files.is_null())?;
    // A detail of a program that writes its own may have another field of that name.
    let files = serde_json::from_value::<StepFiles>(Value::clone(files)).ok();
    files.filter(StepFiles::is_sound)
}
