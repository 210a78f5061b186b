//! Deciding over HTTP: one line of the batch format, or many.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::State;
use axum::extract::rejection::BytesRejection;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use mayi_core::reason::Reason;
use mayi_core::referral::{self, PersonAnswer};
use mayi_core::step::Step;
use mayi_core::trace::Finding;
use mayi_core::verdict::{Decision, Verdict};
use mayi_engine::batch::{self, Decided};
use mayi_engine::remote::wire::{Approval, Moment, Placed, State as Standing};
use serde::Serialize;
use serde_json::Value;

use crate::app::App;
use crate::approvals::{self, overdue, wait};
use crate::deciding::asked::{Asked, Unreadable};
use crate::deciding::{Answered, Sitting, Unanswered};
use crate::principal::{Act, Principal};
use crate::problem::Problem;

/// How many lines one request may bring.
const LINES: usize = 10_000;
/// How many lines are decided until others have their turn.
const TURN: usize = 32;
/// How often a call is decided again because the policy changed while it waited.
const AGAIN: usize = 5;

/// A call to decide: a line of the batch format, and who makes it.
#[derive(Serialize, utoipa::ToSchema)]
#[schema(as = Call)]
pub(super) struct CallSchema {
    /// Comes back with the answer.
    #[schema(value_type = Option<Value>)]
    id: Value,
    /// The tool.
    tool: String,
    /// Its input.
    input: Value,
    /// The mode.
    mode: Option<String>,
    /// The working directory, absolute.
    cwd: Option<String>,
    /// The user's home.
    home: Option<String>,
    /// Nobody can be asked: no question is put.
    unattended: Option<bool>,
    /// The user layer of settings; without it and without `layers`, the server's policy decides.
    settings: Option<Value>,
    /// Settings by layer.
    layers: Option<Value>,
    /// The session that it belongs to.
    session: Option<String>,
    /// The agent program.
    agent: Option<String>,
    /// The agent within the session.
    child: Option<String>,
    /// The agent's name for the call.
    call_id: Option<String>,
    /// The machine.
    host: Option<String>,
    /// How long the answer may wait for a person.
    wait_seconds: Option<u64>,
    /// Nothing is recorded and nobody is asked.
    dry_run: Option<bool>,
}

/// What was decided.
#[derive(Serialize, utoipa::ToSchema)]
#[schema(as = Decided)]
pub(super) struct DecidedSchema {
    /// As it was given.
    #[schema(value_type = Option<Value>)]
    id: Value,
    /// `allow`, `ask` or `deny`.
    verdict: String,
    /// The step that settled it.
    step: String,
    /// Why, as data.
    reason: Value,
    /// Why, in words.
    message: String,
    /// The run ends, and why.
    aborted: Option<String>,
    /// Every step.
    trace: Vec<Value>,
    /// What the call does, in short.
    effects: Vec<String>,
    /// The question that was put about it.
    approval: Option<Placed>,
}

/// Decides a call, or with `application/x-ndjson` many. What is answered is in the audit.
#[utoipa::path(
    post, path = "/v1/decide", tag = "decide",
    request_body(content(
        (CallSchema = "application/json"),
        (String = "application/x-ndjson"),
    )),
    responses(
        (status = 200, description = "what was decided", content(
            (DecidedSchema = "application/json"),
            (String = "application/x-ndjson"),
        )),
        Problem,
    )
)]
pub(super) async fn decide(
    State(app): State<Arc<App>>,
    principal: Principal,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, Problem> {
    if !principal.role.may(Act::See) {
        principal.must(Act::Ask)?;
    }
    let body = body.map_err(|rejection| Problem::Malformed(rejection.body_text()))?;
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    match kind.split(';').next().map(str::trim) {
        Some("application/json") => one(&app, &principal, &body).await,
        Some("application/x-ndjson") => many(&app, &principal, &body).await,
        _ => Err(Problem::Unreadable("the body must be `application/json` or `application/x-ndjson`".to_owned())),
    }
}

async fn one(app: &App, principal: &Principal, body: &[u8]) -> Result<Response, Problem> {
    let asked = Asked::read(body).map_err(|Unreadable { problem, .. }| {
        let is_json = serde_json::from_slice::<serde::de::IgnoredAny>(body).is_ok();
        if is_json { Problem::Unfit(problem) } else { Problem::Malformed(problem) }
    })?;
    let answered = match asked.about.wait_seconds {
        Some(seconds) => waited(app, principal, (asked, seconds)).await?,
        None => sat(app, principal, &asked).await?.answer(&asked.line.id),
    };
    Ok(([(header::CONTENT_TYPE, "application/json")], answered).into_response())
}

/// Decides one call, and makes it durable.
async fn sat(app: &App, principal: &Principal, asked: &Asked) -> Result<Answered, Problem> {
    let mut sitting = Sitting::new(app, principal);
    let answered = sitting.decide(asked).await.map_err(|unanswered| match unanswered {
        Unanswered::Problem(problem) => problem,
        Unanswered::Line(problem) => Problem::Unfit(problem),
    })?;
    sitting.close().await?;
    Ok(answered)
}

impl Answered {
    fn answer(&self, id: &Value) -> String {
        let placed = self.approval.as_ref().map(|approval| Placed {
            id: approval.id.clone(),
            expires_at: approval.expires_at,
            digest: approval.question.digest.clone(),
        });
        self.decided.answer(id, placed.as_ref())
    }
}

/// Decides a call and waits for the person's answer. A policy that changes meanwhile has it decided again; when nobody
/// answers in time, it is no.
async fn waited(app: &App, principal: &Principal, (mut asked, seconds): (Asked, u64)) -> Result<String, Problem> {
    let end: Moment = app.now().saturating_add(seconds.saturating_mul(1000));
    for _ in 0..AGAIN {
        let left = end.saturating_sub(app.now());
        asked.about.wait_seconds = Some(left.div_ceil(1000).max(1));
        let answered = sat(app, principal, &asked).await?;
        let Some(approval) = &answered.approval else { return Ok(answered.answer(&asked.line.id)) };
        let left = approval.expires_at.min(end.max(app.now())).saturating_sub(app.now());
        let found = wait::settled(app, &approval.id, Duration::from_millis(left)).await?;
        let found = match found {
            Some(found) if found.state == Standing::Pending && *app.stopping().borrow() => {
                return Err(Problem::Away("the server stops".to_owned()));
            }
            // Whoever waited no longer does, so nobody may say yes any more.
            Some(found) if found.state == Standing::Pending => overdue::expire(app, &found).await?,
            found => found,
        };
        let Some(found) = found else { return Err(Problem::Broken) };
        let by_server = found.answer.as_ref().is_some_and(|answer| answer.by == approvals::SERVER);
        if found.state == Standing::Withdrawn && by_server && app.now() < end {
            continue;
        }
        let Answered { decided, .. } = answered;
        let decided = Decided { decision: settled(decided.decision, &found), ..decided };
        return Ok(decided.answer(&asked.line.id, None));
    }
    Err(Problem::Conflict("the policy changed each time the question was put".to_owned()))
}

/// What became of a decision that asked.
fn settled(decision: Decision, approval: &Approval) -> Decision {
    match (approval.state, &approval.answer) {
        (Standing::Answered, Some(answer)) => {
            referral::answered(decision, PersonAnswer { verdict: answer.verdict, comment: answer.comment.clone() })
        }
        (Standing::Answered | Standing::Pending | Standing::Expired | Standing::Withdrawn, answer) => {
            let comment = answer.as_ref().and_then(|answer| answer.comment.clone());
            let problem = comment.unwrap_or_else(|| "nobody answered in time".to_owned());
            let reason = Reason::Trouble { problem };
            let Decision { terms, mut trace, .. } = decision;
            trace.push(Step::Human, Finding::Settle(Verdict::Deny, reason.clone()));
            Decision { verdict: Verdict::Deny, step: Step::Human, reason, terms, trace }
        }
    }
}

/// Decides lines in order. A bad one has an answer of its own; nothing is answered before all of it is durable.
async fn many(app: &App, principal: &Principal, body: &[u8]) -> Result<Response, Problem> {
    let lines = body.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
    let mut sitting = Sitting::new(app, principal);
    let mut answers = String::with_capacity(body.len().saturating_mul(4));
    for (number, line) in lines.enumerate() {
        if number >= LINES {
            return Err(Problem::Unfit(format!("more than {LINES} lines")));
        }
        if number % TURN == TURN - 1 {
            tokio::task::yield_now().await;
        }
        answers.push_str(&answer_of(&mut sitting, line).await?);
        answers.push('\n');
    }
    sitting.close().await?;
    Ok(([(header::CONTENT_TYPE, "application/x-ndjson")], answers).into_response())
}

async fn answer_of(sitting: &mut Sitting<'_>, line: &[u8]) -> Result<String, Problem> {
    let asked = match Asked::read(line) {
        Ok(asked) => asked,
        Err(Unreadable { id, problem }) => return Ok(batch::failed(&id, problem)),
    };
    let id = &asked.line.id;
    if asked.about.wait_seconds.is_some() {
        return Ok(batch::failed(id, "`wait_seconds` is for a call that comes alone".to_owned()));
    }
    match sitting.decide(&asked).await {
        Ok(answered) => Ok(answered.answer(id)),
        Err(Unanswered::Line(problem)) => Ok(batch::failed(id, problem)),
        Err(Unanswered::Problem(problem)) => match problem.status() {
            status if status.is_server_error() => Err(problem),
            _ => Ok(batch::failed(id, problem.to_string())),
        },
    }
}
