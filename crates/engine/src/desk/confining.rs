//! Commands that settings want confined: a slip for the run that will confine one, and no answer but no where
//! confinement is required and cannot be had.

use std::path::Path;

use mayi_core::catalogue::Kind;
use mayi_core::verdict::{Bounds, Verdict};
use mayi_settings::Loaded;

use super::{Answered, Asked, Confinement, Desk, fall_back};
use crate::confine::slip::{Slip, SlipError, Slips};
use crate::confine::{is_required, rewrite};

/// A command, and what takes its place.
#[derive(Clone, Copy, Debug)]
pub struct Replaced<'a> {
    /// This program, by its absolute path.
    pub program: &'a Path,
    /// The text that the agent runs: the call's, or what is left of it without words that were put before it.
    pub command: &'a str,
    /// Settings that were given beside the files, as arguments.
    pub settings: &'a [String],
}

impl Desk {
    /// The slips that hooks leave; `None` without a state folder.
    pub fn slips(&self) -> Option<Slips> {
        self.places.state.as_deref().map(Slips::in_folder)
    }

    /// Whether an answer is about a command that has to run confined, which only its own run can see to.
    pub fn is_to_be_confined(&self, answered: &Answered) -> bool {
        self.manner.confinement == Confinement::Sure && wants_confinement(answered, &self.settings())
    }

    /// Leaves a slip for a command that will run confined, and gives the text that takes its place.
    pub fn replaced(&self, asked: &Asked, answered: &Answered, by: Replaced<'_>) -> Result<String, String> {
        let slips = self.slips().ok_or("there is no home directory to keep permits in\nhelp: set HOME")?;
        let program = by.program.to_str().ok_or("the path of mayi itself is no text")?;
        let decision = &answered.decision;
        let slip = Slip {
            agent: asked.agent.clone(),
            session: asked.session.clone(),
            child: asked.child.as_ref().map(|child| child.id.clone()),
            call_id: asked.call_id.clone(),
            tool: answered.call.tool.clone(),
            command: by.command.to_owned(),
            directory: self.places.directory.clone(),
            settings: by.settings.to_vec(),
            verdict: decision.verdict,
            step: decision.step.id().to_owned(),
            message: decision.reason.to_string(),
            confined: decision.terms.confined,
        };
        let name = slips.put(&slip).map_err(|error: SlipError| error.to_string())?;
        Ok(rewrite::rewritten(program, &name, by.command))
    }

    /// Where confinement is required and cannot be had, a command that wants it is denied.
    pub(super) fn confining(&self, answered: &mut Answered, loaded: &Loaded) {
        let Confinement::Missing(why) = &self.manner.confinement else { return };
        let settled = answered.decision.verdict == Verdict::Deny || answered.aborted.is_some();
        if settled || !is_required(&loaded.settings.sandbox) || !wants_confinement(answered, loaded) {
            return;
        }
        let problem = format!("settings let commands run confined alone, and this one cannot be: {why}");
        fall_back(&mut answered.decision, Verdict::Deny, problem);
    }
}

/// Whether settings want the command confined.
fn wants_confinement(answered: &Answered, loaded: &Loaded) -> bool {
    let is_shell = loaded.policy.tool(&answered.call.tool).kind == Kind::Shell;
    is_shell && loaded.settings.sandbox.enabled && answered.decision.terms.bounds == Bounds::Inside
}
