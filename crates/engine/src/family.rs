//! Several agents: who started whom. A child is bound by its lead, the lead by its own, up to the root.

use std::collections::HashSet;
use std::sync::Arc;

use mayi_core::lineage::Inheritance;
use mayi_core::policy::Policy;
use mayi_core::session::Session;

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
