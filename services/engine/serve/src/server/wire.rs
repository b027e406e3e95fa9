//! What lies between hyper and a client: it notes what the connection is doing, and ends it so that the last answer
//! arrives.

use super::connection::Connection;
use super::refusal;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep, sleep_until};

/// How long the server listens to a client that goes on sending a body which is not read, and how long without a byte.
/// Closing at once would destroy the answer on its way.
const LINGER: Duration = Duration::from_secs(30);
const LINGER_QUIET: Duration = Duration::from_secs(2);

/// How much is read at once. Hyper keeps what a client sends behind a request, and the room that it was read into.
const READ: usize = 16 << 10;

/// A stream of bytes from and to a client.
pub(super) struct Wire<S> {
    stream: S,
    connection: Arc<Connection>,
    /// Bytes since the last answer.
    received: usize,
    /// A refusal that is being written, and how much of it is.
    refusal: Option<(Vec<u8>, usize)>,
    /// Since nothing more is written: until when the client is listened to at most, and until when while it is silent.
    linger: Option<(Instant, Pin<Box<Sleep>>)>,
    /// How long a client may take no byte of an answer.
    patience: Duration,
    /// Since it took none: until when it may.
    stalled: Option<Pin<Box<Sleep>>>,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Wire<S> {
    /// A client that takes nothing of an answer for as long as `patience` is given up: the answer takes memory meanwhile.
    pub(super) fn new(stream: S, connection: Arc<Connection>, patience: Duration) -> Self {
        Self { stream, connection, received: 0, refusal: None, linger: None, patience, stalled: None }
    }

    /// What writing came to, or that the client takes nothing.
    fn watched<T>(&mut self, context: &mut Context<'_>, written: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.stalled = None;
            return written;
        }
        let patience = self.patience;
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(sleep(patience)));
        stalled.as_mut().poll(context).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }

    /// Writes a part of what comes next, or the refusal that takes its place.
    fn poll_part(
        &mut self,
        context: &mut Context<'_>,
        next: &[u8],
        write: impl FnOnce(Pin<&mut S>, &mut Context<'_>) -> Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        match ready!(self.poll_refusal(context, next))? {
            Some(written) => Poll::Ready(Ok(written)),
            None => write(Pin::new(&mut self.stream), context),
        }
    }

    /// Writes the refusal that takes the place of `written`; nothing where it is none.
    fn poll_refusal(&mut self, context: &mut Context<'_>, written: &[u8]) -> Poll<io::Result<Option<usize>>> {
        if self.refusal.is_none() {
            self.refusal = refusal::of(written).map(|text| (text, 0));
        }
        let Some((text, at)) = &mut self.refusal else { return Poll::Ready(Ok(None)) };
        while *at < text.len() {
            match ready!(Pin::new(&mut self.stream).poll_write(context, &text[*at..]))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                more => *at += more,
            }
        }
        self.refusal = None;
        self.connection.leave_unread();
        Poll::Ready(Ok(Some(written.len())))
    }

    /// Reads what the client still sends, and throws it away.
    fn poll_linger(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let now = Instant::now();
        let (end, quiet) = self.linger.get_or_insert_with(|| (now + LINGER, Box::pin(sleep_until(now + LINGER_QUIET))));
        let mut bytes = [0; READ];
        loop {
            let mut read = ReadBuf::new(&mut bytes);
            match Pin::new(&mut self.stream).poll_read(context, &mut read) {
                Poll::Ready(Ok(())) if !read.filled().is_empty() => {
                    quiet.as_mut().reset((Instant::now() + LINGER_QUIET).min(*end));
                }
                Poll::Ready(_) => return Poll::Ready(()),
                Poll::Pending => return quiet.as_mut().poll(context),
            }
        }
    }
}

/// Makes the beginning of HTTP/2 a head that hyper refuses with an answer: it would close the connection without one.
fn refuse_http2(head: &mut [u8]) {
    if head.starts_with(b"PRI * HTTP/2.0") {
        head[0] = 0;
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for Wire<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let room = buffer.remaining().min(READ);
        let mut part = ReadBuf::new(buffer.initialize_unfilled_to(room));
        let read = Pin::new(&mut self.stream).poll_read(context, &mut part);
        if read.is_pending() {
            self.connection.wait(self.received);
            return Poll::Pending;
        }
        if self.received == 0 {
            refuse_http2(part.filled_mut());
        }
        let bytes = part.filled().len();
        buffer.advance(bytes);
        self.received += bytes;
        self.connection.resume();
        read
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Wire<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = self.poll_part(context, bytes, |stream, context| stream.poll_write(context, bytes));
        self.watched(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let next = parts.first().map_or(&[][..], |part| part);
        let written = self.poll_part(context, next, |stream, context| stream.poll_write_vectored(context, parts));
        self.watched(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        ready!(self.watched(context, flushed))?;
        if self.connection.flushed() {
            self.received = 0;
        }
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.linger.is_none() {
            ready!(Pin::new(&mut self.stream).poll_shutdown(context))?;
            if !self.connection.is_unread() {
                return Poll::Ready(Ok(()));
            }
        }
        self.poll_linger(context).map(Ok)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::connections::Connections;
    use super::*;
    use crate::metrics::ConnectionMetrics;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};
    use tokio::time::timeout;

    #[tokio::test]
    async fn little_is_read_at_once_however_much_there_is() {
        let all = Connections::new(1, ConnectionMetrics::new().unwrap());
        let (server, mut client) = duplex(1 << 20);
        client.write_all(&vec![b'x'; 300_000]).await.unwrap();
        let mut wire = Wire::new(server, all.enter().await.clone(), Duration::from_secs(75));
        let mut bytes = vec![0; 400_000];
        assert_eq!(wire.read(&mut bytes).await.unwrap(), READ);
        assert!(bytes[..READ].iter().all(|&byte| byte == b'x') && bytes[READ..].iter().all(|&byte| byte == 0));
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_takes_nothing_of_an_answer_is_given_up() {
        let all = Connections::new(1, ConnectionMetrics::new().unwrap());
        let place = all.enter().await;
        let patience = Duration::from_secs(75);
        let (server, mut client) = duplex(16);
        let mut wire = Wire::new(server, place.clone(), patience);
        // one that is slow is waited for
        for _ in 0..5 {
            assert!(timeout(patience / 2, wire.write_all(&[0; 40])).await.is_err());
            client.read_exact(&mut [0; 16]).await.unwrap();
        }
        let began = Instant::now();
        let error = wire.write_all(&[0; 40]).await.unwrap_err();
        assert_eq!((error.kind(), began.elapsed() >= patience), (io::ErrorKind::TimedOut, true));
    }
}
