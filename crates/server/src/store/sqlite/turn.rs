//! The changes, within a transaction of the writer's thread.
//!
//! INVARIANT: a change that refuses itself does so before it writes anything.

use std::time::{SystemTime, UNIX_EPOCH};

use mayi_engine::audit::chain::Link;
use mayi_engine::remote::wire::{Answer, Approval, Moment, State};
use rusqlite::{Connection, OptionalExtension as _, Statement, params};

use super::super::chain::{Place, day_in_chain, day_of, signed, unsigned};
use super::super::{Event, NewRecord, SessionState, Settled, StoreError, TokenState, from_json, state_word, to_json};
use super::writer::Failure;

/// How many records are forgotten in one turn, so that others get theirs.
const FORGOTTEN_TOGETHER: i64 = 10_000;

/// The statements that every record needs, prepared once.
pub(super) struct Statements<'c> {
    connection: &'c Connection,
    insert: Statement<'c>,
    head: Statement<'c>,
    put_head: Statement<'c>,
    day: Statement<'c>,
    put_day: Statement<'c>,
}

impl<'c> Statements<'c> {
    pub(super) fn prepare(connection: &'c Connection) -> rusqlite::Result<Self> {
        let prepare = |text| connection.prepare(text);
        Ok(Self {
            connection,
            insert: prepare(
                "insert into record (number, at, kind, session, verdict, text, link, source, sequence)
                 values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
            )?,
            head: prepare("select number, link from chain")?,
            put_head: prepare("update chain set number = ?1, link = ?2")?,
            day: prepare("select max(day) from day")?,
            put_day: prepare(
                "insert into day (day, first, oldest, newest) values (?1, ?2, ?3, ?4) on conflict (day) do update
                 set oldest = min(oldest, excluded.oldest), newest = max(newest, excluded.newest)",
            )?,
        })
    }

    pub(super) fn connection(&self) -> &'c Connection {
        self.connection
    }
}

/// What is known of the chain's last day, to be written at the end of the turn.
#[derive(Clone, Copy)]
struct Day {
    day: i64,
    first: i64,
    oldest: i64,
    newest: i64,
}

/// What a transaction changed, to be told once it is durable.
#[derive(Default)]
pub(super) struct Changed {
    pub(super) events: Vec<Event>,
    /// Sessions as they were put, the later state after the earlier.
    pub(super) sessions: Vec<SessionState>,
    /// How long the records are.
    pub(super) bytes: usize,
}

/// A transaction of the writer.
pub(super) struct Turn<'t, 'c> {
    statements: &'t mut Statements<'c>,
    begun: Place,
    place: Place,
    last_day: i64,
    today: i64,
    days: Vec<Day>,
    changed: Changed,
}

impl<'t, 'c> Turn<'t, 'c> {
    /// Reads where the chain stands: another process may have written to it.
    pub(super) fn begin(statements: &'t mut Statements<'c>) -> rusqlite::Result<Self> {
        let place = statements
            .head
            .query_row([], |row| Ok(Place { number: row.get(0)?, link: Link::of_bytes(row.get(1)?) }))?;
        let last_day = statements.day.query_row([], |row| row.get::<_, Option<i64>>(0))?.unwrap_or(-1);
        let today = day_of(now());
        Ok(Self { statements, begun: place, place, last_day, today, days: Vec::new(), changed: Changed::default() })
    }

    /// Writes where the chain stands now. What is to be told once it is durable.
    pub(super) fn end(mut self) -> rusqlite::Result<Changed> {
        if self.place != self.begun {
            self.statements.put_head.execute(params![self.place.number, self.place.link.bytes()])?;
            self.changed.events.push(Event::Recorded { number: unsigned(self.place.number) });
        }
        self.write_days()?;
        Ok(self.changed)
    }

    fn write_days(&mut self) -> rusqlite::Result<()> {
        for Day { day, first, oldest, newest } in self.days.drain(..) {
            self.statements.put_day.execute(params![day, first, oldest, newest])?;
        }
        Ok(())
    }

    fn connection(&self) -> &'c Connection {
        self.statements.connection
    }

    /// Appends records.
    pub(super) fn append(&mut self, records: &[NewRecord]) -> Result<Vec<u64>, Failure> {
        records.iter().map(|record| self.append_one(record)).collect()
    }

    fn append_one(&mut self, record: &NewRecord) -> Result<u64, Failure> {
        if let Some((source, sequence)) = &record.shipped
            && let Some(number) = self.ship(source, signed(*sequence))?
        {
            return Ok(unsigned(number));
        }
        let next = self.place.next(&record.text);
        let (source, sequence) = record.shipped.as_ref().map(|(name, number)| (name, signed(*number))).unzip();
        self.statements.insert.execute(params![
            next.number,
            signed(record.at),
            record.kind,
            record.session,
            record.verdict,
            record.text,
            next.link.bytes(),
            source,
            sequence
        ])?;
        self.count_to_day(record.at, next.number);
        self.changed.bytes += record.text.len();
        self.place = next;
        Ok(unsigned(next.number))
    }

    fn count_to_day(&mut self, at: Moment, number: i64) {
        let day = day_in_chain(at, self.last_day, self.today);
        let at = signed(at);
        self.last_day = day;
        match self.days.last_mut().filter(|last| last.day == day) {
            Some(last) => {
                last.oldest = last.oldest.min(at);
                last.newest = last.newest.max(at);
            }
            None => self.days.push(Day { day, first: number, oldest: at, newest: at }),
        }
    }

    /// The number of a record that was shipped before; of a new one, moves on what is wanted next.
    fn ship(&self, source: &str, sequence: i64) -> Result<Option<i64>, Failure> {
        let known = "select number from record where source = ?1 and sequence = ?2";
        let known = self.connection().query_row(known, params![source, sequence], |row| row.get(0)).optional()?;
        if known.is_none() {
            self.connection().execute(
                "insert into source (name, next) values (?1, ?2)
                 on conflict (name) do update set next = max(next, excluded.next)",
                params![source, sequence.saturating_add(1)],
            )?;
        }
        Ok(known)
    }

    pub(super) fn put_approval(&mut self, approval: &Approval, records: &[NewRecord]) -> Result<(), Failure> {
        let value = to_json(approval).map_err(Failure::Refused)?;
        let Approval { id, created_at, expires_at, state, question, answer: _ } = approval;
        let written = self.connection().execute(
            "insert into approval (id, state, session, lead, created_at, expires_at, value)
             values (?1, ?2, ?3, ?4, ?5, ?6, ?7) on conflict do nothing",
            params![
                id,
                state_word(*state),
                question.session,
                question.lead,
                signed(*created_at),
                signed(*expires_at),
                value
            ],
        )?;
        if written == 0 {
            return Err(Failure::Refused(StoreError::Conflict));
        }
        self.append(records)?;
        self.changed.events.push(Event::Approval { id: id.clone(), state: *state });
        Ok(())
    }

    /// Settles a question that still waits.
    pub(super) fn settle(
        &mut self,
        id: &str,
        (state, answer): (State, Option<&Answer>),
        records: &[NewRecord],
    ) -> Result<Option<Settled>, Failure> {
        let query = "select value from approval where id = ?1";
        let found = self.connection().query_row(query, [id], |row| row.get::<_, String>(0)).optional()?;
        let Some(found) = found else { return Ok(None) };
        let mut approval: Approval = from_json("an approval", &found).map_err(Failure::Refused)?;
        if approval.state != State::Pending {
            return Ok(Some(Settled::Before(approval)));
        }
        approval.state = state;
        approval.answer = answer.cloned();
        let value = to_json(&approval).map_err(Failure::Refused)?;
        let write = "update approval set state = ?2, value = ?3 where id = ?1";
        self.connection().execute(write, params![id, state_word(state), value])?;
        self.append(records)?;
        self.changed.events.push(Event::Approval { id: id.to_owned(), state });
        Ok(Some(Settled::Now(approval)))
    }

    /// Keeps a session if nobody changed it since it was read.
    pub(super) fn put_session(
        &mut self,
        session: &SessionState,
        records: &[NewRecord],
    ) -> Result<SessionState, Failure> {
        let query = "select version from session where id = ?1";
        let known = self.connection().query_row(query, [&session.id], |row| row.get(0)).optional()?;
        if unsigned(known.unwrap_or_default()) != session.version {
            return Err(Failure::Refused(StoreError::Conflict));
        }
        let next = SessionState { version: session.version + 1, ..session.clone() };
        let value = to_json(&next).map_err(Failure::Refused)?;
        self.connection().execute(
            "insert or replace into session (id, version, seen, value) values (?1, ?2, ?3, ?4)",
            params![next.id, signed(next.version), signed(next.seen), value],
        )?;
        self.append(records)?;
        self.changed.events.push(Event::Session { id: next.id.clone() });
        self.changed.sessions.push(next.clone());
        Ok(next)
    }

    pub(super) fn put_token(
        &mut self,
        hash: &[u8; 32],
        token: &TokenState,
        records: &[NewRecord],
    ) -> Result<(), Failure> {
        let value = to_json(token).map_err(Failure::Refused)?;
        let query = "select hash from token where id = ?1";
        let known = self.connection().query_row(query, [&token.id], |row| row.get::<_, [u8; 32]>(0)).optional()?;
        if known.is_some_and(|known| known != *hash) {
            return Err(Failure::Refused(StoreError::Conflict));
        }
        let write = "insert into token (hash, id, value) values (?1, ?2, ?3)
                     on conflict (hash) do update set id = excluded.id, value = excluded.value";
        self.connection().execute(write, params![hash, token.id, value])?;
        self.append(records)?;
        Ok(())
    }

    pub(super) fn revoke_token(
        &mut self,
        id: &str,
        at: Moment,
        records: &[NewRecord],
    ) -> Result<Option<TokenState>, Failure> {
        let query = "select value from token where id = ?1";
        let known: Option<String> = self.connection().query_row(query, [id], |row| row.get(0)).optional()?;
        let Some(known) = known else { return Ok(None) };
        let mut token: TokenState = from_json("a token", &known).map_err(Failure::Refused)?;
        if token.revoked_at.is_none() {
            token.revoked_at = Some(at);
            let value = to_json(&token).map_err(Failure::Refused)?;
            self.connection().execute("update token set value = ?2 where id = ?1", params![id, value])?;
            self.append(records)?;
        }
        Ok(Some(token))
    }

    pub(super) fn put_secret(
        &mut self,
        (kind, hash): (&str, &[u8; 32]),
        value: &str,
        expires_at: Moment,
    ) -> Result<(), Failure> {
        let write = "insert or replace into secret (kind, hash, value, expires_at) values (?1, ?2, ?3, ?4)";
        self.connection().execute(write, params![kind, hash, value, signed(expires_at)])?;
        Ok(())
    }

    pub(super) fn take_secret(
        &mut self,
        (kind, hash): (&str, &[u8; 32]),
        now: Moment,
    ) -> Result<Option<String>, Failure> {
        let take = "delete from secret where kind = ?1 and hash = ?2 and expires_at > ?3 returning value";
        Ok(self.connection().query_row(take, params![kind, hash, signed(now)], |row| row.get(0)).optional()?)
    }

    pub(super) fn value_or_put(&mut self, name: &str, value: &str) -> Result<String, Failure> {
        let put = "insert into value (name, value) values (?1, ?2) on conflict do nothing";
        self.connection().execute(put, [name, value])?;
        Ok(self.connection().query_row("select value from value where name = ?1", [name], |row| row.get(0))?)
    }

    /// Forgets some records of the days before this one. How many; 0 when there are no more.
    pub(super) fn forget(&mut self, day: i64) -> Result<u64, Failure> {
        self.write_days()?;
        let kept: Option<i64> =
            self.connection().query_row("select min(first) from day where day >= ?1", [day], |row| row.get(0))?;
        let last = kept.map_or(self.place.number, |first| first - 1);
        let forgotten: i64 = self.connection().query_row("select forgotten_number from chain", [], |row| row.get(0))?;
        let upto = last.min(forgotten.saturating_add(FORGOTTEN_TOGETHER));
        if upto <= forgotten {
            return Ok(0);
        }
        let link = "select link from record where number = ?1";
        let link = self.connection().query_row(link, [upto], |row| row.get::<_, [u8; 32]>(0)).optional()?;
        let missing = || StoreError::Damaged(format!("the audit record {upto} is missing\nhelp: verify the audit"));
        let link = link.ok_or_else(missing).map_err(Failure::Refused)?;
        let gone = self.connection().execute("delete from record where number <= ?1", [upto])?;
        let keep = "update chain set forgotten_number = ?1, forgotten_link = ?2";
        self.connection().execute(keep, params![upto, link])?;
        if upto == last {
            self.connection().execute("delete from day where day < ?1", [day])?;
        }
        Ok(u64::try_from(gone).unwrap_or(u64::MAX))
    }

    /// Forgets settled questions and values whose time was over before this.
    pub(super) fn sweep(&mut self, moment: Moment) -> Result<(), Failure> {
        let old = "delete from approval where state <> 'pending' and created_at < ?1 and expires_at < ?1";
        self.connection().execute(old, [signed(moment)])?;
        self.connection().execute("delete from secret where expires_at < ?1", [signed(moment)])?;
        Ok(())
    }
}

/// The clock, for the day alone.
fn now() -> Moment {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
