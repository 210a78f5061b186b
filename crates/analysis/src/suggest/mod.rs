//! Rules that would have saved questions. Few, narrow and tried out: each is added to the policy and the calls are
//! decided again with it. Never a rule that auto mode would set aside, never one that covers what the static risk
//! analysis blocks, never a secret or a text that was meant once.

mod offers;
mod past;
mod safety;
mod shape;

pub use offers::{offers, offers_seeing};
pub use past::{Closed, Past, PastCall, Report, Suggestion};
pub use shape::spelled;
