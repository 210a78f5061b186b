//! From a command to its effects: its redirections, its variables, its wrappers, and what its program is known to
//! do with its words. Whatever is not known becomes an `Unknown` or `Executes` effect, never silence.

use crate::command::{Analysis, Assignment, Command, Direction, Directory, Redirect, RedirectTarget, Via};
use crate::effect::place::{Viewpoint, clean, is_stream};
use crate::effect::{Act, Effect, Executes, Place, roles};
use crate::knowledge::reading::{Line, Piece, Reading, read};
use crate::knowledge::{self, model::Role, variables};
use crate::observe::{Answer, Observations, Question};
use crate::walk::Context;
use crate::word::{HoleKind, Span, Word};

/// What the judge may look at.
pub(crate) struct Judge<'a> {
    pub(crate) context: &'a Context,
    pub(crate) observations: &'a Observations,
    /// What was asked and not answered, again for every command that asks.
    pub(crate) questions: Vec<Question>,
    /// Texts that turned out to be run, to be analysed like any other.
    pub(crate) tasks: Vec<crate::effect::task::Task>,
    /// Directories that programs are looked for in before all others, as a task runner puts them there.
    pub(crate) ahead: Vec<String>,
}

/// One command being judged.
pub(crate) struct Case<'c> {
    pub(crate) view: Viewpoint<'c>,
    /// The command runs where the whole text was started.
    pub(crate) at_start: bool,
    /// Something may be piped or redirected into it.
    pub(crate) fed: bool,
    pub(crate) source: &'c str,
    pub(crate) effects: Vec<Effect>,
}

impl Case<'_> {
    pub(crate) fn add(&mut self, act: Act, span: Span) {
        self.effects.push(Effect { act, span });
    }

    pub(crate) fn unknown(&mut self, why: impl Into<String>, span: Span) {
        self.add(Act::Unknown(why.into()), span);
    }
}

impl<'a> Judge<'a> {
    pub(crate) fn new(context: &'a Context, observations: &'a Observations) -> Self {
        Self { context, observations, questions: Vec::new(), tasks: Vec::new(), ahead: Vec::new() }
    }

    /// Everything the command does, as far as is known.
    pub(crate) fn effects(&mut self, command: &Command, analysis: &Analysis) -> Vec<Effect> {
        let source = analysis.scripts.get(command.script.0).map_or("", |script| script.text.as_str());
        let inserted = searched(command, analysis);
        let (directory, at_start) = self.directory(&command.standing.directory);
        let view = Viewpoint { directory, home: self.context.home.as_deref(), source, inserted: inserted.as_deref() };
        let mut case = Case { view, at_start, fed: fed(command), source, effects: Vec::new() };
        for redirect in &command.redirects {
            redirection(&mut case, redirect);
        }
        let bare = command.words.is_empty();
        for assignment in command.assignments.iter().filter(|assignment| !splits_input(assignment, &command.words)) {
            assigned(&mut case, assignment, if bare { variables::Scope::Shell } else { variables::Scope::Program });
        }
        if !bare {
            patterns(&mut case, &command.words);
            self.words(&mut case, &command.words);
        }
        case.effects
    }

    fn directory<'d>(&self, directory: &'d Directory) -> (Option<&'d str>, bool)
    where
        'a: 'd,
    {
        match directory {
            Directory::Start => (Some(&self.context.directory), true),
            Directory::At(path) => (Some(path), clean("", path) == clean("", &self.context.directory)),
            Directory::Unknown => (None, false),
        }
    }

    /// The words from the outermost wrapper to the innermost program.
    fn words(&mut self, case: &mut Case<'_>, words: &[Word]) {
        let mut rest = words;
        for _ in 0..knowledge::WRAPPERS {
            let Some(inner) = self.program(case, rest) else { return };
            rest = rest.get(inner..).unwrap_or_default();
        }
        case.unknown("wrapped too deeply", rest.first().map(|word| word.span).unwrap_or_default());
    }

    /// One program's own effects; the index of the command inside it, if it runs one.
    fn program(&mut self, case: &mut Case<'_>, words: &[Word]) -> Option<usize> {
        let first = words.first()?;
        let Some(name) = first.text() else {
            case.unknown("the program is not known", first.span);
            return None;
        };
        let Some(base) = knowledge::system_name(name) else {
            self.script_file(case, &Piece { word: first, index: 0, from: 0 });
            return None;
        };
        if !base.is_ascii() || base.is_empty() {
            case.unknown("a program name that is not plain", first.span);
            return None;
        }
        for path in self.shadows(base) {
            case.add(Act::Executes(Executes::File(Place::Path(path))), first.span);
        }
        if let Some(path) = self.planted(base) {
            case.add(Act::Executes(Executes::File(Place::Path(path))), first.span);
        }
        let Some(spec) = knowledge::program(base) else {
            if !asks_only_about_itself(words) {
                case.add(Act::Executes(Executes::Unknown(base.to_string())), first.span);
            }
            return None;
        };
        let reading = read(spec, Line { words, source: case.source });
        roles::apply(self, case, &reading, words);
        inner_command(&reading)
    }
}

impl Judge<'_> {
    /// The files that would run in the place of the system's program, unless somebody looked and found none.
    fn shadows(&mut self, name: &str) -> Vec<String> {
        let paths: Vec<String> = self.ahead.iter().map(|folder| clean(folder, name)).collect();
        let is_there = |path: &String| self.ask(Question::File(path.clone())) != Some(Answer::Absent);
        paths.into_iter().filter(is_there).collect()
    }

    /// Where a program of this name lies, if somebody looked and found that it is not the system's own. The question
    /// is never asked from here: without an answer a plain name counts as the system's.
    fn planted(&self, name: &str) -> Option<String> {
        if self.observations.is_empty() {
            return None;
        }
        match self.observations.answer(&Question::Program(name.to_string()))? {
            Answer::Planted(path) => Some(path.clone()),
            Answer::Unknown => Some(name.to_string()),
            Answer::Text(_)
            | Answer::Absent
            | Answer::Configuration(_)
            | Answer::System
            | Answer::Real(_)
            | Answer::Loop => None,
        }
    }
}

/// To some shells the parentheses in a pattern hold code: `*(e:id:)`.
fn patterns(case: &mut Case<'_>, words: &[Word]) {
    let runs = |word: &&Word| word.holes().any(|hole| matches!(&hole.kind, HoleKind::Glob(glob) if glob.contains('(')));
    if let Some(word) = words.iter().find(runs) {
        case.unknown("a pattern that some shells run", word.span);
    }
}

/// Whether something may be piped or redirected into the command, or into a group around it.
fn fed(command: &Command) -> bool {
    let standing = &command.standing;
    let redirected = command.redirects.iter().any(|redirect| redirect.direction == Direction::In);
    standing.fed_by.is_some() || redirected || standing.depth > 0 && !standing.feeds
}

/// For a command that `find` runs: the directory the search started from, when it was one that is known. The
/// command that searches is judged before those it runs.
fn searched(command: &Command, analysis: &Analysis) -> Option<String> {
    let parent = analysis.scripts.get(command.script.0)?.parent.as_ref()?;
    if parent.via != Via::Runner("find".to_string()) {
        return None;
    }
    let holds = |outer: &&Command| {
        outer.script == parent.script && outer.span.start <= parent.span.start && parent.span.end <= outer.span.end
    };
    let outer = analysis.commands.iter().find(holds)?;
    let mut listed = outer.effects.iter().filter_map(|effect| {
        let Act::Lists(place) = &effect.act else { return None };
        Some(if let Place::Path(path) = place { Some(path) } else { None })
    });
    let first = listed.next().flatten()?;
    listed.next().is_none().then(|| first.clone())
}

/// The word where the command inside a wrapper starts.
fn inner_command(reading: &Reading<'_>) -> Option<usize> {
    reading.items.iter().find(|item| item.role == Role::Command).map(|item| item.piece.index)
}

/// A program that nobody described, asked for its version or help and nothing else.
fn asks_only_about_itself(words: &[Word]) -> bool {
    matches!(words, [_, only] if matches!(only.text(), Some("--version" | "--help")))
}

fn redirection(case: &mut Case<'_>, redirect: &Redirect) {
    let word = match &redirect.target {
        RedirectTarget::File(word) => word,
        RedirectTarget::Descriptor(_) | RedirectTarget::Here(_) => return,
    };
    let piece = Piece { word, index: 0, from: 0 };
    if roles::is_process(word) {
        return;
    }
    if let Some(address) = network_file(word) {
        return case.add(Act::Connects { host: address, sends: true }, redirect.span);
    }
    let place = case.view.place(&piece);
    if matches!(&place, Place::Path(path) if is_stream(path)) {
        return;
    }
    let writes = match redirect.direction {
        Direction::In => false,
        Direction::Out | Direction::Append | Direction::Both => true,
    };
    if writes && !case.at_start && !word.known_prefix().starts_with('/') {
        case.unknown("a relative redirection after `cd`", redirect.span);
    }
    case.add(if writes { Act::Writes(place) } else { Act::Reads(place) }, redirect.span);
}

/// `/dev/tcp/host/port` and `/dev/udp/host/port`: the shell itself connects.
fn network_file(word: &Word) -> Option<Option<String>> {
    let start = word.known_prefix();
    let rest = start.strip_prefix("/dev/tcp/").or_else(|| start.strip_prefix("/dev/udp/"))?;
    let host = rest.split('/').next().filter(|host| !host.is_empty() && word.text().is_some());
    Some(host.map(str::to_string))
}

/// `IFS` in front of `read` says how that one line is split, and is what it was afterwards.
fn splits_input(assignment: &Assignment, words: &[Word]) -> bool {
    assignment.name == "IFS" && words.first().and_then(Word::text) == Some("read")
}

/// A variable set by the command, for the shell or for the program.
pub(crate) fn assigned(case: &mut Case<'_>, assignment: &Assignment, scope: variables::Scope) {
    let value = match &assignment.value {
        Some(word) => word.text().map_or(variables::Content::Unknown, variables::Content::Text),
        None => variables::Content::Unknown,
    };
    if let Some(why) = variables::objection(&assignment.name, value, scope) {
        case.unknown(why, assignment.span);
    }
}
