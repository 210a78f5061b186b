//! OpenTelemetry over OTLP/HTTP: spans of requests, and audit records as logs. Each goes into a bounded queue and is sent
//! in batches by a task of its own; when the queue is full it is dropped, and counted. Off unless the standard variables
//! name an endpoint.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use opentelemetry::logs::{AnyValue, LogRecord as _, Logger as _, LoggerProvider as _, Severity};
use opentelemetry::trace::TracerProvider as _;
use opentelemetry::{Context, InstrumentationScope};
use opentelemetry_otlp::{LogExporter, SpanExporter, WithExportConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::{OTelSdkError, OTelSdkResult};
use opentelemetry_sdk::logs::{LogBatch, LogExporter as _, LogProcessor, SdkLogRecord, SdkLogger, SdkLoggerProvider};
use opentelemetry_sdk::trace::{
    SdkTracer, SdkTracerProvider, Span as SdkSpan, SpanData, SpanExporter as _, SpanProcessor,
};
use prometheus_client::metrics::counter::Counter;
use tokio::sync::mpsc::{self, Receiver, Sender};
use tokio::task::JoinHandle;

use super::metrics::Metrics;
use crate::store::NewRecord;

/// So many wait to be sent; the rest is dropped.
const QUEUE: usize = 4096;
/// So many are sent at once.
const BATCH: usize = 512;
/// How long the first of a batch waits for others.
const PATIENCE: Duration = Duration::from_millis(500);

/// Where spans and records are sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Export {
    /// Where the standard variables say.
    Environment,
    /// To this base address.
    To(String),
}

/// The exporter cannot be set up.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("telemetry cannot be exported: {0}\nhelp: look at OTEL_EXPORTER_OTLP_ENDPOINT and its companions")]
pub struct BadExport(String);

/// Where spans and records are told. Clones share it.
#[derive(Clone, Debug)]
pub struct Exports {
    pub(super) tracer: SdkTracer,
    logger: SdkLogger,
    parts: Arc<Parts>,
}

#[derive(Debug)]
struct Parts {
    tracers: SdkTracerProvider,
    loggers: SdkLoggerProvider,
}

/// The tasks that send.
#[derive(Debug)]
pub struct Senders(Vec<JoinHandle<()>>);

impl Senders {
    /// Waits a while for what is still in the queues. Whoever holds the exports lets go of them first.
    pub async fn finish(self, within: Duration) {
        let all = async {
            for sender in self.0 {
                // A sender that panicked has nothing left to send.
                let _ = sender.await;
            }
        };
        // What is not sent by now is lost, as it would be with a receiver that is away.
        let _ = tokio::time::timeout(within, all).await;
    }
}

impl Export {
    /// What the environment wants: nothing, unless a standard variable names an endpoint.
    pub fn of_environment(variable: impl Fn(&str) -> Option<String>) -> Option<Self> {
        let names = |name: &&str| variable(name).is_some_and(|value| !value.is_empty());
        let disabled = variable("OTEL_SDK_DISABLED").is_some_and(|value| value.eq_ignore_ascii_case("true"));
        let endpoints =
            ["OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT"];
        (!disabled && endpoints.iter().any(names)).then_some(Export::Environment)
    }
}

impl Exports {
    /// Sets up the exporters and starts to send, on the present runtime.
    pub fn start(export: &Export, metrics: &Metrics) -> Result<(Self, Senders), BadExport> {
        // The client of the exporter uses the provider that is installed; another part may have done so before.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let bad = |error: opentelemetry_otlp::ExporterBuildError| BadExport(error.to_string());
        let (mut spans, mut logs) = (SpanExporter::builder().with_http(), LogExporter::builder().with_http());
        if let Export::To(base) = export {
            let base = base.trim_end_matches('/');
            spans = spans.with_endpoint(format!("{base}/v1/traces"));
            logs = logs.with_endpoint(format!("{base}/v1/logs"));
        }
        let (mut spans, mut logs) = (spans.build().map_err(bad)?, logs.build().map_err(bad)?);
        let resource = Resource::builder().with_service_name(service_name()).build();
        spans.set_resource(&resource);
        logs.set_resource(&resource);
        let (span_queue, waiting_spans) = queue(metrics.dropped("spans"));
        let (log_queue, waiting_logs) = queue(metrics.dropped("logs"));
        let lost = (metrics.dropped("spans"), metrics.dropped("logs"));
        let senders = Senders(vec![
            tokio::spawn(send_spans(spans, waiting_spans, lost.0)),
            tokio::spawn(send_logs(logs, waiting_logs, lost.1)),
        ]);
        let tracers = SdkTracerProvider::builder().with_resource(resource.clone()).with_span_processor(span_queue);
        let loggers = SdkLoggerProvider::builder().with_resource(resource).with_log_processor(log_queue);
        let parts = Parts { tracers: tracers.build(), loggers: loggers.build() };
        let (tracer, logger) = (parts.tracers.tracer("mayi"), parts.loggers.logger("mayi"));
        Ok((Self { tracer, logger, parts: Arc::new(parts) }, senders))
    }

    /// Tells of an audit record.
    pub(super) fn record(&self, record: &NewRecord) {
        let mut log = self.logger.create_log_record();
        log.set_timestamp(UNIX_EPOCH + Duration::from_millis(record.at));
        log.set_observed_timestamp(SystemTime::now());
        log.set_severity_number(Severity::Info);
        log.set_event_name("mayi.audit");
        log.set_body(AnyValue::from(record.text.clone()));
        log.add_attribute("mayi.kind", record.kind.clone());
        if let Some(session) = &record.session {
            log.add_attribute("mayi.session", session.clone());
        }
        if let Some(verdict) = &record.verdict {
            log.add_attribute("mayi.verdict", verdict.clone());
        }
        self.logger.emit(log);
    }

    /// Takes no more, so that the senders come to their end.
    pub fn close(&self) {
        // A queue that is closed already is as good.
        let _ = self.parts.tracers.shutdown();
        let _ = self.parts.loggers.shutdown();
    }
}

fn service_name() -> String {
    std::env::var("OTEL_SERVICE_NAME").unwrap_or_else(|_| "mayi".to_owned())
}

/// One end of a bounded queue. It never waits.
#[derive(Debug)]
struct Queue<T> {
    sender: std::sync::Mutex<Option<Sender<T>>>,
    dropped: Counter,
}

fn queue<T>(dropped: Counter) -> (Queue<T>, Receiver<T>) {
    let (sender, receiver) = mpsc::channel(QUEUE);
    (Queue { sender: std::sync::Mutex::new(Some(sender)), dropped }, receiver)
}

impl<T> Queue<T> {
    fn put(&self, item: T) {
        let sender = self.sender.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if sender.as_ref().is_none_or(|sender| sender.try_send(item).is_err()) {
            self.dropped.inc();
        }
    }

    fn close(&self) {
        self.sender.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take();
    }
}

impl SpanProcessor for Queue<SpanData> {
    fn on_start(&self, _span: &mut SdkSpan, _context: &Context) {}

    fn on_end(&self, span: SpanData) {
        self.put(span);
    }

    fn force_flush(&self) -> OTelSdkResult {
        Ok(())
    }

    fn shutdown_with_timeout(&self, _timeout: Duration) -> OTelSdkResult {
        self.close();
        Ok(())
    }
}

/// A record and its scope, as an exporter wants them.
type Log = Box<(SdkLogRecord, InstrumentationScope)>;

impl LogProcessor for Queue<Log> {
    fn emit(&self, record: &mut SdkLogRecord, scope: &InstrumentationScope) {
        self.put(Box::new((record.clone(), scope.clone())));
    }

    fn force_flush(&self) -> OTelSdkResult {
        Ok(())
    }

    fn shutdown_with_timeout(&self, _timeout: Duration) -> OTelSdkResult {
        self.close();
        Ok(())
    }
}

/// The next batch; nothing when the queue is closed and empty.
async fn batch<T>(waiting: &mut Receiver<T>) -> Option<Vec<T>> {
    let mut batch = vec![waiting.recv().await?];
    let more = async { while batch.len() < BATCH && waiting.recv_many(&mut batch, BATCH).await > 0 {} };
    // The time is over, and what came until then is the batch.
    let _ = tokio::time::timeout(PATIENCE, more).await;
    Some(batch)
}

fn lost(sent: OTelSdkResult, many: usize, dropped: &Counter) {
    match sent {
        Ok(()) => {}
        Err(OTelSdkError::AlreadyShutdown | OTelSdkError::Timeout(_) | OTelSdkError::InternalFailure(_)) => {
            dropped.inc_by(u64::try_from(many).unwrap_or(u64::MAX));
        }
    }
}

async fn send_spans(exporter: SpanExporter, mut waiting: Receiver<SpanData>, dropped: Counter) {
    while let Some(batch) = batch(&mut waiting).await {
        let many = batch.len();
        lost(exporter.export(batch).await, many, &dropped);
    }
}

async fn send_logs(exporter: LogExporter, mut waiting: Receiver<Log>, dropped: Counter) {
    while let Some(batch) = batch(&mut waiting).await {
        let pairs: Vec<(&SdkLogRecord, &InstrumentationScope)> = batch.iter().map(|log| (&log.0, &log.1)).collect();
        lost(exporter.export(LogBatch::new(&pairs)).await, batch.len(), &dropped);
    }
}
