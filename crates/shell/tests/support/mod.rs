//! What the tests share: a context, a small deterministic generator, and short ways to look at an analysis.

#![allow(dead_code, clippy::expect_used, reason = "each test file uses its own part, and fails by panicking")]

use mayi_shell::command::{Analysis, Command};
use mayi_shell::walk::{self, Context};
use mayi_shell::word::{HoleKind, Part, Value, Word};

/// The context all tests run in.
pub(crate) fn context() -> Context {
    Context { directory: "/project".to_owned(), home: Some("/home/user".to_owned()) }
}

/// The analysis of a text.
pub(crate) fn analyse(text: &str) -> Analysis {
    walk::commands(text, &context())
}

/// The commands of a text, one string each, as [`shown`].
pub(crate) fn listed(text: &str) -> Vec<String> {
    let analysis = analyse(text);
    assert_eq!(analysis.opaque, None, "`{text}` should be understood");
    analysis.commands.iter().map(shown).collect()
}

/// Assignments and words of a command: holes in angle brackets by kind.
pub(crate) fn shown(command: &Command) -> String {
    let assignments = command.assignments.iter().map(|assignment| {
        let value = assignment.value.as_ref().map_or_else(|| "(…)".to_owned(), shown_word);
        format!("{}={value}", assignment.name)
    });
    assignments.chain(command.words.iter().map(shown_word)).collect::<Vec<_>>().join(" ")
}

/// A word; blanks in it are shown by quoting it.
pub(crate) fn shown_word(word: &Word) -> String {
    let text: String = match &word.value {
        Value::Literal(text) => text.clone(),
        Value::Template(parts) => parts.iter().map(shown_part).collect(),
    };
    if text.contains([' ', '\n']) || text.is_empty() { format!("'{text}'") } else { text }
}

fn shown_part(part: &Part) -> String {
    match part {
        Part::Text(text) => text.clone(),
        Part::Hole(hole) => match &hole.kind {
            HoleKind::Variable { name, guarded: true, .. } => format!("<{name}:?>"),
            HoleKind::Variable { name, .. } => format!("<{name}>"),
            HoleKind::Output(_) => "<output>".to_owned(),
            HoleKind::Process => "<process>".to_owned(),
            HoleKind::Glob(pattern) => format!("<glob:{pattern}>"),
            HoleKind::Brace(_) => "<brace>".to_owned(),
            HoleKind::Tilde(text) => format!("<{text}>"),
            HoleKind::Arithmetic => "<number>".to_owned(),
            HoleKind::Prompt => "<prompt>".to_owned(),
            HoleKind::Indirect => "<indirect>".to_owned(),
            HoleKind::Inserted => "<inserted>".to_owned(),
        },
    }
}

/// A small generator, the same on every machine and every run.
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A number below `end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.next() >> 11) as usize % end.max(1)
    }

    /// One of the choices.
    pub(crate) fn pick<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        choices.get(self.below(choices.len())).copied().unwrap_or("")
    }
}

/// Whether bash is there to be asked. A test that needs it says so and has nothing to compare with otherwise.
pub(crate) fn bash_exists() -> bool {
    let found = std::process::Command::new("bash").arg("--version").output().is_ok();
    if !found {
        eprintln!("bash is not installed: nothing to compare with");
    }
    found
}

/// Writes a file into the tests' own folder and gives its path.
pub(crate) fn file(name: &str, content: &[u8]) -> std::path::PathBuf {
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, content).expect("the tests' folder can be written");
    path
}
