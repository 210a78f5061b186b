//! The store of a fleet: several servers share one PostgreSQL, one chain, and what is told.
//!
//! Nothing waits for ever: connecting, statements, locks and whole transactions have their time, and a database that is
//! away is an error until it is back.

mod address;
mod appender;
mod chain;
mod change;
mod connections;
mod listener;
mod read;
mod schema;

use std::sync::Arc;
use std::time::Duration;

use mayi_engine::remote::wire::{Answer, Approval, Moment, State};
use tokio::sync::broadcast;
use tokio::task::{AbortHandle, JoinHandle};
use tokio_postgres::types::ToSql;

use super::chain::{day_of, signed, unsigned};
use super::{
    ApprovalFilter, Counted, Event, Kept, NewRecord, RecordFilter, SessionState, Settled, Store, StoreError,
    StoredRecord, TokenState, Verified, from_json,
};
use address::{Address, describe};
use appender::Appender;
use change::Turn;
use connections::Connections;
use listener::Listener;

/// How many events a listener may be behind.
const BEHIND: usize = 4096;
/// How often the partitions of the coming days are looked after.
const AHEAD: Duration = Duration::from_secs(60 * 60);

/// Why a change was not made. Whatever it was, the transaction goes.
#[derive(Debug)]
enum Failure {
    /// It cannot be made.
    Refused(StoreError),
    /// The database failed.
    Database(tokio_postgres::Error),
}

impl From<tokio_postgres::Error> for Failure {
    fn from(error: tokio_postgres::Error) -> Self {
        Failure::Database(error)
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Failure::Refused(error)
    }
}

impl From<Failure> for StoreError {
    fn from(error: Failure) -> Self {
        match error {
            Failure::Refused(error) => error,
            Failure::Database(error) => failure(&error),
        }
    }
}

/// The store in a PostgreSQL.
#[derive(Debug)]
pub struct Postgres {
    connections: Arc<Connections>,
    appender: Appender,
    listeners: broadcast::Sender<Event>,
    tasks: [AbortHandle; 2],
}

impl Drop for Postgres {
    fn drop(&mut self) {
        self.tasks.iter().for_each(AbortHandle::abort);
    }
}

impl Postgres {
    /// Connects to the database at an address, and brings its tables to the form that this mayi knows.
    pub async fn open(address: &str) -> Result<Self, StoreError> {
        let address = Address::read(address)?;
        let connections = Arc::new(Connections::open(&address).await?);
        let (listeners, _) = broadcast::channel(BEHIND);
        let listener = Listener::connect(&address, &listeners).await?;
        make_ahead(&connections).await?;
        let ahead: JoinHandle<()> = tokio::spawn(keep_ahead(Arc::clone(&connections)));
        let tasks = [tokio::spawn(listener.run()).abort_handle(), ahead.abort_handle()];
        Ok(Self { appender: Appender::start(Arc::clone(&connections)), connections, listeners, tasks })
    }

    async fn change<T>(&self, change: impl AsyncFnOnce(&Turn<'_, '_>) -> Result<T, Failure>) -> Result<T, StoreError> {
        let partitions = &self.connections.partitions;
        self.connections.change(async |transaction| change(&Turn { transaction, partitions }).await).await
    }

    async fn one<T: for<'a> serde::Deserialize<'a>>(
        &self,
        what: &str,
        query: &str,
        values: &[&(dyn ToSql + Sync)],
    ) -> Result<Option<T>, StoreError> {
        read::texts(&self.connections, query, values).await?.first().map(|text| from_json(what, text)).transpose()
    }

    async fn many<T: for<'a> serde::Deserialize<'a>>(
        &self,
        what: &str,
        query: &str,
        values: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<T>, StoreError> {
        read::texts(&self.connections, query, values).await?.iter().map(|text| from_json(what, text)).collect()
    }
}

/// Makes the partitions of today and tomorrow.
async fn make_ahead(connections: &Connections) -> Result<(), StoreError> {
    let today = day_of(chain::now());
    let make = connections.change(async |transaction| {
        chain::hold(transaction).await?;
        for day in [today, today + 1] {
            connections.partitions.ensure(transaction, day).await?;
        }
        Ok(())
    });
    make.await
}

async fn keep_ahead(connections: Arc<Connections>) {
    loop {
        tokio::time::sleep(AHEAD).await;
        // Where it fails, the first record of a day makes its partition.
        let _ = make_ahead(&connections).await;
    }
}

impl Store for Postgres {
    fn append(&self, records: Vec<NewRecord>) -> Kept<'_, Vec<u64>> {
        Box::pin(self.appender.append(records))
    }

    fn records(&self, filter: RecordFilter) -> Kept<'_, Vec<StoredRecord>> {
        Box::pin(read::records(&self.connections, filter))
    }

    fn verify(&self) -> Kept<'_, Verified> {
        Box::pin(read::verify(&self.connections))
    }

    fn shipped(&self, source: String) -> Kept<'_, u64> {
        Box::pin(async move {
            let rows = self.connections.read("select next from source where name = $1", &[&source]).await?;
            let next = rows.first().map(|row| row.try_get(0)).transpose().map_err(|error| failure(&error))?;
            Ok(unsigned(next.unwrap_or_default()))
        })
    }

    fn forget_before(&self, moment: Moment) -> Kept<'_, u64> {
        Box::pin(self.change(async move |turn| turn.forget(moment).await))
    }

    fn put_approval(&self, approval: Approval, records: Vec<NewRecord>) -> Kept<'_, ()> {
        Box::pin(self.change(async move |turn| turn.put_approval(&approval, &records).await))
    }

    fn approval(&self, id: String) -> Kept<'_, Option<Approval>> {
        Box::pin(async move { self.one("an approval", "select value from approval where id = $1", &[&id]).await })
    }

    fn approvals(&self, filter: ApprovalFilter) -> Kept<'_, Vec<Approval>> {
        Box::pin(async move {
            let texts = read::approvals(&self.connections, filter).await?;
            texts.iter().map(|text| from_json("an approval", text)).collect()
        })
    }

    fn settle(
        &self,
        id: String,
        state: State,
        answer: Option<Answer>,
        records: Vec<NewRecord>,
    ) -> Kept<'_, Option<Settled>> {
        Box::pin(self.change(async move |turn| turn.settle(&id, (state, answer), &records).await))
    }

    fn overdue(&self, now: Moment) -> Kept<'_, Vec<Approval>> {
        let query = "select value from approval where state = 'pending' and expires_at <= $1 order by expires_at";
        Box::pin(async move { self.many("an approval", query, &[&signed(now)]).await })
    }

    fn session(&self, id: String) -> Kept<'_, Option<SessionState>> {
        Box::pin(async move { self.one("a session", "select value from session where id = $1", &[&id]).await })
    }

    fn put_session(&self, session: SessionState, records: Vec<NewRecord>) -> Kept<'_, SessionState> {
        Box::pin(self.change(async move |turn| turn.put_session(&session, &records).await))
    }

    fn sessions(&self, since: Moment, limit: usize) -> Kept<'_, Vec<SessionState>> {
        let query = "select value from session where seen >= $1 order by seen desc, id collate \"C\" limit $2";
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        Box::pin(async move { self.many("a session", query, &[&signed(since), &limit]).await })
    }

    fn counted(&self, sessions: Vec<String>) -> Kept<'_, Counted> {
        Box::pin(async move { read::counted(&self.connections, &sessions).await })
    }

    fn put_token(&self, hash: [u8; 32], token: TokenState, records: Vec<NewRecord>) -> Kept<'_, ()> {
        Box::pin(self.change(async move |turn| turn.put_token(&hash, &token, &records).await))
    }

    fn token(&self, hash: [u8; 32]) -> Kept<'_, Option<TokenState>> {
        let query = "select value from token where hash = $1";
        Box::pin(async move { self.one("a token", query, &[&hash.as_slice()]).await })
    }

    fn revoke_token(&self, id: String, at: Moment, records: Vec<NewRecord>) -> Kept<'_, Option<TokenState>> {
        Box::pin(self.change(async move |turn| turn.revoke_token(&id, at, &records).await))
    }

    fn tokens(&self) -> Kept<'_, Vec<TokenState>> {
        let query = "select value from token order by id collate \"C\"";
        Box::pin(async move { self.many("a token", query, &[]).await })
    }

    fn put_secret(&self, kind: String, hash: [u8; 32], value: String, expires_at: Moment) -> Kept<'_, ()> {
        Box::pin(self.change(async move |turn| turn.put_secret((&kind, &hash), &value, expires_at).await))
    }

    fn secret(&self, kind: String, hash: [u8; 32], now: Moment) -> Kept<'_, Option<String>> {
        let query = "select value from secret where kind = $1 and hash = $2 and expires_at > $3";
        Box::pin(async move {
            let values: [&(dyn ToSql + Sync); 3] = [&kind, &hash.as_slice(), &signed(now)];
            Ok(read::texts(&self.connections, query, &values).await?.pop())
        })
    }

    fn take_secret(&self, kind: String, hash: [u8; 32], now: Moment) -> Kept<'_, Option<String>> {
        Box::pin(self.change(async move |turn| turn.take_secret((&kind, &hash), now).await))
    }

    fn value_or_put(&self, name: String, value: String) -> Kept<'_, String> {
        Box::pin(self.change(async move |turn| turn.value_or_put(&name, &value).await))
    }

    fn tell(&self, event: Event) -> Kept<'_, ()> {
        Box::pin(self.change(async move |turn| Ok(listener::notify(turn.transaction, &event).await?)))
    }

    fn listen(&self) -> broadcast::Receiver<Event> {
        self.listeners.subscribe()
    }

    fn ready(&self, within: Duration) -> Kept<'_, ()> {
        Box::pin(async move {
            // A database that takes no writes, such as a standby, is not ready.
            let look = self.change(async |turn| Ok(chain::hold(turn.transaction).await.map(drop)?));
            let answer = tokio::time::timeout(within, look).await;
            answer.map_err(|_| StoreError::Away(format!("it did not answer within {} ms", within.as_millis())))?
        })
    }
}

/// What a failure of the database means for whoever uses it. By the classes of PostgreSQL's own codes.
fn failure(error: &tokio_postgres::Error) -> StoreError {
    let said = describe(error);
    let Some(code) = error.code() else {
        return StoreError::Away(format!("{said}\nhelp: see whether the database runs; mayi goes on when it is back"));
    };
    let class = code.code().get(..2).unwrap_or_default();
    match (class, code.code()) {
        ("28" | "3D", _) => StoreError::Away(format!("{said}\nhelp: see the address, the user and the password")),
        // Connections, limits, locks that were not had in time, orders to stop, a standby, transactions that met.
        ("08" | "53" | "55" | "57" | "58" | "40", _) | (_, "25006" | "25P03") => StoreError::Away(said),
        _ => StoreError::Damaged(said),
    }
}
