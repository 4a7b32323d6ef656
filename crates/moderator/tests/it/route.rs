//! Routing: which edge is taken, and the instruction of the next role.

use serde_json::{Value, json};
use uwf_moderator::graph::{end_result, history_need, reenter, status_of};
use uwf_moderator::{Assignment, HistoryNeed, Performer, Route, RouteError};
use uwf_protocol::workflow::Workflow;

use crate::common::{role, route, start, status_maps, step, workflow};

/// Decides after one step of `a`.
fn after(workflow: &Workflow<Value>, output: Value) -> Result<Route, RouteError> {
    route(workflow, &start(), &[step("a", output)])
}

fn message(workflow: &Workflow<Value>, output: Value) -> String {
    after(workflow, output)
        .expect_err("a route is found")
        .to_string()
}

fn to(name: &str, prompt: &str) -> Result<Route, RouteError> {
    Ok(Route::To(Assignment {
        role: role(name),
        prompt: prompt.into(),
        location: None,
        performer: Performer::Agent,
    }))
}

fn suspended(message: &str) -> Result<Route, RouteError> {
    Ok(Route::Suspend {
        role: role("a"),
        message: message.into(),
    })
}

fn ended(result: Option<&str>) -> Result<Route, RouteError> {
    Ok(Route::End {
        result: Ok(result.map(str::to_owned)),
    })
}

/// A workflow with these edges of `a` between the start and a role `b`.
fn from_a(edges: Value) -> Workflow<Value> {
    status_maps(&json!({
        "$START": { "_": { "role": "a", "prompt": "go" } },
        "a": edges,
        "b": { "_": { "role": "$END" } },
    }))
}

#[test]
fn the_status_is_the_first_text_of_dollar_status_and_status() {
    let check = |output: Value, status: &str| assert_eq!(status_of(&output).as_str(), status);
    check(json!({ "$status": "a", "status": "b" }), "a");
    check(json!({ "status": "b" }), "b");
    check(json!({ "$status": 1, "status": "b" }), "b");
    check(json!({ "$status": null }), "_");
    check(json!({ "$status": "" }), "");
    check(json!({}), "_");
    check(json!("text"), "_");
    check(json!(["$status"]), "_");
}

#[test]
fn the_edge_of_the_status_is_taken() {
    let flow = from_a(json!({
        "done": { "role": "$END", "prompt": "bye {{who}}" },
        "more": { "role": "b", "prompt": "do {{what}}", "location": "/src/{{repo}}" },
        "ask": { "role": "$SUSPEND", "prompt": "which {{what}}?", "location": "{{missing}}" },
    }));
    let more = json!({ "$status": "more", "what": ["x"], "repo": "uwf" });
    let assignment = Assignment {
        role: role("b"),
        prompt: r#"do ["x"]"#.into(),
        location: Some("/src/uwf".into()),
        performer: Performer::Agent,
    };
    assert_eq!(after(&flow, more), Ok(Route::To(assignment)));
    let done = json!({ "status": "done", "who": "all" });
    assert_eq!(after(&flow, done), ended(Some("bye all")));
    let ask = json!({ "$status": "ask", "what": "one" });
    assert_eq!(after(&flow, ask), suspended("which one?"));
}

#[test]
fn a_prompt_of_blanks_is_no_result() {
    for prompt in [
        json!(null),
        json!(""),
        json!(" "),
        json!("{{#x}}{{x}}{{/x}}\n"),
    ] {
        let flow = from_a(json!({ "_": { "role": "$END", "prompt": prompt } }));
        assert_eq!(after(&flow, json!({ "x": "" })), ended(None), "{prompt}");
    }
}

#[test]
fn a_result_that_cannot_be_filled_in_keeps_no_thread_from_its_end() {
    let flow = from_a(json!({ "_": { "role": "$END", "prompt": "bye {{missing}}" } }));
    let Ok(Route::End { result: Err(why) }) = after(&flow, json!({})) else {
        panic!("the thread ends without a result");
    };
    assert!(why.to_string().contains("`missing`"), "{why}");
}

#[test]
fn the_result_of_a_completed_thread_needs_conditions_only_if_its_ends_differ() {
    let result = |edges: Value, output: Value| {
        let found = end_result(&from_a(edges), &step("a", output));
        found.map(|result| result.unwrap())
    };
    let end = |prompt: &str| json!({ "role": "$END", "condition": "c", "prompt": prompt });
    let on = json!({ "role": "b", "prompt": "on" });
    let said = || Some(Some("said x".to_owned()));
    let x = || json!({ "$status": "done", "x": "x" });
    assert_eq!(result(json!([on, end("said {{x}}")]), x()), said());
    let same = json!([end("said {{x}}"), on, end("said {{x}}")]);
    assert_eq!(result(same, x()), said());
    assert_eq!(result(json!([end("said {{x}}"), on, end("or")]), x()), None);
    let by_status = json!({ "done": end("said {{x}}"), "more": on });
    assert_eq!(result(by_status.clone(), x()), said());
    assert_eq!(result(by_status, json!({ "$status": "more" })), None);
}

#[test]
fn an_unknown_status_is_an_error_with_the_known_ones() {
    let edge = json!({ "role": "b", "prompt": "x" });
    let flow = from_a(json!({ "_": edge, "done": edge, "failed": edge }));
    assert_eq!(
        message(&flow, json!({ "$status": "dnoe" })),
        "`a` answered with the status `dnoe`, which has no edge; its edges are `_`, `done`, `failed`; \
         did you mean `done`?"
    );
    let flow = from_a(json!({ "done": edge, "failed": edge }));
    assert_eq!(
        message(&flow, json!({})),
        "`a` answered without a status, and has no edge `_`; its edges are `done`, `failed`"
    );
}

#[test]
fn the_only_edge_has_its_status_or_an_underscore_as_its_key() {
    let edge = json!({ "role": "b", "prompt": "go {{$status}}" });
    let unit = from_a(json!({ "_": edge }));
    assert_eq!(
        after(&unit, json!({ "$status": "done" })),
        to("b", "go done")
    );
    assert_eq!(after(&unit, json!({})), to("b", "go _"));
    let named = from_a(json!({ "done": edge }));
    assert_eq!(
        after(&named, json!({ "$status": "done" })),
        to("b", "go done")
    );
    assert_eq!(after(&named, json!({})), to("b", "go _"));
    assert!(message(&named, json!({ "$status": "failed" })).contains("`failed`"));
    let asks = json!({ "role": "$SUSPEND", "prompt": "x" });
    let beside = from_a(json!({ "_": edge, "$SUSPEND": asks }));
    assert_eq!(
        after(&beside, json!({ "$status": "done" })),
        to("b", "go done")
    );
    let only = from_a(json!({ "$SUSPEND": asks }));
    assert!(message(&only, json!({})).contains("without a status"));
}

#[test]
fn every_role_may_suspend_its_thread() {
    let ask = |reason: Value| json!({ "$status": "$SUSPEND", "reason": reason });
    let unexplained = "the role `a` waits for an answer and gave no reason";
    let edge = json!({ "role": "b", "prompt": "x" });
    for flow in [
        from_a(json!({ "_": edge })),
        from_a(json!({ "done": edge })),
        from_a(json!([edge])),
        workflow(&json!({ "a": {} }), &json!({}), &json!({})),
    ] {
        assert_eq!(
            after(&flow, ask(json!("which one?"))),
            suspended("which one?")
        );
        assert_eq!(after(&flow, ask(json!(["x"]))), suspended(r#"["x"]"#));
        assert_eq!(after(&flow, ask(json!("  "))), suspended(unexplained));
        assert_eq!(
            after(&flow, json!({ "$status": "$SUSPEND" })),
            suspended(unexplained)
        );
    }
    let own =
        json!({ "$SUSPEND": { "role": "$SUSPEND", "prompt": "Stop: {{reason}}" }, "_": edge });
    assert_eq!(
        after(&from_a(own), ask(json!("why"))),
        suspended("Stop: why")
    );
}

#[test]
fn a_missing_variable_names_edge_template_and_variable() {
    let flow = from_a(json!({
        "done": { "role": "b", "prompt": "first line\nfix {{reson}}" },
        "more": { "role": "b", "prompt": "x", "location": "/{{dir}}" },
    }));
    assert_eq!(
        message(&flow, json!({ "$status": "done", "reason": "r" })),
        "the prompt of the edge `a → done` cannot be filled in: the answer has no `reson` (at 2:7 of the \
         template); did you mean `reason`?: `first line…`"
    );
    assert_eq!(
        message(&flow, json!({ "$status": "more" })),
        "the location of the edge `a → more` cannot be filled in: the answer has no `dir` (at 1:4 of the \
         template): `/{{dir}}`"
    );
}

#[test]
fn broken_templates_and_empty_results_name_their_edge() {
    let flow = from_a(json!({
        "broken": { "role": "b", "prompt": "{{#a}}" },
        "empty": { "role": "b", "prompt": "{{text}}" },
        "nothing": { "role": "b", "prompt": "" },
        "nowhere": { "role": "b", "prompt": "x", "location": "{{text}}" },
        "here": { "role": "b", "prompt": "x", "location": " " },
    }));
    let check = |status: &str, expected: &str| {
        let output = json!({ "$status": status, "text": " \n" });
        assert_eq!(message(&flow, output), expected);
    };
    check(
        "broken",
        "the prompt of the edge `a → broken` has a section `a` that is not closed (at 1:4 of the template): \
         `{{#a}}`",
    );
    check(
        "empty",
        "the prompt of the edge `a → empty` comes out empty: `{{text}}`",
    );
    check(
        "nothing",
        "the prompt of the edge `a → nothing` comes out empty: ``",
    );
    check(
        "nowhere",
        "the location of the edge `a → nowhere` comes out empty: `{{text}}`",
    );
    assert_eq!(after(&flow, json!({ "$status": "here" })), to("b", "x"));
}

#[test]
fn a_new_thread_takes_the_edge_new_and_an_ended_one_resume() {
    let begin = |graph: Value| route(&status_maps(&graph), &start(), &[]);
    let again = |graph: Value| reenter(&status_maps(&graph));
    let unit = json!({ "$START": { "_": { "role": "a", "prompt": "go {{$status}}" } } });
    assert_eq!(begin(unit.clone()), to("a", "go _"));
    assert_eq!(again(unit), Err(RouteError::NoResume));

    let both = json!({ "$START": {
        "resume": { "role": "b", "prompt": "again" },
        "new": { "role": "a", "prompt": "first" },
    } });
    assert_eq!(begin(both.clone()), to("a", "first"));
    assert_eq!(again(both), to("b", "again"));

    let list = json!({ "$START": [{ "role": "a" }] });
    assert_eq!(begin(list.clone()), to("a", ""));
    assert_eq!(again(list), Err(RouteError::NoResume));

    let asks = json!({ "$START": { "_": { "role": "$SUSPEND", "prompt": "x" } } });
    let error = begin(asks).unwrap_err().to_string();
    assert!(
        error.starts_with("the edge `$START → _` leads to `$SUSPEND`"),
        "{error}"
    );
    let error = begin(json!({})).unwrap_err().to_string();
    assert_eq!(error, "the graph has no edges for `$START`");
}

/// The workflow that the design was first explained by: a review that may send the developer back.
fn solve_issue() -> Workflow<Value> {
    let always = |role: &str| json!([{ "role": role, "condition": null }]);
    workflow(
        &json!({ "planner": {}, "developer": {}, "reviewer": {} }),
        &json!({ "notApproved": "steps[-1].output.approved = false" }),
        &json!({
            "$START": always("planner"),
            "planner": always("developer"),
            "developer": always("reviewer"),
            "reviewer": [
                { "role": "developer", "condition": "notApproved" },
                { "role": "$END", "condition": null },
            ],
        }),
    )
}

#[test]
fn a_rejected_review_goes_back_until_it_is_approved() {
    let flow = solve_issue();
    let mut steps = Vec::new();
    let mut visited = Vec::new();
    while let Route::To(next) = route(&flow, &start(), &steps).unwrap() {
        visited.push(next.role.to_string());
        assert_eq!((next.prompt.as_str(), next.location), ("", None));
        let approved = visited.len() > 4;
        steps.push(step(next.role.as_str(), json!({ "approved": approved })));
    }
    assert_eq!(
        visited,
        ["planner", "developer", "reviewer", "developer", "reviewer"]
    );
}

#[test]
fn only_conditions_need_the_whole_thread() {
    let flow = solve_issue();
    let check = |name: Option<&str>, need: HistoryNeed| {
        assert_eq!(
            history_need(&flow, name.map(role).as_ref()),
            need,
            "{name:?}"
        );
    };
    check(None, HistoryNeed::LastStep);
    check(Some("planner"), HistoryNeed::LastStep);
    check(Some("reviewer"), HistoryNeed::All);
    check(Some("stranger"), HistoryNeed::LastStep);
    let maps = from_a(json!({ "_": { "role": "b", "prompt": "x" } }));
    assert_eq!(history_need(&maps, Some(&role("a"))), HistoryNeed::LastStep);
}

#[test]
fn lists_take_the_first_edge_that_holds() {
    let flow = workflow(
        &json!({ "a": {}, "b": {} }),
        &json!({ "many": "$count(steps) > 1", "bad": "1 + 'x'" }),
        &json!({ "a": [
            { "role": "b", "condition": "many", "prompt": "again {{n}}", "location": "/{{n}}" },
            { "role": "b", "condition": "bad" },
        ], "b": [{ "role": "a", "condition": "gone" }], "c": [{ "role": "a", "condition": "many" }] }),
    );
    let twice = [step("a", json!({ "n": 1 })), step("a", json!({ "n": 2 }))];
    let assignment = Assignment {
        role: role("b"),
        prompt: "again 2".into(),
        location: Some("/2".into()),
        performer: Performer::Agent,
    };
    assert_eq!(route(&flow, &start(), &twice), Ok(Route::To(assignment)));
    let error = message(&flow, json!({ "n": 1 }));
    assert!(
        error.starts_with("the condition `bad` of the edge `a → edge 2` failed: `1 + 'x'`"),
        "{error}"
    );
    let error = route(&flow, &start(), &[step("b", json!({}))])
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("`b → edge 1` needs the condition `gone`"),
        "{error}"
    );
    let error = route(&flow, &start(), &[step("c", json!({}))]).unwrap_err();
    assert!(matches!(error, RouteError::NoMatch { .. }), "{error}");
    let error = route(&flow, &start(), &[step("d", json!({}))]).unwrap_err();
    assert!(matches!(error, RouteError::NoEdges { .. }), "{error}");
}

#[test]
fn a_prompt_of_a_list_may_be_left_out_but_not_come_out_empty() {
    let edge = |prompt: Value| from_a(json!([{ "role": "b", "prompt": prompt }]));
    assert_eq!(after(&edge(json!(null)), json!({})), to("b", ""));
    assert_eq!(after(&edge(json!(" ")), json!({})), to("b", ""));
    assert!(
        message(&edge(json!("{{e}}")), json!({ "e": "" })).contains("`a → edge 1` comes out empty")
    );
    let asks = from_a(json!([{ "role": "$SUSPEND" }]));
    let unexplained = "the role `a` waits for an answer and gave no reason";
    assert_eq!(after(&asks, json!({})), suspended(unexplained));
}
