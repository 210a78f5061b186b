//! What happens, put into words once for everybody who listens, however many they are. The store is asked once for each
//! event, not once for each listener.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use serde_json::{Value, json};
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::{MissedTickBehavior, interval};

use super::audit::shown;
use crate::app::App;
use crate::store::{Event, RecordFilter, StoreError, StoredRecord};

/// How often records are told at most: many come at once.
const RECORDS: Duration = Duration::from_millis(250);
/// How many records are told at once; who wants more asks for them.
pub(super) const MOST: usize = 100;
/// How many words a listener may be behind.
const BEHIND: usize = 1024;

/// Something that listeners are told.
#[derive(Clone, Debug)]
pub(super) enum Word {
    /// For everybody.
    All(Bytes),
    /// Records of a stretch of the chain: those of decisions, and all of them for who may read the audit.
    Records { after: u64, number: u64, decisions: Option<Bytes>, all: Bytes },
}

/// Where words go.
#[derive(Debug)]
pub struct News(broadcast::Sender<Word>);

impl Default for News {
    fn default() -> Self {
        Self(broadcast::channel(BEHIND).0)
    }
}

impl News {
    /// Begins to listen.
    pub(super) fn listen(&self) -> broadcast::Receiver<Word> {
        self.0.subscribe()
    }

    fn tell(&self, word: Word) {
        // Nobody may be listening.
        let _ = self.0.send(word);
    }

    fn is_heard(&self) -> bool {
        self.0.receiver_count() > 0
    }
}

/// Tells the news until it is time to stop.
pub(crate) async fn run(app: Arc<App>) {
    app.herald.listen(&*app.store, app.stopping());
    let (mut events, mut stopping) = (app.herald.events(), app.stopping());
    let mut records = interval(RECORDS);
    records.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut told = None;
    while !*stopping.borrow() {
        tokio::select! {
            event = events.recv() => match event {
                Ok(event) => if app.news.is_heard() { tell(&app, event).await },
                Err(RecvError::Lagged(_)) => app.news.tell(Word::All(again())),
                Err(RecvError::Closed) => return,
            },
            _ = records.tick() => told = tell_records(&app, told).await,
            _ = stopping.changed() => {}
        }
    }
}

/// Tells of an event, with the thing itself.
async fn tell(app: &App, event: Event) {
    let mut data = serde_json::to_value(&event).unwrap_or_default();
    let name = match &event {
        Event::Approval { id, state } => {
            let approval = app.store.approval(id.clone()).await;
            // A later event tells how it stands then; this one must not be taken for it.
            let approval = approval.ok().flatten().filter(|found| found.state == *state);
            add(&mut data, "approval", serde_json::to_value(approval).unwrap_or_default());
            "approval"
        }
        Event::Session { .. } => "session",
        Event::Policy { .. } => "policy",
        Event::Recorded { .. } => "recorded",
        Event::Missed => return app.news.tell(Word::All(again())),
    };
    app.news.tell(Word::All(event_text(name, None, &data)));
}

/// Tells of the records since the last ones. How far they are told then.
async fn tell_records(app: &App, told: Option<u64>) -> Option<u64> {
    let there = app.herald.recorded();
    if there == 0 || told.is_some_and(|told| told >= there) {
        return told;
    }
    if !app.news.is_heard() {
        return Some(there);
    }
    let after = told.unwrap_or(there - 1);
    let filter = RecordFilter { after: Some(after), newest_first: true, limit: MOST, ..RecordFilter::default() };
    match app.store.records(filter).await {
        Ok(found) => {
            let number = found.first().map_or(there, |record| record.number.max(there));
            let decisions = records_text(number, found.iter().filter(|record| is_decision(record)));
            if let Some(all) = records_text(number, found.iter()) {
                app.news.tell(Word::Records { after, number, decisions, all });
            }
            Some(number)
        }
        Err(StoreError::Away(_) | StoreError::Damaged(_) | StoreError::Conflict) => {
            app.news.tell(Word::All(again()));
            Some(there)
        }
    }
}

fn is_decision(record: &StoredRecord) -> bool {
    #[derive(serde::Deserialize)]
    struct Kind<'a> {
        #[serde(borrow)]
        kind: std::borrow::Cow<'a, str>,
    }
    serde_json::from_str::<Kind<'_>>(&record.text).is_ok_and(|record| record.kind == "decision")
}

/// Records, newest first as they were found, in the words of an event.
pub(super) fn records_text<'r>(number: u64, found: impl DoubleEndedIterator<Item = &'r StoredRecord>) -> Option<Bytes> {
    let records: Vec<Value> = found.rev().map(shown).collect();
    let data = json!({"event": "recorded", "number": number, "records": records});
    (!records.is_empty()).then(|| event_text("recorded", Some(number), &data))
}

/// What somebody is told who may have missed something.
pub(super) fn again() -> Bytes {
    event_text("again", None, &json!({"event": "again"}))
}

fn event_text(name: &str, id: Option<u64>, data: &Value) -> Bytes {
    let id = id.map(|id| format!("id: {id}\n")).unwrap_or_default();
    // JSON on one line holds no line break that could end an event.
    Bytes::from(format!("event: {name}\n{id}data: {data}\n\n"))
}

fn add(data: &mut Value, name: &str, value: Value) {
    if let Value::Object(members) = data {
        members.insert(name.to_owned(), value);
    }
}
