//! A person's sign-in in a browser: a cookie that scripts cannot read and other sites cannot send.

use axum::http::{HeaderMap, HeaderValue, header};
use mayi_engine::remote::wire::Moment;
use serde_json::json;

use super::secret;
use super::site::Site;
use crate::principal::Role;
use crate::problem::Problem;
use crate::record;
use crate::store::{SignIn, Store};

const KIND: &str = "cookie";
/// A sign-in lasts a working day.
const LASTS: Moment = 12 * 60 * 60 * 1000;

/// The value of a cookie in a request.
pub(crate) fn find<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    let lines = headers.get_all(header::COOKIE).into_iter().filter_map(|line| line.to_str().ok());
    let mut pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(key, _)| *key == name).map(|(_, value)| value)
}

/// The sign-in behind a cookie, while it lasts.
pub(super) async fn read(store: &dyn Store, cookie: &str, now: Moment) -> Result<Option<SignIn>, Problem> {
    if cookie.len() != secret::LETTERS {
        return Ok(None);
    }
    let kept = store.secret(KIND.to_owned(), secret::digest(cookie), now).await?;
    let Some(text) = kept else { return Ok(None) };
    let sign_in: SignIn = serde_json::from_str(&text).map_err(|_| Problem::Broken)?;
    Ok((now < sign_in.expires_at).then_some(sign_in))
}

/// Signs a person in: who they are, by which way, and what they may do. Gives the cookie's secret.
pub(super) async fn begin(
    store: &dyn Store,
    (person, role): (&str, Role),
    (way, now): (&str, Moment),
) -> Result<String, Problem> {
    let cookie = secret::fresh()?;
    let sign_in = SignIn { person: person.to_owned(), role, csrf: secret::fresh()?, expires_at: now + LASTS };
    let text = serde_json::to_string(&sign_in).map_err(|_| Problem::Broken)?;
    let began =
        record::of("sign-in", now, None, json!({"event": "signed-in", "by": person, "role": role.word(), "way": way}));
    store.append(vec![began]).await?;
    store.put_secret(KIND.to_owned(), secret::digest(&cookie), text, sign_in.expires_at).await?;
    Ok(cookie)
}

/// Signs out: the cookie works no more, on any server of the fleet.
pub(super) async fn end(store: &dyn Store, cookie: &str, now: Moment) -> Result<(), Problem> {
    let taken = store.take_secret(KIND.to_owned(), secret::digest(cookie), now).await?;
    let sign_in = taken.and_then(|text| serde_json::from_str::<SignIn>(&text).ok());
    let Some(SignIn { person, role, .. }) = sign_in else { return Ok(()) };
    let ended = record::of("sign-in", now, None, json!({"event": "signed-out", "by": person, "role": role.word()}));
    store.append(vec![ended]).await?;
    Ok(())
}

/// Whether a cookie goes along when another site leads the browser here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leash {
    /// Never.
    Strict,
    /// When the person is led here by a link or a redirect, as an OIDC service does.
    Lax,
}

/// The header that sets a cookie.
pub(super) fn set(
    site: &Site,
    (name, value): (&str, &str),
    (seconds, leash): (u64, Leash),
) -> Result<HeaderValue, Problem> {
    let same_site = match leash {
        Leash::Strict => "Strict",
        Leash::Lax => "Lax",
    };
    let secure = if site.is_encrypted() { "; Secure" } else { "" };
    let text = format!("{name}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite={same_site}{secure}");
    HeaderValue::try_from(text).map_err(|_| Problem::Broken)
}

/// The header of a person's sign-in.
pub(super) fn signed_in(site: &Site, cookie: &str) -> Result<HeaderValue, Problem> {
    set(site, (site.cookie(), cookie), (LASTS / 1000, Leash::Strict))
}

/// The header that removes a cookie.
pub(super) fn removed(site: &Site, name: &str) -> Result<HeaderValue, Problem> {
    set(site, (name, ""), (0, Leash::Strict))
}
