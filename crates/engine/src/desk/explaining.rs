//! The explanation that goes along with a question to a person. It decides nothing and costs nothing where settings
//! do not want it; what a model uses for it is not in the session's books.

use std::time::Duration;

use mayi_core::call::Call;

use super::Turn;
use super::staff::{Staff, environment};
use crate::explain::model::Explainer;
use crate::explain::{self, Explanation};
use crate::observe::Machine;

/// How long a person who is about to be asked waits for a model's words.
const LONGEST: Duration = Duration::from_secs(5);

impl Staff<'_> {
    /// A model's explanation where one is configured and answers in time, else the static one; `None` where settings
    /// do not want explanations with every question.
    pub(super) async fn explanation(&self, call: &Call, machine: &Machine) -> Option<Explanation> {
        let by_analysis = explain::for_prompt(&self.loaded.settings, call, &self.loaded.policy, machine)?;
        Some(self.by_model(call).await.unwrap_or(by_analysis))
    }

    async fn by_model(&self, call: &Call) -> Option<Explanation> {
        let settings = &self.loaded.settings;
        // A question that is put again was explained the first time, and its prompt should not wait twice.
        if self.asked.turn == Turn::Again || !Explainer::is_named(settings) {
            return None;
        }
        let explainer = Explainer::configured(settings, &environment()).ok().flatten()?;
        // Without the session's words the call alone can still be explained.
        let context = self.transcript().map(|transcript| transcript.lines().join("\n")).unwrap_or_default();
        let left = self.patience.map_or(LONGEST, |patience| patience.saturating_sub(self.begun.elapsed()));
        let (explanation, _) = explainer.explain(call, &context, left.min(LONGEST)).await.ok()?;
        Some(explanation)
    }
}
