//! Several agents: who started whom. A child is bound by its lead, the lead by its own, up to the root.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use mayi_core::call::Call;
use mayi_core::catalogue::Kind;
use mayi_core::lineage::Inheritance;
use mayi_core::policy::Policy;
use mayi_core::session::Session;
use mayi_settings::own_hook::quoted;
use serde_json::Value;

/// An agent and what it may do by itself.
#[derive(Clone, Debug)]
pub struct Member {
    /// Its name.
    pub name: String,
    /// Its rules.
    pub policy: Arc<Policy>,
    /// Its session.
    pub session: Session,
    /// What becomes of its asks; without a lead they are its own.
    pub inheritance: Inheritance,
    /// The agent that started it.
    pub lead: Option<String>,
}

impl Member {
    /// An agent that nobody started.
    pub fn alone(name: &str, policy: Arc<Policy>, session: Session) -> Self {
        Self { name: name.to_owned(), policy, session, inheritance: Inheritance::Ask, lead: None }
    }

    /// The same, started by `lead`.
    pub fn led_by(self, lead: Option<String>, inheritance: Inheritance) -> Self {
        Self { lead, inheritance, ..self }
    }

    /// This agent, and a call of a child as this one would have to make it: where the child works. Its rules and working
    /// directories stay its own, so what lies outside of them is outside. A command outside is read in two ways, of which the
    /// stricter counts.
    pub(crate) fn in_place_of<'a>(&'a self, child: &Member, call: &'a Call) -> Vec<(Cow<'a, Self>, Cow<'a, Call>)> {
        let directory = child.policy.workspace.here();
        if self.policy.workspace.here() == directory {
            return vec![(Cow::Borrowed(self), Cow::Borrowed(call))];
        }
        let mut policy = Policy::clone(&self.policy);
        policy.workspace.elsewhere = Some(directory.to_owned());
        let there = Self { policy: Arc::new(policy), ..self.clone() };
        let mut readings = vec![(Cow::Owned(there), Cow::Borrowed(call))];
        let tool = self.policy.tool(&call.tool);
        if tool.kind == Kind::Shell && !self.policy.workspace.holds(directory) {
            let moved = after_going_to(directory, call, tool.field.unwrap_or_default());
            readings.push((Cow::Borrowed(self), Cow::Owned(moved)));
        }
        readings
    }
}

/// A command as somebody runs it who has to leave the working directories first. That tells more than what the command touches:
/// a program reads the folder that it is in.
fn after_going_to(directory: &str, call: &Call, field: &str) -> Call {
    let mut moved = call.clone();
    if let Some(Value::String(command)) = moved.input.get_mut(field) {
        *command = format!("cd -- {}\n{command}", quoted(directory));
    }
    moved
}

/// Why nothing can be said about an agent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BrokenLine {
    /// A lead that nobody has seen.
    #[error("the lead `{0}` is not known\nhelp: a child may do what its lead may, so the lead must have asked first")]
    Unknown(String),
    /// A lead that was started by its own child.
    #[error("the agent `{0}` is its own lead")]
    Cycle(String),
}

/// The line of an agent: itself, its lead, and so on to the root.
pub fn line<E: From<BrokenLine>>(
    first: Member,
    mut member: impl FnMut(&str) -> Result<Option<Member>, E>,
) -> Result<Vec<Member>, E> {
    let mut seen = HashSet::from([first.name.clone()]);
    let mut next = first.lead.clone();
    let mut line = vec![first];
    while let Some(name) = next {
        if !seen.insert(name.clone()) {
            return Err(BrokenLine::Cycle(name).into());
        }
        let lead = member(&name)?.ok_or(BrokenLine::Unknown(name))?;
        next = lead.lead.clone();
        line.push(lead);
    }
    Ok(line)
}
