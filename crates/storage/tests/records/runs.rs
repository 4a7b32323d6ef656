//! The records that a run leaves, and what remains of them after accidents.

use std::fs;

use uwf_process::process_identity;
use uwf_protocol::chain::{ChainSummary, ChainUsage};
use uwf_protocol::failure::FailureClass;
use uwf_protocol::ids::CasRef;
use uwf_protocol::limits::Used;
use uwf_protocol::review::{Reviews, Summaries};
use uwf_protocol::run::{
    Attempt, ChosenAgent, KitFailure, LeaseRecord, Pending, Phase, ThreadRecord,
};
use uwf_storage::RunDir;
use xxhash_rust::xxh64::xxh64;

use crate::{role, world};

const HEAD: CasRef = CasRef::from_digits(b"CTS5P6RD8HMCS");
const PENDING: Pending = Pending {
    step: STEP,
    head: HEAD,
    replaces: None,
    at_ms: 7,
    answer_of: Vec::new(),
    agent: None,
};
const STEP: CasRef = CasRef::from_digits(b"0123456789012");

fn attempt(number: i64) -> Attempt {
    Attempt {
        agent: "uwf-mock".into(),
        error: "it\nfailed".into(),
        number: u64::try_from(number).unwrap(),
        started_at_ms: number,
        ended_at_ms: number,
        ..Attempt::of(HEAD, role("writer"))
    }
}

#[test]
fn a_thread_that_never_ran_has_no_records_and_no_directory() {
    let (_temp, run) = world();
    assert_eq!(run.outbox.read_pending().unwrap(), None);
    assert_eq!(run.lease.read_record(), None);
    assert_eq!(run.scratch.read_failure(), None);
    assert_eq!(run.ledger.chain_summary(), None);
    assert_eq!(run.ledger.attempts(), []);
    assert_eq!(run.sessions.of_agent(&role("writer"), "mock"), None);
    run.outbox.clear_pending().unwrap();
    assert!(!run.path().exists());
}

#[test]
fn records_are_read_back_until_they_are_cleared() {
    let (_temp, run) = world();
    let pending = PENDING;
    run.outbox.write_pending(&pending).unwrap();
    assert_eq!(run.outbox.read_pending().unwrap(), Some(pending));
    run.outbox.clear_pending().unwrap();
    assert_eq!(run.outbox.read_pending().unwrap(), None);
    let record = LeaseRecord {
        engine: process_identity(std::process::id()).unwrap(),
        agent: None,
        label: String::new(),
        attempt: None,
        head: None,
        replaces: None,
        keep_running: false,
        role: role("writer"),
        started_at_ms: 7,
        waiting: false,
        words: Some("use B".to_owned()),
        number: Some(2),
        failed: Vec::new(),
        chosen: Some(ChosenAgent {
            option: Some("tool".to_owned()),
            command: vec!["uwf-command".to_owned(), "--".to_owned(), "t".to_owned()],
            ..ChosenAgent::default()
        }),
    };
    run.lease.write_record(&record).unwrap();
    assert_eq!(run.lease.read_record(), Some(record));
    run.lease.clear_record().unwrap();
    assert_eq!(run.lease.read_record(), None);
    let failure = KitFailure {
        phase: Phase::Extract,
        class: Some(FailureClass::BadAnswer),
        error: "no".into(),
        hint: None,
        feedback: None,
        session_id: Some("s".into()),
        retry_after_ms: Some(1500),
        usage: None,
        raw: Some(STEP),
        turns: vec![STEP],
    };
    run.scratch.write_failure(&failure).unwrap();
    assert_eq!(run.scratch.read_failure(), Some(failure));
    run.scratch.clear_failure().unwrap();
    assert_eq!(run.scratch.read_failure(), None);
    let mut summary = ChainSummary::of_start(HEAD);
    summary.push(STEP, &role("writer"));
    run.ledger.write_chain_summary(&summary).unwrap();
    assert_eq!(run.ledger.chain_summary(), Some(summary));
}

#[test]
fn records_that_cannot_be_parsed_count_as_absent_and_can_be_replaced() {
    let (_temp, run) = world();
    run.create().unwrap();
    for name in ["holder.json", "failure.json", "sessions.json", "chain.json"] {
        fs::write(run.path().join(name), "{\"step\":\"CTS").unwrap();
    }
    assert_eq!(run.lease.read_record(), None);
    assert_eq!(run.scratch.read_failure(), None);
    assert_eq!(run.ledger.chain_summary(), None);
    run.sessions
        .remember(&role("writer"), "mock", "s1")
        .unwrap();
    assert_eq!(
        run.sessions.of_agent(&role("writer"), "mock").as_deref(),
        Some("s1")
    );
}

#[test]
fn a_pending_record_that_cannot_be_read_is_an_error() {
    let (_temp, run) = world();
    fs::create_dir_all(run.path().join("pending.json")).unwrap();
    assert!(run.outbox.read_pending().is_err());
}

#[test]
fn the_checksum_of_a_pending_record_is_that_of_the_bytes_before_it() {
    let (_temp, run) = world();
    let pending = PENDING;
    run.outbox.write_pending(&pending).unwrap();
    let path = run.path().join("pending.json");
    let written = fs::read_to_string(&path).unwrap();
    let summed = |record: &str| {
        format!(
            "{record},\"sum\":\"{:016x}\"}}",
            xxh64(record.as_bytes(), 0)
        )
    };
    let record = format!("{{\"step\":\"{STEP}\",\"head\":\"{HEAD}\",\"atMs\":7");
    assert_eq!(written, summed(&record));
    // Another version or another program may tell more, and in another order.
    let more = format!("{{ \"more\": [1],\n \"atMs\":7, \"head\":\"{HEAD}\",\"step\":\"{STEP}\"");
    for good in [summed(&more), summed(&more) + "  \n", more.clone() + "}"] {
        fs::write(&path, &good).unwrap();
        assert_eq!(
            run.outbox.read_pending().unwrap().as_ref(),
            Some(&pending),
            "{good}"
        );
    }
    let elsewhere = format!(
        "{{\"sum\":\"{:016x}\",{}}}",
        xxh64(record.as_bytes(), 0),
        &record[1..]
    );
    fs::write(&path, elsewhere).unwrap();
    assert!(run.outbox.read_pending().is_err());
}

#[test]
fn the_pending_record_that_the_manual_shows_has_the_right_checksum() {
    let (_temp, run) = world();
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/agents.md");
    let page = fs::read_to_string(page).unwrap();
    let shown = page
        .lines()
        .find(|line| line.starts_with("{\"step\"") && line.contains("\"sum\""));
    let shown = shown.unwrap();
    run.create().unwrap();
    fs::write(run.path().join("pending.json"), shown).unwrap();
    let (record, _) = shown.split_once(",\"sum\":").unwrap();
    let sum = format!("{:016x}", xxh64(record.as_bytes(), 0));
    assert!(run.outbox.read_pending().is_ok(), "{sum}");
}

#[test]
fn no_changed_character_makes_another_record_of_a_pending_one() {
    let (_temp, run) = world();
    let pending = Pending {
        step: STEP,
        head: HEAD,
        replaces: Some(STEP),
        at_ms: 77,
        answer_of: vec![3],
        ..PENDING
    };
    run.outbox.write_pending(&pending).unwrap();
    let path = run.path().join("pending.json");
    let written = fs::read(&path).unwrap();
    let name = written.len() - r#"sum":"0123456789abcdef"}"#.len();
    for at in 0..written.len() {
        for changed in *b"7 x\"" {
            let mut bytes = written.clone();
            bytes[at] = changed;
            if bytes == written {
                continue;
            }
            fs::write(&path, &bytes).unwrap();
            let read = run.outbox.read_pending();
            // In the name of the checksum, it is the record that it was.
            let is_harmless = (name..name + 3).contains(&at)
                && read
                    .as_ref()
                    .is_ok_and(|read| read.as_ref() == Some(&pending));
            assert!(
                read.is_err() || is_harmless,
                "{}",
                String::from_utf8_lossy(&bytes)
            );
        }
    }
}

#[test]
fn a_chain_summary_that_was_changed_or_has_no_checksum_is_not_used() {
    let (_temp, run) = world();
    let mut summary = ChainSummary::of_start(HEAD);
    for _ in 0..7 {
        summary.push(STEP, &role("writer"));
    }
    run.create().unwrap();
    run.ledger.write_chain_summary(&summary).unwrap();
    let path = run.path().join("chain.json");
    let written = fs::read_to_string(&path).unwrap();
    assert!(written.contains(r#""steps":7"#), "{written}");
    let plain = serde_json::to_string(&summary).unwrap();
    for other in [written.replace(r#""steps":7"#, r#""steps":1"#), plain] {
        fs::write(&path, other).unwrap();
        assert_eq!(run.ledger.chain_summary(), None);
    }
    fs::write(&path, written + "   ").unwrap();
    assert_eq!(run.ledger.chain_summary(), Some(summary));
}

#[test]
fn the_newest_fifty_attempts_are_kept() {
    let (_temp, run) = world();
    for number in 0..53 {
        run.ledger.append_attempt(&attempt(number)).unwrap();
    }
    let kept: Vec<i64> = run
        .ledger
        .attempts()
        .iter()
        .map(|one| one.started_at_ms)
        .collect();
    assert_eq!(kept, (3..53).collect::<Vec<_>>());
    assert_eq!(run.ledger.used_by_attempts(HEAD).runs, 53);
    let numbers: Vec<u64> = run.ledger.attempts().iter().map(|one| one.number).collect();
    assert_eq!(numbers, (4..54).collect::<Vec<_>>());
}

#[test]
fn accepted_usage_is_not_unknown_any_more_and_nothing_else_changes() {
    let (_temp, run) = world();
    for number in 1..=3 {
        run.ledger.append_attempt(&attempt(number)).unwrap();
    }
    assert_eq!(run.ledger.used_by_attempts(HEAD).cost_unknown, 3);
    assert_eq!(run.ledger.accept_unknown(&[2, 9]).unwrap(), Some(9));
    assert_eq!(run.ledger.used_by_attempts(HEAD).cost_unknown, 3);
    assert_eq!(run.ledger.accept_unknown(&[1, 2]).unwrap(), None);
    let used = run.ledger.used_by_attempts(HEAD);
    assert_eq!((used.runs, used.cost_unknown), (3, 1));
    assert!(run.ledger.attempts()[1].unknown_accepted);
    assert_eq!(run.ledger.attempts()[2], attempt(3));
}

#[test]
fn attempts_of_older_versions_are_numbered_by_their_place() {
    let (_temp, run) = world();
    run.ledger.append_attempt(&attempt(1)).unwrap();
    let path = run.path().join("attempts.jsonl");
    let line = fs::read_to_string(&path).unwrap();
    let old = line.replace("\"number\":1,", "");
    fs::write(&path, old.repeat(2)).unwrap();
    assert_eq!(run.ledger.append_attempt(&attempt(3)).unwrap(), 3);
    let numbers: Vec<u64> = run.ledger.attempts().iter().map(|one| one.number).collect();
    assert_eq!(numbers, [1, 2, 3]);
}

#[test]
fn a_replaced_step_is_counted_once_although_the_first_call_died() {
    let (_temp, run) = world();
    let mut used = Used::default();
    used.add(None, Some(7));
    run.ledger.count_replaced(STEP, &used).unwrap();
    run.ledger.append_attempt(&attempt(1)).unwrap();
    // The engine died before it could tell that all is done.
    run.ledger.count_replaced(STEP, &used).unwrap();
    assert_eq!(run.ledger.used_by_attempts(HEAD).runs, 2);
    run.ledger.count_replaced(HEAD, &used).unwrap();
    assert_eq!(run.ledger.used_by_attempts(HEAD).runs, 3);
}

#[test]
fn a_torn_attempt_hides_no_other() {
    let (_temp, run) = world();
    run.ledger.append_attempt(&attempt(1)).unwrap();
    let path = run.path().join("attempts.jsonl");
    let content = fs::read_to_string(&path).unwrap();
    fs::write(&path, format!("{{\"to\n{content}{}", &content[..40])).unwrap();
    assert_eq!(run.ledger.attempts(), [attempt(1)]);
    run.ledger.append_attempt(&attempt(2)).unwrap();
    assert_eq!(run.ledger.attempts(), [attempt(1), attempt(2)]);
    let used = run.ledger.used_by_attempts(HEAD);
    assert_eq!(used.runs, 4, "what cannot be read may have cost something");
}

#[test]
fn raises_and_sums_are_kept_and_a_damaged_raise_allows_nothing() {
    let (_temp, run) = world();
    assert_eq!(
        (run.ledger.raises(), run.ledger.chain_usage()),
        (vec![], None)
    );
    let raises = [
        "maxSteps=9".parse().unwrap(),
        "unknownUsage=ignore".parse().unwrap(),
    ];
    run.ledger.write_raises(&raises).unwrap();
    assert_eq!(run.ledger.raises(), raises);
    fs::write(
        run.path().join("raises.json"),
        r#"["maxSteps=9", "maxSteps"]"#,
    )
    .unwrap();
    assert_eq!(run.ledger.raises(), []);
    let mut used = Used::default();
    used.add(None, Some(7));
    let usage = ChainUsage {
        head: CasRef::from_u64(1),
        used,
    };
    run.ledger.write_chain_usage(&usage).unwrap();
    assert_eq!(run.ledger.chain_usage(), Some(usage));
}

/// A run with more attempts than are kept, a replaced step, sums and a raise.
fn spent() -> (tempfile::TempDir, RunDir) {
    let (temp, run) = world();
    for number in 1..=52 {
        run.ledger.append_attempt(&attempt(number)).unwrap();
    }
    let used = Used {
        runs: 1,
        tokens: 7,
        ..Used::default()
    };
    run.ledger.count_replaced(STEP, &used).unwrap();
    run.ledger
        .write_chain_usage(&ChainUsage { head: HEAD, used })
        .unwrap();
    run.ledger
        .write_raises(&["maxSteps=9".parse().unwrap()])
        .unwrap();
    let mut reviews = Reviews::default();
    reviews.count(None);
    let verdict = format!(r#"{{"node":"{STEP}","head":"{HEAD}","decision":"suspend"}}"#);
    reviews.add_verdict(serde_json::from_str(&verdict).unwrap());
    run.ledger.write_reviews(&reviews).unwrap();
    let mut summaries = Summaries::default();
    summaries.count(None);
    run.ledger.write_summaries(&summaries).unwrap();
    (temp, run)
}

#[test]
fn an_exported_thread_record_is_imported_completely() {
    let (_temp, here) = spent();
    let text = serde_json::to_string(&here.ledger.export()).unwrap();
    let (_other, there) = world();
    there.ledger.append_attempt(&attempt(1)).unwrap();
    let record: ThreadRecord = serde_json::from_str(&text).unwrap();
    for _ in 0..2 {
        there.ledger.import(&record).unwrap();
        assert_eq!(there.ledger.export(), record);
    }
    let (before, after) = (&here.ledger, &there.ledger);
    assert_eq!(after.used_by_attempts(HEAD), before.used_by_attempts(HEAD));
    assert_eq!(after.next_attempt(), before.next_attempt());
    assert_eq!(after.chain_usage(), before.chain_usage());
    assert_eq!(after.raises(), before.raises());
    // A step that was counted here is not counted there again.
    let used = before.used_by_attempts(HEAD);
    after.count_replaced(STEP, &used).unwrap();
    assert_eq!(after.used_by_attempts(HEAD), used);
}

#[test]
fn an_import_replaces_the_whole_ledger() {
    let (_temp, run) = spent();
    let empty = ThreadRecord::default();
    assert_eq!(serde_json::from_str::<ThreadRecord>("{}").unwrap(), empty);
    let more = serde_json::from_str::<ThreadRecord>(r#"{"later":1}"#);
    assert_eq!(more.unwrap(), empty);
    run.ledger.import(&empty).unwrap();
    assert_eq!(run.ledger.export(), empty);
    assert_eq!(run.ledger.used_by_attempts(HEAD), Used::default());
}

#[test]
fn the_json_of_a_thread_record_is_a_format() {
    let record = ThreadRecord {
        attempts: Vec::new(),
        dropped: Used {
            runs: 2,
            ..Used::default()
        },
        replaced: Some(STEP),
        chain: Some(ChainUsage {
            head: HEAD,
            used: Used::default(),
        }),
        raises: vec!["maxSteps=9".parse().unwrap()],
        reviews: Reviews::default(),
        summaries: Summaries::default(),
    };
    let used = |runs: u8| {
        format!(
            r#"{{"runs":{runs},"costUsd":0.0,"costUnknown":0,"tokens":0,"tokensUnknown":0,"durationMs":0,"durationUnknown":0}}"#
        )
    };
    let text = format!(
        r#"{{"attempts":[],"dropped":{},"replaced":"{STEP}","chain":{{"head":"{HEAD}","used":{}}},"raises":["maxSteps=9"]}}"#,
        used(2),
        used(0)
    );
    assert_eq!(serde_json::to_string(&record).unwrap(), text);
    assert_eq!(serde_json::from_str::<ThreadRecord>(&text).unwrap(), record);
}

#[test]
fn the_highest_number_of_an_attempt_is_not_exceeded() {
    let (_temp, run) = world();
    run.ledger.append_attempt(&attempt(1)).unwrap();
    let path = run.path().join("attempts.jsonl");
    let line = fs::read_to_string(&path).unwrap();
    let highest = line.replace("\"number\":1,", &format!("\"number\":{},", u64::MAX));
    fs::write(&path, highest.repeat(2)).unwrap();
    assert_eq!(run.ledger.append_attempt(&attempt(3)).unwrap(), u64::MAX);
    assert_eq!(run.ledger.attempts().len(), 3);
}
