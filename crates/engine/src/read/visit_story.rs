//! How a step of a pipeline went, for readers: what it ran, what that printed, and why it failed.

use serde::Serialize;
use serde_json::{Value, json};
use uwf_cas_fs::{Store, StoreError};
use uwf_pipeline::nodes::{LogRecord, Stream, VisitNode, result_of_payload};
use uwf_pipeline::{Captured, StepError, StepResult};
use uwf_protocol::nodes::StepNode;
use uwf_protocol::schemas;
use uwf_util::shell_words;
use uwf_util::text::one_line;

use uwf_util::markdown::code;

use crate::read::document::tagged;

/// How a step of a pipeline went.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct VisitStory {
    /// `completed`, `failed` or `skipped`.
    pub status: &'static str,
    /// The exit code.
    pub exit_code: i64,
    /// The number of the visit, from 1.
    pub visit: u64,
    /// How often its program was started.
    pub attempts: usize,
    /// The words of its program; secrets are masked.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// What the program printed, as far as the step captured it. JSON data is written out in lines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub captured: Option<String>,
    /// Whether the program printed more than that.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<StepError>,
    /// Its logs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub logs: Vec<LogStory>,
}

/// A log of a step.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LogStory {
    /// What was written.
    pub stream: Stream,
    /// The run whose folder has the file.
    pub run: String,
    /// The file in that folder.
    pub path: String,
    /// How large it is.
    pub bytes: u64,
    /// Its text, if it is short.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// A part of a story: its name in lower case, and its text.
pub type VisitPart = (&'static str, String);

/// Returns the data of a step's answer. JSON data of users is stored as text in the results of pipelines: here it is data
/// again.
pub(crate) fn output(store: &Store, step: &StepNode) -> Result<Value, StoreError> {
    let node = store.need(step.output)?;
    Ok(data(node.type_hash, node.payload))
}

/// Returns the payload of an answer's node as the data of the answer.
pub(crate) fn data(type_hash: uwf_protocol::ids::CasRef, payload: Value) -> Value {
    if type_hash != schemas::RESULT {
        return payload;
    }
    match result_of_payload(payload.clone()) {
        Ok(result) => json!(result),
        Err(_) => payload,
    }
}

impl VisitStory {
    /// Reads the story of a step; `None` if it is no step of a pipeline.
    pub(crate) fn read(store: &Store, step: &StepNode) -> Result<Option<Self>, StoreError> {
        let output = store.need(step.output)?;
        let detail = store.need(step.detail)?;
        if output.type_hash != schemas::RESULT || !schemas::VISITS.contains(&detail.type_hash) {
            return Ok(None);
        }
        let (Ok(result), Ok(visit)) = (
            result_of_payload(output.payload),
            serde_json::from_value::<VisitNode>(detail.payload),
        ) else {
            return Ok(None);
        };
        let logs = visit.logs.iter().map(|log| LogStory::read(store, log));
        let logs = logs.collect::<Result<_, _>>()?;
        Ok(Some(Self::of(result, visit, logs)))
    }

    fn of(result: StepResult, visit: VisitNode, logs: Vec<LogStory>) -> Self {
        let (captured, truncated) = match result.captured {
            None => (None, false),
            Some(Captured::Text { output, truncated }) => (Some(output), truncated),
            Some(Captured::Lines { lines, truncated }) => (Some(lines.join("\n")), truncated),
            Some(Captured::Json(json)) => (Some(format!("{json:#}")), false),
        };
        Self {
            status: result.status.as_str(),
            exit_code: result.exit_code,
            visit: visit.visit,
            attempts: visit.attempts.len(),
            command: visit.argv,
            captured: captured.filter(|text| !text.is_empty()),
            truncated,
            error: result.error,
            logs,
        }
    }

    /// Returns what a reader wants to know of it at a glance.
    #[must_use]
    pub fn facts(&self) -> Vec<(&'static str, String)> {
        let mut facts = vec![("Status", self.status.to_owned())];
        if self.exit_code != 0 {
            facts.push(("Exit code", self.exit_code.to_string()));
        }
        if self.visit > 1 {
            facts.push(("Visit", self.visit.to_string()));
        }
        if self.attempts > 1 {
            facts.push(("Attempts", self.attempts.to_string()));
        }
        facts
    }

    /// Returns its texts in the order in which they are read.
    #[must_use]
    pub fn parts(&self) -> Vec<VisitPart> {
        let words = self.command.iter().map(String::as_str);
        let command = Some(shell_words::join(words)).filter(|command| !command.is_empty());
        let error = self.error.as_ref().map(|error| error.message.clone());
        let parts = [
            ("command", command),
            ("output", self.captured.clone()),
            ("error", error),
            ("stdout", self.stdout()),
            ("stderr", self.of_stream(Stream::Stderr)),
        ];
        parts
            .into_iter()
            .filter_map(|(name, text)| Some((name, text?)))
            .collect()
    }

    /// Returns what was printed and is not captured.
    fn stdout(&self) -> Option<String> {
        match self.captured.is_some() && !self.truncated {
            true => None,
            false => self.of_stream(Stream::Stdout),
        }
    }

    /// Returns the text of a log, or the end of what was written to it and where the rest is.
    fn of_stream(&self, stream: Stream) -> Option<String> {
        let log = self.logs.iter().find(|log| log.stream == stream);
        let tail = self.error.as_ref().map(|error| match stream {
            Stream::Stderr => error.stderr_tail.join("\n"),
            Stream::Stdout => error.stdout_tail.join("\n"),
            Stream::Prompt => String::new(),
        });
        let tail = tail.filter(|tail| !tail.is_empty());
        match log {
            None => tail,
            Some(LogStory {
                text: Some(text), ..
            }) => Some(text.clone()),
            Some(log) => {
                let place = format!("({} bytes, in {} of run {})", log.bytes, log.path, log.run);
                Some(tail.map_or(place.clone(), |tail| format!("{place}\n…\n{tail}")))
            }
        }
    }

    /// Returns what stands in the line below the heading of a step.
    pub(crate) fn note(&self) -> String {
        let facts = self.facts().into_iter();
        facts
            .map(|(name, fact)| format!(" | **{name}:** {fact}"))
            .collect()
    }

    /// Returns its texts as one; `None` if there are none.
    pub(crate) fn body(&self) -> Option<String> {
        let sections = self.sections();
        (!sections.is_empty()).then(|| sections.join("\n\n"))
    }

    /// Returns its texts as a terminal would show them.
    pub(crate) fn in_short(&self) -> String {
        let line = |(name, text): VisitPart| match name {
            "command" => format!("$ {text}"),
            "error" => format!("error: {text}"),
            _ => text.trim_end().to_owned(),
        };
        let lines: Vec<String> = self.parts().into_iter().map(line).collect();
        lines.join("\n")
    }

    /// Returns its texts for a document.
    pub(crate) fn sections(&self) -> Vec<String> {
        let section = |(name, text): VisitPart| match name {
            "command" => format!("**Command:** {}", code(&one_line(&text))),
            "error" => format!("**Error:** {}", code(&one_line(&text))),
            name => tagged(name, text.trim_end_matches('\n')),
        };
        self.parts().into_iter().map(section).collect()
    }
}

impl LogStory {
    fn read(store: &Store, log: &LogRecord) -> Result<Self, StoreError> {
        let text = log.text.as_ref().and_then(|text| text.parse().ok());
        let text = text.map(|text| uwf_thread::text(store, text));
        Ok(Self {
            stream: log.stream,
            run: log.run_id.clone(),
            path: log.path.clone(),
            bytes: log.bytes,
            text: text.transpose()?.flatten(),
        })
    }
}
