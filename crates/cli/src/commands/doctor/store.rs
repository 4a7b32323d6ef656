//! Checks the store: whether its nodes have their hashes, and whether all needed nodes can be read.

use std::io::ErrorKind;

use uwf_cas_fs::Verdict;
use uwf_engine::{EngineError, Site};
use uwf_protocol::ids::CasRef;

use crate::text::Check;

const NAME: &str = "store";

/// How many nodes are verified without `--all`.
const SAMPLE: usize = 500;

const HINT: &str = "`uwf cas repair --dry-run` names all, and what needs them; `uwf cas repair --from <copy>` brings them back";
const READABLE: &str = "change its owner or mode, so that you can read it";

/// How many bad nodes are named.
const NAMED: usize = 3;

pub(super) fn look(site: &Site, all: bool) -> Check {
    let dir = site.store.dir();
    match dir.metadata() {
        Ok(found) if found.is_dir() => {}
        Ok(_) => {
            let problem = format!("{} is not a folder", dir.display());
            return Check::error(NAME, problem, "OCAS_DIR names another place for the store");
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Check::ok(NAME, format!("{} is not there yet", dir.display()));
        }
        Err(error) => {
            let problem = format!("{} cannot be read: {error}", dir.display());
            return Check::error(NAME, problem, READABLE);
        }
    }
    look_into(site, all).unwrap_or_else(|error| Check::error(NAME, error.to_string(), READABLE))
}

fn look_into(site: &Site, all: bool) -> Result<Check, EngineError> {
    // A node that a collector removes during the check would look like a missing one.
    let _hold = site.store.hold_to_read().ok();
    let nodes = site.store.all()?;
    let total = nodes.len();
    let chosen = if all {
        nodes
    } else {
        sample(&nodes, site.env.random().unwrap_or_default())
    };
    let verified = site.store.verify(&chosen)?;
    let bad = verified.iter().filter(|node| node.verdict != Verdict::Ok);
    let bad: Vec<String> = bad.map(|node| node.hash.to_string()).collect();
    let looked = format!("{} of {total} nodes verified", chosen.len());
    let broken = uwf_engine::broken(site)?;
    if let Some(first) = broken.first() {
        return Ok(Check::error(
            NAME,
            format!(
                "{looked}; {} {} needed and cannot be read, the first is `{}`: it {}, and {} needs it",
                broken.len(),
                if broken.len() == 1 {
                    "node is"
                } else {
                    "nodes are"
                },
                first.hash,
                first.problem,
                first.needed_by
            ),
            HINT,
        ));
    }
    if bad.is_empty() {
        return Ok(Check::ok(NAME, looked));
    }
    let named = bad
        .iter()
        .take(NAMED)
        .map(String::as_str)
        .collect::<Vec<_>>()
        .join(", ");
    Ok(Check::error(
        NAME,
        format!("{looked}, {} of them damaged: {named}", bad.len()),
        HINT,
    ))
}

/// Returns nodes evenly spread over all. The first one is random, so that repeated calls check different nodes.
fn sample(nodes: &[CasRef], random: u128) -> Vec<CasRef> {
    let step = nodes.len().div_ceil(SAMPLE).max(1);
    let first = usize::try_from(random % step as u128).unwrap_or(0);
    nodes.iter().skip(first).step_by(step).copied().collect()
}
