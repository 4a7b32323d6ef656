//! Roles that other workflows play, and that are written wrongly: what is said, and that nothing is stored.

use crate::world::World;

/// Writes workflow files of one played role each, and returns what is said about the first.
fn refused(files: &[(&str, &str)]) -> String {
    let world = World::new();
    for (name, role) in files {
        let text = format!(
            "name: {name}\nroles:\n  it:\n    goal: It is done.\n    {role}\ngraph:\n  $START: {{ _: {{ role: it, prompt: Go. }} }}\n  it: {{ _: {{ role: $END, prompt: '' }} }}\n"
        );
        world.write(&format!("{name}.yaml"), &text);
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

#[test]
fn what_is_wrong_with_a_played_role_is_said_with_its_place() {
    let check = |role: &str, said: &str| {
        let found = refused(&[("a", role)]);
        assert!(found.contains(said), "{role}: {found}");
        assert!(found.contains("a.yaml:"), "{role}: {found}");
    };
    check("workflow: nowhere", "workflow `nowhere` was not found");
    check("workflow: ./nowhere.yaml", "cannot read");
    check("workflow: '0000000000000'", "0000000000000");
    check("workflow: 7", "must be a string");
    check("returns: steps", "it is about the `workflow`");
    check("role: it", "it plays each item of `each`");
    check("each: [1]", "has no `role`");
    check("each: 5", "must be a string");
}
