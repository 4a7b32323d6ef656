//! Finding the roles and the parts of answers that a condition names.
//!
//! Only certain names count. A name inside a function, after a variable, or in a value that the expression builds itself may
//! refer to anything, so it is ignored.

use jsonata_core::ast::{AstNode, BinaryOp, PathStep, Stage};

/// A name in a condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Mention {
    /// A name at the top level that no thread has.
    Unknown(String),
    /// A member that no start has.
    UnknownOfStart(String),
    /// A member that no step has.
    UnknownOfStep(String),
    /// A function that depends on more than the thread; without its `$`.
    Impure(String),
    /// A function that does not exist; without its `$`.
    UnknownFunction(String),
    /// A function that is called without its `$`.
    BareFunction(String),
    /// A role.
    Role(String),
    /// A part of an answer: the keys that lead to it. `None` means that the role is unknown.
    Answer {
        role: Option<String>,
        keys: Vec<String>,
    },
}

/// What a subexpression refers to.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Referent {
    /// The whole thread.
    Thread,
    /// Its start.
    Start,
    /// Steps; of one role if that is known.
    Steps(Option<String>),
    /// The name of a step's role.
    RoleName,
    /// Answers of a role, or the part of them that these keys lead to.
    Answer {
        role: Option<String>,
        keys: Vec<String>,
    },
    /// Anything else.
    Other,
}

/// Returns the names in an expression, each once, in their order.
pub(super) fn of(expression: &AstNode) -> Vec<Mention> {
    let mut walk = Walk::default();
    walk.look(expression, &Referent::Thread);
    walk.mentions
}

#[derive(Default)]
struct Walk {
    mentions: Vec<Mention>,
}

impl Walk {
    fn add(&mut self, mention: Mention) {
        if !self.mentions.contains(&mention) {
            self.mentions.push(mention);
        }
    }

    /// Walks an expression whose names are looked up in `here`. Returns what the expression refers to.
    fn look(&mut self, node: &AstNode, here: &Referent) -> Referent {
        match node {
            AstNode::Name(name) => self.name(name, here),
            AstNode::Variable(name) if name.is_empty() => here.clone(),
            AstNode::ParentVariable(name) if name.is_empty() => Referent::Thread,
            AstNode::Path { steps } => self.path(steps, here),
            AstNode::Function {
                name,
                args,
                is_builtin: true,
            } if matches!(name.as_str(), "first" | "last") => self.answer_of(args, here),
            AstNode::Binary { op, lhs, rhs } => self.binary(*op, lhs, rhs, here),
            AstNode::Block(parts) => {
                let places = parts.iter().map(|part| self.look(part, here));
                places.last().unwrap_or(Referent::Other)
            }
            AstNode::FunctionApplication(inner) => self.look(inner, here),
            AstNode::Sort { input, terms } => {
                let sorted = self.look(input, here);
                for (term, _) in terms {
                    self.look(term, &sorted);
                }
                sorted
            }
            _ => {
                self.parts(node, here);
                Referent::Other
            }
        }
    }

    fn name(&mut self, name: &str, here: &Referent) -> Referent {
        match here {
            Referent::Thread => match name {
                "steps" => Referent::Steps(None),
                "start" => Referent::Start,
                unknown => {
                    self.add(Mention::Unknown(unknown.to_owned()));
                    Referent::Other
                }
            },
            Referent::Start => {
                if !matches!(name, "prompt" | "workflow") {
                    self.add(Mention::UnknownOfStart(name.to_owned()));
                }
                Referent::Other
            }
            Referent::Steps(role) => match name {
                "role" => Referent::RoleName,
                "output" => Referent::Answer {
                    role: role.clone(),
                    keys: Vec::new(),
                },
                "detail" | "agent" => Referent::Other,
                unknown => {
                    self.add(Mention::UnknownOfStep(unknown.to_owned()));
                    Referent::Other
                }
            },
            Referent::Answer { role, keys } => {
                let mut keys = keys.clone();
                keys.push(name.to_owned());
                let role = role.clone();
                self.add(Mention::Answer {
                    role: role.clone(),
                    keys: keys.clone(),
                });
                Referent::Answer { role, keys }
            }
            Referent::RoleName | Referent::Other => Referent::Other,
        }
    }

    fn path(&mut self, steps: &[PathStep], here: &Referent) -> Referent {
        let mut place = here.clone();
        for step in steps {
            place = self.look(&step.node, &place);
            if step.focus.is_some() || step.ancestor_label.is_some() {
                // The following steps may refer to this one by a variable: we cannot follow that.
                place = Referent::Other;
            }
            for stage in &step.stages {
                if let Stage::Filter(filter) = stage {
                    if let (Referent::Steps(role @ None), Some(named)) =
                        (&mut place, role_in(filter))
                    {
                        *role = Some(named.to_owned());
                    }
                    self.look(filter, &place);
                }
            }
        }
        place
    }

    /// Walks a call of `$first` or `$last`.
    fn answer_of(&mut self, args: &[AstNode], here: &Referent) -> Referent {
        let [AstNode::String(role)] = args else {
            for arg in args {
                self.look(arg, here);
            }
            return Referent::Other;
        };
        self.add(Mention::Role(role.clone()));
        Referent::Answer {
            role: Some(role.clone()),
            keys: Vec::new(),
        }
    }

    fn binary(&mut self, op: BinaryOp, lhs: &AstNode, rhs: &AstNode, here: &Referent) -> Referent {
        // In a chain `a ~> $f`, `$f` is called with `a`. Both sides are still walked in the same context.
        let sides = [self.look(lhs, here), self.look(rhs, here)];
        if matches!(op, BinaryOp::Equal | BinaryOp::NotEqual | BinaryOp::In) {
            for (place, other) in sides.iter().zip([rhs, lhs]) {
                if *place == Referent::RoleName {
                    for name in texts(other) {
                        self.add(Mention::Role(name.to_owned()));
                    }
                }
            }
        }
        Referent::Other
    }

    /// Walks the parts of an expression that itself refers to nothing of the thread.
    fn parts(&mut self, node: &AstNode, here: &Referent) {
        match node {
            AstNode::Unary { operand, .. } => drop(self.look(operand, here)),
            AstNode::Function { args, .. } | AstNode::Array(args) | AstNode::ArrayGroup(args) => {
                for arg in args {
                    self.look(arg, here);
                }
            }
            AstNode::Object(pairs) => {
                for (key, value) in pairs {
                    self.look(key, here);
                    self.look(value, here);
                }
            }
            AstNode::Conditional {
                condition,
                then_branch,
                else_branch,
            } => {
                let branches = [Some(condition), Some(then_branch), else_branch.as_ref()];
                for branch in branches.into_iter().flatten() {
                    self.look(branch, here);
                }
            }
            // The context of a function body is known only when it is called.
            AstNode::Lambda { body, .. } => drop(self.look(body, &Referent::Other)),
            AstNode::Call { procedure, args } => {
                self.look(procedure, &Referent::Other);
                for arg in args {
                    self.look(arg, here);
                }
            }
            _ => {}
        }
    }
}

/// Returns the role of all steps that pass a filter, if the filter compares the role with a text.
fn role_in(filter: &AstNode) -> Option<&str> {
    let AstNode::Binary { op, lhs, rhs } = filter else {
        return None;
    };
    match op {
        BinaryOp::And => role_in(lhs).or_else(|| role_in(rhs)),
        BinaryOp::Equal if is_role(lhs) => text(rhs),
        BinaryOp::Equal if is_role(rhs) => text(lhs),
        _ => None,
    }
}

fn is_role(node: &AstNode) -> bool {
    match node {
        AstNode::Name(name) => name == "role",
        AstNode::Path { steps } => match steps.as_slice() {
            [step] => step.stages.is_empty() && is_role(&step.node),
            _ => false,
        },
        _ => false,
    }
}

fn text(node: &AstNode) -> Option<&str> {
    match node {
        AstNode::String(text) => Some(text),
        _ => None,
    }
}

/// Returns the texts of a literal: one text, or a list of texts.
fn texts(node: &AstNode) -> Vec<&str> {
    match node {
        AstNode::Array(items) => items.iter().filter_map(text).collect(),
        one => text(one).into_iter().collect(),
    }
}
