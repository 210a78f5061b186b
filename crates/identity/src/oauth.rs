//! The requests of OAuth, on the types of the oauth2 crate and our own client. What a service answers is either tokens
//! or a [`Problem`]; its words do not get further than that.

use oauth2::basic::{BasicErrorResponse, BasicRevocationErrorResponse, BasicTokenType};
use oauth2::{
    Client, ClientId, EndpointNotSet, EndpointSet, ErrorResponse, ErrorResponseType, ExtraTokenFields, RefreshToken,
    RequestTokenError, StandardRevocableToken, StandardTokenIntrospectionResponse, StandardTokenResponse,
    TokenResponse, TokenUrl,
};
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};

use crate::http::{Address, Answer, Http};
use crate::problem::{Ended, Problem, Trouble, cleaned_code, cleaned_description};
use crate::token::{Given, Service, Tokens};

/// What OpenID adds to an answer. `Debug` does not show it.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(crate) struct OpenId {
    id_token: Option<String>,
}

impl std::fmt::Debug for OpenId {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("OpenId")
    }
}

impl ExtraTokenFields for OpenId {}

pub(crate) type TokenAnswer = StandardTokenResponse<OpenId, BasicTokenType>;

/// A client of a sign-in service, with the token endpoint set.
pub(crate) type OauthClient = Client<
    BasicErrorResponse,
    TokenAnswer,
    StandardTokenIntrospectionResponse<OpenId, BasicTokenType>,
    StandardRevocableToken,
    BasicRevocationErrorResponse,
    EndpointNotSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointSet,
>;

/// A client. It has no secret: what every copy of a program holds is none.
pub(crate) fn client(client_id: &str, token_endpoint: &Address) -> OauthClient {
    Client::new(ClientId::new(client_id.to_owned()))
        .set_auth_type(oauth2::AuthType::RequestBody)
        .set_token_uri(TokenUrl::from_url(token_endpoint.url().clone()))
}

/// The tokens of an answer.
pub(crate) fn given(answer: TokenAnswer) -> Result<Given, Problem> {
    if *answer.token_type() != BasicTokenType::Bearer {
        return Err(Problem::Token("is no bearer token"));
    }
    Ok(Given {
        access: answer.access_token().secret().as_str().into(),
        refresh: answer.refresh_token().map(|token| token.secret().as_str().into()),
        id: answer.extra_fields().id_token.as_deref().map(Into::into),
        expires_in: answer.expires_in().map(|life| life.as_secs()),
    })
}

/// What an error of a request means.
pub(crate) fn problem<R: ErrorResponse + Refusal>(error: RequestTokenError<Problem, R>, at: &Address) -> Problem {
    match error {
        RequestTokenError::Request(problem) => problem,
        RequestTokenError::ServerResponse(answer) => answer.problem(),
        // What cannot be parsed may hold a token; only the fact is told.
        RequestTokenError::Parse(_, _) | RequestTokenError::Other(_) => {
            Problem::Http { at: at.host(), what: Trouble::Unreadable }
        }
    }
}

/// An answer that says no.
pub(crate) trait Refusal {
    /// As a problem, cleaned.
    fn problem(&self) -> Problem;
}

impl<T: ErrorResponseType + AsRef<str>> Refusal for oauth2::StandardErrorResponse<T> {
    fn problem(&self) -> Problem {
        let description = self.error_description().and_then(|text| cleaned_description(text));
        Problem::Service { code: cleaned_code(self.error().as_ref()), description }
    }
}

/// Asks for new tokens in place of these.
pub(crate) async fn renew(http: &Http, tokens: &Tokens) -> Result<Given, Problem> {
    let expired = || Problem::SignInAgain { at: tokens.service.name.clone(), why: Ended::Expired };
    let refresh = tokens.refresh.as_ref().ok_or_else(expired)?;
    let endpoint = Address::of(&tokens.service.token_endpoint)?;
    let client = client(&tokens.service.client_id, &endpoint);
    let refresh = RefreshToken::new(refresh.expose_secret().to_owned());
    let answer = client.exchange_refresh_token(&refresh).request_async(http).await;
    answer.map_err(|error| ended(problem(error, &endpoint), &tokens.service)).and_then(given)
}

/// The refusals that mean that a sign-in is over.
fn ended(problem: Problem, service: &Service) -> Problem {
    let Problem::Service { code, .. } = &problem else { return problem };
    let why = match code.as_str() {
        "invalid_grant" => Ended::Grant,
        "invalid_client" | "unauthorized_client" => Ended::Client(code.clone()),
        _ => return problem,
    };
    Problem::SignInAgain { at: service.name.clone(), why }
}

/// A token that is revoked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Which {
    Refresh,
    Access,
}

/// Revokes a token (RFC 7009). A token that the service does not know is revoked as well as can be.
pub(crate) async fn revoke(http: &Http, service: &Service, token: (Which, &SecretString)) -> Result<(), Problem> {
    let endpoint = service.revocation_endpoint.as_deref().ok_or(Problem::NoEndpoint("revocationEndpoint"))?;
    let endpoint = Address::of(endpoint)?;
    let hint = match token.0 {
        Which::Refresh => "refresh_token",
        Which::Access => "access_token",
    };
    let form =
        [("token", token.1.expose_secret()), ("token_type_hint", hint), ("client_id", service.client_id.as_str())];
    let answer = http.post(&endpoint, &form).await?;
    if answer.status == 200 { Ok(()) } else { Err(refusal(&answer, &endpoint)) }
}

/// What an answer with another status than 200 means.
pub(crate) fn refusal(answer: &Answer, at: &Address) -> Problem {
    let status = Problem::Http { at: at.host(), what: Trouble::Status(answer.status) };
    if answer.status == 429 || answer.status >= 500 {
        return status;
    }
    serde_json::from_slice::<BasicErrorResponse>(&answer.body).map_or(status, |answer| answer.problem())
}
