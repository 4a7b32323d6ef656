//! The results of `uwf trust`.

use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::Value;
use uwf_config::{ConfigError, ProjectConfig, Standing};
use uwf_storage::StorageError;
use uwf_util::mask::Masks;
use uwf_util::printable::shortened;

use crate::output::Show;
use crate::text::cas::document;
use crate::text::table::{Page, table};

/// What the config of a project says, and whether it is trusted.
#[derive(Serialize)]
pub(crate) struct ProjectView {
    folder: String,
    file: String,
    trusted: bool,
    config: Value,
    /// The command lines that it names.
    commands: Vec<String>,
    /// Whether it has secrets of the user, which are masked.
    #[serde(skip)]
    has_masked: bool,
}

impl ProjectView {
    /// Returns what it says. What the file itself contains is no secret of the user, who is to see it before trusting it. `own` is
    /// for the user's secrets, which it may contain, too.
    pub(crate) fn new(
        project: &ProjectConfig,
        own: &Masks,
        trusted: bool,
    ) -> Result<Self, ConfigError> {
        let data = project.data()?;
        let config = masked(&data, own);
        let commands = project.commands()?;
        let commands = commands.iter().map(|line| own.text(line)).collect();
        Ok(Self {
            has_masked: config != data,
            folder: recordable(&project.folder)?,
            file: recordable(&project.file)?,
            trusted,
            config,
            commands,
        })
    }
}

/// Returns data whose values have no secrets. The names are what they are.
fn masked(data: &Value, masks: &Masks) -> Value {
    match data {
        Value::Object(members) => {
            let members = members.iter();
            let members = members.map(|(name, value)| (name.clone(), masked(value, masks)));
            members.collect()
        }
        Value::Array(items) => items.iter().map(|item| masked(item, masks)).collect(),
        value => masks.json(value),
    }
}

/// Returns a path that can be trusted. Another one cannot be shown as data either.
fn recordable(path: &Path) -> Result<String, ConfigError> {
    Ok(StorageError::recordable(path)?.to_owned())
}

impl Show for ProjectView {
    fn text(&self, _page: Page) -> String {
        // A line break in a name must not begin a line that looks like one of ours, nor in an argument.
        let file = shortened(&self.file, usize::MAX);
        let mut parts = vec![document(&self.config)];
        if !self.commands.is_empty() {
            let commands = self.commands.iter().map(|line| shortened(line, usize::MAX));
            let commands: Vec<String> = commands.collect();
            let commands = commands.join("\n  ");
            parts.push(format!("its agents start:\n  {commands}"));
        }
        if self.has_masked {
            parts.push(format!(
                "your own secrets are masked above; `{file}` has them: look at them before you trust it"
            ));
        }
        parts.push(match self.trusted {
            true => format!("`{file}`, shown above, is trusted"),
            false => format!("`{file}`, shown above, is not trusted"),
        });
        parts.join("\n\n")
    }
}

/// A project that is trusted no more.
#[derive(Serialize)]
pub(crate) struct RevokedView {
    pub(crate) folder: PathBuf,
    pub(crate) trusted: bool,
}

impl Show for RevokedView {
    fn text(&self, _page: Page) -> String {
        let folder = self.folder.display().to_string();
        format!("`{}` is trusted no more", shortened(&folder, usize::MAX))
    }
}

/// A project that was trusted.
#[derive(Serialize)]
pub(crate) struct TrustItem {
    pub(crate) folder: PathBuf,
    /// Whether it still is; `None` if its config is gone.
    pub(crate) status: Option<Standing>,
}

/// The projects that were trusted.
#[derive(Serialize)]
#[serde(transparent)]
pub(crate) struct TrustList(pub Vec<TrustItem>);

impl Show for TrustList {
    fn text(&self, _page: Page) -> String {
        if self.0.is_empty() {
            return "no project is trusted; `uwf trust <dir>` trusts one".to_owned();
        }
        let row = |item: &TrustItem| {
            let status = match item.status {
                Some(Standing::Trusted) => "trusted",
                Some(Standing::Changed) => "changed, not used",
                Some(Standing::Unknown) | None => "its config is gone",
            };
            vec![item.folder.display().to_string(), status.to_owned()]
        };
        table(&["PROJECT", "STATUS"], self.0.iter().map(row).collect())
    }
}
