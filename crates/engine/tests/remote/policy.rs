//! The server's policy: fetched, checked, kept, used as the strongest layer, and never guessed at.

use std::fs;
use std::path::PathBuf;

use mayi_core::reason::Reason;
use mayi_core::verdict::Verdict;
use mayi_engine::desk::{Desk, Manner};
use mayi_engine::remote::Haste;
use mayi_settings::store::Store;
use mayi_settings::{Given, load};
use serde_json::{Value, json};

use crate::counterpart::{Counterpart, Fault, now};
use crate::world::{World, asked, attended, unattended};

const BUNDLE: &str = "/v1/policy/bundle";

fn denying(rule: &str) -> Value {
    json!({"permissions": {"deny": [rule]}})
}

fn verdict(world: &World, command: &str) -> Verdict {
    world.ask(&asked(command), attended()).decision.verdict
}

/// The one file of a kind that is kept about the server.
fn kept(world: &World, kind: &str) -> PathBuf {
    let mut files = fs::read_dir(world.path("state/server")).unwrap().flatten().map(|entry| entry.path());
    let named = |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().starts_with(kind);
    files.find(named).unwrap_or_else(|| panic!("nothing is kept of the {kind}"))
}

fn change(world: &World, kind: &str, change: impl Fn(&mut Value)) {
    let path = kept(world, kind);
    let mut value: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    change(&mut value);
    fs::write(path, value.to_string()).unwrap();
}

/// Makes the policy that is kept look as old as this, in seconds.
fn age(world: &World, seconds: u64) {
    change(world, "bundle", |kept| kept["checked_at"] = json!(now() - seconds * 1000));
}

#[test]
fn its_policy_is_the_strongest_layer() {
    let server = Counterpart::open();
    server.govern(denying("Bash(ls:*)"));
    let world = World::of(&server, json!({}));
    let answered = world.ask(&asked("ls"), attended());
    assert_eq!(answered.decision.verdict, Verdict::Deny);
    let Reason::Rule { rule, .. } = &answered.decision.reason else { panic!("{:?}", answered.decision.reason) };
    assert!(rule.origin.to_string().contains(&server.url()), "{}", rule.origin);
    assert_eq!(verdict(&world, "pwd"), Verdict::Allow);
}

#[test]
fn a_policy_that_is_kept_is_used_without_asking_and_asked_for_by_whoever_has_time() {
    let server = Counterpart::open();
    server.govern(denying("Bash(ls:*)"));
    let world = World::of(&server, json!({"bundleMaxAgeSeconds": 60}));
    assert_eq!(verdict(&world, "ls"), Verdict::Deny);
    server.govern(json!({}));
    for seconds in [0, 30, 3600] {
        age(&world, seconds);
        assert_eq!(verdict(&world, "ls"), Verdict::Deny, "{seconds}");
        assert_eq!(server.count(BUNDLE), 1, "{seconds}");
    }
    assert!(world.served(Haste::Answer).server.unwrap().is_due());
    let served = world.served(Haste::Leisure);
    assert!(!served.server.unwrap().is_due());
    assert_eq!(server.count(BUNDLE), 2);
    assert_eq!(verdict(&world, "ls"), Verdict::Allow);
    // The same once more costs no body.
    age(&world, 3600);
    world.served(Haste::Leisure);
    assert!(!world.served(Haste::Answer).server.unwrap().is_due(), "a 304 confirms what is kept");
    assert_eq!(server.count(BUNDLE), 3);
}

#[test]
fn without_a_policy_nothing_is_let_through() {
    let server = Counterpart::open();
    let world = World::of(&server, json!({}));
    server.go_away();
    for (manner, expected) in [(attended(), Verdict::Ask), (unattended(), Verdict::Deny)] {
        let answered = world.ask(&asked("ls"), manner);
        assert_eq!(answered.decision.verdict, expected);
        let words = answered.decision.reason.to_string();
        assert!(words.contains("the server's policy is not known here") && words.contains("127.0.0.1"), "{words}");
    }
    server.come_back();
    assert_eq!(verdict(&world, "ls"), Verdict::Allow);
}

#[test]
fn a_policy_that_is_too_old_is_none() {
    let server = Counterpart::open();
    let world = World::of(&server, json!({"bundleMaxStaleSeconds": 3600}));
    assert_eq!(verdict(&world, "ls"), Verdict::Allow);
    server.go_away();
    age(&world, 3000);
    assert_eq!(verdict(&world, "ls"), Verdict::Allow);
    age(&world, 4000);
    let answered = world.ask(&asked("ls"), attended());
    assert_eq!(answered.decision.verdict, Verdict::Ask);
    assert!(answered.decision.reason.to_string().contains("too old"), "{}", answered.decision.reason);
    // One from a time to come has an age that nobody knows.
    change(&world, "bundle", |kept| kept["checked_at"] = json!(now() + 3_600_000));
    assert_eq!(verdict(&world, "ls"), Verdict::Ask);
    server.come_back();
    assert_eq!(verdict(&world, "ls"), Verdict::Allow);
}

#[test]
fn what_another_key_signed_is_never_used_and_told_until_it_is_mended() {
    let server = Counterpart::open();
    server.govern(denying("Bash(ls:*)"));
    let world = World::of(&server, json!({}));
    assert_eq!(verdict(&world, "ls"), Verdict::Deny);
    server.change_key();
    server.govern(json!({}));
    age(&world, 3600);
    let served = world.served(Haste::Leisure).server.unwrap();
    let words = served.warning.unwrap();
    assert!(words.contains("not signed by the key") && words.contains("server.key"), "{words}");
    assert_eq!(verdict(&world, "ls"), Verdict::Deny, "the last good one goes on serving");
    assert!(world.served(Haste::Answer).server.unwrap().warning.is_some(), "and others are told, too");
    // Until it is too old, and then the reason is told.
    age(&world, 100_000);
    let answered = world.ask(&asked("pwd"), attended());
    assert_eq!(answered.decision.verdict, Verdict::Ask);
    assert!(answered.decision.reason.to_string().contains("not signed"), "{}", answered.decision.reason);
    // Settings that name the new key mend it.
    world.set(&json!({"server": {"url": server.url(), "key": server.key()}}));
    assert_eq!(verdict(&world, "ls"), Verdict::Allow);
    assert_eq!(world.served(Haste::Answer).server.unwrap().warning, None);
}

#[test]
fn a_key_in_settings_is_the_only_one() {
    let server = Counterpart::open();
    let right = World::of(&server, json!({"key": server.key()}));
    assert_eq!(verdict(&right, "ls"), Verdict::Allow);
    assert_eq!(server.count("/v1/policy/key"), 0, "nobody is asked for a key that is known");
    let other = Counterpart::open();
    other.change_key();
    let wrong = World::of(&server, json!({"key": other.key()}));
    assert_eq!(verdict(&wrong, "ls"), Verdict::Ask);
    let none = World::of(&server, json!({"key": "c2hvcnQ="}));
    assert_eq!(verdict(&none, "ls"), Verdict::Ask);
}

#[test]
fn an_older_policy_is_refused_however_well_it_is_signed() {
    let server = Counterpart::open();
    server.govern(json!({}));
    let old = server.issued_at();
    let world = World::of(&server, json!({}));
    server.govern(denying("Bash(ls:*)"));
    assert_eq!(verdict(&world, "ls"), Verdict::Deny);
    server.govern(json!({}));
    server.issue_at(old);
    age(&world, 3600);
    let words = world.served(Haste::Leisure).server.unwrap().warning.unwrap();
    assert!(words.contains("older than the one seen before"), "{words}");
    assert_eq!(verdict(&world, "ls"), Verdict::Deny);
    // Losing the kept policy does not help it either.
    fs::remove_file(kept(&world, "bundle")).unwrap();
    assert_eq!(verdict(&world, "pwd"), Verdict::Ask);
    // One from far ahead would make every later one look old.
    server.issue_at(now() + 100 * 24 * 3600 * 1000);
    assert_eq!(verdict(&world, "pwd"), Verdict::Ask);
}

#[test]
fn a_kept_policy_that_was_changed_is_not_used() {
    let server = Counterpart::open();
    server.govern(denying("Bash(ls:*)"));
    let world = World::of(&server, json!({}));
    assert_eq!(verdict(&world, "ls"), Verdict::Deny);
    let loosened =
        |kept: &mut Value| kept["body"] = json!(kept["body"].as_str().unwrap().replace("Bash(ls:*)", "Nothing"));
    change(&world, "bundle", loosened);
    server.go_away();
    assert_eq!(verdict(&world, "ls"), Verdict::Ask);
    server.come_back();
    assert_eq!(verdict(&world, "ls"), Verdict::Deny, "it is fetched again");
    fs::write(kept(&world, "bundle"), "{").unwrap();
    assert_eq!(verdict(&world, "ls"), Verdict::Deny);
    fs::write(kept(&world, "key"), "{").unwrap();
    assert_eq!(verdict(&world, "pwd"), Verdict::Ask, "a key that was seen is not forgotten for being unreadable");
}

#[test]
fn answers_that_are_none_leave_nothing_behind() {
    for fault in [Fault::Status(500), Fault::Status(401), Fault::Garbage, Fault::Cut, Fault::Status(302)] {
        let server = Counterpart::open();
        let world = World::of(&server, json!({}));
        server.fault(BUNDLE, fault);
        assert_eq!(verdict(&world, "ls"), Verdict::Ask, "{fault:?}");
        assert_eq!(verdict(&world, "ls"), Verdict::Allow, "{fault:?}");
    }
}

#[test]
fn what_is_kept_is_for_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let server = Counterpart::open();
    let world = World::of(&server, json!({}));
    assert_eq!(verdict(&world, "ls"), Verdict::Allow);
    for path in [kept(&world, "bundle"), kept(&world, "key")] {
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600, "{}", path.display());
    }
    assert_eq!(fs::metadata(world.path("state/server")).unwrap().permissions().mode() & 0o777, 0o700);
}

#[test]
fn a_repository_names_no_server_and_a_policy_does_not_move_one() {
    let server = Counterpart::open();
    let world = World::with(&json!({}));
    let named = json!({"server": {"url": server.url(), "approvals": "never"}});
    for file in ["settings.json", "settings.local.json"] {
        fs::write(world.path("project/.mayi").join(file), named.to_string()).unwrap();
    }
    assert_eq!(verdict(&world, "ls"), Verdict::Allow);
    assert!(world.served(Haste::Leisure).server.is_none());
    assert!(server.seen().is_empty());

    let other = Counterpart::open();
    server.govern(json!({"server": {"url": other.url(), "key": "x", "approvals": "always", "requireAudit": true}}));
    let world = World::of(&server, json!({}));
    let served = world.served(Haste::Answer);
    assert_eq!(served.server.unwrap().url(), server.url());
    assert_eq!(served.loaded.settings.server.url, Some(server.url()));
    assert!(served.loaded.settings.server.require_audit, "but it may say how it is used");
    assert!(other.seen().is_empty());
}

#[test]
fn settings_with_a_server_that_nobody_looked_for_let_nothing_through() {
    let server = Counterpart::open();
    let world = World::of(&server, json!({}));
    let loaded = load(&world.places(), &Given::default());
    let desk = Desk::once(world.places(), loaded, Manner::default());
    assert_eq!(desk.decided(&asked("ls")).unwrap().decision.verdict, Verdict::Ask);
    let unfit = World::with(&json!({"server": {"url": "http://mayi.example"}}));
    let answered = unfit.ask(&asked("ls"), attended());
    assert_eq!(answered.decision.verdict, Verdict::Ask);
    assert!(answered.decision.reason.to_string().contains("no address of a server"), "{}", answered.decision.reason);
}

#[tokio::test]
async fn a_policy_can_be_looked_for_from_within_a_runtime() {
    let server = Counterpart::open();
    let world = World::of(&server, json!({}));
    assert_eq!(world.served(Haste::Answer).server.unwrap().trouble(), None);
    assert_eq!(server.count(BUNDLE), 1);
}

#[test]
fn a_desk_that_stays_looks_by_itself() {
    let server = Counterpart::open();
    server.govern(denying("Bash(ls:*)"));
    let world = World::of(&server, json!({}));
    let store = Store::open(world.places(), Given::default());
    let desk = std::sync::Arc::new(Desk::lasting(world.places(), store, Manner::default()));
    assert_eq!(desk.decided(&asked("ls")).unwrap().decision.verdict, Verdict::Deny);
    // A courier brings the next one.
    server.govern(denying("Bash(pwd:*)"));
    age(&world, 3600);
    let again = Store::open(world.places(), Given::default());
    let desk = std::sync::Arc::new(Desk::lasting(world.places(), again, Manner::default()));
    assert_eq!(desk.decided(&asked("ls")).unwrap().decision.verdict, Verdict::Deny, "the kept one until then");
    let _courier = mayi_engine::remote::courier::Courier::accompany(&desk);
    server.wait_until("the desk goes by the new policy", |_| {
        desk.decided(&asked("pwd")).unwrap().decision.verdict == Verdict::Deny
    });
    assert_eq!(desk.decided(&asked("ls")).unwrap().decision.verdict, Verdict::Allow);
    server.wait_until("its records are carried", |server| !server.records().is_empty());
}
