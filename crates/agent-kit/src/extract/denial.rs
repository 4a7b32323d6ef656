//! Decides whether a sentence asserts a word in it, denies it, or leaves it open. Pure, and for English.
//!
//! In doubt it does not assert. A status that was meant and is doubted costs one more attempt; a status that is read
//! from its own denial ("not approved") sends the thread the wrong way.

use std::ops::Range;

/// What a sentence says about a word in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Said {
    /// The sentence asserts the word.
    Yes,
    /// The sentence denies the word.
    No,
    /// The sentence asks for the word, or has it under a condition.
    Open,
}

/// Words that deny everything after them in their sentence.
const NEGATORS: [&str; 28] = [
    "not",
    "never",
    "cannot",
    "neither",
    "nor",
    "nobody",
    "hardly",
    "barely",
    "scarcely",
    "cant",
    "dont",
    "doesnt",
    "didnt",
    "isnt",
    "arent",
    "wasnt",
    "wont",
    "hasnt",
    "refuse",
    "refuses",
    "refused",
    "decline",
    "declined",
    "deny",
    "denied",
    "unable",
    "impossible",
    "unlikely",
];
/// Phrases that deny everything after them in their sentence.
const NEGATING: [&str; 11] = [
    "no one",
    "no longer",
    "far from",
    "anything but",
    "all but",
    "rather than",
    "instead of",
    "fails to",
    "failed to",
    "false that",
    "wrong to",
];
/// Words that deny what follows them up to the next comma: "no problems, approved" denies only the problems.
const DETERMINERS: [&str; 6] = ["no", "none", "nothing", "without", "zero", "lacks"];
/// Words after which the rest of the sentence is a condition or a wish.
const HYPOTHETICAL: [&str; 7] = [
    "if", "unless", "until", "whether", "would", "could", "might",
];
/// Words after which the text up to the next comma is a condition.
const TEMPORAL: [&str; 3] = ["when", "once", "before"];
/// Phrases about the future.
const FUTURE: [&str; 3] = ["to be", "must be", "may be"];
/// Words that make the text before them conditional.
const CONDITIONS: [&str; 11] = [
    "if", "only", "unless", "once", "until", "when", "pending", "provided", "subject", "would",
    "could",
];
const AUXILIARIES: [&str; 18] = [
    "is", "was", "were", "are", "be", "can", "will", "has", "have", "had", "does", "do", "did",
    "should", "must", "may", "remains", "seems",
];
/// What starts a new statement: words before it have no effect after it.
const NEW_STATEMENT: [&str; 7] = [
    ";",
    ":",
    " but ",
    " so ",
    " hence ",
    " therefore ",
    " thus ",
];

/// Returns what the sentence around a word says about it.
pub(super) fn said(text: &str, word: Range<usize>) -> Said {
    let before = plain(&sentence_before(&text[..word.start]));
    let after = plain(&sentence_after(&text[word.end..]));
    match (by_what_precedes(&before), by_what_follows(&after)) {
        (Said::No, _) | (_, Said::No) => Said::No,
        (Said::Open, _) | (_, Said::Open) => Said::Open,
        (Said::Yes, Said::Yes) => Said::Yes,
    }
}

fn by_what_precedes(sentence: &str) -> Said {
    if sentence.ends_with("~~")
        || ["anything but ", "all but "]
            .iter()
            .any(|it| sentence.ends_with(it))
    {
        return Said::No;
    }
    if sentence.contains("[ ]") {
        return Said::Open;
    }
    let statement = after_last(sentence, &NEW_STATEMENT);
    let clause = after_last(statement, &[",", ")", "—", "–", " - ", " and "]);
    let (all, near) = (words(statement), words(clause));
    let has = |words: &[&str], known: &[&str]| words.iter().any(|word| known.contains(word));
    let phrased = |words: &[&str], known: &[&str]| {
        words
            .windows(2)
            .any(|pair| known.contains(&pair.join(" ").as_str()))
    };
    let contracted = |words: &[&str]| words.iter().any(|word| word.ends_with("n't"));
    if has(&all, &NEGATORS)
        || contracted(&all)
        || phrased(&all, &NEGATING)
        || has(&near, &DETERMINERS)
    {
        return Said::No;
    }
    if has(&all, &HYPOTHETICAL) || has(&near, &TEMPORAL) || phrased(&near, &FUTURE) {
        return Said::Open;
    }
    Said::Yes
}

fn by_what_follows(rest: &str) -> Said {
    let rest = rest.trim_start_matches(['"', '\'', '`', '*', '_', '~', ')', '.', ']']);
    if let Some(answer) = rest.trim_start().strip_prefix('?') {
        return by_answer(answer);
    }
    let content =
        rest.trim_start_matches(|c: char| c.is_whitespace() || ":=|-—–(,\"'`*_>".contains(c));
    if content.starts_with(['❌', '✗', '✘', '👎']) {
        return Said::No;
    }
    if content.starts_with("[ ]") {
        return Said::Open;
    }
    let separator = &rest[..rest.len() - content.len()];
    let end = content
        .find([',', '.', ';', '!', ')', '|'])
        .unwrap_or(content.len());
    let clause = words(&content[..end]);
    let is_followed = clause.len() > 1;
    let denies = match clause.as_slice() {
        ["not", ..] if separator.contains(',') => !is_followed,
        ["not", "a" | "one", ..] => false,
        ["no", next, ..] => matches!(*next, "longer" | "one"),
        [
            "not" | "no" | "nope" | "never" | "false" | "denied" | "refused" | "nobody" | "none",
            ..,
        ] => true,
        ["by", "no" | "nobody" | "none" | "neither", ..] => true,
        [first, ..]
            if first.ends_with("n't") || matches!(*first, "cannot" | "isnt" | "wasnt" | "cant") =>
        {
            true
        }
        [first, second, ..] if AUXILIARIES.contains(first) => {
            matches!(
                *second,
                "not" | "never" | "no" | "hardly" | "false" | "wrong" | "denied" | "impossible"
            )
        }
        _ => false,
    };
    if denies {
        return Said::No;
    }
    let is_conditional = clause
        .first()
        .is_some_and(|first| CONDITIONS.contains(first));
    match is_conditional || words(content).contains(&"unless") {
        true => Said::Open,
        false => Said::Yes,
    }
}

/// Returns what the answer to a question such as "approved?" says about the word.
fn by_answer(answer: &str) -> Said {
    match words(answer).first() {
        Some(&("yes" | "yep" | "yeah" | "true" | "indeed")) => Said::Yes,
        Some(first) if *first == "no" || *first == "nope" || NEGATORS.contains(first) => Said::No,
        Some(_) | None => Said::Open,
    }
}

/// Returns the text in lower case, with straight apostrophes, and with blanks in place of line ends.
fn plain(text: &str) -> String {
    text.to_lowercase().replace('’', "'").replace('\n', " ")
}

fn words(text: &str) -> Vec<&str> {
    let words = text.split(|c: char| !c.is_alphanumeric() && c != '\'');
    let words = words.map(|word| word.trim_matches('\''));
    words.filter(|word| !word.is_empty()).collect()
}

/// Returns the text after the last of some marks, or the whole text without any.
fn after_last<'a>(text: &'a str, marks: &[&str]) -> &'a str {
    let ends = marks
        .iter()
        .filter_map(|mark| Some(text.rfind(mark)? + mark.len()));
    &text[ends.max().unwrap_or(0)..]
}

/// Returns the last, unfinished sentence of a text. Wrapped lines belong together; items of a list, headings and
/// paragraphs do not.
fn sentence_before(text: &str) -> String {
    let mut lines: Vec<&str> = Vec::new();
    for line in text.rsplit('\n') {
        let is_other = line.trim().is_empty() || line.trim_start().starts_with('#');
        if !lines.is_empty() && is_other {
            break;
        }
        lines.push(line);
        if starts_anew(line) {
            break;
        }
    }
    lines.reverse();
    let joined = lines.join("\n");
    let mut start = 0;
    for (at, mark) in joined.match_indices(['.', '!', '?']) {
        let rest = joined[at + mark.len()..].trim_start_matches(['"', '\'', ')', '*', '_']);
        if rest.starts_with(char::is_whitespace) {
            start = joined.len() - rest.len();
        }
    }
    joined[start..].to_owned()
}

/// Returns the rest of the sentence in which a text starts, with the answer if it is a question.
fn sentence_after(text: &str) -> String {
    let mut lines: Vec<&str> = Vec::new();
    for line in text.split('\n') {
        if !lines.is_empty() && (line.trim().is_empty() || starts_anew(line)) {
            break;
        }
        lines.push(line);
    }
    let joined = lines.join("\n");
    let ends = |(at, mark): (usize, &str)| {
        let rest = &joined[at + mark.len()..];
        (rest.is_empty() || rest.starts_with(char::is_whitespace)).then_some(at + mark.len())
    };
    let end = joined.match_indices(['.', '!', ';']).find_map(ends);
    joined[..end.unwrap_or(joined.len())].to_owned()
}

/// Tells whether a line is an item, a heading, a quotation or a table row. Such a line does not continue the one
/// before.
fn starts_anew(line: &str) -> bool {
    let line = line.trim_start();
    let digits = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let is_numbered = digits.len() < line.len() && digits.starts_with(['.', ')']);
    let is_marked = ["- ", "* ", "+ ", "#", "|", ">"];
    is_numbered || is_marked.iter().any(|mark| line.starts_with(mark))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Said) {
        let lower = text.to_lowercase();
        let at = lower.find("approved").unwrap();
        assert_eq!(said(text, at..at + "approved".len()), expected, "{text}");
    }

    #[test]
    fn a_denied_word_is_not_asserted() {
        for text in [
            "Not approved: the tests fail.",
            "This isn't approved.",
            "This isn’t approved.",
            "Approved? No.",
            "approved? not yet",
            "It cannot be approved.",
            "It can't be approved as it is.",
            "Never approved by me.",
            "It was never really approved.",
            "This is not, in my view, approved.",
            "I do not think that this can be approved.",
            "Nobody approved it.",
            "No one has approved this.",
            "None of the changes is approved.",
            "Nothing here is approved.",
            "Neither change is approved.",
            "It is far from approved.",
            "It is anything but approved.",
            "It went in without being approved.",
            "It is no longer approved.",
            "I refuse to mark it as approved.",
            "It is hardly approved.",
            "The change is not\napproved.",
            "## Verdict: not approved",
            "- verdict: **not** approved",
            "Approved: no",
            "approved = false",
            "| approved | no |",
            "Approved — not!",
            "Approved by nobody.",
            "Approved is not the word for it.",
            "\"Approved\" cannot be said.",
            "~~Approved~~",
            "Approved: ❌",
            "I could not find a bug, approved.",
        ] {
            check(text, Said::No);
        }
    }

    #[test]
    fn a_word_that_is_asked_for_or_conditional_is_left_open() {
        for text in [
            "Approved?",
            "Is this approved? I wonder.",
            "It would be approved with tests.",
            "If the tests pass, it is approved.",
            "Approved once the tests pass.",
            "Approved, unless you object.",
            "It is still to be approved.",
            "- [ ] approved",
            "Tell me when it is approved.",
        ] {
            check(text, Said::Open);
        }
    }

    #[test]
    fn a_word_is_asserted_although_something_else_is_denied() {
        for text in [
            "Approved.",
            "All is well and approved, see the link.",
            "I found no problems: approved.",
            "No problems found, approved!",
            "I could not find a single bug, so it is approved.",
            "There is nothing left to do. Approved.",
            "It is not fast, but approved.",
            "Approved, no objections.",
            "Approved: no objections.",
            "Approved - not a single problem.",
            "Approved with two remarks.",
            "**Approved** by two reviewers",
            "Is it approved? Yes.",
            "- tests: not run here\n- verdict: approved",
            "Not everything is perfect.\n\nApproved",
            "# Nothing to say\nApproved",
            "- [x] approved",
            "The change is good; approved. Do not forget the changelog.",
        ] {
            check(text, Said::Yes);
        }
    }
}
