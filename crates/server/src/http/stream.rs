//! Streams of events, counted while they last.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use axum::http::header;
use axum::response::Response;

use crate::telemetry::Metrics;

/// A stream that is counted until somebody lets go of it.
struct Counted {
    body: Body,
    metrics: Arc<Metrics>,
}

/// The answer, counted if it is a stream of events.
pub(super) fn counted(response: Response, metrics: &Arc<Metrics>) -> Response {
    let kind = response.headers().get(header::CONTENT_TYPE).map(|kind| kind.as_bytes());
    if !kind.is_some_and(|kind| kind.starts_with(b"text/event-stream")) {
        return response;
    }
    metrics.streams.inc();
    response.map(|body| Body::new(Counted { body, metrics: Arc::clone(metrics) }))
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.metrics.streams.dec();
    }
}

impl HttpBody for Counted {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<hyper::body::Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }
}
