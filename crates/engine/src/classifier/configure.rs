//! From settings to a classifier, or to a clear word about what is missing.

use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;

use mayi_identity::{Config, Environment, Identity};
use mayi_settings::settings::Settings;

use super::Classifier;
use super::client::{Address, Client, Provider};
use super::failure::Leniency;
use super::ledger::Price;
use super::openai::Length;
use super::prompt::Standards;

/// How long one request may take, where settings do not say.
const TIMEOUT: u64 = 30;
/// How often a request is tried again, where settings do not say.
const RETRIES: u32 = 2;

/// What is wrong with the settings of a model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Misconfigured {
    /// Everything but the model.
    #[error("`classifier` names a provider or an address, but no model\nhelp: set `classifier.model`")]
    NoModel,
    /// A protocol that is not spoken.
    #[error("`classifier.provider` is `{0}`, which is not known\nhelp: one of anthropic, openai")]
    Provider(String),
    /// An address that no key may be sent to.
    #[error(
        "`classifier.baseUrl` is `{0}`, where no key may be sent\nhelp: an https address without user, query and \
         fragment; plain http on this machine only"
    )]
    Address(String),
    /// No key for the provider's own API.
    #[error(
        "there is no key for `{model}`\nhelp: set MAYI_CLASSIFIER_KEY or {variable}, or keep one: mayi login --api-key"
    )]
    NoKey {
        /// The model.
        model: String,
        /// The provider's variable.
        variable: &'static str,
    },
    /// A limit that cannot be held.
    #[error(
        "`classifier.budget.usd` cannot be held: no price is known for `{0}`\nhelp: set `classifier.budget.tokens`"
    )]
    NoPrice(String),
    /// A flag that cannot be read.
    #[error("`classifier.failOpenFlag` is `{0}`\nhelp: an absolute path, or an https address")]
    Flag(String),
}

impl Classifier {
    /// The classifier of these settings; `None` when no model is configured or the static analysis is to be alone.
    pub fn configured(settings: &Settings, environment: &Environment) -> Result<Option<Self>, Misconfigured> {
        if settings.classifier.strict {
            return Ok(None);
        }
        let Some(client) = Client::configured(settings, environment, None)? else { return Ok(None) };
        let flag = settings.classifier.fail_open_flag.clone().unwrap_or_default();
        let leniency = Leniency::of(&settings.classifier).ok_or(Misconfigured::Flag(flag))?;
        let budget = settings.classifier.budget;
        if budget.usd.is_some() && Price::of(&client.model).is_none() {
            return Err(Misconfigured::NoPrice(client.model));
        }
        Ok(Some(Self { client, standards: Standards::new(&settings.auto_mode), leniency, budget }))
    }
}

impl Classifier {
    /// What went wrong with the credential, though the model took it.
    pub fn warning(&self) -> Option<&str> {
        self.client.warning()
    }
}

impl Client {
    /// The client of these settings; `None` when they name no model. Another model may be named instead.
    pub(crate) fn configured(
        settings: &Settings,
        environment: &Environment,
        instead: Option<&str>,
    ) -> Result<Option<Self>, Misconfigured> {
        let classifier = &settings.classifier;
        let Some(model) = instead.or(classifier.model.as_deref()).filter(|model| !model.trim().is_empty()) else {
            let begun = classifier.provider.is_some() || classifier.base_url.is_some();
            return if begun { Err(Misconfigured::NoModel) } else { Ok(None) };
        };
        let provider = match classifier.provider.as_deref() {
            None | Some("anthropic") => Provider::Anthropic,
            Some("openai") => Provider::OpenAi,
            Some(other) => return Err(Misconfigured::Provider(other.to_owned())),
        };
        let base = classifier.base_url.as_deref().unwrap_or(provider.default_address());
        let identity = Identity::open(Config::of(settings, environment));
        if classifier.base_url.is_none() && !identity.may_have(&provider.purpose()) {
            return Err(Misconfigured::NoKey { model: model.to_owned(), variable: provider.key_variable() });
        }
        Ok(Some(Self {
            provider,
            model: model.to_owned(),
            base: Address::of(base).ok_or_else(|| Misconfigured::Address(base.to_owned()))?,
            timeout: Duration::from_secs(classifier.timeout_seconds.unwrap_or(TIMEOUT)),
            retries: classifier.retries.unwrap_or(RETRIES),
            identity,
            warning: OnceLock::new(),
            roots: roots(environment),
            http: OnceLock::new(),
        }))
    }

    /// How the server wants to be told the length of an answer.
    pub(crate) fn length(&self) -> Length {
        Length::of_host(self.base.url().host_str())
    }
}

/// The file with further certificates to trust.
fn roots(environment: &Environment) -> Option<PathBuf> {
    let found = environment.iter().find(|(name, _)| name == "SSL_CERT_FILE")?;
    Some(PathBuf::from(&found.1)).filter(|path| !path.as_os_str().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn configured(settings: Value) -> Result<Option<Classifier>, Misconfigured> {
        let settings: Settings = serde_json::from_value(settings).unwrap();
        Classifier::configured(&settings, &[("ANTHROPIC_API_KEY".into(), "sk-secret".into())])
    }

    #[test]
    fn without_a_model_there_is_no_classifier() {
        assert!(configured(json!({})).unwrap().is_none());
        assert!(configured(json!({"classifier": {"model": "m", "strict": true}})).unwrap().is_none());
        assert!(configured(json!({"classifier": {"model": "m"}})).unwrap().is_some());
        assert!(
            configured(json!({"classifier": {"model": "m", "provider": "openai", "baseUrl": "http://127.0.0.1:1/v1"}}))
                .unwrap()
                .is_some(),
            "a server of one's own may need no key"
        );
    }

    #[test]
    fn what_is_missing_is_said() {
        let table = [
            (json!({"provider": "anthropic"}), Misconfigured::NoModel),
            (json!({"model": "m", "provider": "other"}), Misconfigured::Provider("other".to_owned())),
            (
                json!({"model": "m", "baseUrl": "http://a.example"}),
                Misconfigured::Address("http://a.example".to_owned()),
            ),
            (
                json!({"model": "m", "provider": "openai"}),
                Misconfigured::NoKey { model: "m".to_owned(), variable: "OPENAI_API_KEY" },
            ),
            (json!({"model": "m", "budget": {"usd": 1.0}}), Misconfigured::NoPrice("m".to_owned())),
            (json!({"model": "m", "failOpenFlag": "flag"}), Misconfigured::Flag("flag".to_owned())),
        ];
        for (classifier, expected) in table {
            assert_eq!(configured(json!({ "classifier": classifier })).unwrap_err(), expected);
        }
    }

    #[test]
    fn a_classifier_shows_no_key() {
        let classifier = configured(json!({"classifier": {"model": "m"}})).unwrap().unwrap();
        assert!(!format!("{classifier:?}").contains("sk-secret"));
    }
}
