//! A session: a conversation with a model that a later process can continue. Its messages are saved one JSON object a
//! line.

use uwf_agent_kit::llm::{Message, ToolRequest};
use uwf_agent_kit::{AdapterError, Task};
use uwf_storage::{Env, RunDir, Sessions, StorageError};
use uwf_util::mask::Masks;
use uwf_util::ulid;

/// The result of a tool call that was interrupted.
const NOT_RUN: &str = "error: this call was not carried out, or its result was lost";

/// A conversation.
pub(crate) struct Session {
    sessions: Sessions,
    masks: Masks,
    /// Its name, a ULID.
    pub(crate) id: String,
    /// All messages.
    pub(crate) messages: Vec<Message>,
    /// How many of the messages are on the disk.
    saved: usize,
}

impl Session {
    /// Starts a session.
    pub(crate) fn start(task: &Task, env: &Env, system: Option<String>) -> Self {
        let time_ms = u64::try_from(env.now_ms()).unwrap_or_default();
        Self {
            sessions: RunDir::at(task.run_dir.clone()).sessions,
            masks: task.masks.clone(),
            // Without random bits the time is enough: a thread has one session at a time.
            id: ulid::encode(time_ms, env.random().unwrap_or_default()),
            messages: system.map(Message::System).into_iter().collect(),
            saved: 0,
        }
    }

    /// Loads a session; `None` if it does not exist any more. A last line that a crash cut off is left out.
    pub(crate) fn load(task: &Task, id: &str) -> Option<Self> {
        let sessions = RunDir::at(task.run_dir.clone()).sessions;
        let is_ulid =
            id.len() == ulid::DIGITS && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
        let text = is_ulid.then(|| sessions.messages(id)).flatten()?;
        let lines = text.lines();
        let messages: Vec<Message> = lines
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect();
        let has_task = messages
            .iter()
            .any(|message| matches!(message, Message::User(_)));
        has_task.then(|| Self {
            sessions,
            masks: task.masks.clone(),
            id: id.to_owned(),
            saved: messages.len(),
            messages,
        })
    }

    /// Adds a message of ours. Tool calls without a result get one first, because endpoints require it.
    pub(crate) fn ask(&mut self, text: &str) {
        for request in unanswered(&self.messages) {
            self.messages.push(Message::Tool {
                call_id: request.id,
                text: NOT_RUN.to_owned(),
            });
        }
        self.messages.push(Message::User(text.to_owned()));
    }

    /// Saves the new messages without secrets.
    ///
    /// # Errors
    /// When they cannot be written.
    pub(crate) fn save(&mut self) -> Result<(), AdapterError> {
        self.try_save().map_err(|error| not_kept(&error))
    }

    /// Replaces all messages, on the disk, too. A crash leaves the old ones or the new ones.
    ///
    /// # Errors
    /// When they cannot be written.
    pub(crate) fn replace(&mut self, messages: Vec<Message>) -> Result<(), AdapterError> {
        let replaced = self
            .sessions
            .replace_messages(&self.id, &self.lines(&messages));
        replaced.map_err(|error| not_kept(&error))?;
        self.saved = messages.len();
        self.messages = messages;
        Ok(())
    }

    /// Returns messages as they are saved, without secrets.
    fn lines(&self, messages: &[Message]) -> String {
        let line = |message| {
            let message = serde_json::to_value(message).expect("a message is plain data");
            self.masks.json(&message).to_string()
        };
        messages.iter().map(line).collect::<Vec<_>>().join("\n")
    }

    fn try_save(&mut self) -> Result<(), StorageError> {
        let new = &self.messages[self.saved..];
        if !new.is_empty() {
            self.sessions.append_messages(&self.id, &self.lines(new))?;
            self.saved = self.messages.len();
        }
        Ok(())
    }
}

fn not_kept(error: &StorageError) -> AdapterError {
    AdapterError::failed(format!("the session could not be kept: {error}"))
}

/// Returns the calls of the last answer that have no result.
fn unanswered(messages: &[Message]) -> Vec<ToolRequest> {
    let last = messages
        .iter()
        .rposition(|message| matches!(message, Message::Assistant { .. }));
    let Some(at) = last else { return Vec::new() };
    let Message::Assistant { tool_calls, .. } = &messages[at] else {
        return Vec::new();
    };
    let is_answered = |request: &&ToolRequest| {
        messages[at..].iter().any(
            |message| matches!(message, Message::Tool { call_id, .. } if *call_id == request.id),
        )
    };
    let open = tool_calls.iter().filter(|request| !is_answered(request));
    open.cloned().collect()
}

#[cfg(test)]
mod tests {
    use std::fs::{self, OpenOptions};
    use std::io::Write as _;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;
    use crate::test_task::task;

    fn begun(dir: &tempfile::TempDir) -> Session {
        let env = Env::from_parts(&[], "/", 1, 2);
        Session::start(&task(dir.path()), &env, Some("be brief".to_owned()))
    }

    fn says(text: &str, calls: &[&str]) -> Message {
        let request = |id: &&str| ToolRequest {
            id: (*id).to_owned(),
            ..ToolRequest::default()
        };
        Message::Assistant {
            text: text.to_owned(),
            tool_calls: calls.iter().map(request).collect(),
        }
    }

    #[test]
    fn a_session_goes_on_as_it_was_and_is_private() {
        let dir = tempfile::tempdir().unwrap();
        let mut session = begun(&dir);
        session.ask("one\ntwo");
        session.save().unwrap();
        session.messages.push(says("three", &[]));
        session.save().unwrap();
        session.save().unwrap();
        let mut again = Session::load(&task(dir.path()), &session.id).unwrap();
        assert_eq!(again.messages, session.messages);
        again.ask("four");
        again.save().unwrap();
        let file = fs::read_dir(dir.path()).unwrap().next().unwrap().unwrap();
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        let text = fs::read_to_string(file.path()).unwrap();
        assert_eq!(text.lines().count(), 4);
    }

    #[test]
    fn a_torn_line_costs_that_line_alone() {
        let dir = tempfile::tempdir().unwrap();
        let mut session = begun(&dir);
        session.ask("one");
        session.save().unwrap();
        let path = fs::read_dir(dir.path())
            .unwrap()
            .next()
            .unwrap()
            .unwrap()
            .path();
        let mut file = OpenOptions::new().append(true).open(path).unwrap();
        file.write_all(br#"{"role":"assistant","con"#).unwrap();
        let mut again = Session::load(&task(dir.path()), &session.id).unwrap();
        assert_eq!(again.messages, session.messages);
        again.ask("two");
        again.save().unwrap();
        let last = Session::load(&task(dir.path()), &session.id).unwrap();
        assert_eq!(last.messages, again.messages);
    }

    #[test]
    fn what_is_no_session_is_gone() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("messages-x.jsonl"), "{}").unwrap();
        for id in [
            "x",
            "",
            "../../../../../etc/passwd0",
            "01J7K9Z0000000000000000004",
        ] {
            assert!(Session::load(&task(dir.path()), id).is_none(), "{id}");
        }
    }

    #[test]
    fn every_call_of_a_tool_has_a_result_before_we_speak() {
        let dir = tempfile::tempdir().unwrap();
        let mut session = begun(&dir);
        session.messages.push(says("", &["1", "2"]));
        session.messages.push(Message::Tool {
            call_id: "1".to_owned(),
            text: "ok".to_owned(),
        });
        session.ask("go on");
        let results: Vec<&str> = session
            .messages
            .iter()
            .filter_map(|message| match message {
                Message::Tool { call_id, .. } => Some(call_id.as_str()),
                _ => None,
            })
            .collect();
        assert_eq!(results, ["1", "2"]);
        session.ask("and on");
        assert_eq!(session.messages.len(), 6);
    }
}
