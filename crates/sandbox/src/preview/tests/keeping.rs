//! Previews between two commands: kept, found again, dropped.

use super::*;

#[test]
fn a_preview_is_found_again_with_all_it_showed() {
    let world = World::furnished();
    let preview = world.preview("echo x > $'odd\\377'; echo more >> one");
    let (id, shown) = (preview.id().to_owned(), preview.shown().cloned());
    assert_eq!(id.len(), 6);
    assert!(matches!(Preview::load(&world.previews(), &id), Err(PreviewError::Busy { .. })));
    drop(preview);
    let again = Preview::load(&world.previews(), &id).unwrap();
    assert_eq!(again.shown().cloned(), shown);
    again.apply().unwrap();
    assert!(matches!(Preview::load(&world.previews(), &id), Err(PreviewError::Unknown { .. })));
}

#[test]
fn names_that_lead_elsewhere_are_unknown() {
    let world = World::new();
    for id in ["", ".", "..", "../previews", "/etc", "ABC", "a/b", "\u{1b}[2J"] {
        let error = Preview::load(&world.previews(), id).unwrap_err();
        assert!(matches!(error, PreviewError::Unknown { .. }), "{id}");
        assert!(!error.to_string().contains('\u{1b}'));
    }
}

#[test]
fn a_dropped_preview_leaves_nothing() {
    let world = World::furnished();
    let before = picture(&world.work());
    let script = "mkdir -p a/b; : > a/b/c; chmod 0 a/b; chmod 0 a; rm -r folder; mkfifo p
        python3 -c 'import os\nfor n in range(3000): os.mkdir(\"d\"); os.chdir(\"d\")'";
    let mut preview = Preview::prepare(&mut world.plan(), script, &world.previews()).unwrap();
    run_over(&preview, script);
    let error = preview.changes(&report(0)).unwrap_err();
    assert!(matches!(error, PreviewError::TooDeep { limit: 256 }), "{error}");
    preview.discard().unwrap();
    assert_eq!(fs::read_dir(world.previews()).unwrap().count(), 0);
    assert_eq!(picture(&world.work()), before);
}

#[test]
fn old_previews_are_dropped_and_those_in_use_are_not() {
    let world = World::furnished();
    let in_use = world.preview("echo x > new");
    drop(world.preview("echo y > new"));
    let listed = Preview::list(&world.previews()).unwrap();
    assert_eq!(listed.iter().map(|kept| kept.command.as_str()).collect::<Vec<_>>(), ["echo y > new"]);
    assert_eq!(Preview::expire(&world.previews(), Duration::from_secs(3600)).unwrap(), 0);
    assert_eq!(Preview::expire(&world.previews(), Duration::ZERO).unwrap(), 1);
    in_use.apply().unwrap();
    assert_eq!(Preview::expire(&world.work().join("nowhere"), Duration::ZERO).unwrap(), 0);
}

#[test]
fn a_preview_that_nobody_saw_cannot_be_applied() {
    let world = World::furnished();
    let preview = Preview::prepare(&mut world.plan(), "x", &world.previews()).unwrap();
    run_over(&preview, "rm one");
    assert!(matches!(preview.apply(), Err(PreviewError::Unseen { .. })));
}

#[test]
fn the_plan_of_a_preview_reaches_nobody_and_writes_only_layers() {
    let world = World::furnished();
    let work = world.work();
    let mut plan = plan(vec![
        place(&work, Access::Writable, Why::WorkingDirectory),
        place(Path::new("/tmp/private"), Access::Writable, Why::Temporary),
        place(&work.join("one"), Access::Writable, Why::Derived),
        place(&work.join("absent"), Access::Writable, Why::Derived),
    ]);
    plan.network = Network::Own { http: Some(1), socks: None };
    let preview = Preview::prepare(&mut plan, "x", &world.previews()).unwrap();
    assert_eq!((&plan.network, &plan.sockets, plan.gaps.len()), (&Network::None, &Sockets::None, 1));
    let Files::Confined(files) = &plan.files else { panic!() };
    let access: Vec<_> = files.places.iter().map(|place| place.access).collect();
    assert_eq!(access, [Access::Writable, Access::Writable, Access::ReadOnly, Access::ReadOnly]);
    let overlays = preview.overlays();
    assert_eq!(overlays.iter().map(|overlay| &overlay.lower).collect::<Vec<_>>(), [&work]);
    assert_eq!(overlays[0].upper.metadata().unwrap().mode(), work.metadata().unwrap().mode());
}

#[test]
fn what_cannot_be_previewed_is_refused() {
    let world = World::new();
    let mut open = world.plan();
    open.files = Files::Open;
    assert!(matches!(Preview::prepare(&mut open, "x", &world.previews()), Err(PreviewError::Open)));
    let mut nothing = plan(Vec::new());
    assert!(matches!(Preview::prepare(&mut nothing, "x", &world.previews()), Err(PreviewError::Nothing)));
    assert_eq!(fs::read_dir(world.previews()).unwrap().count(), 0, "nothing is left behind");
}

#[test]
fn previews_may_lie_in_the_folder_that_is_previewed() {
    let world = World::furnished();
    let previews = world.work().join(".state/previews");
    let mut preview = Preview::prepare(&mut world.plan(), "x", &previews).unwrap();
    run_over(&preview, "echo x > new; ls -R > /dev/null || true; rm -r .state 2> /dev/null || true");
    preview.changes(&report(0)).unwrap();
    assert!(
        told(&preview).iter().all(|change| change == "added new" || change.ends_with("withheld")),
        "{:?}",
        told(&preview)
    );
    preview.apply().unwrap();
    assert_eq!(world.read("new"), "x\n");
    assert!(previews.is_dir());
}
