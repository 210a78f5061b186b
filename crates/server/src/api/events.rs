//! What happens, as it happens: server-sent events from what the store tells, on every server the same. Bounded in
//! every way: a reader that is too slow is told to look again, and one that reads no more is let go.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::mpsc::Sender;
use tokio::time::timeout;

use super::flow::flow;
use super::news::{MOST, Word, again, records_text};
use super::{May, See};
use crate::app::App;
use crate::principal::{Act, Principal};
use crate::problem::Problem;
use crate::store::{RecordFilter, StoreError};

/// How many may listen at a time to one server.
const LISTENERS: usize = 16 * 1024;
/// How often something is sent so that nobody takes the line for dead.
const ALIVE: Duration = Duration::from_secs(15);
/// How long a reader may take for one event.
const PATIENCE: Duration = Duration::from_secs(30);

/// One who listens.
struct Listener {
    app: Arc<App>,
    principal: Principal,
    sender: Sender<Bytes>,
    /// The last record that was told, where it matters: to who comes back.
    told: Option<u64>,
}

/// The reader is gone, or as good as.
struct Gone;

/// Events: `approval`, `recorded`, `session`, `policy`, and `again` when something may have been missed.
#[utoipa::path(get, path = "/v1/events", tag = "events",
    params(("last-event-id" = Option<u64>, Header, description = "the last record that was seen")),
    responses((status = 200, description = "server-sent events", body = String, content_type = "text/event-stream"), Problem))]
pub(super) async fn events(
    State(app): State<Arc<App>>,
    May(principal, _): May<See>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let Some(seat) = app.seat(LISTENERS) else { return Err(Problem::TooMany { seconds: 5 }) };
    let told = headers.get("last-event-id").and_then(|id| id.to_str().ok()?.parse().ok());
    let words = app.news.listen();
    let (sender, body) = flow();
    let mut listener = Listener { app, principal, sender, told };
    tokio::spawn(async move {
        // Why it ended does not matter: whoever still reads comes again.
        let _ = listener.run(words).await;
        drop(seat);
    });
    let headers = [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-store")];
    Ok((headers, body).into_response())
}

impl Listener {
    async fn run(&mut self, mut words: broadcast::Receiver<Word>) -> Result<(), Gone> {
        self.send(Bytes::from_static(b"retry: 2000\n\n")).await?;
        if let Some(told) = self.told {
            self.catch_up(told).await?;
        }
        let mut stopping = self.app.stopping();
        while !*stopping.borrow() {
            tokio::select! {
                word = timeout(ALIVE, words.recv()) => match word {
                    Ok(Ok(word)) => self.pass_on(word).await?,
                    Ok(Err(RecvError::Lagged(_))) => self.send(again()).await?,
                    Ok(Err(RecvError::Closed)) => return Ok(()),
                    Err(_) => self.send(Bytes::from_static(b": still here\n\n")).await?,
                },
                () = self.sender.closed() => return Err(Gone),
                _ = stopping.changed() => {}
            }
        }
        Ok(())
    }

    /// Passes a word on, as far as this listener may hear it and has not heard it.
    async fn pass_on(&mut self, word: Word) -> Result<(), Gone> {
        let (after, number, decisions, all) = match word {
            Word::All(text) => return self.send(text).await,
            Word::Records { after, number, decisions, all } => (after, number, decisions, all),
        };
        match self.told {
            Some(told) if told >= number => return Ok(()),
            Some(told) if told > after => return self.catch_up(told).await,
            Some(_) | None => self.told = self.told.map(|_| number),
        }
        match if self.principal.role.may(Act::Audit) { Some(all) } else { decisions } {
            Some(text) => self.send(text).await,
            None => Ok(()),
        }
    }

    /// Tells of the records since those that the listener knows: those of decisions, and all of them to who may read
    /// the audit.
    async fn catch_up(&mut self, after: u64) -> Result<(), Gone> {
        let kind = if self.principal.role.may(Act::Audit) { None } else { Some("decision".to_owned()) };
        let filter =
            RecordFilter { after: Some(after), kind, newest_first: true, limit: MOST, ..RecordFilter::default() };
        let found = match self.app.store.records(filter).await {
            Ok(found) => found,
            Err(StoreError::Away(_) | StoreError::Damaged(_) | StoreError::Conflict) => {
                return self.send(again()).await;
            }
        };
        let number = found.first().map_or(after, |record| record.number);
        self.told = Some(number);
        match records_text(number, found.iter()) {
            Some(text) => self.send(text).await,
            None => Ok(()),
        }
    }

    async fn send(&self, text: Bytes) -> Result<(), Gone> {
        match timeout(PATIENCE, self.sender.send(text)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) | Err(_) => Err(Gone),
        }
    }
}
