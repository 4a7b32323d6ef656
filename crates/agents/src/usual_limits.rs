//! The limits of time that suit most work of an adapter.

/// Limits of time, as the config has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UsualLimits {
    /// How long a step may take.
    pub timeout: &'static str,
    /// How long the agent may print nothing, if it prints while it works.
    pub idle_timeout: Option<&'static str>,
}

/// Returns the limits for the built-in adapter of this name, or for any other program; `None` if it needs none.
#[must_use]
pub fn usual_limits(adapter: &str) -> Option<UsualLimits> {
    let tells_progress = match adapter {
        "mock" => return None,
        // A tool call of the model may be silent for a while, but not so long.
        "claude-code" | "codex" | "cursor" | "gemini" | "opencode" | "builtin" => true,
        // They, or what they run, may print nothing before they answer.
        _ => false,
    };
    Some(UsualLimits {
        timeout: "2h",
        idle_timeout: tells_progress.then_some("45m"),
    })
}
