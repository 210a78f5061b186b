//! Passes bytes between a program and a host it may reach, until both are done or nothing moves any more. Looks at the
//! first bytes of the program alone: a TLS greeting must be for a server that may be reached.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader, ReadBuf, copy_buf, split};
use tokio::net::TcpStream;

use super::gate::Gate;
use super::hello::{self, Greeting};
use super::names::Target;
use super::refusal::Why;

/// How much is passed on at once.
const PIECE: usize = 32 * 1024;

/// What TLS says to a greeting that is turned away: fatal, access denied.
const ALERT: [u8; 7] = [21, 3, 3, 0, 2, 2, 49];

/// Passes bytes both ways.
pub(super) async fn relay<C>(gate: &Gate, target: &Target, client: C, upstream: TcpStream)
where
    C: AsyncRead + AsyncWrite + Unpin,
{
    let pulse = Pulse::default();
    let (mut from_client, mut to_client) = split(client);
    let (mut from_host, mut to_host) = split(Watched::new(upstream, pulse.clone()));
    let up = async {
        let first = first_bytes(gate, target, &mut from_client).await?;
        to_host.write_all(&first).await?;
        to_host.flush().await?;
        pass(&mut from_client, &mut to_host).await
    };
    let both = async { tokio::try_join!(up, pass(&mut from_host, &mut to_client)) };
    let ended = unless_idle(&pulse, gate.patience.idle, both).await;
    // Either end may break off at any time; the other is told by the closing. Only a program that was turned away has
    // something to learn.
    if ended.is_some_and(|ended| ended.is_err_and(|error| error.kind() == io::ErrorKind::PermissionDenied)) {
        let _ = to_client.write_all(&ALERT).await;
        let _ = to_client.shutdown().await;
    }
}

async fn pass<R, W>(from: &mut R, to: &mut W) -> io::Result<()>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    copy_buf(&mut BufReader::with_capacity(PIECE, from), to).await?;
    to.shutdown().await
}

/// The first bytes of the program, once it is known that they may go on.
async fn first_bytes<R>(gate: &Gate, target: &Target, client: &mut R) -> io::Result<Vec<u8>>
where
    R: AsyncRead + Unpin,
{
    let mut bytes = Vec::new();
    loop {
        let ended = client.take(4096).read_buf(&mut bytes).await? == 0;
        let checked = match hello::read(&bytes) {
            Greeting::Other => Ok(()),
            Greeting::Incomplete if bytes.is_empty() && ended => Ok(()),
            Greeting::Incomplete if ended => Err(Why::UnreadableGreeting),
            Greeting::Incomplete => continue,
            Greeting::For(names) => names.iter().try_for_each(|name| gate.check_server(target, name)),
            Greeting::Unreadable => Err(Why::UnreadableGreeting),
        };
        return match checked {
            Ok(()) => Ok(bytes),
            Err(why) => {
                gate.refused(target, &why);
                Err(io::ErrorKind::PermissionDenied.into())
            }
        };
    }
}

/// Counts what moves.
#[derive(Clone, Default)]
pub(super) struct Pulse(Arc<AtomicU64>);

impl Pulse {
    fn beat(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn count(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Runs to the end, or until nothing has moved for that long (and at most twice that long).
pub(super) async fn unless_idle<T>(pulse: &Pulse, limit: Duration, work: impl Future<Output = T>) -> Option<T> {
    let idle = async {
        loop {
            let before = pulse.count();
            tokio::time::sleep(limit).await;
            if pulse.count() == before {
                return;
            }
        }
    };
    tokio::select! {
        done = work => Some(done),
        () = idle => None,
    }
}

/// A stream whose movements are counted.
pub(super) struct Watched<T> {
    stream: T,
    pulse: Pulse,
}

impl<T> Watched<T> {
    pub(super) fn new(stream: T, pulse: Pulse) -> Self {
        Self { stream, pulse }
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for Watched<T> {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let polled = Pin::new(&mut this.stream).poll_read(context, into);
        if polled.is_ready() {
            this.pulse.beat();
        }
        polled
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Watched<T> {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let polled = Pin::new(&mut this.stream).poll_write(context, bytes);
        if polled.is_ready() {
            this.pulse.beat();
        }
        polled
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(context)
    }
}
