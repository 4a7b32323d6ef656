//! Checks the config of the project around the working directory.

use uwf_config::{ProjectConfig, Standing, Trust};
use uwf_engine::Site;
use uwf_util::shell_words;

use crate::text::Check;

const NAME: &str = "project";

/// Returns nothing where there is no such config.
pub(super) fn look(site: &Site) -> Option<Check> {
    let hint = "correct the file, or do without it with `uwf trust --revoke`";
    let project = match ProjectConfig::find(&site.root, site.env.cwd()) {
        Ok(project) => project?,
        Err(error) => return Some(Check::error(NAME, error.to_string(), hint)),
    };
    let (file, folder) = (project.file.display(), project.folder.display().to_string());
    let trust = format!(
        "`uwf trust {}` shows it and trusts it",
        shell_words::quote(&folder)
    );
    let standing = match Trust::read(&site.root) {
        Ok(known) => project.standing(&known),
        Err(error) => {
            let hint = format!("bring it back from a copy, or delete it and trust again: {trust}");
            return Some(Check::error(NAME, error.to_string(), hint));
        }
    };
    Some(match (standing, project.read()) {
        (Standing::Trusted, Ok(_)) => Check::ok(NAME, format!("`{file}` is trusted and used")),
        (Standing::Trusted, Err(error)) => Check::error(NAME, error.to_string(), hint),
        (Standing::Changed, _) => {
            let message = format!("`{file}` was changed since you trusted it, and is not used");
            Check::warning(NAME, message, trust)
        }
        (Standing::Unknown, _) => Check::warning(
            NAME,
            format!("`{file}` is not trusted, and not used"),
            trust,
        ),
    })
}
