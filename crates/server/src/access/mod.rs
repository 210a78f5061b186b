//! Who may come in: tokens of agents and programs, and people's sign-ins by a one-time link or OIDC.
//!
//! Only digests of secrets are kept, and a secret is shown once, when it is made. What is not known is refused; what
//! cannot be looked up, because the store is away, is refused as well.

pub mod cookie;
pub mod link;
pub mod oidc;
mod recent;
mod routes;
pub mod secret;
pub mod site;
pub mod token;

use std::sync::Arc;

use axum::http::{HeaderMap, Method, header};
use mayi_engine::remote::wire;

use crate::app::Clock;
use crate::principal::{Principal, Proof};
use crate::problem::Problem;
use crate::store::{SignIn, Store};

use oidc::Oidc;
use recent::Recent;
use site::Site;

pub(crate) use routes::Failures;
pub use routes::routes;

/// What an [`Access`] is made of.
#[derive(Debug)]
pub struct AccessOptions {
    /// Where tokens and sign-ins are kept.
    pub store: Arc<dyn Store>,
    /// The clock.
    pub clock: Clock,
    /// Where the server stands.
    pub site: Site,
    /// How people sign in, beside links.
    pub oidc: Option<Oidc>,
}

/// Everything that says who a request is from. Clones share it.
#[derive(Clone, Debug)]
pub struct Access(Arc<Parts>);

/// What an access is made of.
#[derive(Debug)]
struct Parts {
    store: Arc<dyn Store>,
    clock: Clock,
    site: Site,
    oidc: Option<Oidc>,
    recent: Recent,
}

/// What a request brought to show who it is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shown<'a> {
    /// Nothing.
    Nothing,
    /// A bearer token.
    Token(&'a str),
    /// Something in the place of a token that is none.
    Garbage,
    /// A browser's cookie.
    Cookie(&'a str),
}

impl Access {
    /// Brings the parts together.
    pub fn open(options: AccessOptions) -> Self {
        let AccessOptions { store, clock, site, oidc } = options;
        Self(Arc::new(Parts { recent: Recent::default(), store, clock, site, oidc }))
    }

    /// Where the server stands.
    pub fn site(&self) -> &Site {
        &self.0.site
    }

    /// What a request shows. A token goes before a cookie.
    pub(crate) fn shown<'h>(&self, headers: &'h HeaderMap) -> Shown<'h> {
        let Some(authorization) = headers.get(header::AUTHORIZATION) else {
            return cookie::find(headers, self.0.site.cookie()).map_or(Shown::Nothing, Shown::Cookie);
        };
        let text = authorization.to_str().unwrap_or_default();
        let (scheme, rest) = text.split_once(' ').unwrap_or_default();
        match rest.trim() {
            token if scheme.eq_ignore_ascii_case("bearer") && token::is_one(token) => Shown::Token(token),
            _ => Shown::Garbage,
        }
    }

    /// Whether a token was looked up a moment ago, so that asking for it again costs nothing.
    pub(crate) fn remembers(&self, token: &str) -> Option<Principal> {
        self.0.recent.fresh(&secret::digest(token), self.0.clock.now())
    }

    /// Whether a token was good when it was last looked up, however long ago.
    pub(crate) fn knew(&self, token: &str) -> bool {
        self.0.recent.knew(&secret::digest(token))
    }

    /// Whose token it is.
    pub(crate) async fn holder(&self, token: &str) -> Result<Principal, Problem> {
        let now = self.0.clock.now();
        self.0.recent.look_up(&*self.0.store, secret::digest(token), now).await
    }

    /// Whose cookie it is. One that is not, or no longer, good is as if there were none: the page must still come up.
    pub(crate) async fn signed_in(&self, cookie: &str) -> Result<Option<(Principal, SignIn)>, Problem> {
        let Some(sign_in) = cookie::read(&*self.0.store, cookie, self.0.clock.now()).await? else { return Ok(None) };
        let principal = Principal { name: sign_in.person.clone(), role: sign_in.role, proof: Proof::Cookie };
        Ok(Some((principal, sign_in)))
    }

    /// A request with a cookie that changes something must also carry the word that only the server's own page knows.
    pub(crate) fn own_page(&self, method: &Method, headers: &HeaderMap, sign_in: &SignIn) -> Result<(), Problem> {
        let brought = headers.get(wire::CSRF).and_then(|word| word.to_str().ok()).unwrap_or_default();
        // Digests are compared, so that the time it takes says nothing about the word.
        if method.is_safe() || secret::digest(brought) == secret::digest(&sign_in.csrf) {
            return Ok(());
        }
        Err(Problem::Refused(format!(
            "a request with a cookie needs the header `{}` with the word of `/v1/me`",
            wire::CSRF
        )))
    }
}
