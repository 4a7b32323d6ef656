//! What is known while a file is read: its problems so far, the steps in scope, and what must be checked at the end.

use uwf_yaml::At;

use super::providers::Call;
use super::scope::{Scope, Use, UseOf, check, outward};
use crate::problem::Finding;
use crate::{Code, Goto, NameError, Reference, Template};

/// Where a template stands, which decides what may be in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Zone {
    /// In a step: no prompt, no parameters.
    Step,
    /// In the command line of a provider that takes the prompt so.
    Provider(crate::InputMode),
    /// In the `command_override` of a step.
    Override,
    /// In the defaults of a provider.
    Defaults,
}

/// The state of the reading.
pub(super) struct Reader {
    findings: Vec<Finding>,
    /// Every list of steps, the outermost first.
    pub(super) scopes: Vec<Scope>,
    uses: Vec<Use>,
    /// The list that is being read.
    pub(super) scope: usize,
    /// Whether the file asks for the newest version of the format.
    pub(super) is_newest: bool,
    /// The calls of providers.
    pub(super) calls: Vec<Call>,
    /// The secrets of all steps.
    pub(super) secrets: Vec<String>,
}

impl Default for Reader {
    fn default() -> Self {
        Self {
            findings: Vec::new(),
            scopes: vec![Scope::default()],
            uses: Vec::new(),
            scope: 0,
            is_newest: false,
            calls: Vec::new(),
            secrets: Vec::new(),
        }
    }
}

impl Reader {
    pub(super) fn report(&mut self, finding: Finding) {
        self.findings.push(finding);
    }

    /// Reports a problem without a hint.
    pub(super) fn problem(&mut self, at: At, code: Code, message: impl Into<String>) {
        self.report(Finding::new(at, code, message));
    }

    /// Reads a text with variables, and notes them for the check at the end.
    pub(super) fn template(&mut self, at: At, source: &str, zone: Zone) -> Option<Template> {
        match Template::parse(source) {
            Ok(template) => {
                for (written, reference) in template.references() {
                    let used = UseOf::Variable {
                        written: written.to_owned(),
                        reference: reference.clone(),
                        zone,
                    };
                    self.uses.push(Use {
                        at,
                        scope: self.scope,
                        of: used,
                    });
                }
                Some(template)
            }
            Err(errors) => {
                self.bad_names(at, &errors);
                None
            }
        }
    }

    /// Reports what is wrong with the variables of a text.
    pub(super) fn bad_names(&mut self, at: At, errors: &[NameError]) {
        for error in errors {
            let code = match error {
                NameError::Env(_) => Code::EnvVariable,
                _ => Code::BadVariable,
            };
            let hint = self.hint_of_item(error).unwrap_or_else(|| error.hint());
            self.report(Finding::new(at, code, error.to_string()).hint(hint));
        }
    }

    /// Returns the hint for a name that asks for a part of an item.
    fn hint_of_item(&self, error: &NameError) -> Option<String> {
        let NameError::Namespace(name, _) = error else {
            return None;
        };
        let (first, _) = name.split_once('.')?;
        let is_item = outward(&self.scopes, self.scope).any(|scope| scope.has_item(first));
        is_item.then(|| format!("an item has no parts: `${{{first}}}` is the whole of it"))
    }

    /// Notes a use of a name for the check at the end.
    pub(super) fn uses(&mut self, at: At, of: UseOf) {
        let scope = self.scope;
        self.uses.push(Use { at, scope, of });
    }

    /// Notes a jump for the check at the end.
    pub(super) fn jump(&mut self, at: At, goto: &Goto) {
        if let Goto::Step(name) = goto {
            self.uses(at, UseOf::Target(name.clone()));
        }
    }

    /// Returns the variables of the context, with their places.
    pub(super) fn context_uses(&self) -> Vec<(At, Vec<String>)> {
        let uses = self.uses.iter().filter_map(|used| match &used.of {
            UseOf::Variable {
                reference: Reference::Context(path),
                ..
            } => Some((used.at, path.clone())),
            _ => None,
        });
        uses.collect()
    }

    /// Returns all problems, after the checks that need the whole file.
    pub(super) fn finish(mut self) -> Vec<Finding> {
        let found = self
            .uses
            .iter()
            .filter_map(|used| check(used, &self.scopes));
        let found: Vec<Finding> = found.collect();
        self.findings.extend(found);
        self.findings
    }
}
