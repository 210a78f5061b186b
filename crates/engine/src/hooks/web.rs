//! Asking a hook that is an address: one POST, no redirect followed, no more read than fits, and no variable sent that
//! settings did not name for it.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use mayi_core::rule::text::TextPattern;
use reqwest::Url;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use tokio::time::timeout;

use crate::hooks::environment::Environment;
use crate::hooks::failure::Failure;
use crate::hooks::process::ROOM;

/// What settings let http hooks do, all of them together.
#[derive(Clone, Debug, Default)]
pub(super) struct Bounds {
    /// Addresses that may be called; `None` is all of them.
    pub(super) addresses: Option<Vec<String>>,
    /// Variables that may be sent; `None` leaves it to each hook.
    pub(super) variables: Option<Vec<String>>,
}

/// An address, and what goes in the head of the request.
#[derive(Clone, Debug)]
pub(super) struct Address {
    url: Url,
    headers: HeaderMap,
}

impl Address {
    /// Reads an address and fills in its headers.
    pub(super) fn new(
        url: &str,
        headers: &BTreeMap<String, String>,
        bounds: &Bounds,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, Failure> {
        let url = Url::parse(url).map_err(|error| Failure::BadAddress(error.to_string()))?;
        if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
            return Err(Failure::BadAddress("it is neither http nor https".to_owned()));
        }
        if bounds.addresses.as_ref().is_some_and(|patterns| !patterns.iter().any(|pattern| lists(pattern, &url))) {
            return Err(Failure::NotAllowed);
        }
        let mut sent = HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static("application/json"))]);
        for (name, value) in headers {
            let bad = || Failure::BadHeader(name.clone());
            let key = HeaderName::from_bytes(name.as_bytes()).map_err(|_| bad())?;
            let mut value = HeaderValue::from_str(&filled(value, &variable)).map_err(|_| bad())?;
            value.set_sensitive(true);
            sent.insert(key, value);
        }
        Ok(Self { url, headers: sent })
    }

    /// Posts the text and reads what comes back.
    pub(super) async fn post(self, text: String, limit: Duration) -> Result<Vec<u8>, Failure> {
        let answer = timeout(limit, self.exchange(text)).await;
        answer.unwrap_or(Err(Failure::TimedOut(limit)))
    }

    async fn exchange(self, text: String) -> Result<Vec<u8>, Failure> {
        // Another part of the process may have chosen already, which is just as well.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none());
        if is_this_machine(&self.url) {
            client = client.no_proxy();
        }
        let unreachable = |error| Failure::Unreachable(causes(error));
        let client = client.build().map_err(unreachable)?;
        let request = client.post(self.url).headers(self.headers).body(text);
        let mut response = request.send().await.map_err(unreachable)?;
        if !response.status().is_success() {
            return Err(Failure::Status(response.status().as_u16()));
        }
        let mut body = Vec::new();
        let broken_off = |error| Failure::BrokenOff(causes(error));
        while let Some(chunk) = response.chunk().await.map_err(broken_off)? {
            if body.len() + chunk.len() > ROOM {
                return Err(Failure::TooMuch);
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }
}

/// The whole chain of causes: the outermost says little. The address stays out, it may hold a token.
fn causes(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut words = error.to_string();
    let mut cause = std::error::Error::source(&error);
    while let Some(inner) = cause {
        words = format!("{words}: {inner}");
        cause = inner.source();
    }
    words
}

fn is_this_machine(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

/// Whether a pattern lists an address. `*` stands for anything, but in the host part never for a `/`, and never lets a
/// name before an `@` pass for the host.
fn lists(pattern: &str, url: &Url) -> bool {
    if !url.username().is_empty() || url.password().is_some() {
        return false;
    }
    if pattern == "*" {
        return true;
    }
    let Some((scheme, rest)) = pattern.split_once("://") else { return false };
    let (host, path) = match rest.find('/') {
        Some(slash) => rest.split_at(slash),
        None if rest.ends_with('*') => (rest, "*"),
        None => (rest, "/"),
    };
    let fits = |pattern: &str, text: &str| TextPattern::glob(pattern).matches(text);
    let own = url.host_str().unwrap_or_default();
    let plain = url.port().map_or_else(|| own.to_owned(), |port| format!("{own}:{port}"));
    let full = format!("{own}:{}", url.port_or_known_default().unwrap_or_default());
    let query = url.query().map_or_else(String::new, |query| format!("?{query}"));
    let hosted = fits(&host.to_ascii_lowercase(), &plain) || fits(&host.to_ascii_lowercase(), &full);
    fits(&scheme.to_ascii_lowercase(), url.scheme()) && hosted && fits(path, &format!("{}{query}", url.path()))
}

/// The variables that a hook may send.
pub(super) fn sendable<'a>(
    named: &'a [String],
    bounds: &'a Bounds,
    environment: &'a Environment,
) -> impl Fn(&str) -> Option<String> + 'a {
    move |name| {
        let listed = |list: &[String]| list.iter().any(|listed| listed == name);
        let may = listed(named) && bounds.variables.as_deref().is_none_or(listed);
        environment.value(name).filter(|_| may).map(str::to_owned)
    }
}

/// A header with `$NAME` and `${NAME}` filled in; nothing stands where a variable may not be sent.
fn filled(text: &str, variable: impl Fn(&str) -> Option<String>) -> String {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        filled.push_str(before);
        let (name, behind) = match after.strip_prefix('{').and_then(|inner| inner.split_once('}')) {
            Some((name, behind)) if ends(name) == name.len() => (name, behind),
            Some(_) | None => after.split_at_checked(ends(after)).unwrap_or(("", after)),
        };
        match name {
            "" => filled.push('$'),
            name => filled.extend(variable(name)),
        }
        rest = behind;
    }
    filled + rest
}

/// Where the variable name at the start of a text ends.
fn ends(text: &str) -> usize {
    let is_first = |letter: char| letter.is_ascii_alphabetic() || letter == '_';
    match text.chars().next() {
        Some(first) if is_first(first) => {
            text.find(|letter: char| !is_first(letter) && !letter.is_ascii_digit()).unwrap_or(text.len())
        }
        Some(_) | None => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_listed_part_by_part() {
        let table = [
            ("https://hooks.example.com/*", "https://hooks.example.com/a/b?c", true),
            ("https://hooks.example.com/*", "https://HOOKS.example.com:443/a", true),
            ("https://hooks.example.com:443/*", "https://hooks.example.com/a", true),
            ("https://hooks.example.com/*", "http://hooks.example.com/a", false),
            ("https://hooks.example.com/*", "https://hooks.example.com:8443/a", false),
            ("https://hooks.example.com/*", "https://hooks.example.com@evil.org/a", false),
            ("https://hooks.example.com/*", "https://evil.org/https://hooks.example.com/", false),
            ("https://*.example.com/*", "https://a.example.com/x", true),
            ("https://*.example.com/*", "https://evil.org/.example.com/x", false),
            ("https://*.example.com/*", "https://evil.org?.example.com/x", false),
            ("http://localhost:*", "http://localhost:8080/any/where", true),
            ("http://localhost:*", "http://localhost.evil.org:8080/", false),
            ("http://localhost:8080", "http://localhost:8080/", true),
            ("http://localhost:8080", "http://localhost:8080/x", false),
            ("http://localhost:8080/hook", "http://localhost:8080/hook", true),
            ("http://localhost:8080/hook", "http://localhost:8080/hook/../x", false),
            ("*", "https://anywhere.org/", true),
            ("localhost", "http://localhost/", false),
        ];
        for (pattern, url, expected) in table {
            assert_eq!(lists(pattern, &Url::parse(url).unwrap()), expected, "{pattern} {url}");
        }
    }

    #[test]
    fn only_named_variables_are_filled_in() {
        let variable = |name: &str| (name == "TOKEN").then(|| "t0ken".to_owned());
        let table = [
            ("Bearer $TOKEN", "Bearer t0ken"),
            ("Bearer ${TOKEN}!", "Bearer t0ken!"),
            ("$TOKEN$TOKEN", "t0kent0ken"),
            ("$OTHER.${OTHER}", "."),
            ("$5 and $ and ${", "$5 and $ and ${"),
            ("${a b} $", "${a b} $"),
            ("plain", "plain"),
            ("$TOKENS", ""),
        ];
        for (text, expected) in table {
            assert_eq!(filled(text, variable), expected, "{text}");
        }
    }
}
