//! The store on SQLite: what every store must do, and what happens to a file.

#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test fails by panicking, and its process speaks to it"
)]

use std::ffi::OsString;
use std::fs::{self, Permissions};
use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use mayi_engine::remote::wire::{Approval, Question, State};
use mayi_server::store::conformance::{Failed, Ground, TRIALS};
use mayi_server::store::sqlite::Sqlite;
use mayi_server::store::{Kept, NewRecord, RecordFilter, SessionState, Store, StoreError, open};
use rusqlite::Connection;
use tempfile::TempDir;
use tokio::task::JoinSet;

/// Tells a process of a test where the database is.
const CHILD: &str = "MAYI_STORE_OF_THE_TEST";

/// A folder with one database.
#[derive(Debug)]
struct File {
    folder: TempDir,
}

impl File {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("server.db")
    }
}

impl Ground for File {
    fn open(&self) -> Kept<'_, Arc<dyn Store>> {
        Box::pin(async { Ok(Arc::new(Sqlite::open(&self.path())?) as Arc<dyn Store>) })
    }

    fn tamper(&self, statement: &str) -> Result<(), Failed> {
        let connection = rusqlite::Connection::open(self.path()).map_err(|error| Failed(error.to_string()))?;
        connection.execute(statement, []).map_err(|error| Failed(error.to_string()))?;
        Ok(())
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn sqlite_does_what_every_store_must() {
    for (shows, trial) in TRIALS {
        let file = File::new();
        let outcome = trial(&file).await;
        assert_eq!(outcome, Ok(()), "{shows}");
    }
}

fn record(session: &str) -> NewRecord {
    let text = format!(r#"{{"at":1728000000000,"kind":"decision","session":"{session}","verdict":"allow"}}"#);
    NewRecord::of(text).unwrap()
}

fn approval(id: &str) -> Approval {
    let question = Question { session: "a".to_owned(), ..Question::default() };
    let (created_at, expires_at) = (1_728_000_000_000, 1_728_000_300_000);
    Approval { id: id.to_owned(), created_at, expires_at, state: State::Pending, question, answer: None }
}

/// The same test in a process of its own, which sees the path of the database. What comes before it on the command line
/// decides what that process may do.
fn child(test: &str, path: &Path, before: &[&str]) -> Command {
    let program = std::env::current_exe().unwrap();
    let words = before.iter().map(OsString::from).chain([program.into_os_string()]).collect::<Vec<_>>();
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).args([test, "--exact", "--nocapture"]).env(CHILD, path).stdout(Stdio::piped());
    command
}

/// Appends from several tasks until it fails, and says which numbers were acknowledged.
async fn append_for_ever(path: &Path) -> StoreError {
    let store = Arc::new(Sqlite::open(path).unwrap());
    let mut tasks = JoinSet::new();
    for task in 0..8 {
        let store = Arc::clone(&store);
        tasks.spawn(async move {
            for step in 0.. {
                match store.append(vec![record(&format!("{task}-{step}"))]).await {
                    Ok(numbers) => println!("\nkept {} {task}-{step}", numbers[0]),
                    Err(error) => return error,
                }
            }
            unreachable!("it goes on until it fails");
        });
    }
    tasks.join_next().await.unwrap().unwrap()
}

/// The numbers that a process said were kept, with their sessions.
fn kept(said: &str) -> Vec<(u64, String)> {
    let words = said.lines().filter_map(|line| line.strip_prefix("kept ")?.split_once(' '));
    // The last line of a process that was killed may be cut off.
    words.filter_map(|(number, session)| Some((number.parse().ok()?, session.to_owned()))).collect()
}

async fn holds_all(path: &Path, kept: &[(u64, String)]) {
    let store = Sqlite::open(path).unwrap();
    assert_eq!(store.verify().await.unwrap().broken, None);
    let all = RecordFilter { limit: usize::MAX, ..RecordFilter::default() };
    let found = store.records(all).await.unwrap();
    for (number, session) in kept {
        let record = &found[usize::try_from(*number).unwrap() - 1];
        assert_eq!(record.number, *number);
        assert!(record.text.contains(&format!("\"{session}\"")), "{number} {session}: {}", record.text);
    }
    store.append(vec![record("after")]).await.unwrap();
    assert_eq!(store.verify().await.unwrap().broken, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_acknowledged_before_a_kill_is_there_after_it() {
    if let Some(path) = std::env::var_os(CHILD) {
        append_for_ever(Path::new(&path)).await;
        return;
    }
    let file = File::new();
    for round in 0..3 {
        let test = "what_was_acknowledged_before_a_kill_is_there_after_it";
        let mut running = child(test, &file.path(), &[]).spawn().unwrap();
        let mut said = String::new();
        let mut lines = BufReader::new(running.stdout.take().unwrap());
        while kept(&said).len() < 200 + 100 * round {
            assert_ne!(lines.read_line(&mut said).unwrap(), 0, "it ended by itself: {said}");
        }
        running.kill().unwrap();
        lines.read_to_string(&mut said).unwrap();
        running.wait().unwrap();
        holds_all(&file.path(), &kept(&said)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_is_an_error_and_nothing_is_half_written() {
    if let Some(path) = std::env::var_os(CHILD) {
        let error = append_for_ever(Path::new(&path)).await;
        println!("\nfailed {error:?}");
        return;
    }
    let file = File::new();
    drop(Sqlite::open(&file.path()).unwrap());
    // No file may grow beyond half a megabyte, and whoever tries is told so rather than killed.
    let limited = ["sh", "-c", "trap '' XFSZ; ulimit -f 512; exec \"$@\"", "sh"];
    let output = child("a_full_disk_is_an_error_and_nothing_is_half_written", &file.path(), &limited).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("failed Away") && said.contains("help:"), "{said}");
    let kept = kept(&said);
    assert!(!kept.is_empty(), "{said}");
    holds_all(&file.path(), &kept).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_cannot_be_written_is_refused() {
    if let Some(path) = std::env::var_os(CHILD) {
        println!("\nfailed {:?}", Sqlite::open(Path::new(&path)).map(drop));
        return;
    }
    let file = File::new();
    drop(Sqlite::open(&file.path()).unwrap());
    fs::set_permissions(file.path(), Permissions::from_mode(0o400)).unwrap();
    fs::set_permissions(file.folder.path(), Permissions::from_mode(0o500)).unwrap();
    // Root may write everything, unless that is taken from it.
    let is_root = rustix::process::geteuid().is_root();
    let before: &[&str] = if is_root { &["setpriv", "--bounding-set=-dac_override", "--"] } else { &[] };
    let output = child("a_file_that_cannot_be_written_is_refused", &file.path(), before).output().unwrap();
    fs::set_permissions(file.folder.path(), Permissions::from_mode(0o700)).unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("failed Err(Away"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_locked_database_is_an_error_until_it_is_free() {
    let file = File::new();
    let store = Sqlite::open(&file.path()).unwrap();
    store.append(vec![record("a")]).await.unwrap();
    let other = Connection::open(file.path()).unwrap();
    other.execute_batch("begin immediate").unwrap();
    let (append, ready) = tokio::join!(store.append(vec![record("a")]), store.ready(Duration::from_millis(100)));
    assert!(matches!(append, Err(StoreError::Away(text)) if text.contains("another process")));
    assert!(matches!(ready, Err(StoreError::Away(_))));
    // Whoever only reads is not held up.
    assert_eq!(store.verify().await.unwrap().records, 1);
    other.execute_batch("rollback").unwrap();
    assert_eq!(store.append(vec![record("a")]).await.unwrap(), vec![2]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_that_fails_leaves_nothing_behind() {
    let file = File::new();
    let store = Sqlite::open(&file.path()).unwrap();
    store.append(vec![record("a")]).await.unwrap();
    // Somebody put a record where the next one belongs.
    file.tamper("insert into record (number, at, kind, text, link) values (2, 0, 'run', '{}', zeroblob(32))").unwrap();
    let put = store.put_approval(approval("one"), vec![record("a")]).await;
    assert!(matches!(put, Err(StoreError::Damaged(_))), "{put:?}");
    assert_eq!(store.approval("one".to_owned()).await.unwrap(), None);
    // What needs no record is not hindered by those that do.
    let (one, other) = tokio::join!(
        store.put_approval(approval("two"), Vec::new()),
        store.put_approval(approval("three"), vec![record("a")])
    );
    assert!(one.is_ok() && other.is_err());
    assert_eq!(store.verify().await.unwrap().broken.unwrap().0, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_file_is_said_to_be_damaged() {
    let file = File::new();
    let store = Sqlite::open(&file.path()).unwrap();
    store.append((0..500).map(|step| record(&step.to_string())).collect()).await.unwrap();
    drop(store);
    let connection = Connection::open(file.path()).unwrap();
    connection.query_row("pragma wal_checkpoint(truncate)", [], |_| Ok(())).unwrap();
    drop(connection);
    let mut bytes = fs::read(file.path()).unwrap();
    // The first page says what is where; everything else is overwritten.
    bytes[4096..].fill(0xff);
    fs::write(file.path(), bytes).unwrap();
    let store = Sqlite::open(&file.path()).unwrap();
    for outcome in [store.append(vec![record("a")]).await.map(drop), store.verify().await.map(drop)] {
        assert!(matches!(&outcome, Err(StoreError::Damaged(text)) if text.contains("help:")), "{outcome:?}");
    }
}

#[test]
fn a_file_is_for_its_owner_alone() {
    let file = File::new();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let store = Sqlite::open(&file.path()).unwrap();
    for ending in ["", "-wal", "-shm"] {
        let path = file.folder.path().join(format!("server.db{ending}"));
        assert_eq!(mode(&path), 0o600, "{}", path.display());
    }
    drop(store);
    fs::set_permissions(file.path(), Permissions::from_mode(0o644)).unwrap();
    drop(Sqlite::open(&file.path()).unwrap());
    assert_eq!(mode(&file.path()), 0o600);
}

#[test]
fn a_file_of_somebody_else_or_of_a_newer_mayi_is_left_alone() {
    let file = File::new();
    let refused = || Sqlite::open(&file.path()).unwrap_err().to_string();
    let theirs = Connection::open(file.path()).unwrap();
    theirs.execute_batch("create table theirs (word text)").unwrap();
    let before = fs::read(file.path()).unwrap();
    assert!(refused().contains("is not a database of `mayi serve`"), "{}", refused());
    assert_eq!(fs::read(file.path()).unwrap(), before);
    drop(theirs);
    fs::write(file.path(), "no database at all, but long enough to be looked at as if it were one".repeat(20)).unwrap();
    assert!(refused().contains("damaged"), "{}", refused());

    fs::remove_file(file.path()).unwrap();
    drop(Sqlite::open(&file.path()).unwrap());
    Connection::open(file.path()).unwrap().execute_batch("pragma user_version = 99").unwrap();
    assert!(refused().contains("newer mayi: it has version 99"), "{}", refused());
}

#[tokio::test]
async fn a_store_is_named_by_where_it_is() {
    let file = File::new();
    let named = format!("sqlite:{}", file.folder.path().join("new/folder/server.db").display());
    open(&named).await.unwrap().append(vec![record("a")]).await.unwrap();
    for wrong in ["", "sqlite:", "mysql://root:hunter2@db/x", "/a/path", "postgres://u:hunter2@db/d?sslmode=prefer"] {
        let error = open(wrong).await.unwrap_err().to_string();
        assert!(error.contains("help:") && !error.contains("hunter2"), "{wrong}: {error}");
    }
}

#[tokio::test]
async fn the_log_is_copied_into_the_database_while_others_write() {
    let file = File::new();
    let store = Sqlite::open_to_serve(&file.path()).unwrap();
    let text = format!(r#"{{"at":1728000000000,"kind":"decision","text":"{}"}}"#, "x".repeat(4000));
    let length = || std::fs::metadata(file.path()).unwrap().len();
    let until = Instant::now() + Duration::from_secs(60);
    // The database itself stays short until somebody copies the log.
    while length() < 8 * 1024 * 1024 {
        assert!(Instant::now() < until, "the log was not copied: the database has {} bytes", length());
        let records = (0..100).map(|_| NewRecord::of(text.clone()).unwrap()).collect();
        store.append(records).await.unwrap();
    }
    assert_eq!(store.verify().await.unwrap().broken, None);
}

#[tokio::test]
async fn a_file_is_served_by_one_process_at_a_time_and_open_to_others_meanwhile() {
    let file = File::new();
    let serving = Sqlite::open_to_serve(&file.path()).unwrap();
    let said = Sqlite::open_to_serve(&file.path()).unwrap_err().to_string();
    assert!(said.contains("another `mayi serve` uses") && said.contains("help: "), "{said}");
    let beside = Sqlite::open(&file.path()).unwrap();
    let first = serving.put_session(SessionState { id: "a".to_owned(), ..SessionState::default() }, Vec::new());
    let first = first.await.unwrap();
    assert_eq!(serving.session("a".to_owned()).await.unwrap(), Some(first.clone()));
    assert_eq!(beside.session("a".to_owned()).await.unwrap(), Some(first.clone()));
    let second = serving.put_session(SessionState { directory: "/w".to_owned(), ..first }, Vec::new()).await.unwrap();
    assert_eq!(serving.session("a".to_owned()).await.unwrap(), Some(second));
    drop(serving);
    Sqlite::open_to_serve(&file.path()).unwrap();
}
