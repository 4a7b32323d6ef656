//! Tools that report the usage of a whole session: the usage of one call is a difference.

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use uwf_agent_kit::Task;
use uwf_durable::Durability;
use uwf_protocol::nodes::Usage;
use uwf_storage::RunDir;

use super::Transcript;

/// The last known usage of each session.
type Totals = BTreeMap<String, Usage>;

/// Subtracts the usage of earlier calls of the session. If that is not recorded, the tokens of this call are unknown.
pub(super) fn since_the_last_call(task: &Task, session: Option<&str>, seen: &mut Transcript) {
    let file = file(task);
    let mut totals = read(&file);
    let total = seen.usage.clone();
    if let Some(session) = session {
        seen.usage = difference(&total, totals.get(session));
    }
    let Some(id) = &seen.session_id else { return };
    if total.input_tokens.is_none() && total.output_tokens.is_none() {
        return;
    }
    totals.insert(id.clone(), total);
    let bytes = serde_json::to_vec(&totals).expect("totals are plain data");
    if let Err(error) = uwf_durable::replace(&file, &bytes, Durability::Volatile) {
        let _ = writeln!(
            io::stderr(),
            "could not write `{}`: {error}; the usage of the next call will be unknown",
            file.display()
        );
    }
}

/// Does the same for a call that a process before this one made. Whether it went on with a session is not known from it: it
/// did if there is a record of the session.
pub(super) fn of_an_earlier_call(task: &Task, seen: &mut Transcript) {
    let totals = read(&file(task));
    let session = seen.session_id.clone();
    let session = session.filter(|session| totals.contains_key(session));
    since_the_last_call(task, session.as_deref(), seen);
}

fn file(task: &Task) -> PathBuf {
    RunDir::at(task.run_dir.clone()).sessions.usage_file()
}

fn read(file: &Path) -> Totals {
    let content = uwf_durable::read(file).ok().flatten();
    let totals = content.and_then(|bytes| serde_json::from_slice(&bytes).ok());
    totals.unwrap_or_default()
}

/// Returns the usage between two totals. If the new total is smaller, the tool has started to count from zero.
fn difference(total: &Usage, before: Option<&Usage>) -> Usage {
    let Some(before) = before else {
        return Usage {
            input_tokens: None,
            output_tokens: None,
            cached_tokens: None,
            ..total.clone()
        };
    };
    let is_smaller =
        total.input_tokens < before.input_tokens || total.output_tokens < before.output_tokens;
    if is_smaller {
        return total.clone();
    }
    let minus = |total: Option<u64>, before: Option<u64>| Some(total?.saturating_sub(before?));
    Usage {
        input_tokens: minus(total.input_tokens, before.input_tokens),
        output_tokens: minus(total.output_tokens, before.output_tokens),
        cached_tokens: minus(total.cached_tokens, before.cached_tokens),
        ..total.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(input: u64, output: u64) -> Usage {
        Usage {
            input_tokens: Some(input),
            output_tokens: Some(output),
            duration_ms: Some(7),
            ..Usage::default()
        }
    }

    #[test]
    fn a_call_used_up_what_the_total_grew_by() {
        assert_eq!(
            difference(&usage(300, 60), Some(&usage(100, 20))),
            usage(200, 40)
        );
        assert_eq!(
            difference(&usage(50, 60), Some(&usage(100, 20))),
            usage(50, 60)
        );
        let unknown = difference(&usage(300, 60), None);
        assert_eq!((unknown.input_tokens, unknown.output_tokens), (None, None));
        assert_eq!(unknown.duration_ms, Some(7));
    }
}
