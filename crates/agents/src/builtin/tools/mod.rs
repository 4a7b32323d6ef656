//! The tools for a model. [`workspace`] confines paths, and [`shell`] runs commands.
//!
//! A mistake of the model becomes a tool result that begins with `error:`. A tool call never fails the step.

mod diff;
pub(super) mod environment;
mod files;
mod look;
mod patterns;
mod shell;
mod walk;
pub(super) mod workspace;

use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use uwf_agent_kit::cas_tool::{CAS_GET, CasTool};
use uwf_agent_kit::llm::{ToolRequest, ToolSpec};
use uwf_agent_kit::tool_loop::Toolbox;
use uwf_protocol::agent::env::{ATTEMPT, GRACE_MS, SUPERVISORS};
use uwf_storage::Env;
use uwf_util::suggest;
use uwf_util::text::counted;

use diff::Diff;
use environment::Variables;
use files::{PatchFile, ReadFile, WriteFile};
use look::{ListFiles, Search};
use shell::{Shell, ShellExec};
use workspace::Workspace;

use super::mcp::Servers;
use crate::chat;

pub(super) use diff::DiffOf;
pub(super) use shell::wait_for;

/// How many characters a tool result shows at most.
pub(super) const MAX_SHOWN: usize = 32_000;

/// A tool that can be offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tool {
    ReadFile,
    WriteFile,
    PatchFile,
    ListFiles,
    Search,
    Diff,
    ShellExec,
    CasGet,
}

impl Tool {
    pub(super) const ALL: [Self; 8] = [
        Self::ReadFile,
        Self::WriteFile,
        Self::PatchFile,
        Self::ListFiles,
        Self::Search,
        Self::Diff,
        Self::ShellExec,
        Self::CasGet,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::ReadFile => "read_file",
            Self::WriteFile => "write_file",
            Self::PatchFile => "patch_file",
            Self::ListFiles => "list_files",
            Self::Search => "search",
            Self::Diff => "diff",
            Self::ShellExec => "shell_exec",
            Self::CasGet => CAS_GET,
        }
    }

    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| tool.name() == name)
    }

    fn specs(self, cas: &CasTool<'_>) -> Vec<ToolSpec> {
        let (description, parameters) = match self {
            Self::ReadFile => (ReadFile::DESCRIPTION, ReadFile::parameters()),
            Self::WriteFile => (WriteFile::DESCRIPTION, WriteFile::parameters()),
            Self::PatchFile => (PatchFile::DESCRIPTION, PatchFile::parameters()),
            Self::ListFiles => (ListFiles::DESCRIPTION, ListFiles::parameters()),
            Self::Search => (Search::DESCRIPTION, Search::parameters()),
            Self::Diff => (Diff::DESCRIPTION, Diff::parameters()),
            Self::ShellExec => (ShellExec::DESCRIPTION, ShellExec::parameters()),
            Self::CasGet => return cas.specs(),
        };
        vec![ToolSpec {
            name: self.name().to_owned(),
            description: description.to_owned(),
            parameters,
        }]
    }
}

/// The tools of one task.
pub(super) struct Tools<'a> {
    pub(super) offered: &'a [Tool],
    pub(super) workspace: Workspace,
    pub(super) commands: Commands,
    pub(super) cas: CasTool<'a>,
    pub(super) diff: DiffOf<'a>,
    /// The tools of other programs.
    pub(super) servers: &'a mut Servers,
    /// How often a tool may still be called.
    pub(super) calls_left: u32,
    /// The tools that were called although they are not offered, one entry for each call.
    pub(super) refused: Vec<String>,
    /// When the step's time is over.
    pub(super) deadline: Option<Instant>,
    /// How often the model may still answer after this round.
    pub(super) turns_left: u32,
}

/// The model is warned when this many turns or fewer are left.
const FEW_TURNS: u32 = 3;

/// The environment of commands.
pub(super) struct Commands(pub(super) Shell);

/// The variables by which the supervisor of a command knows the supervisors above it.
const SUPERVISION: [&str; 3] = [SUPERVISORS, ATTEMPT, GRACE_MS];

impl Commands {
    /// Returns the environment of commands: this one without the variables that they must not get.
    pub(super) fn of(env: &Env, variables: &Variables) -> Self {
        let passed = env
            .variables()
            .filter(|(name, value)| variables.pass(name, value));
        let variables = passed.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let supervision = SUPERVISION.iter().filter_map(|name| {
            let value = env.var_os(name)?;
            Some(((*name).into(), value.to_owned()))
        });
        Self(Shell {
            program: env.program(),
            supervision: supervision.collect(),
            variables: variables.collect(),
        })
    }
}

impl Toolbox for Tools<'_> {
    fn specs(&self) -> Vec<ToolSpec> {
        let own = self.offered.iter();
        let own = own.flat_map(|tool| tool.specs(&self.cas));
        own.chain(self.servers.specs().cloned()).collect()
    }

    fn call(&mut self, request: &ToolRequest) -> String {
        let mut text = match self.try_call(request) {
            Ok(text) => text,
            Err(problem) => format!("error: {problem}"),
        };
        let left = self.turns_left;
        if (1..=FEW_TURNS).contains(&left) {
            text.push_str(&format!(
                "\n\n[You can answer {}. Call `finish` before your answers are used up.]",
                counted(left, "more time")
            ));
        }
        text
    }
}

impl Tools<'_> {
    fn try_call(&mut self, request: &ToolRequest) -> Result<String, String> {
        let tool = Tool::named(&request.name);
        let is_offered = match tool {
            Some(tool) => self.offered.contains(&tool),
            None => self.servers.offers(&request.name),
        };
        if !is_offered {
            if tool.is_some() || self.servers.withholds(&request.name) {
                self.refused.push(request.name.clone());
            }
            return Err(self.unknown(&request.name));
        }
        chat::go_on().map_err(|stopped| stopped.message)?;
        if self
            .deadline
            .is_some_and(|deadline| Instant::now() >= deadline)
        {
            return Err("the time for this step is over; call `finish` now".to_owned());
        }
        self.calls_left = self
            .calls_left
            .checked_sub(1)
            .ok_or("no more tool calls are allowed in this step; call `finish` now")?;
        let Some(tool) = tool else {
            let left = self.time_left();
            let arguments = arguments::<Map<String, Value>>(request)?;
            return self.servers.call(&request.name, &arguments, left);
        };
        let masks = &self.diff.task.masks;
        match tool {
            Tool::ReadFile => arguments::<ReadFile>(request)?.run(&self.workspace, masks),
            Tool::WriteFile => arguments::<WriteFile>(request)?.run(&self.workspace, masks),
            Tool::PatchFile => arguments::<PatchFile>(request)?.run(&self.workspace),
            Tool::ListFiles => {
                arguments::<ListFiles>(request)?.run(&self.workspace, self.time_left())
            }
            Tool::Search => {
                arguments::<Search>(request)?.run(&self.workspace, self.time_left(), masks)
            }
            Tool::Diff => arguments::<Diff>(request).and_then(|Diff {}| Diff::run(&self.diff)),
            Tool::ShellExec => self.shell_exec(request),
            Tool::CasGet => Ok(self.cas.call(request)),
        }
    }

    fn shell_exec(&self, request: &ToolRequest) -> Result<String, String> {
        let left = self.time_left();
        let masks = &self.diff.task.masks;
        arguments::<ShellExec>(request)?.run(&self.commands.0, &self.workspace, left, masks)
    }

    fn time_left(&self) -> Option<Duration> {
        let deadline = self.deadline?;
        Some(deadline.saturating_duration_since(Instant::now()))
    }

    fn unknown(&self, name: &str) -> String {
        let own = self.offered.iter().map(|tool| tool.name());
        let of_servers = self.servers.specs().map(|spec| spec.name.as_str());
        let names: Vec<&str> = own.chain(of_servers).collect();
        let meant = suggest::question(name, names.iter().copied());
        format!(
            "there is no tool `{name}`{meant}; the tools are `{}` and `finish`",
            names.join("`, `")
        )
    }
}

/// Reads the arguments of a call.
fn arguments<T: DeserializeOwned>(request: &ToolRequest) -> Result<T, String> {
    let text = match request.arguments.trim() {
        "" => "{}",
        text => text,
    };
    let value: Value = serde_json::from_str(text)
        .map_err(|error| format!("the arguments are not JSON: {error}"))?;
    serde_json::from_value(value)
        .map_err(|error| format!("the arguments of `{}` do not fit: {error}", request.name))
}
