//! Who makes a call: its session as the store has it, in the mode it is in, and the line of its leads.

use std::collections::HashMap;

use mayi_core::call::Workspace;
use mayi_core::lineage::Inheritance;
use mayi_core::mode::Mode;
use mayi_core::session::{Attendance, Availability, Session};
use mayi_engine::audit::ground::{Ground, Heard, Lead};
use mayi_engine::batch::{BadLine, Classifier, Line};
use mayi_engine::family::{self, BrokenLine, Member};
use mayi_engine::remote::wire::Moment;
use mayi_settings::update::SessionPermissions;

use super::asked::Asked;
use super::policies::InForce;
use crate::app::App;
use crate::principal::{Principal, Proof, Role};
use crate::problem::Problem;
use crate::store::SessionState;

/// How many leads a session may have above it.
const DEEPEST: usize = 64;

/// Who makes a call.
#[derive(Debug)]
pub struct Standing {
    /// Itself, its lead, and so on to the root.
    pub members: Vec<Member>,
    /// The session as it is kept; `None` for a call without one.
    pub state: Option<SessionState>,
    /// The policy it is decided by.
    pub in_force: InForce,
}

/// Why nobody knows who makes a call.
#[derive(Debug)]
pub enum Unclear {
    /// The request as a whole cannot be served.
    Problem(Problem),
    /// This line cannot be decided.
    Line(BadLine),
    /// Its leads cannot be found, which is a no.
    Broken(BrokenLine),
}

impl From<Problem> for Unclear {
    fn from(problem: Problem) -> Self {
        Self::Problem(problem)
    }
}

impl From<BadLine> for Unclear {
    fn from(error: BadLine) -> Self {
        Self::Line(error)
    }
}

impl From<BrokenLine> for Unclear {
    fn from(error: BrokenLine) -> Self {
        Self::Broken(error)
    }
}

impl Standing {
    /// The mode it is decided in.
    pub fn mode(&self) -> Mode {
        self.members.first().map(|member| member.session.mode).unwrap_or_default()
    }

    /// What a decision about its call rests on, for whoever decides it again.
    pub fn ground(&self, line: &Line) -> Ground {
        let Some((first, leads)) = self.members.split_first() else { return Ground::default() };
        let Workspace { home, added, .. } = &first.policy.workspace;
        let lead = |(below, lead): (&Member, &Member)| Lead {
            name: lead.name.clone(),
            mode: lead.session.mode,
            inheritance: below.inheritance,
            policy: self.in_force.version.to_string(),
        };
        Ground {
            policy: self.in_force.version.to_string(),
            home: home.clone(),
            directories: added.clone(),
            added: self.state.as_ref().map(|state| state.record.permissions.clone()).unwrap_or_default(),
            leads: self.members.iter().zip(leads).map(lead).collect(),
            heard: Heard {
                before: line.said(),
                classified: line.classifier.map(|_| line.classified()),
                ..Heard::default()
            },
            ..Ground::of_session(&first.session)
        }
    }

    /// The session whose prompt a question of this call belongs to, where it bubbles up.
    pub fn prompt(&self) -> Option<String> {
        let mut leads = self.members.iter();
        let first = leads.find(|member| self.state.as_ref().is_some_and(|state| state.id == member.name))?;
        let mut at = first;
        let mut above = leads;
        while at.inheritance == Inheritance::Bubble && at.lead.is_some() {
            at = above.next()?;
        }
        (at.name != first.name).then(|| at.name.clone())
    }
}

/// The token or person that owns what a request makes.
pub fn owner(principal: &Principal) -> String {
    match &principal.proof {
        Proof::Token(id) => id.clone(),
        Proof::Cookie => format!("person:{}", principal.name),
    }
}

/// Refuses an agent that speaks of somebody else's session.
pub fn check_owner(principal: &Principal, state: &SessionState) -> Result<(), Problem> {
    if principal.role == Role::Agent && state.owner != owner(principal) {
        return Err(Problem::Refused(format!("the session `{}` belongs to another token", state.id)));
    }
    Ok(())
}

/// A session that is seen for the first time.
pub fn begun(asked: &Asked, principal: &Principal, now: Moment) -> SessionState {
    let mut state = SessionState {
        id: asked.about.session.clone().unwrap_or_default(),
        agent: asked.about.agent().to_owned(),
        host: asked.about.host.clone(),
        directory: asked.line.cwd.clone().unwrap_or_default(),
        began: now,
        seen: now,
        owner: owner(principal),
        ..SessionState::default()
    };
    state.record.session.mode = asked.line.mode.unwrap_or_default();
    state
}

/// Finds out who makes a call. `known` are the sessions that were read for this request already.
pub async fn standing(
    app: &App,
    asked: &Asked,
    principal: &Principal,
    known: &mut HashMap<String, SessionState>,
) -> Result<Standing, Unclear> {
    let Some(id) = asked.about.session.as_deref() else {
        let in_force = app.policies.of_line(&asked.line, &SessionPermissions::default())?;
        let session = session(asked, &in_force, None);
        let member = Member::alone("", in_force.policy.clone(), session);
        let members = match &asked.about.child {
            Some(child) => vec![
                Member { name: child.clone(), ..member.clone() }.led_by(Some(String::new()), Inheritance::Ask),
                member,
            ],
            None => vec![member],
        };
        return Ok(Standing { members, state: None, in_force });
    };
    let state = match read(app, id, known).await? {
        Some(state) => state,
        None => begun(asked, principal, app.now()),
    };
    check_owner(principal, &state)?;
    read_leads(app, &state, known).await?;
    let in_force = app.policies.of_line(&asked.line, &state.record.permissions)?;
    let own = member(asked, &in_force, (&state, Place::First));
    let first = match &asked.about.child {
        None => own.clone(),
        // Its questions appear where the session's own do.
        Some(child) => Member { name: child.clone(), ..own.clone() }.led_by(Some(state.id.clone()), Inheritance::Ask),
    };
    let members = family::line::<Unclear>(first, |name| {
        if name == state.id && asked.about.child.is_some() {
            return Ok(Some(own.clone()));
        }
        let Some(lead) = known.get(name) else { return Ok(None) };
        let in_force = app.policies.of_lead(&asked.line, &lead.directory, &lead.record.permissions)?;
        Ok(Some(member(asked, &in_force, (lead, Place::Above))))
    })?;
    Ok(Standing { members, state: Some(state), in_force })
}

/// A session, read once a request.
async fn read(app: &App, id: &str, known: &mut HashMap<String, SessionState>) -> Result<Option<SessionState>, Problem> {
    if let Some(state) = known.get(id) {
        return Ok(Some(state.clone()));
    }
    let found = app.store.session(id.to_owned()).await?;
    if let Some(state) = &found {
        known.insert(id.to_owned(), state.clone());
    }
    Ok(found)
}

/// Reads every session above one, as far as they are known. What is wrong with the line is found when it is walked.
async fn read_leads(app: &App, state: &SessionState, known: &mut HashMap<String, SessionState>) -> Result<(), Problem> {
    let mut next = state.lead.clone();
    let mut seen = 0;
    while let Some(name) = next {
        seen += 1;
        if seen > DEEPEST {
            // A line that is too long, or goes round in circles, ends in a lead that is not known.
            known.remove(&name);
            return Ok(());
        }
        next = read(app, &name, known).await?.and_then(|lead| lead.lead);
    }
    Ok(())
}

/// Where in a line somebody stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// It makes the call.
    First,
    /// It leads somebody who does.
    Above,
}

fn member(asked: &Asked, in_force: &InForce, (state, place): (&SessionState, Place)) -> Member {
    let session = match place {
        Place::First => session(asked, in_force, Some(state)),
        Place::Above => {
            let mode = state.record.mode.unwrap_or(state.record.session.mode);
            in_mode(asked, in_force, mode, state.record.session.clone())
        }
    };
    Member::alone(&state.id, in_force.policy.clone(), session).led_by(state.lead.clone(), state.inheritance)
}

/// The session that a call is decided in. What a person chose at the server comes before what the agent says.
fn session(asked: &Asked, in_force: &InForce, state: Option<&SessionState>) -> Session {
    let chosen = state.and_then(|state| state.record.mode);
    let kept = state.filter(|state| state.version > 0).map(|state| state.record.session.mode);
    let usual = in_force.policy.options.default_mode;
    let mode = chosen.or(asked.line.mode).or(kept).or(usual).unwrap_or_default();
    let kept = match state {
        Some(state) => state.record.session.clone(),
        None => Session { denials: asked.line.denials, ..Session::default() },
    };
    in_mode(asked, in_force, mode, kept)
}

fn in_mode(asked: &Asked, in_force: &InForce, mode: Mode, kept: Session) -> Session {
    let line = &asked.line;
    let classifier = line.classifier;
    let availability = Availability {
        bypass: line.bypass_available || mode == Mode::BypassPermissions,
        auto: classifier.is_some() || mode == Mode::Auto,
        model: matches!(classifier, Some(Classifier::Allow | Classifier::Block | Classifier::Error)),
        sandbox: line.sandbox.is_some_and(|sandbox| sandbox.available),
    };
    let attendance = if line.unattended { Attendance::Unattended } else { Attendance::Attended };
    let session = Session { attendance, availability, ..kept };
    // A mode that this session may not enter gives way to default, as it does when a session starts.
    let entered = if session.may_enter(mode, &in_force.policy).is_ok() { mode } else { Mode::Default };
    Session { mode: entered, ..session }
}
