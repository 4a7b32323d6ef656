//! The tool loop: a model answers and calls tools until it submits a result.
//!
//! This module decides what the model is told next, and when to stop. Its callers decide what the tools do and which
//! result is accepted; [`crate::llm`] calls the model.

use serde_json::Value;
use uwf_protocol::nodes::{Answered, Outcome, ToolCall, Turn, TurnRole, Usage};
use uwf_protocol::prices::Prices;

use uwf_util::text::cut_line;

use crate::llm::{
    Answer, ChatReply, ChatRequest, Client, LlmError, Message, ToolRequest, ToolSpec,
};

/// How much of an answer without a result an error quotes, in characters.
const EXCERPT: usize = 200;

/// What the model is told of the call that submitted its result.
const SUBMITTED: &str = "submitted";

/// What a model may call.
pub trait Toolbox {
    /// Returns the tools.
    fn specs(&self) -> Vec<ToolSpec>;

    /// Calls one of them and returns a text for the model. That of a failed call begins with `error:`.
    fn call(&mut self, request: &ToolRequest) -> String;
}

/// How the model submits its result: by a tool of this name, or as plain JSON.
pub struct Finish<'a> {
    /// The name of the tool.
    pub name: &'a str,
    /// What it is for, for the model.
    pub description: &'a str,
    /// The JSON Schema of the result.
    pub parameters: Value,
    /// Checks a result. The error says what is wrong, and goes to the model.
    pub accept: &'a dyn Fn(&Value) -> Result<(), String>,
    /// Checks an answer as free text before it is read as JSON.
    pub accept_text: Option<&'a AcceptText<'a>>,
}

/// Checks a result in free text. Returns `None` for a text that is no result at all.
pub type AcceptText<'a> = dyn Fn(&str) -> Option<Result<(), String>> + 'a;

/// An accepted result, in the form in which the model submitted it.
#[derive(Debug, Clone, PartialEq)]
pub enum LoopResult {
    /// As data.
    Data(Value),
    /// As free text.
    Text(String),
}

/// A loop: the model that it asks, the tools, and how the model submits its result.
///
/// Without tools the finishing tool is not offered either. The model is asked for JSON that fits the schema.
pub struct ToolLoop<'a, T: Toolbox + ?Sized> {
    /// The client of the model.
    pub client: &'a mut Client,
    /// What the model may call.
    pub tools: &'a mut T,
    /// How the model submits its result.
    pub finish: Finish<'a>,
    /// Whether answers are to come in pieces.
    pub stream: bool,
    /// Called with everything that happens.
    pub observe: &'a mut dyn FnMut(Observed<'_>),
}

/// How long a loop may go on.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// How often the model is asked at most.
    pub rounds: u32,
    /// How many answers in a row may be neither a result nor a call of a tool.
    pub corrections: u32,
}

/// How one round ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Round {
    /// A result was accepted.
    Done(LoopResult),
    /// Tools were called: the model is to be asked again.
    CalledTools,
    /// There was neither, for this reason. The feedback for the model is in the messages; it can be asked again.
    Refused(String),
}

/// Something that happened.
pub enum Observed<'a> {
    /// A turn is complete.
    Turn(&'a Turn),
    /// A piece of an answer has come.
    Text(&'a str),
    /// An answer is complete.
    Usage {
        /// The sum over all of them.
        usage: &'a Usage,
        /// The model, by the provider's word.
        model: Option<&'a str>,
    },
}

/// What happened so far.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Transcript {
    /// All turns.
    pub turns: Vec<Turn>,
    /// The sum over all answers.
    pub usage: Usage,
    /// How often the model was asked.
    pub rounds: u32,
    /// The model that answered last, by the provider's word.
    pub model: Option<String>,
}

impl Transcript {
    /// Returns the model, which is the one that was asked unless the provider named another, and what it used up with what
    /// that cost; `None` if it used up nothing.
    #[must_use]
    pub fn spent(&self, asked: &str, prices: &Prices) -> (String, Option<Usage>) {
        let model = self.model.as_deref().unwrap_or(asked);
        let is_any = self.usage != Usage::default();
        let usage = is_any.then(|| prices.priced(&self.usage, Some(model)));
        (model.to_owned(), usage)
    }
}

/// A loop that ended with a result.
#[derive(Debug, Clone, PartialEq)]
pub struct Finished {
    /// The result.
    pub result: LoopResult,
    /// What happened.
    pub transcript: Transcript,
}

/// A loop that ended without one.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{cause}")]
pub struct ToolLoopError {
    /// Why.
    pub cause: Cause,
    /// What happened.
    pub transcript: Transcript,
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

impl ToolLoopError {
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
    /// The message to the model.
    feedback: String,
}

impl<T: Toolbox + ?Sized> ToolLoop<'_, T> {
    /// Asks the model until it submits a result that is accepted. All that is said is added to the messages, so that
    /// the conversation can be saved and continued.
    ///
    /// # Errors
    /// When a call fails, the rounds are used up, or the model submits no result although it was told to.
    pub fn run(
        &mut self,
        messages: &mut Vec<Message>,
        limits: Limits,
    ) -> Result<Finished, Box<ToolLoopError>> {
        let mut transcript = Transcript::default();
        match self.until_done(messages, &mut transcript, limits) {
            Ok(result) => Ok(Finished { result, transcript }),
            Err(cause) => Err(Box::new(ToolLoopError { cause, transcript })),
        }
    }

    fn until_done(
        &mut self,
        messages: &mut Vec<Message>,
        transcript: &mut Transcript,
        limits: Limits,
    ) -> Result<LoopResult, Cause> {
        let mut refused = 0;
        while transcript.rounds < limits.rounds {
            match self.round(messages, transcript).map_err(Cause::Llm)? {
                Round::Done(result) => return Ok(result),
                Round::CalledTools => refused = 0,
                Round::Refused(problem) if refused == limits.corrections => {
                    return Err(Cause::NoResult(problem));
                }
                Round::Refused(_) => refused += 1,
            }
        }
        Err(Cause::MaxRounds(limits.rounds))
    }

    /// Asks the model once, and calls the tools that it wants.
    ///
    /// # Errors
    /// When the model cannot be asked.
    pub fn round(
        &mut self,
        messages: &mut Vec<Message>,
        transcript: &mut Transcript,
    ) -> Result<Round, LlmError> {
        let tools = self.offered();
        let reply = self.ask(&tools, messages, transcript)?;
        messages.push(Message::Assistant {
            text: reply.text.clone(),
            tool_calls: reply.tool_calls.clone(),
        });
        self.observe(transcript, assistant(&reply));
        if !reply.tool_calls.is_empty() {
            return Ok(self.dispatch(&reply.tool_calls, messages, transcript));
        }
        Ok(match self.result_in(&reply.text, !tools.is_empty()) {
            Ok(result) => Round::Done(result),
            Err(refusal) => {
                self.observe(transcript, Turn::spoken(TurnRole::User, &refusal.feedback));
                messages.push(Message::User(refusal.feedback));
                Round::Refused(refusal.problem)
            }
        })
    }

    /// Returns the tools and the finishing one. Without tools there is no finishing one either.
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

    /// Asks the model something beside the loop. What it uses up counts; what is said is in no turn.
    ///
    /// # Errors
    /// When the model cannot be asked.
    pub fn ask_aside(
        &mut self,
        messages: &[Message],
        transcript: &mut Transcript,
    ) -> Result<String, LlmError> {
        let request = ChatRequest::plain(messages);
        let reply = self.client.chat(&request, &mut |_| ())?;
        self.count(transcript, &reply);
        Ok(reply.text)
    }

    fn ask(
        &mut self,
        tools: &[ToolSpec],
        messages: &[Message],
        transcript: &mut Transcript,
    ) -> Result<ChatReply, LlmError> {
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
        transcript.rounds += 1;
        let observe = &mut *self.observe;
        let reply = self
            .client
            .chat(&request, &mut |text| observe(Observed::Text(text)))?;
        self.count(transcript, &reply);
        Ok(reply)
    }

    fn count(&mut self, transcript: &mut Transcript, reply: &ChatReply) {
        transcript.usage = transcript.usage.plus(&reply.usage);
        transcript.model = reply.model.clone().or(transcript.model.take());
        (self.observe)(Observed::Usage {
            usage: &transcript.usage,
            model: transcript.model.as_deref(),
        });
    }

    /// Looks for a result in an answer without tool calls.
    fn result_in(&self, text: &str, has_tools: bool) -> Result<LoopResult, Refusal> {
        if let Some(checked) = self.finish.accept_text.and_then(|accept| accept(text)) {
            return match checked {
                Ok(()) => Ok(LoopResult::Text(text.to_owned())),
                Err(problem) => Err(not_accepted(problem)),
            };
        }
        let Some(value) = json_in(text) else {
            return Err(self.no_result(text, has_tools));
        };
        match (self.finish.accept)(&value) {
            Ok(()) => Ok(LoopResult::Data(value)),
            Err(problem) => Err(not_accepted(problem)),
        }
    }

    fn no_result(&self, text: &str, has_tools: bool) -> Refusal {
        let feedback = if has_tools {
            format!(
                "Your message was neither a tool call nor a result. Call a tool, or call `{}` to submit the result.",
                self.finish.name
            )
        } else {
            "Your message was not a JSON object. Answer with one JSON object that fits the schema, and nothing else."
                    .to_owned()
        };
        let problem = match text.trim() {
            "" => "it said nothing".to_owned(),
            text => format!("it said \"{}\"", cut_line(text, EXCERPT)),
        };
        Refusal { problem, feedback }
    }

    /// Calls the tools in their order. An accepted result ends the round at once.
    fn dispatch(
        &mut self,
        calls: &[ToolRequest],
        messages: &mut Vec<Message>,
        transcript: &mut Transcript,
    ) -> Round {
        let mut round = Round::CalledTools;
        for call in calls {
            let text = if call.name == self.finish.name {
                match self.submitted(&call.arguments) {
                    Ok(value) => {
                        // In no turn: it is there for a conversation that goes on after the result.
                        messages.push(Message::Tool {
                            call_id: call.id.clone(),
                            text: SUBMITTED.to_owned(),
                        });
                        return Round::Done(LoopResult::Data(value));
                    }
                    Err(problem) => {
                        let text = format!("error: {problem}");
                        round = Round::Refused(problem);
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
            self.observe(transcript, Turn { answers, ..turn });
            messages.push(Message::Tool {
                call_id: call.id.clone(),
                text,
            });
        }
        round
    }

    fn submitted(&self, arguments: &str) -> Result<Value, String> {
        let value: Value = serde_json::from_str(arguments)
            .map_err(|error| format!("the arguments are not JSON: {error}"))?;
        (self.finish.accept)(&value)?;
        Ok(value)
    }

    /// Adds a turn to the transcript.
    pub fn observe(&mut self, transcript: &mut Transcript, mut turn: Turn) {
        turn.index = u32::try_from(transcript.turns.len()).unwrap_or(u32::MAX);
        (self.observe)(Observed::Turn(&turn));
        transcript.turns.push(turn);
    }
}

fn not_accepted(problem: String) -> Refusal {
    Refusal {
        feedback: format!(
            "Your result was not accepted: {problem}. Correct it and submit it again."
        ),
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

/// Reads an answer that is one JSON object, or has one as the content of its only code fence.
fn json_in(text: &str) -> Option<Value> {
    let object = |text: &str| {
        let value: Option<Value> = serde_json::from_str(text.trim()).ok();
        value.filter(Value::is_object)
    };
    object(text).or_else(|| object(only_fence(text)?))
}

/// Returns the content of the only fenced block of a text.
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
