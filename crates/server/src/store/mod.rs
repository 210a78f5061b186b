//! What the server keeps: audit, approvals, sessions, tokens, sign-ins. One trait, kept by SQLite for one machine and by
//! PostgreSQL for several.
//!
//! Whatever changes something takes the audit records of the change with it and writes both in one transaction; it
//! returns when they are durable. Nothing here waits for ever: a store that is away is an error.

mod chain;
#[doc(hidden)]
pub mod conformance;
pub mod postgres;
pub mod sqlite;

use std::borrow::Cow;
use std::collections::HashMap;
use std::future::Future;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use mayi_core::lineage::Inheritance;
use mayi_core::step::Step;
use mayi_engine::audit::chain::Link;
use mayi_engine::remote::wire::{Answer, Approval, Moment, State};
use mayi_engine::store::Record as SessionRecord;
use serde::{Deserialize, Serialize};
use tokio::sync::broadcast;

use crate::principal::Role;
use sqlite::Sqlite;

/// A result that the store brings in time.
pub type Kept<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

/// Why something cannot be kept or found.
#[derive(Clone, Debug, thiserror::Error)]
pub enum StoreError {
    /// It is away, or too slow.
    #[error("the store cannot be reached: {0}")]
    Away(String),
    /// It holds something that it should not.
    #[error("the store is damaged: {0}")]
    Damaged(String),
    /// Somebody else changed the same thing meanwhile.
    #[error("it was changed by somebody else meanwhile")]
    Conflict,
}

/// An audit record before it has its place in the chain: one JSON object, secrets hidden, without its link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewRecord {
    /// When it happened.
    pub at: Moment,
    /// What it tells of: `decision`, `answer`, `question`, `mode`, `rules`, `policy`, `token`, `sign-in`, `run`.
    pub kind: String,
    /// The session, where there is one.
    pub session: Option<String>,
    /// The verdict, where there is one.
    pub verdict: Option<String>,
    /// The step that settled it, where it is a decision of this server. Nothing is listed by it.
    pub step: Option<Step>,
    /// The whole of it.
    pub text: String,
    /// A client's own number for it, so that sending it again changes nothing: whose, and which.
    pub shipped: Option<(String, u64)>,
}

impl NewRecord {
    /// The record that this text is: what lists are filtered by is taken from its members `at`, `kind`, `session` and
    /// `verdict`, so that both always agree. [`Store::verify`] finds a record where they do not.
    pub fn of(text: String) -> Result<Self, StoreError> {
        let members: Members<'_> = serde_json::from_str(&text)
            .map_err(|error| StoreError::Damaged(format!("an audit record cannot be read: {error}")))?;
        let Members { at, kind, session, verdict } = members;
        let owned = |word: Option<Cow<'_, str>>| word.filter(|word| !word.is_empty()).map(Cow::into_owned);
        let (kind, session, verdict) = (owned(kind).unwrap_or_default(), owned(session), owned(verdict));
        Ok(Self { at: at.unwrap_or_default(), kind, session, verdict, step: None, text, shipped: None })
    }
}

/// What a record's text says that lists are filtered by.
#[derive(Deserialize)]
struct Members<'a> {
    #[serde(default)]
    at: Option<Moment>,
    #[serde(default, borrow)]
    kind: Option<Cow<'a, str>>,
    #[serde(default, borrow)]
    session: Option<Cow<'a, str>>,
    #[serde(default, borrow)]
    verdict: Option<Cow<'a, str>>,
}

/// An audit record in its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredRecord {
    /// Its number, from 1, without gaps within a chain.
    pub number: u64,
    /// When it happened.
    pub at: Moment,
    /// Its text.
    pub text: String,
    /// Its link.
    pub link: Link,
}

/// Which audit records.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordFilter {
    /// Only after this number.
    pub after: Option<u64>,
    /// Only before this number.
    pub before: Option<u64>,
    /// Not older.
    pub since: Option<Moment>,
    /// Not newer.
    pub until: Option<Moment>,
    /// Only of this session.
    pub session: Option<String>,
    /// Only of this kind.
    pub kind: Option<String>,
    /// Only with this verdict.
    pub verdict: Option<String>,
    /// Only with this text somewhere in it.
    pub text: Option<String>,
    /// Newest first.
    pub newest_first: bool,
    /// At most so many.
    pub limit: usize,
}

/// What reading the whole chain found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Verified {
    /// How many records were read.
    pub records: u64,
    /// The number of the first record that is not what was written, with the reason.
    #[schema(value_type = Option<Vec<serde_json::Value>>)]
    pub broken: Option<(u64, String)>,
    /// The first number that is still kept.
    pub first: Option<u64>,
    /// The last link, in hexadecimal digits, to be kept elsewhere.
    pub head: String,
}

/// How often something was decided, by verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct Counts {
    /// It was allowed.
    pub allow: u64,
    /// A person was asked.
    pub ask: u64,
    /// It was denied.
    pub deny: u64,
}

/// Decisions of sessions, as far as their records are kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// The last record of the chain when they were counted.
    pub number: u64,
    /// Each session that has any.
    pub sessions: HashMap<String, Counts>,
}

impl Counted {
    /// Takes in how often a verdict, by its word, was given in a session.
    fn add(&mut self, session: String, verdict: &str, times: u64) {
        let counts = self.sessions.entry(session).or_default();
        match verdict {
            "allow" => counts.allow += times,
            "ask" => counts.ask += times,
            "deny" => counts.deny += times,
            // Only those three are written; whatever else stands there is found by verifying.
            _ => {}
        }
    }
}

/// What happened to an answer that was brought.
#[derive(Clone, Debug, PartialEq)]
pub enum Settled {
    /// It is the answer.
    Now(Approval),
    /// There was one before: this is how it stands.
    Before(Approval),
}

/// A session as the server keeps it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SessionState {
    /// Its name.
    pub id: String,
    /// The agent program.
    pub agent: String,
    /// The machine.
    pub host: Option<String>,
    /// Where it works.
    pub directory: String,
    /// The session that started it.
    pub lead: Option<String>,
    /// What becomes of its asks.
    pub inheritance: Inheritance,
    /// Mode, rules, counters.
    pub record: SessionRecord,
    /// Since when it is known.
    pub began: Moment,
    /// When it last asked.
    pub seen: Moment,
    /// When it ended.
    pub ended: Option<Moment>,
    /// The token that it belongs to, by id.
    pub owner: String,
    /// Counts changes; a change made on an older count is refused.
    pub version: u64,
}

/// A token, without the token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct TokenState {
    /// Its name in lists and records.
    pub id: String,
    /// What a person called it.
    pub name: String,
    /// What it is for.
    pub role: Role,
    /// When it was made.
    pub created_at: Moment,
    /// When it stops working.
    pub expires_at: Option<Moment>,
    /// When it was revoked.
    pub revoked_at: Option<Moment>,
}

/// A person's sign-in in a browser.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignIn {
    /// Who.
    pub person: String,
    /// What they may do.
    pub role: Role,
    /// The word that protects their requests from other pages.
    pub csrf: String,
    /// When it ends.
    pub expires_at: Moment,
}

/// What is told to everybody who listens, on every server of the fleet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "event")]
pub enum Event {
    /// A question was put or changed its state.
    Approval {
        /// Its name.
        id: String,
        /// How it stands.
        state: State,
    },
    /// Records were added, up to this number.
    Recorded {
        /// The last number.
        number: u64,
    },
    /// A session changed.
    Session {
        /// Its name.
        id: String,
    },
    /// The policy changed.
    Policy {
        /// Its version.
        version: String,
    },
    /// Something may have happened that nobody was told of, because the way to the store was broken for a while: whoever
    /// waits for something must look again. Only the store says this.
    Missed,
}

/// Which approvals.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ApprovalFilter {
    /// Only in this state.
    pub state: Option<State>,
    /// Only of this session, or bubbling up to it.
    pub session: Option<String>,
    /// At most so many, oldest first for pending ones, newest first otherwise.
    pub limit: usize,
}

/// What the server keeps. Whoever listens is told by the store itself of new records, of approvals put and settled, and of
/// sessions that changed, once it is durable.
pub trait Store: std::fmt::Debug + Send + Sync + 'static {
    /// Appends records to the chain, durable when this returns. The number of each; of one that was shipped before, its
    /// old number.
    fn append(&self, records: Vec<NewRecord>) -> Kept<'_, Vec<u64>>;
    /// Records.
    fn records(&self, filter: RecordFilter) -> Kept<'_, Vec<StoredRecord>>;
    /// Reads the whole chain and says whether it holds.
    fn verify(&self) -> Kept<'_, Verified>;
    /// How far a client's shipped records have come: the next number wanted, which is one more than the highest; 0 of a
    /// client that never shipped any.
    fn shipped(&self, source: String) -> Kept<'_, u64>;
    /// Forgets records older than this, whole days at a time from the front, and settled approvals and values whose time
    /// was over before it. How many records went. The chain still verifies: it begins with the link of the last one gone.
    fn forget_before(&self, moment: Moment) -> Kept<'_, u64>;

    /// Keeps a question. One with the same name is a conflict.
    fn put_approval(&self, approval: Approval, records: Vec<NewRecord>) -> Kept<'_, ()>;
    /// A question.
    fn approval(&self, id: String) -> Kept<'_, Option<Approval>>;
    /// Questions.
    fn approvals(&self, filter: ApprovalFilter) -> Kept<'_, Vec<Approval>>;
    /// Settles a question that still waits; the first who comes is heard, and `records` are written for them alone.
    #[expect(clippy::too_many_arguments, reason = "what a settled question is made of")]
    fn settle(
        &self,
        id: String,
        state: State,
        answer: Option<Answer>,
        records: Vec<NewRecord>,
    ) -> Kept<'_, Option<Settled>>;
    /// Questions whose time is over and that still wait.
    fn overdue(&self, now: Moment) -> Kept<'_, Vec<Approval>>;

    /// A session.
    fn session(&self, id: String) -> Kept<'_, Option<SessionState>>;
    /// Keeps a session if it still has the version it was read with (0: it was not there); it gets the next one.
    fn put_session(&self, session: SessionState, records: Vec<NewRecord>) -> Kept<'_, SessionState>;
    /// Sessions seen since, newest first.
    fn sessions(&self, since: Moment, limit: usize) -> Kept<'_, Vec<SessionState>>;
    /// What was decided in these sessions, all at one moment of the chain.
    fn counted(&self, sessions: Vec<String>) -> Kept<'_, Counted>;

    /// Keeps a token by the hash of it.
    fn put_token(&self, hash: [u8; 32], token: TokenState, records: Vec<NewRecord>) -> Kept<'_, ()>;
    /// The token with this hash.
    fn token(&self, hash: [u8; 32]) -> Kept<'_, Option<TokenState>>;
    /// Marks a token as revoked, by its id; `None` when there is none. One that was revoked before stays as it is, and
    /// `records` are then not written.
    fn revoke_token(&self, id: String, at: Moment, records: Vec<NewRecord>) -> Kept<'_, Option<TokenState>>;
    /// Every token.
    fn tokens(&self) -> Kept<'_, Vec<TokenState>>;

    /// Keeps a value that works once or for a while, by the hash of its secret: sign-in links, cookies, OIDC states.
    #[expect(clippy::too_many_arguments, reason = "what a secret is found by, what it is and how long it lasts")]
    fn put_secret(&self, kind: String, hash: [u8; 32], value: String, expires_at: Moment) -> Kept<'_, ()>;
    /// The value, if its time is not over.
    fn secret(&self, kind: String, hash: [u8; 32], now: Moment) -> Kept<'_, Option<String>>;
    /// The value, once: whoever takes it first has it.
    fn take_secret(&self, kind: String, hash: [u8; 32], now: Moment) -> Kept<'_, Option<String>>;

    /// A named value of the fleet, such as the key that signs bundles; the first one put stays.
    fn value_or_put(&self, name: String, value: String) -> Kept<'_, String>;

    /// Tells everybody who listens, on every server, what the store cannot know by itself: that the policy changed.
    fn tell(&self, event: Event) -> Kept<'_, ()>;
    /// Listens. A listener that is too slow misses events and is told so.
    fn listen(&self) -> broadcast::Receiver<Event>;
    /// Whether the store answers, within a time.
    fn ready(&self, within: Duration) -> Kept<'_, ()>;
}

/// Opens the store that this names: `sqlite:PATH` or `postgres://…`. A server may be using it. Must be called within a
/// runtime.
pub async fn open(text: &str) -> Result<Arc<dyn Store>, StoreError> {
    opened(text, Sqlite::open).await
}

/// The same for a server: a file has one at a time.
pub async fn open_to_serve(text: &str) -> Result<Arc<dyn Store>, StoreError> {
    opened(text, Sqlite::open_to_serve).await
}

async fn opened(text: &str, sqlite: fn(&Path) -> Result<Sqlite, StoreError>) -> Result<Arc<dyn Store>, StoreError> {
    match text.split_once(':') {
        Some(("sqlite", path)) if !path.is_empty() => {
            let path = Path::new(path).to_owned();
            let opened = tokio::task::spawn_blocking(move || sqlite(&path)).await;
            Ok(Arc::new(opened.map_err(|error| StoreError::Away(error.to_string()))??))
        }
        Some(("postgres" | "postgresql", _)) => Ok(Arc::new(postgres::Postgres::open(text).await?)),
        // Whatever else it is may hold a password, so it is not repeated.
        Some(_) | None => Err(StoreError::Away(
            "what was named is no store\nhelp: name `sqlite:PATH` or `postgres://USER:PASSWORD@HOST/DATABASE`"
                .to_owned(),
        )),
    }
}

/// A value as it is kept.
fn to_json(value: &impl Serialize) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|error| StoreError::Damaged(format!("something cannot be written: {error}")))
}

/// A value as it was kept.
fn from_json<T: for<'a> Deserialize<'a>>(what: &str, text: &str) -> Result<T, StoreError> {
    serde_json::from_str(text).map_err(|error| StoreError::Damaged(format!("{what} cannot be read: {error}")))
}

/// The word that a state is kept as.
fn state_word(state: State) -> &'static str {
    match state {
        State::Pending => "pending",
        State::Answered => "answered",
        State::Expired => "expired",
        State::Withdrawn => "withdrawn",
    }
}
