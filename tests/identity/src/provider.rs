//! The OpenID provider, and the model's API that takes its tokens.

use std::cell::RefCell;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::companion::Companion;

/// A provider that runs until it is dropped.
#[derive(Debug)]
pub struct Provider {
    companion: RefCell<Companion>,
    issuer: String,
}

/// What was asked of the provider or of the model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// The path.
    pub path: String,
    /// How it was answered.
    pub status: u64,
    /// The grant, at the token endpoint.
    pub grant: String,
    /// The error in the answer.
    pub error: String,
    /// How the code is bound to its verifier, at the authorization endpoint.
    pub challenge: String,
    /// A mark of the token that was issued, or brought to the model.
    pub token: String,
    /// Whose token it was.
    pub who: String,
}

impl Provider {
    /// Starts a provider on a free port.
    pub fn start() -> Result<Self> {
        let (companion, first) = Companion::start("provider.mjs")?;
        let issuer = first.get("issuer").and_then(Value::as_str).context("the provider has no address")?.to_owned();
        Ok(Self { companion: RefCell::new(companion), issuer })
    }

    /// Its address, which is its name too.
    pub fn issuer(&self) -> &str {
        &self.issuer
    }

    fn ask(&self, order: &str, given: Value) -> Result<Value> {
        self.companion.borrow_mut().ask(order, given)
    }

    /// What was asked since this was last looked at.
    pub fn requests(&self) -> Result<Vec<Request>> {
        let asked = self.ask("requests", json!({}))?;
        let text = |one: &Value, name: &str| one.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let request = |one: &Value| Request {
            path: text(one, "path"),
            status: one.get("status").and_then(Value::as_u64).unwrap_or_default(),
            grant: text(one, "grant"),
            error: text(one, "error"),
            challenge: text(one, "challenge"),
            token: text(one, "given"),
            who: text(one, "who"),
        };
        Ok(asked.as_array().context("no list of requests")?.iter().map(request).collect())
    }

    /// What was asked of the token endpoint since requests were last looked at.
    pub fn grants(&self) -> Result<Vec<Request>> {
        Ok(self.requests()?.into_iter().filter(|request| request.path == "/token").collect())
    }

    /// Every token, code and verifier that was ever in use.
    pub fn secrets(&self) -> Result<Vec<String>> {
        let secrets = self.ask("secrets", json!({}))?;
        Ok(secrets.as_array().context("no list")?.iter().filter_map(Value::as_str).map(str::to_owned).collect())
    }

    /// Lets so many seconds pass, for the provider alone.
    pub fn pass(&self, seconds: u64) -> Result<()> {
        self.ask("pass", json!({ "seconds": seconds })).map(drop)
    }

    /// How many seconds a kind of token lives that is issued from now on.
    pub fn lifetime(&self, kind: &str, seconds: u64) -> Result<()> {
        self.ask("lifetimes", json!({ kind: seconds })).map(drop)
    }

    /// Issues signed access tokens from now on, and leaves it to them to say how long they live.
    pub fn issue_signed_tokens(&self) -> Result<()> {
        self.ask("sign", json!({})).map(drop)
    }

    /// Lets the next requests to a path fail.
    pub fn fail(&self, path: &str, status: u16, times: u32) -> Result<()> {
        self.ask("fault", json!({"path": path, "status": status, "times": times})).map(drop)
    }

    /// Answers the next request to a path with this body instead.
    pub fn answer(&self, path: &str, status: u16, body: &str) -> Result<()> {
        self.ask("fault", json!({"path": path, "status": status, "times": 1, "body": body})).map(drop)
    }

    /// Takes back every fault that nobody ran into.
    pub fn mend(&self) -> Result<()> {
        self.ask("mend", json!({})).map(drop)
    }

    /// Claims these of somebody from now on, beyond what is claimed of everybody.
    pub fn claim(&self, login: &str, claims: &Value) -> Result<()> {
        self.ask("claim", json!({"login": login, "claims": claims})).map(drop)
    }

    /// Takes in a program that keeps a secret and that people come back to at this address.
    pub fn enrol(&self, (id, secret): (&str, &str), redirect: &str) -> Result<()> {
        self.ask("enrol", json!({"id": id, "secret": secret, "redirect": redirect})).map(drop)
    }

    /// A key that the model takes.
    pub fn accept_key(&self, key: &str) -> Result<()> {
        self.ask("key", json!({ "is": key })).map(drop)
    }

    /// How many of the tokens that were ever in use are still good.
    pub fn good_tokens(&self) -> Result<usize> {
        let good = self.ask("good", json!({ "tokens": self.secrets()? }))?;
        Ok(good.as_array().context("no list")?.iter().filter(|good| good.as_bool() == Some(true)).count())
    }

    /// Takes every access token back before its time; refresh tokens stay good.
    pub fn forget_access_tokens(&self) -> Result<()> {
        self.ask("forget", json!({})).map(drop)
    }

    /// Takes everything back, as an administrator would.
    pub fn revoke_everything(&self) -> Result<()> {
        self.ask("revoke", json!({})).map(drop)
    }

    /// Goes off the network.
    pub fn go_down(&self) -> Result<()> {
        self.ask("down", json!({})).map(drop)
    }

    /// Comes back, as it was.
    pub fn come_up(&self) -> Result<()> {
        self.ask("up", json!({})).map(drop)
    }
}
