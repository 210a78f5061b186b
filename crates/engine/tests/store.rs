//! Session state under several processes at once, and when the disk does not play along.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, SystemTime};

use mayi_core::mode::Mode;
use mayi_engine::store::{Card, Sessions, StoreError};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

#[test]
fn a_session_that_was_never_changed_opens_no_database() {
    let folder = tempfile::tempdir().unwrap();
    let sessions = Sessions::in_folder(folder.path());
    assert_eq!(sessions.card("s").unwrap(), None);
    assert_eq!(sessions.record("s").unwrap(), None);
    let card = Card { agent: "codex".to_owned(), mode: Mode::Plan, ..Card::default() };
    sessions.put_card("s", &card).unwrap();
    assert_eq!(sessions.card("s").unwrap(), Some(card));
    assert_eq!(sessions.record("s").unwrap(), None);
    assert!(!sessions.folder().join("sessions.db").exists());
}

#[test]
fn changes_of_many_at_once_are_all_kept() {
    let folder = tempfile::tempdir().unwrap();
    std::thread::scope(|scope| {
        for _ in 0..20 {
            // Each with a connection of its own, as processes have.
            scope.spawn(|| {
                let sessions = Sessions::in_folder(folder.path());
                for _ in 0..5 {
                    sessions.update("s", |record| record.session.denials.total += 1).unwrap();
                    sessions.amend("s", "ledger", |old| format!("{}x", old.unwrap_or_default())).unwrap();
                }
            });
        }
    });
    let sessions = Sessions::in_folder(folder.path());
    assert_eq!(sessions.record("s").unwrap().unwrap().session.denials.total, 100);
    assert_eq!(sessions.kept("s", "ledger").unwrap().unwrap().len(), 100);
    assert_eq!(sessions.kept("t", "ledger").unwrap(), None);
}

#[test]
fn what_all_sessions_keep_under_a_name_is_listed_and_listing_makes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let sessions = Sessions::in_folder(folder.path());
    assert_eq!(sessions.all_kept("ledger").unwrap(), []);
    assert!(!sessions.folder().exists(), "looking leaves no trace");
    for (session, name, text) in [("t", "ledger", "2"), ("s", "ledger", "1"), ("s", "flag", "3")] {
        sessions.amend(session, name, |_| text.to_owned()).unwrap();
    }
    let listed = Sessions::in_folder(folder.path()).all_kept("ledger").unwrap();
    assert_eq!(listed, [("s", "1"), ("t", "2")].map(|(session, text)| (session.to_owned(), text.to_owned())));
}

#[test]
fn everything_kept_is_for_the_owner_alone() {
    let folder = tempfile::tempdir().unwrap();
    let sessions = Sessions::in_folder(folder.path());
    sessions.put_card("s", &Card::default()).unwrap();
    sessions.update("s", |_| {}).unwrap();
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o077;
    assert_eq!(mode(sessions.folder()), 0);
    for entry in fs::read_dir(sessions.folder()).unwrap() {
        let path = entry.unwrap().path();
        assert_eq!(mode(&path), 0, "{}", path.display());
    }
}

#[test]
fn old_sessions_are_forgotten_and_young_ones_kept() {
    let folder = tempfile::tempdir().unwrap();
    let sessions = Sessions::in_folder(folder.path());
    for id in ["old", "young"] {
        sessions.put_card(id, &Card::default()).unwrap();
        sessions.update(id, |record| record.session.denials.total = 1).unwrap();
    }
    let now = SystemTime::now();
    for name in ["old.card", "old.record"] {
        let file = fs::File::options().write(true).open(sessions.folder().join(name)).unwrap();
        file.set_modified(now - DAY * 40).unwrap();
    }
    sessions.sweep(now, DAY * 30).unwrap();
    assert_eq!((sessions.card("old").unwrap(), sessions.has_record("old")), (None, false));
    assert_eq!(sessions.record("old").unwrap(), None);
    assert_eq!(sessions.record("young").unwrap().unwrap().session.denials.total, 1);
    assert!(sessions.card("young").unwrap().is_some());
    // Forgotten in the database as well: a session of the same name starts anew.
    assert_eq!(sessions.update("old", |_| {}).unwrap().session.denials.total, 0);
}

#[test]
fn what_cannot_be_read_is_an_error_and_no_empty_state() {
    let folder = tempfile::tempdir().unwrap();
    let sessions = Sessions::in_folder(folder.path());
    sessions.update("s", |_| {}).unwrap();
    drop(sessions);
    let folder = folder.path().join("sessions");
    for name in ["sessions.db-wal", "sessions.db-shm"] {
        let _ = fs::remove_file(folder.join(name));
    }
    fs::write(folder.join("sessions.db"), "this is no database, and long enough to be looked at closely".repeat(99))
        .unwrap();
    let sessions = Sessions::in_folder(folder.parent().unwrap());
    assert!(matches!(sessions.record("s"), Err(StoreError::Database { .. })));
    fs::write(folder.join("s.card"), "{").unwrap();
    assert!(matches!(sessions.card("s"), Err(StoreError::Io { .. })));
}

#[test]
fn a_state_folder_that_is_a_file_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("sessions"), "").unwrap();
    let sessions = Sessions::in_folder(folder.path());
    assert!(matches!(sessions.update("s", |_| {}), Err(StoreError::Io { .. })));
    assert!(sessions.put_card("s", &Card::default()).is_err());
}
