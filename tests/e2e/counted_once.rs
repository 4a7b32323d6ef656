//! What was spent once counts once, also when the answer of an attempt that was ended is used by a later one.

use std::fs;
use std::time::Duration;

use serde_json::{Value, json};

use crate::builtin;
use crate::checks::checked;
use crate::crash::tracer::{Point, Verdict, trace};
use crate::gates::{at_work, open_gate};
use crate::model_server::{ModelServer, Scripted};
use crate::postgres::{Server, new_schema};
use crate::processes::{kill, signal};
use crate::sharing::{agree, machines_in, shared, with_server};
use crate::trees::LOOP;
use crate::world::{ONE_STEP, Run, World, binary, wait_until};

/// A tool that tells the tokens of its messages while it works, and the cost at the end. Its answers are in files
/// `answer-<n>`; the call whose number is in `slow` waits for a file `gate`.
const TOOL: &str = r#"n=$(ls asked-* 2>/dev/null | wc -l); cat > asked-$n
echo '{"type":"system","subtype":"init","session_id":"s1"}'
echo '{"type":"assistant","message":{"id":"m1","content":[{"type":"text","text":"I look."}],"usage":{"input_tokens":100,"output_tokens":20}},"session_id":"s1"}'
if [ "$n" = "$(cat slow)" ]; then touch ready; while [ ! -e gate ]; do sleep 0.02; done; fi
[ -e answer-$n ] && answer=$(cat answer-$n) || answer='---\n$status: again\n---\ndone'
printf '{"type":"result","subtype":"success","is_error":false,"result":"%s","session_id":"s1","total_cost_usd":0.25,"usage":{"input_tokens":100,"output_tokens":20}}\n' "$answer"
"#;

/// A thread with these limits, whose call number `slow` waits, and whose calls begin with these answers.
fn world(limits: &str, slow: usize, answers: &[&str]) -> (World, String) {
    let world = World::new();
    world.put(&format!("{LOOP}limits: {limits}\n"));
    for (number, answer) in answers.iter().enumerate() {
        world.write(&format!("answer-{number}"), answer);
    }
    world.write("slow", &slow.to_string());
    let tool = world.script("tool", TOOL);
    world.agent("uwf-claude-code", &["--program", tool.to_str().unwrap()]);
    let thread = world.start("loop");
    (world, thread)
}

/// Ends the adapter and the engine while their program works, and lets the program finish.
fn ends_early(world: &World, thread: &str) {
    let engine = world.spawn(&["thread", "step", thread]);
    wait_until("the tool works", || world.project().join("ready").exists());
    let usage = format!("runs/{thread}/usage.json");
    wait_until("the tokens are told", || {
        world.state(&usage).contains("inputTokens")
    });
    let adapter = world.agent_at_work(thread);
    kill(engine);
    signal("KILL", adapter);
    world.write("gate", "");
    world.wait_until_free(thread);
}

fn calls(world: &World) -> usize {
    let files = fs::read_dir(world.project()).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.starts_with("asked-")).count()
}

#[test]
fn tokens_of_an_answer_that_a_later_attempt_uses_count_once() {
    // The step needs 120.
    let (world, thread) = world("{ maxTokens: 130 }", 0, &[]);
    ends_early(&world, &thread);
    world.step(&thread).exits(0);
    assert_eq!(
        (calls(&world), world.show(&thread)["steps"].clone()),
        (1, json!(1))
    );
    world.step(&thread).exits(0);
    world
        .step(&thread)
        .exits(6)
        .says("`maxTokens` is reached: 240 of 130 tokens");
}

#[test]
fn the_cost_of_a_conversation_that_a_later_attempt_finishes_counts_once_and_as_a_whole() {
    let limits = "{ maxCostUsd: 0.6, unknownUsage: ignore }";
    let (world, thread) = world(limits, 1, &["no front matter"]);
    ends_early(&world, &thread);
    let report = world.step(&thread).exits(0).json();
    assert_eq!(
        (calls(&world), world.show(&thread)["steps"].clone()),
        (2, json!(1))
    );
    let step_hash = report["step"].as_str().unwrap();
    let shown = world.uwf(&["step", "show", step_hash]).exits(0).json();
    assert_eq!(shown["usage"]["costUsd"], json!(0.5));
    world.step(&thread).exits(0);
    world.step(&thread).exits(6).says("`maxCostUsd` is reached");
}

#[test]
fn the_cost_of_an_answer_is_known_once_it_is_used() {
    let (world, thread) = world("{ maxCostUsd: 0.6, unknownUsage: ignore }", 0, &[]);
    ends_early(&world, &thread);
    world.step(&thread).exits(0);
    let head = world.show(&thread)["head"].clone();
    let listed = world.uwf(&["thread", "steps", &thread]).exits(0).json();
    assert_eq!(listed["attempts"][0]["countedIn"], head, "{listed}");
    world.configure("limits.maxCostUsd", "0.6");
    world.step(&thread).exits(0);
}

/// The record of the lease does not name such an agent.
#[test]
fn what_an_agent_used_counts_though_its_engine_dies_right_after_it_has_started_it() {
    let usage = json!({ "prompt_tokens": 100, "completion_tokens": 20 });
    let call = Scripted::calls(&[("shell_exec", json!({ "command": "true" }))]);
    let answers = [call, builtin::note("n")].map(|answer| answer.using(&usage));
    let server = ModelServer::start(answers.to_vec());
    let world = builtin::world(ONE_STEP, &server);
    world.agent("uwf-builtin", &["--allow-shell"]);
    let thread = world.start("one");
    let starts =
        |point: &Point, command| point.command.contains(command) && point.call == "start a process";
    let mut has_started = false;
    let mut kills = 0;
    let traced = trace(&world, &["thread", "step", &thread], |point| {
        let writes_agent = has_started && point.call.ends_with("/holder.json");
        has_started |= starts(point, " thread step ");
        // The agent is killed when it has its first answer, and starts what that asks for.
        if (kills == 0 && writes_agent) || (kills == 1 && starts(point, "uwf-builtin ")) {
            kills += 1;
            return Verdict::Kill;
        }
        Verdict::GoOn
    });
    assert_eq!(
        (kills, server.requests().len()),
        (2, 1),
        "{:#?}",
        traced.points
    );
    world.step(&thread).exits(0);
    let cost = world.uwf(&["thread", "cost", &thread]).exits(0).json();
    let runs = (&cost["total"]["runs"], &cost["total"]["tokens"]);
    assert_eq!(runs, (&json!(2), &json!(240)), "{cost}");
}

/// Kills the engine of a step when the head has moved.
pub(crate) fn dies_before_it_counts(world: &World, args: &[&str]) {
    let mut has_moved = false;
    let traced = trace(world, args, |point| {
        if has_moved && point.command.contains(" thread ") {
            return Verdict::Kill;
        }
        has_moved = point.call.starts_with("rename ") && point.call.ends_with(" root/threads.yaml");
        Verdict::GoOn
    });
    assert!(traced.killed().is_some(), "{:#?}", traced.points);
}

/// Nobody steps such a thread again, so whoever reads what it used up must find the step that was replaced.
#[test]
fn a_replaced_step_counts_though_the_engine_dies_when_the_thread_has_ended() {
    let done = "---\\n$status: done\\n---\\ndone";
    let (world, thread) = world("{}", 99, &["---\\n$status: again\\n---\\nmore", done]);
    world.step(&thread).exits(0);
    dies_before_it_counts(&world, &["thread", "poke", &thread]);
    let shown = world.show(&thread);
    assert_eq!(shown["status"], "completed", "{shown}");
    assert_eq!(shown["usage"]["tokens"], json!(240), "{shown}");
    let cost = world.uwf(&["thread", "cost", &thread]).exits(0).json();
    assert_eq!(cost["total"]["tokens"], json!(240), "{cost}");
}

/// Nobody steps such a thread again, so whoever reads what it used up must find the attempts that its last step counts.
#[test]
fn the_last_answer_counts_once_though_the_engine_dies_when_the_thread_has_ended() {
    let (world, thread) = world("{}", 0, &["---\\n$status: done\\n---\\ndone"]);
    ends_early(&world, &thread);
    dies_before_it_counts(&world, &["thread", "step", &thread]);
    let shown = world.show(&thread);
    assert_eq!(shown["status"], "completed", "{shown}");
    assert_eq!(shown["usage"]["tokens"], json!(120), "{shown}");
    let cost = world.uwf(&["thread", "cost", &thread]).exits(0).json();
    assert_eq!(cost["total"]["tokens"], json!(120), "{cost}");
    let bundle = world.dir().join("bundle");
    let bundle = bundle.to_str().unwrap();
    world
        .uwf(&["thread", "export", &thread, "-o", bundle])
        .exits(0);
    let elsewhere = World::new();
    elsewhere.uwf(&["thread", "import", bundle]).exits(0);
    let cost = elsewhere.uwf(&["thread", "cost", &thread]).exits(0).json();
    assert_eq!(cost["total"]["tokens"], json!(120), "{cost}");
}

#[test]
fn an_answer_that_is_used_counts_once_also_if_the_engine_dies_when_the_head_has_moved() {
    let (world, thread) = world("{ maxTokens: 130 }", 0, &[]);
    ends_early(&world, &thread);
    dies_before_it_counts(&world, &["thread", "step", &thread]);
    assert_eq!(world.show(&thread)["steps"], json!(1));
    world.step(&thread).exits(0);
    assert_eq!(
        (calls(&world), world.show(&thread)["steps"].clone()),
        (2, json!(2))
    );
}

/// An agent that is told to stop, says so, and finishes its step when its gate opens.
pub(crate) fn stubborn_agent(world: &World, script: &str) {
    world.write("answers.yaml", script);
    world.scripted_agent(&format!(
        "echo >> {project}/runs\ntrap 'touch {project}/told' INT TERM\nwhile [ -e {project}/wait ]; do sleep 0.02; done\nexec {uwf} agent mock {project}/answers.yaml \"$@\"",
        project = world.project().display(),
        uwf = binary().display(),
    ));
}

/// Waits until such an agent was told to stop, and lets it finish.
pub(crate) fn finishes_all_the_same(world: &World) {
    let told = world.project().join("told");
    wait_until("the agent is told to stop", || told.exists());
    open_gate(world);
}

#[test]
fn a_step_that_is_finished_after_the_call_was_told_to_stop_is_committed_and_counts_once() {
    let world = World::new();
    world.put(&format!("{LOOP}limits: {{ maxCostUsd: 5 }}\n"));
    let usage = "usage: { inputTokens: 100, outputTokens: 20, costUsd: 0.25 }";
    stubborn_agent(
        &world,
        &format!("roles:\n  writer:\n    - output: {{ $status: again }}\n      {usage}\n"),
    );
    let thread = world.start("loop");
    let step = ["thread", "step", thread.as_str()];
    let engine = at_work(&world, &step);
    signal("TERM", engine.id());
    finishes_all_the_same(&world);
    let report = Run::from(engine.wait_with_output().unwrap()).exits(0);
    assert_eq!(report.json()["head"], world.show(&thread)["head"]);
    let cost = world.uwf(&["thread", "cost", &thread]).exits(0).json();
    let runs = (&cost["total"]["runs"], &cost["total"]["costUsd"]);
    assert_eq!(runs, (&json!(1), &json!(0.25)), "{cost}");
    world.step(&thread).exits(0);
    assert_eq!(world.show(&thread)["steps"], json!(2));
    // A run of the thread begins nothing more.
    fs::remove_file(world.project().join("told")).unwrap();
    let run = at_work(&world, &["thread", "run", &thread]);
    signal("TERM", run.id());
    finishes_all_the_same(&world);
    Run::from(run.wait_with_output().unwrap()).exits(143);
    assert_eq!(world.show(&thread)["steps"], json!(3));
    let cost = world.uwf(&["thread", "cost", &thread]).exits(0).json();
    assert_eq!(cost["total"]["runs"], json!(3), "{cost}");
}

/// Two machines that share a thread. The agent of the first one finishes its step all the same.
fn stubborn_machines(server: &Server) -> ([World; 2], String) {
    let machines = machines_in(server, &new_schema());
    let usage = "usage: { inputTokens: 100, outputTokens: 20, costUsd: 0.25 }";
    for world in &machines {
        stubborn_agent(
            world,
            &format!("roles:\n  writer:\n    - output: {{ status: more }}\n      {usage}\n"),
        );
    }
    let thread = shared(&machines, "again");
    (machines, thread)
}

#[test]
fn a_step_that_is_finished_after_a_takeover_is_kept_and_counts_once() {
    with_server(|server| {
        let (machines, thread) = stubborn_machines(server);
        let [one, other] = &machines;
        one.configure("remote.lease", "2s");
        let mut working = at_work(one, &["thread", "step", &thread]);
        other.uwf(&["remote", "release", &thread, "--yes"]).exits(0);
        other.step(&thread).exits(0);
        finishes_all_the_same(one);
        assert_eq!(working.wait().unwrap().code(), Some(5));
        agree(&machines, &thread, 1);
        let cost = one.uwf(&["thread", "cost", &thread]).exits(0).json();
        let total = &cost["total"];
        let sums = (&total["runs"], &total["costUsd"], &total["costUnknown"]);
        assert_eq!(sums, (&json!(2), &json!(0.5), &json!(0)), "{cost}");
        let kept = one.show(&thread)["refusedSteps"][0]["step"].clone();
        one.uwf(&["step", "read", kept.as_str().unwrap()]).exits(0);
    });
}

#[test]
fn a_step_that_is_finished_after_a_worker_was_told_to_stop_twice_counts_once() {
    with_server(|server| {
        let (machines, thread) = stubborn_machines(server);
        let one = &machines[0];
        let worker = at_work(one, &["work"]);
        signal("TERM", worker.id());
        // Two signals that wait at once are one.
        std::thread::sleep(Duration::from_secs(1));
        signal("TERM", worker.id());
        finishes_all_the_same(one);
        let run = Run::from(worker.wait_with_output().unwrap()).exits(143);
        run.says("1 step done");
        let cost = one.uwf(&["thread", "cost", &thread]).exits(0).json();
        assert_eq!(cost["total"]["runs"], json!(1), "{cost}");
        agree(&machines, &thread, 1);
    });
}

/// A check that waits for the file `go-<run>`, which has its exit code.
const GATED: &str = "n=$(ls ran-* 2>/dev/null | wc -l); touch ran-$n; while [ ! -s go-$n ]; do sleep 0.02; done; exit $(cat go-$n)";

/// A thread whose role has a check that waits, and an agent whose every answer costs 0.25.
fn checked_world(attempts: u32) -> (World, String) {
    let world = World::new();
    let checks = format!("{{ run: [./gated.sh], attempts: {attempts} }}");
    world.put(&checked(&checks, ""));
    world.script("gated.sh", GATED);
    let tool = TOOL
        .replace("$status: again", "note: n")
        .replace("$(cat slow)", "none");
    let tool = world.script("tool", &tool);
    world.agent("uwf-claude-code", &["--program", tool.to_str().unwrap()]);
    let thread = world.start("checked");
    (world, thread)
}

/// Steps the thread, and kills its agent while the check runs for the time with this number.
fn dies_in_check(world: &World, thread: &str, run: usize) {
    let engine = world.spawn(&["thread", "step", thread]);
    let ran = world.project().join(format!("ran-{run}"));
    wait_until("the check runs", || ran.exists());
    signal("KILL", world.agent_at_work(thread));
    let ended = engine.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(3), "{ended:?}");
    fs::write(world.project().join(format!("go-{run}")), "0").unwrap();
    world.wait_until_free(thread);
}

/// Returns what the thread has cost, and whether all of that is known.
fn cost(world: &World, thread: &str) -> (f64, Value) {
    let cost = world.uwf(&["thread", "cost", thread]).exits(0).json();
    let row = &cost["rows"][0];
    (row["costUsd"].as_f64().unwrap(), row["costUnknown"].clone())
}

#[test]
fn an_answer_that_was_kept_counts_once_if_its_checks_fail_at_last() {
    let (world, thread) = checked_world(0);
    dies_in_check(&world, &thread, 0);
    assert_eq!(cost(&world, &thread).0, 0.25);
    world.write("go-1", "1");
    let failed = world.step(&thread).exits(3).json();
    assert_eq!(failed["class"], json!("checks-failed"), "{failed}");
    assert_eq!(calls(&world), 1);
    assert_eq!(cost(&world, &thread).0, 0.25);
}

#[test]
fn a_correction_that_was_kept_counts_once_with_the_answer_before_it() {
    let (world, thread) = checked_world(1);
    dies_in_check(&world, &thread, 0);
    world.write("go-1", "1");
    dies_in_check(&world, &thread, 2);
    assert_eq!(cost(&world, &thread).0, 0.5);
    world.write("go-3", "0");
    let step = world.step(&thread).exits(0).json()["step"].clone();
    assert_eq!(calls(&world), 2);
    assert_eq!(cost(&world, &thread).0, 0.5);
    let shown = world.uwf(&["step", "show", step.as_str().unwrap()]);
    assert_eq!(shown.exits(0).json()["usage"]["costUsd"], json!(0.5));
    let listed = world.uwf(&["thread", "steps", &thread]).exits(0).json();
    for attempt in listed["attempts"].as_array().unwrap() {
        assert_eq!(attempt["countedIn"], step, "{listed}");
    }
}

#[test]
fn an_attempt_that_only_runs_checks_again_has_used_nothing() {
    let (world, thread) = checked_world(0);
    for run in 0..3 {
        dies_in_check(&world, &thread, run);
    }
    world.write("go-3", "0");
    world.step(&thread).exits(0);
    assert_eq!(calls(&world), 1);
    assert_eq!(cost(&world, &thread), (0.25, json!(0)));
}

#[test]
fn an_answer_of_a_program_whose_adapter_died_counts_once_if_its_checks_fail() {
    let (world, thread) = checked_world(0);
    let tool = TOOL
        .replace("$status: again", "note: n")
        .replace("$(cat slow)", "0");
    world.script("tool", &tool);
    ends_early(&world, &thread);
    world.write("go-0", "1");
    let failed = world.step(&thread).exits(3).json();
    assert_eq!(failed["class"], json!("checks-failed"), "{failed}");
    assert_eq!(calls(&world), 1);
    assert_eq!(cost(&world, &thread), (0.25, json!(0)));
}
