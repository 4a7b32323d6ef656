//! Fills the placeholders in the arguments of a program.

use std::path::Path;

use uwf_agent_kit::Task;
use uwf_protocol::permissions::Permissions;

/// What placeholders stand for.
pub(super) struct Values<'a> {
    pub(super) task: &'a Task,
    pub(super) session: Option<&'a str>,
    pub(super) prompt: &'a str,
    pub(super) prompt_file: &'a Path,
}

impl Values<'_> {
    fn get(&self, name: &str) -> Option<String> {
        let task = self.task;
        Some(match name {
            "prompt" => self.prompt.to_owned(),
            "promptFile" => self.prompt_file.to_string_lossy().into_owned(),
            "thread" => task.thread.to_string(),
            "role" => task.role.to_string(),
            "cwd" => task.cwd.to_string_lossy().into_owned(),
            "session" => self.session.unwrap_or_default().to_owned(),
            "visit" => task.visit.to_string(),
            "step" => task.step.to_string(),
            "permissions" => task.permissions.map_or("", Permissions::as_str).to_owned(),
            _ => return None,
        })
    }
}

/// Tells whether an argument has the placeholder.
pub(super) fn asks_for(templates: &[String], name: &str) -> bool {
    let placeholder = format!("{{{name}}}");
    templates
        .iter()
        .any(|template| template.contains(&placeholder))
}

/// Returns the first of these placeholders that a text has.
pub(super) fn first_asked_for<'a>(template: &str, names: &[&'a str]) -> Option<&'a str> {
    let mut names = names.iter().copied();
    names.find(|name| template.contains(&format!("{{{name}}}")))
}

/// Returns the arguments with their placeholders filled. Other braces stay, and so do those in what was
/// filled in.
pub(super) fn fill(templates: &[String], values: &Values<'_>) -> Vec<String> {
    templates
        .iter()
        .map(|template| fill_one(template, values))
        .collect()
}

/// Returns one text with its placeholders filled.
pub(super) fn fill_one(template: &str, values: &Values<'_>) -> String {
    let mut filled = String::new();
    let mut rest = template;
    while let Some(open) = rest.find('{') {
        let (before, braced) = rest.split_at(open);
        filled.push_str(before);
        let inside = braced[1..]
            .split_once('}')
            .and_then(|(name, after)| Some((values.get(name)?, after)));
        match inside {
            Some((value, after)) => {
                filled.push_str(&value);
                rest = after;
            }
            None => {
                filled.push('{');
                rest = &braced[1..];
            }
        }
    }
    filled + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_task;

    #[test]
    fn placeholders_are_filled_once_and_other_braces_stay() {
        let task = Task {
            cwd: "/work dir".into(),
            visit: 2,
            step: 3,
            ..test_task::task(Path::new("/"))
        };
        let values = Values {
            task: &task,
            session: None,
            prompt: "say {role}",
            prompt_file: Path::new("/p"),
        };
        let check = |template: &str, filled: &str| assert_eq!(fill_one(template, &values), filled);
        check("{prompt}", "say {role}");
        check("-m{permissions}", "-m");
        check("--in={promptFile}", "--in=/p");
        check("{role}-{visit}-{step}{session}", "writer-2-3");
        check("{\"a\": {x}} {cwd}", "{\"a\": {x}} /work dir");
        check("{{role}}", "{writer}");
        check("{", "{");
    }
}
