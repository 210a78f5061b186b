//! Opening the database: for the owner alone, durable, and in the form that this mayi knows.
//!
//! A file of somebody else, or of a newer mayi, is left as it is.

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode, TransactionBehavior};

use super::{StoreError, failure};

/// Each brings the database from its number to the next.
const MIGRATIONS: &[&str] = &[include_str!("migrations/0001.sql")];
/// Marks a database as ours: `mayi` in ASCII.
const APPLICATION: i64 = 0x6d61_7969;

/// How long a statement waits for other processes.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long one try to open waits. Switching a new database's journal does not wait for a turn, it fails.
const TRY: Duration = Duration::from_millis(20);
/// After so many pages a connection copies the log into the database by itself. The one that writes all the time has it
/// copied by another, and does so only when that one cannot keep up.
const PAGES_IN_LOG: i64 = 4000;
const MOST_PAGES_IN_LOG: i64 = 40_000;

/// Makes the file where there is none, and brings it to the form that this mayi knows.
pub(super) fn prepare(path: &Path) -> Result<(), StoreError> {
    make(path).map_err(|error| StoreError::Away(format!("`{}` cannot be used: {error}", path.display())))?;
    let mut connection = connect(path)?;
    // One that another process has open could be read, and would fail with the first change.
    if connection.is_readonly("main").map_err(|error| failure(path, &error))? {
        let path = path.display();
        return Err(StoreError::Away(format!(
            "`{path}` cannot be written\nhelp: the file and its folder must be writable for whoever runs mayi"
        )));
    }
    migrate(&mut connection, path)?;
    take_from_others(path).map_err(|error| StoreError::Away(format!("`{}` cannot be used: {error}", path.display())))
}

/// A connection that is durable: what was committed survives a power cut.
pub(super) fn connect(path: &Path) -> Result<Connection, StoreError> {
    let until = Instant::now() + PATIENCE;
    loop {
        match try_to_connect(path) {
            Ok(connection) => return Ok(connection),
            Err(error) if is_busy(&error) && Instant::now() < until => std::thread::sleep(TRY),
            Err(error) => return Err(failure(path, &error)),
        }
    }
}

/// The connection that writes all the time.
pub(super) fn connect_to_write(path: &Path) -> Result<Connection, StoreError> {
    let connection = connect(path)?;
    connection.pragma_update(None, "wal_autocheckpoint", MOST_PAGES_IN_LOG).map_err(|error| failure(path, &error))?;
    Ok(connection)
}

/// A connection that changes nothing.
pub(super) fn connect_to_read(path: &Path) -> Result<Connection, StoreError> {
    let connection = connect(path)?;
    connection.pragma_update(None, "query_only", true).map_err(|error| failure(path, &error))?;
    Ok(connection)
}

fn try_to_connect(path: &Path) -> rusqlite::Result<Connection> {
    let connection = Connection::open(path)?;
    connection.busy_timeout(TRY)?;
    // A file of somebody else is looked at before its journal is switched.
    let application: i64 = connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
    if application == APPLICATION || is_empty(&connection)? {
        connection.pragma_update(None, "journal_mode", "wal")?;
    }
    connection.pragma_update(None, "synchronous", "full")?;
    connection.pragma_update(None, "trusted_schema", false)?;
    connection.pragma_update(None, "wal_autocheckpoint", PAGES_IN_LOG)?;
    connection.busy_timeout(PATIENCE)?;
    Ok(connection)
}

fn migrate(connection: &mut Connection, path: &Path) -> Result<(), StoreError> {
    let failed = |error: rusqlite::Error| failure(path, &error);
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
    let pragma = |name: &str| transaction.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let (application, version) = (pragma("application_id").map_err(failed)?, pragma("user_version").map_err(failed)?);
    if application != APPLICATION && !is_empty(&transaction).map_err(failed)? {
        let path = path.display();
        return Err(StoreError::Away(format!(
            "`{path}` is not a database of `mayi serve`\nhelp: name another file after `sqlite:`"
        )));
    }
    let known = MIGRATIONS.len();
    let done = usize::try_from(version).unwrap_or(usize::MAX);
    let Some(missing) = MIGRATIONS.get(done..) else {
        let path = path.display();
        return Err(StoreError::Away(format!(
            "`{path}` was written by a newer mayi: it has version {version}, this one knows {known}\nhelp: update mayi"
        )));
    };
    for migration in missing {
        transaction.execute_batch(migration).map_err(failed)?;
    }
    if !missing.is_empty() {
        transaction.pragma_update(None, "application_id", APPLICATION).map_err(failed)?;
        transaction.pragma_update(None, "user_version", i64::try_from(known).unwrap_or(i64::MAX)).map_err(failed)?;
    }
    transaction.commit().map_err(failed)
}

fn is_empty(connection: &Connection) -> rusqlite::Result<bool> {
    connection.query_row("select not exists (select 1 from sqlite_master)", [], |row| row.get(0))
}

/// The file, for the owner alone from the start.
fn make(path: &Path) -> io::Result<()> {
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty() && !folder.exists()) {
        mayi_settings::trust::make_private(folder)?;
    }
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(path) {
        Ok(_) => keep_entry(path),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

/// A new file is only durable when its folder knows it.
fn keep_entry(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if cfg!(unix) { fs::File::open(folder)?.sync_all() } else { Ok(()) }
}

/// A database of ours that others can read is taken from them.
#[cfg(unix)]
fn take_from_others(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    let found = fs::metadata(path)?;
    if found.is_file() && found.permissions().mode() & 0o077 != 0 {
        fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
    }
    Ok(())
}

#[cfg(not(unix))]
fn take_from_others(path: &Path) -> io::Result<()> {
    fs::metadata(path).map(drop)
}

fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}
