//! Reads threads as lines of a list. There may be very many: of an ended thread, only its ends are read.

use std::collections::HashMap;
use std::rc::Rc;

use uwf_moderator::{HistoryNeed, Route, RouteError, end_result, history_need};
use uwf_protocol::chain::StepContext;
use uwf_protocol::config::Config;
use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_protocol::limits::Used;
use uwf_protocol::nodes::StartNode;
use uwf_protocol::program::Program;
use uwf_storage::{HistoryRecord, Located, Paused, Reason};
use uwf_thread::{Head, read_program, read_start, steps_with_outputs, summarize, with_output};

use crate::children::{has_children, parent_of, taken_up};
use crate::conditions::{self, Conditions};
use crate::limits::{self, LimitedThread};
use crate::pipelines::route::recorded_route_of;
use crate::read::activity;
use crate::read::detail_summary::DetailSummary;
use crate::read::outline::{self, Active, Outline};
use crate::read::selection::ListFilter;
use crate::read::show::ended_status;
use crate::read::standing::{Standing, assigned_to_children};
use crate::read::thread_item::ThreadItem;
use crate::read::thread_state::ThreadStatus;
use crate::thread::Thread;
use crate::{EngineError, Site};

/// A thread that was not read yet.
#[derive(Clone)]
pub(super) struct Candidate {
    pub(super) id: ThreadId,
    pub(super) place: Located,
}

/// An active thread in brief: as much of its line in a list as counting threads needs.
pub(super) struct Brief {
    pub(super) status: ThreadStatus,
    /// Whether it counts as blocked only because its conditions were not evaluated.
    not_evaluated: bool,
    /// Why it cannot be read, if it cannot.
    pub(super) error: Option<String>,
}

/// What tells where an active thread stands.
struct ActiveThread {
    start: StartNode,
    program: Rc<Program>,
    /// The steps that its route needs, oldest first.
    steps: Vec<StepContext>,
    standing: Standing,
    pause: Option<Paused>,
}

/// Reads threads. Each workflow is read once.
pub(super) struct Reader<'a> {
    pub(super) site: &'a Site,
    programs: HashMap<CasRef, Rc<Program>>,
    config: Config,
    conditions: Conditions<'a>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(site: &'a Site) -> Self {
        Self {
            site,
            programs: HashMap::new(),
            config: limits::config_for_views(site),
            conditions: Conditions::of_a_list(),
        }
    }

    /// Reads threads, with all the time that their conditions need.
    pub(super) fn items(&mut self, candidates: impl Iterator<Item = Candidate>) -> Vec<ThreadItem> {
        let mut items: Vec<ThreadItem> = candidates.map(|one| self.item(one)).collect();
        self.evaluate_rest(&mut items);
        items
    }

    pub(super) fn item(&mut self, candidate: Candidate) -> ThreadItem {
        match candidate.place {
            Located::Archived(record) => self.ended(&record),
            Located::Active(head) => self.active(candidate.id, head),
        }
    }

    /// Reads an ended thread: its last step and its task, and what is on record about the other steps. There may be very many
    /// ended threads, so their chains are not read. What cannot be read is left out: the thread has ended nevertheless.
    fn ended(&mut self, record: &HistoryRecord) -> ThreadItem {
        let store = &self.site.store;
        let ledger = self.site.root.run(record.thread).ledger;
        let program = self.program(record.workflow).ok();
        let (start, last) = match Head::read(store, record.head) {
            Ok(Head::Start(start)) => (Some(start), None),
            Ok(Head::Step(step)) => (read_start(store, step.node.start).ok(), Some(step)),
            Err(_) => (None, None),
        };
        let start = start.map(|start| start.node);
        let failed = activity::failed_resume(&ledger, record);
        let mut outline = Outline {
            usage: outline::on_record(&ledger, record.head),
            resumable: program
                .as_ref()
                .is_some_and(|program| outline::can_be_resumed(program)),
            ..Outline::of_ended(self.site, record, start.as_ref())
                .with_failed_resume(failed.as_ref())
        };
        if let (Some(program), Some(last), Reason::Completed) = (&program, last, record.reason)
            && let Ok(last) = with_output(store, last)
            && let Some(result) = end_result(program, &last)
        {
            outline = outline.with_result(result).in_lines();
        }
        let summary = ledger.chain_summary();
        let summary = summary.filter(|summary| summary.head == record.head);
        ThreadItem {
            parent: start.and_then(|start| parent_of(record.thread, &start).cloned()),
            workflow: Some(record.workflow),
            workflow_name: program.map(|program| program.name().to_owned()),
            steps: summary.map(|summary| summary.steps),
            failure_reason: failed.map(|attempt| attempt.error),
            outline,
            ..ThreadItem::new(record.thread, record.head, ended_status(record.reason))
        }
    }

    /// Reads candidates until enough of them have one of these statuses. The result also has the candidates in between whose
    /// status is not known yet.
    pub(super) fn items_with(
        &mut self,
        statuses: &[ThreadStatus],
        candidates: impl Iterator<Item = Candidate>,
        filter: &ListFilter,
    ) -> Vec<ThreadItem> {
        let enough = filter.take.map(|take| filter.skip.saturating_add(take));
        let mut items = Vec::new();
        let mut certain = 0;
        for candidate in candidates {
            if enough.is_some_and(|enough| certain >= enough) {
                break;
            }
            let item = self.item(candidate);
            if item.not_evaluated {
                items.push(item);
            } else if statuses.contains(&item.status) {
                certain += 1;
                items.push(item);
            }
        }
        items
    }

    /// Reads active threads in brief, each with its head. That takes half the time of reading them as lines of a list.
    pub(super) fn briefs(&mut self, active: &[(ThreadId, CasRef)]) -> Vec<(ThreadId, Brief)> {
        let briefs = active
            .iter()
            .map(|(id, head)| (*id, self.brief(*id, *head)));
        let mut briefs: Vec<(ThreadId, Brief)> = briefs.collect();
        self.conditions.ask_again();
        let heads = active.iter().map(|(_, head)| head);
        for ((id, brief), head) in briefs.iter_mut().zip(heads) {
            if brief.not_evaluated {
                *brief = self.brief(*id, *head);
            }
        }
        briefs
    }

    fn brief(&mut self, id: ThreadId, head: CasRef) -> Brief {
        match self.active_thread(id, head, &mut None) {
            Ok(thread) => {
                let Standing { route, state, .. } = thread.standing;
                let is_blocked = state.status == ThreadStatus::Blocked;
                Brief {
                    status: state.with_pause(thread.pause).status,
                    not_evaluated: is_blocked && conditions::not_evaluated(&route),
                    error: None,
                }
            }
            Err(error) => Brief {
                status: ThreadStatus::Corrupt,
                not_evaluated: false,
                error: Some(error.to_string()),
            },
        }
    }

    /// Evaluates the conditions that took too long at first, with all the time that is left.
    pub(super) fn evaluate_rest(&mut self, items: &mut [ThreadItem]) {
        self.conditions.ask_again();
        for item in items.iter_mut().filter(|item| item.not_evaluated) {
            *item = self.active(item.thread, item.head);
        }
    }

    fn active(&mut self, id: ThreadId, head: CasRef) -> ThreadItem {
        let mut workflow = None;
        self.read_active(id, head, &mut workflow)
            .unwrap_or_else(|error| ThreadItem {
                workflow,
                error: Some(error.to_string()),
                ..ThreadItem::new(id, head, ThreadStatus::Corrupt)
            })
    }

    /// Reads an active thread. Sets `workflow` as soon as it is known, even if an error follows.
    fn read_active(
        &mut self,
        id: ThreadId,
        head: CasRef,
        workflow: &mut Option<CasRef>,
    ) -> Result<ThreadItem, EngineError> {
        let ActiveThread {
            start,
            program,
            steps,
            standing,
            pause,
        } = self.active_thread(id, head, workflow)?;
        let store = &self.site.store;
        let ledger = self.site.root.run(id).ledger;
        let outline = Active {
            site: self.site,
            id,
            head,
            start: &start,
            last: steps.last(),
            ledger: &ledger,
            activity: &standing.activity,
        };
        let outline = outline.outline()?;
        let Standing {
            activity,
            route,
            state,
        } = standing;
        let item = ThreadItem::of_active(id, head, (state, pause), activity, &route);
        let waiting = item.waiting_answer;
        let detail = steps.last().map(|last| last.node.detail);
        // A thread whose detail is lost can go on.
        let detail = detail.and_then(|detail| DetailSummary::read(store, detail).ok());
        Ok(ThreadItem {
            refused_calls: detail.unwrap_or_default().refused_calls,
            waiting_answer: waiting.map(|it| it.in_view(self.site, &start, program.name())),
            workflow: Some(start.workflow),
            parent: parent_of(id, &start).cloned(),
            workflow_name: Some(program.name().to_owned()),
            steps: Some(summarize(store, ledger.chain_summary().as_ref(), head)?.steps),
            outline,
            ..item
        })
    }

    /// Reads what tells where an active thread stands. Sets `workflow` as soon as it is known, even if an error follows.
    fn active_thread(
        &mut self,
        id: ThreadId,
        head: CasRef,
        workflow: &mut Option<CasRef>,
    ) -> Result<ActiveThread, EngineError> {
        let store = &self.site.store;
        let (start, last) = match Head::read(store, head)? {
            Head::Start(start) => (start.node, None),
            Head::Step(step) => (read_start(store, step.node.start)?.node, Some(step)),
        };
        *workflow = Some(start.workflow);
        let program = self.program(start.workflow)?;
        let steps = match (
            history_need(&program, last.as_ref().map(|step| &step.node.role)),
            last,
        ) {
            (HistoryNeed::All, _) => steps_with_outputs(store, head)?,
            (HistoryNeed::LastStep, Some(step)) => vec![with_output(store, step)?],
            (HistoryNeed::LastStep, None) => Vec::new(),
        };
        let route = match &*program {
            Program::Graph(graph) => {
                let route = self.conditions.route(graph, &start, &steps)?;
                taken_up::answered(self.site, (id, head), &program, route)?
            }
            Program::Pipeline(_) => recorded_route_of(self.site, id, head)?,
        };
        let standing = self.standing((id, head), (&start, &program), route)?;
        let pause = self.site.root.run(id).pause.read()?;
        Ok(ActiveThread {
            start,
            program,
            steps,
            standing,
            pause,
        })
    }

    /// Finds out where an active thread with this route stands. Its chain is read only if children do its next step.
    fn standing(
        &self,
        (id, head): (ThreadId, CasRef),
        (start, program): (&StartNode, &Program),
        route: Result<Route, RouteError>,
    ) -> Result<Standing, EngineError> {
        let store = &self.site.store;
        let run = self.site.root.run(id);
        match assigned_to_children(&route) {
            Some(_) => {
                let thread = Thread::load(store, id, head)?;
                Standing::on_route(self.site, &thread, route, &self.config)
            }
            None => {
                let limited = LimitedThread {
                    ledger: &run.ledger,
                    workflow: program.limits(),
                    head,
                    replaces: None,
                    by_children: Used::default(),
                    has_children: has_children(program),
                    has_supervisor: program.supervisor().is_some(),
                };
                let own =
                    Standing::without_children(self.site, &run, &limited, route, &self.config)?;
                let own = own.with_next_try(self.site, (id, head), start, program);
                own.with_child_of_step(self.site, (id, head), program)
            }
        }
    }

    fn program(&mut self, hash: CasRef) -> Result<Rc<Program>, EngineError> {
        if let Some(program) = self.programs.get(&hash) {
            return Ok(Rc::clone(program));
        }
        let program = Rc::new(read_program(&self.site.store, hash)?);
        self.programs.insert(hash, Rc::clone(&program));
        Ok(program)
    }
}
