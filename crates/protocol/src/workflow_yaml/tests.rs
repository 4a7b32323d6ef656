//! What loads, and where its parts are said to be.

mod errors;
mod includes;
mod never_panics;

use serde_json::json;

use super::*;
use crate::policy::{ContextPolicy, ExtractPolicy, Older, SessionPolicy};
use crate::work::Work;
use crate::workflow::{Destination, Edges, ListEdge, NodeName, Role, Target};

/// Loads a text under the name `w.yaml`; includes are looked up beside the including file.
fn load_with(text: &str, files: &[(&str, &str)]) -> Result<LoadedWorkflow, Vec<Diagnostic>> {
    let source = Source {
        name: "w.yaml",
        text,
    };
    let include = |from: &str, path: &str| {
        let folder = from.rsplit_once('/').map(|(folder, _)| folder);
        let name = folder.map_or(path.to_owned(), |folder| format!("{folder}/{path}"));
        let file = files.iter().find(|(file, _)| *file == name);
        let (_, text) = file.ok_or("there is no such file")?;
        let text = (*text).to_owned();
        Ok(Included { name, text })
    };
    load(source, &include, &done, &|_| Vec::new())
}

/// Tells of every workflow that it ends with `done`.
fn done(_: &str) -> Result<Vec<Status>, String> {
    Ok(vec![Status::new("done")])
}

/// Returns what is said about a text whose meaning has these problems.
fn told(text: &str, problems: &[Problem]) -> Vec<String> {
    let source = Source {
        name: "w.yaml",
        text,
    };
    let include = |_: &str, _: &str| Err("there are no files".to_owned());
    let told = load(source, &include, &done, &|_| problems.to_vec()).unwrap_err();
    told.iter().map(ToString::to_string).collect()
}

fn loaded(text: &str) -> LoadedWorkflow {
    load_with(text, &[]).unwrap()
}

fn role<'a>(loaded: &'a LoadedWorkflow, name: &str) -> &'a Role<Value> {
    &loaded.workflow.roles[&name.parse::<crate::ids::RoleName>().unwrap()]
}

fn edges<'a>(loaded: &'a LoadedWorkflow, name: &str) -> &'a Edges {
    let name = match name {
        "$START" => NodeName::Start,
        _ => NodeName::Role(name.parse().unwrap()),
    };
    &loaded.workflow.graph[&name]
}

fn to(name: &str) -> Destination {
    Destination::Role(name.parse().unwrap())
}

#[test]
fn generation_0_has_meta_conditions_and_lists_of_edges() {
    let loaded = loaded(include_str!(
        "../../../../tests/fixtures/workflows/solve-issue.yaml"
    ));
    assert_eq!(loaded.workflow.name, "solve-issue");
    let roles: Vec<String> = loaded
        .workflow
        .roles
        .keys()
        .map(ToString::to_string)
        .collect();
    assert_eq!(roles, ["planner", "developer", "reviewer"]);
    let planner = role(&loaded, "planner");
    assert_eq!(planner.capabilities, ["issue-analysis", "planning"]);
    assert_eq!(planner.schema["required"], json!(["plan", "steps"]));
    let condition = &loaded.workflow.conditions["notApproved"];
    assert_eq!(condition.expression, "steps[-1].output.approved = false");
    let edge = |to, condition: Option<&str>| ListEdge {
        to,
        condition: condition.map(str::to_owned),
        prompt: None,
        location: None,
    };
    let rejected = edge(to("developer"), Some("notApproved"));
    let expected = Edges::InOrder(vec![rejected, edge(Destination::End, None)]);
    assert_eq!(*edges(&loaded, "reviewer"), expected);
}

#[test]
fn generation_1_has_prompts_on_list_edges_and_may_omit_conditions() {
    let loaded = loaded(include_str!(
        "../../../../tests/fixtures/workflows/gen-1.yaml"
    ));
    let Edges::InOrder(edges) = edges(&loaded, "coder") else {
        panic!("a list is a list");
    };
    assert_eq!(edges[0].condition.as_deref(), Some("failing"));
    assert_eq!(edges[0].location.as_deref(), Some("/srv"));
    assert_eq!(edges[1].condition, None);
    assert_eq!(edges[1].prompt.as_deref(), Some("Done."));
    assert_eq!(role(&loaded, "coder").schema["type"], "object");
}

#[test]
fn generation_3_has_status_maps_locations_and_two_ways_in() {
    let loaded = loaded(include_str!(
        "../../../../tests/fixtures/workflows/gen-3.yaml"
    ));
    let Edges::ByStatus(start) = edges(&loaded, "$START") else {
        panic!("a map is a map");
    };
    let statuses: Vec<&str> = start.keys().map(Status::as_str).collect();
    assert_eq!(statuses, ["new", "resume"]);
    let Edges::ByStatus(planner) = edges(&loaded, "planner") else {
        panic!("a map is a map");
    };
    let unclear = Target {
        to: Destination::Suspend,
        prompt: "{{{question}}}".to_owned(),
        location: None,
    };
    assert_eq!(planner[1], unclear);
    assert_eq!(planner[0].location.as_deref(), Some("/src/{{{repo}}}"));
    let Edges::ByStatus(builder) = edges(&loaded, "builder") else {
        panic!("a map is a map");
    };
    assert_eq!(
        (&builder[0].to, builder[0].prompt.as_str()),
        (&Destination::End, "")
    );
    assert_eq!(
        role(&loaded, "planner").procedure,
        "Read the issue.\nWrite a plan.\n"
    );
}

#[test]
fn what_may_be_absent_is_empty() {
    let loaded = loaded("name: w\nroles: { a: { goal: g, meta: { type: object } } }\ngraph: {}");
    let expected = Role {
        description: String::new(),
        goal: "g".to_owned(),
        capabilities: vec![],
        procedure: String::new(),
        output: String::new(),
        schema: json!({ "type": "object" }),
        extract: None,
        checks: None,
        session: None,
        context: ContextPolicy::default(),
        work: Work::Agent,
    };
    assert_eq!(*role(&loaded, "a"), expected);
    assert!(loaded.workflow.limits.is_empty());
    assert_eq!(loaded.workflow.description, "");
}

#[test]
fn an_empty_value_is_an_absent_one() {
    let loaded = loaded(
        "name: w\ndescription:\nconditions:\nroles: { a: { goal: g, capabilities: , meta: , frontmatter: { type: object } } }\n\
         graph: { a: { _: { role: $END, prompt: ~, location: null } } }",
    );
    assert!(role(&loaded, "a").capabilities.is_empty());
    assert!(loaded.workflow.conditions.is_empty());
}

#[test]
fn frontmatter_and_meta_may_both_be_there_if_they_agree() {
    let loaded = loaded(
        "name: w\nroles: { a: { goal: g, frontmatter: { type: object, title: t }, meta: { title: t, type: object } } }\n\
         graph: {}",
    );
    assert_eq!(role(&loaded, "a").schema["title"], "t");
}

#[test]
fn aliases_repeat_values_and_merge_nothing() {
    let loaded = loaded(
        "name: w\nx-schema: &schema { type: object, properties: { no: { const: off } } }\n\
         roles:\n  a: { goal: &goal Work., meta: *schema }\n  b: { goal: *goal, meta: *schema }\ngraph: {}",
    );
    assert_eq!(role(&loaded, "a"), role(&loaded, "b"));
    assert_eq!(
        role(&loaded, "b").schema["properties"]["no"]["const"],
        "off"
    );
}

#[test]
fn core_tags_say_what_a_value_is() {
    let loaded = loaded(
        "name: !!str 12\ndescription: ! 13\nroles: !!map {}\ngraph: {}\n\
         x-n: !!float 1\nx-l: !!seq [!!null ~, !!bool true, !!int 1]",
    );
    assert_eq!(loaded.workflow.name, "12");
    assert_eq!(loaded.workflow.description, "13");
}

#[test]
fn a_part_has_its_own_place_and_an_unknown_part_the_place_around_it() {
    let loaded = loaded(include_str!(
        "../../../../tests/fixtures/workflows/gen-3.yaml"
    ));
    let check = |path: &[&str], expected: &str| {
        let path: Vec<String> = path.iter().map(|key| (*key).to_owned()).collect();
        let position = loaded.positions.of(&path).unwrap();
        assert_eq!(
            position.to_string(),
            format!("w.yaml:{expected}"),
            "{path:?}"
        );
    };
    check(&[], "1:1");
    check(&["name"], "2:7");
    check(&["nothing"], "1:1");
    check(&["roles"], "5:1");
    check(&["roles", "planner"], "6:3");
    check(&["roles", "planner", "goal"], "8:11");
    check(&["roles", "planner", "procedure"], "11:7");
    check(&["roles", "planner", "frontmatter"], "14:5");
    check(&["roles", "planner", "meta", "required", "0"], "20:18");
    check(&["roles", "planner", "meta", "required", "9"], "20:7");
    check(&["graph", "planner", "ready"], "34:5");
    check(&["graph", "planner", "ready", "location"], "34:60");
    check(
        &["graph", "planner", "ready", "location", "deeper"],
        "34:60",
    );
}

const SOLVE_ISSUE: &str = include_str!("../../../../tests/fixtures/workflows/solve-issue.yaml");

#[test]
fn problems_get_the_places_of_their_paths() {
    let problem = Problem::new(
        &["graph", "reviewer", "0", "condition"],
        "unknown condition",
    );
    let told = told(SOLVE_ISSUE, &[problem]);
    assert_eq!(told, ["w.yaml:61:18: unknown condition"]);
}

#[test]
fn problems_come_in_the_order_of_the_lines() {
    let problem = |key: &str| Problem::new(&[key], key);
    let problems = ["graph", "name", "roles"].map(problem);
    let told = told(SOLVE_ISSUE, &problems);
    let keys: Vec<&str> = told
        .iter()
        .filter_map(|line| line.rsplit(' ').next())
        .collect();
    assert_eq!(keys, ["name", "roles", "graph"]);
}

#[test]
fn an_unknown_key_hides_no_other_mistake() {
    let text = SOLVE_ISSUE.replacen("name:", "nmae: x\nname:", 1);
    let told = told(&text, &[Problem::new(&["graph"], "makes no sense")]);
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told[0].contains("unknown key `nmae`"), "{told:?}");
    assert!(told[1].ends_with("makes no sense"), "{told:?}");
}

#[test]
fn a_workflow_with_a_missing_part_is_not_validated() {
    let text = SOLVE_ISSUE.replacen("name:", "x-name:", 1);
    let told = told(&text, &[Problem::new(&["graph"], "makes no sense")]);
    assert_eq!(told.len(), 1, "{told:?}");
}

#[test]
fn limits_and_policies_are_read() {
    let limits = |limits: &str| {
        let text = format!(
            "name: w\nlimits: {limits}\nroles: {{ a: {{ goal: g, extract: strict, meta: {{ type: object }} }} }}\ngraph: {{}}"
        );
        let loaded = loaded(&text);
        assert_eq!(role(&loaded, "a").extract, Some(ExtractPolicy::Strict));
        serde_json::to_value(loaded.workflow.limits).unwrap()
    };
    let all = json!({
        "maxSteps": 9, "maxVisits": { "a": 3 }, "maxCostUsd": 0.5, "maxTokens": 1000,
        "maxDuration": "2h", "unknownUsage": "ignore",
    });
    assert_eq!(limits(&all.to_string()), all);
    assert_eq!(
        limits("{ maxVisits: 3, x-y: 1 }"),
        json!({ "maxVisits": 3 })
    );
    assert_eq!(limits("{ maxSteps: }"), json!({}));
    assert_eq!(limits(""), json!({}));
}

#[test]
fn sessions_and_contexts_are_read_of_the_workflow_and_of_its_roles() {
    let loaded = loaded(
        "name: w\ncontext: { maxChars: 5000 }\nroles: { a: { goal: g, session: fresh, context: { older: summary }, meta: { type: object } } }\ngraph: {}",
    );
    let a = role(&loaded, "a");
    assert_eq!(a.session, Some(SessionPolicy::Fresh));
    let policy = a.context.or(loaded.workflow.context);
    assert_eq!(
        (policy.most_chars(), policy.older),
        (5000, Some(Older::Summary))
    );
    assert_eq!(ContextPolicy::default().most_chars(), 32_000);
}
