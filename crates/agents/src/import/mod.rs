//! Rules of other agents, said in ours, with a remark for everything that cannot be said.
//!
//! Other agents let the last rule win, or the one with the highest priority; here a deny always wins over an ask, and an
//! ask over an allow. So an exception from a stricter rule is lost, and the remark says so. What comes out never allows a
//! call that the other agent would not have allowed by its own rules.

mod cline;
mod codex;
mod gemini;
mod opencode;
mod overlap;
mod starlark;

use std::path::{Path, PathBuf};

use mayi_core::rule::Rule;
use mayi_core::verdict::Verdict;
use serde::Serialize;

/// An agent whose rules can be read.
#[derive(Clone, Copy, Debug)]
pub struct Importer {
    /// The agent's name on the command line.
    pub agent: &'static str,
    /// Where it keeps its rules: below home, and below a project.
    files: fn(&Path, Option<&Path>) -> Vec<PathBuf>,
    /// Reads one file.
    read: fn(&str) -> Result<Draft, Unreadable>,
}

/// Every agent whose rules can be read.
pub const IMPORTERS: &[Importer] = &[codex::IMPORTER, gemini::IMPORTER, opencode::IMPORTER, cline::IMPORTER];

/// The importer with this name.
pub fn named(agent: &str) -> Option<&'static Importer> {
    IMPORTERS.iter().find(|importer| importer.agent == agent)
}

/// Why a file cannot be read at all.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct Unreadable {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub problem: String,
}

/// What a file of another agent says, in our words.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Imported {
    /// The rules.
    pub rules: Vec<ImportedRule>,
    /// What cannot be said, or only otherwise.
    pub remarks: Vec<Remark>,
}

/// A rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ImportedRule {
    /// The list it belongs to.
    pub list: Verdict,
    /// The rule.
    pub rule: String,
    /// The line it comes from.
    pub line: usize,
}

/// Something that cannot be said, or only otherwise.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Remark {
    /// What that means for calls.
    pub effect: Effect,
    /// The line it is about.
    pub line: usize,
    /// In words.
    pub message: String,
}

/// What it means for calls that something cannot be said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Effect {
    /// Some calls that the other agent allows are asked about or denied here.
    Stricter,
    /// Some calls that the other agent denies are asked about here.
    Asks,
    /// A deny or an ask is lost: what it held back is decided by the other rules alone.
    Lost,
}

impl Importer {
    /// The files that this agent reads its rules from, as far as they are there.
    pub fn files(&self, directory: &Path, home: Option<&Path>) -> Vec<PathBuf> {
        let mut files = (self.files)(directory, home);
        files.retain(|file| file.is_file());
        files
    }

    /// What a file says.
    pub fn import(&self, text: &str) -> Result<Imported, Unreadable> {
        (self.read)(text).map(Draft::settled)
    }
}

/// Files of a folder with this ending, in the order of their names.
fn files_in(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut files: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|found| found == ending)).collect();
    files.sort();
    files
}

/// Statements as they were found, before they are held against each other.
#[derive(Clone, Debug, Default)]
struct Draft {
    statements: Vec<Statement>,
    remarks: Vec<Remark>,
}

/// One statement of the other agent.
#[derive(Clone, Debug)]
struct Statement {
    verdict: Verdict,
    subject: Subject,
    /// The stronger of two that speak of one call wins there; of equals, the later.
    strength: i64,
    line: usize,
}

/// What a statement is about.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Subject {
    /// Everything.
    All,
    /// A tool, by our name.
    Tool(String),
    /// A tool with content, and the pattern that the other agent holds against it: `*` is any text.
    Content {
        tool: String,
        /// Our content.
        content: String,
        /// Theirs, for finding out which statements speak of one call.
        pattern: String,
    },
}

impl Subject {
    fn command(content: impl Into<String>, pattern: impl Into<String>) -> Self {
        Subject::Content { tool: "Bash".to_owned(), content: content.into(), pattern: pattern.into() }
    }

    fn is_whole_tool(&self) -> bool {
        match self {
            Subject::All | Subject::Tool(_) => true,
            Subject::Content { .. } => false,
        }
    }

    /// Whether some call may be meant by both.
    fn meets(&self, other: &Subject) -> bool {
        match (self, other) {
            (Subject::All, _) | (_, Subject::All) => true,
            (Subject::Tool(one), Subject::Tool(two) | Subject::Content { tool: two, .. })
            | (Subject::Content { tool: one, .. }, Subject::Tool(two)) => one == two,
            (
                Subject::Content { tool: one, pattern: first, .. },
                Subject::Content { tool: two, pattern: second, .. },
            ) => one == two && overlap::meet(first, second),
        }
    }

    fn rule(&self) -> Option<Rule> {
        match self {
            Subject::All => None,
            Subject::Tool(tool) => Some(Rule::tool(tool)),
            Subject::Content { tool, content, .. } => Some(Rule::content(tool, content)),
        }
    }

    fn shown(&self) -> String {
        self.rule().map_or_else(|| "every tool".to_owned(), |rule| format!("`{rule}`"))
    }
}

impl Draft {
    fn say(&mut self, verdict: Verdict, subject: Subject, (strength, line): (i64, usize)) {
        self.statements.push(Statement { verdict, subject, strength, line });
    }

    fn remark(&mut self, effect: Effect, line: usize, message: impl Into<String>) {
        self.remarks.push(Remark { effect, line, message: message.into() });
    }

    /// A statement that has no words here. Losing an allow only makes more questions.
    fn lose(&mut self, verdict: Verdict, line: usize, what: &str) {
        let effect = if verdict == Verdict::Allow { Effect::Stricter } else { Effect::Lost };
        self.remark(effect, line, format!("{} {what}: it is left out", word(verdict)));
    }

    /// Holds the statements against each other, and turns them into rules.
    fn settled(self) -> Imported {
        let mut remarks = self.remarks.clone();
        let mut rules: Vec<ImportedRule> = Vec::new();
        for (number, statement) in self.statements.iter().enumerate() {
            let exceptions = self.exceptions(number, statement);
            let rule = match (role(statement, &exceptions), statement.subject.rule()) {
                (Role::Rule, Some(rule)) => rule.to_string(),
                (Role::Left(remark), _) => {
                    remarks.push(remark);
                    continue;
                }
                (Role::Rule, None) | (Role::Default, _) => continue,
            };
            remarks.extend(exceptions.into_iter().map(|exception| lost_exception(exception, statement)));
            let rule = ImportedRule { list: statement.verdict, rule, line: statement.line };
            if !rules.iter().any(|known| known.list == rule.list && known.rule == rule.rule) {
                rules.push(rule);
            }
        }
        remarks.sort_by_key(|remark| remark.line);
        remarks.dedup();
        Imported { rules, remarks }
    }

    /// Milder statements that win over this one where both speak.
    fn exceptions(&self, number: usize, statement: &Statement) -> Vec<&Statement> {
        let wins = |(other, milder): &(usize, &Statement)| {
            milder.verdict < statement.verdict
                && (milder.strength, *other) > (statement.strength, number)
                && milder.subject.meets(&statement.subject)
        };
        self.statements.iter().enumerate().filter(wins).map(|(_, milder)| milder).collect()
    }
}

fn lost_exception(exception: &Statement, from: &Statement) -> Remark {
    let (milder, stricter, line) = (exception.subject.shown(), from.subject.shown(), from.line);
    let message = format!("{milder} is an exception from {stricter} (line {line}) there; here the stricter one wins");
    Remark { effect: Effect::Stricter, line: exception.line, message }
}

fn role(statement: &Statement, exceptions: &[&Statement]) -> Role {
    let left = |effect, message: String| Role::Left(Remark { effect, line: statement.line, message });
    let subject = &statement.subject;
    let has_exceptions = subject.is_whole_tool() && !exceptions.is_empty();
    match (statement.verdict, subject) {
        // What no rule speaks of asks here anyway.
        (Verdict::Ask, Subject::All) => Role::Default,
        (Verdict::Ask, _) if has_exceptions => Role::Default,
        (Verdict::Deny, _) if has_exceptions => {
            let shown = subject.shown();
            let help = "help: the mode `dontAsk` denies what would ask";
            left(Effect::Asks, format!("{shown} is denied but for exceptions: here the rest asks\n{help}"))
        }
        (Verdict::Allow, Subject::All) => {
            let help = "help: choose a mode instead";
            left(Effect::Stricter, format!("every tool is allowed: that has no rule here\n{help}"))
        }
        (Verdict::Deny, Subject::All) => {
            left(Effect::Asks, "every tool is denied: here what no rule allows asks".to_owned())
        }
        (Verdict::Allow | Verdict::Ask | Verdict::Deny, Subject::Tool(_) | Subject::Content { .. }) => Role::Rule,
    }
}

/// What becomes of a statement.
enum Role {
    Rule,
    /// It says what holds without it.
    Default,
    Left(Remark),
}

fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Allow => "an allow",
        Verdict::Ask => "an ask",
        Verdict::Deny => "a deny",
    }
}

/// The line of a byte, from 1.
fn line_of(text: &str, at: usize) -> usize {
    text.get(..at).unwrap_or(text).matches('\n').count() + 1
}

#[cfg(test)]
mod tests;
