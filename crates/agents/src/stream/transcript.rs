//! The transcript of a tool's work: its turns, within limits, and what it reports about itself.

use std::collections::{BTreeMap, HashMap};

use uwf_agent_kit::{LiveFile, TryAgain};
use uwf_protocol::failure::FailureClass;
use uwf_protocol::nodes::{Answered, Outcome, ToolCall, Turn, TurnRole, Usage};
use uwf_util::printable::printable;
use uwf_util::size;
use uwf_util::text::shorten;

use crate::bounded::TURN_TEXT;
use crate::progress;

/// The limit of all turns, in bytes of memory.
const ALL: usize = 16 << 20;
/// About what a turn takes beside its texts, in bytes.
const TURN: usize = 256;
/// How much of the lines that are no events is kept, in bytes.
const NOISE: usize = 2000;
/// How many characters of a name are kept.
const NAME: usize = 100;

/// The transcript so far. The readers of events fill it.
pub(crate) struct Transcript {
    label: &'static str,
    live: LiveFile,
    turns: Vec<Turn>,
    room: usize,
    not_kept: u64,
    /// The pieces of a message that is not complete yet.
    partial: String,
    noise: String,
    pub(crate) session_id: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) usage: Usage,
    /// The answer, as the tool reports it.
    pub(crate) answer: Option<String>,
    /// The model's last text.
    pub(crate) last_text: Option<String>,
    /// The error, as the tool reports it.
    pub(crate) error: Option<String>,
    /// The names of the model's tools by the ids of their calls.
    called: HashMap<String, String>,
    /// The refused calls: the id, empty if unknown, and the name of the tool.
    refused: Vec<(String, String)>,
    /// The class of the error, as the tool reports it.
    pub(crate) class: Option<FailureClass>,
    /// When the provider allows the next call, as the tool reports it.
    pub(crate) try_again: Option<TryAgain>,
    /// The usage of each message of the model by its id, since several events report the same message.
    messages: BTreeMap<String, Usage>,
}

impl Transcript {
    pub(super) fn new(label: &'static str, live: LiveFile) -> Self {
        Self {
            label,
            live,
            turns: Vec::new(),
            room: ALL,
            not_kept: 0,
            partial: String::new(),
            noise: String::new(),
            session_id: None,
            model: None,
            usage: Usage::default(),
            answer: None,
            last_text: None,
            error: None,
            called: HashMap::new(),
            refused: Vec::new(),
            class: None,
            try_again: None,
            messages: BTreeMap::new(),
        }
    }

    /// Records the tool of a call.
    pub(crate) fn called(&mut self, id: &str, name: &str) {
        self.called.insert(id.to_owned(), name.to_owned());
    }

    /// Records a call that was refused because the model may not make it. `name` can be `None` if the call was recorded
    /// before. A repeated id is the same call.
    pub(crate) fn refused(&mut self, id: &str, name: Option<&str>) {
        let is_known = !id.is_empty() && self.refused.iter().any(|(known, _)| known == id);
        if is_known {
            return;
        }
        let name = name
            .or(self.called.get(id).map(String::as_str))
            .unwrap_or("a tool");
        let name: String = printable(name).chars().take(NAME).collect();
        self.tell(&format!("{name} was refused"));
        let mut answers = self
            .turns
            .iter_mut()
            .filter_map(|turn| turn.answers.as_mut());
        if let Some(answer) = answers.find(|answer| answer.call_id == id) {
            answer.outcome = Outcome::Refused;
        }
        self.refused.push((id.to_owned(), name));
    }

    /// Takes out the tools whose calls were refused, one entry for each call.
    pub(crate) fn take_refused(&mut self) -> Vec<String> {
        let refused = std::mem::take(&mut self.refused);
        refused.into_iter().map(|(_, name)| name).collect()
    }

    /// Records the usage of a message of the model. It counts if the tool is ended before it reports the sum.
    pub(crate) fn used(&mut self, message: &str, usage: Usage) {
        if self.messages.get(message) == Some(&usage) {
            return;
        }
        self.messages.insert(message.to_owned(), usage);
        let sum = self.sum_of_messages();
        self.live.usage(&sum, self.model.as_deref());
    }

    /// Sums up the messages, if the tool has not reported the sum.
    pub(crate) fn settle_usage(&mut self) {
        if self.usage.input_tokens.is_none() && self.usage.output_tokens.is_none() {
            self.usage = self.usage.plus(&self.sum_of_messages());
        }
    }

    fn sum_of_messages(&self) -> Usage {
        let messages = self.messages.values();
        messages.fold(Usage::default(), |sum, usage| sum.plus(usage))
    }

    /// Adds a turn of the model, unless it is empty.
    pub(crate) fn assistant(&mut self, text: &str, calls: Vec<ToolCall>, reasoning: &str) {
        if !text.trim().is_empty() {
            self.last_text = Some(text.to_owned());
        }
        if text.is_empty() && calls.is_empty() && reasoning.is_empty() {
            return;
        }
        self.add(&Turn {
            index: 0,
            role: TurnRole::Assistant,
            content: text.to_owned(),
            tool_calls: (!calls.is_empty()).then_some(calls),
            reasoning: (!reasoning.is_empty()).then(|| reasoning.to_owned()),
            answers: None,
        });
    }

    /// Adds the result of a tool call.
    pub(crate) fn tool(&mut self, text: &str) {
        self.add(&Turn::spoken(TurnRole::Tool, text));
    }

    /// Adds the result of the call with this id.
    pub(crate) fn answer_to(&mut self, id: &str, text: &str, outcome: Outcome) {
        let answers = (!id.is_empty()).then(|| Answered {
            call_id: id.to_owned(),
            outcome,
        });
        let turn = Turn::spoken(TurnRole::Tool, text);
        self.add(&Turn { answers, ..turn });
    }

    /// Adds a piece of the model's text.
    pub(crate) fn piece(&mut self, text: &str) {
        self.tell_session();
        self.live.delta(text);
        self.partial.push_str(text);
    }

    /// Ends a message that came in pieces, with the tool calls after it.
    pub(crate) fn end_of_pieces(&mut self, calls: Vec<ToolCall>) {
        let text = std::mem::take(&mut self.partial);
        self.assistant(&text, calls, "");
    }

    /// Prints progress for people.
    pub(crate) fn tell(&self, what: &str) {
        progress::line(self.label, &self.live.masked_text(what));
    }

    /// Records a line that is not an event.
    pub(super) fn noise(&mut self, line: &str) {
        // Secrets go before anything is cut.
        let line = self.live.masked_text(line);
        progress::line(self.label, &line);
        let short = &line[..line.floor_char_boundary(NOISE)];
        self.noise.push_str(short);
        self.noise.push('\n');
        let surplus = self.noise.len().saturating_sub(NOISE);
        let start = self.noise.ceil_char_boundary(surplus);
        self.noise.drain(..start);
    }

    /// Records a line that is too long to be read.
    pub(super) fn left_out(&mut self, bytes: usize) {
        let size = size::format(bytes as u64);
        self.tool(&format!("[… a line of {size} left out …]"));
    }

    /// Returns the end of the lines that are not events.
    pub(super) fn noise_seen(&self) -> &str {
        self.noise.trim()
    }

    /// Takes the secrets out of the error. Afterwards a part of it may be shown.
    pub(super) fn mask_error(&mut self) {
        self.error = self
            .error
            .as_deref()
            .map(|error| self.live.masked_text(error));
    }

    /// Takes out the turns, with a mark where there was no room for more.
    pub(super) fn take_turns(&mut self) -> Vec<Turn> {
        let mut turns = std::mem::take(&mut self.turns);
        if self.not_kept > 0 {
            let mark = format!("[… {} more turns left out …]", self.not_kept);
            turns.push(Turn::spoken(TurnRole::Tool, &mark));
        }
        turns
    }

    fn tell_session(&mut self) {
        if let Some(session) = &self.session_id {
            self.live.session(session);
        }
    }

    fn add(&mut self, turn: &Turn) {
        let turn = shortened(self.live.masked(turn));
        self.tell_session();
        progress::turn(self.label, &mut self.live, &turn);
        match self.room.checked_sub(weight(&turn)) {
            Some(room) if self.not_kept == 0 => {
                self.room = room;
                self.turns.push(turn);
            }
            Some(_) | None => self.not_kept += 1,
        }
    }
}

/// Returns a turn whose texts are short enough to be kept.
fn shortened(mut turn: Turn) -> Turn {
    turn.content = shorten(&turn.content, TURN_TEXT);
    turn.reasoning = turn.reasoning.map(|text| shorten(&text, TURN_TEXT));
    for call in turn.tool_calls.iter_mut().flatten() {
        call.args = shorten(&call.args, TURN_TEXT);
    }
    turn
}

/// Returns about how many bytes of memory a turn takes.
fn weight(turn: &Turn) -> usize {
    let calls = turn.tool_calls.iter().flatten();
    let args: usize = calls.map(|call| call.args.len() + call.name.len()).sum();
    TURN + turn.content.len() + args + turn.reasoning.as_ref().map_or(0, String::len)
}

#[cfg(test)]
pub(crate) mod tests;
