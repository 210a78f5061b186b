//! When the model gives no answer: what people read, and what follows.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use mayi_core::call::Call;
use mayi_core::referral::{Classified, OnFailure};
use mayi_engine::classifier::{BUDGET, Ledger, Question, Transcript, Usage};
use serde_json::json;

use crate::standin::{Act, Api, KEY, Standin};
use crate::{NO, YES, both, configured, judged, run, say, session, verdict, workspace};

fn status(status: u16) -> Act {
    // Servers have been seen to repeat the key in what they say.
    let said = json!({"error": {"type": "x", "message": format!("bad key {KEY}")}}).to_string();
    Act::Raw(status, vec![("content-type", "application/json".to_owned())], said.into_bytes())
}

fn problem(classified: &Classified) -> (&str, OnFailure) {
    match classified {
        Classified::Failed { problem, then } => (problem, *then),
        Classified::Judged { .. } | Classified::TooLong | Classified::Superseded => {
            panic!("not a failure: {classified:?}")
        }
    }
}

#[test]
fn each_failure_names_the_model_and_its_kind_and_says_what_to_do() {
    both(|api| {
        let table = [
            (status(429), "(rate-limited)"),
            (status(503), "(overloaded)"),
            (status(529), "(overloaded)"),
            (status(500), "(server error)"),
            (status(401), "does not accept the key"),
            (status(404), "no such model"),
            (status(400), "refuses the request"),
            (status(302), "points to another address"),
            (Act::HangUp, "(connection failed)"),
            (Act::Truncate(NO.to_owned()), "(connection failed)"),
        ];
        for (act, kind) in table {
            let server = Standin::new(api, [act.clone()]);
            let judgement = run(judged(&server));
            let (problem, then) = problem(&judgement.classified);
            assert!(problem.starts_with("`test-model`: ") && problem.contains(kind), "{act:?}: {problem}");
            assert!(problem.contains("\nhelp: ") && !problem.contains(KEY), "{problem}");
            assert_eq!(then, OnFailure::Closed);
        }
    });
}

#[test]
fn a_failure_at_the_closer_look_is_a_failure() {
    both(|api| {
        let server = Standin::new(api, [say(YES), status(500)]);
        assert_eq!(problem(&run(judged(&server)).classified).1, OnFailure::Closed);
    });
}

#[test]
fn a_server_that_never_answers_is_given_up() {
    both(|api| {
        let server = Standin::new(api, [Act::Stall]);
        let (transcript, action) = (session(), Call::shell("make deploy"));
        let within = Some(Duration::from_millis(200));
        let begun = Instant::now();
        let question = Question { within, ..Question::new(&transcript, &action) };
        let judgement = run(configured(&server.settings()).judge(question));
        assert!(problem(&judgement.classified).0.contains("(timed out)"));
        assert!(begun.elapsed() < Duration::from_secs(8));
    });
}

#[test]
fn what_may_pass_is_tried_again_and_nothing_else_is() {
    both(|api| {
        let mut settings = Standin::new(api, []).settings();
        settings["classifier"]["retries"] = json!(2);
        let passing = Act::Raw(429, vec![("retry-after", "0".to_owned())], Vec::new());
        let table = [
            (vec![passing.clone(), passing.clone(), say(NO)], 3, true),
            (vec![passing.clone(), passing.clone(), passing.clone(), say(NO)], 3, false),
            (vec![Act::Raw(500, vec![("retry-after-ms", "1".to_owned())], Vec::new()), say(NO)], 2, true),
            (vec![Act::HangUp, say(NO)], 2, true),
            (vec![status(401), say(NO)], 1, false),
            (vec![status(400), say(NO)], 1, false),
            (vec![status(307), say(NO)], 1, false),
        ];
        for (acts, requests, allowed) in table {
            let server = Standin::new(api, acts.clone());
            settings["classifier"]["baseUrl"] = server.settings()["classifier"]["baseUrl"].clone();
            let (transcript, action) = (session(), Call::shell("make deploy"));
            let judgement = run(configured(&settings).judge(Question::new(&transcript, &action)));
            assert_eq!(server.seen().len(), requests, "{acts:?}");
            assert_eq!(verdict(&judgement.classified).is_some(), allowed, "{acts:?}");
        }
    });
}

#[test]
fn a_pause_beyond_the_deadline_is_not_waited_for() {
    let server = Standin::new(Api::Anthropic, [Act::Raw(429, vec![("retry-after", "3600".to_owned())], Vec::new())]);
    let mut settings = server.settings();
    settings["classifier"]["retries"] = json!(5);
    let (transcript, action) = (session(), Call::shell("make deploy"));
    let begun = Instant::now();
    let judgement = run(configured(&settings).judge(Question::new(&transcript, &action)));
    assert!(problem(&judgement.classified).0.contains("(rate-limited)"));
    assert!(begun.elapsed() < Duration::from_secs(8));
}

#[test]
fn the_organisation_may_let_a_person_decide() {
    let folder = tempfile::tempdir().unwrap();
    let flag = folder.path().join("flag");
    std::fs::write(&flag, "open").unwrap();
    let table = [
        (json!({"failOpen": true}), OnFailure::Person),
        (json!({"failOpenFlag": flag}), OnFailure::Person),
        (json!({"failOpenFlag": folder.path().join("none")}), OnFailure::Closed),
        (json!({"failOpen": true, "failOpenFlag": folder.path().join("none")}), OnFailure::Closed),
        (json!({}), OnFailure::Closed),
    ];
    for (more, expected) in table {
        let server = Standin::new(Api::Anthropic, [status(500)]);
        let mut settings = server.settings();
        settings["classifier"].as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let (transcript, action) = (session(), Call::shell("make deploy"));
        let judgement = run(configured(&settings).judge(Question::new(&transcript, &action)));
        assert_eq!(problem(&judgement.classified).1, expected, "{more}");
        assert_eq!(
            judgement.flag.is_some(),
            more.get("failOpenFlag").is_some(),
            "a flag is kept for the next question"
        );
    }
}

/// An address that gives this answer to everybody.
fn flag_server(answer: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/flag", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut asked = [0; 4096];
            let length = stream.read(&mut asked).unwrap_or(0);
            let asked = String::from_utf8_lossy(&asked[..length]).to_lowercase();
            assert!(!asked.contains(KEY) && !asked.contains("api-key"), "a flag needs no key");
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    address
}

#[test]
fn a_flag_at_an_address_is_read_without_a_key_and_opens_only_by_a_clear_yes() {
    let table = [
        ("HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nopen", OnFailure::Person),
        ("HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nclosed", OnFailure::Closed),
        ("HTTP/1.1 404 No\r\ncontent-length: 4\r\n\r\nopen", OnFailure::Closed),
        ("HTTP/1.1 302 Go\r\nlocation: /other\r\ncontent-length: 4\r\n\r\nopen", OnFailure::Closed),
        ("HTTP/1.1 200 OK\r\ncontent-length: 40\r\n\r\nopen", OnFailure::Closed),
    ];
    for (answer, expected) in table {
        let server = Standin::new(Api::Anthropic, [status(500)]);
        let mut settings = server.settings();
        settings["classifier"]["failOpenFlag"] = json!(flag_server(answer));
        let (transcript, action) = (session(), Call::shell("make deploy"));
        let judgement = run(configured(&settings).judge(Question::new(&transcript, &action)));
        assert_eq!(problem(&judgement.classified).1, expected, "{answer}");
    }
}

#[test]
fn an_answer_nobody_understands_stops_the_action_even_where_failures_are_forgiven() {
    let server = Standin::new(Api::Anthropic, [say("?"), say("?")]);
    let mut settings = server.settings();
    settings["classifier"]["failOpen"] = json!(true);
    let (transcript, action) = (session(), Call::shell("make deploy"));
    let judgement = run(configured(&settings).judge(Question::new(&transcript, &action)));
    assert_eq!(verdict(&judgement.classified), Some(mayi_core::verdict::Verdict::Deny));
}

#[test]
fn what_does_not_fit_is_too_long_here_or_there() {
    both(|api| {
        let server = Standin::new(api, []);
        let classifier = configured(&server.settings());
        let mut long = Transcript::new(&workspace());
        long.user(&"x".repeat(BUDGET + 1));
        let (short, action) = (session(), Call::shell("make deploy"));
        let huge = Call::new("Write", json!({"file_path": "a", "content": "x".repeat(BUDGET)}));
        for question in [Question::new(&long, &action), Question::new(&short, &huge)] {
            assert_eq!(run(classifier.judge(question)).classified, Classified::TooLong);
        }
        assert_eq!(server.seen().len(), 0, "nothing was sent");
        let said = r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 2 > 1"}}"#;
        server.then([Act::Raw(400, Vec::new(), said.into())]);
        assert_eq!(run(classifier.judge(Question::new(&short, &action))).classified, Classified::TooLong);
    });
}

#[test]
fn a_transcript_that_was_not_read_to_its_end_judges_nothing() {
    let server = Standin::new(Api::Anthropic, []);
    let mut transcript = session();
    transcript.mark_behind();
    let action = Call::shell("make deploy");
    let judgement = run(configured(&server.settings()).judge(Question::new(&transcript, &action)));
    assert!(problem(&judgement.classified).0.contains("could not be read to its end"));
    assert_eq!(server.seen().len(), 0);
}

#[test]
fn a_session_that_has_used_its_budget_asks_no_more() {
    let server = Standin::new(Api::Anthropic, [say(NO)]);
    let mut settings = server.settings();
    settings["classifier"]["model"] = json!("claude-haiku-4-5");
    let (transcript, action) = (session(), Call::shell("make deploy"));
    let used = Usage { requests: 9, input: 1_000_000, ..Usage::default() };
    let spent = Ledger::default().with("claude-haiku-4-5", used);
    for (budget, what) in [(json!({"tokens": 1_000_000}), "1000000 tokens"), (json!({"usd": 1.0}), "1 dollars")] {
        settings["classifier"]["budget"] = budget;
        let question = Question { spent, ..Question::new(&transcript, &action) };
        let judgement = run(configured(&settings).judge(question));
        assert!(problem(&judgement.classified).0.contains(what));
        assert_eq!(server.seen().len(), 0);
    }
    settings["classifier"]["budget"] = json!({"tokens": 1_000_001, "usd": 1.1});
    let question = Question { spent, ..Question::new(&transcript, &action) };
    assert!(verdict(&run(configured(&settings).judge(question)).classified).is_some());
}

#[test]
fn an_answer_that_comes_after_the_mode_changed_does_not_count() {
    both(|api| {
        // While it waits …
        let server = Standin::new(api, [Act::Stall]);
        let (transcript, action) = (session(), Call::shell("make deploy"));
        let looks = AtomicUsize::new(0);
        let stands = || looks.fetch_add(1, Ordering::SeqCst) < 2;
        let question = Question { stands: &stands, ..Question::new(&transcript, &action) };
        assert_eq!(run(configured(&server.settings()).judge(question)).classified, Classified::Superseded);

        // … and in the moment it answers; what it used counts all the same.
        let server = Standin::new(api, [say(NO)]);
        let stands = AtomicBool::new(false);
        let gone = || stands.load(Ordering::SeqCst);
        let question = Question { stands: &gone, ..Question::new(&transcript, &action) };
        let judgement = run(configured(&server.settings()).judge(question));
        assert_eq!(judgement.classified, Classified::Superseded);
        assert_eq!(judgement.usage.requests, 1);
    });
}

#[test]
fn a_question_that_is_dropped_ends_its_request() {
    let server = Standin::new(Api::Anthropic, [Act::Stall, say(NO)]);
    let classifier = configured(&server.settings());
    let (transcript, action) = (session(), Call::shell("make deploy"));
    run(async {
        let asked = classifier.judge(Question::new(&transcript, &action));
        let ended = tokio::time::timeout(Duration::from_millis(300), asked).await;
        assert!(ended.is_err());
        let again = classifier.judge(Question::new(&transcript, &action)).await;
        assert!(verdict(&again.classified).is_some());
    });
}
