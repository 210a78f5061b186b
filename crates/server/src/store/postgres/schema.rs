//! The tables: migrations under a lock, and a partition of the audit for each day.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use deadpool_postgres::{Client, Transaction};
use tokio_postgres::Error;

use super::{Failure, StoreError};

/// Each brings the tables from its number to the next.
const MIGRATIONS: &[&str] = &[include_str!("migrations/0001.sql")];
/// The lock that whoever migrates holds: `mayi` in ASCII.
const LOCK: i64 = 0x6d61_7969;

/// Brings the tables to the form that this mayi knows. Others who come meanwhile wait.
pub(super) async fn migrate(client: &mut Client) -> Result<(), Failure> {
    let transaction = client.transaction().await?;
    transaction.batch_execute("set local statement_timeout = '5min'; set local lock_timeout = '1min'").await?;
    transaction.execute("select pg_advisory_xact_lock($1)", &[&LOCK]).await?;
    transaction
        .batch_execute(
            "create schema if not exists mayi; create table if not exists migration (version bigint not null)",
        )
        .await?;
    let version: i64 =
        transaction.query_one("select coalesce(max(version), 0) from migration", &[]).await?.try_get(0)?;
    let known = MIGRATIONS.len();
    let done = usize::try_from(version).unwrap_or(usize::MAX);
    let Some(missing) = MIGRATIONS.get(done..) else {
        return Err(Failure::Refused(StoreError::Away(format!(
            "the database was written by a newer mayi: it has version {version}, this one knows {known}\n\
             help: update mayi"
        ))));
    };
    for (migration, version) in missing.iter().zip(version + 1..) {
        transaction.batch_execute(migration).await?;
        transaction.execute("insert into migration (version) values ($1)", &[&version]).await?;
    }
    Ok(transaction.commit().await?)
}

/// The days whose partition is known to be there.
#[derive(Debug, Default)]
pub(super) struct Partitions {
    known: Mutex<HashSet<i64>>,
}

impl Partitions {
    /// Makes the partition of a day where there is none. Whoever calls holds the chain.
    pub(super) async fn ensure(&self, transaction: &Transaction<'_>, day: i64) -> Result<(), Error> {
        if self.known.lock().unwrap_or_else(PoisonError::into_inner).contains(&day) {
            return Ok(());
        }
        let name = partition(day);
        let there = transaction.query_one("select to_regclass($1) is not null", &[&name]).await?;
        if !there.try_get::<_, bool>(0)? {
            // Attaching a table disturbs readers less than making it in its place.
            let next = day + 1;
            transaction
                .batch_execute(&format!(
                    "create table {name} (like record including all);
                     alter table record attach partition {name} for values from ({day}) to ({next})"
                ))
                .await?;
        }
        self.known.lock().unwrap_or_else(PoisonError::into_inner).insert(day);
        Ok(())
    }

    /// Forgets what was known: a transaction failed, or partitions went.
    pub(super) fn doubt(&self) {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

fn partition(day: i64) -> String {
    format!("record_{day}")
}

/// Drops the partitions of the days before this one.
pub(super) async fn drop_before(transaction: &Transaction<'_>, day: i64) -> Result<(), Error> {
    let query = "select relname::text from pg_inherits join pg_class on pg_class.oid = inhrelid
                 where inhparent = 'record'::regclass";
    for row in transaction.query(query, &[]).await? {
        let name: String = row.try_get(0)?;
        let its = name.strip_prefix("record_").and_then(|digits| digits.parse::<i64>().ok());
        if its.is_some_and(|its| its < day) {
            transaction.batch_execute(&format!("drop table {name}")).await?;
        }
    }
    Ok(())
}
