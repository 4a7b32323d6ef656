//! Who touches the machine, and how: the few files of each kind. Clippy's lists of disallowed methods do not tell code
//! from tests, which do all of this, so the lists are here.

use std::collections::BTreeSet;

use regex::Regex;

use crate::{code, read, root, rust_files};

/// Returns the files whose code, without their tests, is what is looked for.
fn files_where(is_wanted: impl Fn(&str) -> bool) -> BTreeSet<String> {
    let crates = root().join("crates");
    let files = rust_files(&crates).into_iter().filter_map(|file| {
        let name = file.strip_prefix(&crates).unwrap().to_str().unwrap();
        let is_code = name.contains("/src/") && !name.contains("/tests");
        (is_code && is_wanted(&code(&read(&file)))).then(|| name.to_owned())
    });
    files.collect()
}

/// Asserts that these files match the pattern, and no others.
#[track_caller]
fn only(pattern: &str, files: &[&str]) {
    let pattern = Regex::new(pattern).unwrap();
    are(&files_where(|code| pattern.is_match(code)), files);
}

#[track_caller]
fn are(found: &BTreeSet<String>, files: &[&str]) {
    let expected: BTreeSet<String> = files.iter().map(ToString::to_string).collect();
    assert_eq!(found, &expected, "found (left), expected (right)");
}

#[test]
fn the_environment_asks_the_machine_and_hardly_anybody_else() {
    only(
        r"\b(env::(var|current_dir|current_exe|temp_dir)|SystemTime::now)",
        &[
            // Its own folder for temp files.
            "cli/src/commands/demo.rs",
            // Who supervises us is a fact about this process.
            "process/src/signals.rs",
            "storage/src/env.rs",
        ],
    );
}

#[test]
fn files_are_changed_where_they_are_made_durable_and_hardly_anywhere_else() {
    only(
        r"\b(fs::(write|rename|copy|hard_link|remove_\w+|create_dir\w*)\(|File::(create|options)|OpenOptions::new)",
        &[
            // Files that may be lost.
            "cli/src/commands/demo.rs",
            "cli/src/commands/init.rs",
            "cli/src/commands/manual.rs",
            // A file that the person named.
            "cli/src/named_file.rs",
            "durable/src/calls.rs",
            "durable/src/open.rs",
            "durable/src/record.rs",
            "durable/src/room.rs",
        ],
    );
}

#[test]
fn programs_are_started_by_the_supervisor_and_by_hardly_anybody_else() {
    let start = Regex::new(r"\.(spawn|output|status)\(\)").unwrap();
    // What these tell starts nothing: how a program ended, or what a server answered.
    let telling = Regex::new(r"\b(tree|self|response)\.status\(\)").unwrap();
    are(
        &files_where(|code| start.is_match(&telling.replace_all(code, ""))),
        &[
            // A supervisor of ours, which starts the command in its turn.
            "agents/src/builtin/tools/shell.rs",
            // The editor of the person who called.
            "cli/src/commands/config.rs",
            // This program.
            "cli/src/commands/demo.rs",
            // The pager of the person who called.
            "cli/src/pager.rs",
            // This program, as a page asks for it.
            "cli/src/commands/serve/acting.rs",
            "cli/src/commands/thread/background.rs",
            // This program, which limits itself.
            "engine/src/conditions/evaluator.rs",
            // This program, for which nobody waits.
            "engine/src/run/summary.rs",
            "process/src/tree.rs",
            // git, which reads and writes files for a moment, and leaves nothing running.
            "snapshot/src/git.rs",
            // git in a view: nobody supervises it.
            "snapshot/src/start.rs",
        ],
    );
}

#[test]
fn programs_are_named_where_they_are_chosen() {
    only(
        r"\bCommand::new\(",
        &[
            "agent-kit/src/checks/command.rs",
            "agents/src/builtin/supervisor.rs",
            "agents/src/builtin/tools/shell.rs",
            "agents/src/program/mod.rs",
            "agents/src/record/mod.rs",
            "cli/src/commands/config.rs",
            "cli/src/commands/demo.rs",
            "cli/src/commands/doctor/version.rs",
            "cli/src/pager.rs",
            "cli/src/commands/own_program.rs",
            "engine/src/conditions/evaluator.rs",
            "engine/src/run/hooks.rs",
            "engine/src/run/process.rs",
            "engine/src/run/review.rs",
            "runner/src/attempt.rs",
            "snapshot/src/git.rs",
        ],
    );
}

#[test]
fn what_only_reads_needs_nothing_that_runs_agents() {
    let knows_runs = Regex::new(r"\bcrate::run\b|\bRunner\b").unwrap();
    let mut found = files_where(|code| knows_runs.is_match(code));
    found.retain(|file| file.starts_with("engine/src/") && !file.starts_with("engine/src/run/"));
    // The crate offers both halves.
    are(&found, &["engine/src/lib.rs"]);
}
