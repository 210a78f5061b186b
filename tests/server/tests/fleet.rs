//! Three servers on one PostgreSQL behind a plain balancer of TCP connections: what one of them knows, all of them know.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use mayi_server_tests::load::{Crew, Load};
use mayi_server_tests::{Balancer, Client, Events, Ledger, Options, Postgres, Server, audit, until};
use serde_json::{Value, json};

/// A fleet, and the database it shares.
struct Fleet {
    servers: Vec<Server>,
    balancer: Balancer,
    // Last: it goes when nobody uses it any more.
    _postgres: Postgres,
}

impl Fleet {
    /// Starts three servers at once on an empty database, so that they race for its tables.
    async fn start(name: &str) -> Result<Self> {
        let postgres = Postgres::start()?;
        let mut launched = Vec::new();
        for number in 0..3 {
            launched.push(Server::launch(Options::postgres(&format!("{name}-{number}"), &postgres.url())?)?);
        }
        let mut servers = Vec::new();
        for server in launched {
            servers.push(server.ready()?);
        }
        let balancer = Balancer::before(servers.iter().map(Server::address).collect()).await?;
        Ok(Self { servers, balancer, _postgres: postgres })
    }

    /// A client of one server with the token of a role. Whichever server was first has shown the tokens.
    fn client(&self, server: usize, role: &str) -> Result<Client> {
        let base = self.servers.get(server).context("no such server")?.base();
        Ok(Client::stranger(&base)?.with(&self.token(role)?))
    }

    fn token(&self, role: &str) -> Result<String> {
        let tokens = self.servers.iter().find_map(|server| server.options().tokens.get(role));
        tokens.cloned().with_context(|| format!("nobody has shown a token for `{role}`"))
    }

    /// A client behind the balancer, whose every request may meet another server.
    fn anywhere(&self, role: &str) -> Result<Client> {
        Client::stranger(&self.balancer.base())?.with(&self.token(role)?).without_keeping()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn three_first_starts_race_for_the_tables_and_one_shows_the_tokens() -> Result<()> {
    let fleet = Fleet::start("first").await?;
    let shown: Vec<usize> = fleet.servers.iter().map(|server| server.options().tokens.len()).collect();
    assert_eq!(shown.iter().sum::<usize>(), 4, "each role's token is shown once: {shown:?}");
    for server in 0..3 {
        for (role, status) in [("agent", 200), ("approver", 200), ("admin", 200), ("auditor", 200)] {
            let me = fleet.client(server, role)?.get("/v1/me").await?.must(status)?;
            assert_eq!(me.text("/role")?, role);
        }
        assert_eq!(Client::stranger(&fleet.servers[server].base())?.get("/readyz").await?.status, 200);
    }
    // A bundle is signed by the fleet, not by a server.
    let mut keys = BTreeSet::new();
    for server in 0..3 {
        keys.insert(fleet.client(server, "agent")?.get("/v1/policy/key").await?.must(200)?.text("/key")?);
    }
    assert_eq!(keys.len(), 1, "{keys:?}");
    audit::verified(&fleet.client(0, "auditor")?).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_approval_made_on_one_and_answered_on_another_wakes_who_waits_on_the_third() -> Result<()> {
    let fleet = Fleet::start("wake").await?;
    let mut events = Events::listen(&fleet.client(2, "approver")?).await?;
    let asked = fleet.client(0, "agent")?.decide("wake-1", "npm install left-pad").await?.must(200)?;
    assert_eq!(asked.text("/verdict")?, "ask");
    let (id, digest) = (asked.text("/approval/id")?, asked.text("/approval/digest")?);
    // The third hears of it while it waits there already.
    let path = format!("/v1/approvals/{id}?wait_seconds=50");
    let waiter = fleet.client(2, "agent")?;
    let waiting = tokio::spawn(async move { waiter.get(&path).await });
    events.find(|event| event.kind == "approval" && event.data.to_string().contains(&id)).await?;
    let listed = fleet.client(1, "approver")?.get("/v1/approvals?state=pending").await?.must(200)?;
    assert!(listed.body.contains(&id), "{listed:?}");
    let answer = json!({"verdict": "allow", "digest": digest, "comment": "go on"});
    let path = format!("/v1/approvals/{id}/answer");
    fleet.client(1, "approver")?.post(&path, &answer).await?.must(200)?;
    let woken = tokio::time::timeout(Duration::from_secs(20), waiting).await.context("it was not woken")???;
    assert_eq!(
        (woken.status, woken.text("/state")?, woken.text("/answer/verdict")?),
        (200, "answered".into(), "allow".into())
    );
    // A second answer, on the server that never saw the first, gets the first one's result.
    let late = fleet.client(0, "approver")?.answer(&id, &digest, "deny").await?.must(200)?;
    assert_eq!((late.header("mayi-answered"), late.text("/answer/verdict")?), (Some("before"), "allow".to_owned()));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_decide_that_waits_on_one_is_settled_by_an_answer_on_another() -> Result<()> {
    let fleet = Fleet::start("settle").await?;
    let agent = fleet.client(0, "agent")?;
    let line = json!({"tool": "Bash", "input": {"command": "npm install left-pad"}, "cwd": "/w", "wait_seconds": 50});
    let deciding = tokio::spawn(async move { agent.post("/v1/decide", &line).await });
    let approver = fleet.client(1, "approver")?;
    let question = until("the question", || async {
        let list = approver.get("/v1/approvals?state=pending").await?.must(200)?.json()?;
        Ok(list.pointer("/approvals/0").or_else(|| list.pointer("/0")).cloned())
    })
    .await?;
    let text = |pointer: &str| question.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (id, digest) = (text("/id"), text("/question/digest"));
    let answer = json!({"verdict": "deny", "digest": digest, "comment": "use the vendored one"});
    approver.post(&format!("/v1/approvals/{id}/answer"), &answer).await?.must(200)?;
    let decided = deciding.await??.must(200)?;
    assert_eq!((decided.text("/verdict")?, decided.text("/step")?), ("deny".to_owned(), "4e".to_owned()));
    assert!(decided.text("/message")?.contains("use the vendored one"), "{decided:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_killed_takes_nothing_with_it() -> Result<()> {
    let mut fleet = Fleet::start("kill").await?;
    let asked = fleet.client(0, "agent")?.decide("kill-1", "npm install left-pad").await?.must(200)?;
    let (id, digest) = (asked.text("/approval/id")?, asked.text("/approval/digest")?);
    let ledger = Arc::new(Ledger::default());
    let crew = Crew { agent: fleet.anywhere("agent")?, approver: fleet.anywhere("approver")? };
    let load = Load::begin(&crew, "kill", (12, &ledger));
    load.decided(60).await?;
    let auditor = fleet.anywhere("auditor")?;
    let tokens = fleet.token("approver")?;
    fleet.servers.remove(0).kill()?;
    // Those whose connection broke with the server come again, as agents do.
    let more = Load::begin(&crew, "after", (6, &ledger));
    more.decided(60).await?;
    load.end().await?;
    assert_eq!(more.end().await?, 0, "the balancer passes the dead server over");
    let settled = Client::stranger(&fleet.balancer.base())?.with(&tokens).without_keeping()?;
    settled.answer(&id, &digest, "allow").await?.must(200)?;
    ledger.told().agree(&audit::exported(&auditor).await?)?;
    audit::verified(&auditor).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn counters_are_exact_wherever_a_denial_is_counted() -> Result<()> {
    const EACH: usize = 20;
    let fleet = Fleet::start("count").await?;
    let session = json!({"id": "counted", "agent": "test", "directory": "/w", "host": "h", "mode": "dontAsk"});
    fleet.client(0, "agent")?.post("/v1/sessions", &session).await?.must(201)?;
    let mut deciding = Vec::new();
    for server in 0..3 {
        let agent = fleet.client(server, "agent")?;
        deciding.push(tokio::spawn(async move {
            let mut denied = 0;
            for number in 0..EACH {
                let call = format!("count-{server}-{number}");
                let line = json!({
                    "tool": "Bash", "input": {"command": "npm install left-pad"}, "cwd": "/w",
                    "session": "counted", "call_id": call,
                });
                let reply = agent.post("/v1/decide", &line).await?.must(200)?;
                denied += usize::from(reply.text("/verdict")? == "deny");
            }
            anyhow::Ok(denied)
        }));
    }
    let mut denied = 0;
    for task in deciding {
        denied += task.await??;
    }
    assert_eq!(denied, 3 * EACH);
    let records = audit::exported(&fleet.client(1, "auditor")?).await?;
    let kept = records.iter().filter(|record| record["kind"] == "decision" && record["session"] == "counted").count();
    assert_eq!(kept, 3 * EACH);
    let session = fleet.client(2, "approver")?.get("/v1/sessions/counted").await?.must(200)?;
    ensure!(session.json()?.to_string().contains("counted"), "{session:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_ended_on_one_decides_nothing_on_another() -> Result<()> {
    let fleet = Fleet::start("end").await?;
    let session = json!({"id": "ended", "agent": "test", "directory": "/w", "host": "h"});
    fleet.client(0, "agent")?.post("/v1/sessions", &session).await?.must(201)?;
    let line = json!({"tool": "Bash", "input": {"command": "git status"}, "cwd": "/w", "session": "ended"});
    let before = fleet.client(1, "agent")?.post("/v1/decide", &line).await?.must(200)?;
    assert_eq!(before.text("/verdict")?, "allow");
    let gone = fleet.client(2, "approver")?.send(reqwest::Method::DELETE, "/v1/sessions/ended", (&[], "")).await?;
    assert!((200..300).contains(&gone.status), "{gone:?}");
    let after = fleet.client(1, "agent")?.post("/v1/decide", &line).await?;
    assert!(after.status != 200 || after.text("/verdict")? == "deny", "an ended session decides nothing: {after:?}");
    Ok(())
}
