//! Saving to real files: whole or not at all, nothing else changed, never through a link that leads out.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use mayi_core::mode::Mode;
use mayi_core::rule::Rule;
use mayi_core::verdict::Verdict;
use mayi_settings::places::Places;
use mayi_settings::update::{Destination, PermissionUpdate, RuleValue, Rules};
use mayi_settings::write::{SaveError, save};

fn add(rule: &str, destination: Destination) -> PermissionUpdate {
    let rules = vec![RuleValue::from(&rule.parse::<Rule>().unwrap())];
    PermissionUpdate::AddRules(Rules { rules, behavior: Verdict::Allow, destination })
}

fn places(root: &Path) -> Places {
    fs::create_dir_all(root.join("work")).unwrap();
    fs::create_dir_all(root.join("home")).unwrap();
    Places {
        directory: root.join("work"),
        home: Some(root.join("home")),
        user: vec![root.join("home/.config/mayi/settings.json"), root.join("home/.claude/settings.json")],
        ..Places::default()
    }
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn missing_files_and_folders_are_made_and_the_local_one_is_ignored_by_git() {
    let folder = tempfile::tempdir().unwrap();
    let places = places(folder.path());
    let updates = [Destination::LocalSettings, Destination::ProjectSettings, Destination::UserSettings]
        .map(|destination| add("Bash(npm test:*)", destination));
    let changed = save(&places, &updates).unwrap();
    assert_eq!(changed.len(), 3);
    assert_eq!(names(&places.directory.join(".mayi")), [".gitignore", "settings.json", "settings.local.json"]);
    assert_eq!(fs::read_to_string(places.directory.join(".mayi/.gitignore")).unwrap(), "settings.local.json\n");
    for file in changed {
        assert!(fs::read_to_string(file).unwrap().contains("Bash(npm test:*)"));
    }
}

#[test]
fn what_changes_nothing_is_not_said_to_have_changed_anything() {
    let folder = tempfile::tempdir().unwrap();
    let places = places(folder.path());
    let PermissionUpdate::AddRules(rules) = add("Bash(ls)", Destination::LocalSettings) else { panic!() };
    let (gone, added) = ([PermissionUpdate::RemoveRules(rules)], [add("Bash(ls)", Destination::LocalSettings)]);
    let changed = |updates| save(&places, updates).unwrap().len();
    assert_eq!(changed(&gone), 0);
    assert_eq!(names(&places.directory), [""; 0], "nothing is made just to take something out of it");
    assert_eq!([&added, &added, &gone, &gone].map(|updates| changed(updates)), [1, 0, 1, 0]);
}

#[test]
fn a_broken_file_is_named_with_the_place_and_left_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let places = places(folder.path());
    let file = places.directory.join(".mayi/settings.json");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, "{\n  \"permissions\" {}\n}\n").unwrap();
    let error = save(&places, &[add("Bash(ls)", Destination::ProjectSettings)]).unwrap_err().to_string();
    assert!(error.contains(&format!("{}:2:", file.display())), "{error}");
    assert!(error.contains(" 2 |   \"permissions\" {}\n   | "), "{error}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "{\n  \"permissions\" {}\n}\n");
}

#[test]
fn a_file_of_the_widespread_format_is_used_when_it_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let places = places(folder.path());
    let file = places.directory.join(".claude/settings.local.json");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, "{\n  // mine\n  \"model\": \"x\"\n}\n").unwrap();
    assert_eq!(save(&places, &[add("Read", Destination::LocalSettings)]).unwrap(), std::slice::from_ref(&file));
    let text = fs::read_to_string(file).unwrap();
    assert!(text.contains("// mine") && text.contains("\"Read\""), "{text}");
    assert!(!places.directory.join(".mayi").exists());
}

#[test]
fn what_is_there_already_is_not_written_again() {
    let folder = tempfile::tempdir().unwrap();
    let places = places(folder.path());
    let [file] = save(&places, &[add("Read", Destination::UserSettings)]).unwrap().try_into().unwrap();
    let before = fs::metadata(&file).unwrap().modified().unwrap();
    save(&places, &[add("Read", Destination::UserSettings)]).unwrap();
    assert_eq!(fs::metadata(&file).unwrap().modified().unwrap(), before);
}

#[test]
fn many_writers_at_once_lose_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let places = Arc::new(places(folder.path()));
    let writers: Vec<_> = (0..16)
        .map(|number| {
            let places = Arc::clone(&places);
            std::thread::spawn(move || {
                // Each try is bounded, and so is each writer's patience.
                let update = add(&format!("Bash(tool-{number})"), Destination::LocalSettings);
                (0..50).any(|_| save(&places, std::slice::from_ref(&update)).is_ok())
            })
        })
        .collect();
    assert!(writers.into_iter().all(|writer| writer.join().unwrap()));
    let text = fs::read_to_string(places.directory.join(".mayi/settings.local.json")).unwrap();
    assert!((0..16).all(|number| text.contains(&format!("\"Bash(tool-{number})\""))), "{text}");
    assert_eq!(names(&places.directory.join(".mayi")), [".gitignore", "settings.local.json"]);
}

#[cfg(unix)]
mod unix {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn the_mode_of_a_file_is_kept_and_a_new_own_file_is_private() {
        let folder = tempfile::tempdir().unwrap();
        let places = places(folder.path());
        let file = places.directory.join(".mayi/settings.json");
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, "{}").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        save(&places, &[add("Read", Destination::ProjectSettings), add("Read", Destination::LocalSettings)]).unwrap();
        assert_eq!(mode(&file), 0o640);
        assert_eq!(mode(&places.directory.join(".mayi/settings.local.json")), 0o600);
    }

    fn refused(places: &Places, destination: Destination) -> PathBuf {
        match save(places, &[add("Read", destination)]) {
            Err(SaveError::Link { path, .. }) => path,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn links_that_lead_out_are_refused_and_nothing_is_made_behind_them() {
        let folder = tempfile::tempdir().unwrap();
        let places = places(folder.path());
        let outside = folder.path().join("outside");
        fs::create_dir_all(&outside).unwrap();
        fs::write(outside.join("settings.json"), "{}").unwrap();

        symlink(&outside, places.directory.join(".mayi")).unwrap();
        refused(&places, Destination::ProjectSettings);
        refused(&places, Destination::LocalSettings);
        assert_eq!(names(&outside), ["settings.json"]);
        assert_eq!(fs::read_to_string(outside.join("settings.json")).unwrap(), "{}");

        fs::remove_file(places.directory.join(".mayi")).unwrap();
        fs::create_dir(places.directory.join(".mayi")).unwrap();
        symlink(outside.join("settings.json"), places.directory.join(".mayi/settings.json")).unwrap();
        refused(&places, Destination::ProjectSettings);
        symlink(outside.join("missing.json"), places.directory.join(".mayi/settings.local.json")).unwrap();
        refused(&places, Destination::LocalSettings);
        assert_eq!(names(&outside), ["settings.json"]);
    }

    #[test]
    fn a_link_that_stays_inside_is_kept_and_its_target_written() {
        let folder = tempfile::tempdir().unwrap();
        let places = places(folder.path());
        let home = folder.path().join("home");
        fs::create_dir_all(home.join("dotfiles")).unwrap();
        fs::create_dir_all(home.join(".config/mayi")).unwrap();
        fs::write(home.join("dotfiles/mayi.json"), "{}").unwrap();
        symlink(home.join("dotfiles/mayi.json"), home.join(".config/mayi/settings.json")).unwrap();
        save(&places, &[add("Read", Destination::UserSettings)]).unwrap();
        assert!(fs::read_to_string(home.join("dotfiles/mayi.json")).unwrap().contains("Read"));
        assert!(home.join(".config/mayi/settings.json").is_symlink());
    }

    #[test]
    fn a_read_only_folder_leaves_the_old_file_or_for_the_superuser_the_new_one() {
        let folder = tempfile::tempdir().unwrap();
        let places = places(folder.path());
        let own = places.directory.join(".mayi");
        fs::create_dir_all(&own).unwrap();
        fs::write(own.join("settings.json"), "{}").unwrap();
        fs::set_permissions(&own, fs::Permissions::from_mode(0o555)).unwrap();
        let saved = save(&places, &[add("Read", Destination::ProjectSettings)]);
        fs::set_permissions(&own, fs::Permissions::from_mode(0o755)).unwrap();
        let text = fs::read_to_string(own.join("settings.json")).unwrap();
        match saved {
            Ok(_) => assert!(text.contains("Read")),
            Err(error) => {
                assert!(matches!(error, SaveError::Io { .. }), "{error}");
                assert_eq!(text, "{}");
            }
        }
        assert_eq!(names(&own), ["settings.json"]);
    }
}

#[test]
fn bypass_is_never_saved_nor_auto_in_a_project() {
    let folder = tempfile::tempdir().unwrap();
    let places = places(folder.path());
    let set = |mode, destination| save(&places, &[PermissionUpdate::SetMode { mode, destination }]);
    for destination in [Destination::UserSettings, Destination::LocalSettings, Destination::ProjectSettings] {
        assert!(matches!(set(Mode::BypassPermissions, destination), Err(SaveError::Mode(_))));
    }
    assert!(matches!(set(Mode::Auto, Destination::LocalSettings), Err(SaveError::UserMode(_))));
    assert!(matches!(set(Mode::Plan, Destination::Session), Err(SaveError::NotWritable(_))));
    assert!(!places.directory.join(".mayi").exists(), "nothing was written");
    set(Mode::Plan, Destination::LocalSettings).unwrap();
}

#[test]
fn a_broken_file_is_reported_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let places = places(folder.path());
    let file = places.directory.join(".mayi/settings.json");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    for text in ["{ \"permissions\": ", "[]", "{\"permissions\": {\"allow\": {}}}"] {
        fs::write(&file, text).unwrap();
        let error = save(&places, &[add("Read", Destination::ProjectSettings)]).unwrap_err();
        assert!(error.to_string().contains("help: mend the file first"), "{error}");
        assert_eq!(fs::read_to_string(&file).unwrap(), text);
    }
}
