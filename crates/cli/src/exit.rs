//! Exit codes: stable, because scripts read them.

use std::io;

use clap::CommandFactory;
use clap::error::ErrorKind;
use mayi_core::verdict::Verdict;

use crate::arguments::Arguments;
use crate::paint;

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done, or allow.
    Done,
    /// Something went wrong.
    Error,
    /// The arguments make no sense.
    Usage,
    /// The answer is ask.
    Ask,
    /// The answer is deny.
    Deny,
    /// A command was run, and ended with this code.
    Ended(u8),
}

impl From<Verdict> for Exit {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Allow => Exit::Done,
            Verdict::Ask => Exit::Ask,
            Verdict::Deny => Exit::Deny,
        }
    }
}

impl Exit {
    /// The exit code.
    pub(crate) fn code(self) -> u8 {
        match self {
            Exit::Done => 0,
            Exit::Error => 1,
            Exit::Usage => 2,
            Exit::Ask => 10,
            Exit::Deny => 11,
            Exit::Ended(code) => code,
        }
    }
}

/// An error in the arguments of a subcommand that clap cannot see by itself.
pub(crate) fn usage(subcommand: &str, message: impl std::fmt::Display) -> anyhow::Error {
    let mut command = Arguments::command();
    command.build();
    match command.find_subcommand_mut(subcommand) {
        Some(command) => command.error(ErrorKind::ValueValidation, message).into(),
        None => command.error(ErrorKind::ValueValidation, message).into(),
    }
}

/// Says what went wrong. A reader that closed its pipe has read enough and is told nothing.
pub(crate) fn failed(error: &anyhow::Error) -> Exit {
    if let Some(usage) = error.downcast_ref::<clap::Error>() {
        // There is nobody left to tell when standard error is closed as well.
        let _ = usage.print();
        return Exit::Usage;
    }
    let closed = error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe);
    if !closed {
        paint::tell(format!("{}: {}", paint::alarm("error"), paint::visible(&told(error))));
    }
    Exit::Error
}

/// An error with its causes, each said once: some errors name their cause themselves.
fn told(error: &anyhow::Error) -> String {
    let mut text = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    text
}
