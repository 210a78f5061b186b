//! What machines ask about the server: whether it lives, whether it is ready, what it counts.

use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::Peer;
use crate::app::App;
use crate::principal::{Act, Principal};
use crate::problem::Problem;
use crate::telemetry::Telemetry;

const PATIENCE: Duration = Duration::from_secs(2);

type Watched = State<(Arc<App>, Telemetry)>;

/// The routes of health.
pub(super) fn routes() -> OpenApiRouter<(Arc<App>, Telemetry)> {
    OpenApiRouter::new().routes(routes!(alive)).routes(routes!(ready)).routes(routes!(metrics))
}

/// The process lives.
#[utoipa::path(get, path = "/healthz", tag = "health", security(()), responses((status = 200, body = String, content_type = "text/plain"), Problem))]
async fn alive() -> &'static str {
    "ok\n"
}

/// The store answers.
#[utoipa::path(get, path = "/readyz", tag = "health", security(()), responses((status = 200, body = String, content_type = "text/plain"), Problem))]
async fn ready(watched: Watched) -> Result<&'static str, Problem> {
    watched.0.0.store.ready(PATIENCE).await?;
    Ok("ready\n")
}

/// Metrics, as Prometheus reads them: for this machine, and for whoever may see.
#[utoipa::path(get, path = "/metrics", tag = "health", security((), ("token" = [])), responses((status = 200, body = String, content_type = "application/openmetrics-text"), Problem))]
async fn metrics(
    watched: Watched,
    peer: Extension<Peer>,
    who: Option<Extension<Principal>>,
) -> Result<Response, Problem> {
    let State((app, telemetry)) = watched;
    match who {
        Some(Extension(who)) => who.must(Act::See)?,
        None if peer.is_near => {}
        None => return Err(Problem::Unknown),
    }
    telemetry.metrics.look_at(&*app.store, PATIENCE).await;
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    Ok(([(header::CONTENT_TYPE, kind)], telemetry.metrics.text()?).into_response())
}
