//! Effects: what a command does to the world, as far as is known.

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
