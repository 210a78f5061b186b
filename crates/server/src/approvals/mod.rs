//! Questions that people answer: put once, answered once, by somebody who may, for the very call that was shown.
//!
//! INVARIANT: a question that nobody answered in time is a no; an answer to something that changed is no answer.

pub mod answer;
pub mod offers;
pub mod overdue;
pub mod wait;

use std::sync::atomic::Ordering;

use mayi_core::reason::Reason;
use mayi_core::verdict::Verdict;
use mayi_engine::batch::Decided;
use mayi_engine::explain;
use mayi_engine::remote::wire::{Answer, Approval, Moment, Part, PolicyOf, Question, Remember, State, digest};
use serde_json::Value;

use crate::app::App;
use crate::deciding::asked::Asked;
use crate::deciding::standing::Standing;
use crate::problem::Problem;
use crate::record;
use crate::store::{ApprovalFilter, NewRecord};

/// How long a question waits where settings do not say, in seconds.
const PATIENCE: u64 = 300;
/// How many questions of one session may wait at a time.
const MOST: usize = 100;
/// Who is named where nobody answered.
pub const NOBODY: &str = "nobody";
/// Who is named where the server itself ended a question.
pub const SERVER: &str = "mayi";

/// How long a question may wait, in seconds.
pub fn patience(app: &App) -> u64 {
    app.settings.current().settings.server.approval_timeout_seconds.unwrap_or(PATIENCE)
}

/// The question about a call that the server decided.
pub fn question(app: &App, asked: &Asked, (standing, owner): (&Standing, String), decided: &Decided) -> Question {
    let in_force = &standing.in_force;
    let policy = &in_force.policy;
    let call = &decided.call;
    let cwd = policy.workspace.directory.clone();
    let mut input = call.input.clone();
    record::hide(&mut input);
    let observer = asked.line.observer(&policy.workspace).unwrap_or_default();
    let explained = explain::explain(call, policy, &observer);
    let bubbles = standing.prompt();
    let session = asked.about.session.clone().unwrap_or_default();
    Question {
        agent: asked.about.agent().to_owned(),
        // A question at another session's prompt is labelled with whoever asks.
        child: asked.about.child.clone().or_else(|| bubbles.as_ref().map(|_| session.clone())),
        session,
        lead: bubbles,
        call_id: asked.about.call_id.clone(),
        host: asked.about.host.clone(),
        tool: call.tool.clone(),
        digest: digest(&call.tool, &call.input, (&cwd, &in_force.version)),
        input,
        cwd,
        mode: standing.mode(),
        policy: in_force.version.to_string(),
        step: decided.decision.step.id().to_owned(),
        reason: hidden(serde_json::to_value(&decided.decision.reason)),
        message: words(decided.decision.reason.to_string()),
        trace: hidden(serde_json::to_value(&decided.decision.trace)),
        effects: decided.effects().into_iter().map(words).collect(),
        parts: parts(&decided.decision.reason),
        risk: Some(words(format!("{}: {}", explained.level, explained.risk))),
        preview: None,
        offers: offers::offers(app, asked, standing, decided),
        policy_of: in_force.of,
        owner,
    }
}

fn hidden(value: serde_json::Result<Value>) -> Value {
    let mut value = value.unwrap_or_default();
    record::hide(&mut value);
    value
}

fn words(mut text: String) -> String {
    mayi_settings::secret::redact(&mut text);
    text
}

/// The part of a command that asks, where it can be named.
fn parts(reason: &Reason) -> Vec<Part> {
    let Reason::Silence { part: Some(part) } = reason.root() else { return Vec::new() };
    let place = |(start, end)| Part { start, end, note: words(part.why.clone()) };
    part.span.map(place).into_iter().collect()
}

/// Puts a question, with the records that must be durable when it is seen. The same question about the same call that
/// still waits is not put twice.
pub async fn put(
    app: &App,
    question: Question,
    wait_seconds: Option<u64>,
    mut records: Vec<NewRecord>,
) -> Result<Approval, Problem> {
    let waiting = waiting(app, &question.session).await?;
    let is_same = |approval: &&Approval| {
        let other = &approval.question;
        other.call_id.is_some() && other.call_id == question.call_id && other.digest == question.digest
    };
    if let Some(same) = waiting.iter().find(is_same) {
        app.store.append(records).await?;
        return Ok(same.clone());
    }
    if waiting.len() >= MOST {
        return Err(Problem::TooMany { seconds: 30 });
    }
    let now = app.now();
    let limit = patience(app);
    let seconds = wait_seconds.unwrap_or(limit).clamp(1, limit);
    let approval = Approval {
        id: name("ap_")?,
        created_at: now,
        expires_at: now.saturating_add(seconds.saturating_mul(1000)),
        state: State::Pending,
        question,
        answer: None,
    };
    records.push(record::question(&approval));
    app.store.put_approval(approval.clone(), records).await?;
    app.tally.questions.fetch_add(1, Ordering::Relaxed);
    app.notices.leave(app, &approval);
    Ok(approval)
}

/// The questions of a session that wait. Those without a session are many people's, and are not compared.
async fn waiting(app: &App, session: &str) -> Result<Vec<Approval>, Problem> {
    if session.is_empty() {
        return Ok(Vec::new());
    }
    let filter = ApprovalFilter { state: Some(State::Pending), session: Some(session.to_owned()), limit: MOST };
    let mut found = app.store.approvals(filter).await?;
    found.retain(|approval| approval.question.session == session);
    Ok(found)
}

/// A name that nobody can guess.
pub fn name(prefix: &str) -> Result<String, Problem> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|_| Problem::Broken)?;
    Ok(bytes.iter().fold(prefix.to_owned(), |name, byte| format!("{name}{byte:02x}")))
}

/// A no that nobody gave.
pub fn no(by: &str, at: Moment, comment: &str) -> Answer {
    Answer {
        verdict: Verdict::Deny,
        by: by.to_owned(),
        at,
        comment: Some(comment.to_owned()),
        remember: Remember::Once,
        rule: None,
        layer: None,
    }
}

/// Takes every waiting question back that was decided by another policy than the server's of now, so that nobody
/// answers it: whoever asked is told to ask again.
pub async fn withdraw_outdated(app: &App) -> Result<(), Problem> {
    let version = app.policies.version();
    let filter = ApprovalFilter { state: Some(State::Pending), session: None, limit: usize::from(u16::MAX) };
    for approval in app.store.approvals(filter).await? {
        if approval.question.policy_of == PolicyOf::Server && *approval.question.policy != *version {
            withdraw(app, &approval, "the policy changed meanwhile: ask again").await?;
        }
    }
    Ok(())
}

/// Takes every waiting question of a session back, because what it was decided by has changed.
pub async fn withdraw_of_session(app: &App, session: &str, why: &str) -> Result<(), Problem> {
    for approval in waiting(app, session).await? {
        withdraw(app, &approval, why).await?;
    }
    Ok(())
}

/// Takes a question back.
pub async fn withdraw(app: &App, approval: &Approval, why: &str) -> Result<(), Problem> {
    let answer = no(SERVER, app.now(), why);
    let records = vec![record::answer(approval, &answer)];
    app.store.settle(approval.id.clone(), State::Withdrawn, Some(answer), records).await?;
    Ok(())
}
