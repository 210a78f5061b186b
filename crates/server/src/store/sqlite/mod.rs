//! The store of one machine: one file, embedded. One thread writes, one tidies up after it, a few
//! connections read.
//!
//! Several processes may have the same file open, one server and any `mayi token`; only those in the process that
//! changes something are told of it.

mod read;
mod readers;
mod remembered;
mod schema;
mod tidier;
mod turn;
mod writer;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use mayi_engine::remote::wire::{Answer, Approval, Moment, State};
use rusqlite::{Connection, ErrorCode, params};
use tokio::sync::broadcast;

use super::chain::{day_of, signed};
use super::{
    ApprovalFilter, Counted, Event, Kept, NewRecord, RecordFilter, SessionState, Settled, Store, StoreError,
    StoredRecord, TokenState, Verified, from_json,
};
use readers::Readers;
use remembered::Remembered;
use writer::Writer;

/// How many events a listener may be behind.
const BEHIND: usize = 4096;

/// The store in a file.
#[derive(Debug)]
pub struct Sqlite {
    path: PathBuf,
    writer: Writer,
    readers: Readers,
    listeners: broadcast::Sender<Event>,
    /// Where this process alone serves from the file.
    serving: Option<Serving>,
}

#[derive(Debug)]
struct Serving {
    sessions: Arc<Remembered>,
    /// Held as long as the file is served from.
    _lock: File,
}

impl Sqlite {
    /// Opens the file; makes it, for the owner alone, where there is none. Waits for the disk.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        schema::prepare(path)?;
        Self::with(path, None)
    }

    /// The same, for the one process that serves from it.
    pub fn open_to_serve(path: &Path) -> Result<Self, StoreError> {
        // The folder is made by whoever prepares the file.
        schema::prepare(path)?;
        let serving = Serving { sessions: Arc::default(), _lock: remembered::lock(path)? };
        Self::with(path, Some(serving))
    }

    fn with(path: &Path, serving: Option<Serving>) -> Result<Self, StoreError> {
        let (listeners, _) = broadcast::channel(BEHIND);
        let sessions = serving.as_ref().map(|serving| Arc::clone(&serving.sessions));
        let writer = Writer::start(path, listeners.clone(), sessions)?;
        Ok(Self { path: path.to_owned(), writer, readers: Readers::open(path)?, listeners, serving })
    }

    async fn read<T: Send + 'static>(
        &self,
        look: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let path = self.path.clone();
        self.readers.read(move |connection| look(connection).map_err(|error| failure(&path, &error))).await
    }

    async fn one<T: for<'a> serde::Deserialize<'a>>(
        &self,
        what: &'static str,
        look: impl FnOnce(&Connection) -> rusqlite::Result<Vec<String>> + Send + 'static,
    ) -> Result<Option<T>, StoreError> {
        self.read(look).await?.first().map(|text| from_json(what, text)).transpose()
    }

    async fn many<T: for<'a> serde::Deserialize<'a>>(
        &self,
        what: &'static str,
        look: impl FnOnce(&Connection) -> rusqlite::Result<Vec<String>> + Send + 'static,
    ) -> Result<Vec<T>, StoreError> {
        self.read(look).await?.iter().map(|text| from_json(what, text)).collect()
    }
}

impl Store for Sqlite {
    fn append(&self, records: Vec<NewRecord>) -> Kept<'_, Vec<u64>> {
        Box::pin(self.writer.change(move |turn| turn.append(&records)))
    }

    fn records(&self, filter: RecordFilter) -> Kept<'_, Vec<StoredRecord>> {
        Box::pin(self.read(move |connection| read::records(connection, filter)))
    }

    fn verify(&self) -> Kept<'_, Verified> {
        Box::pin(async move {
            let mut walk = None;
            loop {
                let page = move |connection: &Connection| {
                    let mut walk = walk;
                    read::verify(connection, &mut walk).map(|verified| (walk, verified))
                };
                let (next, verified) = self.read(page).await?;
                match verified {
                    Some(verified) => return Ok(verified),
                    None => walk = next,
                }
            }
        })
    }

    fn shipped(&self, source: String) -> Kept<'_, u64> {
        Box::pin(self.read(move |connection| read::shipped(connection, &source)))
    }

    fn forget_before(&self, moment: Moment) -> Kept<'_, u64> {
        Box::pin(async move {
            let day = day_of(moment);
            let mut gone = 0;
            loop {
                match self.writer.change(move |turn| turn.forget(day)).await? {
                    0 => break,
                    some => gone += some,
                }
            }
            self.writer.change(move |turn| turn.sweep(moment)).await?;
            Ok(gone)
        })
    }

    fn put_approval(&self, approval: Approval, records: Vec<NewRecord>) -> Kept<'_, ()> {
        Box::pin(self.writer.change(move |turn| turn.put_approval(&approval, &records)))
    }

    fn approval(&self, id: String) -> Kept<'_, Option<Approval>> {
        let query = "select value from approval where id = ?1";
        Box::pin(self.one("an approval", move |connection| read::texts(connection, query, [id])))
    }

    fn approvals(&self, filter: ApprovalFilter) -> Kept<'_, Vec<Approval>> {
        Box::pin(self.many("an approval", move |connection| read::approvals(connection, filter)))
    }

    fn settle(
        &self,
        id: String,
        state: State,
        answer: Option<Answer>,
        records: Vec<NewRecord>,
    ) -> Kept<'_, Option<Settled>> {
        Box::pin(self.writer.change(move |turn| turn.settle(&id, (state, answer.as_ref()), &records)))
    }

    fn overdue(&self, now: Moment) -> Kept<'_, Vec<Approval>> {
        Box::pin(self.many("an approval", move |connection| read::overdue(connection, now)))
    }

    fn session(&self, id: String) -> Kept<'_, Option<SessionState>> {
        let query = "select value from session where id = ?1";
        Box::pin(async move {
            if let Some(session) = self.serving.as_ref().and_then(|serving| serving.sessions.session(&id)) {
                return Ok(Some(session));
            }
            self.one("a session", move |connection| read::texts(connection, query, [id])).await
        })
    }

    fn put_session(&self, session: SessionState, records: Vec<NewRecord>) -> Kept<'_, SessionState> {
        Box::pin(self.writer.change(move |turn| turn.put_session(&session, &records)))
    }

    fn sessions(&self, since: Moment, limit: usize) -> Kept<'_, Vec<SessionState>> {
        Box::pin(self.many("a session", move |connection| read::sessions(connection, since, limit)))
    }

    fn counted(&self, sessions: Vec<String>) -> Kept<'_, Counted> {
        Box::pin(self.read(move |connection| read::counted(connection, &sessions)))
    }

    fn put_token(&self, hash: [u8; 32], token: TokenState, records: Vec<NewRecord>) -> Kept<'_, ()> {
        Box::pin(self.writer.change(move |turn| turn.put_token(&hash, &token, &records)))
    }

    fn token(&self, hash: [u8; 32]) -> Kept<'_, Option<TokenState>> {
        let query = "select value from token where hash = ?1";
        Box::pin(self.one("a token", move |connection| read::texts(connection, query, [hash])))
    }

    fn revoke_token(&self, id: String, at: Moment, records: Vec<NewRecord>) -> Kept<'_, Option<TokenState>> {
        Box::pin(self.writer.change(move |turn| turn.revoke_token(&id, at, &records)))
    }

    fn tokens(&self) -> Kept<'_, Vec<TokenState>> {
        Box::pin(self.many("a token", |connection| read::texts(connection, "select value from token order by id", [])))
    }

    fn put_secret(&self, kind: String, hash: [u8; 32], value: String, expires_at: Moment) -> Kept<'_, ()> {
        Box::pin(self.writer.change(move |turn| turn.put_secret((&kind, &hash), &value, expires_at)))
    }

    fn secret(&self, kind: String, hash: [u8; 32], now: Moment) -> Kept<'_, Option<String>> {
        let query = "select value from secret where kind = ?1 and hash = ?2 and expires_at > ?3";
        Box::pin(async move {
            let look = move |connection: &Connection| read::texts(connection, query, params![kind, hash, signed(now)]);
            Ok(self.read(look).await?.pop())
        })
    }

    fn take_secret(&self, kind: String, hash: [u8; 32], now: Moment) -> Kept<'_, Option<String>> {
        Box::pin(self.writer.change(move |turn| turn.take_secret((&kind, &hash), now)))
    }

    fn value_or_put(&self, name: String, value: String) -> Kept<'_, String> {
        Box::pin(self.writer.change(move |turn| turn.value_or_put(&name, &value)))
    }

    fn tell(&self, event: Event) -> Kept<'_, ()> {
        Box::pin(async move {
            // Nobody may be listening.
            let _ = self.listeners.send(event);
            Ok(())
        })
    }

    fn listen(&self) -> broadcast::Receiver<Event> {
        self.listeners.subscribe()
    }

    fn ready(&self, within: Duration) -> Kept<'_, ()> {
        Box::pin(async move {
            let answer = tokio::time::timeout(within, self.writer.change(|_| Ok(()))).await;
            answer.map_err(|_| StoreError::Away(format!("it did not answer within {} ms", within.as_millis())))?
        })
    }
}

/// What a failure of the database means for whoever uses it.
fn failure(path: &Path, error: &rusqlite::Error) -> StoreError {
    let path = path.display();
    let away = |help: &str| StoreError::Away(format!("`{path}`: {error}\nhelp: {help}"));
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => away("make room on the disk; it goes on by itself"),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => away("another process holds it; see which one"),
        Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
            away("the file and its folder must be writable for whoever runs mayi")
        }
        Some(ErrorCode::SystemIoFailure | ErrorCode::OutOfMemory | ErrorCode::OperationInterrupted) => {
            away("the system refused it; see the disk")
        }
        Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => StoreError::Damaged(format!(
            "`{path}`: {error}\nhelp: take a copy of the file away, and put the last good one in its place"
        )),
        // What is left is a statement that does not fit what is there.
        _ => StoreError::Damaged(format!("`{path}`: {error}")),
    }
}
