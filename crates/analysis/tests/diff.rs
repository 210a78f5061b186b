//! Differences: what a change of settings means, every witness decided under both.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

use mayi_analysis::again;
use mayi_analysis::diff::{Diff, Direction, diff};
use mayi_core::call::Workspace;
use mayi_core::mode::Mode;
use mayi_core::policy::Layer;
use mayi_core::session::{Availability, Session};
use mayi_core::verdict::Verdict;
use mayi_engine::observe::Imagined;
use mayi_settings::{Given, Loaded, of_values};
use proptest::prelude::*;
use serde_json::{Value, json};

fn loaded(settings: &Value) -> Loaded {
    of_values(&[(Layer::User, settings)], &Workspace::at("/w").with_home("/home/u"), &Given::default())
}

fn compared(old: &Value, new: &Value) -> Diff {
    diff(&loaded(old), &loaded(new), &Imagined::default())
}

fn rules(allow: &[&str], ask: &[&str], deny: &[&str]) -> Value {
    json!({"permissions": {"allow": allow, "ask": ask, "deny": deny}})
}

/// Each witness in a line.
fn shown(diff: &Diff) -> Vec<String> {
    let of = |sign: &str, regions: &[mayi_analysis::diff::Region]| -> Vec<String> {
        let line = |region: &mayi_analysis::diff::Region| {
            let input = region
                .witness
                .input
                .as_object()
                .unwrap()
                .values()
                .next()
                .map(|value| value.as_str().unwrap_or("?").to_owned());
            format!("{sign} {} {}: {} -> {}", region.tool, input.unwrap_or_default(), region.old, region.new)
        };
        regions.iter().map(line).collect()
    };
    [of("+", &diff.widened), of("-", &diff.narrowed)].concat()
}

#[track_caller]
fn check(old: Value, new: Value, direction: Direction, expected: &[&str]) {
    let diff = compared(&old, &new);
    assert_eq!(shown(&diff), expected, "{:?}", diff.undecided);
    assert_eq!(diff.direction(), direction, "{:?}", diff.undecided);
    assert_eq!(diff.equal, direction == Direction::Equal);
}

#[test]
fn rules_are_compared_by_what_they_mean() {
    let none = || json!({});
    check(none(), none(), Direction::Equal, &[]);
    check(none(), rules(&["Bash(frob:*)"], &[], &[]), Direction::Widened, &["+ Bash frob: ask -> allow"]);
    check(rules(&["Bash(frob:*)"], &[], &[]), none(), Direction::Narrowed, &["- Bash frob: allow -> ask"]);
    check(none(), rules(&[], &[], &["Bash(frob:*)"]), Direction::Narrowed, &["- Bash frob: ask -> deny"]);
    check(rules(&["Bash(frob:*)"], &[], &[]), rules(&["Bash(frob *)"], &[], &[]), Direction::Equal, &[]);
    check(
        rules(&["Bash(frob:*)", "Bash(frob x)"], &[], &[]),
        rules(&["Bash(frob:*)"], &[], &[]),
        Direction::Equal,
        &[],
    );
    check(
        rules(&["Bash(frob:*)"], &[], &[]),
        rules(&["Bash(frob:*)"], &[], &["Bash(frob --all:*)"]),
        Direction::Narrowed,
        &["- Bash frob --all: allow -> deny"],
    );
    check(
        rules(&["Bash(frob a:*)", "Bash(frob b:*)"], &[], &[]),
        rules(&["Bash(frob:*)"], &[], &[]),
        Direction::Widened,
        &["+ Bash frob: ask -> allow"],
    );
}

#[test]
fn tools_hosts_paths_and_parameters_have_witnesses_of_their_own() {
    let none = || json!({});
    check(
        none(),
        rules(&["WebFetch(domain:a.example)"], &[], &[]),
        Direction::Widened,
        &["+ WebFetch https://a.example/: ask -> allow"],
    );
    check(
        none(),
        rules(&[], &[], &["WebFetch"]),
        Direction::Narrowed,
        &["- WebFetch https://elsewhere.example/: ask -> deny"],
    );
    check(none(), rules(&["mcp__db__*"], &[], &[]), Direction::Widened, &["+ mcp__db__ : ask -> allow"]);
    check(none(), rules(&["Edit(//w/src/**)"], &[], &[]), Direction::Widened, &["+ Edit /w/src: ask -> allow"]);
    check(none(), rules(&[], &[], &["Read(//w/secret)"]), Direction::Narrowed, &["- Read /w/secret: allow -> deny"]);
}

#[test]
fn settings_that_are_no_rules_count_too() {
    let none = || json!({});
    for (settings, direction) in [
        (json!({"permissions": {"defaultMode": "acceptEdits"}}), Direction::Widened),
        (json!({"permissions": {"disableBypassPermissionsMode": "disable"}}), Direction::Narrowed),
        (json!({"permissions": {"blockReadsOutsideWorkingDirectories": true}}), Direction::Narrowed),
        (json!({"permissions": {"additionalDirectories": ["/srv/more"]}}), Direction::Widened),
        (json!({"sandbox": {"enabled": true}}), Direction::Widened),
        (
            json!({"hooks": {"PreToolUse": [{"matcher": "*", "hooks": [{"type": "command", "command": "x"}]}]}}),
            Direction::Undecided,
        ),
        (json!({"autoMode": {"soft_deny": ["never on a Friday"]}}), Direction::Undecided),
    ] {
        let diff = compared(&none(), &settings);
        assert_eq!(diff.direction(), direction, "{settings}: {:?} {:?}", shown(&diff), diff.undecided);
    }
}

#[test]
fn patterns_made_to_explode_are_never_called_equal() {
    let stars = |letter: &str| format!("Bash({})", format!("*{letter}").repeat(60));
    let many: Vec<String> = (0..200).map(|number| format!("Bash(*a*{number}*b*{}*)", number * 7)).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let began = std::time::Instant::now();
    let diff = compared(&rules(&[&stars("a")], &[], &many), &rules(&[&stars("b")], &[], &many));
    assert_ne!(diff.direction(), Direction::Equal);
    assert!(began.elapsed().as_secs() < 120);
}

#[test]
fn one_change_among_thousands_of_rules_is_found_exactly() {
    let many: Vec<String> = (0..3_000).map(|number| format!("Bash(tool{number} sub:*)")).collect();
    let mut old: Vec<&str> = many.iter().map(String::as_str).collect();
    let before = rules(&old, &[], &["Bash(frob --bad:*)"]);
    old.push("Bash(frob:*)");
    check(before, rules(&old, &[], &["Bash(frob --bad:*)"]), Direction::Widened, &["+ Bash frob: ask -> allow"]);
}

const RULES: [&str; 15] = [
    "Bash",
    "Bash(frob:*)",
    "Bash(frob a)",
    "Bash(frob a:*)",
    "Bash(frob * b)",
    "Bash(* b)",
    "Edit",
    "Edit(//w/a/**)",
    "Edit(//w/a/b)",
    "Edit(!//w/a/b)",
    "Read(//w/a/**)",
    "WebFetch(domain:*.example.com)",
    "WebFetch(domain:a.example.com)",
    "mcp__s",
    "mcp__s__t",
];

fn some_rules() -> impl Strategy<Value = Value> {
    let some = || prop::collection::vec(prop::sample::select(&RULES[..]), 0..3);
    (some(), some(), some()).prop_map(|(allow, ask, deny)| rules(&allow, &ask, &deny))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_witness_really_gets_different_verdicts_and_equal_policies_none(old in some_rules(), new in some_rules()) {
        let diff = compared(&old, &new);
        let (before, after) = (loaded(&old), loaded(&new));
        let decide = |loaded: &Loaded, call, session: &Session| {
            again::alone(call, &loaded.policy, session, Imagined::default()).unwrap().decision.verdict
        };
        for region in diff.widened.iter().chain(&diff.narrowed) {
            for sandbox in [false, true] {
                let availability = Availability { bypass: region.mode == Mode::BypassPermissions, auto: sandbox, model: false, sandbox };
                let session = Session { availability, attendance: region.attendance, ..Session::in_mode(region.mode) };
                let verdicts = (decide(&before, region.witness.clone(), &session), decide(&after, region.witness.clone(), &session));
                if !sandbox {
                    prop_assert_eq!(verdicts, (region.old, region.new), "{:?}", region.witness);
                }
            }
        }
        if diff.equal {
            for text in ["frob", "frob a", "frob a b", "frob x b", "x b", "x"] {
                let call = mayi_core::call::Call::shell(text);
                let session = Session::in_mode(Mode::Default);
                prop_assert_eq!(decide(&before, call.clone(), &session), decide(&after, call, &session), "{}", text);
            }
            for (tool, field, value) in [
                ("Edit", "file_path", "/w/a/b"), ("Edit", "file_path", "/w/a/c"), ("Edit", "file_path", "/w/x"),
                ("Read", "file_path", "/w/a/b"), ("WebFetch", "url", "https://a.example.com/"),
                ("WebFetch", "url", "https://b.example.com/"), ("mcp__s__t", "x", ""), ("mcp__s__u", "x", ""),
            ] {
                let call = mayi_core::call::Call::new(tool, json!({ field: value }));
                let session = Session::in_mode(Mode::Default);
                prop_assert_eq!(decide(&before, call.clone(), &session), decide(&after, call, &session), "{} {}", tool, value);
            }
        }
        // Swapped, what was wider is narrower. What no call shows is undecided either way.
        if diff.undecided.is_empty() {
            let back = compared(&new, &old);
            prop_assert_eq!((diff.widened.is_empty(), diff.narrowed.is_empty()), (back.narrowed.is_empty(), back.widened.is_empty()));
        }
    }
}

#[test]
fn a_thousand_changed_rules_are_all_compared() {
    let some = |rule: &dyn Fn(usize) -> String| (0..1000).map(rule).collect::<Vec<_>>();
    let settings = |allow: Vec<String>| json!({"permissions": {"allow": allow}});
    let wide = settings(some(&|n| format!("Bash(frob-{n}:*)")));
    let narrow = settings(some(&|n| format!("Bash(frob-{n} x)")));
    let diff = compared(&wide, &narrow);
    assert_eq!((diff.widened.len(), diff.narrowed.len(), diff.undecided.len()), (0, 1000, 0));
    let respelled = settings(some(&|n| format!("Bash(frob-{n} *)")));
    assert!(compared(&wide, &respelled).equal, "the same in other words");
}

#[test]
fn a_rule_that_cannot_be_read_is_a_difference() {
    let diff = compared(&json!({}), &rules(&[], &[], &["Bash(frob"]));
    assert_ne!(diff.direction(), Direction::Equal, "{diff:?}");
    assert_eq!(Verdict::Ask, diff.narrowed.first().map_or(Verdict::Ask, |region| region.new));
}
