//! What an organisation's settings say, handed on: to a policy that is built from values, or to agents elsewhere.

use mayi_core::policy::Layer;
use mayi_core::verdict::Verdict;
use serde_json::{Map, Value as Json, json};

use crate::load::{Bundle, Given, Loaded, of_values};

impl Loaded {
    /// The organisation's documents, strongest first.
    pub fn managed(&self) -> Vec<Bundle> {
        let documents = self.read.iter().filter(|read| read.layer == Layer::Managed);
        let bundle = |read: &crate::load::ReadDocument| Bundle {
            name: read.file.as_deref().unwrap_or("managed").to_owned(),
            settings: read.document.root().to_value(),
        };
        documents.map(bundle).collect()
    }

    /// The organisation's documents as one, which means the same.
    pub fn managed_as_one(&self) -> Json {
        let bundles = self.managed();
        if let [only] = bundles.as_slice() {
            return only.settings.clone();
        }
        let hooks = hooks(&bundles);
        let given = Given { bundles, ..Given::default() };
        let merged = of_values(&[], &self.policy.workspace, &given);
        let mut whole = match merged.effective.to_value() {
            Json::Object(whole) => whole,
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Array(_) => Map::new(),
        };
        for list in Verdict::ALL {
            let entries = merged.policy.entries().iter().filter(|entry| entry.verdict == list);
            let rules: Vec<&str> = entries.map(|entry| entry.text.as_str()).collect();
            if rules.is_empty() {
                continue;
            }
            if let Json::Object(permissions) = whole.entry("permissions").or_insert_with(|| json!({})) {
                permissions.insert(list.word().to_owned(), json!(rules));
            }
        }
        if !hooks.is_empty() {
            whole.insert("hooks".to_owned(), Json::Object(hooks));
        }
        Json::Object(whole)
    }
}

/// The hooks of all documents, event by event.
fn hooks(bundles: &[Bundle]) -> Map<String, Json> {
    let mut all: Map<String, Json> = Map::new();
    let events = bundles.iter().filter_map(|bundle| bundle.settings.get("hooks")?.as_object()).flatten();
    for (event, matchers) in events {
        if let (Json::Array(all), Some(more)) =
            (all.entry(event.clone()).or_insert_with(|| json!([])), matchers.as_array())
        {
            all.extend(more.iter().cloned());
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use mayi_core::call::Workspace;

    use super::*;

    #[test]
    fn several_documents_become_one_that_means_the_same() {
        let bundle = |settings| Bundle { name: "m".to_owned(), settings };
        let hook = json!([{"matcher": "Bash", "hooks": [{"type": "command", "command": "look"}]}]);
        let bundles = vec![
            bundle(json!({"permissions": {"deny": ["Bash(curl:*)"]}, "hooks": {"PreToolUse": hook}})),
            bundle(json!({"permissions": {"deny": ["Bash(wget:*)"], "disableBypassPermissionsMode": "disable"}})),
        ];
        let workspace = Workspace::at("/w");
        let several = of_values(&[], &workspace, &Given { bundles, ..Given::default() });
        let one = several.managed_as_one();
        let bundles = vec![bundle(one.clone())];
        let again = of_values(&[], &workspace, &Given { bundles, ..Given::default() });
        let texts = |loaded: &Loaded| {
            loaded.policy.entries().iter().map(|entry| (entry.verdict, entry.text.clone())).collect::<Vec<_>>()
        };
        assert_eq!(texts(&again), texts(&several), "{one}");
        assert!(again.policy.options.bypass_disabled, "{one}");
        assert_eq!(again.hooks.len(), 1, "{one}");
    }
}
