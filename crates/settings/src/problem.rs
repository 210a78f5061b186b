//! Problems: what is wrong with settings, where, and what to do. One shape for reading, merging and linting, the
//! shape that programs read.

use std::fmt;
use std::sync::Arc;

use serde::{Serialize, Serializer};
use unicode_width::UnicodeWidthStr;

use mayi_core::policy::Origin;
use mayi_core::verdict::Verdict;

use crate::document::Place;
use crate::secret;

/// What kind of problem it is. The words are stable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Code {
    /// A file that cannot be read at all.
    BrokenFile,
    /// A value of the wrong type or out of its bounds.
    WrongType,
    /// A key nobody knows.
    UnknownKey,
    /// A key that is written twice in one object.
    DuplicateKey,
    /// A key that this layer may not set.
    KeyNotAllowedHere,
    /// A rule that cannot be read.
    MalformedRule,
    /// A rule for a tool nobody knows.
    UnknownTool,
    /// Something of the repository that waits for trust.
    NeedsTrust,
    /// A rule that the organisation's rules leave no room for.
    ManagedOnly,
    /// A mode that cannot be the starting mode.
    ModeNotAvailable,
    /// A rule that a deny covers.
    DenyShadowed,
    /// A rule that an ask covers.
    AskShadowed,
    /// A rule that stands there twice.
    Duplicate,
    /// A rule that nothing can match.
    NeverMatches,
    /// An allow that grants more than it seems to.
    DangerousAllow,
    /// A deny that is easily spelled around.
    FragileDeny,
    /// A path that starts somewhere else than it seems to.
    WrongAnchor,
    /// A secret in a settings file.
    SecretInSettings,
    /// The last good settings are in force, because the present ones cannot be read.
    StaleSettings,
    /// An example beside a rule that does not hold.
    FailedExample,
    /// A rule of which it was not found out whether others cover it.
    Undecided,
}

impl Code {
    /// All codes.
    pub const ALL: [Code; 21] = [
        Code::BrokenFile,
        Code::WrongType,
        Code::UnknownKey,
        Code::DuplicateKey,
        Code::KeyNotAllowedHere,
        Code::MalformedRule,
        Code::UnknownTool,
        Code::NeedsTrust,
        Code::ManagedOnly,
        Code::ModeNotAvailable,
        Code::DenyShadowed,
        Code::AskShadowed,
        Code::Duplicate,
        Code::NeverMatches,
        Code::DangerousAllow,
        Code::FragileDeny,
        Code::WrongAnchor,
        Code::SecretInSettings,
        Code::StaleSettings,
        Code::FailedExample,
        Code::Undecided,
    ];

    /// The word for people and programs.
    pub fn word(self) -> &'static str {
        match self {
            Code::BrokenFile => "broken-file",
            Code::WrongType => "wrong-type",
            Code::UnknownKey => "unknown-key",
            Code::DuplicateKey => "duplicate-key",
            Code::KeyNotAllowedHere => "key-not-allowed-here",
            Code::MalformedRule => "malformed-rule",
            Code::UnknownTool => "unknown-tool",
            Code::NeedsTrust => "needs-trust",
            Code::ManagedOnly => "managed-only",
            Code::ModeNotAvailable => "mode-not-available",
            Code::DenyShadowed => "deny-shadowed",
            Code::AskShadowed => "ask-shadowed",
            Code::Duplicate => "duplicate",
            Code::NeverMatches => "never-matches",
            Code::DangerousAllow => "dangerous-allow",
            Code::FragileDeny => "fragile-deny",
            Code::WrongAnchor => "wrong-anchor",
            Code::SecretInSettings => "secret-in-settings",
            Code::StaleSettings => "stale-settings",
            Code::FailedExample => "failed-example",
            Code::Undecided => "undecided",
        }
    }

    /// How bad it is.
    pub fn severity(self) -> Severity {
        match self {
            Code::BrokenFile | Code::WrongType | Code::MalformedRule | Code::StaleSettings | Code::SecretInSettings => {
                Severity::Error
            }
            Code::UnknownKey
            | Code::DuplicateKey
            | Code::KeyNotAllowedHere
            | Code::UnknownTool
            | Code::ModeNotAvailable
            | Code::DenyShadowed
            | Code::AskShadowed
            | Code::NeverMatches
            | Code::DangerousAllow
            | Code::FailedExample
            | Code::WrongAnchor => Severity::Warning,
            Code::NeedsTrust | Code::ManagedOnly | Code::Duplicate | Code::FragileDeny | Code::Undecided => {
                Severity::Note
            }
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

impl Serialize for Code {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.word())
    }
}

/// How bad a problem is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Good to know.
    Note,
    /// Probably not what was meant.
    Warning,
    /// Something does not count, or everything asks.
    Error,
}

impl Severity {
    /// The word for people.
    pub fn word(self) -> &'static str {
        match self {
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

/// A rule that is named as the cause of a problem.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Cause {
    /// The rule as written.
    pub rule: String,
    /// Its list.
    pub list: Verdict,
    /// Where it stands.
    pub origin: Origin,
}

/// Something wrong with settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// What kind.
    pub code: Code,
    /// How bad.
    pub severity: Severity,
    /// The rule it is about, as written.
    pub rule: Option<String>,
    /// The list that rule stands in.
    pub list: Option<Verdict>,
    /// Where.
    pub origin: Origin,
    /// Other rules that have to do with it.
    pub by: Vec<Cause>,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub fix: Option<String>,
    /// The line it stands on, for showing.
    pub excerpt: Option<Excerpt>,
}

/// The part of a line that a problem is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excerpt {
    /// The line, shortened when it is very long.
    pub line: String,
    /// How many characters stand before the part.
    pub before: usize,
    /// How many characters the part has.
    pub width: usize,
}

/// How much of a long line is shown on either side of the part.
const AROUND: usize = 60;

impl Excerpt {
    /// The line of `text` at a place.
    pub fn at(text: &str, place: Place) -> Option<Self> {
        let line = text.lines().nth(usize::try_from(place.line).ok()?.checked_sub(1)?)?;
        let column = usize::try_from(place.column).ok()?.checked_sub(1)?;
        let width = usize::try_from(place.width).ok()?;
        let skipped = column.saturating_sub(AROUND);
        let shown: String = line.chars().skip(skipped).take(AROUND * 2 + width).map(visible).collect();
        Some(Self { line: shown, before: column - skipped, width })
    }

    /// The line with its number, and the part underlined. Wide letters take two columns of a terminal, and so does
    /// what stands under them.
    pub fn underlined(&self, number: u32) -> String {
        let width = |skip: usize, take: usize| self.line.chars().skip(skip).take(take).collect::<String>().width();
        let number = number.to_string();
        let margin = " ".repeat(number.len());
        let lead = " ".repeat(width(0, self.before));
        // A part at the end of its line, or one that was cut off, is still pointed at.
        let mark = "^".repeat(width(self.before, self.width).max(1));
        format!(" {margin} |\n {number} | {}\n {margin} | {lead}{mark}", self.line)
    }
}

/// A letter as it may be shown. Tabs take one place, so that the underline stands under what it means; letters that
/// move a cursor or turn the direction of a text are made visible, so that a file cannot forge what a person reads.
fn visible(letter: char) -> char {
    match letter {
        '\t' => ' ',
        '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}' => '\u{fffd}',
        _ if letter.is_control() => '\u{fffd}',
        _ => letter,
    }
}

/// A text as it may be shown.
struct Visible<'a>(&'a str);

impl fmt::Display for Visible<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.chars().try_for_each(|letter| write!(f, "{}", visible(letter)))
    }
}

impl Problem {
    /// A problem at an origin.
    pub fn new(code: Code, origin: Origin, message: impl Into<String>) -> Self {
        Self {
            code,
            severity: code.severity(),
            rule: None,
            list: None,
            origin,
            by: Vec::new(),
            message: message.into(),
            fix: None,
            excerpt: None,
        }
    }

    /// The same with what to do.
    #[must_use]
    pub fn fix(mut self, fix: impl Into<String>) -> Self {
        self.fix = Some(fix.into());
        self
    }

    /// The same about a rule.
    #[must_use]
    pub fn about(mut self, rule: &str, list: Verdict) -> Self {
        (self.rule, self.list) = (Some(rule.to_owned()), Some(list));
        self
    }

    /// Hides secrets in everything it shows. What is wrong with a line can be said without the secret in it.
    pub(crate) fn redact(&mut self) {
        secret::redact(&mut self.message);
        self.rule.iter_mut().for_each(secret::redact);
        self.by.iter_mut().for_each(|cause| secret::redact(&mut cause.rule));
        if self.excerpt.as_ref().is_some_and(|excerpt| secret::find(&excerpt.line).is_some()) {
            self.excerpt = None;
        }
    }

    /// The same with the line that it stands on.
    #[must_use]
    pub fn shown(mut self, text: &str, place: Place) -> Self {
        self.excerpt = Excerpt::at(text, place);
        self
    }
}

/// The shape that programs read. `by` names the rules; `because` says where each of them stands.
impl Serialize for Problem {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Shape<'a> {
            code: Code,
            severity: Severity,
            rule: &'a Option<String>,
            list: Option<Verdict>,
            origin: &'a Origin,
            by: Vec<&'a str>,
            because: &'a [Cause],
            message: &'a str,
            fix: &'a Option<String>,
        }
        let Problem { code, severity, rule, list, origin, by, message, fix, excerpt: _ } = self;
        let names = by.iter().map(|cause| cause.rule.as_str()).collect();
        let (code, severity, list) = (*code, *severity, *list);
        Shape { code, severity, rule, list, origin, by: names, because: by, message, fix }.serialize(serializer)
    }
}

/// The problem for people, without colours: what, where, the line with the part underlined, and what to do.
impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}[{}]: {}", self.severity.word(), self.code, Visible(&self.message))?;
        write!(f, "\n  --> {}", Visible(&self.origin.to_string()))?;
        if self.origin.column > 0 {
            write!(f, ":{}", self.origin.column)?;
        }
        if let Some(excerpt) = &self.excerpt {
            write!(f, "\n{}", excerpt.underlined(self.origin.line))?;
        }
        for cause in &self.by {
            let origin = cause.origin.to_string();
            write!(f, "\n  by: `{}` in {}, {}", Visible(&cause.rule), cause.list, Visible(&origin))?;
        }
        match &self.fix {
            Some(fix) => write!(f, "\n  help: {}", Visible(fix)),
            None => Ok(()),
        }
    }
}

/// Where problems of one document come from.
#[derive(Clone, Debug)]
pub(crate) struct Page {
    pub(crate) layer: mayi_core::policy::Layer,
    pub(crate) file: Option<Arc<str>>,
    pub(crate) text: Arc<str>,
}

impl Page {
    pub(crate) fn origin(&self, place: Place) -> Origin {
        Origin { layer: self.layer, file: self.file.clone(), line: place.line, column: place.column }
    }

    pub(crate) fn problem(&self, code: Code, place: Place, message: impl Into<String>) -> Problem {
        Problem::new(code, self.origin(place), message).shown(&self.text, place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mayi_core::policy::Layer;

    #[test]
    fn a_problem_shows_its_line_underlined() {
        let text = "{\n\t\"permisions\": {}\n}";
        let page = Page { layer: Layer::Project, file: Some(".mayi/settings.json".into()), text: text.into() };
        let problem = page
            .problem(Code::UnknownKey, Place { line: 2, column: 2, width: 12 }, "`permisions` is no key of settings")
            .fix("did you mean `permissions`?");
        let expected = "\
warning[unknown-key]: `permisions` is no key of settings
  --> project .mayi/settings.json:2:2
   |
 2 |  \"permisions\": {}
   |  ^^^^^^^^^^^^
  help: did you mean `permissions`?";
        assert_eq!(problem.to_string(), expected);
    }

    #[test]
    fn a_file_cannot_move_the_cursor_or_turn_the_text() {
        let text = "{ \"\u{1b}[2J\u{202e}x\": 1 }";
        let page = Page { layer: Layer::User, file: Some("a\u{1b}b".into()), text: text.into() };
        let problem = page.problem(Code::UnknownKey, Place { line: 1, column: 3, width: 3 }, "`\u{1b}[2J` is no key");
        let shown = problem.to_string();
        assert!(!shown.contains(['\u{1b}', '\u{202e}']), "{shown:?}");
        assert!(shown.contains("`\u{fffd}[2J` is no key"));
    }

    #[test]
    fn the_underline_stands_under_wide_letters_too() {
        let excerpt = Excerpt::at("{ \"規則\": 1 }", Place { line: 1, column: 3, width: 4 }).unwrap();
        assert_eq!(excerpt.underlined(7), "   |\n 7 | { \"規則\": 1 }\n   |   ^^^^^^");
        let after = Excerpt::at("{ \"規則\": 1 }", Place { line: 1, column: 9, width: 1 }).unwrap();
        assert_eq!(after.underlined(1), "   |\n 1 | { \"規則\": 1 }\n   |           ^");
    }

    #[test]
    fn long_lines_are_cut_around_the_part() {
        let text = format!("{}X{}", "a".repeat(500), "b".repeat(500));
        let excerpt = Excerpt::at(&text, Place { line: 1, column: 501, width: 1 }).unwrap();
        assert_eq!(excerpt.line.chars().nth(excerpt.before), Some('X'));
        assert!(excerpt.line.len() < 130);
    }

    #[test]
    fn programs_read_the_stable_shape() {
        let problem =
            Problem::new(Code::DenyShadowed, Origin::of(Layer::User), "covered").about("Bash(ls:*)", Verdict::Allow);
        let cause = Cause { rule: "Bash".into(), list: Verdict::Deny, origin: Origin::of(Layer::Managed) };
        let json = serde_json::to_value(Problem { by: vec![cause], ..problem }).unwrap();
        assert_eq!(
            json,
            serde_json::json!({"code": "deny-shadowed", "severity": "warning", "rule": "Bash(ls:*)", "list": "allow",
                "origin": {"layer": "user"}, "by": ["Bash"],
                "because": [{"rule": "Bash", "list": "deny", "origin": {"layer": "managed"}}], "message": "covered", "fix": null})
        );
    }

    #[test]
    fn every_code_has_its_own_kebab_word() {
        let words: std::collections::BTreeSet<_> = Code::ALL.iter().map(|code| code.word()).collect();
        assert_eq!(words.len(), Code::ALL.len());
        assert!(words.iter().all(|word| word.chars().all(|letter| letter.is_ascii_lowercase() || letter == '-')));
    }
}
