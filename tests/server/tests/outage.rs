//! The store goes away under load: nothing is let through meanwhile, nothing is lost, and nobody has to do anything when
//! it is back.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use mayi_server_tests::load::{Crew, Load};
use mayi_server_tests::{Client, Ledger, Options, Postgres, Server, audit, until};

async fn status(client: &Client, path: &str) -> Result<u16> {
    Ok(client.get(path).await?.status)
}

#[tokio::test(flavor = "multi_thread")]
async fn while_postgresql_is_away_nothing_is_let_through_and_afterwards_nothing_is_lost() -> Result<()> {
    let postgres = Postgres::start()?;
    let server = Server::start(Options::postgres("away", &postgres.url())?)?;
    let (agent, approver, auditor) = (server.client("agent")?, server.client("approver")?, server.client("auditor")?);
    let asked = agent.decide("before", "npm install left-pad").await?.must(200)?;
    let (id, digest) = (asked.text("/approval/id")?, asked.text("/approval/digest")?);
    let ledger = Arc::new(Ledger::default());
    let crew = Crew { agent: agent.clone(), approver: approver.clone() };
    let load = Load::begin(&crew, "away", (8, &ledger));
    for round in 0..3 {
        load.decided(50).await?;
        // In order, and as after a loss of power.
        if round % 2 == 0 {
            postgres.stop()?
        } else {
            postgres.crash()?
        }
        load.refused(10).await?;
        assert_eq!(status(&agent, "/healthz").await?, 200, "the process lives");
        until("not ready", || async { Ok((status(&agent, "/readyz").await? == 503).then_some(())) }).await?;
        let begun = Instant::now();
        let refused = agent.decide("meanwhile", "git status").await?;
        assert_eq!(refused.status, 503, "nothing is decided that cannot be recorded: {refused:?}");
        assert!(begun.elapsed() < Duration::from_secs(30), "nothing blocks for long: {:?}", begun.elapsed());
        assert_eq!(approver.answer(&id, &digest, "allow").await?.status, 503, "nothing is answered meanwhile");
        postgres.start_again()?;
        until("ready again", || async { Ok((status(&agent, "/readyz").await? == 200).then_some(())) }).await?;
    }
    load.decided(50).await?;
    assert_eq!(load.end().await?, 0, "no connection to the server broke");
    approver.answer(&id, &digest, "deny").await?.must(200)?;
    ledger.told().agree(&audit::exported(&auditor).await?)?;
    audit::verified(&auditor).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_waits_through_an_outage_still_hears_the_answer() -> Result<()> {
    let postgres = Postgres::start()?;
    let server = Server::start(Options::postgres("waits", &postgres.url())?)?;
    let other = Server::start(Options {
        tokens: server.options().tokens.clone(),
        ..Options::postgres("other", &postgres.url())?
    })?;
    let asked = server.client("agent")?.decide("waits", "npm install left-pad").await?.must(200)?;
    let (id, digest) = (asked.text("/approval/id")?, asked.text("/approval/digest")?);
    let (waiter, path) = (server.client("agent")?, format!("/v1/approvals/{id}?wait_seconds=50"));
    let waiting = tokio::spawn(async move {
        // A wait that the outage ends is an error that says so; who asked waits again.
        until("the answer", || async {
            let reply = waiter.get(&path).await?;
            ensure!([200, 503].contains(&reply.status), "{reply:?}");
            Ok((reply.status == 200 && reply.text("/state")? == "answered").then_some(reply))
        })
        .await
    });
    postgres.stop()?;
    postgres.start_again()?;
    let approver = other.client("approver")?;
    until("the answer is taken", || async {
        Ok((approver.answer(&id, &digest, "allow").await?.status == 200).then_some(()))
    })
    .await?;
    let woken = tokio::time::timeout(Duration::from_secs(40), waiting).await.context("it was not woken")???;
    assert_eq!(woken.text("/answer/verdict")?, "allow");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_disk_that_is_full_lets_nothing_through_and_recovers_when_there_is_room() -> Result<()> {
    let mut options = Options::sqlite("full")?;
    // A small disk of its own, most of it taken by a file that can be removed later.
    let disk = options.home.join("disk");
    fs::create_dir_all(&disk)?;
    let place = disk.display();
    let script = format!(
        "mount -t tmpfs -o size=24m tmpfs '{place}' && head -c 20M /dev/zero > '{place}/ballast' && exec \"$@\""
    );
    options.before =
        ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", &script, "sh"].map(str::to_owned).into();
    options.store = format!("sqlite:{place}/mayi.db");
    let server = Server::start(options)?;
    let ledger = Arc::new(Ledger::default());
    let crew = Crew { agent: server.client("agent")?, approver: server.client("approver")? };
    let load = Load::begin(&crew, "full", (16, &ledger));
    load.refused(20).await?;
    let refused = crew.agent.decide("meanwhile", "git status").await?;
    ensure!(
        refused.status == 503 || refused.text("/verdict")? == "deny",
        "nothing unrecorded is let through: {refused:?}"
    );
    let ballast = Path::new("/proc").join(server.id().to_string()).join("root").join(format!(".{place}/ballast"));
    fs::remove_file(&ballast).with_context(|| ballast.display().to_string())?;
    load.decided(100).await?;
    assert_eq!(load.end().await?, 0, "no connection broke");
    let auditor = server.client("auditor")?;
    ledger.told().agree(&audit::exported(&auditor).await?)?;
    audit::verified(&auditor).await?;
    Ok(())
}
