//! The span of a request, as OpenTelemetry wants it: part of the sender's trace, if the request names one.

use axum::extract::MatchedPath;
use axum::http::{HeaderMap, Method, StatusCode};
use opentelemetry::trace::{
    Span as _, SpanContext, SpanId, SpanKind, Status, TraceContextExt as _, TraceFlags, TraceId, TraceState,
    Tracer as _,
};
use opentelemetry::{Context, KeyValue};

use super::export::Exports;

/// The span of a request; nothing when nobody wants it.
#[derive(Debug, Default)]
pub struct Span(Option<opentelemetry_sdk::trace::Span>);

impl Span {
    /// Ends it with the status of the answer.
    pub(crate) fn end(self, status: StatusCode) {
        let Some(mut span) = self.0 else { return };
        span.set_attribute(KeyValue::new("http.response.status_code", i64::from(status.as_u16())));
        if status.is_server_error() {
            span.set_status(Status::error(""));
        }
        span.end();
    }
}

/// Begins the span of a request.
pub(super) fn begin(exports: &Exports, (method, route): (&Method, Option<&MatchedPath>), headers: &HeaderMap) -> Span {
    let place = route.map_or("", MatchedPath::as_str);
    let attributes =
        vec![KeyValue::new("http.request.method", method.to_string()), KeyValue::new("http.route", place.to_owned())];
    let builder = exports.tracer.span_builder(format!("{method} {place}"));
    let builder = builder.with_kind(SpanKind::Server).with_attributes(attributes);
    let parent = parent(headers).map_or_else(Context::new, |parent| Context::new().with_remote_span_context(parent));
    Span(Some(exports.tracer.build_with_context(builder, &parent)))
}

/// The sender's span, as `traceparent` names it.
fn parent(headers: &HeaderMap) -> Option<SpanContext> {
    let mut parts = headers.get("traceparent")?.to_str().ok()?.split('-');
    let (version, trace, span, flags) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    let lengths = (version.len(), trace.len(), span.len(), flags.len());
    if version == "ff" || lengths != (2, 32, 16, 2) {
        return None;
    }
    let trace = TraceId::from_hex(trace).ok()?;
    let span = SpanId::from_hex(span).ok()?;
    let flags = TraceFlags::new(u8::from_str_radix(flags, 16).ok()?);
    let context = SpanContext::new(trace, span, flags, true, TraceState::NONE);
    context.is_valid().then_some(context)
}
