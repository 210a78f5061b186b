//! The policy: every rule of every layer, compiled once, immutable and shared. Every rule keeps its origin.

mod compile;
mod lookup;

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::catalogue::{DeclaredTool, Kind};
use crate::grant::{self, SetAside};
use crate::mode::Mode;
use crate::path::Case;
use crate::rule::{Rule, RuleError};
use crate::session::Limits;
use crate::verdict::Verdict;

pub use compile::Policy;
pub use lookup::{Access, Grants, Text};

/// Where a rule came from, strongest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Layer {
    /// The organisation's policy.
    Managed,
    /// `--settings`, and where remote flags arrive.
    Flag,
    /// Command-line options.
    Cli,
    /// Rules that a skill or slash command brings for its own duration.
    Command,
    /// Answers given during the session.
    Session,
    /// The person's own settings for this project.
    Local,
    /// The project's shared settings.
    Project,
    /// The person's settings for every project.
    User,
}

impl Layer {
    /// All layers, strongest first.
    pub const ALL: [Layer; 8] = [
        Layer::Managed,
        Layer::Flag,
        Layer::Cli,
        Layer::Command,
        Layer::Session,
        Layer::Local,
        Layer::Project,
        Layer::User,
    ];

    /// The word for people and JSON.
    pub fn word(self) -> &'static str {
        match self {
            Layer::Managed => "managed",
            Layer::Flag => "flag",
            Layer::Cli => "cli",
            Layer::Command => "command",
            Layer::Session => "session",
            Layer::Local => "local",
            Layer::Project => "project",
            Layer::User => "user",
        }
    }

    /// Comes with a repository: it can tighten, and loosen only once a person trusts the folder.
    pub fn comes_with_the_repository(self) -> bool {
        self == Layer::Project
    }
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

/// A layer, and the place in its file.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Origin {
    /// The layer.
    pub layer: Layer,
    /// The file, as a person would name it; `None` for options and answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<Arc<str>>,
    /// The line, from 1; 0 when there is none.
    #[serde(skip_serializing_if = "is_zero")]
    pub line: u32,
    /// The column, from 1; 0 when there is none.
    #[serde(skip_serializing_if = "is_zero")]
    pub column: u32,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl Origin {
    /// A layer without a file.
    pub fn of(layer: Layer) -> Self {
        Self { layer, file: None, line: 0, column: 0 }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.layer.word())?;
        if let Some(file) = &self.file {
            write!(f, " {file}")?;
            if self.line > 0 {
                write!(f, ":{}", self.line)?;
            }
        }
        Ok(())
    }
}

/// A rule of the policy, with everything that is known of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// The list it stands in.
    #[serde(rename = "list")]
    pub verdict: Verdict,
    /// As it was written.
    #[serde(rename = "rule")]
    pub text: String,
    /// As it was read.
    #[serde(skip)]
    pub rule: Rule,
    /// Where it stands.
    pub origin: Origin,
    /// Whether it counts.
    #[serde(skip)]
    pub status: Status,
    /// What decides whether auto mode sets it aside.
    #[serde(skip)]
    pub(crate) setting_aside: SettingAside,
}

/// What decides whether auto mode sets a rule aside. Found out when it matters: most sessions never ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SettingAside {
    /// It is the same for every rule of this kind.
    Known(SetAside),
    /// The rule itself, for a tool of this kind.
    ByRule(Kind),
}

impl Entry {
    /// Whether auto mode sets it aside.
    pub fn set_aside(&self) -> SetAside {
        match self.setting_aside {
            SettingAside::Known(known) => known,
            SettingAside::ByRule(kind) => grant::set_aside(&self.rule, kind),
        }
    }
}

/// Whether a rule counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    /// It does.
    Live,
    /// It cannot be read. In deny and ask, its whole tool asks until it is mended.
    Malformed(RuleError),
    /// It is read, but can never speak.
    Idle(Idle),
}

/// Why a readable rule can never speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Idle {
    /// Paths are consulted as `Read(…)` and `Edit(…)` only.
    OtherSpelling {
        /// The tool whose rules are consulted instead.
        use_instead: &'static str,
    },
    /// The tool takes no content.
    NoContent,
    /// A parameter rule that names the tool's primary field.
    PrimaryField,
    /// A pattern that nothing can match.
    MatchesNothing,
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`  {}", self.text, self.origin)
    }
}

/// A rule as found in a source, before it is compiled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// The list it stands in.
    pub verdict: Verdict,
    /// As written, for showing.
    pub text: String,
    /// As read, where that is not what the text says: a secret is not shown, and not everything that stands in a list is text.
    pub reading: Option<Box<Result<Rule, RuleError>>>,
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1.
    pub column: u32,
}

impl Written {
    /// A rule without a place in a file.
    pub fn new(verdict: Verdict, text: &str) -> Self {
        Self { verdict, text: text.to_owned(), reading: None, line: 0, column: 0 }
    }

    /// As read.
    pub fn rule(&self) -> Result<Rule, RuleError> {
        self.reading.as_deref().cloned().unwrap_or_else(|| self.text.parse())
    }
}

/// The rules of one file or option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Its layer.
    pub layer: Layer,
    /// Its file, as a person would name it.
    pub file: Option<Arc<str>>,
    /// What `/p` in its path patterns is relative to.
    pub root: String,
    /// Its rules, in order.
    pub rules: Vec<Written>,
}

impl Source {
    /// Rules given without a file.
    pub fn of(layer: Layer, root: &str, rules: Vec<Written>) -> Self {
        Self { layer, file: None, root: root.to_owned(), rules }
    }
}

/// Everything in settings that is not a rule and that a decision looks at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// The mode a session starts in.
    pub default_mode: Option<Mode>,
    /// Bypass mode cannot be entered.
    pub bypass_disabled: bool,
    /// Auto mode cannot be entered.
    pub auto_disabled: bool,
    /// Plan mode leaves its questions to people, also where auto mode is available.
    pub plan_without_auto: bool,
    /// Reading outside the working directories is refused.
    pub block_outside_reads: bool,
    /// Confinement of shell commands.
    pub sandbox: Sandbox,
    /// When auto mode steps back.
    pub limits: Limits,
    /// Auto mode also sets aside the stricter list of grants.
    pub strict_grants: bool,
    /// Auto mode also sets aside every allow rule for shell commands.
    pub classify_all_shell: bool,
    /// MCP tools a user put on auto mode's safe list.
    pub safe_tools: Vec<String>,
    /// Tools a user declared.
    pub tools: Vec<DeclaredTool>,
    /// Files that could not be read at all.
    pub broken: Vec<Origin>,
    /// Files beyond the built-in lists that nobody may write without a person's word.
    pub protected_files: Vec<String>,
    /// Whether path names are told apart by case.
    pub case: Case,
}

/// Confinement of shell commands, as settings want it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sandbox {
    /// Commands run confined.
    pub enabled: bool,
    /// A confined command needs no question.
    pub auto_allow: bool,
    /// A call may ask to run outside.
    pub allow_unsandboxed: bool,
    /// Commands that always run outside.
    pub excluded: Vec<String>,
}
