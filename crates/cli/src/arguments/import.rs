//! The arguments of `mayi import`.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use mayi_agents::import::{IMPORTERS, Importer, named};

use super::Destination;

const EXAMPLES: &str = "\
Try:
  mayi import codex                 what the rules of Codex CLI come to here
  mayi import opencode --to project write them to the project's settings";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Import {
    /// The agent whose rules are read
    #[arg(value_parser = importer_names())]
    pub(crate) agent: &'static Importer,
    /// Its files; those that the agent itself would read by default
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Write the rules to these settings: yours here, everybody's here, or yours everywhere
    #[arg(long, value_enum)]
    pub(crate) to: Option<Destination>,
    /// Write also when a deny or an ask is lost
    #[arg(long, requires = "to")]
    pub(crate) partly: bool,
    /// Answer as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// The working directory
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
}

fn importer_names() -> impl TypedValueParser<Value = &'static Importer> {
    PossibleValuesParser::new(IMPORTERS.iter().map(|importer| importer.agent))
        .try_map(|name| named(&name).ok_or("the rules of this agent cannot be read"))
}
