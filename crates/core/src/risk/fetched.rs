//! Code that was fetched a moment ago: piped into an interpreter, substituted into its words, or written to a file
//! that the same text then runs.

use mayi_shell::command::Command;
use mayi_shell::effect::{Act, Place};
use mayi_shell::word::HoleKind;

use crate::inspect::shell::{Reading, program};
use crate::path;

/// Programs that run what they are given on standard input or as text.
const INTERPRETERS: [&str; 15] = [
    "sh", "bash", "dash", "zsh", "ksh", "fish", "python", "python3", "node", "perl", "ruby", "php", "source", "eval",
    ".",
];

/// The commands whose output reaches this one through pipes, nearest first.
pub(super) fn feeders<'a>(reading: &'a Reading<'_>, command: &'a Command) -> impl Iterator<Item = &'a Command> {
    let commands = &reading.analysis.commands;
    let before = |command: &Command| command.standing.fed_by.and_then(|index| commands.get(index));
    // A pipe never feeds backwards, so the chain is no longer than the list.
    std::iter::successors(before(command), move |feeder| before(feeder)).take(commands.len())
}

/// The commands in this one's substitutions: they stand inside its words.
pub(super) fn substituted<'a>(reading: &'a Reading<'_>, command: &'a Command) -> impl Iterator<Item = &'a Command> {
    let outer = reading.span(command).unwrap_or_default();
    reading.analysis.commands.iter().filter(move |inner| {
        inner.standing.feeds
            && !std::ptr::eq(*inner, command)
            && reading.span(inner).is_some_and(|(start, end)| outer.0 <= start && end <= outer.1)
            && inner.span != command.span
    })
}

/// An interpreter that runs what was just fetched.
pub(super) fn is_run_at_once(reading: &Reading<'_>, command: &Command) -> bool {
    if !program(command).is_some_and(|program| INTERPRETERS.contains(&program)) {
        return false;
    }
    let filled = command.words.iter().skip(1).flat_map(|word| word.holes());
    let is_filled = filled.into_iter().any(|hole| matches!(hole.kind, HoleKind::Output(_) | HoleKind::Process));
    feeders(reading, command).any(connects) || (is_filled && substituted(reading, command).any(connects))
}

fn connects(command: &Command) -> bool {
    command.effects.iter().any(|effect| matches!(effect.act, Act::Connects { .. }))
}

/// What earlier commands of the text brought in.
#[derive(Default)]
pub(super) struct Fetched {
    /// The places they wrote.
    places: Vec<String>,
    /// Something was brought in, wherever it went.
    any: bool,
}

impl Fetched {
    /// Takes note of a command that was passed.
    pub(super) fn note(&mut self, command: &Command) {
        let clones = command.words.iter().any(|word| word.text() == Some("clone"));
        let written = command.effects.iter().filter_map(|effect| match &effect.act {
            Act::Writes(Place::Path(path) | Place::Pattern { below: path, .. }) => Some(path),
            Act::Writes(Place::Unknown(_))
            | Act::Lists(_)
            | Act::Reads(_)
            | Act::Removes { .. }
            | Act::Executes(_)
            | Act::Connects { .. }
            | Act::ChangesSystem(_)
            | Act::Unknown(_) => None,
        });
        // A build tool fetches what the manifests declare: that is not news.
        if connects(command) && !super::assess::runs_project(command) {
            let before = self.places.len();
            self.places.extend(written.cloned());
            self.any |= clones || self.places.len() > before;
        }
    }

    /// The path is, or lies in, what was brought in.
    pub(super) fn holds(&self, run: &str) -> bool {
        self.places.iter().any(|place| path::is_within(run, place))
    }

    /// Something was brought in.
    pub(super) fn is_any(&self) -> bool {
        self.any
    }
}
