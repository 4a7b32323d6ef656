//! What to type next after an error about threads that several machines work on.

use uwf_engine::{SharingError, Unfound};
use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_remote::{Distrust, Entry, RemoteError, Right};
use uwf_storage::RemovedThread;
use uwf_util::shell_words;

/// Returns the hint of a call that did not find a thread here. The remote, if there is one, is not asked for it.
pub(crate) fn or_fetch(hint: &str, thread: &Unfound<impl ToString>) -> String {
    match thread.has_remote {
        true => format!(
            "{hint} here; `uwf fetch {}` brings it if the remote has it",
            shell_words::quote(&thread.what.to_string())
        ),
        false => hint.to_owned(),
    }
}

/// Returns what brings a shared thread again that was removed here.
pub(crate) fn again(thread: ThreadId) -> String {
    format!("`uwf fetch {thread}` brings it again if the remote has it")
}

/// Returns what brings a thread again that was removed here. Whether it was shared is not known any more.
pub(crate) fn of_removed(thread: &Unfound<RemovedThread>) -> String {
    let RemovedThread { removed, head, .. } = &thread.what;
    let fork =
        format!("`uwf thread fork {head}` makes a thread of its nodes, unless they were collected");
    match thread.has_remote {
        true => format!("{}; {fork}", again(*removed)),
        false => fork,
    }
}

/// Returns the hint of a call that did not find the name of a thread. Names are not shared.
pub(crate) fn with_remote_list(hint: &str, has_remote: bool) -> String {
    match has_remote {
        true => format!(
            "{hint}; threads and runs have names only on the machine that gave them; `uwf thread list --remote` lists the threads at the remote by their ids"
        ),
        false => hint.to_owned(),
    }
}

/// Returns what the user can do next, unless the error text says it.
pub(crate) fn hint(error: &SharingError) -> Option<String> {
    Some(match error {
        SharingError::NoRemote => {
            "`uwf remote add postgres://<user>@<host>/<database>` chooses one; `uwf remote add --help` shows other kinds".to_owned()
        }
        SharingError::NoRemoteOf(thread) => format!(
            "`uwf remote add <url>` chooses the remote that shares it; `uwf thread fork --thread {thread}` makes a thread that is only here"
        ),
        SharingError::BadRemote(_) => {
            "correct that, then `uwf remote add <url>`; `uwf remote add --help` shows the forms of addresses".to_owned()
        }
        SharingError::Remote(error) => return of_remote(error),
        SharingError::Waits { thread, error } => of_waiting(*thread, error),
        SharingError::Unasked { error, .. } => of_unasked(error),
        SharingError::OtherRemote {
            thread,
            known,
            presumed,
            ..
        } => of_other_remote(*thread, known, *presumed),
        SharingError::Unknown(thread) => format!(
            "`uwf push {thread}` shares it, on a machine that has it; if the remote has lost it, call `uwf push --all` on each machine before one of them does a step"
        ),
        SharingError::OnlyRecord(thread) => of_record(*thread),
        SharingError::Busy { thread, .. } => format!(
            "run the same command again later; `uwf thread list --remote` shows who works on what, and `uwf remote release {thread}` ends the lease of a machine that is gone"
        ),
        SharingError::Diverged { thread, here, .. } => of_diverged(*thread, *here),
        SharingError::Ahead { thread, .. } => {
            format!("`uwf push {thread}` sends what is new here; then run the same command again")
        }
        SharingError::Clash(_) => {
            "`uwf cas verify` checks the nodes here; nothing was changed at the remote".to_owned()
        }
        SharingError::TakenOver(thread) => format!(
            "nothing is lost: `uwf push {thread}` shares what is finished here, or keeps it beside the thread if another machine has gone on; `uwf thread list --remote` shows who works on what"
        ),
        SharingError::IsChild { thread, parent } => format!(
            "`uwf push {parent}` shares both, on a machine that has it; if none has it any more, `uwf thread rm {thread}` forgets this one here"
        ),
        SharingError::HiddenChild { thread, .. } => {
            format!("`uwf thread step {thread}` goes on; when the role is done, `uwf push {thread}` shares it")
        }
        SharingError::UnknownName(name) => format!(
            "`uwf push --workflow {}` shares it, on a machine that has it; `uwf fetch --workflows` brings all names of the remote",
            shell_words::quote(name)
        ),
        SharingError::BadName(_) => return None,
        SharingError::NameDiffers { name, had, .. } => of_name(name, *had),
        SharingError::LabelDenied { .. } => {
            "what is new is at the remote; the owner of its schema calls `uwf remote migrate`, which lets workers change labels; then run the same command again".to_owned()
        }
        SharingError::EndDenied { thread, error } => of_denied_end(*thread, error),
        SharingError::EndNotTold(thread) => format!(
            "`uwf push {thread}` tells them; `uwf thread rm --force {thread}` forgets the thread all the same, and they go on with it"
        ),
        SharingError::OnlyHere { thread, .. } => {
            format!("`uwf thread fork --thread {thread}` makes a thread that is only here")
        }
    })
}

/// Returns what to do about the record of a thread that is nowhere.
fn of_record(thread: ThreadId) -> String {
    format!(
        "`uwf thread rm {thread}` removes the record; `uwf push {thread}` shares the thread again, on a machine that has it"
    )
}

/// Returns what to do about a thread that has gone on in two ways.
fn of_diverged(thread: ThreadId, here: CasRef) -> String {
    format!(
        "`uwf thread fork {here}` goes on from what is here as a thread of its own, which can be pushed; then `uwf thread rm --force {thread}` and `uwf fetch {thread}` bring what the others did"
    )
}

/// Returns what to do about a thread that a user may not end.
fn of_denied_end(thread: ThreadId, error: &RemoteError) -> String {
    let here = format!(
        "`uwf thread rm --force {thread}` only forgets the thread here, and `uwf thread pause {thread}` holds it here"
    );
    match of_remote(error) {
        Some(first) => format!("{first}; {here}"),
        None => here,
    }
}

/// Returns what to do about a thread that another remote shares, or is presumed to share.
fn of_other_remote(thread: ThreadId, known: &str, presumed: bool) -> String {
    let add = "`uwf remote add <address>` with the address of";
    match presumed {
        false => format!(
            "{add} the remote `{known}` chooses it again; if that remote is lost for good, `uwf remote add <address> --replaces {known}` with the address of the present one takes its place, and then `uwf push --all` on each machine sends its threads, before one of them does a step"
        ),
        true => format!(
            "this root was restored, or threads were imported, and the remote `{known}` was not asked since: {add} that remote asks it; if it is lost for good, `uwf remote add <address> --replaces {known}` with the address of the present one takes its place; `uwf fetch {thread}` looks for the thread at the present one, and `uwf thread fork {thread}` makes a thread that is only here"
        ),
    }
}

/// Returns what shares a finished step that waits here because of an error of the remote.
fn of_waiting(thread: ThreadId, error: &RemoteError) -> String {
    let shares = format!(
        "`uwf push {thread}` shares it, as the next step of the thread here does; nothing is paid for again"
    );
    match (of_passing(error, &shares), remedy(error)) {
        (Some(hint), _) => hint,
        // A new remote has another id.
        (None, _) if matches!(error, RemoteError::NotMade) => format!(
            "if the remote comes back from a backup, {shares}; if it is lost for good, `uwf remote add <url>` makes another one and names the command by which that takes its place; `uwf config get remote` shows the address"
        ),
        (None, Some(first)) => format!("{first}; then {shares}"),
        (None, None) => format!("nothing is lost: {shares}"),
    }
}

/// Returns what to do if a root cannot ask the remote which of its threads are shared.
fn of_unasked(error: &RemoteError) -> String {
    let once = "the remote is asked once in a root that is new to it, or was restored; if this root is to share nothing, `uwf config unset remote` forgets the remote";
    match of_remote(error) {
        Some(first) => format!("{first}; {once}"),
        None => once.to_owned(),
    }
}

/// Returns what to do about a name that stands for one workflow here and for another one at the remote.
fn of_name(name: &str, had: bool) -> String {
    let name = shell_words::quote(name);
    let (fetch, stays) = match had {
        true => (format!("uwf fetch --workflow {name}"), ""),
        false => (
            format!("uwf fetch --force --workflow {name}"),
            ", and yours stays in its history",
        ),
    };
    format!(
        "`{fetch}` takes that of the remote{stays}; `uwf push --force --workflow {name}` puts yours in its place"
    )
}

/// Returns what gives a user a right.
fn of_right(right: &Right) -> String {
    match right {
        Right::Role {
            schema,
            only_reads: true,
        } => format!(
            "this user may only read; the owner of the schema says `GRANT {schema}_worker TO <user>` in psql to let it work; on a machine of the owner, `uwf remote roles` prints the SQL that makes this role"
        ),
        Right::Role {
            schema,
            only_reads: false,
        } => format!(
            "the owner of the schema says `GRANT {schema}_worker TO <user>` in psql to let a user work, or `GRANT {schema}_reader` to let it read; on a machine of the owner, `uwf remote roles` prints the SQL that makes these roles, and `uwf remote migrate` adds what an older version of uwf did not allow"
        ),
        Right::Owner => {
            "run it with the address of the owner of the schema, who made the remote; in psql, `\\dn` shows the owners of schemas".to_owned()
        }
        Right::NewSchema => {
            "the owner of the database says `GRANT CREATE ON DATABASE <database> TO <user>` in psql to let a user make a remote in it; if there is one already, its owner lets the user work, as `uwf remote roles` shows".to_owned()
        }
    }
}

/// Returns what lets a user in.
fn of_entry(entry: Entry) -> Option<String> {
    let hint = match entry {
        Entry::Password => {
            "the password is UWF_REMOTE_PASSWORD, in `.env` of the root or in the environment; the user is in the address, and `uwf remote add <url>` names another one"
        }
        Entry::User => {
            "`createuser -h <host> --pwprompt <user>` makes the user, as a user of the server who may; `uwf remote add <url>` names another one"
        }
        Entry::Peer => {
            "the server lets each user of this machine in only under its own name: who cares for the server puts a line such as `local <database> <user> scram-sha-256` before that rule in its `pg_hba.conf`, and the password is UWF_REMOTE_PASSWORD, in `.env` of the root or in the environment; or `uwf remote add postgres://<user>@127.0.0.1/<database>` connects in another way, for which the server may ask for the password already"
        }
        Entry::Rule => {
            "who cares for the server lets the user in by a line in its `pg_hba.conf`, for this machine and this database"
        }
        Entry::Plain => {
            "a connection to a server on this machine is encrypted only if the address says so: `uwf remote add '<url>?sslmode=verify-full'`, or `?sslrootcert=<file>` if the system does not know the authority of the server, with `&` in place of `?` if the address has a `?` already; or who cares for the server lets the user in without, by a line in its `pg_hba.conf`"
        }
        Entry::Keys => {
            "check the keys in `.env` or the environment, and what they may do: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY for `s3:`, with AWS_SESSION_TOKEN if they are valid for a time only, AZURE_STORAGE_ACCOUNT_KEY for `az:`; who reads must be allowed to get and list objects, and a machine that works to put them, too"
        }
    };
    Some(hint.to_owned())
}

/// Makes a certificate that clients accept, which the server has signed itself.
const CERTIFICATE: &str = "openssl req -new -x509 -days 365 -nodes -out server.crt -keyout server.key -subj /CN=<host> -addext subjectAltName=DNS:<host> -addext basicConstraints=critical,CA:FALSE";

/// Returns what makes a connection to a server safe.
fn of_distrust(distrust: Distrust) -> Option<String> {
    let hint = match distrust {
        Distrust::Authority => {
            "`uwf remote add '<url>?sslrootcert=<file>'` names the file of its authority, by an absolute path, or that of the certificate itself if the server has signed it itself; if the address has a `?` already, it is `&sslrootcert=<file>`".to_owned()
        }
        Distrust::Name => format!(
            "use a name of the certificate in the address, or give the server one for its name: `{CERTIFICATE}`, with `IP:<number>` in place of `DNS:<host>` if the address has a number"
        ),
        Distrust::Time => {
            "give the server a new certificate, or set the clock of this machine if that is wrong"
                .to_owned()
        }
        Distrust::Form => format!(
            "`{CERTIFICATE}` makes one for a server (with `-CA ca.crt -CAkey ca.key`, an authority signs it); then `sslrootcert` in the address names that file, or that of the authority"
        ),
        Distrust::NoTls => {
            "who cares for the server turns on `ssl` there, and gives it a certificate".to_owned()
        }
        Distrust::Other => return None,
    };
    Some(hint)
}

/// Returns what to do about an error of the remote, unless the error text says it.
fn of_remote(error: &RemoteError) -> Option<String> {
    const AGAIN: &str = "run the same command again";
    let is_place = matches!(error, RemoteError::NoDatabase(_) | RemoteError::NoBucket);
    match (of_passing(error, AGAIN), remedy(error)) {
        (None, Some(first)) if is_place => Some(format!("{first}; then {AGAIN}")),
        (passing, remedy) => passing.or(remedy),
    }
}

/// Returns what to do about an error that may pass. `again` says what repeats what has failed.
fn of_passing(error: &RemoteError, again: &str) -> Option<String> {
    Some(match error {
        RemoteError::Away(_) => {
            format!("nothing is lost: when the server can be reached, {again}")
        }
        RemoteError::Contended(_) => format!("nothing is lost: {again}"),
        RemoteError::Cancelled(_) => format!(
            "nothing is lost: {again}; if the server gives its calls too little time, `ALTER ROLE <user> SET statement_timeout = '5min'` gives this user more"
        ),
        RemoteError::NotMigrated
        | RemoteError::NoDatabase(_)
        | RemoteError::NoBucket
        | RemoteError::NotMade
        | RemoteError::Denied(..)
        | RemoteError::Refused(_)
        | RemoteError::Unprepared(_)
        | RemoteError::NotLetIn(..)
        | RemoteError::NotSafe(..)
        | RemoteError::TooOld { .. }
        | RemoteError::Broken(_)
        | RemoteError::Unable(_) => return None,
    })
}

/// Returns what removes the cause of an error that does not pass by itself, unless the error text says it.
fn remedy(error: &RemoteError) -> Option<String> {
    Some(match error {
        RemoteError::Away(_) | RemoteError::Contended(_) | RemoteError::Cancelled(_) => {
            return None;
        }
        RemoteError::NotMigrated => {
            "`uwf remote migrate` makes it ready for this version, as the owner of the schema; no thread changes".to_owned()
        }
        RemoteError::NoDatabase(_) => {
            "`createdb -h <host> -O <user> <database>` makes it, as a user of the server who may".to_owned()
        }
        RemoteError::NoBucket => {
            "`aws s3 mb s3://<bucket>` makes a bucket, and `az storage container create --account-name <account> --name <container>` a container".to_owned()
        }
        RemoteError::NotMade => {
            "`uwf config get remote` shows where it was looked for; if that is right, `uwf remote add <url>` makes one, in another schema than `uwf` with `--schema <name>`; if threads are shared there already, that one is lost, and `uwf remote status` on a machine that shares them names its id for `uwf remote add <url> --replaces <id>`".to_owned()
        }
        RemoteError::Denied(right, _) => of_right(right),
        RemoteError::Refused(_) => {
            "check the names in the address: the bucket or container, the account, the region and the endpoint; `uwf remote add --help` shows its forms".to_owned()
        }
        // The text says it.
        RemoteError::Unprepared(_) => return None,
        RemoteError::NotLetIn(entry, _) => return of_entry(*entry),
        RemoteError::NotSafe(distrust, _) => return of_distrust(*distrust),
        RemoteError::TooOld { .. } => "use a newer version of uwf".to_owned(),
        RemoteError::Broken(_) => {
            "`uwf remote verify` says what is damaged or missing in a database, and with `--repair` sends again what this machine has of it; in an object storage, remove what is damaged with its own tools, and `uwf thread fork --thread <thread>` and `uwf push <fork>` on a machine that has the thread send it again".to_owned()
        }
        RemoteError::Unable(_) => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_that_waits_is_shared_by_a_push_after_what_has_kept_it_here_is_gone() {
        let thread: ThreadId = "01ARZ3NDEKTSV4RRFFQ69G5FAV".parse().unwrap();
        let hint = |error: RemoteError| hint(&SharingError::Waits { thread, error }).unwrap();
        let said = String::new;
        for (error, first) in [
            (RemoteError::Away(said()), "when the server can be reached"),
            (RemoteError::Contended(said()), "nothing is lost"),
            (RemoteError::Cancelled(said()), "nothing is lost"),
            (RemoteError::NoDatabase(said()), "`createdb "),
            (RemoteError::NoBucket, "`aws s3 mb "),
            (RemoteError::NotLetIn(Entry::Keys, said()), "check the keys"),
            (RemoteError::Unable(said()), "nothing is lost"),
        ] {
            let hint = hint(error);
            let (before, _) = hint
                .split_once(&format!("`uwf push {thread}` shares it"))
                .unwrap_or_else(|| panic!("{hint}"));
            assert!(before.contains(first), "{hint}");
            assert!(!hint.contains("run the same command again"), "{hint}");
        }
        let contended = hint(RemoteError::Contended(said()));
        assert!(!contended.contains("can be reached"), "{contended}");
        let cancelled = hint(RemoteError::Cancelled(said()));
        assert!(cancelled.contains("statement_timeout"), "{cancelled}");
    }

    #[test]
    fn a_call_that_keeps_nothing_here_is_run_again() {
        for error in [
            RemoteError::Away(String::new()),
            RemoteError::Contended(String::new()),
            RemoteError::Cancelled(String::new()),
            RemoteError::NoDatabase(String::new()),
            RemoteError::NoBucket,
        ] {
            let hint = hint(&SharingError::Remote(error)).unwrap();
            assert!(hint.contains("run the same command again"), "{hint}");
        }
    }
}
