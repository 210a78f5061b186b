//! The policy, the audit and the figures through the routes.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod support;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::signature::{ED25519, UnparsedPublicKey};
use serde_json::{Value, json};
use support::House;

#[tokio::test]
async fn every_rule_is_shown_with_its_place_and_whether_it_counts() {
    let house =
        House::of_text("{\n  \"permissions\": {\"allow\": [\"Bash(make:*)\", \"Bash(\"], \"deny\": [\"Write(x)\"]}\n}");
    let shown = house.get("auditor", "/v1/policy").await.must(200);
    let rule = |text: &str| {
        let rules = shown["rules"].as_array().unwrap();
        rules.iter().find(|rule| rule["rule"] == text).cloned().unwrap_or_else(|| panic!("{text}: {shown}"))
    };
    assert_eq!(rule("Bash(make:*)")["status"], "active");
    assert_eq!(
        (&rule("Bash(make:*)")["origin"]["layer"], &rule("Bash(make:*)")["origin"]["line"]),
        (&json!("user"), &json!(2))
    );
    assert_ne!(rule("Bash(")["status"], "active");
    assert_ne!(rule("Write(x)")["status"], "active");
    assert!(shown["problems"].as_array().is_some_and(|problems| !problems.is_empty()));
    let lint = house.get("approver", "/v1/policy/lint").await.must(200);
    assert!(lint.as_array().unwrap().iter().any(|finding| finding["code"] == "malformed-rule"), "{lint}");
}

#[tokio::test]
async fn a_bundle_is_signed_and_fetched_once() {
    let house = House::with(json!({"permissions": {"allow": ["Bash(mine:*)"]}}));
    let managed = json!({"permissions": {"deny": ["Bash(curl:*)"]}});
    std::fs::write(house.folder.path().join("managed.json"), managed.to_string()).unwrap();
    house.app.settings.refresh();
    let reply = house.get("agent", "/v1/policy/bundle").await;
    assert_eq!(reply.status, 200, "{reply:?}");
    let key = house.get("", "/v1/policy/key").await.must(200)["key"].as_str().unwrap().to_owned();
    let key = UnparsedPublicKey::new(&ED25519, STANDARD.decode(key).unwrap());
    let signature = STANDARD.decode(reply.signature.as_ref().unwrap()).unwrap();
    key.verify(reply.text.as_bytes(), &signature).unwrap();
    assert!(key.verify(reply.text.replace("curl", "wget").as_bytes(), &signature).is_err());
    let bundle = reply.json();
    assert_eq!(bundle["settings"], managed, "the organisation's part, and nobody else's");
    let etag = reply.etag.unwrap();
    let request = axum::extract::Request::builder().uri("/v1/policy/bundle").header("who", "agent");
    let again = house.call(request.header("if-none-match", &etag).body(axum::body::Body::empty()).unwrap()).await;
    assert_eq!(again.status(), 304);
    std::fs::write(house.folder.path().join("managed.json"), "{}").unwrap();
    house.app.settings.refresh();
    assert_ne!(house.get("agent", "/v1/policy/bundle").await.etag.unwrap(), etag);
    house.get("approver", "/v1/policy/bundle").await.fails(403, "may not ask");
}

#[tokio::test]
async fn records_of_clients_are_taken_once_in_order_and_from_their_own_token() {
    let house = House::with(json!({}));
    let token = format!("ghp_{}", "a1B2".repeat(9));
    let record = |number: u64| {
        json!({"v": 1, "at": 1_700_000_000_000_u64 + number, "kind": "decision", "agent": "c", "session": "local", "tool": "Bash",
            "input": {"command": format!("x {number} {token}")}, "verdict": "allow", "step": "2b", "link": "ab"})
    };
    let ship = |who: &'static str, first: u64, count: u64| {
        let records: Vec<Value> = (first..first + count).map(record).collect();
        let shipment = json!({"source": "laptop", "first": first, "records": records});
        let house = &house;
        async move { house.post(who, "/v1/audit", &shipment).await }
    };
    assert_eq!(ship("agent", 1, 3).await.must(200), json!({"next": 4}));
    assert_eq!(ship("agent", 1, 3).await.must(200), json!({"next": 4}), "sending again changes nothing");
    assert_eq!(ship("agent", 2, 4).await.must(200), json!({"next": 6}));
    ship("agent", 9, 1).await.fails(409, "wanted is 6");
    ship("agent:other", 6, 1).await.fails(403, "another token");
    let records = house.records("decision").await;
    assert_eq!(records.len(), 5);
    assert!(records.iter().all(|record| record["source"] == "laptop" && record["link"] != "ab"), "{records:?}");
    assert!(!house.get("auditor", "/v1/audit/export").await.text.contains(&token));
    for (bad, words) in [
        (json!({"source": "../x", "first": 1, "records": []}), "source"),
        (json!({"source": "b", "first": 1, "records": [7]}), "not an object"),
        (json!({"source": "b", "first": 1, "records": [{"kind": "token", "at": 1}]}), "unknown kind"),
        (json!({"source": "b", "first": 1, "records": [{"kind": "decision"}]}), "no time"),
    ] {
        house.post("agent", "/v1/audit", &bad).await.fails(422, words);
    }
}

#[tokio::test]
async fn the_audit_is_filtered_paged_exported_and_verified() {
    let house = House::with(json!({"permissions": {"deny": ["Bash(drop:*)"]}}));
    for number in 0..12 {
        let command = if number % 3 == 0 { format!("drop {number}") } else { format!("echo {number}") };
        house.decide(&command, json!({"session": format!("s{}", number % 2)})).await;
    }
    let count = async |query: &str| {
        let found = house.get("auditor", &format!("/v1/audit?kind=decision&{query}")).await.must(200);
        found["records"].as_array().unwrap().len()
    };
    assert_eq!((count("verdict=deny").await, count("session=s0").await, count("text=drop%206").await), (4, 6, 1));
    let first = house.get("approver", "/v1/audit?kind=decision&limit=5").await.must(200);
    let next = first["next"].as_u64().unwrap();
    let second = house.get("approver", &format!("/v1/audit?kind=decision&limit=100&before={next}")).await.must(200);
    assert_eq!((second["records"].as_array().unwrap().len(), &second["next"]), (7, &Value::Null));
    house.get("approver", "/v1/audit").await.fails(403, "read the audit");
    house.get("agent", "/v1/audit?kind=decision").await.fails(403, "see");
    let export = house.get("auditor", "/v1/audit/export").await.text;
    let mut link = mayi_engine::audit::chain::Link::START;
    for line in export.lines() {
        let (text, rest) = line.rsplit_once(",\"link\":\"").unwrap();
        link = link.next(&format!("{text}}}"));
        assert_eq!(rest, format!("{link}\"}}"), "whoever has the export can verify it: {line}");
    }
    let verified = house.post("auditor", "/v1/audit/verify", &json!({})).await.must(200);
    assert_eq!(verified["head"], link.to_string());
}

#[tokio::test]
async fn figures_count_what_was_decided() {
    let house = House::with(json!({"permissions": {"deny": ["Bash(drop:*)"]}}));
    for command in ["git status", "drop x", "npm install x"] {
        house.decide(command, json!({"session": "s"})).await;
    }
    let found = house.get("approver", "/v1/insights").await.must(200);
    assert_eq!(found["decisions"], 3);
    let sum = |name: &str| {
        found["verdicts"].as_array().unwrap().iter().map(|column| column[name].as_u64().unwrap()).sum::<u64>()
    };
    assert_eq!((sum("allow"), sum("ask"), sum("deny")), (1, 1, 1), "{found}");
    house.get("agent", "/v1/insights").await.fails(403, "see");
}

#[tokio::test]
async fn a_change_of_settings_is_shown_by_calls_and_tried_on_what_was_recorded() {
    let house = House::with(json!({"permissions": {"allow": ["Bash(make:*)"]}}));
    for command in ["make all", "make test", "git status"] {
        house.decide(command, json!({"session": "s"})).await;
    }
    let (old, new) =
        (json!({"permissions": {"allow": ["Bash(make:*)"]}}), json!({"permissions": {"allow": ["Bash(make test)"]}}));
    let found =
        house.post("approver", "/v1/policy/diff", &json!({"old": old, "new": new, "cwd": "/w"})).await.must(200);
    assert_eq!((&found["equal"], &found["widened"]), (&json!(false), &json!([])), "{found}");
    assert!(found["narrowed"][0]["witness"]["input"]["command"].as_str().unwrap().starts_with("make"), "{found}");
    let same = house.post("approver", "/v1/policy/diff", &json!({"old": old, "new": old})).await.must(200);
    assert_eq!(same["equal"], true, "{same}");
    let found = house.post("auditor", "/v1/audit/replay", &json!({"settings": new})).await.must(200);
    assert_eq!((&found["replayed"], &found["unchanged"]), (&json!(3), &json!(2)), "{found}");
    let change = &found["changes"][0];
    assert_eq!(
        (&change["input"]["command"], &change["new"]["verdict"]),
        (&json!("make all"), &json!("ask")),
        "{found}"
    );
    let found = house.post("auditor", "/v1/audit/replay", &json!({})).await.must(200);
    assert_eq!(
        (&found["unchanged"], &found["changes"]),
        (&json!(3), &json!([])),
        "under the policy of the time nothing changes: {found}"
    );
    house.post("auditor", "/v1/audit/replay", &json!({"layers": {"x": {}}})).await.fails(422, "no layer");
    house.post("approver", "/v1/audit/replay", &json!({})).await.fails(403, "read the audit");
    house.post("agent", "/v1/policy/diff", &json!({})).await.fails(403, "see");
    house.post("approver", "/v1/policy/diff", &json!({})).await.fails(422, "old");
}
