//! The arguments of what is about auto mode: its lists, its measurement, its explanations.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::{Args, Subcommand};

use super::Where;

#[derive(Debug, Args)]
pub(crate) struct Explain {
    /// The tool; a command alone is a Bash call
    #[arg(long, value_name = "TOOL")]
    pub(crate) tool: Option<String>,
    /// The tool's input
    #[arg(long, value_name = "JSON")]
    pub(crate) input: Option<String>,
    /// From the analysis alone; the default where no model is configured
    #[arg(long = "static")]
    pub(crate) without_model: bool,
    /// Answer as JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) place: Where,
    /// The command, in one word or several
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) command: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct AutoMode {
    #[command(subcommand)]
    pub(crate) task: AutoModeTask,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AutoModeTask {
    /// What is built in, as it would stand in settings
    Defaults(Lists),
    /// What is in force here, with the file and line it came from
    Config(Lists),
    /// What is doubtful about your own entries. Exit 1 if anything is
    Critique(Lists),
}

#[derive(Debug, Args)]
pub(crate) struct Lists {
    /// Only entries that begin so, case aside
    #[arg(long, value_name = "PREFIX")]
    pub(crate) label: Option<String>,
    /// Answer as JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) place: Where,
}

#[derive(Debug, Args)]
pub(crate) struct Classifier {
    #[command(subcommand)]
    pub(crate) task: ClassifierTask,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ClassifierTask {
    /// Run labelled cases: how much is blocked and let through, rightly and wrongly
    Eval(Eval),
    /// Count recorded decisions: who settled them, what was denied and why
    Stats(Stats),
}

#[derive(Debug, Args)]
pub(crate) struct Eval {
    /// JSON lines of the batch format with `label`, `category` and `context`
    #[arg(required = true, value_name = "FILE.jsonl")]
    pub(crate) files: Vec<PathBuf>,
    /// The static layers alone; the default where no model is configured
    #[arg(long = "static")]
    pub(crate) without_model: bool,
    /// Answer as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Also draw the figures
    #[arg(long, value_name = "FILE.svg")]
    pub(crate) plot: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) place: Where,
}

#[derive(Debug, Args)]
pub(crate) struct Stats {
    /// Only what is younger: 90m, 12h, 7d, 4w
    #[arg(long, value_name = "AGE")]
    pub(crate) since: Option<Since>,
    /// Answer as JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) place: Where,
}

/// An age, such as `7d`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Since(pub(crate) Duration);

impl FromStr for Since {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let problem = || format!("`{text}` is no age\nhelp: a number and one of s, m, h, d, w, such as 7d");
        let unit = text.chars().next_back().ok_or_else(problem)?;
        let seconds: u64 = match unit {
            's' => 1,
            'm' => 60,
            'h' => 3_600,
            'd' => 86_400,
            'w' => 604_800,
            _ => return Err(problem()),
        };
        let number: u64 = text.strip_suffix(unit).and_then(|number| number.parse().ok()).ok_or_else(problem)?;
        number.checked_mul(seconds).map(|seconds| Since(Duration::from_secs(seconds))).ok_or_else(problem)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_is_a_number_and_a_unit() {
        for (text, seconds) in [("90m", 5_400), ("12h", 43_200), ("7d", 604_800), ("4w", 2_419_200), ("5s", 5)] {
            assert_eq!(text.parse(), Ok(Since(Duration::from_secs(seconds))), "{text}");
        }
        for text in ["", "d", "7", "7 d", "-1d", "7y", "99999999999999999999w", "7ö"] {
            assert!(Since::from_str(text).is_err(), "{text}");
        }
    }
}
