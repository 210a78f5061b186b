//! Appending to the chain, which is one for the whole fleet: whoever appends holds the chain's row until they commit.

use std::collections::HashMap;
use std::time::{SystemTime, UNIX_EPOCH};

use deadpool_postgres::Transaction;
use mayi_engine::audit::chain::Link;
use mayi_engine::remote::wire::Moment;
use tokio_postgres::{Error, Row};

use super::super::chain::{Place, day_in_chain, day_of, signed, unsigned};
use super::listener::notify;
use super::schema::Partitions;
use super::{Event, Failure, NewRecord, StoreError};

/// The chain, held.
pub(super) struct Chain {
    pub(super) place: Place,
    pub(super) day: i64,
    pub(super) forgotten: i64,
}

/// Holds the chain until the transaction ends. Whoever waited for it sees what the one before them wrote.
pub(super) async fn hold(transaction: &Transaction<'_>) -> Result<Chain, Failure> {
    let query = "select number, link, day, forgotten_number from chain for update";
    let row = transaction.query_one(&transaction.prepare_cached(query).await?, &[]).await?;
    let place = Place { number: row.try_get(0)?, link: link(&row, 1)? };
    Ok(Chain { place, day: row.try_get(2)?, forgotten: row.try_get(3)? })
}

/// The link in a column.
pub(super) fn link(row: &Row, column: usize) -> Result<Link, Failure> {
    let bytes = <[u8; 32]>::try_from(row.try_get::<_, &[u8]>(column)?);
    let wrong = |_| Failure::Refused(StoreError::Damaged("a link of the audit has the wrong length".to_owned()));
    bytes.map(Link::of_bytes).map_err(wrong)
}

/// Rows on their way, a column each: they go over in one message.
#[derive(Default)]
struct Rows<'r> {
    numbers: Vec<i64>,
    days: Vec<i64>,
    ats: Vec<i64>,
    kinds: Vec<&'r str>,
    sessions: Vec<Option<&'r str>>,
    verdicts: Vec<Option<&'r str>>,
    texts: Vec<&'r str>,
    links: Vec<Vec<u8>>,
    sources: Vec<Option<&'r str>>,
    sequences: Vec<Option<i64>>,
}

impl<'r> Rows<'r> {
    fn push(&mut self, record: &'r NewRecord, place: Place, day: i64) {
        self.numbers.push(place.number);
        self.days.push(day);
        self.ats.push(signed(record.at));
        self.kinds.push(&record.kind);
        self.sessions.push(record.session.as_deref());
        self.verdicts.push(record.verdict.as_deref());
        self.texts.push(&record.text);
        self.links.push(place.link.bytes().to_vec());
        self.sources.push(record.shipped.as_ref().map(|(source, _)| source.as_str()));
        self.sequences.push(record.shipped.as_ref().map(|(_, sequence)| signed(*sequence)));
    }

    async fn insert(&self, transaction: &Transaction<'_>) -> Result<(), Error> {
        let statement = transaction
            .prepare_cached(
                "insert into record (number, day, at, kind, session, verdict, text, link, source, sequence)
                 select * from unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[], $5::text[], $6::text[],
                                      $7::text[], $8::bytea[], $9::text[], $10::bigint[])",
            )
            .await?;
        let Self { numbers, days, ats, kinds, sessions, verdicts, texts, links, sources, sequences } = self;
        transaction
            .execute(&statement, &[numbers, days, ats, kinds, sessions, verdicts, texts, links, sources, sequences])
            .await?;
        Ok(())
    }

    /// Each day with its first record, and its oldest and newest moment.
    fn days(&self) -> Vec<[i64; 4]> {
        let mut days: Vec<[i64; 4]> = Vec::new();
        for ((&number, &day), &at) in self.numbers.iter().zip(&self.days).zip(&self.ats) {
            match days.last_mut() {
                Some([last, _, oldest, newest]) if *last == day => {
                    *oldest = at.min(*oldest);
                    *newest = at.max(*newest);
                }
                Some(_) | None => days.push([day, number, at, at]),
            }
        }
        days
    }
}

/// Appends records. The number of each.
pub(super) async fn append(
    transaction: &Transaction<'_>,
    records: &[NewRecord],
    partitions: &Partitions,
) -> Result<Vec<u64>, Failure> {
    if records.is_empty() {
        return Ok(Vec::new());
    }
    let Chain { mut place, mut day, .. } = hold(transaction).await?;
    let mut shipped = Shipped::look(transaction, records).await?;
    let today = day_of(now());
    let mut rows = Rows::default();
    let mut numbers = Vec::with_capacity(records.len());
    for record in records {
        if let Some(number) = shipped.known(record, place.number + 1) {
            numbers.push(unsigned(number));
            continue;
        }
        place = place.next(&record.text);
        day = day_in_chain(record.at, day, today);
        rows.push(record, place, day);
        numbers.push(unsigned(place.number));
    }
    if rows.numbers.is_empty() {
        return Ok(numbers);
    }
    let days = rows.days();
    for [day, ..] in &days {
        partitions.ensure(transaction, *day).await?;
    }
    let recorded = Event::Recorded { number: unsigned(place.number) };
    // Sent one after the other without waiting in between.
    tokio::try_join!(
        rows.insert(transaction),
        move_on(transaction, place, day),
        write_days(transaction, &days),
        shipped.write(transaction),
        notify(transaction, &recorded),
    )?;
    Ok(numbers)
}

async fn move_on(transaction: &Transaction<'_>, place: Place, day: i64) -> Result<(), Error> {
    let statement = transaction.prepare_cached("update chain set number = $1, link = $2, day = $3").await?;
    transaction.execute(&statement, &[&place.number, &place.link.bytes().as_slice(), &day]).await?;
    Ok(())
}

async fn write_days(transaction: &Transaction<'_>, days: &[[i64; 4]]) -> Result<(), Error> {
    let put = "insert into day (day, first, oldest, newest) values ($1, $2, $3, $4) on conflict (day) do update
               set oldest = least(day.oldest, excluded.oldest), newest = greatest(day.newest, excluded.newest)";
    let statement = transaction.prepare_cached(put).await?;
    for [day, first, oldest, newest] in days {
        transaction.execute(&statement, &[day, first, oldest, newest]).await?;
    }
    Ok(())
}

/// What is known of records that clients number themselves.
#[derive(Default)]
struct Shipped<'r> {
    numbers: HashMap<(&'r str, i64), i64>,
    next: HashMap<&'r str, i64>,
}

impl<'r> Shipped<'r> {
    /// Looks up those that may have been shipped before.
    async fn look(transaction: &Transaction<'_>, records: &'r [NewRecord]) -> Result<Self, Error> {
        let keys: Vec<(&str, i64)> = records
            .iter()
            .filter_map(|record| record.shipped.as_ref())
            .map(|(source, sequence)| (source.as_str(), signed(*sequence)))
            .collect();
        let mut shipped = Self::default();
        if keys.is_empty() {
            return Ok(shipped);
        }
        let (sources, sequences): (Vec<&str>, Vec<i64>) = keys.iter().copied().unzip();
        // Only what lies before the next one wanted can be there already.
        let query = "select wanted.place, record.number
                     from unnest($1::text[], $2::bigint[]) with ordinality as wanted (source, sequence, place)
                     join source on source.name = wanted.source and wanted.sequence < source.next
                     join record on record.source = wanted.source and record.sequence = wanted.sequence";
        let statement = transaction.prepare_cached(query).await?;
        for row in transaction.query(&statement, &[&sources, &sequences]).await? {
            let place = usize::try_from(row.try_get::<_, i64>(0)?).unwrap_or_default();
            if let Some(key) = place.checked_sub(1).and_then(|place| keys.get(place)) {
                shipped.numbers.insert(*key, row.try_get(1)?);
            }
        }
        Ok(shipped)
    }

    /// The number of a record that was shipped before; a new one gets `next`.
    fn known(&mut self, record: &'r NewRecord, next: i64) -> Option<i64> {
        let (source, sequence) = record.shipped.as_ref()?;
        let sequence = signed(*sequence);
        if let Some(number) = self.numbers.get(&(source.as_str(), sequence)) {
            return Some(*number);
        }
        self.numbers.insert((source, sequence), next);
        let wanted = self.next.entry(source).or_default();
        *wanted = sequence.saturating_add(1).max(*wanted);
        None
    }

    async fn write(&self, transaction: &Transaction<'_>) -> Result<(), Error> {
        if self.next.is_empty() {
            return Ok(());
        }
        let (names, next): (Vec<&str>, Vec<i64>) = self.next.iter().map(|(name, next)| (*name, *next)).unzip();
        let put = "insert into source (name, next) select * from unnest($1::text[], $2::bigint[])
                   on conflict (name) do update set next = greatest(source.next, excluded.next)";
        transaction.execute(&transaction.prepare_cached(put).await?, &[&names, &next]).await?;
        Ok(())
    }
}

/// The clock, for the day alone.
pub(super) fn now() -> Moment {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
