//! The tool loop of one task: the model answers and its tools are called, until its result is accepted or a limit is
//! reached.

use std::time::Instant;

use uwf_agent_kit::llm::{Client, Message, with_code};
use uwf_agent_kit::tool_loop::{Finish, LoopResult, Observed, Round, ToolLoop, Transcript};
use uwf_agent_kit::{AdapterError, LiveFile, ModelUsage, Reply, Task};
use uwf_protocol::failure::FailureClass;
use uwf_protocol::nodes::{Turn, TurnRole};

use super::LABEL;
use super::compaction::{Compacted, Compaction, PROMPT, Parts, size};
use super::tools::Tools;
use crate::chat::{Session, failed, go_on};
use crate::progress;
use crate::result_schema::ResultSchema;

/// The tool by which the model submits its result.
pub(super) const FINISH: &str = "finish";

/// How many answers in a row may have neither a call of a tool nor an accepted result.
const CORRECTIONS: u32 = 4;
/// How often the model is asked for one summary of a conversation.
const SUMMARIES: u32 = 3;

/// One task, and what the loop works with.
pub(super) struct TaskLoop<'a, 'b> {
    pub(super) task: &'a Task,
    pub(super) result_schema: &'a ResultSchema,
    pub(super) client: &'a mut Client,
    pub(super) tools: &'a mut Tools<'b>,
    pub(super) max_turns: u32,
    pub(super) compaction: Compaction,
    pub(super) deadline: Option<Instant>,
}

impl TaskLoop<'_, '_> {
    /// Runs the loop. The session holds what was said, also after an error.
    ///
    /// # Errors
    /// When the model cannot be asked, submits no result, or reaches a limit.
    pub(super) fn run(mut self, session: &mut Session) -> Result<Reply, AdapterError> {
        let mut transcript = Transcript::default();
        let mut live = LiveFile::of(self.task);
        live.session(&session.id);
        let result = self.until_done(session, &mut transcript, &mut live);
        let session_id = Some(session.id.clone());
        let refused = std::mem::take(&mut self.tools.refused);
        let asked = self.client.endpoint().model.clone();
        match result {
            Ok(text) => Ok(Reply {
                text,
                session_id,
                // Not every server says which model answered.
                model: transcript.model.or(Some(asked)),
                turns: transcript.turns,
                usage: Some(transcript.usage),
                refused,
                ..Reply::default()
            }),
            Err(error) => {
                let last = error.usage.as_ref().map(|last| &last.usage);
                let usage = last.map_or_else(
                    || transcript.usage.clone(),
                    |last| transcript.usage.plus(last),
                );
                Err(AdapterError {
                    session_id,
                    turns: transcript.turns,
                    usage: Some(Box::new(ModelUsage {
                        usage,
                        model: transcript.model.or(Some(asked)),
                    })),
                    ..error
                })
            }
        }
    }

    fn until_done(
        &mut self,
        session: &mut Session,
        transcript: &mut Transcript,
        live: &mut LiveFile,
    ) -> Result<String, AdapterError> {
        let result_schema = self.result_schema;
        let description = format!(
            "Submits your result and ends your work. {}",
            result_schema.explain()
        );
        let asked = self.client.endpoint().model.clone();
        let mut tool_loop = ToolLoop {
            client: &mut *self.client,
            tools: &mut *self.tools,
            finish: Finish {
                name: FINISH,
                description: &description,
                parameters: result_schema.parameters().clone(),
                accept: &|value| result_schema.answer(value).map(|_| ()),
                accept_text: Some(&|text| result_schema.check_text(text)),
            },
            stream: true,
            observe: &mut |what| match what {
                Observed::Turn(turn) => {
                    progress::turn(LABEL, live, turn);
                }
                Observed::Text(piece) => live.delta(piece),
                Observed::Usage { usage, model } => live.usage(usage, model.or(Some(&asked))),
            },
        };
        let mut refused = 0;
        for turn in 0..self.max_turns {
            may_ask(self.deadline)?;
            tool_loop.tools.turns_left = self.max_turns - turn - 1;
            let mut room = Room {
                task: self.task,
                compaction: &mut self.compaction,
                tool_loop: &mut tool_loop,
            };
            match room.round(session, transcript)? {
                Round::Done(LoopResult::Data(value)) => {
                    return result_schema.answer(&value).map_err(AdapterError::failed);
                }
                Round::Done(LoopResult::Text(text)) => return Ok(text),
                Round::CalledTools => refused = 0,
                Round::Refused(problem) if refused == CORRECTIONS => {
                    return Err(no_result(&problem));
                }
                Round::Refused(_) => refused += 1,
            }
        }
        Err(out_of_turns(self.max_turns))
    }
}

/// A round of the loop, for which room is made in the conversation if it is too long.
struct Room<'a, 'l, 't> {
    task: &'a Task,
    compaction: &'a mut Compaction,
    tool_loop: &'a mut ToolLoop<'l, Tools<'t>>,
}

impl Room<'_, '_, '_> {
    fn round(
        &mut self,
        session: &mut Session,
        transcript: &mut Transcript,
    ) -> Result<Round, AdapterError> {
        if self.compaction.is_due(&session.messages) {
            self.make(session, transcript)?;
        }
        loop {
            let before = transcript.usage.clone();
            let round = self.tool_loop.round(&mut session.messages, transcript);
            session.save()?;
            let error = match round {
                Ok(round) => {
                    let messages = &session.messages;
                    self.compaction
                        .answered(&before, &transcript.usage, messages);
                    return Ok(round);
                }
                Err(error) => error,
            };
            let is_too_long = error.class() == FailureClass::ContextTooLong;
            let may = is_too_long && self.compaction.may_go_on();
            if !(may && self.make(session, transcript)?) {
                return Err(failed(&error));
            }
        }
    }

    /// Makes the conversation shorter, on the disk, too. Returns whether that was possible.
    fn make(
        &mut self,
        session: &mut Session,
        transcript: &mut Transcript,
    ) -> Result<bool, AdapterError> {
        let (messages, said) = match self.compaction.compact(&session.messages) {
            None => return Ok(false),
            Some(Compacted::Cut(messages)) => {
                let said = "Older results of tools were cut.".to_owned();
                (messages, said)
            }
            Some(Compacted::Summarize(parts)) => {
                let most = size(&session.messages) / 2;
                let summary = self.summary(&parts, most, transcript)?;
                let said = format!("This summary took the place of its older part:\n\n{summary}");
                (parts.with_summary(&self.task.prompt, &summary), said)
            }
        };
        session.replace(messages)?;
        let turn = Turn::spoken(
            TurnRole::User,
            &format!("The conversation was too long for the model. {said}"),
        );
        self.tool_loop.observe(transcript, turn);
        Ok(true)
    }

    /// Lets the model summarize the older part. If the older part is too long for one request, only its newest half is summarized.
    fn summary(
        &mut self,
        parts: &Parts,
        most: usize,
        transcript: &mut Transcript,
    ) -> Result<String, AdapterError> {
        let mut most = most;
        for _ in 0..SUMMARIES {
            let Some(material) = parts.material(most) else {
                break;
            };
            let messages = [Message::System(PROMPT.to_owned()), Message::User(material)];
            match self.tool_loop.ask_aside(&messages, transcript) {
                Ok(text) if text.trim().is_empty() => {}
                Ok(text) => return Ok(text),
                Err(error) if error.class() == FailureClass::ContextTooLong => most /= 2,
                Err(error) => return Err(failed(&error)),
            }
        }
        let message = "the conversation is too long for the model, and could not be summarized";
        Err(AdapterError::failed(message).class(FailureClass::ContextTooLong))
    }
}

/// Tells whether the model may be asked once more.
fn may_ask(deadline: Option<Instant>) -> Result<(), AdapterError> {
    go_on()?;
    match deadline {
        Some(deadline) if Instant::now() >= deadline => Err(out_of_time()),
        Some(_) | None => Ok(()),
    }
}

fn out_of_time() -> AdapterError {
    AdapterError::failed("the time for this step is over, and there is no result")
        .class(FailureClass::Timeout)
        .hint("raise `--timeout`")
}

fn no_result(problem: &str) -> AdapterError {
    let message = format!("the model handed in no result: {problem}");
    AdapterError::failed(with_code(&message, "no_result")).class(FailureClass::BadAnswer)
}

fn out_of_turns(most: u32) -> AdapterError {
    let message = format!("the model handed in no result within {most} turns");
    AdapterError::failed(with_code(&message, "max_rounds_exceeded"))
        .class(FailureClass::NoAnswer)
        .hint("raise `--max-turns`, or give the role less to do; the next attempt goes on")
}
