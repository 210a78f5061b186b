//! Who am I: which source gives the credential for a purpose, where it is kept, until when it is good, and what is
//! wrong. It asks no service and runs no helper, and it never holds a secret.

use serde::Serialize;

use crate::credential::Purpose;
use crate::problem::{Ended, Problem};
use crate::source::{Way, key_slot};
use crate::store::cache::Freshness;
use crate::token::Life;
use crate::{Identity, StoreName, now};

/// How things stand for a purpose.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Standing {
    /// The source that is used, in words.
    pub source: Option<String>,
    /// Who is signed in, as the service says.
    pub who: Option<String>,
    /// The sign-in service.
    pub at: Option<String>,
    /// The store that holds it.
    pub store: Option<StoreName>,
    /// Until when the access token is good, in seconds since 1970.
    pub expires: Option<u64>,
    /// Whether it can be renewed without anybody.
    pub renewable: bool,
    /// The sources in the order in which they are looked at.
    pub order: Vec<String>,
    /// What is wrong, in words.
    pub problems: Vec<String>,
}

impl Identity {
    /// How things stand for a purpose.
    pub async fn standing(&self, purpose: &Purpose) -> Standing {
        let ways = self.ways(purpose);
        let order = ways.iter().map(Way::to_string).collect();
        let mut standing = Standing { order, ..Standing::default() };
        for way in ways {
            if self.stands(way, purpose, &mut standing).await {
                standing.source = Some(way.to_string());
                break;
            }
        }
        standing
    }

    /// Whether a way leads to a credential, or should and does not: then nothing after it is looked at either.
    async fn stands(&self, way: Way, purpose: &Purpose, standing: &mut Standing) -> bool {
        match way {
            Way::Variable(name) => self.config.variable(name).is_some(),
            Way::Helper => self.helper.is_some(),
            Way::KeptKey => self.key_stands(purpose, standing).await,
            Way::SignIn => match self.sign_in_stands(standing).await {
                Ok(stands) => stands,
                Err(problem) => {
                    standing.problems.push(problem.to_string());
                    true
                }
            },
        }
    }

    async fn key_stands(&self, purpose: &Purpose, standing: &mut Standing) -> bool {
        let Some(chain) = &self.chain else { return false };
        match self.cache.load(chain, &key_slot(purpose), Freshness::Now).await {
            Ok(loaded) => {
                standing.problems.extend(loaded.warning.map(|problem| problem.to_string()));
                standing.store = loaded.found.as_ref().map(|found| found.store);
                loaded.found.is_some()
            }
            Err(problem) => {
                standing.problems.push(problem.to_string());
                true
            }
        }
    }

    async fn sign_in_stands(&self, standing: &mut Standing) -> Result<bool, Problem> {
        let (Some(slot), Some(chain)) = (self.slot()?, &self.chain) else { return Ok(false) };
        let Some(signed) = self.current(chain, &slot, Freshness::Now).await? else { return Ok(false) };
        let tokens = signed.tokens;
        standing.problems.extend(signed.warning.map(|problem| problem.to_string()));
        standing.store = Some(signed.store);
        standing.expires = tokens.expires;
        standing.renewable = tokens.life == Life::Going && tokens.refresh.is_some();
        let over = match tokens.life {
            Life::Over => Some(Ended::Grant),
            Life::Going => (!standing.renewable && tokens.is_expired(now())).then_some(Ended::Expired),
        };
        let at = tokens.service.name;
        standing.problems.extend(over.map(|why| Problem::SignInAgain { at: at.clone(), why }.to_string()));
        standing.who = tokens.who;
        standing.at = Some(at);
        Ok(true)
    }
}
