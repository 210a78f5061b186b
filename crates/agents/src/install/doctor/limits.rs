//! What mayi does not see or does not stop under the settings here, and what compensates for it.

use mayi_engine::limits;
use mayi_settings::{Given, load};

use super::{Examination, Finding, LIMITS, Presence, Section, State};

pub(super) fn examined(examination: &Examination<'_>) -> Section {
    let places = examination.places;
    let loaded = load(places, &Given { trust: places.trust(), ..Given::default() });
    let finding = |limit: limits::Limit| Finding {
        state: State::Limit,
        what: format!("{} ({})", limit.what, limit.id),
        help: Some(limit.instead),
    };
    let findings = limits::under(&loaded).into_iter().map(finding).collect();
    Section { name: LIMITS, title: "accepted limits", presence: Presence::Installed, findings }
}
