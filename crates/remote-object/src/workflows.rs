//! Names of workflows. Each name is one small object, which changes by compare-and-set. Each change makes the version larger, so
//! the object never has the same content twice. A writer without an answer reads the object, which tells whether the change was
//! made.

use serde::{Deserialize, Serialize};
use uwf_protocol::ids::CasRef;
use uwf_remote::{Named, RemoteError, SharedName};

use crate::change::{Change, change_object};
use crate::{Object, names, nodes};

/// What is stored about a name.
#[derive(Serialize, Deserialize)]
struct Stored {
    name: String,
    hash: CasRef,
    version: u64,
    earlier: Vec<CasRef>,
}

/// Lets a name stand for a node.
pub(crate) fn set(
    remote: &mut Object,
    name: &str,
    known: u64,
    to: CasRef,
) -> Result<Named, RemoteError> {
    let (bucket, present) = (&remote.bucket, &mut remote.present);
    change_object(bucket, &names::workflow(name), |content, is_lost| {
        let stored = content.map(read).transpose()?;
        if stored.as_ref().is_some_and(|one| one.was_set(known, to)) {
            return Ok(Change::Leave(match is_lost {
                true => Named::Done,
                false => Named::Already,
            }));
        }
        if !nodes::missing(bucket, present, &[to])?.is_empty() {
            return Ok(Change::Leave(Named::Lacking));
        }
        let next = match stored {
            Some(stored) if stored.version != known => {
                return Ok(Change::Leave(Named::StandsFor(stored)));
            }
            stored => after(stored, name, to),
        };
        Ok(Change::Store(written(next)?, Named::Done))
    })
}

/// Returns the names after one of them, in the order of their bytes.
pub(crate) fn list(
    remote: &Object,
    after: Option<&str>,
    at_most: usize,
) -> Result<Vec<SharedName>, RemoteError> {
    let after = after.map(names::workflow);
    let listed = remote.bucket.list(names::WORKFLOWS)?;
    let objects = listed
        .iter()
        .map(|name| format!("{}/{name}", names::WORKFLOWS));
    let mut objects: Vec<String> = objects
        .filter(|object| after.as_ref().is_none_or(|after| object > after))
        .collect();
    objects.sort_unstable();
    objects.truncate(at_most);
    let found = remote.bucket.get_each(&objects)?;
    let found = found.into_iter().flatten();
    found.map(|found| read(&found.content)).collect()
}

/// Returns a name as it is after it was set to a node.
fn after(stored: Option<SharedName>, name: &str, to: CasRef) -> SharedName {
    let (version, earlier) = match stored {
        Some(mut stored) => {
            stored.earlier.push(stored.hash);
            (stored.version + 1, stored.earlier)
        }
        None => (1, Vec::new()),
    };
    SharedName {
        name: name.to_owned(),
        hash: to,
        version,
        earlier,
    }
}

fn read(content: &[u8]) -> Result<SharedName, RemoteError> {
    let stored: Stored = serde_json::from_slice(content)
        .map_err(|problem| RemoteError::Broken(format!("a name cannot be read: {problem}")))?;
    Ok(SharedName {
        name: stored.name,
        hash: stored.hash,
        version: stored.version,
        earlier: stored.earlier,
    })
}

fn written(name: SharedName) -> Result<Vec<u8>, RemoteError> {
    let stored = Stored {
        name: name.name,
        hash: name.hash,
        version: name.version,
        earlier: name.earlier,
    };
    serde_json::to_vec(&stored).map_err(|problem| RemoteError::Broken(problem.to_string()))
}
