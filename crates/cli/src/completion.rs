//! What shells may complete: threads, nodes, workflows, roles, agents and keys, as they are at the moment.
//!
//! A shell starts this program with the line that is being typed. Whatever cannot be read is not proposed: an error
//! would end up in the middle of the line.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::Path;
use std::sync::OnceLock;

use clap::Arg;
use clap_complete::engine::{
    ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter as _,
};
use clap_complete::env::{Bash, CompleteEnv, EnvCompleter, Fish, Zsh};
use serde_json::{Map, Value};
use uwf_cas_fs::{Node, Store};
use uwf_engine::{ListFilter, Site, StepsEntry, ThreadItem};
use uwf_storage::{Env, Root};

use crate::args::{Cli, Shell, furnished, whole};

/// The variable with which a shell asks for completions. Its value is the name of the shell.
const VARIABLE: &str = "UWF_COMPLETE";
/// How many threads are proposed: the newest ones.
const MOST_THREADS: usize = 100;

/// The root that the typed line names, with its store. The library calls the functions below without anything of ours.
static SITE: OnceLock<Site> = OnceLock::new();

/// Answers a shell that asks for completions, and ends the process. Returns if nobody asks.
pub(crate) fn answer(line: &[OsString], env: &Env) {
    if env.var_os(VARIABLE).is_some() {
        if let Some(site) = site_of(line, env) {
            let _ = SITE.set(site);
        }
        let tree = || furnished(whole::<Cli>(), "");
        CompleteEnv::with_factory(tree)
            .var(VARIABLE)
            .bin("uwf")
            .complete();
    }
}

fn site() -> Option<&'static Site> {
    SITE.get()
}

/// Returns the root that a line names, with its store.
fn site_of(line: &[OsString], env: &Env) -> Option<Site> {
    let attached = line
        .iter()
        .find_map(|word| word.to_str()?.strip_prefix("--root="));
    let separate = line.windows(2).find(|pair| pair[0] == "--root");
    let flag = attached
        .map(Path::new)
        .or(separate.map(|pair| Path::new(&pair[1])));
    let root = Root::resolve(flag, env).ok()?;
    let store = Store::open(root.cas_dir(env));
    Some(Site {
        env: env.clone(),
        root,
        store,
    })
}

/// Writes the script that makes a shell ask this program.
pub(crate) fn script(shell: Shell) -> io::Result<String> {
    let completer: &dyn EnvCompleter = match shell {
        Shell::Bash => &Bash,
        Shell::Zsh => &Zsh,
        Shell::Fish => &Fish,
    };
    let mut script = Vec::new();
    completer.write_registration(VARIABLE, "uwf", "uwf", "uwf", &mut script)?;
    String::from_utf8(script).map_err(io::Error::other)
}

/// Gives an argument the completions of its kind, which its name tells.
pub(crate) fn of_values(arg: Arg) -> Arg {
    let complete: fn(&OsStr) -> Vec<CompletionCandidate> = match arg.get_id().as_str() {
        "thread" | "threads" => threads,
        "step" | "hash" | "hashes" | "before_step" => nodes,
        "workflow" | "other_workflow" => workflows,
        "key" => keys,
        "agent" => agents,
        "role" | "from_role" => roles,
        _ => return arg,
    };
    arg.add(ArgValueCompleter::new(complete))
}

fn newest_threads(site: &Site) -> Vec<ThreadItem> {
    let filter = ListFilter {
        all: true,
        take: Some(MOST_THREADS),
        ..ListFilter::default()
    };
    uwf_engine::list(site, &filter).map_or_else(|_| Vec::new(), |listed| listed.threads)
}

/// Proposes threads: by their names, and by their ids.
fn threads(typed: &OsStr) -> Vec<CompletionCandidate> {
    let (Some(site), Some(typed)) = (site(), typed.to_str()) else {
        return Vec::new();
    };
    let prefix = typed.to_ascii_uppercase();
    let mut found = Vec::new();
    for item in newest_threads(site) {
        let workflow = item.workflow_name.as_deref().unwrap_or_default();
        let about = format!("{} {workflow}", item.status.as_str());
        let name = item.name.as_ref().map(ToString::to_string);
        let name = name.filter(|name| name.starts_with(typed));
        let id = Some(item.thread.as_str()).filter(|id| id.starts_with(&prefix));
        let words = name.into_iter().chain(id.map(str::to_owned));
        let candidate = |word| CompletionCandidate::new(word).help(Some(about.clone().into()));
        found.extend(words.map(candidate));
    }
    found
}

/// Proposes threads, whose heads can be named by them, and after `<thread>/` the roles that have steps there.
fn nodes(typed: &OsStr) -> Vec<CompletionCandidate> {
    let place = typed.to_str().and_then(|text| text.split_once('/'));
    match (place, site()) {
        (Some((thread, role)), Some(site)) => {
            let roles = roles_of_thread(site, thread).unwrap_or_default();
            starting_with(role, roles, &format!("{thread}/"))
        }
        _ => threads(typed),
    }
}

fn roles_of_thread(site: &Site, thread: &str) -> Option<BTreeSet<String>> {
    let thread = uwf_engine::find_thread(site, thread).ok()?;
    let view = uwf_engine::steps(site, thread).ok()?;
    let role = |entry: StepsEntry| match entry {
        StepsEntry::Start(_) => None,
        StepsEntry::Step(step) => Some(step.role.to_string()),
    };
    Some(view.steps.into_iter().filter_map(role).collect())
}

/// Proposes the roles of all registered workflows.
fn roles(typed: &OsStr) -> Vec<CompletionCandidate> {
    let Some(site) = site() else {
        return Vec::new();
    };
    let listed = uwf_engine::list_workflows(site).unwrap_or_default();
    let nodes = listed
        .iter()
        .filter_map(|item| site.store.get(item.hash?).ok());
    let of_node = |node: Node| -> Vec<String> {
        let roles = node.payload.get("roles").and_then(Value::as_object);
        roles.into_iter().flat_map(Map::keys).cloned().collect()
    };
    proposed(typed, nodes.flat_map(of_node).collect())
}

/// Proposes the workflows of the folder and of the registry, and files.
fn workflows(typed: &OsStr) -> Vec<CompletionCandidate> {
    let listed = site().and_then(|site| uwf_engine::list_workflows(site).ok());
    let names = listed.into_iter().flatten().map(|item| item.name);
    let mut found = proposed(typed, names.collect());
    found.extend(PathCompleter::file().complete(typed));
    found
}

/// Proposes keys of the config, up to the part that a user names.
fn keys(typed: &OsStr) -> Vec<CompletionCandidate> {
    let fixed = |key: String| key.split('<').next().unwrap_or_default().to_owned();
    proposed(typed, uwf_config::keys().into_iter().map(fixed).collect())
}

/// Proposes the agents that are configured, and those that are built in.
fn agents(typed: &OsStr) -> Vec<CompletionCandidate> {
    let config = site().and_then(|site| uwf_config::load(&site.root).ok().flatten());
    let configured = config
        .into_iter()
        .flat_map(|config| config.agents.into_keys());
    let built_in = uwf_agents::BUILT_IN.iter().map(|name| (*name).to_owned());
    proposed(
        typed,
        configured
            .map(|alias| alias.to_string())
            .chain(built_in)
            .collect(),
    )
}

fn proposed(typed: &OsStr, known: BTreeSet<String>) -> Vec<CompletionCandidate> {
    typed
        .to_str()
        .map_or_else(Vec::new, |typed| starting_with(typed, known, ""))
}

/// Returns what begins as it was typed, each with what stands before it on the line.
fn starting_with(typed: &str, known: BTreeSet<String>, before: &str) -> Vec<CompletionCandidate> {
    let matching = known.into_iter().filter(|name| name.starts_with(typed));
    matching
        .map(|name| CompletionCandidate::new(format!("{before}{name}")))
        .collect()
}
