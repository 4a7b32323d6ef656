//! The results of sharing threads and workflows.

use std::collections::BTreeMap;

use serde::Serialize;
use uwf_engine::{
    Fetched, FetchedAs, FetchedName, HowEnded, Outcome, PushOutcome, Pushed, PushedAs, PushedName,
    Relabelled, machine_of,
};
use uwf_protocol::config::RemoteConfig;
use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_remote::Listed;
use uwf_remote::care::Statistics;
use uwf_util::text::counted;
use uwf_util::time::format_duration;
use uwf_words::remote;

use crate::hints;
use crate::output::Show;
use crate::text::columns::{Column, Room, STATUS, columns};
use crate::text::sharing_care::KeptView;
use crate::text::table::{Page, fields, table};
use crate::text::travel::outcome_text;

/// A remote that was chosen.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AddedRemoteView {
    /// Whether there was none before.
    pub(crate) made: bool,
    pub(crate) url: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) schema: Option<String>,
    /// Its id.
    pub(crate) store: String,
    /// How long it takes for a short call, in milliseconds.
    pub(crate) call_ms: f64,
    /// Whether its user may only read.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) only_reads: bool,
    /// The threads that a lost remote has shared, and this one shares from now on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) replaced: Vec<ThreadId>,
    /// The threads that count as shared, because it is not known whether the lost remote shared them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) presumed: Vec<ThreadId>,
}

impl Show for AddedRemoteView {
    fn text(&self, _page: Page) -> String {
        let schema = self.schema.as_ref();
        let schema = schema.map_or_else(String::new, |schema| format!(" (schema {schema})"));
        let next = match &*self.replaced {
            [] if self.only_reads => {
                "this user may only read: `uwf fetch --all` brings them".to_owned()
            }
            [] => "`uwf push <thread>` shares one".to_owned(),
            threads => format!(
                "it takes the place of the lost remote for {}, and `uwf push --all` sends them; do both on every machine before any of them steps a thread, so that no step is paid for twice",
                counted(threads.len(), "thread")
            ),
        };
        let next = hints::here(&next);
        let what = match self.made {
            true => "a new remote is made, and threads are shared",
            false => "threads are shared",
        };
        format!(
            "{what} at {}{schema}, where a call takes {} ms; {next}",
            self.url, self.call_ms
        )
    }
}

/// The remote, and how much it keeps.
#[derive(Serialize)]
pub(crate) struct RemoteView {
    #[serde(flatten)]
    config: RemoteConfig,
    /// Its id.
    store: String,
    /// How much it keeps, if it can tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    kept: Option<KeptView>,
    /// How many threads it has, if that is all that can be told.
    #[serde(skip_serializing_if = "Option::is_none")]
    threads: Option<usize>,
}

impl RemoteView {
    pub(crate) fn new(
        config: RemoteConfig,
        store: String,
        kept: Option<&Statistics>,
        threads: Option<usize>,
    ) -> Self {
        Self {
            config,
            store,
            kept: kept.map(KeptView::from),
            threads,
        }
    }
}

impl Show for RemoteView {
    fn text(&self, page: Page) -> String {
        let url = self.config.url.clone().unwrap_or_default();
        let mut about = vec![("Remote", url)];
        let schema = self.config.schema.clone();
        about.extend(schema.map(|schema| ("Schema", schema)));
        about.push(("Id", self.store.clone()));
        if let Some(threads) = self.threads {
            about.push(("Shared", counted(threads as u64, "thread")));
        }
        if let Some(kept) = &self.kept {
            about.extend([
                ("Shared", kept.threads_text()),
                ("Workflows", kept.names_text()),
                ("Nodes", kept.nodes_text()),
                ("Condemned", kept.condemned_text()),
            ]);
        }
        fields(&about, page)
    }
}

/// How many ended threads are counted at most that a list does not show.
pub(crate) const MOST_ENDED: usize = 1000;

/// The threads at the remote, newest first.
#[derive(Serialize)]
#[serde(transparent)]
pub(crate) struct RemoteThreadsView {
    threads: Vec<RemoteThread>,
    /// How many have ended and are not shown.
    #[serde(skip)]
    hidden: usize,
}

/// A thread at the remote.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RemoteThread {
    thread: ThreadId,
    workflow: CasRef,
    /// What the workflow calls itself, if it is here.
    #[serde(skip_serializing_if = "Option::is_none")]
    workflow_name: Option<String>,
    head: CasRef,
    status: &'static str,
    /// The status as a person is told it.
    #[serde(skip)]
    shown: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<String>,
    /// Whether it is shared under this root, too.
    here: bool,
    /// Whether a finished step of it is under this root and not at the remote.
    waiting: bool,
    /// Who works on it.
    #[serde(skip_serializing_if = "Option::is_none")]
    machine: Option<String>,
    /// What people call that machine.
    #[serde(skip)]
    worker: Option<String>,
    /// How long that lease still lasts.
    #[serde(skip_serializing_if = "Option::is_none")]
    left_ms: Option<u64>,
}

/// Returns the status of a thread at the remote as a person is told it.
pub(crate) fn remote_status(listed: &Listed) -> &'static str {
    remote::status(listed.status, listed.busy.is_some())
}

/// The columns of the list.
const COLUMNS: [Column; 6] = [
    Column::new("THREAD", Room::Fixed),
    STATUS,
    Column::new("WORKFLOW", Room::Spare(3)),
    Column::new("HERE", Room::Spare(1)),
    Column::new("LABEL", Room::Spare(2)),
    Column::new("AT WORK", Room::Cut),
];

impl RemoteThreadsView {
    /// Returns the view of these threads. `here` are those that are shared under this root, `waiting` those with a finished step that
    /// waits here, and `names` are those of workflows. `hidden` is how many ended threads are left out.
    pub(crate) fn new(
        threads: Vec<Listed>,
        (here, waiting): (&[ThreadId], &[ThreadId]),
        names: &BTreeMap<CasRef, String>,
        hidden: usize,
    ) -> Self {
        let one = |listed: Listed| RemoteThread {
            thread: listed.thread,
            workflow: listed.workflow,
            workflow_name: names.get(&listed.workflow).cloned(),
            head: listed.head,
            status: listed.status.as_str(),
            shown: remote_status(&listed),
            label: listed.label.map(|label| label.to_string()),
            here: here.contains(&listed.thread),
            waiting: waiting.contains(&listed.thread),
            left_ms: listed
                .busy
                .as_ref()
                .map(|(_, left)| u64::try_from(left.as_millis()).unwrap_or(u64::MAX)),
            worker: listed.busy.as_ref().map(|(owner, _)| machine_of(owner)),
            machine: listed.busy.map(|(owner, _)| owner.name),
        };
        Self {
            threads: threads.into_iter().map(one).collect(),
            hidden,
        }
    }
}

impl Show for RemoteThreadsView {
    const HAS_COLOUR: bool = true;

    fn text(&self, page: Page) -> String {
        let hidden = match self.hidden {
            0 => String::new(),
            MOST_ENDED.. => format!("\n{MOST_ENDED} or more ended threads are not shown; --all"),
            some => format!(
                "\n{} not shown; --all",
                counted(some as u64, "ended thread")
            ),
        };
        if self.threads.is_empty() {
            let none = match self.hidden {
                0 => "no such thread at the remote; `uwf push <thread>` shares one".to_owned(),
                _ => format!("no such active thread at the remote{hidden}"),
            };
            return hints::here(&none).into_owned();
        }
        let row = |one: &RemoteThread| {
            let working = match (&one.worker, one.left_ms) {
                (Some(worker), Some(left)) => {
                    format!("{worker}, for {} more", format_duration(left))
                }
                _ => "-".to_owned(),
            };
            let workflow = one.workflow_name.clone();
            vec![
                one.thread.to_string(),
                one.shown.to_owned(),
                workflow.unwrap_or_else(|| one.workflow.to_string()),
                remote::here(one.here, one.waiting).to_owned(),
                one.label.clone().unwrap_or_else(|| "-".to_owned()),
                working,
            ]
        };
        columns(&COLUMNS, self.threads.iter().map(row).collect(), page) + &hidden
    }
}

/// A thread or the name of a workflow that was shared.
#[derive(Serialize)]
#[serde(untagged)]
pub(crate) enum Shared<T, N> {
    Thread(T),
    Name(N),
}

/// Returns a table of the threads and one of the names, of those that have rows.
fn tables<'a, T: 'a, N: 'a>(
    all: impl IntoIterator<Item = &'a Shared<T, N>>,
    nodes: &str,
    thread: impl Fn(&T) -> Vec<String>,
    name: impl Fn(&N) -> Vec<String>,
) -> String {
    let (mut threads, mut names) = (Vec::new(), Vec::new());
    for one in all {
        match one {
            Shared::Thread(one) => threads.push(thread(one)),
            Shared::Name(one) => names.push(name(one)),
        }
    }
    let both = [
        (["THREAD", "HEAD", nodes, "RESULT"], threads),
        (["WORKFLOW", "HASH", nodes, "RESULT"], names),
    ];
    let shown = both.into_iter().filter(|(_, rows)| !rows.is_empty());
    let shown = shown.map(|(headings, rows)| table(&headings, rows));
    shown.collect::<Vec<_>>().join("\n\n")
}

/// Threads and names that were pushed.
#[derive(Serialize)]
#[serde(transparent)]
pub(crate) struct PushedView {
    pub(crate) pushed: Vec<Shared<Pushed, PushedName>>,
    /// Whether all threads were to be pushed that are shared here. Then those without news are only counted.
    #[serde(skip)]
    pub(crate) are_all: bool,
}

impl Show for PushedView {
    fn text(&self, _page: Page) -> String {
        let thread = |one: &Pushed| {
            let said = match one.outcome {
                PushOutcome::Shared => "shared from now on",
                PushOutcome::Forwarded => "the remote has its new steps",
                PushOutcome::Unchanged => "no new steps",
                PushOutcome::Ended => "it has ended for all machines now",
                PushOutcome::Behind => &format!(
                    "no new steps: others have gone on with it; `uwf fetch {}` brings that",
                    one.thread
                ),
            };
            let relabelled = match &one.relabelled {
                Some(Relabelled::Denied(_)) => "; it keeps its label",
                Some(Relabelled::Set) => "; it has the new label",
                Some(Relabelled::Removed) => "; it has no label any more",
                None => "",
            };
            let kept = one.kept.map_or_else(String::new, |step| {
                format!("; others have gone on with it or ended it, so the finished step `{step}` is kept beside it")
            });
            let said = format!("{said}{kept}{relabelled}");
            row(&one.thread, one.head, one.nodes, &said)
        };
        let name = |one: &PushedName| {
            let said = match one.outcome {
                PushedAs::Shared => "shared from now on",
                PushedAs::Forwarded => "the remote has this version now",
                PushedAs::Unchanged => "the remote has this version",
            };
            row(&one.workflow, one.hash, one.nodes, said)
        };
        let is_told = |one: &&Shared<Pushed, PushedName>| match one {
            Shared::Thread(one) => !self.are_all || is_push_news(one),
            Shared::Name(_) => true,
        };
        let told: Vec<_> = self.pushed.iter().filter(is_told).collect();
        let tables = tables(told.iter().copied(), "NODES SENT", thread, name);
        with_count(tables, told.len(), self.pushed.len() - told.len())
    }
}

/// Tells whether a push has changed something about a thread, or a person has to do something about it.
fn is_push_news(one: &Pushed) -> bool {
    let has_changed = one.outcome != PushOutcome::Unchanged || one.nodes > 0;
    has_changed || one.kept.is_some() || one.relabelled.is_some()
}

/// Returns the tables of what there is to tell, and how many other threads there are. `told` is how many rows the tables have.
fn with_count(tables: String, told: usize, others: usize) -> String {
    match (told, others) {
        (_, 0) => tables,
        (0, others) => format!("nothing new in {}", counted(others as u64, "thread")),
        (_, others) => {
            let others = counted(others as u64, "other thread");
            format!("{tables}\n\nnothing new in {others}")
        }
    }
}

fn row(one: &impl ToString, hash: CasRef, nodes: usize, said: &str) -> Vec<String> {
    vec![
        one.to_string(),
        hash.to_string(),
        nodes.to_string(),
        hints::here(said).into_owned(),
    ]
}

/// Returns what a fetch did to a thread. If the thread has ended here by it, that is said, too.
fn outcome_of(one: &Fetched) -> String {
    let said = outcome_text(one.outcome, one.thread, "fetch it again");
    let end = one.end.map(|end| match end {
        HowEnded::Completed => "it has ended there (completed)",
        HowEnded::Cancelled => "it has ended there (cancelled)",
    });
    match (one.outcome, end) {
        (Outcome::FastForwarded, Some(end)) if !one.is_new_head => end.to_owned(),
        (Outcome::FastForwarded | Outcome::Added, Some(end)) => format!("{said}; {end}"),
        _ => said,
    }
}

/// Returns what happened to a thread that was fetched.
fn fetched(one: &Fetched) -> String {
    let said = || outcome_of(one);
    let waits = || {
        format!(
            "a finished step is here and not at the remote; `uwf push {}` shares it, or keeps it beside the thread",
            one.thread
        )
    };
    if one.ended_there && one.outcome == Outcome::Busy {
        return format!(
            "busy: it has ended at the remote, and an agent or another command is at work on it here; `uwf thread kill {}` ends that",
            one.thread
        );
    }
    match (one.outcome, one.waiting_step) {
        (Outcome::AnswerWaits, Some(_)) => format!("waiting: {}", waits()),
        (Outcome::Ahead, None) => format!("{}; `uwf push {}` tells the remote", said(), one.thread),
        (Outcome::Busy, _) | (_, None) => said(),
        (_, Some(_)) => format!("{}; {}", said(), waits()),
    }
}

/// Tells whether a fetch has brought something of a thread, or a person has to do something about it.
fn is_news(one: &Fetched) -> bool {
    one.outcome != Outcome::Unchanged || one.nodes > 0 || one.waiting_step.is_some()
}

/// What was to be fetched.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// Workflows by their names, perhaps with threads.
    Names,
    /// All threads of the remote.
    AllThreads,
    /// The threads that are shared here.
    SharedThreads,
    /// Threads that were named.
    NamedThreads,
}

/// Threads and names that were fetched.
#[derive(Serialize)]
#[serde(transparent)]
pub(crate) struct FetchedView {
    pub(crate) fetched: Vec<Shared<Fetched, FetchedName>>,
    #[serde(skip)]
    pub(crate) wanted: Wanted,
}

impl Show for FetchedView {
    fn text(&self, _page: Page) -> String {
        if self.fetched.is_empty() {
            let nothing = match self.wanted {
                Wanted::Names => {
                    "no workflow has a name at the remote; `uwf push --workflow <name>` shares one"
                }
                Wanted::AllThreads => {
                    "the remote has no thread; `uwf push <thread>` shares one that is here"
                }
                Wanted::SharedThreads | Wanted::NamedThreads => {
                    "no thread is shared here; `uwf fetch --all` brings those of the remote"
                }
            };
            return hints::here(nothing).into_owned();
        }
        let is_told = |one: &&Shared<Fetched, FetchedName>| match (one, self.wanted) {
            (Shared::Thread(one), Wanted::AllThreads | Wanted::SharedThreads) => is_news(one),
            (Shared::Thread(_), Wanted::NamedThreads | Wanted::Names) | (Shared::Name(_), _) => {
                true
            }
        };
        let told: Vec<_> = self.fetched.iter().filter(is_told).collect();
        let thread = |one: &Fetched| {
            let said = fetched(one);
            row(&one.thread, one.head, one.nodes, &said)
        };
        let name = |one: &FetchedName| {
            let said = match (one.outcome, one.before) {
                (FetchedAs::Added, _) => "registered".to_owned(),
                (_, Some(before)) => format!("registered in place of {before}"),
                (_, None) => "no new version".to_owned(),
            };
            row(&one.workflow, one.hash, one.nodes, &said)
        };
        let tables = tables(told.iter().copied(), "NODES", thread, name);
        with_count(tables, told.len(), self.fetched.len() - told.len())
    }
}
