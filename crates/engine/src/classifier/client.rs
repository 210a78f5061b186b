//! Requests to a model's API: to one address, within a deadline, with a bounded answer.
//!
//! A key goes to the configured address and nowhere else: redirects are refused, plain HTTP is for this machine alone
//! and never by way of a proxy. What a server says in an error is not repeated: it may echo a key, or talk to the agent.

use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;

use mayi_identity::{Credential, Identity, Kind, Purpose, Source, Trouble, Vendor, http};
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use reqwest::{StatusCode, Url};
use secrecy::ExposeSecret;
use serde::Deserialize;
use tokio::time::{Instant, sleep, timeout};

/// The first pause before a request is tried again; each further one is twice as long.
const PAUSE: Duration = Duration::from_millis(500);

/// Whose protocol is spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Provider {
    /// Anthropic's Messages API.
    Anthropic,
    /// OpenAI's chat API, or a server that speaks it.
    OpenAi,
}

impl Provider {
    pub(super) fn key_variable(self) -> &'static str {
        match self {
            Self::Anthropic => "ANTHROPIC_API_KEY",
            Self::OpenAi => "OPENAI_API_KEY",
        }
    }

    pub(super) fn default_address(self) -> &'static str {
        match self {
            Self::Anthropic => "https://api.anthropic.com",
            Self::OpenAi => "https://api.openai.com/v1",
        }
    }

    /// Who its credentials are for.
    pub(super) fn purpose(self) -> Purpose {
        Purpose::Model(match self {
            Self::Anthropic => Vendor::Anthropic,
            Self::OpenAi => Vendor::OpenAi,
        })
    }

    /// The path behind the base address. The version may be part of the base, or not.
    fn path(self, base: &str) -> &'static str {
        match (self, base.ends_with("/v1")) {
            (Self::Anthropic, true) => "/messages",
            (Self::Anthropic, false) => "/v1/messages",
            (Self::OpenAi, _) => "/chat/completions",
        }
    }
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// Too many requests.
    #[error("it takes no more requests for now (rate-limited)\nhelp: wait a minute, then try the call again")]
    RateLimited,
    /// It has too much to do.
    #[error("it has too much to do (overloaded)\nhelp: try the call again in a moment")]
    Overloaded,
    /// It failed.
    #[error("it failed with status {0} (server error)\nhelp: try the call again in a moment")]
    Server(u16),
    /// It took too long.
    #[error("it did not answer in time (timed out)\nhelp: try again, or raise `classifier.timeoutSeconds`")]
    TimedOut,
    /// Nobody is there.
    #[error("it cannot be reached (connection failed)\nhelp: try again; check the network and `classifier.baseUrl`")]
    Connection,
    /// Somebody else is there.
    #[error("the server's certificate is for another name (connection failed)\nhelp: check `classifier.baseUrl`")]
    OtherName,
    /// Who is there cannot be known.
    #[error(
        "the server's certificate is not trusted (connection failed)\nhelp: check `classifier.baseUrl`; an authority \
         of your own goes into the file that SSL_CERT_FILE names"
    )]
    Untrusted,
    /// The key is wrong, wherever it is from.
    #[error("it does not accept the key from {from} (status {status})\nhelp: {}", .from.remedy())]
    KeyRefused {
        /// What it answered.
        status: u16,
        /// Where the key is from.
        from: Source,
    },
    /// It wants a key, and there is none.
    #[error("it wants a key, and there is none (status {0})\nhelp: set MAYI_CLASSIFIER_KEY, or mayi login --api-key")]
    KeyMissing(u16),
    /// There is no such model.
    #[error("there is no such model or address (status 404)\nhelp: check `classifier.model` and `classifier.baseUrl`")]
    NotFound,
    /// It sends us elsewhere.
    #[error("it points to another address, which is not followed (status {0})\nhelp: check `classifier.baseUrl`")]
    Redirected(u16),
    /// It does not like the request.
    #[error("it refuses the request with status {0}\nhelp: check that `classifier.provider` and the model fit")]
    Refused(u16),
    /// The prompt is too long for it.
    #[error("the transcript is too long for it")]
    TooLong,
    /// What it said is no answer.
    #[error("its answer cannot be understood")]
    Unreadable,
    /// The credential cannot be had.
    #[error(transparent)]
    Credential(#[from] mayi_identity::Problem),
    /// The session has used what it may.
    #[error("this session has used its budget of {0}\nhelp: raise `classifier.budget`, or start a new session")]
    Budget(String),
    /// The transcript was not read to its end.
    #[error("the transcript could not be read to its end\nhelp: try the call again")]
    Behind,
}

impl Problem {
    /// Whether the same request may well succeed a moment later.
    fn may_pass(&self) -> bool {
        match self {
            Self::RateLimited | Self::Overloaded | Self::Server(_) | Self::Connection => true,
            Self::TimedOut
            | Self::OtherName
            | Self::Untrusted
            | Self::KeyRefused { .. }
            | Self::KeyMissing(_)
            | Self::NotFound
            | Self::Redirected(_)
            | Self::Refused(_)
            | Self::TooLong
            | Self::Unreadable
            | Self::Credential(_)
            | Self::Budget(_)
            | Self::Behind => false,
        }
    }
}

/// An address that a key may be sent to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Address(Url);

impl Address {
    /// Encrypted, or on this machine.
    pub(super) fn of(text: &str) -> Option<Self> {
        let url = Url::parse(text).ok()?;
        let plain = url.username().is_empty() && url.password().is_none();
        let bare = url.query().is_none() && url.fragment().is_none();
        let fit = plain && bare && url.host_str().is_some() && (url.scheme() == "https" || is_local_http(&url));
        fit.then_some(Self(url))
    }

    pub(super) fn url(&self) -> &Url {
        &self.0
    }
}

fn is_local_http(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    let local = host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
    url.scheme() == "http" && local
}

/// A model behind an API.
#[derive(Debug)]
pub(crate) struct Client {
    pub(crate) provider: Provider,
    pub(crate) model: String,
    pub(super) base: Address,
    pub(super) timeout: Duration,
    pub(super) retries: u32,
    pub(super) identity: Identity,
    /// What went wrong with a credential that was used in spite of it: a store or a service that failed in passing.
    pub(super) warning: OnceLock<String>,
    /// A file with further certificates to trust.
    pub(super) roots: Option<PathBuf>,
    /// Made when it is first needed: making it costs milliseconds, and most calls never need it.
    pub(super) http: OnceLock<Option<reqwest::Client>>,
}

/// A request that failed, and how long the server wants to be left alone.
struct Setback {
    problem: Problem,
    pause: Option<Duration>,
}

impl From<Problem> for Setback {
    fn from(problem: Problem) -> Self {
        Self { problem, pause: None }
    }
}

impl Client {
    /// Sends a request and returns the body of the answer. A credential that is refused is renewed once, and the
    /// request sent once more.
    pub(crate) async fn send(&self, body: &[u8], deadline: Instant) -> Result<Vec<u8>, Problem> {
        let left = || deadline.saturating_duration_since(Instant::now());
        let purpose = self.provider.purpose();
        let given = timeout(left(), self.identity.credential(&purpose)).await.map_err(|_| Problem::TimedOut)??;
        if let Some(problem) = given.as_ref().and_then(|given| given.warning.as_ref()) {
            // The first is enough: it is told once.
            let _ = self.warning.set(problem.to_string());
        }
        let refused = match (self.tried(body, given.as_ref(), deadline).await, given) {
            (Err(Problem::KeyRefused { status: 401, .. }), Some(refused)) => refused,
            (outcome, _) => return outcome,
        };
        match timeout(left(), self.identity.refused(&purpose, &refused)).await.map_err(|_| Problem::TimedOut)? {
            Ok(Some(newer)) => self.tried(body, Some(&newer), deadline).await,
            Ok(None) | Err(mayi_identity::Problem::Refused(_)) => {
                Err(Problem::KeyRefused { status: 401, from: refused.source })
            }
            Err(problem) => Err(problem.into()),
        }
    }

    /// What went wrong with a credential that was used in spite of it.
    pub(crate) fn warning(&self) -> Option<&str> {
        self.warning.get().map(String::as_str)
    }

    /// Sends a request with one credential. Tries again what may pass, as long as there is time.
    async fn tried(&self, body: &[u8], given: Option<&Credential>, deadline: Instant) -> Result<Vec<u8>, Problem> {
        let left = || deadline.saturating_duration_since(Instant::now());
        let mut tries = 0;
        loop {
            let attempt = timeout(self.timeout.min(left()), self.attempt(body, given)).await;
            let setback = match attempt {
                Ok(Ok(answer)) => return Ok(answer),
                Ok(Err(setback)) => setback,
                Err(_) => Problem::TimedOut.into(),
            };
            let pause = setback.pause.unwrap_or_else(|| jittered(tries));
            if !setback.problem.may_pass() || tries >= self.retries || Instant::now() + pause >= deadline {
                return Err(setback.problem);
            }
            tries += 1;
            sleep(pause).await;
        }
    }

    async fn attempt(&self, body: &[u8], given: Option<&Credential>) -> Result<Vec<u8>, Setback> {
        let http = self.http().ok_or(Problem::Untrusted)?;
        let base = self.base.url().as_str().trim_end_matches('/');
        let address = format!("{base}{}", self.provider.path(base));
        let request = http.post(address).headers(self.headers(given)?).body(body.to_vec());
        let mut response = request.send().await.map_err(|error| on_the_way(http::trouble(&error)))?;
        let status = response.status();
        if status != StatusCode::OK {
            let pause = asked_pause(response.headers());
            let said = http::read(&mut response).await.unwrap_or_default();
            return Err(Setback { problem: refusal(status, &said, given), pause });
        }
        let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        // A stream or a page is no answer to what we asked.
        if kind.split(';').next().map(str::trim) != Some("application/json") {
            return Err(Problem::Unreadable.into());
        }
        Ok(http::read(&mut response).await.map_err(on_the_way)?)
    }

    fn headers(&self, given: Option<&Credential>) -> Result<HeaderMap, Problem> {
        let json = HeaderValue::from_static("application/json");
        let mut headers = HeaderMap::from_iter([(CONTENT_TYPE, json.clone()), (ACCEPT, json)]);
        if self.provider == Provider::Anthropic {
            headers.insert("anthropic-version", HeaderValue::from_static("2023-06-01"));
        }
        if let Some(given) = given {
            let secret = given.secret.expose_secret();
            let (name, text) = match (self.provider, given.kind) {
                (Provider::Anthropic, Kind::Key) => (HeaderName::from_static("x-api-key"), secret.to_owned()),
                (Provider::Anthropic, Kind::Bearer) | (Provider::OpenAi, Kind::Key | Kind::Bearer) => {
                    (AUTHORIZATION, format!("Bearer {secret}"))
                }
            };
            // What cannot be written into a header is no key.
            let mut value =
                HeaderValue::from_str(&text).map_err(|_| Problem::KeyRefused { status: 401, from: given.source })?;
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        Ok(headers)
    }

    fn http(&self) -> Option<&reqwest::Client> {
        self.http.get_or_init(|| http::client(self.base.url(), self.roots.as_deref())).as_ref()
    }
}

/// What went wrong on the way, as the classifier tells it.
fn on_the_way(trouble: Trouble) -> Problem {
    match trouble {
        Trouble::TimedOut => Problem::TimedOut,
        Trouble::Connection => Problem::Connection,
        Trouble::OtherName => Problem::OtherName,
        Trouble::Untrusted => Problem::Untrusted,
        Trouble::Redirected(code) => Problem::Redirected(code),
        Trouble::Status(code) => Problem::Server(code),
        Trouble::TooLong | Trouble::Unreadable => Problem::Unreadable,
    }
}

fn refusal(status: StatusCode, said: &[u8], given: Option<&Credential>) -> Problem {
    let code = status.as_u16();
    match code {
        401 | 403 => {
            given.map_or(Problem::KeyMissing(code), |given| Problem::KeyRefused { status: code, from: given.source })
        }
        404 => Problem::NotFound,
        413 => Problem::TooLong,
        400 | 422 if is_too_long(said) => Problem::TooLong,
        429 => Problem::RateLimited,
        503 | 529 => Problem::Overloaded,
        300..400 => Problem::Redirected(code),
        500.. => Problem::Server(code),
        200..300 => Problem::Unreadable,
        _ => Problem::Refused(code),
    }
}

/// Whether a server says that the prompt does not fit; each says it in its own way.
fn is_too_long(said: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Said {
        error: Details,
    }
    #[derive(Deserialize)]
    struct Details {
        #[serde(rename = "type")]
        kind: Option<String>,
        code: Option<serde_json::Value>,
        message: Option<String>,
    }
    let Ok(Said { error }) = serde_json::from_slice(said) else { return false };
    let message = error.message.unwrap_or_default().to_lowercase();
    error.code.as_ref().and_then(serde_json::Value::as_str) == Some("context_length_exceeded")
        || error.kind.as_deref() == Some("exceed_context_size_error")
        || message.contains("prompt is too long")
        || message.contains("maximum context length")
}

/// How long the server asks us to wait.
fn asked_pause(headers: &HeaderMap) -> Option<Duration> {
    let number = |name: &str| headers.get(name)?.to_str().ok()?.trim().parse::<f64>().ok();
    let milliseconds = || number("retry-after-ms").map(|pause| pause / 1000.0);
    let pause = milliseconds().or_else(|| number(RETRY_AFTER.as_str()))?;
    Duration::try_from_secs_f64(pause).ok()
}

/// A pause that grows with every try, and differs between those who wait.
fn jittered(tries: u32) -> Duration {
    let most = PAUSE.saturating_mul(1_u32.checked_shl(tries).unwrap_or(u32::MAX));
    let chance = RandomState::new().hash_one(tries) % 1_000;
    most / 2 + most / 2 * u32::try_from(chance).unwrap_or_default() / 1_000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_goes_over_an_encrypted_connection_or_stays_on_this_machine() {
        for fit in [
            "https://api.example.com",
            "https://h:8443/v1",
            "http://127.0.0.1:1/v1",
            "http://[::1]:1",
            "http://localhost:9",
        ] {
            assert!(Address::of(fit).is_some(), "{fit}");
        }
        for unfit in [
            "http://api.example.com",
            "http://localhost.example.com",
            "http://127.0.0.1.example.com",
            "http://10.0.0.1",
            "https://user:pass@api.example.com",
            "https://api.example.com/?key=1",
            "https://api.example.com/#x",
            "file:///etc/passwd",
            "ftp://127.0.0.1",
            "api.example.com",
            "",
        ] {
            assert!(Address::of(unfit).is_none(), "{unfit}");
        }
    }

    #[test]
    fn pauses_grow_and_stay_within_their_bounds() {
        for tries in 0..64 {
            let most = PAUSE.saturating_mul(1_u32.checked_shl(tries).unwrap_or(u32::MAX));
            let pause = jittered(tries);
            assert!(pause >= most / 2 && pause <= most, "{tries}: {pause:?}");
        }
    }

    #[test]
    fn a_server_may_ask_for_a_pause_in_seconds_or_milliseconds() {
        let pause = |name: &'static str, text: &'static str| {
            asked_pause(&HeaderMap::from_iter([(name.parse().unwrap(), HeaderValue::from_static(text))]))
        };
        assert_eq!(pause("retry-after", "2"), Some(Duration::from_secs(2)));
        assert_eq!(pause("retry-after-ms", "250"), Some(Duration::from_millis(250)));
        for odd in ["-1", "NaN", "inf", "soon", "1e300", "Wed, 21 Oct 2026 07:28:00 GMT"] {
            assert_eq!(pause("retry-after", odd), None, "{odd}");
        }
    }

    #[test]
    fn each_status_has_its_meaning() {
        let table = [
            (401, Problem::KeyMissing(401)),
            (404, Problem::NotFound),
            (413, Problem::TooLong),
            (429, Problem::RateLimited),
            (500, Problem::Server(500)),
            (529, Problem::Overloaded),
            (302, Problem::Redirected(302)),
            (204, Problem::Unreadable),
            (400, Problem::Refused(400)),
        ];
        for (status, problem) in table {
            assert_eq!(refusal(StatusCode::from_u16(status).unwrap(), b"", None), problem);
        }
        for said in [
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 9 > 8"}}"#,
            r#"{"error":{"code":"context_length_exceeded","message":"x"}}"#,
            r#"{"error":{"code":400,"type":"exceed_context_size_error"}}"#,
        ] {
            assert_eq!(refusal(StatusCode::BAD_REQUEST, said.as_bytes(), None), Problem::TooLong);
        }
    }
}
