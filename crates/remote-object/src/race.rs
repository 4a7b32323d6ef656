//! Checks whether a store keeps the conditions of writes: of many writes at once under one condition, only one may be done.
//!
//! Some stores accept a condition and ignore it, and some check it before they write, and not while they write. A remote in such a
//! store would lose steps. So many writes race before a remote is made there. A store that errs only rarely can pass.

use uwf_remote::{RemoteError, random};

use crate::bucket::{Bucket, Version, When, Written};
use crate::failure::Failure;
use crate::names;

/// How many writes are sent at once.
const WRITERS: usize = 16;
/// How many objects are raced for. Each is made once and changed once.
const ROUNDS: u32 = 8;

/// What came of a race.
enum Race {
    /// One write won. These are the version and the content.
    Won(Version, Vec<u8>),
    /// No write won.
    Nobody,
}

/// Lets many writes race for some objects, one after the other.
///
/// # Errors
/// [`RemoteError::Unable`] if two writes win, if none ever wins, or if the store returns another content than it accepted.
pub(crate) fn check(bucket: &Bucket) -> Result<(), RemoteError> {
    let mark = random();
    let mut decided = 0;
    for round in 0..ROUNDS {
        let name = names::race(mark, round);
        let raced = rounds(bucket, &name);
        // What cannot be removed is small, and its name is never used again.
        let _ = bucket.remove(&name);
        decided += u32::from(raced?);
    }
    match decided {
        0 => Err(RemoteError::Unable(
            "no write to this store is done if many write at once".into(),
        )),
        _ => Ok(()),
    }
}

/// Lets writes race to make an object, and then to change it. Tells whether both races had a winner.
fn rounds(bucket: &Bucket, name: &str) -> Result<bool, RemoteError> {
    let Race::Won(first, _) = race(bucket, name, "make", &When::New)? else {
        return Ok(false);
    };
    let when = When::Is(first.clone());
    let Race::Won(_, content) = race(bucket, name, "change", &when)? else {
        return Ok(false);
    };
    // A late write loses, too.
    for when in [When::New, When::Is(first)] {
        match bucket.put_once(name, b"late".to_vec(), when) {
            Ok(Written::Yes(_)) => return Err(two_won("a late write")),
            Ok(Written::No) | Err(Failure::Again(_)) => {}
            Err(Failure::Final(error)) => return Err(error),
        }
    }
    let found = bucket.get(name)?;
    match found.is_some_and(|found| found.content == content) {
        true => Ok(true),
        false => Err(RemoteError::Unable(
            "this store does not give back what it said was written".into(),
        )),
    }
}

/// Lets many writes race for an object.
fn race(bucket: &Bucket, name: &str, what: &str, when: &When) -> Result<Race, RemoteError> {
    let contents = (0..WRITERS).map(|writer| format!("{what} {writer}").into_bytes());
    let contents: Vec<Vec<u8>> = contents.collect();
    let answers = bucket.put_at_once(name, contents.clone(), when);
    let mut winners = Vec::new();
    for (content, answer) in contents.iter().zip(answers) {
        match answer {
            Ok(Written::Yes(version)) => winners.push(Race::Won(version, content.clone())),
            Ok(Written::No) | Err(Failure::Again(_)) => {}
            Err(Failure::Final(error)) => return Err(error),
        }
    }
    match winners.len() {
        0 => silent_winner(bucket, name, &contents),
        1 => Ok(winners.swap_remove(0)),
        many => Err(two_won(&format!("{many} of {WRITERS} writes at once"))),
    }
}

/// Looks for a winner whose answer was lost.
fn silent_winner(bucket: &Bucket, name: &str, contents: &[Vec<u8>]) -> Result<Race, RemoteError> {
    Ok(match bucket.get(name)? {
        Some(found) if contents.contains(&found.content) => Race::Won(found.version, found.content),
        _ => Race::Nobody,
    })
}

fn two_won(what: &str) -> RemoteError {
    RemoteError::Unable(format!(
        "this store ignores the conditions of writes ({what} won where one may), so threads would lose steps; choose a store with \
         conditional writes, such as Amazon S3 or Azure Blob Storage"
    ))
}
