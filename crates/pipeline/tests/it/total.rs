//! Nothing that a file or an output says makes the crate panic, and what loads can be stored, drawn and run.

use proptest::prelude::{any, prop_assert_eq, proptest};
use proptest::sample::Index;
use uwf_pipeline::course::{Route, Todo};
use uwf_pipeline::{
    Capture, Capturing, Masks, Pipeline, StepKey, Template, dot, graph, load, mermaid,
};

use crate::common::EXAMPLE;
use crate::drive::{Run, exit, start_with};

/// A file in which every key stands somewhere.
const EVERY_KEY: &str = "version: 1.1.1
name: every key
context: {a: [1, {b: null}]}
providers: {p: {command: [x, '${PROMPT}', '${k}'], defaults: {k: v}, input_mode: argv}}
secrets: [TOKEN]
inbox_dir: q/in
max_transitions: 5
steps:
- {name: S, command: 'a \"b c\" ${run.id}', output_capture: json, allow_parse_error: true, env: {E: 1}, timeout_sec: 1.5}
- {name: W, wait_for: {glob: 'q/*.task', poll_ms: 10, min_count: 2}, when: {exists: q}, max_visits: 2}
- {name: F, workflow: {name: 'flows/${run.id}.yaml', task: 'do ${steps.S.json.x}', context: {k: ['${run.root}', 1]}}, output_capture: json}
- name: L
  for_each:
    items: [x, {y: '${context.a.1}'}]
    as: it
    on_item_complete: {success: {move_to: done}, failure: {move_to: bad}}
    steps:
    - {name: P, provider: p, input_file: '${it}', provider_params: {k: ['${loop.index}']}, retries: {max: 1, delay_ms: 0}}
    - {name: Q, command: [q], when: {equals: {left: '${steps.P.output}', right: x}}, on: {failure: {goto: P}, always: {goto: _end}}}
  depends_on: {required: [q], optional: [r], inject: list}
";

/// Checks a text as a file: whatever it is, nothing panics.
fn check(text: &[u8]) {
    let Ok(loaded) = load(text, "flow.yaml") else {
        return;
    };
    let drawn = graph(&loaded.pipeline);
    assert!(!mermaid(&drawn).is_empty() && !dot(&drawn).is_empty());
    let stored = serde_json::to_string(&loaded.pipeline).unwrap();
    let again: Pipeline = serde_json::from_str(&stored).unwrap();
    assert_eq!(again, loaded.pipeline);
    let mut run = Run::of(loaded.pipeline, start_with(Default::default()));
    for _ in 0..20 {
        let mut route = run.course.next();
        while let Route::Look { fails, .. } = route {
            route = *fails;
        }
        let Route::To(assignment) = route else {
            return;
        };
        let result = match assignment.todo {
            Todo::Settled(result) => *result,
            Todo::Task(_) => exit(0),
        };
        let visit = uwf_pipeline::course::Visit {
            key: assignment.key,
            result,
            duration_ms: 0,
        };
        run.push(uwf_pipeline::Event::Visit(Box::new(visit)));
    }
}

#[test]
fn every_key_can_be_written() {
    load(EVERY_KEY.as_bytes(), "flow.yaml").unwrap();
    check(EVERY_KEY.as_bytes());
}

#[test]
fn no_beginning_and_no_lost_line_of_a_file_is_a_panic() {
    for text in [EVERY_KEY, EXAMPLE] {
        for end in 0..text.len() {
            check(&text.as_bytes()[..end]);
        }
        let lines: Vec<&str> = text.lines().collect();
        for lost in 0..lines.len() {
            let rest = [&lines[..lost], &lines[lost + 1..]].concat();
            check(rest.join("\n").as_bytes());
        }
    }
}

proptest! {
    #[test]
    fn no_changed_file_is_a_panic(edits in proptest::collection::vec((any::<Index>(), any::<Index>(), any::<u8>()), 1..4)) {
        let mut bytes = EVERY_KEY.as_bytes().to_vec();
        for (at, from, byte) in edits {
            let at = at.index(bytes.len());
            // Half of the edits copy a character that means something.
            bytes[at] = if byte < 128 { byte } else { EVERY_KEY.as_bytes()[from.index(EVERY_KEY.len())] };
        }
        check(&bytes);
    }

    #[test]
    fn a_template_is_stored_as_it_was_written(text in "[$a-c{}. \"_]{0,20}") {
        if let Ok(template) = Template::parse(&text) {
            let stored = serde_json::to_string(&template).unwrap();
            let again: Template = serde_json::from_str(&stored).unwrap();
            prop_assert_eq!(again, template);
        }
    }

    #[test]
    fn a_key_that_can_be_read_is_written_as_it_was(text in "[A-C.\\[\\]0-2 ]{0,12}") {
        if let Ok(key) = text.parse::<StepKey>() {
            prop_assert_eq!(key.to_string().parse::<StepKey>().unwrap(), key);
        }
    }

    #[test]
    fn output_is_captured_the_same_however_it_is_cut(
        output in proptest::collection::vec(proptest::sample::select(b"ab\r\n\"{}:1\xc3\xa4\xf0".as_slice()), 0..60),
        size in 1..9_usize,
    ) {
        let masks = Masks::of([&b"abab"[..], b"a\nb1"]);
        for capture in [Capture::Text, Capture::Lines, Capture::Json { allow_parse_error: true }] {
            let run = |size: usize| {
                let mut capturing = Capturing::new(capture, &masks);
                let mut log = Vec::new();
                for chunk in output.chunks(size) {
                    log.extend_from_slice(capturing.push(chunk));
                }
                let (end, rest) = capturing.finish(0);
                log.extend(rest);
                (end, log)
            };
            prop_assert_eq!(run(size), run(1000));
        }
    }
}
