//! Fetching: only the host decides, and a real URL parser says what the host is.

use crate::inspect::{Inspection, View};
use crate::listed::Listed;
use crate::reason::{Part, Reason};
use crate::rule::domain;
use crate::verdict::Verdict;

mod data {
    use super::Listed;
    include!(concat!(env!("OUT_DIR"), "/web.rs"));
}

pub(super) fn inspect(view: &View<'_>) -> Inspection {
    let text = match view.primary() {
        Ok(text) => text,
        Err(refusal) => return *refusal,
    };
    let parsed = url::Url::parse(text).ok();
    let Some(host) = parsed.as_ref().and_then(url::Url::host_str).map(domain::normal) else {
        return Inspection::refused(format!("`{text}` is no address with a host"));
    };
    let rule = |list| {
        let rule = view.policy.host(list, &host)?;
        Some(Reason::Rule { rule: rule.clone(), matched: Some(host.clone()) })
    };
    let documented = || {
        let listed = data::DOCUMENTATION.iter().any(|listed| listed.name == host);
        let plain = parsed.as_ref().is_some_and(|url| url.scheme() == "https" && url.username().is_empty());
        (listed && plain).then(|| Reason::PublicDocumentation { host: host.clone() })
    };
    Inspection {
        deny: rule(Verdict::Deny),
        ask: rule(Verdict::Ask),
        allow: rule(Verdict::Allow).or_else(documented),
        open: Some(Part { text: host.clone(), why: "no rule speaks for this host".to_owned(), span: None }),
        ..Inspection::default()
    }
}
