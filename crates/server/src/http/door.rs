//! The door: what every request passes, in this order, before a route sees it. Whoever is refused here has cost little.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::extract::{MatchedPath, Request, State};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, REFERRER_POLICY, STRICT_TRANSPORT_SECURITY, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::limit::{Limits, Rates};
use super::peer::Peer;
use super::{body, origin, stream};
use crate::access::site::Site;
use crate::access::{Access, Shown};
use crate::principal::{Principal, Proof};
use crate::problem::Problem;
use crate::telemetry::Telemetry;

/// Requests that wait for nobody are answered within this time.
const PATIENCE: Duration = Duration::from_secs(30);
/// Those that wait for a person, or read everything there is, end by themselves; this is for those that do not.
const LONG_PATIENCE: Duration = Duration::from_secs(25 * 60 * 60);
/// Routes that take their time.
const LONG: &[&str] =
    &["/v1/decide", "/v1/events", "/v1/approvals/{id}", "/v1/audit/export", "/v1/audit/verify", "/v1/audit/replay"];
/// What may be asked for by anybody. Everything else below `/v1` needs a token or a sign-in, whatever its route says.
const OPEN: &[&str] = &["/v1/openapi.json", "/v1/policy/key", SIGN_IN, "/v1/sign-out"];
const SIGN_IN: &str = "/v1/sign-in";

const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; \
     frame-ancestors 'none'; base-uri 'none'; form-action 'self'",
);

/// What the door knows.
#[derive(Debug)]
pub(super) struct Door {
    access: Access,
    telemetry: Telemetry,
    limits: Limits,
}

impl Door {
    pub(super) fn new(access: Access, telemetry: Telemetry, rates: Rates) -> Self {
        Self { access, telemetry, limits: Limits::new(rates) }
    }

    /// Whether a request may come in, and what a route gets to see of it.
    async fn admit(&self, request: Request, peer: Peer) -> Result<Request, Problem> {
        let (mut parts, body) = request.into_parts();
        let site = self.access.site();
        let host = origin::host(&parts, site, &peer)?;
        origin::own_page(&parts, site, &host)?;
        let who = self.who(&parts, &peer).await?;
        match parts.uri.path() {
            SIGN_IN => self.limits.may_fail(peer.address)?,
            path if who.is_none() && must_be_known(path) => return Err(Problem::Unknown),
            _ => {}
        }
        let limit = body::limit(&parts, who.as_ref());
        let body = body::read(body, &parts.headers, limit).await?;
        parts.extensions.insert(peer);
        if let Some(who) = who {
            parts.extensions.insert(who);
        }
        Ok(Request::from_parts(parts, body))
    }

    /// Who sends it, within the limits of how often they may.
    async fn who(&self, parts: &Parts, peer: &Peer) -> Result<Option<Principal>, Problem> {
        match self.access.shown(&parts.headers) {
            Shown::Token(token) => self.holder(token, peer).await.map(Some),
            Shown::Garbage => self.failed(peer, Problem::Stale),
            Shown::Cookie(cookie) => self.person(cookie, parts, peer).await,
            Shown::Nothing => self.limits.address(peer.address).map(|()| None),
        }
    }

    async fn holder(&self, token: &str, peer: &Peer) -> Result<Principal, Problem> {
        let who = match self.access.remembers(token) {
            Some(who) => who,
            None => {
                // Who was good before is not locked out by others who guess at the same address.
                if !self.access.knew(token) {
                    self.limits.may_fail(peer.address)?;
                }
                match self.access.holder(token).await {
                    Ok(who) => who,
                    Err(Problem::Stale) => return self.failed(peer, Problem::Stale),
                    Err(problem) => return Err(problem),
                }
            }
        };
        if let Proof::Token(id) = &who.proof {
            self.limits.token(id)?;
        }
        Ok(who)
    }

    async fn person(&self, cookie: &str, parts: &Parts, peer: &Peer) -> Result<Option<Principal>, Problem> {
        self.limits.address(peer.address)?;
        // Browsers keep a strict cookie from other sites by themselves; those that say so are believed.
        if origin::is_foreign(&parts.headers) {
            return Ok(None);
        }
        let Some((who, sign_in)) = self.access.signed_in(cookie).await? else { return Ok(None) };
        if parts.uri.path() != SIGN_IN {
            self.access.own_page(&parts.method, &parts.headers, &sign_in)?;
        }
        Ok(Some(who))
    }

    /// A failed attempt to show who it is. So many are answered as what they are, the rest is not even looked at.
    fn failed<T>(&self, peer: &Peer, problem: Problem) -> Result<T, Problem> {
        self.limits.failed(peer.address)?;
        Err(problem)
    }
}

fn must_be_known(path: &str) -> bool {
    path.starts_with("/v1/") && !OPEN.contains(&path)
}

/// Lets a request through the door, and its answer out.
pub(super) async fn pass(State(door): State<Arc<Door>>, request: Request, next: Next) -> Response {
    let began = Instant::now();
    let route = request.extensions().get::<MatchedPath>().cloned();
    let method = request.method().clone();
    let span = door.telemetry.begin(&method, route.as_ref(), request.headers());
    let patience = route.as_ref().map_or(PATIENCE, patience);
    let peer = Peer::of((request.extensions(), request.headers()), door.access.site().front);
    let answered = async {
        let is_guess = request.uri().path() == SIGN_IN;
        let response = match door.admit(request, peer).await {
            Ok(request) => next.run(request).await,
            Err(problem) => return problem.into_response(),
        };
        // A code that is not good counts like a token that is not.
        if is_guess && response.status() == StatusCode::GONE {
            door.limits.count_failure(peer.address);
        }
        response
    };
    let mut response = match tokio::time::timeout(patience, answered).await {
        Ok(response) => response,
        Err(_) => Problem::TimedOut.into_response(),
    };
    harden(response.headers_mut(), &method, door.access.site());
    door.telemetry.metrics.request((&method, route.as_ref()), response.status(), began.elapsed());
    span.end(response.status());
    stream::counted(response, &door.telemetry.metrics)
}

fn patience(route: &MatchedPath) -> Duration {
    if LONG.contains(&route.as_str()) { LONG_PATIENCE } else { PATIENCE }
}

/// What every answer says to browsers: run nothing but this server's own files, show this in nobody's frame, guess no
/// types, tell nobody where you were, keep nothing of an answer that did not say otherwise.
fn harden(headers: &mut HeaderMap, method: &Method, site: &Site) {
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(CONTENT_SECURITY_POLICY, POLICY);
    headers.insert("cross-origin-resource-policy", HeaderValue::from_static("same-origin"));
    headers.insert("cross-origin-opener-policy", HeaderValue::from_static("same-origin"));
    headers.insert("x-frame-options", HeaderValue::from_static("DENY"));
    if site.is_encrypted() {
        headers.insert(STRICT_TRANSPORT_SECURITY, HeaderValue::from_static("max-age=31536000"));
    }
    if !method.is_safe() || !headers.contains_key(CACHE_CONTROL) {
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
}
