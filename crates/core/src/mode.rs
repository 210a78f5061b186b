//! Modes: how much a session does without asking.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The session's automation level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Mode {
    /// Asks before anything that changes something.
    #[default]
    #[serde(alias = "manual")]
    Default,
    /// Looks, never edits.
    Plan,
    /// Edits inside the working directories run by themselves.
    AcceptEdits,
    /// Everything runs that passes the steps above the line.
    BypassPermissions,
    /// Never asks: what would ask is denied.
    DontAsk,
    /// A classifier answers what would ask.
    Auto,
}

/// How a mode should look on a terminal or a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// Nothing to note.
    Plain,
    /// Calm: plan, acceptEdits.
    Calm,
    /// Take care: auto.
    Warning,
    /// Alarming: bypassPermissions, dontAsk.
    Alarm,
}

impl Mode {
    /// All modes.
    pub const ALL: [Mode; 6] =
        [Mode::Default, Mode::Plan, Mode::AcceptEdits, Mode::BypassPermissions, Mode::DontAsk, Mode::Auto];

    /// The value in settings and protocols.
    pub fn word(self) -> &'static str {
        match self {
            Mode::Default => "default",
            Mode::Plan => "plan",
            Mode::AcceptEdits => "acceptEdits",
            Mode::BypassPermissions => "bypassPermissions",
            Mode::DontAsk => "dontAsk",
            Mode::Auto => "auto",
        }
    }

    /// The title for people.
    pub fn title(self) -> &'static str {
        match self {
            Mode::Default => "Default",
            Mode::Plan => "Plan",
            Mode::AcceptEdits => "Accept edits",
            Mode::BypassPermissions => "Bypass permissions",
            Mode::DontAsk => "Don't ask",
            Mode::Auto => "Auto",
        }
    }

    /// What it lets run by itself, in a line.
    pub fn summary(self) -> &'static str {
        match self {
            Mode::Default => "reads and what rules allow run; the rest asks",
            Mode::Plan => "as default, and no edit runs by itself, not even by a rule",
            Mode::AcceptEdits => "edits inside the working directories run too",
            Mode::BypassPermissions => "everything runs that no rule and no protected path stops",
            Mode::DontAsk => "what would ask is denied",
            Mode::Auto => "a classifier answers what would ask",
        }
    }

    /// How it should look.
    pub fn tone(self) -> Tone {
        match self {
            Mode::Default => Tone::Plain,
            Mode::Plan | Mode::AcceptEdits => Tone::Calm,
            Mode::Auto => Tone::Warning,
            Mode::BypassPermissions | Mode::DontAsk => Tone::Alarm,
        }
    }

    /// The value for a protocol that knows no automatic mode.
    pub fn word_without_auto(self) -> &'static str {
        if self == Mode::Auto { Mode::Default.word() } else { self.word() }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

/// A word that names no mode.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{word}` is no mode\nhelp: one of default, plan, acceptEdits, bypassPermissions, dontAsk, auto")]
pub struct UnknownMode {
    word: String,
}

impl FromStr for Mode {
    type Err = UnknownMode;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        if word == "manual" {
            return Ok(Mode::Default);
        }
        let known = Mode::ALL.into_iter().find(|mode| mode.word() == word);
        known.ok_or_else(|| UnknownMode { word: word.to_owned() })
    }
}
