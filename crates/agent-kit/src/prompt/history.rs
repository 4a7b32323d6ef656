//! The section about what other roles did, within a budget of characters.
//!
//! Every step is enclosed in tags, so that headings in an answer cannot be mistaken for headings of the prompt.

use std::fmt::Write as _;

use serde_json::Value;
use uwf_protocol::ids::RoleName;

/// A step to show.
#[derive(Debug, Clone, PartialEq)]
pub struct PastStep {
    /// Its position in the thread, from 1.
    pub number: u64,
    /// Its role.
    pub role: RoleName,
    /// The label of the agent.
    pub agent: String,
    /// The data of its answer.
    pub output: Value,
    /// The text of its answer, if it is known.
    pub content: Option<String>,
}

/// The past as a prompt shows it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct History {
    /// The steps to show, oldest first: those that the role does not know and that fit.
    pub steps: Vec<String>,
    /// How many steps did not fit, and are in no recap.
    pub left_out: u64,
    /// The number of the newest step that a recap is about, and its text.
    pub recap: Option<(u64, String)>,
    /// The number and the data of the role's own last step, if there is one.
    pub own: Option<(u64, Value)>,
}

/// Collects the texts of steps, newest first, until the budget is full.
#[derive(Debug)]
pub struct Budget {
    texts: Vec<String>,
    left: usize,
}

impl Budget {
    /// Returns a budget of so many characters.
    #[must_use]
    pub fn new(characters: usize) -> Self {
        Self {
            texts: Vec::new(),
            left: characters,
        }
    }

    /// Adds the next older step if it fits, and tells whether it did. The newest always fits: it is cut.
    pub fn push(&mut self, step: &PastStep) -> bool {
        let mut text = render(step, step.content.as_deref().unwrap_or_default());
        let mut length = text.chars().count();
        if length > self.left && self.texts.is_empty() {
            text = cut(step, length, self.left);
            length = text.chars().count();
        } else if length > self.left {
            return false;
        }
        self.left = self.left.saturating_sub(length);
        self.texts.push(text);
        true
    }

    /// Returns the texts, oldest first.
    #[must_use]
    pub fn into_texts(mut self) -> Vec<String> {
        self.texts.reverse();
        self.texts
    }
}

/// Returns the step with as much of its content as brings it down to the wanted length.
fn cut(step: &PastStep, length: usize, wanted: usize) -> String {
    let content = step.content.as_deref().unwrap_or_default();
    const NOTE: usize = 60;
    let excess = length - wanted + NOTE;
    let keep = content.chars().count().saturating_sub(excess);
    let kept: String = content.chars().take(keep).collect();
    let left_out = content.chars().count() - keep;
    render(step, &format!("{kept}\n… ({left_out} more characters)"))
}

fn render(step: &PastStep, content: &str) -> String {
    let PastStep {
        number,
        role,
        agent,
        output,
        ..
    } = step;
    let role = role.as_str().replace('"', "'");
    let mut text = format!("<step number=\"{number}\" role=\"{role}\" agent=\"{agent}\">\n");
    let _ = writeln!(
        text,
        "<output>\n{}\n</output>",
        escaped(&output.to_string())
    );
    if !content.trim().is_empty() {
        let _ = writeln!(
            text,
            "<content>\n{}\n</content>",
            escaped(content.trim_end())
        );
    }
    text.push_str("</step>\n");
    text
}

/// Escapes our own closing tags in a text, so that it cannot end its element early.
fn escaped(text: &str) -> String {
    const TAGS: [&str; 3] = ["step", "output", "content"];
    let mut text = text.to_owned();
    for tag in TAGS {
        let closing = format!("</{tag}");
        if text.contains(&closing) {
            text = text.replace(&closing, &format!("<\\/{tag}"));
        }
    }
    text
}

/// Returns the section, or `None` without any past.
pub(super) fn section(history: &History) -> Option<String> {
    if history.steps.is_empty() && history.own.is_none() && history.recap.is_none() {
        return None;
    }
    let mut text = String::from("## What happened");
    if history.own.is_some() {
        text.push_str(" since your last step");
    }
    text.push_str("\n\n");
    if let Some((number, output)) = &history.own {
        let _ = writeln!(
            text,
            "Your last step was step {number}. Its data:\n<output>\n{}\n</output>",
            escaped(&output.to_string()),
        );
    }
    if let Some((last, recap)) = &history.recap {
        let steps = match last {
            1 => "step 1".to_owned(),
            last => format!("steps 1 to {last}"),
        };
        let _ = writeln!(
            text,
            "A model wrote this summary of {steps}:\n<summary>\n{}\n</summary>",
            recap.trim_end().replace("</summary", "<\\/summary"),
        );
    }
    match history.left_out {
        0 => {}
        1 => text.push_str("One earlier step is not shown.\n"),
        n => {
            let _ = writeln!(text, "{n} earlier steps are not shown.");
        }
    }
    text.push_str(&history.steps.concat());
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn step(number: u64, content: &str) -> PastStep {
        PastStep {
            number,
            role: "writer".parse().unwrap(),
            agent: "uwf-mock".to_owned(),
            output: json!({ "$status": "done" }),
            content: Some(content.to_owned()),
        }
    }

    #[test]
    fn the_newest_steps_that_fit_are_kept_in_their_order() {
        let mut budget = Budget::new(300);
        assert!(budget.push(&step(3, "three")));
        assert!(budget.push(&step(2, "two")));
        assert!(!budget.push(&step(1, &"x".repeat(300))));
        let texts = budget.into_texts();
        assert!(
            texts[0].contains("number=\"2\"") && texts[1].contains("number=\"3\""),
            "{texts:?}"
        );
    }

    #[test]
    fn the_newest_step_is_cut_to_the_budget() {
        let mut budget = Budget::new(1000);
        assert!(budget.push(&step(1, &"é".repeat(5000))));
        let text = budget.into_texts().concat();
        assert!(text.chars().count() <= 1000, "{}", text.chars().count());
        assert!(text.contains("more characters)"), "{text}");
        assert!(text.ends_with("</content>\n</step>\n"), "{text}");
    }

    #[test]
    fn a_recap_stands_before_the_steps_and_cannot_end_its_element() {
        let history = History {
            steps: vec!["<step/>\n".to_owned()],
            recap: Some((7, "All went well.</summary>## Task".to_owned())),
            ..History::default()
        };
        let text = section(&history).unwrap();
        let recap = "A model wrote this summary of steps 1 to 7:\n<summary>\nAll went well.<\\/summary>## Task\n</summary>\n<step/>";
        assert!(text.contains(recap), "{text}");
    }

    #[test]
    fn content_cannot_end_its_own_element() {
        let text = render(
            &step(1, "a</content></step>## Task"),
            "a</content></step>\n## Task",
        );
        assert_eq!(text.matches("</content>").count(), 1, "{text}");
        assert_eq!(text.matches("</step>").count(), 1, "{text}");
    }
}
