//! Sessions over HTTP: begun by agents, seen and changed by people, ended by either.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use mayi_core::lineage::Inheritance;
use mayi_core::mode::Mode;
use mayi_core::rule::Rule;
use mayi_core::session::{Aborted, Availability, Denials, Limits, Session};
use mayi_core::verdict::Verdict;
use mayi_engine::remote::wire::Moment;
use mayi_settings::update::SessionRule;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Answer, Ask, May, See};
use crate::app::App;
use crate::approvals;
use crate::deciding::asked::is_name;
use crate::deciding::standing::{check_owner, owner};
use crate::http::input::{Body, Path, Query};
use crate::principal::{Act, Principal};
use crate::problem::Problem;
use crate::record;
use crate::store::{Counts, NewRecord, SessionState, StoreError};

/// How far back the list reaches, in milliseconds.
const RECENT: u64 = 7 * 24 * 60 * 60 * 1000;
/// How many sessions are listed.
const MOST: usize = 1000;
/// In how many of them decisions are counted.
const COUNTED: usize = 200;
/// Names and paths are short.
const LONGEST: usize = 1000;
/// How many rules a session takes.
const RULES: usize = 500;
/// How often a change is tried again because others changed the session meanwhile.
const TRIES: usize = 50;

/// A session that begins.
#[derive(Debug, Default, Deserialize, utoipa::ToSchema)]
#[serde(default)]
pub(super) struct NewSession {
    /// Its name; one is made where none is given.
    id: Option<String>,
    /// The agent program.
    agent: String,
    /// Where it works.
    directory: String,
    /// The machine.
    host: Option<String>,
    /// Its mode.
    #[schema(value_type = Option<String>)]
    mode: Option<Mode>,
    /// The session that started it.
    lead: Option<String>,
    /// What becomes of its asks: `ask`, `bubble` or `allow`.
    #[schema(value_type = Option<String>)]
    inheritance: Option<Inheritance>,
}

/// A session.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[schema(as = Session)]
pub(super) struct View {
    /// Its name.
    id: String,
    /// The agent program.
    agent: String,
    /// The machine.
    host: Option<String>,
    /// Where it works.
    directory: String,
    /// The session that started it.
    lead: Option<String>,
    /// What becomes of its asks.
    #[schema(value_type = String)]
    inheritance: Inheritance,
    /// Its mode.
    #[schema(value_type = String)]
    mode: Mode,
    /// Rules from answers.
    rules: Vec<RuleOf>,
    /// Denials of auto mode.
    #[schema(value_type = Object)]
    denials: Denials,
    /// How many of them end in a question or in the end, by the policy of now.
    #[schema(value_type = Object)]
    limits: Limits,
    /// What was decided in it, where that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    counters: Option<Counts>,
    /// Why nothing of it is decided any more.
    aborted: Option<String>,
    /// Since when it is known.
    began: Moment,
    /// When it last asked.
    seen: Moment,
    /// When it ended.
    ended: Option<Moment>,
}

/// A rule of a session.
#[derive(Clone, Debug, Serialize, Deserialize, utoipa::ToSchema)]
pub(super) struct RuleOf {
    /// Its list; `allow` where nothing is said.
    #[serde(default = "allow")]
    #[schema(value_type = Option<String>)]
    list: Verdict,
    /// The rule.
    rule: String,
}

fn allow() -> Verdict {
    Verdict::Allow
}

/// Sessions.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct Sessions {
    /// Newest first.
    sessions: Vec<View>,
    /// The last record that was counted; what comes after it is to be added.
    #[serde(skip_serializing_if = "Option::is_none")]
    counted: Option<u64>,
}

/// What is wanted of sessions.
#[derive(Debug, Default, Deserialize, utoipa::IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
pub(super) struct Wanted {
    /// Count what was decided in the newest of them.
    counters: bool,
}

/// What is to change.
#[derive(Debug, Default, Deserialize, utoipa::ToSchema)]
#[serde(default)]
pub(super) struct Change {
    /// The mode.
    #[schema(value_type = Option<String>)]
    mode: Option<Mode>,
    /// Rules that are added.
    add_rules: Vec<RuleOf>,
    /// Rules that are taken out.
    remove_rules: Vec<RuleOf>,
}

impl View {
    fn of(app: &App, state: SessionState) -> Self {
        let rule = |own: &SessionRule| RuleOf { list: own.behavior, rule: own.rule.clone() };
        Self {
            mode: state.record.mode.unwrap_or(state.record.session.mode),
            rules: state.record.permissions.rules.iter().map(rule).collect(),
            denials: state.record.session.denials,
            limits: app.settings.current().policy.options.limits,
            counters: None,
            aborted: state.record.session.aborted.as_ref().map(ToString::to_string),
            id: state.id,
            agent: state.agent,
            host: state.host,
            directory: state.directory,
            lead: state.lead,
            inheritance: state.inheritance,
            began: state.began,
            seen: state.seen,
            ended: state.ended,
        }
    }
}

/// Begins a session. One that is there already and is the same token's is given as it is.
#[utoipa::path(post, path = "/v1/sessions", tag = "sessions", request_body = NewSession,
    responses((status = 201, description = "the session", body = View), (status = 200, description = "it was there already", body = View), Problem))]
pub(super) async fn create(
    State(app): State<Arc<App>>,
    May(principal, _): May<Ask>,
    Body(new): Body<NewSession>,
) -> Result<Response, Problem> {
    let id = match &new.id {
        Some(id) => id.clone(),
        None => approvals::name("s_")?,
    };
    let long = [Some(&id), Some(&new.agent), Some(&new.directory), new.host.as_ref(), new.lead.as_ref()];
    let odd = |text: &String| text.len() > LONGEST || text.contains(char::is_control);
    if !is_name(&id) || long.into_iter().flatten().any(odd) {
        return Err(Problem::Unfit("a name is empty, too long or no plain text".to_owned()));
    }
    if let Some(known) = app.store.session(id.clone()).await? {
        return there(&app, &principal, known);
    }
    if let Some(lead) = new.lead.as_ref() {
        let unknown = || Problem::Unfit(format!("the lead `{lead}` is not known"));
        let lead = app.store.session(lead.clone()).await?.filter(|found| found.id != id).ok_or_else(unknown)?;
        check_owner(&principal, &lead)?;
    }
    let now = app.now();
    let mut state = SessionState {
        id,
        agent: new.agent,
        host: new.host,
        directory: new.directory,
        lead: new.lead,
        inheritance: new.inheritance.unwrap_or_default(),
        began: now,
        seen: now,
        owner: owner(&principal),
        ..SessionState::default()
    };
    let usual = app.settings.current().policy.options.default_mode;
    state.record.session.mode = new.mode.or(usual).unwrap_or_default();
    let members = json!({"by": principal.name, "agent": state.agent, "from": Value::Null, "to": state.record.session.mode, "lead": state.lead});
    let records = vec![record::of("mode", now, Some(&state.id), members)];
    let id = state.id.clone();
    match app.store.put_session(state, records).await {
        Ok(state) => Ok((StatusCode::CREATED, Json(View::of(&app, state))).into_response()),
        Err(StoreError::Conflict) => there(&app, &principal, found(&app, &id).await?),
        Err(error) => Err(error.into()),
    }
}

fn there(app: &App, principal: &Principal, known: SessionState) -> Result<Response, Problem> {
    check_owner(principal, &known)?;
    match known.ended {
        Some(_) => Err(Problem::Gone(format!("the session `{}` has ended", known.id))),
        None => Ok(Json(View::of(app, known)).into_response()),
    }
}

async fn found(app: &App, id: &str) -> Result<SessionState, Problem> {
    let absent = || Problem::Absent(format!("there is no session `{id}`"));
    if !is_name(id) {
        return Err(absent());
    }
    app.store.session(id.to_owned()).await?.ok_or_else(absent)
}

/// Sessions that were seen lately.
#[utoipa::path(get, path = "/v1/sessions", tag = "sessions", params(Wanted),
    responses((status = 200, description = "sessions", body = Sessions), Problem))]
pub(super) async fn list(
    State(app): State<Arc<App>>,
    _may: May<See>,
    Query(wanted): Query<Wanted>,
) -> Result<Json<Sessions>, Problem> {
    let sessions = app.store.sessions(app.now().saturating_sub(RECENT), MOST).await?;
    let mut sessions: Vec<View> = sessions.into_iter().map(|state| View::of(&app, state)).collect();
    if !wanted.counters {
        return Ok(Json(Sessions { sessions, counted: None }));
    }
    let names = sessions.iter().take(COUNTED).map(|session| session.id.clone()).collect();
    let counted = app.store.counted(names).await?;
    for session in sessions.iter_mut().take(COUNTED) {
        session.counters = Some(counted.sessions.get(&session.id).copied().unwrap_or_default());
    }
    Ok(Json(Sessions { sessions, counted: Some(counted.number) }))
}

/// A session.
#[utoipa::path(get, path = "/v1/sessions/{id}", tag = "sessions", params(("id" = String, Path, description = "its name")),
    responses((status = 200, description = "the session", body = View), Problem))]
pub(super) async fn one(
    State(app): State<Arc<App>>,
    principal: Principal,
    Path(id): Path<String>,
) -> Result<Json<View>, Problem> {
    if !principal.role.may(Act::See) {
        principal.must(Act::Ask)?;
    }
    let state = found(&app, &id).await?;
    check_owner(&principal, &state)?;
    let counted = app.store.counted(vec![id.clone()]).await?;
    let counters = Some(counted.sessions.get(&id).copied().unwrap_or_default());
    Ok(Json(View { counters, ..View::of(&app, state) }))
}

/// Changes a session's mode or rules. Questions of it that wait are taken back: they were about another mode.
#[utoipa::path(patch, path = "/v1/sessions/{id}", tag = "sessions", params(("id" = String, Path, description = "its name")), request_body = Change,
    responses((status = 200, description = "the session", body = View), Problem))]
pub(super) async fn change(
    State(app): State<Arc<App>>,
    May(principal, _): May<Answer>,
    Path(id): Path<String>,
    Body(change): Body<Change>,
) -> Result<Json<View>, Problem> {
    for rule in change.add_rules.iter().chain(&change.remove_rules) {
        if let Err(error) = rule.rule.parse::<Rule>() {
            return Err(Problem::Unfit(format!("`{}` is no rule: {error}", rule.rule)));
        }
    }
    let changed = amend(&app, &id, |state| apply(&app, &principal, state, &change)).await?;
    if change.mode.is_some() || !change.remove_rules.is_empty() {
        approvals::withdraw_of_session(&app, &id, "the session was changed meanwhile: ask again").await?;
    }
    Ok(Json(View::of(&app, changed)))
}

fn apply(
    app: &App,
    principal: &Principal,
    state: &mut SessionState,
    change: &Change,
) -> Result<Vec<NewRecord>, Problem> {
    let mut records = Vec::new();
    if state.ended.is_some() {
        return Err(Problem::Gone(format!("the session `{}` has ended", state.id)));
    }
    let now = app.now();
    if let Some(mode) = change.mode {
        let from = state.record.mode.unwrap_or(state.record.session.mode);
        may_enter(app, state, mode)?;
        state.record.mode = Some(mode);
        state.record.session.generation += 1;
        let members = json!({"by": principal.name, "from": from, "to": mode});
        records.push(record::of("mode", now, Some(&state.id), members));
    }
    if change.add_rules.is_empty() && change.remove_rules.is_empty() {
        return Ok(records);
    }
    let rules = &mut state.record.permissions.rules;
    let of = |rule: &RuleOf| SessionRule { behavior: rule.list, rule: rule.rule.clone() };
    let removed: Vec<SessionRule> = change.remove_rules.iter().map(of).collect();
    rules.retain(|rule| !removed.contains(rule));
    for rule in change.add_rules.iter().map(of) {
        if !rules.contains(&rule) {
            rules.push(rule);
        }
    }
    if rules.len() > RULES {
        return Err(Problem::Unfit(format!("a session takes {RULES} rules")));
    }
    let members =
        json!({"by": principal.name, "added": change.add_rules, "removed": change.remove_rules, "layer": "session"});
    records.push(record::of("rules", now, Some(&state.id), members));
    Ok(records)
}

/// Bypass is there from a session's start or not at all; settings may forbid it and auto.
fn may_enter(app: &App, state: &SessionState, mode: Mode) -> Result<(), Problem> {
    let bypass = state.record.session.mode == Mode::BypassPermissions;
    let availability = Availability { bypass, auto: true, ..Availability::default() };
    let session = Session { availability, ..Session::default() };
    let policy = &app.settings.current().policy;
    session.may_enter(mode, policy).map_err(|refused| Problem::Unfit(refused.to_string()))
}

/// Ends a session: nothing of it is decided any more, nor of those that it started.
#[utoipa::path(delete, path = "/v1/sessions/{id}", tag = "sessions", params(("id" = String, Path, description = "its name")),
    responses((status = 200, description = "the session", body = View), Problem))]
pub(super) async fn end(
    State(app): State<Arc<App>>,
    principal: Principal,
    Path(id): Path<String>,
) -> Result<Json<View>, Problem> {
    if !principal.role.may(Act::Answer) {
        principal.must(Act::Ask)?;
        check_owner(&principal, &found(&app, &id).await?)?;
    }
    let ended = amend(&app, &id, |state| {
        if state.ended.is_some() {
            return Ok(Vec::new());
        }
        state.ended = Some(app.now());
        state.record.session.aborted.get_or_insert(Aborted::Stopped);
        let members = json!({"by": principal.name, "from": state.record.session.mode, "to": "ended"});
        Ok(vec![record::of("mode", app.now(), Some(&state.id), members)])
    })
    .await?;
    approvals::withdraw_of_session(&app, &id, "the session has ended").await?;
    Ok(Json(View::of(&app, ended)))
}

/// Changes a session, whoever else does at the same time.
async fn amend(
    app: &App,
    id: &str,
    change: impl Fn(&mut SessionState) -> Result<Vec<NewRecord>, Problem>,
) -> Result<SessionState, Problem> {
    for _ in 0..TRIES {
        let mut state = found(app, id).await?;
        let records = change(&mut state)?;
        if records.is_empty() {
            return Ok(state);
        }
        match app.store.put_session(state, records).await {
            Err(StoreError::Conflict) => {}
            done => return Ok(done?),
        }
    }
    Err(Problem::Conflict("the session is changed by too many at once".to_owned()))
}
