//! What conditions see of a thread, and what counts as true.

use serde_json::json;
use uwf_moderator::condition::{self, ConditionError, Question};

use crate::common::{start, step};

/// Returns the verdict on a thread of a writer, a reviewer, and the writer again.
fn holds(expression: &str) -> Result<bool, ConditionError> {
    let steps = [
        step("writer", json!({ "text": "draft", "n": 1 })),
        step(
            "reviewer",
            json!({ "approved": false, "notes": [], "none": null }),
        ),
        step(
            "writer",
            json!({ "text": "final", "n": 2, "zero": 0, "blank": "" }),
        ),
    ];
    let question = Question::new(vec![expression.to_owned()], &start(), &steps);
    let verdict = question.answer().map_err(|failed| failed.problem)?;
    Ok(verdict.is_some())
}

fn check(cases: &[(&str, bool)]) {
    for (expression, expected) in cases {
        assert_eq!(holds(expression), Ok(*expected), "{expression}");
    }
}

#[test]
fn an_expression_sees_the_start_and_every_step() {
    check(&[
        ("start.prompt = 'fix the bug'", true),
        ("start.workflow = '0000000000001'", true),
        ("$count(steps) = 3", true),
        ("steps[0].role = 'writer'", true),
        ("steps[-1].output.text = \"final\"", true),
        ("steps[-2].output.approved = false", true),
        (
            "steps[1].agent = 'uwf-mock' and steps[1].detail = '0000000000005'",
            true,
        ),
        ("$count(steps[role = 'writer']) >= 2", true),
        ("steps[role = 'reviewer'].output.approved", false),
        ("'final' in steps.output.text", true),
        ("$not($exists(steps[-1].output.approved))", true),
        ("steps[7].output.x = false", false),
        (
            "steps[-1].output.n > 1 and (steps[0].output.n < 1 or steps[0].output.n != 2)",
            true,
        ),
    ]);
}

#[test]
fn first_and_last_are_the_outputs_of_a_role() {
    check(&[
        ("$first('writer').text = 'draft'", true),
        ("$last('writer').text = 'final'", true),
        ("$last('reviewer').approved = false", true),
        ("$first('tester')", false),
        ("$exists($last('tester').x)", false),
        ("$last('tester').x = false", false),
    ]);
    let message = holds("$last(1)").unwrap_err().to_string();
    assert!(
        message.contains("`$last` takes the name of a role"),
        "{message}"
    );
}

#[test]
fn undefined_null_false_zero_and_the_empty_text_are_false() {
    check(&[
        ("nothing", false),
        ("null", false),
        ("steps[1].output.none", false),
        ("false", false),
        ("true", true),
        ("steps[-1].output.zero", false),
        ("-1", true),
        ("steps[-1].output.blank", false),
        ("'false'", true),
        ("[]", true),
        ("steps[1].output.notes", true),
        ("{}", true),
        ("function($x){$x}", true),
    ]);
}

#[test]
fn an_expression_cannot_depend_on_anything_but_the_thread() {
    for name in ["now", "millis", "random"] {
        let message = holds(&format!("${name}()")).unwrap_err().to_string();
        assert!(
            message.contains(&format!("`${name}` is not available")),
            "{message}"
        );
    }
}

#[test]
fn a_syntax_error_has_the_message_of_the_parser() {
    assert_eq!(
        condition::check("steps[-1].output.approved = false"),
        Ok(())
    );
    let message = condition::check("steps[-1.output = ")
        .unwrap_err()
        .to_string();
    assert!(
        message.starts_with("`steps[-1.output = ` is not a JSONata expression: "),
        "{message}"
    );
    assert!(matches!(
        condition::check(""),
        Err(ConditionError::Syntax { .. })
    ));
    let long = "a".repeat(16 * 1024 + 1);
    assert_eq!(
        condition::check(&long),
        Err(ConditionError::TooLong { length: long.len() })
    );
}

#[test]
fn endless_expressions_end() {
    for expression in [
        "($f := function($x){ 1 + $f($x) }; $f(1))",
        "($f := function($x){ $f($x) }; $f(1))",
        "$count([1..10000000].($ * 2)) > 0",
    ] {
        assert!(
            matches!(
                holds(expression),
                Err(ConditionError::Evaluation { .. } | ConditionError::Exceeded { .. })
            ),
            "{expression}"
        );
    }
    assert!(matches!(
        holds("1 + 'a'"),
        Err(ConditionError::Evaluation { .. })
    ));
}
