//! A client of the API, as anybody could write one.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use reqwest::header::HeaderMap;
use reqwest::redirect::Policy;
use reqwest::{Method, Response};
use serde_json::{Value, json};

/// Longer than any wait that a test asks the server for.
const PATIENCE: Duration = Duration::from_secs(90);

/// Somebody who asks the server, with a token or without.
#[derive(Clone, Debug)]
pub struct Client {
    http: reqwest::Client,
    base: String,
    token: Option<String>,
}

/// What the server answered.
#[derive(Clone, Debug)]
pub struct Reply {
    /// The status.
    pub status: u16,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: String,
}

impl Client {
    /// Somebody without a token.
    pub fn stranger(base: &str) -> Result<Self> {
        // A second call finds it installed.
        let _ = rustls::crypto::ring::default_provider().install_default();
        // Where an answer leads is for a test to see.
        let http = reqwest::Client::builder().no_proxy().timeout(PATIENCE).redirect(Policy::none()).build()?;
        Ok(Self { http, base: base.to_owned(), token: None })
    }

    /// The same, with a token.
    #[must_use]
    pub fn with(&self, token: &str) -> Self {
        Self { token: Some(token.to_owned()), ..self.clone() }
    }

    /// The same, who asks another server.
    #[must_use]
    pub fn at(&self, base: &str) -> Self {
        Self { base: base.to_owned(), ..self.clone() }
    }

    /// The same, who makes a new connection for every request.
    pub fn without_keeping(&self) -> Result<Self> {
        let http = reqwest::Client::builder().no_proxy().timeout(PATIENCE).pool_max_idle_per_host(0).build()?;
        Ok(Self { http, ..self.clone() })
    }

    /// The address that it asks.
    pub fn base(&self) -> &str {
        &self.base
    }

    /// Its token.
    pub fn token(&self) -> Option<&str> {
        self.token.as_deref()
    }

    /// Sends a request and takes the answer while it comes.
    pub async fn open(&self, method: Method, path: &str, (headers, body): (&[(&str, &str)], &str)) -> Result<Response> {
        let mut request = self.http.request(method, format!("{}{path}", self.base));
        if let Some(token) = &self.token {
            request = request.bearer_auth(token);
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        Ok(request.body(body.to_owned()).send().await?)
    }

    /// Sends a request.
    pub async fn send(&self, method: Method, path: &str, given: (&[(&str, &str)], &str)) -> Result<Reply> {
        let response = self.open(method, path, given).await?;
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        Ok(Reply { status, headers, body: response.text().await? })
    }

    /// Gets something.
    pub async fn get(&self, path: &str) -> Result<Reply> {
        self.send(Method::GET, path, (&[], "")).await
    }

    /// Posts JSON.
    pub async fn post(&self, path: &str, body: &Value) -> Result<Reply> {
        self.send(Method::POST, path, (&[("content-type", "application/json")], &body.to_string())).await
    }

    /// Asks about a command of the shell, under a name of its own.
    pub async fn decide(&self, call_id: &str, command: &str) -> Result<Reply> {
        let line =
            json!({"tool": "Bash", "input": {"command": command}, "cwd": "/w", "call_id": call_id, "agent": "test"});
        self.post("/v1/decide", &line).await
    }

    /// Answers a question that was shown with this digest.
    pub async fn answer(&self, id: &str, digest: &str, verdict: &str) -> Result<Reply> {
        self.post(&format!("/v1/approvals/{id}/answer"), &json!({"verdict": verdict, "digest": digest})).await
    }
}

impl Reply {
    /// The body as JSON.
    pub fn json(&self) -> Result<Value> {
        serde_json::from_str(&self.body).with_context(|| format!("no JSON: {self:?}"))
    }

    /// A text in the body, by its pointer.
    pub fn text(&self, pointer: &str) -> Result<String> {
        let found = self.json()?.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
        found.with_context(|| format!("no `{pointer}`: {self:?}"))
    }

    /// A header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The reply, which must have this status.
    pub fn must(self, status: u16) -> Result<Self> {
        ensure!(self.status == status, "{status} was expected: {self:?}");
        Ok(self)
    }
}
