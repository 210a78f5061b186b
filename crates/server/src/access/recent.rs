//! Tokens that were looked up a moment ago. A token is asked for with every request and changes hardly ever, so it is
//! believed for a second; one that was revoked stops within that time on every server of the fleet.

use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};

use mayi_engine::remote::wire::Moment;

use crate::principal::{Principal, Proof};
use crate::problem::Problem;
use crate::store::{Store, StoreError, TokenState};

/// For so long, in milliseconds, what was looked up is believed.
const BELIEVED: Moment = 1000;
/// For so long it is believed while the store is away: nothing can be revoked or changed meanwhile, and what needs no
/// state goes on.
const BELIEVED_ALONE: Moment = 60_000;
/// More are not remembered. Only tokens that are good get here, so that this is no way to fill the memory.
const MOST: usize = 10_000;

/// Tokens that were good a moment ago, by their digests.
#[derive(Debug, Default)]
pub(super) struct Recent(RwLock<HashMap<[u8; 32], Good>>);

#[derive(Clone, Debug)]
struct Good {
    principal: Principal,
    expires_at: Option<Moment>,
    looked_up: Moment,
}

impl Good {
    fn is_good(&self, now: Moment, believed: Moment) -> bool {
        now.saturating_sub(self.looked_up) < believed && self.expires_at.is_none_or(|end| now < end)
    }
}

impl Recent {
    /// Whose token it is, if it was looked up a moment ago.
    pub(super) fn fresh(&self, digest: &[u8; 32], now: Moment) -> Option<Principal> {
        self.known(digest, now, BELIEVED)
    }

    /// Whether it was good when it was last looked up.
    pub(super) fn knew(&self, digest: &[u8; 32]) -> bool {
        self.0.read().unwrap_or_else(PoisonError::into_inner).contains_key(digest)
    }

    fn known(&self, digest: &[u8; 32], now: Moment, believed: Moment) -> Option<Principal> {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        known.get(digest).filter(|good| good.is_good(now, believed)).map(|good| good.principal.clone())
    }

    /// Whose token it is, as the store knows it.
    pub(super) async fn look_up(&self, store: &dyn Store, digest: [u8; 32], now: Moment) -> Result<Principal, Problem> {
        let found = match store.token(digest).await {
            Ok(found) => found.and_then(|token| good(token, now)),
            Err(error @ StoreError::Away(_)) => {
                return self.known(&digest, now, BELIEVED_ALONE).ok_or_else(|| error.into());
            }
            Err(error @ (StoreError::Damaged(_) | StoreError::Conflict)) => return Err(error.into()),
        };
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let Some(found) = found else {
            known.remove(&digest);
            return Err(Problem::Stale);
        };
        if known.len() >= MOST {
            known.clear();
        }
        let principal = found.principal.clone();
        known.insert(digest, found);
        Ok(principal)
    }
}

/// The token, if it works now.
fn good(token: TokenState, now: Moment) -> Option<Good> {
    let TokenState { id, name, role, expires_at, revoked_at, created_at: _ } = token;
    let works = revoked_at.is_none() && expires_at.is_none_or(|end| now < end);
    works.then_some(Good { principal: Principal { name, role, proof: Proof::Token(id) }, expires_at, looked_up: now })
}
