//! A connection whose client must read: one that does not read what it asked for is given up, and makes room for others.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use hyper::rt::{Read, ReadBufCursor, Write};
use tokio::time::{Sleep, sleep};

/// How long a client may take to read anything of what waits for it.
const PATIENCE: Duration = Duration::from_secs(15);

/// A connection with a limit of time for its client to read.
pub(crate) struct Patient<T> {
    io: T,
    /// Since something waits to be read.
    waiting: Option<Pin<Box<Sleep>>>,
}

impl<T> Patient<T> {
    pub(crate) fn new(io: T) -> Self {
        Self { io, waiting: None }
    }

    /// Gives the wait up if it took too long. Something that was read begins another one.
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

impl<T: Read + Unpin> Read for Patient<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_read(context, buffer)
    }
}

impl<T: Write + Unpin> Write for Patient<T> {
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
