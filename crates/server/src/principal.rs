//! Who makes a request, and what they may do. The one place where roles have a meaning.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use serde::{Deserialize, Serialize};

use crate::problem::Problem;

/// What a token or a person is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Asks: decides calls, puts questions, waits for their answers, ships its audit.
    Agent,
    /// Answers questions, sees what is going on.
    Approver,
    /// Everything but asking in an agent's place is theirs: tokens and policy too.
    Admin,
    /// Sees everything, changes nothing.
    Auditor,
}

/// Something that a request does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// Decide a call, put a question, wait for its answer, ship records, fetch the bundle.
    Ask,
    /// See approvals, sessions, decisions, policy and insights.
    See,
    /// Answer a question, change a session.
    Answer,
    /// Query, export, verify and replay the audit.
    Audit,
    /// Make and revoke tokens, change the policy.
    Govern,
}

impl Role {
    /// Every role.
    pub const ALL: [Role; 4] = [Role::Agent, Role::Approver, Role::Admin, Role::Auditor];

    /// The word for people and JSON.
    pub fn word(self) -> &'static str {
        match self {
            Role::Agent => "agent",
            Role::Approver => "approver",
            Role::Admin => "admin",
            Role::Auditor => "auditor",
        }
    }

    /// Whether this role may do that. INVARIANT: an agent never answers.
    pub fn may(self, act: Act) -> bool {
        match (self, act) {
            (Role::Agent | Role::Admin, Act::Ask) => true,
            (Role::Agent, Act::See | Act::Answer | Act::Audit | Act::Govern) => false,
            (Role::Approver, Act::See | Act::Answer) => true,
            (Role::Approver, Act::Ask | Act::Audit | Act::Govern) => false,
            (Role::Admin, Act::See | Act::Answer | Act::Audit | Act::Govern) => true,
            (Role::Auditor, Act::See | Act::Audit) => true,
            (Role::Auditor, Act::Ask | Act::Answer | Act::Govern) => false,
        }
    }
}

/// Who makes a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Principal {
    /// The token's or the person's name, for the audit.
    pub name: String,
    /// What they are for.
    pub role: Role,
    /// How they showed it.
    pub proof: Proof,
}

/// How somebody showed who they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Proof {
    /// A bearer token, by its id.
    Token(String),
    /// A browser's cookie, from a sign-in link or OIDC.
    Cookie,
}

impl Principal {
    /// Whether they may do that; the refusal otherwise.
    pub fn must(&self, act: Act) -> Result<(), Problem> {
        if self.role.may(act) { Ok(()) } else { Err(Problem::Forbidden { role: self.role, act }) }
    }
}

/// Whoever the door let in. A request without anybody is refused.
impl<S: Sync> FromRequestParts<S> for Principal {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Problem> {
        parts.extensions.get::<Principal>().cloned().ok_or(Problem::Unknown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_only_asks_and_an_auditor_changes_nothing() {
        for act in [Act::See, Act::Answer, Act::Audit, Act::Govern] {
            assert!(!Role::Agent.may(act), "{act:?}");
        }
        for act in [Act::Ask, Act::Answer, Act::Govern] {
            assert!(!Role::Auditor.may(act), "{act:?}");
        }
        assert!(Role::ALL.into_iter().filter(|role| role.may(Act::Govern)).eq([Role::Admin]));
    }
}
