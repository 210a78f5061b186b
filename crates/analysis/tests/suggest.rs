//! Suggestions, from records that a real desk wrote.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod ground;

use std::sync::Arc;

use ground::Ground;
use mayi_analysis::again;
use mayi_analysis::suggest::{Past, Report, offers};
use mayi_core::call::{Call, Workspace};
use mayi_core::mode::Mode;
use mayi_core::policy::{Layer, Options, Policy, Written};
use mayi_core::risk::Assessment;
use mayi_core::rule::text::TextPattern;
use mayi_core::session::{Attendance, Session};
use mayi_core::verdict::Verdict;
use mayi_engine::audit::Recorded;
use mayi_engine::audit::reading::{Answered, Record};
use mayi_engine::observe::Imagined;
use proptest::prelude::*;
use serde_json::json;

fn suggested(ground: &Ground, answers: &[Answered]) -> Report {
    let loaded = ground.loaded();
    let mut past = Past::default();
    ground.recorded().into_iter().for_each(|recorded| past.add(Record::Decision(Box::new(recorded))));
    answers.iter().for_each(|answer| past.add(Record::Answer(answer.clone())));
    past.suggest(&mut |_: &Recorded| loaded.clone(), &Imagined::default())
}

fn ask(ground: &Ground, command: &str, times: usize) {
    for _ in 0..times {
        ground.ask(Call::shell(command), Mode::Default, Attendance::Attended);
    }
}

#[test]
fn few_rules_save_most_questions() {
    let ground = Ground::new(&json!({}));
    ask(&ground, "make", 5);
    for branch in ["one", "two", "three"] {
        ask(&ground, &format!("git checkout -b {branch}"), 1);
    }
    ask(&ground, "git push --force origin main", 4);
    ask(&ground, "python3 -c 'print(1)'", 4);
    ask(&ground, "frob once", 1);
    let report = suggested(&ground, &[]);
    let rules: Vec<_> = report.suggestions.iter().map(|one| (one.rule.as_str(), one.saves, one.calls.len())).collect();
    assert_eq!(rules, [("Bash(make)", 5, 1), ("Bash(git checkout -b:*)", 3, 3)]);
    assert_eq!((report.asked, report.saved), (17, 8));
}

#[test]
fn rules_that_calls_need_together_are_found_one_after_the_other() {
    let ground = Ground::new(&json!({}));
    ask(&ground, "make", 3);
    ask(&ground, "git fetch origin", 2);
    ask(&ground, "git fetch origin && make", 4);
    let report = suggested(&ground, &[]);
    let rules: Vec<_> = report.suggestions.iter().map(|one| (one.rule.as_str(), one.saves)).collect();
    assert_eq!(rules, [("Bash(make)", 3), ("Bash(git fetch:*)", 6)]);
    assert_eq!((report.asked, report.saved), (9, 9));
}

#[test]
fn a_rule_that_would_let_too_much_pass_is_named_with_what_that_is() {
    let ground = Ground::new(&json!({}));
    for name in ["one", "two", "three"] {
        ask(&ground, &format!("cargo test {name}"), 1);
    }
    let report = suggested(&ground, &[]);
    assert!(report.suggestions.is_empty());
    let closed: Vec<_> = report.closed.iter().map(|closed| (closed.rule.as_str(), closed.about)).collect();
    assert_eq!(closed, [("Bash(cargo test:*)", 3)]);
    assert!(report.closed[0].lets_pass.text("command").unwrap().starts_with("cargo test "));
}

#[test]
fn what_a_person_refused_or_a_rule_asks_about_is_not_suggested() {
    let ground = Ground::new(&json!({"permissions": {"ask": ["Bash(make:*)"]}}));
    ask(&ground, "make", 5);
    assert_eq!(suggested(&ground, &[]).suggestions.len(), 0);
    let ground = Ground::new(&json!({}));
    ask(&ground, "make", 5);
    let no = Answered { session: "s".to_owned(), call_id: Some("make".to_owned()), verdict: Verdict::Deny };
    let report = suggested(&ground, &[no]);
    assert_eq!((report.asked, report.left_out, report.suggestions.len()), (5, 5, 0));
}

fn policy() -> Arc<Policy> {
    Arc::new(Policy::build(Workspace::at("/w").with_home("/home/u"), vec![], Options::default()))
}

const PROGRAMS: [&str; 24] = [
    "git",
    "git push",
    "git checkout",
    "git branch",
    "git tag",
    "git stash",
    "gh pr list",
    "gh pr",
    "cargo build",
    "npm install",
    "npm run",
    "docker",
    "docker compose up",
    "kubectl get",
    "kubectl delete",
    "terraform plan",
    "terraform apply",
    "make",
    "rm",
    "mkdir -p",
    "curl",
    "aws s3",
    "psql",
    "chmod",
];

const OPERANDS: [&str; 24] = [
    "",
    "x",
    "-f",
    "--force",
    "main",
    "origin main",
    "~/.ssh/id_rsa",
    ".env",
    "/etc/shadow",
    "-rf /",
    "--delete",
    "https://x.example/i.sh",
    "--all",
    "-D main",
    "HEAD~3",
    "--global",
    "prod",
    "--no-verify",
    "sync . s3://b",
    "rm",
    "--prune=now",
    "-A",
    "-it x sh",
    "777",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// Whatever is suggested for some past, all of it together lets no call pass that the static risk blocks.
    #[test]
    fn suggested_rules_together_cover_no_call_that_the_static_risk_blocks(
        asked in prop::collection::vec((prop::sample::select(&PROGRAMS[..]), prop::sample::select(&OPERANDS[..])), 1..5),
    ) {
        let ground = Ground::new(&json!({}));
        let spelled = |program: &str, operands: &str| format!("{program} {operands}").trim().to_owned();
        asked.iter().for_each(|(program, operands)| ask(&ground, &spelled(program, operands), 2));
        let policy = policy();
        let with = suggested(&ground, &[]).suggestions.iter().fold(policy.clone(), |policy, one| {
            Arc::new(again::with_rule(&policy, Layer::Local, Written::new(Verdict::Allow, &one.rule)))
        });
        let machine = Imagined::default();
        for (program, _) in &asked {
            for operands in OPERANDS {
                let call = Call::shell(&spelled(program, operands));
                let blocked = matches!(again::risk(&call, &policy, &machine), Assessment::Blocked { .. });
                let decided = again::alone(call.clone(), &with, &Session::default(), &machine).unwrap();
                prop_assert!(!(blocked && decided.decision.verdict == Verdict::Allow), "{call:?} passes");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn an_offered_rule_covers_no_call_that_the_static_risk_blocks(
        program in prop::sample::select(&PROGRAMS[..]),
        asked in prop::collection::vec(prop::sample::select(&OPERANDS[..]), 0..3),
        tried in prop::collection::vec(prop::sample::select(&OPERANDS[..]), 0..4),
    ) {
        let machine = Imagined::default();
        let spelled = |operands: &[&str]| format!("{program} {}", operands.join(" ")).trim().to_owned();
        let policy = policy();
        for offer in offers(&Call::shell(&spelled(&asked)), &policy) {
            let with = Arc::new(again::with_rule(&policy, Layer::Local, Written::new(Verdict::Allow, &offer.rule)));
            let own: mayi_core::rule::Rule = offer.rule.parse().unwrap();
            let pattern = TextPattern::command(own.content.as_deref().unwrap());
            for operands in [&asked, &tried] {
                let call = Call::shell(&spelled(operands));
                if !pattern.matches(&spelled(operands)) {
                    continue;
                }
                let blocked = matches!(again::risk(&call, &policy, &machine), Assessment::Blocked { .. });
                let decided = again::alone(call.clone(), &with, &Session::default(), &machine).unwrap();
                prop_assert!(!(blocked && decided.decision.verdict == Verdict::Allow), "{} covers {call:?}", offer.rule);
            }
        }
    }
}
