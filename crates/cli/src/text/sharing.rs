//! The results of sharing threads.

use serde::Serialize;
use uwf_engine::{Fetched, PushOutcome, Pushed, machine_of};
use uwf_protocol::config::RemoteConfig;
use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_remote::Listed;
use uwf_remote_postgres::Statistics;
use uwf_util::time::format_duration;

use crate::output::Show;
use crate::text::sharing_care::KeptView;
use crate::text::table::{Page, fields, table};
use crate::text::travel::outcome_text;

/// A remote that was chosen.
#[derive(Serialize)]
pub(crate) struct AddedRemoteView {
    pub(crate) url: String,
    pub(crate) schema: String,
    pub(crate) store: String,
}

impl Show for AddedRemoteView {
    fn text(&self, _page: Page) -> String {
        format!(
            "threads are shared at {} (schema {}); `uwf push <thread>` shares one",
            self.url, self.schema
        )
    }
}

/// The remote, and the threads that are there.
#[derive(Serialize)]
pub(crate) struct RemoteView {
    #[serde(flatten)]
    config: RemoteConfig,
    threads: Vec<RemoteThread>,
    kept: KeptView,
}

/// A thread at the remote.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RemoteThread {
    thread: ThreadId,
    head: CasRef,
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<String>,
    /// Whether it is shared under this root, too.
    here: bool,
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

impl RemoteView {
    pub(crate) fn new(
        config: RemoteConfig,
        threads: Vec<Listed>,
        here: &[ThreadId],
        kept: &Statistics,
    ) -> Self {
        let one = |listed: Listed| RemoteThread {
            thread: listed.thread,
            head: listed.head,
            status: listed.status.as_str(),
            label: listed
                .label
                .map(|label| format!("{}={}", label.key.as_str(), label.value.as_str())),
            here: here.contains(&listed.thread),
            left_ms: listed
                .busy
                .as_ref()
                .map(|(_, left)| u64::try_from(left.as_millis()).unwrap_or(u64::MAX)),
            worker: listed.busy.as_ref().map(|(owner, _)| machine_of(owner)),
            machine: listed.busy.map(|(owner, _)| owner.name),
        };
        Self {
            config,
            threads: threads.into_iter().map(one).collect(),
            kept: KeptView::from(kept),
        }
    }
}

impl Show for RemoteView {
    fn text(&self, page: Page) -> String {
        let url = self.config.url.clone().unwrap_or_default();
        let schema = self
            .config
            .schema
            .as_deref()
            .unwrap_or(RemoteConfig::SCHEMA);
        let head = fields(
            &[
                ("Remote", url),
                ("Schema", schema.to_owned()),
                ("Shared", self.kept.threads_text()),
                ("Nodes", self.kept.nodes_text()),
                ("Condemned", self.kept.condemned_text()),
            ],
            page,
        );
        if self.threads.is_empty() {
            return head;
        }
        let row = |one: &RemoteThread| {
            let working = match (&one.worker, one.left_ms) {
                (Some(worker), Some(left)) => {
                    format!("{worker}, for {} more", format_duration(left))
                }
                _ => String::new(),
            };
            let here = if one.here { "yes" } else { "no" };
            let label = one.label.clone().unwrap_or_default();
            let (thread, head) = (one.thread.to_string(), one.head.to_string());
            vec![
                thread,
                head,
                one.status.to_owned(),
                here.to_owned(),
                label,
                working,
            ]
        };
        let threads = table(
            &["THREAD", "HEAD", "STATUS", "HERE", "LABEL", "AT WORK"],
            self.threads.iter().map(row).collect(),
        );
        format!("{head}\n\n{threads}")
    }
}

/// Threads that were pushed.
#[derive(Serialize)]
#[serde(transparent)]
pub(crate) struct PushedView(pub(crate) Vec<Pushed>);

impl Show for PushedView {
    fn text(&self, _page: Page) -> String {
        let row = |one: &Pushed| {
            let said = match one.outcome {
                PushOutcome::Shared => "shared from now on",
                PushOutcome::Forwarded => "the remote has its new steps",
                PushOutcome::Unchanged => "no new steps",
                PushOutcome::Behind => {
                    "no new steps: others have gone on with it; `uwf fetch` brings that"
                }
            };
            let nodes = one.nodes.to_string();
            vec![
                one.thread.to_string(),
                one.head.to_string(),
                nodes,
                said.to_owned(),
            ]
        };
        table(
            &["THREAD", "HEAD", "NODES SENT", "RESULT"],
            self.0.iter().map(row).collect(),
        )
    }
}

/// Threads that were fetched.
#[derive(Serialize)]
#[serde(transparent)]
pub(crate) struct FetchedView(pub(crate) Vec<Fetched>);

impl Show for FetchedView {
    fn text(&self, _page: Page) -> String {
        if self.0.is_empty() {
            return "no thread is shared here; `uwf fetch --all` brings those of the remote"
                .to_owned();
        }
        let row = |one: &Fetched| {
            let said = outcome_text(one.outcome, one.thread);
            let nodes = one.nodes.to_string();
            vec![one.thread.to_string(), one.head.to_string(), nodes, said]
        };
        table(
            &["THREAD", "HEAD", "NODES", "RESULT"],
            self.0.iter().map(row).collect(),
        )
    }
}
