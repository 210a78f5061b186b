//! What settings say is too old is forgotten by a running server, on both stores; the rest still proves itself, and says
//! from where.
#![allow(clippy::indexing_slicing, reason = "a test fails by panicking")]

use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, ensure};
use mayi_server::store::{self, NewRecord};
use mayi_server_tests::{Options, Postgres, Server, audit, until};
use serde_json::{Value, json};

const DAY: u64 = 24 * 60 * 60 * 1000;

/// A decision of so many days ago.
fn record(days: u64) -> Result<NewRecord> {
    let now = u64::try_from(SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis())?;
    let text =
        json!({"at": now - days * DAY, "kind": "decision", "session": format!("{days} days"), "verdict": "allow"});
    Ok(NewRecord::of(text.to_string())?)
}

/// What `mayi audit verify --server` says, and how it ends.
fn verified(server: &Server, more: &[&str]) -> Result<(Option<i32>, String)> {
    let base = server.base();
    let words = [&["audit", "verify", "--server", &base], more].concat();
    let token = server.options().tokens.get("auditor").context("no token")?;
    let output = server.options().command(&words)?.env("MAYI_SERVER_TOKEN", token).output()?;
    Ok((output.status.code(), String::from_utf8(output.stdout)? + &String::from_utf8(output.stderr)?))
}

/// A store with records of five days, of which a server forgets what is older than ten.
async fn forgets(options: Options) -> Result<()> {
    let kept = store::open(&options.store).await?;
    for days in [40, 39, 11, 9, 1] {
        kept.append(vec![record(days)?, record(days)?]).await?;
    }
    drop(kept);
    options.settings(&json!({"audit": {"retentionDays": 10}}))?;
    let server = Server::start(options)?;
    let auditor = server.client("auditor")?;
    let found = until("forgetting", async || {
        let found = auditor.post("/v1/audit/verify", &Value::Null).await?.must(200)?.json()?;
        Ok(Some(found).filter(|found| found["first"] == 7))
    });
    let found = found.await?;
    ensure!(found["broken"].is_null(), "{found}");
    let exported = audit::exported(&auditor).await?;
    assert_eq!(exported[0]["session"], "9 days", "the first that is kept");
    ensure!(exported.iter().all(|one| one["session"] != "11 days"), "{exported:#?}");
    let (code, said) = verified(&server, &[])?;
    ensure!(code == Some(0) && said.contains("from record 7 on; older ones are no longer kept"), "{code:?}: {said}");
    let (code, said) = verified(&server, &["--json"])?;
    let told: Value = serde_json::from_str(&said)?;
    assert_eq!((code, &told["first"], &told["broken"]), (Some(0), &json!(7), &Value::Null));
    ensure!(said.contains(found["head"].as_str().context("no head")?), "{said}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn old_records_are_forgotten_and_the_rest_of_the_file_verifies() -> Result<()> {
    forgets(Options::sqlite("retention")?).await
}

#[tokio::test(flavor = "multi_thread")]
async fn old_records_are_forgotten_and_the_rest_of_the_database_verifies() -> Result<()> {
    let cluster = Postgres::start()?;
    forgets(Options::postgres("retention-postgres", &cluster.url())?).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broken_chain_of_a_server_is_named_by_its_record() -> Result<()> {
    let cluster = Postgres::start()?;
    let server = Server::start(Options::postgres("retention-broken", &cluster.url())?)?;
    for number in 0..5 {
        server.client("agent")?.decide(&format!("c{number}"), "ls").await?.must(200)?;
    }
    let (code, said) = verified(&server, &[])?;
    ensure!(code == Some(0) && said.starts_with("whole") && !said.contains("from record"), "{code:?}: {said}");
    cluster.sql("update mayi.record set text = replace(text, 'c3', 'cX') where text like '%\"c3\"%'")?;
    let (code, said) = verified(&server, &[])?;
    let number = cluster.sql("select number from mayi.record where text like '%\"cX\"%'")?;
    let place = format!("--> record {} at ", number.trim());
    ensure!(code == Some(1) && said.contains(&place), "{code:?}: {said}, {number}");
    Ok(())
}
