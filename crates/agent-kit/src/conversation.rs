//! A conversation with an agent: messages and answers until one is accepted or the corrections are used up, and what
//! all of them used up.

mod record;

use uwf_protocol::checks::CheckResult;
use uwf_protocol::failure::FailureClass;
use uwf_protocol::nodes::{Extraction, ExtractionMethod, RefusedCalls, Turn, TurnRole, Usage};
use uwf_protocol::permissions::AskedPermission;
use uwf_protocol::prices::Prices;
use uwf_protocol::run::Phase;
use uwf_storage::{RunDir, Scratch};
use uwf_util::mask::Masks;
use uwf_util::text::counted;

use crate::adapter::{Adapter, AdapterError, ModelUsage, Reply, Task, TryAgain};
use crate::checks::{self, Asking};
use crate::extract::{Extracted, Rejected, RoleSchema, echo};
use crate::extractor::{Reading, Unread};
use crate::{masked, prompt};
pub use record::Restored;

/// How many corrections an agent is asked for.
const CORRECTIONS: usize = 2;

/// How much of the output of each failed check the feedback to a later attempt has, in bytes.
const FEEDBACK: usize = 2048;

/// How a conversation begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Opening {
    /// With the whole prompt.
    Prompt,
    /// In the session of a failed attempt, which has the task, with a message about the failure.
    Continue {
        /// The session.
        session: String,
        /// How the attempt failed.
        error: String,
        /// Whether the session has given an answer before.
        answered: bool,
        /// The instruction, if it is not the one that the session has: a person may have changed it.
        instruction: Option<String>,
    },
}

/// What was said so far. All of it is kept: the first answer describes the work, the last one has the data that fits.
#[derive(Debug, Default)]
pub struct Conversation {
    /// Where the usage is recorded before the agent is asked again, since the agent may be ended before it answers.
    scratch: Option<Scratch>,
    /// The secrets of the agent. Only what it said last is kept as it is, to read the data.
    masks: Masks,
    exchanges: Vec<Exchange>,
    /// Whether the continued session has given an answer before.
    answered_before: bool,
    /// The turns of failed calls, which gave no answer.
    unfinished: Vec<Turn>,
    /// The newest session.
    pub session_id: Option<String>,
    /// The model that answered last, if known.
    pub model: Option<String>,
    /// The usage of all answers; `None` if none reports it.
    pub usage: Option<Usage>,
    /// The numbers of the failed attempts that worked on the answer. Their usage is included in `usage`.
    pub earlier_attempts: Vec<u64>,
    /// The part of `usage` that the records of these attempts have.
    used_earlier: Option<Usage>,
    /// The tools whose calls were refused, one entry for each call.
    refused: Vec<String>,
    /// The record that the conversation goes on from, if it does.
    restored: Option<Restored>,
    /// How many of the answers a record has that the next attempt finds.
    known: usize,
    /// The call for which the last answer asks a person for permission, if it does.
    pub asked: Option<AskedPermission>,
}

/// A message to the agent, if it was not the whole prompt, and its answer.
#[derive(Debug)]
struct Exchange {
    message: Option<String>,
    /// The answer as it came.
    heard: String,
    /// The answer without secrets.
    text: String,
    turns: Vec<Turn>,
}

/// A conversation that ended without an answer that fits.
#[derive(Debug, thiserror::Error)]
pub enum Unfinished {
    /// The agent failed.
    #[error(transparent)]
    Agent(AdapterError),
    /// The answer did not fit, the agent cannot be asked again, and no model could read it.
    #[error("{}{}", rejection(*attempts, last), unread.as_ref().map_or(String::new(), |unread| format!("; {unread}")))]
    Rejected {
        /// How many answers were checked.
        attempts: usize,
        /// What is wrong with the last one.
        last: Rejected,
        /// Why the extracting model could not read it; `None` if none was asked.
        unread: Option<Box<Unread>>,
    },
    /// The answer fitted, and the checks of the role failed to the end.
    #[error("{}", checks::failure(failed, *sent_back))]
    ChecksFailed {
        /// The checks that failed.
        failed: Vec<CheckResult>,
        /// How often the agent was sent back to its work.
        sent_back: u32,
    },
    /// This process was told to stop by a signal while the checks ran. The answer stays on record.
    #[error("signal {0} interrupted the checks")]
    Stopped(i32),
}

fn rejection(attempts: usize, last: &Rejected) -> String {
    let attempts = counted(attempts, "attempt");
    format!("the answer was not accepted after {attempts}: {last}")
}

impl Unfinished {
    /// Returns the phase in which it failed.
    #[must_use]
    pub fn phase(&self) -> Phase {
        match self {
            Self::Agent(error) => error.phase,
            Self::Rejected { .. } => Phase::Extract,
            Self::ChecksFailed { .. } | Self::Stopped(_) => Phase::Checks,
        }
    }

    /// Returns when the provider of the agent allows the next call, if it says so.
    #[must_use]
    pub fn try_again(&self) -> Option<TryAgain> {
        match self {
            Self::Agent(error) => error.try_again.as_deref().copied(),
            Self::Rejected { .. } | Self::ChecksFailed { .. } | Self::Stopped(_) => None,
        }
    }

    /// Returns the feedback for the continued session. It names only errors that the agent itself caused.
    #[must_use]
    pub fn feedback(&self) -> String {
        match self {
            Self::Agent(_) | Self::Stopped(_) => self.to_string(),
            Self::Rejected { attempts, last, .. } => rejection(*attempts, last),
            Self::ChecksFailed { failed, .. } => prompt::said_by_checks(failed, FEEDBACK),
        }
    }
}

impl Conversation {
    /// Returns an empty conversation.
    #[must_use]
    pub fn of(scratch: &Scratch, masks: &Masks) -> Self {
        Self {
            scratch: Some(scratch.clone()),
            masks: masks.clone(),
            ..Self::default()
        }
    }

    /// Accepts the answer of an earlier attempt if it fits without corrections. The usage of that attempt is included.
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
        let own = self.usage.take();
        self.count(used);
        self.take(message, Ok(reply), &task.prices).ok()?;
        self.known = self.exchanges.len();
        if let Some(attempt) = attempt {
            self.settle_usage_of(attempt, &RunDir::at(task.run_dir.clone()));
        }
        self.count(own);
        self.record_usage();
        Some((extracted, self.extraction()))
    }

    /// Runs the conversation: opens it and asks for corrections while the answer does not fit. When the corrections are
    /// used up, `read` gets the last answer.
    ///
    /// # Errors
    /// When the agent fails, or its last answer does not fit; the conversation holds what was said.
    pub fn run(
        &mut self,
        adapter: &mut dyn Adapter,
        task: &Task,
        schema: &RoleSchema,
        opening: &Opening,
        read: &mut dyn FnMut(&str) -> Reading,
    ) -> Result<(Extracted, Extraction), Unfinished> {
        self.open(adapter, task, schema, opening)?;
        self.settle(adapter, task, schema, read)
    }

    /// Sends an agent whose answer fitted back to its work, and asks for corrections as before. An agent without a session gets a
    /// whole new prompt.
    ///
    /// # Errors
    /// As of [`run`](Self::run).
    pub(crate) fn send_back(
        &mut self,
        asking: &mut Asking<'_>,
        failed: &[CheckResult],
    ) -> Result<(Extracted, Extraction), Unfinished> {
        let task = asking.task;
        self.record_asking();
        // From now on the files are those of another answer. If this attempt is killed, the next one must not use this one.
        if let Some(scratch) = &self.scratch {
            let _ = scratch.clear_answered();
        }
        let session = self.session_id.as_deref();
        let (message, reply) = match session.filter(|_| asking.adapter.can_resume()) {
            Some(session) => {
                let message = prompt::failed_checks(failed, asking.schema.schema());
                let reply = asking.adapter.resume(task, session, &message);
                (message, reply)
            }
            None => {
                let prompt = prompt::again_after_checks(&task.prompt, self.answer(), failed);
                let reply = asking.adapter.run_again(task, &prompt);
                (prompt, reply)
            }
        };
        self.take(Some(message), reply, &task.prices)?;
        self.settle(asking.adapter, task, asking.schema, asking.read)
    }

    /// Asks for corrections while the last answer does not fit.
    fn settle(
        &mut self,
        adapter: &mut dyn Adapter,
        task: &Task,
        schema: &RoleSchema,
        read: &mut dyn FnMut(&str) -> Reading,
    ) -> Result<(Extracted, Extraction), Unfinished> {
        let first = self.exchanges.len();
        loop {
            let rejected = match extract(self.heard(), self.asked(task), schema) {
                Ok(extracted) => return Ok((extracted, self.extraction())),
                Err(rejected) => rejected,
            };
            let may_ask = adapter.can_resume() && self.exchanges.len() - first < CORRECTIONS;
            let Some(session) = self.session_id.clone().filter(|_| may_ask) else {
                return self.read(rejected, read);
            };
            self.record_usage();
            let message = prompt::correction(&rejected.to_string(), schema.schema());
            let reply = adapter.resume(task, &session, &message);
            self.take(Some(message), reply, &task.prices)?;
        }
    }

    /// Passes the last answer to `read`, and adds what that used up.
    fn read(
        &mut self,
        rejected: Rejected,
        read: &mut dyn FnMut(&str) -> Reading,
    ) -> Result<(Extracted, Extraction), Unfinished> {
        // There is nothing to read in an answer that is empty or repeats our own prompt.
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
                self.take(None, reply, &task.prices)
            }
            Opening::Continue {
                session,
                error,
                answered,
                instruction,
            } => {
                let note = task.decided.as_ref().map(prompt::decided);
                let message = prompt::continuation(error, instruction.as_deref(), schema.schema())
                    + &note.unwrap_or_default();
                self.session_id = Some(session.clone());
                let reply = adapter.resume(task, session, &message);
                self.answered_before = *answered;
                self.take(Some(message), reply, &task.prices)
            }
        }
    }

    /// Tells whether the first message failed because the session to continue is gone.
    #[must_use]
    pub fn lacks_session(&self, unfinished: &Unfinished) -> bool {
        let is_gone = matches!(unfinished, Unfinished::Agent(error) if error.session_gone);
        is_gone && self.exchanges.is_empty()
    }

    fn take(
        &mut self,
        message: Option<String>,
        reply: Result<Reply, AdapterError>,
        prices: &Prices,
    ) -> Result<(), Unfinished> {
        match reply {
            Ok(reply) => {
                let masks = &self.masks;
                let session = reply.session_id.filter(|id| masked::is_free(id, masks));
                let model = reply.model.map(|model| masks.text(&model));
                let refused = reply.refused.iter().map(|tool| masks.text(tool));
                self.refused.extend(refused);
                self.asked = reply.asked.map(|asked| asked.masked(masks));
                self.exchanges.push(Exchange {
                    message,
                    text: masks.text(&reply.text),
                    heard: reply.text,
                    turns: masked::turns(&reply.turns, masks),
                });
                self.session_id = session.or(self.session_id.take());
                self.model = model.or(self.model.take());
                self.add_usage(reply.usage, prices);
                Ok(())
            }
            Err(error) => {
                let error = masked::error(error, &self.masks);
                self.session_id = error.session_id.clone().or(self.session_id.take());
                if let Some(ModelUsage { usage, model }) = error.usage.as_deref().cloned() {
                    self.model = model.or(self.model.take());
                    self.add_usage(Some(usage), prices);
                }
                self.unfinished.extend(error.turns.iter().cloned());
                Err(Unfinished::Agent(error))
            }
        }
    }

    /// Adds what was used up beside the answers.
    pub fn count(&mut self, usage: Option<Usage>) {
        self.usage = sum(self.usage.take(), usage);
    }

    /// Adds what the model used up. It cost what the agent tells, or else what its tokens cost.
    fn add_usage(&mut self, usage: Option<Usage>, prices: &Prices) {
        let priced = usage.map(|usage| prices.priced(&usage, self.model.as_deref()));
        self.usage = sum(self.usage.take(), priced);
    }

    /// Returns the failure class of a conversation that ended without an answer that fits.
    #[must_use]
    pub fn class_of(&self, unfinished: &Unfinished) -> FailureClass {
        match unfinished {
            // Without a known reason, refused calls are the likeliest one.
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
            Unfinished::ChecksFailed { .. } => FailureClass::ChecksFailed,
            Unfinished::Stopped(_) => FailureClass::Cancelled,
        }
    }

    /// Returns the last answer as it came.
    fn heard(&self) -> &str {
        self.exchanges.last().map_or("", |exchange| &exchange.heard)
    }

    /// Returns the last answer without secrets; empty before the first.
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

    /// Returns all turns: for each exchange the message and the turns of the adapter. An answer without turns becomes a
    /// turn itself, except in a conversation of one prompt and one answer.
    #[must_use]
    pub fn turns(&self) -> Vec<Turn> {
        let is_single = self.exchanges.len() == 1 && self.exchanges[0].message.is_none();
        let mut turns = Vec::new();
        for exchange in &self.exchanges {
            let message = exchange
                .message
                .iter()
                .map(|text| Turn::spoken(TurnRole::User, text));
            turns.extend(message);
            if exchange.turns.is_empty() && !is_single {
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

/// Returns the data of an answer. Some programs print the prompt before their answer; it is cut out.
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
