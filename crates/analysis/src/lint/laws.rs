//! What lint finds, in tables; and what holds for any settings whatever.

use mayi_core::call::Workspace;
use mayi_core::policy::{Layer, Policy, Written};
use mayi_core::verdict::Verdict;
use mayi_settings::{Code, Flag, Given, Loaded, Places, Trust, load, of_values};
use proptest::prelude::*;
use serde_json::{Value as Json, json};

use super::cover::{Cover, Covering};
use super::*;
use crate::automata::{Budget, Claim, Language, Meaning, Region, Search};

fn loaded(settings: &Json) -> Loaded {
    of_values(&[(Layer::User, settings)], &Workspace::at("/w").with_home("/home/u"), &Given::default())
}

fn shadows(allow: &str, deny: &[&str]) -> Option<Vec<String>> {
    let problems = lint(&loaded(&json!({"permissions": {"allow": [allow], "deny": deny}})));
    let problem = problems.into_iter().find(|problem| problem.code == Code::DenyShadowed)?;
    Some(problem.by.into_iter().map(|cause| cause.rule).collect())
}

#[test]
fn what_one_rule_covers() {
    for (deny, allow) in [
        ("Bash", "Bash(ls)"),
        ("*", "Edit(src/**)"),
        ("mcp__*", "mcp__x__read"),
        ("mcp__x", "mcp__x__*"),
        ("mcp__x__*", "mcp__x"),
        ("Bash(git:*)", "Bash(git push --force)"),
        ("Bash(git *)", "Bash(git push:*)"),
        ("Bash(git*)", "Bash(git push * main)"),
        ("Bash(* --force*)", "Bash(git push --force *)"),
        ("Bash(git:*)", "Monitor(git status)"),
        ("PowerShell(remove-item *)", "PowerShell(rm x)"),
        ("WebFetch(domain:*.x.org)", "WebFetch(domain:a.b.x.org)"),
        ("WebFetch(domain:*)", "WebFetch(domain:*.x.org)"),
        ("WebFetch(domain:*.x.org)", "WebFetch(domain:a*.*.x.org)"),
        ("WebFetch", "WebFetch(domain:*.x.org)"),
        ("Read(src/**)", "Read(src/a/b.rs)"),
        ("Read(secrets)", "Edit(secrets/**)"),
        ("Edit(//etc/**)", "Edit(//etc/hosts)"),
        ("Edit", "Edit(src/**)"),
        ("Read(*.pem)", "Read(//w/keys/*.pem)"),
        ("Read(**/[a-f]*)", "Read(b?[!x])"),
        ("Read(a/**/b)", "Read(a/x*/y/b/c)"),
        ("Agent(Explore)", "Agent(Explore)"),
    ] {
        assert_eq!(shadows(allow, &[deny]).as_deref(), Some([deny.to_owned()].as_slice()), "{deny} over {allow}");
    }
}

#[test]
fn what_several_rules_cover_together() {
    for (deny, allow) in [
        (&["Read(docs/[a-m]*)", "Read(docs/[!a-m]*)"][..], "Read(//w/docs/*/x)"),
        (&["Read(docs/a/**)", "Read(docs/b/**)"], "Read(//w/docs/[ab]/**)"),
        (&["WebFetch(domain:x.org)", "WebFetch(domain:*.x.org)"], "WebFetch(domain:x.org)"),
        (&["WebFetch(domain:*.*)", "WebFetch(domain:*.*.*.*)", "WebFetch(domain:*.a.x)"], "WebFetch(domain:*.a.x)"),
        (&["Edit(a)", "Read(b)"], "Edit(//w/[ab]/**)"),
    ] {
        let by = shadows(allow, deny);
        assert!(by.is_some(), "{deny:?} over {allow}");
    }
    let mut both = shadows("Read(//w/docs/[ab]/**)", &["Read(docs/c)", "Read(docs/a)", "Read(docs/b)"]).unwrap();
    both.sort();
    assert_eq!(both, ["Read(docs/a)", "Read(docs/b)"], "only what is needed is named");
}

#[test]
fn what_is_not_covered() {
    for (deny, allow) in [
        (&["Bash(git push)"][..], "Bash(git push:*)"),
        (&["Bash(git:*)"], "Bash(git*)"),
        (&["Bash(run_in_background:true)"], "Bash(run_in_background:true)"),
        (&["Read(src/*/x)"], "Read(src/a/b)"),
        (&["Edit(secrets)"], "Read(secrets/x)"),
        (&["WebFetch(domain:*.x.org)"], "WebFetch(domain:x.org)"),
        (&["mcp__x"], "mcp__x2__read"),
        (&["Monitor(git:*)"], "Bash(git status)"),
        (&["Read(*.env)", "Read(!a.env)"], "Read(*.env)"),
        (&["Read(docs/[a-m]*)", "Read(docs/[o-z]*)"], "Read(docs/*/x)"),
    ] {
        assert_eq!(shadows(allow, deny), None, "{deny:?} over {allow}");
    }
}

#[test]
fn an_allow_that_denies_and_asks_cover_together_is_told_of() {
    let settings = json!({"permissions": {
        "allow": ["Read(//w/docs/[ab]/**)", "Bash(x y)"], "deny": ["Read(docs/a)"], "ask": ["Read(docs/b)", "Bash(x:*)"]}});
    let found = lint(&loaded(&settings));
    let found: Vec<_> =
        found.iter().map(|problem| (problem.code, problem.rule.as_deref().unwrap(), problem.by.len())).collect();
    assert_eq!(found, [(Code::AskShadowed, "Read(//w/docs/[ab]/**)", 2), (Code::AskShadowed, "Bash(x y)", 1)]);
}

#[test]
fn a_personal_ask_for_bash_does_not_shadow_while_commands_are_confined() {
    let count = |layer: Layer, enabled: bool, more: &str| {
        let user = json!({"permissions": {"allow": ["Bash(ls)"]}, "sandbox": {"enabled": enabled}});
        let ask = json!({"permissions": {"ask": ["Bash", more]}});
        let loaded = of_values(&[(Layer::User, &user), (layer, &ask)], &Workspace::at("/w"), &Given::default());
        lint(&loaded).iter().filter(|problem| problem.code == Code::AskShadowed).count()
    };
    assert_eq!(count(Layer::Local, true, "Bash(x)"), 0);
    assert_eq!(count(Layer::Local, false, "Bash(x)"), 1);
    assert_eq!(count(Layer::Managed, true, "Bash(x)"), 1);
    assert_eq!(count(Layer::Local, true, "Bash(ls:*)"), 1, "a rule for the command itself does");
}

#[test]
fn duplicates_are_told_by_what_they_match() {
    let settings = json!({"permissions": {"deny": [
        "Bash(npm:*)", "Bash(npm *)", "Read(.env)", "Read(./.env)", "Read(.env/**)", "Read(//a/[b]/c)", "Read(//a/b/c)",
        "WebFetch(domain:X.org.)", "WebFetch(domain:x.org)", "Bash(a **:*)", "Bash(a **)", "Bash(npm)", "Read(//a/b)"]}});
    let found = lint(&loaded(&settings));
    let of_code = found.iter().filter(|problem| problem.code == Code::Duplicate);
    let rules: Vec<_> = of_code.filter_map(|problem| problem.rule.as_deref()).collect();
    assert_eq!(
        rules,
        ["Bash(npm *)", "Read(./.env)", "Read(.env/**)", "Read(//a/b/c)", "WebFetch(domain:x.org)", "Bash(a **)"]
    );
    let negated = json!({"permissions": {"deny": ["Read(*.env)", "Read(!a.env)", "Read(*.env)"]}});
    assert!(
        !lint(&loaded(&negated)).iter().any(|problem| problem.code == Code::Duplicate),
        "the second closes it again"
    );
}

#[test]
fn a_pattern_that_stands_for_nothing_is_told_of() {
    let settings = json!({"permissions": {"deny": [
        "Read(src/../.env)", "WebFetch(domain:münchen.de)", "Read(a/[!]/b)", "Read(a/[!]]/b)"], "allow": ["Read(//x/**)", "Read(!//x/**)"]}});
    let found = lint(&loaded(&settings));
    let of_code = found.iter().filter(|problem| problem.code == Code::NeverMatches);
    let rules: Vec<_> = of_code.filter_map(|problem| problem.rule.as_deref()).collect();
    let expected = ["Read(//x/**)", "Read(src/../.env)", "WebFetch(domain:münchen.de)", "Read(a/[!]/b)"];
    assert_eq!(rules.iter().collect::<std::collections::BTreeSet<_>>(), expected.iter().collect());
}

#[test]
fn what_only_odd_texts_are_left_of_is_told_with_one_of_them() {
    let problems =
        lint(&loaded(&json!({"permissions": {"allow": ["Bash(npm:*)"], "deny": ["Bash(npm)", "Bash(npm **)"]}})));
    let problem = problems.iter().find(|problem| problem.code == Code::DenyShadowed).unwrap();
    assert!(problem.message.contains(r"odd texts such as `npm\tx`"), "{problem}");
    assert_eq!(problem.by.len(), 2);
}

#[test]
fn a_rule_for_writing_still_speaks_for_reading() {
    let message = |deny: &str| {
        let settings = json!({"permissions": {"allow": ["Edit(//data/x)"], "deny": [deny]}});
        lint(&loaded(&settings)).into_iter().find(|problem| problem.code == Code::DenyShadowed).unwrap().message
    };
    assert!(message("Edit(//data/**)").contains("speaks for reading alone"));
    assert!(message("Read(//data/**)").contains("never speaks"));
}

fn codes(layer: Layer, text: &str) -> Vec<Code> {
    // Somebody's answer, for the organisation to set aside.
    let answer = Written::new(Verdict::Ask, "Bash(answered:*)");
    let mut given = Given { session: vec![answer], ..Given::default() };
    let value = serde_json::from_str(text).ok().filter(|_| layer != Layer::Flag);
    let layers: Vec<_> = value.iter().map(|value| (layer, value)).collect();
    if value.is_none() {
        given.flags.push(Flag::Inline(text.to_owned()));
    }
    let loaded = of_values(&layers, &Workspace::at("/w").with_home("/home/u"), &given);
    lint(&loaded).iter().map(|problem| problem.code).collect()
}

#[test]
fn the_example_of_every_page_shows_its_problem_and_the_mended_one_does_not() {
    for code in Code::ALL {
        let article = mayi_settings::lint::article(code).unwrap();
        assert!(!codes(article.layer, article.mended).contains(&code), "{code}: the mended example still has it");
        // Stale settings need a past, and what is undecided needs more rules than a page should hold.
        if !matches!(code, Code::StaleSettings | Code::Undecided) {
            assert!(codes(article.layer, article.example).contains(&code), "{code}: the example does not have it");
        }
    }
}

#[test]
fn ten_thousand_rules_are_linted_in_no_time() {
    let rules = |list: &str| (0..5000).map(|number| format!("Bash({list}-{number} run:*)")).collect::<Vec<_>>();
    let settings = json!({"permissions": {"allow": rules("a"), "deny": rules("d")}});
    let started = std::time::Instant::now();
    assert_eq!(lint(&loaded(&settings)), []);
    assert!(started.elapsed().as_secs() < 10, "far more than it takes, far less than a quadratic check would");
}

/// Shapes that took a minute when each rule was held against each other one.
#[test]
fn thousands_of_rules_about_one_folder_are_decided() {
    let half = |rule: &dyn Fn(usize) -> String| (0..1500).map(rule).collect::<Vec<_>>();
    let shadowed = |found: &[Problem]| found.iter().filter(|problem| problem.code == Code::DenyShadowed).count();
    let allow = half(&|n| format!("Read(//srv/a/f{n}*)"));
    let settings = json!({"permissions": {"allow": allow, "deny": half(&|n| format!("Read(//srv/a/*d{n}x*)"))}});
    assert_eq!(lint(&loaded(&settings)), []);
    let allow = half(&|n| format!("Read(//srv/a/xd{n}x)"));
    let settings = json!({"permissions": {"allow": allow, "deny": half(&|n| format!("Read(//srv/a/*d{n}x*)"))}});
    let found = lint(&loaded(&settings));
    assert_eq!((shadowed(&found), found.len()), (1500, 1500));
    let rules: Vec<String> = half(&|n| format!("Read(//srv/a/f{n}/*)"))
        .into_iter()
        .chain(half(&|n| format!("Read(!//srv/a/f{n}/x)")))
        .collect();
    assert_eq!(lint(&loaded(&json!({"permissions": {"allow": rules}}))), []);
}

/// What is given up is said for each rule that it is about.
#[test]
fn each_rule_that_nobody_knows_about_is_named() {
    let rule = |n: usize| format!("Bash({} {})", "*a".repeat(n % 50 + 1), "b*".repeat(n / 50));
    let allow: Vec<String> = (0..4000).map(rule).collect();
    let deny: Vec<String> = (0..4000).map(|n| rule(n).replace(")", "*c)")).collect();
    let found = lint(&loaded(&json!({"permissions": {"allow": allow, "deny": deny}})));
    let of_code = |code: Code| found.iter().filter(|problem| problem.code == code).count();
    let undecided = of_code(Code::Undecided);
    assert!(undecided > 0 && undecided <= 4000 && of_code(Code::DenyShadowed) == 0, "{undecided}");
}

/// Patterns made to explode are said to be undecided, in bounded time.
#[test]
fn what_would_take_too_long_is_said_to_be_undecided() {
    let deny: Vec<String> = (0..40)
        .map(|number| format!("Read(//**/*{}/**/*?{}*/**)", "?a*".repeat(8), "[ab]?".repeat(number % 9 + 2)))
        .collect();
    let allow = format!("Read(//**/{}/**/*{}*)", "*a*b".repeat(20), "?".repeat(60));
    let started = std::time::Instant::now();
    let found = lint(&loaded(&json!({"permissions": {"allow": [allow], "deny": deny}})));
    assert!(started.elapsed().as_secs() < 60);
    assert!(!found.iter().any(|problem| problem.code == Code::DenyShadowed), "{found:?}");
}

#[test]
fn sarif_names_every_code_and_points_at_each_line() {
    let text = "{\n  \"permissions\": {\"allow\": [\"Bash(ls)\"],\n \"deny\": [\"Bash\"]}\n}";
    let given = Given { flags: vec![Flag::Inline(text.to_owned())], ..Given::default() };
    let found = lint(&of_values(&[], &Workspace::at("/w"), &given));
    let log = sarif(&found);
    assert_eq!(log["version"], "2.1.0");
    let run = &log["runs"][0];
    assert_eq!(run["tool"]["driver"]["rules"].as_array().unwrap().len(), Code::ALL.len());
    let result = &run["results"][0];
    assert_eq!(result["ruleId"], "deny-shadowed");
    let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
    assert_eq!(run["tool"]["driver"]["rules"][index]["id"], "deny-shadowed");
    assert_eq!(result["locations"][0]["physicalLocation"]["region"], json!({"startLine": 2, "startColumn": 29}));
    assert_eq!(result["relatedLocations"][0]["message"]["text"], "`Bash` in deny");
}

const COMMAND: &str = r"Bash\([ab *]{1,5}(:\*)?\)|Bash";
const PATH: &str =
    r"(Read|Edit|Write)\(!?(//|~/|/|\./|\.\./)?([ab*?]{1,2}|\*\*|\[!?ab\]|home|w)(/([ab*]{1,2}|\*\*|\[!a\]|u)){0,2}\)";
const HOST: &str = r"WebFetch\(domain:(\*\.)?[ab*]{1,2}(\.[ab*]{1,2}){0,2}\)";

fn rule() -> impl Strategy<Value = String> {
    prop_oneof![COMMAND, PATH, PATH, HOST, r"mcp__[ab](__[ab*]{1,2})?"]
}

/// What everybody may do, and nobody stops, in every region that a rule of either policy is about.
fn loosened(before: &Policy, after: &Policy) -> Option<String> {
    let (before, after) = (Meaning::of(before), Meaning::of(after));
    let mut regions = before.regions();
    regions.extend(after.regions());
    let more = |list: Verdict, region: &Region| {
        let (old, new) = (before.list(list, region), after.list(list, region));
        let stops =
            |meaning: &Meaning| Language::union([meaning.list(Verdict::Deny, region), meaning.list(list, region)]);
        match list {
            Verdict::Allow => new.outside(&old, &mut Budget::default()),
            Verdict::Ask | Verdict::Deny => stops(&before).outside(&stops(&after), &mut Budget::default()),
        }
    };
    for region in regions {
        for list in Verdict::ALL {
            match more(list, &region) {
                Search::Nothing => {}
                found @ (Search::Found(_) | Search::Undecided) => return Some(format!("{list} {region:?}: {found:?}")),
            }
        }
    }
    None
}

fn written(allow: &[String], ask: &[String], deny: &[String]) -> String {
    let list = |rules: &[String]| {
        let lines = rules.iter().map(|rule| format!("      {} // why", json!(rule)));
        lines.collect::<Vec<_>>().join(",\n").replace(" // why,", ", // why")
    };
    format!(
        "// Ours.\n{{\n  \"permissions\": {{\n    \"allow\": [\n{}\n    ],\n    \"ask\": [\n{}\n    ],\n    \"deny\": [\n{}\n    ]\n  }}\n}}\n",
        list(allow),
        list(ask),
        list(deny)
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// Coverage says what automata say about the rules it is about.
    #[test]
    fn coverage_is_what_automata_find(
        allow in rule(),
        further in proptest::collection::vec(rule(), 0..3),
        deny in proptest::collection::vec(rule(), 1..10),
    ) {
        let rules: Vec<&String> = [&allow].into_iter().chain(&further).collect();
        let loaded = loaded(&json!({"permissions": {"allow": rules, "deny": deny}}));
        let mut covering = Covering::of(&loaded.policy);
        let entries = loaded.policy.entries();
        let Some(place) = entries.iter().position(|entry| entry.verdict == Verdict::Allow) else { return Ok(()) };
        let cover = covering.cover(place, &[Verdict::Deny]);
        let meaning = Meaning::of(&loaded.policy);
        let claims = meaning.of_rule(place);
        let is_negation = claims.iter().any(Claim::is_negation);
        let denies_bash = |rule: &String| rule.parse() == Ok(mayi_core::rule::Rule::tool("Bash"));
        let tool_is_denied = deny.iter().any(denies_bash) && allow.starts_with("Bash");
        // A server's name alone is the name of no tool.
        let is_server = |claim: &&Claim| claims.len() > 1 && meaning.language(claim).holds(&allow);
        let outside = claims.iter().filter(|claim| !is_server(claim)).map(|claim| {
            meaning.language(claim).outside(&meaning.list(Verdict::Deny, &claim.region), &mut Budget::default())
        }).find(|search| *search != Search::Nothing);
        match cover {
            Cover::Whole(_) => prop_assert!(outside.is_none() || tool_is_denied, "{outside:?}"),
            Cover::ButOdd(..) => prop_assert!(matches!(outside, Some(Search::Found(witness)) if !witness.is_readable)),
            Cover::Open => prop_assert!(outside.is_some() || claims.is_empty() || is_negation),
            Cover::Undecided => prop_assert!(false, "such short patterns are always decided"),
        }
    }

}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// An automatic fix never loosens anything, and comes to an end.
    #[test]
    fn a_fix_never_widens_what_is_allowed(
        allow in proptest::collection::vec(rule(), 0..6),
        ask in proptest::collection::vec(rule(), 0..4),
        deny in proptest::collection::vec(rule(), 0..6),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("s.json");
        std::fs::write(&file, written(&allow, &ask, &deny)).unwrap();
        let places = Places { directory: "/w".into(), home: Some("/home/u".into()), ..Places::default() };
        let given = Given { flags: vec![Flag::File(file.clone())], trust: Trust::Trusted, ..Given::default() };
        let mut before = load(&places, &given);
        for round in 0.. {
            let fixed = fixes(&before).unwrap();
            let Some(fixed) = fixed.first() else { break };
            prop_assert!(round < 4, "{}", fixed.diff());
            prop_assert!(fixed.count > 0 && !fixed.diff().is_empty() && fixed.after.starts_with("// Ours."));
            fixed.save(&places).unwrap();
            let after = load(&places, &given);
            prop_assert_eq!(loosened(&before.policy, &after.policy), None, "{}", fixed.diff());
            before = after;
        }
    }
}

#[test]
fn a_rule_that_takes_back_is_never_put_in_the_spelling_that_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("s.json");
    std::fs::write(&file, written(&[], &[], &["Edit([ab])".to_owned(), "Write(!**)".to_owned()])).unwrap();
    let places = Places { directory: "/w".into(), ..Places::default() };
    let given = Given { flags: vec![Flag::File(file)], ..Given::default() };
    assert!(fixes(&load(&places, &given)).unwrap().is_empty());
}
