//! What this machine can enforce, tried: each means of confinement runs a command that does nothing.

use mayi_core::call::Call;
use mayi_core::reason::Reason;
use mayi_core::step::Step;
use mayi_core::trace::Trace;
use mayi_core::verdict::{Decision, Permit, Terms, Verdict};
use mayi_sandbox::enforcement::{Enforcement, Mechanism};
use mayi_sandbox::report::Ending;
use mayi_settings::Loaded;
use mayi_settings::update::SessionPermissions;

use super::errand::{Errand, Trial};

/// A means of confinement, and what it enforced when it was tried, or why it did not work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tried {
    /// The means.
    pub mechanism: Mechanism,
    /// How far it enforces the plan of these settings.
    pub outcome: Result<Enforcement, String>,
}

/// Tries every means, best first, with the plan that these settings make.
pub fn tried(loaded: &Loaded) -> Vec<Tried> {
    let Some(permit) = nothing() else { return Vec::new() };
    let directory = std::path::Path::new(&loaded.policy.workspace.directory);
    let errand = Errand { loaded, session: &SessionPermissions::default(), permit: &permit, directory };
    let attempt = |mechanism| {
        let prepared = errand.prepare(Some(mechanism), Trial::Live).map_err(|error| error.to_string())?;
        let report = prepared.run_silently().map_err(|error| error.to_string())?;
        match report.ending {
            Ending::Code(0) => Ok(report.enforcement),
            Ending::Code(_) | Ending::Signal(_) => Err("a command that does nothing failed inside".to_owned()),
        }
    };
    Mechanism::ALL.into_iter().map(|mechanism| Tried { mechanism, outcome: attempt(mechanism) }).collect()
}

/// A permit for doing nothing.
fn nothing() -> Option<Permit> {
    let (terms, trace) = (Terms::default(), Trace::default());
    let decision = Decision { verdict: Verdict::Allow, step: Step::AllowRules, reason: Reason::ReadOnly, terms, trace };
    decision.permit(Call::shell("true"))
}
