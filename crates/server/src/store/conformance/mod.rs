//! What every store must do, as trials that run on any of them. Not for use by programs.
//!
//! A trial gets a ground with an empty store. It may open it again, and change what is in its tables behind its back.

mod approvals;
mod audit;
mod races;
mod state;
mod tampering;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use mayi_engine::remote::wire::{Answer, Approval, Moment, Question, Remember, State};
use tokio::sync::broadcast;

use super::{Event, Kept, NewRecord, RecordFilter, Store, StoreError};

/// Where a trial is made.
pub trait Ground: std::fmt::Debug + Send + Sync {
    /// Opens the store; every time the same one.
    fn open(&self) -> Kept<'_, Arc<dyn Store>>;
    /// Runs a statement on its tables, as an intruder would.
    fn tamper(&self, statement: &str) -> Result<(), Failed>;
}

/// Why a trial failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Failed(pub String);

impl From<StoreError> for Failed {
    fn from(error: StoreError) -> Self {
        Failed(error.to_string())
    }
}

/// What a trial comes to.
pub type Outcome<'a> = Pin<Box<dyn Future<Output = Result<(), Failed>> + Send + 'a>>;
/// A trial.
pub type Trial = for<'a> fn(&'a dyn Ground) -> Outcome<'a>;

/// Every trial, by what it shows.
pub const TRIALS: &[(&str, Trial)] = &[
    ("records get numbers without gaps and are found again", |ground| Box::pin(audit::numbers(ground))),
    ("a chain goes on after the store was opened again", |ground| Box::pin(audit::reopened(ground))),
    ("every filter leaves out what it should and nothing else", |ground| Box::pin(audit::filters(ground))),
    ("what is shipped twice is kept once", |ground| Box::pin(audit::shipped_twice(ground))),
    ("whole days are forgotten from the front and the rest verifies", |ground| Box::pin(audit::forgets_days(ground))),
    ("everything can be forgotten and the chain goes on", |ground| Box::pin(audit::forgets_all(ground))),
    ("a wrong clock neither blocks forgetting nor hides a record", |ground| Box::pin(audit::wrong_clocks(ground))),
    ("strange texts come back as they were", |ground| Box::pin(audit::strange_texts(ground))),
    ("whatever is changed in the audit is found", |ground| Box::pin(tampering::is_found(ground))),
    ("a question is kept, found and settled", |ground| Box::pin(approvals::life(ground))),
    ("questions are listed in their order", |ground| Box::pin(approvals::lists(ground))),
    ("questions whose time is over are found", |ground| Box::pin(approvals::overdue(ground))),
    ("settled questions are forgotten with their time", |ground| Box::pin(approvals::forgotten(ground))),
    ("a session changes only on the version that was read", |ground| Box::pin(state::sessions(ground))),
    ("decisions of sessions are counted by verdict", |ground| Box::pin(state::counts(ground))),
    ("tokens are found by their hash and can be revoked", |ground| Box::pin(state::tokens(ground))),
    ("a secret lasts until its time and is taken once", |ground| Box::pin(state::secrets(ground))),
    ("the first value put stays", |ground| Box::pin(state::values(ground))),
    ("listeners are told of what is durable", |ground| Box::pin(state::events(ground))),
    ("the store says that it is ready", |ground| Box::pin(state::ready(ground))),
    ("of fifty answers to one question one is heard", |ground| Box::pin(races::settle(ground))),
    ("of fifty who take a secret one has it", |ground| Box::pin(races::secret(ground))),
    ("of fifty changes of one session one is made", |ground| Box::pin(races::session(ground))),
    ("of fifty first values one stays", |ground| Box::pin(races::value(ground))),
    ("records of many tasks and two stores make one chain", |ground| Box::pin(races::append(ground))),
    ("what is shipped from two sides at once is kept once", |ground| Box::pin(races::ship(ground))),
];

/// A day in milliseconds.
const DAY: Moment = 24 * 60 * 60 * 1000;
/// When the trials take place. Long ago, so that no clock is behind it.
const THEN: Moment = 20_000 * DAY + 1000;

/// Whether something is as it should be.
fn same<T: PartialEq + std::fmt::Debug>(what: &str, found: T, expected: T) -> Result<(), Failed> {
    if found == expected { Ok(()) } else { Err(Failed(format!("{what}: found {found:?}, expected {expected:?}"))) }
}

/// A record that says what it is.
fn record(at: Moment, kind: &str, session: &str, verdict: &str) -> NewRecord {
    let text = serde_json::json!({ "v": 1, "at": at, "kind": kind, "session": session, "verdict": verdict });
    // It is an object with the members that are looked for.
    NewRecord::of(text.to_string()).unwrap_or_else(|_| NewRecord {
        at,
        kind: kind.to_owned(),
        session: None,
        verdict: None,
        step: None,
        text: String::new(),
        shipped: None,
    })
}

/// A decision of a session.
fn decision(at: Moment, session: &str) -> NewRecord {
    record(at, "decision", session, "allow")
}

fn everything() -> RecordFilter {
    RecordFilter { limit: 100_000, ..RecordFilter::default() }
}

/// How many records are kept.
async fn count(store: &dyn Store) -> Result<usize, Failed> {
    Ok(store.records(everything()).await?.len())
}

/// The chain with so many records.
async fn verifies(store: &dyn Store, records: u64) -> Result<(), Failed> {
    let verified = store.verify().await?;
    same("what is broken", verified.broken, None)?;
    same("how many were read", verified.records, records)
}

fn approval(id: &str, session: &str, created_at: Moment) -> Approval {
    let question = Question { session: session.to_owned(), tool: "Bash".to_owned(), ..Question::default() };
    let (state, expires_at) = (State::Pending, created_at + 1000);
    Approval { id: id.to_owned(), created_at, expires_at, state, question, answer: None }
}

fn answer(by: &str) -> Answer {
    Answer {
        verdict: mayi_core::verdict::Verdict::Allow,
        by: by.to_owned(),
        at: THEN,
        comment: None,
        remember: Remember::Once,
        rule: None,
        layer: None,
    }
}

/// Waits for an event, past others.
async fn told(listener: &mut broadcast::Receiver<Event>, wanted: &Event) -> Result<(), Failed> {
    let wait = async {
        loop {
            match listener.recv().await {
                Ok(event) if event == *wanted => return Ok(()),
                Ok(_) => {}
                Err(error) => return Err(Failed(format!("listening ended: {error}"))),
            }
        }
    };
    let late = |_| Failed(format!("nobody told of {wanted:?}"));
    tokio::time::timeout(Duration::from_secs(30), wait).await.map_err(late)?
}
