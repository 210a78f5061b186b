//! From a call to its answer: who makes it, by which policy, what becomes of it, and the record that is durable before
//! anybody hears of it. The engine decides; the server brings state and keeps it.
//!
//! INVARIANT: what was answered is in the audit, and what the answer changed in its session was changed in the same
//! stroke. Where the store is away, nothing is answered.

pub mod asked;
pub mod policies;
pub mod standing;

use std::collections::HashMap;
use std::time::SystemTime;

use mayi_core::call::Call;
use mayi_core::inspect::{self, Inspection};
use mayi_core::pipeline::Said;
use mayi_core::reason::Reason;
use mayi_core::referral::{Classified, HookAnswer, PersonAnswer};
use mayi_core::session::Aborted;
use mayi_core::step::Step;
use mayi_core::trace::{Finding, Trace};
use mayi_core::verdict::{Decision, Terms, Verdict};
use mayi_engine::audit::{Circumstances, Entry};
use mayi_engine::batch::{BadLine, Decided, Line};
use mayi_engine::remote::wire::Approval;
use mayi_engine::{Engine, Outcome, Respond};
use mayi_shell::observe::Observations;

use crate::app::App;
use crate::approvals;
use crate::principal::{Act, Principal};
use crate::problem::Problem;
use crate::record;
use crate::store::{NewRecord, SessionState, StoreError};
use asked::Asked;
use standing::{Standing, Unclear, owner, standing};

/// How often a decision is made again because others changed its session meanwhile.
const TRIES: usize = 200;
/// How many open calls of a session are remembered.
const AWAITING: usize = 50;
/// How long a session is not told to have been seen, in milliseconds: most calls change nothing.
const SEEN: u64 = 60_000;

/// One request to decide, with one line or many.
#[derive(Debug)]
pub struct Sitting<'a> {
    app: &'a App,
    principal: &'a Principal,
    sessions: HashMap<String, SessionState>,
    /// Records of decisions that nobody has heard of yet.
    unwritten: Vec<NewRecord>,
}

/// What became of a line.
#[derive(Debug)]
pub struct Answered {
    /// The decision.
    pub decided: Decided,
    /// The question that was put about it.
    pub approval: Option<Approval>,
}

/// Why a line has no answer.
#[derive(Debug)]
pub enum Unanswered {
    /// The request as a whole cannot be served.
    Problem(Problem),
    /// This line cannot be decided.
    Line(String),
}

impl From<Problem> for Unanswered {
    fn from(problem: Problem) -> Self {
        Self::Problem(problem)
    }
}

impl From<BadLine> for Unanswered {
    fn from(error: BadLine) -> Self {
        Self::Line(error.to_string())
    }
}

impl<'a> Sitting<'a> {
    /// A request of somebody.
    pub fn new(app: &'a App, principal: &'a Principal) -> Self {
        Self { app, principal, sessions: HashMap::new(), unwritten: Vec::new() }
    }

    /// Decides a call. Its answer may leave when [`Sitting::close`] has returned.
    pub async fn decide(&mut self, asked: &Asked) -> Result<Answered, Unanswered> {
        let is_try = asked.about.dry_run;
        if !(is_try && self.principal.role.may(Act::See)) {
            self.principal.must(Act::Ask)?;
        }
        for _ in 0..TRIES {
            match self.attempt(asked).await {
                // Somebody else's answer in the same session came first, so everything is looked at again.
                Err(Unanswered::Problem(Problem::Conflict(_))) => {
                    self.sessions.clear();
                    tokio::task::yield_now().await;
                }
                done => return done,
            }
        }
        Err(Problem::Away("the session is changed by too many at once".to_owned()).into())
    }

    /// Makes the records durable. Nothing may be answered before.
    pub async fn close(self) -> Result<(), Problem> {
        if !self.unwritten.is_empty() {
            self.app.store.append(self.unwritten).await?;
        }
        Ok(())
    }

    async fn attempt(&mut self, asked: &Asked) -> Result<Answered, Unanswered> {
        let since = SystemTime::now();
        let standing = match standing(self.app, asked, self.principal, &mut self.sessions).await {
            Ok(standing) => standing,
            Err(Unclear::Problem(problem)) => return Err(problem.into()),
            Err(Unclear::Line(error)) => return Err(error.into()),
            Err(Unclear::Broken(broken)) => {
                let decided = refused(&asked.line, broken.to_string(), None);
                return self.keep(asked, None, (decided, since)).await;
            }
        };
        let decided = evaluate(&asked.line, &standing).await?;
        self.keep(asked, Some(standing), (decided, since)).await
    }

    /// Keeps what a decision changed, and everything that must be durable before it is told.
    async fn keep(
        &mut self,
        asked: &Asked,
        standing: Option<Standing>,
        (decided, since): (Decided, SystemTime),
    ) -> Result<Answered, Unanswered> {
        if asked.about.dry_run {
            return Ok(Answered { decided, approval: None });
        }
        let record = self.record(asked, standing.as_ref(), (&decided, since))?;
        self.unwritten.push(record);
        let Some(standing) = standing else {
            self.app.tally.decided(decided.verdict());
            return Ok(Answered { decided, approval: None });
        };
        if let Some(changed) = self.changed(asked, &standing, &decided) {
            self.put(changed).await?;
        }
        let approval = if decided.verdict() == Verdict::Ask {
            let question = approvals::question(self.app, asked, (&standing, owner(self.principal)), &decided);
            let records = self.unwritten.clone();
            let approval = approvals::put(self.app, question, asked.about.wait_seconds, records).await?;
            self.unwritten.clear();
            Some(approval)
        } else {
            None
        };
        self.app.tally.decided(decided.verdict());
        Ok(Answered { decided, approval })
    }

    /// Puts a changed session, and with it every record that waits. A conflict takes this call's own record back.
    async fn put(&mut self, changed: SessionState) -> Result<(), Problem> {
        let records = self.unwritten.clone();
        match self.app.store.put_session(changed, records).await {
            Ok(state) => {
                self.unwritten.clear();
                self.sessions.insert(state.id.clone(), state);
                Ok(())
            }
            Err(error) => {
                if matches!(error, StoreError::Conflict) {
                    self.unwritten.pop();
                }
                Err(error.into())
            }
        }
    }

    fn record(
        &self,
        asked: &Asked,
        standing: Option<&Standing>,
        (decided, since): (&Decided, SystemTime),
    ) -> Result<NewRecord, Problem> {
        let about = &asked.about;
        let directory = standing.map(|standing| standing.in_force.policy.workspace.directory.as_str());
        let circumstances = Circumstances {
            agent: about.agent(),
            session: about.session.as_deref().unwrap_or_default(),
            child: about.child.as_deref(),
            event: "decide",
            call_id: about.call_id.as_deref(),
            cwd: directory.or(asked.line.cwd.as_deref()).unwrap_or_default(),
            mode: standing.map(Standing::mode).or(asked.line.mode).unwrap_or_default(),
            since,
        };
        let mut entry = Entry::decision(circumstances, &decided.call, &decided.decision);
        if let Some(standing) = standing {
            entry = entry.resting_on(standing.ground(&asked.line));
        }
        record::decision(&entry, &decided.decision, (about.session.as_deref(), self.principal, about.host.as_deref()))
    }

    /// The session after a decision, where it is not as it was.
    fn changed(&self, asked: &Asked, standing: &Standing, decided: &Decided) -> Option<SessionState> {
        let state = standing.state.as_ref()?;
        let limits = standing.in_force.policy.options.limits;
        let mut after = state.clone();
        after.record.session.note(&decided.decision, limits);
        if let Some(aborted) = &decided.aborted {
            after.record.session.aborted.get_or_insert_with(|| aborted.clone());
        }
        if let (Reason::DenialLimit { .. }, Some(id)) = (decided.decision.reason.root(), &asked.about.call_id) {
            after.record.awaiting.push(id.clone());
            let surplus = after.record.awaiting.len().saturating_sub(AWAITING);
            after.record.awaiting.drain(..surplus);
        }
        match (asked.line.mode, &asked.about.child) {
            (Some(mode), None) => after.record.session.mode = mode,
            // A session that begins without a word goes on in the mode it began in.
            (None, _) if state.version == 0 => after.record.session.mode = standing.mode(),
            (None, _) | (Some(_), Some(_)) => {}
        }
        let now = self.app.now();
        let faded = now.saturating_sub(state.seen) > SEEN;
        if after.record == state.record && state.version > 0 && !faded {
            return None;
        }
        after.seen = now;
        Some(after)
    }
}

/// Decides a line by what stands behind it.
async fn evaluate(line: &Line, standing: &Standing) -> Result<Decided, BadLine> {
    let policy = &standing.in_force.policy;
    if let [only] = standing.members.as_slice() {
        return Ok(match line.decide(policy.clone(), only.session.clone())? {
            Ok(decided) => decided,
            Err(aborted) => refused(line, aborted.to_string(), Some(aborted)),
        });
    }
    let engine = Engine::new(line.observer(&policy.workspace)?, Words(line));
    let call = Call::new(&line.tool, line.input.clone());
    Ok(match engine.decide_in_line(call, &standing.members).await {
        Ok(Outcome { call, decision, aborted, .. }) => {
            let session = standing.members.first().map(|member| member.session.clone()).unwrap_or_default();
            let inspection = inspect::inspect(&call, policy, &session, &Observations::of_nothing());
            Decided { call, decision, aborted, inspection }
        }
        Err(aborted) => refused(line, aborted.to_string(), Some(aborted)),
    })
}

/// A no that rests on nothing but a problem.
fn refused(line: &Line, problem: String, aborted: Option<Aborted>) -> Decided {
    let reason = Reason::Trouble { problem };
    let mut trace = Trace::default();
    trace.push(Step::Fallback, Finding::Settle(Verdict::Deny, reason.clone()));
    let decision = Decision { verdict: Verdict::Deny, step: Step::Fallback, reason, terms: Terms::default(), trace };
    let call = Call::new(&line.tool, line.input.clone());
    Decided { call, decision, aborted, inspection: Inspection::default() }
}

/// What a line brings in place of those who would be asked. People are asked by the server, later.
struct Words<'a>(&'a Line);

impl Respond for Words<'_> {
    async fn before(&self, _: &Call) -> (Option<Said>, Option<Call>) {
        (self.0.said(), None)
    }

    async fn classify(&self, _: &Call) -> Classified {
        self.0.classified()
    }

    async fn hooks(&self, _: &Call) -> Option<HookAnswer> {
        None
    }

    async fn person(&self, _: &Call, _: &Decision) -> Option<PersonAnswer> {
        None
    }
}
