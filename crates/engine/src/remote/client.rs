//! Requests to a mayi server: to the one address that settings name, within a deadline, with a bounded answer.
//!
//! The token goes there and nowhere else: redirects are refused, and plain HTTP is for this machine alone. What a
//! server says in an error is shown to people in one cleaned line, and never believed.

use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;

use mayi_identity::http::{self, Address};
use mayi_identity::{Credential, Environment, Identity, Purpose, Source, Trouble};
use mayi_settings::settings::Settings;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, ETAG, HeaderMap, HeaderValue, IF_NONE_MATCH};
use reqwest::{Method, RequestBuilder, Response};
use secrecy::ExposeSecret;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use tokio::time::timeout;

use super::wire::{Approval, Failure, NewApproval, Received, SIGNATURE, Shipment};

/// Longer answers are not read to their end. A bundle is the longest of them.
const ANSWER: usize = 4 * 1024 * 1024;
/// The longest words of a server that are repeated.
const WORDS: usize = 200;

/// Why the server gave no answer that can be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ServerError {
    /// The address is none that a token may be sent to.
    #[error("`{0}` is no address of a server\nhelp: `server.url` is https, or plain http on this machine")]
    Address(String),
    /// It cannot be reached, or takes too long.
    #[error("the server `{at}` {what}\nhelp: check that it runs, and `server.url`")]
    Away {
        /// Its host.
        at: String,
        /// What happened.
        what: Trouble,
    },
    /// It wants a token, and there is none.
    #[error("the server `{0}` wants a token, and there is none\nhelp: set MAYI_SERVER_TOKEN, or mayi login --api-key")]
    TokenMissing(String),
    /// It does not take the token.
    #[error("the server `{at}` does not accept the token from {from}\nhelp: {}", .from.remedy())]
    TokenRefused {
        /// Its host.
        at: String,
        /// Where the token is from.
        from: Source,
    },
    /// The token is good, but not for this.
    #[error(
        "the token for the server `{0}` is not for this\n\
         help: hooks need a token of the role agent, answering one of the role approver"
    )]
    Forbidden(String),
    /// It refuses the request.
    #[error("the server `{at}` refuses the request with status {status}{}", said(.words))]
    Refused {
        /// Its host.
        at: String,
        /// The status.
        status: u16,
        /// Its words, cleaned.
        words: String,
    },
    /// The credential cannot be had.
    #[error(transparent)]
    Credential(#[from] mayi_identity::Problem),
}

fn said(words: &str) -> String {
    if words.is_empty() { String::new() } else { format!(": {words}") }
}

impl ServerError {
    /// Whether the same request may well succeed later without anybody doing anything.
    pub fn may_pass(&self) -> bool {
        match self {
            ServerError::Away { what, .. } => what.may_pass(),
            ServerError::Credential(problem) => problem.may_pass(),
            ServerError::Address(_)
            | ServerError::TokenMissing(_)
            | ServerError::TokenRefused { .. }
            | ServerError::Forbidden(_)
            | ServerError::Refused { .. } => false,
        }
    }
}

/// A server.
#[derive(Debug)]
pub struct Client {
    address: Address,
    purpose: Purpose,
    identity: Identity,
    /// A file with further certificates to trust.
    roots: Option<PathBuf>,
    /// Made when it is first needed: making it costs milliseconds, and most calls never need it.
    http: OnceLock<Option<reqwest::Client>>,
}

/// What came of asking for the policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fetched {
    /// The one that was named is still the one.
    Same,
    /// Another.
    New(Signed),
}

/// A bundle as it came: bytes, and who vouches for them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signed {
    /// The whole body.
    pub body: Vec<u8>,
    /// Its signature, in base64.
    pub signature: String,
    /// The server's name for it.
    pub etag: Option<String>,
}

/// Whom the server takes us for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct Me {
    /// The token's name.
    pub name: String,
    /// Its role.
    pub role: String,
}

#[derive(Deserialize)]
struct KeyAnswer {
    key: String,
}

impl Client {
    /// The server of these settings; `None` when they name none.
    pub fn of(settings: &Settings, environment: &Environment) -> Result<Option<Self>, ServerError> {
        let Some(url) = settings.server.url.as_deref().map(str::trim).filter(|url| !url.is_empty()) else {
            return Ok(None);
        };
        let bare = url.trim_end_matches('/');
        let address = Address::of(bare).ok().filter(|address| address.url().query().is_none());
        let address = address.ok_or_else(|| ServerError::Address(cleaned(url)))?;
        let variable = environment.iter().find(|(name, _)| name == "SSL_CERT_FILE");
        Ok(Some(Self {
            address,
            purpose: Purpose::Server(bare.to_owned()),
            identity: Identity::open(mayi_identity::Config::of(settings, environment)),
            roots: variable.map(|(_, value)| PathBuf::from(value)),
            http: OnceLock::new(),
        }))
    }

    /// Its host, for messages.
    pub fn host(&self) -> String {
        let url = self.address.url();
        let host = url.host_str().unwrap_or_default();
        url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
    }

    /// Whether its process lives.
    pub async fn healthy(&self, within: Duration) -> Result<(), ServerError> {
        let request = self.request(Method::GET, "/healthz")?;
        self.within(within, self.answered(request)).await.map(drop)
    }

    /// Whom it takes us for.
    pub async fn me(&self, within: Duration) -> Result<Me, ServerError> {
        self.json(within, || self.request(Method::GET, "/v1/me")).await
    }

    /// Its public key, in base64. Whoever asks for the first time has nothing but the connection to trust.
    pub async fn key(&self, within: Duration) -> Result<String, ServerError> {
        let request = self.request(Method::GET, "/v1/policy/key")?;
        let answer = async {
            let response = self.answered(request).await?;
            let found: KeyAnswer = self.read(response).await?;
            Ok(found.key)
        };
        self.within(within, answer).await
    }

    /// Its policy, unless that is still the one with this name.
    pub async fn bundle(&self, known: Option<&str>, within: Duration) -> Result<Fetched, ServerError> {
        let make = || {
            let request = self.request(Method::GET, "/v1/policy/bundle")?;
            Ok(match known {
                Some(etag) => request.header(IF_NONE_MATCH, etag),
                None => request,
            })
        };
        let whole = async {
            let mut response = self.sent(make).await?;
            if response.status().as_u16() == 304 {
                return Ok(Fetched::Same);
            }
            let signature = text(response.headers(), SIGNATURE).unwrap_or_default();
            let etag = text(response.headers(), ETAG.as_str());
            let body = http::read_up_to(&mut response, ANSWER).await.map_err(|what| self.away(what))?;
            Ok(Fetched::New(Signed { body, signature, etag }))
        };
        self.within(within, whole).await
    }

    /// Puts a question to the people there.
    pub async fn put(&self, approval: &NewApproval, within: Duration) -> Result<Approval, ServerError> {
        self.json(within, || self.posting("/v1/approvals", serde_json::to_vec(approval))).await
    }

    /// How a question stands, after waiting up to `wait` for an answer.
    pub async fn look(&self, id: &str, wait: Duration, within: Duration) -> Result<Approval, ServerError> {
        let path = format!("/v1/approvals/{}?wait_seconds={}", segment(id), wait.as_secs());
        self.json(within, || self.request(Method::GET, &path)).await
    }

    /// Takes a question back.
    pub async fn withdraw(&self, id: &str, within: Duration) -> Result<(), ServerError> {
        let path = format!("/v1/approvals/{}", segment(id));
        self.within(within, self.sent(|| self.request(Method::DELETE, &path))).await.map(drop)
    }

    /// Hands over audit records.
    pub async fn ship(&self, shipment: &Shipment, within: Duration) -> Result<Received, ServerError> {
        self.json(within, || self.posting("/v1/audit", serde_json::to_vec(shipment))).await
    }

    pub(super) fn posting(&self, path: &str, body: serde_json::Result<Vec<u8>>) -> Result<RequestBuilder, ServerError> {
        let body = body.map_err(|_| self.away(Trouble::Unreadable))?;
        Ok(self.request(Method::POST, path)?.header(CONTENT_TYPE, "application/json").body(body))
    }

    pub(super) fn request(&self, method: Method, path: &str) -> Result<RequestBuilder, ServerError> {
        let http = self.http.get_or_init(|| http::client(self.address.url(), self.roots.as_deref()));
        let http = http.as_ref().ok_or_else(|| self.away(Trouble::Untrusted))?;
        let base = self.address.url().as_str().trim_end_matches('/');
        Ok(http.request(method, format!("{base}{path}")).header(ACCEPT, "application/json"))
    }

    pub(super) async fn json<T: DeserializeOwned>(
        &self,
        within: Duration,
        make: impl Fn() -> Result<RequestBuilder, ServerError>,
    ) -> Result<T, ServerError> {
        let whole = async {
            let response = self.sent(make).await?;
            self.read(response).await
        };
        self.within(within, whole).await
    }

    async fn within<T>(
        &self,
        within: Duration,
        answer: impl Future<Output = Result<T, ServerError>>,
    ) -> Result<T, ServerError> {
        timeout(within, answer).await.unwrap_or_else(|_| Err(self.away(Trouble::TimedOut)))
    }

    /// Sends a request with the token. One that is refused is renewed once, and the request sent once more.
    async fn sent(&self, make: impl Fn() -> Result<RequestBuilder, ServerError>) -> Result<Response, ServerError> {
        let Some(given) = self.identity.credential(&self.purpose).await? else {
            return match self.answered(make()?).await {
                Err(ServerError::Refused { status: 401, at, .. }) => Err(ServerError::TokenMissing(at)),
                outcome => outcome,
            };
        };
        match self.answered(bearing(make()?, &given)).await {
            Err(ServerError::Refused { status: 401, at, .. }) => {
                match self.identity.refused(&self.purpose, &given).await {
                    Ok(Some(newer)) => self.answered(bearing(make()?, &newer)).await,
                    Ok(None) | Err(mayi_identity::Problem::Refused(_)) => {
                        Err(ServerError::TokenRefused { at, from: given.source })
                    }
                    Err(problem) => Err(problem.into()),
                }
            }
            outcome => outcome,
        }
    }

    /// The answer to a request, if it is one.
    async fn answered(&self, request: RequestBuilder) -> Result<Response, ServerError> {
        let mut response = request.send().await.map_err(|error| self.away(http::trouble(&error)))?;
        let status = response.status().as_u16();
        match status {
            200..300 | 304 => Ok(response),
            300..400 => Err(self.away(Trouble::Redirected(status))),
            403 => Err(ServerError::Forbidden(self.host())),
            429 | 500.. => Err(self.away(Trouble::Status(status))),
            _ => {
                let body = http::read(&mut response).await.unwrap_or_default();
                let words = serde_json::from_slice::<Failure>(&body).map(|failure| cleaned(&failure.error));
                Err(ServerError::Refused { at: self.host(), status, words: words.unwrap_or_default() })
            }
        }
    }

    async fn read<T: DeserializeOwned>(&self, mut response: Response) -> Result<T, ServerError> {
        let body = http::read_up_to(&mut response, ANSWER).await.map_err(|what| self.away(what))?;
        serde_json::from_slice(&body).map_err(|_| self.away(Trouble::Unreadable))
    }

    fn away(&self, what: Trouble) -> ServerError {
        ServerError::Away { at: self.host(), what }
    }
}

fn bearing(request: RequestBuilder, given: &Credential) -> RequestBuilder {
    // What cannot be written into a header is no token, and is refused like one.
    let value = HeaderValue::from_str(&format!("Bearer {}", given.secret.expose_secret()));
    let Ok(mut value) = value else { return request };
    value.set_sensitive(true);
    request.header(AUTHORIZATION, value)
}

fn text(headers: &HeaderMap, name: &str) -> Option<String> {
    headers.get(name)?.to_str().ok().map(str::to_owned)
}

/// A name that a server gave, as a part of a path and nothing more.
pub(super) fn segment(id: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    id.bytes().map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}

/// Words of somebody else for a message: one line, visible, short, without secrets.
pub(super) fn cleaned(text: &str) -> String {
    let mut text: String = text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
    mayi_settings::secret::redact(&mut text);
    text.chars().take(WORDS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(url: &str) -> Result<Option<Client>, ServerError> {
        let settings = serde_json::from_value(serde_json::json!({"server": {"url": url}})).unwrap();
        Client::of(&settings, &[])
    }

    #[test]
    fn a_token_goes_to_encrypted_addresses_and_to_this_machine() {
        for fit in ["https://mayi.example", "https://mayi.example/base/", "http://127.0.0.1:7878", "http://[::1]:7878/"]
        {
            assert!(of(fit).is_ok_and(|client| client.is_some()), "{fit}");
        }
        for unfit in ["http://mayi.example", "ftp://mayi.example", "mayi.example", "https://u:p@x", "https://x/?a=b"] {
            assert!(matches!(of(unfit), Err(ServerError::Address(_))), "{unfit}");
        }
        assert!(of(" ").is_ok_and(|client| client.is_none()));
    }

    #[test]
    fn a_name_from_the_server_stays_one_part_of_a_path() {
        assert_eq!(segment("0b-7_c"), "0b-7_c");
        assert_eq!(segment("../x?y#z"), "%2E%2E%2Fx%3Fy%23z");
    }
}
