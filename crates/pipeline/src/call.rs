//! Which words a step runs, with everything substituted but the prompt.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::argv::{Word, as_params, merged};
use crate::fill::Filling;
use crate::result::{ErrorKind, Failure};
use crate::scope::Scope;
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

/// Substitutes the words of a program.
///
/// # Errors
/// When a name has no value, or the program names a provider that there is not.
pub fn call(
    program: &Program,
    providers: &BTreeMap<String, Provider>,
    scope: &Scope<'_>,
) -> Result<Call, Failure> {
    match program {
        Program::Command(argv) => filled(argv, &TreeMap::default(), None, scope),
        Program::Provider { name, params } => {
            let provider = find(name, providers)?;
            let params = merged(&provider.defaults, params);
            filled(&provider.command, &params, Some(provider.input_mode), scope)
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
            filled(argv, params, Some(mode), scope)
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
    scope: &Scope<'_>,
) -> Result<Call, Failure> {
    let mut filling = Filling::new(scope);
    let params: Map<String, Value> = as_params(filling.tree(&Tree::Map(params.clone())));
    let words: Vec<Word> = argv
        .iter()
        .map(|word| filling.word(word, &params))
        .collect();
    filling.finish(&words)?;
    let is_used = |name: &String| {
        let mut references = argv.iter().flat_map(Template::references);
        references.any(|(written, _)| written == name)
    };
    let unused = params.keys().filter(|name| !is_used(name)).cloned();
    Ok(Call {
        words,
        prompt,
        unused: unused.collect(),
    })
}
