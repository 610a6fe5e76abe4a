//! The bytes of one connection: they stop when it is cut, and when somebody does not take what was written.
//!
//! It outlives the connection's HTTP when that becomes a WebSocket, and so do its limits and its place in the crowd.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

use super::crowd::Place;
use tokio_util::task::task_tracker::TaskTrackerToken;

pub(super) struct Wire<S> {
    stream: S,
    cut: Pin<Box<WaitForCancellationFutureOwned>>,
    is_cut: bool,
    timeout: Duration,
    /// Runs while something is written that nobody takes.
    stalled: Option<Pin<Box<Sleep>>>,
    _presence: (Place, TaskTrackerToken),
}

impl<S> Wire<S> {
    pub(super) fn new(
        stream: S,
        cut: CancellationToken,
        timeout: Duration,
        presence: (Place, TaskTrackerToken),
    ) -> Self {
        Self {
            stream,
            cut: Box::pin(cut.cancelled_owned()),
            is_cut: false,
            timeout,
            stalled: None,
            _presence: presence,
        }
    }

    fn check_cut(&mut self, context: &mut Context<'_>) -> io::Result<()> {
        self.is_cut = self.is_cut || self.cut.as_mut().poll(context).is_ready();
        match self.is_cut {
            true => Err(io::ErrorKind::ConnectionAborted.into()),
            false => Ok(()),
        }
    }

    /// Passes on what came of writing, unless it has come to nothing for too long.
    fn progress<T>(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.stalled = None;
            return written;
        }
        let timeout = self.timeout;
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(sleep(timeout)));
        ready!(stalled.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Wire<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.check_cut(context)?;
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Wire<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.check_cut(context)?;
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.progress(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.check_cut(context)?;
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, parts);
        self.progress(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.check_cut(context)?;
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        self.progress(context, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
