//! Laws: languages are what the matchers of the core say, and searches agree with trying every short text.

use mayi_core::call::Workspace;
use mayi_core::path::Case;
use mayi_core::policy::{Access, Grants, Layer, Options, Policy, Source, Text, Written};
use mayi_core::rule::domain::DomainPattern;
use mayi_core::rule::path::{Anchors, PathPattern};
use mayi_core::rule::text::TextPattern;
use mayi_core::verdict::Verdict;
use proptest::prelude::*;

use super::*;

const ANCHORS: Anchors<'_> = Anchors { directory: "/w", home: Some("/w/h"), source: "/" };
const COMMAND: &str = r"[ab *]{1,6}(:\*)?|[ab ]{1,3}\\\*[ab*]{0,2}|[ab*]{0,3}:\*";
const PATH: &str = r"!?(//|~/|/|\./|\.\./)?([ab*?]{1,3}|\*\*|\[ab\]|\[!a\]b?|[aA]\.b|\\\*|w|h|é)(/([ab*]{1,2}|\*\*|\[a-b\]|\.\.)){0,3}/?";
const HOST: &str = r"(\*\.)?[ab*]{1,3}(\.[ab*]{1,2}){0,2}|\*";

fn all_texts(letters: &str, longest: usize) -> Vec<String> {
    let mut texts = vec![String::new()];
    let mut last = texts.clone();
    for _ in 0..longest {
        last = last.iter().flat_map(|text| letters.chars().map(move |letter| format!("{text}{letter}"))).collect();
        texts.extend(last.iter().cloned());
    }
    texts
}

fn path(text: &str, list: Verdict) -> Option<PathPattern> {
    PathPattern::new(text, list, &ANCHORS)
}

/// As a person would write it: no stray blanks, no empty labels.
fn is_tidy(text: &str) -> bool {
    let stray = |letter: char| {
        text.starts_with(letter) || text.ends_with(letter) || text.contains(&format!("{letter}{letter}"))
    };
    text.starts_with('/') || !stray(' ') && !stray('.')
}

/// A search must find a text where there is a short one, and what it finds must be one.
fn agrees(
    left: (&Language, &dyn Fn(&str) -> bool),
    right: (&Language, &dyn Fn(&str) -> bool),
    texts: &[String],
) -> Result<(), TestCaseError> {
    let known = texts.iter().find(|text| left.1(text) && !right.1(text));
    match left.0.outside(right.0, &mut Budget::default()) {
        Search::Found(Witness { text, is_readable }) => {
            prop_assert!(left.1(&text) && !right.1(&text), "`{}` is no witness", text);
            prop_assert!(!is_readable || !text.chars().any(char::is_control), "{:?}", text);
            let tidy = texts.iter().filter(|text| is_tidy(text) && left.1(text) && !right.1(text));
            if let Some(known) = tidy.min_by_key(|text| text.len()) {
                prop_assert!(is_readable && text.len() <= known.len(), "`{}` is worse than `{}`", text, known);
            }
        }
        Search::Nothing => prop_assert_eq!(known, None),
        Search::Undecided => prop_assert!(false, "such short patterns are always decided"),
    }
    let shared = texts.iter().find(|text| left.1(text) && right.1(text));
    match left.0.overlap(right.0, &mut Budget::default()) {
        Search::Found(Witness { text, .. }) => prop_assert!(left.1(&text) && right.1(&text), "`{}`", text),
        Search::Nothing => prop_assert_eq!(shared, None),
        Search::Undecided => prop_assert!(false, "such short patterns are always decided"),
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn a_text_is_in_the_language_of_the_patterns_that_match_it(pattern in COMMAND, text in "[ab \n\t*:é]{0,8}") {
        for pattern in [TextPattern::command(&pattern), TextPattern::glob(&pattern)] {
            prop_assert_eq!(Language::text(&pattern).holds(&text), pattern.matches(&text), "{:?} {:?}", pattern, text);
        }
    }

    #[test]
    fn a_host_is_in_the_language_of_the_patterns_that_match_it(pattern in HOST, host in "[ab.-]{0,7}") {
        if let Some(pattern) = DomainPattern::new(&pattern) {
            prop_assert_eq!(Language::host(&pattern).holds(&host), pattern.matches(&host), "{:?} {}", pattern, host);
        }
    }

    #[test]
    fn a_path_is_in_the_language_of_the_patterns_that_match_it(
        pattern in PATH,
        below in r"(/w|/w/h|)(/([abw]{1,2}|\.a|a\.b|A\.b|B|é|\*|h)){0,4}",
    ) {
        let below = if below.is_empty() { "/".to_owned() } else { below };
        for (list, case) in [
            (Verdict::Allow, Case::Sensitive), (Verdict::Deny, Case::Sensitive), (Verdict::Deny, Case::Insensitive),
        ] {
            let Some(pattern) = path(&pattern, list) else { continue };
            let language = Language::path(&pattern, case);
            prop_assert_eq!(language.holds(&case.fold(&below)), pattern.matches(&below, case), "{:?} {}", pattern, below);
        }
    }

    #[test]
    fn inclusion_of_commands_agrees_with_trying_every_short_one(
        one in COMMAND, others in proptest::collection::vec(COMMAND, 0..4),
    ) {
        let one = TextPattern::command(&one);
        let others: Vec<_> = others.iter().map(|text| TextPattern::command(text)).collect();
        let texts: Vec<String> = all_texts("ab x", 6).into_iter().filter(|text| !text.is_empty()).collect();
        let union = Language { universe: Universe::Text, ..Language::union(others.iter().map(Language::text)) };
        let any = |text: &str| others.iter().any(|pattern| pattern.matches(text));
        agrees((&Language::text(&one), &|text| one.matches(text)), (&union, &any), &texts)?;
    }

    #[test]
    fn inclusion_of_hosts_agrees_with_trying_every_short_one(one in HOST, others in proptest::collection::vec(HOST, 1..4)) {
        let Some(one) = DomainPattern::new(&one) else { return Ok(()) };
        let others: Vec<_> = others.iter().filter_map(|text| DomainPattern::new(text)).collect();
        let texts: Vec<String> = all_texts("abx.", 6).into_iter().filter(|text| !text.is_empty()).collect();
        let union = Language { universe: Universe::Host, ..Language::union(others.iter().map(Language::host)) };
        let any = |text: &str| others.iter().any(|pattern| pattern.matches(text));
        agrees((&Language::host(&one), &|text| one.matches(text)), (&union, &any), &texts)?;
    }

    #[test]
    fn inclusion_of_paths_agrees_with_trying_every_short_one(one in PATH, others in proptest::collection::vec(PATH, 1..4)) {
        let Some(one) = path(&one, Verdict::Allow) else { return Ok(()) };
        let others: Vec<_> = others.iter().filter_map(|text| path(text, Verdict::Deny)).collect();
        let short = all_texts("abx/.", 5).into_iter().map(|text| format!("/{text}"));
        let clean = |text: &String| mayi_core::path::clean(text) == *text;
        let texts: Vec<String> = short.flat_map(|text| [format!("/w{text}"), text]).filter(clean).collect();
        let union = Language::union(others.iter().map(|path| Language::path(path, Case::Sensitive)));
        let union = Language { universe: Universe::Path(Case::Sensitive), ..union };
        let matches = |pattern: &PathPattern, text: &str| pattern.matches(text, Case::Sensitive);
        let any = |text: &str| others.iter().any(|pattern| matches(pattern, text));
        agrees((&Language::path(&one, Case::Sensitive), &|text| matches(&one, text)), (&union, &any), &texts)?;
    }

    /// Whatever matches is found by what it spells.
    #[test]
    fn a_finder_finds_every_pattern_that_matches(
        commands in proptest::collection::vec(COMMAND, 0..8), hosts in proptest::collection::vec(HOST, 0..8),
        paths in proptest::collection::vec(PATH, 0..8),
        command in "[ab ]{1,6}", host in "[ab]{1,2}(\\.[ab]{1,2}){0,2}", below in r"(/w|/w/h|)(/([abw]{1,2}|a\.b|A\.b|B|é|\*)){1,3}",
    ) {
        for case in [Case::Sensitive, Case::Insensitive] {
            let commands = commands.iter().map(|text| Pattern::Text(TextPattern::command(text)));
            let hosts = hosts.iter().filter_map(|text| DomainPattern::new(text)).map(Pattern::Host);
            let paths = paths.iter().filter_map(|text| path(text, Verdict::Deny)).map(Pattern::Path);
            for (patterns, text) in [
                (commands.collect::<Vec<_>>(), &command), (hosts.collect(), &host), (paths.collect(), &below),
            ] {
                let finder = Finder::of(patterns.iter().enumerate(), case);
                let found = finder.candidates(text, &mut Budget::default()).unwrap();
                let matching = (0..patterns.len()).filter(|number| patterns[*number].matches(text, case));
                for number in matching {
                    prop_assert!(found.contains(&number), "{:?} {}", patterns[number], text);
                }
            }
        }
    }

    /// The meaning of a policy is what the policy's own lookups say.
    #[test]
    fn a_policy_means_what_it_looks_up(
        rules in proptest::collection::vec((0..3_usize, rule()), 1..8),
        command in "[ab ]{1,5}", host in "[ab]{1,2}(\\.[ab]{1,2}){0,2}", tool in "Bash|Read|mcp__[ab]{1,2}(__[ab]{1,2})?",
        below in r"(/w|)(/[ab]{1,2}){1,3}",
    ) {
        let written = rules.iter().map(|(list, rule)| Written::new(Verdict::ALL[*list], rule)).collect();
        let sources = vec![Source::of(Layer::User, "/w", written)];
        let policy = Policy::build(Workspace::at("/w").with_home("/w/h"), sources, Options::default());
        let meaning = Meaning::of(&policy);
        for list in Verdict::ALL {
            let holds = |region: &Region, text: &str| {
                let claims = meaning.claims().iter().filter(|claim| claim.entry.verdict == list && claim.region == *region);
                claims.filter(|claim| meaning.language(claim).holds(text)).count() > 0
            };
            let bash = Region::Text { tool: "Bash".to_owned() };
            prop_assert_eq!(holds(&bash, &command), policy.text(list, "Bash", Text::every(&command)).is_some(), "{}", command);
            prop_assert_eq!(holds(&Region::Host, &host), policy.host(list, &host).is_some(), "{}", host);
            prop_assert_eq!(holds(&Region::Tool, &tool), policy.whole_tool(list, &tool, Grants::All).is_some(), "{}", tool);
            for access in [Access::Read, Access::Write] {
                let found = policy.path(list, access, &below).is_some();
                prop_assert_eq!(holds(&Region::Path(access), &below), found, "{:?} {}", access, below);
            }
        }
    }
}

fn rule() -> impl Strategy<Value = String> {
    prop_oneof![
        COMMAND.prop_map(|content| format!("Bash({content})")),
        HOST.prop_map(|content| format!("WebFetch(domain:{content})")),
        PATH.prop_map(|content| format!("Read({content})")),
        PATH.prop_map(|content| format!("Edit({content})")),
        "mcp__[ab]{1,2}(__[ab*]{1,3})?|Bash|Read|Edit|\\*|mcp__\\*".prop_map(|tool| tool),
    ]
}

#[test]
fn witnesses_read_like_commands_paths_and_hosts() {
    let command = |text: &str| Language::text(&TextPattern::command(text));
    let path = |text: &str| Language::path(&path(text, Verdict::Deny).unwrap(), Case::Sensitive);
    let host = |text: &str| Language::host(&DomainPattern::new(text).unwrap());
    for (one, other, witness) in [
        (command("npm:*"), command("npm"), "npm x"),
        (command("npm:*"), command("npm test:*"), "npm"),
        (command("git*"), command("git:*"), "gitx"),
        (command("* --force"), command("git *"), "x --force"),
        (path("//etc/**"), path("//etc/*"), "/etc"),
        (path("src/**"), path("src/*.rs"), "/w/src"),
        (path("[a-c]/?"), path("[ab]/*"), "/w/c/x"),
        (host("*.x.org"), host("*.a.x.org"), "x.x.org"),
        (host("*.x.org"), host("x*.x.org"), "y.x.org"),
    ] {
        assert_eq!(one.outside(&other, &mut Budget::default()).witness(), Some(witness));
    }
}

#[test]
fn what_only_odd_texts_show_is_shown_and_said_to_be_odd() {
    let command = |text: &str| Language::text(&TextPattern::command(text));
    let covering = Language::union([command("npm"), command("npm **")]);
    let Search::Found(witness) = command("npm:*").outside(&covering, &mut Budget::default()) else { panic!() };
    assert!(!witness.is_readable && ["npm\t", "npm\n"].contains(&witness.text.as_str()), "{witness:?}");
}

/// Patterns made to explode end in time, and in an honest word.
#[test]
fn work_is_bounded_and_running_out_of_it_is_no_answer() {
    let stars = |letter: &str| Language::text(&TextPattern::glob(&format!("*{letter}").repeat(200)));
    let many = ["a", "b", "c", "d", "e", "f"].map(stars);
    let [first, others @ ..] = many;
    let together = others.iter().fold(first.clone(), |all, next| all.and(next));
    let started = std::time::Instant::now();
    assert_eq!(together.find(&mut Budget::of(100_000)), Search::Undecided);
    assert!(started.elapsed().as_secs() < 120);
    assert_eq!(first.outside(&first, &mut Budget::default()), Search::Nothing, "one pattern stays small");
}
