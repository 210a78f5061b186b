//! The audit over HTTP: shipped by clients, queried, exported and verified by those who may read it.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use mayi_engine::remote::wire::{Moment, Received, Shipment};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::flow::flow;
use super::{Ask, Audit, May, See};
use crate::app::App;
use crate::deciding::standing::owner;
use crate::http::input::{Body, Query};
use crate::principal::{Act, Principal};
use crate::problem::Problem;
use crate::store::{NewRecord, RecordFilter, StoredRecord, Verified};

/// How many records are given at once.
const MOST: usize = 1000;
/// How many records one shipment brings.
const SHIPPED: usize = 2000;
/// The longest record of a client, in bytes.
const LONGEST: usize = 512 * 1024;
/// How many records an export fetches at a time.
const PAGE: usize = 500;
/// How long a reader of an export may take for one piece.
const PATIENCE: Duration = Duration::from_secs(60);
/// What clients may tell of.
const KINDS: [&str; 7] = ["decision", "answer", "question", "mode", "rules", "policy", "run"];

/// Which records.
#[derive(Debug, Default, Deserialize, utoipa::IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
pub(super) struct Which {
    /// Not older, in milliseconds of the Unix clock.
    since: Option<Moment>,
    /// Not newer.
    until: Option<Moment>,
    /// Only of this session.
    session: Option<String>,
    /// Only of this kind: `decision`, `answer`, `question`, `mode`, `rules`, `policy`, `token`, `sign-in`, `run`.
    kind: Option<String>,
    /// Only with this verdict.
    verdict: Option<String>,
    /// Only with this text somewhere in it.
    text: Option<String>,
    /// Only after this number.
    after: Option<u64>,
    /// Only before this number.
    before: Option<u64>,
    /// At most so many.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<usize>,
    /// `newest` first, or `oldest`.
    order: Option<Order>,
}

/// Which come first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
enum Order {
    #[default]
    Newest,
    Oldest,
}

/// Records.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct Records {
    /// Each with its `number` and its `link`.
    #[schema(value_type = Vec<Object>)]
    records: Vec<Value>,
    /// Where to go on, as `before` or, oldest first, as `after`.
    next: Option<u64>,
}

impl Which {
    /// Whether it looks for something that no store could keep.
    fn is_odd(&self) -> bool {
        let texts = [&self.session, &self.kind, &self.verdict, &self.text];
        texts.into_iter().flatten().any(|text| text.contains('\0'))
    }

    fn filter(self, limit: usize) -> RecordFilter {
        RecordFilter {
            after: self.after,
            before: self.before,
            since: self.since,
            until: self.until,
            session: self.session,
            kind: self.kind,
            verdict: self.verdict,
            text: self.text,
            newest_first: self.order.unwrap_or_default() == Order::Newest,
            limit,
        }
    }
}

/// A record as it is shown: its text, its number and its link.
pub(super) fn shown(record: &StoredRecord) -> Value {
    let mut members = match serde_json::from_str(&record.text) {
        Ok(Value::Object(members)) => members,
        // What cannot be read is shown as it is, so that nothing is hidden by being broken.
        Ok(other) => Map::from_iter([("text".to_owned(), other)]),
        Err(_) => Map::from_iter([("text".to_owned(), Value::from(record.text.as_str()))]),
    };
    members.insert("number".to_owned(), record.number.into());
    members.insert("link".to_owned(), record.link.to_string().into());
    Value::Object(members)
}

/// Records, newest first.
#[utoipa::path(get, path = "/v1/audit", tag = "audit", params(Which),
    responses((status = 200, description = "records", body = Records), Problem))]
pub(super) async fn query(
    State(app): State<Arc<App>>,
    May(principal, _): May<See>,
    Query(which): Query<Which>,
) -> Result<Json<Records>, Problem> {
    if which.kind.as_deref() != Some("decision") {
        principal.must(Act::Audit)?;
    }
    if which.is_odd() {
        return Err(Problem::Malformed("a filter holds a control character".to_owned()));
    }
    let limit = which.limit.unwrap_or(100).clamp(1, MOST);
    let found = app.store.records(which.filter(limit)).await?;
    let next = found.last().filter(|_| found.len() == limit).map(|record| record.number);
    Ok(Json(Records { records: found.iter().map(shown).collect(), next }))
}

/// Every record, oldest first, one a line, each with its link.
#[utoipa::path(get, path = "/v1/audit/export", tag = "audit", params(Which),
    responses((status = 200, description = "JSON lines", body = String, content_type = "application/x-ndjson"), Problem))]
pub(super) async fn export(
    State(app): State<Arc<App>>,
    _may: May<Audit>,
    Query(which): Query<Which>,
) -> Result<Response, Problem> {
    if which.is_odd() {
        return Err(Problem::Malformed("a filter holds a control character".to_owned()));
    }
    let most = which.limit.unwrap_or(usize::MAX).max(1);
    let mut filter = Which { order: Some(Order::Oldest), ..which }.filter(PAGE.min(most));
    // The first page is fetched before anything is promised: a store that is away is an error, not an empty export.
    let mut found = app.store.records(filter.clone()).await?;
    let (sender, body) = flow();
    tokio::spawn(async move {
        let mut left = most;
        loop {
            left = left.saturating_sub(found.len());
            let piece: String = found.iter().map(line).collect();
            let sent = tokio::time::timeout(PATIENCE, sender.send(Bytes::from(piece))).await;
            let Some(last) = found.last().map(|record| record.number) else { return };
            if found.len() < filter.limit || left == 0 || !matches!(sent, Ok(Ok(()))) || *app.stopping().borrow() {
                return;
            }
            filter.after = Some(last);
            filter.limit = PAGE.min(left);
            found = match app.store.records(filter.clone()).await {
                Ok(found) => found,
                Err(_) => {
                    // Whoever reads must be able to tell an end from a break.
                    let broken = "{\"error\":\"the store cannot be reached; the export is not whole\"}\n";
                    let _ = sender.send(Bytes::from_static(broken.as_bytes())).await;
                    return;
                }
            };
        }
    });
    Ok(([(header::CONTENT_TYPE, "application/x-ndjson")], body).into_response())
}

/// A line of the export: the record's text to the letter, with the link as its last member.
fn line(record: &StoredRecord) -> String {
    match record.text.strip_suffix('}') {
        Some("{") => format!("{{\"link\":\"{}\"}}\n", record.link),
        Some(text) => format!("{text},\"link\":\"{}\"}}\n", record.link),
        None => format!("{}\n", record.text),
    }
}

/// Reads the whole chain and says whether it holds.
#[utoipa::path(post, path = "/v1/audit/verify", tag = "audit",
    responses((status = 200, description = "what was found", body = Verified), Problem))]
pub(super) async fn verify(State(app): State<Arc<App>>, _may: May<Audit>) -> Result<Json<Verified>, Problem> {
    Ok(Json(app.store.verify().await?))
}

/// Takes a client's records. Sending the same again changes nothing.
#[utoipa::path(post, path = "/v1/audit", tag = "audit", request_body = Shipment,
    responses((status = 200, description = "how far the server has them", body = Received), Problem))]
pub(super) async fn ship(
    State(app): State<Arc<App>>,
    May(principal, _): May<Ask>,
    Body(shipment): Body<Shipment>,
) -> Result<Json<Received>, Problem> {
    let Shipment { source, first, records } = shipment;
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    if source.is_empty() || source.len() > 128 || !source.chars().all(plain) {
        return Err(Problem::Unfit("a source is named by letters, digits and `-_.`, 128 at most".to_owned()));
    }
    if records.len() > SHIPPED {
        return Err(Problem::Unfit(format!("a shipment brings {SHIPPED} records at most")));
    }
    let holder = app.store.value_or_put(format!("source:{source}"), owner(&principal)).await?;
    if holder != owner(&principal) {
        return Err(Problem::Refused(format!("the records of `{source}` belong to another token")));
    }
    let wanted = app.store.shipped(source.clone()).await?;
    // A client counts from where it likes, and without gaps from there.
    if wanted > 0 && first > wanted {
        return Err(Problem::Conflict(format!("records are missing: the next one wanted is {wanted}")));
    }
    let known = usize::try_from(wanted.saturating_sub(first)).unwrap_or(usize::MAX);
    let mut new = Vec::new();
    for (number, record) in (first..).zip(records).skip(known) {
        new.push(received(record, (&source, number), &principal)?);
    }
    if !new.is_empty() {
        app.store.append(new).await?;
    }
    Ok(Json(Received { next: app.store.shipped(source).await?.max(first) }))
}

/// A client's record as it is kept: without its own link, and with the name of whoever sent it, so that nobody takes it
/// for the server's word.
fn received(record: Value, (source, number): (&str, u64), principal: &Principal) -> Result<NewRecord, Problem> {
    let unfit = |words: &str| Problem::Unfit(format!("record {number}: {words}"));
    let Value::Object(mut members) = record else { return Err(unfit("not an object")) };
    members.remove("link");
    let kind = members.get("kind").and_then(Value::as_str);
    if !kind.is_some_and(|kind| KINDS.contains(&kind)) {
        return Err(unfit("an unknown kind"));
    }
    if members.get("at").and_then(Value::as_u64).is_none() {
        return Err(unfit("no time"));
    }
    members.insert("source".to_owned(), source.into());
    members.insert("token".to_owned(), principal.name.as_str().into());
    let mut text = Value::Object(members).to_string();
    if text.len() > LONGEST {
        return Err(unfit("too long"));
    }
    mayi_settings::secret::redact(&mut text);
    let record = NewRecord::of(text).map_err(|_| unfit("cannot be read"))?;
    if [&record.session, &record.verdict].into_iter().flatten().any(|text| text.contains('\0')) {
        return Err(unfit("a name holds a control character"));
    }
    Ok(NewRecord { shipped: Some((source.to_owned(), number)), ..record })
}
