//! Expansion of words, as far as the text settles it.
//!
//! Pure: reads the scope, changes nothing and reports no commands (see `visit.rs` for those), so that a word
//! can be expanded as often as braces multiply it. Whatever is not certain becomes a hole.

use crate::command::Directory;
use crate::parse::tree::{
    Content, Fallback, HereBody, Operation, Parameter, Piece, Reach, Substitution, Word as Written,
};
use crate::walk::Context;
use crate::walk::braces::{self, Atom};
use crate::walk::fields::{Fields, Quotes, Rest, Splitting};
use crate::walk::quoted_output;
use crate::walk::scope::{Certainty, Origin, Scope, Variable};
use crate::walk::source::Source;
use crate::word::{Hole, HoleKind, Part, Quoting, Value, Word};

/// Everything an expansion looks at.
pub(super) struct Expander<'w> {
    pub(super) scope: &'w Scope,
    pub(super) context: &'w Context,
    pub(super) source: &'w Source,
}

/// Part of a word after braces: text as written, or a piece.
enum Segment<'t> {
    Text(String),
    Piece(&'t Piece),
}

/// What a parameter stands for.
enum Meaning<'t> {
    Text(String),
    /// The elements of `$@` or an array.
    Many(Vec<String>),
    Unknown(HoleKind),
    /// The operand of a fallback.
    Operand(&'t [Piece]),
}

impl Expander<'_> {
    /// The words a word becomes; `None` when they outgrow the budget.
    pub(super) fn words(&self, word: &Written) -> Option<Vec<Word>> {
        let pieces = match &word.content {
            Content::Plain => {
                let value = Value::Literal(self.source.slice(word.span).to_owned());
                return Some(vec![Word { span: word.span, quoting: Quoting::Bare, value }]);
            }
            Content::Pieces(pieces) => pieces,
        };
        let quoting = quoting(pieces);
        let made = |value| Word { span: word.span, quoting, value };
        let mut fields = Fields::new(Splitting::Fields);
        match braces::expand(pieces, self.source) {
            braces::Expanded::Same => self.segments(&self.merged(pieces), &mut fields),
            braces::Expanded::Words(words) => {
                for atoms in words {
                    self.segments(&joined(&atoms), &mut fields);
                    fields.end_field();
                }
            }
            braces::Expanded::TooMany => {
                let kind = HoleKind::Brace(self.source.slice(word.span).to_owned());
                fields.hole(kind, Quotes::Outside);
            }
        }
        Some(fields.finish()?.into_iter().map(made).collect())
    }

    /// The one value a word has where nothing splits: on the right of `=`, in a redirection, in `[[ … ]]`.
    pub(super) fn value(&self, word: &Written) -> Option<Word> {
        let (quoting, value) = match &word.content {
            Content::Plain => (Quoting::Bare, Value::Literal(self.source.slice(word.span).to_owned())),
            Content::Pieces(pieces) => {
                let mut fields = Fields::new(Splitting::Whole);
                self.segments(&self.merged(pieces), &mut fields);
                (quoting(pieces), fields.finish()?.pop()?)
            }
        };
        Some(Word { span: word.span, quoting, value })
    }

    /// The body of a here-document.
    pub(super) fn here(&self, body: &HereBody) -> Option<Value> {
        match body {
            HereBody::Data(text) => Some(Value::Literal(text.clone())),
            HereBody::Expanded(pieces) => self.quoted(pieces),
            HereBody::Rewritten(fragment) => {
                let (text, here) = (fragment.text.clone(), fragment.here.clone());
                let source = Source { text, here, script: self.source.script };
                Expander { scope: self.scope, context: self.context, source: &source }.quoted(&fragment.content)
            }
        }
    }

    /// Pieces as one double-quoted value.
    pub(super) fn quoted(&self, pieces: &[Piece]) -> Option<Value> {
        let mut fields = Fields::new(Splitting::Whole);
        for piece in pieces {
            self.piece(piece, Quotes::Inside, &mut fields);
        }
        fields.finish()?.pop()
    }

    /// Neighbouring unquoted text as one segment.
    fn merged<'t>(&self, pieces: &'t [Piece]) -> Vec<Segment<'t>> {
        let mut segments = Vec::with_capacity(pieces.len());
        for piece in pieces {
            match (piece, segments.last_mut()) {
                (Piece::Bare(span), Some(Segment::Text(text))) => text.push_str(self.source.slice(*span)),
                (Piece::Bare(span), _) => segments.push(Segment::Text(self.source.slice(*span).to_owned())),
                (piece, _) => segments.push(Segment::Piece(piece)),
            }
        }
        segments
    }

    fn segments(&self, segments: &[Segment<'_>], fields: &mut Fields) {
        for (at, segment) in segments.iter().enumerate() {
            match segment {
                Segment::Piece(piece) => self.piece(piece, Quotes::Outside, fields),
                Segment::Text(text) => {
                    let rest = if at + 1 == segments.len() { Rest::End } else { Rest::More };
                    let text = if at == 0 { self.tilde(text, rest, fields) } else { text };
                    fields.bare(text, rest);
                }
            }
        }
    }

    /// Expands a tilde at the start of `text` (or after `NAME=`), and gives back what follows it.
    fn tilde<'s>(&self, text: &'s str, rest: Rest, fields: &mut Fields) -> &'s str {
        let start = if text.starts_with('~') { 0 } else { assignment_value(text) };
        let Some((before, after)) = text.split_at_checked(start) else { return text };
        let Some(tail) = after.strip_prefix('~') else { return text };
        let end = tail.find(['/', ':']).unwrap_or(tail.len());
        let (user, path) = tail.split_at(end);
        // A prefix that runs into quotes or an expansion is no tilde prefix.
        if path.is_empty() && rest == Rest::More {
            return text;
        }
        fields.bare(before, Rest::End);
        match (user, &self.context.home) {
            ("", Some(home)) if self.scope.variable("HOME").is_none() => fields.quoted(home),
            _ => fields.hole(HoleKind::Tilde(format!("~{user}")), Quotes::Outside),
        }
        path
    }

    fn piece(&self, piece: &Piece, quotes: Quotes, fields: &mut Fields) {
        match piece {
            Piece::Bare(span) if quotes == Quotes::Inside => fields.quoted(self.source.slice(*span)),
            Piece::Bare(span) => fields.bare(self.source.slice(*span), Rest::More),
            Piece::Escaped(span) | Piece::Single(span) => fields.quoted(self.source.slice(*span)),
            Piece::Ansi(Some(text)) => fields.quoted(text),
            Piece::Ansi(None) => fields.hole(HoleKind::Output(String::new()), Quotes::Inside),
            Piece::Double(pieces) => {
                if !is_all_elements(pieces) {
                    fields.quoted("");
                }
                for piece in pieces {
                    self.piece(piece, Quotes::Inside, fields);
                }
            }
            Piece::Parameter(parameter) => self.parameter(parameter, quotes, fields),
            Piece::Command(substitution) => self.output(substitution, quotes, fields),
            Piece::Process(_) => fields.hole(HoleKind::Process, Quotes::Inside),
            Piece::Arithmetic(_) => fields.hole(HoleKind::Arithmetic, quotes),
            Piece::Extglob(span, _) => fields.pattern(self.source.slice(*span)),
            Piece::Array(_) => fields.quoted("=(…)"),
        }
    }

    fn output(&self, substitution: &Substitution, quotes: Quotes, fields: &mut Fields) {
        let shadowed = self.scope.function("cat").is_some() || self.scope.alias("cat").is_some();
        match quoted_output::known(self.source, substitution).filter(|_| !shadowed && quotes == Quotes::Inside) {
            Some(text) => fields.quoted(text),
            None => fields.hole(HoleKind::Output(self.source.slice(substitution.inner).to_owned()), quotes),
        }
    }

    fn parameter(&self, parameter: &Parameter, quotes: Quotes, fields: &mut Fields) {
        match (self.meaning(parameter), quotes) {
            (Meaning::Text(text), Quotes::Inside) => fields.quoted(&text),
            (Meaning::Text(text), Quotes::Outside) if self.splits() => fields.split(&text),
            (Meaning::Many(values), Quotes::Inside) => quoted_elements(&values, parameter, fields),
            (Meaning::Many(values), Quotes::Outside) if self.splits() => {
                for value in &values {
                    fields.split(value);
                    fields.end_field();
                }
            }
            // A changed IFS splits in ways that are not followed.
            (Meaning::Text(_) | Meaning::Many(_), Quotes::Outside) => {
                fields.hole(variable_hole(&parameter.name, None), Quotes::Outside);
            }
            (Meaning::Unknown(kind), _) => fields.hole(kind, quotes),
            (Meaning::Operand(pieces), Quotes::Inside) => {
                pieces.iter().for_each(|piece| self.piece(piece, Quotes::Inside, fields));
            }
            (Meaning::Operand(_), Quotes::Outside) => {
                fields.hole(variable_hole(&parameter.name, None), Quotes::Outside)
            }
        }
    }

    /// Unquoted values split at blanks, as long as nobody changed IFS.
    fn splits(&self) -> bool {
        self.scope.variable("IFS").is_none()
    }

    fn meaning<'t>(&self, parameter: &'t Parameter) -> Meaning<'t> {
        if parameter.reach == Reach::Indirect {
            return self.indirect(parameter);
        }
        match &parameter.operation {
            Operation::Value => self.plain(parameter),
            Operation::Transform(b'P') => Meaning::Unknown(HoleKind::Prompt),
            Operation::Fallback(kind, operand) => self.fallback(parameter, *kind, operand),
            Operation::Length
            | Operation::Names
            | Operation::Pattern(_)
            | Operation::Slice(_)
            | Operation::Transform(_) => Meaning::Unknown(self.unknown(&parameter.name)),
        }
    }

    /// `${!x}` is followed when `x` holds a plain name.
    fn indirect<'t>(&self, parameter: &Parameter) -> Meaning<'t> {
        let plain = matches!(parameter.operation, Operation::Value) && parameter.subscript.is_none();
        match self.scope.variable(&parameter.name) {
            Some(Variable::Known(target)) if plain && is_name(target) => self.named(target),
            Some(_) | None => Meaning::Unknown(HoleKind::Indirect),
        }
    }

    fn plain<'t>(&self, parameter: &Parameter) -> Meaning<'t> {
        let Some(subscript) = &parameter.subscript else { return self.named(&parameter.name) };
        let Some(Variable::Array(values)) = self.scope.variable(&parameter.name) else {
            return Meaning::Unknown(self.unknown(&parameter.name));
        };
        match self.quoted(subscript) {
            Some(Value::Literal(key)) if matches!(key.as_str(), "@" | "*") => Meaning::Many(values.clone()),
            Some(Value::Literal(key)) => match key.parse::<usize>().ok().and_then(|index| values.get(index)) {
                Some(value) => Meaning::Text(value.clone()),
                None => Meaning::Unknown(self.unknown(&parameter.name)),
            },
            Some(Value::Template(_)) | None => Meaning::Unknown(self.unknown(&parameter.name)),
        }
    }

    fn fallback<'t>(&self, parameter: &Parameter, kind: Fallback, operand: &'t [Piece]) -> Meaning<'t> {
        match (self.plain(parameter), kind) {
            (Meaning::Text(text), Fallback::Instead) if !text.is_empty() => Meaning::Operand(operand),
            (Meaning::Text(text), _) if !text.is_empty() => Meaning::Text(text),
            (_, Fallback::Fail) => Meaning::Unknown(HoleKind::Variable {
                name: parameter.name.clone(),
                guarded: true,
                assigned_from: self.assigned_from(&parameter.name),
            }),
            (_, Fallback::Use | Fallback::Assign | Fallback::Instead) => {
                Meaning::Unknown(self.unknown(&parameter.name))
            }
        }
    }

    /// The value of a parameter by its name.
    fn named<'t>(&self, name: &str) -> Meaning<'t> {
        match self.scope.variable(name) {
            Some(Variable::Known(value)) => return Meaning::Text(value.clone()),
            Some(Variable::Array(values)) => return Meaning::Text(values.first().cloned().unwrap_or_default()),
            Some(Variable::Unknown(_)) => return Meaning::Unknown(self.unknown(name)),
            None => {}
        }
        if let Some(values) = self.scope.positional() {
            match name {
                "@" | "*" => return Meaning::Many(values.to_vec()),
                "#" => return Meaning::Text(values.len().to_string()),
                "0" => {}
                _ => {
                    if let Ok(number) = name.parse::<usize>() {
                        return Meaning::Text(values.get(number.wrapping_sub(1)).cloned().unwrap_or_default());
                    }
                }
            }
        }
        match (name, self.known_directory(), &self.context.home) {
            ("HOME", _, Some(home)) => Meaning::Text(home.clone()),
            ("PWD", Some(directory), _) => Meaning::Text(directory),
            _ => Meaning::Unknown(self.unknown(name)),
        }
    }

    fn known_directory(&self) -> Option<String> {
        let place = self.scope.place();
        match (&place.directory, place.certainty) {
            (Directory::Start, _) if self.context.directory.is_empty() => None,
            (Directory::Start, Certainty::Certain) => Some(self.context.directory.clone()),
            (Directory::At(directory), Certainty::Certain) => Some(directory.clone()),
            (Directory::Start | Directory::At(_), Certainty::Doubtful) | (Directory::Unknown, _) => None,
        }
    }

    fn unknown(&self, name: &str) -> HoleKind {
        variable_hole(name, self.assigned_from(name))
    }

    fn assigned_from(&self, name: &str) -> Option<String> {
        match self.scope.variable(name) {
            Some(Variable::Unknown(Origin::Output(text))) => Some(text.clone()),
            Some(_) | None => None,
        }
    }
}

fn variable_hole(name: &str, assigned_from: Option<String>) -> HoleKind {
    HoleKind::Variable { name: name.to_owned(), guarded: false, assigned_from }
}

/// `"$@"` and `"${a[@]}"` give one field each, `"$*"` joins them.
fn quoted_elements(values: &[String], parameter: &Parameter, fields: &mut Fields) {
    let starred = parameter.name == "*";
    for (at, value) in values.iter().enumerate() {
        if at > 0 && starred {
            fields.quoted(" ");
        } else if at > 0 {
            fields.end_field();
        }
        fields.quoted(value);
    }
}

/// `"$@"` and nothing else, which may expand to no word at all.
fn is_all_elements(pieces: &[Piece]) -> bool {
    match pieces {
        [Piece::Parameter(parameter)] => parameter.name == "@" || parameter.subscript.is_some(),
        _ => false,
    }
}

fn joined<'t>(atoms: &[Atom<'t>]) -> Vec<Segment<'t>> {
    let mut segments: Vec<Segment<'t>> = Vec::new();
    for atom in atoms {
        match (atom, segments.last_mut()) {
            (Atom::Char(c), Some(Segment::Text(text))) => text.push(*c),
            (Atom::Char(c), _) => segments.push(Segment::Text(c.to_string())),
            (Atom::Piece(piece), _) => segments.push(Segment::Piece(piece)),
        }
    }
    segments
}

/// Where the value starts in text that looks like an assignment; 0 when it does not.
fn assignment_value(text: &str) -> usize {
    match text.split_once('=') {
        Some((name, _)) if is_name(name) => name.len() + 1,
        Some(_) | None => 0,
    }
}

/// A variable's name.
pub(super) fn is_name(text: &str) -> bool {
    text.bytes().next().is_some_and(crate::parse::starts_name) && text.bytes().all(crate::parse::in_name)
}

/// How a word was written.
fn quoting(pieces: &[Piece]) -> Quoting {
    let escaped = |piece: &Piece| matches!(piece, Piece::Escaped(_) | Piece::Ansi(_));
    let quoted = |piece: &Piece| matches!(piece, Piece::Single(_) | Piece::Double(_));
    if pieces.iter().any(escaped) {
        Quoting::Escaped
    } else if pieces.iter().any(quoted) {
        Quoting::Quoted
    } else {
        Quoting::Bare
    }
}

/// Text that stands for a value when it must become shell text again; holes become expansions of their name.
pub(super) fn as_script(value: &Value) -> String {
    match value {
        Value::Literal(text) => text.clone(),
        Value::Template(parts) => parts.iter().map(part_as_script).collect(),
    }
}

fn part_as_script(part: &Part) -> String {
    match part {
        Part::Text(text) => text.clone(),
        Part::Hole(Hole { kind: HoleKind::Variable { name, .. }, .. }) => format!("${{{name}}}"),
        Part::Hole(Hole { kind: HoleKind::Glob(pattern), .. }) => pattern.clone(),
        Part::Hole(Hole { kind: HoleKind::Arithmetic, .. }) => "${_number}".to_owned(),
        Part::Hole(_) => "${_unknown}".to_owned(),
    }
}
