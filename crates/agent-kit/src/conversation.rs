//! Talking with an agent until its answer is accepted, within limits, and keeping count of all of it.

use uwf_protocol::failure::FailureClass;
use uwf_protocol::nodes::{Extraction, ExtractionMethod, RefusedCalls, Turn, TurnRole, Usage};
use uwf_protocol::run::Phase;
use uwf_storage::Scratch;

use crate::adapter::{Adapter, AdapterError, Reply, Task};
use crate::extract::{Extracted, Rejected, RoleSchema, echo};
use crate::extractor::{Reading, Unread};
use crate::prompt;

/// How often an agent is asked to correct its answer.
const CORRECTIONS: usize = 2;

/// How a conversation begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Opening {
    /// With the whole prompt.
    Prompt,
    /// In the session of a failed attempt, which knows the task, with what went wrong.
    Continue {
        /// The session.
        session: String,
        /// How the attempt failed.
        error: String,
        /// Whether an answer of it is on record.
        answered: bool,
        /// The instruction, if it is another than the session knows: a person may have said something since.
        instruction: Option<String>,
    },
}

/// What was said so far. Nothing of it is dropped: the first answer holds the work, the last one the form.
#[derive(Debug, Default)]
pub struct Conversation {
    /// Where it is noted what was used up before the agent is asked again: it may be ended before it answers.
    scratch: Option<Scratch>,
    exchanges: Vec<Exchange>,
    /// Whether the session that goes on has given an answer before.
    answered_before: bool,
    /// What was observed of answers that never came.
    unfinished: Vec<Turn>,
    /// The newest session.
    pub session_id: Option<String>,
    /// The model that answered last, if known.
    pub model: Option<String>,
    /// The sum over all answers; `None` if no answer tells.
    pub usage: Option<Usage>,
    /// The number of the failed attempt whose answer was accepted. What that one used up is in `usage`.
    pub answer_of: Option<u64>,
    /// The tools whose calls were refused, one entry for each call.
    refused: Vec<String>,
}

/// A message to the agent, if it was not the whole prompt, and its answer.
#[derive(Debug)]
struct Exchange {
    message: Option<String>,
    text: String,
    turns: Vec<Turn>,
}

/// A conversation that ended without an answer that fits.
#[derive(Debug, thiserror::Error)]
pub enum Unfinished {
    /// The agent failed.
    #[error(transparent)]
    Agent(AdapterError),
    /// The answer did not fit, the agent cannot or shall not be asked again, and no model could read it.
    #[error("{}{}", rejection(*attempts, last), unread.as_ref().map_or(String::new(), |unread| format!("; {unread}")))]
    Rejected {
        /// How many answers were looked at.
        attempts: usize,
        /// What is wrong with the last one.
        last: Rejected,
        /// Why the model that is configured for it could not read it; `None` if none is.
        unread: Option<Box<Unread>>,
    },
}

fn rejection(attempts: usize, last: &Rejected) -> String {
    let attempts = match attempts {
        1 => "1 attempt".to_owned(),
        attempts => format!("{attempts} attempts"),
    };
    format!("the answer was not accepted after {attempts}: {last}")
}

impl Unfinished {
    /// Returns how far it got.
    #[must_use]
    pub fn phase(&self) -> Phase {
        match self {
            Self::Agent(error) => error.phase,
            Self::Rejected { .. } => Phase::Extract,
        }
    }

    /// Returns what the agent is told about it when its session goes on: nothing of what is not its own doing.
    #[must_use]
    pub fn feedback(&self) -> String {
        match self {
            Self::Agent(error) => error.to_string(),
            Self::Rejected { attempts, last, .. } => rejection(*attempts, last),
        }
    }
}

impl Conversation {
    /// Returns one of a run, in which nothing was said yet.
    #[must_use]
    pub fn of(scratch: &Scratch) -> Self {
        Self {
            scratch: Some(scratch.clone()),
            ..Self::default()
        }
    }

    /// Takes the answer of an earlier attempt, if it fits the role as it is. What that attempt used up counts with it.
    pub fn accept(
        &mut self,
        reply: Reply,
        task: &Task,
        schema: &RoleSchema,
    ) -> Option<(Extracted, Extraction)> {
        let launched = self.scratch.as_ref().and_then(Scratch::launched);
        let (message, used, attempt) = launched.map_or((None, None, None), |launched| {
            (launched.message, launched.used_before, launched.attempt)
        });
        let asked = message.as_deref().unwrap_or(&task.prompt);
        let extracted = extract(&reply.text, asked, schema).ok()?;
        (self.usage, self.answer_of) = (used, attempt);
        self.take(message, Ok(reply)).ok()?;
        Some((extracted, self.extraction()))
    }

    /// Plays a role: opens, and asks for corrections as long as the answer does not fit. When they end, the
    /// answer is given to who reads what does not fit.
    ///
    /// # Errors
    /// When the agent fails, or its last answer does not fit; the conversation holds what was said.
    pub fn hold(
        &mut self,
        adapter: &mut dyn Adapter,
        task: &Task,
        schema: &RoleSchema,
        opening: &Opening,
        read: &mut dyn FnMut(&str) -> Reading,
    ) -> Result<(Extracted, Extraction), Unfinished> {
        self.open(adapter, task, schema, opening)?;
        loop {
            let rejected = match extract(self.answer(), self.asked(task), schema) {
                Ok(extracted) => return Ok((extracted, self.extraction())),
                Err(rejected) => rejected,
            };
            let may_ask = adapter.can_resume() && self.exchanges.len() <= CORRECTIONS;
            let Some(session) = self.session_id.clone().filter(|_| may_ask) else {
                return self.read(rejected, read);
            };
            if let (Some(scratch), Some(usage)) = (&self.scratch, &self.usage) {
                let _ = scratch.write_usage(usage);
            }
            let message = prompt::correction(&rejected.to_string(), schema.schema());
            let reply = adapter.resume(task, &session, &message);
            self.take(Some(message), reply)?;
        }
    }

    /// Gives the last answer to a reader, and counts what that used up.
    fn read(
        &mut self,
        rejected: Rejected,
        read: &mut dyn FnMut(&str) -> Reading,
    ) -> Result<(Extracted, Extraction), Unfinished> {
        // No model finds an answer where there is none. The words of a prompt are ours.
        let reading = match rejected {
            Rejected::Empty | Rejected::Echo | Rejected::Example { .. } => Reading::NotTried,
            _ if echo::shows_example(self.answer()) => Reading::NotTried,
            _ => read(self.answer()),
        };
        let unread = match reading {
            Reading::NotTried => None,
            Reading::Done(reading) => {
                self.usage = sum(self.usage.take(), Some(reading.usage));
                let extraction = Extraction {
                    method: ExtractionMethod::Llm,
                    attempts: self.attempts().saturating_add(reading.rounds),
                    model: Some(reading.model),
                };
                return Ok((reading.extracted, extraction));
            }
            Reading::Failed(unread) => {
                self.usage = sum(self.usage.take(), unread.usage.clone());
                Some(unread)
            }
        };
        Err(Unfinished::Rejected {
            attempts: self.exchanges.len(),
            last: rejected,
            unread,
        })
    }

    fn open(
        &mut self,
        adapter: &mut dyn Adapter,
        task: &Task,
        schema: &RoleSchema,
        opening: &Opening,
    ) -> Result<(), Unfinished> {
        match opening {
            Opening::Prompt => {
                (self.session_id, self.answered_before) = (None, false);
                let reply = adapter.run(task);
                self.take(None, reply)
            }
            Opening::Continue {
                session,
                error,
                answered,
                instruction,
            } => {
                let message = prompt::continuation(error, instruction.as_deref(), schema.schema());
                self.session_id = Some(session.clone());
                let reply = adapter.resume(task, session, &message);
                self.answered_before = *answered;
                self.take(Some(message), reply)
            }
        }
    }

    /// Tells whether nothing was said yet because the session that was to go on is gone.
    #[must_use]
    pub fn lacks_session(&self, unfinished: &Unfinished) -> bool {
        let is_gone = matches!(unfinished, Unfinished::Agent(error) if error.session_gone);
        is_gone && self.exchanges.is_empty()
    }

    fn take(
        &mut self,
        message: Option<String>,
        reply: Result<Reply, AdapterError>,
    ) -> Result<(), Unfinished> {
        match reply {
            Ok(reply) => {
                self.session_id = reply.session_id.or(self.session_id.take());
                self.model = reply.model.or(self.model.take());
                self.usage = sum(self.usage.take(), reply.usage);
                self.refused.extend(reply.refused);
                self.exchanges.push(Exchange {
                    message,
                    text: reply.text,
                    turns: reply.turns,
                });
                Ok(())
            }
            Err(error) => {
                self.session_id = error.session_id.clone().or(self.session_id.take());
                self.usage = sum(self.usage.take(), error.usage.as_deref().cloned());
                self.unfinished.extend(error.turns.iter().cloned());
                Err(Unfinished::Agent(error))
            }
        }
    }

    /// Returns the class of a failure to end it with an answer that fits.
    #[must_use]
    pub fn class_of(&self, unfinished: &Unfinished) -> FailureClass {
        match unfinished {
            // What was not allowed is the likeliest reason, where no other one is known.
            Unfinished::Agent(error)
                if error.class == FailureClass::Crash && !self.refused_calls().is_empty() =>
            {
                FailureClass::Permission
            }
            Unfinished::Agent(error) => error.class,
            Unfinished::Rejected { .. } if self.answer().trim().is_empty() => {
                FailureClass::NoAnswer
            }
            Unfinished::Rejected { .. } => FailureClass::BadAnswer,
        }
    }

    /// Returns the last answer; empty before the first.
    #[must_use]
    pub fn answer(&self) -> &str {
        self.exchanges.last().map_or("", |exchange| &exchange.text)
    }

    /// Returns the calls of tools that the agent was not allowed to make, by tool.
    #[must_use]
    pub fn refused_calls(&self) -> Vec<RefusedCalls> {
        RefusedCalls::count(&self.refused)
    }

    /// Returns what the agent was asked last.
    fn asked<'a>(&'a self, task: &'a Task) -> &'a str {
        let message = self
            .exchanges
            .last()
            .and_then(|last| last.message.as_deref());
        message.unwrap_or(&task.prompt)
    }

    /// Returns all turns. Those of a single answer are the adapter's; between several answers stand the
    /// messages that asked for them, and an answer without turns of its own is one.
    #[must_use]
    pub fn turns(&self) -> Vec<Turn> {
        let told_all = self.exchanges.len() == 1 && self.exchanges[0].message.is_none();
        let mut turns = Vec::new();
        for exchange in &self.exchanges {
            let message = exchange
                .message
                .iter()
                .map(|text| Turn::spoken(TurnRole::User, text));
            turns.extend(message);
            if exchange.turns.is_empty() && !told_all {
                turns.push(Turn::spoken(TurnRole::Assistant, &exchange.text));
            }
            turns.extend(exchange.turns.iter().cloned());
        }
        turns.extend(self.unfinished.iter().cloned());
        for (index, turn) in turns.iter_mut().enumerate() {
            turn.index = u32::try_from(index).unwrap_or(u32::MAX);
        }
        turns
    }

    fn extraction(&self) -> Extraction {
        let is_first = self.exchanges.len() == 1 && !self.answered_before;
        Extraction {
            method: if is_first {
                ExtractionMethod::Frontmatter
            } else {
                ExtractionMethod::Correction
            },
            attempts: self.attempts(),
            model: None,
        }
    }

    fn attempts(&self) -> u32 {
        u32::try_from(self.exchanges.len()).unwrap_or(u32::MAX)
    }
}

/// Returns the data of an answer to what was asked, which some programs print before it.
fn extract(answer: &str, asked: &str, schema: &RoleSchema) -> Result<Extracted, Rejected> {
    schema.extract(&echo::without_prompt(answer, asked)?)
}

/// Adds what two answers used up.
fn sum(one: Option<Usage>, other: Option<Usage>) -> Option<Usage> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.plus(&other)),
        (one, other) => one.or(other),
    }
}

#[cfg(test)]
mod tests;
