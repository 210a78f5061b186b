//! Questions to people at the server: who is asked when, what an answer does, and what no answer does.

use std::fs;
use std::time::{Duration, Instant};

use mayi_core::lineage::Inheritance;
use mayi_core::mode::Mode;
use mayi_core::policy::Layer;
use mayi_core::reason::Reason;
use mayi_core::session::Attendance;
use mayi_core::step::Step;
use mayi_core::verdict::Verdict;
use mayi_engine::desk::{Asked, Child, Manner, Turn};
use mayi_engine::remote::Propose;
use mayi_engine::remote::wire::{Answer, Offer, Question, Remember, State};
use serde_json::{Value, json};

use crate::counterpart::{Counterpart, Fault, says};
use crate::world::{World, asked, attended, unattended};

const PUT: &str = "/v1/approvals";

fn within(seconds: f64, manner: Manner) -> Manner {
    Manner { patience: Some(Duration::from_secs_f64(seconds)), ..manner }
}

#[test]
fn people_at_the_server_answer_where_nobody_is_at_the_prompt() {
    for (verdict, comment) in [(Verdict::Allow, None), (Verdict::Deny, Some("use the test database"))] {
        let server = Counterpart::open();
        server.answer(move |_| Some(Answer { comment: comment.map(str::to_owned), ..says(verdict) }));
        let world = World::of(&server, json!({}));
        let answered = world.ask(&asked("make install"), unattended());
        assert_eq!(answered.decision.verdict, verdict);
        assert_eq!(answered.decision.step, Step::Human);
        assert_eq!(answered.decision.reason, Reason::Person { comment: comment.map(str::to_owned) });
        let answer = world.audit().into_iter().find(|line| line["kind"] == "answer").unwrap();
        assert_eq!(answer["verdict"], json!(verdict));
        assert!(answer["by"].as_str().unwrap().starts_with("ada at 127.0.0.1:"), "{answer}");
        assert_eq!(world.audit().last().unwrap()["verdict"], json!(verdict));
    }
}

#[test]
fn who_is_asked_depends_on_settings_and_on_who_is_there() {
    let table = [
        ("unattended", Attendance::Unattended, true),
        ("unattended", Attendance::Attended, false),
        ("always", Attendance::Attended, true),
        ("always", Attendance::Unattended, true),
        ("never", Attendance::Unattended, false),
        ("never", Attendance::Attended, false),
    ];
    for (approvals, attendance, goes) in table {
        let server = Counterpart::open();
        server.answer(|_| Some(says(Verdict::Allow)));
        let world = World::of(&server, json!({ "approvals": approvals }));
        let answered = world.ask(&asked("make install"), Manner { attendance, ..attended() });
        let expected = match (goes, attendance) {
            (true, _) => Verdict::Allow,
            (false, Attendance::Attended) => Verdict::Ask,
            (false, Attendance::Unattended) => Verdict::Deny,
        };
        assert_eq!(answered.decision.verdict, expected, "{approvals} {attendance:?}");
        assert_eq!(server.count(PUT), usize::from(goes), "{approvals} {attendance:?}");
    }
}

#[test]
fn what_rules_decide_is_nobodys_question() {
    let server = Counterpart::open();
    server.govern(json!({"permissions": {"deny": ["Bash(npm publish:*)"]}}));
    server.answer(|_| Some(says(Verdict::Allow)));
    let world = World::of(&server, json!({"approvals": "always"}));
    for (command, verdict) in [("ls", Verdict::Allow), ("npm publish", Verdict::Deny)] {
        assert_eq!(world.ask(&asked(command), unattended()).decision.verdict, verdict, "{command}");
    }
    let silent = Asked { mode: Some(Mode::DontAsk), ..asked("make") };
    assert_eq!(world.ask(&silent, unattended()).decision.verdict, Verdict::Deny);
    // A question that the agent puts again was put before.
    let again = Asked { turn: Turn::Again, ..asked("make") };
    assert_eq!(world.ask(&again, attended()).decision.verdict, Verdict::Ask);
    assert_eq!(server.count(PUT), 0);
}

#[test]
fn a_question_says_all_that_a_person_needs_and_no_secret() {
    let server = Counterpart::open();
    let token = format!("ghp_{}", "a1B2".repeat(10));
    let world = World::of(&server, json!({}));
    let call = asked(&format!("ls; make TOKEN={token} install"));
    let child = Some(Child { id: "c-1".to_owned(), kind: None });
    let child = Asked { child, call_id: Some("call-1".to_owned()), ..call };
    server.answer(|_| Some(says(Verdict::Deny)));
    world.ask(&child, unattended());
    let question: Question = server.approvals().remove(0).question;
    assert_eq!((question.agent.as_str(), question.session.as_str()), ("generic", "s"));
    assert_eq!(question.child.as_deref(), Some("c-1"));
    assert_eq!((question.tool.as_str(), question.mode), ("Bash", Mode::Default));
    assert_eq!(question.cwd, world.path("project").display().to_string());
    assert_eq!((question.policy.len(), question.digest.len()), (32, 64));
    assert!(!question.step.is_empty() && !question.message.is_empty() && question.risk.is_some());
    assert!(question.reason.is_object() && !question.trace.as_array().unwrap().is_empty(), "{}", question.trace);
    assert!(!question.effects.is_empty());
    let shown = question.input["command"].as_str().unwrap();
    let part = &question.parts[0];
    assert!(shown[part.start..part.end].starts_with("make"), "{shown} {part:?}");
    assert!(!serde_json::to_string(&question).unwrap().contains(&token));
    assert_eq!(question.offers, [], "a rule with a secret in it is none to offer");
}

#[test]
fn nobody_in_time_is_no_where_nobody_is_there_and_a_question_where_somebody_is() {
    for (manner, verdict) in [(unattended(), Verdict::Deny), (attended(), Verdict::Ask)] {
        let server = Counterpart::open();
        let world = World::of(&server, json!({"approvals": "always"}));
        let begun = Instant::now();
        let answered = world.ask(&asked("make install"), within(2.0, manner));
        assert_eq!(answered.decision.verdict, verdict);
        assert!(begun.elapsed() < Duration::from_secs(10));
        let words = format!("{} {}", answered.decision.reason, answered.context.join(" "));
        assert!(words.contains("nobody at the server `127.0.0.1:"), "{words}");
        assert_eq!(server.approvals()[0].state, State::Withdrawn);
    }
}

#[test]
fn a_server_that_cannot_be_asked_is_no_yes() {
    for fault in [Fault::Status(500), Fault::Status(401), Fault::Status(422), Fault::Garbage, Fault::Cut, Fault::Deaf] {
        let server = Counterpart::open();
        server.answer(|_| Some(says(Verdict::Allow)));
        let world = World::of(&server, json!({"approvals": "always"}));
        for (manner, verdict) in [(unattended(), Verdict::Deny), (attended(), Verdict::Ask)] {
            server.fault(PUT, fault);
            let answered = world.ask(&asked("make install"), manner);
            assert_eq!(answered.decision.verdict, verdict, "{fault:?}");
        }
    }
    let server = Counterpart::open();
    let world = World::of(&server, json!({}));
    world.ask(&asked("ls"), attended());
    server.go_away();
    let answered = world.ask(&asked("make install"), unattended());
    assert_eq!(answered.decision.verdict, Verdict::Deny);
    assert!(answered.decision.reason.to_string().contains("cannot be reached"), "{}", answered.decision.reason);
    assert_eq!(world.ask(&asked("ls"), unattended()).decision.verdict, Verdict::Allow, "what needs nobody goes on");
}

#[test]
fn a_server_that_stumbles_while_somebody_thinks_is_asked_again() {
    let server = Counterpart::open();
    server.answer(|_| Some(says(Verdict::Allow)));
    for fault in [Fault::Cut, Fault::Status(503), Fault::Deaf] {
        server.fault("/v1/approvals/a1", fault);
    }
    let world = World::of(&server, json!({}));
    assert_eq!(world.ask(&asked("make install"), unattended()).decision.verdict, Verdict::Allow);
}

#[test]
fn an_answer_to_another_question_is_none() {
    let server = Counterpart::open();
    server.answer(|_| Some(says(Verdict::Allow)));
    server.twist();
    let world = World::of(&server, json!({}));
    let answered = world.ask(&asked("make install"), unattended());
    assert_eq!(answered.decision.verdict, Verdict::Deny);
    assert!(answered.decision.reason.to_string().contains("another question"), "{}", answered.decision.reason);
}

#[test]
fn an_answer_is_heard_as_soon_as_it_is_given() {
    let server = Counterpart::open();
    let world = World::of(&server, json!({}));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            server.wait_until("somebody waits", |server| server.count("/v1/approvals/a1") > 0);
            server.settle(&says(Verdict::Allow));
        });
        let begun = Instant::now();
        assert_eq!(world.ask(&asked("make install"), unattended()).decision.verdict, Verdict::Allow);
        assert!(begun.elapsed() < Duration::from_secs(15), "not only when a turn of waiting is over");
    });
    assert_eq!(server.count("/v1/approvals/a1"), 1);
}

#[test]
fn an_answer_that_asks_is_no_yes() {
    let server = Counterpart::open();
    server.answer(|_| Some(says(Verdict::Ask)));
    let world = World::of(&server, json!({"approvals": "always"}));
    assert_eq!(world.ask(&asked("make install"), attended()).decision.verdict, Verdict::Deny);
}

fn remembering(remember: Remember, layer: Option<Layer>) -> impl Fn(&Question) -> Option<Answer> {
    move |question| {
        let rule = question.offers.first().map(|offer| offer.rule.clone());
        Some(Answer { remember, rule, layer, ..says(Verdict::Allow) })
    }
}

#[test]
fn a_yes_for_the_session_or_for_ever_is_kept_exactly_as_offered() {
    let server = Counterpart::open();
    let world = World::of(&server, json!({}));
    server.answer(remembering(Remember::Session, None));
    assert_eq!(world.ask(&asked("make install"), unattended()).decision.verdict, Verdict::Allow);
    let offer = server.approvals()[0].question.offers[0].clone();
    assert_eq!(offer.rule, "Bash(make install)");
    assert_eq!(offer.layers, [Layer::Session, Layer::Local, Layer::User]);
    assert_eq!(world.ask(&asked("make install"), unattended()).decision.verdict, Verdict::Allow);
    assert_eq!(server.count(PUT), 1, "the session remembers");
    let other = Asked { session: "t".to_owned(), ..asked("make install") };
    world.ask(&other, unattended());
    assert_eq!(server.count(PUT), 2, "another session does not");

    server.answer(remembering(Remember::Always, Some(Layer::Local)));
    let other = Asked { session: "u".to_owned(), ..asked("make docs") };
    assert_eq!(world.ask(&other, unattended()).decision.verdict, Verdict::Allow);
    let text = fs::read_to_string(world.path("project/.mayi/settings.local.json")).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&text).unwrap()["permissions"]["allow"], json!(["Bash(make docs)"]));
}

#[test]
fn a_rule_that_was_not_offered_takes_the_whole_answer_with_it() {
    let bad: [(Remember, &str, Option<Layer>); 4] = [
        (Remember::Always, "Bash(make:*)", Some(Layer::Local)),
        (Remember::Session, "Bash", None),
        (Remember::Always, "Bash(make install)", Some(Layer::Project)),
        (Remember::Always, "Bash(make install)", Some(Layer::Managed)),
    ];
    for (remember, rule, layer) in bad {
        let server = Counterpart::open();
        let world = World::of(&server, json!({}));
        let rule = rule.to_owned();
        let shown = rule.clone();
        server.answer(move |_| Some(Answer { remember, rule: Some(rule.clone()), layer, ..says(Verdict::Allow) }));
        let answered = world.ask(&asked("make install"), unattended());
        assert_eq!(answered.decision.verdict, Verdict::Deny, "{shown} {layer:?}");
        assert!(!world.path("project/.mayi/settings.local.json").exists());
    }
}

#[test]
fn whoever_proposes_rules_each_is_tried_and_only_what_helps_is_offered() {
    let server = Counterpart::open();
    let world = World::of(&server, json!({}));
    server.answer(|_| Some(says(Verdict::Deny)));
    let propose = Propose(|_, _, _| {
        let rules = ["Bash(make:*)", "Bash(cargo:*)", "no rule(", "Bash(make install)", "Bash(make *)"];
        let offer = |rule: &str| Offer { rule: rule.to_owned(), layers: vec![Layer::Managed], covers: Vec::new() };
        rules.into_iter().map(offer).collect()
    });
    world.ask(&asked("make install"), Manner { propose, ..unattended() });
    let offers = server.approvals()[0].question.offers.clone();
    let rules: Vec<&str> = offers.iter().map(|offer| offer.rule.as_str()).collect();
    assert_eq!(rules, ["Bash(make:*)", "Bash(make install)", "Bash(make *)"]);
    assert!(offers.iter().all(|offer| offer.layers == [Layer::Session, Layer::Local, Layer::User]), "{offers:?}");
}

#[test]
fn no_rule_is_offered_where_none_would_help_or_none_counts() {
    let table = [
        (json!({"permissions": {"ask": ["Bash(make:*)"]}}), "make install"),
        (json!({"allowManagedPermissionRulesOnly": true}), "make install"),
        (json!({}), "make\ninstall"),
    ];
    for (policy, command) in table {
        let server = Counterpart::open();
        server.govern(policy.clone());
        server.answer(|_| Some(says(Verdict::Deny)));
        let world = World::of(&server, json!({}));
        world.ask(&asked(command), unattended());
        assert_eq!(server.approvals()[0].question.offers, [], "{policy} {command}");
    }
}

#[test]
fn a_childs_question_bubbles_up_to_its_lead_at_the_server() {
    let server = Counterpart::open();
    server.answer(|_| Some(says(Verdict::Allow)));
    let world = World::of(&server, json!({}));
    let lead = Asked { session: "lead".to_owned(), ..asked("ls") };
    world.ask(&lead, attended());
    let manner = Manner { lead: Some(("lead".to_owned(), Inheritance::Bubble)), ..attended() };
    let answered = world.ask(&asked("make install"), manner);
    assert_eq!(answered.decision.verdict, Verdict::Allow, "{}", answered.decision.reason);
    let question = server.approvals().remove(0).question;
    assert_eq!(question.lead.as_deref(), Some("lead"));
    assert_eq!((question.session.as_str(), question.child.as_deref()), ("s", Some("s")));
    // One that asks at its own prompt does not.
    let manner = Manner { lead: Some(("lead".to_owned(), Inheritance::Ask)), ..attended() };
    assert_eq!(world.ask(&asked("make docs"), manner).decision.verdict, Verdict::Ask);
    assert_eq!(server.count(PUT), 1);
}

#[test]
fn a_yes_that_cannot_be_written_down_does_not_count() {
    let server = Counterpart::open();
    server.answer(|_| Some(says(Verdict::Allow)));
    let world = World::of(&server, json!({}));
    world.ask(&asked("ls"), attended());
    world.set(&json!({"server": {"url": server.url()}, "audit": {"file": "/nonexistent/folder/audit.jsonl"}}));
    fs::write(world.path("blocked"), "").unwrap();
    let file = world.path("blocked/audit.jsonl").display().to_string();
    world.set(&json!({"server": {"url": server.url()}, "audit": {"file": file}}));
    assert_eq!(world.ask(&asked("make install"), unattended()).decision.verdict, Verdict::Deny);
    assert_eq!(server.count(PUT), 1);
}
