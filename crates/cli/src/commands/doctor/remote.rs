//! Checks the remote: whether it answers, and whether what it stores is as new as this program.

use uwf_engine::Site;
use uwf_protocol::config::Config;

use crate::commands::sharing;
use crate::failure::Failure;
use crate::text::Check;

const NAME: &str = "remote";

/// Returns nothing if the config names no remote.
pub(super) fn look(site: &Site, config: &Config) -> Option<Check> {
    let url = config.remote.url.as_ref()?;
    Some(match sharing::greet(site) {
        Ok((hello, is_old)) if is_old => Check::warning(
            NAME,
            format!(
                "{url} answers, and an older version of uwf made it (version {})",
                hello.version
            ),
            "`uwf remote migrate`, as the owner of its schema",
        ),
        Ok((hello, _)) => Check::ok(
            NAME,
            format!(
                "{url} answers (version {}); leases last by its clock",
                hello.version
            ),
        ),
        Err(error) => {
            let failure = Failure::from(error);
            let said = [vec![failure.what], failure.causes].concat().join(": ");
            Check {
                hint: failure.hint,
                ..Check::error(NAME, said, "")
            }
        }
    })
}
