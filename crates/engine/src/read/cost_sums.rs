//! The sums of [`cost`](crate::cost): which runs count, once each, and in which row.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::str::FromStr;

use indexmap::IndexMap;
use serde::Serialize;
use uwf_protocol::child::ChildrenDetail;
use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_protocol::limits::Used;
use uwf_protocol::naming::LabelSelector;
use uwf_protocol::nodes::{StepNode, Usage};
use uwf_protocol::run::Attempt;
use uwf_storage::ReplacedStep;
use uwf_thread::{Head, Stored, read_program, read_start, read_step, steps, used_by_replaced};
use uwf_util::text::counted;
use uwf_util::time;

use crate::read::outline::first_line;
use crate::read::removed_cost::{OfRemoved, Spent};
use crate::read::usage_total::UsageTotal;
use crate::read::work::Work;
use crate::unknown_word::{UnknownWord, value_of};
use crate::{EngineError, Site};

/// What the runs of one row have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CostKey {
    /// The role that did them.
    Role,
    /// The label of the agent.
    Agent,
    /// The model that answered.
    Model,
    /// The name of the workflow.
    Workflow,
    /// The day on which they ended, in UTC.
    Day,
    /// The thread.
    Thread,
}

impl CostKey {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Role,
        Self::Agent,
        Self::Model,
        Self::Workflow,
        Self::Day,
        Self::Thread,
    ];

    /// Returns the word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Role => "role",
            Self::Agent => "agent",
            Self::Model => "model",
            Self::Workflow => "workflow",
            Self::Day => "day",
            Self::Thread => "thread",
        }
    }
}

impl FromStr for CostKey {
    type Err = UnknownWord;

    fn from_str(word: &str) -> Result<Self, UnknownWord> {
        value_of(word, Self::ALL, Self::as_str)
    }
}

/// Which runs are summed, and how.
#[derive(Debug, Clone)]
pub struct CostOptions {
    /// The threads; none means all.
    pub threads: Vec<ThreadId>,
    /// Only threads that have all of these labels.
    pub labels: Vec<LabelSelector>,
    /// What the runs of one row have in common.
    pub by: CostKey,
    /// Only runs that ended at this time or later, in milliseconds since 1970.
    pub since_ms: Option<i64>,
}

/// What threads cost.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CostReport {
    /// What the runs of one row have in common.
    pub by: CostKey,
    /// The time before which runs do not count, if there is one.
    pub since_ms: Option<i64>,
    /// The sums: days and threads by time, the newest first; all others by cost, the highest first.
    pub rows: Vec<CostRow>,
    /// What threads used up that were removed. It is no row, because only the sum of it is on record.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub removed: Option<UsageTotal>,
    /// The sum of all rows and of removed threads.
    pub total: UsageTotal,
    /// What the sums leave out, one line each.
    #[serde(skip)]
    pub warnings: Vec<String>,
}

/// One sum.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CostRow {
    /// What the runs have in common; `None` if that is not on record.
    pub key: Option<String>,
    /// The first line of the task, if the row is a thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// What they used up.
    #[serde(flatten)]
    pub usage: UsageTotal,
}

/// The runs of one thread.
pub(crate) struct Account {
    id: ThreadId,
    task: Option<String>,
    workflow: String,
    /// The steps that no older thread has, newest first.
    steps: Vec<Work>,
    runs: Vec<Run>,
    /// What runs used up that are not on record one by one: old failed attempts, replaced steps that are gone, and reviews.
    others: Used,
}

impl Account {
    /// Returns what the runs used up that no removed thread had.
    pub(crate) fn spent(&self) -> Spent {
        let mut used = self.others.clone();
        let own = self.runs.iter().filter(|run| !run.is_of_removed);
        let mut steps = Vec::new();
        for run in own {
            used.add_all(&run.used);
            steps.extend(run.step);
        }
        Spent { used, steps }
    }

    /// Returns what those of these steps used up that the account has.
    pub(crate) fn used_for(&self, steps: &[CasRef]) -> Used {
        let is_meant = |run: &&Run| run.step.is_some_and(|step| steps.contains(&step));
        let mut used = Used::default();
        let runs = self.runs.iter().filter(is_meant);
        runs.for_each(|run| used.add_all(&run.used));
        used
    }

    /// Tells whether the account has a step with this digest.
    pub(crate) fn has(&self, step: CasRef) -> bool {
        self.runs.iter().any(|run| run.step == Some(step))
    }
}

/// One run.
struct Run {
    role: String,
    agent: String,
    model: Option<String>,
    ended_ms: i64,
    used: Used,
    /// The digest of its step, if it became one.
    step: Option<CasRef>,
    /// Whether a removed thread had that step.
    is_of_removed: bool,
}

/// The sums so far.
pub(crate) struct Sums<'o> {
    options: &'o CostOptions,
    /// The steps that others replaced, by their threads.
    replaced: HashMap<ThreadId, Vec<CasRef>>,
    /// What was counted.
    seen: HashSet<Work>,
    sums: IndexMap<Option<String>, (Used, Option<String>)>,
    of_removed: OfRemoved,
    /// The part of the usage of removed threads that counts for threads that are here.
    again: Used,
    removed: Option<Used>,
    total: Used,
    /// How many runs of threads that are here have no time on record, and were left out.
    untimed: u64,
    /// How many runs of removed threads were left out.
    left_of_removed: u64,
    /// What the sums leave out, one line each.
    pub(crate) warnings: Vec<String>,
}

impl<'o> Sums<'o> {
    pub(crate) fn new(options: &'o CostOptions, of_removed: OfRemoved) -> Self {
        Self {
            options,
            replaced: HashMap::new(),
            seen: HashSet::new(),
            sums: IndexMap::new(),
            of_removed,
            again: Used::default(),
            removed: None,
            total: Used::default(),
            untimed: 0,
            left_of_removed: 0,
            warnings: Vec::new(),
        }
    }

    /// Gets to know the steps that others replaced. Then each of them is a run of its own.
    pub(crate) fn tell_replaced(&mut self, steps: &[ReplacedStep]) {
        for step in steps.iter().filter(|step| !step.is_migration()) {
            let known = self.replaced.entry(step.in_thread).or_default();
            if !known.contains(&step.replaced) {
                known.push(step.replaced);
            }
        }
    }

    /// Reads the runs of a thread that were not counted yet.
    pub(crate) fn read(
        &self,
        site: &Site,
        id: ThreadId,
        head: CasRef,
    ) -> Result<Account, EngineError> {
        let start = read_start(&site.store, Head::read(&site.store, head)?.start())?.node;
        let ledger = site.root.run(id).ledger;
        let mut record = ledger.export_at(head);
        let uncounted = ledger.uncounted_replaced(head);
        if let Some(used) = uncounted.and_then(|step| used_by_replaced(&site.store, step)) {
            record.dropped.add_all(&used);
        }
        let mut account = Account {
            id,
            task: first_line(&start.prompt),
            workflow: read_program(&site.store, start.workflow)?.name().to_owned(),
            steps: Vec::new(),
            runs: Vec::new(),
            others: record.dropped,
        };
        for attempt in &record.attempts {
            self.count_attempt(site, attempt, &mut account);
        }
        for step in steps(&site.store, head) {
            let step = step?;
            let work = Work::of(&step.node);
            // Then all steps before it were counted, too.
            if self.seen.contains(&work) {
                break;
            }
            let run = Run::of_step(site, step)?;
            self.count_step(work, run, &mut account);
        }
        self.count_replaced(site, head, &mut account);
        account.others.add_all(&record.reviews.used);
        account.others.add_all(&record.summaries.used);
        Ok(account)
    }

    /// Makes a run of a failed attempt. If its step is kept beside the thread, a fork may go on from that step, and has it, too.
    fn count_attempt(&self, site: &Site, attempt: &Attempt, account: &mut Account) {
        let run = Run::of_attempt(attempt);
        let kept = attempt.kept.map(|step| read_step(&site.store, step));
        let Some(Ok(step)) = kept else {
            account.runs.push(run);
            return;
        };
        let work = Work::of(&step.node);
        if self.seen.contains(&work) {
            return;
        }
        self.count_step(work, run, account);
    }

    /// Adds a run that became a step.
    fn count_step(&self, work: Work, run: Run, account: &mut Account) {
        let digest = work.digest();
        account.steps.push(work);
        account.runs.push(Run {
            step: Some(digest),
            is_of_removed: self.of_removed.steps.contains(&digest),
            ..run
        });
    }

    /// Makes runs of the steps that were replaced, as far as they can be read. What they used up is in a sum without roles and times:
    /// it is taken out of that sum. A step that an older thread has is counted with that one.
    fn count_replaced(&self, site: &Site, head: CasRef, account: &mut Account) {
        for replaced in self.replaced.get(&account.id).into_iter().flatten() {
            let Ok(step) = read_step(&site.store, *replaced) else {
                continue;
            };
            // The call that was to replace it may have been killed before it did.
            let work = Work::of(&step.node);
            let is_seen = self.seen.contains(&work);
            let mut chain = steps(&site.store, head).map_while(Result::ok);
            if account.steps.contains(&work)
                || (is_seen && chain.any(|step| step.hash == *replaced))
            {
                continue;
            }
            if let Ok(run) = Run::of_step(site, step)
                && account.others.has(&run.used)
            {
                account.others = account.others.beyond(&run.used);
                if !is_seen {
                    self.count_step(work, run, account);
                }
            }
        }
    }

    /// Takes the steps of a chain for counted, as far as they can be read.
    pub(crate) fn see_chain(&mut self, site: &Site, head: CasRef) {
        for step in steps(&site.store, head).map_while(Result::ok) {
            if !self.seen.insert(Work::of(&step.node)) {
                break;
            }
        }
    }

    /// Adds the threads that were removed, without the steps that threads which are here have. Only their sum is on record, so
    /// it is left out if times or labels choose the runs.
    pub(crate) fn add_removed(&mut self) {
        let used = self.of_removed.used.beyond(&self.again);
        if self.of_removed.unknown > 0 {
            let threads = counted(self.of_removed.unknown, "removed thread");
            self.warnings.push(format!(
                "the sum leaves out {threads} whose usage is not on record"
            ));
        }
        let needs_more = self.options.since_ms.is_some() || !self.options.labels.is_empty();
        let is_nothing = used == Used::default();
        if !is_nothing && needs_more {
            self.left_of_removed += used.runs;
        } else if !is_nothing {
            self.total.add_all(&used);
            self.removed = Some(used);
        }
    }

    /// Adds the runs of a thread that were not counted yet.
    pub(crate) fn add(&mut self, account: &Account) {
        self.seen.extend(account.steps.iter().cloned());
        let again = account.runs.iter().filter(|run| run.is_of_removed);
        again.for_each(|run| self.again.add_all(&run.used));
        let counts = |run: &&Run| {
            let since = self.options.since_ms;
            since.is_none_or(|since| run.ended_ms >= since)
        };
        let runs: Vec<&Run> = account.runs.iter().filter(counts).collect();
        for run in runs {
            self.add_to(self.key(account, Some(run)), account, &run.used);
        }
        match self.options.since_ms {
            _ if account.others.runs == 0 => {}
            Some(_) => self.untimed += account.others.runs,
            None => self.add_to(self.key(account, None), account, &account.others),
        }
    }

    /// Returns the row of a run; of runs that are not on record one by one, if there is none.
    fn key(&self, account: &Account, run: Option<&Run>) -> Option<String> {
        match self.options.by {
            CostKey::Thread => Some(account.id.to_string()),
            CostKey::Workflow => Some(account.workflow.clone()),
            CostKey::Role => run.map(|run| run.role.clone()),
            CostKey::Agent => run.map(|run| run.agent.clone()),
            CostKey::Model => run.and_then(|run| run.model.clone()),
            CostKey::Day => run.map(|run| time::date_utc(run.ended_ms)),
        }
    }

    fn add_to(&mut self, key: Option<String>, account: &Account, used: &Used) {
        let task = || {
            account
                .task
                .clone()
                .filter(|_| self.options.by == CostKey::Thread)
        };
        let (sum, _) = self
            .sums
            .entry(key)
            .or_insert_with(|| (Used::default(), task()));
        sum.add_all(used);
        self.total.add_all(used);
    }

    pub(crate) fn report(self) -> CostReport {
        let mut warnings = self.warnings;
        if self.untimed > 0 {
            let runs = counted(self.untimed, "earlier run");
            warnings.push(format!(
                "the sum leaves out {runs} without a time on record"
            ));
        }
        if self.left_of_removed > 0 {
            let runs = counted(self.left_of_removed, "run");
            let lacking = match self.options.since_ms {
                Some(_) => "times",
                None => "labels",
            };
            warnings.push(format!(
                "the sum leaves out {runs} of removed threads, whose {lacking} are not on record"
            ));
        }
        let row = |(key, (used, task)): (_, (Used, _))| CostRow {
            key,
            task,
            usage: UsageTotal::from(&used),
        };
        let mut rows: Vec<CostRow> = self.sums.into_iter().map(row).collect();
        match self.options.by {
            CostKey::Thread => rows.reverse(),
            CostKey::Day => rows.sort_by_key(|row| Reverse(row.key.clone())),
            CostKey::Role | CostKey::Agent | CostKey::Model | CostKey::Workflow => {
                rows.sort_by(most_first);
            }
        }
        CostReport {
            by: self.options.by,
            since_ms: self.options.since_ms,
            rows,
            removed: self.removed.as_ref().map(UsageTotal::from),
            total: UsageTotal::from(&self.total),
            warnings,
        }
    }
}

/// Orders rows by cost, then by tokens and time; equal ones by name.
fn most_first(one: &CostRow, other: &CostRow) -> std::cmp::Ordering {
    let dollars = |row: &CostRow| row.usage.cost_usd.unwrap_or(0.0);
    let rest = |row: &CostRow| (row.usage.tokens, row.usage.duration_ms);
    let by_cost = dollars(other).total_cmp(&dollars(one));
    let by_rest = rest(other).cmp(&rest(one));
    by_cost.then(by_rest).then_with(|| one.key.cmp(&other.key))
}

impl Run {
    fn of_attempt(attempt: &Attempt) -> Self {
        Self {
            role: attempt.role.to_string(),
            agent: attempt.agent.clone(),
            model: None,
            ended_ms: attempt.ended_at_ms,
            used: Used::of_attempt(attempt),
            step: None,
            is_of_removed: false,
        }
    }

    fn of_step(site: &Site, step: Stored<StepNode>) -> Result<Self, EngineError> {
        let Stored {
            node, timestamp_ms, ..
        } = step;
        let detail = site.store.need(node.detail)?;
        let mut used = Used::default();
        // What children used up is counted with their own threads.
        if ChildrenDetail::of(detail.type_hash, &detail.payload).is_none() {
            let usage = Usage::of_step(&node.agent, detail.type_hash, &detail.payload);
            used.add(Some(&usage), node.duration_ms());
        }
        let detail = detail.payload;
        let model = detail.get("model").and_then(serde_json::Value::as_str);
        Ok(Self {
            role: node.role.to_string(),
            agent: node.agent,
            model: model.map(str::to_owned),
            ended_ms: node.completed_at_ms.unwrap_or(timestamp_ms),
            used,
            step: None,
            is_of_removed: false,
        })
    }
}
