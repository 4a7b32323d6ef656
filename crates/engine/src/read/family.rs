//! The family of a thread: the thread that none has as a child, and all children below it.

use std::collections::HashMap;

use serde::Serialize;
use uwf_protocol::ids::ThreadId;
use uwf_storage::State;
use uwf_thread::{Head, read_start};

use crate::children::{KnownChild, children_by_parent, parent_of};
use crate::read::item_reader::{Candidate, Reader};
use crate::read::thread_item::ThreadItem;
use crate::{EngineError, Site, thread};

/// How many threads of a family are read.
const MOST: usize = 300;

/// A thread with its children.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FamilyMember {
    /// The thread.
    #[serde(flatten)]
    pub item: ThreadItem,
    /// Its children, in the order in which they were made.
    pub children: Vec<FamilyMember>,
}

/// The family of a thread.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Family {
    /// The thread that none has as a child.
    pub top: FamilyMember,
    /// How many threads of the family are left out.
    pub hidden: usize,
}

/// Returns the family of a thread; `None` if it has neither a parent nor children.
///
/// # Errors
/// When the thread is unknown, or the files of the state cannot be read.
pub fn family(site: &Site, id: ThreadId) -> Result<Option<Family>, EngineError> {
    let mut below = children_by_parent(site)?;
    let top = top_of(site, id)?;
    if top == id && !below.contains_key(&id) {
        return Ok(None);
    }
    let state = State::new(&site.root);
    let Some(place) = state.find(top)? else {
        return Ok(None);
    };
    let mut tree = Tree {
        reader: Reader::new(site),
        below: &mut below,
        left: MOST,
        hidden: 0,
    };
    let mut member = tree.member(Candidate { id: top, place });
    let namings = state.namings().unwrap_or_default();
    tell_names(&mut member, &namings);
    Ok(Some(Family {
        top: member,
        hidden: tree.hidden,
    }))
}

fn tell_names(member: &mut FamilyMember, namings: &uwf_storage::Namings) {
    let naming = namings.of(member.item.thread);
    (member.item.name, member.item.labels) = (naming.name, naming.labels);
    for child in &mut member.children {
        tell_names(child, namings);
    }
}

/// Returns the thread at the top of a family. A parent that is gone ends the way up.
fn top_of(site: &Site, id: ThreadId) -> Result<ThreadId, EngineError> {
    let mut top = id;
    loop {
        let head = match thread::find(site, top) {
            Ok(place) => place.head(),
            Err(error) if top == id => return Err(error),
            Err(_) => return Ok(top),
        };
        let start = Head::read(&site.store, head)?.start();
        let start = read_start(&site.store, start)?.node;
        let above = parent_of(top, &start).map(|parent| parent.thread);
        match above {
            Some(above) if State::new(&site.root).find(above)?.is_some() => top = above,
            Some(_) | None => return Ok(top),
        }
    }
}

/// Reads a family from its top.
struct Tree<'a, 's> {
    reader: Reader<'s>,
    below: &'a mut HashMap<ThreadId, Vec<KnownChild>>,
    left: usize,
    hidden: usize,
}

impl Tree<'_, '_> {
    fn member(&mut self, one: Candidate) -> FamilyMember {
        let children = self.below.remove(&one.id).unwrap_or_default();
        let item = self.reader.item(one);
        let mut members = Vec::new();
        for child in children {
            if self.left == 0 {
                self.hidden += 1;
                continue;
            }
            self.left -= 1;
            members.push(self.member(Candidate {
                id: child.thread,
                place: child.place,
            }));
        }
        FamilyMember {
            item,
            children: members,
        }
    }
}
