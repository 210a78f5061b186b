//! Laws: total on any bytes, and nothing harmless that is added to a text hides a command.

#![allow(clippy::expect_used, clippy::print_stdout, reason = "a test fails by panicking and reports what it saw")]

mod support;

use mayi_shell::walk::commands_of_bytes;
use support::{Chance, analyse, shown};

/// Shell text in small pieces: put together at random they nest, close and break everything.
const TOKENS: &[&str] = &[
    "a",
    "rm -rf x",
    "$(",
    "`",
    ")",
    "(",
    "((",
    "))",
    "$((",
    "${",
    "${x:-",
    "}",
    "{",
    "{ ",
    " }",
    "\"",
    "'",
    "$'",
    "$\"",
    "\\",
    "\\\n",
    "\n",
    ";",
    ";;",
    ";&",
    "&",
    "&&",
    "||",
    "|",
    "|&",
    "<",
    ">",
    "<<",
    "<<-",
    "<<<",
    "<(",
    ">(",
    "&>",
    ">&",
    "<>",
    "E\n",
    "<<E\n",
    "\nE\n",
    "if ",
    "then ",
    "else ",
    "fi",
    "for x in ",
    "do ",
    "done",
    "while ",
    "case x in ",
    "esac",
    "x) ",
    "select ",
    "function f ",
    "f() ",
    "coproc ",
    "time ",
    "! ",
    "[[ ",
    " ]]",
    "[",
    "]",
    "=~ ",
    "x=",
    "x+=",
    "x[",
    "]=",
    "x=(",
    "$x",
    "$1",
    "$@",
    "${!x}",
    "${x@P}",
    "${#x}",
    "{a,b}",
    "{1..9}",
    "*",
    "?",
    "@(",
    "~",
    "#",
    " # ",
    "eval ",
    "trap ",
    "sh -c ",
    "xargs ",
    "find . -exec ",
    "\\;",
    " {} ",
    "sudo ",
    "env -S ",
    "cd ",
    "declare -n ",
    "read ",
    "let ",
    "unset ",
    "\u{a0}",
    "\u{202e}",
    "\u{200b}",
    "é",
    "\r",
    "\0",
    "\u{1b}",
    "0",
    "123>",
    "{fd}>",
];

#[test]
fn any_text_gives_an_analysis() {
    let mut chance = Chance::new(1);
    let mut understood = 0;
    for _ in 0..60_000 {
        let length = 1 + chance.below(14);
        let text: String = (0..length).map(|_| chance.pick(TOKENS)).collect();
        understood += usize::from(check(text.as_bytes()));
    }
    println!("{understood} random texts understood");
    assert!(understood > 1000, "the generator makes too little that is valid: {understood}");
}

#[test]
fn any_bytes_give_an_analysis() {
    let mut chance = Chance::new(2);
    for _ in 0..20_000 {
        let length = chance.below(60);
        let bytes: Vec<u8> = (0..length).map(|_| chance.below(256) as u8).collect();
        check(&bytes);
    }
}

#[test]
fn every_prefix_of_a_script_gives_an_analysis() {
    let script = include_str!("truth/more.jsonl");
    for line in script.lines() {
        for end in (0..line.len()).filter(|&end| line.is_char_boundary(end)) {
            check(line.get(..end).expect("a boundary").as_bytes());
        }
    }
}

/// Analyses, and looks whether every span lies in its script and every form can be made.
fn check(bytes: &[u8]) -> bool {
    let analysis = commands_of_bytes(bytes, &support::context());
    for command in &analysis.commands {
        let script = analysis.scripts.get(command.script.0).expect("the script is listed");
        let spans = command.words.iter().map(|word| word.span).chain([command.span]);
        for span in spans {
            assert!(script.text.get(span.start..span.end).is_some(), "{span:?} of {:?} in {bytes:?}", script.text);
        }
        analysis.literal_form(command);
        assert!(analysis.denotations(command).len() < 200);
    }
    if let Some(opaque) = &analysis.opaque {
        let outermost = analysis.scripts.first().expect("the text is listed");
        assert!(outermost.text.get(opaque.span.start..opaque.span.end).is_some(), "{opaque:?} in {bytes:?}");
    }
    analysis.opaque.is_none()
}

/// Texts that are understood, made of whole commands.
fn sentences() -> Vec<String> {
    let commands = [
        "rm -rf x",
        "ls",
        "git push",
        "x=1 make",
        "cat <<E\n$(rm y)\nE\n",
        "for i in a b; do rm $i; done",
        "(cd x; rm y)",
        "f() { rm z; }; f",
        "echo $(rm q)",
        "cat <(rm w)",
        "if a; then rm b; fi",
        "[[ -n $(rm c) ]]",
        "X=rm; $X d",
        "sh -c 'rm e'",
        "case a in a) rm f;; esac",
        "! rm g",
        "{ rm h; } > out",
        "rm i &",
        "echo `rm j`",
        "a | rm k",
        "eval 'rm l'",
        "trap 'rm m' EXIT",
        "find . -exec rm {} \\;",
        "echo o | xargs rm",
    ];
    let mut chance = Chance::new(3);
    let mut sentences: Vec<String> = commands.iter().map(|&command| command.to_owned()).collect();
    for _ in 0..400 {
        let (first, second) = (chance.pick(&commands), chance.pick(&commands));
        let joint = if first.ends_with(['\n', '&']) { "\n" } else { chance.pick(&["; ", "\n"]) };
        sentences.push(format!("{first}{joint}{second}"));
    }
    sentences
}

fn programs(text: &str) -> Vec<String> {
    let analysis = analyse(text);
    assert_eq!(analysis.opaque, None, "`{text}` should be understood");
    let mut programs: Vec<String> = analysis
        .commands
        .iter()
        .map(|command| {
            let first = command.layers.last().map_or(0, |layer| layer.first);
            let mut inner = command.clone();
            inner.words.drain(..first.min(inner.words.len()));
            shown(&inner)
        })
        .collect();
    programs.sort();
    programs
}

#[test]
fn comments_and_blanks_hide_nothing() {
    for text in sentences() {
        let commands = programs(&text);
        for changed in [
            format!("# it's $( a comment\n{text}"),
            format!("{text}\n# ' \" `"),
            format!("  \t{text}"),
            format!("\n\n{text}\n\n"),
        ] {
            assert_eq!(programs(&changed), commands, "`{changed}`");
        }
    }
}

#[test]
fn neighbours_hide_nothing() {
    for text in sentences() {
        let commands = programs(&text);
        for changed in [
            format!("true; {text}"),
            format!("{text}\ntrue"),
            format!("{{ {text}\n}}"),
            format!("({text}\n)"),
            format!("echo \"$({text}\n)\""),
        ] {
            let found = programs(&changed);
            for command in &commands {
                assert!(found.contains(command), "`{command}` is missing from {found:?} of `{changed}`");
            }
        }
    }
}

#[test]
fn wrappers_hide_nothing() {
    for wrapper in [
        "sudo",
        "env A=1",
        "timeout 5",
        "nice -n 3",
        "nohup",
        "command",
        "stdbuf -oL",
        "setsid",
        "sudo -u root env -i timeout 9",
        "busybox",
        "time -p",
    ] {
        for text in ["rm -rf x", "git push origin main", "sh -c 'rm e'", "find . -exec rm {} \\;"] {
            let found = programs(&format!("{wrapper} {text}"));
            for command in programs(text) {
                assert!(found.contains(&command), "`{command}` is missing from {found:?} of `{wrapper} {text}`");
            }
        }
    }
}
