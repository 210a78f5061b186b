//! What bash really runs: scripts with marker programs, each judged by running bash itself once. Every marker
//! that ran must be reported or the script be called opaque; markers that are data should not be.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test fails by panicking"
)]

use mayi_shell::walk::{Context, commands_of_bytes};
use serde_json::Value;

struct Case {
    name: String,
    script: Vec<u8>,
    ran: Vec<String>,
    valid: bool,
}

fn cases() -> Vec<Case> {
    let files = [include_str!("truth/cases.jsonl"), include_str!("truth/more.jsonl")];
    files.iter().flat_map(|file| file.lines()).filter(|line| !line.trim().is_empty()).map(case).collect()
}

fn case(line: &str) -> Case {
    let value: Value = serde_json::from_str(line).expect("a case is a JSON object");
    let text = |key: &str| value[key].as_str().map(str::to_owned);
    let script = match (text("script"), text("script_base64")) {
        (Some(script), _) => script.into_bytes(),
        (None, Some(encoded)) => decode(&encoded),
        (None, None) => panic!("a case without script: {line}"),
    };
    let ran = value["ran"].as_array().expect("`ran` is a list");
    Case {
        name: text("name").expect("a name"),
        script,
        ran: ran.iter().map(|marker| marker.as_str().expect("a marker").to_owned()).collect(),
        valid: value["syntax_ok"].as_bool().expect("`syntax_ok` is a truth value"),
    }
}

fn decode(encoded: &str) -> Vec<u8> {
    let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut bits = 0_u32;
    let mut count = 0;
    let mut bytes = Vec::new();
    for byte in encoded.bytes().filter(|&byte| byte != b'=') {
        let digit = alphabet.iter().position(|&letter| letter == byte).expect("base64");
        bits = bits << 6 | digit as u32;
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count & 0xff) as u8);
        }
    }
    bytes
}

#[test]
fn every_marker_that_bash_ran_is_reported() {
    let context = Context { directory: "/work".to_owned(), home: Some("/home/user".to_owned()) };
    let mut failures = Vec::new();
    let (mut opaque, mut unsettled) = (Vec::new(), Vec::new());
    let cases = cases();
    for case in &cases {
        let analysis = commands_of_bytes(&case.script, &context);
        if analysis.opaque.is_some() {
            opaque.push(case.name.clone());
        } else if !case.valid {
            failures.push(format!("{}: bash refuses it, the reader does not", case.name));
        }
        let programs: Vec<&str> = analysis.commands.iter().filter_map(program).collect();
        for marker in case.ran.iter().filter(|_| analysis.opaque.is_none()) {
            if programs.contains(&marker.as_str()) {
                continue;
            }
            if unknown(&analysis) {
                unsettled.push(case.name.clone());
            } else {
                failures.push(format!("{}: {marker} is missing from {programs:?}", case.name));
            }
        }
        for decoy in programs.iter().filter(|program| is_decoy(program) && !reachable(case, program)) {
            failures.push(format!("{}: {decoy} is only data", case.name));
        }
    }
    println!("{} cases, opaque: {opaque:?}", cases.len());
    println!("seen only as unknown: {unsettled:?}");
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// The innermost program of a command.
fn program(command: &mayi_shell::command::Command) -> Option<&str> {
    let first = command.layers.last().map_or(0, |layer| layer.first);
    command.words.get(first)?.text()
}

/// Some command says of itself that more may run than is listed.
fn unknown(analysis: &mayi_shell::command::Analysis) -> bool {
    use mayi_shell::effect::Act;
    analysis.commands.iter().any(|command| {
        let program_is_open = command.words.first().is_some_and(|word| word.text().is_none());
        let start_up = command.assignments.iter().any(|assignment| assignment.name == "BASH_ENV");
        program_is_open || start_up || command.effects.iter().any(|effect| matches!(effect.act, Act::Unknown(_)))
    })
}

fn is_decoy(program: &str) -> bool {
    ["DATA1", "DATA2", "DATA3"].contains(&program)
}

/// A decoy in a branch that did not run this time is still a command.
fn reachable(case: &Case, decoy: &str) -> bool {
    let script = String::from_utf8_lossy(&case.script).replace("\\\n", "");
    ["else ", "do ", "then ", "|| ", "&& ", ") ", "{ "]
        .iter()
        .any(|before| script.contains(&format!("{before}{decoy}")))
}
