//! The server's policy over HTTP: what is in force and where it stands, what is odd about it, and the organisation's
//! part of it for agents to fetch, signed.

use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use mayi_core::call::Workspace;
use mayi_core::policy::{Entry, Idle, Origin, Status};
use mayi_core::verdict::Verdict;
use mayi_engine::remote::wire::{Bundle, SIGNATURE};
use mayi_engine::version::version;
use mayi_settings::load::{Withheld, Withholding};
use mayi_settings::{Given, Loaded, of_values};
use ring::rand::SystemRandom;
use ring::signature::{Ed25519KeyPair, KeyPair};
use serde::Serialize;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::{Ask, May, See};
use crate::app::App;
use crate::problem::Problem;

/// The policy in force.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[schema(as = Policy)]
pub(super) struct View {
    /// Its version, as records name it.
    version: String,
    /// Every rule, strongest layer first.
    rules: Vec<RuleView>,
    /// Everything else that decisions look at.
    #[schema(value_type = Object)]
    options: Value,
    /// What is wrong with the settings.
    #[schema(value_type = Vec<Object>)]
    problems: Vec<Value>,
}

/// A rule, where it stands, and whether it counts.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[schema(as = PolicyRule)]
pub(super) struct RuleView {
    rule: String,
    #[schema(value_type = String)]
    list: Verdict,
    #[schema(value_type = Object)]
    origin: Origin,
    /// `active`, or why it does not count.
    status: String,
}

/// A public key.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct Key {
    /// Ed25519, in base64.
    key: String,
}

/// The policy in force.
#[utoipa::path(get, path = "/v1/policy", tag = "policy",
    responses((status = 200, description = "the policy in force", body = View), Problem))]
pub(super) async fn policy(State(app): State<Arc<App>>, _may: May<See>) -> Result<Json<View>, Problem> {
    let loaded = app.settings.current();
    let rules = loaded.policy.entries().iter().map(|entry| counted(entry)).chain(loaded.withheld.iter().map(withheld));
    let problems = loaded.problems();
    Ok(Json(View {
        version: app.policies.version().to_string(),
        rules: rules.collect(),
        options: options(&loaded),
        problems: problems.iter().map(|problem| serde_json::to_value(problem).unwrap_or_default()).collect(),
    }))
}

fn counted(entry: &Entry) -> RuleView {
    let status = match &entry.status {
        Status::Live => "active".to_owned(),
        Status::Malformed(error) => format!("no rule: {error}"),
        Status::Idle(idle) => match idle {
            Idle::OtherSpelling { use_instead } => format!("never consulted: write {use_instead}(…)"),
            Idle::NoContent => "the tool takes no content".to_owned(),
            Idle::PrimaryField => "names the tool's primary field".to_owned(),
            Idle::MatchesNothing => "matches nothing".to_owned(),
        },
    };
    shown(&entry.text, entry.verdict, &entry.origin, status)
}

fn withheld(held: &Withheld) -> RuleView {
    let status = match held.why {
        Withholding::NeedsTrust => "needs trust",
        Withholding::ManagedOnly => "only the organisation's rules count",
    };
    shown(&held.written.text, held.written.verdict, &held.origin, status.to_owned())
}

fn shown(rule: &str, list: Verdict, origin: &Origin, status: String) -> RuleView {
    let mut rule = rule.to_owned();
    mayi_settings::secret::redact(&mut rule);
    RuleView { rule, list, origin: origin.clone(), status }
}

fn options(loaded: &Loaded) -> Value {
    let options = &loaded.policy.options;
    json!({
        "default_mode": options.default_mode.unwrap_or_default(),
        "bypass_disabled": options.bypass_disabled,
        "auto_disabled": options.auto_disabled,
        "block_reads_outside": options.block_outside_reads,
        "sandbox": {"enabled": options.sandbox.enabled, "auto_allow": options.sandbox.auto_allow},
        "limits": options.limits,
        "managed_rules_only": !loaded.may_save_rules(),
        "directories": loaded.policy.workspace.added,
        "approval_timeout_seconds": loaded.settings.server.approval_timeout_seconds,
        "retention_days": loaded.settings.audit.retention_days,
    })
}

/// What is odd about the rules in force.
#[utoipa::path(get, path = "/v1/policy/lint", tag = "policy",
    responses((status = 200, description = "findings", body = Vec<Object>), Problem))]
pub(super) async fn lint(State(app): State<Arc<App>>, _may: May<See>) -> Result<Json<Vec<Value>>, Problem> {
    let loaded = app.settings.current();
    let found = tokio::task::spawn_blocking(move || mayi_analysis::lint::lint(&loaded)).await;
    let found = found.map_err(|_| Problem::Broken)?;
    Ok(Json(found.iter().map(|problem| serde_json::to_value(problem).unwrap_or_default()).collect()))
}

/// The organisation's settings for agents, signed; 304 where nothing changed.
#[utoipa::path(get, path = "/v1/policy/bundle", tag = "policy",
    params(("if-none-match" = Option<String>, Header, description = "the version that is there already")),
    responses(
        (status = 200, description = "settings, with their signature in the header `mayi-signature`", body = Bundle),
        (status = 304, description = "nothing changed"),
        Problem,
    ))]
pub(super) async fn bundle(
    State(app): State<Arc<App>>,
    _may: May<Ask>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let settings = app.settings.current().managed_as_one();
    let digest = Sha256::digest(settings.to_string().as_bytes());
    let tag = digest.iter().take(16).fold("\"".to_owned(), |tag, byte| format!("{tag}{byte:02x}")) + "\"";
    let known = headers.get(header::IF_NONE_MATCH).and_then(|tags| tags.to_str().ok()).unwrap_or_default();
    if known.split(',').any(|known| known.trim().trim_start_matches("W/") == tag) {
        return Ok((StatusCode::NOT_MODIFIED, [(header::ETAG, tag)]).into_response());
    }
    let named = mayi_settings::load::Bundle { name: "bundle".to_owned(), settings: settings.clone() };
    let given = Given { bundles: vec![named], ..Given::default() };
    let version = version(&of_values(&[], &Workspace::at("/"), &given).policy);
    let body = serde_json::to_vec(&Bundle { version, issued_at: app.now(), settings }).map_err(|_| Problem::Broken)?;
    let signature = STANDARD.encode(key_pair(&app).await?.sign(&body));
    let kind = (header::CONTENT_TYPE.as_str(), "application/json".to_owned());
    let headers = [kind, (header::ETAG.as_str(), tag), (SIGNATURE, signature)];
    Ok((headers, Bytes::from(body)).into_response())
}

/// The key that bundles are signed with, the same on every server of the fleet.
#[utoipa::path(get, path = "/v1/policy/key", tag = "policy",
    responses((status = 200, description = "the key", body = Key), Problem))]
pub(super) async fn key(State(app): State<Arc<App>>) -> Result<Json<Key>, Problem> {
    let pair = key_pair(&app).await?;
    Ok(Json(Key { key: STANDARD.encode(pair.public_key().as_ref()) }))
}

/// The fleet's key; whoever asks first makes it.
async fn key_pair(app: &App) -> Result<Ed25519KeyPair, Problem> {
    let fresh = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).map_err(|_| Problem::Broken)?;
    let kept = app.store.value_or_put("bundle-key".to_owned(), STANDARD.encode(fresh.as_ref())).await?;
    let kept = STANDARD.decode(kept).map_err(|_| Problem::Broken)?;
    Ed25519KeyPair::from_pkcs8(&kept).map_err(|_| Problem::Broken)
}
