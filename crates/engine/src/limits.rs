//! Accepted limits: what mayi does not see or does not stop, why, and what compensates. Data, so that nobody has to guess
//! what an allow is worth.

use mayi_settings::Loaded;
use serde::Deserialize;
use serde_json::Value;

/// A limit.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limit {
    /// Its stable name.
    pub id: String,
    /// The limit, in a sentence.
    pub what: String,
    /// Why it is accepted.
    pub why: String,
    /// What compensates for it.
    pub instead: String,
    /// Where it applies.
    pub applies: Applies,
    /// A call that shows it.
    pub example: Option<Example>,
}

/// Where a limit applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Applies {
    /// Everywhere.
    Always,
    /// Where commands do not run in the sandbox.
    Unconfined,
    /// Where auto mode may be entered, and no model is asked.
    Modelless,
}

/// A call that shows a limit.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Example {
    /// The verdict that it gets.
    pub verdict: String,
    /// The call, as a line of the batch format.
    pub call: Value,
}

#[derive(Deserialize)]
struct File {
    limit: Vec<Limit>,
}

/// Every limit.
pub fn all() -> Vec<Limit> {
    // The list is part of the program and read by a test; one that cannot be read would show no limits.
    toml::from_str::<File>(include_str!("../data/limits.toml")).map(|file| file.limit).unwrap_or_default()
}

/// The limits that apply under these settings.
pub fn under(loaded: &Loaded) -> Vec<Limit> {
    let options = &loaded.policy.options;
    let applies = |limit: &Limit| match limit.applies {
        Applies::Always => true,
        Applies::Unconfined => !options.sandbox.enabled,
        Applies::Modelless => !options.auto_disabled && loaded.settings.classifier.model.is_none(),
    };
    all().into_iter().filter(applies).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::all;
    use crate::batch::Batch;

    #[test]
    fn every_limit_has_a_name_of_its_own_and_its_example_shows_it() {
        let limits = all();
        assert!(limits.len() >= 5, "the list is read");
        let mut names: Vec<&str> = limits.iter().map(|limit| limit.id.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), limits.len());
        let mut batch = Batch::new("/work");
        for (limit, example) in limits.iter().filter_map(|limit| Some((&limit.id, limit.example.as_ref()?))) {
            let answer: Value = serde_json::from_str(&batch.answer(example.call.to_string())).unwrap();
            assert_eq!(answer["verdict"], example.verdict.as_str(), "{limit}: {answer:#}");
        }
    }
}
