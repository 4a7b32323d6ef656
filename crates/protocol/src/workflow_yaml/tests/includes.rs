//! Includes: what comes in, what they are said to be, and which are refused.

use super::{load_with, role};

const TEXT: &str = "\
name: w
roles: !include roles/all.yaml
graph: {}
";

fn check(text: &str, files: &[(&str, &str)], expected: &[&str]) {
    let diagnostics = load_with(text, files).expect_err(text);
    let messages: Vec<String> = diagnostics.iter().map(ToString::to_string).collect();
    assert_eq!(messages, expected, "{text}");
}

#[test]
fn json_yaml_and_texts_come_in_and_paths_start_at_the_including_file() {
    let files = [
        (
            "roles/all.yaml",
            "a:\n  goal: !include a/goal.md\n  meta: !include a/schema.json\n",
        ),
        ("roles/a/goal.md", "Work: hard.\n"),
        (
            "roles/a/schema.json",
            "{\n\t\"type\": \"object\",\t\"title\": \"\\ud83d\\ude00\"\n}\n",
        ),
    ];
    let loaded = load_with(TEXT, &files).unwrap();
    let a = role(&loaded, "a");
    assert_eq!(a.goal, "Work: hard.\n");
    assert_eq!(a.schema["title"], "😀");

    let check = |path: &[&str], expected: &str| {
        let path: Vec<String> = path.iter().map(|key| (*key).to_owned()).collect();
        assert_eq!(loaded.positions.of(&path).unwrap().to_string(), expected);
    };
    check(&["roles"], "w.yaml:2:1");
    check(&["roles", "a"], "roles/all.yaml:1:1");
    check(&["roles", "a", "goal"], "roles/a/goal.md:1:1");
    check(
        &["roles", "a", "frontmatter", "title"],
        "roles/a/schema.json:2:29",
    );
}

#[test]
fn mistakes_in_included_files_name_them() {
    let files = [
        (
            "roles/all.yaml",
            "a:\n  gaol: g\n  goal: [g]\n  meta: !include s.json\n",
        ),
        ("roles/s.json", "{ \"type\": [] }"),
    ];
    check(
        TEXT,
        &files,
        &[
            "roles/all.yaml:2:3: unknown key `gaol` in role `a` (did you mean `goal`?)",
            "roles/all.yaml:3:9: `goal` of role `a` must be a string, not a list",
            "roles/s.json:1:11: `type` in `meta` of role `a` must be one string, not a list \
             (an answer is an object: `type: object`)",
        ],
    );
    let files = [("roles/all.yaml", "a: [")];
    check(
        TEXT,
        &files,
        &["roles/all.yaml:1:4: invalid YAML: unclosed bracket '['"],
    );
    let files = [
        ("roles/all.yaml", "a: { goal: g, meta: !include s.json }"),
        ("roles/s.json", "{ type: object }"),
    ];
    check(
        TEXT,
        &files,
        &["roles/s.json:1:3: invalid JSON: key must be a string"],
    );
}

#[test]
fn missing_files_are_reported_at_their_include() {
    check(
        TEXT,
        &[],
        &["w.yaml:2:17: cannot include `roles/all.yaml`: there is no such file"],
    );
}

#[test]
fn cycles_are_refused_with_the_whole_chain() {
    let files = [
        ("roles/all.yaml", "a: !include b.yaml"),
        ("roles/b.yaml", "goal: !include c.yml"),
        ("roles/c.yml", "x: !include all.yaml"),
    ];
    let diagnostics = load_with(TEXT, &files).unwrap_err();
    let last = diagnostics.last().unwrap();
    assert_eq!(
        last.to_string(),
        "roles/c.yml:1:13: cannot include `all.yaml`: it includes itself: \
         w.yaml → roles/all.yaml → roles/b.yaml → roles/c.yml → roles/all.yaml"
    );
}

#[test]
fn one_file_may_come_in_twice() {
    let text = "name: w\nroles: { a: !include r.yaml, b: !include r.yaml }\ngraph: {}";
    let files = [("r.yaml", "goal: g\nmeta: { type: object }")];
    let loaded = load_with(text, &files).unwrap();
    assert_eq!(role(&loaded, "a"), role(&loaded, "b"));
}

#[test]
fn includes_are_limited_in_size_depth_and_number() {
    let big = "x".repeat((4 << 20) + 1);
    let text = "name: w\ndescription: !include d.txt\nroles: {}\ngraph: {}";
    check(
        text,
        &[("d.txt", &big)],
        &["d.txt:1:1: the file is larger than 4 MiB"],
    );

    // Each file comes in twice, so that the last one would come in 2^20 times.
    let names: Vec<String> = (0..=20).map(|index| format!("{index}.yaml")).collect();
    let texts: Vec<String> = (1..=20)
        .map(|next| format!("[!include {next}.yaml, !include {next}.yaml]"))
        .collect();
    let files: Vec<(&str, &str)> = names
        .iter()
        .map(String::as_str)
        .zip(texts.iter().map(String::as_str))
        .collect();
    let diagnostics = load_with(
        "name: w\nroles: {}\ngraph: {}\nx-a: !include 0.yaml",
        &files,
    )
    .unwrap_err();
    let message = diagnostics.first().map(ToString::to_string);
    assert_eq!(
        message.as_deref(),
        Some("0.yaml:1:28: cannot include `1.yaml`: there are more than 1000 includes")
    );

    let names: Vec<String> = (0..40).map(|index| format!("{index}.yaml")).collect();
    let texts: Vec<String> = (1..40)
        .map(|next| format!("!include {next}.yaml"))
        .collect();
    let files: Vec<(&str, &str)> = names
        .iter()
        .map(String::as_str)
        .zip(texts.iter().map(String::as_str))
        .collect();
    check(
        "!include 0.yaml",
        &files,
        &["30.yaml:1:10: cannot include `31.yaml`: more than 32 files include each other in a row"],
    );

    let deep = format!("{}!include b.yaml{}", "[".repeat(60), "]".repeat(60));
    let files = [("a.yaml", deep.as_str()), ("b.yaml", deep.as_str())];
    check(
        "name: w\nroles: {}\ngraph: {}\nx-a: !include a.yaml",
        &files,
        &["b.yaml:1:40: collections are nested more than 100 levels deep"],
    );
}
