//! Who touches the machine, and how: the few files of each kind. Clippy's lists of disallowed methods do not tell code
//! from tests, which do all of this, so the lists are here.

use std::collections::BTreeSet;

use regex::Regex;

use crate::{read, root, rust_files};

/// Returns the files whose code matches the pattern, without their tests.
fn files_with(pattern: &str) -> BTreeSet<String> {
    let pattern = Regex::new(pattern).unwrap();
    let crates = root().join("crates");
    let files = rust_files(&crates).into_iter().filter_map(|file| {
        let name = file.strip_prefix(&crates).unwrap().to_str().unwrap();
        let is_code = name.contains("/src/") && !name.contains("/tests");
        (is_code && pattern.is_match(&code(&read(&file)))).then(|| name.to_owned())
    });
    files.collect()
}

/// Returns the text without comments and without what follows its tests.
fn code(text: &str) -> String {
    let code = text.split("#[cfg(test)]").next().unwrap();
    let lines = code.lines().filter(|line| !line.trim().starts_with("//"));
    lines.collect::<Vec<_>>().join("\n")
}

/// Asserts that these files match the pattern, and no others.
#[track_caller]
fn only(pattern: &str, files: &[&str]) {
    let expected: BTreeSet<String> = files.iter().map(ToString::to_string).collect();
    assert_eq!(
        files_with(pattern),
        expected,
        "found (left), expected (right)"
    );
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
            "durable/src/calls.rs",
            "durable/src/open.rs",
            "durable/src/record.rs",
            "durable/src/room.rs",
            // What programs print; it need not be durable.
        ],
    );
}

#[test]
fn programs_are_started_by_the_supervisor_and_by_hardly_anybody_else() {
    only(
        r"\.spawn\(\)|\.output\(\)",
        &[
            // A supervisor of ours, which starts the command in its turn.
            "agents/src/builtin/tools/shell.rs",
            // This program.
            "cli/src/commands/demo.rs",
            // This program, which limits itself.
            "engine/src/conditions/evaluator.rs",
            "process/src/tree.rs",
        ],
    );
}

#[test]
fn programs_are_named_where_they_are_chosen() {
    only(
        r"\bCommand::new\(",
        &[
            "agents/src/builtin/supervisor.rs",
            "agents/src/builtin/tools/shell.rs",
            "agents/src/program/mod.rs",
            "agents/src/record/mod.rs",
            "cli/src/commands/config.rs",
            "cli/src/commands/demo.rs",
            "cli/src/commands/doctor/version.rs",
            "engine/src/conditions/evaluator.rs",
            "engine/src/process.rs",
        ],
    );
}

#[test]
fn comments_and_tests_are_no_code() {
    let text =
        "//! fs::write(\nfn a() {}\n    // fs::write(\n#[cfg(test)]\nmod tests { fs::write( }\n";
    assert_eq!(code(text), "fn a() {}");
}
