//! Steps that start workflows: what the child thread is asked, and what its end means for the run.

use serde_json::{Map, Value, json};
use uwf_pipeline::course::{
    Agent, Assignment, Route, Task, Todo, WorkflowEnd, WorkflowTask, restart,
};
use uwf_pipeline::{Captured, ErrorKind, differences, retry_after};

use crate::common::pipeline;
use crate::drive::{Run, completed, exit, prints, stopped};

const FLOW: &str = "secrets: [TOKEN]
steps:
- {name: Find, command: [find], output_capture: json}
- name: Plan
  workflow:
    name: flows/${steps.Find.json.kind}.yaml
    task: 'Plan ${steps.Find.json.ticket}'
    context: {ticket: '${steps.Find.json.ticket}', deep: [{n: 1.0}, '${run.id}']}
  depends_on: {required: [spec.md]}
  on: {failure: {goto: Rescue}}
- name: Report
  command: [report, '${steps.Plan.json.summary}']
  when: {equals: {left: '${steps.Plan.json.ok}', right: true}}
  on: {success: {goto: _end}}
- {name: Rescue, command: [rescue, '${steps.Plan.exit_code}']}
";

fn found() -> Value {
    json!({"kind": "plan", "ticket": "T-17"})
}

/// Returns the step that comes next.
#[track_caller]
fn assigned(run: &Run) -> Assignment {
    match run.course.next() {
        Route::To(assignment) => *assignment,
        other => panic!("{other:?}"),
    }
}

/// Runs the flow up to the step with the workflow, and returns what is done for it.
#[track_caller]
fn task() -> WorkflowTask {
    let mut run = Run::new(FLOW);
    run.settle_next(&prints(found()));
    let assignment = assigned(&run);
    assert_eq!(assignment.agent, Agent::Workflow);
    assert_eq!(assignment.agent.to_string(), "workflow");
    match assignment.todo {
        Todo::Task(task) => match *task {
            Task::Workflow(task) => task,
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_name_the_task_and_the_context_are_substituted() {
    let task = task();
    assert_eq!(task.name, "flows/plan.yaml");
    assert_eq!(task.task, "Plan T-17");
    let context = json!({"ticket": "T-17", "deep": [{"n": 1.0}, "run-1"]});
    assert_eq!(Value::Object(task.context.clone()), context);
    assert_eq!(task.secrets, ["TOKEN"]);
    assert_eq!(task.depends_on.required, ["spec.md"]);
}

#[test]
fn the_prompt_is_the_task_and_the_context_as_a_block_of_json() {
    let mut task = task();
    let block = "Plan T-17\n\n```json\n{\n  \"ticket\": \"T-17\",\n  \"deep\": [\n    {\n      \"n\": 1.0\n    },\n    \"run-1\"\n  ]\n}\n```\n";
    assert_eq!(task.prompt(), block);
    let text = Value::from("a\n```\nb");
    task.context = Map::from_iter([("text".to_owned(), text)]);
    let fences = task.prompt();
    let fences = fences.lines().filter(|line| line.starts_with("```"));
    assert_eq!(fences.count(), 2, "nothing in the data ends the block");
    task.context = Map::new();
    assert_eq!(task.prompt(), "Plan T-17");
}

#[test]
fn the_answer_of_the_child_is_the_json_of_the_step() {
    let (task, mut run) = (task(), Run::new(FLOW));
    let answer = json!({"ok": true, "summary": "3 files"});
    let end = WorkflowEnd::Completed(answer.clone());
    let result = task.ended(end);
    assert_eq!(result.captured, Some(Captured::Json(answer)));
    completed(run.go(|key, words| match key {
        "Find" => prints(found()),
        "Plan" => {
            assert_eq!(words, [task.name.clone(), task.prompt()]);
            result.clone()
        }
        _ => {
            assert_eq!(words, ["report", "3 files"]);
            exit(0)
        }
    }));
    assert_eq!(run.log(), ["Find", "Plan", "Report"]);
    run.check_every_prefix();
}

#[test]
fn a_child_that_failed_fails_the_step_and_handlers_apply() {
    let (task, mut run) = (task(), Run::new(FLOW));
    let result = task.ended(WorkflowEnd::Failed {
        thread: "01K".to_owned(),
        reason: "it was killed".to_owned(),
    });
    let error = result.error.as_ref().unwrap();
    assert_eq!(error.kind, ErrorKind::WorkflowFailed);
    assert_eq!(
        error.message,
        "the workflow `flows/plan.yaml` failed: it was killed"
    );
    let facts = json!({"workflow": "flows/plan.yaml", "thread": "01K"});
    assert_eq!(Value::Object(error.context.clone()), facts);
    assert_eq!(json!(result)["error"]["type"], json!("workflow_failed"));
    let retries = uwf_pipeline::Retries {
        max: 9,
        delay_ms: 0,
    };
    assert_eq!(retry_after(&result, 1, retries), None);
    completed(run.go(|key, words| match key {
        "Find" => prints(found()),
        "Plan" => result.clone(),
        _ => {
            assert_eq!(words, ["rescue", "1"]);
            exit(0)
        }
    }));
    assert_eq!(run.log(), ["Find", "Plan=1", "Rescue"]);
    run.check_every_prefix();
}

#[test]
fn a_workflow_outside_of_the_workspace_or_without_a_value_is_refused() {
    for (kind, expected) in [
        (json!("../../x"), ErrorKind::PathViolation),
        (Value::Null, ErrorKind::UndefinedVariables),
    ] {
        let found = match kind {
            Value::Null => json!({}),
            kind => json!({"kind": kind, "ticket": 1}),
        };
        let text = FLOW.replace("  on: {failure: {goto: Rescue}}\n", "");
        let mut run = Run::new(&text);
        let stop = stopped(run.go(|_, _| prints(found.clone())));
        assert_eq!(run.log(), ["Find", "Plan=2"]);
        assert_eq!(stop.result.error.unwrap().kind, expected);
    }
}

#[test]
fn another_name_task_or_context_is_another_step() {
    let mut run = Run::new(FLOW);
    stopped(run.go(|key, _| match key {
        "Find" => prints(found()),
        "Plan" => prints(json!({"ok": true, "summary": ""})),
        _ => exit(1),
    }));
    let old = pipeline(FLOW);
    for (from, to) in [
        ("name: flows/", "name: other/"),
        ("'Plan ", "'Make "),
        ("{n: 1.0}", "{n: 2.0}"),
    ] {
        let changed = pipeline(&FLOW.replace(from, to));
        let restart = restart(&run.course, &changed, None).unwrap().unwrap();
        assert_eq!(restart.key, "Plan");
        let found: Vec<String> = differences(&old, &changed)
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(found, ["step `Plan` has changed: `workflow`"]);
    }
    assert_eq!(restart(&run.course, &old, None), Ok(None));
}
