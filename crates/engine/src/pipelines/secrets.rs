//! The secrets of a run: their names are in its pipelines, their values in our environment.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use uwf_pipeline::{Masks, Pipeline};
use uwf_protocol::ids::{CasRef, ThreadId};

use super::chain::{self, Opened};
use crate::Site;

/// Returns the masks for every secret that a pipeline of the run declares, or another one that it may go on under.
pub(crate) fn masks<'e>(
    opened: &Opened,
    other: Option<&Pipeline>,
    ours: impl Iterator<Item = (&'e OsStr, &'e OsStr)>,
) -> Masks {
    let pipelines = opened.pipelines().map(|pipeline| &**pipeline);
    masks_of(pipelines.chain(other), ours)
}

/// Returns the masks for what is shown of the processes of a run: for the secrets of its pipelines, as far as they can be read, and
/// for those that the site knows.
pub(crate) fn process_masks(site: &Site, at: (ThreadId, CasRef)) -> Masks {
    let known = site.secrets_in_output();
    match chain::open(&site.store, at) {
        Ok(opened) => known.and(&masks(&opened, None, site.env.variables())),
        Err(_) => known,
    }
}

/// Returns the masks for every secret that these pipelines declare.
pub(crate) fn masks_of<'p, 'e>(
    pipelines: impl Iterator<Item = &'p Pipeline>,
    ours: impl Iterator<Item = (&'e OsStr, &'e OsStr)>,
) -> Masks {
    let names: Vec<OsString> = pipelines
        .flat_map(Pipeline::all_secrets)
        .map(OsString::from)
        .collect();
    let values = ours.filter(|(name, _)| names.iter().any(|secret| secret == name));
    Masks::of(values.map(|(_, value)| value.as_bytes()))
}
