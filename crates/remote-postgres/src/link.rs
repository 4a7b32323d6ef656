//! An open connection, and when something has last come or gone on it.

use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::io::{AsyncRead, AsyncWrite};
use tokio_postgres::{Client, Connection, Error};

/// An open connection.
pub(crate) struct Link {
    pub(crate) client: Client,
    moved: Arc<Mutex<Instant>>,
}

impl Link {
    /// Starts the other half of a connection. It is looked at only when something has come, or when more can be sent.
    pub(crate) fn start<S, T>(client: Client, connection: Connection<S, T>) -> Self
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
        T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let moved = Arc::new(Mutex::new(Instant::now()));
        let when = Arc::clone(&moved);
        tokio::spawn(async move {
            let mut connection = pin!(connection);
            let watched = std::future::poll_fn(|context| {
                touch(&when);
                connection.as_mut().poll(context)
            });
            let _: Result<(), Error> = watched.await;
        });
        Self { client, moved }
    }

    /// Waits for something, unless nothing comes or goes for this time. What takes long and moves is waited for.
    pub(crate) async fn unless_silent<T>(
        &self,
        limit: Duration,
        work: impl Future<Output = T>,
    ) -> Option<T> {
        let mut work = pin!(work);
        touch(&self.moved);
        loop {
            let silent = self.silent_for();
            let left = limit.checked_sub(silent).filter(|left| !left.is_zero())?;
            if let Ok(done) = tokio::time::timeout(left, work.as_mut()).await {
                return Some(done);
            }
        }
    }

    fn silent_for(&self) -> Duration {
        let moved = self.moved.lock().unwrap_or_else(PoisonError::into_inner);
        moved.elapsed()
    }
}

fn touch(moved: &Mutex<Instant>) {
    *moved.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
}
