//! V07, V09, V10, V13, V14: what needs the whole file, because names are known only then.

use uwf_util::suggest;
use uwf_yaml::At;

use super::output::Output;
use super::reader::Zone;
use crate::problem::Finding;
use crate::template::parts;
use crate::{Code, InputMode, Pointer, PointerField, Reference, StepField};

/// The variable that is the item of the innermost loop, whatever else its loop calls it.
pub(crate) const ITEM: &str = "item";

/// A list of steps: that of the file, or the body of a loop.
#[derive(Debug, Default)]
pub(super) struct Scope {
    /// The list around it.
    pub(super) parent: Option<usize>,
    /// What the loop calls its item.
    pub(super) alias: Option<String>,
    /// How long a key is before the name of a step, at its longest.
    pub(super) key_bytes: usize,
    /// The names of the steps, and what each results in.
    pub(super) steps: Vec<(String, Output)>,
}

impl Scope {
    /// Tells whether a name is that of the item of the list.
    pub(super) fn has_item(&self, name: &str) -> bool {
        let alias = self.alias.as_deref();
        alias.is_some_and(|alias| alias == name || name == ITEM)
    }

    /// Returns what the step of a name results in.
    fn output(&self, name: &str) -> Option<Output> {
        let found = self.steps.iter().find(|(step, _)| step == name);
        found.map(|(_, output)| *output)
    }
}

/// Returns a list and those around it, the innermost first.
pub(super) fn outward(scopes: &[Scope], first: usize) -> impl Iterator<Item = &Scope> {
    std::iter::successors(scopes.get(first), |scope| scopes.get(scope.parent?))
}

/// A name that is used somewhere.
pub(super) struct Use {
    pub(super) at: At,
    /// The list of steps that it stands in.
    pub(super) scope: usize,
    pub(super) of: UseOf,
}

/// What is used.
pub(super) enum UseOf {
    /// A variable.
    Variable {
        written: String,
        reference: Reference,
        zone: Zone,
    },
    /// The target of a jump.
    Target(String),
    /// The list of a loop.
    Pointer(Pointer),
}

/// Returns what is wrong with a use.
pub(super) fn check(used: &Use, scopes: &[Scope]) -> Option<Finding> {
    let seen = Seen { used, scopes };
    match &used.of {
        UseOf::Variable {
            written,
            reference,
            zone,
        } => seen.variable(written, reference, *zone),
        UseOf::Target(name) => seen.target(name),
        UseOf::Pointer(pointer) => seen.pointer(pointer),
    }
}

/// What can be seen from a use.
struct Seen<'a> {
    used: &'a Use,
    scopes: &'a [Scope],
}

impl<'a> Seen<'a> {
    fn finding(&self, code: Code, message: impl Into<String>) -> Finding {
        Finding::new(self.used.at, code, message)
    }

    /// Returns the lists around the use, the innermost first.
    fn outward(&self) -> impl Iterator<Item = &'a Scope> {
        outward(self.scopes, self.used.scope)
    }

    fn variable(&self, written: &str, reference: &Reference, zone: Zone) -> Option<Finding> {
        match reference {
            Reference::Prompt => self.prompt(zone),
            Reference::Bare(name) => self.bare(name, zone),
            Reference::LoopIndex(parents) | Reference::LoopTotal(parents) => {
                self.loops(written, *parents, zone)
            }
            Reference::Step { step, field, .. } => self.step(step, *field, zone),
            Reference::Run(_) | Reference::Context(_) => None,
        }
    }

    fn prompt(&self, zone: Zone) -> Option<Finding> {
        let why = match zone {
            Zone::Provider(InputMode::Argv) | Zone::Override => return None,
            Zone::Provider(InputMode::Stdin) => "this provider gets its prompt on standard input",
            Zone::Step | Zone::Defaults => "only the command line of a provider has a prompt",
        };
        let message = format!("`${{PROMPT}}` has no place here: {why}");
        Some(self.finding(Code::MisplacedPrompt, message))
    }

    /// A bare name is a parameter or the item of a loop. Only a step that is about to run knows its parameters.
    fn bare(&self, name: &str, zone: Zone) -> Option<Finding> {
        let is_item = |scope: &Scope| scope.has_item(name);
        let is_known = match zone {
            Zone::Provider(_) | Zone::Override => true,
            Zone::Defaults => self.scopes.iter().any(is_item),
            Zone::Step => self.outward().any(is_item),
        };
        let aliases = self.outward().filter_map(|scope| scope.alias.as_deref());
        let is_step = self.outward().any(|scope| scope.output(name).is_some());
        let hint = match suggest::nearest(name, aliases) {
            Some(near) => format!("did you mean `{near}`?"),
            None if is_step => format!("a result of the step is `${{steps.{name}.exit_code}}`"),
            None => "a name without a dot is the item of a loop around the step".to_owned(),
        };
        let message = format!("`${{{name}}}` names nothing that there is");
        (!is_known).then(|| self.finding(Code::BadVariable, message).hint(hint))
    }

    fn loops(&self, written: &str, parents: usize, zone: Zone) -> Option<Finding> {
        let depth = match zone {
            // Steps at any depth use the provider.
            Zone::Provider(_) | Zone::Defaults => usize::MAX,
            Zone::Step | Zone::Override => self.outward().count() - 1,
        };
        let message = format!("`${{{written}}}` needs more loops around it than there are");
        let hint = match depth {
            0 => "only the steps of a loop have it".to_owned(),
            _ => format!("the loops around the step: {depth}"),
        };
        (depth <= parents).then(|| self.finding(Code::BadVariable, message).hint(hint))
    }

    fn step(&self, name: &str, field: StepField, zone: Zone) -> Option<Finding> {
        let found: Vec<Output> = match zone {
            // Any step may use the provider.
            Zone::Provider(_) | Zone::Defaults => {
                let scopes = self.scopes.iter();
                scopes.filter_map(|scope| scope.output(name)).collect()
            }
            Zone::Step | Zone::Override => {
                let mut scopes = self.outward();
                let found = scopes.find_map(|scope| scope.output(name));
                found.into_iter().collect()
            }
        };
        let Some(first) = found.first() else {
            return Some(self.unknown_step(name));
        };
        if found.iter().any(|output| output.has(field)) {
            return None;
        }
        self.has_value(Code::BadVariable, name, *first, field)
    }

    fn unknown_step(&self, name: &str) -> Finding {
        let names = self.outward().flat_map(|scope| &scope.steps);
        let near = suggest::nearest(name, names.map(|(name, _)| name.as_str()));
        let finding = self.finding(
            Code::UnknownStep,
            format!("there is no step `{name}` in scope"),
        );
        finding.hint(match near {
            Some(near) => format!("did you mean `{near}`?"),
            None => "a step sees its siblings and those of the loops around it".to_owned(),
        })
    }

    fn target(&self, name: &str) -> Option<Finding> {
        let siblings = &self.scopes[self.used.scope].steps;
        if siblings.iter().any(|(step, _)| step == name) {
            return None;
        }
        let names = siblings.iter().map(|(name, _)| name.as_str());
        let near = suggest::nearest(name, names.chain([crate::pipeline::END]));
        let is_elsewhere = |scope: &Scope| scope.steps.iter().any(|(step, _)| step == name);
        let (why, hint) = if self.scopes.iter().any(is_elsewhere) {
            let why = format!("no jump leads into a loop or out of one, so not to `{name}`");
            (
                why,
                "jump to a step of the same list, or to `_end`".to_owned(),
            )
        } else {
            let hint = match near {
                Some(near) => format!("did you mean `{near}`?"),
                None => "jump to a step of the same list, or to `_end`".to_owned(),
            };
            (format!("there is no step `{name}` to jump to"), hint)
        };
        Some(self.finding(Code::UnknownTarget, why).hint(hint))
    }

    fn pointer(&self, pointer: &Pointer) -> Option<Finding> {
        let Some(output) = self.outward().find_map(|scope| scope.output(&pointer.step)) else {
            return Some(self.unknown_step(&pointer.step));
        };
        let field = match pointer.field {
            PointerField::Lines => StepField::Lines,
            PointerField::Json => StepField::Json,
        };
        self.has_value(Code::BadPointer, &pointer.step, output, field)
    }

    /// Returns what is wrong if a step never has a value.
    fn has_value(
        &self,
        code: Code,
        step: &str,
        output: Output,
        field: StepField,
    ) -> Option<Finding> {
        if output.has(field) {
            return None;
        }
        let (says, name) = (output.says(), field.name());
        let message = format!("step `{step}` {says}, so it has no `{name}`");
        Some(self.finding(code, message).hint(output.hint(field)))
    }
}

/// Reads `steps.<Name>.lines` or `steps.<Name>.json[.<part>]*`.
pub(super) fn parse_pointer(text: &str) -> Option<Pointer> {
    let parts = parts(text)?;
    let [steps, step, field, path @ ..] = parts.as_slice() else {
        return None;
    };
    let field = match field.as_str() {
        "lines" if path.is_empty() => PointerField::Lines,
        "json" => PointerField::Json,
        _ => return None,
    };
    (steps == "steps").then(|| Pointer {
        step: step.clone(),
        field,
        path: path.to_vec(),
    })
}
