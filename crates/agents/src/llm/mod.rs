//! The agent that is a model and nothing else: one completion, streamed to the step's live file.
//!
//! `uwf-llm [options] <thread> <role>`. The prompt is the kit's. Corrections and later visits continue the same
//! session.

use std::time::Duration;

use uwf_agent_kit::llm::{Answer, CallLimits, ChatReply, ChatRequest, Client, Message};
use uwf_agent_kit::{Adapter, AdapterError, LiveFile, ModelUsage, Reply, Task};
use uwf_protocol::failure::FailureClass;
use uwf_protocol::nodes::{Turn, TurnRole};
use uwf_storage::{Env, Root};

use crate::call;
use crate::chat::{self, Session};
use crate::options::{self, Known};
use crate::progress;

const LABEL: &str = "uwf-llm";

pub(crate) const USAGE: &str = "uwf-llm [--model <alias>] [--system <text>] [--max-tokens <number>] \
    [--timeout <duration>] <thread> <role>";

pub(crate) const OPTIONS: [Known; 4] = [
    Known::Valued(
        "--model",
        "The alias of a model of the config; unset: that of agents",
    ),
    Known::Valued("--system", "What the model is told before the first prompt"),
    Known::Valued("--max-tokens", "How many tokens it may write"),
    Known::Valued("--timeout", "How long one answer may take; unset: 10m"),
];

/// Serves one call.
pub(crate) fn serve(args: &[String], env: &Env) -> anyhow::Result<i32> {
    let (own, call) = call::split(args)?;
    let mut llm = Llm {
        options: Options::parse(own).map_err(anyhow::Error::msg)?,
        root: Root::resolve(None, env)?,
        env,
        client: None,
    };
    Ok(uwf_agent_kit::serve(&mut llm, &call, env))
}

#[derive(Default)]
struct Options {
    model: Option<String>,
    system: Option<String>,
    max_tokens: Option<u64>,
    timeout: Option<Duration>,
}

impl Options {
    fn parse(args: &[String]) -> Result<Self, String> {
        let arguments = options::parse(args, &OPTIONS)?;
        if arguments.rest.is_some() {
            return Err("nothing may stand after `--`".to_owned());
        }
        let mut options = Self::default();
        for (name, value) in arguments.options {
            let value = value.unwrap_or_default();
            match name {
                "--model" => options.model = Some(value),
                "--system" => options.system = Some(value),
                "--max-tokens" => {
                    let number = value.parse().ok().filter(|number| *number > 0);
                    let number = number.ok_or_else(|| format!("`{value}` is no number of tokens"));
                    options.max_tokens = Some(number?);
                }
                _ => options.timeout = Some(options::duration(&value)?),
            }
        }
        Ok(options)
    }
}

struct Llm<'a> {
    options: Options,
    root: Root,
    env: &'a Env,
    client: Option<Client>,
}

impl Adapter for Llm<'_> {
    fn label(&self) -> String {
        LABEL.to_owned()
    }

    fn can_resume(&self) -> bool {
        true
    }

    fn run(&mut self, task: &Task) -> Result<Reply, AdapterError> {
        if let Some(session) = &task.session {
            return self.resume(task, session, &task.prompt);
        }
        let session = Session::start(task, self.env, self.options.system.clone());
        self.ask(task, session, &task.prompt)
    }

    fn resume(&mut self, task: &Task, session: &str, message: &str) -> Result<Reply, AdapterError> {
        let session = Session::load(task, session).ok_or_else(|| chat::gone(session))?;
        self.ask(task, session, message)
    }
}

impl Llm<'_> {
    fn ask(
        &mut self,
        task: &Task,
        mut session: Session,
        message: &str,
    ) -> Result<Reply, AdapterError> {
        chat::go_on()?;
        session.ask(message);
        session.save()?;
        let mut live = LiveFile::of(task);
        live.session(&session.id);
        let request = ChatRequest {
            messages: &session.messages,
            tools: &[],
            answer: Answer::Text,
            stream: true,
            max_tokens: self.options.max_tokens,
        };
        let asked = self
            .client()?
            .chat(&request, &mut |piece| live.delta(piece));
        let reply = asked.map_err(|error| AdapterError {
            session_id: Some(session.id.clone()),
            ..chat::failed(&error)
        })?;
        session.messages.push(Message::Assistant {
            text: reply.text.clone(),
            tool_calls: Vec::new(),
        });
        session.save()?;
        let turn = turn(&reply);
        progress::turn(LABEL, &mut live, &turn);
        let asked = self.client()?.endpoint().model.clone();
        answer(reply, session.id, asked)
    }

    fn client(&mut self) -> Result<&mut Client, AdapterError> {
        if self.client.is_none() {
            let config = chat::config(&self.root)?;
            let mut limits = CallLimits::default();
            limits.timeout = self.options.timeout.unwrap_or(limits.timeout);
            let alias = self.options.model.as_deref();
            self.client = Some(chat::client(&self.root, &config, self.env, alias, limits)?);
        }
        Ok(self.client.as_mut().expect("it was just made"))
    }
}

fn turn(reply: &ChatReply) -> Turn {
    Turn {
        reasoning: reply.reasoning.clone(),
        ..Turn::spoken(TurnRole::Assistant, &reply.text)
    }
}

/// Returns the answer, if it is complete. Its model is the one that the server names, else the one that was asked for.
fn answer(reply: ChatReply, session_id: String, asked: String) -> Result<Reply, AdapterError> {
    let turns = vec![turn(&reply)];
    if reply.finish.as_deref() == Some("length") {
        return Err(AdapterError {
            session_id: Some(session_id),
            usage: Some(Box::new(ModelUsage {
                usage: reply.usage,
                model: reply.model.or(Some(asked)),
            })),
            turns,
            ..AdapterError::failed(
                "the answer was cut off: it has as many tokens as the model may write",
            )
            .class(FailureClass::BadAnswer)
            .hint("raise `--max-tokens`, or ask for less")
        });
    }
    Ok(Reply {
        text: reply.text,
        session_id: Some(session_id),
        model: reply.model.or(Some(asked)),
        turns,
        usage: Some(reply.usage),
        ..Reply::default()
    })
}
