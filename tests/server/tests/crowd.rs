//! Very many clients at once: those who never finish their request, and those who only listen.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use mayi_server_tests::{Options, Server, raw, until};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Clients that never come to the end of their headers.
const SLOW: usize = 600;
/// Clients that listen to the stream of events.
const LISTENERS: usize = 10_000;

#[tokio::test(flavor = "multi_thread")]
async fn clients_that_never_finish_their_request_do_not_stop_the_others() -> Result<()> {
    raw::raise_open_files()?;
    let server = Server::start(Options::sqlite("slow")?)?;
    let agent = server.client("agent")?;
    let mut slow = Vec::new();
    for _ in 0..SLOW {
        let mut stream = TcpStream::connect(server.address()).await?;
        stream.write_all(format!("POST /v1/decide HTTP/1.1\r\nHost: {}\r\nX-", server.address()).as_bytes()).await?;
        slow.push(stream);
    }
    // And some whose headers end, but never their body.
    let token = agent.token().context("no token")?;
    for _ in 0..SLOW / 4 {
        let mut stream = TcpStream::connect(server.address()).await?;
        let head = format!(
            "POST /v1/decide HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{{",
            server.address()
        );
        stream.write_all(head.as_bytes()).await?;
        slow.push(stream);
    }
    let begun = Instant::now();
    for number in 0..200 {
        // They go on, a byte at a time.
        if let Some(stream) = slow.get_mut(number % SLOW) {
            let _ = stream.write_all(b"a").await;
        }
        agent.decide(&format!("meanwhile-{number}"), "git status").await?.must(200)?;
    }
    assert!(begun.elapsed() < Duration::from_secs(30), "two hundred decisions took {:?}", begun.elapsed());
    // Nobody may stay for ever.
    for mut stream in slow {
        let closed = async {
            let mut piece = [0; 1024];
            while stream.read(&mut piece).await.is_ok_and(|length| length > 0) {}
        };
        tokio::time::timeout(Duration::from_secs(60), closed).await.context("a slow client is never sent away")?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_listeners_hear_an_event_and_the_server_stays_small() -> Result<()> {
    // Some files are needed for other things, here and in the server, which has the same limit.
    let most = usize::try_from(raw::raise_open_files()?)?.saturating_sub(500);
    ensure!(
        most >= LISTENERS,
        "only {most} files may be open on this machine\nhelp: `ulimit -Hn` must be at least {LISTENERS}"
    );
    let server = Server::start(Options::sqlite("crowd")?)?;
    let (agent, approver) = (server.client("agent")?, server.client("approver")?);
    let before = server.memory("VmRSS")?;
    let request = format!(
        "GET /v1/events HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nAccept: text/event-stream\r\n\r\n",
        server.address(),
        approver.token().context("no token")?
    );
    let mut listeners = Vec::with_capacity(LISTENERS);
    for _ in 0..LISTENERS {
        let mut stream = TcpStream::connect(server.address()).await?;
        stream.write_all(request.as_bytes()).await?;
        listeners.push((stream, Vec::new()));
    }
    for (stream, heard) in &mut listeners {
        hear(stream, heard, "text/event-stream").await?;
    }
    let with = server.memory("VmRSS")?;
    let asked = agent.decide("crowd", "npm install left-pad").await?.must(200)?;
    let id = asked.text("/approval/id")?;
    let begun = Instant::now();
    for (stream, heard) in &mut listeners {
        hear(stream, heard, &id).await?;
    }
    let took = begun.elapsed();
    let each = with.saturating_sub(before) * 1024 / u64::try_from(LISTENERS)?;
    eprintln!(
        "{LISTENERS} listeners: {before} kB before, {with} kB with them, {each} bytes each; an event reached all in {took:?}"
    );
    assert!(each < 100_000, "a listener costs {each} bytes");
    agent.decide("after", "git status").await?.must(200)?;
    drop(listeners);
    // Whoever goes is forgotten.
    until("room again", || async { Ok((open_files(&server)? < 200).then_some(())) }).await?;
    Ok(())
}

/// Reads until the text was heard.
async fn hear(stream: &mut TcpStream, heard: &mut Vec<u8>, text: &str) -> Result<()> {
    let mut piece = [0; 4096];
    while !String::from_utf8_lossy(heard).contains(text) {
        let length =
            tokio::time::timeout(Duration::from_secs(60), stream.read(&mut piece)).await.context("silence")??;
        ensure!(length > 0, "the stream ended: {}", String::from_utf8_lossy(heard));
        heard.extend_from_slice(piece.get(..length).unwrap_or_default());
    }
    Ok(())
}

fn open_files(server: &Server) -> Result<usize> {
    Ok(std::fs::read_dir(format!("/proc/{}/fd", server.id()))?.count())
}
