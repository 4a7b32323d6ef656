//! The picture of a run that a person ended.

use std::path::Path;

use uwf_pipeline::state::RunStatus;
use uwf_protocol::ids::ThreadId;
use uwf_storage::Located;

use super::open::show;
use super::picture::{Picture, cancelled};
use crate::pipelines::chain;
use crate::pipelines::folder::run_root;
use crate::pipelines::secrets::masks;
use crate::thread::find;
use crate::{EngineError, Runner};

/// Shows that a person ended the run, unless the thread is no run, or the process that worked on it has shown it.
pub(crate) fn show_cancelled(runner: &Runner, id: ThreadId) -> Result<(), EngineError> {
    let site = &runner.site;
    let Located::Archived(record) = find(site, id)? else {
        return Ok(());
    };
    if !chain::is_run(&site.store, record.head)? {
        return Ok(());
    }
    let run = site.root.run(id);
    // A process that still works on the run shows its end itself.
    let Some(_lock) = run.lease.acquire_if_free()? else {
        return Ok(());
    };
    let opened = chain::open(&site.store, (id, record.head))?;
    let begun = opened.begun();
    let run_id = chain::id_of(&begun.run, id);
    let cwd = begun.start.cwd.clone().unwrap_or_default();
    let root = run_root(Path::new(&cwd), &begun.run.state_dir, &run_id);
    if !root.path().is_dir() {
        return Ok(());
    }
    let masks = masks(&opened, None, site.env.variables());
    let run_node = begun.run.clone();
    let of_run = (id, run_id.as_str(), &run_node);
    let checksum = opened.checksum();
    let mut picture = Picture::new(&site.env, &root, &masks, of_run, &checksum, record.head);
    let chain = opened.fold(&site.store, id, &mut |seen| {
        show(&site.store, &mut picture, seen)
    })?;
    picture.write_durably(&chain.course, RunStatus::Failed, Some(cancelled()))
}
