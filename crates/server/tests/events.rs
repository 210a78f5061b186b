//! The stream of events through the routes.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod support;

use std::time::Duration;

use axum::http::Method;
use hyper::body::Body as _;
use serde_json::{Value, json};
use support::House;

/// A stream that is read.
struct Stream {
    body: axum::body::Body,
    heard: String,
}

impl Stream {
    async fn open(house: &House, who: &str) -> Self {
        let response = house.open(who, "/v1/events").await;
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Self { body: response.into_body(), heard: String::new() }
    }

    /// More of the stream; `None` at its end.
    async fn more(&mut self) -> Option<()> {
        let frame = std::future::poll_fn(|context| std::pin::Pin::new(&mut self.body).poll_frame(context));
        let frame = tokio::time::timeout(Duration::from_secs(30), frame).await.expect("nothing came")?;
        let piece = frame.unwrap().into_data().unwrap_or_default();
        self.heard.push_str(std::str::from_utf8(&piece).unwrap());
        Some(())
    }

    /// The data of the next event of a kind.
    async fn next(&mut self, kind: &str) -> Value {
        let begun = std::time::Instant::now();
        loop {
            // Signs of life come for ever.
            assert!(begun.elapsed() < Duration::from_secs(60), "no `{kind}` came");
            while let Some((block, rest)) = self.heard.split_once("\n\n") {
                let (block, rest) = (block.to_owned(), rest.to_owned());
                self.heard = rest;
                let field = |name: &str| block.lines().find_map(|line| line.strip_prefix(name).map(str::to_owned));
                if field("event: ").as_deref() == Some(kind) {
                    return serde_json::from_str(&field("data: ").unwrap()).unwrap();
                }
            }
            self.more().await.expect("the stream ended");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn questions_answers_sessions_and_decisions_are_told() {
    let house = House::with(json!({}));
    house.app.work();
    let mut stream = Stream::open(&house, "approver").await;
    let asked = house.decide("npm install x", json!({"session": "s"})).await;
    let told = stream.next("approval").await;
    assert_eq!((&told["id"], &told["state"]), (&asked["approval"]["id"], &json!("pending")));
    assert_eq!(told["approval"]["question"]["input"]["command"], "npm install x");
    house.answer("approver", &asked, json!({"verdict": "deny"})).await.must(200);
    let told = stream.next("approval").await;
    assert_eq!((&told["state"], &told["approval"]["answer"]["verdict"]), (&json!("answered"), &json!("deny")));
    house.decide("git status", json!({})).await;
    loop {
        let told = stream.next("recorded").await;
        let records = told["records"].as_array().unwrap();
        assert!(records.iter().all(|record| record["kind"] == "decision"), "an approver sees decisions: {told}");
        if records.iter().any(|record| record["input"]["command"] == "git status") {
            break;
        }
    }
    let patch = (Method::PATCH, "/v1/sessions/s");
    house.send("approver", patch, ("application/json", json!({"mode": "plan"}).to_string())).await.must(200);
    assert_eq!(stream.next("session").await["id"], "s");
    house.app.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_stream_ends_with_the_server_and_is_not_for_agents() {
    let house = House::with(json!({}));
    house.get("agent", "/v1/events").await.fails(403, "see");
    let mut stream = Stream::open(&house, "auditor").await;
    assert!(stream.more().await.is_some(), "it says when to come again");
    house.app.stop();
    while stream.more().await.is_some() {}
}

#[tokio::test(flavor = "multi_thread")]
async fn changed_settings_are_told_recorded_and_in_force() {
    let house = House::with(json!({}));
    house.app.work();
    let mut stream = Stream::open(&house, "approver").await;
    let before = house.get("approver", "/v1/policy").await.must(200);
    std::fs::write(house.settings_file(), json!({"permissions": {"deny": ["Bash(git:*)"]}}).to_string()).unwrap();
    let told = stream.next("policy").await;
    assert_ne!(told["version"], before["version"]);
    assert_eq!(house.decide("git status", json!({})).await["verdict"], "deny");
    // A broken edit leaves the last good policy in force, and says so.
    std::fs::write(house.settings_file(), "{ broken").unwrap();
    stream.next("policy").await;
    assert_eq!(house.decide("git status", json!({})).await["verdict"], "deny");
    let now = house.get("approver", "/v1/policy").await.must(200);
    assert_eq!(now["version"], told["version"]);
    assert!(now["problems"].to_string().contains("stale-settings"), "{}", now["problems"]);
    assert!(house.records("policy").await.len() >= 2);
    house.app.stop();
}
