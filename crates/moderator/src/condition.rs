//! Conditions of list edges: JSONata expressions over the thread, and what counts as true.
//!
//! A [`Question`] is plain data, so the caller decides in which process it is answered. [`Question::answer`] limits nesting
//! and length, but neither memory nor the work of one built-in function. So answer questions about workflows of others in
//! a process that can be ended.

mod calls;
mod foreign;
mod mentions;

use std::rc::Rc;

use jsonata_core::ast::AstNode;
use jsonata_core::evaluator::{Context, Evaluator, EvaluatorError, EvaluatorOptions};
use jsonata_core::parser;
use jsonata_core::value::JValue;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use uwf_protocol::chain::StepContext;
use uwf_protocol::nodes::StartNode;

pub(crate) use self::calls::FUNCTIONS;
pub(crate) use self::mentions::Mention;

/// The longest expression, in bytes.
const MAX_LENGTH: usize = 16 * 1024;

/// The time limit of one evaluation, in milliseconds. The evaluator checks it between two operations, not within one.
const TIMEOUT_MS: u64 = 2_000;

/// The beginning of the evaluator's message when that time is up.
const TIMED_OUT: &str = "D1012";

/// How deep an evaluation may nest.
const MAX_STACK_DEPTH: usize = 2_000;

/// How many items an intermediate result may have.
const MAX_SEQUENCE_LENGTH: usize = 1_000_000;

/// The functions whose result depends on the time or on chance, not on the thread alone.
pub(crate) const IMPURE: [&str; 4] = ["now", "millis", "random", "shuffle"];

/// The names at the top level of a thread.
pub const ROOT_NAMES: [&str; 2] = ["start", "steps"];

/// The names that an expression sees that gives a value: `last` is the data of the last step.
pub(crate) const VALUE_NAMES: [&str; 3] = ["start", "steps", "last"];

/// Why a condition has no result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub enum ConditionError {
    /// The text is not a JSONata expression.
    #[error("`{expression}` is not a JSONata expression: {message}")]
    Syntax {
        /// The expression.
        expression: String,
        /// What the parser says.
        message: String,
    },
    /// The text is longer than an expression may be.
    #[error("the expression has {length} bytes, more than the {MAX_LENGTH} that are allowed")]
    TooLong {
        /// How long it is, in bytes.
        length: usize,
    },
    /// The expression failed on this thread, or reached a limit.
    #[error("`{expression}` cannot be evaluated: {message}")]
    Evaluation {
        /// The expression.
        expression: String,
        /// What the evaluator says.
        message: String,
    },
    /// The evaluation was ended: it took too much time or memory.
    #[error("`{expression}` was not evaluated to its end: {limit}")]
    Exceeded {
        /// The expression.
        expression: String,
        /// The limit, for people.
        limit: String,
    },
    /// The expression could not be evaluated, for a reason outside of it.
    #[error("`{expression}` was not evaluated: {problem}")]
    Unevaluated {
        /// The expression.
        expression: String,
        /// What went wrong.
        problem: String,
    },
}

/// A question about a thread: which of these conditions is the first that holds?
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Question {
    /// The conditions in the order in which they are tried.
    pub expressions: Vec<String>,
    /// The thread that they are evaluated on; see [`History`].
    thread: Value,
}

/// A question about data: what does this expression give?
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ValueQuestion {
    /// The expression.
    pub expression: String,
    /// What it is evaluated on; see [`History`].
    thread: Value,
}

impl ValueQuestion {
    /// Returns the question what an expression gives for a thread. Beside what conditions see there is `last`: the data of the
    /// last step. The steps are oldest first.
    #[must_use]
    pub fn new(expression: &str, start: &StartNode, steps: &[StepContext]) -> Self {
        let mut thread = thread_of(start, steps);
        thread["last"] = steps
            .last()
            .map(|last| last.output.clone())
            .unwrap_or_default();
        Self {
            expression: expression.to_owned(),
            thread,
        }
    }

    /// Returns what the expression gives; `null` if that is undefined.
    ///
    /// # Errors
    /// When it cannot be parsed, fails, or gives something that is no data, such as a function.
    pub fn answer(self) -> Result<Value, ConditionError> {
        let value = value_of(&self.expression, &History::new(self.thread))?;
        if value.is_undefined() {
            return Ok(Value::Null);
        }
        serde_json::to_value(&value).map_err(|error| failed(&self.expression, &error.to_string()))
    }
}

/// The answer to a [`Question`]: the index of the first condition that holds, if one does.
pub type Verdict = Result<Option<usize>, FailedCondition>;

/// The condition of a question that has no result. The conditions before it do not hold; the ones after it were not tried.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedCondition {
    /// Its index.
    pub index: usize,
    /// Why it has no result.
    pub problem: ConditionError,
}

/// The function that answers questions while a thread is routed.
pub type Ask<'a> = &'a mut dyn FnMut(Question) -> Verdict;

impl Question {
    /// Returns the question which of these expressions holds first for a thread. The steps are oldest first.
    #[must_use]
    pub fn new(expressions: Vec<String>, start: &StartNode, steps: &[StepContext]) -> Self {
        Self {
            expressions,
            thread: thread_of(start, steps),
        }
    }

    /// Returns the first condition that holds. Later conditions are not evaluated.
    ///
    /// # Errors
    /// When a condition before it cannot be parsed or fails.
    pub fn answer(self) -> Verdict {
        self.answer_with_progress(&mut |_| ())
    }

    /// Does the same, and calls `progress` with the index of each condition before it is evaluated.
    ///
    /// # Errors
    /// As [`answer`](Self::answer).
    pub fn answer_with_progress(self, progress: &mut dyn FnMut(usize)) -> Verdict {
        let history = History::new(self.thread);
        for (index, expression) in self.expressions.iter().enumerate() {
            progress(index);
            match evaluate(expression, &history) {
                Ok(true) => return Ok(Some(index)),
                Ok(false) => {}
                Err(problem) => return Err(FailedCondition { index, problem }),
            }
        }
        Ok(None)
    }
}

fn thread_of(start: &StartNode, steps: &[StepContext]) -> Value {
    json!({
        "start": { "workflow": start.workflow, "prompt": start.prompt },
        "steps": steps.iter().map(|step| json!({
            "role": step.node.role,
            "output": step.output,
            "detail": step.node.detail,
            "agent": step.node.agent,
        })).collect::<Vec<_>>(),
    })
}

/// A thread as expressions see it: `start` with `workflow` and `prompt`, and `steps`, oldest first, each with `role`,
/// `output`, `detail` and `agent`.
struct History {
    data: JValue,
    answers: Rc<Vec<(String, JValue)>>,
}

impl History {
    fn new(thread: Value) -> Self {
        let data = JValue::from(thread);
        let answer = |step: &JValue| {
            let role = step.get("role")?.as_str()?.to_owned();
            Some((role, step.get("output")?.clone()))
        };
        let steps = data.get("steps").and_then(JValue::as_array);
        let answers = steps.into_iter().flatten().filter_map(answer).collect();
        Self {
            answers: Rc::new(answers),
            data,
        }
    }
}

/// Checks that an expression can be parsed.
///
/// # Errors
/// When it cannot, with the parser's message.
pub fn check(expression: &str) -> Result<(), ConditionError> {
    parse(expression).map(drop)
}

/// Tells whether an expression holds for a thread.
///
/// Beside JSONata's own functions there are `$first(role)` and `$last(role)`: the output of the first and the last step of
/// that role, undefined if there is no such step. The functions that depend on more than the thread (`$now`, `$millis`,
/// `$random`, `$shuffle`) are refused, so that the same thread always gives the same result. Undefined, `null`, `false`, 0,
/// not-a-number and the empty text are false. Everything else is true, even an empty list.
///
/// # Errors
/// When the expression cannot be parsed, fails, or reaches a limit of time, depth or size.
fn evaluate(expression: &str, history: &History) -> Result<bool, ConditionError> {
    value_of(expression, history).map(|value| is_true(&value))
}

/// Returns what an expression gives.
fn value_of(expression: &str, history: &History) -> Result<JValue, ConditionError> {
    let ast = parse(expression)?;
    let options = EvaluatorOptions {
        timeout_ms: Some(TIMEOUT_MS),
        max_stack_depth: Some(MAX_STACK_DEPTH),
        max_sequence_length: Some(MAX_SEQUENCE_LENGTH),
        cancel: None,
    };
    let mut evaluator = Evaluator::with_options(Context::new(), options);
    bind_helpers(&mut evaluator, history)
        .and_then(|()| evaluator.evaluate(&ast, &history.data))
        .map_err(|error| failed(expression, error.message()))
}

/// Returns the error for a message of the evaluator.
fn failed(expression: &str, message: &str) -> ConditionError {
    let expression = expression.to_owned();
    if message.starts_with(TIMED_OUT) {
        let limit = format!("it takes more than {} seconds", TIMEOUT_MS / 1000);
        return ConditionError::Exceeded { expression, limit };
    }
    ConditionError::Evaluation {
        expression,
        message: message.to_owned(),
    }
}

/// Returns the roles and the parts of answers that an expression names, and its wrong names.
pub(crate) fn mentions(expression: &str) -> Result<Vec<Mention>, ConditionError> {
    let parsed = parse(expression)?;
    Ok([mentions::of(&parsed), calls::of(&parsed)].concat())
}

fn parse(expression: &str) -> Result<AstNode, ConditionError> {
    if expression.len() > MAX_LENGTH {
        return Err(ConditionError::TooLong {
            length: expression.len(),
        });
    }
    parser::parse(expression).map_err(|error| ConditionError::Syntax {
        expression: expression.to_owned(),
        message: foreign::explain(expression).unwrap_or_else(|| error.to_string()),
    })
}

fn bind_helpers(evaluator: &mut Evaluator, history: &History) -> Result<(), EvaluatorError> {
    let answers = Rc::clone(&history.answers);
    evaluator.register_fn("first", move |args: &[JValue]| {
        let role = role_argument("first", args)?;
        Ok(output_of(answers.iter().find(|(name, _)| name == role)))
    })?;
    let answers = Rc::clone(&history.answers);
    evaluator.register_fn("last", move |args: &[JValue]| {
        let role = role_argument("last", args)?;
        Ok(output_of(answers.iter().rfind(|(name, _)| name == role)))
    })?;
    for name in IMPURE {
        evaluator.register_fn_override(name, move |_: &[JValue]| {
            Err(EvaluatorError::EvaluationError(format!(
                "`${name}` is not available: an expression depends on the thread alone"
            )))
        })?;
    }
    Ok(())
}

fn role_argument<'a>(function: &str, args: &'a [JValue]) -> Result<&'a str, EvaluatorError> {
    args.first().and_then(JValue::as_str).ok_or_else(|| {
        EvaluatorError::TypeError(format!(
            "`${function}` takes the name of a role, as in `${function}('reviewer')`"
        ))
    })
}

fn output_of(answer: Option<&(String, JValue)>) -> JValue {
    answer.map_or(JValue::Undefined, |(_, output)| output.clone())
}

fn is_true(value: &JValue) -> bool {
    match value {
        JValue::Undefined | JValue::Null => false,
        JValue::Bool(truth) => *truth,
        JValue::Number(number) => *number != 0.0 && !number.is_nan(),
        JValue::String(text) => !text.is_empty(),
        JValue::Array(_)
        | JValue::Object(_)
        | JValue::Lambda(_)
        | JValue::Builtin { .. }
        | JValue::Regex { .. } => true,
    }
}
