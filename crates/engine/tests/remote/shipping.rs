//! Records on their way to the server: each once, in order, however often something breaks in between.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use mayi_core::verdict::Verdict;
use mayi_engine::audit::Audit;
use mayi_engine::remote::spool::{Shipped, Spool, SpoolError};
use serde_json::{Value, json};

use crate::counterpart::{Counterpart, Fault, now};
use crate::world::{World, asked, attended, good, unattended};

const SHIP: &str = "/v1/audit";
const LONG: Duration = Duration::from_secs(30);

struct Books {
    folder: tempfile::TempDir,
    server: Counterpart,
}

impl Books {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), server: Counterpart::start() }
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("audit.jsonl")
    }

    fn spool(&self) -> Spool {
        Spool::new(&self.file(), &self.server.url())
    }

    /// Writes records with these numbers.
    fn record(&self, numbers: std::ops::Range<u64>) {
        let lines: String =
            numbers.map(|n| format!("{}\n", json!({"v": 1, "at": now(), "n": n, "link": "ab"}))).collect();
        self.append(lines.as_bytes());
    }

    fn append(&self, bytes: &[u8]) {
        OpenOptions::new().create(true).append(true).open(self.file()).unwrap().write_all(bytes).unwrap();
    }

    /// Puts the present file aside, as if that was done at this moment.
    fn put_aside(&self, moment: u64) {
        fs::rename(self.file(), self.folder.path().join(format!("audit-{moment}.jsonl"))).unwrap();
    }

    fn ship(&self) -> Result<Shipped, SpoolError> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(self.spool().ship(&good(&self.server), LONG))
    }

    /// The numbers that the server has, in its order.
    fn there(&self) -> Vec<u64> {
        self.server.records().iter().map(|record| record["n"].as_u64().unwrap()).collect()
    }
}

fn numbers(range: std::ops::Range<u64>) -> Vec<u64> {
    range.collect()
}

#[test]
fn every_record_arrives_once_and_without_our_link() {
    let books = Books::new();
    assert_eq!(books.ship().unwrap(), Shipped::All(0), "nothing was recorded yet");
    books.record(0..3);
    assert_eq!(books.ship().unwrap(), Shipped::All(3));
    assert_eq!(books.ship().unwrap(), Shipped::All(0));
    books.record(3..700);
    assert_eq!(books.ship().unwrap(), Shipped::All(697));
    assert_eq!(books.there(), numbers(0..700));
    assert!(books.server.records().iter().all(|record| record.get("link").is_none()));
    assert_eq!(books.server.sources(), 1);
    assert_eq!(books.spool().backlog().unwrap().bytes, 0);
}

#[test]
fn a_parcel_whose_receipt_was_lost_is_not_counted_twice() {
    for fault in [Fault::Deaf, Fault::Cut, Fault::Status(500), Fault::Garbage, Fault::Status(429)] {
        let books = Books::new();
        books.record(0..10);
        books.server.fault(SHIP, fault);
        assert!(books.ship().is_err(), "{fault:?}");
        books.record(10..12);
        books.ship().unwrap();
        assert_eq!(books.there(), numbers(0..12), "{fault:?}");
    }
}

#[test]
fn records_wait_for_a_server_that_is_away_and_survive_being_put_aside() {
    let books = Books::new();
    books.record(0..5);
    books.ship().unwrap();
    books.server.go_away();
    books.record(5..10);
    for day in 1..4 {
        assert!(books.ship().is_err());
        books.put_aside(day);
        books.record(day * 10..day * 10 + 10);
    }
    assert!(books.spool().backlog().unwrap().bytes > 0);
    books.server.come_back();
    assert_eq!(books.ship().unwrap(), Shipped::All(35));
    let expected: Vec<u64> = numbers(0..40);
    assert_eq!(books.there(), expected);
    books.put_aside(9);
    books.record(40..42);
    books.ship().unwrap();
    assert_eq!(books.there(), numbers(0..42));
}

#[test]
fn files_that_somebody_removed_are_passed_over_and_nothing_is_sent_again() {
    let books = Books::new();
    for day in 1..4 {
        books.record(day * 10..day * 10 + 2);
        books.put_aside(day);
        books.ship().unwrap();
    }
    fs::remove_file(books.folder.path().join("audit-3.jsonl")).unwrap();
    books.record(40..42);
    books.ship().unwrap();
    assert_eq!(books.there(), [10, 11, 20, 21, 30, 31, 40, 41]);
}

#[test]
fn half_a_line_waits_for_its_end_and_what_is_no_record_is_passed_over() {
    let books = Books::new();
    books.record(0..1);
    books.append(b"{\"n\": 1, \"at\"");
    books.ship().unwrap();
    assert_eq!(books.there(), [0]);
    books.append(b": 7}\n");
    books.append(b"{\"half\": \n[1]\n\nnonsense\n");
    books.record(2..3);
    books.ship().unwrap();
    assert_eq!(books.there(), [0, 1, 2]);
}

#[test]
fn a_parcel_that_is_too_large_is_made_smaller() {
    let books = Books::new();
    books.server.take_at_most(10);
    books.record(0..100);
    assert_eq!(books.ship().unwrap(), Shipped::All(100));
    assert_eq!(books.there(), numbers(0..100));
    let long = "x".repeat(300_000);
    for n in 100..104 {
        books.append(format!("{}\n", json!({"n": n, "input": long})).as_bytes());
    }
    books.ship().unwrap();
    assert_eq!(books.there(), numbers(0..104));
}

#[test]
fn a_record_that_the_server_will_never_take_is_counted_and_does_not_hold_up_the_others() {
    let books = Books::new();
    books.record(0..5);
    books.append(b"{\"n\": 99, \"unfit\": 1}\n");
    books.record(5..9);
    books.ship().unwrap();
    assert_eq!(books.there(), numbers(0..9));
    let backlog = books.spool().backlog().unwrap();
    assert_eq!((backlog.bytes, backlog.refused), (0, 1));
}

#[test]
fn another_token_sends_in_another_name_from_where_the_first_one_was() {
    let books = Books::new();
    books.record(0..5);
    books.ship().unwrap();
    books.server.change_tokens();
    books.record(5..9);
    books.ship().unwrap();
    assert_eq!((books.server.sources(), books.server.records().len()), (2, 9));
}

#[test]
fn a_server_that_lost_records_gets_them_again_as_far_as_they_are_here() {
    let books = Books::new();
    books.record(0..10);
    books.put_aside(1);
    books.record(10..20);
    books.ship().unwrap();
    books.server.forget_from(4);
    books.record(20..21);
    books.ship().unwrap();
    assert_eq!(books.there(), numbers(0..21));
    assert_eq!(books.server.sources(), 1);
}

#[test]
fn a_copy_of_our_notes_on_another_machine_does_not_speak_in_our_name() {
    let books = Books::new();
    books.record(0..5);
    books.ship().unwrap();
    let mut notes = fs::read_dir(books.folder.path()).unwrap().flatten().map(|entry| entry.path());
    let notes = notes.find(|path| path.extension().is_some_and(|end| end == "json")).unwrap();
    let mut cursor: Value = serde_json::from_str(&fs::read_to_string(&notes).unwrap()).unwrap();
    cursor["host"] = json!("another");
    fs::write(&notes, cursor.to_string()).unwrap();
    books.record(5..8);
    books.ship().unwrap();
    assert_eq!(books.server.sources(), 2);
    assert_eq!(books.server.records().len(), 8, "and sends what was not sent yet, alone");
    fs::write(&notes, "{").unwrap();
    assert!(matches!(books.ship(), Err(SpoolError::Io { .. })));
}

#[test]
fn one_process_ships_at_a_time() {
    let books = Books::new();
    books.record(0..2000);
    let shipped = std::thread::scope(|scope| {
        let both: Vec<_> = (0..4).map(|_| scope.spawn(|| books.ship().unwrap())).collect();
        both.into_iter().map(|one| one.join().unwrap()).collect::<Vec<_>>()
    });
    assert!(shipped.iter().any(|shipped| matches!(shipped, Shipped::All(_))), "{shipped:?}");
    books.ship().unwrap();
    assert_eq!(books.there(), numbers(0..2000));
}

#[test]
fn what_the_server_does_not_have_is_not_removed() {
    let books = Books::new();
    books.record(0..3);
    books.put_aside(1);
    books.record(3..6);
    let old = books.folder.path().join("audit-1.jsonl");
    fs::File::options().write(true).open(&old).unwrap().set_modified(SystemTime::UNIX_EPOCH).unwrap();
    let turn_over = || {
        let spool = books.spool();
        let audit = Audit::in_file(books.file());
        audit.turn_over_sparing(SystemTime::now(), Duration::from_secs(3600), &|file| spool.wants(file)).unwrap();
    };
    turn_over();
    assert!(old.exists());
    books.ship().unwrap();
    turn_over();
    assert!(!old.exists());
    books.record(6..7);
    books.ship().unwrap();
    assert_eq!(books.there(), numbers(0..7));
}

#[test]
fn an_organisation_may_hold_everything_back_until_records_arrive() {
    let server = Counterpart::open();
    server.govern(json!({"server": {"requireAudit": true, "auditMaxLagSeconds": 60}}));
    let world = World::of(&server, json!({}));
    assert_eq!(world.ask(&asked("ls"), attended()).decision.verdict, Verdict::Allow);
    assert_eq!(world.ask(&asked("ls"), attended()).decision.verdict, Verdict::Allow, "a moment is no lag");
    let late = json!({"v": 1, "at": now() - 120_000, "kind": "decision", "n": 0});
    fs::write(world.path("state/audit.jsonl"), format!("{late}\n")).unwrap();
    for (manner, verdict) in [(attended(), Verdict::Ask), (unattended(), Verdict::Deny)] {
        let answered = world.ask(&asked("ls"), manner);
        assert_eq!(answered.decision.verdict, verdict);
        assert!(answered.decision.reason.to_string().contains("have waited for 1"), "{}", answered.decision.reason);
    }
    let desk = world.desk(attended());
    let spool = desk.spool(&desk.settings()).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(spool.ship(desk.server().unwrap().client().unwrap(), LONG)).unwrap();
    assert_eq!(world.ask(&asked("ls"), attended()).decision.verdict, Verdict::Allow);
    world.set(&json!({"server": {"url": server.url()}, "audit": {"enabled": false}}));
    assert_eq!(world.ask(&asked("ls"), attended()).decision.verdict, Verdict::Ask, "no records are no way out");
}

#[test]
fn nobody_but_the_organisation_requires_or_forgives_records() {
    let server = Counterpart::open();
    let world = World::of(&server, json!({"requireAudit": true, "auditMaxLagSeconds": 1}));
    let late = json!({"v": 1, "at": now() - 120_000, "kind": "decision"});
    fs::create_dir_all(world.path("state")).unwrap();
    fs::write(world.path("state/audit.jsonl"), format!("{late}\n")).unwrap();
    assert_eq!(world.ask(&asked("ls"), attended()).decision.verdict, Verdict::Allow);
}
