//! Reading and writing, as settings and rules say it.

use mayi_core::policy::Layer;
use mayi_sandbox::plan::Access::{Hidden, ReadOnly, Writable};
use mayi_sandbox::plan::{Files, Limits, Nesting, Sockets};
use mayi_settings::update::{Destination, Directories, PermissionUpdate};
use serde_json::{Value, json};

use crate::World;

fn reading(deny: &[&str], allow: &[&str]) -> Value {
    json!({"sandbox": {"filesystem": {"denyRead": deny, "allowRead": allow}}})
}

fn rules(list: &str, rules: &[&str]) -> Value {
    json!({"permissions": {list: rules}})
}

#[test]
fn by_default_only_the_working_directory_and_the_temporary_folder_are_writable() {
    let world = World::user(json!({}));
    world.check(&[
        ("/home/u/p", Writable),
        ("/home/u/p/src/a", Writable),
        ("/tmp/own/x", Writable),
        ("/tmp", ReadOnly),
        ("/home/u", ReadOnly),
        ("/home/u/sandbox-probe", ReadOnly),
        ("/home/u/pp", ReadOnly),
        ("/etc/passwd", ReadOnly),
        ("/usr/bin/env", ReadOnly),
        ("/dev/null", Writable),
        ("/dev/sda", ReadOnly),
    ]);
    let plan = world.plan();
    assert_eq!(plan.limits, Limits { core: Some(0), ..Limits::default() });
    assert_eq!((plan.nesting, plan.sockets), (Nesting::Refused, Sockets::None));
    assert_eq!(plan.gaps, []);
}

#[test]
fn stores_of_credentials_are_hidden() {
    World::user(json!({})).check(&[
        ("/home/u/.ssh/id_ed25519", Hidden),
        ("/home/u/.gnupg", Hidden),
        ("/home/u/.aws/credentials", Hidden),
        ("/home/u/.config/gcloud/x", Hidden),
        ("/home/u/.mozilla/firefox", Hidden),
        ("/home/u/.local/share/keyrings/login", Hidden),
        ("/home/u/.npmrc", Hidden),
        ("/home/u/.docker/config.json", Hidden),
        ("/home/u/.docker/contexts", ReadOnly),
        ("/home/u/.config/mayi/settings.json", Hidden),
        ("/home/u/.claude/.credentials.json", Hidden),
        ("/home/u/.codex/auth.json", Hidden),
        ("/etc/shadow", Hidden),
        ("/home/u/.bashrc", ReadOnly),
    ]);
    let patterns = World::user(json!({})).confined().patterns;
    assert!(patterns.iter().any(|pattern| pattern.base.ends_with("etc/ssh") && pattern.glob == "ssh_host_*"));
}

#[test]
fn a_store_of_credentials_is_readable_again_only_where_somebody_says_so() {
    World::user(reading(&[], &["~/.ssh", "~/.aws/config"])).check(&[
        ("/home/u/.ssh/known_hosts", ReadOnly),
        ("/home/u/.aws/config", ReadOnly),
        ("/home/u/.aws/credentials", Hidden),
    ]);
    World::user(reading(&[], &["~/"])).check(&[("/home/u/.ssh/id_rsa", Hidden)]);
    World::user(reading(&["~/.ssh"], &["~/.ssh"])).check(&[("/home/u/.ssh/id_rsa", Hidden)]);
    World::user(json!({})).at("/home/u/.kube/charts").check(&[("/home/u/.kube/charts/x", Writable)]);
    let added = json!({"permissions": {"additionalDirectories": ["/home/u/.kube"]}});
    World::user(added.clone()).check(&[("/home/u/.kube/x", Writable)]);
    World::new(&[(Layer::Project, added)]).check(&[("/home/u/.kube/x", Hidden)]);
}

#[test]
fn sb_01_to_05_the_narrowest_word_on_reading_counts() {
    World::user(reading(&["~/"], &["~/projects"])).check(&[
        ("/home/u/projects/a", ReadOnly),
        ("/home/u/x", Hidden),
        ("/home/u", Hidden),
    ]);
    World::user(reading(&["~/.env"], &["~/"])).check(&[("/home/u/.env", Hidden), ("/home/u/x", ReadOnly)]);
    let sb_03 = World::user(reading(&["~/**/.env"], &["~/"])).confined();
    assert!(sb_03.patterns.iter().any(|own| own.base.ends_with("home/u") && own.glob == "**/.env"), "{sb_03:?}");
    World::user(reading(&["~/.aws/"], &[])).check(&[("/home/u/.aws/credentials", Hidden)]);
    World::user(reading(&["~/.x/**"], &[])).check(&[("/home/u/.x/credentials", Hidden)]);
    let local = World::new(&[(Layer::Local, reading(&["~/"], &["."]))]);
    local.check(&[("/home/u/p/x", Writable), ("/home/u/x", Hidden)]);
    let user = World::user(reading(&["~/"], &["."]));
    user.check(&[("/home/u/p/x", Hidden)]);
    assert!(user.gap().contains("the working directory `/home/u/p` cannot be read"));
}

#[test]
fn a_repository_may_hide_and_not_show() {
    let project = World::new(&[(Layer::Project, reading(&["~/", "keys"], &["."]))]);
    project.check(&[("/home/u/p/x", Hidden), ("/home/u/x", Hidden)]);
}

#[test]
fn every_spelling_of_a_path_in_settings() {
    for (text, path) in [
        ("/x/y", "/x/y"),
        ("//x/y", "/x/y"),
        ("~/y", "/home/u/y"),
        ("./y", "/home/u/p/y"),
        ("y", "/home/u/p/y"),
        ("../y/", "/home/u/y"),
    ] {
        World::new(&[(Layer::Local, reading(&[text], &[]))]).check(&[(path, Hidden)]);
    }
    World::user(reading(&["y"], &[])).check(&[("/home/u/.claude/y", Hidden)]);
    World::user(reading(&["/x/[id]"], &[])).check(&[("/x/[id]", Hidden)]);
}

#[test]
fn closing_for_writing_outweighs_opening_whatever_the_width() {
    let settings = json!({"sandbox": {"filesystem": {"allowWrite": ["/opt", "/opt/in/deep"], "denyWrite": ["/opt/in", "/home/u/p/gen"]}}});
    World::user(settings).check(&[
        ("/opt/x", Writable),
        ("/opt/in", ReadOnly),
        ("/opt/in/deep/x", ReadOnly),
        ("/home/u/p/gen/a", ReadOnly),
        ("/home/u/p/genx", Writable),
    ]);
    let wide = json!({"sandbox": {"filesystem": {"allowWrite": ["/home/u/p"], "denyWrite": ["/home"]}}});
    World::user(wide).check(&[("/home/u/p/x", ReadOnly), ("/tmp/own/x", Writable)]);
    let shared = json!({"sandbox": {"filesystem": {"denyWrite": ["/tmp"], "denyRead": ["/tmp"]}}});
    World::user(shared).check(&[("/tmp/x", Hidden), ("/tmp/own/x", Writable)]);
}

#[test]
fn edit_rules_open_and_close() {
    World::user(rules("allow", &["Edit(//opt/**)", "Edit(~/notes/today.md)", "Edit(src/**)", "Edit"])).check(&[
        ("/opt/x", Writable),
        ("/home/u/notes/today.md", Writable),
        ("/home/u/notes", ReadOnly),
        ("/home/u/p/x", Writable),
        ("/srv", ReadOnly),
    ]);
    World::user(rules("deny", &["Edit(//opt/**)", "Edit(./a/b)"])).check(&[("/home/u/p/a/b", ReadOnly)]);
    World::user(rules("deny", &["Edit"])).check(&[
        ("/home/u/p/x", ReadOnly),
        ("/tmp/own", Writable),
        ("/dev/null", Writable),
    ]);
    World::user(rules("ask", &["Edit(a)"])).check(&[("/home/u/p/a", Writable)]);
    let back = World::user(rules("allow", &["Edit(//opt/**)", "Edit(!//opt/x/**)", "Edit(!src/**)"]));
    back.check(&[("/opt/y", Writable), ("/opt/x/y", ReadOnly), ("/home/u/p/src", Writable)]);
}

#[test]
fn read_rules_hide() {
    let world = World::user(rules(
        "deny",
        &["Read(//data/**)", "Read(~/n/x)", "Read(.env)", "Read(secrets/**)", "Read(a/*.pem)"],
    ));
    world.check(&[("/data/x", Hidden), ("/home/u/n/x", Hidden), ("/home/u/n", ReadOnly)]);
    let patterns: Vec<(String, String)> = world
        .confined()
        .patterns
        .into_iter()
        .filter(|pattern| pattern.base.starts_with("/home"))
        .map(|pattern| (pattern.base.display().to_string(), pattern.glob))
        .collect();
    let expected = [("/home/u/p", "**/.env"), ("/home/u/p", "**/secrets"), ("/home/u/p/a", "*.pem")];
    assert_eq!(patterns, expected.map(|(base, glob)| (base.to_owned(), glob.to_owned())));
    World::user(rules("allow", &["Read(//data/**)"])).check(&[("/data", ReadOnly)]);
    let all = World::user(rules("deny", &["Read"]));
    all.check(&[("/home/u/p/x", Hidden), ("/home/other", Hidden), ("/usr/bin/env", ReadOnly)]);
    World::user(rules("deny", &["Read(../**)"])).check(&[("/home/u/x", Hidden), ("/home/u/p/x", Writable)]);
}

#[test]
fn what_a_plan_cannot_say_is_a_gap() {
    let listed = |key: &str, text: &str| World::user(json!({"sandbox": {"filesystem": {key: [text]}}}));
    for (world, words) in [
        (listed("allowWrite", "/opt/*"), "`/opt/*` opens nothing"),
        (listed("denyWrite", "/opt/?"), "`/opt/?` closes nothing"),
        (listed("allowRead", "/opt/[a]"), "`/opt/[a]` re-opens nothing"),
        (World::user(rules("allow", &["Edit(//opt/*.md)"])), "`Edit(//opt/*.md)` opens nothing"),
        (World::user(rules("deny", &["Edit(*.lock)"])), "`Edit(*.lock)` closes nothing"),
        (World::user(rules("deny", &["Edit(../**)"])), "`Edit(../**)` closes nothing"),
        (World::user(rules("deny", &["Read(!a)"])), "`Read(!a)` re-opens nothing"),
        (World::user(rules("deny", &["Read("])), "`Read(` closes nothing here"),
        (World::user(rules("deny", &["Read"])), "hides homes and working directories"),
        (listed("allowWrite", "~/.kube/cache"), "`/home/u/.kube/cache` is hidden, so it cannot be written"),
        (World::user(json!({"sandbox": {"network": {"allowUnixSockets": ["/run/x"]}}})), "none of them can be reached"),
        (World::user(json!({"sandbox": {"network": {"tlsTerminate": {"caCertPath": "/x"}}}})), "does not open TLS"),
    ] {
        let gaps = world.gaps();
        assert!(gaps.iter().any(|gap| gap.contains(words)), "{words}: {gaps:?}");
        let plan = world.plan();
        assert!(plan.gaps.iter().all(|gap| gap.what.starts_with("the working") || gap.origin.is_some()), "{gaps:?}");
    }
    assert_eq!(World::user(rules("allow", &["Edit(*.md)"])).gaps(), Vec::<String>::new(), "it is open already");
}

#[test]
fn secrets_in_files_and_variables_are_kept_from_commands() {
    let world = World::user(json!({"sandbox": {"credentials": {
        "files": [{"path": "~/token"}, {"path": "~/masked", "mode": "mask"}, {"mode": "deny"}],
        "envVars": [{"name": "A"}, {"name": "B", "mode": "mask"}, {"name": "A", "mode": "deny"}]}}}));
    world.check(&[("/home/u/token", Hidden), ("/home/u/masked", Hidden)]);
    assert_eq!(world.plan().environment.removed, ["A", "B"]);
    let gaps = world.gaps();
    assert_eq!(gaps.len(), 3, "{gaps:?}");
    assert!(gaps[0].contains("`/home/u/masked` is hidden as a whole"), "{gaps:?}");
    assert!(gaps[1].contains("nobody says which one"), "{gaps:?}");
    assert!(gaps[2].contains("the variable `B` is not passed on"), "{gaps:?}");
}

#[test]
fn reading_outside_can_be_refused_altogether() {
    let block =
        json!({"permissions": {"blockReadsOutsideWorkingDirectories": true, "additionalDirectories": ["/srv/d"]}});
    World::user(block).check(&[
        ("/home/u/p/x", Writable),
        ("/srv/d/x", Writable),
        ("/srv/x", Hidden),
        ("/home/u/x", Hidden),
        ("/home/other", Hidden),
        ("/mnt/x", Hidden),
        ("/home/u/.gitconfig", ReadOnly),
        ("/home/u/.config/git/ignore", ReadOnly),
        ("/home/u/.config/git/credentials", Hidden),
        ("/usr/bin/env", ReadOnly),
        ("/tmp/own", Writable),
    ]);
}

#[test]
fn answers_of_the_session_count() {
    let mut world = World::user(json!({}));
    let directories = Directories { directories: vec!["/opt".to_owned()], destination: Destination::Session };
    world.session.apply(&PermissionUpdate::AddDirectories(directories));
    world.check(&[("/opt/x", Writable)]);
}

#[test]
fn switches() {
    let open = World::user(json!({"sandbox": {"filesystem": {"disabled": true}}}));
    assert_eq!(open.plan().files, Files::Open);
    let nested =
        World::user(json!({"sandbox": {"enableWeakerNestedSandbox": true, "network": {"allowAllUnixSockets": true}}}));
    assert_eq!((nested.plan().nesting, nested.plan().sockets), (Nesting::Possible, Sockets::All));
}
