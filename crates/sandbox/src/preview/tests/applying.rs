//! Applying: exactly what was shown, onto originals that nobody changed.

use super::*;

/// Whether applying a preview leaves a folder as running the command in it does.
fn applying_is_running(furniture: &str, script: &str) {
    let [previewed, real] = [World::new(), World::new()];
    for world in [&previewed, &real] {
        sh(&world.work(), furniture);
    }
    let preview = previewed.preview(script);
    preview.apply().unwrap_or_else(|error| panic!("{script}: {error}"));
    sh(&real.work(), script);
    for world in [&previewed, &real] {
        // Only so that the picture can be taken.
        sh(&world.work(), "chmod u+rwx .");
    }
    assert_eq!(picture(&previewed.work()), picture(&real.work()), "{script}");
    let left: Vec<_> = fs::read_dir(previewed.previews()).unwrap().collect();
    assert!(left.is_empty(), "{script}: {left:?}");
}

#[test]
fn applying_a_preview_is_like_running_the_command() {
    for script in [
        "echo new > new; echo more >> one; rm two",
        "rm -r folder",
        "mkdir -p new/deep/deeper; echo x > new/deep/x; echo y > new/y; chmod 500 new/deep; chmod 550 new",
        "chmod 750 folder; rm folder/a; echo c > folder/inner/c",
        "mv folder renamed; echo x > renamed/inner/x",
        "rm -r folder; mkdir folder; echo n > folder/n",
        "rm one; mkdir one; echo x > one/x",
        "rm -r folder; echo x > folder; rm link; mkdir link; echo y > link/y",
        "ln -sf two link; ln -s nowhere dangling; ln -s /etc/passwd outside",
        "echo x > x; ln x y; mkdir z; ln x z/x",
        "echo x >> two; rm -r folder; echo y > folder; chmod 600 one",
        "chmod 755 run.sh; chmod 4755 one; chmod 1777 empty",
        "rm -rf ./*",
        "chmod 555 folder; chmod 444 one; chmod 500 .",
        "chmod 700 folder/inner; echo x > folder/inner/x; chmod 500 folder/inner; chmod 500 folder",
        "for n in $(seq 300); do mkdir d$n; echo $n > d$n/f; done; rm d7/f; rmdir d7",
        "echo x > $'new\\nline'; echo y > $'\\377'; mkdir -p ' space '; : > ' space /-f'",
        "head -c 300000 /dev/zero > zeros; echo x >> zeros; head -c 65536 /dev/zero > exactly",
    ] {
        applying_is_running(FURNITURE, script);
    }
}

#[test]
fn names_of_one_file_in_several_places_do_not_stand_in_each_others_way() {
    let furniture = "echo x > a; mkdir z; ln a z/a; ln a b; ln a y";
    for script in ["echo y >> a; rm -r z", "chmod 600 a; rm -r z", "rm a; rm -r z; echo 1 > b; echo 2 > y"] {
        let world = World::new();
        sh(&world.work(), furniture);
        world.preview(script).apply().unwrap_or_else(|error| panic!("{script}: {error}"));
        assert!(!world.work().join("z").exists(), "{script}");
    }
}

#[test]
fn folders_that_were_shut_can_be_opened_by_the_command() {
    applying_is_running("mkdir shut; echo x > shut/x; chmod 500 shut", "chmod 700 shut; echo y > shut/y; rm shut/x");
}

#[test]
fn new_names_of_one_file_stay_one_file_and_times_are_kept() {
    let world = World::furnished();
    world.preview("echo x > x; ln x y; touch -d 2001-01-01T00:00:00Z x; echo z >> one").apply().unwrap();
    let [x, y] = ["x", "y"].map(|name| world.work().join(name).metadata().unwrap());
    assert_eq!(x.ino(), y.ino());
    assert_eq!(x.mtime(), 978_307_200);
}

#[test]
fn attributes_of_a_file_are_kept_but_for_the_overlays() {
    let world = World::furnished();
    world.preview("python3 -c \"import os; os.setxattr('one', 'user.note', b'mine')\"; echo x >> one").apply().unwrap();
    let mut names = vec![0; 1024];
    let length = rustix::fs::listxattr(world.work().join("one"), &mut names[..]).unwrap();
    assert_eq!(&names[..length], b"user.note\0");
}

#[test]
fn an_original_that_changed_is_never_written() {
    let script = "echo more >> one; rm -r folder; echo x > new; chmod 600 run.sh; ln -sf two link";
    for (meanwhile, named) in [
        ("echo other > one", "one"),
        ("echo one > one", "one"),
        ("cp one x; mv x one", "one"),
        ("chmod 604 one", "one"),
        ("rm one", "one"),
        ("rm one; mkdir one", "one"),
        ("touch folder/inner/late", "folder"),
        ("echo x >> folder/inner/b", "folder"),
        ("rm folder/inner/b", "folder"),
        ("chmod 700 folder/inner", "folder"),
        ("echo y > new", "new"),
        ("mkdir new", "new"),
        ("ln -s /etc/passwd new", "new"),
        ("ln -sf nowhere link", "link"),
        ("chmod 777 run.sh", "run.sh"),
    ] {
        let world = World::furnished();
        let preview = world.preview(script);
        sh(&world.work(), meanwhile);
        let before = picture(&world.work());
        let id = preview.id().to_owned();
        match preview.apply() {
            Err(PreviewError::Changed { paths }) => {
                assert_eq!(paths, [world.work().join(named).display().to_string()], "{meanwhile}");
            }
            other => panic!("{meanwhile}: {other:?}"),
        }
        assert_eq!(picture(&world.work()), before, "{meanwhile}: nothing is applied");
        Preview::load(&world.previews(), &id).unwrap().discard().unwrap();
    }
}

#[test]
fn what_changed_while_the_command_ran_counts_too() {
    for (meanwhile, named) in [("echo other > one", "one"), ("touch folder/late", "folder"), ("echo x > new", "new")] {
        let world = World::furnished();
        let mut preview = Preview::prepare(&mut world.plan(), "x", &world.previews()).unwrap();
        sh(&world.work(), meanwhile);
        run_over(&preview, "echo mine > one; rm -r folder; echo mine > new");
        let set = preview.changes(&report(0)).unwrap();
        let overtaken: Vec<_> =
            set.changes.iter().filter(|change| change.overtaken).map(|change| &change.path).collect();
        assert_eq!(overtaken, [Path::new(named)], "{meanwhile}");
        assert!(set.to_string().contains("(changed by somebody else meanwhile)"));
        assert!(matches!(preview.apply(), Err(PreviewError::Changed { .. })), "{meanwhile}");
    }
}

#[test]
fn what_was_changed_just_before_is_no_reason_to_refuse() {
    for _ in 0..20 {
        let world = World::new();
        world.write("one", "one\n");
        world.preview("echo two > one").apply().unwrap();
        assert_eq!(world.read("one"), "two\n");
    }
}

#[test]
fn a_link_in_the_way_leads_nowhere() {
    let canary = World::furnished();
    let before = picture(&canary.work());
    let elsewhere = canary.work().display().to_string();
    for (script, meanwhile) in [
        ("echo x > folder/new", format!("mv folder old; ln -s {elsewhere}/folder folder")),
        ("echo x > folder/inner/b", format!("mv folder/inner old; ln -s {elsewhere}/folder/inner folder/inner")),
        ("rm -r folder/inner", format!("mv folder old; ln -s {elsewhere}/folder folder")),
        ("echo x > one", format!("rm one; ln -s {elsewhere}/one one")),
        ("chmod 600 one", format!("rm one; ln -s {elsewhere}/one one")),
        ("echo x > one", format!("mv ../work ../gone; ln -s {elsewhere} ../work")),
        ("echo x > one", format!("mv ../work ../gone; cp -a {elsewhere} ../work")),
    ] {
        let world = World::furnished();
        let preview = world.preview(script);
        sh(&world.work(), &meanwhile);
        preview.apply().expect_err(&meanwhile);
        assert_eq!(picture(&canary.work()), before, "{meanwhile}");
    }
}

#[test]
fn what_was_not_shown_is_not_written() {
    let world = World::furnished();
    let preview = world.preview("echo shown > one; echo shown > new");
    let upper = preview.overlays()[0].upper.clone();
    fs::write(upper.join("new"), "other\n").unwrap();
    fs::write(upper.join("unseen"), "x\n").unwrap();
    let before = picture(&world.work());
    assert!(matches!(preview.apply(), Err(PreviewError::Tampered { .. })));
    assert_eq!(picture(&world.work()), before);
}

#[test]
fn protected_places_are_shown_and_never_applied() {
    let world = World::furnished();
    sh(&world.work(), "mkdir -p .git/hooks nested/.git; echo x > .git/config; echo x > nested/.git/config");
    let work = world.work();
    let protected = |path: &str| place(&work.join(path), Access::ReadOnly, Why::Protected("git hooks".to_owned()));
    let mut places = vec![place(&work, Access::Writable, Why::WorkingDirectory)];
    places
        .extend([".git/hooks", ".git/config", "nested/.git/config", ".mcp.json", ".mayi/settings.json"].map(protected));
    places.push(place(&work.join(".git/hooks/free"), Access::Writable, Why::Derived));
    fs::create_dir(work.join(".git/hooks/free")).unwrap();
    let mut plan = plan(places);
    let Files::Confined(files) = &mut plan.files else { panic!() };
    files.scrubbed = ["HEAD", "folder"].map(|name| work.join(name)).to_vec();
    let script = "echo x > .git/hooks/post-commit; echo y > .git/config; rm -r nested; : > .mcp.json
        mkdir .mayi; : > .mayi/settings.json; echo ref > HEAD; echo x > folder/fine; echo x > .git/description";
    let preview = world.preview_under(plan, script);
    assert_eq!(
        told(&preview),
        [
            "modified .git/config withheld",
            "added .git/description",
            "added .git/hooks/post-commit withheld",
            "added HEAD withheld",
            "added folder/fine",
            "deleted nested withheld",
        ]
    );
    assert!(preview.shown().unwrap().to_string().contains("never applied:"));
    let applied = preview.apply().unwrap();
    assert_eq!((applied.changed.len(), applied.withheld.len()), (2, 4));
    assert_eq!(world.read("nested/.git/config") + &world.read(".git/config"), "x\nx\n");
    let there = [".git/description", "folder/fine", ".git/hooks/post-commit", "HEAD", ".mcp.json", ".mayi"];
    let there = there.map(|name| work.join(name).exists());
    assert_eq!(there, [true, true, false, false, false, false]);
}

#[test]
fn several_folders_are_applied_together_or_not_at_all() {
    let [one, two] = [World::furnished(), World::furnished()];
    let both = || plan([&one, &two].map(|world| place(&world.work(), Access::Writable, Why::Derived)).to_vec());
    let script = format!("echo x > one; cd {}; echo y > one", two.work().display());
    let preview = one.preview_under(both(), &script);
    two.write("one", "other\n");
    assert!(matches!(preview.apply(), Err(PreviewError::Changed { .. })));
    assert_eq!(one.read("one") + &two.read("one"), "one\nother\n");
    one.preview_under(both(), &script).apply().unwrap();
    assert_eq!(one.read("one") + &two.read("one"), "x\ny\n");
}

#[test]
fn a_full_disk_leaves_everything_as_it_was() {
    let Some(work) = std::env::var_os("MAYI_TEST_SMALL_DISK") else {
        let folder = tempfile::tempdir().unwrap();
        let program = std::env::current_exe().unwrap();
        let script = format!(
            "mount -t tmpfs -o size=1m,mode=0777 small {0} && MAYI_TEST_SMALL_DISK={0} exec {1} \
             preview::tests::applying::a_full_disk_leaves_everything_as_it_was --exact",
            folder.path().display(),
            program.display()
        );
        let ran = Command::new("unshare").args(["-Urm", "sh", "-c", &script]).output().unwrap();
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stdout));
        return;
    };
    let work = PathBuf::from(work).canonicalize().unwrap();
    sh(&work, "echo one > one; echo two > two; head -c 700000 /dev/zero | tr '\\0' x > filler");
    let before = picture(&work);
    let world = World::new();
    let plan = plan(vec![place(&work, Access::Writable, Why::WorkingDirectory)]);
    let preview = world.preview_under(plan, "echo x > one; rm two; head -c 600000 /dev/urandom > large");
    let id = preview.id().to_owned();
    match preview.apply() {
        Err(PreviewError::Failed { path, source }) => {
            assert_eq!(path, work.join("large").display().to_string());
            assert_eq!(source.kind(), std::io::ErrorKind::StorageFull);
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(picture(&work), before);
    // With room, the same preview can still be applied.
    sh(&work, "rm filler");
    Preview::load(&world.previews(), &id).unwrap().apply().unwrap();
    assert_eq!(fs::read_dir(&work).unwrap().count(), 2);
}
