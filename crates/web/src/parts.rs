//! Pieces of markup that several pages have. Each text is escaped, so the text of a model cannot become markup.

use maud::{Markup, PreEscaped, Render, html};
use url::form_urlencoded;
use uwf_engine::{
    EngineError, GraphNode, GraphView, Outline, ThreadItem, ThreadStatus, UsageTotal,
};
use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_protocol::naming::Labels;
use uwf_util::printable::printable;
use uwf_util::{size, time};
use uwf_words::graph::linked_svg;
use uwf_words::usage;

use crate::asked::Asked;
use crate::posted::KEY_FIELD;
use crate::selection::field;
use crate::visitor::{Access, Visitor};

/// A text that a model, an agent or a person wrote. It is escaped, and characters that would change the direction or the
/// appearance of the text around them are spelled out.
pub(crate) struct Said<'a>(pub(crate) &'a str);

impl Render for Said<'_> {
    fn render_to(&self, page: &mut String) {
        let lines = self.0.replace("\r\n", "\n");
        (*printable(&lines)).render_to(page);
    }
}

/// The field of an address with the number of the notices that its page shows.
pub(crate) const NOTICES: &str = "told";

/// How many bytes of a text a page shows at most. A browser is slow with longer texts.
pub(crate) const LONGEST: usize = 64 << 10;

/// How much of a text is shown, and the address of the whole text, if it has one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Room<'a> {
    pub(crate) bytes: usize,
    pub(crate) whole: Option<&'a str>,
}

impl<'a> Room<'a> {
    /// Returns the usual room for a text that can be read in full at an address.
    pub(crate) fn before(whole: &'a str) -> Self {
        Self {
            bytes: LONGEST,
            whole: Some(whole),
        }
    }
}

impl Default for Room<'_> {
    fn default() -> Self {
        Self {
            bytes: LONGEST,
            whole: None,
        }
    }
}

/// Returns a text with its lines; only its beginning if it has more than [`LONGEST`] bytes.
pub(crate) fn preformatted(text: &str) -> Markup {
    beginning(text, Room::default())
}

/// Returns a text with its lines, as much as there is room for. If it is cut, a hint says so.
pub(crate) fn beginning(text: &str, room: Room<'_>) -> Markup {
    let text = text.trim_end();
    let shown = &text[..text.floor_char_boundary(room.bytes)];
    html! {
        // A browser drops the first line end after the tag.
        pre dir="auto" tabindex="0" { "\n" (Said(shown)) }
        @if shown.len() < text.len() {
            p.hint {
                "This is the beginning: " (size::format(shown.len() as u64)) " of " (size::format(text.len() as u64)) "."
                @if let Some(whole) = room.whole { " " a href=(whole) { "The whole text" } }
            }
        }
    }
}

/// Returns a part with a title; nothing if there is no text.
pub(crate) fn section(title: &str, class: &str, text: Option<&str>) -> Markup {
    section_in(Room::default(), title, class, text)
}

/// Returns a part with a title and as much of its text as there is room for; nothing if there is no text.
pub(crate) fn section_in(room: Room<'_>, title: &str, class: &str, text: Option<&str>) -> Markup {
    let text = text.filter(|text| !text.trim().is_empty());
    html! {
        @if let Some(text) = text {
            section class=(class) { h3 { (title) } (beginning(text, room)) }
        }
    }
}

/// Returns a part that is folded until a person opens it; nothing if there is no text.
pub(crate) fn folded(title: &str, text: Option<&str>) -> Markup {
    folded_in(Room::default(), title, text)
}

/// Returns a folded part with as much of its text as there is room for; nothing if there is no text.
pub(crate) fn folded_in(room: Room<'_>, title: &str, text: Option<&str>) -> Markup {
    let text = text.filter(|text| !text.trim().is_empty());
    html! {
        @if let Some(text) = text {
            details class="aside" { summary { (title) } (beginning(text, room)) }
        }
    }
}

/// Returns what a page shows in place of a part that cannot be read: the reason, and what to do about it.
pub(crate) fn unreadable(asked: &Asked, part: &str, error: EngineError) -> Markup {
    let why = (asked.app.explain)(error).whole();
    html! { ul.notes { li.failed { (part) " cannot be read: " (Said(&why)) } } }
}

/// Returns the status of a thread: a sign and a word, never a colour alone.
pub(crate) fn status(status: ThreadStatus) -> Markup {
    let word = status.as_str();
    html! { span class=(format!("status {word}")) { span aria-hidden="true" { (sign(status)) } " " (word) } }
}

/// Returns the sign of a status.
fn sign(status: ThreadStatus) -> &'static str {
    match status {
        ThreadStatus::Idle => "○",
        ThreadStatus::Running => "▶",
        ThreadStatus::Suspended => "?",
        ThreadStatus::Blocked => "✗",
        ThreadStatus::Failed => "!",
        ThreadStatus::Waiting => "…",
        ThreadStatus::Paused => "‖",
        ThreadStatus::Completed => "✓",
        ThreadStatus::Cancelled => "×",
        ThreadStatus::Corrupt => "⚠",
    }
}

/// Returns the title of a thread: its task.
pub(crate) fn task(outline: &Outline) -> &str {
    let task = outline.task.as_deref();
    task.filter(|task| !task.trim().is_empty())
        .unwrap_or("(no task)")
}

/// Returns why a thread does not go on.
pub(crate) fn reason(item: &ThreadItem) -> Option<&str> {
    let reasons = [
        &item.suspend_message,
        &item.blocked_reason,
        &item.failure_reason,
        &item.error,
    ];
    reasons.into_iter().find_map(|reason| reason.as_deref())
}

/// Returns the cost of runs; a dash if there were none.
pub(crate) fn cost(total: Option<&UsageTotal>) -> Markup {
    match total.filter(|total| total.runs > 0) {
        Some(total) => html! { span title=(usage::sentence(total)) { (usage::cost(total)) } },
        None => html! { span.none { "–" } },
    }
}

/// Returns how long ago a time was. The time in UTC is in the tooltip.
pub(crate) fn when(at_ms: i64, now_ms: i64) -> Markup {
    let age = u64::try_from(now_ms.saturating_sub(at_ms)).unwrap_or(0);
    html! {
        time datetime=(time::format_iso(at_ms)) title=(format!("{} UTC", time::format_utc(at_ms))) {
            (time::format_age(age))
        }
    }
}

/// Returns the address of a thread.
pub(crate) fn thread_address(thread: ThreadId) -> String {
    format!("/threads/{thread}")
}

/// Returns a link to a workflow, with its name, or its hash if no name is given.
pub(crate) fn workflow_link(hash: CasRef, name: Option<&str>) -> Markup {
    html! { a href=(format!("/workflows/{hash}")) { (Said(name.unwrap_or(hash.as_str()))) } }
}

/// Returns the address of the threads of a workflow: of one version by its hash, of all versions by their name.
pub(crate) fn threads_of(workflow: &str) -> String {
    with_field("/", field::WORKFLOW, workflow)
}

/// Returns an address with one field as its query. The address must have no query yet.
pub(crate) fn with_field(address: &str, name: &str, value: &str) -> String {
    let mut fields = form_urlencoded::Serializer::new(String::new());
    fields.append_pair(name, value);
    format!("{address}?{}", fields.finish())
}

/// Returns the address of the form to log in. After the log-in, it leads to another page of ours.
pub(crate) fn log_in_address(next: &str) -> String {
    with_field("/login", "next", next)
}

/// Returns labels. Each is a link to the threads that have it.
pub(crate) fn labels(labels: &Labels) -> Markup {
    html! {
        @for (key, value) in labels.iter() {
            @let text = format!("{key}={value}");
            a.label href=(with_field("/", field::LABEL, &text)) { (Said(&text)) }
        }
    }
}

/// Returns a link to a node, with its hash.
pub(crate) fn hash_link(hash: CasRef) -> Markup {
    html! { a.hash href=(format!("/cas/{hash}")) { (hash) } }
}

/// Returns the hidden field with the key of a visitor's session; nothing for a visitor without a session.
pub(crate) fn key(asked: &Asked) -> Markup {
    html! {
        @if let Visitor::Person { form_key, .. } = &asked.visitor {
            input type="hidden" name=(KEY_FIELD) value=(form_key.reveal());
        }
    }
}

/// Returns a command that a person could type instead.
pub(crate) fn command(asked: &Asked, command: &str) -> Markup {
    html! { pre.command tabindex="0" { (Said(&(asked.app.here)(command))) } }
}

/// Returns the notices that an address names; nothing if it names none.
pub(crate) fn notices(asked: &Asked) -> Markup {
    let number = asked.query.get(NOTICES).and_then(|text| text.parse().ok());
    let notices = match (&asked.visitor, number) {
        (Visitor::Person { session, .. }, Some(number)) => {
            asked.app.sessions.notices(session, number)
        }
        (Visitor::Person { .. } | Visitor::Program | Visitor::Stranger, _) => Vec::new(),
    };
    html! {
        @if !notices.is_empty() {
            section.told aria-label="What the command said" {
                @for notice in &notices { p { (Said(notice)) } }
            }
        }
    }
}

/// Returns the link to the form of a new thread; nothing if visitors may only look.
pub(crate) fn new_thread(asked: &Asked, workflow: Option<&str>) -> Markup {
    let address = match workflow {
        Some(workflow) => with_field("/new", field::WORKFLOW, workflow),
        None => "/new".to_owned(),
    };
    html! {
        @if asked.app.access == Access::Full { a.button href=(address) { "New thread" } }
    }
}

/// Returns the drawing of a graph, whose nodes are links. If the graph cannot be drawn, a hint says why.
pub(crate) fn drawing(graph: &GraphView, link: &dyn Fn(&GraphNode) -> Option<String>) -> Markup {
    match linked_svg(graph, link) {
        // A large graph is wider than its place. The place is a stop of the keyboard, by which it can be scrolled.
        Ok(svg) => html! {
            // The drawing escapes the texts in it.
            div.drawing role="region" aria-label="Drawing of the graph" tabindex="0" { (PreEscaped(svg)) }
        },
        Err(error) => html! { p.hint { "The graph is not drawn: " (error.to_string()) "." } },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_no_markup() {
        let hostile = "</pre><script>\"'&\u{202e}\u{0}\r\nx";
        let safe = "&lt;/pre&gt;&lt;script&gt;&quot;'&amp;\\u{202e}\\u{0}\nx";
        let shown = html! { p { (Said(hostile)) } }.into_string();
        assert_eq!(shown, format!("<p>{safe}</p>"));
        let kept = preformatted("\na\n\n").into_string();
        assert_eq!(kept, "<pre dir=\"auto\" tabindex=\"0\">\n\na</pre>");
    }

    #[test]
    fn of_a_very_long_text_the_beginning_is_shown() {
        let text = "é".repeat(LONGEST);
        let shown = preformatted(&text).into_string();
        assert!(shown.len() < LONGEST + 200, "{}", shown.len());
        assert!(shown.contains("64.0 KiB of 128.0 KiB"), "{shown}");
        assert!(
            !preformatted(&"x".repeat(LONGEST))
                .into_string()
                .contains("beginning")
        );
        let room = Room {
            bytes: 3,
            whole: Some("/a"),
        };
        let shown = beginning("éé", room).into_string();
        assert!(
            shown.contains("\né</pre>") && shown.contains("href=\"/a\""),
            "{shown}"
        );
    }

    #[test]
    fn the_way_on_from_the_log_in_is_one_field() {
        assert_eq!(log_in_address("/?a=b&c"), "/login?next=%2F%3Fa%3Db%26c");
    }

    #[test]
    fn every_status_has_a_sign_of_its_own() {
        let signs: std::collections::HashSet<&str> =
            ThreadStatus::ALL.into_iter().map(sign).collect();
        assert_eq!(signs.len(), ThreadStatus::ALL.len());
    }
}
