//! Questions over HTTP: put, listed, waited for, answered, taken back.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use mayi_engine::remote::wire::{AnswerRequest, Approval, NewApproval, PolicyOf, Question, State as Standing, digest};
use serde::{Deserialize, Serialize};

use super::{Answer, Ask, May, See};
use crate::app::App;
use crate::approvals::{self, wait};
use crate::deciding::asked::is_name;
use crate::deciding::standing::{check_owner, owner};
use crate::http::input::{Body, Path, Query};
use crate::principal::{Act, Principal};
use crate::problem::Problem;
use crate::record;
use crate::store::{ApprovalFilter, Settled};

/// How many questions are listed at most.
const MOST: usize = 1000;
/// How long one request waits at most, in seconds.
const LONGEST: u64 = 3600;
/// What a question may show, in bytes.
const LARGEST: usize = 512 * 1024;
/// What a preview of a change may show, in bytes: a person reads it before they answer.
const LARGEST_PREVIEW: usize = 128 * 1024;
/// How many rules a client may offer.
const OFFERS: usize = 20;

/// Questions.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct Approvals {
    /// Those that wait oldest first, others newest first.
    approvals: Vec<Approval>,
}

/// Which questions.
#[derive(Debug, Default, Deserialize, utoipa::IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
pub(super) struct Which {
    /// Only in this state.
    state: Option<Standing>,
    /// Only of this session, or bubbling up to it.
    session: Option<String>,
    /// At most so many.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<usize>,
}

/// How long to wait.
#[derive(Debug, Default, Deserialize, utoipa::IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
pub(super) struct Patience {
    /// Waits so many seconds at most until the question is settled.
    #[param(minimum = 0)]
    wait_seconds: Option<u64>,
}

/// Puts a question about a call that the client decided itself.
#[utoipa::path(post, path = "/v1/approvals", tag = "approvals", request_body = NewApproval,
    responses((status = 201, description = "the question waits", body = Approval), Problem))]
pub(super) async fn put(
    State(app): State<Arc<App>>,
    May(principal, _): May<Ask>,
    Body(new): Body<NewApproval>,
) -> Result<Response, Problem> {
    let question = checked(&principal, new.question)?;
    if !question.session.is_empty()
        && let Some(state) = app.store.session(question.session.clone()).await?
    {
        check_owner(&principal, &state)?;
        if state.ended.is_some() {
            return Err(Problem::Gone(format!("the session `{}` has ended", state.id)));
        }
    }
    let approval = approvals::put(&app, question, new.timeout_seconds, Vec::new()).await?;
    Ok((StatusCode::CREATED, Json(approval)).into_response())
}

/// The question as it is kept: what only the server can say is said by the server.
fn checked(principal: &Principal, mut question: Question) -> Result<Question, Problem> {
    let unfit = |words: String| Err(Problem::Unfit(words));
    if question.tool.is_empty() {
        return unfit("the question names no tool".to_owned());
    }
    let names = [Some(&question.session), question.lead.as_ref(), question.call_id.as_ref(), question.child.as_ref()];
    if names.into_iter().flatten().any(|name| !name.is_empty() && !is_name(name)) {
        return unfit("a name is too long or no plain text".to_owned());
    }
    let expected = digest(&question.tool, &question.input, (&question.cwd, &question.policy));
    if question.digest != expected {
        return unfit("the digest is not that of the tool, the input, the directory and the policy".to_owned());
    }
    if question.preview.as_ref().is_some_and(|preview| preview.len() > LARGEST_PREVIEW) {
        return unfit(format!("the preview is longer than {LARGEST_PREVIEW} bytes"));
    }
    if question.offers.len() > OFFERS {
        return unfit(format!("more than {OFFERS} rules are offered"));
    }
    for offer in &question.offers {
        if let Err(error) = offer.rule.parse::<mayi_core::rule::Rule>() {
            return unfit(format!("`{}` is no rule: {error}", offer.rule));
        }
    }
    question.policy_of = PolicyOf::Client;
    question.owner = owner(principal);
    let mut whole = serde_json::to_value(&question).map_err(|_| Problem::Broken)?;
    record::hide(&mut whole);
    if whole.to_string().len() > LARGEST {
        return unfit(format!("the question is longer than {LARGEST} bytes"));
    }
    serde_json::from_value(whole).map_err(|_| Problem::Broken)
}

/// Questions.
#[utoipa::path(get, path = "/v1/approvals", tag = "approvals", params(Which),
    responses((status = 200, description = "questions", body = Approvals), Problem))]
pub(super) async fn list(
    State(app): State<Arc<App>>,
    _may: May<See>,
    Query(which): Query<Which>,
) -> Result<Json<Approvals>, Problem> {
    if which.session.as_ref().is_some_and(|session| !is_name(session)) {
        return Ok(Json(Approvals { approvals: Vec::new() }));
    }
    let limit = which.limit.unwrap_or(200).clamp(1, MOST);
    let filter = ApprovalFilter { state: which.state, session: which.session, limit };
    Ok(Json(Approvals { approvals: app.store.approvals(filter).await? }))
}

/// A question, once it is settled or the time is over.
#[utoipa::path(get, path = "/v1/approvals/{id}", tag = "approvals", params(("id" = String, Path, description = "its name"), Patience),
    responses((status = 200, description = "the question as it stands", body = Approval), Problem))]
pub(super) async fn one(
    State(app): State<Arc<App>>,
    principal: Principal,
    Path(id): Path<String>,
    Query(patience): Query<Patience>,
) -> Result<Json<Approval>, Problem> {
    if !principal.role.may(Act::See) {
        own(&app, &principal, &id).await?;
    }
    if !is_name(&id) {
        return Err(absent(&id));
    }
    let within = Duration::from_secs(patience.wait_seconds.unwrap_or(0).min(LONGEST));
    wait::settled(&app, &id, within).await?.map(Json).ok_or_else(|| absent(&id))
}

/// Takes a question back.
#[utoipa::path(delete, path = "/v1/approvals/{id}", tag = "approvals", params(("id" = String, Path, description = "its name")),
    responses((status = 200, description = "the question as it stands", body = Approval), Problem))]
pub(super) async fn withdraw(
    State(app): State<Arc<App>>,
    May(principal, _): May<Ask>,
    Path(id): Path<String>,
) -> Result<Json<Approval>, Problem> {
    let approval = own(&app, &principal, &id).await?;
    let answer = approvals::no(&principal.name, app.now(), "whoever asked took the question back");
    let records = vec![record::answer(&approval, &answer)];
    let settled = app.store.settle(id.clone(), Standing::Withdrawn, Some(answer), records).await?;
    match settled.ok_or_else(|| absent(&id))? {
        Settled::Now(approval) | Settled::Before(approval) => Ok(Json(approval)),
    }
}

/// Answers a question.
#[utoipa::path(post, path = "/v1/approvals/{id}/answer", tag = "approvals", params(("id" = String, Path, description = "its name")),
    request_body = AnswerRequest,
    responses((status = 200, description = "the question as it stands; the header `mayi-answered: before` says that somebody was faster", body = Approval), Problem))]
pub(super) async fn answer(
    State(app): State<Arc<App>>,
    May(principal, _): May<Answer>,
    Path(id): Path<String>,
    Body(request): Body<AnswerRequest>,
) -> Result<Response, Problem> {
    if !is_name(&id) {
        return Err(absent(&id));
    }
    Ok(match approvals::answer::answer(&app, &principal, &id, request).await? {
        Settled::Now(approval) => Json(approval).into_response(),
        Settled::Before(approval) => ([("mayi-answered", "before")], Json(approval)).into_response(),
    })
}

/// A question that belongs to whoever asks for it. Others learn nothing, not even that it is there.
async fn own(app: &App, principal: &Principal, id: &str) -> Result<Approval, Problem> {
    principal.must(Act::Ask)?;
    if !is_name(id) {
        return Err(absent(id));
    }
    let found = app.store.approval(id.to_owned()).await?;
    let is_own = |approval: &Approval| principal.role.may(Act::See) || approval.question.owner == owner(principal);
    found.filter(is_own).ok_or_else(|| absent(id))
}

fn absent(id: &str) -> Problem {
    Problem::Absent(format!("there is no question `{id}`"))
}
