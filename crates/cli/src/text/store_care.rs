//! The results of `uwf cas stats` and `uwf cas repair`.

use std::path::PathBuf;

use serde::Serialize;
use uwf_cas_fs::DamagedFile;
use uwf_engine::{
    LargeNode, LostNode, NodeTotal, Repair, RepairMode, StoreStats, Suffering, TypeStats,
};
use uwf_protocol::ids::CasRef;
use uwf_util::size;
use uwf_util::text::counted;

use crate::hints;
use crate::local_time;
use crate::output::Show;
use crate::text::table::{Page, fields, table};

impl Show for StoreStats {
    fn text(&self, page: Page) -> String {
        let total = |total: &NodeTotal| {
            format!(
                "{} ({})",
                counted(total.nodes, "node"),
                size::format(total.bytes)
            )
        };
        let all = NodeTotal {
            nodes: self.nodes,
            bytes: self.bytes,
        };
        let when = |ms: Option<i64>| ms.map_or_else(|| "-".to_owned(), local_time::moment);
        let summary = fields(
            &[
                ("stored", total(&all)),
                ("in use", total(&self.used)),
                ("not in use", total(&self.unused)),
                ("oldest", when(self.oldest)),
                ("newest", when(self.newest)),
            ],
            page,
        );
        if self.nodes == 0 {
            return summary;
        }
        let types = table(
            &["TYPE", "NODES", "SIZE", "TITLE"],
            self.types.iter().map(type_row).collect(),
        );
        let largest = table(
            &["LARGEST", "SIZE", "TYPE"],
            self.largest.iter().map(large_row).collect(),
        );
        [summary, types, largest].join("\n\n")
    }
}

fn type_row(one: &TypeStats) -> Vec<String> {
    vec![
        one.r#type
            .map_or_else(|| "-".to_owned(), |hash| hash.to_string()),
        one.usage.nodes.to_string(),
        size::format(one.usage.bytes),
        title(one.r#type, one.title.as_ref()),
    ]
}

fn large_row(one: &LargeNode) -> Vec<String> {
    vec![
        one.hash.to_string(),
        size::format(one.bytes),
        title(one.r#type, one.title.as_ref()),
    ]
}

fn title(schema: Option<CasRef>, title: Option<&String>) -> String {
    match (schema, title) {
        (None, _) => "(damaged)".to_owned(),
        (Some(_), None) => "(untitled)".to_owned(),
        (Some(_), Some(title)) => title.clone(),
    }
}

/// A store that was repaired, or would be.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RepairView {
    ok: bool,
    dry_run: bool,
    nodes: usize,
    damaged: Vec<DamagedItem>,
    restored: Vec<CasRef>,
    lost: Vec<LostNode>,
    needed_by: Vec<Suffering>,
    temporary_files: Vec<PathBuf>,
}

/// A file that does not hold its node.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct DamagedItem {
    hash: CasRef,
    file: PathBuf,
    reason: String,
    /// Whether it can be moved. A file that we may not read is left where it is.
    movable: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    moved_to: Option<PathBuf>,
}

impl From<DamagedFile> for DamagedItem {
    fn from(file: DamagedFile) -> Self {
        Self {
            hash: file.hash,
            file: file.path,
            reason: file.reason,
            movable: file.movable,
            moved_to: file.moved_to,
        }
    }
}

impl RepairView {
    pub(crate) fn new(repair: Repair, mode: RepairMode) -> Self {
        Self {
            ok: repair.is_sound(),
            dry_run: mode == RepairMode::Look,
            nodes: repair.nodes,
            damaged: repair.damaged.into_iter().map(DamagedItem::from).collect(),
            restored: repair.restored,
            lost: repair.lost,
            needed_by: repair.suffering,
            temporary_files: repair.temporary,
        }
    }

    fn damaged_line(&self, file: &DamagedItem) -> String {
        let what = match &file.moved_to {
            Some(to) => format!("moved to {}", to.display()),
            None if !file.movable => {
                "left where it is; make it readable, and repair again".to_owned()
            }
            None => "would be moved to the quarantine folder of the store".to_owned(),
        };
        format!(
            "{} is damaged: {}; {what}",
            file.file.display(),
            file.reason
        )
    }

    /// Returns the last line: what it all means.
    fn conclusion(&self) -> String {
        let nodes = counted(self.nodes, "node");
        if self.damaged.is_empty() && self.lost.is_empty() && self.restored.is_empty() {
            return format!("{nodes} checked, nothing to repair");
        }
        let state = match (self.ok, self.dry_run) {
            (true, true) => "the store would be sound",
            (true, false) => "the store is sound",
            (false, _) => "the store stays damaged",
        };
        format!(
            "{nodes} checked, {} damaged, {} {}, {} lost: {state}",
            counted(self.damaged.len(), "file"),
            self.restored.len(),
            if self.dry_run {
                "would be restored"
            } else {
                "restored"
            },
            self.lost.len()
        )
    }
}

impl Show for RepairView {
    fn text(&self, _page: Page) -> String {
        let mut lines: Vec<String> = Vec::new();
        lines.extend(self.damaged.iter().map(|file| self.damaged_line(file)));
        let restored = if self.dry_run {
            "would be restored"
        } else {
            "is restored"
        };
        lines.extend(
            self.restored
                .iter()
                .map(|hash| format!("node {hash} {restored}")),
        );
        let lost = self.lost.iter();
        lines.extend(lost.map(|node| format!("node {} {}", node.hash, node.problem)));
        lines.extend(self.needed_by.iter().map(meaning));
        let temporary = self.temporary_files.iter();
        lines.extend(temporary.map(|file| {
            let said = "was left behind by a program that was killed; `uwf cas gc` removes it";
            hints::here(&format!("{} {said}", file.display())).into_owned()
        }));
        lines.push(self.conclusion());
        lines.join("\n")
    }
}

/// Returns what a loss means, and what can be typed about it.
fn meaning(one: &Suffering) -> String {
    let without = |nodes: &[CasRef]| {
        let named: Vec<&str> = nodes.iter().take(3).map(CasRef::as_str).collect();
        let more = match nodes.len().saturating_sub(named.len()) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        format!("{}{more}", named.join(", "))
    };
    let text = match one {
        Suffering::Thread {
            thread,
            nodes,
            goes_on: true,
        } => format!(
            "thread {thread} needs {}: it can go on, but cannot be read in full",
            without(nodes)
        ),
        Suffering::Thread {
            thread,
            nodes,
            goes_on: false,
        } => format!(
            "thread {thread} needs {}: it cannot go on; `uwf cas repair --from <copy>` brings nodes back, `uwf thread fork <step>` goes on from an earlier step",
            without(nodes)
        ),
        Suffering::EndedThread {
            ended_thread: thread,
            nodes,
        } => format!(
            "thread {thread}, which has ended, needs {}: it cannot be read in full",
            without(nodes)
        ),
        Suffering::Workflow {
            workflow: name,
            nodes,
        } => format!(
            "workflow {name} needs {}: no thread of it can be started; `uwf workflow put <file>` puts it again",
            without(nodes)
        ),
    };
    hints::here(&text).into_owned()
}
