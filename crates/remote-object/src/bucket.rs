//! Objects in a store: read, written under a condition, listed and removed, several at once.

use std::sync::Arc;
use std::time::Duration;

use object_store::path::Path;
use object_store::{Error, ObjectStore, ObjectStoreExt, PutMode, PutPayload, UpdateVersion};
use tokio::runtime::Runtime;
use tokio::task::JoinSet;
use uwf_remote::RemoteError;

use crate::clock::Clock;
use crate::failure::{Failure, failure};

/// How many requests are under way at once, at most.
const AT_ONCE: usize = 16;
/// How often a request is sent again after a failure that may pass. With the pauses this takes some seconds.
const RETRIES: u32 = 10;
/// The first pause before a request is sent again. Later ones are longer.
const PAUSE: Duration = Duration::from_millis(4);

/// A part of a store, and the time of that store.
pub(crate) struct Bucket {
    runtime: Runtime,
    store: Arc<dyn ObjectStore>,
    prefix: String,
    clock: Arc<dyn Clock>,
}

/// What tells one content of an object from its other contents: its `ETag`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Version(Option<String>);

/// An object.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) content: Vec<u8>,
    pub(crate) version: Version,
}

/// The condition of a write.
#[derive(Debug, Clone)]
pub(crate) enum When {
    /// No object has the name.
    New,
    /// The object still has this content.
    Is(Version),
    /// There is no condition.
    Always,
}

/// What came of writing an object.
#[derive(Debug)]
pub(crate) enum Written {
    /// It is written.
    Yes(Version),
    /// It is not written: the condition does not hold, or another write was under way.
    No,
}

impl Bucket {
    pub(crate) fn new(
        store: Arc<dyn ObjectStore>,
        prefix: String,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, RemoteError> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .build()
            .map_err(|problem| RemoteError::Unprepared(problem.to_string()))?;
        Ok(Self {
            runtime,
            store,
            prefix,
            clock,
        })
    }

    /// Returns the time that the store has told with its last answer.
    pub(crate) fn now(&self) -> Result<Duration, RemoteError> {
        let told = self.clock.now();
        told.ok_or_else(|| RemoteError::Broken("its answers tell no time".into()))
    }

    /// Returns how far the told time may be behind.
    pub(crate) fn precision(&self) -> Duration {
        self.clock.precision()
    }

    /// Reads an object, if there is one.
    pub(crate) fn get(&self, name: &str) -> Result<Option<Found>, RemoteError> {
        let (store, path) = (self.store.clone(), self.path(name));
        self.runtime.block_on(get(store, path))
    }

    /// Reads several objects. They are returned in the order of the given names.
    pub(crate) fn get_each(&self, names: &[String]) -> Result<Vec<Option<Found>>, RemoteError> {
        self.each(self.paths(names), get)
    }

    /// Tells for each object whether it is there.
    pub(crate) fn has_each(&self, names: &[String]) -> Result<Vec<bool>, RemoteError> {
        self.each(self.paths(names), has)
    }

    /// Makes several objects. An object that is there already stays as it is. Each answer tells whether this call has made the
    /// object.
    pub(crate) fn make_each(
        &self,
        objects: Vec<(String, Vec<u8>)>,
    ) -> Result<Vec<bool>, RemoteError> {
        let objects = objects
            .into_iter()
            .map(|(name, content)| (self.path(&name), PutPayload::from(content)));
        self.each(objects.collect(), |store, (path, content)| async move {
            let put = || put_once(store.as_ref(), &path, content.clone(), When::New);
            again(put)
                .await
                .map(|written| matches!(written, Written::Yes(_)))
        })
    }

    /// Writes an object once. If it fails, whether it is written is unknown.
    pub(crate) fn put_once(
        &self,
        name: &str,
        content: Vec<u8>,
        when: When,
    ) -> Result<Written, Failure> {
        let path = self.path(name);
        let put = put_once(self.store.as_ref(), &path, content.into(), when);
        self.runtime
            .block_on(put)
            .map_err(|problem| failure(&problem))
    }

    /// Writes an object that has the same content from all clients.
    pub(crate) fn put(&self, name: &str, content: Vec<u8>) -> Result<Version, RemoteError> {
        let (path, content) = (self.path(name), PutPayload::from(content));
        let put = || put_once(self.store.as_ref(), &path, content.clone(), When::Always);
        match self.runtime.block_on(again(put))? {
            Written::Yes(version) => Ok(version),
            Written::No => Err(RemoteError::Broken(
                "it refuses a write without condition".into(),
            )),
        }
    }

    /// Writes several contents to the same object at the same time. The answers are in the order of the contents. After a failure
    /// it is unknown whether that content was written.
    pub(crate) fn put_at_once(
        &self,
        name: &str,
        contents: Vec<Vec<u8>>,
        when: &When,
    ) -> Vec<Result<Written, Failure>> {
        let path = self.path(name);
        self.at_once(contents, |store, content| {
            let (path, when) = (path.clone(), when.clone());
            async move {
                let put = put_once(store.as_ref(), &path, content.into(), when);
                put.await.map_err(|problem| failure(&problem))
            }
        })
    }

    /// Returns the names of all objects in a folder, without the folder.
    pub(crate) fn list(&self, folder: &str) -> Result<Vec<String>, RemoteError> {
        let path = self.path(folder);
        let list = || self.store.list_with_delimiter(Some(&path));
        let listed = self.runtime.block_on(again(list))?;
        let names = listed
            .objects
            .iter()
            .filter_map(|object| object.location.filename());
        Ok(names.map(str::to_owned).collect())
    }

    /// Removes an object, if it is there.
    pub(crate) fn remove(&self, name: &str) -> Result<(), RemoteError> {
        let path = self.path(name);
        let remove = || async {
            match self.store.delete(&path).await {
                Err(Error::NotFound { .. }) => Ok(()),
                answer => answer,
            }
        };
        self.runtime.block_on(again(remove))
    }

    /// Waits for a moment before something is tried again.
    pub(crate) fn pause(tried: u32) {
        std::thread::sleep(pause(tried));
    }

    fn path(&self, name: &str) -> Path {
        match self.prefix.as_str() {
            "" => Path::from(name),
            prefix => Path::from(format!("{prefix}/{name}")),
        }
    }

    fn paths(&self, names: &[String]) -> Vec<Path> {
        names.iter().map(|name| self.path(name)).collect()
    }

    /// Does work with each item, several at once. If some fail, the first failure is returned.
    fn each<I, T, F>(
        &self,
        items: Vec<I>,
        work: impl Fn(Arc<dyn ObjectStore>, I) -> F,
    ) -> Result<Vec<T>, RemoteError>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, RemoteError>> + Send + 'static,
    {
        self.at_once(items, work).into_iter().collect()
    }

    /// Does work with each item, several at once. The results are in the order of the items.
    fn at_once<I, T, F>(&self, items: Vec<I>, work: impl Fn(Arc<dyn ObjectStore>, I) -> F) -> Vec<T>
    where
        T: Send + 'static,
        F: Future<Output = T> + Send + 'static,
    {
        let mut done: Vec<Option<T>> = Vec::new();
        done.resize_with(items.len(), || None);
        let mut left = items.into_iter().enumerate();
        self.runtime.block_on(async {
            let mut running = JoinSet::new();
            loop {
                while running.len() < AT_ONCE
                    && let Some((at, item)) = left.next()
                {
                    let working = work(self.store.clone(), item);
                    running.spawn(async move { (at, working.await) });
                }
                match running.join_next().await {
                    Some(Ok((at, answer))) => done[at] = Some(answer),
                    Some(Err(stopped)) => std::panic::resume_unwind(stopped.into_panic()),
                    None => break,
                }
            }
        });
        done.into_iter().flatten().collect()
    }
}

async fn get(store: Arc<dyn ObjectStore>, path: Path) -> Result<Option<Found>, RemoteError> {
    let read = || async {
        let answer = match store.get(&path).await {
            Ok(answer) => answer,
            Err(Error::NotFound { .. }) => return Ok(None),
            Err(problem) => return Err(problem),
        };
        let version = Version(answer.meta.e_tag.clone());
        let content = answer.bytes().await?.to_vec();
        Ok(Some(Found { content, version }))
    };
    again(read).await
}

async fn has(store: Arc<dyn ObjectStore>, path: Path) -> Result<bool, RemoteError> {
    let look = || async {
        match store.head(&path).await {
            Ok(_) => Ok(true),
            Err(Error::NotFound { .. }) => Ok(false),
            Err(problem) => Err(problem),
        }
    };
    again(look).await
}

async fn put_once(
    store: &dyn ObjectStore,
    path: &Path,
    content: PutPayload,
    when: When,
) -> Result<Written, Error> {
    let mode = match when {
        When::New => PutMode::Create,
        When::Is(Version(e_tag)) => PutMode::Update(UpdateVersion {
            e_tag,
            version: None,
        }),
        When::Always => PutMode::Overwrite,
    };
    match store.put_opts(path, content, mode.into()).await {
        Ok(answer) => Ok(Written::Yes(Version(answer.e_tag))),
        Err(Error::AlreadyExists { .. } | Error::Precondition { .. }) => Ok(Written::No),
        Err(problem) => Err(problem),
    }
}

/// Sends a request, and sends it again after a failure that may pass.
async fn again<T, F>(mut send: impl FnMut() -> F) -> Result<T, RemoteError>
where
    F: Future<Output = Result<T, Error>>,
{
    let mut tried = 0;
    loop {
        let problem = match send().await {
            Ok(answer) => return Ok(answer),
            Err(problem) => failure(&problem),
        };
        match problem {
            Failure::Again(error) if tried < RETRIES => {
                tracing::debug!(tag = "Q4M8T2VB", tried, %error, "a request to the remote is sent again");
                tokio::time::sleep(pause(tried)).await;
                tried += 1;
            }
            Failure::Again(error) | Failure::Final(error) => return Err(error),
        }
    }
}

/// Returns a pause before the next try.
fn pause(tried: u32) -> Duration {
    uwf_remote::pause(PAUSE, tried.min(9))
}
