//! The workflows that `uwf init` writes. They are files in `examples/templates`, and part of the binary.

use uwf_protocol::workflow::Workflow;
use uwf_protocol::workflow_yaml::{self, Source};

/// A workflow to begin with, and what belongs to it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BundledTemplate {
    /// Its name, which is the name of its workflow.
    pub(crate) name: &'static str,
    /// A task that it is for.
    pub(crate) task: &'static str,
    /// The workflow file.
    workflow: &'static str,
    /// The answers of the mock.
    script: &'static str,
    /// What it does, for the person who is to change it.
    notes: &'static str,
    /// The templates whose workflows play its roles.
    needs: &'static [&'static str],
}

/// Reads the files of a template.
macro_rules! template {
    ($name:literal, $task:literal) => {
        template!($name, $task, needs [])
    };
    ($name:literal, $task:literal, needs $needs:expr) => {
        BundledTemplate {
            name: $name,
            task: $task,
            workflow: template!($name, file ".yaml"),
            script: template!($name, file ".mock.yaml"),
            notes: template!($name, file ".md"),
            needs: &$needs,
        }
    };
    ($name:literal, file $ending:literal) => {
        include_str!(concat!("../../../examples/templates/", $name, "/", $name, $ending))
    };
}

/// All of them, the simplest first.
pub(crate) const TEMPLATES: [BundledTemplate; 6] = [
    template!("hello", "Greet Ann"),
    template!("review", "Review the branch `retry`"),
    template!("debate", "We should indent with tabs"),
    template!("release-notes", "Write the notes of the next release"),
    template!("develop", "Add an option --loud to greet"),
    template!(
        "solve-issue",
        "greet prints nothing for `Ann Lee`",
        needs["develop"]
    ),
];

impl BundledTemplate {
    /// Returns the template of this name.
    pub(crate) fn named(name: &str) -> Option<&'static Self> {
        TEMPLATES.iter().find(|template| template.name == name)
    }

    /// Returns its files: their names and what they contain, the workflow first, those of other templates last.
    pub(crate) fn files(&self) -> Vec<(String, &'static str)> {
        let mut files = vec![
            (self.workflow_file(), self.workflow),
            (self.script_file(), self.script),
            (format!("{}.md", self.name), self.notes),
        ];
        let needed = self.needs.iter().filter_map(|name| Self::named(name));
        files.extend(needed.map(|other| (other.workflow_file(), other.workflow)));
        files
    }

    /// Returns the name of the workflow file.
    pub(crate) fn workflow_file(&self) -> String {
        format!("{}.yaml", self.name)
    }

    /// Returns the name of the file with the answers of the mock.
    pub(crate) fn script_file(&self) -> String {
        format!("{}.mock.yaml", self.name)
    }

    /// Returns what the workflow is for.
    pub(crate) fn description(&self) -> String {
        let source = Source {
            name: self.name,
            text: self.workflow,
        };
        let no_files = |_: &str, _: &str| Err("a template includes no files".to_owned());
        let any_end = |_: &str| Ok(Vec::new());
        let check = |_: &Workflow<_>| Vec::new();
        workflow_yaml::load(source, &no_files, &any_end, &check)
            .map_or_else(|_| String::new(), |loaded| loaded.workflow.description)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_template_that_is_needed_exists_and_needs_no_other_one() {
        for name in TEMPLATES.iter().flat_map(|template| template.needs) {
            let needed = BundledTemplate::named(name).unwrap();
            assert!(needed.needs.is_empty(), "{name}");
        }
    }

    #[test]
    fn every_template_says_in_one_line_what_it_is_for() {
        for template in TEMPLATES {
            let description = template.description();
            assert!((20..110).contains(&description.len()), "{}", template.name);
            assert!(!description.contains('\n'));
        }
    }
}
