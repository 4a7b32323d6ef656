//! `uwf doctor`: checks everything that a step needs, and changes nothing. Each module checks one part and returns its
//! findings. This module decides which checks run.

mod agents;
mod hooks;
mod machine;
mod mcp;
mod overrides;
mod permissions;
mod project;
pub(crate) mod providers;
mod remote;
mod store;
mod threads;
mod version;

use uwf_config::{ConfigError, Finding};
use uwf_engine::Site;
use uwf_protocol::config::Config;
use uwf_protocol::exit::Exit;

use crate::args::DoctorArgs;
use crate::commands::Context;
use crate::failure::Failure;
use crate::output::print;
use crate::text::{Check, DoctorView};

pub(crate) fn run(context: &Context, args: &DoctorArgs) -> Result<Exit, Failure> {
    let view = DoctorView::new(checks(context.site(), args));
    print(&view, context.format)?;
    Ok(if view.ok { Exit::Done } else { Exit::Request })
}

/// Checks everything that a step needs.
fn checks(site: &Site, args: &DoctorArgs) -> Vec<Check> {
    let (env, root) = (&site.env, &site.root);
    let mut checks = vec![machine::clock(root, env), machine::search_path(env)];
    checks.extend(machine::processes(env));
    if root.path().is_dir() {
        checks.push(machine::root(root));
        checks.extend(machine::space(root));
        checks.extend(machine::log(root));
        checks.extend(machine::permissions(root));
        checks.extend(config_checks(site));
        checks.extend(project::look(site));
        // A config that cannot be read is reported above.
        let config = uwf_config::load_for(root, env.cwd());
        if let Ok((config, _)) = config
            && (root.config_file().exists() || config != Config::default())
        {
            checks.extend(entries_of_config(site, args, &config));
        }
        checks.extend(threads::look(site));
        checks.push(store::look(site, args.all));
    } else {
        checks.push(machine::no_root(root));
    }
    checks
}

/// Checks the agents and providers of the config.
fn entries_of_config(site: &Site, args: &DoctorArgs, config: &Config) -> Vec<Check> {
    let mut checks = agents::look(site, config);
    checks.extend(permissions::look(config));
    checks.extend(overrides::look(site, config));
    checks.extend(mcp::look(site, config));
    checks.extend(hooks::look(site, config));
    if !args.offline {
        checks.extend(providers::look(site, config));
        checks.extend(remote::look(site, config));
    }
    checks
}

fn config_checks(site: &Site) -> Vec<Check> {
    const NAME: &str = "config";
    let (root, env) = (&site.root, &site.env);
    let path = root.config_file();
    let findings = match uwf_config::check(root, env) {
        Ok(findings) => findings,
        Err(ConfigError::NoConfig { .. }) => {
            let message = format!("there is no `{}`", path.display());
            return vec![Check::warning(NAME, message, "`uwf setup` makes one")];
        }
        Err(error) => {
            let failure = Failure::from(error);
            let message = [vec![failure.what], failure.causes].concat().join(": ");
            return vec![Check::error(
                NAME,
                message,
                "make the file readable for you",
            )];
        }
    };
    let line = |one: &Finding| match one.key.as_str() {
        "" => format!("line {}: {}", one.line, one.problem),
        key => format!("line {}: {key}: {}", one.line, one.problem),
    };
    let errors = findings.errors.iter();
    let mut checks: Vec<Check> = errors
        .map(|one| Check::error(NAME, line(one), "`uwf config edit` opens it"))
        .collect();
    checks.extend(
        findings
            .warnings
            .iter()
            .map(|one| Check::warning(NAME, line(one), "`uwf config edit` opens it")),
    );
    if checks.is_empty() {
        checks.push(Check::ok(NAME, format!("{} is valid", path.display())));
    }
    checks
}
