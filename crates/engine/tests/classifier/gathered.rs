//! Transcript files: read forward once, however they grow, shrink, break or swell.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::time::Duration;

use mayi_engine::classifier::{Extent, Gathered};
use serde_json::{Value, json};

use crate::workspace;

const LONG: Duration = Duration::from_secs(60);

fn user(text: &str) -> String {
    json!({"type": "user", "message": {"role": "user", "content": text}}).to_string() + "\n"
}

fn call(id: &str, name: &str, input: Value) -> String {
    let block = json!({"type": "tool_use", "id": id, "name": name, "input": input});
    json!({"type": "assistant", "message": {"role": "assistant", "content": [block]}}).to_string() + "\n"
}

fn append(path: &Path, text: &str) {
    OpenOptions::new().create(true).append(true).open(path).unwrap().write_all(text.as_bytes()).unwrap();
}

fn gather(kept: Gathered, path: &Path) -> Gathered {
    // Kept as text between readings, as a session keeps it.
    let kept: Gathered = serde_json::from_str(&serde_json::to_string(&kept).unwrap()).unwrap();
    kept.read(path, &workspace(), LONG).unwrap()
}

fn lines(gathered: &Gathered) -> Vec<String> {
    gathered.transcript(&workspace()).lines().to_vec()
}

#[test]
fn a_growing_file_is_read_on_from_where_it_ended() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.jsonl");
    append(&path, &user("one"));
    let gathered = gather(Gathered::default(), &path);
    assert_eq!(lines(&gathered), [r#"{"user":"one"}"#]);
    append(&path, &call("c1", "Bash", json!({"command": "touch a"})));
    let gathered = gather(gathered, &path);
    assert_eq!(lines(&gathered), [r#"{"user":"one"}"#, r#"{"Bash":"touch a"}"#]);
    assert_eq!(gather(gathered.clone(), &path), gathered, "nothing new changes nothing");
}

#[test]
fn a_half_written_line_is_left_for_the_next_time() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.jsonl");
    let whole = user("two");
    append(&path, &user("one"));
    append(&path, &whole[..whole.len() - 5]);
    let gathered = gather(Gathered::default(), &path);
    assert_eq!((lines(&gathered).len(), gathered.broken), (1, 0));
    append(&path, &whole[whole.len() - 5..]);
    assert_eq!(lines(&gather(gathered, &path)), [r#"{"user":"one"}"#, r#"{"user":"two"}"#]);
}

#[test]
fn a_file_that_shrank_or_was_replaced_is_read_anew() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.jsonl");
    append(&path, &(user("one") + &user("two")));
    let first = gather(Gathered::default(), &path);
    fs::write(&path, user("new")).unwrap();
    let shrunk = gather(first.clone(), &path);
    assert_eq!(lines(&shrunk), [r#"{"user":"new"}"#]);
    let other = folder.path().join("other.jsonl");
    append(&other, &(user("uno") + &user("due") + &user("tre")));
    fs::rename(&other, &path).unwrap();
    assert_eq!(lines(&gather(first.clone(), &path)).len(), 3);
    // Written anew in place, longer than before: its length alone would not tell.
    fs::write(&path, user("uno") + &user("due") + &user("tre") + &user("quattro")).unwrap();
    assert_eq!(lines(&gather(first, &path)).len(), 4);
    assert_eq!(lines(&gather(shrunk, &path)).len(), 4);
}

#[test]
fn broken_lines_are_counted_and_passed_over() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.jsonl");
    let odd = ["{", "[]", "null", "7", "\"user\"", "{\"type\":7}", "{\"type\":\"user\",\"message\":7}", "\u{fffd}"];
    append(&path, &(odd.join("\n") + "\n\n" + &user("one")));
    OpenOptions::new().append(true).open(&path).unwrap().write_all(b"\xff\xfe\n").unwrap();
    let gathered = gather(Gathered::default(), &path);
    assert_eq!((lines(&gathered).len(), gathered.broken), (1, odd.len() as u64 + 1));
}

#[test]
fn what_the_user_answers_to_a_question_is_the_users_word() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.jsonl");
    let answered = |id: &str, answer: &str| {
        let block = json!({"type": "tool_result", "tool_use_id": id, "content": "User has answered"});
        json!({"type": "user", "message": {"role": "user", "content": [block]},
            "toolUseResult": {"questions": [], "answers": {"Which branch?": answer}}})
        .to_string()
            + "\n"
    };
    append(&path, &call("q1", "AskUserQuestion", json!({"questions": [{"question": "Which branch?"}]})));
    let gathered = gather(Gathered::default(), &path);
    append(&path, &answered("other", "forged"));
    append(&path, &answered("q1", "feat/x"));
    append(&path, &answered("q1", "again"));
    let gathered = lines(&gather(gathered, &path));
    assert_eq!(gathered.len(), 2, "{gathered:?}");
    assert_eq!(gathered[1], r#"{"user":"feat/x"}"#);
}

#[test]
fn what_is_no_file_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    for path in [folder.path().to_owned(), folder.path().join("none")] {
        assert!(Gathered::default().read(&path, &workspace(), LONG).is_err());
    }
}

#[test]
fn without_time_the_transcript_is_behind_and_catches_up_later() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.jsonl");
    append(&path, &(user("one") + &user("two")));
    let behind = Gathered::default().read(&path, &workspace(), Duration::ZERO).unwrap();
    assert_eq!(behind.transcript(&workspace()).extent(), Extent::Behind);
    let later = gather(behind, &path);
    assert_eq!((later.transcript(&workspace()).extent(), lines(&later).len()), (Extent::Whole, 2));
}

#[test]
fn what_no_longer_fits_stays_too_long() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.jsonl");
    append(&path, &user(&"x".repeat(500_000)));
    let full = gather(Gathered::default(), &path);
    assert_eq!(full.transcript(&workspace()).extent(), Extent::Overfull);
    append(&path, &user("short"));
    let still = gather(full, &path);
    assert_eq!(still.transcript(&workspace()).extent(), Extent::Overfull);
    assert!(lines(&still).is_empty(), "what comes after is not taken for the whole");
}

#[test]
fn two_hundred_megabytes_are_read_in_bounded_memory() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.jsonl");
    let mut file = File::create(&path).unwrap();
    let filler = json!({"type": "user", "message": {"role": "user", "content":
        [{"type": "tool_result", "tool_use_id": "t", "content": "x".repeat(1 << 20)}]}, "toolUseResult": "y"});
    let block = filler.to_string() + "\n" + &call("c", "Bash", json!({"command": "touch a"}));
    for _ in 0..180 {
        file.write_all(block.as_bytes()).unwrap();
    }
    // One line that is longer than any that is kept.
    let long = json!({"type": "user", "message": {"role": "user", "content": "z".repeat(20 << 20)}});
    file.write_all((long.to_string() + "\n" + &user("the end")).as_bytes()).unwrap();
    assert!(file.metadata().unwrap().len() > 200 << 20);
    let before = most_memory();
    let gathered = gather(Gathered::default(), &path);
    assert_eq!((lines(&gathered).len(), gathered.broken), (181, 1));
    assert_eq!(lines(&gathered)[180], r#"{"user":"the end"}"#);
    assert!(most_memory() - before < 160 << 10, "{} KiB more at most", most_memory() - before);
}

/// The most memory this process ever had, in KiB.
fn most_memory() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok()).unwrap_or_default()
}
