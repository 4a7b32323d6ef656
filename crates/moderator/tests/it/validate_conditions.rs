//! What conditions name, and what schemas require: slips that nothing else would find.

use serde_json::{Value, json};
use uwf_moderator::validate;
use uwf_protocol::workflow::Problem;

use crate::common::workflow;
use crate::validate::problems_of;

/// Returns the problems of a workflow with this condition, behind their path.
fn problems_of_condition(expression: &str) -> Vec<String> {
    let graph = json!({ "$START": [{ "role": "$END" }] });
    let tester = json!({
        "type": "object",
        "properties": {
            "failures": { "type": "integer" },
            "cases": { "type": "array", "items": {
                "type": "object",
                "properties": { "name": { "type": "string" }, "ok": { "type": "boolean" } },
            } },
        },
    });
    let roles = json!({ "a": {}, "coder": {}, "tester": tester });
    let found = problems_of(&workflow(&roles, &json!({ "c": expression }), &graph));
    let path = "conditions.c.expression: ";
    let message = |problem: &String| Some(problem.strip_prefix(path)?.to_owned());
    found.iter().filter_map(message).collect()
}

#[test]
fn an_unknown_name_at_the_top_level_is_reported() {
    let problem = |name: &str, near: &str| {
        format!(
            "`{name}` is always undefined: the expression sees `start`, `steps`, and answers by `$first(role)` and `$last(role)`{near}"
        )
    };
    let one = [problem("cost", "")];
    assert_eq!(problems_of_condition("cost > 80"), one);
    assert_eq!(problems_of_condition("$not(80 < cost.total)"), one);
    assert_eq!(problems_of_condition("-cost < 1 or cost[0] = 1"), one);
    assert_eq!(
        problems_of_condition("output.ok and $count(step) > 2"),
        [
            problem("output", ""),
            problem("step", "; did you mean `steps`?")
        ]
    );
}

#[test]
fn names_that_may_exist_are_not_reported() {
    for expression in [
        "start.prompt = 'x' and steps[-1].output.cost > 80",
        "$count(steps[role = 'coder' and agent != 'x']) >= 3",
        "$last('tester').failures = 0",
        "$exists($filter(steps, function($s) { $s.role = 'a' and cost }))",
        "$sum(steps.(output.cost * output.count)) > 5",
        "steps^(output.cost)[0].role = 'a'",
        "steps{role: output}.a.cost > 1",
        "($cost := steps[-1].output.cost; $cost > 80)",
        "steps ~> |$|{'cost': cost}|",
        "steps@$s.output[cost = $s.role]",
        "$last('tester').$status = 'x' or $last('tester').reason = 'y'",
        "$last('coder').any.thing = 1",
        "**.cost > 80 or *.role = 'a'",
        "'a' in steps.role",
    ] {
        assert_eq!(
            problems_of_condition(expression),
            Vec::<String>::new(),
            "{expression}"
        );
    }
}

#[test]
fn the_names_in_a_condition_exist_in_the_workflow() {
    let check = |expression: &str, expected: &[&str]| {
        assert_eq!(problems_of_condition(expression), expected, "{expression}");
    };
    let stranger = |name: &str, near: &str| {
        format!("the expression looks for `{name}`, which is not a role; did you mean `{near}`?")
    };
    let testr = stranger("testr", "tester");
    check("$last('testr').failures = 0", &[&testr]);
    check("$map([1], function($x){ $first('testr') })", &[&testr]);
    let codr = stranger("codr", "coder");
    for expression in [
        "$count(steps[role = 'codr']) >= 3",
        "$count(steps['codr' = role]) >= 3",
        "steps[-1].role != 'codr'",
        "steps[-1].role in ['coder', 'codr']",
        "steps.($.role = 'codr')",
        "$$.steps[output.any and role = 'codr']",
        "steps^(output.any)[0].role = 'codr'",
    ] {
        check(expression, &[&codr]);
    }
}

#[test]
fn the_parts_that_a_condition_reads_are_in_an_answer() {
    let check = |expression: &str, expected: &[&str]| {
        assert_eq!(problems_of_condition(expression), expected, "{expression}");
    };
    let undefined = |keys: &str, whose: &str, near: &str| {
        format!("`{keys}` is always undefined: it is not in the answer of {whose}{near}")
    };
    let near = "; did you mean `failures`?";
    let failure = undefined("failure", "`tester`", near);
    for expression in [
        "$last('tester').failure = 0",
        "$first('tester')[failure > 1]",
        "steps[role = 'tester'].output.failure = 0",
        "steps[role = 'tester' and output.failure > 1]",
        "steps[role = 'tester'][-1].(output.failure)",
    ] {
        check(expression, &[&failure]);
    }
    check(
        "$last('tester').cases.nme = 'x' and $last('tester').cases[name = 'x'].ok",
        &[&undefined(
            "cases.nme",
            "`tester`",
            "; did you mean `name`?",
        )],
    );
    check(
        "$.cost > 1 or $$.cost > 1",
        &[
            "`cost` is always undefined: the expression sees `start`, `steps`, and answers by `$first(role)` and `$last(role)`",
        ],
    );
    check(
        "start.promt = 'x'",
        &[
            "`promt` is always undefined: the start has `prompt`, `workflow`; did you mean `prompt`?",
        ],
    );
    check(
        "steps[-1].outptu.x",
        &[
            "`outptu` is always undefined: a step has `role`, `output`, `detail`, `agent`; did you mean `output`?",
        ],
    );
}

#[test]
fn functions_exist_and_depend_on_the_thread_alone() {
    let check = |expression: &str, expected: &[&str]| {
        assert_eq!(problems_of_condition(expression), expected, "{expression}");
    };
    let impure = |name: &str| {
        format!(
            "`${name}` is not available: an expression depends on the thread alone, so that the same thread always goes the same way"
        )
    };
    for (expression, name) in [
        ("$now() > '2026'", "now"),
        ("steps[$millis() > 3]", "millis"),
        ("$map([1], function($x){ $random() > 0.5 })", "random"),
        ("$shuffle(steps)[0].role = 'a'", "shuffle"),
        ("$map([1], $now)", "now"),
        ("true ? $now() : 1", "now"),
        ("steps ~> $shuffle", "shuffle"),
    ] {
        check(expression, &[&impure(name)]);
    }
    let count = "there is no function `$coutn`; did you mean `$count`?";
    for expression in [
        "$coutn(steps) > 3",
        "steps ~> $coutn()",
        "steps ~> $coutn",
        "[{ 'n': steps.$coutn(output) }]",
        "$not($coutn(steps))",
        "steps^($coutn(output))",
    ] {
        check(expression, &[count]);
    }
    check(
        "$lst('coder').x",
        &["there is no function `$lst`; did you mean `$last`?"],
    );
    check("$frobnicate(1)", &["there is no function `$frobnicate`"]);
    check(
        "count(steps) > 3",
        &["`count(…)` calls no function: did you mean `$count(…)`?"],
    );
    for expression in [
        "($now := 3; $now > 2)",
        "($f := function($n){ $n < 1 ? 0 : $f($n - 1) }; $f(3))",
        "$map(steps, function($random){ $random.role })",
        "($twice := function($g, $x){ $g($g($x)) }; $twice($sum, 1))",
        "steps@$s#$now.output[$now > 1]",
        "steps ~> $count()",
        "steps.output ~> |$|{'x': $string(1)}|",
    ] {
        check(expression, &[]);
    }
}

#[test]
fn operators_of_other_languages_are_translated() {
    let check = |expression: &str, said: &str| {
        let expected = format!("`{expression}` is not a JSONata expression: {said}");
        assert_eq!(problems_of_condition(expression), [expected]);
    };
    check(
        "$last('coder').x == 1",
        "`==` at character 18 is no operator: equality is `=`",
    );
    check(
        "steps.x = '==' && steps",
        "`&&` at character 16 is no operator: both is `and`",
    );
    check(
        "steps != 1 || steps",
        "`||` at character 12 is no operator: either is `or`",
    );
    check(
        "!steps",
        "`!` at character 1 is no operator: negation is `$not(…)`",
    );
}

#[test]
fn a_required_property_that_is_not_described_is_a_warning() {
    let check = |schema: Value, expected: &[&str]| {
        let graph = json!({
            "$START": [{ "role": "a" }],
            "a": [{ "role": "$END" }],
        });
        let found = validate(&workflow(&json!({ "a": schema }), &json!({}), &graph));
        let expected: Vec<Problem> = expected
            .iter()
            .map(|name| {
                let message = format!("`required` names {name}");
                Problem::warning(&["roles", "a", "frontmatter"], message)
            })
            .collect();
        assert_eq!(found, expected);
    };
    let missing = "which is not among the `properties`";
    let of_slug = format!("`slugg`, {missing}; did you mean `slug`?");
    let slug = json!({ "type": "object", "properties": { "slug": {} }, "required": ["slugg"] });
    check(slug.clone(), &[&of_slug]);
    let list =
        json!({ "type": "object", "properties": { "l": { "type": "array", "items": slug } } });
    check(list, &[&of_slug]);
    let described = json!({
        "type": "object",
        "properties": { "a": {} },
        "required": ["a", "b"],
        "oneOf": [
            { "properties": { "$status": { "const": "x" }, "b": {} }, "required": ["a", "b"] },
            { "properties": { "$status": { "const": "y" }, "b": {} }, "required": ["$status", "c"] },
        ],
    });
    check(described, &[&format!("`c`, {missing}")]);
    check(json!({ "type": "object", "required": ["x"] }), &[]);
    let conditional = json!({
        "type": "object",
        "properties": { "a": {} },
        "required": ["a", "b"],
        "if": { "required": ["b"] },
        "then": { "properties": { "b": {} }, "required": ["c"] },
    });
    check(conditional, &[&format!("`c`, {missing}")]);
}
