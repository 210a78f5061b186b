//! What the server counts and tells: metrics for Prometheus, traces and audit records for OpenTelemetry.
//!
//! Nothing here holds up an answer, and nothing here is needed for one: what cannot be told is dropped, and counted.

mod export;
mod measured;
mod metrics;
mod traces;

use std::sync::Arc;

use axum::extract::MatchedPath;
use axum::http::{HeaderMap, Method};

pub use export::{BadExport, Export, Exports, Senders};
pub use measured::Measured;
pub use metrics::Metrics;
pub use traces::Span;

/// What is counted and told. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Telemetry {
    /// What is counted.
    pub metrics: Arc<Metrics>,
    /// Where traces and records are told, if anywhere.
    pub exports: Option<Exports>,
}

impl Telemetry {
    /// Begins the span of a request, if anybody wants it.
    pub(crate) fn begin(&self, method: &Method, route: Option<&MatchedPath>, headers: &HeaderMap) -> Span {
        self.exports.as_ref().map_or_else(Span::default, |exports| traces::begin(exports, (method, route), headers))
    }
}
