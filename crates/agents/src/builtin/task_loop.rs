//! The tool loop of one task: the model answers and its tools are called, until its result is accepted or a limit is
//! reached.

use std::time::Instant;

use uwf_agent_kit::llm::{Client, with_code};
use uwf_agent_kit::tool_loop::{Finish, LoopResult, Observed, Round, ToolLoop, Transcript};
use uwf_agent_kit::{AdapterError, LiveFile, ModelUsage, Reply, Task};
use uwf_protocol::failure::FailureClass;

use super::LABEL;
use super::result_schema::ResultSchema;
use super::tools::Tools;
use crate::chat::Session;
use crate::progress;

/// The tool by which the model submits its result.
pub(super) const FINISH: &str = "finish";

/// How many answers in a row may have neither a call of a tool nor an accepted result.
const CORRECTIONS: u32 = 4;

/// One task, and what the loop works with.
pub(super) struct TaskLoop<'a, 'b> {
    pub(super) task: &'a Task,
    pub(super) result_schema: &'a ResultSchema,
    pub(super) client: &'a mut Client,
    pub(super) tools: &'a mut Tools<'b>,
    pub(super) max_turns: u32,
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
            }),
            Err(error) => Err(AdapterError {
                session_id,
                turns: transcript.turns,
                usage: Some(Box::new(ModelUsage {
                    usage: transcript.usage,
                    model: transcript.model.or(Some(asked)),
                })),
                ..error
            }),
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
                    live.turn(turn);
                    progress::turn(LABEL, turn);
                }
                Observed::Text(piece) => live.delta(piece),
                Observed::Usage { usage, model } => live.usage(usage, model.or(Some(&asked))),
            },
        };
        let mut refused = 0;
        for turn in 0..self.max_turns {
            if self
                .deadline
                .is_some_and(|deadline| Instant::now() >= deadline)
            {
                return Err(out_of_time());
            }
            tool_loop.tools.turns_left = self.max_turns - turn - 1;
            let round = tool_loop.round(&mut session.messages, transcript);
            session.save()?;
            match round.map_err(|error| crate::chat::failed(&error))? {
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
