//! Colours, for terminals only: `anstream` takes them out everywhere else and where NO_COLOR is set.

use std::fmt::Display;
use std::io::Write;

use anstyle::{AnsiColor, Style};
use mayi_core::mode::{Mode, Tone};
use mayi_core::verdict::Verdict;
use mayi_settings::{Problem, Severity};

/// Says something about the run on standard error. A closed one is no reason to fail.
pub(crate) fn tell(text: impl Display) {
    let _ = writeln!(anstream::stderr(), "{text}");
}

/// Asks something on standard error, and leaves the line open for the answer.
pub(crate) fn ask(text: impl Display) {
    let mut stderr = anstream::stderr();
    let _ = write!(stderr, "{text}").and_then(|()| stderr.flush());
}

/// A text in a style.
pub(crate) fn styled(style: Style, text: impl Display) -> String {
    format!("{style}{text}{style:#}")
}

/// Bold and red: something is wrong.
pub(crate) fn alarm(text: impl Display) -> String {
    styled(AnsiColor::Red.on_default().bold(), text)
}

/// Bold and yellow: worth a look.
pub(crate) fn caution(text: impl Display) -> String {
    styled(AnsiColor::Yellow.on_default().bold(), text)
}

/// Dimmed: less important.
pub(crate) fn quiet(text: impl Display) -> String {
    styled(Style::new().dimmed(), text)
}

/// Bold.
pub(crate) fn strong(text: impl Display) -> String {
    styled(Style::new().bold(), text)
}

/// A verdict in its colour.
pub(crate) fn verdict(verdict: Verdict, text: impl Display) -> String {
    let colour = match verdict {
        Verdict::Allow => AnsiColor::Green,
        Verdict::Ask => AnsiColor::Yellow,
        Verdict::Deny => AnsiColor::Red,
    };
    styled(colour.on_default().bold(), text)
}

/// A mode in its colour.
pub(crate) fn mode(mode: Mode, text: impl Display) -> String {
    let style = match mode.tone() {
        Tone::Plain => Style::new(),
        Tone::Calm => AnsiColor::Cyan.on_default(),
        Tone::Warning => AnsiColor::Yellow.on_default(),
        Tone::Alarm => AnsiColor::Red.on_default(),
    };
    styled(style, text)
}

/// A problem, with its first word in the colour of how bad it is.
pub(crate) fn problem(problem: &Problem) -> String {
    let text = problem.to_string();
    let word = problem.severity.word();
    let painted = match problem.severity {
        Severity::Error => alarm(word),
        Severity::Warning => caution(word),
        Severity::Note => strong(word),
    };
    format!("{painted}{}", text.strip_prefix(word).unwrap_or(&text))
}

/// Text from outside, with every character visible that would not be: control, bidirectional, zero-width.
pub(crate) fn visible(text: &str) -> String {
    let hidden = |letter: char| {
        (letter.is_control() && letter != '\n')
            || matches!(letter, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{a0}')
    };
    let mut shown = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\t' => shown.push_str("\\t"),
            letter if hidden(letter) => shown.extend(letter.escape_unicode()),
            letter => shown.push(letter),
        }
    }
    shown
}
