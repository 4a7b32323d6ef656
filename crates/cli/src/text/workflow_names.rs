//! What names of workflows mean and meant, and what differs between two workflows, as text.

use uwf_engine::{
    ComparedWorkflow, NamedWorkflow, RemovedName, RolledBack, VersionAction, WorkflowDifference,
    WorkflowHistory, WorkflowMeaning, WorkflowVersion,
};
use uwf_protocol::ids::CasRef;
use uwf_util::text::counted;

use crate::hints;
use crate::local_time;
use crate::output::Show;
use crate::text::table::{Page, columns, table};
use crate::text::workflow_diff;

impl Show for WorkflowMeaning {
    fn text(&self, _page: Page) -> String {
        let row = |sign: &str, workflow: &NamedWorkflow| {
            let path = workflow.path.display().to_string();
            vec![sign.to_owned(), hash_or_mistakes(workflow.hash), path]
        };
        let mut rows = vec![row("used", &self.used)];
        rows.extend(self.hidden.iter().map(|one| row("hidden", one)));
        columns(&rows)
    }
}

fn hash_or_mistakes(hash: Option<CasRef>) -> String {
    hash.map_or_else(|| "(mistakes)".to_owned(), |hash| hash.to_string())
}

impl Show for WorkflowDifference {
    fn text(&self, _page: Page) -> String {
        let side = |sign: &str, side: &ComparedWorkflow| {
            let path = side.path.as_ref().map(|path| path.display().to_string());
            vec![
                sign.to_owned(),
                side.hash.to_string(),
                side.name.clone(),
                path.unwrap_or_default(),
            ]
        };
        let sides = columns(&[side("-", &self.before), side("+", &self.after)]);
        let mut lines = workflow_diff::lines(&self.diff);
        if self.same {
            lines.push("the same workflow".to_owned());
        } else if lines.is_empty() {
            lines.push("only descriptions of conditions differ".to_owned());
        }
        format!("{sides}\n\n{}", lines.join("\n"))
    }
}

impl Show for WorkflowHistory {
    fn text(&self, _page: Page) -> String {
        let rows = self.versions.iter().map(version_row).collect();
        let when = local_time::heading("WHEN");
        let mut parts = vec![table(&["VERSION", &when, "WHAT", "WORKFLOW", ""], rows)];
        if self.unreadable > 0 {
            parts.push(format!(
                "{} of `registry.history.jsonl` cannot be read",
                counted(self.unreadable, "line")
            ));
        }
        parts.join("\n\n")
    }
}

fn version_row(version: &WorkflowVersion) -> Vec<String> {
    let when = version.timestamp.map(local_time::cell);
    let what = match version.action {
        VersionAction::Put => "put",
        VersionAction::Rollback => "rollback",
        VersionAction::Removed => "removed",
    };
    let hash = version.hash.map(|hash| hash.to_string());
    vec![
        version.number.to_string(),
        when.unwrap_or_else(|| "-".to_owned()),
        what.to_owned(),
        hash.unwrap_or_else(|| "-".to_owned()),
        if version.current { "current" } else { "" }.to_owned(),
    ]
}

impl Show for RolledBack {
    fn text(&self, _page: Page) -> String {
        let before = match self.before {
            Some(before) if before == self.hash => "as before".to_owned(),
            Some(before) => format!("was {before}"),
            None => "was removed".to_owned(),
        };
        format!("{}  {}  {before}", self.hash, self.name)
    }
}

impl Show for RemovedName {
    fn text(&self, _page: Page) -> String {
        let text = format!(
            "`{}` is removed; it stood for {}\nits threads go on; `uwf workflow rollback {}` brings it back",
            self.name, self.hash, self.name
        );
        hints::here(&text).into_owned()
    }
}
