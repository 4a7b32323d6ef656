//! The client's side of one exchange, as a state machine: lines in, actions out. It opens or continues a session, sends
//! a prompt, answers the agent's requests, and detects the end. It has no pipes and no clock.

use std::path::PathBuf;

use serde_json::{Value, json};
use uwf_protocol::nodes::{Turn, Usage};
use uwf_protocol::permissions::{AskedPermission, DecidedPermission};
use uwf_util::mask::Masks;

use super::error::AcpError;
use super::permission::{self, Decision, Otherwise, Policy};
use super::settings::{self, Setting};
use super::transcript::Transcript;
use super::usage;
use crate::rpc::{self, Incoming, RpcError};

/// The version of the protocol that we support.
const VERSION: u64 = 1;
/// The error code for a missing login.
const AUTH_REQUIRED: i64 = -32000;

/// A prompt for an agent, and the settings of its session.
#[derive(Debug, Clone)]
pub(crate) struct PromptRequest {
    /// The directory of the session.
    pub(crate) cwd: PathBuf,
    /// The session to continue; `None` for a new one.
    pub(crate) session: Option<String>,
    /// The prompt.
    pub(crate) prompt: String,
    /// The model to use, in the agent's words.
    pub(crate) model: Option<String>,
    /// The mode of the session, in the agent's words.
    pub(crate) mode: Option<String>,
    /// How to answer requests for permission.
    pub(crate) permissions: Policy,
    /// What becomes of those that this does not permit.
    pub(crate) otherwise: Otherwise,
    /// The call that a person has decided.
    pub(crate) decided: Option<DecidedPermission>,
    /// The secrets: turns and the call that was decided are on record without them.
    pub(crate) masks: Masks,
}

/// What the caller of the client has to do.
#[derive(Debug, PartialEq)]
pub(crate) enum Action {
    /// Send a line to the agent.
    Send(String),
    /// Record a complete turn.
    Turn(Turn),
    /// Record a piece of the answer.
    Delta(String),
    /// Print a message for people.
    Tell(String),
}

/// The result of an exchange, or of the part of it that was completed.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Outcome {
    /// The agent's text after its last tool call.
    pub(crate) text: String,
    pub(crate) session_id: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) turns: Vec<Turn>,
    /// The usage; `None` for what the agent does not report.
    pub(crate) usage: Usage,
    /// The kinds of tools whose calls were not permitted, one entry for each call.
    pub(crate) refused: Vec<String>,
    /// The call that a person must decide; the agent was stopped there.
    pub(crate) asked: Option<AskedPermission>,
    /// Whether a request was answered as a person has decided.
    pub(crate) used_decision: bool,
}

/// The answer that we wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Initialize,
    Open,
    /// The session is open. What it was about before may still come.
    Settle,
    SetModel,
    SetMode,
    Prompt,
    Done,
}

/// The client of one exchange.
#[derive(Debug)]
pub(crate) struct Client {
    request: PromptRequest,
    phase: Phase,
    /// The method whose answer we wait for, and the id of the request. There is one at a time.
    method: &'static str,
    awaited: u64,
    /// What the agent offers.
    offered_model: Setting,
    mode: Setting,
    session_id: Option<String>,
    model: Option<String>,
    usage: Usage,
    transcript: Transcript,
    /// The kinds of tools whose calls were not permitted, one entry for each call.
    denied: Vec<String>,
    /// The call that a person must decide. Nothing else is permitted after it.
    asked: Option<AskedPermission>,
    used_decision: bool,
}

impl Client {
    /// Returns a client, and what to do first.
    pub(crate) fn begin(request: PromptRequest) -> (Self, Action) {
        let transcript = Transcript::new(request.masks.clone());
        let mut client = Self {
            request,
            phase: Phase::Initialize,
            method: "",
            awaited: 0,
            offered_model: Setting::default(),
            mode: Setting::default(),
            session_id: None,
            model: None,
            usage: Usage::default(),
            transcript,
            denied: Vec::new(),
            asked: None,
            used_decision: false,
        };
        let params = json!({
            "protocolVersion": VERSION,
            // We offer no tools: the agent runs on this machine and has its own.
            "clientCapabilities": { "fs": { "readTextFile": false, "writeTextFile": false }, "terminal": false },
            "clientInfo": { "name": "uwf", "version": env!("CARGO_PKG_VERSION") },
        });
        let first = client.ask(Phase::Initialize, "initialize", &params);
        (client, first)
    }

    /// Takes a line from the agent.
    ///
    /// # Errors
    /// When the exchange cannot go on, or ended without an answer.
    pub(crate) fn receive(&mut self, line: &str) -> Result<Vec<Action>, AcpError> {
        match rpc::read(line) {
            Some(Incoming::Reply { id, result }) if id == self.awaited && !self.is_done() => {
                self.replied(result)
            }
            Some(Incoming::Request { id, method, params }) => {
                Ok(self.requested(&id, &method, &params))
            }
            Some(Incoming::Notification { method, params }) if method == "session/update" => {
                Ok(self.updated(&params))
            }
            Some(Incoming::Reply { .. } | Incoming::Notification { .. }) | None => Ok(Vec::new()),
        }
    }

    /// Tells whether the prompt was answered.
    pub(crate) fn is_done(&self) -> bool {
        self.phase == Phase::Done
    }

    /// Tells whether the agent was stopped at a call that a person must decide.
    pub(crate) fn has_asked(&self) -> bool {
        self.asked.is_some()
    }

    /// Returns the method whose answer we wait for.
    pub(crate) fn awaits(&self) -> &'static str {
        self.method
    }

    /// Tells whether the agent may still send what the session was about before. When it sends nothing any more, the session
    /// has [settled](Self::settled).
    pub(crate) fn is_settling(&self) -> bool {
        self.phase == Phase::Settle
    }

    /// Goes on with a session that has settled. Some agents send what it was about before only after they have said that it is
    /// open: an old answer would be part of the new one.
    pub(crate) fn settled(&mut self) -> Vec<Action> {
        self.set_model()
    }

    /// Returns the line that cancels the prompt, if the agent is working on one.
    pub(crate) fn cancel(&self) -> Option<String> {
        let session = self.session_id.as_ref()?;
        let params = json!({ "sessionId": session });
        (self.phase == Phase::Prompt).then(|| rpc::notification("session/cancel", &params))
    }

    /// Returns the result of the exchange.
    pub(crate) fn outcome(mut self) -> Outcome {
        self.transcript.close();
        Outcome {
            text: self.transcript.answer().to_owned(),
            session_id: self.session_id,
            model: self.model,
            turns: self.transcript.turns().to_vec(),
            usage: self.usage,
            refused: self.denied,
            asked: self.asked,
            used_decision: self.used_decision,
        }
    }

    fn replied(&mut self, result: Result<Value, RpcError>) -> Result<Vec<Action>, AcpError> {
        if self.phase == Phase::Prompt && self.has_asked() {
            // We cancelled the prompt, so its end is no failure of the agent.
            return Ok(self.stopped_at_a_question(&result.unwrap_or_default()));
        }
        let result = match result {
            Ok(result) => result,
            Err(error) => return Err(self.refused(error)),
        };
        match self.phase {
            Phase::Initialize => self.open(&result),
            Phase::Open => {
                self.opened(&result)?;
                if self.method == "session/load" {
                    self.phase = Phase::Settle;
                    return Ok(Vec::new());
                }
                Ok(self.set_model())
            }
            Phase::SetModel => {
                self.model.clone_from(&self.request.model);
                Ok(self.set_mode())
            }
            Phase::SetMode => Ok(vec![self.prompt()]),
            Phase::Prompt => self.ended(&result),
            Phase::Settle | Phase::Done => Ok(Vec::new()),
        }
    }

    fn refused(&self, error: RpcError) -> AcpError {
        let gone = self
            .request
            .session
            .clone()
            .filter(|_| self.phase == Phase::Open);
        match gone {
            _ if error.code == AUTH_REQUIRED => AcpError::NotLoggedIn {
                message: error.message,
            },
            Some(session) => AcpError::SessionGone {
                session,
                message: error.message,
            },
            None => AcpError::Refused {
                method: self.awaits(),
                message: error.message,
            },
        }
    }

    /// Returns the session, once it is open.
    pub(super) fn session(&self) -> Option<&str> {
        self.session_id.as_deref()
    }

    /// Opens a session. The agent has reported its capabilities.
    fn open(&mut self, initialized: &Value) -> Result<Vec<Action>, AcpError> {
        let version = &initialized["protocolVersion"];
        if *version != json!(VERSION) {
            return Err(AcpError::OtherVersion {
                version: version.to_string(),
            });
        }
        let mut params = json!({ "cwd": self.request.cwd, "mcpServers": [] });
        let mut opening = "session/new";
        if let Some(session) = &self.request.session {
            let Some(method) = resuming_method(&initialized["agentCapabilities"]) else {
                return Err(AcpError::SessionGone {
                    session: session.clone(),
                    message: "the agent cannot go on with sessions".to_owned(),
                });
            };
            opening = method;
            params["sessionId"] = json!(session);
        }
        Ok(vec![self.ask(Phase::Open, opening, &params)])
    }

    fn opened(&mut self, result: &Value) -> Result<(), AcpError> {
        let session = self.request.session.clone();
        let session = session.or(result["sessionId"].as_str().map(ToOwned::to_owned));
        let Some(session) = session.filter(|session| !session.is_empty()) else {
            return Err(AcpError::Refused {
                method: self.awaits(),
                message: "the answer names no session".to_owned(),
            });
        };
        self.session_id = Some(session);
        self.model = settings::model(result).current;
        self.offered_model = settings::model(result);
        self.mode = settings::mode(result);
        self.check_mode()
    }

    /// Refuses a mode that the agent does not offer: some agents accept any mode and then use another.
    fn check_mode(&self) -> Result<(), AcpError> {
        match (&self.request.mode, &self.mode.offered) {
            (Some(mode), Some(offered)) if !offered.contains(mode) => Err(AcpError::NoSuchMode {
                mode: mode.clone(),
                offered: offered.join("`, `"),
            }),
            _ => Ok(()),
        }
    }

    fn set_model(&mut self) -> Vec<Action> {
        let own = ("session/set_model", "modelId");
        match self.request.model.clone() {
            Some(model) if self.model.as_ref() != Some(&model) => {
                let setting = self.offered_model.clone();
                vec![self.set(Phase::SetModel, &setting, own, &model)]
            }
            _ => self.set_mode(),
        }
    }

    fn set_mode(&mut self) -> Vec<Action> {
        let own = ("session/set_mode", "modeId");
        match self.request.mode.clone() {
            Some(mode) if self.mode.current.as_ref() != Some(&mode) => {
                let setting = self.mode.clone();
                vec![self.set(Phase::SetMode, &setting, own, &mode)]
            }
            _ => vec![self.prompt()],
        }
    }

    fn set(
        &mut self,
        phase: Phase,
        setting: &Setting,
        own: (&'static str, &str),
        value: &str,
    ) -> Action {
        let (method, params) = setting.set(own, &json!(self.session_id), value);
        self.ask(phase, method, &params)
    }

    fn prompt(&mut self) -> Action {
        let text = std::mem::take(&mut self.request.prompt);
        let params =
            json!({ "sessionId": self.session_id, "prompt": [{ "type": "text", "text": text }] });
        self.ask(Phase::Prompt, "session/prompt", &params)
    }

    fn ended(&mut self, result: &Value) -> Result<Vec<Action>, AcpError> {
        self.take_usage(result);
        self.transcript.close();
        let reason = result["stopReason"].as_str().unwrap_or_default();
        let is_silent = self.transcript.turns().is_empty();
        match (&self.request.session, reason) {
            (_, "end_turn") => {
                self.phase = Phase::Done;
                Ok(self.news())
            }
            // Some agents refuse a prompt in this way if the session does not exist.
            (Some(session), "refusal") if is_silent => Err(AcpError::SessionGone {
                session: session.clone(),
                message: "the agent refused without a word".to_owned(),
            }),
            _ => Err(AcpError::Stopped {
                reason: reason.to_owned(),
            }),
        }
    }

    /// Takes the usage of the whole prompt, if its result tells it. Otherwise the sum of the updates stays.
    fn take_usage(&mut self, result: &Value) {
        let told = usage::of_result(result);
        if told != Usage::default() {
            self.usage = told;
        }
        self.model = usage::model(result).or(self.model.take());
    }

    fn stopped_at_a_question(&mut self, result: &Value) -> Vec<Action> {
        self.take_usage(result);
        self.transcript.close();
        self.phase = Phase::Done;
        self.news()
    }

    fn requested(&mut self, id: &Value, method: &str, params: &Value) -> Vec<Action> {
        if method != "session/request_permission" {
            return vec![Action::Send(rpc::not_found(id, method))];
        }
        let call = &params["toolCall"];
        self.transcript.asks_for(call);
        let announced = call["toolCallId"].as_str();
        let announced = announced.and_then(|id| self.transcript.announced(id));
        let asked = permission::asked(params, announced);
        let denied = self.denied.len();
        let decision = self.decide(&asked);
        if let (true, Some(id)) = (self.denied.len() > denied, call["toolCallId"].as_str()) {
            self.transcript.was_refused(id);
        }
        self.transcript.decision(&decision.words);
        let mut actions = vec![
            Action::Send(rpc::reply(id, &decision.result)),
            Action::Tell(decision.words),
        ];
        if self.has_asked() {
            actions.extend(self.cancel().map(Action::Send));
        }
        actions.extend(self.news());
        actions
    }

    /// Decides about a request for permission: as a person has decided about the same call, or else by the policy. What that
    /// does not permit may be left to a person.
    fn decide(&mut self, asked: &AskedPermission) -> Decision {
        if self.has_asked() {
            return permission::left_to_a_person(asked);
        }
        let decided = self.request.decided.as_ref();
        let known = asked.masked(&self.request.masks);
        if let Some(decided) = decided.filter(|decided| decided.asked.is_same_call(&known)) {
            let decision = permission::decide_as_said(decided, asked);
            if !decision.permits {
                self.denied.push(tool_of(asked));
            }
            // A person decides about one call. The next one like it is another one.
            self.request.decided = None;
            self.used_decision = true;
            return decision;
        }
        let decision = permission::decide(self.request.permissions, asked);
        match self.request.otherwise {
            _ if decision.permits => decision,
            Otherwise::Suspend => {
                self.asked = Some(asked.clone());
                permission::left_to_a_person(asked)
            }
            Otherwise::Refuse => {
                self.denied.push(tool_of(asked));
                decision
            }
        }
    }

    /// Takes news of the session. What comes before the prompt is what the session was about before.
    fn updated(&mut self, params: &Value) -> Vec<Action> {
        let is_ours = params["sessionId"].as_str() == self.session_id.as_deref();
        if !is_ours || self.phase != Phase::Prompt {
            return Vec::new();
        }
        let update = &params["update"];
        self.usage = self.usage.plus(&usage::of_update(update));
        let delta = self.transcript.update(update);
        let mut actions: Vec<Action> = delta.map(Action::Delta).into_iter().collect();
        actions.extend(self.news());
        actions
    }

    fn news(&mut self) -> Vec<Action> {
        self.transcript
            .news()
            .into_iter()
            .map(Action::Turn)
            .collect()
    }

    fn ask(&mut self, phase: Phase, method: &'static str, params: &Value) -> Action {
        (self.phase, self.method) = (phase, method);
        self.awaited += 1;
        Action::Send(rpc::request(self.awaited, method, params))
    }
}

/// Returns the name under which a refused call counts.
fn tool_of(asked: &AskedPermission) -> String {
    match asked.kind.is_empty() {
        true => asked.title.clone(),
        false => asked.kind.clone(),
    }
}

/// Returns the method that goes on with a session. The first one is told when a session is gone; by the other,
/// some agents begin a new one without a word.
fn resuming_method(capabilities: &Value) -> Option<&'static str> {
    if capabilities["loadSession"] == json!(true) {
        return Some("session/load");
    }
    let can_resume = !capabilities["sessionCapabilities"]["resume"].is_null();
    can_resume.then_some("session/resume")
}

#[cfg(test)]
mod tests;
