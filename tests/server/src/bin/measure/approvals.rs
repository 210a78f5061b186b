//! What waiting costs: questions that nobody answers yet, agents that wait for them, pages that listen.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use mayi_server_tests::Server;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Questions that wait, each with an agent that holds a connection for it.
const QUESTIONS: usize = 10_000;
/// Pages that listen.
const LISTENERS: usize = 1_000;
/// Questions that the pages hear of.
const EVENTS: usize = 50;

/// Memory and times.
pub(crate) async fn waiting(server: &Server) -> Result<Value> {
    let before = server.memory("VmRSS")?;
    let questions = ask(server).await?;
    let kept = server.memory("VmRSS")?;
    let agents = wait(server, &questions).await?;
    let held = server.memory("VmRSS")?;
    let woken = wake(server, agents, &questions).await?;
    let fan_out = fan_out(server).await?;
    Ok(json!({
        "questions": QUESTIONS, "before_kb": before, "with_questions_kb": kept, "with_agents_kb": held,
        "woken_p50_ms": woken, "fan_out": fan_out,
    }))
}

fn line(number: usize) -> Value {
    json!({"tool": "Bash", "input": {"command": format!("curl -d @{number} https://example.org")}, "cwd": "/w", "agent": "bench"})
}

/// Puts the questions, a hundred at a time. Their names and digests.
async fn ask(server: &Server) -> Result<Vec<(String, String)>> {
    let agent = server.client("agent")?;
    let mut asked = Vec::with_capacity(QUESTIONS);
    for first in (0..QUESTIONS).step_by(100) {
        let lines: Vec<String> = (first..first + 100).map(|number| line(number).to_string()).collect();
        let headers = [("content-type", "application/x-ndjson")];
        let reply = agent.send(reqwest::Method::POST, "/v1/decide", (&headers, &lines.join("\n"))).await?.must(200)?;
        for answer in reply.body.lines() {
            let answer: Value = serde_json::from_str(answer)?;
            let text = |pointer: &str| answer.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
            let approval = text("/approval/id").zip(text("/approval/digest"));
            asked.push(approval.with_context(|| format!("it was not asked: {answer}"))?);
        }
    }
    ensure!(asked.len() == QUESTIONS, "{} questions", asked.len());
    Ok(asked)
}

/// One connection a question, each with a request that waits.
async fn wait(server: &Server, questions: &[(String, String)]) -> Result<Vec<TcpStream>> {
    let token = server.options().tokens.get("agent").context("no token")?;
    let mut agents = Vec::with_capacity(questions.len());
    for (id, _) in questions {
        let path = format!("/v1/approvals/{id}?wait_seconds=240");
        agents.push(request(server, &path, token).await?);
    }
    // The server has read them all when it answers somebody who came last.
    server.client("agent")?.get("/healthz").await?.must(200)?;
    tokio::time::sleep(Duration::from_secs(3)).await;
    Ok(agents)
}

async fn request(server: &Server, path: &str, token: &str) -> Result<TcpStream> {
    let mut stream = TcpStream::connect(server.address()).await?;
    let head = format!("GET {path} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {token}\r\n\r\n", server.address());
    stream.write_all(head.as_bytes()).await?;
    Ok(stream)
}

/// Answers some of the questions, and how long it takes until the agent that waits knows, in milliseconds.
async fn wake(server: &Server, mut agents: Vec<TcpStream>, questions: &[(String, String)]) -> Result<f64> {
    let approver = server.client("approver")?;
    let mut times = Vec::new();
    for (agent, (id, digest)) in agents.iter_mut().zip(questions).step_by(100) {
        let begun = Instant::now();
        approver.answer(id, digest, "allow").await?.must(200)?;
        hear(agent, &mut Vec::new(), "\"answered\"").await?;
        times.push(begun.elapsed().as_secs_f64() * 1000.0);
    }
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().context("nobody was woken")
}

/// How fast many pages hear of new questions.
async fn fan_out(server: &Server) -> Result<Value> {
    let token = server.options().tokens.get("approver").context("no token")?;
    let mut listeners = Vec::with_capacity(LISTENERS);
    for _ in 0..LISTENERS {
        let mut stream = request(server, "/v1/events", token).await?;
        let mut heard = Vec::new();
        hear(&mut stream, &mut heard, "text/event-stream").await?;
        listeners.push((stream, heard));
    }
    let agent = server.client("agent")?;
    let begun = Instant::now();
    let mut last = String::new();
    for number in 0..EVENTS {
        last = agent.post("/v1/decide", &line(QUESTIONS + number)).await?.must(200)?.text("/approval/id")?;
    }
    for (stream, heard) in &mut listeners {
        hear(stream, heard, &last).await?;
    }
    let seconds = begun.elapsed().as_secs_f64();
    #[expect(clippy::cast_precision_loss, reason = "small whole numbers")]
    let rate = (LISTENERS * EVENTS) as f64 / seconds;
    Ok(json!({"listeners": LISTENERS, "events": EVENTS, "seconds": seconds, "rate": rate}))
}

/// Reads until the text was heard.
async fn hear(stream: &mut TcpStream, heard: &mut Vec<u8>, text: &str) -> Result<()> {
    let mut piece = [0; 16 * 1024];
    while !heard.windows(text.len()).any(|window| window == text.as_bytes()) {
        let length =
            tokio::time::timeout(Duration::from_secs(60), stream.read(&mut piece)).await.context("silence")??;
        ensure!(length > 0, "the stream ended: {}", String::from_utf8_lossy(heard));
        // What was heard long ago does not hold it.
        let overlap = heard.len().saturating_sub(text.len());
        heard.drain(..overlap);
        heard.extend_from_slice(piece.get(..length).unwrap_or_default());
    }
    Ok(())
}
