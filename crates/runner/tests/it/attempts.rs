//! Attempts at programs: arguments, environment, output, and the files that get it.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;

use rustix::fs::{Mode, OFlags, open};
use uwf_pipeline::course::RunTask;
use uwf_pipeline::{Capture, Captured, Ended, ErrorKind};
use uwf_runner::{RunError, Stream};

use crate::steps::{Steps, command, into_file, sh};

fn text(result: &uwf_pipeline::StepResult) -> (&str, bool) {
    match result.captured.as_ref().unwrap() {
        Captured::Text { output, truncated } => (output, *truncated),
        other => panic!("{other:?}"),
    }
}

#[test]
fn arguments_reach_the_program_as_they_are() {
    let steps = Steps::new();
    let words = ["'\"", "$(rm -rf x) `id`", "a\nb", "-n", "", "*", "ü ${x}"];
    let mut all = vec!["printf", "%s|"];
    all.extend(words);
    let (result, report) = steps.attempt(&command(&all));
    let expected = words.map(|word| format!("{word}|")).concat();
    assert_eq!(text(&result), (&*expected, false));
    assert_eq!(result.exit_code, 0);
    assert_eq!(report.argv, all);
    assert_eq!(report.ended, Some(Ended::Exit(0)));
}

#[test]
fn a_program_has_our_environment_that_of_its_step_and_that_of_its_run() {
    let mut steps = Steps::new();
    steps.ours.push(("OURS".into(), "ours".into()));
    steps.ours.push(("BOTH".into(), "ours".into()));
    let mut task = sh("echo \"$OURS $BOTH $ORCHESTRATE_STEP\"; pwd; env | grep -c ^HOME=");
    let literal = [("BOTH", "${run.id}"), ("ORCHESTRATE_STEP", "not this one")];
    task.env = literal
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into();
    let expected = format!(
        "ours ${{run.id}} Step\n{}\n0\n",
        steps.world.workspace.path().display()
    );
    assert_eq!(text(&steps.result(&task)).0, expected);
}

#[test]
fn a_program_gets_no_input_and_none_of_the_files_that_we_opened() {
    let steps = Steps::new();
    steps.world.write("opened", "");
    let _opened = File::open(steps.world.inside("opened")).unwrap();
    let task = into_file("out", sh("cat; ls -l /proc/self/fd"));
    let result = steps.result(&task);
    let (listed, _) = text(&result);
    assert!(listed.contains("/dev/null"), "{listed}");
    let inside = steps.world.workspace.path().to_str().unwrap();
    assert!(!listed.contains(inside), "{listed}");
}

#[test]
fn exit_codes_are_those_of_a_shell() {
    let steps = Steps::new();
    steps.world.write("not-executable", "true");
    let cases = [
        (sh("exit 3"), 3, ErrorKind::CommandFailed),
        (sh("exit 300"), 44, ErrorKind::CommandFailed),
        (sh("kill -KILL $$"), 137, ErrorKind::Signal),
        (
            command(&["no-such-program"]),
            127,
            ErrorKind::CommandNotFound,
        ),
        (command(&["./missing"]), 127, ErrorKind::CommandNotFound),
        (
            command(&["./not-executable"]),
            126,
            ErrorKind::CommandNotExecutable,
        ),
        (command(&["./closed"]), 126, ErrorKind::CommandNotExecutable),
        (
            command(&["./not-executable/x"]),
            126,
            ErrorKind::CommandNotExecutable,
        ),
    ];
    for (task, code, kind) in cases {
        let (found, found_kind, _) = steps.failure(&task);
        assert_eq!((found, found_kind), (code, kind), "{:?}", task.words);
    }
}

#[test]
fn a_file_on_the_path_that_is_no_program_is_not_a_missing_one() {
    let mut steps = Steps::new();
    steps.world.write("bin/not-executable", "true");
    steps.ours = vec![("PATH".into(), steps.world.inside("bin").into())];
    let code = |name| steps.failure(&command(&[name])).0;
    assert_eq!((code("not-executable"), code("missing")), (126, 127));
    let bin = steps.world.inside("bin");
    fs::set_permissions(&bin, PermissionsExt::from_mode(0o000)).unwrap();
    assert_eq!(code("missing"), 127);
    fs::set_permissions(&bin, PermissionsExt::from_mode(0o700)).unwrap();
}

#[test]
fn a_program_that_cannot_be_started_writes_no_file() {
    let steps = Steps::new();
    steps.world.write("file", "old");
    steps.result(&into_file("file", command(&["no-such-program"])));
    assert_eq!(steps.world.read("file"), "old");
    assert_eq!(steps.world.names(""), ["closed", "file"]);
}

#[test]
fn output_goes_whole_into_its_file_also_after_a_failure() {
    let steps = Steps::new();
    let task = into_file("new/out", sh("printf '\\377\\376\\000abc'"));
    let (result, report) = steps.attempt(&task);
    assert_eq!(text(&result).0, "\u{fffd}\u{fffd}\0abc");
    assert!(report.debug.invalid_utf8);
    assert_eq!(report.writes.as_deref(), Some("new/out"));
    let written = fs::read(steps.world.inside("new/out")).unwrap();
    assert_eq!(written, b"\xff\xfe\0abc");
    assert_eq!(steps.log("stdout").unwrap(), written);

    steps.result(&into_file("new/out", sh("printf partial; exit 1")));
    assert_eq!(steps.world.read("new/out"), "partial");
    steps.result(&into_file("new/out", sh("true")));
    assert_eq!(steps.world.read("new/out"), "");
    assert_eq!(steps.world.names("new"), ["out"]);
}

#[test]
fn a_file_is_the_old_one_until_the_program_has_ended() {
    let steps = Steps::new();
    steps.world.write("file", "old");
    let task = into_file(
        "file",
        sh("echo first; cat file; ls -A | grep -v -e closed -e temp"),
    );
    assert_eq!(text(&steps.result(&task)).0, "first\noldfile\n");
    assert_eq!(steps.world.read("file"), "first\noldfile\n");
}

#[test]
fn a_program_does_not_see_the_file_that_its_output_will_be() {
    let steps = Steps::new();
    let dir = steps.world.inside("");
    let flags = OFlags::TMPFILE | OFlags::WRONLY;
    // Not every file system can make files without names.
    if open(&dir, flags, Mode::RUSR).is_ok() {
        let result = steps.result(&into_file("file", sh("ls -A")));
        assert_eq!(text(&result).0, "closed\n");
    }
}

#[test]
fn a_file_outside_of_the_workspace_is_not_written_and_its_step_not_started() {
    let steps = Steps::new();
    steps.world.link("out", steps.world.outside(""));
    for path in ["out/x", "../x", "/tmp/x"] {
        let task = into_file(path, sh("touch started"));
        let (code, kind, _) = steps.failure(&task);
        assert_eq!((code, kind), (2, ErrorKind::PathViolation), "{path}");
    }
    let (code, kind, _) = steps.failure(&into_file("closed", sh("touch started")));
    assert_eq!((code, kind), (2, ErrorKind::PathError));
    assert!(!steps.world.inside("started").exists());
    assert!(steps.world.names_outside().is_empty());
}

#[test]
fn a_folder_that_a_step_replaces_by_a_link_gets_nothing_of_the_next() {
    let steps = Steps::new();
    steps.result(&into_file("out/x", sh("echo 1")));
    let outside = steps.world.outside("");
    let replace = format!("rm -r out; ln -s '{}' out", outside.display());
    assert_eq!(steps.result(&sh(&replace)).exit_code, 0);
    let (code, kind, _) = steps.failure(&into_file("out/x", sh("echo 2")));
    assert_eq!((code, kind), (2, ErrorKind::PathViolation));
    // The same within one step.
    steps.world.write("new/x", "");
    let replace = format!("mv new '{}'; ln -s '{0}' new; echo 3", outside.display());
    let (code, kind, _) = steps.failure(&into_file("new/y", sh(&replace)));
    assert_eq!((code, kind), (2, ErrorKind::PathViolation));
    assert_eq!(steps.world.names_outside(), ["new"]);
    assert_eq!(fs::read_dir(outside.join("new")).unwrap().count(), 1);
}

#[test]
fn a_folder_without_permission_gets_no_file_and_its_step_is_not_started() {
    let steps = Steps::new();
    let dir = steps.world.inside("dir");
    fs::create_dir(&dir).unwrap();
    fs::set_permissions(&dir, PermissionsExt::from_mode(0o500)).unwrap();
    // A user with all capabilities may write everywhere.
    if fs::write(dir.join("probe"), "").is_err() {
        for path in ["dir/out", "dir/new/out"] {
            let (code, kind, _) = steps.failure(&into_file(path, sh("touch started")));
            assert_eq!((code, kind), (2, ErrorKind::PathError), "{path}");
        }
        assert!(!steps.world.inside("started").exists());
    }
}

#[test]
fn long_output_is_cut_in_the_result_and_whole_in_log_and_file() {
    let steps = Steps::new();
    let task = into_file("out", sh("seq 1 200000; seq 1 5 >&2; exit 4"));
    let (result, report) = steps.attempt(&task);
    let (output, truncated) = text(&result);
    assert!(truncated && output.len() == 8192 && output.starts_with("1\n2\n3\n"));
    let whole = fs::read(steps.world.inside("out")).unwrap();
    assert!(whole.len() > 1_000_000 && whole.ends_with(b"\n200000\n"));
    assert_eq!(steps.log("stdout").unwrap(), whole);
    assert_eq!(report.bytes, whole.len() as u64);
    assert_eq!(steps.log("stderr").unwrap(), b"1\n2\n3\n4\n5\n");
    let streams: Vec<Stream> = report.logs.iter().map(|(stream, _)| *stream).collect();
    assert_eq!(streams, [Stream::Stdout, Stream::Stderr]);
    let error = result.error.unwrap();
    assert_eq!(error.stdout_tail.len(), 10);
    assert_eq!(error.stdout_tail.last().unwrap(), "200000");
    assert_eq!(error.stderr_tail, ["1", "2", "3", "4", "5"]);
}

#[test]
fn a_log_is_there_if_there_was_output_and_ends_at_its_limit() {
    let mut steps = Steps::new();
    steps.result(&sh("echo 1; echo 2 >&2"));
    steps.result(&sh("true"));
    assert_eq!((steps.log("stdout"), steps.log("stderr")), (None, None));
    steps.max_stdout_log = 1000;
    let (result, report) = steps.attempt(&into_file("out", sh("seq 1 100000")));
    assert_eq!(result.exit_code, 0);
    assert!(report.logs[0].1.truncated);
    assert!(steps.log("stdout").unwrap().len() < 1100);
    assert!(steps.world.read("out").ends_with("\n100000\n"));
}

#[test]
fn lines_and_json_become_data() {
    let steps = Steps::new();
    let lines = |script: &str| {
        let task = RunTask {
            capture: Capture::Lines,
            ..sh(script)
        };
        match steps.result(&task).captured.unwrap() {
            Captured::Lines { lines, truncated } => (lines, truncated),
            other => panic!("{other:?}"),
        }
    };
    let count = |script: &str| (lines(script).0.len(), lines(script).1);
    assert_eq!(count("seq 1 10000"), (10_000, false));
    assert_eq!(count("seq 1 10001"), (10_000, true));
    assert_eq!(
        lines("printf 'a\\nb'"),
        (vec!["a".into(), "b".into()], false)
    );
    assert_eq!(lines("echo"), (vec![String::new()], false));
    assert_eq!(lines("true"), (Vec::new(), false));
    let (cut, truncated) = lines("head -c 20000000 /dev/zero | tr '\\0' x");
    assert_eq!((cut.len(), cut[0].len(), truncated), (1, 8 << 20, true));

    let json = |allow_parse_error, script: &str| RunTask {
        capture: Capture::Json { allow_parse_error },
        ..sh(script)
    };
    let found = steps.result(&json(false, "echo '{\"a\": [1]}'")).captured;
    assert_eq!(found, Some(Captured::Json(serde_json::json!({"a": [1]}))));
    let (code, kind, _) = steps.failure(&json(false, "echo x"));
    assert_eq!((code, kind), (2, ErrorKind::JsonParseError));
    let big = "printf '['; head -c 1100000 /dev/zero | tr '\\0' 1; printf ']'";
    let (code, kind, _) = steps.failure(&json(false, big));
    assert_eq!((code, kind), (2, ErrorKind::JsonOverflow));
    assert_eq!(steps.result(&json(true, big)).exit_code, 0);
}

#[test]
fn a_log_that_cannot_be_written_ends_the_program_and_has_no_result() {
    let steps = Steps::new();
    let logs = steps.world.log("");
    fs::remove_dir(&logs).unwrap();
    let failed = steps.try_attempt(&sh("yes"), &mut |_| Ok(()));
    assert!(matches!(failed, Err(RunError::File(_))), "{failed:?}");
    let failed = steps.try_attempt(&sh("echo; sleep 600"), &mut |_| Ok(()));
    assert!(matches!(failed, Err(RunError::File(_))), "{failed:?}");
}

#[test]
fn a_step_fails_if_the_folder_of_its_output_file_goes_away() {
    let steps = Steps::new();
    let gone = into_file("gone/out", sh("rm -r gone; echo x"));
    let (code, kind, _) = steps.failure(&gone);
    assert_eq!((code, kind), (2, ErrorKind::PathError));
    assert!(!steps.world.inside("gone").exists());
    let (code, kind, _) = steps.failure(&into_file("gone/out", sh("rm -r gone; exit 7")));
    assert_eq!((code, kind), (7, ErrorKind::CommandFailed));
}

#[test]
fn a_workspace_that_is_gone_is_no_missing_program() {
    let steps = Steps::new();
    fs::remove_dir_all(steps.world.inside("")).unwrap();
    let failed = steps.try_attempt(&sh("true"), &mut |_| Ok(()));
    assert!(
        matches!(failed, Err(RunError::WorkspaceGone { .. })),
        "{failed:?}"
    );
}

#[test]
fn a_named_program_is_the_first_of_its_name_that_can_be_executed() {
    let steps = Steps::new();
    let world = &steps.world;
    for (folder, script, mode) in [
        ("one", "#!/bin/sh\necho not this one\n", 0o644),
        ("two", "echo the shell runs $0\n", 0o755),
    ] {
        let folder = world.outside(folder);
        fs::create_dir(&folder).unwrap();
        let file = folder.join("tool");
        fs::write(&file, script).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
    }
    let path = format!(
        "{}:{}:/usr/bin:/bin",
        world.outside("one").display(),
        world.outside("two").display()
    );
    let mut task = command(&["tool"]);
    task.env.insert("PATH".to_owned(), path);
    let result = steps.result(&task);
    assert_eq!(result.exit_code, 0, "{result:?}");
    let ran = world.outside("two").join("tool");
    let expected = format!("the shell runs {}\n", ran.display());
    assert_eq!(text(&result).0, expected);
}
