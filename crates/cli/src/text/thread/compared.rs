//! The difference between two threads or two steps, in the form of a patch.

use serde::Serialize;
use serde_json::Value;
use uwf_engine::{ComparedStep, FieldDifference, StepDifference, TextHunk, ThreadDifference};
use uwf_protocol::nodes::Usage;
use uwf_util::text::cut_line;
use uwf_util::time;

use crate::output::Show;
use crate::text::table::Page;

/// How many characters of a value are shown.
const VALUE_SHOWN: usize = 200;

/// The difference between two threads.
#[derive(Serialize)]
#[serde(transparent)]
pub(crate) struct ThreadDifferenceView(pub(crate) ThreadDifference);

/// The difference between two steps.
#[derive(Serialize)]
#[serde(transparent)]
pub(crate) struct StepDifferenceView(pub(crate) StepDifference);

impl Show for ThreadDifferenceView {
    fn text(&self, _page: Page) -> String {
        let ThreadDifference { a, b, .. } = &self.0;
        let mut lines = vec![format!("--- thread {a}"), format!("+++ thread {b}")];
        if self.0.a_workflow != self.0.b_workflow {
            lines.push(changed("workflow", &self.0.a_workflow, &self.0.b_workflow));
        }
        if !self.0.task.is_empty() {
            lines.push("task".to_owned());
            lines.extend(hunk_lines(&self.0.task));
        }
        lines.push(match (self.0.common_steps, self.0.last_common) {
            (1, Some(step)) => format!("1 step in common, {step}"),
            (count, Some(step)) => format!("{count} steps in common, up to {step}"),
            (_, None) => "no step in common".to_owned(),
        });
        for step in &self.0.steps {
            lines.push(String::new());
            lines.extend(step_lines(step));
        }
        if self.0.steps.is_empty() {
            lines.push("no step differs".to_owned());
        }
        lines.join("\n")
    }
}

impl Show for StepDifferenceView {
    fn text(&self, _page: Page) -> String {
        step_lines(&self.0).join("\n")
    }
}

fn step_lines(difference: &StepDifference) -> Vec<String> {
    let name = |mark: &str, step: Option<&ComparedStep>| match step {
        Some(step) => format!("{mark} step {}: {} {}", step.number, step.role, step.step),
        None => format!("{mark} no step"),
    };
    let (a, b) = (difference.a.as_ref(), difference.b.as_ref());
    let mut lines = vec![name("---", a), name("+++", b)];
    if let (Some(a), Some(b)) = (a, b) {
        lines.extend(heads(a, b));
    }
    lines.extend(difference.data.iter().map(field_line));
    for (title, hunks) in [
        ("instruction", &difference.instruction),
        ("answer", &difference.text),
    ] {
        if !hunks.is_empty() {
            lines.push(title.to_owned());
            lines.extend(hunk_lines(hunks));
        }
    }
    if difference.same {
        lines.push("the same role, instruction, data and answer".to_owned());
    }
    lines
}

/// Returns what differs in who did a step, how long it took, and what it used up.
fn heads(a: &ComparedStep, b: &ComparedStep) -> Vec<String> {
    let took = |step: &ComparedStep| {
        let took = step.duration_ms.map(time::format_duration);
        took.unwrap_or_else(|| "unknown".to_owned())
    };
    let used = |step: &ComparedStep| {
        let used = step.usage.as_ref().and_then(Usage::note);
        used.unwrap_or_else(|| "unknown".to_owned())
    };
    let heads = [
        ("role", a.role.to_string(), b.role.to_string()),
        ("agent", a.agent.clone(), b.agent.clone()),
        ("took", took(a), took(b)),
        ("usage", used(a), used(b)),
    ];
    let differing = heads.into_iter().filter(|(_, a, b)| a != b);
    differing
        .map(|(name, a, b)| changed(name, &a, &b))
        .collect()
}

fn changed(name: &str, a: &impl ToString, b: &impl ToString) -> String {
    let short = |text: String| cut_line(&text, VALUE_SHOWN);
    format!(
        "{name}: {} → {}",
        short(a.to_string()),
        short(b.to_string())
    )
}

fn field_line(field: &FieldDifference) -> String {
    let shown = |value: &Option<Value>| match value {
        Some(value) => value.to_string(),
        None => "(none)".to_owned(),
    };
    let name = match field.path.as_str() {
        "" => "data".to_owned(),
        path => format!("data.{}", cut_line(path, VALUE_SHOWN)),
    };
    changed(&name, &shown(&field.a), &shown(&field.b))
}

fn hunk_lines(hunks: &[TextHunk]) -> Vec<String> {
    let of_hunk = |hunk: &TextHunk| {
        let count = |mark: char| {
            let lines = hunk.lines.iter();
            lines.filter(|line| !line.starts_with(mark)).count()
        };
        let (a, b) = (count('+'), count('-'));
        let head = format!("@@ -{},{a} +{},{b} @@", hunk.a_line, hunk.b_line);
        std::iter::once(head).chain(hunk.lines.clone())
    };
    hunks.iter().flat_map(of_hunk).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hunk_tells_its_place_and_length_in_both_texts() {
        let lines = [" a", "-b", "+c", "+d"].map(str::to_owned).to_vec();
        let hunk = TextHunk {
            a_line: 3,
            b_line: 4,
            lines,
        };
        let expected = ["@@ -3,2 +4,3 @@", " a", "-b", "+c", "+d"];
        assert_eq!(hunk_lines(&[hunk]), expected);
    }

    #[test]
    fn a_field_that_only_one_step_has_is_shown_so() {
        let field = FieldDifference {
            path: "plan.size".to_owned(),
            a: Some(Value::from(1)),
            b: None,
        };
        assert_eq!(field_line(&field), "data.plan.size: 1 → (none)");
    }
}
