//! Locks: what rules and directories of the project do not open for commands.

use mayi_core::policy::Layer;
use mayi_sandbox::plan::Access::{Hidden, ReadOnly, Writable};
use mayi_sandbox::plan::Network;
use serde_json::{Value, json};

use crate::World;

fn project() -> Value {
    json!({"permissions": {"allow": ["Edit(//opt/**)", "WebFetch(domain:a.org)"], "additionalDirectories": ["/data"]}})
}

fn allowed(world: &World) -> Vec<String> {
    match world.plan().network {
        Network::Proxied(hosts) => hosts.allowed.into_iter().map(|host| host.host).collect(),
        Network::None | Network::Own { .. } => Vec::new(),
    }
}

#[test]
fn a_required_sandbox_takes_no_openings_from_the_project() {
    let required = [
        (Layer::Managed, json!({"sandbox": {"allowUnsandboxedCommands": false}})),
        (Layer::Flag, json!({"sandbox": {"allowUnsandboxedCommands": false}})),
        (Layer::Managed, json!({"sandbox": {"network": {"allowManagedDomainsOnly": true}}})),
    ];
    for layer in [Layer::Project, Layer::Local] {
        let open = World::new(&[(layer, project())]);
        open.check(&[("/opt/x", Writable), ("/data/x", Writable)]);
        assert_eq!(allowed(&open), ["a.org"]);
        for closing in &required {
            let closed = World::new(&[closing.clone(), (layer, project())]);
            closed.check(&[("/opt/x", ReadOnly), ("/data/x", ReadOnly), ("/home/u/p/x", Writable)]);
            assert_eq!(allowed(&closed), Vec::<String>::new());
            assert!(closed.gaps().iter().any(|gap| gap.contains("`Edit(//opt/**)` opens nothing for commands")));
        }
    }
    let person = World::new(&[required[0].clone(), (Layer::User, project()), (Layer::Project, project())]);
    person.check(&[("/opt/x", Writable), ("/data/x", Writable)]);
    assert_eq!(allowed(&person), ["a.org"]);
}

#[test]
fn what_the_project_closes_still_counts_where_the_sandbox_is_required() {
    let managed = (Layer::Managed, json!({"sandbox": {"allowUnsandboxedCommands": false}}));
    let closing = json!({"permissions": {"deny": ["Edit(./gen/a)", "Read(//x/**)", "WebFetch(domain:b.org)"]},
        "sandbox": {"filesystem": {"denyWrite": ["dist"], "denyRead": ["keys"]}}});
    let world = World::new(&[managed, (Layer::Project, closing)]);
    world.check(&[
        ("/home/u/p/gen/a", ReadOnly),
        ("/home/u/p/dist/x", ReadOnly),
        ("/home/u/p/keys/x", Hidden),
        ("/x/y", Hidden),
    ]);
}

#[test]
fn what_the_organisation_hides_is_not_opened_in_the_project() {
    let hidings = [
        json!({"sandbox": {"filesystem": {"denyRead": ["/x"]}}}),
        json!({"permissions": {"deny": ["Read(//x/**)"]}}),
        json!({"sandbox": {"credentials": {"files": [{"path": "/x"}]}}}),
    ];
    let reopening = json!({"sandbox": {"filesystem": {"allowRead": ["/x/y", "/x"], "allowWrite": ["/x/y"]}}});
    for hiding in hidings {
        for layer in [Layer::Managed, Layer::Flag] {
            World::new(&[(layer, hiding.clone()), (Layer::Local, reopening.clone())]).check(&[("/x/y/z", Hidden)]);
            let by_user = World::new(&[(layer, hiding.clone()), (Layer::User, reopening.clone())]);
            by_user.check(&[("/x/y/z", Writable), ("/x/z", Hidden)]);
        }
        World::new(&[(Layer::User, hiding), (Layer::Local, reopening.clone())]).check(&[("/x/y/z", Writable)]);
    }
}

#[test]
fn the_project_writes_nothing_below_what_the_organisation_hides() {
    let managed = (Layer::Managed, json!({"sandbox": {"filesystem": {"denyRead": ["/x"]}}}));
    let user = (Layer::User, json!({"sandbox": {"filesystem": {"allowRead": ["/x/y"]}}}));
    for opening in [
        json!({"permissions": {"allow": ["Edit(//x/y/**)"]}}),
        json!({"permissions": {"additionalDirectories": ["/x/y"]}}),
    ] {
        World::new(&[managed.clone(), user.clone(), (Layer::Local, opening.clone())]).check(&[("/x/y/z", ReadOnly)]);
        World::new(&[user.clone(), (Layer::Local, opening)]).check(&[("/x/y/z", Writable)]);
    }
}

#[test]
fn only_the_organisation_reopens_where_it_says_so() {
    let managed = json!({"sandbox": {"filesystem": {"allowManagedReadPathsOnly": true, "denyRead": ["/x"], "allowRead": ["/x/a"]}}});
    let user = json!({"sandbox": {"filesystem": {"allowRead": ["/x/b"]}}});
    World::new(&[(Layer::Managed, managed), (Layer::User, user)]).check(&[("/x/a", ReadOnly), ("/x/b", Hidden)]);
}

#[test]
fn a_closed_list_of_hosts_takes_none_from_the_project() {
    let strict = json!({"sandbox": {"network": {"strictAllowlist": true, "allowedDomains": ["m.org"]}}});
    assert_eq!(allowed(&World::new(&[(Layer::Flag, strict.clone()), (Layer::Project, project())])), ["m.org"]);
    assert_eq!(allowed(&World::new(&[(Layer::User, strict), (Layer::Project, project())])), ["m.org", "a.org"]);
}
