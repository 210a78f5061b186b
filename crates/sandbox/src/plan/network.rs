//! Hosts that a command may reach: settings, rules, and what the command was said to reach.

use std::collections::HashSet;

use mayi_core::policy::{Layer, Origin};

use super::claim::{Claim, Claimed};
use super::grants::Grants;
use super::hosts::{self, List};
use super::{Gap, HostPattern, Hosts, Network, Unlisted, Wanted};

pub(super) fn network(wanted: &Wanted<'_>, (grants, claim): (&Grants, &Claim), gaps: &mut Vec<Gap>) -> Network {
    let settings = &wanted.loaded.settings.sandbox.network;
    let listed = listed(wanted, grants, gaps);
    if let Claim::Clear(claimed) = claim {
        return derived(wanted, listed, claimed);
    }
    let (http, socks) = (settings.http_proxy_port, settings.socks_proxy_port);
    if http.is_some() || socks.is_some() {
        if !listed.allowed.is_empty() || !listed.denied.is_empty() {
            gaps.push(own_proxy(wanted));
        }
        return Network::Own { http, socks };
    }
    proxied(listed)
}

/// Where nothing can ever be reached, there is no proxy either.
fn proxied(hosts: Hosts) -> Network {
    match (hosts.allowed.is_empty(), hosts.unlisted) {
        (true, Unlisted::Refused) => Network::None,
        (true, Unlisted::Asked) | (false, _) => Network::Proxied(hosts),
    }
}

/// The hosts that settings and rules list.
fn listed(wanted: &Wanted<'_>, grants: &Grants, gaps: &mut Vec<Gap>) -> Hosts {
    let settings = &wanted.loaded.settings.sandbox.network;
    let closed = settings.strict_allowlist || settings.allow_managed_domains_only;
    Hosts {
        allowed: once(allowed(wanted, gaps).into_iter().chain(grants.hosts.iter().cloned())),
        denied: once(denied(wanted, gaps).into_iter().chain(grants.no_hosts.iter().cloned())),
        unlisted: if closed { Unlisted::Refused } else { Unlisted::Asked },
    }
}

fn allowed(wanted: &Wanted<'_>, gaps: &mut Vec<Gap>) -> Vec<HostPattern> {
    let mut patterns = Vec::new();
    for (text, origin) in items(wanted, "sandbox.network.allowedDomains") {
        match hosts::read(text, List::Allowed) {
            Ok(read) => patterns.extend(read.into_iter().map(|host| host.at(origin))),
            Err(error) => gaps.push(Gap::at(format!("`{text}` has no effect: {error}"), origin)),
        }
    }
    patterns
}

fn denied(wanted: &Wanted<'_>, gaps: &mut Vec<Gap>) -> Vec<HostPattern> {
    let mut patterns = Vec::new();
    for (text, origin) in items(wanted, "sandbox.network.deniedDomains") {
        hosts::deny(text, origin, (&mut patterns, gaps));
    }
    patterns
}

fn items<'a>(wanted: &Wanted<'a>, key: &str) -> impl Iterator<Item = (&'a str, &'a Origin)> + use<'a> {
    let items = wanted.loaded.effective.items(key).iter();
    items.map(|item| (item.value.as_str().unwrap_or_default(), &item.origin))
}

/// Each host once, where it stands first.
fn once(patterns: impl Iterator<Item = HostPattern>) -> Vec<HostPattern> {
    let mut seen = HashSet::new();
    patterns.filter(|pattern| seen.insert((pattern.host.clone(), pattern.port))).collect()
}

/// The hosts that the command was said to reach. If it runs only because it is confined, nobody has agreed to them,
/// so the lists still decide; else whoever allowed the command allowed its hosts, unless the lists are closed.
fn derived(wanted: &Wanted<'_>, listed: Hosts, claimed: &Claimed) -> Network {
    if claimed.hosts.is_empty() {
        return Network::None;
    }
    let agreed = !wanted.permit.terms().confined && listed.unlisted == Unlisted::Asked;
    let origin = Origin::of(Layer::Session);
    let reached = claimed.hosts.iter().map(|host| host.clone().at(&origin)).filter_map(|host| {
        match listed.allowed.iter().find(|wide| hosts::covers(wide, &host)) {
            Some(wide) => Some(HostPattern { origin: wide.origin.clone(), port: wide.port, ..host }),
            None => agreed.then_some(host),
        }
    });
    let unlisted = if agreed { Unlisted::Refused } else { listed.unlisted };
    proxied(Hosts { allowed: once(reached), denied: listed.denied, unlisted })
}

fn own_proxy(wanted: &Wanted<'_>) -> Gap {
    let keys = ["sandbox.network.httpProxyPort", "sandbox.network.socksProxyPort"];
    let origin = keys.iter().find_map(|key| wanted.loaded.effective.setting(key)?.origins.first());
    let what = "a proxy of your own does the filtering: the lists of hosts have no effect".to_owned();
    Gap { what, origin: origin.cloned().map(Box::new) }
}
