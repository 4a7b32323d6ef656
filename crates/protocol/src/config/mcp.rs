//! Servers of the Model Context Protocol: programs that offer tools to an agent over a model.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use super::null_as_empty;
use crate::permissions::Permissions;

/// How a server is started, and who gets its tools.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct McpServer {
    /// The program: a path, or a name on PATH. An entry without one cannot be used, but does not spoil the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Its arguments.
    #[serde(
        deserialize_with = "null_as_empty",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub args: Vec<String>,
    /// Variables of its environment.
    #[serde(
        deserialize_with = "null_as_empty",
        skip_serializing_if = "IndexMap::is_empty"
    )]
    pub env: IndexMap<String, String>,
    /// Variables of the agent's environment that it gets although they look like secrets.
    #[serde(
        deserialize_with = "null_as_empty",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub keep_env: Vec<String>,
    /// The least permissions of an agent that gets its tools; [`USUAL`](Self::USUAL) if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permissions: Option<Permissions>,
    /// How long one call of a tool may take, such as `30s`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<String>,
}

impl McpServer {
    /// The least permissions of an agent that gets its tools, if the config does not say. A server is a program that can do
    /// what the user can do, as a command can.
    pub const USUAL: Permissions = Permissions::Run;

    /// How long one call of a tool may take if the config does not say, in seconds.
    pub const USUAL_SECONDS: u64 = 120;

    /// The longest name of a server. It is a part of the names of tools, which providers limit to 64 characters.
    pub const MAX_NAME: usize = 32;

    /// Tells whether the tools of this server are for an agent with these permissions. If nothing says what the agent may do,
    /// they are: its arguments name the server.
    #[must_use]
    pub fn is_for(&self, permissions: Option<Permissions>) -> bool {
        permissions.is_none_or(|permissions| permissions >= self.permissions.unwrap_or(Self::USUAL))
    }

    /// Returns why a server cannot have this name, if it cannot.
    #[must_use]
    pub fn name_problem(name: &str) -> Option<String> {
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        let fits = (1..=Self::MAX_NAME).contains(&name.len()) && name.bytes().all(is_name);
        (!fits).then(|| {
            format!(
                "the name of a server has 1 to {} letters, digits, `-` or `_`",
                Self::MAX_NAME
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_for_agents_that_may_run_commands_unless_it_says_more() {
        let server = |permissions| McpServer {
            permissions,
            ..McpServer::default()
        };
        for permissions in Permissions::ALL {
            let is_for = |server: &McpServer| server.is_for(Some(permissions));
            assert_eq!(is_for(&server(None)), permissions >= Permissions::Run);
            assert!(is_for(&server(Some(Permissions::Read))));
            assert!(is_for(&server(Some(permissions))));
        }
        assert!(!server(Some(Permissions::All)).is_for(Some(Permissions::Run)));
        assert!(server(Some(Permissions::All)).is_for(None));
    }

    #[test]
    fn a_name_can_be_a_part_of_the_name_of_a_tool() {
        assert_eq!(McpServer::name_problem("git-hub_2"), None);
        for name in ["", "a.b", "a b", "ä", &"x".repeat(33)] {
            assert!(McpServer::name_problem(name).is_some(), "{name}");
        }
    }
}
