//! Output as data: the limits of each mode, and what follows for the step.

use serde_json::{Value, json};
use uwf_pipeline::{
    Capture, CaptureEnd, Captured, Capturing, Ended, ErrorKind, Failure, JsonReason, LimitOf,
    Limits, Masks, Retries, StepResult, Tail, Waited, result_of, retry_after, waited,
};

const JSON: Capture = Capture::Json {
    allow_parse_error: false,
};
const TOLERANT: Capture = Capture::Json {
    allow_parse_error: true,
};

fn capture_in(
    chunk: usize,
    capture: Capture,
    output: &[u8],
    masks: &Masks,
) -> (CaptureEnd, Vec<u8>) {
    let mut capturing = Capturing::new(capture, masks);
    let mut log = Vec::new();
    for chunk in output.chunks(chunk) {
        log.extend_from_slice(capturing.push(chunk));
    }
    let (end, rest) = capturing.finish(0);
    log.extend(rest);
    (end, log)
}

/// Captures an output in chunks of several sizes, which must make no difference.
#[track_caller]
fn capture(capture: Capture, output: &[u8]) -> CaptureEnd {
    let none = Masks::of([]);
    let (whole, log) = capture_in(usize::MAX, capture, output, &none);
    assert_eq!(log, output);
    let sizes = if output.len() < 100 {
        vec![1, 2, 7]
    } else {
        vec![4099]
    };
    for size in sizes {
        assert_eq!(
            capture_in(size, capture, output, &none).0,
            whole,
            "chunks of {size}"
        );
    }
    whole
}

#[track_caller]
fn text(output: &[u8]) -> (String, bool) {
    match capture(Capture::Text, output).captured {
        Some(Captured::Text { output, truncated }) => (output, truncated),
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn lines(output: &[u8]) -> (Vec<String>, bool) {
    match capture(Capture::Lines, output).captured {
        Some(Captured::Lines { lines, truncated }) => (lines, truncated),
        other => panic!("{other:?}"),
    }
}

#[test]
fn text_is_the_first_8_kib() {
    assert_eq!(text(b""), (String::new(), false));
    assert_eq!(text(b"a\n"), ("a\n".to_owned(), false));
    let full = "x".repeat(8192);
    assert_eq!(text(full.as_bytes()), (full.clone(), false));
    assert_eq!(text(format!("{full}y").as_bytes()), (full, true));
}

#[test]
fn text_is_cut_between_characters() {
    for (before, character) in [(8191, "ä"), (8190, "€"), (8189, "😀")] {
        let output = format!("{}{character}{character}", "x".repeat(before));
        let (found, truncated) = text(output.as_bytes());
        assert_eq!((found.len(), truncated), (before, true), "{character}");
    }
    let whole = format!("{}€€", "x".repeat(8189));
    assert_eq!(text(whole.as_bytes()).0.len(), 8192);
}

#[test]
fn bytes_that_are_no_text_are_replaced_and_told() {
    let end = capture(Capture::Text, b"\xff\xfe\x00abc");
    let output = "\u{fffd}\u{fffd}\0abc".to_owned();
    let truncated = false;
    assert_eq!(end.captured, Some(Captured::Text { output, truncated }));
    assert!(end.debug.invalid_utf8);
    assert!(capture(Capture::Lines, b"a\xff\n").debug.invalid_utf8);
    assert!(!capture(Capture::Text, "ä\0".as_bytes()).debug.invalid_utf8);
}

#[test]
fn lines_end_at_line_feeds() {
    let check = |output: &str, expected: &[&str]| {
        let expected: Vec<String> = expected.iter().map(ToString::to_string).collect();
        assert_eq!(lines(output.as_bytes()), (expected, false), "{output:?}");
    };
    check("", &[]);
    check("\n", &[""]);
    check("a", &["a"]);
    check("a\nb\n", &["a", "b"]);
    check("a\r\n\r\nb\r\r\nc\r", &["a", "", "b\r", "c\r"]);
    check("\n\na", &["", "", "a"]);
}

#[test]
fn ten_thousand_lines_are_kept() {
    let (kept, truncated) = lines("x\n".repeat(10_000).as_bytes());
    assert_eq!((kept.len(), truncated), (10_000, false));
    for more in ["y\n", "y", "\n"] {
        let output = format!("{}{more}", "x\n".repeat(10_000));
        let (kept, truncated) = lines(output.as_bytes());
        assert_eq!((kept.len(), truncated), (10_000, true), "{more:?}");
    }
}

#[test]
fn eight_mib_of_lines_are_kept() {
    let full = 8 << 20;
    for end in ["", "\n", "\r\n"] {
        let (kept, truncated) = lines(format!("{}{end}", "x".repeat(full)).as_bytes());
        assert_eq!((kept[0].len(), truncated), (full, false), "{end:?}");
    }
    for end in ["", "\n", "\r\n"] {
        let (kept, truncated) = lines(format!("{}{end}", "x".repeat(20_000_000)).as_bytes());
        assert_eq!((kept.len(), kept[0].len(), truncated), (1, full, true));
    }
    let (kept, truncated) = lines(format!("{}\r", "x".repeat(full)).as_bytes());
    assert_eq!((kept[0].len(), truncated), (full, true));
    // A file name that is cut in half would be a wrong one.
    let (kept, truncated) = lines(format!("a\n{}\nb\n", "x".repeat(full)).as_bytes());
    assert_eq!((kept, truncated), (vec!["a".to_owned()], true));
}

fn json_of(output: &[u8]) -> Result<Value, ErrorKind> {
    let end = capture(JSON, output);
    match (end.captured, end.failure) {
        (Some(Captured::Json(value)), None) => {
            assert_eq!(end.exit_code, 0);
            Ok(value)
        }
        (None, Some(failure)) => {
            assert_eq!(end.exit_code, 2);
            Err(failure.kind)
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn json_is_one_value_of_any_kind() {
    assert_eq!(
        json_of(b" {\"a\": [1, null]} \n"),
        Ok(json!({"a": [1, null]}))
    );
    assert_eq!(json_of(b"null"), Ok(json!(null)));
    assert_eq!(json_of("\u{feff}7\n".as_bytes()), Ok(json!(7)));
    assert_eq!(
        json_of(b"{\"a\": 1, \"b\": 2, \"a\": 3}"),
        Ok(json!({"a": 3, "b": 2}))
    );
    for output in [
        &b""[..],
        b" \n",
        b"{",
        b"NaN",
        b"{} {}",
        b"{'a': 1}",
        b"\"\xff\"",
    ] {
        assert_eq!(json_of(output), Err(ErrorKind::JsonParseError));
    }
}

#[test]
fn integers_of_more_than_64_bits_keep_their_digits_as_text() {
    let check = |output: &str, expected: Value| {
        assert_eq!(json_of(output.as_bytes()), Ok(expected), "{output}");
    };
    check("18446744073709551615", json!(u64::MAX));
    check("-9223372036854775808", json!(i64::MIN));
    check("18446744073709551616", json!("18446744073709551616"));
    check("-9223372036854775809", json!("-9223372036854775809"));
    let long = "9".repeat(400);
    check(
        &format!("\u{feff} {{\"a\": [{long},-{long}], \"b\": 1e22}}"),
        json!({"a": [long, format!("-{long}")], "b": 1e22}),
    );
    // A string is never changed.
    check(
        r#"["\" 18446744073709551616", 18446744073709551616.5]"#,
        json!(["\" 18446744073709551616", 18_446_744_073_709_551_616.5]),
    );
    // What was no JSON stays none.
    for output in [
        "018446744073709551616",
        "{18446744073709551616: 1}",
        "18446744073709551616x",
        "18446744073709551616 1",
        "+18446744073709551616",
    ] {
        assert_eq!(
            json_of(output.as_bytes()),
            Err(ErrorKind::JsonParseError),
            "{output}"
        );
    }
}

#[test]
fn invalid_json_is_told_with_its_place() {
    let failure = capture(JSON, b"{\n \"a\": ]\n").failure.unwrap();
    assert!(
        failure.message.ends_with("at line 2 column 7"),
        "{}",
        failure.message
    );
}

#[test]
fn json_has_at_most_one_mib() {
    let fits = format!("\"{}\"", "x".repeat((1 << 20) - 2));
    assert!(json_of(fits.as_bytes()).is_ok());
    assert_eq!(
        json_of(format!("{fits} ").as_bytes()),
        Err(ErrorKind::JsonOverflow)
    );
}

#[test]
fn json_that_may_be_wrong_becomes_text() {
    let end = capture(TOLERANT, b"no");
    let output = "no".to_owned();
    let truncated = false;
    assert_eq!(end.captured, Some(Captured::Text { output, truncated }));
    assert_eq!((end.exit_code, &end.failure), (0, &None));
    assert_eq!(
        end.debug.json_parse_error.unwrap().reason,
        JsonReason::Invalid
    );
    let large = format!("\"{}\"", "x".repeat(2 << 20));
    let end = capture(TOLERANT, large.as_bytes());
    assert!(matches!(
        end.captured,
        Some(Captured::Text {
            truncated: true,
            ..
        })
    ));
    assert_eq!(
        end.debug.json_parse_error.unwrap().reason,
        JsonReason::Overflow
    );
    let end = capture(TOLERANT, b"[1]");
    assert_eq!(end.captured, Some(Captured::Json(json!([1]))));
}

#[test]
fn the_own_exit_code_of_a_program_wins() {
    let none = Masks::of([]);
    let ended = |capture, output: &[u8]| {
        let mut capturing = Capturing::new(capture, &none);
        capturing.push(output);
        capturing.finish(7).0
    };
    let end = ended(JSON, b"[1]");
    assert_eq!(
        (end.exit_code, end.captured),
        (7, Some(Captured::Json(json!([1]))))
    );
    let end = ended(JSON, b"no");
    assert_eq!((end.exit_code, end.captured, end.failure), (7, None, None));
    assert_eq!(ended(TOLERANT, b"no").exit_code, 7);
}

#[test]
fn secrets_are_in_no_form_in_data_and_logs() {
    let masks = Masks::of([&b"s3cr3tvalue"[..], b"778899"]);
    let output = b"{\"k\": \"s3cr3tvalue\", \"s3cr3tvalue\": 778899, \"b\": \"czNjcjN0dmFsdWU=\"}";
    for mode in [JSON, TOLERANT, Capture::Text, Capture::Lines] {
        for chunk in [1, 5, 1000] {
            let (end, log) = capture_in(chunk, mode, output, &masks);
            let shown = format!("{:?} {}", end.captured, String::from_utf8(log).unwrap());
            for form in ["s3cr", "7788", "czNj"] {
                assert!(!shown.contains(form), "{shown}");
            }
        }
    }
    let (end, _) = capture_in(1, JSON, output, &masks);
    let expected = json!({"k": "***", "***": "***", "b": "***"});
    assert_eq!(end.captured, Some(Captured::Json(expected)));
}

#[test]
fn no_beginning_of_a_secret_stays_where_output_is_cut() {
    let masks = Masks::of([&b"s3cr3tvalue"[..]]);
    let output = format!("{}s3cr3tvalue and more", "x".repeat(8187));
    let (end, _) = capture_in(4096, Capture::Text, output.as_bytes(), &masks);
    let Some(Captured::Text { output, truncated }) = end.captured else {
        panic!()
    };
    assert!(
        truncated && output.ends_with("x*** a"),
        "{}",
        &output[8180..]
    );
}

#[test]
fn memory_does_not_grow_with_the_output() {
    let none = Masks::of([]);
    let chunk = vec![b'x'; 1 << 20];
    for mode in [Capture::Text, Capture::Lines, JSON, TOLERANT] {
        let mut capturing = Capturing::new(mode, &none);
        for _ in 0..40 {
            capturing.push(&chunk);
        }
        let (end, _) = capturing.finish(0);
        assert_eq!(end.bytes, 40 << 20);
    }
}

#[test]
fn an_error_shows_the_last_lines() {
    let mut tail = Tail::new(2);
    for chunk in ["a\nb", "c\r\nd\n", "", "e"] {
        tail.push(chunk.as_bytes());
    }
    assert_eq!(tail.lines(), ["d", "e"]);
    tail.push(&vec![b'x'; 5000]);
    assert_eq!(tail.lines()[1].len(), 1024);
    assert!(Tail::new(2).lines().is_empty());
}

fn ended(ended: Ended) -> StepResult {
    let none = Masks::of([]);
    let (end, _) = Capturing::new(Capture::Text, &none).finish(ended.exit_code());
    let limits = Limits {
        step_ms: Some(1500),
        run_ms: None,
    };
    result_of(
        ("prog", ended, limits),
        end,
        vec!["out".into()],
        vec!["err".into()],
    )
}

#[test]
fn every_end_of_a_program_has_its_exit_code() {
    for (end, code) in [
        (Ended::Exit(0), 0),
        (Ended::Exit(44), 44),
        (Ended::Signal(9), 137),
        (Ended::TimedOut, 124),
        (Ended::RunTimedOut, 124),
        (Ended::NotFound, 127),
        (Ended::NotExecutable, 126),
    ] {
        let result = ended(end);
        assert_eq!(result.exit_code, code);
        assert_eq!(result.error.is_some(), code != 0);
        if let Some(error) = result.error {
            assert_eq!(
                (error.exit_code, error.stderr_tail),
                (code, vec!["err".to_owned()])
            );
        }
    }
}

#[test]
fn a_wait_that_takes_too_long_has_failed() {
    let wait = |timed_out| Waited {
        files: vec!["a".into()],
        wait_duration_ms: 2000,
        poll_count: 5,
        timed_out,
    };
    let wanted = ("in/*", 2);
    let limits = Limits {
        step_ms: Some(2000),
        run_ms: Some(1500),
    };
    assert_eq!(
        waited(wait(false), wanted, (LimitOf::Step, limits)).exit_code,
        0
    );
    for (limit, kind, said) in [
        (
            LimitOf::Step,
            ErrorKind::Timeout,
            "`timeout_sec` of the step is 2",
        ),
        (
            LimitOf::Run,
            ErrorKind::RunTimeout,
            "`--timeout` of the run is 1.5",
        ),
    ] {
        let result = waited(wait(true), wanted, (limit, limits));
        assert_eq!((result.exit_code, &result.waited), (124, &Some(wait(true))));
        let error = result.error.unwrap();
        assert_eq!(error.kind, kind);
        let expected = format!("1 file matches `in/*` after 2000 ms, and 2 must: the {said}");
        assert_eq!(error.message, expected);
    }
}

#[test]
fn what_a_step_lacks_is_told_with_all_names() {
    let names = ["A".to_owned(), "B".to_owned()];
    let failure = Failure::missing_secrets(&names);
    assert_eq!(failure.message, "the environment has no `A`, `B`");
    assert_eq!(failure.context["missing_secrets"], json!(names));
    let result = StepResult::refused(Failure::failed_deps(&names));
    assert_eq!(result.exit_code, 2);
    assert_eq!(result.error.unwrap().context["required"], json!(names));
}

#[test]
fn only_exit_code_1_and_time_limits_are_retried() {
    let retries = Retries {
        max: 2,
        delay_ms: 30,
    };
    for (end, expected) in [
        (Ended::Exit(0), None),
        (Ended::Exit(1), Some(30)),
        (Ended::Exit(2), None),
        (Ended::Exit(124), Some(30)),
        (Ended::TimedOut, Some(30)),
        (Ended::RunTimedOut, None),
        (Ended::Signal(9), None),
        (Ended::NotFound, None),
        (Ended::NotExecutable, None),
    ] {
        assert_eq!(retry_after(&ended(end), 1, retries), expected, "{end:?}");
        assert_eq!(retry_after(&ended(end), 2, retries), expected, "{end:?}");
        assert_eq!(retry_after(&ended(end), 3, retries), None, "{end:?}");
    }
}
