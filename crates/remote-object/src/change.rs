//! Changes an object, such as a thread: reads it, decides, and writes it if nobody has changed it meanwhile.

use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_remote::{RemoteError, random};

use crate::bucket::{Bucket, When, Written};
use crate::failure::Failure;
use crate::names;
use crate::thread::{Move, Now, Thread};

/// How often a change is tried, if others change the same object meanwhile.
pub(crate) const TIMES: u32 = 200;
/// How many lost answers to writes a change survives.
const LOST: u32 = 8;

/// What was decided about an object, with the answer to the caller.
pub(crate) enum Change<T, Content = Box<Thread>> {
    /// It stays as it is.
    Leave(T),
    /// It is stored like this.
    Store(Content, T),
}

/// Returns a thread, if there is one, and the time.
pub(crate) fn read(bucket: &Bucket, id: ThreadId) -> Result<(Option<Thread>, Now), RemoteError> {
    let found = bucket.get(&names::thread(id))?;
    let thread = found
        .map(|found| Thread::read(&found.content))
        .transpose()?;
    Ok((thread, now(bucket)?))
}

/// Returns the time that the store told last.
pub(crate) fn now(bucket: &Bucket) -> Result<Now, RemoteError> {
    Ok(Now {
        told: bucket.now()?,
        precision: bucket.precision(),
    })
}

/// Changes an object, and returns what was decided. `decide` gets the content of the object, and whether the answer to a write of
/// this call was lost. It may be called several times: after others have changed the object, and after a lost answer (point 4). It
/// finds out whether one of the writes was done.
pub(crate) fn change_object<T>(
    bucket: &Bucket,
    name: &str,
    mut decide: impl FnMut(Option<&[u8]>, bool) -> Result<Change<T, Vec<u8>>, RemoteError>,
) -> Result<T, RemoteError> {
    let mut lost = 0;
    for turn in 0..TIMES {
        let (known, when) = match bucket.get(name)? {
            Some(found) => (Some(found.content), When::Is(found.version)),
            None => (None, When::New),
        };
        let (content, answer) = match decide(known.as_deref(), lost > 0)? {
            Change::Leave(answer) => return Ok(answer),
            Change::Store(content, answer) => (content, answer),
        };
        match bucket.put_once(name, content, when) {
            Ok(Written::Yes(_)) => return Ok(answer),
            Ok(Written::No) => Bucket::pause(turn.min(3)),
            Err(Failure::Again(error)) if lost < LOST => {
                tracing::debug!(tag = "V7N3K9XD", object = name, lost, %error, "a write to the remote has no answer");
                Bucket::pause(lost);
                lost += 1;
            }
            Err(failure) => return Err(failure.into_error()),
        }
    }
    Err(RemoteError::Contended(format!(
        "others change the object `{name}` all the time"
    )))
}

/// Changes a thread, and returns what was decided. `decide` may be called several times, as for [any object](change_object). It
/// sees no thread in which a write of this call is done already.
pub(crate) fn change<T: Clone>(
    bucket: &Bucket,
    id: ThreadId,
    mut decide: impl FnMut(Option<Thread>, Now) -> Result<Change<T>, RemoteError>,
) -> Result<T, RemoteError> {
    let mut tried: Vec<(String, T)> = Vec::new();
    change_object(bucket, &names::thread(id), |content, _| {
        let now = now(bucket)?;
        let thread = content.map(Thread::read).transpose()?;
        if let Some(thread) = &thread {
            let done = tried.iter().position(|(mark, _)| thread.is_signed(mark));
            if let Some(done) = done {
                return Ok(Change::Leave(tried.swap_remove(done).1));
            }
        }
        let (mut thread, answer) = match decide(thread, now)? {
            Change::Leave(answer) => return Ok(Change::Leave(answer)),
            Change::Store(thread, answer) => (thread, answer),
        };
        store_parts(bucket, id, &mut thread)?;
        let mark = format!("{:016x}", random());
        thread.sign(mark.clone());
        tried.push((mark, answer.clone()));
        Ok(Change::Store(thread.content()?, answer))
    })
}

/// Writes the oldest moves of a long history as objects of their own (point 6).
fn store_parts(bucket: &Bucket, id: ThreadId, thread: &mut Thread) -> Result<(), RemoteError> {
    while let Some((number, part)) = thread.take_part() {
        let content = serde_json::to_vec(&part);
        let content = content.map_err(|problem| RemoteError::Broken(problem.to_string()))?;
        bucket.put(&names::history(id, number), content)?;
    }
    Ok(())
}

/// Returns a part of the history of a thread.
pub(crate) fn part(bucket: &Bucket, id: ThreadId, number: u64) -> Result<Vec<Move>, RemoteError> {
    let broken = |problem: &str| {
        RemoteError::Broken(format!("part {number} of the history of {id} {problem}"))
    };
    let found = bucket.get(&names::history(id, number))?;
    let found = found.ok_or_else(|| broken("is missing"))?;
    serde_json::from_slice(&found.content).map_err(|_| broken("cannot be read"))
}

/// Tells whether the history of a thread has such a move. The newest part is read first.
fn made(
    bucket: &Bucket,
    id: ThreadId,
    thread: &Thread,
    is_it: impl Fn(&Move) -> bool,
) -> Result<bool, RemoteError> {
    if thread.moves.iter().any(&is_it) {
        return Ok(true);
    }
    for number in (0..thread.parts).rev() {
        if part(bucket, id, number)?.iter().any(&is_it) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Tells whether the head has made this move, and is no longer where the move began.
pub(crate) fn has_moved(
    bucket: &Bucket,
    id: ThreadId,
    thread: &Thread,
    way: Move,
) -> Result<bool, RemoteError> {
    Ok(thread.head != way.0 && made(bucket, id, thread, |one| *one == way)?)
}

/// Tells whether the thread has or had a head.
pub(crate) fn had(
    bucket: &Bucket,
    id: ThreadId,
    thread: &Thread,
    head: CasRef,
) -> Result<bool, RemoteError> {
    Ok(thread.head == head
        || made(bucket, id, thread, |(from, to)| {
            head == *from || head == *to
        })?)
}
