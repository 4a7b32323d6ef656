//! One minimal file for every message.

use super::load_with;

/// A workflow without mistakes, as a start for one with a single mistake.
const FINE: &str = "\
name: w
roles:
  a:
    goal: g
    meta: { type: object }
graph:
  $START: { _: { role: a, prompt: p } }
  a: { _: { role: $END } }
";

fn check(text: &str, expected: &[&str]) {
    let diagnostics = load_with(text, &[]).expect_err(text);
    let messages: Vec<String> = diagnostics.iter().map(ToString::to_string).collect();
    assert_eq!(messages, expected, "{text}");
}

/// Replaces one part of the fine workflow.
fn check_change(part: &str, with: &str, expected: &str) {
    assert!(FINE.contains(part), "{part}");
    check(&FINE.replacen(part, with, 1), &[expected]);
}

#[test]
fn the_fine_workflow_is_fine() {
    load_with(FINE, &[]).unwrap();
}

#[test]
fn texts_that_are_not_one_yaml_document() {
    check("", &["w.yaml:1:1: the file is empty"]);
    check("# only a comment\n", &["w.yaml:1:1: the file is empty"]);
    check(
        "- a",
        &["w.yaml:1:1: the workflow must be a mapping, not a list"],
    );
    check(
        "~",
        &["w.yaml:1:1: the workflow must be a mapping, but is empty"],
    );
    check(
        "name: [a\nb: }",
        &["w.yaml:2:2: invalid YAML: illegal placement of ':' indicator"],
    );
    check(
        "roles:\n\ta: {}",
        &["w.yaml:2:2: invalid YAML: tabs disallowed within this context (block indentation)"],
    );
    check(
        "name: *b",
        &["w.yaml:1:7: invalid YAML: while parsing node, found unknown anchor"],
    );
    check(
        "---\nname: a\n---\nname: b\n",
        &["w.yaml:3:1: a second document starts here, and a file holds one"],
    );
}

#[test]
fn keys_that_are_no_keys() {
    check_change(
        "name: w",
        "name: w\nname: v",
        "w.yaml:2:1: the key `name` is given twice, first on line 1",
    );
    check_change(
        "type: object",
        "type: object, type: object",
        "w.yaml:5:27: the key `type` is given twice, first on line 5",
    );
    check_change(
        "a: { _:",
        "a: { 404:",
        "w.yaml:8:8: the key `404` is a number, and keys are strings (write `\"404\"`)",
    );
    check_change(
        "a: { _:",
        "a: { true:",
        "w.yaml:8:8: the key `true` is a boolean, and keys are strings (write `\"true\"`)",
    );
    check_change(
        "name: w",
        "name: w\n? [x]\n: y",
        "w.yaml:2:3: a list cannot be a key",
    );
    check_change(
        "name: w",
        "name: w\n<<: { version: 1 }",
        "w.yaml:2:1: merge keys (`<<`) are not part of YAML 1.2 (repeat the entries, or use an alias for a whole value)",
    );
}

#[test]
fn a_workspace_is_one_of_two_words() {
    check_change(
        "name: w",
        "name: w\nworkspace: branch",
        "w.yaml:2:12: `workspace` of the workflow is `worktree` or `shared`, not `branch`",
    );
    check_change(
        "name: w",
        "name: w\nworkspace: { mode: shared }",
        "w.yaml:2:12: `workspace` of the workflow must be a string, not a mapping",
    );
}

#[test]
fn unknown_keys() {
    check_change(
        "roles:",
        "rolls: {}\nroles:",
        "w.yaml:2:1: unknown key `rolls` in the workflow (did you mean `roles`?)",
    );
    check_change(
        "roles:",
        "zzz: {}\nroles:",
        "w.yaml:2:1: unknown key `zzz` in the workflow \
         (the keys are `name`, `description`, `roles`, `conditions`, `graph`, `limits`, `supervisor`, `context`, `workspace`, `version`)",
    );
    check_change(
        "goal: g",
        "goal: g\n    procedur: p",
        "w.yaml:5:5: unknown key `procedur` in role `a` (did you mean `procedure`?)",
    );
    check_change(
        "prompt: p",
        "prompt: p, locaton: x",
        "w.yaml:7:38: unknown key `locaton` in edge `_` of `$START` (did you mean `location`?)",
    );
    check_change(
        "a: { _: { role: $END } }",
        "a: [{ role: $END, conditon: x }]",
        "w.yaml:8:21: unknown key `conditon` in edge 1 of `a` (did you mean `condition`?)",
    );
    check_change(
        "graph:",
        "conditions: { c: { expression: x, expr: y } }\ngraph:",
        "w.yaml:6:35: unknown key `expr` in condition `c` (did you mean `expression`?)",
    );
}

#[test]
fn limits_and_policies_that_cannot_be() {
    let check_limits = |limits: &str, expected: &str| {
        check_change(
            "graph:",
            &format!("limits: {{ {limits} }}\ngraph:"),
            expected,
        );
    };
    check_limits(
        "maxStep: 3",
        "w.yaml:6:11: unknown key `maxStep` in `limits` (did you mean `maxSteps`?)",
    );
    check_limits(
        "maxSteps: 0",
        "w.yaml:6:21: `maxSteps`: `0` is not a whole number from 1",
    );
    check_limits(
        "maxSteps: '3'",
        "w.yaml:6:21: `maxSteps` of `limits` must be a number, not a string",
    );
    check_limits(
        "maxVisits: { a: -1 }",
        "w.yaml:6:27: `maxVisits.a`: `-1` is not a whole number from 1",
    );
    check_limits(
        "maxDuration: 30",
        "w.yaml:6:24: `maxDuration`: `30` is not a duration such as `90s`, `10m` or `2h`",
    );
    check_limits(
        "unknownUsage: true",
        "w.yaml:6:25: `unknownUsage` of `limits` must be a string, not a boolean",
    );
    check_change(
        "goal: g",
        "goal: g\n    extract: yes",
        "w.yaml:5:14: `extract` of role `a` is `strict` or `llm`, not `yes`",
    );
    check_change(
        "goal: g",
        "goal: g\n    session: new",
        "w.yaml:5:14: `session` of role `a` is `keep` or `fresh`, not `new`",
    );
    check_change(
        "goal: g",
        "goal: g\n    context: { maxChars: 20 }",
        "w.yaml:5:26: `maxChars` of `context` of role `a` is a whole number from 1000",
    );
    check_change(
        "goal: g",
        "goal: g\n    workflow: v\n    session: fresh",
        "w.yaml:6:5: role `a` cannot have `session` here: other threads do its work",
    );
}

#[test]
fn missing_keys() {
    check(
        "version: 1",
        &[
            "w.yaml:1:1: the workflow has no `name`",
            "w.yaml:1:1: the workflow has no `roles`",
            "w.yaml:1:1: the workflow has no `graph`",
        ],
    );
    check_change("goal: g", "goal:", "w.yaml:3:3: role `a` has no `goal`");
    check_change(
        "    meta: { type: object }\n",
        "",
        "w.yaml:3:3: role `a` has no `frontmatter` (it is the JSON Schema of the role's answer)",
    );
    check_change(
        "role: a, prompt: p",
        "role: a",
        "w.yaml:7:13: edge `_` of `$START` has no `prompt` (only an edge to `$END` needs no prompt)",
    );
    check_change(
        "prompt: p",
        "prompt: ' '",
        "w.yaml:7:35: `prompt` of edge `_` of `$START` is blank (only an edge to `$END` needs no prompt)",
    );
    check_change(
        "role: a, prompt",
        "prompt",
        "w.yaml:7:13: edge `_` of `$START` has no `role`",
    );
    check_change(
        "graph:",
        "conditions: { c: {} }\ngraph:",
        "w.yaml:6:15: condition `c` has no `expression`",
    );
}

#[test]
fn values_of_another_kind() {
    check_change(
        "name: w",
        "name: 12",
        "w.yaml:1:7: `name` of the workflow must be a string, not a number (put it in quotes)",
    );
    check_change(
        "name: w",
        "name: w\ndescription: [d]",
        "w.yaml:2:14: `description` of the workflow must be a string, not a list",
    );
    check_change(
        "goal: g",
        "goal: true",
        "w.yaml:4:11: `goal` of role `a` must be a string, not a boolean (put it in quotes)",
    );
    check_change(
        "goal: g",
        "goal: g\n    capabilities: shell",
        "w.yaml:5:19: `capabilities` of role `a` must be a list, not a string",
    );
    check_change(
        "goal: g",
        "goal: g\n    capabilities: [shell, 7]",
        "w.yaml:5:27: each of the `capabilities` of role `a` must be a string, not a number (put it in quotes)",
    );
    check_change(
        "a: { _: { role: $END } }",
        "a: done",
        "w.yaml:8:6: `a` in the graph must be a mapping from status to edge, or a list of edges, not a string",
    );
    check_change(
        "a: { _: { role: $END } }",
        "a: { role: $END }",
        "w.yaml:8:8: the edge of `a` has no status (write `_: { role: …, prompt: … }`)",
    );
    check_change(
        "a: { _: { role: $END } }",
        "a:",
        "w.yaml:8:4: `a` in the graph must be a mapping from status to edge, or a list of edges, but is empty",
    );
    check_change(
        "{ role: $END }",
        "$END",
        "w.yaml:8:11: edge `_` of `a` must be a mapping, not a string",
    );
    check_change(
        "prompt: p",
        "prompt: p, location: [x]",
        "w.yaml:7:48: `location` of edge `_` of `$START` must be a string, not a list",
    );
}

#[test]
fn names_that_cannot_be() {
    let named = |name: &str| FINE.replacen("name: w", &format!("name: {name}"), 1);
    check(
        &named("a/b"),
        &["w.yaml:1:7: the name `a/b` has a slash or a control character"],
    );
    check(
        &named("''"),
        &["w.yaml:1:7: the name `` is empty or has blanks around it"],
    );
    check(
        &named("CTS5P6RD8HMCS"),
        &[
            "w.yaml:1:7: the name `CTS5P6RD8HMCS` looks like a hash, so that the workflow could not be found by it",
        ],
    );
    check_change(
        "  a:\n",
        "  $END: {}\n  a:\n",
        "w.yaml:3:3: `$END` is not a role name: names that start with `$` are reserved",
    );
    check_change(
        "  a: { _:",
        "  $END: {}\n  a: { _:",
        "w.yaml:8:3: `$END` has no edges of its own: a thread stops there",
    );
    check_change(
        "  a: { _:",
        "  $SUSPEND: []\n  a: { _:",
        "w.yaml:8:3: `$SUSPEND` has no edges of its own: a thread stops there",
    );
    check_change(
        "$START:",
        "$STRAT:",
        "w.yaml:7:3: unknown reserved name `$STRAT` (did you mean `$START`?)",
    );
    check_change(
        "$START:",
        "$Start:",
        "w.yaml:7:3: unknown reserved name `$Start` (did you mean `$START`?)",
    );
    check_change(
        "role: $END",
        "role: $ENDE",
        "w.yaml:8:19: unknown reserved name `$ENDE` (did you mean `$END`?)",
    );
    check_change(
        "role: $END",
        "role: $START, prompt: p",
        "w.yaml:8:19: no edge can lead to `$START`",
    );
    check_change(
        "role: $END",
        "role: -x, prompt: p",
        "w.yaml:8:19: `-x` is not a role name: it starts with `-`, which agents would take for an option",
    );
}

#[test]
fn schemas_that_are_none_of_an_answer() {
    let check_schema =
        |schema: &str, expected: &str| check_change("{ type: object }", schema, expected);
    check_schema(
        "object",
        "w.yaml:5:11: `meta` of role `a` must be a mapping, not a string \
         (it is a JSON Schema; `!include <file>.json` reads one from a file)",
    );
    check_schema(
        "{ type: [object] }",
        "w.yaml:5:19: `type` in `meta` of role `a` must be one string, not a list (an answer is an object: `type: object`)",
    );
    for wrong in ["string", "array"] {
        let expected = format!(
            "w.yaml:5:19: `meta` of role `a` is of type `{wrong}`, which no answer has (an answer is an object: `type: object`)"
        );
        check_schema(&format!("{{ type: {wrong} }}"), &expected);
    }
    check_schema(
        "{ oneOf: x }",
        "w.yaml:5:20: `oneOf` in `meta` of role `a` must be a list, not a string",
    );
    check_schema(
        "{ anyOf: [] }",
        "w.yaml:5:5: `meta` of role `a` has neither `type` nor `oneOf` (alternatives are listed under `oneOf`, not `anyOf`)",
    );
    check_schema(
        "{ $ref: x }",
        "w.yaml:5:5: `meta` of role `a` has neither `type` nor `oneOf` \
         (references are not followed: write the schema out, or `!include` it)",
    );
    check_schema(
        "{ properties: {} }",
        "w.yaml:5:5: `meta` of role `a` has neither `type` nor `oneOf` (an answer is an object: add `type: object`)",
    );
    check_schema(
        "{ type: object }\n    frontmatter: { type: string }",
        "w.yaml:5:5: role `a` has `frontmatter` and `meta`, and they differ (they are two names of one thing: keep one)",
    );
}

#[test]
fn tags_and_numbers_without_a_meaning() {
    check_change(
        "goal: g",
        "goal: !secret g",
        "w.yaml:4:19: the tag `!secret` has no meaning here (the tag of workflows is `!include <path>`)",
    );
    check_change(
        "{ type: object }",
        "!include { type: object }",
        "w.yaml:5:20: the tag `!include` has no meaning here (the tag of workflows is `!include <path>`)",
    );
    check_change(
        "type: object",
        "type: object, minimum: .inf",
        "w.yaml:5:36: `.inf` is a number that JSON does not have (put it in quotes if it is meant as text)",
    );
    check_change(
        "type: object",
        "type: object, minimum: !!int x",
        "w.yaml:5:42: `x` is not what its tag `!!int` says (put it in quotes if it is meant as text)",
    );
}

#[test]
fn what_would_take_too_much() {
    let nested = format!("x-a: {}{}", "[".repeat(120), "]".repeat(120));
    check(
        &nested,
        &["w.yaml:1:105: collections are nested more than 100 levels deep"],
    );

    let mut bomb = "a: &a [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for (name, of) in ["ba", "cb", "dc", "ed", "fe", "gf"].map(|pair| pair.split_at(1)) {
        let aliases = vec![format!("*{of}"); 10].join(", ");
        bomb += &format!("{name}: &{name} [{aliases}]\n");
    }
    let message = "the text is too large with its aliases and includes written out";
    check(&bomb, &[&format!("w.yaml:6:12: {message}")]);

    check(
        "a: &a [*a]",
        &["w.yaml:1:8: the alias stands inside the value that it names"],
    );

    let huge = format!("name: {}", "x".repeat(4 << 20));
    check(&huge, &["w.yaml:1:1: the file is larger than 4 MiB"]);
}

#[test]
fn all_mistakes_are_reported_in_the_order_of_the_lines() {
    check(
        "graph: { a: { b: { role: c } } }\nroles: { $x: {}, d: { gaol: e } }\nname: 1",
        &[
            "w.yaml:1:15: edge `b` of `a` has no `prompt` (only an edge to `$END` needs no prompt)",
            "w.yaml:2:10: `$x` is not a role name: names that start with `$` are reserved",
            "w.yaml:2:18: role `d` has no `goal`",
            "w.yaml:2:18: role `d` has no `frontmatter` (it is the JSON Schema of the role's answer)",
            "w.yaml:2:23: unknown key `gaol` in role `d` (did you mean `goal`?)",
            "w.yaml:3:7: `name` of the workflow must be a string, not a number (put it in quotes)",
        ],
    );
}

#[test]
fn messages_are_few_short_and_safe_to_print() {
    let text = format!(
        "{}name: w\nroles: {{}}\ngraph: {{}}\n",
        "1: x\n".repeat(150)
    );
    let diagnostics = load_with(&text, &[]).unwrap_err();
    assert_eq!(diagnostics.len(), 101);
    assert_eq!(
        diagnostics[100].to_string(),
        "50 more mistakes are not shown"
    );

    let long = FINE.replacen("role: $END", &format!("role: ${}", "x".repeat(1_000)), 1);
    let message = &load_with(&long, &[]).unwrap_err()[0].message;
    assert_eq!(message.chars().count(), 501);
    assert!(message.ends_with("xx…"));

    check_change(
        "graph:",
        "\"\\e[31mkey\": 1\ngraph:",
        "w.yaml:6:1: unknown key `\\u{1b}[31mkey` in the workflow \
         (the keys are `name`, `description`, `roles`, `conditions`, `graph`, `limits`, `supervisor`, `context`, `workspace`, `version`)",
    );
}
