//! Answers that wait: a program finished after its engine and its adapter had died, and no step has its answer yet.

use std::fmt;
use std::path::PathBuf;

use serde::Serialize;
use uwf_protocol::config::Config;
use uwf_protocol::ids::{CasRef, RoleName, ThreadId};
use uwf_protocol::nodes::StartNode;
use uwf_protocol::permissions::Permissions;
use uwf_protocol::run::{ChosenAgent, Launched};
use uwf_storage::RunDir;
use uwf_util::shell_words;

use crate::agent_choice::{AgentChoice, PlannedAgent, planned_for};
use crate::project::config_for;
use crate::read::activity::Activity;
use crate::thread::{Thread, active_head};
use crate::{EngineError, Site};

/// The answer of a program that no step has yet: engine and adapter died before they could use it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WaitingAnswer {
    /// The role that answered.
    pub role: RoleName,
    /// The step that the answer replaces, if that step was being done again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replaces: Option<CasRef>,
    /// What the program was told with `-p`. The answer is one to these words only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub words: Option<String>,
    /// What `--agent` has to say, so that the agent is the one that answered; `None` if the config chooses it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// What `--permissions` has to say for the same reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permissions: Option<Permissions>,
    /// The agent that answered, if that is on record.
    #[serde(skip)]
    chosen: Option<ChosenAgent>,
}

/// What a call asks for: the answer that waits is one to the same only.
pub(crate) struct Asked<'a> {
    /// The config for the steps of the thread.
    pub(crate) config: &'a Config,
    /// What a person says with `-p`.
    pub(crate) words: Option<&'a str>,
    /// What the command line chose for the agent; or each agent that the config tries, if it chose none. These may drop the answers
    /// of each other: an agent is followed by its fallback when it has no attempts left.
    pub(crate) choices: &'a [AgentChoice],
}

/// The attempt whose program answered.
struct Asking {
    words: Option<String>,
    chosen: Option<ChosenAgent>,
}

impl WaitingAnswer {
    /// Returns the answer that waits at the head of a thread, as far as its files tell. The next attempt at the same place
    /// uses it, if it is complete.
    pub(crate) fn at(run: &RunDir, head: CasRef) -> Option<Self> {
        let launched = run.scratch.launched()?;
        let has_content = |file: &PathBuf| file.metadata().is_ok_and(|metadata| metadata.len() > 0);
        let is_here = launched.replaces.unwrap_or(launched.head) == head;
        let outputs = [run.scratch.answer_file(), run.scratch.events_file()];
        if !is_here || !outputs.iter().any(has_content) {
            return None;
        }
        let asking = Asking::of(run, &launched);
        let chosen = asking.as_ref().and_then(|asking| asking.chosen.clone());
        Some(Self {
            words: asking.and_then(|asking| asking.words),
            agent: chosen.as_ref().and_then(|chosen| chosen.option.clone()),
            permissions: chosen.as_ref().and_then(|it| it.permissions_option),
            chosen,
            role: launched.role,
            replaces: launched.replaces,
        })
    }

    /// Returns what the command line has to choose, so that the agent is the one that answered.
    #[must_use]
    pub fn choice(&self) -> AgentChoice {
        AgentChoice {
            agent: self.agent.clone(),
            permissions: self.permissions,
        }
    }

    /// Adds what `--agent` and `--permissions` have to say under a config: what they said, unless that is another agent now,
    /// or one that may do something else.
    pub(crate) fn under(self, config: &Config, workflow: &str) -> Self {
        let Some(chosen) = &self.chosen else {
            return self;
        };
        let planned = |choice: &AgentChoice| planned_for(config, choice, workflow, &self.role);
        let mut choice = self.choice();
        if planned(&choice).is_none_or(|planned| planned.command != chosen.command) {
            let words = chosen.command.iter().map(String::as_str);
            choice.agent = Some(shell_words::join(words));
        }
        if planned(&choice).is_none_or(|planned| planned.permissions != chosen.permissions) {
            choice.permissions = chosen.permissions;
        }
        Self {
            agent: choice.agent,
            permissions: choice.permissions,
            ..self
        }
    }

    /// Adds what `--agent` has to say as things are. An error in the config belongs to the call that starts an agent: a view
    /// is shown without it.
    pub(crate) fn in_view(self, site: &Site, start: &StartNode, workflow: &str) -> Self {
        match config_for(site, start) {
            Ok((config, _)) => self.under(&config, workflow),
            Err(_) => self,
        }
    }

    /// Returns the error of a call that would drop the answer.
    pub(crate) fn refuse(self, thread: &Thread, config: &Config, drops: Drops) -> EngineError {
        EngineError::AnswerWaits {
            thread: thread.id,
            answer: Box::new(self.under(config, thread.program.name())),
            drops,
        }
    }

    /// Tells whether this is an answer of an agent that a call chooses. An agent that is not on record or cannot be found
    /// counts as the same: the call cannot drop the answer by its choice.
    fn is_of(&self, thread: &Thread, asked: &Asked<'_>) -> bool {
        let Some(chosen) = &self.chosen else {
            return true;
        };
        let answered = PlannedAgent {
            command: chosen.command.clone(),
            permissions: chosen.permissions,
        };
        let name = thread.program.name();
        asked.choices.iter().any(|choice| {
            let planned = planned_for(asked.config, choice, name, &self.role);
            planned.is_none_or(|planned| planned == answered)
        })
    }
}

/// Why a call would drop an answer that waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Drops {
    /// It asks for something else, or works at another place.
    Question,
    /// It starts another agent.
    Agent,
    /// It drops the session that the answer belongs to.
    Session,
}

impl fmt::Display for Drops {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Question => "",
            Self::Agent => {
                ", because it chooses another agent, or other arguments or permissions for the same one"
            }
            Self::Session => " with its session",
        })
    }
}

impl Asking {
    /// Returns what is known of the attempt that started a program: the lease record of the attempt says it, or the record
    /// of the failed attempt.
    fn of(run: &RunDir, launched: &Launched) -> Option<Self> {
        let record = run.lease.read_record();
        let own = |attempt: &Option<String>| launched.mark.is_some() && *attempt == launched.mark;
        if let Some(record) = record.filter(|record| own(&record.attempt)) {
            return Some(Self {
                words: record.words,
                chosen: record.chosen,
            });
        }
        let mut attempts = run.ledger.attempts().into_iter();
        let attempt = attempts.find(|attempt| launched.attempt == Some(attempt.number))?;
        Some(Self {
            words: attempt.words,
            chosen: attempt.chosen,
        })
    }
}

/// Returns the answer that waits in a thread, if there is one and nobody works on the thread.
#[must_use]
pub fn waiting_answer(site: &Site, thread: ThreadId) -> Option<WaitingAnswer> {
    let head = active_head(site, thread).ok()?;
    let activity = Activity::at(site, &site.root.run(thread), head);
    activity.ok()?.waiting_answer
}

/// Fails if this call would drop an answer that waits: because it belongs to another place than the one that this call works
/// at, because its program was told other words, or because another agent gave it.
pub(crate) fn refuse_to_drop_an_answer(
    run: &RunDir,
    thread: &Thread,
    asked: &Asked<'_>,
) -> Result<(), EngineError> {
    let Some(answer) = WaitingAnswer::at(run, thread.expected_head()) else {
        return Ok(());
    };
    if (answer.replaces, answer.words.as_deref()) != (thread.replaces, asked.words) {
        return Err(answer.refuse(thread, asked.config, Drops::Question));
    }
    if !answer.is_of(thread, asked) {
        return Err(answer.refuse(thread, asked.config, Drops::Agent));
    }
    Ok(())
}
