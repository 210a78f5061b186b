//! A server that is killed under load, again and again: what it answered is kept, what it did not answer may be lost.

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use blake2::{Blake2b256, Digest as _};
use mayi_server_tests::load::{Crew, Load};
use mayi_server_tests::{Ledger, Options, Server, audit};

/// How often the server is killed.
const ROUNDS: usize = 50;
/// How many clients ask at once.
const WORKERS: usize = 24;

#[tokio::test(flavor = "multi_thread")]
async fn nothing_that_was_answered_is_lost_when_the_server_is_killed_fifty_times() -> Result<()> {
    let ledger = Arc::new(Ledger::default());
    let mut options = Options::sqlite("killed")?;
    for round in 0..ROUNDS {
        let server = Server::start(options).with_context(|| format!("start {round}"))?;
        let auditor = server.client("auditor")?;
        audit::verified(&auditor).await.with_context(|| format!("after kill {round}"))?;
        let crew = Crew { agent: server.client("agent")?, approver: server.client("approver")? };
        let load = Load::begin(&crew, &format!("round{round}"), (WORKERS, &ledger));
        // Never at the same point of the work.
        load.decided(150 + round * 37 % 90).await?;
        options = server.kill()?;
        load.end().await?;
    }
    let server = Server::start(options)?;
    let auditor = server.client("auditor")?;
    let text = audit::exported_text(&auditor).await?;
    let told = ledger.told();
    told.agree(&audit::lines(&text)?)?;
    ensure!(
        told.decided.len() >= ROUNDS * 150 && told.settled.len() >= ROUNDS * 20,
        "too little was tried: {}",
        told.decided.len()
    );
    assert_eq!(told.refused, 0, "SQLite was never away");
    let records = audit::verified(&auditor).await?;
    assert_eq!(u64::try_from(text.lines().count())?, records);
    chained(&text)?;
    // Every approval stands as it was told.
    for (id, verdict) in told.settled.iter().step_by(17) {
        let kept = server.client("approver")?.get(&format!("/v1/approvals/{id}")).await?.must(200)?;
        assert_eq!((kept.text("/state")?, kept.text("/answer/verdict")?), ("answered".to_owned(), verdict.clone()));
    }
    Ok(())
}

/// Follows the chain as somebody would who has nothing but the export: each link is made of the one before and of the
/// line without its own.
fn chained(text: &str) -> Result<()> {
    let mut before = [0_u8; 32];
    for (number, line) in text.lines().enumerate() {
        let (record, link) = line.rsplit_once(",\"link\":\"").with_context(|| format!("no link: {line}"))?;
        before = Blake2b256::new().chain_update(before).chain_update(record).chain_update("}").finalize().into();
        let expected: String = before.iter().map(|byte| format!("{byte:02x}")).collect();
        ensure!(link.trim_end_matches("\"}") == expected, "line {} does not follow: {line}", number + 1);
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_asked_to_end_finishes_what_it_began() -> Result<()> {
    let ledger = Arc::new(Ledger::default());
    let server = Server::start(Options::sqlite("ended")?)?;
    let crew = Crew { agent: server.client("agent")?, approver: server.client("approver")? };
    let load = Load::begin(&crew, "ended", (8, &ledger));
    load.decided(100).await?;
    let (options, status) = server.end()?;
    load.end().await?;
    assert!(status.success(), "{status}");
    let server = Server::start(options)?;
    let auditor = server.client("auditor")?;
    ledger.told().agree(&audit::exported(&auditor).await?)?;
    audit::verified(&auditor).await?;
    Ok(())
}
