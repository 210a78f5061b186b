//! What is read.

use mayi_engine::remote::wire::State;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::super::chain::{Found, Place, Walk, signed, unsigned};
use super::super::state_word;
use super::connections::Connections;
use super::{ApprovalFilter, Counted, RecordFilter, StoreError, StoredRecord, Verified, chain, failure};

/// How many records are read at once when the whole chain is.
const PAGE: i64 = 4096;

/// Conditions of a query, with their values.
#[derive(Default)]
struct Conditions {
    texts: Vec<String>,
    values: Vec<Box<dyn ToSql + Send + Sync>>,
}

impl Conditions {
    /// Adds a condition in which `?` stands for the value.
    fn add(&mut self, text: &str, value: Option<impl ToSql + Send + Sync + 'static>) {
        if let Some(value) = value {
            let place = self.value(value);
            self.texts.push(text.replace('?', &place));
        }
    }

    /// Adds a value. What stands for it: statements are kept by their text, so no value is written into one.
    fn value(&mut self, value: impl ToSql + Send + Sync + 'static) -> String {
        self.values.push(Box::new(value));
        format!("${}", self.values.len())
    }

    fn all(&self) -> String {
        if self.texts.is_empty() { "true".to_owned() } else { self.texts.join(" and ") }
    }

    fn values(&self) -> Vec<&(dyn ToSql + Sync)> {
        self.values.iter().map(|value| &**value as &(dyn ToSql + Sync)).collect()
    }
}

/// Records. Moments are narrowed down to days first, so that only their partitions are read.
pub(super) async fn records(connections: &Connections, filter: RecordFilter) -> Result<Vec<StoredRecord>, StoreError> {
    let RecordFilter { after, before, since, until, session, kind, verdict, text, newest_first, limit } = filter;
    let (since, until) = (since.map(signed), until.map(signed));
    let mut conditions = Conditions::default();
    conditions.add("number > ?", after.map(signed));
    conditions.add("number < ?", before.map(signed));
    conditions.add("day >= (select min(day) from day where newest >= ?)", since);
    conditions.add("at >= ?", since);
    conditions.add("day <= (select max(day) from day where oldest <= ?)", until);
    conditions.add("at <= ?", until);
    conditions.add("session = ?", session);
    conditions.add("kind = ?", kind);
    conditions.add("verdict = ?", verdict);
    conditions.add("strpos(text, ?) > 0", text);
    let limit = conditions.value(i64::try_from(limit).unwrap_or(i64::MAX));
    let order = if newest_first { "desc" } else { "asc" };
    let all = conditions.all();
    let query = format!("select number, at, text, link from record where {all} order by number {order} limit {limit}");
    let rows = connections.read(&query, &conditions.values()).await?;
    rows.iter().map(stored).collect()
}

fn stored(row: &Row) -> Result<StoredRecord, StoreError> {
    let number = |column: usize| row.try_get(column).map(unsigned).map_err(|error| failure(&error));
    let text = row.try_get(2).map_err(|error| failure(&error))?;
    Ok(StoredRecord { number: number(0)?, at: number(1)?, text, link: chain::link(row, 3)? })
}

/// Reads the whole chain, a page at a time. One statement sees one state of it.
pub(super) async fn verify(connections: &Connections) -> Result<Verified, StoreError> {
    let query = "select chain.number, chain.link, forgotten_number, forgotten_link,
                        page.number, page.kind, page.session, page.verdict, page.text, page.link
                 from chain left join lateral (
                     select number, kind, session, verdict, text, link from record where record.number >= $1
                     order by record.number limit $2
                 ) page on true order by page.number";
    let mut walk: Option<Walk> = None;
    loop {
        // The first page has no beginning: a record before it was put in.
        let from = walk.as_ref().map_or(i64::MIN, |walk| walk.number().saturating_add(1));
        let rows = connections.read(query, &[&from, &PAGE]).await?;
        let Some(first) = rows.first() else {
            return Err(StoreError::Damaged("the chain of the audit is missing".to_owned()));
        };
        let place = |at: usize| -> Result<Place, StoreError> {
            let number = first.try_get(at).map_err(|error| failure(&error))?;
            Ok(Place { number, link: chain::link(first, at + 1)? })
        };
        let (head, forgotten) = (place(0)?, place(2)?);
        let mut read = walk.take().unwrap_or_else(|| Walk::after(forgotten));
        read.skip_forgotten(forgotten);
        let page: Vec<Found> = rows.iter().filter_map(found).collect();
        page.iter().for_each(|found| read.take(found));
        if page.is_empty() || read.is_broken() {
            return Ok(read.end(head));
        }
        walk = Some(read);
    }
}

/// Whatever stands in a row.
fn found(row: &Row) -> Option<Found> {
    Some(Found {
        number: row.try_get(4).ok()?,
        kind: row.try_get(5).ok(),
        session: row.try_get(6).ok(),
        verdict: row.try_get(7).ok(),
        text: row.try_get(8).ok(),
        link: row.try_get(9).ok(),
    })
}

/// The texts of approvals.
pub(super) async fn approvals(connections: &Connections, filter: ApprovalFilter) -> Result<Vec<String>, StoreError> {
    let mut conditions = Conditions::default();
    conditions.add("state = ?", filter.state.map(state_word));
    conditions.add("? in (session, lead)", filter.session);
    let order = if filter.state == Some(State::Pending) { "asc" } else { "desc" };
    let limit = conditions.value(i64::try_from(filter.limit).unwrap_or(i64::MAX));
    let all = conditions.all();
    let query = format!(
        "select value from approval where {all} order by created_at {order}, id collate \"C\" {order} limit {limit}"
    );
    texts(connections, &query, &conditions.values()).await
}

/// Decisions of sessions, by verdict. One statement sees one state of the chain.
pub(super) async fn counted(connections: &Connections, sessions: &[String]) -> Result<Counted, StoreError> {
    let query = "select chain.number, told.session, told.verdict, told.times from chain left join (
                     select session, verdict, count(*) as times from record
                     where session = any($1) and kind = 'decision' and verdict is not null group by session, verdict
                 ) told on true";
    let rows = connections.read(query, &[&sessions]).await?;
    let mut counted = Counted::default();
    for row in &rows {
        let number = row.try_get(0).map_err(|error| failure(&error))?;
        counted.number = unsigned(number);
        // A chain without any such decision is one row with nothing beside it.
        if let (Ok(session), Ok(verdict), Ok(times)) = (row.try_get(1), row.try_get(2), row.try_get(3)) {
            counted.add(session, verdict, unsigned(times));
        }
    }
    Ok(counted)
}

/// The texts that a query finds.
pub(super) async fn texts(
    connections: &Connections,
    query: &str,
    values: &[&(dyn ToSql + Sync)],
) -> Result<Vec<String>, StoreError> {
    let rows = connections.read(query, values).await?;
    rows.iter().map(|row| row.try_get(0).map_err(|error| failure(&error))).collect()
}
