//! Effects: what a command does to the world, as far as is known.

mod judge;
mod place;
mod roles;
pub(crate) mod secrets;
mod task;

pub(crate) use judge::Judge;
pub(crate) use task::Task;

use std::fmt;

use crate::word::Span;

/// One thing a command does. A command that computes and prints only has no effect at all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Effect {
    /// What.
    pub act: Act,
    /// The words that say so.
    pub span: Span,
}

/// What a command does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    /// Looks at names and metadata, not content.
    Lists(Place),
    /// Reads content.
    Reads(Place),
    /// Creates or changes.
    Writes(Place),
    /// Removes.
    Removes {
        /// What.
        place: Place,
        /// With everything below it.
        recursive: bool,
    },
    /// Runs code that is not in the text: a program, a script file, a task, a plugin.
    Executes(Executes),
    /// Reaches another machine.
    Connects {
        /// Host name or address as written; `None` when not known.
        host: Option<String>,
        /// Sends local data or changes something there (anything but a plain fetch).
        sends: bool,
    },
    /// Changes the state of the system outside files: processes, services, users, packages, clocks, privileges.
    ChangesSystem(String),
    /// Not known; the reason in a few words, for people.
    Unknown(String),
}

/// A place in the file system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A path: absolute and cleaned lexically.
    Path(String),
    /// Everything that a pattern under this directory may match: the absolute directory, then the pattern.
    Pattern {
        /// The longest known directory.
        below: String,
        /// The rest, as written.
        pattern: String,
    },
    /// Not known (a variable, a substitution, an unknown directory); the word as written.
    Unknown(String),
}

/// Code that is not in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Executes {
    /// A file given to an interpreter or run directly, and not readable here.
    File(Place),
    /// Text given to an interpreter: `python -c`, `node -e`; the interpreter's name.
    Code(String),
    /// The project's own code by way of a build or test tool: `make`, `cargo test`, `npm run x`; the tool.
    Project(String),
    /// A program named by a flag, a variable or a configuration file.
    Named(String),
    /// A program that is not in the knowledge base.
    Unknown(String),
}

impl Act {
    /// Only looks: at names, metadata or content. Whether that place may be looked at is not decided here.
    pub fn is_reading(&self) -> bool {
        match self {
            Self::Lists(_) | Self::Reads(_) => true,
            Self::Writes(_)
            | Self::Removes { .. }
            | Self::Executes(_)
            | Self::Connects { .. }
            | Self::ChangesSystem(_)
            | Self::Unknown(_) => false,
        }
    }
}

impl fmt::Display for Act {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lists(place) => write!(out, "lists {place}"),
            Self::Reads(place) => write!(out, "reads {place}"),
            Self::Writes(place) => write!(out, "writes {place}"),
            Self::Removes { place, recursive: false } => write!(out, "removes {place}"),
            Self::Removes { place, recursive: true } => write!(out, "removes {place} and all below"),
            Self::Executes(what) => write!(out, "executes {what}"),
            Self::Connects { host, sends } => {
                let verb = if *sends { "sends to" } else { "fetches from" };
                write!(out, "{verb} {}", host.as_deref().unwrap_or("the network"))
            }
            Self::ChangesSystem(what) => write!(out, "changes the system: {what}"),
            Self::Unknown(why) => write!(out, "unknown: {why}"),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(path) => write!(out, "{path}"),
            Self::Pattern { below, pattern } => write!(out, "{}/{pattern}", below.trim_end_matches('/')),
            Self::Unknown(word) => write!(out, "`{word}`"),
        }
    }
}

impl fmt::Display for Executes {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(place) => write!(out, "the file {place}"),
            Self::Code(interpreter) => write!(out, "code by {interpreter}"),
            Self::Project(tool) => write!(out, "the project's code by {tool}"),
            Self::Named(what) => write!(out, "a program named by {what}"),
            Self::Unknown(name) => write!(out, "the unknown program {name}"),
        }
    }
}
