//! What the agent of the running attempt does, or did if the attempt was the last: its turns from the live file, or the lines that it prints if it records no
//! turns.

use std::collections::VecDeque;

use serde_json::Value;
use uwf_protocol::ids::RoleName;
use uwf_storage::{GrowingFile, Scratch};
use uwf_thread::{Turn, name_answers};

use crate::read::activity::AttemptView;
use crate::read::tail_event::{OutputStream, TailEvent, TailLine, TailTurn};

/// How many earlier turns are searched for the call that a turn answers.
const REMEMBERED: usize = 100;

/// The turns of one attempt, as far as they were read.
#[derive(Debug)]
pub(super) struct RunningTurns {
    role: RoleName,
    started_at_ms: i64,
    live: GrowingFile,
    stdout: GrowingFile,
    stderr: GrowingFile,
    turns: usize,
    remembered: VecDeque<Turn>,
}

impl RunningTurns {
    /// Returns the turns of the attempt of a role that began at this time. None is read yet.
    pub(super) fn of(role: &RoleName, started_at_ms: i64, scratch: &Scratch) -> Self {
        Self {
            role: role.clone(),
            started_at_ms,
            live: scratch.live_lines(),
            stdout: scratch.answer_lines(),
            stderr: scratch.stderr_lines(),
            turns: 0,
            remembered: VecDeque::new(),
        }
    }

    /// Returns the role that works.
    pub(super) fn role(&self) -> &RoleName {
        &self.role
    }

    /// Tells whether they are those of a failed attempt.
    pub(super) fn is_of(&self, failed: &AttemptView) -> bool {
        failed.started_at_ms == self.started_at_ms
    }

    /// Returns how many turns were read.
    pub(super) fn turns(&self) -> usize {
        self.turns
    }

    /// Returns what is new. The lines of an agent are shown until it has recorded a turn: one that records turns also
    /// prints them.
    pub(super) fn new_events(&mut self) -> Vec<TailEvent> {
        let mut events = Vec::new();
        for line in self.new_lines_of(|files| &mut files.live) {
            events.extend(self.turn(&line).map(TailEvent::Turn));
        }
        let said = self.new_lines_of(|files| &mut files.stderr);
        let answered = self.new_lines_of(|files| &mut files.stdout);
        if self.turns == 0 {
            events.extend(
                said.into_iter()
                    .map(|text| self.line(OutputStream::Stderr, text)),
            );
            events.extend(
                answered
                    .into_iter()
                    .map(|text| self.line(OutputStream::Stdout, text)),
            );
        }
        events
    }

    /// Returns the new lines of a file, unless the file is left from an earlier attempt.
    fn new_lines_of(&mut self, file: fn(&mut Self) -> &mut GrowingFile) -> Vec<String> {
        let began = self.started_at_ms;
        let file = file(self);
        match file.changed_at_ms() {
            Some(changed) if changed >= began => file.new_lines(),
            Some(_) | None => Vec::new(),
        }
    }

    /// Reads a line of the live file; `None` for a piece of an answer that is still being written.
    fn turn(&mut self, line: &str) -> Option<TailTurn> {
        let value: Value = serde_json::from_str(line).ok()?;
        value.get("index")?;
        let turn = Turn::from_json(&value, self.turns);
        self.turns += 1;
        self.remembered.push_back(turn);
        if self.remembered.len() > REMEMBERED {
            self.remembered.pop_front();
        }
        name_answers(self.remembered.make_contiguous());
        let turn = self.remembered.back()?.clone();
        (!turn.is_empty()).then(|| TailTurn {
            role: self.role.clone(),
            step: None,
            turn,
        })
    }

    fn line(&self, stream: OutputStream, text: String) -> TailEvent {
        TailEvent::Line(TailLine {
            role: self.role.clone(),
            stream,
            text,
        })
    }
}
