//! A connection with a time limit for writes: a client that does not read its answer is dropped, and makes room for others.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use hyper::rt::{Read, ReadBufCursor, Write};
use tokio::time::{Sleep, sleep};

/// How long a write may make no progress because the client does not read.
const PATIENCE: Duration = Duration::from_secs(15);

/// A connection whose writes fail after [`PATIENCE`] without progress. Reads have no limit here.
pub(crate) struct WriteTimeout<T> {
    io: T,
    /// The timer of a write that waits for the client; `None` while no write waits.
    waiting: Option<Pin<Box<Sleep>>>,
}

impl<T> WriteTimeout<T> {
    pub(crate) fn new(io: T) -> Self {
        Self { io, waiting: None }
    }

    /// Returns what a write returned, or an error if it has waited for too long. Each write that makes progress resets the timer.
    fn limited<V>(
        &mut self,
        context: &mut Context<'_>,
        polled: Poll<io::Result<V>>,
    ) -> Poll<io::Result<V>> {
        if polled.is_ready() {
            self.waiting = None;
            return polled;
        }
        let waiting = self
            .waiting
            .get_or_insert_with(|| Box::pin(sleep(PATIENCE)));
        ready!(waiting.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<T: Read + Unpin> Read for WriteTimeout<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_read(context, buffer)
    }
}

impl<T: Write + Unpin> Write for WriteTimeout<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.io).poll_write(context, bytes);
        self.limited(context, polled)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.io).poll_flush(context);
        self.limited(context, polled)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.io).poll_shutdown(context);
        self.limited(context, polled)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.io).poll_write_vectored(context, parts);
        self.limited(context, polled)
    }
}
