//! Moving a secret out of a store that may no longer be used: written and read back in the new one first, removed from
//! the old one last. Where no other store takes it, it stays, and is not used.

use super::chain::{Chain, Found};
use super::{StoreName, StoreProblem};

impl Chain {
    /// Moves a secret from a store that is not permitted into the best one that is.
    pub(super) async fn moved(&self, slot: &str, from: StoreName) -> Result<Found, StoreProblem> {
        let Some(old) = self.retired.iter().find(|store| store.name() == from) else {
            // The card is from another build of this program, which had more stores.
            let why = "this build cannot use it".to_owned();
            return Err(StoreProblem::Unavailable { store: from, why });
        };
        let secret = old.load(slot).await?.ok_or(StoreProblem::Gone(from))?;
        let kept = self.save(slot, &secret).await?;
        Ok(Found { secret, store: kept.store })
    }
}
