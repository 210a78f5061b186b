//! The body of a request: read as a whole before a route sees it, within a length and a time. Nobody holds a route open
//! by sending slowly.

use std::future::poll_fn;
use std::pin::Pin;
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, header};

use crate::principal::Principal;
use crate::problem::Problem;

/// Nobody knows who it is: enough to sign in.
const SMALL: usize = 64 * 1024;
const USUAL: usize = 1024 * 1024;
/// Many calls, or many records.
const LARGE: usize = 16 * 1024 * 1024;
const PATIENCE: Duration = Duration::from_secs(30);

/// How long the body of a request may be.
pub(super) fn limit(request: &Parts, who: Option<&Principal>) -> usize {
    if who.is_none() {
        return SMALL;
    }
    let kind = request.headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let is_many = kind.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/x-ndjson"));
    let is_shipment = request.method == Method::POST && request.uri.path() == "/v1/audit";
    if is_many || is_shipment { LARGE } else { USUAL }
}

/// The whole body.
pub(super) async fn read(body: Body, headers: &HeaderMap, limit: usize) -> Result<Body, Problem> {
    if body.is_end_stream() {
        return Ok(body);
    }
    let told = headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
    if told.is_some_and(|length| length > limit) {
        return Err(Problem::TooLong(limit));
    }
    let whole = tokio::time::timeout(PATIENCE, collect(body, limit)).await;
    whole.map_err(|_| Problem::Slow)?.map(Body::from)
}

async fn collect(mut body: Body, limit: usize) -> Result<Bytes, Problem> {
    let (mut first, mut rest) = (Bytes::new(), Vec::new());
    while let Some(frame) = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
        let frame = frame.map_err(|_| Problem::Malformed("the body ends too early".to_owned()))?;
        // Trailers say nothing here.
        let Ok(piece) = frame.into_data() else { continue };
        if first.len() + rest.len() + piece.len() > limit {
            return Err(Problem::TooLong(limit));
        }
        // Most bodies come in one piece, which is then not copied.
        if first.is_empty() && rest.is_empty() {
            first = piece;
        } else {
            rest.extend_from_slice(&piece);
        }
    }
    if rest.is_empty() {
        return Ok(first);
    }
    let mut whole = Vec::with_capacity(first.len() + rest.len());
    whole.extend_from_slice(&first);
    whole.append(&mut rest);
    Ok(whole.into())
}
