//! Previews of commands that really run confined: whatever a command does, no original changes before somebody says so.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod stage;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use mayi_sandbox::preview::Preview;
use mayi_sandbox::report::Ending;
use stage::{Stage, twice};

/// Runs a text over layers, and says what it would change, what it said, and the preview.
fn preview(stage: &mut Stage, text: &str) -> (Vec<String>, String, Preview) {
    let previews = stage.path("state/previews");
    let mut preview = Preview::prepare(&mut stage.plan, text, &previews).unwrap();
    let seen = stage.run_over(text, preview.overlays()).unwrap();
    let set = preview.changes(&seen.report).unwrap();
    let told = set.changes.iter().map(|change| {
        let mark = if change.withheld.is_some() { " withheld" } else { "" };
        format!("{} {}{mark}", change.sort().word(), change.path.display())
    });
    (told.collect(), seen.said, preview)
}

/// Everything below a folder, with the times at which it changed.
fn picture(folder: &Path) -> BTreeMap<PathBuf, (u32, u64, i64, i64)> {
    let mut picture = BTreeMap::new();
    let mut waiting = vec![folder.to_owned()];
    while let Some(path) = waiting.pop() {
        let metadata = path.symlink_metadata().unwrap();
        if metadata.is_dir() {
            waiting.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
            picture.insert(path, (metadata.mode(), metadata.ino(), 0, 0));
        } else {
            picture.insert(path, (metadata.mode(), metadata.ino(), metadata.mtime(), metadata.mtime_nsec()));
        }
    }
    picture
}

#[test]
fn no_original_changes_before_somebody_says_so() {
    twice("no_original_changes_before_somebody_says_so", || {
        for (text, expected) in [
            ("echo x >> file; echo y > new", &["modified file", "added new"][..]),
            ("rm file", &["deleted file"]),
            ("chmod 600 file", &["mode file"]),
            // Beside what is protected, in a folder that is held in its place for it.
            ("echo x > .git/description; echo y > .git/HEAD", &["modified .git/HEAD", "added .git/description"]),
            (
                "mkdir .git/refs/heads; echo x > .git/refs/heads/main",
                &["added .git/refs/heads", "added .git/refs/heads/main"],
            ),
            ("rm -r .git/objects", &["deleted .git/objects"]),
            ("echo x > .git/hooks/post-commit", &[]),
            ("echo x >> .git/config", &[]),
            ("mv .git .git2", &[]),
            ("rm -rf .git/hooks", &[]),
            ("echo x > .mcp.json; mkdir -p .claude; echo x > .claude/settings.json", &[]),
            ("echo x > ../outside/file; echo x > ../vault/key; echo x > .env; echo x > secret/key", &[]),
            ("echo x > /tmp/elsewhere; cp /tmp/elsewhere copy", &["added copy"]),
            ("cat .env secret/key > stolen; cat ../vault/key >> stolen", &["added stolen"]),
        ] {
            let mut stage = Stage::new();
            let before = picture(&stage.path("work"));
            let (told, said, preview) = preview(&mut stage, text);
            assert_eq!(told, expected, "{text}: {said}");
            assert_eq!(picture(&stage.path("work")), before, "{text}: an original changed");
            assert_eq!(fs::read_to_string(stage.path("outside/file")).unwrap(), "outside\n");
            preview.discard().unwrap();
        }
    });
}

#[test]
fn what_was_shown_is_applied_and_the_ending_is_kept() {
    twice("what_was_shown_is_applied_and_the_ending_is_kept", || {
        let mut stage = Stage::new();
        let text = "set -e; echo more >> file; echo note > .git/description; mkdir -p a/b; echo c > a/b/c; rm -r .git/refs; exit 3";
        let (told, said, preview) = preview(&mut stage, text);
        let expected =
            ["added .git/description", "deleted .git/refs", "added a", "added a/b", "added a/b/c", "modified file"];
        assert_eq!(told, expected, "{said}");
        assert_eq!(preview.shown().unwrap().ending, Ending::Code(3));
        preview.apply().unwrap();
        assert_eq!(fs::read_to_string(stage.path("work/file")).unwrap(), "plain\nmore\n");
        assert_eq!(fs::read_to_string(stage.path("work/.git/description")).unwrap(), "note\n");
        assert_eq!(fs::read_to_string(stage.path("work/a/b/c")).unwrap(), "c\n");
        assert!(!stage.path("work/.git/refs").exists());
        assert_eq!(fs::read_dir(stage.path("state/previews")).unwrap().count(), 0);
    });
}

#[test]
fn a_command_sees_over_layers_what_it_would_see_without() {
    let text = "echo x > one; mkdir d; mv one d/two; ln -s d/two l; cat l; rm file; ls -A . d; git init -q new 2>&1; \
                stat -c %a . d file new; test -w .git/HEAD && echo can; test -w .git/config || echo cannot; id -u";
    let real = Stage::new().run(text).said;
    let (_, previewed, _) = preview(&mut Stage::new(), text);
    assert!(real.contains("can\ncannot\n"), "{real}");
    assert_eq!(previewed, real);
}

#[test]
fn what_a_command_tried_elsewhere_is_told() {
    let mut stage = Stage::new();
    let (_, said, preview) = preview(&mut stage, "echo x > ../outside/file; echo y > fine");
    let shown = preview.shown().unwrap().to_string();
    let outside = stage.path("outside/file").display().to_string();
    assert!(shown.contains(&format!("the command was refused:\n  to write {outside}")), "{shown}\n{said}");
}
