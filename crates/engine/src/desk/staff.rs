//! Who answers at the desk: hooks, the classifier, and no person, because the agent has its own prompt.

use std::sync::Arc;

use mayi_core::call::Call;
use mayi_core::pipeline::Said;
use mayi_core::referral::{Classified, HookAnswer, OnFailure, PersonAnswer};
use mayi_core::verdict::Decision;
use mayi_settings::Loaded;

use super::Asked;
use crate::decide::Respond;

pub(super) struct Staff;

impl Staff {
    pub(super) fn new(_: &Asked, _: &Arc<Loaded>) -> Self {
        Self
    }
}

impl Respond for Staff {
    async fn before(&self, _: &Call) -> Option<(Said, Option<Call>)> {
        None
    }

    async fn classify(&self, _: &Call) -> Classified {
        Classified::Failed { problem: "no classifier is configured".to_owned(), then: OnFailure::Closed }
    }

    async fn hooks(&self, _: &Call) -> Option<HookAnswer> {
        None
    }

    async fn person(&self, _: &Call, _: &Decision) -> Option<PersonAnswer> {
        None
    }
}
