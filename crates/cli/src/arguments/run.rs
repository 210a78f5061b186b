//! The arguments of `mayi run`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, FromArgMatches};
use mayi_core::mode::Mode;
use mayi_sandbox::enforcement::Mechanism;

use super::Where;

#[derive(Debug, Args)]
pub(crate) struct Run {
    /// The mode to decide in
    #[arg(long, value_name = "MODE")]
    pub(crate) mode: Option<Mode>,
    /// Nobody can be asked
    #[arg(long)]
    pub(crate) unattended: bool,
    /// Show what the command could read, write and reach, and run nothing
    #[arg(long, conflicts_with_all = ["preview", "report"])]
    pub(crate) plan: bool,
    /// Run it on a throw-away layer, and show what it would change
    #[arg(long)]
    pub(crate) preview: bool,
    /// Make the changes of a preview
    #[arg(long, value_name = "ID", conflicts_with_all = ["command", "discard", "preview", "plan"])]
    pub(crate) apply: Option<String>,
    /// Forget a preview
    #[arg(long, value_name = "ID", conflicts_with_all = ["command", "preview", "plan"])]
    pub(crate) discard: Option<String>,
    /// Answer as JSON; the report of a run goes to standard error
    #[arg(long)]
    pub(crate) json: bool,
    /// Write the report of the run to a file, as JSON
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,
    /// What a hook decided about this very command
    // For hooks alone: who types it has no permit.
    #[arg(long, value_name = "NAME", hide = true, conflicts_with_all = ["mode", "unattended", "preview", "plan", "settings", "cwd", "add_dir", "allowed_tools", "disallowed_tools"])]
    pub(crate) permit: Option<String>,
    /// By what means it is confined: native, bubblewrap or landlock
    // For trying each of them; the best one is chosen otherwise.
    #[arg(long, value_name = "MEANS", hide = true, value_parser = mechanism_names())]
    pub(crate) mechanism: Option<Mechanism>,
    #[command(flatten)]
    pub(crate) place: Where,
    /// The command, in one word or several
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) command: Vec<String>,
}

/// Reads the name of a means of confinement.
fn mechanism_names() -> impl TypedValueParser<Value = Mechanism> {
    PossibleValuesParser::new(Mechanism::ALL.map(Mechanism::word)).try_map(|word| {
        Mechanism::ALL.into_iter().find(|mechanism| mechanism.word() == word).ok_or("there is no such means")
    })
}

impl Run {
    /// Reads the words after `mayi run` alone, without describing every other command first. `None` for what the whole
    /// says better: help, and what is wrong.
    pub(crate) fn alone(words: impl IntoIterator<Item: Into<OsString> + Clone>) -> Option<Self> {
        let command = Self::augment_args(clap::Command::new("run").no_binary_name(true));
        Self::from_arg_matches(&command.try_get_matches_from(words).ok()?).ok()
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::arguments::{Arguments, Task};

    fn read_by_the_whole(words: &[&str]) -> Option<String> {
        let all = ["mayi", "run"].iter().chain(words);
        let Task::Run(run) = Arguments::try_parse_from(all).ok()?.task else { return None };
        Some(format!("{run:?}"))
    }

    #[test]
    fn the_words_of_a_run_mean_the_same_alone() {
        let cases: [&[&str]; 12] = [
            &[],
            &["npm test"],
            &["--", "ls", "-la", "--help"],
            &["ls", "--unattended", "-h"],
            &["--unattended", "--mode", "plan", "--json", "--report", "r.json", "--", "make", "-j2"],
            &["--mode=auto", "--add-dir", "/a", "--cwd", "/b", "--mechanism", "native", "true"],
            &["--preview", "--", "sh", "-c", "echo $0"],
            &["--apply", "id"],
            &["--help"],
            &["--apply", "id", "--discard", "id"],
            &["--mode", "nonsense", "--", "ls"],
            &["--nonsense", "--", "ls"],
        ];
        for words in cases {
            let given: Vec<OsString> = words.iter().map(OsString::from).collect();
            assert_eq!(Run::alone(&given).map(|run| format!("{run:?}")), read_by_the_whole(words), "{words:?}");
        }
        let known = cases.iter().filter(|words| read_by_the_whole(words).is_some()).count();
        assert!((6..12).contains(&known), "both kinds are among them: {known}");
    }
}
