//! One recorded call, decided again as it stood then.

use std::fmt;
use std::sync::Arc;

use mayi_core::mode::Mode;
use mayi_core::referral::PersonAnswer;
use mayi_core::session::{Availability, Session};
use mayi_core::step::Step;
use mayi_core::verdict::Verdict;
use mayi_engine::audit::Recorded;
use mayi_engine::audit::ground::{Ground, Lead, Remembering};
use mayi_engine::family::Member;
use mayi_engine::observe::Observer;
use mayi_engine::version::version;
use mayi_settings::Loaded;
use mayi_settings::update::SessionPermissions;
use serde::Serialize;
use serde_json::Value;

use crate::again::{Again, Given, decide};

/// Why a recorded call cannot be decided again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Lost {
    /// A secret in its input was hidden.
    Hidden,
    /// Its input was too long to be kept.
    Omitted,
    /// Something was missing or broken at the time, and that decided it.
    Trouble,
    /// A lead that works elsewhere bound it.
    Led,
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Lost::Hidden => "a secret in the input was hidden",
            Lost::Omitted => "the input was too long to be recorded",
            Lost::Trouble => "something was missing or broken at the time",
            Lost::Led => "a lead that works elsewhere bound it",
        })
    }
}

/// Decides a recorded call again: in the session it was made in, with what was said and seen then.
pub fn retried(
    recorded: &Recorded,
    loaded: &Loaded,
    mode: Option<Mode>,
    observer: &dyn Observer,
) -> Result<Again, Lost> {
    if recorded.input.get("omitted_bytes").is_some_and(Value::is_number) {
        return Err(Lost::Omitted);
    }
    if mayi_settings::secret::was_hidden(&recorded.input.to_string()) {
        return Err(Lost::Hidden);
    }
    if recorded.reason.get("kind").and_then(Value::as_str) == Some("trouble") {
        return Err(Lost::Trouble);
    }
    let ground = ground_of(recorded);
    let policy = match ground.added == SessionPermissions::default() {
        true => loaded.policy.clone(),
        false => Arc::new(loaded.policy_for(&ground.added)),
    };
    let session = session_of(recorded, mode);
    let entered = if session.may_enter(session.mode, &policy).is_ok() { session.mode } else { Mode::Default };
    let first = Member::alone("", policy.clone(), Session { mode: entered, ..session });
    let given = Given { heard: ground.heard.clone(), person: answered(recorded) };
    let remembering = Remembering { facts: &ground.facts, otherwise: observer };
    let line = line(first, &ground, loaded)?;
    decide(recorded.call(), &line, &given, remembering).ok_or(Lost::Trouble)
}

/// What a record says it rested on, or what is usual where it says nothing.
fn ground_of(recorded: &Recorded) -> Ground {
    recorded.ground.clone().unwrap_or_else(|| Ground {
        availability: Availability { auto: recorded.mode == Mode::Auto, ..Availability::default() },
        ..Ground::default()
    })
}

/// The session of a recorded call, in its mode or another.
pub fn session_of(recorded: &Recorded, mode: Option<Mode>) -> Session {
    let mut session = ground_of(recorded).session(mode.unwrap_or(recorded.mode));
    // Whoever names a mode wants to see it, whether or not the session could have entered it.
    session.availability.bypass |= session.mode == Mode::BypassPermissions;
    session.availability.auto |= session.mode == Mode::Auto;
    session
}

/// The answer that a person gave before the decision was recorded.
fn answered(recorded: &Recorded) -> Option<PersonAnswer> {
    let by_person = recorded.step == Step::Human && recorded.verdict != Verdict::Ask;
    let comment = recorded.reason.get("comment").and_then(Value::as_str).map(str::to_owned);
    by_person.then_some(PersonAnswer { verdict: recorded.verdict, comment })
}

/// The agent and its leads. A lead under another policy than its child's then is not known well enough.
fn line(first: Member, ground: &Ground, loaded: &Loaded) -> Result<Vec<Member>, Lost> {
    let own = |lead: &Lead| lead.policy == ground.policy || lead.policy == version(&loaded.policy);
    if !ground.leads.iter().all(own) {
        return Err(Lost::Led);
    }
    let mut line = vec![first];
    for lead in &ground.leads {
        let policy = if lead.policy == ground.policy { line.first() } else { None };
        let policy = policy.map_or_else(|| loaded.policy.clone(), |first| first.policy.clone());
        let availability = Availability {
            bypass: lead.mode == Mode::BypassPermissions,
            auto: lead.mode == Mode::Auto || ground.availability.model,
            ..ground.availability
        };
        let session = Session { availability, attendance: ground.attendance, ..Session::in_mode(lead.mode) };
        if let Some(below) = line.last_mut() {
            below.inheritance = lead.inheritance;
            below.lead = Some(lead.name.clone());
        }
        line.push(Member::alone(&lead.name, policy, session));
    }
    Ok(line)
}
