//! What is counted, for Prometheus.

use std::sync::atomic::AtomicU64;
use std::time::Duration;

use axum::extract::MatchedPath;
use axum::http::{Method, StatusCode};
use mayi_engine::remote::wire::State;
use prometheus_client::encoding::{EncodeLabelSet, EncodeLabelValue, LabelValueEncoder, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

use crate::problem::Problem;
use crate::store::{ApprovalFilter, Store};

/// From a tenth of a millisecond to half a minute, in seconds.
const STEPS: [f64; 14] = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0, 30.0];
/// More waiting approvals than this are not counted one by one.
const MOST_PENDING: usize = 10_000;

/// A route, as it is written in the router: no part of a label is the sender's choice.
#[derive(Clone, Debug)]
struct Route(Option<MatchedPath>);

impl Route {
    fn text(&self) -> &str {
        self.0.as_ref().map_or("none", MatchedPath::as_str)
    }
}

impl PartialEq for Route {
    fn eq(&self, other: &Self) -> bool {
        self.text() == other.text()
    }
}

impl Eq for Route {}

impl std::hash::Hash for Route {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.text().hash(state);
    }
}

impl EncodeLabelValue for Route {
    fn encode(&self, encoder: &mut LabelValueEncoder<'_>) -> Result<(), std::fmt::Error> {
        EncodeLabelValue::encode(&self.text(), encoder)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Request {
    method: &'static str,
    route: Route,
    status: u16,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Taken {
    route: Route,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Decided {
    verdict: &'static str,
    step: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Kind {
    kind: &'static str,
}

/// What is counted.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    requests: Family<Request, Counter>,
    latency: Family<Taken, Histogram>,
    decisions: Family<Decided, Counter>,
    approvals: Family<Kind, Counter>,
    pending: Gauge,
    records: Family<Kind, Counter>,
    commits: Histogram,
    /// Streams of events that are open.
    pub streams: Gauge,
    /// Connections that are open.
    pub connections: Gauge,
    /// Connections that were turned away because there were too many.
    pub turned_away: Counter,
    store_up: Gauge,
    dropped: Family<Kind, Counter>,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut metrics = Self {
            registry: Registry::with_prefix("mayi"),
            requests: Family::default(),
            latency: Family::new_with_constructor(|| Histogram::new(STEPS)),
            decisions: Family::default(),
            approvals: Family::default(),
            pending: Gauge::default(),
            records: Family::default(),
            commits: Histogram::new(STEPS),
            streams: Gauge::default(),
            connections: Gauge::default(),
            turned_away: Counter::default(),
            store_up: Gauge::default(),
            dropped: Family::default(),
        };
        metrics.register();
        metrics
    }
}

impl Metrics {
    fn register(&mut self) {
        let registry = &mut self.registry;
        registry.register("http_requests", "Requests by method, route and status", self.requests.clone());
        let latency = self.latency.clone();
        registry.register_with_unit("http_request_duration", "Time to an answer, by route", Unit::Seconds, latency);
        registry.register("decisions", "Decisions that were recorded, by verdict and step", self.decisions.clone());
        registry.register("approvals", "Approvals by what became of them here", self.approvals.clone());
        registry.register("approvals_pending", "Approvals that wait for a person", self.pending.clone());
        registry.register("audit_records", "Audit records by kind", self.records.clone());
        let commits = self.commits.clone();
        registry.register_with_unit("audit_commit", "Time until records are durable", Unit::Seconds, commits);
        registry.register("event_streams", "Streams of events that are open", self.streams.clone());
        registry.register("connections", "Connections that are open", self.connections.clone());
        registry.register("connections_turned_away", "Connections beyond the limit", self.turned_away.clone());
        registry.register("store_up", "Whether the store answers", self.store_up.clone());
        registry.register("telemetry_dropped", "Spans and records that could not be exported", self.dropped.clone());
    }

    /// Counts a request.
    pub(crate) fn request(&self, (method, route): (&Method, Option<&MatchedPath>), status: StatusCode, took: Duration) {
        let route = Route(route.cloned());
        let request = Request { method: known(method), route: route.clone(), status: status.as_u16() };
        self.requests.get_or_create(&request).inc();
        self.latency.get_or_create(&Taken { route }).observe(took.as_secs_f64());
    }

    /// Counts a decision that was recorded.
    pub(crate) fn decision(&self, verdict: &'static str, step: &str) {
        self.decisions.get_or_create(&Decided { verdict, step: step.to_owned() }).inc();
    }

    /// Counts what became of an approval.
    pub(crate) fn approval(&self, state: State) {
        let kind = match state {
            State::Pending => "put",
            State::Answered => "answered",
            State::Expired => "expired",
            State::Withdrawn => "withdrawn",
        };
        self.approvals.get_or_create(&Kind { kind }).inc();
    }

    /// Counts an audit record.
    pub(crate) fn record(&self, kind: &str) {
        // A client chooses the kinds of what it ships; labels are ours to choose.
        const KINDS: [&str; 10] =
            ["decision", "answer", "question", "mode", "rules", "policy", "token", "sign-in", "run", "session"];
        let kind = KINDS.into_iter().find(|known| *known == kind).unwrap_or("other");
        self.records.get_or_create(&Kind { kind }).inc();
    }

    /// Counts a commit.
    pub(crate) fn commit(&self, took: Duration) {
        self.commits.observe(took.as_secs_f64());
    }

    /// The counter of what could not be exported.
    pub(crate) fn dropped(&self, kind: &'static str) -> Counter<u64, AtomicU64> {
        self.dropped.get_or_create_owned(&Kind { kind })
    }

    /// Looks at the store for what only it knows.
    pub(crate) async fn look_at(&self, store: &dyn Store, within: Duration) {
        let up = store.ready(within).await.is_ok();
        self.store_up.set(i64::from(up));
        let filter = ApprovalFilter { state: Some(State::Pending), session: None, limit: MOST_PENDING };
        if up && let Ok(Ok(pending)) = tokio::time::timeout(within, store.approvals(filter)).await {
            self.pending.set(i64::try_from(pending.len()).unwrap_or(i64::MAX));
        }
    }

    /// Everything, as Prometheus reads it.
    pub(crate) fn text(&self) -> Result<String, Problem> {
        let mut written = String::new();
        text::encode(&mut written, &self.registry).map_err(|_| Problem::Broken)?;
        Ok(written)
    }
}

fn known(method: &Method) -> &'static str {
    let known = ["GET", "POST", "PATCH", "DELETE", "HEAD", "PUT", "OPTIONS"];
    known.into_iter().find(|word| *word == method.as_str()).unwrap_or("other")
}
