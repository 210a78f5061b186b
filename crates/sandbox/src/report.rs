//! What is told after a run: how it ended, how far it was confined, and what was refused.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::enforcement::{Enforcement, Mechanism};

/// What a confined command was refused. Worded so that an agent can act.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Violation {
    /// A write outside what is writable.
    Write {
        /// The path, as far as it could be resolved.
        path: PathBuf,
    },
    /// A read of a hidden file.
    Read {
        /// The path.
        path: PathBuf,
    },
    /// A connection.
    Connect {
        /// The host, as the command named it.
        host: String,
        /// The port.
        port: u16,
        /// Why, in a few words: not listed, denied, a private address.
        why: String,
    },
    /// A socket in the file system or an abstract one.
    UnixSocket {
        /// Its path or name, where known.
        path: Option<String>,
    },
    /// A system call.
    Call {
        /// Its name.
        name: String,
    },
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ending {
    /// By itself, with this code.
    Code(i32),
    /// By a signal.
    Signal(i32),
}

impl Ending {
    /// The exit code that a shell would give.
    pub fn code(self) -> i32 {
        match self {
            Ending::Code(code) => code,
            Ending::Signal(signal) => 128 + signal,
        }
    }
}

/// What is told after a run.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// How it ended.
    pub ending: Ending,
    /// By what means it was confined.
    pub mechanism: Mechanism,
    /// How far.
    pub enforcement: Enforcement,
    /// What was refused, each once, in the order it happened.
    pub violations: Vec<Violation>,
    /// How many more were refused than are listed.
    pub more: usize,
    /// Files that must not appear in a working directory, appeared, and were removed.
    pub scrubbed: Vec<PathBuf>,
}
