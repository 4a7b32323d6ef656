//! What a step says in short.

use uwf_engine::StepStory;

/// Returns what a step says in short: its answer without the data that it begins with, or else the texts of its data.
#[must_use]
pub fn teaser(step: &StepStory) -> String {
    let answer = step.answer.as_deref().unwrap_or_default();
    let text = without_front_matter(answer);
    if !text.trim().is_empty() {
        return text.trim().to_owned();
    }
    if let Some(visit) = &step.visit {
        let error = visit.error.as_ref().map(|error| error.message.clone());
        let text = error.or_else(|| visit.captured.clone());
        return text.unwrap_or_else(|| visit.status.to_owned());
    }
    let fields = step.output.as_ref().and_then(serde_json::Value::as_object);
    let texts = fields.into_iter().flat_map(|fields| fields.values());
    let texts: Vec<&str> = texts.filter_map(serde_json::Value::as_str).collect();
    texts.join(": ")
}

/// Returns an answer without the data that it begins with.
#[must_use]
pub fn without_front_matter(answer: &str) -> &str {
    let inside = answer.trim_start().strip_prefix("---\n");
    let after = inside.and_then(|inside| inside.split_once("\n---"));
    after.map_or(answer, |(_, text)| text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_teaser_skips_the_data_of_an_answer() {
        assert_eq!(without_front_matter("---\na: 1\n---\nText"), "\nText");
        assert_eq!(without_front_matter("---\na: 1\n---"), "");
        assert_eq!(without_front_matter("Text"), "Text");
    }
}
