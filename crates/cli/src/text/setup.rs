//! The result of `uwf setup`.

use std::path::PathBuf;

use serde::Serialize;
use uwf_agent_kit::llm::{LlmError, with_code};

use crate::output::Show;
use crate::text::table::Page;

/// What was written, and the result of the test call.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SetupView {
    pub(crate) config_path: PathBuf,
    pub(crate) provider: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) default_agent: String,
    /// The limits of time that were written, for people.
    #[serde(skip)]
    pub(crate) limits: Vec<String>,
    /// `None` if no model was set up.
    pub(crate) validation: Option<Validation>,
    /// The variables that were written to `.env`.
    #[serde(skip)]
    pub(crate) variables: Vec<String>,
    #[serde(skip)]
    pub(crate) env_path: PathBuf,
}

/// The result of the test call.
#[derive(Serialize)]
pub(crate) struct Validation {
    ok: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

impl Validation {
    pub(crate) fn of(probe: &Result<(), LlmError>) -> Self {
        let error = probe.as_ref().err();
        Self {
            ok: error.is_none(),
            error: error.map(|error| with_code(&error.to_string(), error.code())),
            code: error.map(LlmError::code),
            hint: error.map(LlmError::hint),
        }
    }
}

impl Show for SetupView {
    fn text(&self, _page: Page) -> String {
        let mut lines = vec![format!("wrote {}", self.config_path.display())];
        for variable in &self.variables {
            lines.push(format!(
                "wrote {} into {}",
                variable,
                self.env_path.display()
            ));
        }
        if let (Some(provider), Some(model)) = (&self.provider, &self.model) {
            lines.push(format!("model: {model} of {provider}"));
        }
        lines.push(format!("default agent: {}", self.default_agent));
        if !self.limits.is_empty() {
            lines.push(format!("its limits: {}", self.limits.join(", ")));
        }
        if let Some(validation) = &self.validation {
            lines.extend(validation.lines());
        }
        lines.push(String::new());
        lines.push("next: `uwf doctor` looks at everything, `uwf workflow put <file>` registers a workflow,".to_owned());
        lines.push("      `uwf thread start <workflow> -p <task>` starts one".to_owned());
        lines.join("\n")
    }
}

impl Validation {
    fn lines(&self) -> Vec<String> {
        match (&self.error, &self.hint) {
            (None, _) => vec!["test call: ok, the model answers".to_owned()],
            (Some(error), hint) => {
                let mut lines = vec![format!("test call: FAILED: {error}")];
                lines.extend(hint.iter().map(|hint| format!("           {hint}")));
                lines.push("           what was set up is kept; `uwf setup` changes it".to_owned());
                lines
            }
        }
    }
}
