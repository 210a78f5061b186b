//! A credential: the secret, how it is sent, and where it came from. It can be used and compared, never shown.

use secrecy::{ExposeSecret, SecretString};

use crate::problem::Problem;
use crate::store::StoreName;

/// Who a credential is for. It is sent there and nowhere else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// A model's API, by whose protocol it speaks.
    Model(Vendor),
    /// The mayi server at an address.
    Server(String),
}

/// Whose protocol a model's API speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vendor {
    /// Anthropic's Messages API.
    Anthropic,
    /// OpenAI's chat API, or a server that speaks it.
    OpenAi,
}

impl Vendor {
    /// Its word in settings.
    pub fn word(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::OpenAi => "openai",
        }
    }
}

/// How a credential is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// As the API's own key: for Anthropic `x-api-key`, elsewhere `Authorization: Bearer`.
    Key,
    /// Always as `Authorization: Bearer`.
    Bearer,
}

/// Where a credential came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// A variable of the environment.
    Variable(&'static str),
    /// The command of `apiKeyHelper`.
    Helper,
    /// A key that `mayi login --api-key` kept.
    Kept(StoreName),
    /// A sign-in, whose tokens are kept.
    SignIn(StoreName),
}

impl std::fmt::Display for Source {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Variable(name) => write!(out, "the variable {name}"),
            Self::Helper => out.write_str("`apiKeyHelper`"),
            Self::Kept(store) => write!(out, "the key kept in the {store}"),
            Self::SignIn(store) => write!(out, "the sign-in kept in the {store}"),
        }
    }
}

impl Source {
    /// What to do about one that is refused.
    pub fn remedy(self) -> &'static str {
        match self {
            Self::Variable(_) => "set the variable to a key that is valid",
            Self::Helper => "mend the command, so that it prints a key that is valid",
            Self::Kept(_) => "give a new key: mayi login --api-key",
            Self::SignIn(_) => "sign in again: mayi login",
        }
    }
}

/// A credential. `Debug` does not show the secret.
#[derive(Clone, Debug)]
pub struct Credential {
    /// The secret.
    pub secret: SecretString,
    /// How it is sent.
    pub kind: Kind,
    /// Where it came from.
    pub source: Source,
    /// What went wrong on the way, though the credential may still be good: a store that failed in passing, a refresh
    /// that must be tried again.
    pub warning: Option<Box<Problem>>,
}

impl Credential {
    pub(crate) fn new(secret: SecretString, kind: Kind, source: Source) -> Self {
        Self { secret, kind, source, warning: None }
    }

    /// Whether the other holds the same secret.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.secret.expose_secret() == other.secret.expose_secret()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_credential_shows_where_it_is_from_and_not_what_it_is() {
        let credential = Credential::new("sk-hidden".into(), Kind::Key, Source::Kept(StoreName::File));
        let shown = format!("{credential:?} {}", credential.source);
        assert!(!shown.contains("sk-hidden"), "{shown}");
        assert!(shown.ends_with("the key kept in the private file"), "{shown}");
    }
}
