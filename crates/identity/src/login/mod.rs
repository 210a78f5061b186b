//! Signing in: by a browser on this machine ([`code`]) or by a code that is typed elsewhere ([`device`]). Both begin
//! with an address to show and end with tokens in a store; until then nothing is kept.

mod callback;
pub mod code;
pub mod device;
mod discovery;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::lock::Turn;
use crate::problem::Problem;
use crate::source::sign_in_slot;
use crate::store::cache::Freshness;
use crate::store::chain::Kept;
use crate::token::{Service, Tokens};
use crate::{Identity, oauth};

use discovery::Endpoints;

/// A sign-in that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedIn {
    /// Who signed in, as the service says.
    pub who: Option<String>,
    /// Where.
    pub at: String,
    /// Until when the first access token is good, in seconds since 1970.
    pub expires: Option<u64>,
    /// Where it is kept.
    pub kept: Kept,
}

impl Identity {
    /// Keeps the tokens that a service gave.
    async fn keep_sign_in(&self, answer: oauth::TokenAnswer, endpoints: &Endpoints) -> Result<SignedIn, Problem> {
        let service = Service {
            name: endpoints.name().to_owned(),
            client_id: self.config.client_id().to_owned(),
            token_endpoint: endpoints.token.url().to_string(),
            revocation_endpoint: endpoints.revocation.as_ref().map(|address| address.url().to_string()),
        };
        let mut tokens = Tokens::of(oauth::given(answer)?, service, crate::now())?;
        let slot = sign_in_slot(&tokens.service.name);
        let chain = self.chain()?;
        let _here = self.renewing.lock().await;
        let folder = self.config.folder().ok_or(Problem::Superseded)?;
        let _turn = Turn::take(folder).await?;
        // Whatever was there is replaced; a renewal of it that is still under way sees the higher number.
        if let Ok(Some(before)) = self.current(chain, &slot, Freshness::Now).await {
            tokens.generation = before.tokens.generation.saturating_add(1);
        }
        let kept = self.keep_telling(chain, &slot, &tokens).await?;
        chain.note_sign_in(&slot)?;
        Ok(SignedIn { who: tokens.who, at: tokens.service.name, expires: tokens.expires, kept })
    }
}

/// 43 letters from the system's random source.
fn random() -> Result<String, Problem> {
    let mut bytes = [0_u8; 32];
    getrandom::fill(&mut bytes).map_err(|_| Problem::Machine("the system gives no random numbers"))?;
    let text = URL_SAFE_NO_PAD.encode(bytes);
    zeroize::Zeroize::zeroize(&mut bytes);
    Ok(text)
}

/// What is asked for: what settings say, or what is needed to know the person and to renew the sign-in.
fn scopes(configured: &[String], endpoints: &Endpoints) -> Vec<String> {
    if !configured.is_empty() {
        return configured.to_vec();
    }
    let supported = |scope: &&str| endpoints.scopes.as_ref().is_some_and(|known| known.iter().any(|own| own == scope));
    ["openid", "offline_access"].iter().copied().filter(supported).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_texts_are_long_enough_for_a_verifier_and_differ() {
        let (one, two) = (random().unwrap(), random().unwrap());
        assert_eq!(one.len(), 43);
        assert_ne!(one, two);
        assert!(one.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_'));
    }
}
