//! A place from which single nodes can be fetched: another store, or a bundle.

use std::collections::HashMap;
use std::fs::File;
use std::path::PathBuf;

use uwf_cas_fs::{Store, StoreError, raw_of_file};
use uwf_protocol::ids::CasRef;
use uwf_protocol::raw_node::RawNode;
use uwf_util::ustar;

use super::error::BundleError;
use super::members::{Reader, node_of, read_again};
use crate::EngineError;

/// The folder of the store in a root.
const STORE: &str = "cas";

/// Where nodes are fetched from.
pub(crate) enum Source {
    /// The store of another root, or a copy of one.
    Store(Store),
    /// A bundle, with the place and the size of each node.
    Bundle(File, HashMap<CasRef, (u64, u64)>),
}

/// What a person named as a source.
#[derive(Debug)]
pub enum Given {
    /// A root, a store, or a copy of one.
    Folder(PathBuf),
    /// A bundle.
    Bundle(File),
}

impl Source {
    /// Opens what was given.
    ///
    /// # Errors
    /// When the folder has no nodes, or the bundle cannot be read.
    pub(crate) fn open(given: Given) -> Result<Self, EngineError> {
        match given {
            Given::Folder(path) => {
                let inner = path.join(STORE);
                let dir = if inner.is_dir() { inner } else { path };
                let store = Store::open(dir);
                if store.all()?.is_empty() {
                    return Err(EngineError::NoNodes(store.dir().to_owned()));
                }
                Ok(Self::Store(store))
            }
            Given::Bundle(mut file) => {
                let places = places(&mut file)?;
                Ok(Self::Bundle(file, places))
            }
        }
    }

    /// Returns a node, checked against its hash; `None` if it is not there, or is damaged there, too.
    pub(crate) fn fetch(&mut self, hash: CasRef) -> Result<Option<RawNode>, EngineError> {
        let read = match self {
            Self::Store(store) => store.raw(hash),
            Self::Bundle(file, places) => {
                let Some((at, size)) = places.get(&hash).copied() else {
                    return Ok(None);
                };
                let content = read_again(file, at, size).map_err(BundleError::Read)?;
                raw_of_file(hash, &content)
            }
        };
        match read {
            Ok(node) => Ok(Some(node)),
            Err(
                StoreError::NotFound { .. }
                | StoreError::Damaged { .. }
                | StoreError::NotTheNode { .. },
            ) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

fn places(file: &mut File) -> Result<HashMap<CasRef, (u64, u64)>, BundleError> {
    let mut places = HashMap::new();
    let mut bundle = Reader::new(file);
    while let Some((name, content)) = bundle.next()? {
        let size = content.len() as u64;
        let at = bundle.bytes - size - ustar::padding(size) as u64;
        if let Some(hash) = node_of(&name) {
            places.insert(hash, (at, size));
        }
    }
    Ok(places)
}
