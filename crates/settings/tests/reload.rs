//! Settings that change while a session runs.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

use mayi_settings::places::{ManagedFolder, Places};
use mayi_settings::store::{Store, Watch};
use mayi_settings::{Code, Flag, Given, Loaded};

fn places(root: &Path) -> Places {
    fs::create_dir_all(root.join("work/.mayi")).unwrap();
    fs::create_dir_all(root.join("etc/managed.d")).unwrap();
    let managed = ManagedFolder { file: root.join("etc/managed.json"), drop_ins: root.join("etc/managed.d") };
    Places { directory: root.join("work"), managed: vec![managed], ..Places::default() }
}

fn deny(rule: &str) -> String {
    format!("{{\"permissions\": {{\"deny\": [\"{rule}\"]}}}}")
}

fn rules(loaded: &Loaded) -> Vec<&str> {
    loaded.policy.entries().iter().map(|entry| entry.text.as_str()).collect()
}

fn is_stale(loaded: &Loaded) -> bool {
    loaded.problems().iter().any(|problem| problem.code == Code::StaleSettings)
}

#[test]
fn changes_appear_disappear_and_cost_nothing_when_there_are_none() {
    let folder = tempfile::tempdir().unwrap();
    let project = folder.path().join("work/.mayi/settings.json");
    let store = Store::open(places(folder.path()), Given::default());
    assert_eq!(rules(&store.refresh()), Vec::<&str>::new());
    fs::write(&project, deny("Bash(a)")).unwrap();
    let first = store.refresh();
    assert_eq!(rules(&first), ["Bash(a)"]);
    assert!(Arc::ptr_eq(&first, &store.refresh()), "nothing changed, nothing is loaded");
    fs::write(folder.path().join("etc/managed.d/10.json"), deny("Bash(m)")).unwrap();
    assert_eq!(rules(&store.refresh()), ["Bash(m)", "Bash(a)"]);
    fs::remove_file(&project).unwrap();
    assert_eq!(rules(&store.refresh()), ["Bash(m)"]);
    assert_eq!(rules(&first), ["Bash(a)"], "a policy in use never changes");
}

#[test]
fn a_swap_of_the_same_size_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let places = places(folder.path());
    let project = folder.path().join("work/.mayi/settings.json");
    fs::write(&project, deny("Bash(a)")).unwrap();
    let store = Store::open(places, Given::default());
    let time = fs::metadata(&project).unwrap().modified().unwrap();
    let other = project.with_extension("new");
    fs::write(&other, deny("Bash(b)")).unwrap();
    fs::File::open(&other).unwrap().set_modified(time).unwrap();
    fs::rename(&other, &project).unwrap();
    assert_eq!(rules(&store.refresh()), ["Bash(b)"]);
}

#[test]
fn a_broken_edit_keeps_the_last_good_text_of_that_file_alone() {
    let folder = tempfile::tempdir().unwrap();
    let places = places(folder.path());
    let project = folder.path().join("work/.mayi/settings.json");
    fs::write(&project, deny("Bash(a)")).unwrap();
    let store = Store::open(places, Given::default());
    for broken in ["{\n  \"permissions\": ", "", "\u{0}"] {
        fs::write(&project, broken).unwrap();
        let loaded = store.refresh();
        assert_eq!(rules(&loaded), ["Bash(a)"], "{broken:?}");
        assert!(is_stale(&loaded) && loaded.policy.options.broken.is_empty());
    }
    fs::write(folder.path().join("etc/managed.json"), deny("Bash(m)")).unwrap();
    let loaded = store.refresh();
    assert_eq!(rules(&loaded), ["Bash(m)", "Bash(a)"], "nobody can freeze the organisation's rules");
    assert!(is_stale(&loaded));
    fs::write(&project, deny("Bash(b)")).unwrap();
    let loaded = store.refresh();
    assert_eq!(rules(&loaded), ["Bash(m)", "Bash(b)"]);
    assert!(!is_stale(&loaded));
}

#[test]
fn a_file_that_was_never_good_makes_everything_ask_until_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let flag = folder.path().join("flag.json");
    fs::write(&flag, "{").unwrap();
    let given = Given { flags: vec![Flag::File(flag.clone())], ..Given::default() };
    let store = Store::open(places(folder.path()), given);
    assert_eq!(store.current().policy.options.broken.len(), 1);
    fs::write(&flag, "{}").unwrap();
    assert!(store.refresh().policy.options.broken.is_empty());
}

#[test]
fn a_watch_tells_of_changes_and_ends_when_dropped() {
    let folder = tempfile::tempdir().unwrap();
    let store = Arc::new(Store::open(places(folder.path()), Given::default()));
    let (sender, receiver) = channel();
    let watch = Watch::start(Arc::clone(&store), Duration::from_millis(1), move |loaded| {
        sender.send(loaded.policy.entries().len()).unwrap();
    });
    fs::write(folder.path().join("work/.mayi/settings.json"), deny("Bash(a)")).unwrap();
    // A watch may see the file while it is still empty, so the news may come in two parts.
    let told = std::iter::from_fn(|| receiver.recv_timeout(Duration::from_secs(20)).ok()).find(|count| *count == 1);
    assert_eq!(told, Some(1));
    drop(watch);
    assert_eq!(Arc::strong_count(&store), 1, "the thread is gone");
}
