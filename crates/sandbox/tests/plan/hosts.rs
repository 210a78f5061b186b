//! Hosts, by settings and rules.

use mayi_core::policy::Layer;
use mayi_sandbox::plan::{HostPattern, Network, Unlisted};
use serde_json::{Value, json};

use crate::World;

fn network(settings: Value) -> Value {
    json!({"sandbox": {"network": settings}})
}

/// Allowed, denied, and what happens with the others.
fn lists(world: &World) -> (Vec<String>, Vec<String>, Unlisted) {
    let show = |pattern: &HostPattern| match pattern.port {
        Some(port) => format!("{} {port}", pattern.host),
        None => pattern.host.clone(),
    };
    match world.plan().network {
        Network::Proxied(hosts) => {
            (hosts.allowed.iter().map(show).collect(), hosts.denied.iter().map(show).collect(), hosts.unlisted)
        }
        other @ (Network::None | Network::Own { .. }) => panic!("{other:?}"),
    }
}

#[track_caller]
fn check(settings: Value, allowed: &[&str], denied: &[&str]) {
    let (got_allowed, got_denied, _) = lists(&World::user(settings.clone()));
    assert_eq!((got_allowed, got_denied), (owned(allowed), owned(denied)), "{settings}");
}

fn owned(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

#[test]
fn sn_05_to_08_lists_of_hosts() {
    check(
        network(json!({"allowedDomains": ["*.Example.org", "example.org:8443"]})),
        &["*.example.org", "example.org 8443"],
        &[],
    );
    check(network(json!({"allowedDomains": ["[::1]:443"]})), &["::1 443"], &[]);
    check(network(json!({"deniedDomains": ["::1:443"]})), &[], &["::1:443", "::1 443"]);
    check(network(json!({"allowedDomains": ["::1:443"]})), &["::1 443"], &[]);
    let both = network(json!({"allowedDomains": ["a.org"], "deniedDomains": ["a.org"]}));
    check(both, &["a.org"], &["a.org"]);
}

#[test]
fn web_fetch_rules_count_by_host_alone() {
    let rules = json!({"permissions": {
        "allow": ["WebFetch(domain:a.org)", "WebFetch(domain:*.b.org)", "WebFetch", "WebFetch(domain:c.*)"],
        "deny": ["WebFetch(domain:d.org)", "WebFetch(domain:*)"]}});
    check(rules.clone(), &["a.org", "*.b.org"], &["d.org", "*"]);
    assert!(World::user(rules).gap().contains("`WebFetch(domain:c.*)` has no effect on commands"));
    check(json!({"permissions": {"allow": ["WebFetch(domain:*)"]}}), &["*"], &[]);
    check(json!({"permissions": {"deny": ["WebFetch"]}}), &[], &[]);
    let twice = json!({"permissions": {"allow": ["WebFetch(domain:a.org)"]}, "sandbox": {"network": {"allowedDomains": ["A.org."]}}});
    check(twice, &["a.org"], &[]);
}

#[test]
fn a_host_that_is_not_listed_is_asked_about_unless_the_list_is_closed() {
    assert_eq!(lists(&World::user(json!({}))).2, Unlisted::Asked);
    let strict = World::user(network(json!({"strictAllowlist": true, "allowedDomains": ["a.org"]})));
    assert_eq!(lists(&strict).2, Unlisted::Refused);
    let managed = network(json!({"allowManagedDomainsOnly": true, "allowedDomains": ["a.org"]}));
    let person = json!({"permissions": {"allow": ["WebFetch(domain:b.org)"]}, "sandbox": {"network": {"allowedDomains": ["c.org"], "deniedDomains": ["d.org"]}}});
    let world = World::new(&[(Layer::Managed, managed), (Layer::User, person)]);
    assert_eq!(lists(&world), (owned(&["a.org"]), owned(&["d.org"]), Unlisted::Refused));
    let nothing = World::user(network(json!({"strictAllowlist": true})));
    assert_eq!(nothing.plan().network, Network::None);
}

#[test]
fn a_proxy_of_ones_own_does_the_filtering_and_that_is_said() {
    let world = World::user(network(json!({"httpProxyPort": 8080, "deniedDomains": ["a.org"]})));
    assert_eq!(world.plan().network, Network::Own { http: Some(8080), socks: None });
    assert!(world.gap().contains("have no effect"));
    let quiet = World::user(network(json!({"socksProxyPort": 1080})));
    assert_eq!(quiet.plan().network, Network::Own { http: None, socks: Some(1080) });
    assert_eq!(quiet.gaps(), Vec::<String>::new());
}

#[test]
fn what_is_no_host_is_a_gap_with_its_place() {
    let world = World::user(network(
        json!({"allowedDomains": ["https://a.org/", "ok.org"], "deniedDomains": ["*x.org", "https://b.org/"]}),
    ));
    assert_eq!(lists(&world).0, ["ok.org"]);
    assert_eq!(lists(&world).1, ["*x.org", "https://b.org/"], "closed, readable or not");
    let gaps = world.plan().gaps;
    assert_eq!(gaps.len(), 2);
    assert!(gaps[1].what.contains("none can be reached"), "{gaps:?}");
    assert!(gaps.iter().all(|gap| gap.origin.as_ref().is_some_and(|origin| origin.layer == Layer::User)));
}
