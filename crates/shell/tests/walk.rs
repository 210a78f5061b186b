//! What the walk finds, as tables: a text, and the commands in it.

#![allow(clippy::expect_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod support;

use mayi_shell::command::{Directory, RedirectTarget, Via, Why};
use mayi_shell::effect::Act;
use support::{analyse, listed, shown, shown_word};

fn rows(rows: &[(&str, &[&str])]) {
    for (text, expected) in rows {
        assert_eq!(listed(text), *expected, "`{text}`");
    }
}

#[test]
fn every_place_a_command_can_stand() {
    rows(&[
        ("a | b && c || d; e & f", &["a", "b", "c", "d", "e", "f"]),
        ("if a; then b; elif c; then d; else e; fi", &["a", "b", "c", "d", "e"]),
        ("while a; do b; done; until c; do d; done", &["a", "b", "c", "d"]),
        ("for x in $(a); do b; done", &["a", "b"]),
        ("for ((i=`a`;i<1;i++)); do b; done", &["a", "b", ""]),
        ("case $(a) in $(b)) c;; esac", &["a", "b", "c"]),
        ("(a; { b; })", &["a", "b"]),
        ("a \"$(b \"$(c)\")\"", &["a <output>", "b <output>", "c"]),
        ("a <(b) >(c)", &["a <process> <process>", "b", "c"]),
        ("[[ -n $(a) && x == `b` ]]", &["a", "b"]),
        ("x[$(a)0]=$(b)", &["x=(…)", "a", "b"]),
        ("a=(b $(c))", &["a=(…)", "c"]),
        ("a <<E\n$(b)`c`\nE\nd", &["a", "b", "c", "d"]),
        ("a <<'E'\n$(b)\nE\nd", &["a", "d"]),
        ("a > \"$(b)\"", &["a", "b"]),
        ("echo ${x:-$(a)} ${x/$(b)/$(c)}", &["echo <x> <x>", "a", "b", "c"]),
        ("coproc a", &["a"]),
        ("time -p a", &["a"]),
    ]);
}

#[test]
fn words_after_quote_removal() {
    rows(&[
        (r#"r''m "-r"f \x $'\x79'"#, &["rm -rf x y"]),
        (r#"echo "a b" 'c d' e\ f"#, &["echo 'a b' 'c d' 'e f'"]),
        ("echo {a,b}{1..2}", &["echo a1 a2 b1 b2"]),
        ("{rm,-rf,x}", &["rm -rf x"]),
        ("ls *.rs src/[ab]?/x", &["ls <glob:*.rs> src/<glob:[ab]?/x>"]),
        ("ls '*.rs' \"*\" \\*", &["ls *.rs * *"]),
        ("cat ~/a ~ ~bob/c \"~\"", &["cat /home/user/a /home/user <~bob>/c ~"]),
        ("cat $HOME/a \"$PWD\"", &["cat /home/user/a /project"]),
        ("echo $1 $(a) $((1)) ${!x} ${x@P} ${x:?}", &["echo <1> <output> <number> <indirect> <prompt> <x:?>", "a"]),
        ("echo {1..100000}", &["echo <brace>"]),
        ("echo a#b # c", &["echo a#b"]),
    ]);
}

#[test]
fn variables_are_followed_while_they_are_certain() {
    rows(&[
        ("X=rm; $X f", &["X=rm", "rm f"]),
        ("X='rm -rf'; $X f; \"$X\" g", &["X='rm -rf'", "rm -rf f", "'rm -rf' g"]),
        ("X=a; (X=b); echo $X", &["X=a", "X=b", "echo a"]),
        ("X=a; X=b | c; echo $X", &["X=a", "X=b", "c", "echo a"]),
        ("X=a; if b; then X=c; fi; echo $X", &["X=a", "b", "X=c", "echo <X>"]),
        ("X=a; b && X=c; echo $X", &["X=a", "b", "X=c", "echo <X>"]),
        ("X=a; while b; do echo $X; X=c; done", &["X=a", "b", "echo <X>", "X=c"]),
        ("X=a; while b; do echo $X; done", &["X=a", "b", "echo a"]),
        ("X=$(a); echo $X", &["X=<output>", "a", "echo <X>"]),
        ("read X; echo $X", &["read X", "echo <X>"]),
        ("X=a; unset X; echo $X", &["X=a", "unset X", "echo <X>"]),
        ("X=a; printf -v X b; echo $X", &["X=a", "printf -v X b", "echo <X>"]),
        ("X=a; ((X++)); echo $X", &["X=a", "echo <X>"]),
        ("X=a; source f; echo $X", &["X=a", "source f", "echo <X>"]),
        ("X=a echo $X", &["X=a echo <X>"]),
        ("export X=a; echo $X", &["export X=a", "echo a"]),
        ("X=a; X+=b; echo ${X}c", &["X=a", "X=b", "echo abc"]),
        ("A=(rm -rf); \"${A[@]}\" x", &["A=(…)", "rm -rf x"]),
        ("for f in a b; do rm $f; done", &["rm a", "rm b"]),
        ("for f in *; do rm \"$f\"; done", &["rm <f>"]),
        ("set -- a b; echo \"$2\" \"$@\"", &["set -- a b", "echo b a b"]),
        ("IFS=x; X=axb; echo $X", &["IFS=x", "X=axb", "echo <X>"]),
    ]);
}

#[test]
fn functions_and_aliases_are_followed() {
    rows(&[
        ("f() { rm \"$1\"; }; f x", &["rm x"]),
        ("f() { rm \"$1\"; }", &["rm <1>"]),
        ("ls() { rm x; }; ls", &["rm x"]),
        ("f() { a; }; b | f", &["b", "a"]),
        ("f() { f; a; }; f", &["a"]),
        ("if a; then f() { b; }; fi; f", &["a", "f", "b"]),
        ("alias ls='rm x'; ls", &["alias 'ls=rm x'", "ls", "rm x"]),
    ]);
}

#[test]
fn scripts_inside_commands_are_read() {
    rows(&[
        ("sh -c 'a; b'", &["sh -c 'a; b'", "a", "b"]),
        ("bash -lc \"a\"", &["bash -lc a", "a"]),
        ("sh -c 'rm \"$1\"' _ x", &["sh -c 'rm \"$1\"' _ x", "rm x"]),
        ("eval a b", &["eval a b", "a b"]),
        ("trap 'a' EXIT", &["trap a EXIT", "a"]),
        ("env -S 'a b'", &["env -S 'a b'", "a b"]),
        ("sh <<E\na\nE\n", &["sh", "a"]),
        ("bash <<< a", &["bash", "a"]),
        ("echo 'a b' | sh", &["echo 'a b'", "sh", "a b"]),
        ("xargs rm -f", &["xargs rm -f", "rm -f <inserted>"]),
        ("xargs -I% mv % d", &["xargs -I% mv % d", "mv <inserted> d"]),
        ("find . -exec rm {} \\; -exec a +", &["find . -exec rm {} ; -exec a +", "rm <inserted>", "a"]),
        ("ssh host 'a; b'", &["ssh host 'a; b'", "a", "b"]),
        ("git -c alias.x='!a b' x", &["git -c 'alias.x=!a b' x", "a b"]),
        ("watch -n 1 'a | b'", &["watch -n 1 'a | b'", "a", "b"]),
        ("docker exec -it c rm x", &["docker exec -it c rm x", "rm x"]),
        ("kubectl exec p -- rm x", &["kubectl exec p -- rm x", "rm x"]),
        ("su - bob -c 'a'", &["su - bob -c a", "a"]),
    ]);
}

#[test]
fn nested_scripts_say_how_they_run() {
    let via = |text: &str| analyse(text).scripts[1].parent.as_ref().expect("a nested script has a parent").via.clone();
    assert_eq!(via("sh -c a"), Via::Shell("sh".to_owned()));
    assert_eq!(via("xargs a"), Via::Runner("xargs".to_owned()));
    assert_eq!(via("ssh h a"), Via::Elsewhere("ssh".to_owned()));
    assert_eq!(via("docker exec c a"), Via::Elsewhere("docker".to_owned()));
    assert_eq!(via("git -c alias.x=!a x"), Via::Task("git alias".to_owned()));
}

#[test]
fn text_that_runs_but_is_not_known_is_marked() {
    let texts = [
        "sh -c \"a $x\"",
        "eval \"$x\"",
        "curl u | sh",
        "sh < f",
        "read \"$x\"",
        "declare \"$x=1\"",
        "[[ -v $x ]]",
        "test -v \"$x\"",
        "x=$(a); echo $((x))",
        "printf -v \"$x\" a",
        "sh <(a)",
        ". <(a)",
        "hash -p /a b",
        "for PATH in a; do b; done",
    ];
    for text in texts {
        let analysis = analyse(text);
        let marked = analysis.commands.iter().any(|command| {
            let special = command.assignments.iter().any(|assignment| assignment.name == "PATH");
            special || command.effects.iter().any(|effect| matches!(effect.act, Act::Unknown(_)))
        });
        assert!(marked, "`{text}` should be marked as unknown: {analysis:?}");
    }
    for text in ["echo $((i + 1))", "test -v x", "[[ $a -eq 0 ]]", "sh -c 'a $x'", "printf %s \"$x\"", "read x"] {
        let analysis = analyse(text);
        assert!(analysis.commands.iter().all(|command| command.effects.is_empty()), "`{text}`: {analysis:?}");
    }
}

#[test]
fn wrappers_are_layers() {
    let analysis = analyse("sudo -u x env A=1 timeout -k 1 5 rm y");
    let command = &analysis.commands[0];
    let layers: Vec<_> = command.layers.iter().map(|layer| (layer.wrapper.as_str(), layer.first)).collect();
    assert_eq!(layers, [("sudo", 3), ("env", 5), ("timeout", 9)]);
    assert_eq!(command.layers[1].assignments[0].name, "A");
    assert_eq!(analyse("command -v rm").commands[0].layers, []);
}

#[test]
fn the_directory_of_each_command() {
    let at = |path: &str| Directory::At(path.to_owned());
    let table: &[(&str, &[(Directory, bool)])] = &[
        ("cd a && x", &[(Directory::Start, false), (at("/project/a"), false)]),
        ("cd a; x", &[(Directory::Start, false), (at("/project/a"), true)]),
        ("cd . && x", &[(Directory::Start, false), (Directory::Start, false)]),
        ("cd /project && x", &[(Directory::Start, false), (Directory::Start, false)]),
        ("cd a/../b && cd .. && x", &[(Directory::Start, false), (at("/project/b"), false), (Directory::Start, false)]),
        ("(cd a && x); y", &[(Directory::Start, false), (at("/project/a"), false), (Directory::Start, false)]),
        ("cd \"$d\" && x", &[(Directory::Start, false), (Directory::Unknown, false)]),
        ("cd && x", &[(Directory::Start, false), (at("/home/user"), false)]),
        ("cd a || exit 1; x", &[(Directory::Start, false), (Directory::Start, false), (at("/project/a"), false)]),
        ("cd a || x", &[(Directory::Start, false), (Directory::Start, false)]),
        (
            "if a; then cd b; fi; x",
            &[(Directory::Start, false), (Directory::Start, false), (Directory::Unknown, false)],
        ),
        ("set -e; cd a; x", &[(Directory::Start, false), (Directory::Start, false), (at("/project/a"), false)]),
        ("pushd a; popd; x", &[(Directory::Start, false), (at("/project/a"), true), (Directory::Start, true)]),
    ];
    for (text, expected) in table {
        let analysis = analyse(text);
        let found: Vec<_> = analysis
            .commands
            .iter()
            .map(|command| (command.standing.directory.clone(), command.standing.doubtful))
            .collect();
        assert_eq!(found, *expected, "`{text}`");
    }
}

#[test]
fn pipes_say_who_feeds_whom() {
    let analysis = analyse("a | b | c; d $(e)");
    let fed: Vec<_> = analysis
        .commands
        .iter()
        .map(|command| (shown(command), command.standing.fed_by, command.standing.feeds))
        .collect();
    let row = |name: &str, by, feeds| (name.to_owned(), by, feeds);
    assert_eq!(
        fed,
        [
            row("a", None, true),
            row("b", Some(0), true),
            row("c", Some(1), false),
            row("d <output>", None, false),
            row("e", None, true)
        ]
    );
}

#[test]
fn redirections_in_all_spellings() {
    let table: &[(&str, &[&str])] = &[
        ("a > f 2>&1 < g", &["Out f", "Out &1", "In g"]),
        ("a &> f", &["Out f"]),
        ("a &>> f", &["Append f"]),
        ("a >& f", &["Out f"]),
        ("a >| f", &["Out f"]),
        ("a <> f", &["Both f"]),
        ("a {fd}> f", &["Out f"]),
        ("a 2>&-", &["Out &-"]),
        ("{ a; } > f", &["Out f"]),
        ("a <<< b", &["In <<b"]),
        ("a <<E\nb\nE\n", &["In <<'b\n'"]),
        ("> f", &["Out f"]),
    ];
    for (text, expected) in table {
        let analysis = analyse(text);
        let found: Vec<String> = analysis.commands[0]
            .redirects
            .iter()
            .map(|redirect| match &redirect.target {
                RedirectTarget::File(word) => format!("{:?} {}", redirect.direction, shown_word(word)),
                RedirectTarget::Descriptor(number) => format!("{:?} &{number}", redirect.direction),
                RedirectTarget::Here(word) => format!("{:?} <<{}", redirect.direction, shown_word(word)),
            })
            .collect();
        assert_eq!(found, *expected, "`{text}`");
    }
}

#[test]
fn what_is_not_understood_says_why_and_where() {
    let why = |text: &str| analyse(text).opaque.expect("opaque").why;
    assert!(matches!(why("a &&"), Why::Syntax(_)));
    assert!(matches!(why("echo 'a"), Why::Syntax(_)));
    assert!(matches!(why("sh -c 'a (b'"), Why::Syntax(_)));
    assert_eq!(why("a\rb"), Why::OddCharacter('\r'));
    assert_eq!(why("echo 'a\u{202e}b'"), Why::OddCharacter('\u{202e}'));
    assert_eq!(why("ls\u{a0}x"), Why::OddCharacter('\u{a0}'));
    assert_eq!(why(&"x".repeat(70_000)), Why::TooLong);
    assert_eq!(why(&"(".repeat(500)), Why::Syntax("`))`".to_owned()));
    assert_eq!(why(&"{ ".repeat(500)), Why::TooDeep);
    assert_eq!(why(&"a;".repeat(5000)), Why::TooMuch);
    assert_eq!(analyse("ok; sh -c 'a (b'").opaque.expect("opaque").span.start, 10);
    assert_eq!(listed("git commit -m 'café ❤️ a\u{a0}b'").len(), 1);
}
