//! The loop between a model and its tools until it hands in a result.
//!
//! What the tools do, what a good result is and how a model is called is said elsewhere; here it is decided
//! what the model is told next, and when to stop.

use serde_json::Value;
use uwf_protocol::nodes::{Answered, Outcome, ToolCall, Turn, TurnRole, Usage};

use crate::llm::{
    Answer, ChatReply, ChatRequest, Client, LlmError, Message, ToolRequest, ToolSpec,
};

/// How much of an answer that is no result goes into an error, in characters.
const BEGINNING: usize = 200;

/// What a model may call.
pub trait Toolbox {
    /// Returns the tools.
    fn specs(&self) -> Vec<ToolSpec>;

    /// Calls one of them. An error is a text for the model, too; it begins with `error:`.
    fn call(&mut self, request: &ToolRequest) -> String;
}

/// How the model hands in its result: by a tool of this name, or as plain JSON.
pub struct Finish<'a> {
    /// The name of the tool.
    pub name: &'a str,
    /// What it is for, for the model.
    pub description: &'a str,
    /// The JSON Schema of the result.
    pub parameters: Value,
    /// Says what is wrong with a result; the model is told.
    pub accept: &'a dyn Fn(&Value) -> Result<(), String>,
    /// Judges an answer in words before anything else is made of it.
    pub accept_text: Option<&'a JudgeText<'a>>,
}

/// Says what is wrong with a result in words. `None` says that the text is no result at all.
pub type JudgeText<'a> = dyn Fn(&str) -> Option<Result<(), String>> + 'a;

/// A result, in the form in which the model handed it in.
#[derive(Debug, Clone, PartialEq)]
pub enum Handed {
    /// As data.
    Data(Value),
    /// In words.
    Text(String),
}

/// One run of the loop.
///
/// Without tools the model is not given the finishing one either, but asked for JSON that fits the schema.
pub struct Reactor<'a> {
    /// Whom to ask.
    pub client: &'a mut Client,
    /// What it may call.
    pub tools: &'a mut dyn Toolbox,
    /// How it hands in its result.
    pub finish: Finish<'a>,
    /// How often the model is asked at most.
    pub max_rounds: u32,
    /// How often in a row an answer may be neither a result nor a call of a tool.
    pub corrections: u32,
    /// Whether answers are to come in pieces.
    pub stream: bool,
    /// Is told what happens.
    pub observe: &'a mut dyn FnMut(Observed<'_>),
}

/// Something that happened.
pub enum Observed<'a> {
    /// A turn is complete.
    Turn(&'a Turn),
    /// A piece of an answer has come.
    Text(&'a str),
}

/// A run that ended with a result.
#[derive(Debug, Clone, PartialEq)]
pub struct Reaction {
    /// The result.
    pub handed: Handed,
    /// All turns.
    pub turns: Vec<Turn>,
    /// The sum over all answers.
    pub usage: Usage,
    /// How often the model was asked.
    pub rounds: u32,
    /// The model that answered last, by the provider's word.
    pub model: Option<String>,
}

/// A run that ended without one.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{cause}")]
pub struct ReactorError {
    /// Why.
    pub cause: Cause,
    /// All turns.
    pub turns: Vec<Turn>,
    /// The sum over all answers.
    pub usage: Usage,
    /// How often the model was asked.
    pub rounds: u32,
    /// The model that answered last, by the provider's word.
    pub model: Option<String>,
}

/// Why there is no result.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Cause {
    /// The model could not be asked.
    #[error(transparent)]
    Llm(LlmError),
    /// It went on calling tools.
    #[error("the model handed in no result within {0} rounds")]
    MaxRounds(u32),
    /// It answered with something else, again and again.
    #[error("the model handed in no result: {0}")]
    NoResult(String),
}

impl ReactorError {
    /// Returns a stable word for the kind of error.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match &self.cause {
            Cause::Llm(error) => error.code(),
            Cause::MaxRounds(_) => "max_rounds_exceeded",
            Cause::NoResult(_) => "no_result",
        }
    }

    /// Returns what the user could do about it.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match &self.cause {
            Cause::Llm(error) => Some(error.hint()),
            Cause::MaxRounds(_) | Cause::NoResult(_) => None,
        }
    }
}

/// An answer that is no result.
struct Refusal {
    /// What is wrong with it, for people.
    problem: String,
    /// What the model is told.
    told: String,
}

/// What happened so far.
#[derive(Default)]
struct Record {
    turns: Vec<Turn>,
    usage: Usage,
    rounds: u32,
    model: Option<String>,
}

impl Reactor<'_> {
    /// Asks the model until it hands in a result that is accepted. The messages grow by what is said, so that
    /// the conversation can be kept and continued.
    ///
    /// # Errors
    /// When a call fails, the rounds are used up, or the model does not hand in a result when told to.
    pub fn run(&mut self, messages: &mut Vec<Message>) -> Result<Reaction, Box<ReactorError>> {
        let mut record = Record::default();
        match self.loop_until_done(messages, &mut record) {
            Ok(handed) => Ok(Reaction {
                handed,
                turns: record.turns,
                usage: record.usage,
                rounds: record.rounds,
                model: record.model,
            }),
            Err(cause) => Err(Box::new(ReactorError {
                cause,
                turns: record.turns,
                usage: record.usage,
                rounds: record.rounds,
                model: record.model,
            })),
        }
    }

    fn loop_until_done(
        &mut self,
        messages: &mut Vec<Message>,
        record: &mut Record,
    ) -> Result<Handed, Cause> {
        let tools = self.offered();
        let mut corrections = 0;
        while record.rounds < self.max_rounds {
            let reply = self.ask(&tools, messages, record)?;
            messages.push(Message::Assistant {
                text: reply.text.clone(),
                tool_calls: reply.tool_calls.clone(),
            });
            self.observe(record, assistant(&reply));
            let problem = if reply.tool_calls.is_empty() {
                match self.plain(&reply.text, !tools.is_empty()) {
                    Ok(handed) => return Ok(handed),
                    Err(refusal) => {
                        self.observe(record, Turn::spoken(TurnRole::User, &refusal.told));
                        messages.push(Message::User(refusal.told));
                        Some(refusal.problem)
                    }
                }
            } else {
                match self.dispatch(&reply.tool_calls, messages, record) {
                    Ok(value) => return Ok(Handed::Data(value)),
                    Err(problem) => problem,
                }
            };
            corrections = problem.as_ref().map_or(0, |_| corrections + 1);
            if let Some(problem) = problem.filter(|_| corrections > self.corrections) {
                return Err(Cause::NoResult(problem));
            }
        }
        Err(Cause::MaxRounds(self.max_rounds))
    }

    /// Returns the tools with the finishing one; none if there are no others.
    fn offered(&self) -> Vec<ToolSpec> {
        let mut tools = self.tools.specs();
        if !tools.is_empty() {
            tools.push(ToolSpec {
                name: self.finish.name.to_owned(),
                description: self.finish.description.to_owned(),
                parameters: self.finish.parameters.clone(),
            });
        }
        tools
    }

    fn ask(
        &mut self,
        tools: &[ToolSpec],
        messages: &[Message],
        record: &mut Record,
    ) -> Result<ChatReply, Cause> {
        let answer = match tools {
            [] => Answer::Json(&self.finish.parameters),
            [..] => Answer::Text,
        };
        let request = ChatRequest {
            messages,
            tools,
            answer,
            stream: self.stream,
            max_tokens: None,
        };
        record.rounds += 1;
        let observe = &mut *self.observe;
        let reply = self
            .client
            .chat(&request, &mut |text| observe(Observed::Text(text)))
            .map_err(Cause::Llm)?;
        record.usage = record.usage.plus(&reply.usage);
        record.model = reply.model.clone().or(record.model.take());
        Ok(reply)
    }

    /// Looks for a result in an answer without calls.
    fn plain(&self, text: &str, has_tools: bool) -> Result<Handed, Refusal> {
        if let Some(judged) = self.finish.accept_text.and_then(|judge| judge(text)) {
            return match judged {
                Ok(()) => Ok(Handed::Text(text.to_owned())),
                Err(problem) => Err(refused(problem)),
            };
        }
        let Some(value) = json_in(text) else {
            return Err(self.prose(text, has_tools));
        };
        match (self.finish.accept)(&value) {
            Ok(()) => Ok(Handed::Data(value)),
            Err(problem) => Err(refused(problem)),
        }
    }

    fn prose(&self, text: &str, has_tools: bool) -> Refusal {
        let told = match has_tools {
            true => format!(
                "That was neither a tool call nor a result. Go on, or hand in the result by calling `{}`.",
                self.finish.name
            ),
            false => {
                "That was not a JSON object. Answer with a single JSON object that fits the schema, and nothing else."
                    .to_owned()
            }
        };
        let problem = match text.trim() {
            "" => "it said nothing".to_owned(),
            text => format!("it said \"{}\"", beginning(text)),
        };
        Refusal { problem, told }
    }

    /// Calls the tools in their order. An accepted result ends it at once; the last refused one is returned as
    /// the problem of the round.
    fn dispatch(
        &mut self,
        calls: &[ToolRequest],
        messages: &mut Vec<Message>,
        record: &mut Record,
    ) -> Result<Value, Option<String>> {
        let mut problem = None;
        for call in calls {
            let text = if call.name == self.finish.name {
                match self.hand_in(&call.arguments) {
                    Ok(value) => return Ok(value),
                    Err(error) => {
                        let text = format!("error: {error}");
                        problem = Some(error);
                        text
                    }
                }
            } else {
                self.tools.call(call)
            };
            let answers = (!call.id.is_empty()).then(|| Answered {
                call_id: call.id.clone(),
                outcome: match text.starts_with("error:") {
                    true => Outcome::Error,
                    false => Outcome::Ok,
                },
            });
            let turn = Turn::spoken(TurnRole::Tool, &text);
            self.observe(record, Turn { answers, ..turn });
            messages.push(Message::Tool {
                call_id: call.id.clone(),
                text,
            });
        }
        Err(problem)
    }

    fn hand_in(&self, arguments: &str) -> Result<Value, String> {
        let value: Value = serde_json::from_str(arguments)
            .map_err(|error| format!("the arguments are not JSON: {error}"))?;
        (self.finish.accept)(&value)?;
        Ok(value)
    }

    fn observe(&mut self, record: &mut Record, mut turn: Turn) {
        turn.index = u32::try_from(record.turns.len()).unwrap_or(u32::MAX);
        (self.observe)(Observed::Turn(&turn));
        record.turns.push(turn);
    }
}

fn refused(problem: String) -> Refusal {
    Refusal {
        told: format!("That result was not accepted: {problem}. Correct it and hand it in again."),
        problem,
    }
}

fn assistant(reply: &ChatReply) -> Turn {
    let calls = reply.tool_calls.iter().map(|call| ToolCall {
        name: call.name.clone(),
        args: call.arguments.clone(),
        id: Some(call.id.clone()).filter(|id| !id.is_empty()),
    });
    let calls: Vec<_> = calls.collect();
    Turn {
        tool_calls: (!calls.is_empty()).then_some(calls),
        reasoning: reply.reasoning.clone(),
        ..Turn::spoken(TurnRole::Assistant, &reply.text)
    }
}

/// Returns enough of a text to recognise it by, on one line.
fn beginning(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(BEGINNING) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

/// Finds the one JSON object that an answer is, or that stands in its one code fence.
fn json_in(text: &str) -> Option<Value> {
    let object = |text: &str| {
        let value: Option<Value> = serde_json::from_str(text.trim()).ok();
        value.filter(Value::is_object)
    };
    object(text).or_else(|| object(only_fence(text)?))
}

/// Returns what stands between the two fences of a text that has just two.
fn only_fence(text: &str) -> Option<&str> {
    let mut fences = text.match_indices("```").map(|(at, _)| at);
    let (open, close) = (fences.next()?, fences.next()?);
    if fences.next().is_some() {
        return None;
    }
    let (_language, inside) = text[open + 3..close].split_once('\n')?;
    Some(inside)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_object_is_found_alone_or_in_the_one_fence() {
        let check = |text: &str| assert_eq!(json_in(text), Some(json!({ "a": 1 })), "{text}");
        check(" {\"a\":1}\n");
        check("```json\n{\"a\":1}\n```");
        check("Here you are:\n\n```\n{\"a\": 1}\n```\nBye.");
    }

    #[test]
    fn nothing_is_guessed() {
        let check = |text: &str| assert_eq!(json_in(text), None, "{text}");
        check("The result is {\"a\":1}.");
        check("[1]");
        check("```\n{\"a\":1}\n```\n```\n{\"a\":2}\n```");
        check("```json\n{\"a\":\n```");
        check("");
    }
}
