//! Plans as people and macOS read them.

use std::path::Path;

use mayi_core::policy::Layer;
use mayi_sandbox::seatbelt;
use serde_json::json;

use crate::World;

fn world() -> World {
    let user = json!({
        "permissions": {"deny": ["Read(secrets/**)", "Edit(*.lock)"], "additionalDirectories": ["/data"]},
        "sandbox": {
            "filesystem": {"allowRead": ["/x/y"], "denyRead": ["/x"], "denyWrite": ["/home/u/p/gen"]},
            "network": {"allowedDomains": ["*.example.org", "[::1]:443"], "deniedDomains": ["bad.example.org"]},
            "credentials": {"envVars": [{"name": "TOKEN"}]}}});
    World::new(&[(Layer::User, user)])
}

#[test]
fn a_plan_in_words() {
    let text = world().plan().show(Some(Path::new("/home/u"))).to_string();
    let (before, rest) = text.split_once("\nalways protected, in /data and ~/p\n").unwrap();
    assert_eq!(
        before,
        "\
runs in ~/p

writable
  /data                    working directory
  /data/.claude/worktrees  working directory
  ~/p                      working directory
  ~/p/.claude/worktrees    working directory
  /tmp/own                 its own temporary folder

read-only inside
  ~/p/gen  user <user>
  /x/y     user <user>
"
    );
    assert!(rest.contains(" .git/hooks "), "{rest}");
    assert!(rest.lines().all(|line| line.len() <= 120), "{rest}");
    let (_, end) = rest.split_once("\nhidden\n").unwrap();
    let (hidden, end) = end.split_once("\nhidden credentials\n").unwrap();
    assert_eq!(hidden, "  /x              user <user>\n  ~/p/**/secrets  user <user>\n");
    let (credentials, end) = end.split_once("\nhosts\n").unwrap();
    assert!(credentials.contains("~/.ssh "), "{credentials}");
    assert_eq!(
        end,
        "  *.example.org  user <user>
  [::1]:443      user <user>

refused hosts
  bad.example.org  user <user>

other hosts
  any other host is asked about, and refused where nobody can answer

Unix sockets
  none but those it makes itself

variables that are not passed on
  TOKEN

limits
  core file  0

not as asked for
  `Edit(*.lock)` closes nothing for commands: only folders and single files can be closed
    user <user>
"
    );
}

#[test]
fn a_plan_as_json() {
    let json = serde_json::to_value(world().plan()).unwrap();
    assert_eq!(json["directory"], "/home/u/p");
    let places = json["files"]["confined"]["places"].as_array().unwrap();
    let of = |path: &str| places.iter().find(|place| place["path"] == path).unwrap();
    assert_eq!(of("/home/u/p"), &json!({"path": "/home/u/p", "access": "writable", "why": "working-directory"}));
    assert_eq!(of("/x")["access"], "hidden");
    assert_eq!(of("/x")["why"]["said"]["layer"], "user");
    assert_eq!(of("/home/u/.ssh")["why"], json!({"credential": "private keys"}));
    assert_eq!(json["network"]["proxied"]["unlisted"], "asked");
}

#[test]
fn a_profile_for_macos() {
    let world = World::user(json!({"permissions": {"deny": ["Read(**/*.pem)"]},
        "sandbox": {"filesystem": {"denyRead": ["/x\"y\\z"]}, "network": {"allowAllUnixSockets": true}}}));
    let profile = seatbelt::profile(&world.plan(), Some(3128));
    assert!(profile.starts_with("(version 1)\n(deny default)\n"), "{profile}");
    let at = |line: &str| profile.lines().position(|own| own == line).unwrap_or_else(|| panic!("{line}\n{profile}"));
    let read = at("(allow file-read*)");
    let open = at("(allow file-read* file-write* (subpath \"/home/u/p\"))");
    let closed = at("(deny file-write* (subpath \"/home/u/p/.git/hooks\"))");
    let hidden = at("(deny file-read* file-write* (subpath \"/home/u/.ssh\"))");
    assert!(read < open && open < closed && read < hidden, "the narrower comes later");
    at(r#"(deny file-read* file-write* (subpath "/x\"y\\z"))"#);
    at(r#"(deny file-read* file-write* (regex #"^/home/u/p(/.*)?/[^/]*\.pem(/.*)?$"))"#);
    assert!(
        at("(deny file-write-unlink (literal \"/home/u/p/.git\"))") > open,
        "a renamed folder keeps its hooks closed"
    );
    at("(allow network-outbound (remote ip \"localhost:3128\"))");
    at("(allow network* (remote unix-socket))");
    let open = seatbelt::profile(&World::user(json!({"sandbox": {"filesystem": {"disabled": true}}})).plan(), None);
    assert!(open.contains("(allow file*)") && !open.contains("network"), "{open}");
}
