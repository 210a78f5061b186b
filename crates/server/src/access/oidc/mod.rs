//! People sign in with an OpenID service: authorization code with PKCE, a state that is bound to the browser, a nonce.
//!
//! The id_token is fetched by the server itself, over TLS or on this machine, so that the connection vouches for it; its
//! issuer, audience, time and nonce are checked all the same. Services that keep addresses and groups out of it are asked
//! for them. A service is believed about nobody whom settings do not give a role.

mod claims;
mod roles;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use mayi_engine::remote::wire::Moment;
use mayi_identity::http::{Address, client, read};
use mayi_settings::settings::Oidc as Settings;
use reqwest::Url;
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};
use std::time::Duration;

use super::secret;
use crate::principal::Role;
use crate::problem::Problem;
use crate::store::Store;

pub use roles::{BadRole, Roles};

const KIND: &str = "oidc";
/// A sign-in takes at most ten minutes.
pub(super) const LASTS: Moment = 10 * 60 * 1000;
const PATIENCE: Duration = Duration::from_secs(15);
/// Where the service leads the browser back to.
pub(super) const CALLBACK: &str = "/sign-in/oidc/callback";

/// A sign-in service, and what it means here.
#[derive(Debug)]
pub struct Oidc {
    issuer: Address,
    client_id: String,
    client_secret: Option<SecretString>,
    scopes: String,
    roles: Roles,
}

/// Settings that name no service that could be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadOidc {
    /// No address that a secret may be sent to.
    #[error(
        "`server.oidc.issuer` is no address of a sign-in service\nhelp: it begins with `https://`, or is on this machine"
    )]
    Issuer,
    /// The server has no name there.
    #[error("`server.oidc.clientId` is missing\nhelp: it is the server's name at the sign-in service")]
    ClientId,
    /// The secret is not where settings say.
    #[error("the variable `{0}` of `server.oidc.clientSecretEnv` is not set")]
    Secret(String),
    /// A role cannot be read.
    #[error(transparent)]
    Role(#[from] BadRole),
}

/// What a sign-in that was begun must bring back.
#[derive(Debug, Serialize, Deserialize)]
struct Begun {
    nonce: String,
    verifier: String,
}

/// Where a browser is sent, and the state that it must bring back.
#[derive(Debug)]
pub(super) struct Journey {
    pub(super) to: String,
    pub(super) state: String,
}

/// What the service says of itself.
#[derive(Debug, Deserialize)]
struct Description {
    issuer: String,
    authorization_endpoint: String,
    token_endpoint: String,
    #[serde(default)]
    userinfo_endpoint: Option<String>,
    #[serde(default)]
    token_endpoint_auth_methods_supported: Option<Vec<String>>,
}

#[derive(Deserialize)]
struct TokenAnswer {
    id_token: Option<String>,
    access_token: Option<String>,
}

impl Oidc {
    /// The service of these settings; `None` when they name none. `variable` reads the environment.
    pub fn of(settings: &Settings, variable: impl Fn(&str) -> Option<String>) -> Result<Option<Self>, BadOidc> {
        let Some(issuer) = settings.issuer.as_deref() else { return Ok(None) };
        let issuer = Address::of(issuer).map_err(|_| BadOidc::Issuer)?;
        let client_id = settings.client_id.clone().ok_or(BadOidc::ClientId)?;
        let secret = |name: &String| variable(name).map(Into::into).ok_or_else(|| BadOidc::Secret(name.clone()));
        let client_secret = settings.client_secret_env.as_ref().map(secret).transpose()?;
        let mut scopes = "openid".to_owned();
        let named: Vec<&str> = settings.scopes.iter().map(String::as_str).filter(|scope| *scope != "openid").collect();
        for scope in if named.is_empty() { vec!["email", "profile"] } else { named } {
            scopes.push(' ');
            scopes.push_str(scope);
        }
        let roles = Roles::of(&settings.roles)?;
        Ok(Some(Self { issuer, client_id, client_secret, scopes, roles }))
    }

    /// Begins a sign-in.
    pub(super) async fn begin(&self, store: &dyn Store, (base, now): (&str, Moment)) -> Result<Journey, Problem> {
        let description = self.description().await?;
        let (state, nonce, verifier) = (secret::fresh()?, secret::fresh()?, secret::fresh()?);
        let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(verifier.as_bytes()));
        let mut to = Address::of(&description.authorization_endpoint).map_err(|_| away())?.url().clone();
        to.query_pairs_mut()
            .append_pair("response_type", "code")
            .append_pair("client_id", &self.client_id)
            .append_pair("redirect_uri", &callback(base))
            .append_pair("scope", &self.scopes)
            .append_pair("state", &state)
            .append_pair("nonce", &nonce)
            .append_pair("code_challenge", &challenge)
            .append_pair("code_challenge_method", "S256");
        let begun = serde_json::to_string(&Begun { nonce, verifier }).map_err(|_| Problem::Broken)?;
        store.put_secret(KIND.to_owned(), secret::digest(&state), begun, now + LASTS).await?;
        Ok(Journey { to: to.into(), state })
    }

    /// Ends a sign-in: who it is, and what they may do.
    pub(super) async fn finish(&self, store: &dyn Store, back: Back<'_>) -> Result<(String, Role), Problem> {
        let over = || Problem::Gone("this sign-in was used before, or its time is over".to_owned());
        let begun = store.take_secret(KIND.to_owned(), secret::digest(back.state), back.now).await?.ok_or_else(over)?;
        let begun: Begun = serde_json::from_str(&begun).map_err(|_| Problem::Broken)?;
        let description = self.description().await?;
        if back.issuer.is_some_and(|issuer| issuer != description.issuer) {
            return Err(Problem::Refused("the answer comes from another sign-in service".to_owned()));
        }
        let TokenAnswer { id_token, access_token } = self.tokens(&description, &back, &begun.verifier).await?;
        let token = id_token.ok_or_else(|| Problem::Refused("the sign-in service sent no id_token".to_owned()))?;
        let expected = claims::Expected {
            issuer: &description.issuer,
            client_id: &self.client_id,
            nonce: &begun.nonce,
            now: back.now / 1000,
        };
        let mut claims = claims::checked(&token, &expected).map_err(|bad| Problem::Refused(bad.to_string()))?;
        let mut role = self.roles.of_claims(&claims);
        if let (None, Some(place), Some(access)) = (role, &description.userinfo_endpoint, access_token) {
            claims = claims.and(told(place, &access).await?);
            role = self.roles.of_claims(&claims);
        }
        let person = claims.person();
        role.map(|role| (person.clone(), role)).ok_or_else(|| Problem::Refused(format!("`{person}` has no role here")))
    }

    async fn description(&self) -> Result<Description, Problem> {
        let base = self.issuer.url().as_str().trim_end_matches('/');
        let place = format!("{base}/.well-known/openid-configuration");
        let address = Address::of(&place).map_err(|_| away())?;
        let request = http(&address)?.get(address.url().clone()).header("accept", "application/json");
        let description: Description = answer(request).await?;
        // A final slash is the one slip that people make.
        if description.issuer.trim_end_matches('/') != base {
            return Err(Problem::Refused("the sign-in service describes another one".to_owned()));
        }
        Ok(description)
    }

    async fn tokens(&self, described: &Description, back: &Back<'_>, verifier: &str) -> Result<TokenAnswer, Problem> {
        let address = Address::of(&described.token_endpoint).map_err(|_| away())?;
        let redirect = callback(back.base);
        let mut form = vec![
            ("grant_type", "authorization_code"),
            ("code", back.code),
            ("redirect_uri", &redirect),
            ("code_verifier", verifier),
        ];
        let methods = described.token_endpoint_auth_methods_supported.as_ref();
        let basic = methods.is_none_or(|methods| methods.iter().any(|method| method == "client_secret_basic"));
        let mut request = http(&address)?.post(address.url().clone());
        match &self.client_secret {
            Some(own) if basic => {
                request = request.basic_auth(encoded(&self.client_id), Some(encoded(own.expose_secret())));
            }
            Some(own) => form.extend([("client_id", self.client_id.as_str()), ("client_secret", own.expose_secret())]),
            None => form.push(("client_id", &self.client_id)),
        }
        let request = request.header("accept", "application/json");
        let request = request.header("content-type", "application/x-www-form-urlencoded").body(written(&form));
        answer(request).await
    }
}

/// What the service tells of whoever signs in, beside the id_token.
async fn told(place: &str, access: &str) -> Result<Map<String, Value>, Problem> {
    let address = Address::of(place).map_err(|_| away())?;
    let request = http(&address)?.get(address.url().clone()).header("accept", "application/json");
    answer(request.bearer_auth(access)).await
}

/// What a browser brings back.
#[derive(Debug)]
pub(super) struct Back<'a> {
    pub(super) code: &'a str,
    pub(super) state: &'a str,
    pub(super) issuer: Option<&'a str>,
    pub(super) base: &'a str,
    pub(super) now: Moment,
}

fn callback(base: &str) -> String {
    format!("{}{CALLBACK}", base.trim_end_matches('/'))
}

fn away() -> Problem {
    Problem::Away("the sign-in service cannot be used".to_owned())
}

fn http(address: &Address) -> Result<reqwest::Client, Problem> {
    let roots = std::env::var_os("SSL_CERT_FILE").map(std::path::PathBuf::from);
    client(address.url(), roots.as_deref()).ok_or_else(away)
}

/// The answer to a request, bounded in time and length.
async fn answer<T: serde::de::DeserializeOwned>(request: reqwest::RequestBuilder) -> Result<T, Problem> {
    let whole = async {
        let mut response = request.send().await.map_err(|_| away())?;
        if response.status().as_u16() != 200 {
            return Err(Problem::Refused(format!("the sign-in service answered {}", response.status().as_u16())));
        }
        let body = read(&mut response).await.map_err(|_| away())?;
        serde_json::from_slice(&body).map_err(|_| away())
    };
    tokio::time::timeout(PATIENCE, whole).await.map_err(|_| away())?
}

/// A form, as a browser would write it: a query is written like a form.
fn written(form: &[(&str, &str)]) -> String {
    let Ok(mut url) = Url::parse("http://localhost/") else { return String::new() };
    url.query_pairs_mut().extend_pairs(form);
    url.query().unwrap_or_default().to_owned()
}

fn encoded(text: &str) -> String {
    written(&[(text, "")]).trim_end_matches('=').to_owned()
}
