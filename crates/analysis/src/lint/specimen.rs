//! Specimens: texts that stand for everything a pattern matches, with a letter that no rule spells in place of each
//! wildcard. A rule that matches a specimen swallows that letter with a wildcard of its own, so it matches whatever
//! stands there. For patterns over text this decides coverage, by one rule or by many: a law holds it against the
//! automata. For hosts and paths a specimen that nothing matches is proof that nothing covers.

use mayi_core::rule::domain::DomainPattern;
use mayi_core::rule::path::{PathPattern, Segment};
use mayi_core::rule::text::{Ending, Glob, TextPattern};

use crate::automata::letter_of_class;

/// Deeper paths are nobody's, and trying them out takes time with their depth squared.
const DEEPEST: usize = 64;

/// A text of a pattern.
pub(super) struct Specimen {
    pub(super) text: String,
    /// Nobody writes it so: a tab or a line break between words.
    pub(super) is_odd: bool,
}

/// The texts that stand for everything a text pattern matches.
pub(super) fn of_text(pattern: &TextPattern, fresh: char) -> Vec<Specimen> {
    let plain = |text: String| Specimen { text, is_odd: false };
    let words = |start: &str| {
        let mut all = vec![plain(start.to_owned())];
        all.extend(
            [' ', '\t', '\n'].map(|blank| Specimen { text: format!("{start}{blank}{fresh}"), is_odd: blank != ' ' }),
        );
        all
    };
    match pattern {
        TextPattern::Exact(text) => vec![plain(text.clone())],
        TextPattern::Prefix(prefix) => words(prefix),
        TextPattern::Glob(Glob { first, middle, last }) => {
            let mut start = format!("{first}{fresh}");
            for piece in middle {
                start = format!("{start}{piece}{fresh}");
            }
            match last {
                Ending::Text(text) => vec![plain(format!("{start}{text}"))],
                Ending::Word(word) => words(&format!("{start}{word}")),
            }
        }
    }
}

/// Some hosts that a pattern matches.
pub(super) fn of_host(pattern: &DomainPattern, fresh: char) -> Vec<String> {
    match pattern {
        DomainPattern::Any => vec![fresh.to_string(), format!("{fresh}.{fresh}")],
        DomainPattern::Host(host) => vec![host.clone()],
        DomainPattern::Below(apex) => vec![format!("{fresh}.{apex}"), format!("{fresh}.{fresh}.{apex}")],
        DomainPattern::Labels(labels) => {
            let label = |label: &TextPattern| of_text(label, fresh).into_iter().next().map(|specimen| specimen.text);
            labels.iter().map(label).collect::<Option<Vec<_>>>().map(|labels| labels.join(".")).into_iter().collect()
        }
    }
}

/// Some paths that a pattern matches; none where they are not plain to see.
pub(super) fn of_path(pattern: &PathPattern, fresh: char) -> Vec<String> {
    if pattern.segments().len() > DEEPEST {
        return Vec::new();
    }
    let any = [Vec::new(), vec![fresh.to_string()]];
    let mut specimens = Vec::new();
    for any in &any {
        let mut names: Vec<String> = Vec::new();
        for segment in pattern.segments() {
            match segment {
                Segment::Any => names.extend(any.iter().cloned()),
                Segment::Name(name) => names.push(name.clone()),
                Segment::Like(like) => match name_like(like, fresh) {
                    Some(name) => names.push(name),
                    None => return Vec::new(),
                },
            }
        }
        names.extend(any.iter().cloned());
        let path = format!("{}/{}", pattern.root().trim_end_matches('/'), names.join("/"));
        let path = if path.len() > 1 { path.trim_end_matches('/').to_owned() } else { path };
        if mayi_core::path::clean(&path) == path && pattern.matches(&path, mayi_core::path::Case::Sensitive) {
            specimens.push(path);
        }
    }
    specimens
}

fn name_like(like: &str, fresh: char) -> Option<String> {
    let mut name = String::new();
    let mut rest = like;
    while let Some(letter) = rest.chars().next() {
        let mut length = letter.len_utf8();
        match letter {
            '*' => name.push(fresh),
            '?' => name.push('x'),
            '[' => {
                let (letter, next) = letter_of_class(rest.as_bytes(), 0)?;
                name.push(letter);
                length = next;
            }
            '\\' => {
                let escaped = rest.chars().nth(1).unwrap_or(letter);
                name.push(escaped);
                length += if rest.len() > 1 { escaped.len_utf8() } else { 0 };
            }
            other => name.push(other),
        }
        rest = rest.get(length..)?;
    }
    Some(name)
}
