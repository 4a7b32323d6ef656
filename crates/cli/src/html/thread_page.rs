//! A thread as a page: what it is about, where it stands and what it cost, then its steps.

use uwf_engine::{ThreadStatus, ThreadStory, UsageTotal};
use uwf_util::text::cut_line;
use uwf_util::time;
use uwf_words::stand::{Tone, of_story};
use uwf_words::usage;

use super::element::{Html, labelled, preformatted};
use super::step_article::{attempt_item, contents_line, section, step_article};

/// What the page begins with. The policy keeps a browser from loading or running anything, whatever the page contains.
const HEAD: &str = concat!(
    "<meta charset=\"utf-8\">",
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">",
    "<meta name=\"color-scheme\" content=\"light dark\">",
    "<meta name=\"referrer\" content=\"no-referrer\">",
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">",
    "<style>\n",
    include_str!("page.css"),
    "</style>",
);

/// How many characters of the task stand in the title.
const TITLE: usize = 80;

/// Returns the page of a thread.
pub(crate) fn thread_page(story: &ThreadStory) -> String {
    let first = story.task.lines().find(|line| !line.trim().is_empty());
    let title = cut_line(first.unwrap_or_default(), TITLE);
    let name = &story.workflow_name;
    let head_title = Html::element("title", &[], [Html::text(&format!("{title} · {name}"))]);
    let head = Html::element("head", &[], [Html::own(HEAD), head_title]);
    let steps = Html::join(story.steps.iter().map(step_article));
    let main = Html::element(
        "main",
        &[],
        [
            header(story, &title),
            state(story),
            contents(story),
            task(story),
            steps,
            last_attempts(story),
        ],
    );
    let body = Html::element("body", &[], [main]);
    let page = Html::element("html", &[("lang", "en")], [head, body]);
    format!("<!doctype html>\n{}\n", page.into_markup())
}

/// Returns what the thread is about, its status and its sums.
fn header(story: &ThreadStory, title: &str) -> Html {
    let status = story.status.map(|status| {
        let word = status.as_str();
        labelled("span", &format!("status {word}"), word)
    });
    let above = [
        labelled("span", "workflow", &story.workflow_name),
        status.unwrap_or_default(),
    ];
    let facts: Vec<Html> = facts(story)
        .into_iter()
        .map(|(name, value)| {
            let parts = [
                labelled("dt", "name", name),
                labelled("dd", "value", &value),
            ];
            Html::element("div", &[], parts)
        })
        .collect();
    Html::element(
        "header",
        &[],
        [
            Html::element("p", &[("class", "above")], above),
            Html::element("h1", &[], [Html::text(title)]),
            Html::element("dl", &[], facts),
        ],
    )
}

fn facts(story: &ThreadStory) -> Vec<(&'static str, String)> {
    let mut facts = vec![
        (
            "Started",
            format!("{} UTC", time::format_utc(story.started_at_ms)),
        ),
        ("Steps", (story.hidden + story.steps.len()).to_string()),
    ];
    if let Some(used) = story.used.as_ref().filter(|used| used.runs > 0) {
        facts.extend(usage::spelled_out(&UsageTotal::from(used)));
    }
    facts.push(("Thread", story.thread.to_string()));
    facts.push(("Workflow", story.workflow.to_string()));
    facts
}

/// Returns what the thread waits for, or who is next; nothing if it has ended.
fn state(story: &ThreadStory) -> Html {
    let parts = of_story(story).into_iter();
    let parts = parts.map(|part| section(&part.title, class(part.tone), Some(&part.text)));
    let next = match (&story.current_role, story.status) {
        (Some(role), Some(ThreadStatus::Running)) => Some(format!("{role} is at work.")),
        (Some(role), _) => Some(format!("{role} is next.")),
        (None, _) => None,
    };
    let next = next.map(|next| labelled("p", "next", &next));
    let parts: Vec<Html> = parts.chain(next).collect();
    if parts.is_empty() {
        return Html::default();
    }
    let class = match story.status {
        Some(status) => format!("state {}", status.as_str()),
        None => "state".to_owned(),
    };
    Html::element("div", &[("class", &class)], parts)
}

/// Returns the class of a part.
fn class(tone: Tone) -> &'static str {
    match tone {
        Tone::Question => "question",
        Tone::Problem => "failed",
        Tone::Result | Tone::Summary => "result",
    }
}

fn contents(story: &ThreadStory) -> Html {
    if story.steps.len() < 2 {
        return Html::default();
    }
    let lines = story.steps.iter().map(contents_line);
    let first = story
        .steps
        .first()
        .map_or(1, |step| step.number)
        .to_string();
    let list = Html::element("ol", &[("start", &first)], lines);
    Html::element("nav", &[("aria-label", "Steps")], [list])
}

fn task(story: &ThreadStory) -> Html {
    let title = Html::element("h2", &[], [Html::text("Task")]);
    Html::element(
        "section",
        &[("class", "task")],
        [title, preformatted(&story.task)],
    )
}

/// Returns the attempts that failed after the last step.
fn last_attempts(story: &ThreadStory) -> Html {
    if story.attempts.is_empty() {
        return Html::default();
    }
    let title = Html::element("h2", &[], [Html::text("Failed attempts")]);
    let items = story.attempts.iter().map(attempt_item);
    let list = Html::element("ul", &[("class", "notes")], items);
    Html::element("section", &[("class", "attempts")], [title, list])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_refers_to_nothing_outside_itself() {
        for word in [
            "http:", "https:", "//", "url(", "@import", "<script", "src=\"", "<link",
        ] {
            assert!(!HEAD.contains(word), "{word}");
        }
        // The style must not end its own element.
        assert_eq!(HEAD.matches("</").count(), 1);
    }
}
