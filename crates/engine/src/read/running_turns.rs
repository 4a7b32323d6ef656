//! What the agent of the running attempt does, or did if the attempt was the last: its turns from the live file, or the lines that it prints if it records no
//! turns.

use std::collections::VecDeque;

use serde_json::Value;
use uwf_protocol::ids::RoleName;
use uwf_storage::{GrowingFile, Scratch};
use uwf_thread::{Turn, name_answers};
use uwf_util::mask::{MaskStream, Masks};

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
    stdout: MaskedLines,
    stderr: MaskedLines,
    turns: usize,
    remembered: VecDeque<Turn>,
}

impl RunningTurns {
    /// Returns the turns of the attempt of a role that began at this time. None is read yet. What the agent writes itself
    /// is masked.
    pub(super) fn of(
        role: &RoleName,
        started_at_ms: i64,
        scratch: &Scratch,
        masks: &Masks,
    ) -> Self {
        Self {
            role: role.clone(),
            started_at_ms,
            live: scratch.live_lines(),
            stdout: MaskedLines::of(scratch.answer_lines(), masks),
            stderr: MaskedLines::of(scratch.stderr_lines(), masks),
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
        for line in new_lines(&mut self.live, self.started_at_ms) {
            events.extend(self.turn(&line).map(TailEvent::Turn));
        }
        let said = self.stderr.new_lines(self.started_at_ms);
        let answered = self.stdout.new_lines(self.started_at_ms);
        if self.turns == 0 {
            events.extend(self.lines(OutputStream::Stderr, said));
            events.extend(self.lines(OutputStream::Stdout, answered));
        }
        events
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

    fn lines(
        &self,
        stream: OutputStream,
        lines: Vec<(usize, String)>,
    ) -> impl Iterator<Item = TailEvent> {
        lines.into_iter().map(move |(number, text)| {
            TailEvent::Line(TailLine {
                role: self.role.clone(),
                stream,
                number,
                text,
            })
        })
    }
}

/// Returns the new lines of a file, unless the file is left from an earlier attempt.
fn new_lines(file: &mut GrowingFile, began_ms: i64) -> Vec<String> {
    match file.changed_at_ms() {
        Some(changed) if changed >= began_ms => file.new_lines(),
        Some(_) | None => Vec::new(),
    }
}

/// The lines of a file that an agent writes itself, without secrets.
#[derive(Debug)]
struct MaskedLines {
    file: GrowingFile,
    masking: MaskStream,
    /// The beginning of a line whose end was kept back.
    open: Vec<u8>,
    /// How many lines were returned.
    count: usize,
}

impl MaskedLines {
    fn of(file: GrowingFile, masks: &Masks) -> Self {
        Self {
            file,
            masking: masks.stream(),
            open: Vec::new(),
            count: 0,
        }
    }

    /// Returns the new lines, each with its number. A line that ends with what may be the beginning of a secret is kept back.
    fn new_lines(&mut self, began_ms: i64) -> Vec<(usize, String)> {
        for line in new_lines(&mut self.file, began_ms) {
            self.masking.push(line.as_bytes(), &mut self.open);
            self.masking.push(b"\n", &mut self.open);
        }
        let end = self.open.iter().rposition(|byte| *byte == b'\n');
        let whole: Vec<u8> = self.open.drain(..end.map_or(0, |end| end + 1)).collect();
        let text = String::from_utf8_lossy(&whole);
        let lines = text.lines().map(str::to_owned);
        let lines: Vec<_> = (self.count..).zip(lines).collect();
        self.count += lines.len();
        lines
    }
}
