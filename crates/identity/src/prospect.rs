//! Whether there is any prospect of a credential, for whoever wants to say early that there is none. No store is asked
//! and nothing is run: the variables, the settings and the card are enough.

use crate::Identity;
use crate::credential::Purpose;
use crate::source::{Way, key_slot};

impl Identity {
    /// Whether some source may have a credential for a purpose. What cannot be found out may well be there.
    pub fn may_have(&self, purpose: &Purpose) -> bool {
        let kept = self.chain.as_ref().map_or(Ok(Vec::new()), |chain| chain.slots());
        let is_kept = |slot: &str| kept.as_ref().map_or(true, |slots| slots.iter().any(|own| own == slot));
        self.ways(purpose).into_iter().any(|way| match way {
            Way::Variable(name) => self.config.variable(name).is_some(),
            Way::Helper => self.helper.is_some(),
            Way::KeptKey => is_kept(&key_slot(purpose)),
            Way::SignIn => self.slot().map_or(true, |slot| slot.is_some_and(|slot| is_kept(&slot))),
        })
    }
}

#[cfg(test)]
mod tests {
    use mayi_settings::settings::Settings;

    use super::*;
    use crate::{Config, Vendor};

    #[test]
    fn a_prospect_is_seen_without_asking_anybody() {
        let state = tempfile::tempdir().unwrap();
        let folder = state.path().join("identity");
        std::fs::create_dir(&folder).unwrap();
        let purpose = Purpose::Model(Vendor::OpenAi);
        let table = [
            ("", "", None, false),
            ("OPENAI_API_KEY", "", None, true),
            ("ANTHROPIC_API_KEY", "", None, false),
            ("", "exit 1", None, true),
            ("", "", Some(r#"{"kept": {"key:openai": "file"}}"#), true),
            ("", "", Some(r#"{"kept": {"key:anthropic": "file"}}"#), false),
            ("", "", Some("nothing that can be read"), true),
        ];
        for (variable, helper, card, expected) in table {
            let settings = Settings { api_key_helper: Some(helper.to_owned()), ..Settings::default() };
            let config = Config::of(&settings, &[(variable.into(), "a-key".into())]).in_state_folder(state.path());
            let _ = std::fs::remove_file(folder.join("card.json"));
            if let Some(card) = card {
                std::fs::write(folder.join("card.json"), card).unwrap();
            }
            assert_eq!(Identity::open(config).may_have(&purpose), expected, "{variable} {helper} {card:?}");
        }
    }
}
