//! The agents that are command line tools, with shell scripts in their place.

use std::fs;
use std::time::{Duration, Instant};

use uwf_protocol::run::Phase;

use crate::fake_tool::{CLAUDE, CODEX, CURSOR, Fake, GOOD, KINDS};
use crate::world::{World, says};

#[test]
fn a_tool_gets_the_prompt_on_stdin_and_its_result_is_the_answer() {
    for kind in KINDS {
        let mut fake = Fake::new(kind, "say work good");
        let step = fake.step();
        assert_eq!(step.output["text"], "x");
        assert_eq!(step.node.agent, format!("uwf-{}", fake.kind.agent));
        assert_eq!(fake.asked(0), step.prompt);
        assert!(!fake.args(0).contains("## Task"));
        let detail = &step.detail;
        assert_eq!(detail.session_id.as_deref(), Some("s1"));
        assert_eq!(detail.turns.len(), fake.kind.turns);
        let usage = detail.usage.as_ref().unwrap();
        assert!(usage.duration_ms.is_some());
        if fake.kind.agent != "cursor" {
            let tokens = (usage.input_tokens, usage.output_tokens, usage.cached_tokens);
            assert_eq!(tokens, (Some(120), Some(40), Some(20)));
        }
        let live = fake.world.run_dir().scratch.live_file();
        let live = fs::read_to_string(live).unwrap();
        assert!(live.lines().count() >= fake.kind.turns, "{live}");
    }
}

#[test]
fn lines_may_come_in_pieces_between_noise_and_unknown_events() {
    for kind in KINDS {
        let script = "echo 'Welcome!'; echo '[1,2]'; printf '\\377\\n\\n'; echo '{\"type\":\"brand_new\",\"a\":[{}]}'\n\
             echo '{}'; say work; head -c 41 good; sleep 0.1; tail -c +42 good";
        let mut fake = Fake::new(kind, script);
        let step = fake.step();
        assert_eq!(step.output["text"], "x");
        assert_eq!(step.detail.turns.len(), fake.kind.turns);
    }
}

#[test]
fn a_correction_goes_to_the_session_and_usage_is_summed() {
    for kind in KINDS {
        let counts_since_the_session_began = kind.agent == "codex";
        let script = "if [ $n = 0 ]; then say work garbage; else say work good; fi";
        let mut fake = Fake::new(kind, script);
        if counts_since_the_session_began {
            let good = fake
                .world
                .read("good")
                .replace(":120", ":250")
                .replace("\"cached_input_tokens\":20", "\"cached_input_tokens\":35")
                .replace(":40", ":90");
            fake.world.write("good", &good);
        }
        let step = fake.step();
        assert_eq!(fake.args(1), fake.kind.resume);
        assert!(fake.asked(1).starts_with("Your answer was not accepted"));
        assert_eq!(step.detail.extraction.attempts, 2);
        let live = fs::read_to_string(fake.world.run_dir().scratch.live_file()).unwrap();
        let turns = live.lines().filter(|line| line.contains("\"index\""));
        for (index, line) in turns.enumerate() {
            assert!(line.contains(&format!("\"index\":{index},")), "{live}");
        }
        let usage = step.detail.usage.unwrap();
        let tokens = (usage.input_tokens, usage.output_tokens);
        let cached = match fake.kind.agent {
            "cursor" => None,
            "codex" => Some(35),
            _ => Some(40),
        };
        assert_eq!(usage.cached_tokens, cached, "{}", fake.kind.agent);
        match fake.kind.agent {
            "claude-code" => {
                assert_eq!(tokens, (Some(240), Some(80)));
                assert_eq!((usage.cost_usd, usage.turns), (Some(1.0), Some(4)));
            }
            "codex" => assert_eq!(tokens, (Some(250), Some(90))),
            "cursor" => assert_eq!(tokens, (None, None)),
            _ => assert_eq!(tokens, (Some(240), Some(80))),
        }
    }
}

#[test]
fn a_failed_call_keeps_session_and_turns_and_the_next_attempt_goes_on() {
    for kind in KINDS {
        let mut fake = Fake::new(kind, "say work failure; echo aside >&2; exit 1");
        let failure = fake.fail(&[]);
        assert_eq!(failure.phase, Phase::Agent);
        assert_eq!(failure.session_id.as_deref(), Some("s1"));
        assert!(failure.turns.len() >= 2, "{:?}", failure.turns);
        let why = match fake.kind.agent {
            "claude-code" => {
                "exited with code 1: error_max_turns: Reached maximum number of turns (5)"
            }
            "codex" => "exited with code 1: unexpected status 500",
            "cursor" => "exited with code 1: out of credit",
            "opencode" => "exited with code 1: APIError: it broke",
            _ => "exited with code 1: [API Error: 500]",
        };
        says(&failure, why);
        assert!(!failure.error.contains("aside"));
        fake.fail(&[]);
        fake.script("say work good");
        fake.step();
        for n in 1..=2 {
            assert_eq!(fake.args(n), fake.kind.resume);
            assert!(
                fake.asked(n)
                    .starts_with("Your last attempt at this step failed")
            );
            assert!(!fake.asked(n).contains("## Task"));
        }
    }
}

#[test]
fn a_later_visit_goes_on_with_the_session_or_begins_a_new_one() {
    for kind in KINDS {
        let mut fake = Fake::new(kind, "say work good");
        fake.step();
        let second = fake.step();
        assert_eq!(fake.args(1), fake.kind.resume);
        assert_eq!(fake.asked(1), second.prompt);
        fake.script(
            "case \"$*\" in *resume*|*session*) cat gone >&2; exit 1;; esac; say work good",
        );
        let third = fake.step();
        assert_eq!(fake.args(2), fake.kind.resume);
        assert!(!fake.args(3).contains("resume"), "{}", fake.args(3));
        assert_eq!(fake.asked(3), third.prompt);
    }
}

#[test]
fn a_failed_attempt_whose_session_is_gone_begins_anew() {
    for kind in KINDS {
        let mut fake = Fake::new(kind, "say work failure; exit 1");
        fake.fail(&[]);
        fake.script(
            "case \"$*\" in *resume*|*session*) cat gone >&2; exit 1;; esac; say work good",
        );
        let step = fake.step();
        assert_eq!(fake.args(1), fake.kind.resume);
        assert!(!fake.args(2).contains("resume"));
        assert_eq!(fake.asked(2), step.prompt);
    }
}

#[test]
fn a_session_that_keeps_failing_is_given_up_on_later_visits_too() {
    let mut fake = Fake::new(CLAUDE, "say work good");
    fake.step();
    fake.script("say work failure; exit 1");
    for _ in 0..3 {
        fake.fail(&[]);
    }
    fake.script("say work good");
    fake.step();
    for n in 1..=3 {
        assert_eq!(fake.args(n), fake.kind.resume);
    }
    assert!(!fake.args(4).contains("resume"));
}

#[test]
fn without_a_result_the_last_message_counts_if_the_tool_ended_well() {
    for kind in KINDS {
        let mut fake = Fake::new(kind, "say work; head -n 1 good");
        assert_eq!(fake.step().output["text"], "x");
        let silent = Fake::new(fake.kind, "");
        let failure = silent.fail(&[]);
        says(&failure, "ended without an answer");
    }
}

#[test]
fn an_exit_code_without_a_result_is_a_failure_in_the_tools_own_words() {
    for kind in KINDS {
        let fake = Fake::new(
            kind,
            "say work; head -n 1 good; echo out of money >&2; exit 7",
        );
        let failure = fake.fail(&[]);
        says(&failure, "exited with code 7: out of money");
        assert_eq!(failure.session_id.as_deref(), Some("s1"));
        assert_eq!(failure.turns.len(), fake.kind.turns);
        // Some say it on stdout, in a line that is no event.
        fake.script("echo 'unknown option'; exit 2");
        let failure = fake.fail(&[]);
        says(&failure, "exited with code 2: unknown option");
    }
}

#[test]
fn an_answer_that_was_given_is_not_lost_by_what_happens_afterwards() {
    for kind in KINDS {
        let mut fake = Fake::new(kind, "say work good; exit 1");
        assert_eq!(fake.step().output["text"], "x");
    }
}

#[test]
fn interruptions_are_passed_on() {
    let fake = Fake::new(CLAUDE, "exit 130");
    let tool = fake.world.path("tool");
    let own = ["--program", tool.to_str().unwrap()];
    assert_eq!(fake.world.call("claude-code", &own, "writer"), 130);
    fake.script("kill -TERM $$");
    assert_eq!(fake.world.call("claude-code", &own, "writer"), 143);
    fake.script("exit 42");
    assert_eq!(fake.world.call("claude-code", &own, "writer"), 1);
}

#[test]
fn a_session_that_was_cut_short_before_its_first_turn_does_not_go_on() {
    // The signal reaches the agent and its tool at once; the tool may be gone before the agent sees the signal.
    let fake = Fake::new(CLAUDE, "head -n 1 work; kill -TERM $PPID $$");
    for _ in 0..5 {
        let failure = fake.fail(&[]);
        says(&failure, "signal 15 interrupted the step");
        assert_eq!(failure.session_id, None);
    }
    fake.script("head -n 1 work; exec sleep 30");
    let failure = fake.fail(&["--timeout", "1s"]);
    says(&failure, "time limit of 1 s");
    assert_eq!(failure.session_id, None);
}

#[test]
fn a_tool_that_hangs_is_ended_and_what_it_did_is_kept() {
    let fake = Fake::new(CLAUDE, "say work; exec sleep 30");
    let began = Instant::now();
    let failure = fake.fail(&["--timeout", "2s"]);
    says(&failure, "time limit of 2 s");
    assert_eq!(failure.session_id.as_deref(), Some("s1"));
    assert_eq!(failure.turns.len(), 3);
    assert!(began.elapsed() < Duration::from_secs(10));
    // One that hangs after its answer has answered.
    let mut fake = Fake::new(CLAUDE, "say work good; exec sleep 30");
    let program = fake.world.path("tool").to_string_lossy().into_owned();
    let own = Fake::own(&program, &["--timeout", "2s"]);
    fake.world.step("claude-code", &own, "writer");
}

#[test]
fn a_tool_that_is_not_there_was_not_started() {
    for kind in KINDS {
        let world = World::new();
        let failure = world.fail(kind.agent, &["--program", "/no/such/tool"], "writer");
        assert_eq!(failure.phase, Phase::Spawn);
        assert!(
            failure
                .error
                .contains("`/no/such/tool` could not be started")
        );
    }
}

#[test]
fn what_is_given_reaches_the_tool_and_mistakes_are_usage_errors() {
    let mut fake = Fake::new(CODEX, "say work good");
    let program = fake.world.path("tool").to_string_lossy().into_owned();
    let own = Fake::own(
        &program,
        &[
            "--model=m",
            "--config",
            "a=b",
            "--skip-git-repo-check",
            "--",
            "--bogus",
            "--",
            "y",
        ],
    );
    fake.world.step("codex", &own, "writer");
    assert_eq!(
        fake.args(0),
        "exec --json --model m --config a=b --skip-git-repo-check --bogus -- y -"
    );
    for own in [&["--modle", "m"][..], &["--timeout", "soon"], &["stray"]] {
        assert_eq!(fake.world.call("codex", own, "writer"), 2, "{own:?}");
    }
    assert_eq!(fake.world.call("cursor", &["--form", "x"], "writer"), 2);
}

#[test]
fn the_older_cursor_takes_its_prompt_as_an_argument_and_prints_an_answer() {
    let mut fake = Fake::new(
        CURSOR,
        &format!("printf '%s' \"$2\" > prompt; printf -- '{GOOD}'"),
    );
    let program = fake.world.path("tool").to_string_lossy().into_owned();
    let own = Fake::own(&program, &["--form", "cursor", "--model", "m"]);
    let step = fake.world.step("cursor", &own, "writer");
    assert_eq!(step.output["text"], "x");
    assert_eq!(fake.world.read("prompt"), step.prompt);
    let args = fake.args(0);
    let (_, after) = args.rsplit_once(" --workspace ").unwrap();
    let (_, after) = after.split_once(' ').unwrap();
    assert_eq!(after, "--output-format text --trust --force --model m");
    fake.script("echo garbage");
    let failure = fake.world.fail("cursor", &own, "writer");
    assert_eq!(failure.phase, Phase::Extract);
    fake.world.instruction = "x".repeat(200_000);
    let failure = fake.world.fail("cursor", &own, "writer");
    says(&failure, "too long");
}
