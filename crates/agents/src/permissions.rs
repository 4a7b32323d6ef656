//! How each adapter keeps to the permissions of its agent: their translation to the options of its tool. Pure.

use uwf_protocol::permissions::Permissions;

/// How an adapter keeps to permissions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keeping {
    /// These options of its own restrict its tool, or the tools that it offers.
    Options(&'static [&'static str]),
    /// It has no tools that could do anything.
    NoTools,
    /// It hands them to another program, which keeps to them: another agent, or one that reads the variable.
    HandedOn,
}

/// The option by which the command agent is told that its program keeps to the permissions by itself.
pub(crate) const OBEYS: &str = "--obeys-permissions";

/// The placeholder by which an argument of the command agent's program tells it the permissions.
const PLACEHOLDER: &str = "{permissions}";

/// Returns how a built-in adapter with these arguments keeps to permissions; `None` if it cannot.
#[must_use]
pub fn keeping(adapter: &str, args: &[String], permissions: Permissions) -> Option<Keeping> {
    if let Some(options) = options_for(adapter, permissions) {
        return Some(Keeping::Options(options));
    }
    let (own, of_program) = split(args);
    let obeys = own.iter().any(|arg| arg == OBEYS)
        || of_program
            .iter()
            .chain(own)
            .any(|arg| arg.contains(PLACEHOLDER));
    match adapter {
        "llm" | "mock" => Some(Keeping::NoTools),
        "record" => Some(Keeping::HandedOn),
        "command" if obeys || permissions == Permissions::All => Some(Keeping::HandedOn),
        _ => None,
    }
}

/// Returns the options of an adapter that say what its tool may do.
fn options_for(adapter: &str, permissions: Permissions) -> Option<&'static [&'static str]> {
    use Permissions::{All, Edit, Read, Run};
    Some(match (adapter, permissions) {
        ("claude-code", Read) => &["--permission-mode", "default"],
        ("claude-code", Edit) => &["--permission-mode", "acceptEdits"],
        ("claude-code", Run) => &[
            "--permission-mode",
            "acceptEdits",
            "--allowed-tools",
            "Bash",
        ],
        ("claude-code", All) => &["--dangerously-skip-permissions"],
        ("codex", Read) => &["--sandbox", "read-only"],
        // Codex edits by commands; the sandbox keeps both within the folder.
        ("codex", Edit | Run) => &["--sandbox", "workspace-write"],
        ("codex", All) => &["--sandbox", "danger-full-access"],
        ("gemini", Read) => &["--approval-mode", "default", "--skip-trust"],
        ("gemini", Edit) => &["--approval-mode", "auto_edit", "--skip-trust"],
        ("gemini", Run | All) => &["--approval-mode", "yolo", "--skip-trust"],
        ("cursor", Read) => &["--form", "agent"],
        ("cursor", Edit | Run | All) => &["--force"],
        ("opencode", Read) => &["--permissions", "read"],
        ("opencode", Edit) => &["--permissions", "edit"],
        ("opencode", Run) => &["--permissions", "run"],
        ("opencode", All) => &["--permissions", "all"],
        ("hermes", Read) => &["--mode", "acp", "--permissions", "read-only"],
        ("hermes", Edit) => &[
            "--mode",
            "acp",
            "--permissions",
            "read-only",
            "--session-mode",
            "accept_edits",
        ],
        ("hermes", Run) => &["--mode", "acp", "--permissions", "allow-once"],
        ("hermes", All) => &["--mode", "acp", "--permissions", "allow-always"],
        ("acp", Read) => &["--permissions", "read-only"],
        ("acp", Edit) => &["--permissions", "allow-edits"],
        ("acp", Run) => &["--permissions", "allow-once"],
        ("acp", All) => &["--permissions", "allow-always"],
        ("builtin", Read) => &["--tools", "read_file,list_files,search,diff,cas_get"],
        ("builtin", Edit) => &[
            "--tools",
            "read_file,write_file,patch_file,list_files,search,diff,cas_get",
        ],
        ("builtin", Run) => &["--allow-shell"],
        ("builtin", All) => &["--allow-shell", "--allow-outside"],
        _ => return None,
    })
}

/// Returns the options that permissions replace, of an adapter or of its tool: those that take a value, and those that take none.
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
        "opencode" => (&["--permissions"], &["--auto"]),
        "acp" => (&["--permissions"], &[]),
        "builtin" => (&["--tools"], &["--allow-shell", "--allow-outside"]),
        _ => (&[], &[]),
    }
}

/// Tells whether the adapter's tool refuses edits and commands unless its arguments allow them, and these arguments neither
/// allow nor forbid them.
#[must_use]
pub fn leaves_open(adapter: &str, args: &[String]) -> bool {
    let refuses = ["claude-code", "codex", "gemini", "cursor"].contains(&adapter);
    refuses && said(adapter, args).is_empty()
}

/// Returns those of an adapter's arguments that say what its tool may do: options, each with its value.
#[must_use]
pub fn said(adapter: &str, args: &[String]) -> Vec<String> {
    let options = with_values(adapter, args).filter(|option| decides(adapter, option));
    options.map(|option| option.join(" ")).collect()
}

/// Tells whether an option, with its value, decides what the agent may do. That a folder is trusted decides nothing about
/// edits and commands.
fn decides(adapter: &str, option: &[String]) -> bool {
    is_replaced(adapter, option) && option[0] != "--skip-trust"
}

/// Tells whether permissions replace an option, which may have its value in the same argument or in the next one.
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

/// Returns the arguments before the first `--`, and the rest.
fn split(args: &[String]) -> (&[String], &[String]) {
    let end = args.iter().position(|arg| arg == "--");
    args.split_at(end.unwrap_or(args.len()))
}

/// Returns the arguments without those that permissions replace. What stands after `--` stays.
#[must_use]
pub fn without_permissions(adapter: &str, args: &[String]) -> Vec<String> {
    let (own, rest) = split(args);
    let others = with_values(adapter, own).filter(|option| !is_replaced(adapter, option));
    others.flatten().chain(rest).cloned().collect()
}

/// Returns the arguments of an adapter that keeps to these permissions. They replace what the arguments said about that
/// before.
///
/// # Errors
/// When the adapter cannot keep to them, or an argument after `--`, which goes to the tool untouched, says something else.
pub fn with_permissions(
    adapter: &str,
    args: &[String],
    permissions: Permissions,
) -> Result<Vec<String>, CannotKeep> {
    let cannot = |why| CannotKeep { permissions, why };
    let options = match keeping(adapter, args, permissions) {
        None => return Err(cannot(Why::Program)),
        Some(Keeping::NoTools | Keeping::HandedOn) => return Ok(args.to_vec()),
        Some(Keeping::Options(options)) => options,
    };
    // The program of `uwf-acp` has options of its own, which mean what they mean there.
    let (own, rest) = split(args);
    let of_tool = if adapter == "acp" { &[] } else { rest };
    let is_against =
        |option: &[String]| decides(adapter, option) || widens(adapter, option, permissions);
    if let Some(option) = with_values(adapter, of_tool).find(|option| is_against(option)) {
        return Err(cannot(Why::Argument(option.join(" "))));
    }
    let ours = options.iter().map(ToString::to_string);
    let others = with_values(adapter, own)
        .filter(|option| !is_replaced(adapter, option) && !widens(adapter, option, permissions));
    Ok(ours.chain(others.flatten().chain(rest).cloned()).collect())
}

/// Tells whether an option lets commands of the tool do more than these permissions. Codex edits files by commands, so its
/// `edit` needs them: its sandbox must keep them from everything else.
fn widens(adapter: &str, option: &[String], permissions: Permissions) -> bool {
    let is_of_sandbox = |arg: &String| arg.contains("sandbox_workspace_write");
    let runs_no_commands = matches!(permissions, Permissions::Read | Permissions::Edit);
    adapter == "codex" && runs_no_commands && option.iter().any(is_of_sandbox)
}

/// Says why an adapter cannot keep to permissions.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the permissions are `{permissions}`, but {why}")]
pub struct CannotKeep {
    permissions: Permissions,
    why: Why,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
enum Why {
    /// The program of the command agent is not known to keep to any.
    #[error(
        "nothing tells that the program of `uwf-command` keeps to them: give it `{PLACEHOLDER}` as an argument, or add \
         `{OBEYS}` before the `--` if it reads UWF_PERMISSIONS"
    )]
    Program,
    /// This argument for the tool says something else.
    #[error("`{0}` after `--` says what the tool may do, too: take it out")]
    Argument(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owned(args: &[&str]) -> Vec<String> {
        args.iter().map(ToString::to_string).collect()
    }

    fn with(adapter: &str, args: &[&str], permissions: Permissions) -> Vec<String> {
        with_permissions(adapter, &owned(args), permissions).unwrap()
    }

    #[test]
    fn an_agent_that_was_allowed_something_leaves_nothing_open() {
        for adapter in ["claude-code", "codex", "gemini", "cursor"] {
            assert!(leaves_open(adapter, &[]), "{adapter}");
            for permissions in Permissions::ALL {
                let args = with(adapter, &[], permissions);
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
    fn permissions_replace_what_was_said_and_leave_the_rest() {
        let args = [
            "--model",
            "m",
            "--permission-mode",
            "plan",
            "--allowed-tools=Edit",
            "--",
            "--verbose",
        ];
        let rest = ["--model", "m", "--", "--verbose"];
        let run = [
            "--permission-mode",
            "acceptEdits",
            "--allowed-tools",
            "Bash",
        ];
        assert_eq!(
            with("claude-code", &args, Permissions::Run),
            [&run[..], &rest].concat()
        );
        assert_eq!(without_permissions("claude-code", &owned(&args)), rest);
        let again = with("gemini", &["--skip-trust"], Permissions::Edit);
        assert_eq!(again, ["--approval-mode", "auto_edit", "--skip-trust"]);
    }

    #[test]
    fn a_setting_of_the_config_is_replaced_with_the_option_that_gives_it() {
        let replaced = |args: &[&str]| with("codex", args, Permissions::Edit);
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

    #[test]
    fn nothing_widens_what_an_agent_may_do_that_may_only_look_or_edit() {
        for permissions in [Permissions::Read, Permissions::Edit, Permissions::Run] {
            let args = with("builtin", &["--allow-outside", "--model", "m"], permissions);
            assert!(!args.contains(&"--allow-outside".to_owned()), "{args:?}");
        }
        assert_eq!(
            said("builtin", &owned(&["--allow-outside"])),
            ["--allow-outside"]
        );
        let network = ["-c", "sandbox_workspace_write.network_access=true"];
        let edit = with("codex", &network, Permissions::Edit);
        assert_eq!(edit, ["--sandbox", "workspace-write"]);
        let run = with("codex", &network, Permissions::Run);
        assert_eq!(run[2..], network);
        let after = owned(&["--", network[0], network[1]]);
        assert!(with_permissions("codex", &after, Permissions::Edit).is_err());
        assert!(with_permissions("codex", &after, Permissions::Run).is_ok());
    }

    #[test]
    fn what_would_lift_the_permissions_after_two_dashes_is_refused() {
        let args = owned(&["--", "--dangerously-skip-permissions"]);
        let refused = with_permissions("claude-code", &args, Permissions::Read).unwrap_err();
        let expected =
            "the permissions are `read`, but `--dangerously-skip-permissions` after `--` says";
        assert!(refused.to_string().starts_with(expected), "{refused}");
    }

    #[test]
    fn the_program_of_the_acp_agent_has_options_of_its_own() {
        let args = ["--permissions", "deny", "--", "tool", "--permissions", "x"];
        let expected = [
            "--permissions",
            "allow-edits",
            "--",
            "tool",
            "--permissions",
            "x",
        ];
        assert_eq!(with("acp", &args, Permissions::Edit), expected);
    }

    #[test]
    fn a_program_must_be_said_to_keep_to_permissions() {
        let refused =
            |args: &[&str]| with_permissions("command", &owned(args), Permissions::Edit).is_err();
        assert!(refused(&["--", "x"]));
        assert!(refused(&["--", "x", OBEYS]));
        assert!(!refused(&[OBEYS, "--", "x"]));
        assert!(!refused(&["--", "x", "--mode={permissions}"]));
        assert_eq!(with("command", &["--", "x"], Permissions::All), ["--", "x"]);
        for adapter in ["llm", "mock", "record"] {
            let same = with(adapter, &["--", "x"], Permissions::Read);
            assert_eq!(same, ["--", "x"], "{adapter}");
        }
    }
}
