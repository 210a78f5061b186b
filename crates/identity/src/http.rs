//! Requests to a sign-in service: over an encrypted connection or on this machine, within a deadline, with a bounded
//! answer. Redirects are never followed: what is sent here is secret.

use std::error::Error;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::OnceLock;
use std::time::Duration;

use reqwest::{Certificate, Response, Url};

use crate::problem::{Problem, Trouble};

/// How long one request may take.
const PATIENCE: Duration = Duration::from_secs(15);
/// Longer answers are not read to their end.
const ANSWER: usize = 256 * 1024;

/// An address that a secret may be sent to: encrypted, or on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address(Url);

impl Address {
    /// The address, if a secret may be sent there.
    pub fn of(text: &str) -> Result<Self, Problem> {
        let fit = |url: &Url| {
            let plain = url.username().is_empty() && url.password().is_none() && url.fragment().is_none();
            plain && url.host_str().is_some() && (url.scheme() == "https" || is_local_http(url))
        };
        let url = Url::parse(text).ok().filter(fit);
        url.map(Self).ok_or_else(|| Problem::Address { address: shown(text) })
    }

    /// The address.
    pub fn url(&self) -> &Url {
        &self.0
    }

    /// Its host, for messages.
    pub(crate) fn host(&self) -> String {
        self.0.host_str().unwrap_or_default().to_owned()
    }
}

/// An address for a message: a password in it is not repeated.
fn shown(text: &str) -> String {
    let mut text: String = text.chars().filter(|letter| !letter.is_control()).take(200).collect();
    mayi_settings::secret::redact(&mut text);
    text
}

fn is_local_http(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    let local = host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
    url.scheme() == "http" && local
}

/// A client, made when it is first needed: making it costs milliseconds.
#[derive(Debug)]
pub(crate) struct Http {
    /// A file with further certificates to trust.
    roots: Option<PathBuf>,
    encrypted: OnceLock<Option<reqwest::Client>>,
    local: OnceLock<Option<reqwest::Client>>,
}

/// A status and a body.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) json: bool,
    pub(crate) body: Vec<u8>,
}

impl Http {
    pub(crate) fn new(roots: Option<PathBuf>) -> Self {
        Self { roots, encrypted: OnceLock::new(), local: OnceLock::new() }
    }

    /// What is at an address.
    pub(crate) async fn fetch(&self, address: &Address) -> Result<Answer, Problem> {
        let accept = "application/json";
        self.answer(address, self.client(address)?.get(address.url().clone()).header("accept", accept)).await
    }

    /// The answer to a form.
    pub(crate) async fn post(&self, address: &Address, form: &[(&str, &str)]) -> Result<Answer, Problem> {
        // A query is written like a form, and the same hand writes both.
        let mut written = address.url().clone();
        written.query_pairs_mut().clear().extend_pairs(form);
        let body = written.query().unwrap_or_default().to_owned();
        let request = self.client(address)?.post(address.url().clone());
        let request = request.header("accept", "application/json");
        let request = request.header("content-type", "application/x-www-form-urlencoded").body(body);
        self.answer(address, request).await
    }

    /// A request as the oauth2 crate makes it.
    async fn relay(&self, request: oauth2::HttpRequest) -> Result<oauth2::HttpResponse, Problem> {
        let address = Address::of(&request.uri().to_string())?;
        let unreadable = || Problem::Http { at: address.host(), what: Trouble::Unreadable };
        let (parts, body) = request.into_parts();
        let request = self.client(&address)?.request(parts.method, address.url().clone());
        let answer = self.answer(&address, request.headers(parts.headers).body(body)).await?;
        // Pages and other things that are no answer at all are told apart here; the crate reads the rest.
        if answer.status == 429 || answer.status >= 500 {
            return Err(Problem::Http { at: address.host(), what: Trouble::Status(answer.status) });
        }
        if !answer.json {
            return Err(unreadable());
        }
        let response = oauth2::http::Response::builder().status(answer.status);
        response.header("content-type", "application/json").body(answer.body).map_err(|_| unreadable())
    }

    async fn answer(&self, address: &Address, request: reqwest::RequestBuilder) -> Result<Answer, Problem> {
        let failed = |what| Problem::Http { at: address.host(), what };
        let whole = async {
            let mut response = request.send().await.map_err(|error| failed(trouble(&error)))?;
            let status = response.status().as_u16();
            if (300..400).contains(&status) {
                return Err(failed(Trouble::Redirected(status)));
            }
            let json = is_json(&response);
            Ok(Answer { status, json, body: read(&mut response).await.map_err(failed)? })
        };
        tokio::time::timeout(PATIENCE, whole).await.map_err(|_| failed(Trouble::TimedOut))?
    }

    fn client(&self, address: &Address) -> Result<&reqwest::Client, Problem> {
        let slot = if address.url().scheme() == "http" { &self.local } else { &self.encrypted };
        let client = slot.get_or_init(|| client(address.url(), self.roots.as_deref())).as_ref();
        client.ok_or(Problem::Http { at: address.host(), what: Trouble::Untrusted })
    }
}

impl<'c> oauth2::AsyncHttpClient<'c> for Http {
    type Error = Problem;
    type Future = Pin<Box<dyn Future<Output = Result<oauth2::HttpResponse, Problem>> + Send + 'c>>;

    fn call(&'c self, request: oauth2::HttpRequest) -> Self::Future {
        Box::pin(self.relay(request))
    }
}

fn is_json(response: &Response) -> bool {
    let kind = response.headers().get("content-type").and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    kind.split(';').next().map(str::trim).is_some_and(|kind| kind.eq_ignore_ascii_case("application/json"))
}

/// A client for one address, with the connections it keeps.
pub fn client(address: &Url, roots: Option<&Path>) -> Option<reqwest::Client> {
    // Another part of the program may have chosen before; both choose the same.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut builder = reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .referer(false)
        .user_agent(concat!("mayi/", env!("CARGO_PKG_VERSION")));
    if address.scheme() == "http" {
        builder = builder.no_proxy();
    }
    if let Some(roots) = roots {
        let certificates = Certificate::from_pem_bundle(&std::fs::read(roots).ok()?).ok()?;
        builder = builder.tls_certs_merge(certificates);
    }
    builder.build().ok()
}

/// The body of an answer, if it is not too long.
pub async fn read(response: &mut Response) -> Result<Vec<u8>, Trouble> {
    read_up_to(response, ANSWER).await
}

/// The same with a limit of one's own.
pub async fn read_up_to(response: &mut Response, most: usize) -> Result<Vec<u8>, Trouble> {
    let mut body = Vec::new();
    while let Some(piece) = response.chunk().await.map_err(|error| trouble(&error))? {
        if body.len() + piece.len() > most {
            return Err(Trouble::TooLong);
        }
        body.extend_from_slice(&piece);
    }
    Ok(body)
}

/// What an error of the connection means.
pub fn trouble(error: &reqwest::Error) -> Trouble {
    if error.is_timeout() {
        return Trouble::TimedOut;
    }
    let mut cause = error.source();
    while let Some(inner) = cause {
        if let Some(rustls::Error::InvalidCertificate(why)) = inner.downcast_ref::<rustls::Error>() {
            use rustls::CertificateError::{NotValidForName, NotValidForNameContext};
            let other = matches!(why, NotValidForName | NotValidForNameContext { .. });
            return if other { Trouble::OtherName } else { Trouble::Untrusted };
        }
        // An I/O error does not count what it wraps as its source.
        let wrapped = inner.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
        cause = wrapped.map(|wrapped| wrapped as &dyn Error).or_else(|| inner.source());
    }
    Trouble::Connection
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_goes_over_an_encrypted_connection_or_stays_on_this_machine() {
        for fit in [
            "https://id.example.com",
            "https://id.example.com/token?tenant=1",
            "http://127.0.0.1:1/x",
            "http://[::1]:1",
            "http://localhost:9",
        ] {
            assert!(Address::of(fit).is_ok(), "{fit}");
        }
        for unfit in [
            "http://id.example.com",
            "http://localhost.example.com",
            "http://127.0.0.1.example.com",
            "http://10.0.0.1",
            "https://user:hunter22@id.example.com",
            "https://id.example.com/#x",
            "file:///etc/passwd",
            "id.example.com",
            "",
        ] {
            let problem = Address::of(unfit).unwrap_err();
            assert!(!problem.to_string().contains("hunter22"), "{problem}");
        }
    }
}
