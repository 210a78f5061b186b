//! What path patterns match, where they are anchored, and that the matcher agrees with the index.

use super::*;
use crate::rule::index::RuleId;
use crate::rule::path_index::PathIndex;

#[track_caller]
fn meets(rule: &str, globs: &str) -> bool {
    let anchors = Anchors { directory: "/w", home: None, source: "/w" };
    PathPattern::new(rule, Verdict::Deny, &anchors).unwrap().may_meet("/w", globs)
}

#[test]
fn a_shell_pattern_may_run_into_a_rule() {
    assert!(meets("secret/**", "secr*t/key"));
    assert!(meets("secret/**", "*/key"));
    assert!(meets("secret/**", "*/*/key"));
    assert!(meets("secret/**", "**"));
    assert!(!meets("secret/**", "*"));
    assert!(!meets("secret/**", "src/*"));
    assert!(!meets("secret/**", "src*/*.rs"));
    assert!(!meets("/secret/**", "x/secr*/key"));
    assert!(meets("*.env", "prod.*"));
    assert!(!meets("*.env", "src/*.rs"));
    assert!(!meets(".env", "*"));
    assert!(meets(".env", ".e*"));
    assert!(!meets("//etc/**", "*/key"));
    assert!(meets("secret", "*"));
    assert!(!meets("**/a/**/b/**", &format!("{}x*", "a/".repeat(2000))));
}

const ANCHORS: Anchors<'_> = Anchors { directory: "/w", home: Some("/home/u"), source: "/src-root" };

#[track_caller]
fn check(list: Verdict, patterns: &[&str], yes: &[&str], no: &[&str]) {
    let mut index = PathIndex::new(Case::Sensitive, list);
    for (number, pattern) in patterns.iter().enumerate() {
        if let Some(pattern) = PathPattern::new(pattern, list, &ANCHORS) {
            index.insert(pattern, RuleId(number as u32), 0);
        }
    }
    for path in yes {
        assert!(index.first(path, &|_| true).is_some(), "{patterns:?} should match {path}");
    }
    for path in no {
        assert!(index.first(path, &|_| true).is_none(), "{patterns:?} should not match {path}");
    }
}

#[test]
fn a_single_folder_is_near_in_allow_and_anywhere_in_deny() {
    check(Verdict::Allow, &["src/**"], &["/w/src/app.ts"], &["/w/vendor/src/lib.js", "/src/x"]);
    check(Verdict::Deny, &["src/**"], &["/w/src/app.ts", "/w/vendor/src/lib.js"], &["/other/src/x"]);
    check(Verdict::Deny, &["src/components/**"], &["/w/src/components/x"], &["/w/a/src/components/x"]);
}

#[test]
fn four_anchors() {
    check(Verdict::Deny, &["//etc/x"], &["/etc/x", "/etc/x/y"], &["/w/etc/x"]);
    check(Verdict::Deny, &["~/x"], &["/home/u/x"], &["/w/x"]);
    check(Verdict::Deny, &["/x"], &["/src-root/x"], &["/w/x"]);
    check(Verdict::Deny, &["./x/y"], &["/w/x/y"], &["/w/a/x/y"]);
    check(Verdict::Allow, &["../x"], &["/x"], &["/w/x"]);
    check(Verdict::Deny, &["../**"], &["/beside/x"], &["/w/x"]);
    check(Verdict::Allow, &["~other/x"], &[], &["/w/~other/x"]);
}

#[test]
fn names_match_at_any_depth_below_the_root() {
    check(Verdict::Deny, &[".env"], &["/w/a/.env", "/w/.env", "/w/.env/x"], &["/.env", "/w/.envx"]);
    check(Verdict::Deny, &["//**/.env"], &["/other/.env", "/.env"], &[]);
    check(Verdict::Deny, &["*.pem"], &["/w/a/k.pem"], &["/w/a/k.pem2"]);
    check(Verdict::Deny, &["secrets-*/config.json"], &["/w/secrets-a/config.json"], &["/w/x/secrets-a/config.json"]);
    check(Verdict::Deny, &["**/a/**/b"], &["/w/a/b", "/w/x/a/y/z/b"], &["/w/b"]);
}

#[test]
fn negation_reaches_its_own_list_only_as_far_as_gitignore() {
    check(Verdict::Deny, &["*.env", "!sample.env"], &["/w/x.env"], &["/w/a/sample.env"]);
    check(Verdict::Deny, &["!sample.env", "*.env"], &["/w/sample.env"], &[]);
    check(Verdict::Deny, &["~/n/**", "!~/n/pub/**"], &["/home/u/n/pub/x"], &[]);
    check(Verdict::Deny, &["secrets/**", "!secrets/public/**"], &["/w/secrets/public/x"], &[]);
    check(Verdict::Allow, &["src/**", "!src/private/**"], &["/w/src/a"], &["/w/src/private/x"]);
}

#[test]
fn an_unusable_pattern_denies_its_own_path_and_allows_nothing() {
    check(Verdict::Deny, &["["], &["/w/["], &["/w/a"]);
    check(Verdict::Allow, &["["], &[], &["/w/["]);
}

#[test]
fn a_pattern_says_where_to_look_and_for_what() {
    for (list, pattern, folder, below) in [
        (Verdict::Deny, "//etc/x", "/etc/x", ""),
        (Verdict::Deny, "~/n/**", "/home/u/n", ""),
        (Verdict::Deny, "//**", "/", ""),
        (Verdict::Allow, "src/**", "/w/src", ""),
        (Verdict::Deny, "src/**", "/w", "**/src"),
        (Verdict::Deny, ".env", "/w", "**/.env"),
        (Verdict::Deny, "~/**/.env", "/home/u", "**/.env"),
        (Verdict::Deny, "a/b*/c", "/w/a", "b*/c"),
        (Verdict::Allow, &escape("/w/[2024] R/x*"), "/w/[2024] R/x*", ""),
        (Verdict::Deny, "../x", "/x", ""),
    ] {
        let place = PathPattern::new(pattern, list, &ANCHORS).unwrap().place();
        assert_eq!(place, (folder.to_owned(), below.to_owned()), "{pattern}");
    }
}

#[test]
fn many_stars_stay_fast() {
    let pattern = "**/a".repeat(30) + "/zz";
    let path = format!("/w{}", "/a".repeat(2000));
    check(Verdict::Deny, &[&pattern], &[], &[&path]);
    check(Verdict::Deny, &[&("*a".repeat(50) + "z")], &[], &[&format!("/w/{}", "a".repeat(5000))]);
}

#[test]
fn an_escaped_path_matches_itself_alone() {
    check(Verdict::Allow, &[&escape("/w/[2024] R/x*")], &["/w/[2024] R/x*"], &["/w/2 R/x", "/w/[2024] R/xy"]);
}

#[test]
fn plain_gitignore_patterns_agree_with_the_ignore_crate() {
    let patterns = ["a", "a/b", "*.x", "a*/b", "**/b", "a/**", "?b", "[ab]c", "a/*/c", "/a", "b/"];
    let names = ["a", "b", "ab", "c", "q.x"];
    for pattern in patterns {
        let mut builder = ignore::gitignore::GitignoreBuilder::new("/w");
        builder.add_line(None, pattern).unwrap();
        let theirs = builder.build().unwrap();
        // Ours anchors a leading slash at the settings source, which for this test is the same folder, and takes
        // `dir/**` in deny at any depth and with the folder itself: both differ on purpose and are left out.
        let anchors = Anchors { source: "/w", ..ANCHORS };
        let ours = PathPattern::new(pattern, Verdict::Deny, &anchors).unwrap();
        for first in names {
            for second in names {
                let path = format!("/w/{first}/{second}");
                if pattern == "a/**" {
                    continue;
                }
                let expected = theirs.matched_path_or_any_parents(&path, false).is_ignore();
                let trailing = pattern == "b/" && second == "b" && first != "b";
                assert_eq!(ours.matches(&path, Case::Sensitive), expected || trailing, "{pattern} {path}");
            }
        }
    }
}
