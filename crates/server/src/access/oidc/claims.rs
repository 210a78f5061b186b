//! What an id_token claims, and whether it was meant for this sign-in.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Map, Value};

/// Clocks differ by so many seconds.
const LEEWAY: u64 = 60;

/// What a sign-in must claim.
#[derive(Clone, Copy, Debug)]
pub(super) struct Expected<'a> {
    pub(super) issuer: &'a str,
    pub(super) client_id: &'a str,
    pub(super) nonce: &'a str,
    /// Seconds of the Unix clock.
    pub(super) now: u64,
}

/// Why a token is not believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum BadClaims {
    #[error("the id_token cannot be read")]
    Unreadable,
    #[error("the id_token is of another issuer")]
    Issuer,
    #[error("the id_token is for somebody else")]
    Audience,
    #[error("the id_token's time is over, or has not come")]
    Time,
    #[error("the id_token belongs to another sign-in")]
    Nonce,
    #[error("the id_token names nobody")]
    Nobody,
}

/// What a token claims.
#[derive(Clone, Debug)]
pub(super) struct Claims(Map<String, Value>);

impl Claims {
    fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).and_then(Value::as_str)
    }

    fn number(&self, name: &str) -> Option<u64> {
        self.0.get(name).and_then(Value::as_u64)
    }

    /// The e-mail address, if the service has seen to it that it is theirs.
    pub(super) fn email(&self) -> Option<&str> {
        let verified = self.0.get("email_verified").and_then(Value::as_bool) == Some(true);
        self.text("email").filter(|_| verified)
    }

    /// Whether a claim has this value, or a list with it.
    pub(super) fn says(&self, name: &str, value: &str) -> bool {
        // What the service has not seen to is not believed under its own name either.
        if name == "email" {
            return self.email() == Some(value);
        }
        match self.0.get(name) {
            Some(Value::String(text)) => text == value,
            Some(Value::Array(items)) => items.iter().any(|item| item.as_str() == Some(value)),
            Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) | None => false,
        }
    }

    /// These, and what else the service told of the same person. Nothing that the token says is replaced, and an address
    /// is taken only together with the word that it was verified.
    pub(super) fn and(mut self, told: Map<String, Value>) -> Self {
        if told.get("sub").and_then(Value::as_str) != self.text("sub") {
            return self;
        }
        let address = ["email", "email_verified"];
        let has_address = address.into_iter().any(|name| self.0.contains_key(name));
        for (name, value) in told {
            if !(has_address && address.contains(&name.as_str())) {
                self.0.entry(name).or_insert(value);
            }
        }
        self
    }

    /// Who it is, for records.
    pub(super) fn person(&self) -> String {
        let name = self.email().or_else(|| self.text("sub")).unwrap_or_default();
        name.chars().filter(|letter| !letter.is_control()).take(200).collect()
    }
}

/// The claims of a token that was meant for this sign-in.
pub(super) fn checked(token: &str, expected: &Expected<'_>) -> Result<Claims, BadClaims> {
    let payload = token.split('.').nth(1).ok_or(BadClaims::Unreadable)?;
    let payload = URL_SAFE_NO_PAD.decode(payload.trim_end_matches('=')).map_err(|_| BadClaims::Unreadable)?;
    let claims = Claims(serde_json::from_slice(&payload).map_err(|_| BadClaims::Unreadable)?);
    if claims.text("iss") != Some(expected.issuer) {
        return Err(BadClaims::Issuer);
    }
    let several = claims.0.get("aud").and_then(Value::as_array).is_some_and(|all| all.len() > 1);
    let party = claims.text("azp");
    if !claims.says("aud", expected.client_id)
        || party.is_some_and(|party| party != expected.client_id)
        || (several && party.is_none())
    {
        return Err(BadClaims::Audience);
    }
    let ends = claims.number("exp").ok_or(BadClaims::Time)?;
    let begins = claims.number("nbf").max(claims.number("iat")).unwrap_or(0);
    if ends + LEEWAY <= expected.now || begins > expected.now + LEEWAY {
        return Err(BadClaims::Time);
    }
    if claims.text("nonce") != Some(expected.nonce) {
        return Err(BadClaims::Nonce);
    }
    if claims.text("sub").is_none_or(str::is_empty) {
        return Err(BadClaims::Nobody);
    }
    Ok(claims)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn token(change: impl FnOnce(&mut Value)) -> String {
        let mut claims =
            json!({"iss": "https://id.example", "aud": "mayi", "exp": 1000, "iat": 900, "nonce": "n", "sub": "7"});
        change(&mut claims);
        format!("e30.{}.x", URL_SAFE_NO_PAD.encode(claims.to_string()))
    }

    #[test]
    fn a_token_is_believed_only_by_whom_and_when_it_was_meant_for() {
        let expected = Expected { issuer: "https://id.example", client_id: "mayi", nonce: "n", now: 950 };
        let table: [(&str, Value, Option<BadClaims>); 14] = [
            ("sub", json!("7"), None),
            ("aud", json!(["mayi"]), None),
            ("iss", json!("https://evil.example"), Some(BadClaims::Issuer)),
            ("iss", json!("https://id.example/"), Some(BadClaims::Issuer)),
            ("aud", json!("other"), Some(BadClaims::Audience)),
            ("aud", json!(["mayi", "other"]), Some(BadClaims::Audience)),
            ("azp", json!("other"), Some(BadClaims::Audience)),
            ("exp", json!(889), Some(BadClaims::Time)),
            ("exp", json!("soon"), Some(BadClaims::Time)),
            ("iat", json!(2000), Some(BadClaims::Time)),
            ("nonce", json!("m"), Some(BadClaims::Nonce)),
            ("nonce", json!(null), Some(BadClaims::Nonce)),
            ("sub", json!(""), Some(BadClaims::Nobody)),
            ("sub", json!(null), Some(BadClaims::Nobody)),
        ];
        for (claim, value, wrong) in table {
            let said = checked(&token(|claims| claims[claim] = value.clone()), &expected);
            assert_eq!(said.err(), wrong, "{claim} {value}");
        }
        for garbage in ["", "x", "a.!.b", "a.bnVsbA.b"] {
            assert_eq!(checked(garbage, &expected).err(), Some(BadClaims::Unreadable), "{garbage}");
        }
    }

    #[test]
    fn what_else_a_service_tells_replaces_nothing_and_is_of_the_same_person() {
        let claims = |value: Value| Claims(value.as_object().cloned().unwrap_or_default());
        let told = json!({"sub": "7", "email": "a@b.example", "email_verified": true, "groups": ["ops"]});
        let table = [
            (json!({"sub": "7"}), "a@b.example", true),
            (json!({"sub": "8"}), "8", false),
            (json!({}), "", false),
            // Whether the token's own address was verified is not for another answer to say.
            (json!({"sub": "7", "email": "x@y.example"}), "7", true),
            (json!({"sub": "7", "email_verified": false}), "7", true),
            (json!({"sub": "7", "groups": ["dev"]}), "a@b.example", false),
        ];
        for (own, person, is_ops) in table {
            let both = claims(own.clone()).and(told.as_object().cloned().unwrap_or_default());
            assert_eq!((both.person().as_str(), both.says("groups", "ops")), (person, is_ops), "{own}");
        }
    }

    #[test]
    fn an_address_that_nobody_verified_names_nobody() {
        let expected = Expected { issuer: "https://id.example", client_id: "mayi", nonce: "n", now: 950 };
        let read = |verified: Value| {
            let token = token(|claims| {
                claims["email"] = json!("a@b.example");
                claims["email_verified"] = verified;
            });
            checked(&token, &expected).unwrap()
        };
        assert_eq!(read(json!(true)).person(), "a@b.example");
        for unverified in [json!(false), json!("true"), json!(null)] {
            let claims = read(unverified);
            assert_eq!(claims.person(), "7");
            assert!(!claims.says("email", "a@b.example"));
        }
    }
}
