//! Which source a credential comes from. The order is one list per purpose, and the first source that has something
//! gives it: what is nearest to the call wins, and a sign-in comes last.
//!
//! | | a model's API | a mayi server |
//! | --- | --- | --- |
//! | 1 | `MAYI_CLASSIFIER_KEY` | `MAYI_SERVER_TOKEN` |
//! | 2 | `ANTHROPIC_API_KEY` or `OPENAI_API_KEY` | `MAYI_API_KEY` |
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

/// The slot of a sign-in. Two spellings of one address are one service.
pub(crate) fn sign_in_slot(service: &str) -> String {
    let name = reqwest::Url::parse(service).map_or_else(|_| service.to_owned(), String::from);
    format!("sign-in:{}", name.trim_end_matches('/'))
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
            Purpose::Server(_) => {
                let variables = ["MAYI_SERVER_TOKEN", "MAYI_API_KEY"].map(Way::Variable);
                variables.into_iter().chain([Way::KeptKey, Way::SignIn]).collect()
            }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Config, Environment};
    use mayi_settings::settings::Settings;
    use serde_json::json;

    fn identity(settings: serde_json::Value, variables: &[(&str, &str)]) -> Identity {
        let settings: Settings = serde_json::from_value(settings).unwrap();
        let environment: Vec<_> = variables.iter().map(|(name, value)| (name.into(), value.into())).collect();
        Identity::open(Config::of(&settings, environment.as_slice() as &Environment))
    }

    #[tokio::test]
    async fn the_first_source_that_has_a_credential_gives_it() {
        let (anthropic, openai) = (Purpose::Model(Vendor::Anthropic), Purpose::Model(Vendor::OpenAi));
        let server = Purpose::Server("https://mayi.example".to_owned());
        let all = [
            ("MAYI_CLASSIFIER_KEY", " own "),
            ("ANTHROPIC_API_KEY", "theirs"),
            ("OPENAI_API_KEY", "others"),
            ("MAYI_API_KEY", "served"),
        ];
        let helper = json!({"apiKeyHelper": "echo helped"});
        let table = [
            (&anthropic, &helper, &all[..], Some("own")),
            (&anthropic, &helper, &all[1..], Some("theirs")),
            (&openai, &helper, &all[1..], Some("others")),
            (&openai, &helper, &[("OPENAI_API_KEY", " ")][..], Some("helped")),
            (&server, &helper, &all[..], Some("served")),
            (&server, &helper, &all[..3], None),
            (&server, &helper, &[("MAYI_API_KEY", "served"), ("MAYI_SERVER_TOKEN", "first")][..], Some("first")),
            (&anthropic, &json!({}), &all[3..], None),
        ];
        for (purpose, settings, variables, expected) in table {
            let identity = identity(settings.clone(), variables);
            let found = identity.credential(purpose).await.unwrap();
            let found = found.map(|credential| credential.secret.expose_secret().to_owned());
            assert_eq!(found.as_deref(), expected, "{purpose:?}");
            let shown = format!("{identity:?}");
            assert!(["own", "theirs", "others", "served"].iter().all(|key| !shown.contains(key)), "{shown}");
        }
    }

    #[test]
    fn a_sign_in_opens_a_models_api_only_where_settings_say_so() {
        let purpose = Purpose::Model(Vendor::Anthropic);
        let issuer = json!({"identity": {"issuer": "https://id.example"}});
        assert!(!identity(issuer, &[]).ways(&purpose).contains(&Way::SignIn));
        let both = json!({"identity": {"issuer": "https://id.example", "forModels": true}});
        assert_eq!(identity(both, &[]).ways(&purpose).last(), Some(&Way::SignIn));
    }

    #[tokio::test]
    async fn a_kept_key_is_for_one_purpose() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().to_str().unwrap();
        let settings = json!({"identity": {"store": "file"}});
        let kept_for = Purpose::Server("https://one.example/".to_owned());
        let opened = identity(settings.clone(), &[("HOME", home)]);
        opened.keep_key(&kept_for, " sk-1\n".to_owned().into()).await.unwrap();
        let again = identity(settings, &[("HOME", home)]);
        let table = [
            (Purpose::Server("https://one.example".to_owned()), Some("sk-1")),
            (Purpose::Server("https://two.example".to_owned()), None),
            (Purpose::Model(Vendor::OpenAi), None),
        ];
        for (purpose, expected) in table {
            let found = again.credential(&purpose).await.unwrap();
            let found = found.map(|credential| credential.secret.expose_secret().to_owned());
            assert_eq!(found.as_deref(), expected, "{purpose:?}");
        }
    }

    #[tokio::test]
    async fn a_refused_credential_is_replaced_once_or_is_the_problem() {
        let purpose = Purpose::Model(Vendor::OpenAi);
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        let counts = format!("echo x >> {0}; wc -l < {0}", log.display());
        let path = [("PATH", "/usr/bin:/bin")];
        let table = [
            (identity(json!({}), &[("OPENAI_API_KEY", "k")]), None),
            (identity(json!({"apiKeyHelper": "echo same"}), &path), None),
            (identity(json!({"apiKeyHelper": counts}), &path), Some("2")),
        ];
        for (identity, expected) in table {
            let first = identity.credential(&purpose).await.unwrap().unwrap();
            match (identity.refused(&purpose, &first).await, expected) {
                (Ok(Some(newer)), Some(expected)) => assert_eq!(newer.secret.expose_secret(), expected),
                (Err(problem), None) => assert_eq!(problem, Problem::Refused(first.source)),
                (outcome, _) => panic!("{outcome:?}"),
            }
        }
    }

    #[test]
    fn only_one_printable_word_is_a_key() {
        for odd in ["", " ", "two words", "line\nbreak", "schlüssel", &"x".repeat(9000)] {
            assert_eq!(checked_key(&odd.into()).unwrap_err(), Problem::Key);
        }
    }
}
