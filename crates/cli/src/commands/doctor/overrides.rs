//! Finds overrides of the config that concern no role: a misspelled one leaves a role as it was.

use uwf_engine::{IdleOverride, Site, idle_overrides};
use uwf_protocol::config::Config;
use uwf_util::shell_words;

use crate::text::Check;

const NAME: &str = "overrides";

pub(super) fn look(site: &Site, config: &Config) -> Vec<Check> {
    match idle_overrides(site, config) {
        Ok(idle) => idle.iter().map(one).collect(),
        // What is wrong with the store is reported with it.
        Err(_) => Vec::new(),
    }
}

fn one(idle: &IdleOverride) -> Check {
    let IdleOverride { key, unknown, near } = idle;
    let message = match near {
        Some(near) => format!("nothing is called `{unknown}`; is `{near}` meant?"),
        None => format!("nothing is called `{unknown}`"),
    };
    let hint = format!("`uwf config unset {}` removes it", shell_words::quote(key));
    Check::warning(NAME, message, hint).of(key)
}
