//! The forms rules see, as tables.

#![allow(clippy::expect_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod support;

use support::analyse;

/// The literal form of the first command.
fn literal(text: &str) -> Option<String> {
    let analysis = analyse(text);
    analysis.literal_form(&analysis.commands[0]).map(|form| form.text)
}

#[test]
fn an_allow_rule_sees_the_most_literal_form() {
    let table = [
        ("npm   test\t-- \"a  b\"", Some("npm test -- \"a  b\"")),
        ("ls > out 2>&1 -l", Some("ls -l")),
        ("timeout 30 npm test", Some("npm test")),
        ("nice -n 5 nohup stdbuf -oL npm test", Some("npm test")),
        ("NODE_ENV=test npm test", Some("npm test")),
        ("LC_ALL=C NODE_ENV=test timeout 5 npm test", Some("npm test")),
        ("LD_PRELOAD=x npm test", Some("LD_PRELOAD=x npm test")),
        ("command npm test", Some("npm test")),
        ("command -v npm", Some("command -v npm")),
        ("xargs grep p", Some("grep p")),
        ("xargs -n1 grep p", Some("xargs -n1 grep p")),
        ("watch ls", Some("watch ls")),
        ("sudo npm test", Some("sudo npm test")),
        ("env A=1 npm test", Some("env A=1 npm test")),
        ("/usr/bin/curl x", Some("/usr/bin/curl x")),
        ("git -C d push", Some("git -C d push")),
        ("\\rm x", Some("\\rm x")),
        ("$X y", None),
        ("$(echo rm) y", None),
        ("/???/r? x", None),
        ("{rm,x}", None),
        ("a \\\n b", Some("a b")),
    ];
    for (text, expected) in table {
        assert_eq!(literal(text).as_deref(), expected, "`{text}`");
    }
    let followed = analyse("X=rm; $X y");
    assert_eq!(followed.literal_form(&followed.commands[1]), None);
}

#[test]
fn wildcards_may_not_swallow_substitutions() {
    let table = [
        ("git commit -m \"a && b\"", vec![]),
        ("cat \"$F\"", vec![]),
        ("cat $F", vec!["$F"]),
        ("cat $(a) x \"b $(c)\"", vec!["$(a)", "\"b $(c)\""]),
        ("cat <(a)", vec!["<(a)"]),
        ("cat *.rs ~/x", vec![]),
        ("cat $((1)) \"$@\" @(a|b)", vec!["$((1))", "\"$@\"", "@(a|b)"]),
        ("cat $'a\\nb' =x", vec!["$'a\\nb'", "=x"]),
        ("X=$(a); cat \"$X\"", vec!["\"$X\""]),
    ];
    for (text, expected) in table {
        let analysis = analyse(text);
        let command = analysis.commands.iter().find(|command| command.words.len() > 1).unwrap_or(&analysis.commands[0]);
        let form = analysis.literal_form(command).expect("the program is written out");
        let fixed: Vec<&str> = form.fixed.iter().map(|range| &form.text[range.clone()]).collect();
        assert_eq!(fixed, expected, "`{text}`");
        assert_eq!(form.is_swallowable(), expected.is_empty());
    }
}

#[test]
fn a_deny_rule_sees_every_form() {
    let table = [
        ("FOO=bar rm -rf tmp/", "rm -rf tmp/"),
        ("FOO=bar rm -rf tmp/", "FOO=bar rm -rf tmp/"),
        ("sudo rm x", "rm x"),
        ("sudo rm x", "sudo rm x"),
        ("env A=1 rm x", "rm x"),
        ("/usr/bin/curl u", "curl u"),
        ("'rm' \"x\"", "rm x"),
        ("\\rm x", "rm x"),
        ("r''m x", "rm x"),
        ("git -C . push", "git push"),
        ("git -c a=b --no-pager 'push' o m", "git push o m"),
        ("/usr/bin/git --git-dir=x push", "git push"),
        ("sudo /usr/bin/git -C d push \"o\"", "git push \"o\""),
        ("busybox rm x", "rm x"),
        ("command rm x", "rm x"),
        ("nohup setsid ionice -c 3 rm x", "rm x"),
        ("flock l rm x", "rm x"),
        ("chroot /r rm x", "rm x"),
        ("rm $(a) \"$B\"", "rm $(a) $B"),
        ("X=rm; $X y", "rm y"),
        ("{rm,-rf,x}", "rm -rf x"),
        ("rm \\\n x", "rm x"),
        ("sh -c 'curl u'", "curl u"),
        ("echo `rm x`", "rm x"),
        ("find . -exec rm {} \\;", "rm {}"),
        ("xargs -n1 rm", "rm"),
    ];
    for (text, expected) in table {
        let analysis = analyse(text);
        let forms: Vec<String> = analysis.commands.iter().flat_map(|command| analysis.denotations(command)).collect();
        assert!(forms.iter().any(|form| form == expected), "`{text}` should denote `{expected}`, not only {forms:?}");
    }
}

#[test]
fn an_unknown_program_is_told() {
    for (text, expected) in
        [("$X -rf /", true), ("sudo $X", true), ("rm $X", false), ("`a` b", true), ("/???/r? x", true), ("rm *", false)]
    {
        let analysis = analyse(text);
        assert_eq!(analysis.unknown_program(&analysis.commands[0]), expected, "`{text}`");
    }
}
