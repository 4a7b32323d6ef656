//! Finding functions that a condition must not call: unknown functions, and functions that depend on time or chance.

use std::collections::HashSet;

use jsonata_core::ast::{AstNode, BinaryOp, PathStep, Stage};

use super::{IMPURE, Mention};

/// The functions of the language and, at the end, the two of this program. Expressions write them with a `$` in front.
pub(crate) const FUNCTIONS: [&str; 66] = [
    "abs",
    "append",
    "assert",
    "average",
    "base64decode",
    "base64encode",
    "boolean",
    "ceil",
    "contains",
    "count",
    "decodeUrl",
    "decodeUrlComponent",
    "distinct",
    "each",
    "encodeUrl",
    "encodeUrlComponent",
    "error",
    "eval",
    "exists",
    "filter",
    "floor",
    "formatBase",
    "formatInteger",
    "formatNumber",
    "fromMillis",
    "join",
    "keys",
    "length",
    "lookup",
    "lowercase",
    "map",
    "match",
    "max",
    "merge",
    "millis",
    "min",
    "not",
    "now",
    "number",
    "pad",
    "parseInteger",
    "power",
    "random",
    "reduce",
    "replace",
    "reverse",
    "round",
    "shuffle",
    "sift",
    "single",
    "sort",
    "split",
    "spread",
    "sqrt",
    "string",
    "substring",
    "substringAfter",
    "substringBefore",
    "sum",
    "toMillis",
    "trim",
    "type",
    "uppercase",
    "zip",
    "first",
    "last",
];

/// Returns the forbidden functions of an expression, each once, in the order of their first call.
pub(super) fn of(expression: &AstNode) -> Vec<Mention> {
    let mut calls = Calls::default();
    calls.look(expression);
    let Calls { bound, mut found } = calls;
    // A name may be bound after its first use, as in a function that calls itself.
    found.retain(|mention| match mention {
        Mention::Impure(name) | Mention::UnknownFunction(name) => !bound.contains(name.as_str()),
        _ => true,
    });
    found
}

#[derive(Default)]
struct Calls<'a> {
    /// The variables that the expression sets itself, in any scope.
    bound: HashSet<&'a str>,
    found: Vec<Mention>,
}

impl<'a> Calls<'a> {
    fn add(&mut self, mention: Mention) {
        if !self.found.contains(&mention) {
            self.found.push(mention);
        }
    }

    fn look(&mut self, node: &'a AstNode) {
        match node {
            AstNode::Function {
                name,
                is_builtin: true,
                ..
            } => self.call(name),
            AstNode::Function { name, .. } if FUNCTIONS.contains(&name.as_str()) => {
                self.add(Mention::BareFunction(name.clone()));
            }
            AstNode::Variable(name) if IMPURE.contains(&name.as_str()) => {
                self.add(Mention::Impure(name.clone()));
            }
            AstNode::Binary { op, lhs, rhs } => match (op, &**lhs, &**rhs) {
                (BinaryOp::ColonEqual, AstNode::Variable(name), _) => {
                    self.bound.insert(name);
                }
                (BinaryOp::ChainPipe, _, AstNode::Variable(name)) => self.call(name),
                _ => {}
            },
            AstNode::Lambda { params, .. } => self.bound.extend(params.iter().map(String::as_str)),
            AstNode::Path { steps } => steps.iter().for_each(|step| self.bind(step)),
            _ => {}
        }
        for child in children(node) {
            self.look(child);
        }
    }

    fn call(&mut self, name: &str) {
        if IMPURE.contains(&name) {
            self.add(Mention::Impure(name.to_owned()));
        } else if !name.is_empty() && !FUNCTIONS.contains(&name) {
            self.add(Mention::UnknownFunction(name.to_owned()));
        }
    }

    fn bind(&mut self, step: &'a PathStep) {
        self.bound.extend(step.focus.as_deref());
        self.bound.extend(step.index_var.as_deref());
        for stage in &step.stages {
            if let Stage::Index(name) = stage {
                self.bound.insert(name);
            }
        }
    }
}

/// Returns the direct subexpressions of an expression.
fn children(node: &AstNode) -> Vec<&AstNode> {
    match node {
        AstNode::Path { steps } => steps.iter().flat_map(of_step).collect(),
        AstNode::Binary { lhs, rhs, .. } => vec![lhs, rhs],
        AstNode::Unary { operand, .. } => vec![operand],
        AstNode::Function { args, .. } => args.iter().collect(),
        AstNode::Call { procedure, args } => std::iter::once(&**procedure).chain(args).collect(),
        AstNode::Lambda { body, .. } => vec![body],
        AstNode::Array(items) | AstNode::ArrayGroup(items) | AstNode::Block(items) => {
            items.iter().collect()
        }
        AstNode::Object(pairs) => of_pairs(pairs).collect(),
        AstNode::ObjectTransform { input, pattern } => {
            std::iter::once(&**input).chain(of_pairs(pattern)).collect()
        }
        AstNode::Conditional {
            condition,
            then_branch,
            else_branch,
        } => [Some(condition), Some(then_branch), else_branch.as_ref()]
            .into_iter()
            .flatten()
            .map(|part| &**part)
            .collect(),
        AstNode::FunctionApplication(inner) => vec![inner],
        AstNode::Sort { input, terms } => std::iter::once(&**input)
            .chain(terms.iter().map(|(term, _)| term))
            .collect(),
        AstNode::Transform {
            location,
            update,
            delete,
        } => [Some(location), Some(update), delete.as_ref()]
            .into_iter()
            .flatten()
            .map(|part| &**part)
            .collect(),
        AstNode::String(_)
        | AstNode::Name(_)
        | AstNode::Number(_)
        | AstNode::Boolean(_)
        | AstNode::Null
        | AstNode::Undefined
        | AstNode::Placeholder
        | AstNode::Regex { .. }
        | AstNode::Variable(_)
        | AstNode::ParentVariable(_)
        | AstNode::Wildcard
        | AstNode::Descendant
        | AstNode::Parent(_) => Vec::new(),
    }
}

fn of_step(step: &PathStep) -> impl Iterator<Item = &AstNode> {
    let filters = step.stages.iter().filter_map(|stage| match stage {
        Stage::Filter(filter) => Some(&**filter),
        Stage::KeepArray | Stage::Index(_) => None,
    });
    std::iter::once(&step.node).chain(filters)
}

fn of_pairs(pairs: &[(AstNode, AstNode)]) -> impl Iterator<Item = &AstNode> {
    pairs.iter().flat_map(|(key, value)| [key, value])
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use jsonata_core::evaluator::{Evaluator, EvaluatorError};
    use jsonata_core::parser;
    use jsonata_core::value::JValue;

    use super::*;

    const SUITE: &str = include_str!("../../../../tests/fixtures/suites/jsonata.jsonl");

    /// Tells whether the evaluator has a function of this name: then it refuses to register another one.
    fn is_built_in(name: &str) -> bool {
        let taken = |_: &[JValue]| Ok(JValue::Undefined);
        Evaluator::new().register_fn(name, taken).is_err()
    }

    /// Returns the result of a call without arguments.
    fn called(name: &str) -> Result<JValue, EvaluatorError> {
        let call = parser::parse(&format!("${name}()")).unwrap();
        Evaluator::new().evaluate(&call, &JValue::Undefined)
    }

    #[test]
    fn every_function_of_the_list_is_known_to_the_evaluator() {
        let unknown = |name: &str| {
            let error = called(name).err()?;
            Some(error.message().replace(name, "NAME"))
        };
        let of_none = unknown("noSuchFunction");
        assert!(of_none.is_some());
        let (ours, theirs): (Vec<&str>, Vec<&str>) = FUNCTIONS
            .iter()
            .partition(|name| ["first", "last"].contains(*name));
        assert_eq!(ours.len(), 2);
        for name in theirs {
            assert!(is_built_in(name), "{name}");
            // The evaluator is built without a source of chance, which no condition may ask.
            if !IMPURE.contains(&name) {
                assert_ne!(unknown(name), of_none, "{name}");
            }
        }
    }

    #[test]
    fn every_function_of_the_evaluator_that_its_suite_calls_is_in_the_list() {
        let mut called = BTreeSet::new();
        for behind in SUITE.split('$').skip(1) {
            let end = behind.find(|letter: char| !letter.is_ascii_alphanumeric());
            let name = &behind[..end.unwrap_or(behind.len())];
            if is_built_in(name) {
                called.insert(name);
            }
        }
        let missing: Vec<_> = called
            .iter()
            .filter(|name| !FUNCTIONS.contains(name))
            .collect();
        assert_eq!(missing, Vec::<&&str>::new());
        // The suite tells of nearly all of them.
        assert!(called.len() >= 60, "{} {called:?}", called.len());
    }
}
