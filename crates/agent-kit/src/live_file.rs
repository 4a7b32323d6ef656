//! The live file: the turns of a step while it runs, one JSON object a line, for people who follow it.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};

use serde_json::{Value, json};
use uwf_protocol::nodes::{Turn, Usage};
use uwf_protocol::prices::Prices;
use uwf_protocol::run::StartedSession;
use uwf_storage::RunDir;
use uwf_util::mask::{MaskStream, Masks};

use crate::adapter::Task;
use crate::masked;

/// How the line of a turn begins.
const TURN: &str = "{\"index\":";

/// The live file of a step, in which an adapter records what its agent does while it does it. It is best effort: what
/// cannot be written is left out.
#[derive(Debug)]
pub struct LiveFile {
    run: RunDir,
    task: StartedSession,
    prices: Prices,
    /// Whether the session of `task` is known and not yet on record.
    session_is_new: bool,
    masks: Masks,
    /// Takes the secrets out of pieces of an answer, which may be cut within one.
    masking: MaskStream,
    file: Option<File>,
    turns: u32,
    /// What earlier calls of the attempt used up; read at the first use.
    used_before: Option<Usage>,
}

impl LiveFile {
    /// Returns the live file of a task's step. The file is created with its first line.
    #[must_use]
    pub fn of(task: &Task) -> Self {
        Self {
            run: RunDir::at(task.run_dir.clone()),
            task: task.started_session(String::new()),
            prices: task.prices.clone(),
            session_is_new: false,
            masks: task.masks.clone(),
            masking: task.masks.stream(),
            file: None,
            turns: 0,
            used_before: None,
        }
    }

    /// Says in which session the agent works. The session is recorded together with the next line: one in which nothing
    /// was done yet may not even hold the task.
    pub fn session(&mut self, session: &str) {
        if self.task.session_id != session && masked::is_free(session, &self.masks) {
            session.clone_into(&mut self.task.session_id);
            self.session_is_new = true;
        }
    }

    /// Returns a turn without secrets. A turn of which a part is shown or kept must be masked before it is cut.
    #[must_use]
    pub fn masked(&self, turn: &Turn) -> Turn {
        masked::turn(turn, &self.masks)
    }

    /// Returns a text without secrets.
    #[must_use]
    pub fn masked_text(&self, text: &str) -> String {
        self.masks.text(text)
    }

    /// Adds a turn that is complete.
    pub fn turn(&mut self, turn: &Turn) {
        self.end_of_pieces();
        self.open();
        let turn = self.masked(turn);
        let mut line = serde_json::to_value(turn).expect("a turn is plain data");
        line["index"] = self.turns.into();
        self.turns += 1;
        self.write(&line);
    }

    /// Adds a piece of an answer that is still being written.
    pub fn delta(&mut self, text: &str) {
        let mut masked = Vec::new();
        self.masking.push(text.as_bytes(), &mut masked);
        self.piece(&masked);
    }

    /// Ends the pieces of an answer, and adds what was kept back because it looked like the beginning of a secret.
    fn end_of_pieces(&mut self) {
        let masking = std::mem::replace(&mut self.masking, self.masks.stream());
        let mut masked = Vec::new();
        masking.finish(&mut masked);
        self.piece(&masked);
    }

    fn piece(&mut self, masked: &[u8]) {
        if !masked.is_empty() {
            self.write(&json!({ "delta": String::from_utf8_lossy(masked) }));
        }
    }

    /// Records what this call has used up so far, for an agent that is ended before it answers.
    pub fn usage(&mut self, so_far: &Usage, model: Option<&str>) {
        let so_far = self.prices.priced(so_far, model);
        let run = &self.run;
        let before = self
            .used_before
            .get_or_insert_with(|| run.scratch.usage().unwrap_or_default());
        let _ = run.scratch.write_usage(&before.plus(&so_far));
    }

    /// Opens the file and counts its turns: those of earlier calls of the step, such as before a correction.
    fn open(&mut self) {
        if self.file.is_some() {
            return;
        }
        self.file = self.run.scratch.open_live().ok();
        let lines = self
            .file
            .iter()
            .flat_map(|file| BufReader::new(file).lines());
        let turns = lines
            .map_while(Result::ok)
            .filter(|line| line.starts_with(TURN));
        self.turns = turns.fold(0, |turns, _| turns + 1);
    }

    fn write(&mut self, line: &Value) {
        if self.session_is_new {
            self.session_is_new = false;
            let StartedSession {
                role,
                agent,
                session_id,
                ..
            } = &self.task;
            let _ = self.run.sessions.remember(role, agent, session_id);
            let _ = self.run.sessions.write_started(&self.task);
        }
        self.open();
        if let Some(file) = &mut self.file {
            // One write for the whole line, so that a reader never sees half of one.
            let _ = file.write_all(format!("{line}\n").as_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use uwf_protocol::nodes::TurnRole;

    use super::*;
    use crate::adapter::test_task;

    #[test]
    fn turns_are_counted_on_from_call_to_call() {
        let dir = tempfile::tempdir().unwrap();
        let task = test_task(dir.path());
        for text in ["one", "two"] {
            let mut live = LiveFile::of(&task);
            live.delta(text);
            live.turn(&Turn::spoken(TurnRole::Assistant, text));
        }
        let file = std::fs::read_to_string(dir.path().join("live.jsonl")).unwrap();
        let lines = file.lines().map(|line| serde_json::from_str(line).unwrap());
        let indices: Vec<Value> = lines.map(|line: Value| line["index"].clone()).collect();
        assert_eq!(indices, [json!(null), json!(0), json!(null), json!(1)]);
    }

    #[test]
    fn a_secret_is_masked_across_the_borders_of_pieces_and_in_turns() {
        let dir = tempfile::tempdir().unwrap();
        let masks = Masks::of([&b"s3cr3tvalue"[..]]);
        let task = Task {
            masks,
            ..test_task(dir.path())
        };
        let mut live = LiveFile::of(&task);
        for piece in ["a s3c", "r3t", "value b", " s3"] {
            live.delta(piece);
        }
        live.turn(&Turn::spoken(TurnRole::Assistant, "x s3cr3tvalue y"));
        live.session("s3cr3tvalue");
        let file = std::fs::read_to_string(dir.path().join("live.jsonl")).unwrap();
        let lines = file.lines().map(|line| serde_json::from_str(line).unwrap());
        let lines: Vec<Value> = lines.collect();
        let pieces = lines.iter().filter_map(|line| line["delta"].as_str());
        assert_eq!(pieces.collect::<String>(), "a *** b s3");
        assert_eq!(lines.last().unwrap()["content"], "x *** y");
        assert_eq!(live.task.session_id, "");
    }

    #[test]
    fn what_is_used_up_is_summed_over_calls_and_counted_once_within_one() {
        let dir = tempfile::tempdir().unwrap();
        let task = test_task(dir.path());
        let tokens = |input| Usage {
            input_tokens: Some(input),
            ..Usage::default()
        };
        for _ in 0..2 {
            let mut live = LiveFile::of(&task);
            live.usage(&tokens(5), None);
            live.usage(&tokens(7), None);
        }
        let run = RunDir::at(dir.path().to_owned());
        assert_eq!(run.scratch.usage(), Some(tokens(14)));
    }
}
