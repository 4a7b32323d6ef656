//! Nothing that a model or an author writes makes the moderator panic.

use proptest::prelude::{Just, ProptestConfig, Strategy, any, prop, prop_oneof, proptest};
use serde_json::{Value, json};
use uwf_moderator::condition::Question;
use uwf_moderator::graph::{reenter, status_of};
use uwf_moderator::{condition, template, validate};

use crate::common::{self, route};

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[a-c$_.|{} \n]{0,4}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::hash_map("[a-c]|\\$status|status|reason|const|enum|type|properties|required|oneOf|anyOf|allOf|items", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// Templates that are mostly tags, among them broken ones.
fn source() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("{{"),
        Just("}}"),
        Just("{{{"),
        Just("}}}"),
        Just("{{#a}}"),
        Just("{{/a}}"),
        Just("{{^b}}"),
        Just("{{/b}}"),
        Just("{{a}}"),
        Just("{{.}}"),
        Just("{{a.b}}"),
        Just("{{=<% %>=}}"),
        Just("<%={{ }}=%>"),
        Just("<%c%>"),
        Just("{{!"),
        Just("{{>x}}"),
        Just("\n"),
        Just("\r\n"),
        Just(" "),
        Just("é"),
        Just("🎉"),
        Just("|"),
        Just("="),
        Just("{{=é ü=}}"),
        Just("{% if x %}"),
    ];
    prop_oneof![
        prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat()),
        any::<String>(),
    ]
}

/// Failing cases are printed; none are kept in files.
fn config() -> ProptestConfig {
    ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn templates_never_panic(source in source(), view in value()) {
        let _ = template::render(&source, &view);
    }

    #[test]
    fn text_without_braces_is_its_own_result(source in "[^{]*", view in value()) {
        assert_eq!(template::render(&source, &view).as_deref(), Ok(source.as_str()));
    }

    #[test]
    fn routes_never_panic(source in source(), output in value()) {
        let edge = json!({ "role": "b", "prompt": source, "location": source });
        let graph = json!({
            "$START": { "_": edge },
            "a": { "_": edge, "a": edge, "b": { "role": "$SUSPEND", "prompt": source } },
            "b": [{ "role": "a", "condition": "c" }, { "role": "$END" }],
        });
        let workflow = common::workflow(&json!({ "a": output, "b": {} }), &json!({ "c": source }), &graph);
        let start = common::start();
        let _ = status_of(&output);
        let _ = reenter(&workflow);
        for steps in [vec![], vec![common::step("a", output.clone())], vec![common::step("b", output.clone())]] {
            let _ = route(&workflow, &start, &steps);
        }
        let _ = validate(&workflow);
    }

    #[test]
    fn conditions_never_panic(expression in "[a-z$'().=\\[\\]0-9 {}:&|<>~>-]{0,30}") {
        let steps = [common::step("a", json!({ "x": 1 }))];
        let _ = Question::new(vec![expression], &common::start(), &steps).answer();
    }
}

#[test]
fn deep_expressions_are_refused_or_answered() {
    let evaluate = |expression: &str| {
        let _ = Question::new(vec![expression.to_owned()], &common::start(), &[]).answer();
    };
    for deep in ["(", "[", "{\"a\":", "-", "$not(", "a.", "function($x){"] {
        let expression: String = deep.repeat(16 * 1024 / deep.len());
        let _ = condition::check(&expression);
        evaluate(&expression);
    }
    let nested = format!("{}1{}", "(".repeat(8_000), ")".repeat(8_000));
    evaluate(&nested);
}
