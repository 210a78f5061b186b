//! The records of sessions in SQLite. One small transaction a change; other processes wait their turn.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode, OptionalExtension, Transaction, TransactionBehavior, params};

use super::{Record, StoreError, private};

/// How long a process waits for its turn. A turn takes about a millisecond.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long one try to open it waits. Switching a new database's journal does not wait for a turn, it fails.
const TRY: Duration = Duration::from_millis(20);

const SCHEMA: &str = "
    create table if not exists record (session text primary key, value text not null) without rowid;
    create table if not exists kept (session text, name text, value text not null, primary key (session, name))
        without rowid;
";

/// An open database.
#[derive(Debug)]
pub(super) struct Database {
    connection: Connection,
    path: PathBuf,
}

impl Database {
    pub(super) fn open(path: &Path) -> Result<Self, StoreError> {
        // Made by us, so that it is for the owner alone from the start.
        private().create(true).open(path).map_err(|source| StoreError::Io { path: path.to_owned(), source })?;
        let until = Instant::now() + PATIENCE;
        loop {
            match connect(path) {
                Ok(connection) => return Ok(Self { connection, path: path.to_owned() }),
                Err(error) if is_busy(&error) && Instant::now() < until => std::thread::sleep(TRY),
                Err(error) => return Err(problem(path, &error)),
            }
        }
    }

    pub(super) fn record(&mut self, session: &str) -> Result<Option<Record>, StoreError> {
        let Self { connection, path } = self;
        let found = value(connection, "select value from record where session = ?1", &[session]);
        found.map_err(|error| problem(path, &error))?.map(|text| read(path, &text)).transpose()
    }

    pub(super) fn update(&mut self, session: &str, change: impl FnOnce(&mut Record)) -> Result<Record, StoreError> {
        let Self { connection, path } = self;
        let failed = |error: rusqlite::Error| problem(path, &error);
        let transaction = begin(connection).map_err(failed)?;
        let found = value(&transaction, "select value from record where session = ?1", &[session]).map_err(failed)?;
        let mut record: Record = found.map(|text| read(path, &text)).transpose()?.unwrap_or_default();
        change(&mut record);
        let text = serde_json::to_string(&record)
            .map_err(|error| StoreError::Database { path: path.clone(), problem: error.to_string() })?;
        transaction
            .execute("insert or replace into record (session, value) values (?1, ?2)", params![session, text])
            .and_then(|_| transaction.commit())
            .map_err(failed)?;
        Ok(record)
    }

    pub(super) fn kept(&mut self, session: &str, name: &str) -> Result<Option<String>, StoreError> {
        let found =
            value(&self.connection, "select value from kept where session = ?1 and name = ?2", &[session, name]);
        found.map_err(|error| problem(&self.path, &error))
    }

    /// Every session's text of this name, in the order of the sessions' names.
    pub(super) fn all_kept(&mut self, name: &str) -> Result<Vec<(String, String)>, StoreError> {
        let found = self
            .connection
            .prepare("select session, value from kept where name = ?1 order by session")
            .and_then(|mut query| query.query_map([name], |row| Ok((row.get(0)?, row.get(1)?)))?.collect());
        found.map_err(|error| problem(&self.path, &error))
    }

    pub(super) fn amend(
        &mut self,
        session: &str,
        name: &str,
        change: impl FnOnce(Option<&str>) -> String,
    ) -> Result<String, StoreError> {
        let Self { connection, path } = self;
        let failed = |error: rusqlite::Error| problem(path, &error);
        let transaction = begin(connection).map_err(failed)?;
        let query = "select value from kept where session = ?1 and name = ?2";
        let before = value(&transaction, query, &[session, name]).map_err(failed)?;
        let after = change(before.as_deref());
        let write = "insert or replace into kept (session, name, value) values (?1, ?2, ?3)";
        transaction.execute(write, params![session, name, after]).and_then(|_| transaction.commit()).map_err(failed)?;
        Ok(after)
    }

    /// Forgets a session.
    pub(super) fn forget(&mut self, keep: &dyn Fn(&str) -> bool) -> Result<(), StoreError> {
        let Self { connection, path } = self;
        let failed = |error: rusqlite::Error| problem(path, &error);
        let transaction = begin(connection).map_err(failed)?;
        let sessions: Vec<String> = transaction
            .prepare("select session from record union select session from kept")
            .and_then(|mut query| query.query_map([], |row| row.get(0))?.collect())
            .map_err(failed)?;
        for session in sessions.iter().filter(|session| !keep(session)) {
            for table in ["record", "kept"] {
                transaction.execute(&format!("delete from {table} where session = ?1"), [session]).map_err(failed)?;
            }
        }
        transaction.commit().map_err(failed)
    }
}

fn connect(path: &Path) -> rusqlite::Result<Connection> {
    let connection = Connection::open(path)?;
    connection.busy_timeout(TRY)?;
    connection.pragma_update(None, "journal_mode", "wal")?;
    // A crash of the process loses nothing; a power cut may lose the last moments, never the database.
    connection.pragma_update(None, "synchronous", "normal")?;
    connection.execute_batch(SCHEMA)?;
    connection.busy_timeout(PATIENCE)?;
    Ok(connection)
}

/// Takes the turn to write at once: a transaction that reads first could not be sure of what it read.
fn begin(connection: &mut Connection) -> rusqlite::Result<Transaction<'_>> {
    connection.transaction_with_behavior(TransactionBehavior::Immediate)
}

fn value(connection: &Connection, query: &str, keys: &[&str]) -> rusqlite::Result<Option<String>> {
    let keys = rusqlite::params_from_iter(keys);
    connection.query_row(query, keys, |row| row.get(0)).optional()
}

fn read(path: &Path, text: &str) -> Result<Record, StoreError> {
    serde_json::from_str(text).map_err(|error| StoreError::Database {
        path: path.to_owned(),
        problem: format!("a record is damaged: {error}"),
    })
}

fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

fn problem(path: &Path, error: &rusqlite::Error) -> StoreError {
    if is_busy(error) {
        StoreError::Locked { path: path.to_owned() }
    } else {
        StoreError::Database { path: path.to_owned(), problem: error.to_string() }
    }
}
