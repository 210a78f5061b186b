//! A plain balancer of TCP connections: each goes to the next server that takes it. It knows nothing of HTTP.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::Result;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// A balancer that runs until it is dropped.
#[derive(Debug)]
pub struct Balancer {
    address: SocketAddr,
    task: JoinHandle<()>,
}

impl Balancer {
    /// Stands before servers.
    pub async fn before(servers: Vec<SocketAddr>) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let (servers, turn) = (Arc::new(servers), Arc::new(AtomicUsize::new(0)));
        let task = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let (servers, turn) = (Arc::clone(&servers), turn.fetch_add(1, Ordering::Relaxed));
                tokio::spawn(async move { carry(client, &servers, turn).await });
            }
        });
        Ok(Self { address, task })
    }

    /// Where clients come to.
    pub fn base(&self) -> String {
        format!("http://{}", self.address)
    }
}

/// Carries one connection. A server that does not take it is passed over; with none left, the connection is closed.
async fn carry(mut client: TcpStream, servers: &[SocketAddr], turn: usize) {
    for place in 0..servers.len() {
        let Some(server) = servers.get((turn + place) % servers.len()) else { return };
        if let Ok(mut server) = TcpStream::connect(server).await {
            // A server that is killed ends its connections; who asked sees that as any client would.
            let _ = copy_bidirectional(&mut client, &mut server).await;
            return;
        }
    }
}

impl Drop for Balancer {
    fn drop(&mut self) {
        self.task.abort();
    }
}
