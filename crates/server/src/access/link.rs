//! One-time sign-in links, for the person who started the server or may open its store.

use mayi_engine::remote::wire::Moment;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::secret;
use crate::principal::Role;
use crate::problem::Problem;
use crate::record;
use crate::store::Store;

const KIND: &str = "sign-in";
/// A link works for ten minutes.
const LASTS: Moment = 10 * 60 * 1000;

/// For whom a link is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Invited {
    /// What they are called in records.
    pub person: String,
    /// What they may do.
    pub role: Role,
}

/// Makes a code that signs somebody in, once.
pub async fn make(store: &dyn Store, invited: Invited, now: Moment) -> Result<String, Problem> {
    let code = secret::fresh()?;
    let text = serde_json::to_string(&invited).map_err(|_| Problem::Broken)?;
    let Invited { person, role } = invited;
    let made = record::of("sign-in", now, None, json!({"event": "link-made", "for": person, "role": role.word()}));
    store.append(vec![made]).await?;
    store.put_secret(KIND.to_owned(), secret::digest(&code), text, now + LASTS).await?;
    Ok(code)
}

/// Whom a code signs in. It works once: whoever brings it first has it.
pub(super) async fn take(store: &dyn Store, code: &str, now: Moment) -> Result<Invited, Problem> {
    let refused = || Problem::Gone("this link was used before, or its time is over".to_owned());
    if code.len() != secret::LETTERS {
        return Err(refused());
    }
    let text = store.take_secret(KIND.to_owned(), secret::digest(code), now).await?.ok_or_else(refused)?;
    serde_json::from_str(&text).map_err(|_| Problem::Broken)
}

/// The link of a code. The code stands behind `#`: a browser sends that part to nobody.
pub fn address(base: &str, code: &str) -> String {
    format!("{}/#sign-in={code}", base.trim_end_matches('/'))
}
