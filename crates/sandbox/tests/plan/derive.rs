//! Derived confinement: the claim becomes the plan.

use mayi_sandbox::plan::Access::{ReadOnly, Writable};
use mayi_sandbox::plan::{Network, Unlisted};
use serde_json::json;

use crate::World;

fn deriving(command: &'static str) -> World {
    World::user(json!({"sandbox": {"derive": true, "network": {"allowedDomains": ["*.listed.org"]},
        "filesystem": {"denyWrite": ["/home/u/p/gen"]}}}))
    .running(command)
}

#[test]
fn only_what_the_command_writes_is_writable() {
    deriving("cat a").check(&[("/home/u/p/a", ReadOnly), ("/tmp/own/x", Writable), ("/dev/null", Writable)]);
    deriving("mkdir -p out/deep").check(&[("/home/u/p/out/deep", Writable), ("/home/u/p/src", ReadOnly)]);
    deriving("rm out/a/x").check(&[("/home/u/p/out/a/x", Writable), ("/home/u/p/out/b", ReadOnly)]);
    deriving("echo x > gen/a").check(&[("/home/u/p/gen/a", ReadOnly)]);
    deriving("echo x > .claude/settings.json").check(&[("/home/u/p/.claude/settings.json", ReadOnly)]);
}

#[test]
fn what_settings_do_not_open_is_open_only_when_somebody_agreed() {
    deriving("touch /srv/x/y").check(&[("/srv/x/y", ReadOnly)]);
    deriving("touch /srv/x/y").agreed().check(&[("/srv/x/y", Writable), ("/srv/x/z", ReadOnly)]);
}

#[test]
fn only_the_hosts_that_the_command_names_are_reached() {
    assert_eq!(deriving("cat a").plan().network, Network::None);
    let allowed = |world: &World| match world.plan().network {
        Network::Proxied(hosts) => {
            (hosts.allowed.into_iter().map(|host| host.host).collect::<Vec<_>>(), hosts.unlisted)
        }
        other @ (Network::None | Network::Own { .. }) => panic!("{other:?}"),
    };
    let listed = deriving("curl https://a.listed.org/x");
    assert_eq!(allowed(&listed), (vec!["a.listed.org".to_owned()], Unlisted::Asked));
    let unlisted = deriving("curl https://other.org/x");
    assert_eq!(allowed(&unlisted), (Vec::new(), Unlisted::Asked), "nobody agreed to it yet");
    assert_eq!(allowed(&unlisted.agreed()), (vec!["other.org".to_owned()], Unlisted::Refused));
}

#[test]
fn nothing_is_derived_from_what_is_not_understood() {
    for command in ["make", "frob", "python3 -c 'x'", "echo x > \"$F\"", "curl \"$URL\"", "echo ${", "sudo true"] {
        let world = deriving(command);
        world.check(&[("/home/u/p/src", Writable)]);
        assert!(world.gap().starts_with("nothing is derived from the command: "), "{command}");
    }
}
