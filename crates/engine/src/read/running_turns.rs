//! What the agent of the running attempt does, or did if the attempt was the last: its turns from the live file, or the lines that it prints if it records no
//! turns.

use std::collections::VecDeque;
use std::ops::RangeInclusive;

use serde_json::Value;
use uwf_protocol::ids::RoleName;
use uwf_storage::{GrowingFile, NewestLines, Scratch};
use uwf_thread::{Turn, name_answers};
use uwf_util::mask::{MaskStream, Masks};

use crate::read::activity::AttemptView;
use crate::read::tail_event::{OutputStream, TailEvent, TailLine, TailTurn};

/// How many earlier turns are searched for the call that a turn answers.
const REMEMBERED: usize = 100;
/// How many bytes of the live file are read for each turn that is wanted. A longer turn takes the place of others.
const TURN_BYTES: u64 = 64 << 10;
/// How many bytes of an output are read for each line that is wanted.
const LINE_BYTES: u64 = 16 << 10;
/// How many bytes of a file are read at least, and at most, from its end. An agent can print more than a reader has memory for.
const BYTES: RangeInclusive<u64> = 64 << 10..=16 << 20;

/// The turns of one attempt, as far as they were read.
#[derive(Debug)]
pub(super) struct RunningTurns {
    role: RoleName,
    started_at_ms: i64,
    live: GrowingFile,
    stdout: MaskedLines,
    stderr: MaskedLines,
    turns: usize,
    /// Whether earlier turns were left out, because they are too far from the end of the live file.
    is_cut: bool,
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
            is_cut: false,
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

    /// Returns how many turns were read or left out.
    pub(super) fn turns(&self) -> usize {
        self.turns
    }

    /// Returns what is new, enough for so many of the newest turns. The lines of an agent are shown until it has recorded a turn:
    /// one that records turns also prints them.
    pub(super) fn new_events(&mut self, most: usize) -> Vec<TailEvent> {
        let mut events = Vec::new();
        let new = newest_lines(&mut self.live, self.started_at_ms, bytes(TURN_BYTES, most));
        self.is_cut |= new.skipped_to.is_some();
        for line in String::from_utf8_lossy(&new.lines).lines() {
            events.extend(self.turn(line).map(TailEvent::Turn));
        }
        if self.turns == 0 && !self.is_cut {
            let enough = bytes(LINE_BYTES, most);
            let said = self.stderr.newest_lines(self.started_at_ms, enough);
            let answered = self.stdout.newest_lines(self.started_at_ms, enough);
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
        self.turns = match usize::try_from(turn.index) {
            Ok(index) if self.is_cut => index.saturating_add(1),
            Ok(_) | Err(_) => self.turns.saturating_add(1),
        };
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
        lines: Vec<(u64, String)>,
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

/// Returns how many bytes are enough for so many turns or lines of this size.
fn bytes(each: u64, most: usize) -> u64 {
    let most = u64::try_from(most).unwrap_or(u64::MAX);
    each.saturating_mul(most)
        .clamp(*BYTES.start(), *BYTES.end())
}

/// Returns the newest of the new lines of a file, unless the file is left from an earlier attempt.
fn newest_lines(file: &mut GrowingFile, began_ms: i64, enough: u64) -> NewestLines {
    match file.changed_at_ms() {
        Some(changed) if changed >= began_ms => file.newest_lines(enough),
        Some(_) | None => NewestLines::default(),
    }
}

/// The lines of a file that an agent writes itself, without secrets.
#[derive(Debug)]
struct MaskedLines {
    file: GrowingFile,
    masks: Masks,
    masking: MaskStream,
    /// The beginning of a line whose end was kept back.
    open: Vec<u8>,
    /// The number of the next line.
    next: u64,
}

impl MaskedLines {
    fn of(file: GrowingFile, masks: &Masks) -> Self {
        Self {
            file,
            masking: masks.stream(),
            masks: masks.clone(),
            open: Vec::new(),
            next: 0,
        }
    }

    /// Returns the newest of the new lines, each with its number. A line that ends with what may be the beginning of a secret is
    /// kept back.
    fn newest_lines(&mut self, began_ms: i64, enough: u64) -> Vec<(u64, String)> {
        let new = newest_lines(&mut self.file, began_ms, enough);
        if let Some(at) = new.skipped_to {
            // No line is shorter than a byte, so its place in the file is never less than its number.
            self.next = at;
            self.masking = self.masks.stream();
            self.open.clear();
            self.masking.push_after_cut(&new.lines, &mut self.open);
        } else {
            self.masking.push(&new.lines, &mut self.open);
        }
        if new.lines.last().is_some_and(|last| *last != b'\n') {
            self.masking.push(b"\n", &mut self.open);
        }
        let end = self.open.iter().rposition(|byte| *byte == b'\n');
        let whole: Vec<u8> = self.open.drain(..end.map_or(0, |end| end + 1)).collect();
        let text = String::from_utf8_lossy(&whole);
        let lines = text.lines().map(str::to_owned);
        let lines: Vec<_> = (self.next..).zip(lines).collect();
        self.next += lines.len() as u64;
        lines
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use uwf_storage::RunDir;

    use super::*;

    /// Returns the turns of an attempt in this folder, and its files.
    fn attempt(folder: &std::path::Path) -> (RunningTurns, Scratch) {
        let scratch = RunDir::at(folder.to_owned()).scratch;
        let masks = Masks::of([&b"s3cr3tvalue"[..]]);
        let role = "writer".parse().unwrap();
        (RunningTurns::of(&role, 0, &scratch, &masks), scratch)
    }

    #[test]
    fn of_many_turns_the_newest_are_read_and_the_others_count() {
        let temp = tempfile::tempdir().unwrap();
        let (mut turns, scratch) = attempt(temp.path());
        let line = |index: u64| json!({ "index": index, "content": "x".repeat(1000) }).to_string();
        let lines: Vec<String> = (0..1000).map(line).collect();
        std::fs::write(scratch.live_file(), lines.join("\n") + "\n").unwrap();
        std::fs::write(scratch.stderr_file(), "a line\n").unwrap();
        let events = turns.new_events(1);
        assert!((60..200).contains(&events.len()), "{}", events.len());
        let newest = match events.last() {
            Some(TailEvent::Turn(turn)) => turn.turn.index,
            other => panic!("{other:?}"),
        };
        assert_eq!((newest, turns.turns()), (999, 1000));
    }

    #[test]
    fn the_rest_of_a_secret_is_not_shown_where_the_beginning_is_left_out() {
        let temp = tempfile::tempdir().unwrap();
        let (mut turns, scratch) = attempt(temp.path());
        let begin = 2 * usize::try_from(*BYTES.start()).unwrap();
        let before = "x".repeat(begin - 4);
        let printed = format!("{before}s3cr3tvalue\n{}\n", "y".repeat(begin / 2));
        std::fs::write(scratch.stderr_file(), printed).unwrap();
        let events = turns.new_events(1);
        let texts: Vec<&str> = events
            .iter()
            .map(|event| match event {
                TailEvent::Line(line) => line.text.as_str(),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(texts[0], "***");
        assert_eq!(texts.len(), 2);
    }
}
