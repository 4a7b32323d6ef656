//! Progress of an agent for people: one line for each turn, on stderr. The engine takes these lines as signs of life.

use std::io::{self, Write as _};

use uwf_agent_kit::LiveFile;
use uwf_protocol::nodes::{ToolCall, Turn, TurnRole};
use uwf_util::printable::printable;
use uwf_util::size;
use uwf_util::text::one_line;

/// How many characters of a turn are shown.
const SHOWN: usize = 100;

/// Prints what happens, in a line that names the agent. It has no secrets any more: it is cut.
pub(crate) fn line(label: &str, what: &str) {
    // The fence of the front matter is skipped: it says nothing.
    let mut lines = what.lines().map(str::trim);
    let line = lines.find(|line| !line.is_empty() && *line != "---");
    let line = line.unwrap_or_default();
    let short: String = line.chars().take(SHOWN).collect();
    // A closed stderr is no error: nobody has to watch.
    let _ = writeln!(io::stderr(), "{label}: {}", printable(&short));
}

/// Adds a turn to the live file, and prints it. It is masked first: what is printed is cut.
pub(crate) fn turn(label: &str, live: &mut LiveFile, turn: &Turn) {
    live.turn(turn);
    line(label, &summary(&live.masked(turn)));
}

/// Returns a turn in a few words.
fn summary(turn: &Turn) -> String {
    let calls = turn.tool_calls.iter().flatten();
    let calls: Vec<String> = calls.map(call).collect();
    let said = turn.content.trim();
    match turn.role {
        TurnRole::Assistant if !calls.is_empty() => format!("calls {}", calls.join(", ")),
        TurnRole::Assistant if said.is_empty() => "thinks".to_owned(),
        TurnRole::Assistant | TurnRole::User => said.to_owned(),
        TurnRole::Tool => {
            let size = size::format(turn.content.len() as u64);
            format!("a tool answers {size}: {}", one_line(&turn.content))
        }
    }
}

/// Returns a call on one line.
fn call(call: &ToolCall) -> String {
    let args: Vec<&str> = call.args.split_whitespace().collect();
    format!("{} {}", call.name, args.join(" "))
        .trim_end()
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_is_shown_in_a_few_words() {
        let spoken = |role, text: &str| summary(&Turn::spoken(role, text));
        assert_eq!(spoken(TurnRole::Assistant, " I look.\n"), "I look.");
        assert_eq!(spoken(TurnRole::Assistant, "\n"), "thinks");
        assert_eq!(spoken(TurnRole::Tool, "abc"), "a tool answers 3 B: abc");
        let mut turn = Turn::spoken(TurnRole::Assistant, "I look.");
        let call = |args: &str| ToolCall {
            name: "Bash".to_owned(),
            args: args.to_owned(),
            id: None,
        };
        turn.tool_calls = Some(vec![call("{\"command\":\n  \"ls\"}"), call("")]);
        assert_eq!(summary(&turn), "calls Bash {\"command\": \"ls\"}, Bash");
    }
}
