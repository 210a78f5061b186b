//! What the hook's command line and environment say. Read by hand: the argument parser of the other commands costs
//! more time than the whole decision.

use std::time::Duration;

use mayi_core::lineage::Inheritance;
use mayi_core::mode::Mode;
use mayi_core::session::Attendance;
use mayi_core::verdict::Verdict;
use mayi_engine::remote::Propose;
use mayi_settings::Flag;

use crate::adapter::Dialect;
use crate::{dialect, lead};

/// The options of a hook.
pub(super) struct Options {
    pub(super) dialect: &'static Dialect,
    pub(super) attendance: Attendance,
    pub(super) mode: Option<Mode>,
    pub(super) settings: Vec<Flag>,
    pub(super) deadline: Duration,
    pub(super) lead: Option<(String, Inheritance)>,
    /// Who proposes the rules that a person at a server may save. Not of the command line: whoever runs the hook says.
    pub(super) propose: Propose,
}

/// Options that cannot be read.
#[derive(Clone, Debug, thiserror::Error)]
#[error(
    "{problem}\nusage: mayi hook AGENT [--unattended] [--mode MODE] [--settings FILE|JSON] [--deadline SECONDS]\nhelp: AGENT is one of {}",
    agents()
)]
pub struct BadOptions {
    problem: String,
    /// Whose dialect the complaint is to be made in.
    pub(super) dialect: Option<&'static Dialect>,
}

fn agents() -> String {
    dialect::ALL.iter().map(|dialect| dialect.name).collect::<Vec<_>>().join(", ")
}

fn bad(problem: impl Into<String>) -> BadOptions {
    BadOptions { problem: problem.into(), dialect: None }
}

/// What is wrong with the words after `hook`; `None` when a hook can be run with them.
pub(crate) fn problem(arguments: &[String]) -> Option<String> {
    Options::parse(arguments, &|_| None).err().map(|bad| bad.problem)
}

/// When a hook that is run with these words after `hook` answers at the latest.
pub(crate) fn deadline(arguments: &[String]) -> Option<Duration> {
    Options::parse(arguments, &|_| None).ok().map(|options| options.deadline)
}

/// The words after the agent, one option with its value after the other. What is no option stands alone.
pub(crate) fn parted(words: &[String]) -> Vec<&[String]> {
    let mut parted = Vec::new();
    let mut rest = words;
    while let Some(first) = rest.first() {
        let length = if ["--mode", "--settings", "--deadline"].contains(&first.as_str()) { 2 } else { 1 };
        let (option, after) = rest.split_at(length.min(rest.len()));
        parted.push(option);
        rest = after;
    }
    parted
}

impl Options {
    /// Reads the arguments after `hook`, and the variables that a lead leaves to its children.
    pub(super) fn parse(arguments: &[String], variable: &dyn Fn(&str) -> Option<String>) -> Result<Self, BadOptions> {
        let (name, words) = arguments.split_first().ok_or_else(|| bad("the agent is missing"))?;
        let dialect = dialect::named(name).ok_or_else(|| bad(format!("`{name}` is no agent that mayi knows")))?;
        Self::read(dialect, words, variable).map_err(|bad| BadOptions { dialect: Some(dialect), ..bad })
    }

    fn read(
        dialect: &'static Dialect,
        words: &[String],
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, BadOptions> {
        let mut words = words.iter();
        let mut options = Self {
            dialect,
            attendance: Attendance::Attended,
            mode: None,
            settings: Vec::new(),
            deadline: dialect.deadline,
            lead: lead::read(variable).map_err(|unknown| bad(unknown.to_string()))?,
            propose: Propose::default(),
        };
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or_else(|| bad(format!("`{word}` needs a value")));
            match word.as_str() {
                "--unattended" => options.attendance = Attendance::Unattended,
                "--mode" => options.mode = Some(value()?.parse().map_err(|_| bad("`--mode` names no mode"))?),
                "--settings" => options.settings.push(Flag::of_argument(value()?)),
                "--deadline" => options.deadline = seconds(value()?)?,
                other => return Err(bad(format!("`{other}` is no option"))),
            }
        }
        Ok(options)
    }

    /// How long hooks may take: they must have ended when the answer is due.
    pub(super) fn patience(&self) -> Duration {
        self.deadline.mul_f64(0.8)
    }

    /// What is answered when nothing can be decided.
    pub(super) fn fallback(&self) -> Verdict {
        match self.attendance {
            Attendance::Attended => Verdict::Ask,
            Attendance::Unattended => Verdict::Deny,
        }
    }
}

fn seconds(text: &str) -> Result<Duration, BadOptions> {
    let seconds = text.parse::<f64>().ok().filter(|seconds| (0.01..=86_400.0).contains(seconds));
    seconds.map(Duration::from_secs_f64).ok_or_else(|| bad("`--deadline` is a number of seconds, at most a day"))
}
