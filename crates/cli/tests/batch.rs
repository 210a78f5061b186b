//! The batch format through the real binary: one answer a line, in order, and nothing that stops it.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod support;

use serde_json::{Value, json};
use support::World;

fn answers(lines: &[Value]) -> Vec<Value> {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let said = World::new().fed(&["check", "--batch"], text);
    assert_eq!((said.code, said.err.as_str()), (0, ""));
    said.lines()
}

fn verdicts(lines: &[Value]) -> Vec<String> {
    let word = |answer: &Value| answer["verdict"].as_str().unwrap_or("error").to_owned();
    answers(lines).iter().map(word).collect()
}

/// A line about a shell command, with everything else it says.
fn line(command: &str, further: Value) -> Value {
    let mut line = json!({"tool": "Bash", "input": {"command": command}, "cwd": "/w", "home": "/home/u"});
    for (key, value) in further.as_object().unwrap() {
        line[key] = value.clone();
    }
    line
}

#[test]
fn answers_come_in_order_and_a_bad_line_is_an_answer_too() {
    let world = World::new();
    let mut input = Vec::new();
    for number in 0..2000 {
        match number % 4 {
            0 => input
                .extend(format!("{{\"id\":{number},\"tool\":\"Bash\",\"input\":{{\"command\":\"ls\"}}}}\n").bytes()),
            1 => input.extend(format!("{{\"id\":{number},\"tool\":\"Bash\"}}\r\n\n").bytes()),
            2 => input.extend(format!("{{\"id\":{number},\"tool\":5,\"input\":{{}}}}\n   \n").bytes()),
            _ => input.extend(
                format!("{{\"id\":{number},\"tool\":\"Bash\",\"input\":{{\"command\":\"ls \u{e4}\"}}}}\n").bytes(),
            ),
        }
    }
    let said = world.fed(&["check", "--batch"], &input);
    assert_eq!((said.code, said.err.as_str()), (0, ""));
    let lines = said.lines();
    assert_eq!(lines.len(), 2000);
    for (number, answer) in lines.iter().enumerate() {
        assert_eq!(answer["id"], json!(number));
        let is_good = number % 4 == 0 || number % 4 == 3;
        assert_eq!(answer.get("verdict").is_some(), is_good, "{answer}");
        assert_eq!(answer.get("error").is_some(), !is_good, "{answer}");
    }
}

#[test]
fn what_is_no_line_is_answered_with_an_error_and_never_a_verdict() {
    let world = World::new();
    let mut input: Vec<u8> = Vec::new();
    for text in
        ["{", "[]", "null", "ls", "{\"id\":\"x\"}", "{\"id\":\"x\",\"tool\":\"Bash\",\"input\":{},\"mode\":\"fast\"}"]
    {
        input.extend(text.bytes().chain([b'\n']));
    }
    input.extend(b"{\"id\":\"bytes\",\"tool\":\"Bash\",\"input\":{\"command\":\"ls \xff\"}}\n");
    input.extend(b"{\"id\":\"after\",\"tool\":\"Bash\",\"input\":{\"command\":\"ls\"}}");
    let lines = world.fed(&["check", "--batch"], &input).lines();
    let (last, bad) = lines.split_last().unwrap();
    assert_eq!(bad.len(), 7);
    for answer in bad {
        assert!(answer["error"].is_string() && answer.get("verdict").is_none(), "{answer}");
    }
    assert_eq!(bad[4]["id"], "x");
    assert_eq!(bad[6]["id"], "bytes", "the id is found in spite of the bytes");
    assert!(bad[6]["error"].as_str().unwrap().contains("UTF-8"), "{}", bad[6]);
    assert_eq!((&last["id"], &last["verdict"]), (&json!("after"), &json!("allow")), "also without a line end");
}

#[test]
fn giants_are_answered() {
    let long = "x".repeat(1 << 20);
    let pieces = "true; ".repeat(200_000);
    let nested = format!("{}x{}", "$(".repeat(20_000), ")".repeat(20_000));
    let giant = format!("{{\"id\":1,\"junk\":\"{}\",\"tool\":", "y".repeat(8 << 20));
    let lines: Vec<Value> = [&long, &pieces, &nested].iter().map(|command| line(command, json!({}))).collect();
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let said = World::new().fed(&["check", "--batch"], format!("{text}{giant}\n{}\n", line("ls", json!({"id": 9}))));
    let answers = said.lines();
    assert_eq!(answers.len(), 5);
    assert_eq!(answers[0]["verdict"], "ask");
    assert_ne!(answers[2]["verdict"], "allow");
    assert!(answers[3]["error"].is_string());
    assert_eq!((&answers[4]["id"], &answers[4]["verdict"]), (&json!(9), &json!("allow")));
}

#[test]
fn an_answer_has_everything_the_format_promises() {
    let settings = json!({"permissions": {"deny": ["Bash(rm:*)"]}});
    let answer = answers(&[line("rm a", json!({"id": {"any": "thing"}, "settings": settings}))]).remove(0);
    assert_eq!(answer["id"], json!({"any": "thing"}));
    assert_eq!((&answer["verdict"], &answer["step"]), (&json!("deny"), &json!("1d")));
    assert_eq!(answer["reason"]["kind"], "rule");
    assert_eq!(answer["reason"]["rule"]["rule"], "Bash(rm:*)");
    assert_eq!(answer["reason"]["rule"]["origin"]["layer"], "user");
    assert!(answer["message"].as_str().unwrap().contains("Bash(rm:*)"));
    assert_eq!(
        answer["trace"][0],
        json!({"step": "1a", "name": "deny-rules", "finding": "pass", "note": "no deny rule names the whole tool"})
    );
    assert!(answer["effects"].as_array().unwrap().iter().any(|effect| effect.as_str().unwrap().contains("/w/a")));
    let keys: Vec<&String> = answer.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["id", "verdict", "step", "reason", "message", "trace", "effects"]);
}

#[test]
fn every_field_of_a_line_counts() {
    let unclear = "frobnicate";
    let allow = json!({"permissions": {"allow": ["Bash(frobnicate:*)"]}});
    let deny = json!({"permissions": {"deny": ["Bash(frobnicate:*)"]}});
    let auto = |classifier: &str| json!({"mode": "auto", "classifier": classifier});
    let lines = [
        (line(unclear, json!({})), "ask"),
        (line(unclear, json!({"unattended": true})), "deny"),
        (line(unclear, json!({"mode": "dontAsk"})), "deny"),
        (line(unclear, json!({"mode": "bypassPermissions"})), "allow"),
        (line(unclear, json!({"mode": "plan", "bypass_available": true})), "allow"),
        (line("touch a", json!({"mode": "acceptEdits"})), "allow"),
        (line("touch /x/a", json!({"mode": "acceptEdits"})), "ask"),
        (line("touch /x/a", json!({"mode": "acceptEdits", "additional_directories": ["/x"]})), "allow"),
        (line(unclear, json!({"settings": allow})), "allow"),
        (line(unclear, json!({"layers": {"project": allow}})), "ask"),
        (line(unclear, json!({"layers": {"project": allow}, "trusted": true})), "allow"),
        (line(unclear, json!({"layers": {"project": deny, "managed": allow}})), "deny"),
        (line(unclear, json!({"settings": allow, "layers": {"cli": deny}})), "deny"),
        (line(unclear, json!({"sandbox": {"enabled": true, "available": true}})), "allow"),
        (line(unclear, json!({"sandbox": {"enabled": true, "available": false}})), "ask"),
        (line(unclear, auto("allow")), "allow"),
        (line(unclear, auto("block")), "deny"),
        (line(unclear, auto("error")), "deny"),
        (line(unclear, auto("none")), "ask"),
        (
            line(
                "cat a",
                json!({"settings": {"permissions": {"deny": ["Read(//secret/**)"]}}, "files": {"a": {"symlink": "/secret/b"}}}),
            ),
            "deny",
        ),
        (line("cat a", json!({"files": {"a": {"symlink": "a"}}})), "deny"),
        (line("git status", json!({"files": {".git/config": "[core]\nfsmonitor = ./evil\n"}})), "ask"),
        (line("git status", json!({"files": {".git/config": "[core]\nbare = false\n"}})), "allow"),
        (line("cat ~/.bashrc", json!({"settings": {"permissions": {"deny": ["Read(~/.bashrc)"]}}})), "deny"),
    ];
    let (lines, expected): (Vec<Value>, Vec<&str>) = lines.into_iter().unzip();
    let found = verdicts(&lines);
    for ((line, expected), found) in lines.iter().zip(expected).zip(found) {
        assert_eq!(found, expected, "{line}");
    }
}

#[test]
fn wrong_values_are_told_with_the_id() {
    let lines = [
        (line("ls", json!({"id": 1, "layers": {"projekt": {}}})), "`projekt` is no layer"),
        (line("ls", json!({"id": 2, "cwd": "relative"})), "is not absolute"),
        (line("ls", json!({"id": 3, "files": {"a": 5}})), "the file `a` is neither text nor"),
        (line("ls", json!({"id": 4, "mode": "fast"})), "unknown variant `fast`"),
        (line("ls", json!({"id": 5, "classifier": "maybe"})), "unknown variant `maybe`"),
        (line("ls", json!({"id": 6, "unattended": "yes"})), "expected a boolean"),
    ];
    let (lines, words): (Vec<Value>, Vec<&str>) = lines.into_iter().unzip();
    for ((line, words), answer) in lines.iter().zip(words).zip(answers(&lines)) {
        assert_eq!(answer["id"], line["id"]);
        assert!(answer["error"].as_str().unwrap().contains(words), "{words}: {answer}");
    }
}

#[test]
fn broken_settings_in_a_line_are_as_strict_as_in_a_file() {
    let lines = [
        line("ls", json!({"settings": 5})),
        line("ls", json!({"settings": {"permissions": {"deny": ["Bash(rm"]}}})),
        line("touch a", json!({"layers": {"managed": []}, "mode": "bypassPermissions"})),
    ];
    assert_eq!(verdicts(&lines), ["ask", "ask", "deny"]);
}

#[test]
fn no_file_of_the_machine_is_read() {
    let world = World::with_settings("{\"permissions\": {\"deny\": [\"Bash(ls:*)\"]}}");
    let said = world.fed(&["check", "--batch"], "{\"tool\":\"Bash\",\"input\":{\"command\":\"ls\"}}\n");
    assert_eq!(said.lines()[0]["verdict"], "allow");
}

#[test]
fn what_a_reader_could_take_for_a_line_end_is_escaped() {
    let said = World::new()
        .fed(&["check", "--batch"], format!("{}\n", line("echo \u{2028}\u{85}\u{202e}", json!({"id": "\u{2029}"}))));
    assert!(
        said.out.is_ascii() || !said.out.contains(['\u{2028}', '\u{2029}', '\u{85}', '\u{202e}']),
        "{:?}",
        said.out
    );
    assert_eq!(said.lines()[0]["id"], "\u{2029}");
}
