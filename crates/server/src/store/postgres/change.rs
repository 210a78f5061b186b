//! The changes, each within a transaction. Whatever is changed is locked before the chain is, so that nobody waits in a
//! circle.

use deadpool_postgres::Transaction;
use mayi_engine::remote::wire::{Answer, Approval, Moment, State};
use tokio_postgres::error::SqlState;

use super::super::chain::{day_of, signed, unsigned};
use super::super::{from_json, state_word, to_json};
use super::listener::notify;
use super::schema::{Partitions, drop_before};
use super::{Event, Failure, NewRecord, SessionState, Settled, StoreError, TokenState, chain};

/// A transaction, and what it needs to append to the chain.
pub(super) struct Turn<'t, 'c> {
    pub(super) transaction: &'t Transaction<'c>,
    pub(super) partitions: &'t Partitions,
}

impl Turn<'_, '_> {
    async fn append(&self, records: &[NewRecord]) -> Result<(), Failure> {
        chain::append(self.transaction, records, self.partitions).await.map(drop)
    }

    pub(super) async fn put_approval(&self, approval: &Approval, records: &[NewRecord]) -> Result<(), Failure> {
        let value = to_json(approval)?;
        let Approval { id, created_at, expires_at, state, question, answer: _ } = approval;
        let put = "insert into approval (id, state, session, lead, created_at, expires_at, value)
                   values ($1, $2, $3, $4, $5, $6, $7) on conflict do nothing";
        let put = self.transaction.prepare_cached(put).await?;
        let (created_at, expires_at) = (signed(*created_at), signed(*expires_at));
        let word = state_word(*state);
        let written = self
            .transaction
            .execute(&put, &[id, &word, &question.session, &question.lead, &created_at, &expires_at, &value])
            .await?;
        if written == 0 {
            return Err(StoreError::Conflict.into());
        }
        self.append(records).await?;
        Ok(notify(self.transaction, &Event::Approval { id: id.clone(), state: *state }).await?)
    }

    pub(super) async fn settle(
        &self,
        id: &str,
        (state, answer): (State, Option<Answer>),
        records: &[NewRecord],
    ) -> Result<Option<Settled>, Failure> {
        let query = self.transaction.prepare_cached("select value from approval where id = $1 for update").await?;
        let Some(row) = self.transaction.query_opt(&query, &[&id]).await? else { return Ok(None) };
        let mut approval: Approval = from_json("an approval", row.try_get(0)?)?;
        if approval.state != State::Pending {
            return Ok(Some(Settled::Before(approval)));
        }
        approval.state = state;
        approval.answer = answer;
        let write = "update approval set state = $2, value = $3 where id = $1";
        let write = self.transaction.prepare_cached(write).await?;
        self.transaction.execute(&write, &[&id, &state_word(state), &to_json(&approval)?]).await?;
        self.append(records).await?;
        notify(self.transaction, &Event::Approval { id: id.to_owned(), state }).await?;
        Ok(Some(Settled::Now(approval)))
    }

    pub(super) async fn put_session(
        &self,
        session: &SessionState,
        records: &[NewRecord],
    ) -> Result<SessionState, Failure> {
        let next = SessionState { version: session.version + 1, ..session.clone() };
        let write = match session.version {
            0 => {
                "insert into session (id, version, seen, value)
                 select $1::text, $2::bigint, $3::bigint, $4::text where $5::bigint = 0 on conflict do nothing"
            }
            _ => "update session set version = $2, seen = $3, value = $4 where id = $1 and version = $5",
        };
        let write = self.transaction.prepare_cached(write).await?;
        let (version, seen, before) = (signed(next.version), signed(next.seen), signed(session.version));
        let written = self.transaction.execute(&write, &[&next.id, &version, &seen, &to_json(&next)?, &before]).await?;
        if written == 0 {
            return Err(StoreError::Conflict.into());
        }
        self.append(records).await?;
        notify(self.transaction, &Event::Session { id: next.id.clone() }).await?;
        Ok(next)
    }

    pub(super) async fn put_token(
        &self,
        hash: &[u8; 32],
        token: &TokenState,
        records: &[NewRecord],
    ) -> Result<(), Failure> {
        let put = "insert into token (hash, id, value) values ($1, $2, $3)
                   on conflict (hash) do update set id = excluded.id, value = excluded.value";
        let put = self.transaction.prepare_cached(put).await?;
        let written = self.transaction.execute(&put, &[&hash.as_slice(), &token.id, &to_json(token)?]).await;
        written.map_err(|error| match error.code() {
            // The hash is dealt with above, so it is the name.
            Some(&SqlState::UNIQUE_VIOLATION) => StoreError::Conflict.into(),
            Some(_) | None => Failure::from(error),
        })?;
        self.append(records).await
    }

    pub(super) async fn revoke_token(
        &self,
        id: &str,
        at: Moment,
        records: &[NewRecord],
    ) -> Result<Option<TokenState>, Failure> {
        let query = self.transaction.prepare_cached("select value from token where id = $1 for update").await?;
        let Some(row) = self.transaction.query_opt(&query, &[&id]).await? else { return Ok(None) };
        let mut token: TokenState = from_json("a token", row.try_get(0)?)?;
        if token.revoked_at.is_none() {
            token.revoked_at = Some(at);
            let write = self.transaction.prepare_cached("update token set value = $2 where id = $1").await?;
            self.transaction.execute(&write, &[&id, &to_json(&token)?]).await?;
            self.append(records).await?;
        }
        Ok(Some(token))
    }

    pub(super) async fn put_secret(
        &self,
        (kind, hash): (&str, &[u8; 32]),
        value: &str,
        expires_at: Moment,
    ) -> Result<(), Failure> {
        let put = "insert into secret (kind, hash, value, expires_at) values ($1, $2, $3, $4)
                   on conflict (kind, hash) do update set value = excluded.value, expires_at = excluded.expires_at";
        let put = self.transaction.prepare_cached(put).await?;
        self.transaction.execute(&put, &[&kind, &hash.as_slice(), &value, &signed(expires_at)]).await?;
        Ok(())
    }

    pub(super) async fn take_secret(
        &self,
        (kind, hash): (&str, &[u8; 32]),
        now: Moment,
    ) -> Result<Option<String>, Failure> {
        let take = "delete from secret where kind = $1 and hash = $2 and expires_at > $3 returning value";
        let take = self.transaction.prepare_cached(take).await?;
        let taken = self.transaction.query_opt(&take, &[&kind, &hash.as_slice(), &signed(now)]).await?;
        Ok(taken.map(|row| row.try_get(0)).transpose()?)
    }

    pub(super) async fn value_or_put(&self, name: &str, value: &str) -> Result<String, Failure> {
        let put = "insert into value (name, value) values ($1, $2) on conflict do nothing";
        self.transaction.execute(&self.transaction.prepare_cached(put).await?, &[&name, &value]).await?;
        let query = self.transaction.prepare_cached("select value from value where name = $1").await?;
        Ok(self.transaction.query_one(&query, &[&name]).await?.try_get(0)?)
    }

    /// Forgets the days before that of this moment, with settled questions and values whose time was over before it.
    pub(super) async fn forget(&self, moment: Moment) -> Result<u64, Failure> {
        // Those who read are waited for, and those who come later wait meanwhile: not for long.
        self.transaction.batch_execute("set local lock_timeout = 2000").await?;
        let day = day_of(moment);
        let held = chain::hold(self.transaction).await?;
        let query = "select min(first) from day where day >= $1";
        let kept: Option<i64> = self.transaction.query_one(query, &[&day]).await?.try_get(0)?;
        let last = kept.map_or(held.place.number, |first| first - 1);
        if last > held.forgotten {
            let link = self.transaction.query_opt("select link from record where number = $1", &[&last]).await?;
            let missing = || StoreError::Damaged(format!("the audit record {last} is missing\nhelp: verify the audit"));
            let link = chain::link(&link.ok_or_else(missing)?, 0)?;
            drop_before(self.transaction, day).await?;
            let keep = "update chain set forgotten_number = $1, forgotten_link = $2";
            self.transaction.execute(keep, &[&last, &link.bytes().as_slice()]).await?;
            self.transaction.execute("delete from day where day < $1", &[&day]).await?;
            self.partitions.doubt();
        }
        let old = "delete from approval where state <> 'pending' and created_at < $1 and expires_at < $1";
        self.transaction.execute(old, &[&signed(moment)]).await?;
        self.transaction.execute("delete from secret where expires_at < $1", &[&signed(moment)]).await?;
        Ok(unsigned(last.saturating_sub(held.forgotten)))
    }
}
