//! The workbench over HTTP: what a change of settings means, and what recorded calls would be told by others. Work for
//! a thread of its own, and for few at a time.

use std::collections::HashMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use mayi_analysis::diff::diff as compare;
use mayi_analysis::replay::{Bench, Replay};
use mayi_core::call::Workspace;
use mayi_core::mode::Mode;
use mayi_core::policy::Layer;
use mayi_engine::audit::{Record, Recorded};
use mayi_engine::observe::Imagined;
use mayi_engine::remote::wire::Moment;
use mayi_settings::load::Bundle;
use mayi_settings::{Given, Loaded, of_values};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{Audit, May, See};
use crate::app::App;
use crate::http::input::Body;
use crate::problem::Problem;
use crate::store::{RecordFilter, StoredRecord};

/// How many recorded calls are decided again at most.
const MOST: usize = 20_000;
/// How many records are read at a time.
const PAGE: usize = 2000;

/// Two settings to compare.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
pub(super) struct Pair {
    /// The settings before.
    old: Value,
    /// The settings after.
    new: Value,
    /// Where they apply; the root of the file system where nothing is said.
    #[serde(default)]
    cwd: Option<String>,
    /// The user's home.
    #[serde(default)]
    home: Option<String>,
}

/// What recorded calls are decided by.
#[derive(Debug, Default, Deserialize, utoipa::ToSchema)]
#[serde(default)]
pub(super) struct Trial {
    /// The user layer of settings; without it and without `layers`, the server's policy.
    settings: Option<Value>,
    /// Settings by layer.
    #[schema(value_type = Option<Object>)]
    layers: Map<String, Value>,
    /// Another mode than the recorded one.
    #[schema(value_type = Option<String>)]
    mode: Option<Mode>,
    /// Not older, in milliseconds of the Unix clock.
    since: Option<Moment>,
    /// At most so many, the newest.
    limit: Option<usize>,
}

/// What a change of settings means, each difference shown by a call.
#[utoipa::path(post, path = "/v1/policy/diff", tag = "policy", request_body = Pair,
    responses((status = 200, description = "where more passes and where less", body = Object), Problem))]
pub(super) async fn diff(
    State(app): State<Arc<App>>,
    _may: May<See>,
    Body(pair): Body<Pair>,
) -> Result<Json<Value>, Problem> {
    let directory = pair.cwd.as_deref().unwrap_or("/");
    if !directory.starts_with('/') {
        return Err(Problem::Unfit(format!("the working directory `{directory}` is not absolute")));
    }
    let workspace = Workspace { home: pair.home.clone(), ..Workspace::at(directory) };
    let managed = app.settings.current().managed();
    in_turn(&app, move || {
        let load = |settings: &Value| of_values(&[(Layer::User, settings)], &workspace, &bound(managed.clone()));
        let found = compare(&load(&pair.old), &load(&pair.new), &Imagined::default());
        serde_json::to_value(found).map_err(|_| Problem::Broken)
    })
    .await
    .map(Json)
}

fn bound(bundles: Vec<Bundle>) -> Given {
    Given { bundles, ..Given::default() }
}

/// Decides recorded calls again, and says what would change.
#[utoipa::path(post, path = "/v1/audit/replay", tag = "audit", request_body = Trial,
    responses((status = 200, description = "what would change", body = Object), Problem))]
pub(super) async fn replay(
    State(app): State<Arc<App>>,
    _may: May<Audit>,
    Body(trial): Body<Trial>,
) -> Result<Json<Value>, Problem> {
    let layers = layers(&trial)?;
    let limit = trial.limit.unwrap_or(MOST).min(MOST);
    let records = decisions(&app, trial.since, limit).await?;
    let (shared, mode) = (app.clone(), trial.mode);
    in_turn(&app, move || {
        let mut kept: HashMap<(String, Option<String>), Arc<Loaded>> = HashMap::new();
        let mut settings = |recorded: &Recorded| {
            let key = (recorded.cwd.clone(), recorded.ground.as_ref().and_then(|ground| ground.home.clone()));
            kept.entry(key.clone()).or_insert_with(|| loaded(&shared, &layers, key)).clone()
        };
        let observer = Imagined::default();
        let mut replay = Replay::on(Bench { settings: &mut settings, mode, observer: &observer });
        for record in records.iter().rev() {
            if let Ok(Record::Decision(recorded)) = Record::read(&record.text) {
                replay.add(&recorded);
            }
        }
        serde_json::to_value(replay.report()).map_err(|_| Problem::Broken)
    })
    .await
    .map(Json)
}

fn layers(trial: &Trial) -> Result<Vec<(Layer, Value)>, Problem> {
    let mut layers: Vec<(Layer, Value)> = trial.settings.iter().map(|value| (Layer::User, value.clone())).collect();
    for (name, value) in &trial.layers {
        let layer = Layer::ALL.into_iter().find(|layer| layer.word() == name);
        let layer = layer.ok_or_else(|| Problem::Unfit(format!("`{name}` is no layer")))?;
        layers.push((layer, value.clone()));
    }
    Ok(layers)
}

/// The settings that apply where a call was made.
fn loaded(app: &App, layers: &[(Layer, Value)], (cwd, home): (String, Option<String>)) -> Arc<Loaded> {
    let workspace = Workspace { home, ..Workspace::at(if cwd.starts_with('/') { &cwd } else { "/" }) };
    if layers.is_empty() {
        return app.policies.seen_from(workspace);
    }
    let layers: Vec<(Layer, &Value)> = layers.iter().map(|(layer, value)| (*layer, value)).collect();
    Arc::new(of_values(&layers, &workspace, &bound(app.settings.current().managed())))
}

/// The newest decisions.
async fn decisions(app: &App, since: Option<Moment>, limit: usize) -> Result<Vec<StoredRecord>, Problem> {
    let mut filter = RecordFilter {
        since,
        kind: Some("decision".to_owned()),
        newest_first: true,
        limit: PAGE.min(limit),
        ..RecordFilter::default()
    };
    let mut all = Vec::new();
    while all.len() < limit {
        let found = app.store.records(filter.clone()).await?;
        let is_last = found.len() < filter.limit;
        filter.before = found.last().map(|record| record.number);
        all.extend(found);
        if is_last {
            break;
        }
        filter.limit = PAGE.min(limit - all.len().min(limit)).max(1);
    }
    Ok(all)
}

/// Does heavy work on a thread of its own, when it is its turn.
pub(crate) async fn in_turn<T: Send + 'static>(
    app: &App,
    work: impl FnOnce() -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    let turn = app.turns.clone().try_acquire_owned().map_err(|_| Problem::TooMany { seconds: 5 })?;
    let done = tokio::task::spawn_blocking(move || {
        let done = work();
        drop(turn);
        done
    });
    done.await.map_err(|_| Problem::Broken)?
}
