//! A store that is watched: what goes into the audit is counted, timed and told to whoever wants to know. The store
//! itself does the work; nothing is changed on the way, and nothing is counted before it is durable.

use std::sync::Arc;
use std::time::{Duration, Instant};

use mayi_core::step::Step;
use mayi_core::verdict::Verdict;
use mayi_engine::remote::wire::{Answer, Approval, Moment, State};
use tokio::sync::broadcast;

use super::Telemetry;
use crate::store::{
    ApprovalFilter, Counted, Event, Kept, NewRecord, RecordFilter, SessionState, Settled, Store, StoredRecord,
    TokenState, Verified,
};

/// A store that is watched.
#[derive(Debug)]
pub struct Measured {
    store: Arc<dyn Store>,
    telemetry: Telemetry,
}

/// What will be counted of some records once they are durable.
struct Noted {
    began: Instant,
    records: Vec<Note>,
    /// The records themselves, where somebody wants to be told.
    told: Vec<NewRecord>,
}

struct Note {
    kind: String,
    decided: Option<(Verdict, Step)>,
}

impl Measured {
    /// Watches a store.
    pub fn around(store: Arc<dyn Store>, telemetry: Telemetry) -> Arc<dyn Store> {
        Arc::new(Self { store, telemetry })
    }

    fn note(&self, records: &[NewRecord]) -> Noted {
        let told = if self.telemetry.exports.is_some() { records.to_vec() } else { Vec::new() };
        Noted { began: Instant::now(), records: records.iter().map(note).collect(), told }
    }

    fn durable(&self, noted: Noted) {
        if noted.records.is_empty() {
            return;
        }
        let metrics = &self.telemetry.metrics;
        metrics.commit(noted.began.elapsed());
        for Note { kind, decided } in &noted.records {
            metrics.record(kind);
            if let Some((verdict, step)) = decided {
                metrics.decision(verdict.word(), step.id());
            }
        }
        if let Some(exports) = &self.telemetry.exports {
            noted.told.iter().for_each(|record| exports.record(record));
        }
    }
}

fn note(record: &NewRecord) -> Note {
    let verdict = Verdict::ALL.into_iter().find(|verdict| Some(verdict.word()) == record.verdict.as_deref());
    Note { kind: record.kind.clone(), decided: verdict.zip(record.step) }
}

impl Store for Measured {
    fn append(&self, records: Vec<NewRecord>) -> Kept<'_, Vec<u64>> {
        Box::pin(async move {
            let noted = self.note(&records);
            let numbers = self.store.append(records).await?;
            self.durable(noted);
            Ok(numbers)
        })
    }

    fn records(&self, filter: RecordFilter) -> Kept<'_, Vec<StoredRecord>> {
        self.store.records(filter)
    }

    fn verify(&self) -> Kept<'_, Verified> {
        self.store.verify()
    }

    fn shipped(&self, source: String) -> Kept<'_, u64> {
        self.store.shipped(source)
    }

    fn forget_before(&self, moment: Moment) -> Kept<'_, u64> {
        self.store.forget_before(moment)
    }

    fn put_approval(&self, approval: Approval, records: Vec<NewRecord>) -> Kept<'_, ()> {
        Box::pin(async move {
            let noted = self.note(&records);
            self.store.put_approval(approval, records).await?;
            self.telemetry.metrics.approval(State::Pending);
            self.durable(noted);
            Ok(())
        })
    }

    fn approval(&self, id: String) -> Kept<'_, Option<Approval>> {
        self.store.approval(id)
    }

    fn approvals(&self, filter: ApprovalFilter) -> Kept<'_, Vec<Approval>> {
        self.store.approvals(filter)
    }

    fn settle(
        &self,
        id: String,
        state: State,
        answer: Option<Answer>,
        records: Vec<NewRecord>,
    ) -> Kept<'_, Option<Settled>> {
        Box::pin(async move {
            let noted = self.note(&records);
            let settled = self.store.settle(id, state, answer, records).await?;
            if let Some(Settled::Now(_)) = settled {
                self.telemetry.metrics.approval(state);
                self.durable(noted);
            }
            Ok(settled)
        })
    }

    fn overdue(&self, now: Moment) -> Kept<'_, Vec<Approval>> {
        self.store.overdue(now)
    }

    fn session(&self, id: String) -> Kept<'_, Option<SessionState>> {
        self.store.session(id)
    }

    fn put_session(&self, session: SessionState, records: Vec<NewRecord>) -> Kept<'_, SessionState> {
        Box::pin(async move {
            let noted = self.note(&records);
            let session = self.store.put_session(session, records).await?;
            self.durable(noted);
            Ok(session)
        })
    }

    fn sessions(&self, since: Moment, limit: usize) -> Kept<'_, Vec<SessionState>> {
        self.store.sessions(since, limit)
    }

    fn counted(&self, sessions: Vec<String>) -> Kept<'_, Counted> {
        self.store.counted(sessions)
    }

    fn put_token(&self, hash: [u8; 32], token: TokenState, records: Vec<NewRecord>) -> Kept<'_, ()> {
        Box::pin(async move {
            let noted = self.note(&records);
            self.store.put_token(hash, token, records).await?;
            self.durable(noted);
            Ok(())
        })
    }

    fn token(&self, hash: [u8; 32]) -> Kept<'_, Option<TokenState>> {
        self.store.token(hash)
    }

    fn revoke_token(&self, id: String, at: Moment, records: Vec<NewRecord>) -> Kept<'_, Option<TokenState>> {
        Box::pin(async move {
            let noted = self.note(&records);
            let token = self.store.revoke_token(id, at, records).await?;
            self.durable(noted);
            Ok(token)
        })
    }

    fn tokens(&self) -> Kept<'_, Vec<TokenState>> {
        self.store.tokens()
    }

    fn put_secret(&self, kind: String, hash: [u8; 32], value: String, expires_at: Moment) -> Kept<'_, ()> {
        self.store.put_secret(kind, hash, value, expires_at)
    }

    fn secret(&self, kind: String, hash: [u8; 32], now: Moment) -> Kept<'_, Option<String>> {
        self.store.secret(kind, hash, now)
    }

    fn take_secret(&self, kind: String, hash: [u8; 32], now: Moment) -> Kept<'_, Option<String>> {
        self.store.take_secret(kind, hash, now)
    }

    fn value_or_put(&self, name: String, value: String) -> Kept<'_, String> {
        self.store.value_or_put(name, value)
    }

    fn tell(&self, event: Event) -> Kept<'_, ()> {
        self.store.tell(event)
    }

    fn listen(&self) -> broadcast::Receiver<Event> {
        self.store.listen()
    }

    fn ready(&self, within: Duration) -> Kept<'_, ()> {
        self.store.ready(within)
    }
}
