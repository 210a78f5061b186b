//! What is read, on a connection that changes nothing.

use mayi_engine::audit::chain::Link;
use mayi_engine::remote::wire::{Moment, State};
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension as _, Row, params, params_from_iter};

use super::super::chain::{Found, Place, Walk, signed, unsigned};
use super::super::{ApprovalFilter, Counted, RecordFilter, StoredRecord, Verified, state_word};

/// How many records are read at once when the whole chain is: reading holds up the tidying of the log meanwhile.
const PAGE: i64 = 4096;

/// Conditions of a query, with their values.
#[derive(Default)]
struct Conditions {
    texts: Vec<&'static str>,
    values: Vec<Value>,
}

impl Conditions {
    fn add(&mut self, text: &'static str, value: Option<impl Into<Value>>) {
        if let Some(value) = value {
            self.texts.push(text);
            self.values.push(value.into());
        }
    }

    fn all(&self) -> String {
        if self.texts.is_empty() { "true".to_owned() } else { self.texts.join(" and ") }
    }
}

/// Records. Moments are narrowed down to numbers first: there is no index over moments to be kept up by every record.
pub(super) fn records(connection: &Connection, filter: RecordFilter) -> rusqlite::Result<Vec<StoredRecord>> {
    let RecordFilter { after, before, since, until, session, kind, verdict, text, newest_first, limit } = filter;
    let (since, until) = (since.map(signed), until.map(signed));
    let mut conditions = Conditions::default();
    conditions.add("number > ?", after.map(signed));
    conditions.add("number < ?", before.map(signed));
    conditions.add("number >= coalesce((select min(first) from day where newest >= ?), 9223372036854775807)", since);
    conditions.add("at >= ?", since);
    conditions.add(
        "number < coalesce((select min(first) from day where day > (select max(day) from day where oldest <= ?)),
                           9223372036854775807)",
        until,
    );
    conditions.add("at <= ?", until);
    conditions.add("session = ?", session);
    conditions.add("kind = ?", kind);
    conditions.add("verdict = ?", verdict);
    conditions.add("instr(text, ?) > 0", text);
    let order = if newest_first { "desc" } else { "asc" };
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let all = conditions.all();
    let query = format!("select number, at, text, link from record where {all} order by number {order} limit {limit}");
    connection.prepare(&query)?.query_map(params_from_iter(conditions.values), stored)?.collect()
}

fn stored(row: &Row<'_>) -> rusqlite::Result<StoredRecord> {
    let (number, at) = (unsigned(row.get(0)?), unsigned(row.get(1)?));
    Ok(StoredRecord { number, at, text: row.get(2)?, link: Link::of_bytes(row.get(3)?) })
}

/// Reads the whole chain, a page at a time.
pub(super) fn verify(connection: &Connection, walk: &mut Option<Walk>) -> rusqlite::Result<Option<Verified>> {
    let transaction = connection.unchecked_transaction()?;
    let query = "select number, link, forgotten_number, forgotten_link from chain";
    let place = |row: &Row<'_>, at: usize| -> rusqlite::Result<Place> {
        Ok(Place { number: row.get(at)?, link: Link::of_bytes(row.get(at + 1)?) })
    };
    let (head, forgotten) = transaction.query_row(query, [], |row| Ok((place(row, 0)?, place(row, 2)?)))?;
    // The first page has no beginning: a record before it was put in.
    let from = walk.as_ref().map_or(i64::MIN, |walk| walk.number().saturating_add(1));
    let mut read = walk.take().unwrap_or_else(|| Walk::after(forgotten));
    read.skip_forgotten(forgotten);
    let page = "select number, kind, session, verdict, text, link from record where number >= ?1
                order by number limit ?2";
    let mut page = transaction.prepare(page)?;
    let found = page.query_map([from, PAGE], |row| Ok(found(row)))?.collect::<rusqlite::Result<Vec<_>>>()?;
    found.iter().for_each(|found| read.take(found));
    if found.is_empty() || read.is_broken() {
        return Ok(Some(read.end(head)));
    }
    *walk = Some(read);
    Ok(None)
}

/// Whatever stands in a row: a column of another kind than was written reads as nothing.
fn found(row: &Row<'_>) -> Found {
    Found {
        number: row.get(0).unwrap_or_default(),
        kind: row.get(1).ok(),
        session: row.get(2).ok(),
        verdict: row.get(3).ok(),
        text: row.get(4).ok(),
        link: row.get(5).ok(),
    }
}

/// The number that a client's next record has.
pub(super) fn shipped(connection: &Connection, source: &str) -> rusqlite::Result<u64> {
    let query = "select next from source where name = ?1";
    Ok(unsigned(connection.query_row(query, [source], |row| row.get(0)).optional()?.unwrap_or_default()))
}

/// The texts of approvals.
pub(super) fn approvals(connection: &Connection, filter: ApprovalFilter) -> rusqlite::Result<Vec<String>> {
    let mut conditions = Conditions::default();
    conditions.add("state = ?", filter.state.map(|state| state_word(state).to_owned()));
    conditions.add("? in (session, lead)", filter.session);
    let order = if filter.state == Some(State::Pending) { "asc" } else { "desc" };
    let limit = i64::try_from(filter.limit).unwrap_or(i64::MAX);
    let all = conditions.all();
    let query = format!("select value from approval where {all} order by created_at {order}, id {order} limit {limit}");
    connection.prepare(&query)?.query_map(params_from_iter(conditions.values), |row| row.get(0))?.collect()
}

/// The texts of approvals that still wait though their time is over.
pub(super) fn overdue(connection: &Connection, now: Moment) -> rusqlite::Result<Vec<String>> {
    let query = "select value from approval where state = 'pending' and expires_at <= ?1 order by expires_at";
    texts(connection, query, params![signed(now)])
}

/// The texts of sessions.
pub(super) fn sessions(connection: &Connection, since: Moment, limit: usize) -> rusqlite::Result<Vec<String>> {
    let query = "select value from session where seen >= ?1 order by seen desc, id limit ?2";
    texts(connection, query, params![signed(since), i64::try_from(limit).unwrap_or(i64::MAX)])
}

/// Decisions of sessions, by verdict.
pub(super) fn counted(connection: &Connection, sessions: &[String]) -> rusqlite::Result<Counted> {
    let transaction = connection.unchecked_transaction()?;
    let number = transaction.query_row("select number from chain", [], |row| row.get(0))?;
    let mut counted = Counted { number: unsigned(number), ..Counted::default() };
    let query = "select verdict, count(*) from record where session = ?1 and kind = 'decision' group by verdict";
    let mut query = transaction.prepare(query)?;
    for session in sessions {
        let mut rows = query.query([session])?;
        while let Some(row) = rows.next()? {
            let verdict: Option<String> = row.get(0)?;
            counted.add(session.clone(), &verdict.unwrap_or_default(), unsigned(row.get(1)?));
        }
    }
    Ok(counted)
}

/// The texts that a query finds.
pub(super) fn texts(
    connection: &Connection,
    query: &str,
    values: impl rusqlite::Params,
) -> rusqlite::Result<Vec<String>> {
    connection.prepare(query)?.query_map(values, |row| row.get(0))?.collect()
}
