//! Which role settings give to whom. Whoever is not named gets none.

use std::collections::BTreeMap;

use super::claims::Claims;
use crate::principal::Role;

/// People by their roles, the most powerful role first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Roles(Vec<(Role, Vec<Member>)>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Member {
    /// `a@example.com`
    Email(String),
    /// `*@example.com`
    Domain(String),
    /// `claim:value`
    Claim(String, String),
}

/// A role or a person that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadRole {
    /// No role for people.
    #[error("`{0}` in `server.oidc.roles` is no role of people\nhelp: one of admin, approver, auditor")]
    Role(String),
    /// Nobody.
    #[error("`{0}` in `server.oidc.roles` names nobody\nhelp: write `a@example.com`, `*@example.com` or `claim:value`")]
    Member(String),
}

impl Roles {
    /// The roles of settings.
    pub fn of(settings: &BTreeMap<String, Vec<String>>) -> Result<Self, BadRole> {
        let known = |word: &str| match word {
            "admin" => Ok(Role::Admin),
            "approver" => Ok(Role::Approver),
            "auditor" => Ok(Role::Auditor),
            other => Err(BadRole::Role(other.to_owned())),
        };
        let mut roles = Vec::new();
        for (word, people) in settings {
            let members = people.iter().map(|text| member(text)).collect::<Result<_, _>>()?;
            roles.push((known(word)?, members));
        }
        let rank = |role: Role| match role {
            Role::Admin => 0,
            Role::Approver => 1,
            Role::Auditor => 2,
            Role::Agent => 3,
        };
        roles.sort_by_key(|(role, _)| rank(*role));
        Ok(Self(roles))
    }

    /// The role of whoever claims this.
    pub(super) fn of_claims(&self, claims: &Claims) -> Option<Role> {
        let named = |members: &Vec<Member>| members.iter().any(|member| member.is(claims));
        self.0.iter().find(|(_, members)| named(members)).map(|(role, _)| *role)
    }
}

fn member(text: &str) -> Result<Member, BadRole> {
    let bad = || BadRole::Member(text.to_owned());
    if let Some((claim, value)) = text.split_once(':') {
        let fit = !claim.is_empty() && !value.is_empty();
        return fit.then(|| Member::Claim(claim.to_owned(), value.to_owned())).ok_or_else(bad);
    }
    let (user, domain) = text.rsplit_once('@').ok_or_else(bad)?;
    match user {
        _ if domain.is_empty() || domain.contains('*') => Err(bad()),
        "*" => Ok(Member::Domain(domain.to_ascii_lowercase())),
        "" => Err(bad()),
        user if user.contains('*') => Err(bad()),
        _ => Ok(Member::Email(text.to_ascii_lowercase())),
    }
}

impl Member {
    fn is(&self, claims: &Claims) -> bool {
        let email = claims.email().map(str::to_ascii_lowercase);
        match self {
            Member::Email(own) => email.as_ref() == Some(own),
            Member::Domain(own) => {
                email.as_deref().and_then(|email| email.rsplit_once('@')).is_some_and(|(_, domain)| domain == own)
            }
            Member::Claim(name, value) => claims.says(name, value),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_and_people_that_cannot_be_read_are_named() {
        let of = |role: &str, person: &str| Roles::of(&BTreeMap::from([(role.to_owned(), vec![person.to_owned()])]));
        for good in ["a@b.example", "*@b.example", "groups:ops", "sub:7"] {
            assert!(of("admin", good).is_ok(), "{good}");
        }
        for bad in ["", "a", "*", "@b.example", "a@", "*@*", "*@*.example", "a*@b.example", ":x", "groups:"] {
            assert_eq!(of("admin", bad), Err(BadRole::Member(bad.to_owned())), "{bad}");
        }
        for role in ["agent", "root", ""] {
            assert_eq!(of(role, "a@b.example"), Err(BadRole::Role(role.to_owned())));
        }
    }
}
