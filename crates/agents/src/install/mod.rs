//! Installation: puts `mayi hook AGENT` into an agent's own configuration, takes it out again, and sees whether it
//! works.
//!
//! A file is changed whole or not at all, everything else in it stays, and what was there is kept beside it. A file
//! that cannot be read, that leads elsewhere or that is somebody else's is never touched.

pub mod agents;
mod change;
pub mod doctor;
mod entries;
pub mod facts;
mod ground;
mod kept;
mod plan;
pub mod whole;

use std::path::PathBuf;

use mayi_settings::write::SaveError;

pub use change::{Change, Outcome};
pub use entries::Found;
pub use facts::Agent;
pub use ground::{Ground, Scope};

use plan::Step;

/// What is to be installed where.
#[derive(Clone, Debug)]
pub struct Order {
    /// For which agent.
    pub agent: &'static Agent,
    /// In whose configuration.
    pub scope: Scope,
    /// The words that the agent is to run: the program, `hook`, the agent's name, options.
    pub command: Vec<String>,
}

/// Whether a change is made or only shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    /// It is made.
    Real,
    /// It is shown, and nothing changes.
    DryRun,
}

/// Why nothing was installed or taken out.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// A file cannot be read or written.
    #[error(transparent)]
    Save(#[from] SaveError),
    /// A file of the name we need is not ours.
    #[error("`{}` is there already, and mayi did not write it\nhelp: move it away first; nothing was changed", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// A file holds something else than the agent's own format says.
    #[error("`{member}` in `{}` does not hold what it should\nhelp: mend the file first; nothing was changed", path.display())]
    Shape {
        /// The file.
        path: PathBuf,
        /// The member.
        member: String,
    },
    /// A file says one thing twice, so that nobody can tell what its agent reads.
    #[error(
        "`{member}` stands twice in `{}`, the second time on line {line}, and agents read only the last\nhelp: leave one of them; nothing was changed",
        path.display()
    )]
    Twice {
        /// The file.
        path: PathBuf,
        /// The member.
        member: String,
        /// The line of the second.
        line: u32,
    },
    /// The agent has no such configuration.
    #[error("{agent} has no {scope} configuration for hooks\nhelp: use --scope {offered}")]
    NoScope {
        /// The agent.
        agent: &'static str,
        /// What was asked for.
        scope: Scope,
        /// What there is.
        offered: String,
    },
    /// There is no home to install in.
    #[error("there is no home directory to install in\nhelp: set HOME, or use --scope project")]
    NoHome,
    /// The program's path cannot be written to a configuration file.
    #[error("`{}` cannot be written to a configuration file\nhelp: put mayi where its path is absolute and plain text", .0.display())]
    Program(PathBuf),
}

/// How often a change is planned anew when somebody else changes a file at the same time.
const TRIES: usize = 8;

/// The words that an agent is to run.
pub fn command(program: &std::path::Path, agent: &Agent, options: &[String]) -> Result<Vec<String>, InstallError> {
    let text = program.to_str().filter(|text| program.is_absolute() && !text.contains(char::is_control));
    let program = text.ok_or_else(|| InstallError::Program(program.to_owned()))?;
    let words = [program, "hook", agent.name].into_iter().map(str::to_owned);
    Ok(words.chain(options.iter().cloned()).collect())
}

/// The words that installing writes: those of the order, and the options of a hook that is there already, unless the
/// order names them itself.
pub fn settled(order: &Order, ground: &Ground) -> Vec<String> {
    plan::settled(order, ground)
}

/// Installs, or shows what installing would change.
pub fn install(order: &Order, ground: &Ground, manner: Manner) -> Result<Vec<Outcome>, InstallError> {
    carried_out(&|| plan::install(order, ground), manner)
}

/// Takes out exactly what installation put in, or shows what that would change.
pub fn uninstall(
    agent: &'static Agent,
    scope: Scope,
    ground: &Ground,
    manner: Manner,
) -> Result<Vec<Outcome>, InstallError> {
    carried_out(&|| plan::uninstall(agent, scope, ground), manner)
}

fn carried_out(
    plan: &dyn Fn() -> Result<Vec<Step>, InstallError>,
    manner: Manner,
) -> Result<Vec<Outcome>, InstallError> {
    let mut steps = plan()?;
    if manner == Manner::DryRun {
        return Ok(steps.iter().map(Outcome::shown).collect());
    }
    // Files that are done already stay in the report when a later one makes us begin anew.
    let mut done: Vec<Outcome> = Vec::new();
    for _ in 0..TRIES {
        match change::perform(&steps)? {
            change::Performed::Fully(outcomes) => {
                done.extend(outcomes.into_iter().filter(|outcome| outcome.change != Change::Unchanged));
                let is_told = |step: &&Step| done.iter().any(|outcome| outcome.path == step.path);
                let rest: Vec<Outcome> = steps.iter().filter(|step| !is_told(step)).map(Outcome::unchanged).collect();
                done.extend(rest);
                return Ok(done);
            }
            change::Performed::Partly(outcomes) => {
                done.extend(outcomes.into_iter().filter(|outcome| outcome.change != Change::Unchanged));
                steps = plan()?;
            }
        }
    }
    Err(SaveError::Changed(steps.first().map(|step| step.path.clone()).unwrap_or_default()).into())
}
