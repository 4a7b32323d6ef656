//! Roles that other workflows play, and that are written wrongly: what is said, and that nothing is stored.

use crate::world::World;

/// Returns a workflow of one role.
fn of_one_role(name: &str, role: &str) -> String {
    format!(
        "name: {name}\nroles:\n  it:\n    goal: It is done.\n    {role}\ngraph:\n  $START: {{ _: {{ role: it, prompt: Go. }} }}\n  it: {{ _: {{ role: $END, prompt: '' }} }}\n"
    )
}

/// Writes workflow files of one played role each, and returns what is said about the first.
fn refused(files: &[(&str, &str)]) -> String {
    let world = World::new();
    for (name, role) in files {
        world.write(&format!("{name}.yaml"), &of_one_role(name, role));
    }
    let first = format!("{}.yaml", files[0].0);
    let put = world.uwf(&["workflow", "put", &first, "--format", "text"]);
    assert!(!world.root().join("cas").exists(), "nothing is stored");
    put.exits(1).stderr
}

#[test]
fn workflows_that_play_themselves_are_refused_before_anything_starts() {
    let itself = refused(&[("a", "workflow: ./a.yaml")]);
    assert!(itself.contains("`a.yaml` plays `a.yaml`"), "{itself}");
    let circle = [
        ("a", "workflow: ./b.yaml"),
        ("b", "workflow: ./c.yaml"),
        ("c", "workflow: ./a.yaml"),
    ];
    let circle = refused(&circle);
    let all = "`a.yaml` plays `b.yaml` plays `c.yaml` plays `a.yaml`";
    assert!(circle.contains(all), "{circle}");
    assert!(circle.contains("a workflow cannot play itself"), "{circle}");
}

const AGENT: &str = "frontmatter: { type: object }";

/// Asks for a workflow of one played role to be checked and put, and returns what is said when both are refused.
fn refused_beside(world: &World, name: &str, role: &str) -> String {
    let file = format!("{name}.yaml");
    let name = name.rsplit('/').next().unwrap();
    world.write(&file, &of_one_role(name, role));
    let before = world.state("registry.yaml");
    world.uwf(&["workflow", "validate", &file]).exits(1);
    world.uwf(&["run", &file, "-p", "the task"]).exits(1);
    let put = world.uwf(&["workflow", "put", &file, "--format", "text"]);
    assert_eq!(world.state("registry.yaml"), before);
    put.exits(1).stderr
}

#[test]
fn a_workflow_that_plays_its_own_name_is_refused_and_may_play_a_version_by_its_hash() {
    let world = World::new();
    let first = world.put(&of_one_role("x", AGENT));
    let said = refused_beside(&world, "x", "workflow: x");
    assert!(said.contains("x.yaml:5:"), "{said}");
    assert!(
        said.contains("`x` plays `x`: a workflow cannot play itself"),
        "{said}"
    );
    assert!(
        said.contains(&format!("`{first}` in place of `x` means")),
        "{said}"
    );
    world.put(&of_one_role("x", &format!("workflow: {first}")));
    // A file of the project has the name, too.
    let world = World::new();
    let first = world.put(&of_one_role("x", AGENT));
    std::fs::create_dir(world.project().join(".git")).unwrap();
    let said = refused_beside(&world, ".workflows/x", "workflow: x");
    assert!(
        said.contains("`x.yaml` plays `x.yaml`: a workflow cannot play itself;"),
        "{said}"
    );
    assert!(
        said.contains(&format!("`{first}` in place of `x` means")),
        "{said}"
    );
}

#[test]
fn a_circle_over_three_names_is_refused_wherever_it_is_closed() {
    let world = World::new();
    world.put(&of_one_role("c", AGENT));
    world.put(&of_one_role("b", "workflow: c"));
    let a = world.put(&of_one_role("a", "workflow: b"));
    let said = refused_beside(&world, "c", "workflow: a");
    assert!(
        said.contains("`c` plays `a` plays `b` plays `c`:"),
        "{said}"
    );
    assert!(
        said.contains(&format!("`{a}` in place of `a` means")),
        "{said}"
    );
    // A file on the way leads back, too.
    world.write("between.yaml", &of_one_role("between", "workflow: a"));
    let said = refused_beside(&world, "c", "workflow: ./between.yaml");
    let all = "`c` plays `between` plays `a` plays `b` plays `c`:";
    assert!(said.contains(all), "{said}");
    world.put(&of_one_role("c", &format!("workflow: {a}")));
}

#[test]
fn what_is_wrong_with_a_played_role_is_said_with_its_place() {
    let check = |role: &str, said: &str| {
        let found = refused(&[("a", role)]);
        assert!(found.contains(said), "{role}: {found}");
        assert!(found.contains("a.yaml:"), "{role}: {found}");
    };
    check("workflow: nowhere", "workflow `nowhere` was not found");
    check(
        "workflow: ./nowhere.yaml",
        "there is no file `./nowhere.yaml`",
    );
    check("workflow: '0000000000000'", "0000000000000");
    check("workflow: 7", "must be a string");
    check("returns: steps", "it is about the `workflow`");
    check("role: it", "it plays each item of `each`");
    check("each: [1]", "has no `role`");
    check("each: 5", "must be a string");
    check(
        "each: [1]\n    branches: { a: { workflow: ./a.yaml } }",
        "has `each` and `branches`",
    );
    check(
        "each: [1]\n    role: it\n    workflow: ./a.yaml",
        "has `role` and `workflow`",
    );
    check("branches: { '': { workflow: ./a.yaml } }", "has no name");
    check("branches: {}", "are empty");
    let items = vec!["x"; 1001].join(", ");
    check(
        &format!("each: [{items}]\n    role: it"),
        "has 1001 items, more than 1000",
    );
}

#[test]
fn the_nearest_name_of_a_workflow_that_is_not_found_is_suggested() {
    let check = |role: &str, said: &str| {
        let found = refused(&[("outer", role), ("inner", AGENT)]);
        assert!(found.contains(said), "{role}: {found}");
        assert!(!found.contains("/./"), "{role}: {found}");
    };
    check(
        "workflow: inner",
        "workflow `inner` was not found; did you mean `./inner.yaml`?",
    );
    check(
        "workflow: ./iner.yaml",
        "there is no file `./iner.yaml`; did you mean `./inner.yaml`?",
    );
    check(
        "workflow: ./inner",
        "there is no file `./inner`; did you mean `./inner.yaml`?",
    );
    let world = World::new();
    world.write(
        "outer.yaml",
        &of_one_role("outer", "workflow: ./inner.yaml"),
    );
    std::fs::create_dir(world.project().join("inner.yaml")).unwrap();
    let put = world.uwf(&["workflow", "put", "outer.yaml"]).exits(1);
    put.says("/inner.yaml`: ");
}

#[test]
fn an_edge_out_of_a_role_that_no_agent_plays_is_told_how_it_ends() {
    let world = World::new();
    let ends = "frontmatter: { type: object, required: [$status], properties: { $status: { enum: [yes, no] } } }";
    let inner = of_one_role("inner", ends).replace(
        "it: { _: { role: $END, prompt: '' } }",
        "it: { yes: { role: $END, prompt: '' }, no: { role: $END, prompt: '' } }",
    );
    world.write("inner.yaml", &inner);
    let check = |role: &str, said: &str| {
        let outer = of_one_role("outer", role).replace("it: { _: {", "it: { ready: {");
        world.write("outer.yaml", &outer);
        let checked = world.uwf(&["workflow", "validate", "outer.yaml"]);
        checked.exits(1).says(said);
    };
    check(
        "workflow: ./inner.yaml",
        "`it` never answers `ready`: the workflow that plays it ends with `no`, `yes`",
    );
    check(
        "each: [1]\n    workflow: ./inner.yaml",
        "`it` never answers `ready`: a role with branches answers `done` or `failed`",
    );
    check(
        &format!("{ends}\n    workflow: ./inner.yaml"),
        "`it` never answers `ready`: its schema does not allow it",
    );
}

#[test]
fn branches_that_all_get_the_same_task_are_a_warning() {
    let world = World::new();
    world.put(&of_one_role("inner", AGENT));
    let check = |prompt: &str, warnings: usize| {
        let outer = of_one_role("outer", "each: [1, 2]\n    workflow: inner")
            .replace("prompt: Go.", &format!("prompt: \"{prompt}\""))
            .replace(
                "it: { _: { role: $END, prompt: '' } }",
                "it: [{ role: $END }]",
            );
        world.write("outer.yaml", &outer);
        let checked = world.uwf(&["workflow", "validate", "outer.yaml"]).exits(0);
        let found = checked.json()["warnings"].as_array().map_or(0, Vec::len);
        assert_eq!(found, warnings, "{prompt}: {}", checked.stderr);
        checked
    };
    check("Do it.", 1)
        .says("outer.yaml:8:")
        .says("every branch of `it` gets the same task: name `{{item}}` in the prompt");
    check("Do {{count}}.", 1);
    check("Do {{item}}.", 0);
    check("Do {{item.name}}.", 0);
    check("Do {{#item}}it{{/item}}.", 0);
    check("Do part {{index}}.", 0);
}

/// A council after a planner, whose first branch has this prompt.
fn council(prompt: &str) -> String {
    format!(
        r#"
name: council
roles:
  planner:
    goal: It is planned.
    frontmatter: {{ type: object, required: [plan], properties: {{ plan: {{ type: string }}, cost: {{ type: number }} }} }}
  view:
    goal: A view.
    frontmatter: {{ type: object }}
  council:
    goal: Views.
    branches:
      one: {{ role: view, prompt: "{prompt}" }}
      two: {{ role: view }}
graph:
  $START: {{ _: {{ role: planner, prompt: "Plan." }} }}
  planner: {{ _: {{ role: council, prompt: "View {{{{plan}}}}." }} }}
  council:
    done: {{ role: $END, prompt: "" }}
    failed: {{ role: $END, prompt: "" }}
"#
    )
}

#[test]
fn names_in_the_prompt_of_a_branch_are_checked_as_those_of_edges() {
    let world = World::new();
    let validate = |prompt: &str| {
        world.write("council.yaml", &council(prompt));
        world.uwf(&["workflow", "validate", "council.yaml"])
    };
    validate("About {{task}}")
        .exits(1)
        .says("council.yaml:13:")
        .says("`{{task}}` at 1:9 of the template is not in the answer of `planner`");
    validate("{{pla}}").exits(1).says("did you mean `plan`?");
    validate("{{itm}}").exits(1).says(
        "is not in the answer of `planner`, nor one of `item`, `index` and `count`; did you mean `item`?",
    );
    validate("{{cost}}")
        .exits(1)
        .says("may be missing from the answer of `planner`");
    validate("{{#plan}}").exits(1).says("the template has");
    validate(" ").exits(1).says("the prompt is blank");
    validate("{{plan}}, {{item}}, {{index}} of {{count}}, {{$status}}").exits(0);
    // Before any answer there is only the branch.
    let first = council("{{plan}}").replace("role: planner, prompt", "role: council, prompt");
    world.write("council.yaml", &first);
    let first = world
        .uwf(&["workflow", "validate", "council.yaml"])
        .exits(1);
    first
        .says("council.yaml:13:")
        .says("no role has answered before `$START`; a branch has `item`, `index` and `count`");
    let first = council("{{indx}}").replace("role: planner, prompt", "role: council, prompt");
    world.write("council.yaml", &first);
    let first = world
        .uwf(&["workflow", "validate", "council.yaml"])
        .exits(1);
    first.says("`item`, `index` and `count`; did you mean `index`?");
}

#[test]
fn expressions_of_roles_that_other_threads_play_are_checked_as_conditions_are() {
    let check = |role: &str, said: &str| {
        let found = refused(&[("a", role), ("b", AGENT)]);
        assert!(found.contains("a.yaml:5:"), "{role}: {found}");
        assert!(found.contains(said), "{role}: {found}");
    };
    for function in ["now", "millis", "random", "shuffle"] {
        let said =
            format!("`${function}` is not available: an expression depends on the thread alone");
        check(
            &format!("each: '[${function}()]'\n    workflow: ./b.yaml"),
            &said,
        );
        check(
            &format!("returns: '${function}()'\n    workflow: ./b.yaml"),
            &said,
        );
    }
    check(
        "each: '$lenght(steps)'\n    workflow: ./b.yaml",
        "did you mean `$length`?",
    );
    check(
        "each: step\n    workflow: ./b.yaml",
        "did you mean `steps`?",
    );
    check(
        "each: \"$last('itt').files\"\n    workflow: ./b.yaml",
        "did you mean `it`?",
    );
    let world = World::new();
    world.put(&of_one_role("b", AGENT));
    world.put(&of_one_role(
        "a",
        "workflow: b\n    returns: \"$merge([last, $last('it'), {'all': $count(steps)}])\"",
    ));
}

#[test]
fn an_ended_thread_cannot_go_on_with_a_role_that_others_play() {
    let text = format!(
        "name: a\nroles:\n  one:\n    goal: g\n    {AGENT}\n  it:\n    goal: g\n    workflow: ./b.yaml\ngraph:\n  $START:\n    new: {{ role: one, prompt: Go. }}\n    resume: {{ role: it, prompt: Go. }}\n  one: [{{ role: it }}]\n  it: [{{ role: $END }}]\n"
    );
    let world = World::new();
    world.write("b.yaml", &of_one_role("b", AGENT));
    world.write("a.yaml", &text);
    world
        .uwf(&["workflow", "validate", "a.yaml", "--format", "text"])
        .exits(1)
        .says("`resume` leads to `it`, which other threads play");
}
