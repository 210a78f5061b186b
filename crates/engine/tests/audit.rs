//! The audit on a real disk: links from line to line and from file to file, many writers at once, what verifying finds
//! and what reading passes over.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use mayi_core::verdict::Verdict;
use mayi_engine::audit::verify::{Fault, Verified, verify};
use mayi_engine::audit::{Answer, Audit, Filter, Reader, Record, files};

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn file(&self) -> PathBuf {
        self.0.path().join("audit.jsonl")
    }

    fn audit(&self) -> Audit {
        Audit::in_file(self.file())
    }

    fn write(&self, count: usize) {
        for number in 0..count {
            append(&self.audit(), &number.to_string());
        }
    }

    fn verified(&self) -> Verified {
        verify(&self.file())
    }

    fn change(&self, change: impl Fn(&str) -> String) {
        let text = fs::read_to_string(self.file()).unwrap();
        fs::write(self.file(), change(&text)).unwrap();
    }
}

fn append(audit: &Audit, session: &str) {
    let (tool, verdict, by) = ("Bash", Verdict::Allow, "terminal");
    let answer = Answer { agent: "generic", session, child: None, call_id: None, tool, verdict, by };
    audit.append_answer(&answer).unwrap();
}

fn without(text: &str, line: usize) -> String {
    let lines = text.lines().enumerate().filter(|(number, _)| *number != line);
    lines.map(|(_, line)| format!("{line}\n")).collect()
}

#[track_caller]
fn check_broken(folder: &Folder, line: usize, fault: impl Fn(&Fault) -> bool) {
    let broken = folder.verified().broken.expect("the chain is broken");
    assert_eq!(broken.place.line, line, "{broken:?}");
    assert_eq!(&*broken.place.file, folder.file().as_path());
    assert!(fault(&broken.fault), "{broken:?}");
}

#[test]
fn a_chain_holds_from_the_first_record_to_the_last() {
    let folder = Folder::new();
    folder.write(5);
    let verified = folder.verified();
    assert_eq!((verified.records, verified.unlinked, verified.broken), (5, 0, None));
    assert!(verified.last.is_some());
    assert_eq!(verify(Path::new("/nowhere/audit.jsonl")), Verified::default());
}

#[test]
fn a_record_that_was_changed_removed_or_put_in_is_named() {
    let folder = Folder::new();
    folder.write(5);
    let whole = fs::read_to_string(folder.file()).unwrap();
    folder.change(|text| text.replacen("\"session\":\"2\"", "\"session\":\"9\"", 1));
    check_broken(&folder, 3, |fault| *fault == Fault::Changed);
    folder.change(|_| without(&whole, 1));
    check_broken(&folder, 2, |fault| *fault == Fault::Changed);
    folder.change(|_| without(&whole, 0));
    check_broken(&folder, 1, |fault| *fault == Fault::Changed);
    folder.change(|_| whole.replacen('\n', "\n{\"v\":1,\"kind\":\"answer\"}\n", 1));
    check_broken(&folder, 2, |fault| *fault == Fault::Unlinked);
    folder.change(|_| whole.replacen('\n', "\nhalf a li\n", 1));
    check_broken(&folder, 2, |fault| matches!(fault, Fault::Unreadable(_)));
    folder.change(|_| whole.clone());
    assert_eq!(folder.verified().broken, None);
}

#[test]
fn what_stands_before_without_a_link_begins_a_new_chain_and_blocks_nothing() {
    let folder = Folder::new();
    fs::write(folder.file(), "{\"v\":1,\"kind\":\"answer\"}\n{\"v\":1,\"kind\":\"answer\"}\n").unwrap();
    folder.write(2);
    let verified = folder.verified();
    assert_eq!((verified.records, verified.unlinked, verified.broken), (4, 2, None), "an older version had no links");
    folder.change(|text| format!("{text}{{\"v\":1,\"ki"));
    folder.write(2);
    check_broken(&folder, 5, |fault| matches!(fault, Fault::Unreadable(_)));
    let text = fs::read_to_string(folder.file()).unwrap();
    assert_eq!(text.lines().count(), 7, "the torn line is a line of its own: {text}");
    folder.change(|text| without(text, 4));
    check_broken(&folder, 5, |fault| *fault == Fault::Restarted);
}

#[test]
fn a_file_that_was_put_aside_goes_on_in_the_next() {
    let folder = Folder::new();
    let moment = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
    for day in 1..=3 {
        folder.write(2);
        folder.audit().put_aside(moment(day)).unwrap();
    }
    folder.write(2);
    let all = files(&folder.file());
    assert_eq!(all.len(), 4);
    let verified = folder.verified();
    assert_eq!((verified.records, verified.follows_removed, verified.broken), (8, false, None));
    fs::remove_file(&all[0]).unwrap();
    let verified = folder.verified();
    assert_eq!((verified.records, verified.follows_removed, verified.broken), (6, true, None), "the oldest may go");
    fs::remove_file(&all[2]).unwrap();
    check_broken(&folder, 1, |fault| *fault == Fault::Missing);
}

#[test]
fn many_writers_make_one_chain_also_while_the_file_is_put_aside() {
    let folder = Folder::new();
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let audit = folder.audit();
            scope.spawn(move || (0..100).for_each(|number| append(&audit, &format!("{writer}.{number}"))));
        }
        let audit = folder.audit();
        scope.spawn(move || {
            for second in 1..=5 {
                let _ = audit.put_aside(SystemTime::UNIX_EPOCH + Duration::from_secs(second));
            }
        });
    });
    let verified = folder.verified();
    assert_eq!((verified.records, verified.broken), (400, None));
}

#[test]
fn reading_names_what_is_broken_and_goes_on() {
    let folder = Folder::new();
    let lines = [
        r#"{"v":1,"at":5,"kind":"decision","session":"s","cwd":"/w","tool":"Bash","input":{"command":"LS -la"},"verdict":"ask","step":"3","message":"nobody"}"#,
        "no record",
        r#"{"v":1,"kind":"decision","tool":"Bash","verdict":"perhaps","step":"3"}"#,
        r#"{"v":1,"kind":"ran"}"#,
        r#"{"v":1,"at":9,"kind":"decision","tool":"Read","verdict":"deny","step":"1d","future":{"a":1}}"#,
    ];
    fs::write(folder.file(), lines.join("\n")).unwrap();
    let read: Vec<_> = Reader::of(&folder.file()).collect();
    assert_eq!(read.len(), 5);
    let broken: Vec<_> = read.iter().filter_map(|read| read.as_ref().err()).map(|broken| broken.place.line).collect();
    assert_eq!(broken, [2, 3]);
    let decisions: Vec<_> = read
        .iter()
        .filter_map(|read| match read {
            Ok((_, Record::Decision(recorded))) => Some(recorded),
            Ok((_, Record::Other(_) | Record::Answer(_))) | Err(_) => None,
        })
        .collect();
    let found = |filter: Filter| decisions.iter().filter(|recorded| filter.holds(recorded)).count();
    assert_eq!(found(Filter::default()), 2);
    assert_eq!(found(Filter { text: Some("ls -L".into()), ..Filter::default() }), 1);
    assert_eq!(found(Filter { since: Some(6), ..Filter::default() }), 1);
    assert_eq!(found(Filter { until: Some(6), tool: Some("Read".into()), ..Filter::default() }), 0);
    assert_eq!(found(Filter { verdict: Some(Verdict::Deny), session: Some(String::new()), ..Filter::default() }), 1);
    assert!(decisions[0].is_called("@5"));
}
