//! Stores in memory that do not do what they should.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use futures_util::stream::BoxStream;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta,
    ObjectStore, ObjectStoreExt, PutMode, PutMultipartOptions, PutOptions, PutPayload, PutResult,
    Result,
};

/// What a store does wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It does each n-th call, and loses the answer.
    Loses(u64),
    /// It takes the conditions of writes, and ignores them.
    IgnoresConditions,
    /// It checks a condition first, and writes then.
    LooksFirst,
    /// It lets nobody write.
    ReadOnly,
}

#[derive(Debug)]
pub(crate) struct Faulty {
    pub(crate) inner: InMemory,
    fault: Fault,
    calls: AtomicU64,
}

impl Faulty {
    pub(crate) fn new(fault: Fault) -> Self {
        Self::over(InMemory::new(), fault)
    }

    pub(crate) fn over(inner: InMemory, fault: Fault) -> Self {
        Self {
            inner,
            fault,
            calls: AtomicU64::new(0),
        }
    }

    pub(crate) fn losing(every: u64) -> Self {
        Self::new(Fault::Loses(every))
    }

    /// Gives the answer of a call, or loses it.
    fn answered<T>(&self, answer: Result<T>) -> Result<T> {
        let call = self.calls.fetch_add(1, Ordering::Relaxed);
        match self.fault {
            Fault::Loses(every) if call.is_multiple_of(every) => Err(Error::Generic {
                store: "Faulty",
                source: "the answer is lost".into(),
            }),
            _ => answer,
        }
    }

    /// Returns the mode of a write whose condition was looked at before.
    async fn looked(&self, location: &Path, mode: PutMode) -> Result<PutMode> {
        let found = self.inner.head(location).await;
        let holds = match &mode {
            PutMode::Create => found.is_err(),
            PutMode::Update(version) => found.is_ok_and(|found| found.e_tag == version.e_tag),
            PutMode::Overwrite => true,
        };
        // Others are served meanwhile.
        tokio::task::yield_now().await;
        match holds {
            true => Ok(PutMode::Overwrite),
            false => Err(Error::Precondition {
                path: location.to_string(),
                source: "it does not hold".into(),
            }),
        }
    }
}

impl fmt::Display for Faulty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Faulty")
    }
}

#[async_trait]
impl ObjectStore for Faulty {
    async fn put_opts(
        &self,
        location: &Path,
        payload: PutPayload,
        mut opts: PutOptions,
    ) -> Result<PutResult> {
        match self.fault {
            Fault::IgnoresConditions => opts.mode = PutMode::Overwrite,
            Fault::LooksFirst => opts.mode = self.looked(location, opts.mode).await?,
            Fault::ReadOnly => {
                return Err(Error::PermissionDenied {
                    path: location.to_string(),
                    source: "reading is allowed".into(),
                });
            }
            Fault::Loses(_) => {}
        }
        let answer = self.inner.put_opts(location, payload, opts).await;
        self.answered(answer)
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        opts: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.inner.put_multipart_opts(location, opts).await
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        let answer = self.inner.get_opts(location, options).await;
        self.answered(answer)
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        self.inner.delete_stream(locations)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.inner.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        let answer = self.inner.list_with_delimiter(prefix).await;
        self.answered(answer)
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.inner.copy_opts(from, to, options).await
    }
}
