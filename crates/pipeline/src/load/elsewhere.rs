//! V02: keys that are known elsewhere: in another place of the format, or in the formats of other programs.

use super::file::FILE_KEYS;
use super::foreign;
use super::step::STEP_KEYS;

/// Keys of other programs, with what says the same here.
const OTHERS: [(&[&str], &str); 18] = [
    (&["depends", "needs", "requires", "after"], "depends_on"),
    (
        &["script", "run", "cmd", "shell", "exec", "bash"],
        "command",
    ),
    (&["stdout", "output", "out"], "output_file"),
    (&["capture", "register", "output_format"], "output_capture"),
    (&["prompt", "input", "stdin", "prompt_file"], "input_file"),
    (&["model", "params", "parameters"], "provider_params"),
    (&["id", "step", "title", "key"], "name"),
    (&["retry", "max_retries", "attempts"], "retries"),
    (
        &["timeout", "timeout_seconds", "timeout_ms", "time_limit"],
        "timeout_sec",
    ),
    (&["loop", "foreach", "matrix", "with_items"], "for_each"),
    (&["if", "condition", "unless", "only_if"], "when"),
    (&["environment", "environ"], "env"),
    (&["wait", "wait_until", "poll"], "wait_for"),
    (&["vars", "variables", "params", "inputs"], "context"),
    (&["jobs", "tasks", "stages", "pipeline", "do"], "steps"),
    (&["list", "in", "over", "values"], "items"),
    (&["path", "file", "pattern", "files"], "glob"),
    (&["step", "to", "target"], "goto"),
];

/// Keys that only one mapping has, with its place.
const PLACES: [(&[&str], &str); 7] = [
    (&["goto"], "`on.success`, `on.failure` and `on.always`"),
    (&["equals", "exists", "not_exists"], "`when` of a step"),
    (
        &["items", "items_from", "as", "on_item_complete"],
        "`for_each` of a step",
    ),
    (&["glob", "poll_ms", "min_count"], "`wait_for` of a step"),
    (&["delay_ms", "max"], "`retries` of a step"),
    (
        &["required", "optional", "inject"],
        "`depends_on` of a step",
    ),
    (&["defaults", "input_mode"], "a provider"),
];

/// Returns what to write in place of an unknown key, if it is known elsewhere. `known` are the keys of its mapping.
pub(super) fn hint(key: &str, known: &[&str]) -> Option<String> {
    if let Some(said) = foreign::words(key, known) {
        return Some(said.to_owned());
    }
    let ours = OTHERS.iter().filter(|(theirs, _)| theirs.contains(&key));
    let ours = ours
        .map(|(_, ours)| *ours)
        .find(|ours| known.contains(ours));
    if let Some(ours) = ours {
        return Some(match form(ours) {
            Some(form) => format!("write `{form}`"),
            None => format!("write `{ours}`"),
        });
    }
    let place = match key {
        key if STEP_KEYS.contains(&key) => "a step",
        key if FILE_KEYS.contains(&key) => "the file, beside `steps`",
        key => PLACES.iter().find(|(keys, _)| keys.contains(&key))?.1,
    };
    Some(format!("`{key}` is a key of {place}"))
}

/// Returns how the value of a key is written, where that is not what others expect.
fn form(key: &str) -> Option<&'static str> {
    Some(match key {
        "command" => "command: [\"bash\", \"-c\", \"…\"]",
        "depends_on" => "depends_on: {required: [FILE]}",
        "output_file" => "output_file: FILE",
        "input_file" => "input_file: FILE",
        "output_capture" => "output_capture: text",
        "for_each" => "for_each: {items: […], steps: […]}",
        "when" => "when: {equals: {left: …, right: …}}",
        "wait_for" => "wait_for: {glob: …}",
        "timeout_sec" => "timeout_sec: SECONDS",
        "provider_params" => "provider_params: {model: …}",
        "retries" => "retries: {max: 2, delay_ms: 1000}",
        _ => return None,
    })
}

/// Returns the hint for a condition that is one word.
pub(super) fn of_condition(word: Option<&str>) -> &'static str {
    match word.map(str::trim) {
        Some("always" | "always()" | "true") => {
            "a step without `when` is always done, and after a failure if `on` of that step leads to it"
        }
        Some("never" | "false") => {
            "remove the step, or compare: `when: {equals: {left: \"${context.x}\", right: \"yes\"}}`"
        }
        Some(
            "failure" | "failed" | "failure()" | "on_failure" | "error" | "success" | "success()"
            | "on_success",
        ) => "the step that ends so leads on: `on: {failure: {goto: STEP}}`",
        _ => "write `equals: {left: …, right: …}`, `exists: PATTERN` or `not_exists: PATTERN`",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_of_ours_that_a_hint_names_is_one() {
        let all = STEP_KEYS.iter().chain(&FILE_KEYS);
        let all: Vec<&str> = all.copied().chain(["items", "glob", "goto"]).collect();
        for (theirs, ours) in OTHERS {
            assert!(all.contains(&ours), "{ours}");
            for key in theirs {
                assert_ne!(*key, ours);
                assert!(hint(key, &[ours]).unwrap().starts_with("write `"));
            }
        }
    }
}
