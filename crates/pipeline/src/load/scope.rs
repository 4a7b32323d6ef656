//! V07, V09, V10, V13, V14: what needs the whole file, because names are known only then.

use uwf_util::suggest;
use uwf_yaml::At;

use super::reader::Zone;
use crate::problem::Finding;
use crate::template::parts;
use crate::{Code, InputMode, Pointer, PointerField, Reference};

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

/// What a step results in, as far as pointers need to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Output {
    Lines,
    Json,
    /// Nothing that can be a list.
    Other,
    /// The step could not be read.
    Unknown,
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
        let scopes = self.scopes;
        let first = Some(&scopes[self.used.scope]);
        std::iter::successors(first, |scope| Some(&scopes[scope.parent?]))
    }

    fn variable(&self, written: &str, reference: &Reference, zone: Zone) -> Option<Finding> {
        match reference {
            Reference::Prompt => self.prompt(zone),
            Reference::Bare(name) => self.bare(name, zone),
            Reference::LoopIndex(parents) | Reference::LoopTotal(parents) => {
                self.loops(written, *parents, zone)
            }
            Reference::Step { step, .. } => self.step(step, zone),
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
        let is_item = |scope: &Scope| match &scope.alias {
            Some(alias) => alias == name || name == ITEM,
            None => false,
        };
        let is_known = match zone {
            Zone::Provider(_) | Zone::Override => true,
            Zone::Defaults => self.scopes.iter().any(is_item),
            Zone::Step => self.outward().any(is_item),
        };
        let aliases = self.outward().filter_map(|scope| scope.alias.as_deref());
        let hint = match suggest::nearest(name, aliases) {
            Some(near) => format!("did you mean `{near}`?"),
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
        (depth <= parents).then(|| self.finding(Code::BadVariable, message))
    }

    fn step(&self, name: &str, zone: Zone) -> Option<Finding> {
        let has = |scope: &Scope| scope.steps.iter().any(|(step, _)| step == name);
        let is_known = match zone {
            Zone::Provider(_) | Zone::Defaults => self.scopes.iter().any(has),
            Zone::Step | Zone::Override => self.outward().any(has),
        };
        (!is_known).then(|| self.unknown_step(name))
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
        let named = |scope: &Scope| {
            let found = scope.steps.iter().find(|(step, _)| *step == pointer.step);
            found.map(|(_, output)| *output)
        };
        let Some(output) = self.outward().find_map(named) else {
            return Some(self.unknown_step(&pointer.step));
        };
        let (fits, capture) = match pointer.field {
            PointerField::Lines => (output == Output::Lines, "lines"),
            PointerField::Json => (output == Output::Json, "json"),
        };
        let message = format!(
            "step `{}` does not capture its output as {capture}",
            pointer.step
        );
        let hint = format!("give the step `output_capture: {capture}`");
        let is_wrong = !fits && output != Output::Unknown;
        is_wrong.then(|| self.finding(Code::BadPointer, message).hint(hint))
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
