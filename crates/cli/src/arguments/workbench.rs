//! The arguments of what looks at policies and at the past: audit, replay, why, diff, test, suggestions.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};
use mayi_core::mode::Mode;
use mayi_core::step::Step;
use mayi_core::verdict::Verdict;

use super::{Since, Where, list_names};

#[derive(Debug, Args)]
pub(crate) struct Audit {
    #[command(subcommand)]
    pub(crate) task: AuditTask,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AuditTask {
    /// Show recorded decisions, the newest last
    Query(Query),
    /// Write records as JSON lines, each with its link
    Export(Export),
    /// Whether a record was changed, removed or put in between. Exit 1 if so, with the first one
    Verify(Verify),
    /// The same as `mayi replay`
    Replay(Replay),
}

/// Which records.
#[derive(Debug, Default, Args)]
pub(crate) struct Records {
    /// The audit, where it is not the one of the settings
    #[arg(long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Only what is younger: 90m, 12h, 7d, 4w
    #[arg(long, value_name = "AGE")]
    pub(crate) since: Option<Since>,
}

#[derive(Debug, Args)]
pub(crate) struct Wanted {
    #[command(flatten)]
    pub(crate) records: Records,
    /// Only what is older
    #[arg(long, value_name = "AGE")]
    pub(crate) until: Option<Since>,
    /// Only of this session
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
    /// Only of this tool
    #[arg(long, value_name = "TOOL")]
    pub(crate) tool: Option<String>,
    /// Only with this verdict
    #[arg(long, value_parser = list_names())]
    pub(crate) verdict: Option<Verdict>,
    /// Only settled at this step, such as 1d
    #[arg(long, value_parser = step_names(), hide_possible_values = true)]
    pub(crate) step: Option<Step>,
    /// Only with this text in the input or the reason
    #[arg(long)]
    pub(crate) text: Option<String>,
}

/// Reads the id of a step.
fn step_names() -> impl TypedValueParser<Value = Step> {
    PossibleValuesParser::new(Step::ALL.map(Step::id)).try_map(|id| Step::of_id(&id).ok_or("there is no such step"))
}

#[derive(Debug, Args)]
pub(crate) struct Query {
    #[command(flatten)]
    pub(crate) wanted: Wanted,
    /// So many at most; 0 for all
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub(crate) limit: usize,
    /// Answer as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Export {
    #[command(flatten)]
    pub(crate) wanted: Wanted,
}

#[derive(Debug, Args)]
pub(crate) struct Verify {
    /// The audit, where it is not the one of the settings
    #[arg(long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// The audit of this server, with a token that may read it
    #[arg(long, value_name = "URL", conflicts_with = "file")]
    pub(crate) server: Option<String>,
    /// Answer as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Replay {
    /// Settings that count beside those of each call's directory: a file, or JSON
    #[arg(long, value_name = "FILE or JSON")]
    pub(crate) settings: Option<String>,
    /// A folder whose settings take the place of those of each call's directory
    #[arg(long, value_name = "DIR")]
    pub(crate) policy_dir: Option<PathBuf>,
    /// Decide in this mode, not in the recorded one
    #[arg(long, value_name = "MODE")]
    pub(crate) mode: Option<Mode>,
    #[command(flatten)]
    pub(crate) records: Records,
    /// Answer as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Why {
    /// The record: its name in `mayi audit query`, the agent's name of the call, or the last one
    #[arg(default_value = "last", value_name = "ID")]
    pub(crate) record: String,
    /// The audit, where it is not the one of the settings
    #[arg(long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Settings that count beside those of the call's directory: a file, or JSON
    #[arg(long, value_name = "FILE or JSON")]
    pub(crate) settings: Option<String>,
    /// Answer as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Diff {
    /// The settings before: a file, a folder, or REVISION:PATH of git
    #[arg(value_name = "OLD")]
    pub(crate) old: String,
    /// The settings after
    #[arg(value_name = "NEW")]
    pub(crate) new: String,
    /// Also decide the recorded calls under both
    #[arg(long)]
    pub(crate) audit: bool,
    #[command(flatten)]
    pub(crate) records: Records,
    /// The working directory that both are about
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// Answer as JSON
    #[arg(long, conflicts_with = "markdown")]
    pub(crate) json: bool,
    /// Answer in Markdown, for a comment on a pull request
    #[arg(long)]
    pub(crate) markdown: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Test {
    /// Files of tests; by default *.mayi.md, *.mayi.toml and everything in mayi-tests/
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Answer as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Also write JUnit's XML
    #[arg(long, value_name = "FILE.xml")]
    pub(crate) junit: Option<PathBuf>,
    /// Run again whenever a test or a settings file changes
    #[arg(long)]
    pub(crate) watch: bool,
    /// Show the rules that no test and no recorded call has hit
    #[arg(long)]
    pub(crate) coverage: bool,
    #[command(flatten)]
    pub(crate) place: Where,
}

#[derive(Debug, Args)]
pub(crate) struct Suggest {
    #[command(flatten)]
    pub(crate) records: Records,
    /// Answer as JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) place: Where,
}
