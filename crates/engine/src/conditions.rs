//! The conditions of a workflow, evaluated within limits of time and memory.
//!
//! A condition is a program that somebody else wrote. One call of a built-in function can take hours, or all memory.
//! So a separate process evaluates conditions: `worker` is that process, and `evaluator` starts it, asks it and ends it.
//! One process answers all questions of an operation. It starts with the first question, so a workflow without
//! conditions starts none.

mod evaluator;
mod worker;

use std::collections::HashMap;
use std::time::{Duration, Instant};

use serde_json::Value;
use uwf_moderator::condition::{ConditionError, FailedCondition, Question, ValueQuestion, Verdict};
use uwf_moderator::{Route, RouteError, next};
use uwf_process::Signals;
use uwf_protocol::chain::StepContext;
use uwf_protocol::nodes::StartNode;
use uwf_protocol::workflow::Workflow;

use self::evaluator::{Evaluator, Trouble};
use self::worker::{Asked, Reply};
pub use self::worker::{EVALUATOR_COMMAND, evaluate_conditions};
use crate::EngineError;

/// How long the question of one thread may take. The worker's own limits end it much earlier, unless the machine is too
/// busy to run it.
const QUESTION_LIMIT: Duration = Duration::from_secs(60);

/// How long all questions of one list may take together.
const LIST_LIMIT: Duration = Duration::from_secs(5);

/// In the first pass one question may take this fraction of the list's remaining time: one tenth. So a costly condition
/// leaves time for the others. The second pass gives costly conditions the rest.
const FIRST_SHARE: u32 = 10;

/// Evaluates the conditions of one operation.
pub(crate) struct Conditions<'e> {
    /// The signals that may tell us to stop meanwhile; `None` where a signal ends this process at once.
    signals: Option<&'e Signals>,
    evaluator: Option<Evaluator>,
    budget: Budget,
    /// The questions that had no answer for one thread of a list. They are not asked again for the next one.
    unanswered: HashMap<Vec<String>, FailedCondition>,
    /// Why there is no route, if the conditions are not the cause.
    trouble: Option<EngineError>,
}

/// The time for questions.
enum Budget {
    /// For each question.
    Each(Duration),
    /// For all questions together.
    All {
        /// The time that is left.
        left: Duration,
        /// One question may take the time that is left, divided by this number.
        share: u32,
    },
}

impl<'e> Conditions<'e> {
    /// Returns an evaluation for one thread.
    pub(crate) fn of_one_thread(signals: Option<&'e Signals>) -> Self {
        Self::within(signals, Budget::Each(QUESTION_LIMIT))
    }

    /// Returns an evaluation for many threads, within one limit for all of them.
    pub(crate) fn of_a_list() -> Self {
        let budget = Budget::All {
            left: LIST_LIMIT,
            share: FIRST_SHARE,
        };
        Self::within(None, budget)
    }

    /// Starts the second pass: each question may now take all the time that is left, and unanswered ones are asked again.
    pub(crate) fn ask_again(&mut self) {
        if let Budget::All { share, .. } = &mut self.budget {
            *share = 1;
        }
        self.unanswered.clear();
    }

    fn within(signals: Option<&'e Signals>, budget: Budget) -> Self {
        Self {
            signals,
            evaluator: None,
            budget,
            unanswered: HashMap::new(),
            trouble: None,
        }
    }

    /// Returns where the graph leads after these steps.
    ///
    /// # Errors
    /// When a signal told us to stop; for one thread, also when its question cannot be answered now. A condition that
    /// fails is part of the route.
    pub(crate) fn route(
        &mut self,
        workflow: &Workflow,
        start: &StartNode,
        steps: &[StepContext],
    ) -> Result<Result<Route, RouteError>, EngineError> {
        let route = next(workflow, start, steps, &mut |question| self.ask(&question));
        match self.trouble.take() {
            Some(trouble) => Err(trouble),
            None => Ok(route),
        }
    }

    /// Returns what an expression gives. The inner error says what is wrong with the expression.
    ///
    /// # Errors
    /// When a signal told us to stop, or the expression cannot be evaluated now.
    pub(crate) fn value(
        &mut self,
        question: ValueQuestion,
    ) -> Result<Result<Value, ConditionError>, EngineError> {
        let expression = question.expression.clone();
        let deadline = Instant::now() + QUESTION_LIMIT;
        let trouble = match self.exchange(&Asked::Value(question), deadline) {
            Ok(Reply::Value(value)) => return Ok(value),
            Ok(Reply::At(_) | Reply::Verdict(_)) => wrong_kind(),
            Err((_, trouble)) => trouble,
        };
        self.evaluator = None;
        match self.outside_error(&trouble) {
            Some(error) => Err(error),
            None => Ok(Err(self.problem(&expression, trouble))),
        }
    }

    fn ask(&mut self, question: &Question) -> Verdict {
        if let Some(known) = self.unanswered.get(&question.expressions) {
            return Err(known.clone());
        }
        let started = Instant::now();
        let limit = match self.budget {
            Budget::Each(limit) => limit,
            Budget::All { left, share } => left / share,
        };
        let asked = Asked::First(question.clone());
        let answered = self.exchange(&asked, started + limit);
        if let Budget::All { left, .. } = &mut self.budget {
            *left = left.saturating_sub(started.elapsed());
        }
        let (index, trouble) = match answered {
            Ok(Reply::Verdict(verdict)) => return verdict,
            Ok(Reply::At(_) | Reply::Value(_)) => (0, wrong_kind()),
            Err(found) => found,
        };
        // The process is gone or in an unknown state: the next question starts another one.
        self.evaluator = None;
        self.trouble = self.outside_error(&trouble);
        let expression = question.expressions.get(index).map(String::as_str);
        let failed = FailedCondition {
            index,
            problem: self.problem(expression.unwrap_or_default(), trouble),
        };
        let question = question.expressions.clone();
        self.unanswered.insert(question, failed.clone());
        Err(failed)
    }

    /// Asks the worker process. An error names the condition that it was evaluating, and what went wrong.
    fn exchange(&mut self, asked: &Asked, deadline: Instant) -> Result<Reply, (usize, Trouble)> {
        if deadline <= Instant::now() {
            return Err((0, Trouble::Late));
        }
        let evaluator = match &mut self.evaluator {
            Some(evaluator) => evaluator,
            none => none.insert(Evaluator::start().map_err(|error| (0, error))?),
        };
        evaluator.answer(asked, deadline, self.signals)
    }

    /// Returns the error for trouble that no condition causes. In a list such trouble is shown with its thread instead.
    fn outside_error(&self, trouble: &Trouble) -> Option<EngineError> {
        match (trouble, &self.budget) {
            (Trouble::Stopped(signal), _) => Some(EngineError::RouteInterrupted(*signal)),
            (Trouble::Late, Budget::Each(limit)) => Some(EngineError::NotEvaluated(format!(
                "there was no answer within {} seconds, since the machine is busy",
                limit.as_secs()
            ))),
            (Trouble::Broken(problem), Budget::Each(_)) => {
                Some(EngineError::NotEvaluated(of_process(problem)))
            }
            (Trouble::Memory, Budget::Each(_)) if worker::has_less_memory() => {
                Some(EngineError::NotEvaluated(less_memory()))
            }
            (Trouble::Late | Trouble::Broken(_), Budget::All { .. })
            | (Trouble::Work | Trouble::Memory | Trouble::Depth | Trouble::Failed(_), _) => None,
        }
    }

    fn problem(&self, expression: &str, trouble: Trouble) -> ConditionError {
        let exceeded = |limit: String| ConditionError::Exceeded {
            expression: expression.to_owned(),
            limit,
        };
        let unevaluated = |problem: String| ConditionError::Unevaluated {
            expression: expression.to_owned(),
            problem,
        };
        match trouble {
            Trouble::Work => exceeded(format!(
                "it takes more than {} seconds of work",
                worker::WORK_SECONDS
            )),
            Trouble::Memory if worker::has_less_memory() => unevaluated(less_memory()),
            Trouble::Memory => exceeded(format!(
                "it takes more than {} MiB of memory",
                worker::MEMORY >> 20
            )),
            Trouble::Depth => exceeded("it nests too deeply".to_owned()),
            Trouble::Failed(message) => ConditionError::Evaluation {
                expression: expression.to_owned(),
                message,
            },
            Trouble::Late => unevaluated(format!(
                "the {} seconds are spent that a list has for the conditions of all threads; `uwf thread show <thread>` evaluates those of one",
                LIST_LIMIT.as_secs()
            )),
            Trouble::Stopped(_) => unevaluated("interrupted".to_owned()),
            Trouble::Broken(problem) => unevaluated(of_process(&problem)),
        }
    }
}

fn wrong_kind() -> Trouble {
    Trouble::Broken("gave an answer of another kind".to_owned())
}

fn less_memory() -> String {
    let most = worker::MEMORY >> 20;
    format!("this process may use less than the {most} MiB of memory that a condition may take")
}

fn of_process(problem: &str) -> String {
    format!("the process that evaluates conditions {problem}")
}

/// Tells whether a thread is blocked because its conditions need too much time or memory.
pub(crate) fn cost_too_much(route: &Result<Route, RouteError>) -> bool {
    matches!(problem_of(route), Some(ConditionError::Exceeded { .. }))
}

/// Tells whether the route is unknown because the conditions were not evaluated.
pub(crate) fn not_evaluated(route: &Result<Route, RouteError>) -> bool {
    matches!(problem_of(route), Some(ConditionError::Unevaluated { .. }))
}

fn problem_of(route: &Result<Route, RouteError>) -> Option<&ConditionError> {
    match route {
        Err(RouteError::Condition { problem, .. }) => Some(problem),
        Ok(_) | Err(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use indexmap::IndexMap;
    use uwf_protocol::ids::CasRef;
    use uwf_protocol::limits::Limits;
    use uwf_protocol::workflow::{Destination, Edges, ListEdge, NodeName, Workflow};

    use super::*;

    fn starts_a_process(edges: Vec<ListEdge>) -> bool {
        let workflow = Workflow {
            name: "test".to_owned(),
            description: String::new(),
            roles: IndexMap::new(),
            conditions: IndexMap::new(),
            graph: IndexMap::from([(NodeName::Start, Edges::InOrder(edges))]),
            limits: Limits::default(),
            supervisor: None,
            context: uwf_protocol::policy::ContextPolicy::default(),
            workspace: None,
        };
        let start = StartNode {
            workflow: CasRef::from_u64(1),
            prompt: "task".to_owned(),
            cwd: None,
            parent: None,
            run: None,
            check_files: Vec::new(),
        };
        let mut conditions = Conditions::within(None, Budget::Each(QUESTION_LIMIT));
        let route = conditions.route(&workflow, &start, &[]).unwrap();
        assert_eq!(route, Ok(Route::End { result: Ok(None) }));
        conditions.evaluator.is_some()
    }

    #[test]
    fn a_route_without_conditions_starts_no_process() {
        let always = ListEdge {
            to: Destination::End,
            condition: None,
            prompt: None,
            location: None,
        };
        assert!(!starts_a_process(vec![always]));
    }

    #[test]
    fn only_an_exceeded_limit_counts_as_cost() {
        let failed = |problem: ConditionError| {
            Err(RouteError::Condition {
                edge: uwf_moderator::EdgeName {
                    from: NodeName::Start,
                    key: uwf_moderator::EdgeKey::Index(0),
                },
                condition: "c".to_owned(),
                problem: Box::new(problem),
            })
        };
        let expression = || "x".to_owned();
        assert!(cost_too_much(&failed(ConditionError::Exceeded {
            expression: expression(),
            limit: "l".to_owned(),
        })));
        assert!(!cost_too_much(&failed(ConditionError::Evaluation {
            expression: expression(),
            message: "m".to_owned(),
        })));
        assert!(!cost_too_much(&Ok(Route::End { result: Ok(None) })));
    }
}
