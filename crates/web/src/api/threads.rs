//! Threads and their steps, as data.

use uwf_engine::{show as show_thread, steps as steps_of, thread_graph};

use crate::answer::Data;
use crate::asked::Asked;
use crate::selection;
use crate::trouble::Trouble;

/// Returns a page of the threads, their counts, and those that wait for a person.
pub(crate) fn list(asked: &Asked) -> Result<Data, Trouble> {
    Ok(Data::of(&selection::board_of(asked)?))
}

/// Returns a thread.
pub(crate) fn show(asked: &Asked) -> Result<Data, Trouble> {
    let mut view = show_thread(asked.site(), asked.thread()?)?;
    view.hint = (asked.app.hint)(&view);
    Ok(Data::of(&view))
}

/// Returns the steps of a thread.
pub(crate) fn steps(asked: &Asked) -> Result<Data, Trouble> {
    Ok(Data::of(&steps_of(asked.site(), asked.thread()?)?))
}

/// Returns the graph of a thread's workflow, with the way of the thread.
pub(crate) fn graph(asked: &Asked) -> Result<Data, Trouble> {
    Ok(Data::of(&thread_graph(asked.site(), asked.thread()?)?))
}

/// Returns the family of a thread; `null` if it has none.
pub(crate) fn family(asked: &Asked) -> Result<Data, Trouble> {
    let found = uwf_engine::family(asked.site(), asked.thread()?)?;
    Ok(Data::of(&found))
}

/// Returns the threads that were forked from a thread.
pub(crate) fn forks(asked: &Asked) -> Result<Data, Trouble> {
    Ok(Data::of(&uwf_engine::forks(asked.site(), asked.thread()?)?))
}

/// Returns the differences of two threads.
pub(crate) fn diff(asked: &Asked) -> Result<Data, Trouble> {
    let other = asked.parsed("other", "thread")?;
    let found = uwf_engine::diff_threads(asked.site(), asked.thread()?, other)?;
    Ok(Data::of(&found))
}
