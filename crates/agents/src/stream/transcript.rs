//! What was seen of a tool's work: its turns, within limits, and what it says about itself.

use std::collections::{BTreeMap, HashMap};

use uwf_agent_kit::LiveFile;
use uwf_protocol::failure::FailureClass;
use uwf_protocol::nodes::{Answered, Outcome, ToolCall, Turn, TurnRole, Usage};
use uwf_util::printable::printable;
use uwf_util::size;

use crate::progress;
use crate::shorten::{TURN_TEXT, shorten};

/// How much of all turns is kept, in bytes.
const ALL: usize = 16 << 20;
/// What a turn takes beside its texts, about, in bytes.
const TURN: usize = 256;
/// How much of what is no event is kept, in bytes.
const NOISE: usize = 2000;
/// How many characters of a name are kept.
const NAME: usize = 100;

/// What was seen so far. Readers of events fill it in.
pub(crate) struct Transcript {
    label: &'static str,
    live: LiveFile,
    turns: Vec<Turn>,
    room: usize,
    not_kept: u64,
    /// A message of the model that comes in pieces.
    begun: String,
    noise: String,
    pub(crate) session_id: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) usage: Usage,
    /// What the tool says is its answer.
    pub(crate) answer: Option<String>,
    /// What the model said last.
    pub(crate) last_text: Option<String>,
    /// Why the tool says that it failed.
    pub(crate) error: Option<String>,
    /// The names of the model's tools by the ids of their calls.
    called: HashMap<String, String>,
    /// The calls that were refused: id, if the tool tells it, and name.
    refused: Vec<(String, String)>,
    /// What kind of failure it says that is.
    pub(crate) class: Option<FailureClass>,
    /// What each message of the model used up, by its id: a message is told in several events.
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
            begun: String::new(),
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
            messages: BTreeMap::new(),
        }
    }

    /// Takes note of which tool is called under an id.
    pub(crate) fn called(&mut self, id: &str, name: &str) {
        self.called.insert(id.to_owned(), name.to_owned());
    }

    /// Takes note of a call that was refused because the model may not make it. `name` may be left out if the call was
    /// noted before; an id that comes again is the same call.
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
    pub(super) fn take_refused(&mut self) -> Vec<String> {
        let refused = std::mem::take(&mut self.refused);
        refused.into_iter().map(|(_, name)| name).collect()
    }

    /// Takes note of what a message of the model used up. Should the tool be ended before it tells the sum, these
    /// count.
    pub(crate) fn used(&mut self, message: &str, usage: Usage) {
        if self.messages.get(message) == Some(&usage) {
            return;
        }
        self.messages.insert(message.to_owned(), usage);
        let sum = self.sum_of_messages();
        self.live.usage(&sum);
    }

    /// Counts the messages, if the tool told no sum.
    pub(super) fn settle_usage(&mut self) {
        if self.usage.input_tokens.is_none() && self.usage.output_tokens.is_none() {
            self.usage = self.usage.plus(&self.sum_of_messages());
        }
    }

    fn sum_of_messages(&self) -> Usage {
        let messages = self.messages.values();
        messages.fold(Usage::default(), |sum, usage| sum.plus(usage))
    }

    /// Adds what the model said and called, if it is anything.
    pub(crate) fn assistant(&mut self, text: &str, calls: Vec<ToolCall>, reasoning: &str) {
        if !text.trim().is_empty() {
            self.last_text = Some(text.to_owned());
        }
        if text.is_empty() && calls.is_empty() && reasoning.is_empty() {
            return;
        }
        self.add(Turn {
            index: 0,
            role: TurnRole::Assistant,
            content: shorten(text, TURN_TEXT),
            tool_calls: (!calls.is_empty()).then_some(calls),
            reasoning: (!reasoning.is_empty()).then(|| shorten(reasoning, TURN_TEXT)),
            answers: None,
        });
    }

    /// Adds what a tool of the model answered.
    pub(crate) fn tool(&mut self, text: &str) {
        let content = shorten(text, TURN_TEXT);
        self.add(Turn::spoken(TurnRole::Tool, &content));
    }

    /// Adds what the call with this id was answered.
    pub(crate) fn answer_to(&mut self, id: &str, text: &str, outcome: Outcome) {
        let answers = (!id.is_empty()).then(|| Answered {
            call_id: id.to_owned(),
            outcome,
        });
        let turn = Turn::spoken(TurnRole::Tool, &shorten(text, TURN_TEXT));
        self.add(Turn { answers, ..turn });
    }

    /// Adds a piece of what the model says.
    pub(crate) fn piece(&mut self, text: &str) {
        self.tell_session();
        self.live.delta(text);
        self.begun.push_str(text);
    }

    /// Ends a message that came in pieces, with the tools that are called after it.
    pub(crate) fn end_of_pieces(&mut self, calls: Vec<ToolCall>) {
        let text = std::mem::take(&mut self.begun);
        self.assistant(&text, calls, "");
    }

    /// Tells people what happens.
    pub(crate) fn tell(&self, what: &str) {
        progress::line(self.label, what);
    }

    /// Takes note of a line that is no event.
    pub(super) fn noise(&mut self, line: &str) {
        self.tell(line);
        let short = &line[..line.floor_char_boundary(NOISE)];
        self.noise.push_str(short);
        self.noise.push('\n');
        let surplus = self.noise.len().saturating_sub(NOISE);
        let start = self.noise.ceil_char_boundary(surplus);
        self.noise.drain(..start);
    }

    /// Takes note of a line that is too long to be read.
    pub(super) fn left_out(&mut self, bytes: usize) {
        let size = size::format(bytes as u64);
        self.tool(&format!("[… a line of {size} left out …]"));
    }

    /// Returns what was printed that is no event, its end.
    pub(super) fn noise_seen(&self) -> &str {
        self.noise.trim()
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

    fn add(&mut self, mut turn: Turn) {
        for call in turn.tool_calls.iter_mut().flatten() {
            call.args = shorten(&call.args, TURN_TEXT);
        }
        progress::turn(self.label, &turn);
        self.tell_session();
        self.live.turn(&turn);
        match self.room.checked_sub(weight(&turn)) {
            Some(room) if self.not_kept == 0 => {
                self.room = room;
                self.turns.push(turn);
            }
            Some(_) | None => self.not_kept += 1,
        }
    }
}

/// Returns about how many bytes of memory a turn takes.
fn weight(turn: &Turn) -> usize {
    let calls = turn.tool_calls.iter().flatten();
    let args: usize = calls.map(|call| call.args.len() + call.name.len()).sum();
    TURN + turn.content.len() + args + turn.reasoning.as_ref().map_or(0, String::len)
}

#[cfg(test)]
pub(crate) mod tests;
