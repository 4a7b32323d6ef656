//! Which words a step runs, with everything substituted but the prompt.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::argv::{Word, as_params, merged};
use crate::fill::Filling;
use crate::result::{ErrorKind, Failure};
use crate::tree::{Tree, TreeMap};
use crate::{InputMode, Program, Provider, Template};

/// A program to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// Its words.
    pub words: Vec<Word>,
    /// How it gets the prompt, if it gets one.
    pub prompt: Option<InputMode>,
    /// The parameters that its command line does not mention.
    pub unused: Vec<String>,
}

/// Substitutes the words of a program. Names without a value are left to the end of the substitution.
///
/// # Errors
/// When the program names a provider that there is not.
pub fn call(
    program: &Program,
    providers: &BTreeMap<String, Provider>,
    filling: &mut Filling<'_>,
) -> Result<Call, Failure> {
    match program {
        Program::Command(argv) => Ok(filled(argv, &TreeMap::default(), None, filling)),
        Program::Provider { name, params } => {
            let provider = find(name, providers)?;
            let params = merged(&provider.defaults, params);
            let mode = Some(provider.input_mode);
            Ok(filled(&provider.command, &params, mode, filling))
        }
        Program::CommandOverride {
            argv,
            provider,
            params,
        } => {
            let mode = match provider {
                Some(name) => find(name, providers)?.input_mode,
                None => InputMode::Argv,
            };
            Ok(filled(argv, params, Some(mode), filling))
        }
    }
}

fn find<'p>(
    name: &str,
    providers: &'p BTreeMap<String, Provider>,
) -> Result<&'p Provider, Failure> {
    let missing = || {
        let message = format!("there is no provider `{name}`");
        Failure::new(ErrorKind::InvalidReference, message)
    };
    providers.get(name).ok_or_else(missing)
}

fn filled(
    argv: &[Template],
    params: &TreeMap,
    prompt: Option<InputMode>,
    filling: &mut Filling<'_>,
) -> Call {
    let params: Map<String, Value> = as_params(filling.tree(&Tree::Map(params.clone())));
    let words = argv.iter().map(|word| filling.word(word, &params));
    let words = words.collect();
    let is_used = |name: &String| {
        let mut references = argv.iter().flat_map(Template::references);
        references.any(|(written, _)| written == name)
    };
    let unused = params.keys().filter(|name| !is_used(name)).cloned();
    Call {
        words,
        prompt,
        unused: unused.collect(),
    }
}
