//! Substitution: templates become texts, in one pass from left to right. What was substituted is never scanned again.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::argv::{Word, WordPart};
use crate::result::{ErrorKind, Failure};
use crate::scope::Scope;
use crate::{Piece, Reference, Template, Tree, text_of};

/// The substitution of everything in one step. It collects the names that stand for nothing.
#[derive(Debug)]
pub struct Filling<'a> {
    scope: &'a Scope<'a>,
    undefined: BTreeSet<String>,
    /// The names without a namespace among them.
    missing: BTreeSet<String>,
}

impl<'a> Filling<'a> {
    /// Starts a substitution.
    #[must_use]
    pub fn new(scope: &'a Scope<'a>) -> Self {
        Self {
            scope,
            undefined: BTreeSet::new(),
            missing: BTreeSet::new(),
        }
    }

    /// Returns the text of a template. A name that stands for nothing stays as it is written.
    pub fn text(&mut self, template: &Template) -> String {
        self.word(template, &Map::new()).with_prompt("")
    }

    /// Returns the text of a template around the prompt, which is not known yet. Parameters hide items of loops.
    pub fn word(&mut self, template: &Template, params: &Map<String, Value>) -> Word {
        let parts = template.pieces().iter().map(|piece| match piece {
            Piece::Text(text) => WordPart::Text(text.clone()),
            Piece::Name {
                reference: Reference::Prompt,
                ..
            } => WordPart::Prompt,
            Piece::Name { written, reference } => {
                WordPart::Text(self.name(written, reference, params))
            }
        });
        Word(parts.collect())
    }

    fn name(
        &mut self,
        written: &str,
        reference: &Reference,
        params: &Map<String, Value>,
    ) -> String {
        let param = match reference {
            Reference::Bare(name) => params.get(name),
            _ => None,
        };
        if let Some(value) = param {
            return text_of(value).into_owned();
        }
        if let Some(value) = self.scope.value(reference) {
            return text_of(&value).into_owned();
        }
        if matches!(reference, Reference::Bare(_)) {
            self.missing.insert(written.to_owned());
        }
        self.undefined.insert(written.to_owned());
        format!("${{{written}}}")
    }

    /// Returns the data of a tree.
    pub fn tree(&mut self, tree: &Tree) -> Value {
        match tree {
            Tree::Text(template) => Value::String(self.text(template)),
            Tree::List(items) => items.iter().map(|item| self.tree(item)).collect(),
            Tree::Map(members) => {
                let members = members.0.iter();
                let members = members.map(|(key, tree)| (key.clone(), self.tree(tree)));
                Value::Object(members.collect())
            }
            Tree::Plain(value) => value.clone(),
        }
    }

    /// Ends the substitution. `command` is what the names were found in.
    ///
    /// # Errors
    /// When a name stands for nothing.
    pub fn finish(self, command: &[Word]) -> Result<(), Failure> {
        if self.undefined.is_empty() {
            return Ok(());
        }
        let names: Vec<String> = self.undefined.into_iter().collect();
        let shown: Vec<String> = names.iter().map(|name| format!("`${{{name}}}`")).collect();
        let message = format!("{} has no value", shown.join(", "));
        let words: Vec<String> = command
            .iter()
            .map(|word| word.with_prompt("${PROMPT}"))
            .collect();
        let failure = Failure::new(ErrorKind::UndefinedVariables, message)
            .fact("undefined_vars", names)
            .fact("substituted_command", words);
        if self.missing.is_empty() {
            return Err(failure);
        }
        let missing: Vec<String> = self.missing.into_iter().collect();
        Err(failure.fact("missing_placeholders", missing))
    }
}
