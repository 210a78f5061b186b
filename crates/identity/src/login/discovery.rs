//! Where a sign-in service is: from its own description (OpenID Connect Discovery or RFC 8414), with what settings say
//! about single endpoints on top. A description is believed only about the issuer it was asked for.

use mayi_settings::settings::Identity as Settings;
use serde::Deserialize;

use crate::http::{Address, Http};
use crate::oauth::refusal;
use crate::problem::{Problem, Trouble};

/// Where to sign in, and how the service behaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Endpoints {
    pub(super) issuer: Option<String>,
    pub(super) authorization: Option<Address>,
    pub(super) token: Address,
    pub(super) device: Option<Address>,
    pub(super) revocation: Option<Address>,
    /// The service promises to say in its answers who it is (RFC 9207).
    pub(super) names_itself: bool,
    /// What can be asked for, if the service says.
    pub(super) scopes: Option<Vec<String>>,
}

impl Endpoints {
    /// The name of the service: its issuer, or else where its tokens are fetched.
    pub(super) fn name(&self) -> &str {
        self.issuer.as_deref().unwrap_or(self.token.url().as_str())
    }
}

/// What a service says of itself.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Description {
    issuer: Option<String>,
    authorization_endpoint: Option<String>,
    token_endpoint: Option<String>,
    device_authorization_endpoint: Option<String>,
    revocation_endpoint: Option<String>,
    code_challenge_methods_supported: Option<Vec<String>>,
    scopes_supported: Option<Vec<String>>,
    authorization_response_iss_parameter_supported: bool,
}

/// The endpoints of these settings.
pub(super) async fn endpoints(http: &Http, settings: &Settings) -> Result<Endpoints, Problem> {
    let said =
        |text: &Option<String>| text.as_deref().map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned);
    let description = match said(&settings.issuer) {
        Some(issuer) => described(http, &issuer).await?,
        None => Description::default(),
    };
    let pick = |own: &Option<String>, theirs: Option<String>| {
        said(own).or(theirs).map(|address| Address::of(&address)).transpose()
    };
    let token = pick(&settings.token_endpoint, description.token_endpoint)?;
    let missing = if description.issuer.is_some() { Problem::NoEndpoint("tokenEndpoint") } else { Problem::NoService };
    Ok(Endpoints {
        token: token.ok_or(missing)?,
        authorization: pick(&settings.authorization_endpoint, description.authorization_endpoint)?,
        device: pick(&settings.device_endpoint, description.device_authorization_endpoint)?,
        revocation: pick(&settings.revocation_endpoint, description.revocation_endpoint)?,
        names_itself: description.authorization_response_iss_parameter_supported,
        scopes: description.scopes_supported,
        issuer: description.issuer,
    })
}

/// What the service says of itself, at the first of its two places that has something.
async fn described(http: &Http, issuer: &str) -> Result<Description, Problem> {
    let base = Address::of(issuer)?;
    let unreadable = || Problem::Http { at: base.host(), what: Trouble::Unreadable };
    let mut last = None;
    for place in places(&base) {
        let address = Address::of(&place)?;
        let answer = http.fetch(&address).await?;
        if answer.status == 200 && answer.json {
            let description = serde_json::from_slice(&answer.body).map_err(|_| unreadable())?;
            return checked(description, issuer);
        }
        last = Some(if answer.status == 200 { unreadable() } else { refusal(&answer, &address) });
    }
    Err(last.unwrap_or_else(unreadable))
}

/// OpenID Connect writes behind the issuer's path, RFC 8414 before it.
fn places(issuer: &Address) -> [String; 2] {
    let mut root = issuer.url().clone();
    root.set_path("");
    root.set_query(None);
    let (root, path) = (root.as_str().trim_end_matches('/'), issuer.url().path().trim_end_matches('/'));
    [
        format!("{root}{path}/.well-known/openid-configuration"),
        format!("{root}/.well-known/oauth-authorization-server{path}"),
    ]
}

fn checked(description: Description, issuer: &str) -> Result<Description, Problem> {
    let wrong = |what| Err(Problem::Discovery { at: issuer.to_owned(), what });
    // A final slash is the one slip that people make; the service's own spelling is what counts from here on.
    let same = |name: &str| name.trim_end_matches('/') == issuer.trim_end_matches('/');
    match &description.issuer {
        None => return wrong("names no issuer"),
        Some(name) if !same(name) => return wrong("is about another issuer"),
        Some(_) => {}
    }
    let s256 = |methods: &Vec<String>| methods.iter().any(|method| method == "S256");
    if description.code_challenge_methods_supported.as_ref().is_some_and(|methods| !s256(methods)) {
        return wrong("leaves out the proof key that a program needs (PKCE with S256)");
    }
    Ok(description)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_description_is_looked_for_in_both_places() {
        let table = [
            ("https://id.example", "https://id.example/.well-known/openid-configuration"),
            ("https://id.example/", "https://id.example/.well-known/openid-configuration"),
            ("https://id.example/a/b", "https://id.example/a/b/.well-known/openid-configuration"),
        ];
        for (issuer, first) in table {
            assert_eq!(places(&Address::of(issuer).unwrap())[0], first);
        }
        let tenant = Address::of("http://127.0.0.1:9/tenant").unwrap();
        assert_eq!(places(&tenant)[1], "http://127.0.0.1:9/.well-known/oauth-authorization-server/tenant");
    }

    #[test]
    fn a_description_must_be_about_the_issuer_that_was_asked() {
        let table = [
            (json!({"issuer": "https://id.example"}), true),
            (json!({"issuer": "https://id.example/"}), true),
            (json!({"issuer": "https://id.example", "code_challenge_methods_supported": ["plain", "S256"]}), true),
            (json!({"issuer": "https://id.example", "code_challenge_methods_supported": ["plain"]}), false),
            (json!({"issuer": "https://evil.example"}), false),
            (json!({"issuer": "https://id.example.evil"}), false),
            (json!({}), false),
        ];
        for (said, expected) in table {
            let description = serde_json::from_value(said.clone()).unwrap();
            assert_eq!(checked(description, "https://id.example").is_ok(), expected, "{said}");
        }
    }
}
