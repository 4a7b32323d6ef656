//! What an agent may do without asking: one vocabulary, and its translation to the options of each tool. Pure.

/// How much an agent may do without asking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Allowance {
    /// Look at files.
    Read,
    /// Change files, too.
    Edit,
    /// Run commands, too.
    Run,
}

impl Allowance {
    /// All of them, from the least to the most.
    pub const ALL: [Self; 3] = [Self::Read, Self::Edit, Self::Run];

    /// Returns its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Edit => "edit",
            Self::Run => "run",
        }
    }

    /// Returns what it means, for people.
    #[must_use]
    pub fn about(self) -> &'static str {
        match self {
            Self::Read => "read files only",
            Self::Edit => "read and edit files",
            Self::Run => "read and edit files, and run commands",
        }
    }

    /// Reads a name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.name() == name)
    }

    /// Returns the arguments of a built-in adapter for this allowance; `None` for an adapter that has no such options.
    fn arguments(self, adapter: &str) -> Option<&'static [&'static str]> {
        Some(match (adapter, self) {
            ("claude-code", Self::Read) => &["--permission-mode", "default"],
            ("claude-code", Self::Edit) => &["--permission-mode", "acceptEdits"],
            ("claude-code", Self::Run) => &[
                "--permission-mode",
                "acceptEdits",
                "--allowed-tools",
                "Bash",
            ],
            ("codex", Self::Read) => &["--sandbox", "read-only"],
            // Codex edits by commands; the sandbox keeps both within the folder.
            ("codex", Self::Edit | Self::Run) => &["--sandbox", "workspace-write"],
            ("gemini", Self::Read) => &["--approval-mode", "default", "--skip-trust"],
            ("gemini", Self::Edit) => &["--approval-mode", "auto_edit", "--skip-trust"],
            ("gemini", Self::Run) => &["--approval-mode", "yolo", "--skip-trust"],
            ("cursor", Self::Read) => &["--form", "agent"],
            ("cursor", Self::Edit | Self::Run) => &["--force"],
            ("hermes", Self::Read) => &["--mode", "acp", "--permissions", "read-only"],
            ("hermes", Self::Edit) => &[
                "--mode",
                "acp",
                "--permissions",
                "read-only",
                "--session-mode",
                "accept_edits",
            ],
            ("hermes", Self::Run) => &["--mode", "acp", "--permissions", "allow-once"],
            ("builtin", Self::Read) => &["--tools", "read_file,list_files,search,diff,cas_get"],
            ("builtin", Self::Edit) => &[
                "--tools",
                "read_file,write_file,patch_file,list_files,search,diff,cas_get",
            ],
            ("builtin", Self::Run) => &["--allow-shell"],
            _ => return None,
        })
    }
}

/// Returns the options of an adapter's tool that an allowance replaces: those that take a value, and those that take none.
fn options(adapter: &str) -> (&'static [&'static str], &'static [&'static str]) {
    match adapter {
        "claude-code" => (
            &[
                "--permission-mode",
                "--allowed-tools",
                "--allowedTools",
                "--settings",
            ],
            &["--dangerously-skip-permissions"],
        ),
        "codex" => (
            &["--sandbox", "-s", "--profile", "-p"],
            &["--full-auto", "--dangerously-bypass-approvals-and-sandbox"],
        ),
        "gemini" => (
            &["--approval-mode", "--allowed-tools"],
            &["--yolo", "-y", "--skip-trust"],
        ),
        "cursor" => (&["--form"], &["--force", "-f"]),
        "hermes" => (
            &["--mode", "--permissions", "--session-mode", "--max-turns"],
            &["--no-yolo"],
        ),
        "builtin" => (&["--tools"], &["--allow-shell"]),
        _ => (&[], &[]),
    }
}

/// Tells whether a built-in adapter has options for an allowance.
#[must_use]
pub fn can_be_allowed(adapter: &str) -> bool {
    Allowance::Read.arguments(adapter).is_some()
}

/// Tells whether the adapter's tool refuses edits and commands unless its arguments allow them, and these arguments neither
/// allow nor forbid them.
#[must_use]
pub fn leaves_open(adapter: &str, args: &[String]) -> bool {
    let refuses = ["claude-code", "codex", "gemini", "cursor"].contains(&adapter);
    refuses && !with_values(adapter, args).any(|option| decides(adapter, option))
}

/// Tells whether an option, with its value, decides what the agent may do. That a folder is trusted decides nothing about
/// edits and commands.
fn decides(adapter: &str, option: &[String]) -> bool {
    is_replaced(adapter, option) && option[0] != "--skip-trust"
}

/// Tells whether an allowance replaces an option, which may have its value in the same argument or in the next one.
fn is_replaced(adapter: &str, option: &[String]) -> bool {
    let (valued, flags) = options(adapter);
    let name = option[0].split_once('=');
    let name = name.map_or(option[0].as_str(), |(name, _)| name);
    let by_config = adapter == "codex" && option.iter().any(|arg| arg.contains("sandbox_mode"));
    valued.contains(&name) || flags.contains(&name) || by_config
}

/// Returns the arguments one by one, but an option whose value is the next argument together with it.
fn with_values<'a>(adapter: &str, args: &'a [String]) -> impl Iterator<Item = &'a [String]> {
    let (valued, _) = options(adapter);
    let of_config: &[&str] = match adapter {
        "codex" => &["-c", "--config"],
        _ => &[],
    };
    let mut rest = args;
    std::iter::from_fn(move || {
        let first = rest.first()?.as_str();
        let has_value = valued.contains(&first) || of_config.contains(&first);
        let count = if has_value { 2 } else { 1 };
        let (option, others) = rest.split_at(count.min(rest.len()));
        rest = others;
        Some(option)
    })
}

/// Returns the arguments of an agent with this allowance; `None` if the adapter has no such options. Earlier arguments
/// about the allowance are replaced, and all others stay.
#[must_use]
pub fn allow(adapter: &str, args: &[String], allowance: Allowance) -> Option<Vec<String>> {
    let ours = allowance.arguments(adapter)?;
    let mut allowed: Vec<String> = ours.iter().map(ToString::to_string).collect();
    let end = args
        .iter()
        .position(|arg| arg == "--")
        .unwrap_or(args.len());
    let own = with_values(adapter, &args[..end]);
    let others = own.filter(|option| !is_replaced(adapter, option));
    allowed.extend(others.flatten().cloned());
    allowed.extend_from_slice(&args[end..]);
    Some(allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owned(args: &[&str]) -> Vec<String> {
        args.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn an_agent_that_was_allowed_something_leaves_nothing_open() {
        for adapter in ["claude-code", "codex", "gemini", "cursor"] {
            assert!(leaves_open(adapter, &[]), "{adapter}");
            for allowance in Allowance::ALL {
                let args = allow(adapter, &[], allowance).unwrap();
                assert!(!leaves_open(adapter, &args), "{adapter} {args:?}");
            }
        }
        for (adapter, args) in [
            (
                "claude-code",
                &["--model", "m", "--permission-mode=plan"][..],
            ),
            ("claude-code", &["--", "--dangerously-skip-permissions"]),
            ("codex", &["--config", "sandbox_mode=workspace-write"]),
            ("builtin", &[]),
            ("hermes", &[]),
            ("command", &["--", "x"]),
        ] {
            assert!(!leaves_open(adapter, &owned(args)), "{adapter} {args:?}");
        }
        assert!(leaves_open(
            "gemini",
            &owned(&["--skip-trust", "--model", "m"])
        ));
    }

    #[test]
    fn what_is_allowed_replaces_what_was_and_leaves_the_rest() {
        let args = owned(&[
            "--model",
            "m",
            "--permission-mode",
            "plan",
            "--allowed-tools=Edit",
            "--",
            "--permission-mode",
            "x",
        ]);
        let expected = [
            "--permission-mode",
            "acceptEdits",
            "--allowed-tools",
            "Bash",
            "--model",
            "m",
            "--",
            "--permission-mode",
            "x",
        ];
        assert_eq!(
            allow("claude-code", &args, Allowance::Run).unwrap(),
            expected
        );
        let again = allow("gemini", &owned(&["--skip-trust"]), Allowance::Edit).unwrap();
        assert_eq!(again, ["--approval-mode", "auto_edit", "--skip-trust"]);
        assert_eq!(allow("mock", &[], Allowance::Run), None);
    }

    #[test]
    fn a_setting_of_the_config_is_replaced_with_the_option_that_gives_it() {
        let replaced = |args: &[&str]| allow("codex", &owned(args), Allowance::Edit).unwrap();
        let ours = ["--sandbox", "workspace-write"];
        for name in ["-c", "--config"] {
            let args = [name, "sandbox_mode=x", "--model", "m"];
            assert_eq!(replaced(&args), [&ours[..], &args[2..]].concat());
            let others = [name, "model_reasoning_effort=high", "--model", "m"];
            assert_eq!(replaced(&others), [&ours[..], &others].concat());
            assert!(!leaves_open("codex", &owned(&args)));
            assert!(leaves_open("codex", &owned(&others)));
        }
        assert_eq!(
            replaced(&["--config=sandbox_mode=x", "-c"]),
            ["--sandbox", "workspace-write", "-c"]
        );
    }
}
