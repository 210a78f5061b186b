//! The forms in which rules see a command.
//!
//! An allow rule is compared with one form, as close to what was written as can be; a deny or ask rule with
//! every form the words can denote. The two must never be mixed: what widens the second would widen what is
//! allowed.

use super::paths::base_name;
use super::variables::is_listed;
use crate::command::{Analysis, Command};
use crate::word::{Hole, HoleKind, Part, Quoting, Span, Value, Word};
use std::borrow::Cow;
use std::ops::Range;

/// The variables an allow rule sees through, with reasons.
const SAFE_VARIABLES: &str = include_str!("safe_variables.txt");
/// The wrappers an allow rule sees through.
const TRANSPARENT: [&str; 8] = ["timeout", "time", "nice", "nohup", "stdbuf", "command", "builtin", "noglob"];
/// Layers whose forms are listed; nobody stacks more wrappers in earnest, and the innermost is always listed.
const LAYERS: usize = 8;
/// Git's options before the subcommand that take the next word.
const GIT_VALUED: [&str; 8] =
    ["-C", "-c", "--git-dir", "--work-tree", "--namespace", "--config-env", "--super-prefix", "--attr-source"];

/// What an allow rule sees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiteralForm {
    /// The command as written: quotes kept, blanks outside quotes folded, redirections dropped, transparent
    /// wrappers and safe variables removed.
    pub text: String,
    /// Ranges of `text` that no wildcard may swallow: substitutions and unquoted expansions.
    pub fixed: Vec<Range<usize>>,
}

impl LiteralForm {
    /// A wildcard may stand for any part of the text.
    pub fn is_swallowable(&self) -> bool {
        self.fixed.is_empty()
    }
}

impl Analysis {
    /// The form an allow rule is compared with. `None` when the program is not written out.
    pub fn literal_form(&self, command: &Command) -> Option<LiteralForm> {
        let first = transparent_start(command);
        let program = command.words.get(first)?;
        if program.text().is_none() || !self.is_written_out(command, program) {
            return None;
        }
        let mut form = LiteralForm { text: String::new(), fixed: Vec::new() };
        for assignment in command.assignments.iter().filter(|assignment| !is_listed(SAFE_VARIABLES, &assignment.name)) {
            push(&mut form.text, &self.written(command, assignment.span));
        }
        for word in distinct(command.words.get(first..)?) {
            let written = self.written(command, word.span);
            push(&mut form.text, &written);
            if word.holes().any(is_fixed) || is_coded(&written) {
                let start = form.text.len() - written.len();
                form.fixed.push(start..form.text.len());
            }
        }
        Some(form)
    }

    /// Every form a deny or ask rule is compared with, each once.
    pub fn denotations(&self, command: &Command) -> Vec<String> {
        let mut forms = Vec::new();
        let mut starts = command.layers.iter().map(|layer| layer.first);
        for first in [0].into_iter().chain(starts.clone().take(LAYERS)).chain(starts.next_back()) {
            let words = command.words.get(first..).unwrap_or_default();
            self.denoted(command, words, &mut forms);
        }
        if !command.assignments.is_empty() {
            let mut prefixed = String::new();
            let spans = command.assignments.iter().map(|assignment| assignment.span);
            for span in spans.chain(distinct(&command.words).map(|word| word.span)) {
                push(&mut prefixed, &self.written(command, span));
            }
            add(&mut forms, prefixed);
        }
        forms
    }

    /// The program, at some layer, is not known: any rule might be meant.
    pub fn unknown_program(&self, command: &Command) -> bool {
        let starts = [0].into_iter().chain(command.layers.iter().map(|layer| layer.first));
        starts.filter_map(|first| command.words.get(first)).any(|word| word.text().is_none())
    }

    /// The forms of one command, from its program on.
    fn denoted(&self, command: &Command, words: &[Word], forms: &mut Vec<String>) {
        let Some((program, operands)) = words.split_first() else { return };
        let mut written = String::new();
        for word in distinct(words) {
            push(&mut written, &self.written(command, word.span));
        }
        add(forms, written);
        let name = rendered(program);
        let base = base_name(&name);
        let names = [Some(name.as_ref()), Some(base).filter(|base| *base != name)];
        for name in names.into_iter().flatten() {
            let (mut plain, mut quoted) = (name.to_owned(), name.to_owned());
            for word in operands {
                push(&mut plain, &rendered(word));
            }
            for word in distinct(operands) {
                push(&mut quoted, &self.written(command, word.span));
            }
            add(forms, plain);
            add(forms, quoted);
        }
        if base == "git" {
            self.git(command, operands, forms);
        }
    }

    /// Git without its global options: `git -C d push` is `git push`.
    fn git(&self, command: &Command, operands: &[Word], forms: &mut Vec<String>) {
        let mut first = 0;
        while let Some(option) = operands.get(first).map(Word::known_prefix).filter(|option| option.starts_with('-')) {
            first += if GIT_VALUED.contains(&option) { 2 } else { 1 };
        }
        if first == 0 {
            return;
        }
        let (mut plain, mut quoted) = ("git".to_owned(), "git".to_owned());
        for word in operands.get(first..).unwrap_or_default() {
            push(&mut plain, &rendered(word));
            push(&mut quoted, &self.written(command, word.span));
        }
        add(forms, plain);
        add(forms, quoted);
    }

    /// The text of a span of the command's script, as written but without line continuations.
    fn written(&self, command: &Command, span: Span) -> Cow<'_, str> {
        let text = self.scripts.get(command.script.0).and_then(|script| script.text.get(span.start..span.end));
        let text = text.unwrap_or("");
        // In single quotes a continuation is data; a word with both is left alone.
        if text.contains('\n') && text.contains("\\\n") && !text.contains('\'') {
            Cow::Owned(text.replace("\\\n", ""))
        } else {
            Cow::Borrowed(text)
        }
    }

    /// The word means what it says, up to quotes: no expansion made it.
    fn is_written_out(&self, command: &Command, word: &Word) -> bool {
        let written = self.written(command, word.span);
        match word.quoting {
            Quoting::Bare => Some(written.as_ref()) == word.text(),
            Quoting::Quoted | Quoting::Escaped => !written.contains(['$', '`', '{', '~']),
        }
    }
}

/// Index of the first word an allow rule sees.
fn transparent_start(command: &Command) -> usize {
    let mut first = 0;
    for layer in &command.layers {
        if !TRANSPARENT.contains(&layer.wrapper.as_str()) {
            return first;
        }
        first = layer.first;
    }
    // `xargs cmd` without any option of its own.
    let plain_xargs = command.words.get(first).and_then(Word::text) == Some("xargs");
    let next = command.words.get(first + 1).map(Word::known_prefix);
    match next {
        Some(next) if plain_xargs && !next.is_empty() && !next.starts_with('-') => first + 1,
        Some(_) | None => first,
    }
}

/// No wildcard may swallow it: what fills it could be options, other operands or anything a command printed.
fn is_fixed(hole: &Hole) -> bool {
    match &hole.kind {
        HoleKind::Variable { assigned_from, name, .. } => {
            // `"$@"` and `"${a[@]}"` are any number of words, also in quotes.
            !hole.quoted || assigned_from.is_some() || name.ends_with(['@', '*', ']'])
        }
        HoleKind::Output(_)
        | HoleKind::Process
        | HoleKind::Prompt
        | HoleKind::Indirect
        | HoleKind::Brace(_)
        | HoleKind::Arithmetic => true,
        HoleKind::Glob(pattern) => pattern.contains('('),
        HoleKind::Tilde(_) | HoleKind::Inserted => false,
    }
}

/// Written in a way that says something else than it shows: `$'\x72m'`, zsh's `=name`, any number of words.
fn is_coded(written: &str) -> bool {
    // Few words have such a letter at all, and looking for one takes less than looking for texts.
    let may_be = written.contains(['$', '[']);
    may_be && ["$'", "$[", "[@]", "[*]"].into_iter().any(|code| written.contains(code)) || written.starts_with('=')
}

/// Words that one written word became are listed once; words nobody wrote are left out.
fn distinct(words: &[Word]) -> impl Iterator<Item = &Word> {
    let mut last = None;
    words.iter().filter(move |word| {
        let new = last != Some(word.span) && word.span.start < word.span.end;
        last = Some(word.span);
        new
    })
}

/// A word without its quotes; holes as an expansion of their kind would be written.
fn rendered(word: &Word) -> Cow<'_, str> {
    match &word.value {
        Value::Literal(text) => Cow::Borrowed(text),
        Value::Template(parts) => Cow::Owned(parts.iter().map(rendered_part).collect()),
    }
}

fn rendered_part(part: &Part) -> Cow<'_, str> {
    match part {
        Part::Text(text) => Cow::Borrowed(text),
        Part::Hole(hole) => match &hole.kind {
            HoleKind::Variable { name, .. } => Cow::Owned(format!("${name}")),
            HoleKind::Output(text) => Cow::Owned(format!("$({text})")),
            HoleKind::Glob(text) | HoleKind::Tilde(text) | HoleKind::Brace(text) => Cow::Borrowed(text),
            HoleKind::Process => Cow::Borrowed("<(…)"),
            HoleKind::Arithmetic => Cow::Borrowed("$((…))"),
            HoleKind::Prompt => Cow::Borrowed("${…@P}"),
            HoleKind::Indirect => Cow::Borrowed("${!…}"),
            HoleKind::Inserted => Cow::Borrowed("{}"),
        },
    }
}

fn push(form: &mut String, word: &str) {
    if !form.is_empty() {
        form.push(' ');
    }
    form.push_str(word);
}

fn add(forms: &mut Vec<String>, form: String) {
    if !form.is_empty() && !forms.contains(&form) {
        forms.push(form);
    }
}
