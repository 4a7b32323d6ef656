//! `uwf remote`, `uwf push` and `uwf fetch`: threads that several machines work on, and workflows that they share by name.

mod add;
mod beginning;
mod care;
mod kind;

use uwf_engine::{
    EngineError, FamilyFetch, Fetched, FetchedName, NameError, Pushed, Relabelled, SharingError,
    Site, ensure_records, fetch_name, has_remote, is_registered, push, push_name, remote_name,
    remote_names, remote_threads, threads_of, threads_of_others, threads_of_remotes,
    topmost_shared,
};
use uwf_protocol::config::RemoteConfig;
use uwf_protocol::exit::Exit;
use uwf_protocol::ids::ThreadId;
use uwf_remote::care::Cared;
use uwf_remote::{Hello, Query, Remote, RemoteError};
use uwf_util::shell_words;
use uwf_util::text::counted;

use self::add::{add, warn_of_others};
use self::beginning::beginning;
use self::kind::connection;
use crate::args::{FetchArgs, PushArgs, RemoteCommand};
use crate::commands::{Context, orchestrate};
use crate::failure::{Failure, warn};
use crate::output::print;
use crate::text::{FetchedView, PushedView, RemoteView, Shared, Wanted};

pub(crate) use self::kind::{check_schema, check_url};

/// How many digits of the id of a thread name it at the remote at least: fewer may be a name that was mistyped.
const LEAST_OF_ID: usize = 4;

/// Returns the remote that the config of a root names. Nothing is sent yet.
pub(crate) fn open(site: &Site) -> Result<Box<dyn Remote + Send>, EngineError> {
    Ok(configured(site)?)
}

fn configured(site: &Site) -> Result<Box<dyn Cared + Send>, EngineError> {
    connection(site, &remote_config(site)?)
}

fn remote_config(site: &Site) -> Result<RemoteConfig, EngineError> {
    Ok(uwf_config::load(&site.root)?.unwrap_or_default().remote)
}

/// Returns the place of the remote that the config names.
pub(crate) fn place(site: &Site) -> Result<Option<String>, EngineError> {
    Ok(remote_config(site)?.place())
}

pub(crate) fn run(context: &Context, command: RemoteCommand) -> Result<Exit, Failure> {
    match command {
        RemoteCommand::Add(args) => add(context, args),
        RemoteCommand::Status => status(context),
        RemoteCommand::Migrate => care::migrate(context),
        RemoteCommand::Verify(args) => care::verify(context, &args),
        RemoteCommand::Gc(args) => care::gc(context, &args),
        RemoteCommand::Release(args) => care::release(context, &args),
        RemoteCommand::Roles => care::roles(context),
    }
}

/// Asks the remote what it is. Returns also whether an older version of this program made it.
pub(crate) fn greet(site: &Site) -> Result<(Hello, bool), EngineError> {
    let mut remote = configured(site)?;
    let hello = answer(remote.hello())?;
    let is_old = remote.is_older(&hello);
    Ok((hello, is_old))
}

/// Returns what a remote has answered.
pub(super) fn answer<T>(answer: Result<T, RemoteError>) -> Result<T, EngineError> {
    Ok(answer.map_err(SharingError::from)?)
}

fn status(context: &Context) -> Result<Exit, Failure> {
    let site = context.site();
    let config = remote_config(site)?;
    let mut remote = connection(site, &config).map_err(|error| with_ids(site, error))?;
    let hello = answer(remote.hello()).map_err(|error| with_ids(site, error))?;
    warn_of_others(&threads_of_others(site, &hello.store)?);
    let kept = answer(remote.statistics())?;
    let threads = match kept {
        Some(_) => None,
        // It can only list them.
        None => Some(remote_threads(remote.as_mut(), &Query::default())?.len()),
    };
    let config = RemoteConfig {
        schema: remote.schema().map(str::to_owned),
        ..config
    };
    print(
        &RemoteView::new(config, hello.store, kept.as_ref(), threads),
        context.format,
    )?;
    Ok(Exit::Done)
}

/// Returns the failure of a question what the remote is. It names the remotes that share threads here: one of them may be lost.
fn with_ids(site: &Site, error: EngineError) -> Failure {
    let known = threads_of_remotes(site).unwrap_or_default();
    let each = known.iter().map(|(id, threads)| {
        let threads = counted(threads.len(), "thread");
        format!("the remote with the id `{id}` shares {threads} here")
    });
    let note = each.collect::<Vec<_>>().join("; ");
    Failure {
        note: (!note.is_empty()).then(|| note.into()),
        ..error.into()
    }
}

pub(crate) fn push_threads(context: &Context, args: &PushArgs) -> Result<Exit, Failure> {
    let threads = args.threads.iter();
    let threads = threads.map(|thread| here_or_workflow(context, thread));
    let mut threads: Vec<ThreadId> = threads.collect::<Result<_, _>>()?;
    let (site, mut remote) = (context.site(), open(context.site())?);
    ensure_records(site, remote.as_mut())?;
    if args.all {
        let store = answer(remote.hello())?.store;
        warn_of_others(&threads_of_others(site, &store)?);
        threads = topmost_shared(site, &store)?;
    }
    let names = each(
        args.workflows.iter().collect(),
        |name| the_name(name),
        |name| {
            let pushed = push_name(site, remote.as_mut(), name, args.force)?;
            Ok(Shared::Name(pushed))
        },
    );
    let label = args.new_label();
    let mut pushed = Vec::new();
    let (_, exit) = each(threads, the_thread, |thread| {
        push(&context.runner, remote.as_mut(), thread, label, &mut pushed)
    });
    let (_, of_labels) = each(
        pushed.iter().collect(),
        |one| the_thread(&one.thread),
        label_as_asked,
    );
    let threads = pushed.into_iter().map(Shared::Thread).collect();
    let threads = together((threads, exit), (Vec::new(), of_labels));
    let (pushed, exit) = together(names, threads);
    if !pushed.is_empty() {
        let are_all = args.all;
        print(&PushedView { pushed, are_all }, context.format)?;
    }
    Ok(exit)
}

/// Returns the thread that a user names. If there is none, and a workflow has that name, the failure says what shares the workflow.
fn here_or_workflow(context: &Context, name: &str) -> Result<ThreadId, Failure> {
    let found = orchestrate::thread_or_run(context, name);
    found.map_err(|failure| match is_registered(context.site(), name) {
        Ok(true) => failure.hint(format!(
            "`{name}` is a workflow: `uwf push --workflow {}` shares it; `uwf thread list --all` shows every thread here",
            shell_words::quote(name)
        )),
        Ok(false) | Err(_) => failure,
    })
}

/// Fails if the label of a thread that was pushed was to change, and could not.
fn label_as_asked(pushed: &Pushed) -> Result<(), EngineError> {
    match pushed.relabelled.clone() {
        Some(Relabelled::Denied(why)) => {
            let thread = pushed.thread;
            Err(SharingError::LabelDenied { thread, why }.into())
        }
        Some(Relabelled::Set | Relabelled::Removed) | None => Ok(()),
    }
}

pub(crate) fn fetch_threads(context: &Context, args: &FetchArgs) -> Result<Exit, Failure> {
    let site = context.site();
    let mut remote = open(site)?;
    // If it cannot be reached, that is said once, and not for each thread.
    let store = answer(remote.hello())?.store;
    ensure_records(site, remote.as_mut())?;
    let are_names = wanted(args) == Wanted::Names;
    let threads = match (args.all, args.threads.as_slice()) {
        (true, _) => {
            let listed = remote_threads(remote.as_mut(), &Query::default())?;
            listed.into_iter().map(|one| one.thread).collect()
        }
        (false, []) if are_names => Vec::new(),
        (false, []) => {
            warn_of_others(&threads_of_others(site, &store)?);
            threads_of(site, &store)?
        }
        (false, named) => {
            let mut threads = Vec::with_capacity(named.len());
            for text in named {
                threads.push(here_or_there(context, remote.as_mut(), text)?);
            }
            threads
        }
    };
    let names = fetch_names(site, remote.as_mut(), args)?;
    let mut family = FamilyFetch::default();
    let named = match args.threads.is_empty() {
        true => Vec::new(),
        false => threads.clone(),
    };
    let (_, mut exit) = each(threads, the_thread, |thread| match args.all {
        true => family.fetch_alone(site, remote.as_mut(), thread),
        false => family.fetch(site, remote.as_mut(), thread),
    });
    for thread in family.ended_in_two_ways {
        warn(&format!(
            "thread `{thread}` has ended here and, in another way, at the remote: `uwf thread show {thread}` shows how it ended here; what other machines did in it does not count here"
        ));
        if exit == Exit::Done && named.contains(&thread) {
            exit = Exit::Request;
        }
    }
    let fetched = family.fetched;
    let is_held_up = fetched.iter().any(|one| one.outcome.is_held_up());
    let fetched = fetched.into_iter().map(Shared::Thread);
    let (fetched, exit) = together(names, (fetched.collect(), exit));
    if exit == Exit::Done || !fetched.is_empty() {
        let wanted = wanted(args);
        print(&FetchedView { fetched, wanted }, context.format)?;
    }
    Ok(match exit {
        Exit::Done if is_held_up => Exit::Busy,
        exit => exit,
    })
}

fn wanted(args: &FetchArgs) -> Wanted {
    let are_names = args.workflows || !args.names.is_empty();
    match (are_names, args.all, args.threads.is_empty()) {
        (true, _, _) => Wanted::Names,
        (false, true, _) => Wanted::AllThreads,
        (false, false, true) => Wanted::SharedThreads,
        (false, false, false) => Wanted::NamedThreads,
    }
}

/// Brings the names that are asked for.
fn fetch_names(
    site: &Site,
    remote: &mut dyn Remote,
    args: &FetchArgs,
) -> Result<(Vec<Shared<Fetched, FetchedName>>, Exit), Failure> {
    if args.workflows {
        let all = remote_names(remote)?;
        return Ok(each(
            all,
            |one| the_name(&one.name),
            |name| {
                let fetched = fetch_name(site, remote, &name, args.force)?;
                Ok(Shared::Name(fetched))
            },
        ));
    }
    Ok(each(
        args.names.iter().collect(),
        |name| the_name(name),
        |name| {
            let there = remote_name(remote, name)?;
            let fetched = fetch_name(site, remote, &there, args.force)?;
            Ok(Shared::Name(fetched))
        },
    ))
}

/// Returns the failure of a call that did not find a workflow here. The remote is not asked for it.
pub(crate) fn may_be_there(site: &Site, error: EngineError) -> Failure {
    let command = match &error {
        EngineError::UnknownWorkflow { name, .. } if has_remote(&site.root) => {
            Some(format!("uwf fetch --workflow {}", shell_words::quote(name)))
        }
        _ => None,
    };
    let failure = Failure::from(error);
    let Some(command) = command else {
        return failure;
    };
    let hint = failure.hint.clone().unwrap_or_default();
    failure.hint(format!(
        "{hint}; `{command}` brings it if the remote has it"
    ))
}

/// Returns the thread that a user names. One that is not here has no short name but the beginning of its id.
fn here_or_there(
    context: &Context,
    remote: &mut dyn Remote,
    text: &str,
) -> Result<ThreadId, Failure> {
    if let Ok(thread) = text.parse() {
        return Ok(thread);
    }
    let found = uwf_engine::find_thread(context.site(), text);
    let is_unknown = matches!(found, Err(NameError::NoThread(_)));
    let unknown = match orchestrate::thread_or_run(context, text) {
        Err(unknown) if is_unknown => unknown,
        found => return found,
    };
    let begin = text.to_ascii_uppercase();
    let may_be_id = begin.len() >= LEAST_OF_ID && begin.chars().all(|c| c.is_ascii_alphanumeric());
    if !may_be_id {
        return Err(unknown);
    }
    match beginning(remote, &begin)?.as_slice() {
        [] => Err(unknown.hint(
            "no thread at the remote begins so either; `uwf thread list --remote --all` shows them",
        )),
        [thread] => Ok(*thread),
        several => Err(Failure {
            causes: several.iter().map(|one| format!("`{one}`")).collect(),
            ..Failure::request(format!(
                "`{text}` is the beginning of several threads at the remote"
            ))
        }
        .hint("type more of it")),
    }
}

fn the_thread(thread: &ThreadId) -> String {
    format!("thread `{thread}`")
}

fn the_name(name: &str) -> String {
    format!("workflow `{name}`")
}

/// Does something with each thread or name. A failure says which of them it is about, and does not keep the others from being tried. The
/// first one decides the exit code.
fn each<I, T>(
    items: Vec<I>,
    about: impl Fn(&I) -> String,
    mut work: impl FnMut(I) -> Result<T, EngineError>,
) -> (Vec<T>, Exit) {
    let (mut done, mut first) = (Vec::new(), Exit::Done);
    for item in items {
        let about = about(&item);
        match work(item).map_err(Failure::from) {
            Ok(one) => done.push(one),
            Err(mut failure) => {
                if !failure.what.contains(&about) {
                    failure.what = format!("{about}: {}", failure.what);
                }
                failure.print();
                if first == Exit::Done {
                    first = failure.exit;
                }
            }
        }
    }
    (done, first)
}

/// Joins what was done. The first failure decides the exit code.
fn together<T>(one: (Vec<T>, Exit), other: (Vec<T>, Exit)) -> (Vec<T>, Exit) {
    let exit = match one.1 {
        Exit::Done => other.1,
        failed => failed,
    };
    (one.0.into_iter().chain(other.0).collect(), exit)
}
