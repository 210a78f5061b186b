//! Tokens of a sign-in: what they are, until when they are good, and how they are written down. A service's word is
//! taken within bounds: a date long past or far off is no date.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};

use crate::problem::Problem;

/// No header takes a longer one.
const LONGEST: usize = 32 * 1024;
/// An access token is not believed for longer than this.
const LONGEST_LIFE: u64 = 366 * 24 * 3600;
/// How long before its end a token is renewed.
const MARGIN: u64 = 5 * 60;

/// Where a sign-in was made: all that is needed to renew and to revoke it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Service {
    /// The issuer, or the token endpoint where no issuer is known.
    pub name: String,
    /// This program's name there.
    pub client_id: String,
    /// Where tokens are fetched.
    pub token_endpoint: String,
    /// Where tokens are revoked.
    pub revocation_endpoint: Option<String>,
}

/// Whether a sign-in can still be renewed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Life {
    /// It can, as far as is known.
    #[default]
    Going,
    /// The service said that it is over.
    Over,
}

/// The tokens of a sign-in. `Debug` does not show them.
#[derive(Clone, Debug)]
pub struct Tokens {
    /// What is sent to a server.
    pub access: SecretString,
    /// What renews it.
    pub refresh: Option<SecretString>,
    /// When it was given, by this machine's clock, in seconds since 1970.
    pub obtained: u64,
    /// Until when it is good, by this machine's clock.
    pub expires: Option<u64>,
    /// Counts every renewal and sign-in.
    pub generation: u64,
    /// Who signed in, as the service says.
    pub who: Option<String>,
    /// Where.
    pub service: Service,
    /// Whether it can still be renewed.
    pub life: Life,
}

/// What a service gave, before it is looked at.
pub(crate) struct Given {
    pub(crate) access: SecretString,
    pub(crate) refresh: Option<SecretString>,
    pub(crate) id: Option<SecretString>,
    pub(crate) expires_in: Option<u64>,
}

impl Tokens {
    /// The tokens that a service gave.
    pub(crate) fn of(given: Given, service: Service, now: u64) -> Result<Self, Problem> {
        for token in [Some(&given.access), given.refresh.as_ref()].into_iter().flatten() {
            check(token)?;
        }
        let claims = claims(&given.access);
        let who = given.id.as_ref().and_then(|id| self::claims(id).who()).or_else(|| claims.who());
        let expires = expiry(given.expires_in, &claims, now);
        let (access, refresh) = (given.access, given.refresh);
        Ok(Self { access, refresh, obtained: now, expires, generation: 1, who, service, life: Life::Going })
    }

    /// These tokens, renewed. A service that gives no new refresh token means the old one to stay.
    pub(crate) fn renewed(&self, given: Given, now: u64) -> Result<Self, Problem> {
        let new = Self::of(given, self.service.clone(), now)?;
        Ok(Self {
            refresh: new.refresh.clone().or_else(|| self.refresh.clone()),
            who: new.who.clone().or_else(|| self.who.clone()),
            generation: self.generation.saturating_add(1),
            ..new
        })
    }

    /// These tokens, with the note that they cannot be renewed.
    pub(crate) fn ended(&self) -> Self {
        Self { life: Life::Over, refresh: None, generation: self.generation.saturating_add(1), ..self.clone() }
    }

    /// Whether it is time to renew them: five minutes before the end, or when a fifth of a short life is left.
    pub fn is_due(&self, now: u64) -> bool {
        self.due_at().is_some_and(|due| now >= due)
    }

    /// When it is time to renew them.
    pub fn due_at(&self) -> Option<u64> {
        let expires = self.expires?;
        let life = expires.saturating_sub(self.obtained);
        Some(expires.saturating_sub(MARGIN.min(life / 5)))
    }

    /// Whether the access token is past its end.
    pub fn is_expired(&self, now: u64) -> bool {
        self.expires.is_some_and(|expires| now >= expires)
    }

    /// As text, for a store.
    pub(crate) fn written(&self) -> Result<SecretString, Problem> {
        let record = Record {
            version: 1,
            access: self.access.expose_secret().to_owned(),
            refresh: self.refresh.as_ref().map(|token| token.expose_secret().to_owned()),
            obtained: self.obtained,
            expires: self.expires,
            generation: self.generation,
            who: self.who.clone(),
            service: self.service.clone(),
            life: self.life,
        };
        let text = serde_json::to_string(&record).map_err(|_| Problem::Token("cannot be written down"))?;
        Ok(text.into())
    }

    /// From a store's text.
    pub(crate) fn read(text: &SecretString) -> Option<Self> {
        let mut record: Record = serde_json::from_str(text.expose_secret()).ok()?;
        Some(Self {
            access: std::mem::take(&mut record.access).into(),
            refresh: record.refresh.take().map(Into::into),
            obtained: record.obtained,
            expires: record.expires,
            generation: record.generation,
            who: record.who.take(),
            service: record.service.clone(),
            life: record.life,
        })
    }
}

/// Tokens as they are written down.
#[derive(Serialize, Deserialize)]
struct Record {
    version: u32,
    access: String,
    refresh: Option<String>,
    obtained: u64,
    expires: Option<u64>,
    generation: u64,
    who: Option<String>,
    service: Service,
    life: Life,
}

impl Drop for Record {
    fn drop(&mut self) {
        use zeroize::Zeroize;
        self.access.zeroize();
        self.refresh.zeroize();
    }
}

/// A token that can be sent at all.
fn check(token: &SecretString) -> Result<(), Problem> {
    let text = token.expose_secret();
    if text.is_empty() {
        return Err(Problem::Token("is empty"));
    }
    if text.len() > LONGEST {
        return Err(Problem::Token("is longer than 32,768 bytes"));
    }
    if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(Problem::Token("holds letters that cannot be sent"));
    }
    Ok(())
}

/// What a token says of itself, if it is a JWT. It is read for its dates and its name alone, never for trust.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Claims {
    exp: Option<serde_json::Number>,
    iat: Option<serde_json::Number>,
    sub: Option<String>,
    email: Option<String>,
    preferred_username: Option<String>,
}

impl Claims {
    fn who(&self) -> Option<String> {
        let name = self.email.as_ref().or(self.preferred_username.as_ref()).or(self.sub.as_ref())?;
        let clean: String = name.chars().filter(|letter| !letter.is_control()).take(100).collect();
        (!clean.is_empty()).then_some(clean)
    }
}

fn claims(token: &SecretString) -> Claims {
    let mut parts = token.expose_secret().split('.');
    let body = match (parts.next(), parts.next(), parts.next(), parts.next()) {
        (Some(_), Some(body), Some(_), None) => body,
        _ => return Claims::default(),
    };
    let bytes = URL_SAFE_NO_PAD.decode(body).map(zeroize::Zeroizing::new);
    bytes.ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
}

/// A date of a JWT, which may have a fraction.
fn seconds(number: Option<&serde_json::Number>) -> Option<u64> {
    let number = number?;
    let rounded = || number.as_f64().filter(|value| (0.0..1e15).contains(value)).map(|value| value as u64);
    number.as_u64().or_else(rounded)
}

/// Until when a token is good, by this machine's clock. A length of time is preferred to a date: it is right even where
/// the two clocks differ.
fn expiry(expires_in: Option<u64>, claims: &Claims, now: u64) -> Option<u64> {
    let (exp, iat) = (seconds(claims.exp.as_ref()), seconds(claims.iat.as_ref()));
    let of_dates = || Some(exp?.saturating_sub(iat?));
    let of_clock = || Some(exp?.saturating_sub(now));
    let life = expires_in.or_else(of_dates).or_else(of_clock)?;
    // A token that was given and is past its end already has a date that means nothing; a refusal will tell.
    (life > 0).then(|| now.saturating_add(life.min(LONGEST_LIFE)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const NOW: u64 = 1_700_000_000;

    fn service() -> Service {
        Service {
            name: "https://id.example".to_owned(),
            client_id: "mayi".to_owned(),
            token_endpoint: "https://id.example/token".to_owned(),
            revocation_endpoint: None,
        }
    }

    fn jwt(claims: &serde_json::Value) -> String {
        let part = |value: &serde_json::Value| URL_SAFE_NO_PAD.encode(value.to_string());
        format!("{}.{}.c2ln", part(&json!({"alg": "none"})), part(claims))
    }

    fn given(access: &str, expires_in: Option<u64>) -> Given {
        Given { access: access.into(), refresh: Some("r1".into()), id: None, expires_in }
    }

    #[test]
    fn the_end_of_a_token_is_found_within_bounds() {
        let table = [
            ("opaque", Some(3600), Some(NOW + 3600)),
            ("opaque", None, None),
            (&jwt(&json!({"exp": NOW + 600})), None, Some(NOW + 600)),
            (&jwt(&json!({"exp": NOW + 600})), Some(60), Some(NOW + 60)),
            // The service's clock is an hour behind or ahead: how long it lives still counts.
            (&jwt(&json!({"iat": NOW - 3600, "exp": NOW - 3000})), None, Some(NOW + 600)),
            (&jwt(&json!({"iat": NOW + 3600, "exp": NOW + 4200})), None, Some(NOW + 600)),
            (&jwt(&json!({"exp": NOW - 1})), None, None),
            (&jwt(&json!({"exp": 0})), None, None),
            (&jwt(&json!({"exp": -5})), None, None),
            (&jwt(&json!({"exp": 1e300})), None, None),
            (&jwt(&json!({"exp": u64::MAX})), None, Some(NOW + LONGEST_LIFE)),
            (&jwt(&json!({"exp": NOW as f64 + 0.5 + 600.0})), None, Some(NOW + 600)),
            (&jwt(&json!({"exp": "soon"})), None, None),
            (&jwt(&json!([1, 2])), None, None),
            ("a.b.c", None, None),
            ("a.e30.c.d", None, None),
            ("...", None, None),
            ("opaque", Some(0), None),
            ("opaque", Some(u64::MAX), Some(NOW + LONGEST_LIFE)),
        ];
        for (access, expires_in, expected) in table {
            let tokens = Tokens::of(given(access, expires_in), service(), NOW).unwrap();
            assert_eq!(tokens.expires, expected, "{access} {expires_in:?}");
        }
    }

    #[test]
    fn tokens_that_cannot_be_sent_are_refused() {
        for access in ["", "with space", "line\nbreak", "ümlaut", &"x".repeat(100_000)] {
            let problem = Tokens::of(given(access, None), service(), NOW).unwrap_err();
            assert!(matches!(problem, Problem::Token(_)), "{problem}");
        }
        let long_refresh = Given { refresh: Some("x".repeat(100_000).into()), ..given("a", None) };
        assert!(Tokens::of(long_refresh, service(), NOW).is_err());
    }

    #[test]
    fn a_token_is_renewed_before_its_end() {
        let tokens = |life| Tokens::of(given("a", Some(life)), service(), NOW).unwrap();
        let table = [(3600, NOW + 3300), (600, NOW + 480), (60, NOW + 48), (1, NOW + 1)];
        for (life, due) in table {
            assert_eq!(tokens(life).due_at(), Some(due));
            assert!(!tokens(life).is_due(due - 1) && tokens(life).is_due(due), "{life}");
        }
        let unknown = Tokens::of(given("a", None), service(), NOW).unwrap();
        assert!(!unknown.is_due(u64::MAX) && !unknown.is_expired(u64::MAX));
    }

    #[test]
    fn a_renewal_keeps_what_the_service_does_not_say_again() {
        let id = jwt(&json!({"sub": "7", "email": "a@example.com"}));
        let first = Given { id: Some(id.into()), ..given("a1", Some(60)) };
        let first = Tokens::of(first, service(), NOW).unwrap();
        assert_eq!(first.who.as_deref(), Some("a@example.com"));
        let silent = Given { refresh: None, ..given("a2", Some(60)) };
        let second = first.renewed(silent, NOW + 50).unwrap();
        assert_eq!(second.refresh.as_ref().unwrap().expose_secret(), "r1");
        assert_eq!((second.generation, second.who), (2, first.who));
    }

    #[test]
    fn tokens_come_back_as_they_were_written_and_show_nothing() {
        let tokens = Tokens::of(given("access-hidden", Some(60)), service(), NOW).unwrap();
        let back = Tokens::read(&tokens.written().unwrap()).unwrap();
        assert_eq!(back.access.expose_secret(), "access-hidden");
        assert_eq!((back.expires, back.generation, &back.service), (tokens.expires, 1, &tokens.service));
        assert!(!format!("{back:?}").contains("hidden"), "{back:?}");
        for text in ["", "{", "{}", "null"] {
            assert!(Tokens::read(&text.into()).is_none(), "{text}");
        }
    }
}
