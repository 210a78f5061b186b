//! Bytes on a connection, for clients that do not keep to HTTP.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::Result;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Sends bytes and reads until the server closes, or says no more for a while.
pub async fn exchange(address: SocketAddr, bytes: &[u8], quiet: Duration) -> Result<String> {
    let mut stream = TcpStream::connect(address).await?;
    // A server that has heard enough closes while we are still sending: that is its right.
    let _ = stream.write_all(bytes).await;
    Ok(heard(&mut stream, quiet).await)
}

/// Reads until the server closes, or says no more for a while.
pub async fn heard(stream: &mut TcpStream, quiet: Duration) -> String {
    let mut heard = Vec::new();
    let mut piece = [0; 4096];
    while let Ok(Ok(length)) = tokio::time::timeout(quiet, stream.read(&mut piece)).await {
        match piece.get(..length) {
            Some(bytes) if !bytes.is_empty() => heard.extend_from_slice(bytes),
            Some(_) | None => break,
        }
    }
    String::from_utf8_lossy(&heard).into_owned()
}

/// The status of every answer in what was heard.
pub fn statuses(heard: &str) -> Vec<u16> {
    heard.split("HTTP/1.1 ").skip(1).filter_map(|answer| answer.get(..3)?.parse().ok()).collect()
}

/// Lets this process open as many files as it may at all. How many that are.
pub fn raise_open_files() -> Result<u64> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limits = getrlimit(Resource::Nofile);
    let most = limits.maximum.unwrap_or(1 << 20);
    setrlimit(Resource::Nofile, Rlimit { current: Some(most), maximum: limits.maximum })?;
    Ok(most)
}
