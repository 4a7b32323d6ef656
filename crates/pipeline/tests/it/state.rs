//! The text of `state.json`.

use serde_json::{Map, Value, json};
use uwf_pipeline::course::{Assignment, Event, Resume, Route, StepKey, Todo, Visit};
use uwf_pipeline::state::{
    AttemptFacts, CurrentStep, Moment, RecordFacts, RunRecord, RunStatus, State,
};
use uwf_pipeline::{Captured, Course, Masks, StepResult, Waited};

use crate::drive::{Run, exit, lines, prints};

fn record() -> RunRecord {
    RunRecord {
        run_id: "20261121T093000Z-k7m2qx".into(),
        thread: "01K".into(),
        workflow_file: "flows/review.yaml".into(),
        workflow_checksum: "sha256:9f".into(),
        started_at: "2026-11-21T09:30:00.000Z".into(),
        context: Map::from_iter([("ticket".to_owned(), json!("T-17 s3cr3tvalue"))]),
    }
}

fn moment(status: RunStatus) -> Moment {
    Moment {
        head: Some("9D4".into()),
        updated_at: "2026-11-21T09:31:00.000Z".into(),
        status,
        current_step: None,
        error: None,
        executor_sessions: Vec::new(),
    }
}

fn facts() -> RecordFacts {
    RecordFacts {
        started_at_ms: 0,
        completed_at_ms: 12,
        attempts: 1,
        visit_count: 1,
        debug: Map::new(),
        output_ref: Some("REF".into()),
    }
}

/// A run with its picture.
struct Pictured<'m> {
    run: Run,
    state: State<'m>,
}

impl<'m> Pictured<'m> {
    fn new(flow: &str, masks: &'m Masks) -> Self {
        Self {
            run: Run::new(flow),
            state: State::new(&record(), masks),
        }
    }

    /// Does so many steps. Returns the key of the last one.
    fn steps(&mut self, count: usize, mut answer: impl FnMut(&str) -> StepResult) -> String {
        let mut last = String::new();
        for _ in 0..count {
            let Route::To(assignment) = self.run.course.next() else {
                break;
            };
            let Assignment { key, todo, .. } = *assignment;
            last = key.to_string();
            let result = match todo {
                Todo::Settled(result) => *result,
                Todo::Task(_) => {
                    self.start(&key);
                    answer(&last)
                }
            };
            let visit = Visit {
                key,
                result,
                duration_ms: 12,
            };
            self.run.push(Event::Visit(Box::new(visit.clone())));
            self.state.settled(&visit, &facts(), &self.run.course);
        }
        last
    }

    fn start(&mut self, key: &StepKey) {
        self.run.course.started(key);
        let attempt = AttemptFacts {
            started_at_ms: 0,
            attempt: 1,
        };
        self.state.started(key, &attempt, &self.run.course);
    }

    fn text(&self) -> String {
        written(&self.state, &moment(RunStatus::Running), &self.run.course)
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.text()).unwrap()
    }
}

fn written(state: &State<'_>, moment: &Moment, course: &Course) -> String {
    let mut text = String::new();
    let done: Result<(), ()> = state.write(moment, course, &mut |part| {
        text.push_str(part);
        Ok(())
    });
    done.unwrap();
    text
}

const LOOP: &str = "steps:\n- {name: P, command: [p], output_capture: lines}\n- name: L\n  for_each: {items_from: steps.P.lines, steps: [{name: E, command: [e]}, {name: F, command: [f]}]}\n- {name: C, command: [c], on: {success: {goto: L}}}\n";

#[test]
fn the_file_has_the_names_of_the_specification() {
    let masks = Masks::of([&b"s3cr3tvalue"[..]]);
    let mut pictured = Pictured::new(LOOP, &masks);
    pictured.steps(1, |_| lines(&["a.rs", "s3cr3tvalue.rs"]));
    let mut moment = moment(RunStatus::Failed);
    moment.current_step = Some(CurrentStep {
        key: "L[0].E".into(),
        attempt: 1,
        visit: 1,
        pid: Some(4711),
        started_at: "x".into(),
    });
    moment.error = exit(7).error;
    let text = written(&pictured.state, &moment, &pictured.run.course);
    let found: Value = serde_json::from_str(&text).unwrap();
    let keys: Vec<&String> = found.as_object().unwrap().keys().collect();
    let expected = [
        "schema_version",
        "run_id",
        "thread",
        "workflow_file",
        "workflow_checksum",
        "started_at",
        "context",
        "head",
        "updated_at",
        "status",
        "current_step",
        "transition_count",
        "step_visits",
        "steps",
        "for_each",
        "error",
        "executor_sessions",
    ];
    assert_eq!(keys, expected);
    assert_eq!(found["schema_version"], "1.1.1");
    assert_eq!(found["status"], "failed");
    assert_eq!(found["context"]["ticket"], "T-17 ***");
    assert_eq!(found["error"]["exit_code"], 7);
    assert_eq!(found["step_visits"], json!({"P": 1}));
    let step = json!({
        "status": "completed", "exit_code": 0, "started_at": "1970-01-01T00:00:00.000Z",
        "completed_at": "1970-01-01T00:00:00.012Z", "duration_ms": 12, "duration": 12, "attempts": 1,
        "visit_count": 1, "output_capture": "lines", "truncated": false, "lines": ["a.rs", "s3cr3tvalue.rs"],
    });
    assert_eq!(found["steps"]["P"], step);
    pictured.steps(1, |_| exit(0));
    assert_eq!(
        pictured.json()["for_each"]["L"]["items"],
        json!(["a.rs", "***.rs"])
    );
}

#[test]
fn a_loop_is_a_list_of_its_items_and_its_own_record_stands_aside() {
    let masks = Masks::of([]);
    let mut pictured = Pictured::new(LOOP, &masks);
    pictured.steps(4, |key| {
        if key == "P" {
            lines(&["a", "b"])
        } else {
            exit(0)
        }
    });
    let Route::To(assignment) = pictured.run.course.next() else {
        panic!()
    };
    pictured.start(&assignment.key);
    let found = pictured.json();
    let items = &found["steps"]["L"];
    assert_eq!(items[0]["E"]["status"], "completed");
    assert_eq!(items[0]["F"]["status"], "completed");
    assert_eq!(items[1]["F"]["status"], "running");
    let expected = json!({"items": ["a", "b"], "completed_indices": [0], "current_index": 1, "status": "running", "exit_code": null, "failed": 0});
    assert_eq!(found["for_each"]["L"], expected);
    assert_eq!(pictured.steps(2, |_| exit(0)), "L");
    let found = pictured.json();
    assert_eq!(found["steps"]["L"].as_array().unwrap().len(), 2);
    let expected = json!({"items": ["a", "b"], "completed_indices": [0, 1], "current_index": null, "status": "completed", "exit_code": 0, "failed": 0});
    assert_eq!(found["for_each"]["L"], expected);
}

#[test]
fn a_loop_that_is_entered_again_replaces_its_items() {
    let masks = Masks::of([]);
    let mut pictured = Pictured::new(LOOP, &masks);
    let answer = |key: &str| {
        if key == "P" {
            lines(&["a", "b"])
        } else {
            exit(0)
        }
    };
    assert_eq!(pictured.steps(8, answer), "L[0].E");
    let found = pictured.json();
    assert_eq!(found["steps"]["L"].as_array().unwrap().len(), 1);
    assert_eq!(found["for_each"]["L"]["completed_indices"], json!([]));
    assert_eq!(
        (&found["transition_count"], &found["step_visits"]),
        (&json!(1), &json!({"P": 1, "L": 1, "C": 1}))
    );
}

#[test]
fn inner_loops_stay_until_the_item_around_them_is_done() {
    let flow = "steps:\n- name: A\n  for_each:\n    items: [1, 2]\n    on_item_complete: {}\n    steps:\n    - {name: B, for_each: {items: [x], steps: [{name: C, command: [c]}]}}\n    - {name: D, command: [d]}\n";
    let masks = Masks::of([]);
    let mut pictured = Pictured::new(flow, &masks);
    let loops = |pictured: &Pictured<'_>| {
        let found = pictured.json();
        let keys = found["for_each"].as_object().unwrap().keys();
        keys.cloned().collect::<Vec<_>>()
    };
    pictured.steps(2, |_| exit(0));
    assert_eq!(loops(&pictured), ["A", "A[0].B"]);
    pictured.steps(1, |_| exit(0));
    assert_eq!(loops(&pictured), ["A"]);
    pictured.steps(20, |_| exit(0));
    let found = pictured.json();
    assert_eq!(found["steps"]["A"][1]["B"][0]["C"]["status"], "completed");
    assert_eq!(loops(&pictured), ["A"]);
}

#[test]
fn empty_and_skipped_loops_and_moves_are_shown() {
    let flow = "steps:\n- {name: L, for_each: {items: [], steps: [{name: E, command: [e]}]}}\n- {name: S, when: {equals: {left: a, right: b}}, for_each: {items: [1], steps: [{name: E, command: [e]}]}}\n- name: M\n  for_each:\n    items: [in/a]\n    on_item_complete: {success: {move_to: done}}\n    steps:\n    - {name: E, command: [e]}\n";
    let masks = Masks::of([]);
    let mut pictured = Pictured::new(flow, &masks);
    for _ in 0..10 {
        let Route::To(assignment) = pictured.run.course.next() else {
            break;
        };
        let result = match assignment.todo {
            Todo::Settled(result) => *result,
            Todo::Task(task) => match *task {
                uwf_pipeline::course::Task::Move(task) => task.done(None),
                _ => exit(0),
            },
        };
        let visit = Visit {
            key: assignment.key,
            result,
            duration_ms: 0,
        };
        pictured.run.push(Event::Visit(Box::new(visit.clone())));
        pictured
            .state
            .settled(&visit, &facts(), &pictured.run.course);
    }
    let found = pictured.json();
    assert_eq!(found["steps"]["L"], json!([]));
    assert_eq!(found["for_each"]["L"]["status"], "completed");
    assert_eq!(found["steps"]["S"]["status"], "skipped");
    let lifecycle = json!({"result": "success", "action": "move", "from": "in/a", "to": "done", "action_applied": true, "error": null});
    assert_eq!(found["steps"]["M"][0]["lifecycle"], lifecycle);
}

#[test]
fn waits_and_failures_have_their_fields() {
    let flow = "steps: [{name: W, wait_for: {glob: x}}, {name: A, command: [a]}]";
    let masks = Masks::of([]);
    let mut pictured = Pictured::new(flow, &masks);
    let waited = Waited {
        files: vec!["x".into()],
        wait_duration_ms: 5,
        poll_count: 1,
        timed_out: false,
    };
    pictured.steps(2, |key| {
        let waited = (key == "W").then(|| waited.clone());
        StepResult {
            waited,
            ..exit(i64::from(key == "A") * 9)
        }
    });
    let found = pictured.json();
    let wait = &found["steps"]["W"];
    assert_eq!(
        (
            &wait["files"],
            &wait["wait_duration"],
            &wait["wait_duration_ms"]
        ),
        (&json!(["x"]), &json!(5), &json!(5))
    );
    assert_eq!(
        (&wait["poll_count"], &wait["timed_out"]),
        (&json!(1), &json!(false))
    );
    let error = json!({"type": "command_failed", "message": "it failed", "exit_code": 9, "stdout_tail": [], "stderr_tail": [], "context": {}});
    assert_eq!(found["steps"]["A"]["error"], error);
    pictured.run.resume(Resume::default());
    pictured.steps(1, |_| exit(0));
    assert_eq!(pictured.json()["steps"]["A"]["status"], "completed");
}

fn text_of(size: usize) -> StepResult {
    StepResult {
        captured: Some(Captured::Text {
            output: "x".repeat(size),
            truncated: false,
        }),
        ..exit(0)
    }
}

#[test]
fn output_of_finished_items_gives_way_the_largest_first() {
    let flow = "steps:\n- {name: P, command: [p]}\n- name: L\n  for_each:\n    items: [0, 1, 2, 3, 4]\n    steps:\n    - {name: E, command: [e], output_capture: json}\n";
    let masks = Masks::of([]);
    let mut pictured = Pictured::new(flow, &masks);
    let sizes = [300_000, 500_000, 100_000, 400_000, 600_000];
    pictured.steps(6, |key| match key.parse::<StepKey>().unwrap().items() {
        [] => text_of(8000),
        items => prints(json!("y".repeat(sizes[items[0].1]))),
    });
    let found = pictured.json();
    let items = found["steps"]["L"].as_array().unwrap();
    let kept: Vec<bool> = items
        .iter()
        .map(|item| item["E"]["json"].is_string())
        .collect();
    // The last item is not finished before the loop is, and the second largest of the others is enough.
    assert_eq!(kept, [true, false, true, false, true]);
    assert_eq!(items[1]["E"]["json_ref"], "REF");
    pictured.steps(1, |_| exit(0));
    assert!(pictured.text().len() < 1 << 20);
    assert!(pictured.json()["steps"]["P"]["output"].is_string());
}

#[test]
fn steps_of_the_pipeline_keep_their_output_up_to_64_mib() {
    let steps: Vec<String> = (0..68)
        .map(|n| format!("- {{name: S{n}, command: [s]}}\n"))
        .collect();
    let masks = Masks::of([]);
    let mut pictured = Pictured::new(&format!("steps:\n{}", steps.concat()), &masks);
    pictured.steps(60, |_| text_of(1 << 20));
    assert!(!pictured.text().contains("output_ref"));
    pictured.steps(8, |_| text_of(1 << 20));
    let text = pictured.text();
    assert!(text.len() < (64 << 20) + 4096 && text.contains("output_ref"));
}

#[test]
fn a_long_loop_changes_one_piece_for_each_visit() {
    let flow = "steps:\n- {name: P, command: [p], output_capture: json}\n- {name: L, for_each: {items_from: steps.P.json, steps: [{name: E, command: [e]}]}}\n";
    let masks = Masks::of([]);
    let mut pictured = Pictured::new(flow, &masks);
    let items = vec![0; 20_000];
    let started = std::time::Instant::now();
    pictured.steps(20_002, |key| {
        if key == "P" {
            prints(json!(items))
        } else {
            exit(0)
        }
    });
    // A picture that was made anew for each visit would take hours.
    assert!(started.elapsed().as_secs() < 60, "{:?}", started.elapsed());
    let found = pictured.json();
    assert_eq!(
        found["for_each"]["L"]["completed_indices"]
            .as_array()
            .unwrap()
            .len(),
        20_000
    );
}
