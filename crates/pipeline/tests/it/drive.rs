//! Runs pipelines without a machine: the results of steps are made up, and the keys that come are written down.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use uwf_pipeline::course::{
    Assignment, Course, Event, Outcome, Resume, Route, RunStart, Steering, Stop, Task, Todo, Visit,
    next,
};
use uwf_pipeline::{
    Captured, ErrorKind, Failure, Pipeline, RunFacts, StepResult, StepStatus, compose,
};

use crate::common::pipeline;

/// How many steps a test may take.
const MOST_STEPS: usize = 2_000;

/// A run whose steps are answered by a test.
pub(crate) struct Run {
    pub(crate) course: Course,
    pipeline: Arc<Pipeline>,
    start: Arc<RunStart>,
    pub(crate) events: Vec<Event>,
    /// What was done, as `key` or `key=exit code`.
    pub(crate) log: Vec<String>,
}

/// Returns what a run was started with that steers nothing.
pub(crate) fn start_with(steering: Steering) -> Arc<RunStart> {
    let facts = RunFacts {
        id: "run-1".into(),
        timestamp_utc: "20261123T000000Z".into(),
        root: ".orchestrate/runs/run-1".into(),
    };
    Arc::new(RunStart {
        facts,
        context: Map::from_iter([("a".to_owned(), json!(1))]),
        steering,
        from_run: None,
    })
}

/// Returns the result of a program with an exit code.
pub(crate) fn exit(code: i64) -> StepResult {
    if code == 0 {
        return StepResult::of(StepStatus::Completed, 0);
    }
    StepResult::failed(code, Failure::new(ErrorKind::CommandFailed, "it failed"))
}

/// Returns the result of a program that printed these lines.
pub(crate) fn lines(lines: &[&str]) -> StepResult {
    StepResult {
        captured: Some(Captured::Lines {
            lines: lines.iter().map(ToString::to_string).collect(),
            truncated: false,
        }),
        ..exit(0)
    }
}

/// Returns the result of a program that printed JSON.
pub(crate) fn prints(json: Value) -> StepResult {
    StepResult {
        captured: Some(Captured::Json(json)),
        ..exit(0)
    }
}

impl Run {
    pub(crate) fn new(flow: &str) -> Self {
        Self::steered(flow, Steering::default())
    }

    pub(crate) fn steered(flow: &str, steering: Steering) -> Self {
        Self::of(pipeline(flow), start_with(steering))
    }

    pub(crate) fn of(pipeline: Pipeline, start: Arc<RunStart>) -> Self {
        let pipeline = Arc::new(pipeline);
        Self {
            course: Course::begin(Arc::clone(&pipeline), Arc::clone(&start)),
            pipeline,
            start,
            events: Vec::new(),
            log: Vec::new(),
        }
    }

    /// Runs until nothing comes next. `answer` gets what a program would get: its key and its words.
    pub(crate) fn go(&mut self, mut answer: impl FnMut(&str, &[String]) -> StepResult) -> Route {
        self.go_where(&mut answer, &mut |_| false)
    }

    /// Does the same in a workspace in which only these patterns match.
    pub(crate) fn go_where(
        &mut self,
        answer: &mut dyn FnMut(&str, &[String]) -> StepResult,
        exists: &mut dyn FnMut(&str) -> bool,
    ) -> Route {
        for _ in 0..MOST_STEPS {
            let mut route = self.course.next();
            while let Route::Look {
                test, holds, fails, ..
            } = route
            {
                let matches = exists(&test.glob);
                let wanted = test.holds_if == uwf_pipeline::Matches::Some;
                route = if matches == wanted { *holds } else { *fails };
            }
            match route {
                Route::To(assignment) => self.settle(*assignment, answer),
                other => return other,
            }
        }
        panic!("the run goes on for ever: {:?}", &self.log[..50]);
    }

    fn settle(
        &mut self,
        assignment: Assignment,
        answer: &mut dyn FnMut(&str, &[String]) -> StepResult,
    ) {
        let key = assignment.key.to_string();
        let result = match assignment.todo {
            Todo::Settled(result) => *result,
            Todo::Task(task) => match *task {
                Task::Run(task) => answer(&key, &compose(&task.words, "").unwrap()),
                Task::Wait(_) => answer(&key, &[]),
                Task::Workflow(task) => answer(&key, &[task.name.clone(), task.prompt()]),
                Task::Move(task) => {
                    self.log.push(format!("{} -> {}", task.from, task.to));
                    task.done(None)
                }
            },
        };
        self.log.push(match (result.status, result.exit_code) {
            (StepStatus::Skipped, _) => format!("{key} skipped"),
            (_, 0) => key,
            (_, code) => format!("{key}={code}"),
        });
        self.push(Event::Visit(Box::new(Visit {
            key: assignment.key,
            result,
            duration_ms: 1,
        })));
    }

    /// Settles the step that comes next, whatever it would do.
    #[track_caller]
    pub(crate) fn settle_next(&mut self, result: &StepResult) {
        match self.course.next() {
            Route::To(assignment) => self.settle(*assignment, &mut |_, _| result.clone()),
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn push(&mut self, event: Event) {
        self.events.push(event.clone());
        self.course.push(event).unwrap();
    }

    pub(crate) fn resume(&mut self, resume: Resume) {
        self.push(Event::Resume(resume));
    }

    /// Asserts that the decision depends on nothing but what happened, at every point of the run.
    pub(crate) fn check_every_prefix(&self) {
        let mut course = Course::begin(Arc::clone(&self.pipeline), Arc::clone(&self.start));
        for (count, event) in self.events.iter().enumerate() {
            let before = self.events[..count].iter().cloned();
            let expected = next(Arc::clone(&self.pipeline), Arc::clone(&self.start), before);
            assert_eq!(course.next(), expected.unwrap());
            course.push(event.clone()).unwrap();
        }
        assert_eq!(course.next(), self.course.next());
    }

    /// Runs to the end and returns what was done.
    pub(crate) fn log(&self) -> Vec<&str> {
        self.log.iter().map(String::as_str).collect()
    }
}

/// Asserts that a run was completed, and returns how.
#[track_caller]
pub(crate) fn completed(route: Route) -> Outcome {
    match route {
        Route::End(outcome) => outcome,
        other => panic!("{other:?}"),
    }
}

/// Asserts that a run has failed, and returns why.
#[track_caller]
pub(crate) fn stopped(route: Route) -> Stop {
    match route {
        Route::Suspend(stop) => *stop,
        other => panic!("{other:?}"),
    }
}

/// Checks what a flow does whose steps succeed, but for some with an exit code. Returns how it ended.
#[track_caller]
pub(crate) fn check(flow: &str, codes: &[(&str, i64)], expected: &[&str]) -> Route {
    let mut run = Run::new(flow);
    let route = run.go(|key, _| {
        let found = codes.iter().find(|(failing, _)| *failing == key);
        exit(found.map_or(0, |(_, code)| *code))
    });
    assert_eq!(run.log(), expected);
    run.check_every_prefix();
    route
}
