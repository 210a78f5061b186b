//! The routes of access: who am I, tokens, signing in and out.

use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use mayi_engine::remote::wire::Failure;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::cookie::{self, Leash};
use super::oidc::{self, Back, Oidc};
use super::token::{Made, NewToken};
use super::{Access, Shown, link, token};
use crate::api::{Govern, May};
use crate::http::input::{Body, Path, Query};
use crate::principal::{Principal, Role};
use crate::problem::Problem;
use crate::store::TokenState;

/// The cookie that binds an OIDC sign-in to the browser that began it.
const BOUND: &str = "mayi-oidc";

/// The routes of access.
pub fn routes() -> OpenApiRouter<Access> {
    OpenApiRouter::new()
        .routes(routes!(me))
        .routes(routes!(tokens, make_token))
        .routes(routes!(revoke_token))
        .routes(routes!(sign_in))
        .routes(routes!(sign_out))
        .routes(routes!(oidc_begin))
        .routes(routes!(oidc_callback))
}

/// Who makes this request.
#[derive(Debug, Serialize, ToSchema)]
struct Me {
    /// The token's or the person's name.
    name: String,
    /// What they are for.
    role: Role,
    /// The word that requests with a cookie must bring in the header `mayi-csrf`.
    #[serde(skip_serializing_if = "Option::is_none")]
    csrf: Option<String>,
}

/// Who you are.
#[utoipa::path(get, path = "/v1/me", tag = "access", responses((status = 200, body = Me), Problem))]
async fn me(State(access): State<Access>, headers: HeaderMap, who: Principal) -> Result<axum::Json<Me>, Problem> {
    let csrf = match access.shown(&headers) {
        Shown::Cookie(cookie) => access.signed_in(cookie).await?.map(|(_, sign_in)| sign_in.csrf),
        Shown::Nothing | Shown::Token(_) | Shown::Garbage => None,
    };
    Ok(axum::Json(Me { name: who.name, role: who.role, csrf }))
}

/// Every token, without the tokens themselves.
#[utoipa::path(get, path = "/v1/tokens", tag = "access", responses((status = 200, body = Vec<TokenState>), Problem))]
async fn tokens(State(access): State<Access>, _may: May<Govern>) -> Result<axum::Json<Vec<TokenState>>, Problem> {
    Ok(axum::Json(access.0.store.tokens().await?))
}

/// Makes a token. It is shown this once.
#[utoipa::path(post, path = "/v1/tokens", tag = "access", request_body = NewToken, responses((status = 201, body = Made), Problem))]
async fn make_token(
    State(access): State<Access>,
    May(who, _): May<Govern>,
    Body(wanted): Body<NewToken>,
) -> Result<Response, Problem> {
    let made = token::make(&*access.0.store, wanted, (&who.name, access.0.clock.now())).await?;
    Ok((StatusCode::CREATED, axum::Json(made)).into_response())
}

/// Revokes a token: it works no more, within a second or two on every server.
#[utoipa::path(delete, path = "/v1/tokens/{id}", tag = "access", params(("id" = String, Path, description = "The token's id.")), responses((status = 200, body = TokenState), Problem))]
async fn revoke_token(
    State(access): State<Access>,
    May(who, _): May<Govern>,
    Path(id): Path<String>,
) -> Result<axum::Json<TokenState>, Problem> {
    Ok(axum::Json(token::revoke(&*access.0.store, &id, (&who.name, access.0.clock.now())).await?))
}

/// The code of a one-time link.
#[derive(Debug, Deserialize, ToSchema)]
struct Code {
    /// What stood behind `#sign-in=`.
    code: String,
}

/// Signs in with the code of a one-time link; gives a cookie.
#[utoipa::path(post, path = "/v1/sign-in", tag = "access", request_body = Code, security(()), responses((status = 200, body = Me), Problem))]
async fn sign_in(State(access): State<Access>, Body(Code { code }): Body<Code>) -> Result<Response, Problem> {
    let (store, now) = (&*access.0.store, access.0.clock.now());
    let invited = link::take(store, &code, now).await?;
    let cookie = cookie::begin(store, (&invited.person, invited.role), ("link", now)).await?;
    let csrf = access.signed_in(&cookie).await?.map(|(_, sign_in)| sign_in.csrf);
    let me = Me { name: invited.person, role: invited.role, csrf };
    Ok(([(header::SET_COOKIE, cookie::signed_in(&access.0.site, &cookie)?)], axum::Json(me)).into_response())
}

/// Signs out: the cookie works no more.
#[utoipa::path(post, path = "/v1/sign-out", tag = "access", security((), ("cookie" = [])), responses((status = 204, description = "signed out"), Problem))]
async fn sign_out(State(access): State<Access>, headers: HeaderMap) -> Result<Response, Problem> {
    if let Some(cookie) = cookie::find(&headers, access.0.site.cookie()) {
        cookie::end(&*access.0.store, cookie, access.0.clock.now()).await?;
    }
    let removed = cookie::removed(&access.0.site, access.0.site.cookie())?;
    Ok((StatusCode::NO_CONTENT, [(header::SET_COOKIE, removed)]).into_response())
}

/// Leads the browser to the sign-in service.
#[utoipa::path(get, path = "/sign-in/oidc", tag = "access", security(()), responses((status = 303, description = "to the sign-in service"), Problem))]
async fn oidc_begin(State(access): State<Access>) -> Result<Response, Problem> {
    let (service, site) = (service(&access)?, &access.0.site);
    let journey = service.begin(&*access.0.store, (site.base(), access.0.clock.now())).await?;
    let bound = cookie::set(site, (BOUND, &journey.state), (oidc::LASTS / 1000, Leash::Lax))?;
    let to = HeaderValue::try_from(journey.to).map_err(|_| Problem::Broken)?;
    Ok((StatusCode::SEE_OTHER, [(header::LOCATION, to), (header::SET_COOKIE, bound)]).into_response())
}

/// What the sign-in service sends back by the browser.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct Callback {
    /// The code.
    code: Option<String>,
    /// The state that was sent.
    state: Option<String>,
    /// Who the service is.
    iss: Option<String>,
    /// Why it did not work.
    error: Option<String>,
}

/// Ends a sign-in at the sign-in service; gives a cookie and leads to the page.
#[utoipa::path(get, path = "/sign-in/oidc/callback", tag = "access", params(Callback), security(()), responses((status = 303, description = "to the page"), Problem))]
async fn oidc_callback(
    State(access): State<Access>,
    headers: HeaderMap,
    Query(back): Query<Callback>,
) -> Result<Response, Problem> {
    let (service, site, store) = (service(&access)?, &access.0.site, &*access.0.store);
    if let Some(error) = back.error {
        let word: String = error.chars().filter(|letter| letter.is_ascii_graphic()).take(60).collect();
        return Err(Problem::Refused(format!("the sign-in service refused: `{word}`")));
    }
    let (Some(code), Some(state)) = (back.code, back.state) else {
        return Err(Problem::Malformed("the sign-in service sent no code or no state".to_owned()));
    };
    // A stranger could lead a person's browser here with the stranger's own code.
    if cookie::find(&headers, BOUND) != Some(state.as_str()) {
        return Err(Problem::Refused("this sign-in was begun in another browser".to_owned()));
    }
    let now = access.0.clock.now();
    let back = Back { code: &code, state: &state, issuer: back.iss.as_deref(), base: site.base(), now };
    let (person, role) = service.finish(store, back).await?;
    let cookie = cookie::begin(store, (&person, role), ("oidc", now)).await?;
    let mut response = (StatusCode::SEE_OTHER, [(header::LOCATION, HeaderValue::from_static("/"))]).into_response();
    response.headers_mut().append(header::SET_COOKIE, cookie::signed_in(site, &cookie)?);
    response.headers_mut().append(header::SET_COOKIE, cookie::removed(site, BOUND)?);
    Ok(response)
}

fn service(access: &Access) -> Result<&Oidc, Problem> {
    access
        .0
        .oidc
        .as_ref()
        .ok_or_else(|| Problem::Absent("no sign-in service is set up: see `server.oidc` in the settings".to_owned()))
}

/// The schemas that only failures name.
#[derive(utoipa::OpenApi)]
#[openapi(components(schemas(Failure)))]
pub(crate) struct Failures;
