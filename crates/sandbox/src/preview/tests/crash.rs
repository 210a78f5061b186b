//! A process that dies while it applies: whoever comes next goes on, or goes back.

use super::*;
use crate::preview::apply::trial;

const SCRIPT: &str = "echo more >> one; rm -r folder; mkdir new; echo x > new/x; chmod 500 new; chmod 755 run.sh;
    rm link; echo file > link; chmod 600 two";

/// How many steps the script takes.
const STEPS: usize = 7;

#[test]
fn whoever_comes_after_a_crash_can_go_on() {
    let expected = World::furnished();
    sh(&expected.work(), SCRIPT);
    for died_after in 0..=STEPS {
        let world = World::furnished();
        let preview = world.preview(SCRIPT);
        assert_eq!(trial::die_after(&preview.manifest, &preview.folder, died_after).unwrap(), STEPS);
        let id = preview.id().to_owned();
        drop(preview);
        Preview::load(&world.previews(), &id).unwrap().apply().unwrap();
        assert_eq!(picture(&world.work()), picture(&expected.work()), "died after {died_after}");
    }
}

#[test]
fn whoever_comes_after_a_crash_can_go_back() {
    for died_after in 0..=STEPS {
        let world = World::furnished();
        let before = picture(&world.work());
        let preview = world.preview(SCRIPT);
        trial::die_after(&preview.manifest, &preview.folder, died_after).unwrap();
        preview.discard().unwrap();
        assert_eq!(picture(&world.work()), before, "died after {died_after}");
        assert_eq!(fs::read_dir(world.previews()).unwrap().count(), 0);
    }
}

#[test]
fn an_original_that_changes_at_the_last_moment_takes_everything_back() {
    for meanwhile in
        ["echo late > one", "rm one", "touch folder/late", "rm -r folder", "echo x > new", "rm link; mkdir link"]
    {
        let world = World::furnished();
        let preview = world.preview(SCRIPT);
        // Everything is checked and staged; then somebody comes.
        trial::die_after(&preview.manifest, &preview.folder, 0).unwrap();
        sh(&world.work(), meanwhile);
        let staging = world.work().join(format!(".mayi-preview-{}", preview.id()));
        let mut expected = picture(&world.work());
        expected.retain(|path, _| !world.work().join(path).starts_with(&staging));
        assert!(matches!(preview.apply(), Err(PreviewError::Changed { .. })), "{meanwhile}");
        assert_eq!(picture(&world.work()), expected, "{meanwhile}");
    }
}

#[test]
fn a_preview_that_is_half_applied_does_not_expire() {
    let world = World::furnished();
    let preview = world.preview(SCRIPT);
    trial::die_after(&preview.manifest, &preview.folder, 2).unwrap();
    drop(preview);
    assert_eq!(Preview::expire(&world.previews(), Duration::ZERO).unwrap(), 0);
}
