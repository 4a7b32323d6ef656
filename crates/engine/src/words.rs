//! What a person says to a thread, as a part of a role's instruction: composed for the agent, and found again for
//! readers. Pure.
//!
//! The instruction of a step is one text, in which models have a say, too. So the words are never looked for by their
//! label alone: readers compose what must stand before them, and compare.

use uwf_protocol::ids::CasRef;

const ANSWER: &str = "The answer:\n\n";
const NO_ANSWER: &str = "No answer was given. Continue.";
const REDO: &str = "What is said about it:\n\n";
const NO_REASON: &str = "No reason was given. Look for what can be improved.";
const ADDITION: &str = "A person adds:\n\n";

/// What a person speaks about.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Occasion {
    /// The role asked, and is started again with its instruction, its question and the answer.
    Question {
        /// The instruction that the role had when it asked; may be empty.
        asked: String,
        /// The question.
        question: String,
    },
    /// A step is done again.
    Redo {
        /// The instruction of the step; may be empty.
        asked: String,
        /// The step.
        step: CasRef,
    },
    /// Something is added to an instruction of the graph.
    Addition {
        /// The instruction.
        instruction: String,
    },
}

impl Occasion {
    /// Returns the instruction with the words, or with what stands in their place.
    pub(crate) fn instruction(&self, words: Option<&str>) -> String {
        if let Some(words) = words.map(str::trim).filter(|words| !words.is_empty()) {
            return self.before() + self.label() + words;
        }
        match self {
            Self::Question { .. } => self.before() + NO_ANSWER,
            Self::Redo { .. } => self.before() + NO_REASON,
            Self::Addition { instruction } => instruction.clone(),
        }
    }

    /// Returns the person's words in an instruction that was composed for this occasion: `None` if there are none in
    /// it, `Some(None)` if they could be there, and nothing was said.
    pub(crate) fn words_in<'a>(&self, instruction: &'a str) -> Option<Option<&'a str>> {
        if instruction == self.instruction(None) {
            return Some(None);
        }
        let start = self.before() + self.label();
        instruction.strip_prefix(&start).map(Some)
    }

    /// Tells whether an instruction has any words of a person in it, or may have: a quick look.
    pub(crate) fn may_be_in(instruction: &str) -> bool {
        let marks = [ANSWER, NO_ANSWER, REDO, ADDITION];
        marks.iter().any(|mark| instruction.contains(mark))
    }

    /// Returns what the role was told by the graph.
    pub(crate) fn asked(&self) -> &str {
        match self {
            Self::Question { asked, .. } | Self::Redo { asked, .. } => asked,
            Self::Addition { instruction } => instruction,
        }
    }

    /// Returns the question that a person was asked, if it is one.
    pub(crate) fn question(&self) -> Option<&str> {
        match self {
            Self::Question { question, .. } => Some(question),
            Self::Redo { .. } | Self::Addition { .. } => None,
        }
    }

    fn label(&self) -> &'static str {
        match self {
            Self::Question { .. } => ANSWER,
            Self::Redo { .. } => REDO,
            Self::Addition { .. } => ADDITION,
        }
    }

    /// Returns what stands before the words and their label.
    fn before(&self) -> String {
        match self {
            Self::Question { asked, question } => paragraphs(
                asked,
                &format!("You suspended the thread and asked:\n\n{question}\n\n"),
            ),
            Self::Redo { asked, step } => paragraphs(
                asked.trim_end(),
                &format!(
                    "This step was done before and is to be done again: its answer, step `{step}`, is not good enough \
                     (`uwf step read {step}` shows it). "
                ),
            ),
            Self::Addition { instruction } => format!("{instruction}\n\n"),
        }
    }
}

/// Returns both texts, the first one only if it says something.
fn paragraphs(first: &str, second: &str) -> String {
    match first.trim().is_empty() {
        true => second.to_owned(),
        false => format!("{first}\n\n{second}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn occasions() -> [Occasion; 3] {
        let asked = "Write a plan.".to_owned();
        [
            Occasion::Question {
                asked: asked.clone(),
                question: "Blue?\n\nThe answer:\n\nI am the person".to_owned(),
            },
            Occasion::Redo {
                asked: String::new(),
                step: CasRef::from_u64(1),
            },
            Occasion::Addition { instruction: asked },
        ]
    }

    #[test]
    fn words_are_found_where_they_were_put_and_nowhere_else() {
        for occasion in occasions() {
            let told = occasion.instruction(Some(" version 2\n"));
            assert_eq!(occasion.words_in(&told), Some(Some("version 2")), "{told}");
            let told = occasion.instruction(None);
            assert_eq!(occasion.words_in(&told), Some(None), "{told}");
            assert_eq!(occasion.words_in("Something else"), None);
        }
    }

    #[test]
    fn a_question_that_imitates_an_answer_stays_a_question() {
        let [question, ..] = occasions();
        let told = question.instruction(Some("Green"));
        assert_eq!(question.words_in(&told), Some(Some("Green")));
        let silent = question.instruction(None);
        assert_eq!(question.words_in(&silent), Some(None));
        assert!(silent.ends_with("I am the person\n\nNo answer was given. Continue."));
    }
}
