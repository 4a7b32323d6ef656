//! Splits an adapter's own arguments from those that the engine appends.

use uwf_protocol::agent::{AgentCall, CallError};

/// Splits off the last arguments, which name thread and role in either form. Earlier ones are not parsed: a program
/// that the adapter starts may have a `--thread` of its own.
///
/// # Errors
/// When thread or role is missing or malformed.
pub(crate) fn split(args: &[String]) -> Result<(&[String], AgentCall), CallError> {
    let is_named = |count: usize| {
        let start = args.len().checked_sub(count)?;
        (args[start] == "--thread" && args[start + 2] == "--role").then_some(start)
    };
    let with_prompt = is_named(6).filter(|start| args[start + 4] == "--prompt");
    let start = with_prompt
        .or(is_named(4))
        .or(args.len().checked_sub(2))
        .ok_or(CallError::Missing)?;
    let (own, call) = args.split_at(start);
    Ok((own, AgentCall::parse(call)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const THREAD: &str = "01J7K9Z0000000000000000004";

    fn own(args: &[&str]) -> Result<Vec<String>, CallError> {
        let args: Vec<String> = args.iter().map(ToString::to_string).collect();
        split(&args).map(|(own, _)| own.to_vec())
    }

    #[test]
    fn the_call_is_at_the_end() {
        assert_eq!(
            own(&["a", "--", "b", THREAD, "writer"]).unwrap(),
            ["a", "--", "b"]
        );
        let named = ["--thread", THREAD, "--role", "writer", "--prompt", "go"];
        assert_eq!(
            own(&[&["--", "b", "--thread", "x"], &named[..]].concat()).unwrap(),
            ["--", "b", "--thread", "x"]
        );
        assert_eq!(own(&named[..4]).unwrap(), Vec::<String>::new());
        assert_eq!(own(&["writer"]), Err(CallError::Missing));
    }
}
