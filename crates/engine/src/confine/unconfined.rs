//! Running without confinement: for commands that settings name (`sandbox.excludedCommands`) and where a person said
//! so. It takes a permit like every run, and one that was given because of confinement is refused.

use std::io;
use std::path::Path;
use std::process::Command;

use mayi_core::verdict::Permit;
use mayi_sandbox::report::Ending;

/// Why a command cannot run unconfined.
#[derive(Debug, thiserror::Error)]
pub enum Unconfined {
    /// It was allowed because it would be confined.
    #[error("it was allowed because it would run confined, so it may not run any other way")]
    OnlyConfined,
    /// It is no shell command.
    #[error("`{0}` is no shell command")]
    NoCommand(String),
    /// No shell can be started.
    #[error("the shell cannot be started: {0}")]
    Shell(#[from] io::Error),
}

/// Runs what the permit holds, with the standard streams of this process, and waits for its end.
pub fn run(permit: &Permit, directory: &Path) -> Result<Ending, Unconfined> {
    if permit.terms().confined {
        return Err(Unconfined::OnlyConfined);
    }
    let call = permit.call();
    let text = call.text("command").ok_or_else(|| Unconfined::NoCommand(call.tool.clone()))?;
    let start = |shell: &str| Command::new(shell).arg("-c").arg(text).current_dir(directory).status();
    let status = match start("bash") {
        Err(error) if error.kind() == io::ErrorKind::NotFound => start("sh")?,
        started => started?,
    };
    Ok(ending(status))
}

#[cfg(unix)]
fn ending(status: std::process::ExitStatus) -> Ending {
    use std::os::unix::process::ExitStatusExt;
    match (status.code(), status.signal()) {
        (Some(code), _) => Ending::Code(code),
        (None, Some(signal)) => Ending::Signal(signal),
        (None, None) => Ending::Code(1),
    }
}

#[cfg(not(unix))]
fn ending(status: std::process::ExitStatus) -> Ending {
    Ending::Code(status.code().unwrap_or(1))
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;
    use mayi_core::call::Call;
    use mayi_core::reason::Reason;
    use mayi_core::step::Step;
    use mayi_core::trace::Trace;
    use mayi_core::verdict::{Decision, Terms, Verdict};

    fn permit(command: &str, terms: Terms) -> Permit {
        let (reason, trace) = (Reason::Bypass, Trace::default());
        let decision = Decision { verdict: Verdict::Allow, step: Step::Bypass, reason, terms, trace };
        decision.permit(Call::shell(command)).unwrap()
    }

    #[test]
    fn a_command_ends_as_it_does_by_itself() {
        let run = |command| run(&permit(command, Terms::default()), Path::new("/")).unwrap();
        assert_eq!(run("exit 7"), Ending::Code(7));
        assert_eq!(run("kill -TERM $$"), Ending::Signal(15));
        assert_eq!(run("test \"$PWD\" = /"), Ending::Code(0));
    }

    #[test]
    fn an_allow_because_of_confinement_is_for_a_confined_run_alone() {
        let terms = Terms { confined: true, ..Terms::default() };
        assert!(matches!(run(&permit("true", terms), Path::new("/")), Err(Unconfined::OnlyConfined)));
    }
}
