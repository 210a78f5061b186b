//! Bearer tokens: `mayi_`, a letter for the role, and 43 letters of chance. Made here, shown once, kept as a digest.

use mayi_engine::remote::wire::Moment;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::secret;
use crate::principal::Role;
use crate::problem::Problem;
use crate::record;
use crate::store::{Store, TokenState};

const START: &str = "mayi_";
const DAY: u64 = 24 * 60 * 60 * 1000;
/// The longest name of a token, in letters.
const LONGEST_NAME: usize = 100;
/// Nobody plans further ahead.
const MOST_DAYS: u64 = 3650;

/// A token to be made: `POST /v1/tokens`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewToken {
    /// What a person calls it.
    #[schema(min_length = 1, max_length = 100)]
    pub name: String,
    /// What it is for.
    pub role: Role,
    /// After how many days it stops working.
    #[serde(default)]
    #[schema(minimum = 1, maximum = 3650)]
    pub expires_days: Option<u64>,
}

/// A token that was made. The only time that it is shown.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Made {
    /// The token.
    pub token: String,
    /// What is kept of it.
    #[serde(flatten)]
    pub state: TokenState,
}

impl std::fmt::Debug for Made {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Made").field("state", &self.state).finish_non_exhaustive()
    }
}

/// Four roles begin with the same letter, so each has another one of its own.
fn letter(role: Role) -> char {
    match role {
        Role::Agent => 'g',
        Role::Approver => 'p',
        Role::Admin => 'd',
        Role::Auditor => 'u',
    }
}

/// Whether a text looks like a token. What does not is never looked up.
pub fn is_one(text: &str) -> bool {
    let Some(rest) = text.strip_prefix(START) else { return false };
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    rest.len() == secret::LETTERS + 1 && rest.bytes().all(is_letter)
}

/// Makes a token and keeps its digest. `by` is who wants it, for the audit.
pub async fn make(store: &dyn Store, wanted: NewToken, (by, now): (&str, Moment)) -> Result<Made, Problem> {
    let NewToken { name, role, expires_days } = wanted;
    let name = name.trim().to_owned();
    if name.is_empty() || name.chars().count() > LONGEST_NAME || name.chars().any(char::is_control) {
        return Err(Problem::Unfit(format!("a token's name has 1 to {LONGEST_NAME} letters")));
    }
    if expires_days.is_some_and(|days| !(1..=MOST_DAYS).contains(&days)) {
        return Err(Problem::Unfit(format!("a token works for 1 to {MOST_DAYS} days")));
    }
    let token = format!("{START}{}{}", letter(role), secret::fresh()?);
    let expires_at = expires_days.map(|days| now + days * DAY);
    let state = TokenState { id: secret::name()?, name, role, created_at: now, expires_at, revoked_at: None };
    let made = record::of(
        "token",
        now,
        None,
        json!({"event": "made", "by": by, "role": role.word(), "id": state.id, "name": state.name}),
    );
    store.put_token(secret::digest(&token), state.clone(), vec![made]).await?;
    Ok(Made { token, state })
}

/// Revokes a token by its id. Revoking it again changes nothing.
pub async fn revoke(store: &dyn Store, id: &str, (by, now): (&str, Moment)) -> Result<TokenState, Problem> {
    let absent = || Problem::Absent("there is no such token".to_owned());
    let state = store.tokens().await?.into_iter().find(|state| state.id == id).ok_or_else(absent)?;
    if state.revoked_at.is_some() {
        return Ok(state);
    }
    let gone = record::of(
        "token",
        now,
        None,
        json!({"event": "revoked", "by": by, "role": state.role.word(), "id": id, "name": state.name}),
    );
    store.revoke_token(id.to_owned(), now, vec![gone]).await?.ok_or_else(absent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_looks_like_a_token_is_looked_up() {
        let good = format!("mayi_g{}", "aZ0-_".repeat(9).get(..43).unwrap());
        assert!(is_one(&good));
        for bad in [
            String::new(),
            "mayi_".to_owned(),
            good.replace("mayi_", "mayo_"),
            format!("{good}x"),
            good.replace('0', "é"),
        ] {
            assert!(!is_one(&bad), "{bad}");
        }
        assert!(!is_one(good.get(..good.len() - 1).unwrap()));
    }

    #[test]
    fn every_role_has_a_letter_of_its_own() {
        let letters: std::collections::HashSet<char> = Role::ALL.into_iter().map(letter).collect();
        assert_eq!(letters.len(), Role::ALL.len());
    }
}
