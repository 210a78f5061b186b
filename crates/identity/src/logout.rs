//! Signing out: tokens are revoked at the service, then everything that is kept is removed. A service that cannot be
//! asked keeps nobody signed in here: what is kept goes either way, and what failed is said.

use crate::lock::Turn;
use crate::oauth::{self, Which};
use crate::problem::Problem;
use crate::store::chain::Chain;
use crate::token::Tokens;
use crate::{Identity, StoreName};

/// What a sign-out did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SignedOut {
    /// The services where tokens were revoked.
    pub revoked: Vec<String>,
    /// What was removed: its slot, and the store that held it.
    pub removed: Vec<(String, StoreName)>,
    /// What did not work.
    pub problems: Vec<Problem>,
}

impl Identity {
    /// Revokes and removes every sign-in and every kept key.
    pub async fn sign_out(&self) -> SignedOut {
        let mut done = SignedOut::default();
        let (Some(chain), Some(folder)) = (&self.chain, self.config.folder()) else { return done };
        let _here = self.renewing.lock().await;
        // Without the lock a renewal may be under way; that must not keep anybody signed in.
        let _turn = Turn::take(folder).await.map_err(|problem| done.problems.push(problem)).ok();
        let slots = match chain.slots() {
            Ok(slots) => slots,
            Err(problem) => {
                done.problems.push(problem.into());
                Vec::new()
            }
        };
        for slot in slots {
            if slot.starts_with("sign-in:") {
                self.revoke(chain, &slot, &mut done).await;
            }
            let (stores, problems) = chain.remove(&slot).await;
            self.cache.put(&slot, None);
            done.removed.extend(stores.into_iter().map(|store| (slot.clone(), store)));
            done.problems.extend(problems.into_iter().map(Problem::from));
        }
        *self.unsaved.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = None;
        done
    }

    /// Revokes the tokens of a sign-in: the refresh token first, since it makes the others.
    async fn revoke(&self, chain: &Chain, slot: &str, done: &mut SignedOut) {
        let tokens = match self.current(chain, slot, crate::store::cache::Freshness::Now).await {
            Ok(signed) => signed.map(|signed| signed.tokens),
            Err(problem) => {
                done.problems.push(problem);
                None
            }
        };
        let Some(tokens) = tokens else { return };
        let Tokens { refresh, access, service, .. } = &tokens;
        let refresh = refresh.as_ref().map(|token| (Which::Refresh, token));
        for token in refresh.into_iter().chain([(Which::Access, access)]) {
            if let Err(problem) = oauth::revoke(&self.http, service, token).await {
                done.problems.push(problem);
                return;
            }
        }
        done.revoked.push(service.name.clone());
    }
}
