//! The thread of a proxy: it takes connections in, tells the protocols apart, and keeps within its limits.

use std::io;
use std::net::TcpListener as Listener;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::time::{sleep, timeout};

use super::gate::Gate;
use super::{http, socks};

/// How many connections are served at once; more have to wait. Each takes two descriptors of this process, which may have
/// no more than 1024.
const CONNECTIONS: usize = 256;

/// How many names are resolved at once.
const RESOLVERS: usize = 8;

/// A connection of a program: what it may reach, and its place among the others, held as long as anything of it lives.
#[derive(Clone)]
pub(super) struct Visit {
    pub(super) gate: Arc<Gate>,
    _place: Arc<OwnedSemaphorePermit>,
}

/// A running thread. It ends when this is dropped, and its connections with it.
pub(super) struct Serving {
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Serving {
    pub(super) fn start(listener: Listener, gate: Gate) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        let runtime = Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .max_blocking_threads(RESOLVERS)
            .thread_keep_alive(Duration::from_secs(2))
            .build()?;
        let listener = {
            let _inside = runtime.enter();
            TcpListener::from_std(listener)?
        };
        let (stop, stopped) = oneshot::channel();
        let thread =
            thread::Builder::new().name("proxy".to_owned()).spawn(move || run(runtime, listener, gate, stopped))?;
        Ok(Self { stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.stop.take();
        if let Some(thread) = self.thread.take() {
            // A thread that panicked serves nobody either.
            let _ = thread.join();
        }
    }
}

fn run(runtime: Runtime, listener: TcpListener, gate: Gate, stopped: oneshot::Receiver<()>) {
    runtime.block_on(async move {
        tokio::select! {
            () = accept(listener, Arc::new(gate)) => {}
            _ = stopped => {}
        }
    });
    // A resolver may hang; nobody waits for it.
    runtime.shutdown_background();
}

async fn accept(listener: TcpListener, gate: Arc<Gate>) {
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        match listener.accept().await {
            Ok((stream, _)) => {
                let visit = Visit { gate: Arc::clone(&gate), _place: Arc::new(place) };
                tokio::spawn(receive(visit, stream));
            }
            // Out of descriptors, or the program left before it was let in.
            Err(_) => sleep(Duration::from_millis(20)).await,
        }
    }
}

/// The first byte tells the protocol.
async fn receive(visit: Visit, stream: TcpStream) {
    let _ = stream.set_nodelay(true);
    let mut first = [0];
    match timeout(visit.gate.patience.greeting, stream.peek(&mut first)).await {
        Ok(Ok(0) | Err(_)) | Err(_) => {}
        Ok(Ok(_)) if first == [socks::VERSION] => socks::serve(visit, stream).await,
        Ok(Ok(_)) => http::serve(visit, stream).await,
    }
}
