//! The way to proxies of the user's own: what a command sends to their ports inside goes to the same ports of this
//! machine, and nowhere else. Nothing is filtered here: those proxies do.

use std::io;
use std::net::{Ipv4Addr, TcpListener as StandardListener};
use std::os::fd::OwnedFd;
use std::thread::{self, JoinHandle};

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;

/// A bridge between two networks. It falls, with all that is on it, when it is dropped.
pub(super) struct Bridge {
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Bridge {
    /// Carries connections from sockets that listen inside.
    pub(super) fn between(listeners: Vec<OwnedFd>) -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (stop, stopped) = oneshot::channel();
        let mut gates = Vec::new();
        {
            let _inside = runtime.enter();
            for listener in listeners {
                let listener = StandardListener::from(listener);
                listener.set_nonblocking(true)?;
                let port = listener.local_addr()?.port();
                gates.push((TcpListener::from_std(listener)?, port));
            }
        }
        let carry = move || {
            runtime.block_on(async {
                for (listener, port) in gates {
                    tokio::spawn(serve(listener, port));
                }
                // Told to stop, or the bridge is gone: both are the end.
                let _ = stopped.await;
            });
        };
        let thread = thread::Builder::new().name("bridge".to_owned()).spawn(carry)?;
        Ok(Self { stop: Some(stop), thread: Some(thread) })
    }
}

async fn serve(listener: TcpListener, port: u16) {
    while let Ok((mut inside, _)) = listener.accept().await {
        tokio::spawn(async move {
            // A proxy that is not there, or hangs up, ends this connection alone.
            if let Ok(mut outside) = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await {
                let _ = tokio::io::copy_bidirectional(&mut inside, &mut outside).await;
            }
        });
    }
}

impl Drop for Bridge {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A bridge that broke carries nothing any more.
            let _ = thread.join();
        }
    }
}
