//! What holds for every plan, whatever settings say.

use std::path::Path;
use std::time::{Duration, Instant};

use mayi_core::policy::Layer;
use mayi_sandbox::plan::{Access, Confined, Plan};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::{World, confined};

/// Paths that lie in, above and beside one another, some of them with a meaning of their own.
const PATHS: [&str; 16] = [
    "/",
    "/a",
    "/a/b",
    "/a/b/c",
    "/a-b",
    "/home",
    "/home/u",
    "/home/u/.ssh",
    "/home/u/.ssh/config",
    "/home/u/.claude/skills",
    "/home/u/p",
    "/home/u/p/.claude",
    "/home/u/p/.git/hooks",
    "/home/u/p/src",
    "/home/u/p/src/deep",
    "/tmp",
];

/// What must never be written, wherever something above it is opened.
const PROTECTED: [&str; 8] = [
    "/home/u/p/.claude/settings.json",
    "/home/u/p/.git/hooks/pre-commit",
    "/home/u/p/.git/config",
    "/home/u/p/.mcp.json",
    "/home/u/p/.bashrc",
    "/home/u/.bashrc",
    "/home/u/.claude/skills/x",
    "/home/u/.mcp.json",
];

#[derive(Clone, Debug, Default)]
struct Said {
    allow_write: Vec<usize>,
    deny_write: Vec<usize>,
    deny_read: Vec<usize>,
    allow_read: Vec<usize>,
    edit_allow: Vec<usize>,
    edit_deny: Vec<usize>,
    read_deny: Vec<usize>,
    added: Vec<usize>,
}

fn paths(numbers: &[usize]) -> Vec<&'static str> {
    numbers.iter().map(|number| PATHS[*number]).collect()
}

fn rules(tool: &str, numbers: &[usize]) -> Vec<String> {
    paths(numbers).iter().map(|path| format!("{tool}(/{path}/**)")).collect()
}

impl Said {
    fn settings(&self) -> Value {
        let deny = [rules("Edit", &self.edit_deny), rules("Read", &self.read_deny)].concat();
        json!({
            "permissions": {"allow": rules("Edit", &self.edit_allow), "deny": deny, "additionalDirectories": paths(&self.added)},
            "sandbox": {"filesystem": {"allowWrite": paths(&self.allow_write), "denyWrite": paths(&self.deny_write),
                "denyRead": paths(&self.deny_read), "allowRead": paths(&self.allow_read)}}})
    }

    fn plan(&self) -> Plan {
        World::user(self.settings()).plan()
    }
}

fn said() -> impl Strategy<Value = Said> {
    let some = || prop::collection::vec(0..PATHS.len(), 0..3);
    (some(), some(), some(), some(), some(), some(), some(), some()).prop_map(
        |(allow_write, deny_write, deny_read, allow_read, edit_allow, edit_deny, read_deny, added)| Said {
            allow_write,
            deny_write,
            deny_read,
            allow_read,
            edit_allow,
            edit_deny,
            read_deny,
            added,
        },
    )
}

/// Every path that could tell two plans apart.
fn probes(plans: &[&Confined]) -> Vec<String> {
    let listed = plans.iter().flat_map(|plan| &plan.places).map(|place| place.path.to_str().unwrap().to_owned());
    let mut probes: Vec<String> = listed.chain(PATHS.iter().chain(&PROTECTED).map(|path| (*path).to_owned())).collect();
    let inside: Vec<String> = probes.iter().map(|path| format!("{}/zz", path.trim_end_matches('/'))).collect();
    probes.extend(inside);
    probes
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_setting_opens_a_protected_path(said in said()) {
        let plan = said.plan();
        for path in PROTECTED {
            prop_assert_ne!(confined(&plan).access_of(Path::new(path)), Access::Writable, "{}", path);
        }
    }

    #[test]
    fn a_further_deny_never_widens(said in said(), which in 0..4usize, number in 0..PATHS.len()) {
        let mut more = said.clone();
        match which {
            0 => more.deny_write.push(number),
            1 => more.deny_read.push(number),
            2 => more.edit_deny.push(number),
            _ => more.read_deny.push(number),
        }
        let (before, after) = (said.plan(), more.plan());
        let (before, after) = (confined(&before), confined(&after));
        for path in probes(&[before, after]) {
            let path = Path::new(&path);
            prop_assert!(after.access_of(path) <= before.access_of(path), "{}", path.display());
        }
    }

    #[test]
    fn places_are_sorted_unique_and_none_says_what_the_place_around_it_says(said in said()) {
        let plan = said.plan();
        let places = &confined(&plan).places;
        prop_assert!(places.is_sorted_by(|one, other| one.path < other.path));
        for place in places {
            let around = place.path.parent().map_or(Access::ReadOnly, |above| confined(&plan).access_of(above));
            prop_assert_ne!(place.access, around, "{}", place.path.display());
        }
    }

    #[test]
    fn the_same_settings_of_a_repository_open_no_more_than_a_persons(said in said()) {
        let (person, project) = (said.plan(), World::new(&[(Layer::Project, said.settings())]).plan());
        let (person, project) = (confined(&person), confined(&project));
        for path in probes(&[person, project]) {
            let path = Path::new(&path);
            prop_assert!(project.access_of(path) <= person.access_of(path).max(Access::ReadOnly), "{}", path.display());
        }
    }
}

#[test]
fn ten_thousand_denies_are_one_sort() {
    let deny: Vec<String> = (0..10_000).map(|number| format!("/data/{}/{number}", number % 97)).collect();
    let inside = deny.iter().map(|path| format!("{path}/inside"));
    let settings =
        json!({"sandbox": {"filesystem": {"denyRead": deny.iter().cloned().chain(inside).collect::<Vec<_>>()}}});
    let world = World::user(settings);
    let (loaded, session, permit) =
        (world.loaded(), world.session.clone(), crate::permit("frob", crate::because_confined()));
    let wanted = mayi_sandbox::plan::Wanted {
        loaded: &loaded,
        session: &session,
        permit: &permit,
        temporary: Path::new(crate::TEMPORARY),
    };
    let start = Instant::now();
    let plan = Plan::of(wanted);
    let took = start.elapsed();
    let listed = confined(&plan).places.iter().filter(|place| place.path.starts_with("/data")).count();
    assert_eq!(listed, 10_000, "what lies inside a hidden folder is not listed again");
    assert!(took < Duration::from_secs(2), "{took:?} without optimisation");
}
