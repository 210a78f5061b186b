//! Signing in by a browser: authorization code with PKCE (S256), and a redirect to this machine. The verifier is in
//! memory alone and leaves it once, at the exchange.

use std::borrow::Cow;
use std::time::Duration;

use oauth2::{AuthUrl, AuthorizationCode, CsrfToken, PkceCodeChallenge, PkceCodeVerifier, RedirectUrl, Scope};
use secrecy::ExposeSecret;

use crate::problem::Problem;
use crate::{Identity, oauth};

use super::callback::{Callback, Expected};
use super::discovery::{Endpoints, endpoints};
use super::{SignedIn, random, scopes};

/// A sign-in that waits for the browser. Dropping it ends it.
#[derive(Debug)]
pub struct CodeSignIn<'a> {
    identity: &'a Identity,
    endpoints: Endpoints,
    callback: Callback,
    address: String,
    verifier: PkceCodeVerifier,
    state: secrecy::SecretString,
}

impl Identity {
    /// Begins to sign in by a browser.
    pub async fn begin_sign_in(&self) -> Result<CodeSignIn<'_>, Problem> {
        self.chain()?;
        let endpoints = endpoints(&self.http, &self.config.identity).await?;
        let authorization = endpoints.authorization.as_ref().ok_or(Problem::NoEndpoint("authorizationEndpoint"))?;
        let callback = Callback::open().await?;
        let (verifier, state) = (PkceCodeVerifier::new(random()?), random()?);
        let challenge = PkceCodeChallenge::from_code_verifier_sha256(&verifier);
        let client = oauth::client(self.config.client_id(), &endpoints.token)
            .set_auth_uri(AuthUrl::from_url(authorization.url().clone()))
            .set_redirect_uri(redirect(&callback)?);
        let wanted = scopes(&self.config.identity.scopes, &endpoints);
        let mut request = client.authorize_url(|| CsrfToken::new(state.clone())).set_pkce_challenge(challenge);
        if wanted.iter().any(|scope| scope == "offline_access") {
            // OpenID gives a refresh token only to somebody who was asked for it.
            request = request.add_extra_param("prompt", "consent");
        }
        let (address, _) = request.add_scopes(wanted.into_iter().map(Scope::new)).url();
        Ok(CodeSignIn {
            identity: self,
            callback,
            address: address.to_string(),
            verifier,
            state: state.into(),
            endpoints,
        })
    }
}

fn redirect(callback: &Callback) -> Result<RedirectUrl, Problem> {
    RedirectUrl::new(callback.address()).map_err(|_| Problem::Machine("the callback has no address"))
}

impl CodeSignIn<'_> {
    /// The address to open in a browser. It holds no secret that would be of use to whoever sees it.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Waits for the browser to come back, fetches the tokens and keeps them.
    pub async fn finish(self, within: Duration) -> Result<SignedIn, Problem> {
        let expected = Expected {
            state: self.state,
            issuer: self.endpoints.issuer.clone(),
            names_itself: self.endpoints.names_itself,
        };
        let redirect = redirect(&self.callback)?;
        let code = self.callback.code(expected, within).await?;
        let identity = self.identity;
        let client = oauth::client(identity.config.client_id(), &self.endpoints.token);
        let exchange = client
            .exchange_code(AuthorizationCode::new(code.expose_secret().to_owned()))
            .set_redirect_uri(Cow::Owned(redirect))
            .set_pkce_verifier(self.verifier);
        let answer = exchange.request_async(&identity.http).await;
        let answer = answer.map_err(|error| oauth::problem(error, &self.endpoints.token))?;
        identity.keep_sign_in(answer, &self.endpoints).await
    }
}
