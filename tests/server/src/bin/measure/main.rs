//! What one `mayi serve` does on this machine, measured from outside: `cargo xtask bench server` builds everything,
//! starts this and writes what it prints, one JSON object, into the documentation.

mod approvals;
mod wrk;

use std::fs;
use std::io::Write as _;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use mayi_server_tests::{Client, Options, Postgres, Server, audit, raw, told};
use serde_json::{Value, json};

/// How many connections ask at once, in turn.
const CONNECTIONS: [usize; 5] = [1, 8, 32, 64, 128];

#[tokio::main]
#[expect(clippy::print_stdout, reason = "the figures are the output")]
async fn main() -> Result<()> {
    raw::raise_open_files()?;
    let sqlite = measured("sqlite", &Options::sqlite("bench-sqlite")?).await?;
    let postgres = Postgres::start()?;
    let postgres = measured("postgres", &Options::postgres("bench-postgres", &postgres.url())?).await?;
    println!("{}", json!({"sqlite": sqlite, "postgres": postgres, "flush_ms": flush()?}));
    Ok(())
}

/// What one flush of the disk takes by itself, in milliseconds: nothing durable is faster for one client alone.
fn flush() -> Result<f64> {
    let mut file = fs::File::create(scratch()?.join("flush"))?;
    let mut times = Vec::new();
    for _ in 0..200 {
        let begun = Instant::now();
        file.write_all(&[7; 4096])?;
        file.sync_data()?;
        times.push(begun.elapsed().as_secs_f64() * 1000.0);
    }
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().context("nothing was measured")
}

/// Everything about one store.
async fn measured(store: &str, options: &Options) -> Result<Value> {
    options.settings(&policy())?;
    let server = Server::start(options.clone())?;
    let mut decisions = Vec::new();
    for connections in CONNECTIONS {
        eprintln!("{store}: decisions over {connections} connections");
        decisions.push(decided(&server, connections).await?);
    }
    eprintln!("{store}: decisions without a session");
    let alone = wrk::run(&server, wrk::ALONE, 64)?;
    eprintln!("{store}: lines of batches");
    let lines = recorded(&server, "lines", wrk::LINES).await?;
    eprintln!("{store}: shipped records");
    let shipped = recorded(&server, "shipped", wrk::SHIPMENTS).await?;
    let auditor = server.client("auditor")?;
    let records = audit::verified(&auditor).await?;
    let size = fs::metadata(options.home.join("mayi.db")).map_or(0, |file| file.len());
    eprintln!("{store}: waiting approvals");
    // The same store; only memory is fresh.
    let waiting = approvals::waiting(&Server::start(server.end()?.0)?).await?;
    Ok(json!({
        "decisions": decisions, "alone": {"rate": alone.rate, "p99_ms": alone.p99}, "lines": lines, "shipped": shipped, "records": records, "bytes": size, "waiting": waiting,
    }))
}

/// A policy of the size that a team has.
fn policy() -> Value {
    let tools = ["git", "npm", "cargo", "make", "pytest", "kubectl", "terraform", "docker", "go", "python"];
    let allow: Vec<String> =
        tools.iter().flat_map(|tool| (0..8).map(move |n| format!("Bash({tool} task{n}:*)"))).collect();
    let deny: Vec<String> = tools.iter().map(|tool| format!("Bash({tool} destroy:*)")).collect();
    json!({"permissions": {"allow": allow, "deny": deny}})
}

/// Single decisions, each recorded before it is answered: what was answered and what is in the audit must agree.
async fn decided(server: &Server, connections: usize) -> Result<Value> {
    let auditor = server.client("auditor")?;
    let before = decisions(&auditor).await?;
    let run = wrk::run(server, wrk::DECIDE, connections)?;
    let after = decisions(&auditor).await?;
    ensure!(after - before >= run.requests, "{} were answered, {} are kept", run.requests, after - before);
    Ok(json!({"connections": connections, "rate": run.rate, "p50_ms": run.p50, "p99_ms": run.p99}))
}

/// Many records a request.
async fn recorded(server: &Server, name: &str, script: wrk::Script) -> Result<Value> {
    let auditor = server.client("auditor")?;
    let before = audit::verified(&auditor).await?;
    let run = wrk::run(server, script, 16)?;
    let after = audit::verified(&auditor).await?;
    #[expect(clippy::cast_precision_loss, reason = "a figure for people")]
    let (rate, batch) = (run.rate * script.records as f64, script.records);
    ensure!(after - before >= run.requests * batch, "{name}: {} answered, {} kept", run.requests, after - before);
    Ok(json!({"rate": rate, "batch": batch, "p50_ms": run.p50, "p99_ms": run.p99}))
}

/// The number of the newest record.
async fn decisions(auditor: &Client) -> Result<u64> {
    let newest = auditor.get("/v1/audit?limit=1").await?.must(200)?.json()?;
    let record = newest.pointer("/records/0").with_context(|| format!("no record: {newest}"))?;
    record.get("number").and_then(Value::as_u64).with_context(|| format!("no number: {record}"))
}

/// Where scripts and results are kept.
fn scratch() -> Result<std::path::PathBuf> {
    told("MAYI_SERVER_SCRATCH")
}
