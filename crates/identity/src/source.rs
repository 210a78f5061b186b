//! Which source a credential comes from. The order is one list per purpose, and the first source that has something
//! gives it: what is nearest to the call wins, and a sign-in comes last.
//!
//! | | a model's API | a mayi server |
//! | --- | --- | --- |
//! | 1 | `MAYI_CLASSIFIER_KEY` | `MAYI_API_KEY` |
//! | 2 | `ANTHROPIC_API_KEY` or `OPENAI_API_KEY` | |
//! | 3 | the command of `apiKeyHelper` | |
//! | 4 | the key kept for it | the key kept for it |
//! | 5 | the sign-in, if `identity.forModels` is set | the sign-in |
//!
//! A key for one purpose is never sent to the other: each variable, kept key and helper is for one of them.

use secrecy::{ExposeSecret, SecretString};

use crate::Identity;
use crate::credential::{Credential, Kind, Purpose, Source, Vendor};
use crate::problem::Problem;
use crate::store::cache::Freshness;

/// A way to a credential.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// A variable of the environment.
    Variable(&'static str),
    /// The command of `apiKeyHelper`.
    Helper,
    /// A kept key.
    KeptKey,
    /// A sign-in.
    SignIn,
}

impl std::fmt::Display for Way {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Variable(name) => out.write_str(name),
            Self::Helper => out.write_str("apiKeyHelper"),
            Self::KeptKey => out.write_str("a key kept by `mayi login --api-key`"),
            Self::SignIn => out.write_str("a sign-in by `mayi login`"),
        }
    }
}

/// The slot of a kept key.
pub(crate) fn key_slot(purpose: &Purpose) -> String {
    match purpose {
        Purpose::Model(vendor) => format!("key:{}", vendor.word()),
        Purpose::Server(url) => format!("key:server:{}", url.trim_end_matches('/')),
    }
}

/// The slot of a sign-in.
pub(crate) fn sign_in_slot(service: &str) -> String {
    format!("sign-in:{}", service.trim_end_matches('/'))
}

/// A key as it can be sent: one word of printable letters.
pub(crate) fn checked_key(key: &SecretString) -> Result<SecretString, Problem> {
    let text = key.expose_secret().trim();
    let fit = !text.is_empty() && text.len() <= 8 * 1024 && text.bytes().all(|byte| byte.is_ascii_graphic());
    fit.then(|| text.into()).ok_or(Problem::Key)
}

impl Identity {
    /// The ways to a credential for a purpose, first to last.
    pub fn ways(&self, purpose: &Purpose) -> Vec<Way> {
        match purpose {
            Purpose::Model(vendor) => {
                let variable = match vendor {
                    Vendor::Anthropic => "ANTHROPIC_API_KEY",
                    Vendor::OpenAi => "OPENAI_API_KEY",
                };
                let mut ways =
                    vec![Way::Variable("MAYI_CLASSIFIER_KEY"), Way::Variable(variable), Way::Helper, Way::KeptKey];
                ways.extend(self.config.identity.for_models.then_some(Way::SignIn));
                ways
            }
            Purpose::Server(_) => vec![Way::Variable("MAYI_API_KEY"), Way::KeptKey, Way::SignIn],
        }
    }

    /// The credential for a purpose, from the first source that has one. `None` when none has.
    pub async fn credential(&self, purpose: &Purpose) -> Result<Option<Credential>, Problem> {
        for way in self.ways(purpose) {
            if let Some(credential) = self.try_way(way, purpose).await? {
                return Ok(Some(credential));
            }
        }
        Ok(None)
    }

    async fn try_way(&self, way: Way, purpose: &Purpose) -> Result<Option<Credential>, Problem> {
        match way {
            Way::Variable(name) => {
                let key = self.config.variable(name);
                Ok(key.map(|key| Credential::new(key.into(), Kind::Key, Source::Variable(name))))
            }
            Way::Helper => {
                let Some(helper) = &self.helper else { return Ok(None) };
                let key = helper.key(&self.config.environment).await?;
                Ok(Some(Credential::new(key, Kind::Key, Source::Helper)))
            }
            Way::KeptKey => self.kept_key(purpose, Freshness::Recent).await,
            Way::SignIn => Ok(self.signed_in(None).await?.map(Into::into)),
        }
    }

    async fn kept_key(&self, purpose: &Purpose, freshness: Freshness) -> Result<Option<Credential>, Problem> {
        let Some(chain) = &self.chain else { return Ok(None) };
        let loaded = self.cache.load(chain, &key_slot(purpose), freshness).await?;
        Ok(loaded.found.map(|found| Credential {
            warning: loaded.warning.map(|problem| Box::new(problem.into())),
            ..Credential::new(found.secret, Kind::Key, Source::Kept(found.store))
        }))
    }

    /// A newer credential in place of one that a server refused: the helper is run again, the sign-in renewed, the store
    /// read again, once. Where there is nothing newer, that is the problem.
    pub async fn refused(&self, purpose: &Purpose, refused: &Credential) -> Result<Option<Credential>, Problem> {
        let newer = match refused.source {
            Source::Variable(_) => None,
            Source::Helper => {
                if let Some(helper) = &self.helper {
                    helper.forget(&refused.secret).await;
                }
                self.try_way(Way::Helper, purpose).await?
            }
            Source::Kept(_) => self.kept_key(purpose, Freshness::Now).await?,
            Source::SignIn(_) => self.signed_in(Some(&refused.secret)).await?.map(Into::into),
        };
        match newer {
            Some(newer) if !newer.is_same(refused) => Ok(Some(newer)),
            Some(_) | None => Err(Problem::Refused(refused.source)),
        }
    }
}
