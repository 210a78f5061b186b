//! Literal words compared with what bash makes of them: quotes, escapes, braces, in any mixture.

#![allow(clippy::expect_used, clippy::print_stdout, reason = "a test fails by panicking and reports what it saw")]

mod support;

use mayi_shell::word::Value;
use support::Chance;

/// Pieces that bash expands without looking at anything but the text.
const PIECES: &[&str] = &[
    "a",
    "b",
    "xyz",
    "0",
    "-",
    "--",
    "=",
    "+",
    "@",
    "%",
    "^",
    ":",
    ".",
    "/",
    "]",
    "}",
    "{",
    ",",
    "..",
    "#",
    "'a b'",
    "''",
    "'\"'",
    "'\\'",
    "'$x `y` *'",
    "'{a,b}'",
    "\"a b\"",
    "\"\"",
    "\"it's\"",
    "\"\\$x\"",
    "\"\\\\\"",
    "\"\\\"\"",
    "\"\\`\"",
    "\"\\a\"",
    "\"a\\\nb\"",
    "\"*?[]\"",
    "\"{a,b}\"",
    "\"!\"",
    "\\ ",
    "\\$",
    "\\'",
    "\\\"",
    "\\\\",
    "\\a",
    "\\{",
    "\\}",
    "\\,",
    "\\;",
    "\\*",
    "\\\n",
    "\\#",
    "\\~",
    "$'a'",
    "$'\\n'",
    "$'\\t\\x41\\101\\u00e9'",
    "$'\\''",
    "$'\\q'",
    "$'\\x'",
    "$'\\ca'",
    "$'a\\\\b'",
    "$\"x y\"",
    "{a,b}",
    "{a,b,c}",
    "{1..3}",
    "{3..1}",
    "{a..c}",
    "{01..03}",
    "{1..9..4}",
    "{c..a..2}",
    "{,x}",
    "{x,}",
    "{a}",
    "{}",
    "{a,{b,c}}",
    "{a,b}{c,d}",
    "{{a,b},c}",
    "{a,'b c'}",
    "{a,\"b}\"}",
    "{a,b",
    "a,b}",
    "{-2..2}",
    "{1..a}",
    "{a..}",
    "{..}",
    "é",
    "日本",
    "😀",
];

#[test]
fn literal_words_are_what_bash_makes_of_them() {
    if !support::bash_exists() {
        return;
    }
    let mut chance = Chance::new(7);
    let words: Vec<String> = (0..6000).map(|_| word(&mut chance)).collect();
    let script: String = words.iter().map(|word| format!("printf '<%s>\\n' {word}\nprintf '\\0\\n'\n")).collect();
    let path = support::file("words.sh", script.as_bytes());
    let output = std::process::Command::new("bash").arg(path).env("LC_ALL", "C.UTF-8").output().expect("bash runs");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "", "every word is valid");
    let answers: Vec<String> =
        output.stdout.split(|&byte| byte == 0).map(|part| String::from_utf8_lossy(part).into_owned()).collect();
    let (mut same, mut unknown) = (0, 0);
    for (word, answer) in words.iter().zip(&answers) {
        match printed(word) {
            None => unknown += 1,
            Some(printed) => {
                assert_eq!(printed, answer.strip_prefix('\n').unwrap_or(answer), "the word `{word}`");
                same += 1;
            }
        }
    }
    println!("{same} words as bash prints them, {unknown} left unknown");
    assert!(unknown * 50 < same, "{unknown} of {} words are unknown", words.len());
}

fn word(chance: &mut Chance) -> String {
    let length = 1 + chance.below(5);
    let word: String = (0..length).map(|_| chance.pick(PIECES)).collect();
    // A `#` at the start is a comment, not a word.
    if word.starts_with('#') || word.starts_with("\\\n#") { format!("a{word}") } else { word }
}

/// What `printf '<%s>\n'` prints for the word, by our own expansion.
fn printed(word: &str) -> Option<String> {
    let analysis = support::analyse(&format!("printf '<%s>\\n' {word}"));
    assert_eq!(analysis.opaque, None, "`{word}` should be understood");
    let command = analysis.commands.first()?;
    let operands = command.words.get(2..)?;
    if operands.is_empty() {
        return Some("<>\n".to_owned());
    }
    operands
        .iter()
        .map(|operand| match &operand.value {
            Value::Literal(text) => Some(format!("<{text}>\n")),
            Value::Template(_) => None,
        })
        .collect()
}
