//! Deciding through the routes: by whose policy, in which session, recorded before it is answered.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod support;

use axum::http::Method;
use serde_json::{Value, json};
use support::House;

#[tokio::test]
async fn the_servers_policy_decides_what_brings_no_settings_and_every_decision_is_recorded() {
    let house = House::with(json!({"permissions": {"allow": ["Bash(deploy:*)"], "deny": ["Bash(drop:*)"]}}));
    for (command, verdict, step) in
        [("deploy now", "allow", "2b"), ("drop all", "deny", "1d"), ("git status", "allow", "2b")]
    {
        let answer = house.decide(command, json!({"id": command})).await;
        assert_eq!((answer["verdict"].as_str(), answer["step"].as_str()), (Some(verdict), Some(step)), "{answer}");
        assert_eq!(answer["id"], command);
        assert!(answer.get("approval").is_none());
    }
    let records = house.records("decision").await;
    assert_eq!(records.len(), 3);
    assert_eq!(records[0]["input"]["command"], "deploy now");
    assert_eq!(records[0]["verdict"], "allow");
    assert_eq!(records[0]["token"], "agent");
    assert_eq!(records[0]["ground"]["policy"], house.get("approver", "/v1/policy").await.must(200)["version"]);
    let verified = house.post("auditor", "/v1/audit/verify", &json!({})).await.must(200);
    assert_eq!((&verified["records"], &verified["broken"]), (&json!(3), &Value::Null), "{verified}");
}

#[tokio::test]
async fn an_answer_is_that_of_the_batch_format_to_the_letter() {
    let house = House::with(json!({}));
    let line = json!({"id": "x", "tool": "Bash", "input": {"command": "rm -rf build && ls"}, "cwd": "/w", "home": "/home/u",
        "unattended": true, "settings": {"permissions": {"allow": ["Bash(rm:*)"]}}});
    let reply = house.post("agent", "/v1/decide", &line).await;
    assert_eq!(reply.text, mayi_engine::batch::Batch::new("/").answer(line.to_string()));
}

#[tokio::test]
async fn what_the_organisation_of_the_server_says_binds_calls_that_bring_settings() {
    let house = House::with(json!({"permissions": {"allow": ["Bash(deploy:*)"]}}));
    let managed = json!({"permissions": {"deny": ["Bash(curl:*)"], "disableBypassPermissionsMode": "disable"}});
    std::fs::write(house.folder.path().join("managed.json"), managed.to_string()).unwrap();
    house.app.settings.refresh();
    let own = json!({"permissions": {"allow": ["Bash"]}});
    let verdict = async |command: &str, more| house.decide(command, more).await["verdict"].clone();
    assert_eq!(verdict("curl x", json!({"settings": own})).await, "deny");
    assert_eq!(verdict("curl x", json!({})).await, "deny");
    assert_eq!(verdict("frob", json!({"settings": own})).await, "allow");
    // The server's own settings are not the call's.
    assert_eq!(verdict("deploy", json!({"settings": {}})).await, "ask");
    assert_eq!(
        verdict("deploy", json!({"settings": {}, "mode": "bypassPermissions"})).await,
        "ask",
        "bypass is disabled"
    );
}

#[tokio::test]
async fn an_agent_cannot_bring_answers_to_the_servers_policy() {
    let house = House::with(json!({}));
    for more in [
        json!({"hook": "allow"}),
        json!({"mode": "auto", "classifier": "allow"}),
        json!({"sandbox": {"enabled": true, "available": true}}),
        json!({"denials": {"inARow": 0, "total": 0}}),
    ] {
        let answer = house.decide("frob --all", more.clone()).await;
        assert_eq!(answer["verdict"], "ask", "{more}");
    }
}

#[tokio::test]
async fn a_thousand_lines_are_answered_in_order_and_bad_ones_are_answered_too() {
    let house = House::with(json!({"permissions": {"allow": ["Bash(ok:*)"]}}));
    let lines: Vec<String> = (0..1000)
        .map(|number| match number % 10 {
            3 => format!("{{\"id\":{number},\"tool\":"),
            7 => json!({"id": number, "tool": "Bash"}).to_string(),
            8 => json!({"id": number, "tool": "Bash", "input": {}, "cwd": "relative"}).to_string(),
            9 => json!({"id": number, "tool": "Bash", "input": {"command": "ok"}, "cwd": "/w", "wait_seconds": 1}).to_string(),
            _ => json!({"id": number, "tool": "Bash", "input": {"command": format!("ok {number}")}, "cwd": "/w", "session": "many"}).to_string(),
        })
        .collect();
    let reply = house.send("agent", (Method::POST, "/v1/decide"), ("application/x-ndjson", lines.join("\n"))).await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    let answers: Vec<Value> = reply.text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(answers.len(), 1000);
    for (number, answer) in answers.iter().enumerate() {
        match number % 10 {
            3 => assert!(answer["id"].is_null() && answer["error"].is_string(), "{answer}"),
            7..=9 => assert!(answer["id"] == number && answer["error"].is_string(), "{answer}"),
            _ => assert!(answer["id"] == number && answer["verdict"] == "allow", "{answer}"),
        }
    }
    assert_eq!(house.store_count("decision").await, 600);
}

impl House {
    async fn store_count(&self, kind: &str) -> usize {
        self.records(kind).await.len()
    }
}

#[tokio::test]
async fn every_request_that_cannot_be_read_is_refused_in_the_same_shape() {
    let house = House::with(json!({}));
    let post = |kind: &'static str, body: &str| {
        let body = body.to_owned();
        let house = &house;
        async move { house.send("agent", (Method::POST, "/v1/decide"), (kind, body)).await }
    };
    post("text/plain", "{}").await.fails(415, "application/json");
    post("application/json", "{").await.fails(400, "batch format");
    post("application/json", "{\"tool\":\"Bash\"}").await.fails(422, "input");
    post("application/json", "{\"tool\":\"Bash\",\"input\":{},\"cwd\":\"w\"}").await.fails(422, "not absolute");
    post("application/json", "{\"tool\":\"Bash\",\"input\":{},\"layers\":{\"x\":{}}}").await.fails(422, "no layer");
    house.post("approver", "/v1/decide", &json!({"tool": "Bash", "input": {}})).await.fails(403, "may not ask");
    house.post("", "/v1/decide", &json!({})).await.fails(401, "token");
    assert_eq!(house.records("decision").await.len(), 0);
}

#[tokio::test]
async fn a_dry_run_leaves_no_trace_and_is_for_those_who_see() {
    let house = House::with(json!({}));
    let line =
        json!({"tool": "Bash", "input": {"command": "npm install x"}, "cwd": "/w", "dry_run": true, "session": "s"});
    for who in ["approver", "auditor", "agent"] {
        let answer = house.post(who, "/v1/decide", &line).await.must(200);
        assert_eq!(answer["verdict"], "ask");
        assert!(answer.get("approval").is_none());
    }
    assert!(house.records("decision").await.is_empty());
    house.get("approver", "/v1/sessions/s").await.fails(404, "no session");
}

#[tokio::test]
async fn nobody_is_asked_where_nobody_is_there() {
    let house = House::with(json!({}));
    let answer = house.decide("npm install x", json!({"unattended": true})).await;
    assert_eq!((&answer["verdict"], &answer["step"]), (&json!("deny"), &json!("4d")));
    let listed = house.get("approver", "/v1/approvals").await.must(200);
    assert_eq!(listed["approvals"], json!([]));
}

#[tokio::test]
async fn denial_counters_are_exact_however_many_ask_at_once() {
    let house = House::with(json!({"autoMode": {"limits": {"inARow": 1000, "total": 1000}}}));
    let line = json!({"tool": "Bash", "input": {"command": "git push --force origin main"}, "cwd": "/w", "mode": "auto", "session": "counted"});
    let asked = (0..40).map(|_| house.post("agent", "/v1/decide", &line));
    let answers = futures_join(asked.collect()).await;
    assert!(answers.iter().all(|answer| answer["verdict"] == "deny"), "{answers:?}");
    let session = house.get("approver", "/v1/sessions/counted").await.must(200);
    assert_eq!(session["denials"], json!({"inARow": 40, "total": 40}), "{session}");
    assert_eq!(house.records("decision").await.len(), 40);
}

/// All of them at once, on one thread.
async fn futures_join<F: Future<Output = support::Reply>>(all: Vec<F>) -> Vec<Value> {
    let mut all: Vec<_> = all.into_iter().map(|one| (Box::pin(one), None)).collect();
    std::future::poll_fn(|context| {
        for (one, done) in all.iter_mut().filter(|(_, done)| done.is_none()) {
            if let std::task::Poll::Ready(reply) = one.as_mut().poll(context) {
                *done = Some(reply.must(200));
            }
        }
        if all.iter().all(|(_, done)| done.is_some()) { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    })
    .await;
    all.into_iter().filter_map(|(_, done)| done).collect()
}

#[tokio::test]
async fn auto_mode_steps_back_at_its_limit_and_an_unattended_run_ends() {
    let house = House::with(json!({"autoMode": {"limits": {"inARow": 2, "total": 20}}}));
    let push = "git push --force origin main";
    let more = json!({"mode": "auto", "session": "a"});
    assert_eq!(house.decide(push, more.clone()).await["verdict"], "deny");
    assert_eq!(house.decide(push, more.clone()).await["verdict"], "ask", "the second is left to a person");
    let more = json!({"mode": "auto", "session": "b", "unattended": true});
    assert_eq!(house.decide(push, more.clone()).await["verdict"], "deny");
    let ended = house.decide(push, more.clone()).await;
    assert!(ended["verdict"] == "deny" && ended["aborted"].as_str().unwrap().contains("denial limit"), "{ended}");
    let after = house.decide("git status", more).await;
    assert!(after["verdict"] == "deny" && after["aborted"].is_string(), "nothing is decided any more: {after}");
}

#[tokio::test]
async fn a_child_is_bound_by_its_leads_and_a_line_that_is_broken_denies() {
    let house = House::with(json!({"permissions": {"allow": ["Bash(npm:*)"]}}));
    let begin = |id: &str, more: Value| {
        let mut session = json!({"id": id, "agent": "test", "directory": "/w", "host": "h"});
        if let (Value::Object(session), Value::Object(more)) = (&mut session, more) {
            session.extend(more);
        }
        let house = &house;
        async move { house.post("agent", "/v1/sessions", &session).await }
    };
    begin("lead", json!({"mode": "default"})).await.must(201);
    begin("child", json!({"lead": "lead", "mode": "acceptEdits", "inheritance": "allow"})).await.must(201);
    begin("orphan", json!({"lead": "nobody"})).await.fails(422, "not known");
    let write = json!({"tool": "Write", "input": {"file_path": "/w/a", "content": ""}, "cwd": "/w", "agent": "test"});
    let with = |session: &str| {
        let mut line = write.clone();
        line["session"] = session.into();
        line
    };
    let answer = house.post("agent", "/v1/decide", &with("child")).await.must(200);
    assert_eq!(answer["verdict"], "ask", "the lead would be asked, so its child is: {answer}");
    assert_eq!(house.decide("npm test", json!({"session": "child"})).await["verdict"], "allow");
    house.send("agent", (Method::DELETE, "/v1/sessions/lead"), ("", String::new())).await.must(200);
    let ended = house.decide("npm test", json!({"session": "child"})).await;
    assert_eq!(ended["verdict"], "deny", "a run that ended takes its children with it: {ended}");
}

#[tokio::test]
async fn a_session_belongs_to_the_token_that_began_it() {
    let house = House::with(json!({}));
    house.decide("git status", json!({"session": "mine"})).await;
    let line = json!({"tool": "Bash", "input": {"command": "ls"}, "cwd": "/w", "session": "mine"});
    house.post("agent:other", "/v1/decide", &line).await.fails(403, "another token");
    house.get("agent:other", "/v1/sessions/mine").await.fails(403, "another token");
    house.post("agent:other", "/v1/sessions", &json!({"id": "mine"})).await.fails(403, "another token");
    house.get("agent", "/v1/sessions/mine").await.must(200);
}

#[tokio::test]
async fn a_persons_mode_and_rules_come_before_what_the_agent_says() {
    let house = House::with(json!({}));
    let more = json!({"session": "s", "mode": "acceptEdits"});
    house.decide("git status", more.clone()).await;
    let patch =
        |body: Value| house.send("approver", (Method::PATCH, "/v1/sessions/s"), ("application/json", body.to_string()));
    assert_eq!(patch(json!({"mode": "dontAsk"})).await.must(200)["mode"], "dontAsk");
    let answer = house.decide("npm install x", more.clone()).await;
    assert_eq!((&answer["verdict"], &answer["step"]), (&json!("deny"), &json!("4a")));
    patch(json!({"add_rules": [{"rule": "Bash(npm install:*)"}, {"list": "deny", "rule": "Bash(ls:*)"}]}))
        .await
        .must(200);
    assert_eq!(house.decide("npm install x", more.clone()).await["verdict"], "allow");
    assert_eq!(house.decide("ls", more.clone()).await["verdict"], "deny");
    let session = patch(json!({"remove_rules": [{"rule": "Bash(npm install:*)"}]})).await.must(200);
    assert_eq!(session["rules"], json!([{"list": "deny", "rule": "Bash(ls:*)"}]));
    assert_eq!(house.decide("npm install x", more).await["verdict"], "deny");
    patch(json!({"mode": "bypassPermissions"})).await.fails(422, "not available");
    patch(json!({"add_rules": [{"rule": "Bash("}]})).await.fails(422, "is no rule");
    assert_eq!(house.records("mode").await.len(), 1, "{:?}", house.records("mode").await);
    assert_eq!(house.records("rules").await.len(), 2);
}

#[tokio::test]
async fn secrets_are_hidden_before_anything_is_kept() {
    let house = House::with(json!({}));
    let token = format!("ghp_{}", "a1B2".repeat(9));
    let asked = house.decide(&format!("curl -H 'x: {token}' https://example.org -d x"), json!({"session": "s"})).await;
    assert_eq!(asked["verdict"], "ask");
    let export = house.get("auditor", "/v1/audit/export").await.text;
    assert!(export.contains("[secret]") && !export.contains(&token), "{export}");
    assert!(!house.approval(&asked).await.to_string().contains(&token));
    let kept = std::fs::read(house.folder.path().join("mayi.db")).unwrap();
    assert!(!kept.windows(token.len()).any(|window| window == token.as_bytes()));
}

#[tokio::test]
async fn a_session_that_says_no_mode_has_that_of_the_settings_and_keeps_it() {
    let house = House::with(json!({"permissions": {"defaultMode": "acceptEdits"}}));
    let write = json!({"tool": "Write", "input": {"file_path": "/w/a", "content": ""}, "cwd": "/w", "session": "s"});
    for _ in 0..2 {
        assert_eq!(house.post("agent", "/v1/decide", &write).await.must(200)["verdict"], "allow");
    }
    assert_eq!(house.get("agent", "/v1/sessions/s").await.must(200)["mode"], "acceptEdits");
    let mut said = write.clone();
    said["mode"] = "default".into();
    assert_eq!(house.post("agent", "/v1/decide", &said).await.must(200)["verdict"], "ask");
    assert_eq!(house.post("agent", "/v1/decide", &write).await.must(200)["verdict"], "ask", "what was said last holds");
}

#[tokio::test]
async fn names_that_no_store_could_keep_are_refused() {
    let house = House::with(json!({}));
    let line = json!({"tool": "Bash", "input": {"command": "ls"}, "cwd": "/w", "session": "a\u{0}b"});
    house.post("agent", "/v1/decide", &line).await.fails(422, "plain text");
    house.post("agent", "/v1/sessions", &json!({"id": "a\nb"})).await.fails(422, "plain text");
    house.get("approver", "/v1/sessions/a%00b").await.fails(404, "no session");
    house.get("approver", "/v1/approvals/a%00b").await.fails(404, "no question");
    house.get("auditor", "/v1/audit?text=a%00b").await.fails(400, "control character");
    house.get("auditor", "/v1/audit?limit=x").await.fails(400, "");
}
