//! An open connection, and when data was last sent or received on it.

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
    /// Starts the task that reads and writes a connection. The task is polled only when data has come or can be sent.
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

    /// Waits for work, or returns `None` if nothing was sent or received for this time. Work may take longer as long as data moves.
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
