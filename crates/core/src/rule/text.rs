//! Patterns over text: commands, tool names, agents, skills and parameter values.
//!
//! | form | meaning |
//! | --- | --- |
//! | no `*` | exact, after trimming and folding runs of blanks |
//! | ends with `:*`, or with ` *` as its only wildcard | the text before, then nothing or a blank and anything |
//! | any other unescaped `*` | a glob over the whole text; `*` is any characters |
//!
//! `\*` is a star and `\\` a backslash. Matching never backtracks: time is linear in the text for each piece.

use std::borrow::Cow;

/// A compiled pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TextPattern {
    /// The text itself.
    Exact(String),
    /// The text, then the end or a blank and anything.
    Prefix(String),
    /// Pieces with anything between them.
    Glob(Glob),
}

/// Pieces of text with anything between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Glob {
    /// What the text starts with; may be empty.
    pub first: String,
    /// What it holds between, in order.
    pub middle: Vec<String>,
    /// How it ends.
    pub last: Ending,
}

/// How a glob ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// With this text; may be empty.
    Text(String),
    /// With this text at a word boundary, then anything: `git * push:*`.
    Word(String),
}

impl TextPattern {
    /// The pattern of a command rule.
    pub fn command(content: &str) -> Self {
        let folded = fold_blanks(content);
        let (body, boundary) = match folded.strip_suffix(":*") {
            Some(body) => (body.trim_end(), Boundary::Word),
            None => (&*folded, Boundary::None),
        };
        // Most rules are as plain as that.
        if !holds(body.as_bytes(), [b'*', b'\\']) {
            return match boundary {
                Boundary::Word => TextPattern::Prefix(body.to_owned()),
                Boundary::None => TextPattern::Exact(body.to_owned()),
            };
        }
        let mut pieces = split_at_stars(body);
        if boundary == Boundary::Word {
            return match pieces.pop() {
                Some(only) if pieces.is_empty() => TextPattern::Prefix(only),
                last => TextPattern::Glob(Glob::from_pieces(pieces, Ending::Word(last.unwrap_or_default()))),
            };
        }
        match pieces.as_mut_slice() {
            [only] => TextPattern::Exact(std::mem::take(only)),
            [first, last] if last.is_empty() && first.ends_with(' ') => {
                TextPattern::Prefix(first.trim_end().to_owned())
            }
            _ => TextPattern::glob(&folded),
        }
    }

    /// A plain glob, with no notion of words: tool names, parameter values.
    pub fn glob(content: &str) -> Self {
        let mut pieces = split_at_stars(content);
        match pieces.pop() {
            Some(only) if pieces.is_empty() => TextPattern::Exact(only),
            last => TextPattern::Glob(Glob::from_pieces(pieces, Ending::Text(last.unwrap_or_default()))),
        }
    }

    /// Whether the text matches.
    pub fn matches(&self, text: &str) -> bool {
        match self {
            TextPattern::Exact(exact) => text == exact,
            // `:*` alone grants nothing: an empty command is no command.
            TextPattern::Prefix(prefix) => !prefix.is_empty() && ends_word(text, prefix),
            TextPattern::Glob(glob) => glob.matches(text),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Boundary {
    Word,
    None,
}

/// Whether `text` is `prefix`, or `prefix` and a blank and anything.
fn ends_word(text: &str, prefix: &str) -> bool {
    text.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t', '\n']))
}

impl Glob {
    fn from_pieces(mut pieces: Vec<String>, last: Ending) -> Self {
        let middle = if pieces.is_empty() { Vec::new() } else { pieces.split_off(1) };
        let first = pieces.pop().unwrap_or_default();
        Self { first, middle: middle.into_iter().filter(|piece| !piece.is_empty()).collect(), last }
    }

    /// Whether the text matches. Leftmost placement of each middle piece is enough: what is left over only grows.
    pub fn matches(&self, text: &str) -> bool {
        let Some(mut rest) = text.strip_prefix(self.first.as_str()) else { return false };
        for piece in &self.middle {
            let Some((_, after)) = rest.split_once(piece.as_str()) else { return false };
            rest = after;
        }
        match &self.last {
            Ending::Text(last) => rest.ends_with(last.as_str()),
            // Looked for at every end of a word: the text may overlap itself, as `aa` does in `aaa`.
            Ending::Word(last) => {
                let ends = rest.match_indices([' ', '\t', '\n']).map(|(at, _)| at).chain([rest.len()]);
                ends.filter_map(|end| rest.get(..end)).any(|word| word.ends_with(last.as_str()))
            }
        }
    }
}

/// Trims, and makes every run of blanks one blank.
pub fn fold_blanks(text: &str) -> Cow<'_, str> {
    if is_folded(text.as_bytes()) {
        return Cow::Borrowed(text);
    }
    let mut folded = String::with_capacity(text.len());
    for word in text.split([' ', '\t']).filter(|word| !word.is_empty()) {
        if !folded.is_empty() {
            folded.push(' ');
        }
        folded.push_str(word);
    }
    Cow::Owned(folded)
}

/// Whether no blank stands where none may: at the beginning, after another one, at the end.
fn is_folded(text: &[u8]) -> bool {
    text.is_empty() || (text.split(|byte| *byte == b' ').all(|word| !word.is_empty()) && !holds(text, [b'\t']))
}

/// Whether one of some letters is in a text. Eight are looked at together: every rule of every policy comes along here.
fn holds<const COUNT: usize>(text: &[u8], letters: [u8; COUNT]) -> bool {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    let (eights, rest) = text.as_chunks::<8>();
    let is_there = |eight: &[u8; 8]| {
        letters.iter().any(|letter| {
            // Nought where the letter is; and only where a byte is nought there is something to borrow.
            let word = u64::from_ne_bytes(*eight) ^ (ONES * u64::from(*letter));
            word.wrapping_sub(ONES) & !word & (ONES << 7) != 0
        })
    };
    eights.iter().any(is_there) || rest.iter().any(|byte| letters.contains(byte))
}

/// The literal pieces between unescaped stars.
fn split_at_stars(text: &str) -> Vec<String> {
    let mut pieces = vec![];
    let mut piece = String::new();
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match (letter, letters.peek()) {
            ('\\', Some('*' | '\\')) => piece.extend(letters.next()),
            ('*', _) => pieces.push(std::mem::take(&mut piece)),
            _ => piece.push(letter),
        }
    }
    pieces.push(piece);
    pieces
}

/// The text as a pattern that matches exactly it.
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        if matches!(letter, '*' | '\\') {
            escaped.push('\\');
        }
        escaped.push(letter);
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn letters_are_found_wherever_they_stand() {
        for byte in 0..=u8::MAX {
            for place in 0..19 {
                let mut text = [b'+'; 19];
                text[place] = byte;
                assert_eq!(holds(&text, [b'*', b'\\']), matches!(byte, b'*' | b'\\'), "{byte} at {place}");
            }
        }
    }

    #[test]
    fn blanks_are_folded() {
        for (text, folded) in [
            ("", ""),
            ("a", "a"),
            ("a b", "a b"),
            (" a", "a"),
            ("a ", "a"),
            ("a  b", "a b"),
            ("a\tb", "a b"),
            ("\t", ""),
            ("  ", ""),
            ("one two three four", "one two three four"),
            ("one two three  four", "one two three four"),
        ] {
            assert_eq!(fold_blanks(text), folded, "{text:?}");
            assert_eq!(is_folded(text.as_bytes()), text == folded, "{text:?}");
        }
    }

    #[track_caller]
    fn check(pattern: &str, yes: &[&str], no: &[&str]) {
        let compiled = TextPattern::command(pattern);
        for text in yes {
            assert!(compiled.matches(text), "`{pattern}` should match `{text}`");
        }
        for text in no {
            assert!(!compiled.matches(text), "`{pattern}` should not match `{text}`");
        }
    }

    #[test]
    fn every_edge_of_a_command_pattern() {
        check("npm run build", &["npm run build"], &["npm run build --watch"]);
        check("npm run *", &["npm run build", "npm run"], &["npm install", "npm runx"]);
        check("npm:*", &["npm", "npm test"], &["npmx"]);
        check("ls*", &["ls -la", "lsof", "ls"], &["als"]);
        check("git log * main", &["git log -5 main"], &["git log main", "git push origin main"]);
        check("* --help *", &["npm --help x"], &["npm --help"]);
        check("* install", &["npm install"], &["npm install x"]);
        check("git:* push", &["git: push", "git:x push"], &["git push"]);
        check("git * push:*", &["git -C d push", "git -C d push origin"], &["git -C d pushy", "git push"]);
        check(r"tool a\*b", &["tool a*b"], &["tool axb"]);
        check("git  commit *", &["git commit -m x"], &["git commits"]);
        check(":*", &[], &["", "ls"]);
        check("cmd:*", &["cmd a\nb"], &[]);
        check("x*aa:*", &["xaaa", "xaaa b"], &["xaab"]);
    }

    proptest! {
        #[test]
        fn an_escaped_text_matches_itself_alone(text in r"[a*\\ ]{1,10}", other in r"[a*\\ ]{1,10}") {
            let folded = fold_blanks(&text);
            prop_assume!(!folded.is_empty());
            let pattern = TextPattern::command(&escape(&folded));
            prop_assert!(pattern.matches(&folded));
            prop_assert_eq!(pattern.matches(&other), other == folded);
        }

        #[test]
        fn globs_agree_with_a_slow_matcher(pattern in "[ab*]{0,7}", text in "[ab]{0,7}") {
            prop_assert_eq!(TextPattern::glob(&pattern).matches(&text), slow(pattern.as_bytes(), text.as_bytes()));
        }
    }

    fn slow(pattern: &[u8], text: &[u8]) -> bool {
        match (pattern.split_first(), text.split_first()) {
            (None, None) => true,
            (Some((b'*', rest)), _) => slow(rest, text) || (!text.is_empty() && slow(pattern, &text[1..])),
            (Some((p, pattern)), Some((t, text))) => p == t && slow(pattern, text),
            (Some(_), None) | (None, Some(_)) => false,
        }
    }
}
