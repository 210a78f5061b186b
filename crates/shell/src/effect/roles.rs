//! What each role and deed of a reading means as an effect.

use crate::effect::judge::{Case, Judge};
use crate::effect::place::{Viewpoint, is_stream};
use crate::effect::task::Seat;
use crate::effect::{Act, Executes, Place};
use crate::knowledge::code::{self, Finding};
use crate::knowledge::model::{Deed, Form, Language, Reader, Role};
use crate::knowledge::reading::{Fault, Item, Piece, Reading};
use crate::knowledge::variables;
use crate::word::{HoleKind, Part, Span, Value, Word};

/// Adds the effects of a reading.
pub(crate) fn apply(judge: &mut Judge<'_>, case: &mut Case<'_>, reading: &Reading<'_>, words: &[Word]) {
    let program = words.first().map(|word| word.span).unwrap_or_default();
    let moved = moved(case, reading);
    let directory = moved.as_ref().map_or(case.view.directory, Option::as_deref);
    let view = Viewpoint { directory, ..case.view };
    let mut inside = Case { view, effects: Vec::new(), ..*case };
    let tool = words.first().and_then(Word::text).unwrap_or_default();
    let act = Acting { reading, tool, program };
    if let Some((fault, span)) = &reading.fault {
        judge.fault(&mut inside, (fault, *span), &act);
    }
    let view = inside.view;
    if reading.spec.reader == Reader::Tar {
        // Its `-C` moves what is extracted or packed, not where the archive lies.
        inside.view = case.view;
    }
    for item in &reading.items {
        if item.role == Role::Directory {
            inside.view = view;
        }
        act.item(judge, &mut inside, item);
    }
    inside.view = view;
    for (deed, span) in &reading.deeds {
        if *deed == Deed::Task {
            judge.run_task(&mut inside, &act, (act.own_task(), *span));
        }
        act.deed(&mut inside, *deed, *span);
    }
    if let Some(role) = reading.default {
        act.here(&mut inside, role);
    }
    if let (true, [_], Some(home)) = (reading.spec.forms.contains(&Form::AtHome), words, inside.view.home) {
        inside.add(Act::Lists(inside.view.literal(home)), program);
    }
    if needs_repository(reading) {
        let seat = if moved.is_some() { Seat::Moved } else { Seat::Own };
        judge.repository(&mut inside, program, seat);
    }
    case.effects.extend(inside.effects);
}

/// The directory that a flag such as `-C` moves the program to: outer `None` when there is none, inner `None` when
/// it is not known.
fn moved(case: &Case<'_>, reading: &Reading<'_>) -> Option<Option<String>> {
    let item = reading.items.iter().find(|item| item.role == Role::Directory)?;
    Some(match case.view.place(&item.piece) {
        Place::Path(path) => Some(path),
        Place::Pattern { .. } | Place::Unknown(_) => None,
    })
}

fn needs_repository(reading: &Reading<'_>) -> bool {
    // Even a request for help counts: the configuration can name the viewer.
    reading.spec.forms.contains(&Form::Repository)
}

/// A reading and whose it is.
pub(crate) struct Acting<'r> {
    pub(crate) reading: &'r Reading<'r>,
    pub(crate) tool: &'r str,
    pub(crate) program: Span,
}

impl Acting<'_> {
    fn path(&self) -> String {
        self.reading.spec.path.to_string()
    }

    /// The task that a subcommand stands for: `npm test`. With more words it is not only that.
    fn own_task(&self) -> Option<&'static str> {
        let name = self.reading.spec.path.rsplit(' ').next().filter(|_| self.reading.items.is_empty())?;
        Some(if matches!(name, "t" | "tst") { "test" } else { name })
    }

    /// Of a tool that runs the project's code or the text's own, a setting more is nothing to add.
    fn is_said_by_more(&self, fault: &Fault) -> bool {
        let setting = match fault {
            Fault::Flag(_) | Fault::Value(_) | Fault::Operands => true,
            Fault::Subcommand(_) | Fault::Surprise | Fault::Escaped | Fault::Form(_) => false,
        };
        setting && self.reading.deeds.iter().any(|(deed, _)| matches!(deed, Deed::Project | Deed::Code))
    }

    fn recursive(&self) -> bool {
        self.reading.deeds.iter().any(|(deed, _)| *deed == Deed::Recursive)
    }

    fn item(&self, judge: &mut Judge<'_>, case: &mut Case<'_>, item: &Item<'_>) {
        let span = item.piece.word.span;
        match item.role {
            Role::Data | Role::Number | Role::Name | Role::Choice(_) | Role::Command => {}
            Role::List | Role::Read | Role::File | Role::Write | Role::Edit | Role::Remove => self.touch(case, item),
            Role::Directory => {
                let here = case.view.here();
                case.add(Act::Lists(here), span);
            }
            Role::Fetch | Role::Send => {
                let sends = item.role == Role::Send || item.piece.text().is_none();
                case.add(Act::Connects { host: item.piece.text().map(host), sends }, span);
            }
            Role::Script | Role::Remote => {
                if item.piece.text().is_none() && item.role == Role::Script {
                    case.unknown("the script is not known", span);
                }
            }
            Role::Source => judge.script_file(case, &item.piece),
            Role::Load => {
                let place = case.view.place(&item.piece);
                case.add(Act::Executes(Executes::File(place)), span);
            }
            Role::Run => {
                let named = item.piece.text().unwrap_or_default().to_string();
                case.add(Act::Executes(Executes::Named(named)), span);
            }
            Role::Code(language) => self.code(case, language, item),
            Role::Variable => variable(case, &item.piece, variables::Scope::Shell),
            Role::Environment => variable(case, &item.piece, variables::Scope::Program),
            Role::Change => {
                let here = case.view.here();
                case.add(Act::Writes(here), span);
            }
            Role::System => case.add(Act::ChangesSystem(self.path()), span),
            Role::Task => judge.task(case, self, &item.piece),
            Role::Pathspec => self.pathspec(case, item),
            Role::Refuse => case.unknown(format!("`{}` with this value", self.reading.spec.path), span),
        }
    }

    /// A revision, a path, or both as `revision:path`. What may be a path is read; what can only be a revision is not
    /// one. That a path after a colon starts at the top of the repository is not known here.
    fn pathspec(&self, case: &mut Case<'_>, item: &Item<'_>) {
        let Some(text) = item.piece.text() else {
            return self.touch(case, &Item { role: Role::Read, piece: item.piece });
        };
        let path = match text.strip_prefix(":(") {
            Some(magic) => magic.split_once(')').map_or(magic, |(_, path)| path),
            None => text.rsplit(':').next().unwrap_or(text).trim_start_matches(['!', '^']),
        };
        let revision = !path.starts_with(['.', '/']) && (path.contains("..") || path.contains(['^', '~', '@']));
        if !path.is_empty() && !revision {
            let place = case.view.literal(path);
            case.add(Act::Reads(place), item.piece.word.span);
        }
    }

    /// A path that is looked at or changed.
    fn touch(&self, case: &mut Case<'_>, item: &Item<'_>) {
        let span = item.piece.word.span;
        if item.piece.text() == Some("-") || is_process(item.piece.word) {
            return;
        }
        if item.piece.text().is_some_and(|text| text.contains("://")) {
            let sends = matches!(item.role, Role::Write | Role::Edit | Role::Remove);
            return case.add(Act::Connects { host: item.piece.text().map(host), sends }, span);
        }
        let place = case.view.place(&item.piece);
        if matches!(&place, Place::Path(path) if is_stream(path)) && item.role != Role::Remove {
            return;
        }
        if item.role == Role::Edit {
            case.add(Act::Reads(place.clone()), span);
        }
        let act = self.act_on(place, item.role);
        case.add(act, span);
    }

    /// What a role does to a place; the roles that name no place only stand here to be complete.
    fn act_on(&self, place: Place, role: Role) -> Act {
        match role {
            Role::List | Role::Directory => Act::Lists(place),
            Role::Read | Role::File | Role::Pathspec | Role::Source | Role::Load => Act::Reads(place),
            Role::Remove => Act::Removes { place, recursive: self.recursive() },
            Role::Task => Act::Executes(Executes::Project(self.tool.to_string())),
            Role::Write
            | Role::Edit
            | Role::Data
            | Role::Number
            | Role::Name
            | Role::Choice(_)
            | Role::Fetch
            | Role::Send
            | Role::Script
            | Role::Command
            | Role::Remote
            | Role::Run
            | Role::Code(_)
            | Role::Variable
            | Role::Environment
            | Role::Change
            | Role::System
            | Role::Refuse => Act::Writes(place),
        }
    }

    fn code(&self, case: &mut Case<'_>, language: Language, item: &Item<'_>) {
        let span = item.piece.word.span;
        let Some(text) = item.piece.text() else {
            return self.unknown_code(case, language, item);
        };
        for finding in code::findings(language, text) {
            match finding {
                Finding::Reads(path) => {
                    let place = case.view.literal(&path);
                    if !matches!(&place, Place::Path(path) if is_stream(path)) {
                        case.add(Act::Reads(place), span);
                    }
                }
                Finding::Writes(path) => {
                    let place = case.view.literal(&path);
                    if !matches!(&place, Place::Path(path) if is_stream(path)) {
                        case.add(Act::Writes(place), span);
                    }
                }
                Finding::Changes => case.add(Act::ChangesSystem(format!("{} statement", self.tool)), span),
                Finding::Runs => case.add(Act::Executes(Executes::Code(self.tool.to_string())), span),
                Finding::Unknown(why) => case.unknown(why, span),
            }
        }
    }

    /// Program text with holes. What a shell fills in could be anything, so only text in which nothing can act
    /// (a jq filter) stays harmless.
    fn unknown_code(&self, case: &mut Case<'_>, language: Language, item: &Item<'_>) {
        let span = item.piece.word.span;
        if language == Language::Jq {
            return;
        }
        if matches!(language, Language::Sed) && !code::sed_with_holes(&item.piece).is_empty() {
            return case.unknown("a program text that is not known", span);
        }
        if language != Language::Sed {
            case.unknown("a program text that is not known", span);
        }
    }

    fn deed(&self, case: &mut Case<'_>, deed: Deed, span: Span) {
        let here = |case: &Case<'_>| case.view.here();
        match deed {
            Deed::Lists => self.here(case, Role::List),
            Deed::Reads => self.here(case, Role::Read),
            Deed::Writes => {
                let place = here(case);
                case.add(Act::Writes(place), span);
            }
            Deed::Project => case.add(Act::Executes(Executes::Project(self.tool.to_string())), span),
            Deed::Runs => case.add(Act::Executes(Executes::Named(self.path())), span),
            Deed::Code => case.add(Act::Executes(Executes::Code(self.tool.to_string())), span),
            Deed::Network | Deed::Sends => self.connects(case, deed, span),
            Deed::System => case.add(Act::ChangesSystem(self.path()), span),
            Deed::Input if !case.fed => {}
            Deed::Input => case.add(Act::ChangesSystem(self.path()), span),
            Deed::Unknown => case.unknown(format!("`{}` in this form", self.reading.spec.path), span),
            Deed::Home(file) => {
                let place = match case.view.home {
                    Some(home) => case.view.literal(&format!("{home}/{file}")),
                    None => Place::Unknown(format!("~/{file}")),
                };
                case.add(Act::Reads(place), span);
            }
            Deed::Place(path) => case.add(Act::Reads(case.view.literal(&path)), span),
            Deed::Secret => case.unknown(format!("`{}` prints a secret", self.reading.spec.path), span),
            Deed::Task
            | Deed::Stop
            | Deed::Alone
            | Deed::Operands(_)
            | Deed::Default(_)
            | Deed::Given
            | Deed::Recursive
            | Deed::Stdout
            | Deed::Instead
            | Deed::Rest => {}
        }
    }

    /// One connection is said once; an operand that names the host says more.
    fn connects(&self, case: &mut Case<'_>, deed: Deed, span: Span) {
        let sends = deed == Deed::Sends;
        let said = case
            .effects
            .iter()
            .any(|effect| matches!(&effect.act, Act::Connects { sends: said, .. } if *said >= sends));
        if !said {
            case.add(Act::Connects { host: None, sends }, span);
        }
    }

    fn here(&self, case: &mut Case<'_>, role: Role) {
        let act = self.act_on(case.view.here(), role);
        case.add(act, self.program);
    }
}

impl Judge<'_> {
    fn fault(&mut self, case: &mut Case<'_>, fault: (&Fault, Span), act: &Acting<'_>) {
        let (fault, span) = fault;
        if let Fault::Subcommand(name) = fault
            && self.alias(case, act, (name, span))
        {
            return;
        }
        if !act.is_said_by_more(fault) {
            case.unknown(format!("`{}`: {fault}", act.reading.spec.path), span);
        }
    }
}

/// The host in an address: `https://user@host:1/x`, `user@host:path`, `host:1`, `host`.
pub(crate) fn host(text: &str) -> String {
    let rest = text.split_once("://").map_or(text, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or(rest);
    let name = authority.rsplit('@').next().unwrap_or(authority);
    match name.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, _)) => address.to_string(),
        None => name.split(':').next().unwrap_or(name).to_string(),
    }
}

/// A word that is nothing but a process substitution: its commands are reported on their own.
pub(crate) fn is_process(word: &Word) -> bool {
    match &word.value {
        Value::Literal(_) => false,
        Value::Template(parts) => {
            matches!(parts.as_slice(), [Part::Hole(hole)] if hole.kind == HoleKind::Process)
        }
    }
}

/// `NAME`, `NAME=value`: the name must be plain, since a subscript in it would be evaluated.
fn variable(case: &mut Case<'_>, piece: &Piece<'_>, scope: variables::Scope) {
    let known = piece.word.known_prefix().get(piece.from..).unwrap_or_default();
    let (name, value) = match known.split_once('=') {
        Some((name, value)) => (name.strip_suffix('+').unwrap_or(name), Some(value)),
        None => (known, None),
    };
    let whole = piece.text().is_some();
    if !variables::is_plain_name(name) || value.is_none() && !whole {
        return case.unknown("a variable name that is not plain", piece.word.span);
    }
    // `declare -a 'a=($(id))'` expands the text once more.
    if value.is_some_and(|value| value.contains(['$', '`'])) {
        return case.unknown("a value that can run code", piece.word.span);
    }
    let value = value.filter(|_| whole).map_or(variables::Content::Unknown, variables::Content::Text);
    if let Some(why) = variables::objection(name, value, scope) {
        case.unknown(why, piece.word.span);
    }
}
