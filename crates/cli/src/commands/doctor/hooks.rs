//! Checks the hooks of the config: whether the shell understands them, as far as that can be told without running them.

use uwf_engine::Site;
use uwf_protocol::config::Config;
use uwf_protocol::hooks::{Hook, HookEvent};
use uwf_util::shell_words;

use crate::text::Check;

const NAME: &str = "hook";

pub(super) fn look(site: &Site, config: &Config) -> Vec<Check> {
    let hooks = config.hooks.iter();
    hooks
        .map(|(event, hook)| one(site, *event, hook).of(event.as_str()))
        .collect()
}

/// Checks one hook. Its first word is looked for unless it belongs to the shell's language.
fn one(site: &Site, event: HookEvent, hook: &Hook) -> Check {
    let Some(command) = hook.command.as_deref() else {
        return Check::warning(
            NAME,
            "it has no command",
            format!("`uwf config set hooks.{event}.command …` sets one"),
        );
    };
    let first = match shell_words::split(command) {
        Ok(words) => words.into_iter().next(),
        Err(error) => {
            return Check::warning(
                NAME,
                format!("`sh` may not understand the command: {error}"),
                format!("`uwf config set hooks.{event}.command …` fixes it"),
            );
        }
    };
    let is_name = |word: &String| {
        let plain = |char: char| char.is_ascii_alphanumeric() || "-_./+".contains(char);
        word.chars().all(plain) && !SHELL_WORDS.contains(&word.as_str())
    };
    // Only the program is shown: what follows it may be secret.
    let Some(word) = first.filter(is_name) else {
        return Check::ok(NAME, "a command line of the shell".to_owned());
    };
    match site.env.find_program(&word).filter(|path| path.is_file()) {
        Some(path) => Check::ok(NAME, path.display().to_string()),
        None => Check::warning(
            NAME,
            format!("the program `{word}` is not there"),
            format!("install it, or fix `hooks.{event}.command` with `uwf config set`"),
        ),
    }
}

/// The words of the shell's language with which a command may begin, beside programs.
const SHELL_WORDS: &[&str] = &[
    ".", ":", "case", "cd", "command", "eval", "exec", "exit", "export", "for", "if", "read",
    "set", "shift", "trap", "ulimit", "umask", "unset", "until", "while",
];
