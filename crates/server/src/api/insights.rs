//! Figures for people over HTTP.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use mayi_engine::remote::wire::Moment;
use serde::Deserialize;

use super::{May, See};
use crate::app::App;
use crate::http::input::Query;
use crate::insights::{Insights, gather};
use crate::problem::Problem;

/// A day, in milliseconds.
const DAY: u64 = 24 * 60 * 60 * 1000;

/// From when on.
#[derive(Debug, Default, Deserialize, utoipa::IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
pub(super) struct From {
    /// In milliseconds of the Unix clock; a day ago where nothing is said.
    since: Option<Moment>,
}

/// What was decided, where, how often people were asked, and what would save them.
#[utoipa::path(get, path = "/v1/insights", tag = "insights", params(From),
    responses((status = 200, description = "figures", body = Insights), Problem))]
pub(super) async fn insights(
    State(app): State<Arc<App>>,
    _may: May<See>,
    Query(from): Query<From>,
) -> Result<Json<Insights>, Problem> {
    let since = from.since.unwrap_or_else(|| app.now().saturating_sub(DAY));
    Ok(Json(gather(&app, since).await?))
}
