//! Links: a path inside the work that leads out of it is judged by where it leads.

use mayi_shell::command::Command;
use mayi_shell::effect::{Act, Executes, Place};
use mayi_shell::observe::{Answer, Question};

use crate::inspect::View;
use crate::inspect::shell::Reading;
use crate::inspect::shell::touch::{Lead, Touched};
use crate::locations;
use crate::policy::Access;
use crate::risk::assess::{Weight, is_in_scratch};
use crate::risk::place;

/// What a link makes of a path that is touched; `None` when there is none, or it changes nothing.
pub(super) fn weigh(reading: &Reading<'_>, touched: &Touched) -> Option<Weight> {
    let workspace = &reading.view.policy.workspace;
    let real = match touched.lead() {
        Lead::Plain => return None,
        Lead::Unknown => return Some(Weight::Open("touches a path whose links nobody could follow".to_owned())),
        Lead::To(real) => real,
    };
    match touched.access {
        Access::Read if touched.listing => None,
        Access::Read => locations::sensitive(real, workspace)
            .map(|listed| Weight::Bad("credential-exploration", format!("leads to `{real}`: {}", listed.why))),
        Access::Write => match place::category_of(real, workspace) {
            Some(category) => Some(Weight::Bad(category, format!("leads to `{real}`"))),
            None if workspace.holds(real) || is_in_scratch(real) => None,
            None => Some(Weight::Open(format!("leads to `{real}`, outside the working directories"))),
        },
    }
}

/// The files that a command runs: where they really lie must be known.
pub(super) fn questions(command: &Command) -> impl Iterator<Item = Question> {
    command.effects.iter().filter_map(|effect| match &effect.act {
        Act::Executes(Executes::File(Place::Path(path))) => Some(Question::Path(path.clone())),
        Act::Executes(_)
        | Act::Lists(_)
        | Act::Reads(_)
        | Act::Writes(_)
        | Act::Removes { .. }
        | Act::Connects { .. }
        | Act::ChangesSystem(_)
        | Act::Unknown(_) => None,
    })
}

/// The file that is run lies in the work, links and all. Not looked at yet is taken for what it says: the question
/// is asked before anything is decided.
pub(super) fn runs_inside(view: &View<'_>, path: &str) -> bool {
    let workspace = &view.policy.workspace;
    workspace.holds(path)
        && match view.facts.answer(&Question::Path(path.to_owned())) {
            Some(Answer::Real(real)) => workspace.holds(real),
            Some(Answer::Absent) | None => true,
            Some(
                Answer::Loop
                | Answer::Text(_)
                | Answer::Configuration(_)
                | Answer::System
                | Answer::Planted(_)
                | Answer::Unknown,
            ) => false,
        }
}
