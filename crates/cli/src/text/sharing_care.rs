//! The results of the care for a remote.

use std::collections::BTreeMap;

use serde::Serialize;
use uwf_engine::machine_of;
use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_remote::Lease;
use uwf_remote::care::{Collected, Fault, Migrated, Needing, Statistics, Verified};
use uwf_util::size;
use uwf_util::text::counted;

use crate::hints;
use crate::output::Show;
use crate::text::table::Page;

/// How much a remote keeps.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct KeptView {
    by_status: BTreeMap<&'static str, u64>,
    leases: u64,
    names: u64,
    nodes: u64,
    bytes: u64,
    condemned: u64,
    condemned_bytes: u64,
}

impl From<&Statistics> for KeptView {
    fn from(kept: &Statistics) -> Self {
        let by_status = kept.threads.iter();
        Self {
            by_status: by_status
                .map(|(status, threads)| (status.as_str(), *threads))
                .collect(),
            leases: kept.leases,
            names: kept.names,
            nodes: kept.nodes,
            bytes: kept.bytes,
            condemned: kept.condemned,
            condemned_bytes: kept.condemned_bytes,
        }
    }
}

impl KeptView {
    pub(super) fn threads_text(&self) -> String {
        let all = counted(self.by_status.values().sum::<u64>(), "thread");
        let of_status = self.by_status.iter();
        let parts: Vec<String> = of_status
            .map(|(status, threads)| format!("{threads} {status}"))
            .collect();
        match parts.as_slice() {
            [] => all,
            parts => format!("{all} ({})", parts.join(", ")),
        }
    }

    pub(super) fn names_text(&self) -> String {
        counted(self.names, "name")
    }

    pub(super) fn nodes_text(&self) -> String {
        format!(
            "{} ({})",
            counted(self.nodes, "node"),
            size::format(self.bytes)
        )
    }

    pub(super) fn condemned_text(&self) -> String {
        let bytes = size::format(self.condemned_bytes);
        format!("{} ({bytes})", counted(self.condemned, "node"))
    }
}

/// Whether a remote is whole.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct VerifiedRemoteView {
    /// The schema, as SQL names it.
    #[serde(skip)]
    schema: String,
    ok: bool,
    threads: u64,
    nodes: u64,
    names: u64,
    problems: Vec<RemoteProblem>,
    /// The threads that need what is damaged or missing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    needed_by_threads: Vec<String>,
    /// The names of workflows that need it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    needed_by_names: Vec<String>,
    /// How many nodes were put right, if that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    repaired: Option<usize>,
    /// How many nodes could be put right from this machine, by the owner of the schema alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    need_owner: Option<usize>,
    /// What was done about each kind of fault.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    done: Option<Repaired>,
}

/// What was done about a remote that has lost or damaged something.
#[derive(Clone, Copy, Default, Serialize)]
pub(crate) struct Repaired {
    /// How many nodes were sent that were missing.
    pub(crate) sent: usize,
    /// How many damaged nodes were replaced.
    pub(crate) replaced: usize,
    /// For how many nodes what is stored about their references was put right.
    pub(crate) relinked: usize,
    /// How many damaged nodes this user must not replace.
    #[serde(skip)]
    pub(crate) owner_replaces: usize,
    /// For how many nodes this user must not put right what is stored about their references.
    #[serde(skip)]
    pub(crate) owner_relinks: usize,
}

impl Repaired {
    /// Adds what a later repair has done. It has also tried again what only the owner may do.
    pub(crate) fn add(&mut self, later: Self) {
        *self = Self {
            sent: self.sent + later.sent,
            replaced: self.replaced + later.replaced,
            relinked: self.relinked + later.relinked,
            ..later
        };
    }

    fn all(self) -> usize {
        self.sent + self.replaced + self.relinked
    }

    fn need_owner(self) -> usize {
        self.owner_replaces + self.owner_relinks
    }

    /// Says what was done, and what only the owner of the schema may do.
    fn text(self) -> Vec<String> {
        let nodes = |count: usize| counted(count, "node");
        let mut said = Vec::new();
        if self.sent > 0 || self.all() == 0 {
            said.push(format!("{} sent", nodes(self.sent)));
        }
        if self.replaced > 0 {
            let damaged = counted(self.replaced, "damaged node");
            said.push(format!("{damaged} replaced"));
        }
        if self.relinked > 0 {
            said.push(format!(
                "the references of {} put right",
                nodes(self.relinked)
            ));
        }
        if self.owner_replaces > 0 {
            let damaged = counted(self.owner_replaces, "damaged node");
            let need = if self.owner_replaces == 1 {
                "needs"
            } else {
                "need"
            };
            said.push(format!("{damaged} {need} the owner of the schema"));
        }
        if self.owner_relinks > 0 {
            said.push(format!(
                "the references of {} need the owner of the schema, who puts them right from any machine",
                nodes(self.owner_relinks)
            ));
        }
        said
    }
}

/// Says how the owner of the schema repairs what others must not.
fn as_owner() -> String {
    let here = hints::here(
        "as the owner: `uwf config set remote.url <url>` with that user in the address and its password as UWF_REMOTE_PASSWORD, then the same command; or `uwf thread export <thread> -o <file>` here",
    );
    // These are for another machine, which has another root.
    format!(
        "{here}, then `uwf thread import <file>` and `uwf remote verify --repair` on a machine of the owner"
    )
}

/// Something that is wrong with a remote.
#[derive(Serialize)]
struct RemoteProblem {
    verdict: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    node: Option<CasRef>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thread: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    workflow: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    missing: Vec<CasRef>,
    reason: String,
}

impl From<Fault> for RemoteProblem {
    fn from(fault: Fault) -> Self {
        let reason = fault.to_string();
        let found = |verdict| Self {
            verdict,
            node: None,
            thread: None,
            workflow: None,
            missing: Vec::new(),
            reason,
        };
        match fault {
            Fault::Damaged(node) => Self {
                node: Some(node),
                ..found("corrupted")
            },
            Fault::OtherRefs { node, .. } | Fault::UnknownRefs(node) => Self {
                node: Some(node),
                ..found("mislinked")
            },
            Fault::NodeLacks { node, missing } => Self {
                node: Some(node),
                missing,
                ..found("lacking")
            },
            Fault::ThreadLacks { thread, missing } => Self {
                thread: Some(thread),
                missing,
                ..found("lacking")
            },
            Fault::NameLacks { name, missing } => Self {
                workflow: Some(name),
                missing: vec![missing],
                ..found("lacking")
            },
            Fault::Senseless { thread, .. } => Self {
                thread: Some(thread),
                ..found("invalid")
            },
        }
    }
}

impl VerifiedRemoteView {
    pub(crate) fn new(
        schema: &str,
        verified: Verified,
        faults: Vec<Fault>,
        needing: Needing,
        repaired: Option<Repaired>,
    ) -> Self {
        Self {
            schema: format!("\"{schema}\""),
            ok: faults.is_empty(),
            threads: verified.threads,
            nodes: verified.nodes,
            names: verified.names,
            problems: faults.into_iter().map(RemoteProblem::from).collect(),
            needed_by_threads: needing.threads,
            needed_by_names: needing.names,
            repaired: repaired.map(Repaired::all),
            need_owner: repaired
                .map(Repaired::need_owner)
                .filter(|count| *count > 0),
            done: repaired,
        }
    }

    /// Returns who needs what is damaged or missing, and what to type, as lines.
    fn advice(&self) -> Vec<String> {
        let (threads, names) = (&self.needed_by_threads, &self.needed_by_names);
        let needed = [("threads", threads), ("names", names)].into_iter();
        let needed = needed.filter(|(_, all)| !all.is_empty());
        let mut lines: Vec<String> = needed
            .map(|(what, all)| format!("{what} that need this: {}", all.join(", ")))
            .collect();
        match self.done {
            Some(done) => lines.push(self.repair(done)),
            None if self.problems.iter().any(|one| one.verdict != "invalid") => lines.push(
                hints::here("`uwf remote verify --repair` sends it again from a machine that has it; the owner of the schema can also replace what is damaged").into_owned(),
            ),
            None => {}
        }
        lines.extend(self.removal());
        lines
    }

    /// Returns how the rows of threads are removed about which something is stored that makes no sense. No node would repair them.
    fn removal(&self) -> Option<String> {
        let problems = self.problems.iter();
        let mut threads = problems
            .filter(|one| one.verdict == "invalid")
            .filter_map(|one| one.thread.as_deref());
        let first = threads.next()?;
        let thread = match threads.all(|one| one == first) {
            true => first,
            false => "<thread>",
        };
        let (schema, quoted) = (&self.schema, thread.replace('\'', "''"));
        Some(format!(
            "what makes no sense is not repaired: as the owner of the schema, in psql, `DELETE FROM {schema}.history WHERE thread = '{quoted}'; DELETE FROM {schema}.threads WHERE id = '{quoted}';` removes the thread from the remote; then {} on the machine that has most of it shares it again",
            hints::here(&format!("`uwf push {thread}`"))
        ))
    }

    /// Returns what a repair has done, who can do what it must not do, and where the rest may be.
    fn repair(&self, done: Repaired) -> String {
        let mut said = done.text();
        let of = |verdict: &'static str| {
            let problems = self.problems.iter();
            problems.filter(move |one| one.verdict == verdict).count()
        };
        if of("lacking") > 0 || of("corrupted") + of("mislinked") > done.need_owner() {
            said.push("the rest is not whole on this machine: run the same on another one that has these threads, or bring them from there by `uwf thread export` and `uwf thread import`".to_owned());
        }
        let said = said.join("; ");
        match done.need_owner() {
            0 => said,
            _ => format!("{said}\n{}", as_owner()),
        }
    }

    /// Tells whether nothing is wrong.
    pub(crate) fn is_sound(&self) -> bool {
        self.ok
    }
}

impl Show for VerifiedRemoteView {
    fn text(&self, _page: Page) -> String {
        let problems = self.problems.iter();
        let mut lines: Vec<String> = problems.map(|one| one.reason.clone()).collect();
        lines.extend(self.advice());
        let (threads, nodes) = (counted(self.threads, "thread"), counted(self.nodes, "node"));
        let names = counted(self.names, "name");
        let found = match self.problems.len() {
            0 => "no problems".to_owned(),
            some => counted(some, "problem"),
        };
        lines.push(format!("{threads}, {names} and {nodes} checked, {found}"));
        lines.join("\n")
    }
}

/// What was added to a remote.
#[derive(Serialize)]
pub(crate) struct MigratedRemoteView {
    from: u32,
    to: u32,
}

impl From<Migrated> for MigratedRemoteView {
    fn from(Migrated { from, to }: Migrated) -> Self {
        Self { from, to }
    }
}

impl Show for MigratedRemoteView {
    fn text(&self, _page: Page) -> String {
        let Self { from, to } = self;
        match from == to {
            true => format!("the remote has version {to} already"),
            false => format!("the remote has version {to} now; it had version {from}"),
        }
    }
}

/// What a collection of garbage did at the remote, or would do.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CollectedRemoteView {
    condemned: u64,
    reprieved: u64,
    removed: u64,
    /// Whether nothing was changed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    dry_run: bool,
}

impl CollectedRemoteView {
    pub(crate) fn new(collected: Collected, dry_run: bool) -> Self {
        Self {
            condemned: collected.condemned,
            reprieved: collected.reprieved,
            removed: collected.removed,
            dry_run,
        }
    }
}

impl Show for CollectedRemoteView {
    fn text(&self, _page: Page) -> String {
        let would = if self.dry_run { "would be " } else { "" };
        format!(
            "{} {would}removed; {} more {would}condemned; {} {would}reprieved, because they are needed again",
            counted(self.removed, "node"),
            self.condemned,
            self.reprieved
        )
    }
}

/// A thread on which nobody works any more.
#[derive(Serialize)]
pub(crate) struct ReleasedView {
    thread: ThreadId,
    released: bool,
    /// Who had it.
    #[serde(skip_serializing_if = "Option::is_none")]
    machine: Option<String>,
    /// What people call that machine.
    #[serde(skip)]
    worker: Option<String>,
    /// Whether the thread is here.
    #[serde(skip)]
    is_here: bool,
}

impl ReleasedView {
    pub(crate) fn new(thread: ThreadId, ended: Option<Lease>, is_here: bool) -> Self {
        Self {
            thread,
            is_here,
            released: ended.is_some(),
            worker: ended.as_ref().map(|lease| machine_of(&lease.owner)),
            machine: ended.map(|lease| lease.owner.name),
        }
    }
}

impl Show for ReleasedView {
    fn text(&self, _page: Page) -> String {
        let thread = self.thread;
        match &self.worker {
            Some(worker) => {
                let step = format!("`uwf thread step {thread}`");
                let how = match self.is_here {
                    true => format!("this one with {step}"),
                    false => format!("this one with `uwf fetch {thread}` and then {step}"),
                };
                let how = hints::here(&how);
                format!(
                    "the lease of {worker} is ended; any machine that has the thread may go on, {how}"
                )
            }
            None => format!("nobody works on thread {thread}; there was nothing to end"),
        }
    }
}
