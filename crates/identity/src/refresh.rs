//! The life of a sign-in: renewed before its end, by one process for all, and never lost on the way.
//!
//! A renewal holds the lock, reads the store again, and shows that the store can be written before the old refresh
//! token is spent. What comes back is written before anything is forgotten. A sign-in that the service ended is marked
//! as ended, so that nobody asks again.

use std::sync::PoisonError;
use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};

use crate::credential::{Credential, Kind, Source};
use crate::lock::{Turn, varied};
use crate::problem::{Ended, Problem};
use crate::source::sign_in_slot;
use crate::store::StoreName;
use crate::store::cache::Freshness;
use crate::store::chain::{Chain, Found};
use crate::token::{Life, Tokens};
use crate::{Identity, now, oauth};

/// How often a renewal is tried.
const TRIES: u32 = 3;
/// The pause before the second try; the third waits twice as long.
const PAUSE: Duration = Duration::from_millis(500);
/// How long the keeper waits at most: a machine that slept wakes to a clock that jumped.
const LONGEST_NAP: Duration = Duration::from_secs(60);
/// How long it waits after something that may pass.
const AFTER_FAILURE: Duration = Duration::from_secs(30);

/// A sign-in as it stands.
#[derive(Clone, Debug)]
pub(crate) struct Signed {
    pub(crate) tokens: Tokens,
    pub(crate) store: StoreName,
    pub(crate) warning: Option<Problem>,
}

impl From<Signed> for Credential {
    fn from(signed: Signed) -> Self {
        Self {
            warning: signed.warning.map(Box::new),
            ..Self::new(signed.tokens.access, Kind::Bearer, Source::SignIn(signed.store))
        }
    }
}

/// What is to be done with tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Need {
    /// They are good.
    Nothing,
    /// They are to be renewed.
    Renewal,
    /// They are over.
    SignIn(Ended),
}

/// What these tokens need, when a server refused this one.
fn need(tokens: &Tokens, refused: Option<&SecretString>, now: u64) -> Need {
    let is_refused = refused.is_some_and(|refused| refused.expose_secret() == tokens.access.expose_secret());
    match (tokens.life, &tokens.refresh) {
        (Life::Over, _) => Need::SignIn(Ended::Grant),
        (Life::Going, None) if is_refused || tokens.is_expired(now) => Need::SignIn(Ended::Expired),
        (Life::Going, Some(_)) if is_refused || tokens.is_due(now) => Need::Renewal,
        (Life::Going, _) => Need::Nothing,
    }
}

impl Identity {
    /// The slot of the sign-in that counts: of the service in settings, or of the last one that somebody signed in at.
    pub(crate) fn slot(&self) -> Result<Option<String>, Problem> {
        match (self.config.service(), &self.chain) {
            (_, None) => Ok(None),
            (Some(service), Some(_)) => Ok(Some(sign_in_slot(service))),
            (None, Some(chain)) => Ok(chain.last_sign_in()?),
        }
    }

    /// The sign-in with an access token that is good, renewed where it must be.
    pub(crate) async fn signed_in(&self, refused: Option<&SecretString>) -> Result<Option<Signed>, Problem> {
        let (Some(slot), Some(chain)) = (self.slot()?, &self.chain) else { return Ok(None) };
        let Some(mut signed) = self.current(chain, &slot, Freshness::Recent).await? else { return Ok(None) };
        if matches!(need(&signed.tokens, refused, now()), Need::SignIn(_)) {
            // What was read a moment ago is over; somebody may have signed in since.
            let Some(again) = self.current(chain, &slot, Freshness::Now).await? else { return Ok(None) };
            signed = again;
        }
        match need(&signed.tokens, refused, now()) {
            Need::Nothing => Ok(Some(signed)),
            Need::SignIn(why) => Err(Problem::SignInAgain { at: signed.tokens.service.name, why }),
            Need::Renewal => match self.renewed(&slot, refused).await {
                Ok(signed) => Ok(Some(signed)),
                Err(Problem::Superseded) => self.after_overtaking(chain, &slot, refused).await,
                // Renewal begins early, so that it may fail for a while before anybody is without a token.
                Err(problem) if refused.is_none() && problem.may_pass() && !signed.tokens.is_expired(now()) => {
                    Ok(Some(Signed { warning: Some(problem), ..signed }))
                }
                Err(problem) => Err(problem),
            },
        }
    }

    /// What counts once somebody else signed in or out in the middle of a renewal.
    async fn after_overtaking(
        &self,
        chain: &Chain,
        slot: &str,
        refused: Option<&SecretString>,
    ) -> Result<Option<Signed>, Problem> {
        match self.current(chain, slot, Freshness::Now).await? {
            Some(signed) if need(&signed.tokens, refused, now()) != Need::Nothing => Err(Problem::Superseded),
            current => Ok(current),
        }
    }

    /// The sign-in as it is kept.
    pub(crate) async fn current(
        &self,
        chain: &Chain,
        slot: &str,
        freshness: Freshness,
    ) -> Result<Option<Signed>, Problem> {
        if let Some(signed) = self.saved_late(chain, slot).await {
            return Ok(Some(signed));
        }
        let loaded = self.cache.load(chain, slot, freshness).await?;
        let Some(found) = loaded.found else { return Ok(None) };
        let unreadable = Problem::Store(crate::StoreProblem::Altered(found.store));
        let tokens = Tokens::read(&found.secret).ok_or(unreadable)?;
        Ok(Some(Signed { tokens, store: found.store, warning: loaded.warning.map(Into::into) }))
    }

    /// Tokens that no store took yet are offered again, and served meanwhile.
    async fn saved_late(&self, chain: &Chain, slot: &str) -> Option<Signed> {
        let unsaved = self.unsaved.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let (_, signed) = unsaved.filter(|(own, _)| own == slot)?;
        if self.is_superseded(chain, slot, signed.tokens.generation.saturating_sub(1)).await {
            self.unsaved.lock().unwrap_or_else(PoisonError::into_inner).take();
            return None;
        }
        Some(match self.keep(chain, slot, &signed.tokens).await {
            Ok(store) => Signed { store, warning: None, ..signed },
            Err(problem) => Signed { warning: Some(problem), ..signed },
        })
    }

    /// Renews the sign-in by a task of its own: whoever asked may be out of patience before the new tokens are kept,
    /// and the old ones are spent by then.
    async fn renewed(&self, slot: &str, refused: Option<&SecretString>) -> Result<Signed, Problem> {
        let (identity, slot, refused) = (self.clone(), slot.to_owned(), refused.cloned());
        let task = tokio::spawn(async move { identity.renew(&slot, refused.as_ref()).await });
        task.await.unwrap_or(Err(Problem::Machine("the renewal was cut off")))
    }

    /// Renews the sign-in, or takes what another process has renewed meanwhile.
    async fn renew(&self, slot: &str, refused: Option<&SecretString>) -> Result<Signed, Problem> {
        let chain = self.chain()?;
        let _here = self.renewing.lock().await;
        let folder = self.config.folder().ok_or(Problem::Superseded)?;
        let _turn = Turn::take(folder).await?;
        let Some(signed) = self.current(chain, slot, Freshness::Now).await? else { return Err(Problem::Superseded) };
        match (need(&signed.tokens, refused, now()), &signed.warning) {
            (Need::Nothing, _) => return Ok(signed),
            (Need::SignIn(why), _) => return Err(Problem::SignInAgain { at: signed.tokens.service.name, why }),
            // A store that cannot be read cannot be trusted to keep what comes back.
            (Need::Renewal, Some(problem)) => return Err(problem.clone()),
            (Need::Renewal, None) => {}
        }
        self.keep(chain, slot, &signed.tokens).await?;
        let given = match self.ask(&signed.tokens).await {
            Ok(given) => given,
            Err(problem) => {
                if matches!(problem, Problem::SignInAgain { .. }) {
                    // A mark that cannot be written only means that the service is asked once more.
                    let _ = self.keep(chain, slot, &signed.tokens.ended()).await;
                }
                return Err(problem);
            }
        };
        let tokens = signed.tokens.renewed(given, now())?;
        self.settle(chain, slot, (signed.tokens.generation, Signed { tokens, ..signed })).await
    }

    /// Keeps renewed tokens, unless the sign-in they came from has been superseded.
    async fn settle(&self, chain: &Chain, slot: &str, step: (u64, Signed)) -> Result<Signed, Problem> {
        let (generation, new) = step;
        if self.is_superseded(chain, slot, generation).await {
            return Err(Problem::Superseded);
        }
        match self.keep(chain, slot, &new.tokens).await {
            Ok(store) => Ok(Signed { store, ..new }),
            Err(problem) => {
                *self.unsaved.lock().unwrap_or_else(PoisonError::into_inner) = Some((slot.to_owned(), new.clone()));
                Ok(Signed { warning: Some(problem), ..new })
            }
        }
    }

    /// Whether somebody signed in anew or out since this generation, although the lock was ours. Theirs counts then.
    async fn is_superseded(&self, chain: &Chain, slot: &str, generation: u64) -> bool {
        match chain.load(slot).await {
            Ok(None) => true,
            Ok(Some(found)) => Tokens::read(&found.secret).is_some_and(|there| there.generation != generation),
            // A store that says nothing says nothing of a newer sign-in either.
            Err(_) => false,
        }
    }

    /// Writes tokens, and remembers them.
    pub(crate) async fn keep(&self, chain: &Chain, slot: &str, tokens: &Tokens) -> Result<StoreName, Problem> {
        Ok(self.keep_telling(chain, slot, tokens).await?.store)
    }

    /// Writes tokens, and says where.
    pub(crate) async fn keep_telling(
        &self,
        chain: &Chain,
        slot: &str,
        tokens: &Tokens,
    ) -> Result<crate::Kept, Problem> {
        let secret = tokens.written()?;
        let kept = chain.save(slot, &secret).await?;
        self.cache.put(slot, Some(Found { secret, store: kept.store }));
        let mut unsaved = self.unsaved.lock().unwrap_or_else(PoisonError::into_inner);
        unsaved.take_if(|(own, _)| own == slot);
        Ok(kept)
    }

    /// Asks the service, and asks again what may pass.
    async fn ask(&self, tokens: &Tokens) -> Result<crate::token::Given, Problem> {
        let mut tries = 1;
        loop {
            match oauth::renew(&self.http, tokens).await {
                Err(problem) if problem.may_pass() && tries < TRIES => {
                    tokio::time::sleep(varied(PAUSE * tries)).await;
                    tries += 1;
                }
                outcome => return outcome,
            }
        }
    }

    /// Keeps the sign-in fresh for as long as a long process runs. Ends only with a problem that a person must solve.
    pub async fn keep_fresh(&self) -> Problem {
        loop {
            let nap = match self.signed_in(None).await {
                Ok(Some(signed)) if signed.warning.is_none() => {
                    let due = signed.tokens.due_at().map(|due| Duration::from_secs(due.saturating_sub(now())));
                    due.unwrap_or(LONGEST_NAP).clamp(Duration::from_secs(1), LONGEST_NAP)
                }
                Ok(_) => AFTER_FAILURE,
                Err(problem) if problem.may_pass() || problem == Problem::Superseded => AFTER_FAILURE,
                Err(problem) => return problem,
            };
            tokio::time::sleep(nap).await;
        }
    }
}
