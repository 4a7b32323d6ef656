//! The rounds of one task: the model answers, its tools are called, until its result is accepted or a limit is
//! reached.

use std::time::Instant;

use uwf_agent_kit::llm::{Client, with_code};
use uwf_agent_kit::reactor::{Cause, Finish, Handed, Observed, Reactor, ReactorError};
use uwf_agent_kit::{AdapterError, Live, Reply, Task};
use uwf_protocol::failure::FailureClass;
use uwf_protocol::nodes::{Turn, Usage};

use super::LABEL;
use super::form::Form;
use super::tools::Tools;
use crate::chat::Session;
use crate::told;

/// The tool by which the model hands in its result.
pub(super) const FINISH: &str = "finish";

/// How often in a row a model may answer with neither a call of a tool nor an accepted result.
const CORRECTIONS: u32 = 4;
/// What the rounds need.
pub(super) struct Rounds<'a, 'b> {
    pub(super) task: &'a Task,
    pub(super) form: &'a Form,
    pub(super) client: &'a mut Client,
    pub(super) tools: &'a mut Tools<'b>,
    pub(super) max_turns: u32,
    pub(super) deadline: Option<Instant>,
}

/// What happened so far.
#[derive(Default)]
struct Record {
    turns: Vec<Turn>,
    usage: Usage,
    model: Option<String>,
}

/// How one round ended.
enum Round {
    /// With this answer.
    Done(String),
    /// With calls of tools: there will be another one.
    GoOn,
    /// With neither, for this reason.
    Refused(String),
}

impl Rounds<'_, '_> {
    /// Runs them. Whatever comes of it, the session holds what was said.
    pub(super) fn run(mut self, session: &mut Session) -> Result<Reply, AdapterError> {
        let mut record = Record::default();
        let mut live = Live::of(self.task);
        live.session(&session.id);
        let result = self.until_done(session, &mut record, &mut live);
        let session_id = Some(session.id.clone());
        let refused = std::mem::take(&mut self.tools.refused);
        let asked = self.client.endpoint().model.clone();
        match result {
            Ok(text) => Ok(Reply {
                text,
                session_id,
                // Not every server says which model answered.
                model: record.model.or(Some(asked)),
                turns: record.turns,
                usage: Some(record.usage),
                refused,
            }),
            Err(error) => Err(AdapterError {
                session_id,
                turns: record.turns,
                usage: Some(Box::new(record.usage)),
                ..error
            }),
        }
    }

    fn until_done(
        &mut self,
        session: &mut Session,
        record: &mut Record,
        live: &mut Live,
    ) -> Result<String, AdapterError> {
        let mut refused = 0;
        for turn in 0..self.max_turns {
            if self
                .deadline
                .is_some_and(|deadline| Instant::now() >= deadline)
            {
                let message = "the time for this step is over, and there is no result";
                return Err(AdapterError::failed(message)
                    .class(FailureClass::Timeout)
                    .hint("raise `--timeout`"));
            }
            self.tools.turns_left = self.max_turns - turn - 1;
            let round = self.round(session, record, live);
            live.usage(&record.usage);
            session.keep()?;
            match round? {
                Round::Done(text) => return Ok(text),
                Round::GoOn => refused = 0,
                Round::Refused(problem) => {
                    refused += 1;
                    if refused > CORRECTIONS {
                        let message = format!("the model handed in no result: {problem}");
                        let message = with_code(&message, "no_result");
                        return Err(AdapterError::failed(message).class(FailureClass::BadAnswer));
                    }
                }
            }
        }
        let message = format!(
            "the model handed in no result within {} turns",
            self.max_turns
        );
        let message = with_code(&message, "max_rounds_exceeded");
        Err(AdapterError::failed(message)
            .class(FailureClass::NoAnswer)
            .hint("raise `--max-turns`, or give the role less to do; the next attempt goes on"))
    }

    /// Lets the model answer once.
    fn round(
        &mut self,
        session: &mut Session,
        record: &mut Record,
        live: &mut Live,
    ) -> Result<Round, AdapterError> {
        let form = self.form;
        let accept = |value: &_| form.answer(value).map(|_| ());
        let description = format!(
            "Hands in your result and ends your work. {}",
            form.explain()
        );
        let ended = Reactor {
            client: self.client,
            tools: self.tools,
            finish: Finish {
                name: FINISH,
                description: &description,
                parameters: form.parameters().clone(),
                accept: &accept,
                accept_text: Some(&|text| form.check_text(text)),
            },
            max_rounds: 1,
            corrections: 0,
            stream: true,
            observe: &mut |what| match what {
                Observed::Turn(turn) => {
                    live.turn(turn);
                    told::turn(LABEL, turn);
                }
                Observed::Text(piece) => live.delta(piece),
            },
        }
        .run(&mut session.messages);
        match ended {
            Ok(reaction) => {
                record.add(reaction.turns, &reaction.usage, reaction.model);
                let text = match reaction.handed {
                    Handed::Data(value) => form.answer(&value).map_err(AdapterError::failed)?,
                    Handed::Text(text) => text,
                };
                Ok(Round::Done(text))
            }
            Err(error) => {
                let ReactorError {
                    cause,
                    turns,
                    usage,
                    model,
                    ..
                } = *error;
                record.add(turns, &usage, model);
                match cause {
                    Cause::MaxRounds(_) => Ok(Round::GoOn),
                    Cause::NoResult(problem) => Ok(Round::Refused(problem)),
                    Cause::Llm(llm) => Err(crate::chat::failed(&llm)),
                }
            }
        }
    }
}

impl Record {
    fn add(&mut self, turns: Vec<Turn>, usage: &Usage, model: Option<String>) {
        self.turns.extend(turns);
        self.usage = self.usage.plus(usage);
        self.model = model.or(self.model.take());
    }
}
