//! Variables and conditions against one small world.

use serde_json::{Map, Value, json};
use uwf_pipeline::{
    Captured, Condition, ErrorKind, Failure, Filling, InputMode, Item, Level, Matches, PathTest,
    Recorded, Results, RunFacts, Scope, Step, StepResult, StepStatus, Template, Waited, When, Work,
    compose, condition, merged, prompt_text,
};

use crate::common::pipeline;

/// A run within two loops, whose steps have results of every kind.
struct World {
    run: RunFacts,
    context: Map<String, Value>,
    steps: Vec<Step>,
    outer: Results,
    inner: Results,
    none: Results,
    items: [Value; 2],
}

fn recorded(captured: Option<Captured>, waited: Option<Waited>) -> Recorded {
    let result = StepResult {
        captured,
        waited,
        ..StepResult::of(StepStatus::Completed, 0)
    };
    Recorded {
        result,
        duration_ms: 12,
    }
}

impl World {
    fn new() -> Self {
        let text = Captured::Text {
            output: "ok ${run.id}\n".into(),
            truncated: false,
        };
        let lines = Captured::Lines {
            lines: vec!["x".into(), "y\"z".into()],
            truncated: true,
        };
        let json = json!({"b": {"s": "t", "n": null, "f": 1.0, "l": [true, "u"]}});
        let waited = Waited {
            files: vec!["a".into()],
            wait_duration_ms: 5,
            poll_count: 2,
            timed_out: false,
        };
        let names = ["T", "L", "J", "W", "never", "a b"];
        let steps = names.map(|name| format!("- {{name: {name}, command: [a]}}\n"));
        Self {
            run: RunFacts {
                id: "run-1".into(),
                timestamp_utc: "20261123T000000Z".into(),
                root: ".orchestrate/runs/run-1".into(),
            },
            context: Map::from_iter([
                ("a".to_owned(), json!(1)),
                ("o".to_owned(), json!({"k": [1, {"x": "deep"}]})),
            ]),
            steps: pipeline(&format!("steps:\n{}", steps.concat())).steps,
            outer: Results::from([
                ("T".to_owned(), recorded(Some(text.clone()), None)),
                ("L".to_owned(), recorded(Some(lines), None)),
                ("J".to_owned(), recorded(Some(Captured::Json(json)), None)),
                ("W".to_owned(), recorded(None, Some(waited))),
                ("a b".to_owned(), recorded(Some(text), None)),
            ]),
            inner: Results::new(),
            none: Results::new(),
            items: [json!("file one"), json!({"id": 7})],
        }
    }

    /// Returns what is seen in the body of the inner loop.
    fn scope(&self) -> Scope<'_> {
        let item = |alias, value, index| Item {
            alias,
            value,
            index,
            total: 9,
        };
        let level = |steps, results, item| Level {
            steps,
            results,
            item,
        };
        Scope {
            run: &self.run,
            context: &self.context,
            levels: vec![
                level(&[], &self.inner, Some(item("i", &self.items[0], 3))),
                level(&[], &self.none, Some(item("o", &self.items[1], 5))),
                level(&self.steps, &self.outer, None),
            ],
        }
    }

    fn text(&self, template: &str) -> Result<String, Failure> {
        let scope = self.scope();
        let mut filling = Filling::new(&scope);
        let text = filling.text(&Template::parse(template).unwrap());
        filling.finish(&[]).map(|()| text)
    }

    #[track_caller]
    fn check(&self, template: &str, expected: &str) {
        assert_eq!(self.text(template).unwrap(), expected, "{template}");
    }
}

#[test]
fn every_namespace_has_its_values() {
    let world = World::new();
    world.check("${run.timestamp_utc} ${run.id}", "20261123T000000Z run-1");
    world.check("${run.root}/x", ".orchestrate/runs/run-1/x");
    world.check("${i} ${item} ${o}", "file one file one {\"id\":7}");
    world.check("${loop.index}/${loop.total}", "3/9");
    world.check("${loop.parent.index}", "5");
    world.check("${context.a} ${context.o.k.1.x}", "1 deep");
    world.check("${context.o}", "{\"k\":[1,{\"x\":\"deep\"}]}");
    world.check("${steps.T.exit_code} ${steps.T.status}", "0 completed");
    world.check("${steps.T.duration} ${steps.T.duration_ms}", "12 12");
    world.check("${steps.T.truncated} ${steps.L.truncated}", "false true");
    world.check("${steps.L.lines}", "[\"x\",\"y\\\"z\"]");
    world.check("${steps.J.json.b.n} ${steps.J.json.b.f}", "null 1.0");
    world.check("${steps.J.json.b.l.0} ${steps.J.json.b.l.1}", "true u");
    world.check("${steps.W.files} ${steps.W.poll_count}", "[\"a\"] 2");
    world.check("${steps.W.wait_duration} ${steps.W.timed_out}", "5 false");
}

#[test]
fn what_was_substituted_is_not_scanned_again() {
    World::new().check("${steps.\"a b\".output}", "ok ${run.id}\n");
}

#[test]
fn dollars_are_escaped_by_dollars() {
    World::new().check("$HOME $ $${x} $$${context.a}", "$HOME $ ${x} $1");
}

#[test]
fn all_names_without_a_value_are_told_at_once() {
    let world = World::new();
    let failure = world
        .text("${steps.never.output} ${context.zz} ${steps.J.json.b.q} ${context.a} ${steps.L.output}")
        .unwrap_err();
    assert_eq!(failure.kind, ErrorKind::UndefinedVariables);
    let names = json!([
        "context.zz",
        "steps.J.json.b.q",
        "steps.L.output",
        "steps.never.output"
    ]);
    assert_eq!(failure.context["undefined_vars"], names);
    assert_eq!(failure.context.get("missing_placeholders"), None);
}

#[test]
fn a_step_that_has_not_run_hides_one_of_an_outer_list() {
    let world = World::new();
    let mut scope = world.scope();
    scope.levels[0].steps = &world.steps[..1];
    let mut filling = Filling::new(&scope);
    filling.text(&Template::parse("${steps.T.output}").unwrap());
    assert!(filling.finish(&[]).is_err());
}

fn when(text: &str) -> When {
    let flow = pipeline(&format!("steps: [{{name: A, command: [a], when: {text}}}]"));
    flow.steps[0].when.clone().unwrap()
}

fn holds(left: &str, right: &str) -> Result<Condition, Failure> {
    let world = World::new();
    let when = when(&format!("{{equals: {{left: {left}, right: {right}}}}}"));
    condition(&when, &world.scope())
}

#[test]
fn both_sides_of_a_comparison_are_texts() {
    let check = |left: &str, right: &str, expected: bool| {
        assert_eq!(
            holds(left, right),
            Ok(Condition::Known(expected)),
            "{left} {right}"
        );
    };
    check("true", "'true'", true);
    check("1.0", "'1'", false);
    check("1.0", "'1.0'", true);
    check("'${context.a}'", "1", true);
    check("'a '", "'a'", false);
    check("'${run.id}\n\n'", "'run-1'", false);
    let failure = holds("'${context.zz}'", "'x'").unwrap_err();
    assert_eq!(failure.kind, ErrorKind::UndefinedVariables);
}

#[test]
fn only_the_disk_knows_whether_a_path_exists() {
    let world = World::new();
    let check = |text: &str| condition(&when(text), &world.scope());
    let test = |glob: &str, holds_if| {
        let glob = glob.to_owned();
        Ok(Condition::Path(PathTest { glob, holds_if }))
    };
    assert_eq!(
        check("{exists: 'a/${run.id}/*'}"),
        test("a/run-1/*", Matches::Some)
    );
    assert_eq!(check("{not_exists: x}"), test("x", Matches::None));
    let failure = check("{exists: '${context.o.k.1.x}/${context.up}'}").unwrap_err();
    assert_eq!(failure.kind, ErrorKind::UndefinedVariables);
    let mut world = World::new();
    world.context.insert("up".into(), json!("../x"));
    let failure = condition(&when("{exists: '${context.up}'}"), &world.scope()).unwrap_err();
    assert_eq!(failure.kind, ErrorKind::PathViolation);
}

/// Composes the command line of the only step of a file.
fn composed(text: &str, prompt: &str) -> Result<Vec<String>, Failure> {
    let flow = pipeline(text);
    let Work::Run(run) = &flow.steps[0].work else {
        panic!("{text}")
    };
    let world = World::new();
    let scope = world.scope();
    let mut filling = Filling::new(&scope);
    let call = uwf_pipeline::call(&run.program, &flow.providers, &mut filling)?;
    filling.finish(&call.words)?;
    compose(&call.words, prompt)
}

#[test]
fn a_template_is_filled_with_defaults_parameters_and_the_prompt() {
    let check = |text: &str, expected: &[&str]| {
        assert_eq!(composed(text, "do ${run.id}").unwrap(), expected);
    };
    check(
        "steps: [{name: A, provider: claude, input_file: x}]",
        &[
            "claude",
            "-p",
            "do ${run.id}",
            "--model",
            "claude-sonnet-4-20250514",
        ],
    );
    check(
        "steps: [{name: A, provider: claude, input_file: x, provider_params: {model: 'm-${context.a}', other: 1}}]",
        &["claude", "-p", "do ${run.id}", "--model", "m-1"],
    );
    check(
        "providers: {p: {command: [run, 'x=${x}', '${context.a}${run.id}', 'q:${PROMPT}'], defaults: {x: {a: 1, b: {c: 2}}}}}\nsteps: [{name: A, provider: p, provider_params: {x: {b: {d: '${run.id}'}}}}]",
        &[
            "run",
            "x={\"a\":1,\"b\":{\"c\":2,\"d\":\"run-1\"}}",
            "1run-1",
            "q:do ${run.id}",
        ],
    );
    check(
        "steps: [{name: A, provider: codex, input_file: x}]",
        &["codex", "exec"],
    );
}

#[test]
fn a_parameter_without_a_value_is_told_before_anything_starts() {
    let failure = composed("providers: {p: {command: [a, '${model}', '${context.zz}']}}\nsteps: [{name: A, provider: p}]", "").unwrap_err();
    assert_eq!(failure.context["missing_placeholders"], json!(["model"]));
    assert_eq!(
        failure.context["undefined_vars"],
        json!(["context.zz", "model"])
    );
    assert_eq!(
        failure.context["substituted_command"],
        json!(["a", "${model}", "${context.zz}"])
    );
}

#[test]
fn an_override_replaces_the_template_and_its_defaults() {
    let check = |text: &str, expected: &[&str]| assert_eq!(composed(text, "P").unwrap(), expected);
    check(
        "steps: [{name: A, provider: claude, input_file: x, command_override: [mine, '${PROMPT}', '${k}'], provider_params: {k: v}}]",
        &["mine", "P", "v"],
    );
    let failure = composed(
        "steps: [{name: A, provider: claude, input_file: x, command_override: [mine, '${model}']}]",
        "",
    )
    .unwrap_err();
    assert_eq!(failure.context["missing_placeholders"], json!(["model"]));
}

#[test]
fn an_argument_is_what_it_is() {
    let mut world = World::new();
    world.items[0] = json!("-x \"q\" $(rm -rf x)\n${run.id}");
    let flow = pipeline(
        "steps: [{name: L, for_each: {items: [], steps: [{name: B, command: [echo, '${item}']}]}}]",
    );
    let Work::Run(run) = &flow.steps[0].body().unwrap().steps[0].work else {
        panic!()
    };
    let scope = world.scope();
    let mut filling = Filling::new(&scope);
    let call = uwf_pipeline::call(&run.program, &flow.providers, &mut filling).unwrap();
    let argv = compose(&call.words, "").unwrap();
    assert_eq!(argv[1], "-x \"q\" $(rm -rf x)\n${run.id}");
}

#[test]
fn arguments_that_the_system_would_refuse_are_refused() {
    let flow = "steps: [{name: A, provider: gemini, input_file: x}]";
    assert!(composed(flow, &"x".repeat(131_071)).is_ok());
    for bytes in [131_072, 3_000_000] {
        let failure = composed(flow, &"x".repeat(bytes)).unwrap_err();
        assert_eq!(failure.kind, ErrorKind::ArgumentTooLong);
        assert_eq!(failure.context["hint"], json!("input_mode: stdin"));
    }
    assert_eq!(
        composed(flow, "a\0b").unwrap_err().kind,
        ErrorKind::InvalidArgument
    );
}

#[test]
fn a_prompt_by_standard_input_may_be_any_bytes() {
    let bytes = [0xff, 0x00];
    assert_eq!(prompt_text(&bytes, InputMode::Stdin), Ok(""));
    let failure = prompt_text(&bytes, InputMode::Argv).unwrap_err();
    assert_eq!(failure.kind, ErrorKind::InputFileError);
    assert_eq!(prompt_text(b"a\n", InputMode::Argv), Ok("a\n"));
    assert!(prompt_text(&vec![b'x'; 16 << 20], InputMode::Stdin).is_ok());
    assert!(prompt_text(&vec![b'x'; (16 << 20) + 1], InputMode::Stdin).is_err());
}

#[test]
fn parameters_win_over_defaults_at_every_depth() {
    let flow = pipeline(
        "providers: {p: {command: [a], defaults: {a: 1, b: {c: 2, d: [1]}}}}\nsteps: [{name: A, provider: p, provider_params: {b: {d: [2], e: 3}, f: 4}}]",
    );
    let Work::Run(run) = &flow.steps[0].work else {
        panic!()
    };
    let uwf_pipeline::Program::Provider { params, .. } = &run.program else {
        panic!()
    };
    let found = serde_json::to_value(merged(&flow.providers["p"].defaults, params)).unwrap();
    assert_eq!(
        found,
        json!({"a": 1, "b": {"c": 2, "d": [2], "e": 3}, "f": 4})
    );
}

#[test]
fn a_stored_result_is_the_same_result_again() {
    for captured in [
        Captured::Json(json!(null)),
        Captured::Json(json!({"a": 1})),
        Captured::Lines {
            lines: vec![],
            truncated: true,
        },
        Captured::Text {
            output: String::new(),
            truncated: false,
        },
    ] {
        let result = recorded(Some(captured), None).result;
        let stored = serde_json::to_value(&result).unwrap();
        let again: StepResult = serde_json::from_value(stored.clone()).unwrap();
        assert_eq!(again, result, "{stored}");
    }
    let waited = recorded(None, World::new().outer["W"].result.waited.clone()).result;
    let stored = serde_json::to_value(&waited).unwrap();
    assert_eq!(
        serde_json::from_value::<StepResult>(stored).unwrap(),
        waited
    );
    let skipped = serde_json::to_value(StepResult::skipped()).unwrap();
    assert_eq!(skipped, json!({"status": "skipped", "exit_code": 0}));
}
