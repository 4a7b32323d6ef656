//! Poking: the last step is done again and takes the place of the old one, which is not lost; and neither is what
//! was paid for.

use std::process::Child;

use serde_json::{Value, json};

use crate::gates::wait_for_ends;
use crate::processes::{kill, signal};
use crate::world::{ONE_STEP, REVIEW, Run, World, wait_until};

/// A tool with sessions. Each call leaves its prompt and its arguments. It waits while there is a file `wait`, fails
/// if there is a file `fail`, and answers what is in the file of its role.
const TOOL: &str = r#"n=$(ls asked-* 2>/dev/null | wc -l); echo "$@" > args-$n; cat > asked-$n
echo "session: s1" >&2
while [ -e wait ]; do sleep 0.02; done
[ -e fail ] && exit 9
cat "answer-$UWF_ROLE""#;

/// A world whose agent is the tool, with a thread of a workflow in it.
fn world(workflow: &str, name: &str) -> (World, String) {
    let world = World::new();
    world.put(workflow);
    let tool = world.script("tool.sh", TOOL);
    world.agent(
        "uwf-command",
        &[
            "--session-regex",
            "session: (\\w+)",
            "--resume-arg",
            "--resume={session}",
            "--",
            tool.to_str().unwrap(),
        ],
    );
    let thread = world.start(name);
    (world, thread)
}

/// A review whose writer has answered with a plan.
fn planned() -> (World, String, String) {
    let (world, thread) = world(REVIEW, "review");
    answers(&world, "writer", "plan: long plan", "All of the long plan.");
    let step = text(&world.step(&thread).exits(0).json()["step"]);
    answers(&world, "writer", "plan: short plan", "Short.");
    (world, thread, step)
}

fn answers(world: &World, role: &str, data: &str, body: &str) {
    let name = format!("answer-{role}");
    world.write(&name, &format!("---\n{data}\n---\n\n{body}\n"));
}

fn poke(world: &World, thread: &str, args: &[&str]) -> Run {
    world.uwf(&[&["thread", "poke", thread], args].concat())
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

fn read(world: &World, name: &str) -> String {
    std::fs::read_to_string(world.project().join(name)).unwrap()
}

fn remove(world: &World, name: &str) {
    std::fs::remove_file(world.project().join(name)).unwrap();
}

fn runs(world: &World) -> usize {
    let files = std::fs::read_dir(world.project()).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.starts_with("asked-")).count()
}

/// Returns the steps of a thread without its start.
fn steps(world: &World, thread: &str) -> Vec<Value> {
    let steps = world.uwf(&["thread", "steps", thread]).exits(0).json();
    steps["steps"].as_array().unwrap()[1..].to_vec()
}

/// Starts a poke and waits until its agent is at work.
fn poking(world: &World, thread: &str) -> Child {
    world.write("wait", "");
    let before = runs(world);
    let engine = world.spawn(&["thread", "poke", thread, "-p", "shorter"]);
    wait_until("the agent runs", || runs(world) == before + 1);
    engine
}

/// Pokes a thread, kills the engine, and lets the agent finish. Returns the pending record.
fn poke_that_lost_its_engine(world: &World, thread: &str) -> Value {
    kill(poking(world, thread));
    remove(world, "wait");
    wait_until("the agent has finished", || world.pending(thread).is_some());
    world.wait_until_free(thread);
    world.pending(thread).unwrap()
}

#[test]
fn the_last_step_is_done_again_and_the_old_one_is_kept() {
    let (world, thread, old) = planned();
    let report = poke(&world, &thread, &["-p", "Make it short."])
        .exits(0)
        .json();
    assert_eq!(report["replaced"], json!(old));
    assert_eq!(report["role"], json!("writer"));
    assert_eq!(report["head"], report["step"]);
    assert_eq!(report["adopted"], json!(false));
    let new = text(&report["step"]);
    let done = steps(&world, &thread);
    assert_eq!(done.len(), 1);
    assert_eq!(done[0]["hash"], json!(new));
    assert_eq!(done[0]["output"], json!({ "plan": "short plan" }));
    assert_eq!(done[0]["replaces"], json!([old]));

    // The old step is there, belongs to no ended thread, and can be gone back to.
    world.uwf(&["step", "show", &old]).exits(0);
    let listed = world.uwf(&["thread", "list", "--all"]).exits(0);
    assert_eq!(listed.json().as_array().unwrap().len(), 1);
    assert_eq!(listed.stderr, "");
    let fork = world.uwf(&["thread", "fork", &old]).exits(0).json();
    assert_eq!(world.show(&text(&fork["thread"]))["head"], json!(old));

    // Others see the new answer only.
    answers(&world, "reviewer", "$status: approved\nsummary: s", "");
    assert_eq!(world.step(&thread).exits(0).json()["done"], json!(true));
    let asked = read(&world, "asked-2");
    assert!(asked.contains("short plan"), "{asked}");
    assert!(!asked.contains("long plan"), "{asked}");
    world.uwf(&["cas", "verify"]).exits(0);
}

#[test]
fn the_role_is_told_its_task_its_answer_and_what_is_said_about_it_in_its_session() {
    let (world, thread, old) = planned();
    poke(&world, &thread, &["-p", "Make it short."]).exits(0);
    assert_eq!(read(&world, "args-0").trim(), "");
    assert_eq!(read(&world, "args-1").trim(), "--resume=s1");
    let asked = read(&world, "asked-1");
    for part in [
        "step 1, visit 1 of the role `writer`",
        "## Task\n\nthe task",
        "## The Answer to Replace",
        r#"{"plan":"long plan"}"#,
        "All of the long plan.",
        "## Moderator Instruction\n\nBegin writing\n",
        &format!("step `{old}`, is not good enough"),
        "Make it short.",
    ] {
        assert!(asked.contains(part), "`{part}` is missing in {asked}");
    }
    // Without its session it knows as much, and every earlier wish, too.
    std::fs::remove_file(
        world
            .root()
            .join("runs")
            .join(&thread)
            .join("sessions.json"),
    )
    .unwrap();
    let again = poke(&world, &thread, &["-p", "Be polite."]).exits(0).json();
    assert_eq!(read(&world, "args-2").trim(), "");
    let asked = read(&world, "asked-2");
    for part in ["Begin writing", "Make it short.", "Be polite.", "Short."] {
        assert!(asked.contains(part), "`{part}` is missing in {asked}");
    }
    let done = steps(&world, &thread);
    assert_eq!(done[0]["replaces"], json!([old, again["replaced"]]));
}

#[test]
fn what_is_said_about_an_answer_is_not_said_again_when_its_question_is_answered() {
    let (world, thread, _) = planned();
    answers(&world, "reviewer", "$status: rejected\nreason: r", "");
    world.step(&thread).exits(0);
    for words in ["Rather ask somebody.", "Do ask somebody."] {
        answers(&world, "reviewer", "$status: ask\nquestion: Blue?", "");
        poke(&world, &thread, &["-p", words]).exits(0);
    }
    answers(&world, "reviewer", "$status: approved\nsummary: s", "");
    let resume = ["thread", "resume", &thread, "-p", "Green."];
    let step = world.uwf(&resume).exits(0).json()["step"].clone();
    let asked = read(&world, &format!("asked-{}", runs(&world) - 1));
    for part in ["Review: long plan", "Blue?", "Green."] {
        assert!(asked.contains(part), "`{part}` is missing in {asked}");
    }
    for part in ["ask somebody", "done before"] {
        assert!(!asked.contains(part), "`{part}` is in {asked}");
    }
    let args = ["thread", "read", &thread, "--format", "json"];
    let story = world.uwf(&args).exits(0).json();
    let of = |number: usize, key: &str| story["steps"][number - 1][key].clone();
    assert_eq!(of(2, "person"), json!("Do ask somebody."));
    assert_eq!(of(3, "hash"), step);
    assert_eq!(of(3, "instruction"), json!("Review: long plan"));
    assert_eq!(of(3, "question"), json!("Need: Blue?"));
    assert_eq!(of(3, "person"), json!("Green."));
}

#[test]
fn a_blocked_thread_gets_out() {
    let workflow = ONE_STEP
        .replace("{ type: string } }", "{ type: string }, $status: { enum: [good, bad, odd] } }")
        .replace("required: [note]", "required: [note, $status]")
        .replace("writer: { _:", "writer: { bad: { role: writer, prompt: Again }, odd: { role: writer, prompt: Odd }, good:");
    let (world, thread) = world(&workflow, "one");
    answers(&world, "writer", "$status: odd\nnote: n", "");
    let step = world.step(&thread).exits(0).json()["step"].clone();
    // Another program may store a workflow without that edge, and a thread of it.
    let node = world
        .uwf(&["cas", "get", step.as_str().unwrap()])
        .exits(0)
        .json();
    let start = without_edge(&world, &node["payload"]["start"]);
    let mut payload = node["payload"].clone();
    payload["start"] = json!(start);
    let kind = text(&node["type"]);
    let put = world
        .uwf(&["cas", "put", &kind, &payload.to_string()])
        .exits(0);
    let odd = text(&put.json()["hash"]);
    let thread = text(&world.uwf(&["thread", "fork", &odd]).exits(0).json()["thread"]);
    let shown = world.show(&thread);
    assert_eq!(shown["status"], json!("blocked"));
    let command = format!("uwf thread poke {thread}");
    assert!(
        shown["hint"].as_str().unwrap().contains(&command),
        "{shown}"
    );
    let shown = world.uwf(&["thread", "show", &thread, "--format", "text"]);
    assert!(shown.stdout.contains(&command), "{}", shown.stdout);
    world
        .step(&thread)
        .exits(1)
        .says(&format!("uwf thread poke {thread}"));

    answers(&world, "writer", "$status: good\nnote: n", "");
    let report = poke(&world, &thread, &[]).exits(0).json();
    assert_eq!(
        (&report["done"], &report["replaced"]),
        (&json!(true), &json!(odd))
    );
    let ended = poke(&world, &thread, &[]).exits(7);
    ended.says("it is completed").says("uwf thread fork");
}

/// Stores the start of a thread again, with a workflow that has no edge for `odd`.
fn without_edge(world: &World, start: &Value) -> String {
    let get = |hash: &Value| world.uwf(&["cas", "get", hash.as_str().unwrap()]).json();
    let put = |node: &Value| {
        let (kind, payload) = (text(&node["type"]), node["payload"].to_string());
        let put = world.uwf(&["cas", "put", &kind, &payload]).exits(0);
        text(&put.json()["hash"])
    };
    let mut start = get(start);
    let mut workflow = get(&start["payload"]["workflow"]);
    let edges = workflow["payload"]["graph"]["writer"]
        .as_object_mut()
        .unwrap();
    edges.shift_remove("odd").unwrap();
    start["payload"]["workflow"] = json!(put(&workflow));
    put(&start)
}

#[test]
fn a_question_can_be_taken_back() {
    let (world, thread) = world(ONE_STEP, "one");
    answers(
        &world,
        "writer",
        "$status: $SUSPEND\nreason: which colour?",
        "",
    );
    world.step(&thread).exits(0);
    assert_eq!(world.show(&thread)["status"], json!("suspended"));
    answers(&world, "writer", "note: blue", "");
    let report = poke(&world, &thread, &["-p", "Choose one yourself."]).exits(0);
    assert_eq!(report.json()["done"], json!(true));
    assert!(read(&world, "asked-1").contains("which colour?"));
}

#[test]
fn a_poke_that_fails_leaves_the_answer_as_it_was_and_is_on_record() {
    let (world, thread, old) = planned();
    world.write("fail", "");
    poke(&world, &thread, &["-p", "shorter"]).exits(3);
    let shown = world.show(&thread);
    assert_eq!(
        (&shown["head"], &shown["status"]),
        (&json!(old), &json!("failed"))
    );
    assert_eq!(shown["attempts"][0]["replaces"], json!(old));
    assert_eq!(shown["attempts"][0]["role"], json!("writer"));
    let listed = world.uwf(&["thread", "steps", &thread, "--format", "text"]);
    let (step, failed) = (listed.stdout.find(&old), listed.stdout.find("(failed 1)"));
    assert!(step < failed, "{}", listed.stdout);
    assert_eq!(steps(&world, &thread)[0].get("replaces"), None);

    // The next poke goes on where it failed, and the next role knows nothing of it.
    remove(&world, "fail");
    let next = runs(&world);
    poke(&world, &thread, &["-p", "shorter"]).exits(0);
    assert_eq!(read(&world, &format!("args-{next}")).trim(), "--resume=s1");
    assert!(
        read(&world, &format!("asked-{next}")).starts_with("Your last attempt at this step failed")
    );
    answers(&world, "reviewer", "$status: approved\nsummary: s", "");
    world.step(&thread).exits(0);
    assert!(!read(&world, &format!("asked-{}", next + 1)).contains("last attempt"));
}

#[test]
fn the_failures_of_the_old_step_are_none_of_the_new_one() {
    let (world, thread) = world(ONE_STEP.replace("$END", "$SUSPEND").as_str(), "one");
    answers(&world, "writer", "note: n", "");
    world.write("fail", "");
    world.step(&thread).exits(3);
    remove(&world, "fail");
    world.step(&thread).exits(0);
    poke(&world, &thread, &[]).exits(0);
    assert!(read(&world, "asked-1").starts_with("Your last attempt"));
    assert!(read(&world, "asked-2").starts_with("## Deliverable"));
}

#[test]
fn there_must_be_a_step_and_a_thread_that_has_not_ended() {
    let (world, thread) = world(REVIEW, "review");
    let refused = poke(&world, &thread, &[]).exits(1).says("has no step yet");
    refused.says(&format!("hint: `uwf thread step {thread}`"));
    poke(&world, "01J7K9Z0000000000000000004", &[])
        .exits(1)
        .says("does not exist");
    answers(&world, "writer", "plan: p", "");
    world.step(&thread).exits(0);
    world.uwf(&["thread", "kill", &thread]).exits(0);
    poke(&world, &thread, &[]).exits(7).says("uwf thread fork");
    assert_eq!(runs(&world), 1);
}

#[test]
fn a_thread_is_stepped_or_poked_but_never_both_at_once() {
    let (world, thread, _) = planned();
    answers(&world, "reviewer", "$status: rejected\nreason: r", "");
    let engine = poking(&world, &thread);
    world.step(&thread).exits(5).says("`writer` is at work");
    poke(&world, &thread, &[]).exits(5);
    remove(&world, "wait");
    assert!(engine.wait_with_output().unwrap().status.success());

    world.write("wait", "");
    let mut all: Vec<Child> = (0..10)
        .map(|number| world.spawn(&["thread", ["step", "poke"][number % 2], &thread]))
        .collect();
    // The winner works until all others have been told.
    wait_for_ends(&mut all, 9);
    remove(&world, "wait");
    let codes: Vec<_> = all
        .into_iter()
        .map(|one| one.wait_with_output().unwrap().status.code().unwrap())
        .collect();
    assert_eq!(
        codes.iter().filter(|code| **code == 0).count(),
        1,
        "{codes:?}"
    );
    assert_eq!(
        codes.iter().filter(|code| **code == 5).count(),
        9,
        "{codes:?}"
    );
    assert_eq!(runs(&world), 3);
}

#[test]
fn a_poke_whose_engine_was_killed_is_taken_in_by_the_next_call() {
    for command in ["step", "poke", "resume"] {
        let (world, thread, old) = planned();
        poke_that_lost_its_engine(&world, &thread);
        let hint = world.show(&thread)["hint"].clone();
        assert!(
            hint.as_str().unwrap().contains("a finished step waits"),
            "{hint}"
        );
        let report = world.uwf(&["thread", command, &thread]).exits(0).json();
        assert_eq!(report["adopted"], json!(true));
        assert_eq!(report["replaced"], json!(old));
        assert_eq!((runs(&world), world.pending(&thread)), (2, None));
        let done = steps(&world, &thread);
        assert_eq!((done.len(), &done[0]["replaces"]), (1, &json!([old])));
    }
}

#[test]
fn a_step_is_never_taken_in_as_a_poke_nor_a_poke_as_a_step() {
    let (world, thread, old) = planned();
    let mut record = poke_that_lost_its_engine(&world, &thread);
    assert_eq!(record["replaces"], json!(old));
    // As if it were the next step.
    let keys = record.as_object_mut().unwrap();
    keys.remove("replaces");
    keys.remove("sum");
    std::fs::write(world.pending_file(&thread), record.to_string()).unwrap();
    answers(&world, "reviewer", "$status: rejected\nreason: r", "");
    let report = world.step(&thread).exits(0).json();
    assert_eq!(
        (&report["adopted"], &report["role"]),
        (&json!(false), &json!("reviewer"))
    );
    assert_eq!(steps(&world, &thread)[0]["hash"], json!(old));

    // As if the next step were to replace the one before it.
    world.write("wait", "");
    let engine = world.spawn(&["thread", "step", &thread]);
    wait_until("the writer runs", || runs(&world) == 4);
    kill(engine);
    remove(&world, "wait");
    wait_until("the writer has finished", || {
        world.pending(&thread).is_some()
    });
    world.wait_until_free(&thread);
    let mut record = world.pending(&thread).unwrap();
    record["replaces"] = report["head"].clone();
    record.as_object_mut().unwrap().remove("sum");
    std::fs::write(world.pending_file(&thread), record.to_string()).unwrap();
    let again = world.step(&thread).exits(0).json();
    assert_eq!(again["adopted"], json!(false));
    assert_eq!(again.get("replaced"), None);
    assert_eq!(steps(&world, &thread).len(), 3);
}

#[test]
fn an_interrupted_poke_keeps_the_answer_and_its_session() {
    let (world, thread, old) = planned();
    let engine = poking(&world, &thread);
    signal("TERM", engine.id());
    assert_eq!(engine.wait_with_output().unwrap().status.code(), Some(143));
    assert_eq!(world.show(&thread)["head"], json!(old));
    remove(&world, "wait");
    poke(&world, &thread, &["-p", "shorter"]).exits(0);
}

#[test]
fn what_a_replaced_step_cost_still_counts() {
    let world = World::new();
    world.put(&format!(
        "{REVIEW}limits: {{ maxCostUsd: 1, maxSteps: 2 }}\n"
    ));
    world.mock("roles:\n  writer:\n    - output: { plan: p }\n      usage: { inputTokens: 1, outputTokens: 1, costUsd: 0.4 }\n");
    let thread = world.start("review");
    world.step(&thread).exits(0);
    poke(&world, &thread, &[]).exits(0);
    poke(&world, &thread, &[]).exits(0);
    let refused = poke(&world, &thread, &[]).exits(6).says("$1.20 of $1.00");
    let raise = refused.stderr.rsplit("--raise ").next().unwrap();
    let raise = raise.split('`').next().unwrap().to_owned();
    refused.says(&format!("uwf thread poke {thread} --raise"));
    world.step(&thread).exits(6);
    poke(&world, &thread, &["--raise", &raise]).exits(0);
    assert_eq!(steps(&world, &thread).len(), 1);
}

#[test]
fn the_old_answer_is_not_taken_for_a_new_one() {
    let (world, thread, old) = planned();
    let agent = world.script("same.sh", "echo \"$UWF_REPLACES\"");
    let agent = agent.to_str().unwrap();
    poke(&world, &thread, &["--agent", agent])
        .exits(3)
        .says(&format!("`{old}` is the step that was to be done again"));
    assert_eq!(world.show(&thread)["head"], json!(old));
}

#[test]
fn an_agent_that_does_a_step_again_may_step_other_threads() {
    let (world, thread, _) = planned();
    let other = world.start("review");
    let tool = world.project().join("tool.sh");
    let nested = format!(
        "cat > /dev/null; {} thread step {other} --agent 'uwf-command -- {}' >&2; cat answer-writer",
        crate::world::binary().display(),
        tool.display()
    );
    let agent = world.script("nested.sh", &nested);
    let agent = format!("uwf-command -- {}", agent.display());
    poke(&world, &thread, &["--agent", &agent]).exits(0);
    assert_eq!(steps(&world, &other).len(), 1);
    assert!(!read(&world, "asked-1").contains("Answer to Replace"));
}
