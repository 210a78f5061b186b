//! Connections: accepted, bounded in number and in patience, and let go in order when it is time to stop.
//!
//! Somebody who sends a header a letter at a time, or opens connections and says nothing, holds few of them and not for
//! long.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::Service;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::peer::Ends;
use super::tls::Tls;
use crate::access::site::Front;
use crate::telemetry::Metrics;

/// What a client may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Connections in all.
    pub connections: usize,
    /// Connections of one address that is not this machine.
    pub per_address: usize,
    /// How long a connection may take to send a whole header, and to be idle before it.
    pub header: Duration,
    /// How long running requests get to end when it is time to stop.
    pub farewell: Duration,
}

impl Default for Bounds {
    fn default() -> Self {
        let (header, farewell) = (Duration::from_secs(30), Duration::from_secs(5));
        Self { connections: 32 * 1024, per_address: 256, header, farewell }
    }
}

/// The longest header, all lines together, in bytes.
const LONGEST_HEADER: usize = 32 * 1024;
const HANDSHAKE: Duration = Duration::from_secs(10);
/// After a failed accept, such as with no descriptors left.
const BREATH: Duration = Duration::from_millis(50);

const FULL: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\nretry-after: 1\r\n\
    connection: close\r\ncontent-length: 32\r\n\r\n{\"error\":\"too many connections\"}";

/// What connections are served with.
#[derive(Debug)]
pub(crate) struct Reception {
    pub(crate) router: Router,
    pub(crate) tls: Option<Arc<Tls>>,
    pub(crate) bounds: Bounds,
    pub(crate) metrics: Arc<Metrics>,
    /// Whether a proxy stands in front, so that addresses say nothing.
    pub(crate) front: Front,
}

/// How many connections each address has.
type Counts = Arc<Mutex<HashMap<IpAddr, usize>>>;

/// A place among the connections, given back when it is dropped.
struct Seat {
    _place: OwnedSemaphorePermit,
    counted: Option<(IpAddr, Counts)>,
    metrics: Arc<Metrics>,
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.metrics.connections.dec();
        let Some((address, counts)) = &self.counted else { return };
        let mut counts = counts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = counts.get_mut(address) {
            *count -= 1;
            if *count == 0 {
                counts.remove(address);
            }
        }
    }
}

/// Who gets a place.
struct Seats {
    places: Arc<Semaphore>,
    counts: Counts,
}

impl Seats {
    fn take(&self, remote: IpAddr, reception: &Reception) -> Option<Seat> {
        let place = Arc::clone(&self.places).try_acquire_owned().ok()?;
        let is_counted = !remote.is_loopback() && reception.front == Front::Nobody;
        let counted = is_counted.then(|| (remote, Arc::clone(&self.counts)));
        if is_counted {
            let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
            let count = counts.entry(remote).or_default();
            if *count >= reception.bounds.per_address {
                return None;
            }
            *count += 1;
        }
        reception.metrics.connections.inc();
        Some(Seat { _place: place, counted, metrics: Arc::clone(&reception.metrics) })
    }
}

/// Accepts connections until `stop` is over, then lets running requests end.
pub(crate) async fn accept(listener: TcpListener, reception: Arc<Reception>, stop: impl Future<Output = ()>) {
    let seats = Seats { places: Arc::new(Semaphore::new(reception.bounds.connections)), counts: Counts::default() };
    let graceful = GracefulShutdown::new();
    tokio::pin!(stop);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = &mut stop => break,
        };
        let Ok((stream, remote)) = accepted else {
            tokio::time::sleep(BREATH).await;
            continue;
        };
        match seats.take(remote.ip().to_canonical(), &reception) {
            Some(seat) => {
                tokio::spawn(attend((stream, remote), Arc::clone(&reception), graceful.watcher(), seat));
            }
            None => {
                reception.metrics.turned_away.inc();
                if reception.tls.is_none() {
                    tokio::spawn(turn_away(stream));
                }
            }
        }
    }
    drop(listener);
    // What has not ended by then is cut off.
    let _ = tokio::time::timeout(reception.bounds.farewell, graceful.shutdown()).await;
}

/// Tells somebody that there is no place.
async fn turn_away(mut stream: TcpStream) {
    let told = async {
        stream.write_all(FULL).await?;
        stream.shutdown().await
    };
    // Whoever does not listen is let go all the same.
    let _ = tokio::time::timeout(Duration::from_secs(1), told).await;
}

async fn attend((stream, remote): (TcpStream, SocketAddr), reception: Arc<Reception>, watcher: Watcher, seat: Seat) {
    let Ok(local) = stream.local_addr() else { return };
    // An answer is small and is waited for.
    let _ = stream.set_nodelay(true);
    let ends = Ends { remote, local };
    // A connection that breaks has nobody left to tell.
    let _ = match &reception.tls {
        None => converse(stream, &reception, watcher, ends).await,
        Some(tls) => match tokio::time::timeout(HANDSHAKE, tls.acceptor().accept(stream)).await {
            Ok(Ok(stream)) => converse(stream, &reception, watcher, ends).await,
            Ok(Err(_)) | Err(_) => Ok(()),
        },
    };
    drop(seat);
}

async fn converse<S>(stream: S, reception: &Reception, watcher: Watcher, ends: Ends) -> io::Result<()>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let service = Connected { inner: TowerToHyperService::new(reception.router.clone()), ends };
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(reception.bounds.header)
        .max_buf_size(LONGEST_HEADER)
        .serve_connection(TokioIo::new(stream), service);
    watcher.watch(connection).await.map_err(io::Error::other)
}

/// The router, for one connection: every request knows its two ends.
#[derive(Clone, Debug)]
struct Connected {
    inner: TowerToHyperService<Router>,
    ends: Ends,
}

impl Service<Request<Incoming>> for Connected {
    type Response = axum::response::Response;
    type Error = std::convert::Infallible;
    type Future = <TowerToHyperService<Router> as Service<Request<Incoming>>>::Future;

    fn call(&self, mut request: Request<Incoming>) -> Self::Future {
        request.extensions_mut().insert(self.ends);
        self.inner.call(request)
    }
}
