//! Signing in where there is no browser: the service gives a short code, which the person types into a page on any
//! other device, while this program asks until they have (RFC 8628).

use std::time::Duration;

use oauth2::{DeviceAuthorizationUrl, Scope, StandardDeviceAuthorizationResponse};

use crate::problem::Problem;
use crate::{Identity, oauth};

use super::discovery::{Endpoints, endpoints};
use super::{SignedIn, scopes};

/// Longer is not waited, whatever the service says.
const LONGEST: Duration = Duration::from_secs(30 * 60);

/// A sign-in that waits for the person. Dropping it ends it.
#[derive(Debug)]
pub struct DeviceSignIn<'a> {
    identity: &'a Identity,
    endpoints: Endpoints,
    details: StandardDeviceAuthorizationResponse,
}

impl Identity {
    /// Begins to sign in by another device.
    pub async fn begin_device_sign_in(&self) -> Result<DeviceSignIn<'_>, Problem> {
        self.chain()?;
        let endpoints = endpoints(&self.http, &self.config.identity).await?;
        let device = endpoints.device.clone().ok_or(Problem::NoEndpoint("deviceEndpoint"))?;
        let client = oauth::client(self.config.client_id(), &endpoints.token)
            .set_device_authorization_url(DeviceAuthorizationUrl::from_url(device.url().clone()));
        let wanted = scopes(&self.config.identity.scopes, &endpoints).into_iter().map(Scope::new);
        let answer = client.exchange_device_code().add_scopes(wanted).request_async(&self.http).await;
        let details = answer.map_err(|error| oauth::problem(error, &device))?;
        Ok(DeviceSignIn { identity: self, endpoints, details })
    }
}

/// A service's text as a terminal may show it.
fn shown(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_control()).take(500).collect()
}

impl DeviceSignIn<'_> {
    /// The page where the code is typed.
    pub fn address(&self) -> String {
        shown(self.details.verification_uri().as_str())
    }

    /// The code.
    pub fn code(&self) -> String {
        shown(self.details.user_code().secret())
    }

    /// The page with the code filled in, if the service has one.
    pub fn address_with_code(&self) -> Option<String> {
        self.details.verification_uri_complete().map(|address| shown(address.secret()))
    }

    /// How long the code is good.
    pub fn good_for(&self) -> Duration {
        self.details.expires_in().min(LONGEST)
    }

    /// Waits for the person, fetches the tokens and keeps them.
    pub async fn finish(self) -> Result<SignedIn, Problem> {
        let identity = self.identity;
        let client = oauth::client(identity.config.client_id(), &self.endpoints.token);
        let request = client.exchange_device_access_token(&self.details);
        let answer = request.request_async(&identity.http, tokio::time::sleep, Some(self.good_for())).await;
        let answer = answer.map_err(|error| oauth::problem(error, &self.endpoints.token))?;
        identity.keep_sign_in(answer, &self.endpoints).await
    }
}
