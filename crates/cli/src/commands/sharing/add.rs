//! `uwf remote add`: chooses the remote that the config names, and makes it if there is none.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use uwf_config::Change;
use uwf_engine::{
    EngineError, Replaced, SharingError, Site, are_unasked, may_change, replace_remote,
    restore_records, threads_of_others, threads_of_remotes, unasked,
};
use uwf_protocol::config::RemoteConfig;
use uwf_protocol::exit::Exit;
use uwf_protocol::ids::ThreadId;
use uwf_remote::{Remote, RemoteError};
use uwf_storage::State;
use uwf_util::text::counted;

use super::kind::{connection, is_object_storage};
use super::{answer, configured, remote_config};
use crate::args::RemoteAddArgs;
use crate::commands::Context;
use crate::failure::{Failure, warn};
use crate::output::print;
use crate::text::AddedRemoteView;

pub(super) fn add(context: &Context, args: RemoteAddArgs) -> Result<Exit, Failure> {
    let site = context.site();
    site.create()?;
    let known = remote_config(site)?;
    let had_schema = known.schema.is_some();
    let config = RemoteConfig {
        url: Some(args.url.clone()),
        schema: args.schema.clone(),
        lease: known.lease.clone(),
    };
    if args.schema.is_some() && is_object_storage(&args.url) {
        return Err(Failure::usage(
            "an object storage has no schemas; a prefix in the address keeps teams apart, such as `s3://bucket/team-a`",
        ));
    }
    let mut remote = connection(site, &config)?;
    let place = config.place().unwrap_or_default();
    if let Some(lost) = &args.replaces {
        refuse_living(site, lost)?;
    }
    if known.place().is_some_and(|known| known != place) {
        match (ask_known(site, args.replaces.as_deref()), &args.replaces) {
            (Err(error), Some(_)) if is_gone(&error) => warn(&format!(
                "the remote that the config names could not be asked which threads here it shares: {error}"
            )),
            (asked, _) => asked.map_err(not_asked)?,
        }
    }
    let made = matches!(remote.hello(), Err(RemoteError::NotMade));
    let hello = answer(remote.make())?;
    if args.replaces.as_ref() == Some(&hello.store) {
        return Err(not_lost(&hello.store));
    }
    let call_ms = time_of_call(remote.as_mut())?;
    let only_reads = !may_change(site, remote.as_mut())?;
    restore_records(site, remote.as_mut(), &place, args.replaces.as_deref())?;
    choose(site, &args, had_schema)?;
    // The records come last, so a call that dies before can be repeated.
    let replaced = match &args.replaces {
        Some(lost) => replace_remote(site, lost, &hello.store)?,
        None => Replaced::default(),
    };
    warn_of_others(&threads_of_others(site, &hello.store)?);
    warn_of_presumed(&replaced.presumed);
    let view = AddedRemoteView {
        made,
        url: args.url,
        schema: remote.schema().map(str::to_owned),
        store: hello.store,
        call_ms,
        only_reads,
        replaced: replaced.shared,
        presumed: replaced.presumed,
    };
    print(&view, context.format)?;
    Ok(Exit::Done)
}

/// Writes the address into the config, and the schema, which goes if the call names none.
fn choose(site: &Site, args: &RemoteAddArgs, had_schema: bool) -> Result<(), EngineError> {
    let schema = ["remote", "schema"];
    let mut changes = vec![Change::set(&["remote", "url"], args.url.as_str())];
    match &args.schema {
        Some(name) => changes.push(Change::set(&schema, name.as_str())),
        None if had_schema => changes.push(Change::unset(&schema)),
        None => {}
    }
    Ok(uwf_config::change(&site.root, &changes, &[])?)
}

/// Asks the remote that the config still names which threads here it shares, if that was not done. Nobody does it later. `lost` is the id
/// of the remote that is replaced.
fn ask_known(site: &Site, lost: Option<&str>) -> Result<(), EngineError> {
    match unasked(site)? {
        Some(place) if !State::new(&site.root).threads()?.places.is_empty() => {
            restore_records(site, configured(site)?.as_mut(), &place, lost)
        }
        _ => Ok(()),
    }
}

/// Tells whether an error is that of a remote that may be gone for good.
fn is_gone(error: &EngineError) -> bool {
    let EngineError::Sharing(problem) = error else {
        return false;
    };
    matches!(
        **problem,
        SharingError::Remote(
            RemoteError::Away(_)
                | RemoteError::NotMade
                | RemoteError::NoDatabase(_)
                | RemoteError::NoBucket
        )
    )
}

/// Returns the failure of a call that could not ask the remote that the config names.
fn not_asked(error: EngineError) -> Failure {
    let failed = Failure::from(error);
    let mut failure = Failure::request(
        "it is not known which threads here are shared by the remote that the config still names",
    );
    failure.exit = failed.exit;
    failure.causes = [vec![failed.what], failed.causes].concat();
    failure.hint(
        "run the same command again when that remote can be reached; if it is lost for good, the same command with `--replaces <id>` takes its place: `uwf remote status` on a machine that shares threads by it names the id; if it never shared a thread that is here, `uwf config unset remote.url` forgets it",
    )
}

/// Fails if the remote with this id shares no thread here, or if the config names it and it answers: then it is not lost. A root that was
/// restored may lack the records of what it shares, so there the word of the person counts.
fn refuse_living(site: &Site, lost: &str) -> Result<(), Failure> {
    let is_named = threads_of_remotes(site)?.contains_key(lost);
    if !is_named && are_unasked(site)? {
        warn(&format!(
            "no record here names a remote with the id `{lost}`, and no remote was asked yet which threads here it shares, so all active threads without a record may be shared by that one: `uwf remote status` on another machine shows whether the id is right"
        ));
    } else if !is_named {
        return Err(Failure::request(format!(
            "no thread here is shared by a remote with the id `{lost}`"
        ))
        .hint("an earlier call may have replaced it; `uwf remote status` names the ids of the remotes that share threads here; if this root was restored, `uwf fetch --all` brings what other machines have sent to the present one, before you do a step"));
    }
    let answer = configured(site).and_then(|mut remote| answer(remote.hello()));
    match answer {
        Ok(hello) if hello.store == lost => Err(not_lost(lost)),
        Ok(_) | Err(_) => Ok(()),
    }
}

fn not_lost(id: &str) -> Failure {
    Failure::request(format!(
        "the remote with the id `{id}` is not lost: it answers"
    ))
    .hint("its threads would have two remotes, and be paid for twice; stop it before another one takes its place")
}

/// Says how many threads here other remotes share.
pub(super) fn warn_of_others(others: &BTreeMap<String, Vec<ThreadId>>) {
    let Some(first) = others.keys().next() else {
        return;
    };
    let threads: BTreeSet<ThreadId> = others.values().flatten().copied().collect();
    let threads = threads.len();
    let ids: Vec<&str> = others.keys().map(String::as_str).collect();
    let (are, remotes) = (
        if threads == 1 { "is" } else { "are" },
        match ids.len() {
            1 => "another remote",
            _ => "other remotes",
        },
    );
    warn(&format!(
        "{} here {are} shared by {remotes} ({}), and {are} not stepped while the config names the present one; `uwf remote add <address>` with the address of that remote chooses it again, and if it is lost for good, `uwf remote add <address> --replaces {first}` with the address of the present one takes its place",
        counted(threads, "thread"),
        ids.join(", "),
    ));
}

/// Names the threads that count as shared, although it is not known whether the lost remote shared them.
fn warn_of_presumed(threads: &[ThreadId]) {
    let Some(first) = threads.first() else { return };
    warn(&format!(
        "it is not known whether the lost remote shared {} more that {} here, because this root was restored or threads were imported: they count as shared, and are not stepped before they are at the remote; `uwf push --all` sends them, best on the machine that has their newest steps, and `uwf thread fork {first}` makes a thread that is only here",
        counted(threads.len(), "thread"),
        match threads.len() {
            1 => "is",
            _ => "are",
        },
    ));
}

/// Returns how long the remote takes for a short call, in milliseconds. The remote has answered before, so the connection is there.
fn time_of_call(remote: &mut dyn Remote) -> Result<f64, EngineError> {
    let started = Instant::now();
    answer(remote.hello())?;
    Ok((started.elapsed().as_secs_f64() * 10_000.0).round() / 10.0)
}
