//! The content of `threads.yaml`: one `ID: HASH` line for each active thread, sorted. All lines have the same length. A
//! step changes one line of perhaps ten thousand, so we search and change the text itself instead of building a map.
//!
//! Other programs write the same file in other YAML. We read that, too, and write it back as such a table.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::Path;

use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_util::{base32, ulid};
use uwf_yaml::Data;

use crate::{StorageError, state_file};

/// Where the hash begins in a line: after the id, a colon and a blank.
const HASH_AT: usize = ulid::DIGITS + 2;
const HASH_END: usize = HASH_AT + base32::U64_DIGITS;
/// The length of a line, its end included.
const LINE: usize = HASH_END + 1;

/// The heads of all active threads.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Heads {
    /// Whole lines, sorted by id, no id twice.
    table: Vec<u8>,
}

impl Heads {
    /// Parses the content of the file, whatever program wrote it.
    pub(crate) fn parse(content: Vec<u8>, path: &Path) -> Result<Self, StorageError> {
        if is_table(&content) {
            return Ok(Self { table: content });
        }
        let text = state_file::utf8(&content, path)?;
        let heads = match read_lines(text) {
            Ok(heads) => heads,
            Err(LineError::NotALine) => read_yaml(text, path)?,
            Err(LineError::TwoHeads { line, problem }) => {
                return Err(state_file::damaged(path, line, problem));
            }
        };
        let lines = heads.iter().map(|(thread, head)| line_of(*thread, *head));
        Ok(Self {
            table: lines.flatten().collect(),
        })
    }

    /// Returns the content of the file.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.table
    }

    /// Returns the head of a thread, if it is active.
    pub(crate) fn get(&self, thread: ThreadId) -> Option<CasRef> {
        let index = self.find(thread).ok()?;
        Some(head_in(&self.lines()[index]))
    }

    /// Sets the head of a thread, active or not.
    pub(crate) fn set(&mut self, thread: ThreadId, head: CasRef) {
        let line = line_of(thread, head);
        match self.find(thread) {
            Ok(index) => self.table[index * LINE..][..LINE].copy_from_slice(&line),
            Err(index) => drop(self.table.splice(index * LINE..index * LINE, line)),
        }
    }

    /// Removes a thread, if it is active.
    pub(crate) fn remove(&mut self, thread: ThreadId) {
        if let Ok(index) = self.find(thread) {
            self.table.drain(index * LINE..(index + 1) * LINE);
        }
    }

    /// Returns all threads with their heads, sorted by id.
    pub(crate) fn all(&self) -> Vec<(ThreadId, CasRef)> {
        self.lines().iter().map(entry_in).collect()
    }

    /// Returns the first and the last of them, or the only one.
    pub(crate) fn ends(&self) -> Vec<(ThreadId, CasRef)> {
        let lines = self.lines();
        let mut ends: Vec<_> = lines.first().into_iter().chain(lines.last()).collect();
        ends.dedup();
        ends.into_iter().map(entry_in).collect()
    }

    fn lines(&self) -> &[[u8; LINE]] {
        self.table.as_chunks().0
    }

    /// Returns the index of a thread's line; `Err` has the index at which the line would be inserted.
    fn find(&self, thread: ThreadId) -> Result<usize, usize> {
        let id = thread.as_str().as_bytes();
        self.lines()
            .binary_search_by(|line| line[..ulid::DIGITS].cmp(id))
    }
}

fn line_of(thread: ThreadId, head: CasRef) -> [u8; LINE] {
    let mut line = [b'\n'; LINE];
    line[..ulid::DIGITS].copy_from_slice(thread.as_str().as_bytes());
    line[ulid::DIGITS..HASH_AT].copy_from_slice(b": ");
    line[HASH_AT..HASH_END].copy_from_slice(head.as_str().as_bytes());
    line
}

fn entry_in(line: &[u8; LINE]) -> (ThreadId, CasRef) {
    (thread_in(line), head_in(line))
}

fn thread_in(line: &[u8; LINE]) -> ThreadId {
    str::from_utf8(&line[..ulid::DIGITS])
        .ok()
        .and_then(|id| id.parse().ok())
        .expect("the table has ids in all lines")
}

fn head_in(line: &[u8; LINE]) -> CasRef {
    str::from_utf8(&line[HASH_AT..HASH_END])
        .ok()
        .and_then(|hash| hash.parse().ok())
        .expect("the table has hashes in all lines")
}

/// Tells whether the content is a table already, which is the form that this program writes.
fn is_table(content: &[u8]) -> bool {
    let (lines, rest) = content.as_chunks::<LINE>();
    rest.is_empty()
        && lines.iter().all(is_line)
        && lines.is_sorted_by(|a, b| a[..ulid::DIGITS] < b[..ulid::DIGITS])
}

fn is_line(line: &[u8; LINE]) -> bool {
    let are_digits = |bytes: &[u8]| bytes.iter().copied().all(base32::is_digit);
    are_digits(&line[..ulid::DIGITS])
        && line[ulid::DIGITS..HASH_AT] == *b": "
        && are_digits(&line[HASH_AT..HASH_END])
        && line[HASH_END] == b'\n'
}

/// Why [`read_lines`] does not read a text.
enum LineError {
    /// A line is not `ID: HASH`. The text may still be YAML in another form.
    NotALine,
    /// A thread has two different heads, which is damage in any form. The line counts from 1.
    TwoHeads { line: usize, problem: String },
}

/// Reads lines in any order, with quotes, comments and blank lines.
fn read_lines(text: &str) -> Result<BTreeMap<ThreadId, CasRef>, LineError> {
    let mut heads = BTreeMap::new();
    for (line, text) in (1..).zip(text.lines()) {
        let comment = text.find(" #").unwrap_or(text.len());
        let text = text[..comment].trim_end();
        if text.is_empty() || text.starts_with('#') || text == "---" || text == "{}" {
            continue;
        }
        let (id, hash) = text.split_once(": ").ok_or(LineError::NotALine)?;
        let id = unquote(id).parse().map_err(|_| LineError::NotALine)?;
        let hash = unquote(hash.trim_start())
            .parse()
            .map_err(|_| LineError::NotALine)?;
        insert(&mut heads, id, hash).map_err(|problem| LineError::TwoHeads { line, problem })?;
    }
    Ok(heads)
}

fn unquote(text: &str) -> &str {
    let inner = |quote: char| text.strip_prefix(quote)?.strip_suffix(quote);
    inner('"').or_else(|| inner('\'')).unwrap_or(text)
}

/// Adds a head; a second one of the same thread must be the same.
fn insert(
    heads: &mut BTreeMap<ThreadId, CasRef>,
    thread: ThreadId,
    head: CasRef,
) -> Result<(), String> {
    match heads.entry(thread) {
        Entry::Occupied(other) if *other.get() != head => Err(format!(
            "thread {thread} has two heads, {} and {head}",
            other.get()
        )),
        entry => {
            entry.or_insert(head);
            Ok(())
        }
    }
}

/// Reads a mapping whose values are heads, or mappings with a `head`.
fn read_yaml(text: &str, path: &Path) -> Result<BTreeMap<ThreadId, CasRef>, StorageError> {
    let mut heads = BTreeMap::new();
    for (key, value) in state_file::entries(text, path)? {
        let thread = state_file::parse(&key.text, key.at, path)?;
        let head = match &value.data {
            Data::Map(_) => value.entry("head").map(|(_, head)| head),
            _ => Some(&value),
        };
        let Some(head) = head else {
            let problem = format!("thread {thread} has no `head`");
            return Err(state_file::damaged(path, value.at.line, problem));
        };
        let head = state_file::scalar(head, path)?;
        insert(&mut heads, thread, head)
            .map_err(|problem| state_file::damaged(path, key.at.line, problem))?;
    }
    Ok(heads)
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: &str = "01J7K9Z000000000000000000A";
    const B: &str = "01J7K9Z000000000000000000B";
    const C: &str = "01J7K9Z000000000000000000C";
    const H1: &str = "CTS5P6RD8HMCS";
    const H2: &str = "0123456789012";

    fn parse(text: &str) -> Result<Heads, StorageError> {
        Heads::parse(text.as_bytes().to_vec(), Path::new("threads.yaml"))
    }

    /// Checks that the text is read, and what it becomes.
    fn check(text: &str, table: &str) {
        let heads = parse(text).unwrap();
        assert_eq!(str::from_utf8(heads.as_bytes()).unwrap(), table, "{text}");
    }

    fn check_error(text: &str, line: u64, problem: &str) {
        let error = parse(text).unwrap_err();
        let StorageError::Damaged(bad) = error else {
            panic!("{error}");
        };
        assert_eq!(bad.line, line, "{bad}");
        assert!(bad.problem.contains(problem), "{bad}");
    }

    #[test]
    fn each_of_ten_thousand_threads_is_found_and_no_other() {
        let thread = |number: u64| ThreadId::new(number, 0);
        let line = |number: u64| line_of(thread(2 * number), CasRef::from_u64(number));
        let text: Vec<u8> = (0..10_000).flat_map(line).collect();
        let heads = Heads::parse(text, Path::new("threads.yaml")).unwrap();
        for number in 0..10_000 {
            let head = heads.get(thread(2 * number));
            assert_eq!(head, Some(CasRef::from_u64(number)));
            assert_eq!(heads.get(thread(2 * number + 1)), None);
        }
    }

    #[test]
    fn the_own_form_is_read_as_it_is() {
        check("", "");
        check(&format!("{A}: {H1}\n"), &format!("{A}: {H1}\n"));
    }

    #[test]
    fn lines_of_other_programs_become_a_table() {
        let table = format!("{A}: {H1}\n{B}: {H2}\n");
        check(&format!("{B}: {H2}\n{A}: {H1}\n"), &table);
        check(&format!("{A}: {H1}\r\n{B}: {H2}"), &table);
        check(
            &format!("---\n# mine\n\n\"{A}\": '{H1}' # x\n{B}:  \"{H2}\"\n"),
            &table,
        );
        check(&format!("{A}: {H1}\n{B}: {H2}\n{A}: {H1}\n"), &table);
        check(&format!("{}: {H1}\n{B}: {H2}\n", A.to_lowercase()), &table);
        check("{}\n", "");
        check("# nothing\n", "");
        check("~\n", "");
    }

    #[test]
    fn mappings_of_other_programs_become_a_table() {
        let table = format!("{A}: {H1}\n{B}: {H2}\n{C}: 1234567890123\n");
        check(
            &format!(
                "{A}:\n  head: {H1}\n  suspendedRole: reviewer\n  suspendMessage: \"a: b\"\n\
                 {B}: {{head: '{H2}', suspendedRole: x}}\n{C}: 1234567890123\n"
            ),
            &table,
        );
        check(
            &format!("{{{A}: {H1}, {B}: {{head: {H2}}}, {C}: 1234567890123}}"),
            &table,
        );
    }

    #[test]
    fn what_is_not_a_list_of_heads_is_an_error_with_its_line() {
        check_error(&format!("{A}: {H1}\n{B}: nonsense\n"), 2, "nonsense");
        check_error(&format!("{A}: {H1}\n{B}\n"), 2, "");
        check_error(&format!("{A}: {H1}\n{A}: {H2}\n"), 2, "two heads");
        check_error(&format!("{A}:\n  role: x\n"), 2, "head");
        check_error(&format!("{A}: {H1}\nx: {H1}\n"), 2, "`x`");
        check_error(&format!("- {A}\n"), 1, "");
        check_error(&format!("{A}: {H1}\n\0\0\0"), 2, "");
    }

    #[test]
    fn bytes_that_are_no_text_are_an_error_with_their_line() {
        let bytes = [A.as_bytes(), b": ", H1.as_bytes(), b"\n\xff\xfe\n"].concat();
        let error = Heads::parse(bytes, Path::new("threads.yaml")).unwrap_err();
        assert_eq!(
            error.to_string(),
            "`threads.yaml:2`: bytes that are not UTF-8"
        );
    }

    #[test]
    fn heads_are_set_found_and_removed_in_order() {
        let id = |text: &str| text.parse::<ThreadId>().unwrap();
        let hash = |text: &str| text.parse::<CasRef>().unwrap();
        let mut heads = parse("").unwrap();
        heads.set(id(B), hash(H1));
        heads.set(id(C), hash(H1));
        heads.set(id(A), hash(H1));
        heads.set(id(B), hash(H2));
        let all = [(id(A), hash(H1)), (id(B), hash(H2)), (id(C), hash(H1))];
        assert_eq!(heads.all(), all);
        assert_eq!(heads.get(id(B)), Some(hash(H2)));
        heads.remove(id(B));
        heads.remove(id(B));
        assert_eq!(heads.get(id(B)), None);
        check(
            str::from_utf8(heads.as_bytes()).unwrap(),
            &format!("{A}: {H1}\n{C}: {H1}\n"),
        );
    }
}
