//! Where a thread stands, for a page: what it asks, what keeps it from going on, and what came of it.

use uwf_engine::{HeldBy, ThreadStory, ThreadView};
use uwf_protocol::ids::RoleName;

/// What kind of text a part has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// A role asks a person.
    Question,
    /// Something keeps the thread from going on, or from having a result.
    Problem,
    /// The result of the thread.
    Result,
    /// What a model says about the thread.
    Summary,
}

/// A part of a page: a text with its title.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// The title.
    pub title: String,
    /// The kind of the text.
    pub tone: Tone,
    /// The text.
    pub text: String,
}

/// What the parts are made of.
#[derive(Debug, Default)]
struct Known<'a> {
    held_by: Option<HeldBy>,
    role: Option<&'a str>,
    message: Option<&'a str>,
    limit: Option<String>,
    blocked: Option<&'a str>,
    result: Option<&'a str>,
    result_problem: Option<&'a str>,
    summary: Option<&'a str>,
}

/// Returns the parts about a thread, what a person has to do first.
#[must_use]
pub fn of_view(view: &ThreadView) -> Vec<Part> {
    let (state, outline) = (&view.state, &view.outline);
    parts(Known {
        held_by: state.held_by,
        role: state.suspended_role.as_ref().map(RoleName::as_str),
        message: state.suspend_message.as_deref(),
        limit: state.limit.as_ref().map(ToString::to_string),
        blocked: view.blocked_reason.as_deref(),
        result: outline.result.as_deref(),
        result_problem: outline.result_problem.as_deref(),
        summary: view.summary.as_ref().map(|summary| &*summary.text),
    })
}

/// Returns the parts about the thread of a story, in the same order.
#[must_use]
pub fn of_story(story: &ThreadStory) -> Vec<Part> {
    parts(Known {
        held_by: story.held_by,
        role: story.suspended_role.as_ref().map(RoleName::as_str),
        message: story.suspend_message.as_deref(),
        limit: story.limit.as_ref().map(ToString::to_string),
        blocked: story.blocked_reason.as_deref(),
        result: story.result.as_deref(),
        result_problem: story.result_problem.as_deref(),
        summary: story.summary.as_ref().map(|summary| &*summary.text),
    })
}

fn parts(known: Known<'_>) -> Vec<Part> {
    let role = known.role.unwrap_or("It");
    let (title, tone) = match known.held_by {
        Some(HeldBy::Supervisor) => ("The supervisor suspended it".to_owned(), Tone::Problem),
        Some(HeldBy::Limit) => (LIMIT.to_owned(), Tone::Problem),
        Some(HeldBy::Failure) => (format!("{role} stopped the run"), Tone::Problem),
        None => (format!("{role} asks"), Tone::Question),
    };
    // If limits suspend the thread, the message is about them.
    let limit = known.limit.filter(|_| known.held_by != Some(HeldBy::Limit));
    let owned = |text: Option<&str>| text.map(str::to_owned);
    let parts = [
        (title, tone, owned(known.message)),
        (LIMIT.to_owned(), Tone::Problem, limit),
        (
            "The graph gives no next step".to_owned(),
            Tone::Problem,
            owned(known.blocked),
        ),
        ("Result".to_owned(), Tone::Result, owned(known.result)),
        (
            "The result cannot be filled in".to_owned(),
            Tone::Problem,
            owned(known.result_problem),
        ),
        ("Summary".to_owned(), Tone::Summary, owned(known.summary)),
    ];
    let parts = parts.into_iter().filter_map(|(title, tone, text)| {
        let text = text.filter(|text| !text.trim().is_empty())?;
        Some(Part { title, tone, text })
    });
    parts.collect()
}

/// The title of a part about a limit.
const LIMIT: &str = "A limit is reached";

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(known: Known<'_>) -> Vec<String> {
        let parts = parts(known).into_iter();
        parts
            .map(|part| format!("{:?} {}: {}", part.tone, part.title, part.text))
            .collect()
    }

    #[test]
    fn a_message_has_the_title_of_what_suspends_the_thread() {
        let of = |held_by, role| {
            shown(Known {
                held_by,
                role,
                message: Some("m"),
                limit: Some("l".to_owned()),
                ..Known::default()
            })
        };
        let limit = "Problem A limit is reached: l";
        assert_eq!(of(None, Some("a")), ["Question a asks: m", limit]);
        assert_eq!(of(None, None), ["Question It asks: m", limit]);
        assert_eq!(
            of(Some(HeldBy::Failure), Some("a")),
            ["Problem a stopped the run: m", limit]
        );
        assert_eq!(
            of(Some(HeldBy::Supervisor), Some("a")),
            ["Problem The supervisor suspended it: m", limit]
        );
        assert_eq!(
            of(Some(HeldBy::Limit), Some("a")),
            ["Problem A limit is reached: m"]
        );
    }

    #[test]
    fn a_part_without_a_text_is_left_out() {
        let known = Known {
            message: Some(" \n"),
            summary: Some("s"),
            result: Some("r"),
            ..Known::default()
        };
        assert_eq!(shown(known), ["Result Result: r", "Summary Summary: s"]);
    }
}
