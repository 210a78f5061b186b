//! Questions through the routes: answered once, by somebody who may, about the very call that was shown.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod support;

use std::sync::Arc;
use std::time::Duration;

use axum::http::Method;
use mayi_engine::remote::wire::digest;
use serde_json::{Value, json};
use support::{House, Reply};

const INSTALL: &str = "npm install left-pad";

#[tokio::test(flavor = "multi_thread")]
async fn of_twenty_answers_at_once_one_counts_and_all_get_its_result() {
    let house = Arc::new(House::with(json!({})));
    let asked = Arc::new(house.decide(INSTALL, json!({"session": "s", "call_id": "c"})).await);
    assert_eq!(asked["verdict"], "ask");
    let answers = (0..20).map(|number| {
        let (house, asked) = (house.clone(), asked.clone());
        let verdict = if number % 2 == 0 { "allow" } else { "deny" };
        tokio::spawn(async move {
            house.answer(&format!("approver:{number}"), &asked, json!({"verdict": verdict, "comment": verdict})).await
        })
    });
    let mut replies: Vec<Reply> = Vec::new();
    for answer in answers.collect::<Vec<_>>() {
        replies.push(answer.await.unwrap());
    }
    assert_eq!(replies.iter().filter(|reply| !reply.before).count(), 1, "one was first");
    let results: std::collections::HashSet<String> =
        replies.into_iter().map(|reply| reply.must(200)["answer"].to_string()).collect();
    assert_eq!(results.len(), 1, "{results:?}");
    assert_eq!(house.records("answer").await.len(), 1);
}

#[tokio::test]
async fn an_answer_is_bound_to_its_call_and_its_question() {
    let house = House::with(json!({}));
    let asked = house.decide(INSTALL, json!({"session": "s", "call_id": "c"})).await;
    let again = house.decide(INSTALL, json!({"session": "s", "call_id": "c"})).await;
    assert_eq!(asked["approval"], again["approval"], "the same question is not put twice");
    let changed = house.decide("npm install right-pad", json!({"session": "s", "call_id": "c"})).await;
    assert_ne!(asked["approval"]["id"], changed["approval"]["id"], "a changed call needs an answer of its own");
    let mut wrong = asked.clone();
    wrong["approval"]["digest"] = changed["approval"]["digest"].clone();
    house.answer("approver", &wrong, json!({"verdict": "allow"})).await.fails(409, "another call");
    house.answer("approver", &asked, json!({"verdict": "allow"})).await.must(200);
    // Neither the changed call nor the same call once more is let through by it.
    assert_eq!(house.decide("npm install right-pad", json!({"session": "s", "call_id": "c"})).await["verdict"], "ask");
    assert_eq!(house.decide(INSTALL, json!({"session": "s", "call_id": "c"})).await["verdict"], "ask");
    assert_eq!(house.approval(&changed).await["state"], "pending");
}

#[tokio::test]
async fn only_those_who_may_answer_do_and_only_what_may_be_said() {
    let house = House::with(json!({}));
    let asked = house.decide(INSTALL, json!({"session": "s"})).await;
    for who in ["agent", "auditor"] {
        house.answer(who, &asked, json!({"verdict": "allow"})).await.fails(403, "may not answer");
    }
    let rule = house.approval(&asked).await["question"]["offers"][0]["rule"].clone();
    assert!(rule.is_string());
    for (answer, words) in [
        (json!({"verdict": "ask"}), "`allow` or `deny`"),
        (json!({"verdict": "deny", "remember": "always", "rule": rule, "layer": "user"}), "only an `allow`"),
        (json!({"verdict": "allow", "rule": rule}), "for once"),
        (json!({"verdict": "allow", "remember": "always", "layer": "user"}), "not offered"),
        (json!({"verdict": "allow", "remember": "always", "rule": "Bash", "layer": "user"}), "not offered"),
        (json!({"verdict": "allow", "remember": "always", "rule": rule, "layer": "managed"}), "layer was not offered"),
        (json!({"verdict": "allow", "remember": "always", "rule": rule, "layer": "session"}), "layer was not offered"),
        (json!({"verdict": "allow", "remember": "session", "rule": rule, "layer": "user"}), "layer was not offered"),
        (json!({"verdict": "allow", "comment": "x".repeat(5000)}), "longer than"),
    ] {
        house.answer("approver", &asked, answer.clone()).await.fails(422, words);
    }
    assert_eq!(house.approval(&asked).await["state"], "pending", "nothing of it was taken for an answer");
    let unknown = json!({"approval": {"id": "ap_none", "digest": "x"}});
    house.answer("approver", &unknown, json!({"verdict": "allow"})).await.fails(404, "no question");
}

#[tokio::test]
async fn nobody_in_time_is_a_no_that_exactly_one_writes() {
    let house = House::with(json!({"server": {"approvalTimeoutSeconds": 60}}));
    let asked = house.decide(INSTALL, json!({"session": "s"})).await;
    house.put_forward(61);
    for _ in 0..3 {
        mayi_server::approvals::overdue::sweep(&house.app).await.unwrap();
    }
    let expired = house.approval(&asked).await;
    assert_eq!((&expired["state"], &expired["answer"]["verdict"]), (&json!("expired"), &json!("deny")));
    assert_eq!(expired["answer"]["by"], "nobody");
    house.answer("approver", &asked, json!({"verdict": "allow"})).await.fails(410, "in time");
    assert_eq!(house.records("answer").await.len(), 1);
    // One that is overdue and that nobody has noticed yet is answered no as well.
    let asked = house.decide(INSTALL, json!({"session": "s"})).await;
    house.put_forward(61);
    house.answer("approver", &asked, json!({"verdict": "allow"})).await.fails(410, "in time");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_waits_gets_the_answer_with_its_comment() {
    let house = Arc::new(House::with(json!({})));
    for (verdict, comment) in [("deny", "use the vendored one"), ("allow", "go on")] {
        let waiting = {
            let house = house.clone();
            tokio::spawn(async move { house.decide(INSTALL, json!({"wait_seconds": 100})).await })
        };
        let question = pending(&house).await;
        let asked = json!({"approval": {"id": question["id"], "digest": question["question"]["digest"]}});
        house.answer("approver", &asked, json!({"verdict": verdict, "comment": comment})).await.must(200);
        let answer = tokio::time::timeout(Duration::from_secs(30), waiting).await.unwrap().unwrap();
        assert_eq!((&answer["verdict"], &answer["step"]), (&json!(verdict), &json!("4e")));
        assert!(answer["message"].as_str().unwrap().contains(comment), "{answer}");
    }
}

/// The one question that waits.
async fn pending(house: &House) -> Value {
    loop {
        let listed = house.get("approver", "/v1/approvals?state=pending").await.must(200);
        if let Some(found) = listed["approvals"].get(0) {
            return found.clone();
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_waited_in_vain_is_denied_and_nobody_may_say_yes_any_more() {
    let house = Arc::new(House::with(json!({})));
    let waiting = {
        let house = house.clone();
        tokio::spawn(async move { house.decide(INSTALL, json!({"wait_seconds": 50})).await })
    };
    let question = pending(&house).await;
    house.put_forward(51);
    mayi_server::approvals::overdue::sweep(&house.app).await.unwrap();
    let answer = tokio::time::timeout(Duration::from_secs(30), waiting).await.unwrap().unwrap();
    assert_eq!((&answer["verdict"], &answer["step"]), (&json!("deny"), &json!("4e")));
    assert!(answer["message"].as_str().unwrap().contains("in time"), "{answer}");
    let asked = json!({"approval": {"id": question["id"], "digest": question["question"]["digest"]}});
    house.answer("approver", &asked, json!({"verdict": "allow"})).await.fails(410, "in time");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_policy_that_changes_meanwhile_has_the_waiting_call_decided_again() {
    let house = Arc::new(House::with(json!({})));
    let waiting = {
        let house = house.clone();
        tokio::spawn(async move { house.decide(INSTALL, json!({"wait_seconds": 100})).await })
    };
    let question = pending(&house).await;
    std::fs::write(house.settings_file(), json!({"permissions": {"deny": ["Bash(npm:*)"]}}).to_string()).unwrap();
    // Whoever answers the old question is told so, and the new policy speaks.
    let asked = json!({"approval": {"id": question["id"], "digest": question["question"]["digest"]}});
    house.answer("approver", &asked, json!({"verdict": "allow"})).await.fails(409, "policy changed");
    let answer = tokio::time::timeout(Duration::from_secs(30), waiting).await.unwrap().unwrap();
    assert_eq!((&answer["verdict"], &answer["step"]), (&json!("deny"), &json!("1d")), "{answer}");
}

#[tokio::test]
async fn always_writes_exactly_the_shown_rule_and_leaves_the_rest_of_the_file_alone() {
    let text = "{\n  // mine, and I want to keep it\n  \"permissions\": {\n    \"allow\": [\n      \"Bash(make:*)\" // builds\n    ]\n  }\n}\n";
    let house = House::of_text(text);
    let asked = house.decide(INSTALL, json!({"session": "s"})).await;
    let offers = house.approval(&asked).await["question"]["offers"].clone();
    let offer = &offers[0];
    assert!(offer["layers"].as_array().unwrap().contains(&json!("user")), "{offers}");
    let rule = offer["rule"].as_str().unwrap();
    let always = json!({"verdict": "allow", "remember": "always", "rule": rule, "layer": "user"});
    let answered = house.answer("approver", &asked, always).await.must(200);
    assert_eq!((&answered["answer"]["rule"], &answered["answer"]["layer"]), (&json!(rule), &json!("user")));
    let after = std::fs::read_to_string(house.settings_file()).unwrap();
    assert!(after.contains("// mine, and I want to keep it") && after.contains("\"Bash(make:*)\""), "{after}");
    assert!(after.contains("// builds"), "{after}");
    assert!(after.contains(&json!(rule).to_string()), "{after}");
    let allowed = house.get("approver", "/v1/policy").await.must(200)["rules"].clone();
    let texts: Vec<&str> = allowed.as_array().unwrap().iter().map(|entry| entry["rule"].as_str().unwrap()).collect();
    assert_eq!(texts, ["Bash(make:*)", rule]);
    assert_eq!(house.decide(INSTALL, json!({"session": "s"})).await["verdict"], "allow");
    let records = house.records("rules").await;
    assert_eq!((records[0]["added"].clone(), records[0]["by"].clone()), (json!([rule]), json!("approver")));
}

#[tokio::test]
async fn an_answer_for_the_session_holds_there_and_nowhere_else() {
    let house = House::with(json!({}));
    let asked = house.decide(INSTALL, json!({"session": "s"})).await;
    let rule = house.approval(&asked).await["question"]["offers"][0]["rule"].clone();
    let answer = json!({"verdict": "allow", "remember": "session", "rule": rule, "layer": "session"});
    house.answer("approver", &asked, answer).await.must(200);
    assert_eq!(house.decide(INSTALL, json!({"session": "s"})).await["verdict"], "allow");
    assert_eq!(house.decide(INSTALL, json!({"session": "other"})).await["verdict"], "ask");
    assert_eq!(std::fs::read_to_string(house.settings_file()).unwrap(), "{}", "no file was written");
}

#[tokio::test]
async fn what_asks_above_the_line_or_is_blocked_offers_no_rule() {
    let house = House::with(json!({"permissions": {"ask": ["Bash(npm:*)"]}}));
    for command in [INSTALL, "git push --force origin main", "rm -rf ~"] {
        let asked = house.decide(command, json!({"session": "s"})).await;
        assert_eq!(asked["verdict"], "ask", "{command}");
        assert_eq!(house.approval(&asked).await["question"]["offers"], json!([]), "{command}");
    }
}

#[tokio::test]
async fn a_childs_question_bubbles_up_to_its_leads_prompt() {
    let house = House::with(json!({}));
    let session = |id: &str, lead: Option<&str>, inheritance: &str| json!({"id": id, "agent": "test", "directory": "/w", "lead": lead, "inheritance": inheritance});
    for new in
        [session("root", None, "ask"), session("mid", Some("root"), "bubble"), session("leaf", Some("mid"), "bubble")]
    {
        house.post("agent", "/v1/sessions", &new).await.must(201);
    }
    let asked = house.decide(INSTALL, json!({"session": "leaf"})).await;
    let question = house.approval(&asked).await["question"].clone();
    assert_eq!(
        (&question["session"], &question["child"], &question["lead"]),
        (&json!("leaf"), &json!("leaf"), &json!("root"))
    );
    assert!(question["message"].as_str().unwrap().contains("asked by `leaf`"), "{question}");
    let at_root = house.get("approver", "/v1/approvals?session=root").await.must(200);
    assert_eq!(at_root["approvals"][0]["id"], asked["approval"]["id"]);
    house.answer("approver", &asked, json!({"verdict": "allow"})).await.must(200);
}

fn own_question(input: Value) -> Value {
    let digest = digest("Bash", &input, ("/w", "v1"));
    json!({"question": {"agent": "claude-code", "session": "s", "call_id": "c", "tool": "Bash", "input": input, "cwd": "/w",
        "policy": "v1", "digest": digest, "step": "3", "message": "why", "policy_of": "server",
        "offers": [{"rule": "Bash(npm install:*)", "layers": ["session", "local"], "covers": []}]}})
}

#[tokio::test]
async fn a_client_puts_its_own_question_and_keeps_the_rule_itself() {
    let house = House::with(json!({}));
    let new = own_question(json!({"command": INSTALL}));
    let made = house.post("agent", "/v1/approvals", &new).await.must(201);
    assert_eq!((&made["state"], &made["question"]["policy_of"]), (&json!("pending"), &json!("client")));
    let again = house.post("agent", "/v1/approvals", &new).await.must(201);
    assert_eq!(made["id"], again["id"], "the same question is not put twice");
    let asked = json!({"approval": {"id": made["id"], "digest": made["question"]["digest"]}});
    let answer = json!({"verdict": "allow", "remember": "always", "rule": "Bash(npm install:*)", "layer": "local", "comment": "fine"});
    let answered = house.answer("approver", &asked, answer).await.must(200);
    assert_eq!(answered["answer"]["layer"], "local");
    assert!(!house.folder.path().join("w/.mayi").exists(), "the client writes its own files");
    let id = made["id"].as_str().unwrap();
    let seen = house.get("agent", &format!("/v1/approvals/{id}?wait_seconds=5")).await.must(200);
    assert_eq!(seen["answer"]["comment"], "fine");
    house.get("agent:other", &format!("/v1/approvals/{id}")).await.fails(404, "no question");
    let delete = (Method::DELETE, "/v1/approvals/x");
    house.send("agent:other", delete, ("", String::new())).await.fails(404, "no question");
}

#[tokio::test]
async fn a_question_whose_digest_is_not_its_own_is_refused() {
    let house = House::with(json!({}));
    let mut new = own_question(json!({"command": INSTALL}));
    new["question"]["input"]["command"] = "rm -rf /".into();
    house.post("agent", "/v1/approvals", &new).await.fails(422, "digest");
    let mut new = own_question(json!({"command": INSTALL}));
    new["question"]["offers"][0]["rule"] = "Bash(".into();
    house.post("agent", "/v1/approvals", &new).await.fails(422, "no rule");
    house.post("approver", "/v1/approvals", &own_question(json!({}))).await.fails(403, "may not ask");
}

#[tokio::test]
async fn a_question_can_be_taken_back_and_an_ended_session_takes_its_own_back() {
    let house = House::with(json!({}));
    let asked = house.decide(INSTALL, json!({"session": "s"})).await;
    let path = format!("/v1/approvals/{}", asked["approval"]["id"].as_str().unwrap());
    house.send("agent:other", (Method::DELETE, &path), ("", String::new())).await.fails(404, "no question");
    let gone = house.send("agent", (Method::DELETE, &path), ("", String::new())).await.must(200);
    assert_eq!((&gone["state"], &gone["answer"]["verdict"]), (&json!("withdrawn"), &json!("deny")));
    let late = house.answer("approver", &asked, json!({"verdict": "allow"})).await;
    assert!(late.before, "{late:?}");
    let asked = house.decide(INSTALL, json!({"session": "s"})).await;
    house.send("approver", (Method::DELETE, "/v1/sessions/s"), ("", String::new())).await.must(200);
    assert_eq!(house.approval(&asked).await["state"], "withdrawn");
    assert_eq!(house.decide("git status", json!({"session": "s"})).await["verdict"], "deny");
}
