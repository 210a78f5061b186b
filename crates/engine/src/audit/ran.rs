//! The line of a run: what ran, how far it was confined, how it ended and what it was refused.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use mayi_sandbox::enforcement::{Enforcement, Mechanism};
use mayi_sandbox::report::{Ending, Violation};
use serde::Serialize;

use super::{LONGEST_INPUT, milliseconds};

/// A run.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Ran<'a> {
    /// Who had it run: an agent program, or `mayi run` itself.
    pub agent: &'a str,
    /// The agent's session.
    pub session: &'a str,
    /// The agent within the session.
    pub child: Option<&'a str>,
    /// The agent's name for the call.
    pub call_id: Option<&'a str>,
    /// Where it ran.
    pub cwd: &'a str,
    /// The command.
    pub command: &'a str,
    /// By what means it was confined; `None` when it was not.
    pub mechanism: Option<Mechanism>,
    /// How far.
    pub enforcement: &'a Enforcement,
    /// Why it ran unconfined.
    pub unconfined: Option<&'a str>,
    /// How it ended.
    pub ending: Ending,
    /// What it was refused.
    pub violations: &'a [Violation],
    /// How many more refusals there were.
    pub more: usize,
    /// What was removed after it.
    pub scrubbed: &'a [PathBuf],
    /// How long it took.
    #[serde(rename = "took_us", serialize_with = "microseconds")]
    pub took: Duration,
}

fn microseconds<S: serde::Serializer>(took: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(u64::try_from(took.as_micros()).unwrap_or(u64::MAX))
}

#[derive(Serialize)]
pub(super) struct Line<'a> {
    v: u8,
    at: u64,
    kind: &'static str,
    #[serde(flatten)]
    ran: Ran<'a>,
}

pub(super) fn line<'a>(ran: &Ran<'a>) -> Line<'a> {
    let end = ran.command.floor_char_boundary(LONGEST_INPUT);
    let ran = Ran { command: ran.command.get(..end).unwrap_or_default(), ..*ran };
    Line { v: 1, at: milliseconds(SystemTime::now()), kind: "run", ran }
}
