//! The OpenAPI document: made of the routes themselves, served at `/v1/openapi.json`.

use axum::Router;
use axum::body::Bytes;
use axum::http::header;
use axum::routing::get;
use utoipa::OpenApi;
use utoipa::openapi::security::{ApiKey, ApiKeyValue, HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::{Components, InfoBuilder, License, OpenApi as Document, SecurityRequirement};

use crate::access::Failures;

/// The document before any route is in it.
pub(super) fn beginning() -> Document {
    let mut document = Failures::openapi();
    document.info = InfoBuilder::new()
        .title("mayi")
        .version(env!("CARGO_PKG_VERSION"))
        .description(Some("Decisions, approvals, audit and shared state of mayi, the permission engine for AI agents."))
        .license(Some(License::new("MIT OR Apache-2.0")))
        .build();
    let components = document.components.get_or_insert_with(Components::new);
    let token = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).description(Some("A token of `mayi token create`."));
    components.add_security_scheme("token", SecurityScheme::Http(token.build()));
    let cookie = ApiKeyValue::with_description(
        "mayi",
        "A person's sign-in. Requests that change something also need the header `mayi-csrf`.",
    );
    components.add_security_scheme("cookie", SecurityScheme::ApiKey(ApiKey::Cookie(cookie)));
    let none: [&str; 0] = [];
    document.security = Some(vec![SecurityRequirement::new("token", none), SecurityRequirement::new("cookie", none)]);
    document
}

/// The route that serves the document.
pub(super) fn route(document: Document) -> Router {
    // A document that cannot be written would be a mistake in a type of ours; tests read it.
    let text = Bytes::from(document.to_pretty_json().unwrap_or_default());
    let answer = async move || ([(header::CONTENT_TYPE, "application/json")], text);
    Router::new().route("/v1/openapi.json", get(answer))
}
