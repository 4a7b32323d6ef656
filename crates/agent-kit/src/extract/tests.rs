//! Answers of agents against schemas of roles: the recorded results of the reference, and ours.

use super::*;

fn schema(schema: Value) -> RoleSchema {
    let hash = uwf_cas_fs::hash_of(Some(schemas::META), &schema).unwrap();
    RoleSchema::new(hash, schema).unwrap()
}

fn done() -> RoleSchema {
    schema(json!({
        "properties": { "$status": { "const": "done" }, "commit": { "type": "string" } },
        "required": ["$status", "commit"],
    }))
}

fn rejected(answer: &str) -> String {
    done().extract(answer).unwrap_err().to_string()
}

/// What the reference makes of an answer, and why we make something else of it.
const DIFFERENCES: &[(&str, &str)] = &[
    (
        "---\n$status: ok\nitems:\n- a\n- 1\n---\n\nbody\n",
        "a number in a list of strings is the text that was written",
    ),
    (
        "---\n$status: done\nbranch: 5\n---\n\nbody\n",
        "a number for a string is the text that was written",
    ),
    (
        "---\n\t$status: ok\n---\n\nbody\n",
        "a tab before the only key cannot be mistaken",
    ),
    (
        "---\r\n$status: ok\r\n---\r\nbody\r\n",
        "line ends of either kind are read",
    ),
    (
        "---\n$status: ok\r\n---\nbody",
        "line ends of either kind are read",
    ),
    (
        "\n---\n$status: ok\n---\n",
        "the kit of the reference strips blanks before it splits",
    ),
    (
        " ---\n$status: ok\n---\n",
        "the kit of the reference strips blanks before it splits",
    ),
    (
        "\u{feff}---\n$status: ok\n---\n",
        "the kit of the reference strips a byte order mark, too",
    ),
    (
        "```yaml\n---\n$status: ok\n---\n```",
        "one block in a code fence cannot be mistaken",
    ),
    (
        "---\n$status: ok\n--- \nb",
        "blanks after a fence belong to the fence, not to the body",
    ),
    (
        "---\n$status: ok\n---b",
        "only a line of three dashes is a fence",
    ),
    (
        "---\n$status: ok\n----\nb",
        "only a line of three dashes is a fence",
    ),
    (
        "---\na: b\n---\n\nbody\n",
        "a schema without fields takes the fields as they are; no null is made up",
    ),
];

#[test]
fn answers_yield_what_the_reference_makes_of_them_but_for_known_differences() {
    let fixtures = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures");
    let read = |name: &str| std::fs::read_to_string(format!("{fixtures}/{name}")).unwrap();
    let schemas: Value = serde_json::from_str(&read("frontmatter-schemas.json")).unwrap();
    let mut differing = Vec::new();
    let mut count = 0;
    for line in read("frontmatter.jsonl").lines() {
        let vector: Value = serde_json::from_str(line).unwrap();
        let raw = vector["raw"].as_str().unwrap();
        let role = schema(schemas[vector["schema"].as_str().unwrap()].clone());
        assert_eq!(role.hash.as_str(), vector["schemaHash"], "{raw:?}");
        let ours = match role.extract(raw) {
            Ok(found) => json!({
                "outputHash": uwf_cas_fs::hash_of(Some(found.type_hash), &found.output).unwrap(),
                "frontmatter": found.output,
                "body": found.body,
            }),
            Err(_) => Value::Null,
        };
        count += 1;
        if ours != vector["fast"] {
            differing.push((raw.to_owned(), ours));
        }
    }
    let explained = |raw: &String| DIFFERENCES.iter().any(|(known, _)| *known == raw);
    for (raw, ours) in &differing {
        assert!(explained(raw), "{raw:?} gives {ours}");
    }
    assert_eq!(differing.len(), DIFFERENCES.len());
    assert_eq!(count, 59);
}

#[test]
fn a_hash_that_looks_like_a_number_stays_a_string() {
    let found = done()
        .extract("---\n$status: done\ncommit: 0123456789012\n---\n")
        .unwrap();
    assert_eq!(
        found.output,
        json!({ "$status": "done", "commit": "0123456789012" })
    );
}

#[test]
fn malformed_yaml_is_an_error_with_its_place_in_the_answer() {
    let open = schema(json!({ "type": "object" }));
    let error = open.extract("\n---\na: 1\nb: c: d\n---\n").unwrap_err();
    assert!(
        matches!(&error, Rejected::Yaml(message) if message.contains("line 4")),
        "{error}"
    );
    assert!(error.to_string().contains("b: c: d"), "{error}");
    assert!(matches!(
        open.extract("---\na: 1\na: 2\n---\n"),
        Err(Rejected::Yaml(_))
    ));
    assert_eq!(open.extract("---\n- a\n---\n"), Err(Rejected::NotAMapping));
}

#[test]
fn violations_name_the_field_and_the_fields_that_were_dropped() {
    let message = rejected("---\n$status: done\nhash: x\n---\n");
    assert!(message.contains("commit"), "{message}");
    assert!(message.contains("does not know `hash`"), "{message}");
}

#[test]
fn any_role_may_suspend_with_a_reason() {
    let found = done()
        .extract("---\n$status: $SUSPEND\nreason: which branch?\nx: 1\n---\n")
        .unwrap();
    assert_eq!(found.type_hash, schemas::OBJECT);
    assert_eq!(
        found.output,
        json!({ "$status": "$SUSPEND", "reason": "which branch?" })
    );
    assert!(rejected("---\n$status: $SUSPEND\n---\n").contains("reason"));
    assert!(rejected("---\n$status: $SUSPEND\nreason: ' '\n---\n").contains("reason"));
}

#[test]
fn a_schema_that_provides_for_suspending_types_the_answer_itself() {
    let own = schema(json!({
        "properties": { "$status": { "type": "string" }, "reason": { "type": "string" }, "x": {} },
    }));
    let found = own
        .extract("---\n$status: $SUSPEND\nreason: why\nx: 1\n---\n")
        .unwrap();
    assert_eq!(found.type_hash, own.hash);
    assert_eq!(found.output["x"], 1);
}

#[test]
fn digits_that_a_number_cannot_keep_are_kept_as_text_or_refused() {
    let open = schema(json!({ "type": "object" }));
    let found = open.extract("---\nid: 9007199254740993\nn: 9007199254740991\n---\n");
    assert_eq!(
        found.unwrap().output,
        json!({ "id": "9007199254740993", "n": 9_007_199_254_740_991_u64 })
    );
    let integer = json!({ "type": "object", "properties": { "n": { "type": "integer" } } });
    let refused = schema(integer).extract("---\nn: -9007199254740993\n---\n");
    let said = refused.unwrap_err().to_string();
    assert!(said.contains("-9007199254740993 has more digits"), "{said}");
}

#[test]
fn all_lines_of_a_message_are_counted_from_the_start_of_the_answer() {
    let open = schema(json!({ "type": "object" }));
    let said = open.extract("\n---\na: 1\na: 2\n---\n").unwrap_err();
    let said = said.to_string();
    assert!(
        said.contains("line 4, column 1: the key `a` is given twice, first on line 3"),
        "{said}"
    );
    assert!(said.contains("4 | a: 2"), "{said}");
    assert!(open.extract("---\n\"<<\": 1\n---\n").is_ok());
    assert!(open.extract("---\n<<: 1\n---\n").is_err());
}

#[test]
fn the_data_of_an_answer_is_masked_before_it_is_checked() {
    let masks = || Masks::of([&b"s3cr3t"[..]]);
    let found = done().masking(masks());
    let answer = "---\n$status: done\ncommit: \"of s3cr3t\"\n---\nIt is czNjcjN0.\n";
    let found = found.extract(answer).unwrap();
    assert_eq!(found.output["commit"], "of ***");
    assert_eq!(found.body, "It is ***.\n");
    let status = schema(json!({ "properties": { "$status": { "const": "s3cr3t" } } }));
    let refused = status
        .masking(masks())
        .extract("---\n$status: s3cr3t\n---\n");
    let refused = refused.unwrap_err().to_string();
    assert!(
        !refused.contains("s3cr3t") && refused.contains("***"),
        "{refused}"
    );
}
