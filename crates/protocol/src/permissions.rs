//! What an agent may do without asking: one vocabulary for all agents. How the tool of an adapter is told so is not here.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use uwf_util::mask::Masks;
use uwf_util::text::counted;

/// How much an agent may do without asking. Nobody is there to ask while a step runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Permissions {
    /// Look at files.
    Read,
    /// Change files, too.
    Edit,
    /// Run commands, too.
    Run,
    /// Everything that its tool can do, also outside the folder of the step.
    All,
}

impl Permissions {
    /// All of them, from the least to the most.
    pub const ALL: [Self; 4] = [Self::Read, Self::Edit, Self::Run, Self::All];

    /// Their words, in the same order.
    pub const WORDS: [&str; 4] = ["read", "edit", "run", "all"];

    /// Returns the word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        Self::WORDS[self as usize]
    }

    /// Returns what it means, for people.
    #[must_use]
    pub fn about(self) -> &'static str {
        match self {
            Self::Read => "read files only",
            Self::Edit => "read and edit files",
            Self::Run => "read and edit files, and run commands",
            Self::All => "everything that its tool can do",
        }
    }
}

impl fmt::Display for Permissions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Says which words there are.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{word}` is not one of `read`, `edit`, `run` or `all`")]
pub struct UnknownPermissions {
    word: String,
}

impl FromStr for Permissions {
    type Err = UnknownPermissions;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        let known = Self::ALL.into_iter().find(|one| one.as_str() == word);
        known.ok_or_else(|| UnknownPermissions {
            word: word.to_owned(),
        })
    }
}

/// A call of a tool for which an agent asked for permission, and nobody had decided it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AskedPermission {
    /// What the call is, in the agent's words.
    pub title: String,
    /// The agent's word for the kind of the tool; empty if unknown.
    pub kind: String,
    /// What the tool would be called with, as JSON; empty if the agent did not tell it.
    pub input: String,
    /// The answers that the agent offered.
    pub options: Vec<PermissionOption>,
}

impl AskedPermission {
    /// Returns the call without secrets.
    #[must_use]
    pub fn masked(&self, masks: &Masks) -> Self {
        let option = |option: &PermissionOption| PermissionOption {
            id: masks.text(&option.id),
            name: masks.text(&option.name),
            kind: option.kind.clone(),
        };
        Self {
            title: masks.text(&self.title),
            kind: self.kind.clone(),
            input: masks.text(&self.input),
            options: self.options.iter().map(option).collect(),
        }
    }
}

/// The kind of an answer that permits one call.
pub const ALLOW_ONCE: &str = "allow_once";

/// An answer to a request for permission.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PermissionOption {
    /// What the agent calls it.
    pub id: String,
    /// Its name for people.
    pub name: String,
    /// What it permits or refuses, such as `allow_once`.
    pub kind: String,
}

/// A call that an agent asked permission for, and what a person said to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecidedPermission {
    /// The call.
    pub asked: AskedPermission,
    /// What the person said.
    pub answer: String,
}

/// What a person decided.
#[derive(Debug, PartialEq, Eq)]
pub enum Decision<'a> {
    /// This call is permitted, once.
    Once,
    /// It is refused.
    Refused,
    /// One of the offered answers was chosen.
    Option(&'a PermissionOption),
}

impl AskedPermission {
    /// Tells whether another request is about the same call. The words for people need not be the same, if the agent tells
    /// what the tool is called with.
    #[must_use]
    pub fn is_same_call(&self, other: &Self) -> bool {
        let is_same = self.kind == other.kind && self.input == other.input;
        is_same && (!self.input.is_empty() || self.title == other.title)
    }

    /// Tells whether the agent offers to permit just this call.
    #[must_use]
    pub fn may_be_permitted_once(&self) -> bool {
        let mut options = self.options.iter();
        options.any(|option| option.kind == ALLOW_ONCE)
    }
}

impl DecidedPermission {
    /// Reads what the person said. Everything that is neither a yes nor an offered answer refuses the call. `yes` and `no` mean
    /// what they say, whatever the agent calls its answers.
    #[must_use]
    pub fn decision(&self) -> Decision<'_> {
        let said = self.answer.trim();
        let is_said = |text: &str| said.eq_ignore_ascii_case(text);
        if is_said("yes") && self.asked.may_be_permitted_once() {
            return Decision::Once;
        }
        if is_said("yes") || is_said("no") {
            return Decision::Refused;
        }
        let mut options = self.asked.options.iter();
        let chosen = options.find(|option| is_said(&option.id) || is_said(&option.name));
        chosen.map_or(Decision::Refused, Decision::Option)
    }

    /// Tells whether the call may be made now.
    #[must_use]
    pub fn permits(&self) -> bool {
        match self.decision() {
            Decision::Once => true,
            Decision::Refused => false,
            Decision::Option(option) => option.kind.starts_with("allow"),
        }
    }
}

/// How often the calls of one tool were refused, because the agent lacks the permission.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusedCalls {
    /// The tool, by the agent's name for it.
    pub tool: String,
    /// How many of its calls.
    pub calls: u64,
}

impl RefusedCalls {
    /// Counts refused calls by their tools, in the order of the first calls.
    #[must_use]
    pub fn count(tools: &[String]) -> Vec<Self> {
        let mut counted: Vec<Self> = Vec::new();
        for tool in tools {
            match counted.iter_mut().find(|one| one.tool == *tool) {
                Some(one) => one.calls += 1,
                None => counted.push(Self {
                    tool: tool.clone(),
                    calls: 1,
                }),
            }
        }
        counted
    }

    /// Returns a note for people, such as "3 tool calls were refused: Edit, Bash"; `None` if no call was refused.
    #[must_use]
    pub fn note(refused: &[Self]) -> Option<String> {
        let tools: Vec<&str> = refused.iter().map(|one| one.tool.as_str()).collect();
        let count: u64 = refused.iter().map(|one| one.calls).sum();
        let were = match count {
            0 => return None,
            1 => "was",
            _ => "were",
        };
        let calls = counted(count, "tool call");
        Some(format!("{calls} {were} refused: {}", tools.join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(title: &str, input: &str) -> AskedPermission {
        let option = |id: &str, name: &str, kind: &str| PermissionOption {
            id: id.to_owned(),
            name: name.to_owned(),
            kind: kind.to_owned(),
        };
        AskedPermission {
            title: title.to_owned(),
            kind: "execute".to_owned(),
            input: input.to_owned(),
            options: vec![
                option("o1", "Always allow", "allow_always"),
                option("o2", "Reject", "reject_once"),
                option("o3", "Allow", ALLOW_ONCE),
                option("no", "yes", "allow_always"),
            ],
        }
    }

    #[test]
    fn a_person_says_yes_or_names_an_answer_and_everything_else_refuses() {
        let decided = |answer: &str| DecidedPermission {
            asked: asked("rm a", "{}"),
            answer: answer.to_owned(),
        };
        for (answer, permits) in [
            ("yes", true),
            (" Yes\n", true),
            ("always allow", true),
            ("o1", true),
            ("o2", false),
            ("no", false),
            ("yes, but not in the other folder", false),
            ("use trash instead", false),
        ] {
            assert_eq!(decided(answer).permits(), permits, "{answer}");
        }
        let mut decided = decided("yes");
        assert_eq!(decided.decision(), Decision::Once);
        decided
            .asked
            .options
            .retain(|option| option.kind != ALLOW_ONCE);
        assert!(
            !decided.permits(),
            "what is permitted for good was not asked for"
        );
    }

    #[test]
    fn a_call_is_the_same_if_it_does_the_same() {
        let one = asked("rm a", r#"{"command":"rm a"}"#);
        assert!(one.is_same_call(&asked("remove a", r#"{"command":"rm a"}"#)));
        assert!(!one.is_same_call(&asked("rm a", r#"{"command":"rm b"}"#)));
        assert!(!one.is_same_call(&asked("rm a", "")));
        assert!(asked("rm a", "").is_same_call(&asked("rm a", "")));
        assert!(!asked("rm a", "").is_same_call(&asked("rm b", "")));
    }

    #[test]
    fn each_has_one_word_for_people_and_for_data() {
        for one in Permissions::ALL {
            assert_eq!(one.as_str().parse(), Ok(one));
            assert_eq!(serde_json::to_value(one).unwrap(), one.as_str());
        }
        assert!("Read".parse::<Permissions>().is_err());
        assert!("".parse::<Permissions>().is_err());
    }
}
