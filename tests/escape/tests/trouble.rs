//! Trouble: runners that are killed, links that change under one's feet, settings that make no sense, full disks.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use mayi_escape_tests::attempt::Policy;
use mayi_escape_tests::trial::{command, confined, left_behind, prepare, processes, start};
use mayi_escape_tests::{Ground, Level, Person, World};
use serde_json::{Value, json};

/// Runs a script natively; its code, what it said and what was said about it.
fn run(world: &World, ground: &Ground, script: &str) -> Result<(Option<i32>, String, String)> {
    let mut words = confined(world, Level::Native, ground);
    words.push(script.into());
    let output = start(ground, words)?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ok((output.status.code(), text(&output.stdout), text(&output.stderr)))
}

/// Adds to a list of the sandbox's settings.
fn say(ground: &Ground, list: &str, entries: &[String]) -> Result<()> {
    let path = ground.folder().join("home/.config/mayi/settings.json");
    let mut settings: Value = serde_json::from_str(&fs::read_to_string(&path)?)?;
    let known = settings.pointer_mut(&format!("/sandbox/filesystem/{list}")).and_then(Value::as_array_mut);
    known.with_context(|| format!("there is no {list}"))?.extend(entries.iter().map(|entry| json!(entry)));
    fs::write(path, settings.to_string())?;
    Ok(())
}

/// Waits until something holds. A minute is for machines that do much else.
fn until(what: &str, holds: impl Fn() -> bool) -> Result<()> {
    let ending = Instant::now() + Duration::from_secs(60);
    while !holds() {
        if Instant::now() > ending {
            bail!("{what}: waited for a minute");
        }
        thread::yield_now();
    }
    Ok(())
}

#[test]
fn a_killed_runner_leaves_nothing_behind() -> Result<()> {
    let world = World::start("killed")?;
    prepare(&world)?;
    for person in Person::all() {
        for level in [Level::Native, Level::Bubblewrap] {
            let mut ground = Ground::lay(&world, "killed", (person, level, Policy::Usual))?;
            let running = ground.folder().join("project/scratch/running");
            let mut words = confined(&world, level, &ground);
            words.push("setsid sleep 600 & echo x > scratch/running; sleep 600".into());
            let mut child = command(&ground, words).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
            until("the command starts", || running.exists())?;
            let runner: i32 = fs::read_to_string(ground.folder().join("runner.pid"))?.trim().parse()?;
            let runner = rustix::process::Pid::from_raw(runner).context("a process has a number")?;
            rustix::process::kill_process(runner, rustix::process::Signal::KILL)?;
            child.wait()?;
            until("everything ends", || processes(ground.token()).is_empty())
                .with_context(|| format!("{person:?} {level:?}: {:?}", processes(ground.token())))?;
            let damage: Vec<String> =
                ground.damage()?.into_iter().filter(|path| !path.starts_with("tmp/mayi-")).collect();
            ensure!(damage.is_empty(), "{person:?} {level:?}: {damage:?}");
            // Nobody is left to remove the private folder; whoever runs next does.
            run(&world, &ground, "true")?;
            left_behind(ground.token());
            ensure!(ground.damage()?.is_empty(), "{person:?} {level:?}: {:?}", ground.damage()?);
        }
    }
    Ok(())
}

#[test]
fn links_that_change_meanwhile_lead_nowhere() -> Result<()> {
    let world = World::start("swapped")?;
    prepare(&world)?;
    for person in Person::all() {
        let mut ground = Ground::lay(&world, "swapped", (person, Level::Native, Policy::Unborn))?;
        fs::create_dir(ground.folder().join("outside/hooks"))?;
        for path in ["outside/hooks/canary", "outside/config", "outside/HEAD"] {
            fs::write(ground.folder().join(path), "[core]\n\tfsmonitor = untouched\n")?;
        }
        let scratch = ground.folder().join("project/scratch");
        let names = ["HEAD", "config", "hooks", ".claude", ".mcp.json", ".git"]
            .map(|name| ground.folder().join("project").join(name));
        let outside = ground.folder().join("outside");
        let over = AtomicBool::new(false);
        thread::scope(|scope| -> Result<()> {
            // A neighbour that writes in the project as well, and changes it all the time.
            scope.spawn(|| {
                let (inner, swap) = (scratch.join("inner"), scratch.join("swap"));
                let _ = fs::create_dir(&inner);
                while !over.load(Ordering::Relaxed) {
                    for target in [&outside, &inner] {
                        let _ = symlink(target, scratch.join("next"));
                        let _ = fs::rename(scratch.join("next"), &swap);
                        for name in &names {
                            let _ = symlink(target, name);
                            let _ = fs::remove_file(name);
                        }
                    }
                }
            });
            let ending = Instant::now() + Duration::from_secs(3);
            let mut runs = 0;
            while Instant::now() < ending || runs < 3 {
                let script = "for x in HEAD config hooks .claude .mcp.json .git scratch/swap; do echo taken over > $x/canary; \
                              rm -rf $x; done; mkdir -p .git/hooks; echo x > .git/hooks/y; echo '[alias]' > .git/config";
                run(&world, &ground, script)?;
                runs += 1;
            }
            over.store(true, Ordering::Relaxed);
            Ok(())
        })?;
        left_behind(ground.token());
        let ours = [
            "project/",
            "outside/hooks is new",
            "outside/hooks/canary is new",
            "outside/config is new",
            "outside/HEAD is new",
        ];
        let damage = ground.damage()?.into_iter();
        let damage: Vec<String> = damage.filter(|line| !ours.iter().any(|known| line.starts_with(known))).collect();
        ensure!(damage.is_empty(), "{person:?}: {damage:?}");
        for path in ["outside/hooks/canary", "outside/config", "outside/HEAD"] {
            let text = fs::read_to_string(ground.folder().join(path))?;
            ensure!(text.contains("untouched"), "{person:?}: {path} holds {text}");
        }
    }
    Ok(())
}

#[test]
fn a_report_is_not_written_where_the_command_leads_it() -> Result<()> {
    let world = World::start("report")?;
    prepare(&world)?;
    for person in Person::all() {
        let ground = Ground::lay(&world, "report", (person, Level::Native, Policy::Usual))?;
        for _ in 0..2 {
            let mut words: Vec<OsString> = vec![world.folder().join("mayi").into()];
            words.extend(["run", "--unattended", "--report", "scratch/report.json", "--"].map(Into::into));
            words.push("ln -sf ../../outside/canary scratch/report.json".into());
            start(&ground, words)?;
            ensure!(fs::read_to_string(ground.folder().join("outside/canary"))? == "untouched", "{person:?}");
        }
    }
    Ok(())
}

#[test]
fn a_link_that_a_command_can_make_opens_nothing_for_the_next_one() -> Result<()> {
    let world = World::start("planted")?;
    prepare(&world)?;
    for person in Person::all() {
        let ground = Ground::lay(&world, "planted", (person, Level::Native, Policy::Usual))?;
        let build = ground.folder().join("project/scratch/build");
        fs::create_dir_all(&build)?;
        say(&ground, "allowWrite", &[build.display().to_string()])?;
        run(&world, &ground, "rm -rf scratch/build; ln -s ../../outside scratch/build")?;
        let (_, _, errors) = run(&world, &ground, "echo taken over > scratch/build/canary")?;
        ensure!(fs::read_to_string(ground.folder().join("outside/canary"))? == "untouched", "{person:?}");
        ensure!(!errors.is_empty());
    }
    Ok(())
}

#[test]
fn links_that_a_repository_brings_along_open_nothing() -> Result<()> {
    let world = World::start("brought")?;
    prepare(&world)?;
    for person in Person::all() {
        for (link, target) in
            [(".claude/worktrees", "../../outside"), (".claude", "../outside"), (".git", "../outside")]
        {
            let ground = Ground::lay(&world, "brought", (person, Level::Native, Policy::Unborn))?;
            let link = ground.folder().join("project").join(link);
            fs::create_dir_all(link.parent().context("a link lies somewhere")?)?;
            fs::create_dir_all(ground.folder().join("outside/worktrees"))?;
            symlink(target, &link)?;
            let script = "for x in canary worktrees/canary; do for y in .claude/worktrees .claude .git; do \
                          echo taken over > $y/$x; done; done";
            run(&world, &ground, script)?;
            let outside = ground.folder().join("outside");
            ensure!(fs::read_to_string(outside.join("canary"))? == "untouched", "{person:?} {}", link.display());
            ensure!(!outside.join("worktrees/canary").exists(), "{person:?} {}", link.display());
        }
        // A file that names a repository elsewhere, which does not know of it.
        let ground = Ground::lay(&world, "brought", (person, Level::Native, Policy::Unborn))?;
        fs::create_dir_all(ground.folder().join("outside/worktrees/mine"))?;
        fs::write(ground.folder().join("outside/HEAD"), "ref: refs/heads/main\n")?;
        fs::write(ground.folder().join("project/.git"), "gitdir: ../outside/worktrees/mine\n")?;
        run(&world, &ground, "echo taken over > ../outside/canary")?;
        ensure!(fs::read_to_string(ground.folder().join("outside/canary"))? == "untouched", "{person:?}");
    }
    Ok(())
}

#[test]
fn commands_that_cannot_run_end_as_in_a_shell() -> Result<()> {
    let world = World::start("codes")?;
    prepare(&world)?;
    for person in Person::all() {
        let ground = Ground::lay(&world, "codes", (person, Level::Native, Policy::Usual))?;
        for (script, code) in [
            ("no-such-program-anywhere", 127),
            ("./README.md", 126),
            ("scratch/", 126),
            ("scratch/nothing/there", 127),
            ("true && no-such-program-anywhere", 127),
        ] {
            let (ended, _, errors) = run(&world, &ground, script)?;
            ensure!(ended == Some(code) && !errors.is_empty(), "{person:?} `{script}`: {ended:?} {errors}");
        }
    }
    Ok(())
}

#[test]
fn settings_that_lead_nowhere_are_told_or_harmless() -> Result<()> {
    let world = World::start("nowhere")?;
    prepare(&world)?;
    for person in Person::all() {
        let ground = Ground::lay(&world, "nowhere", (person, Level::Native, Policy::Usual))?;
        let outside = ground.folder().join("outside");
        symlink(outside.join("loop"), outside.join("loop"))?;
        let long = format!("/{}", "x".repeat(300));
        for (list, entry, runs) in [
            ("denyRead", "/nowhere/at/all".to_owned(), true),
            ("allowWrite", "/nowhere/at/all".to_owned(), true),
            ("denyWrite", "README.md/below/a/file".to_owned(), true),
            ("denyRead", long.clone(), true),
            ("allowWrite", long, true),
            ("allowWrite", outside.join("loop").display().to_string(), false),
            ("denyRead", outside.join("loop").display().to_string(), false),
        ] {
            let before = fs::read(ground.folder().join("home/.config/mayi/settings.json"))?;
            let path = ground.folder().join("home/.config/mayi/settings.json");
            if list == "denyWrite" {
                let mut settings: Value = serde_json::from_slice(&before)?;
                let lists = settings.pointer_mut("/sandbox/filesystem").and_then(Value::as_object_mut);
                lists.context("lists")?.insert("denyWrite".to_owned(), json!([]));
                fs::write(&path, settings.to_string())?;
            }
            say(&ground, list, std::slice::from_ref(&entry))?;
            let (code, said, errors) = run(&world, &ground, "echo ran")?;
            fs::write(&path, before)?;
            let ran = code == Some(0) && said == "ran\n";
            let told = code == Some(1) && said.is_empty() && errors.contains("help:");
            ensure!(if runs { ran } else { ran || told }, "{person:?} {list} {entry}: {code:?} {said} {errors}");
        }
    }
    Ok(())
}

#[test]
fn ten_thousand_denied_paths_are_denied_or_refused_in_time() -> Result<()> {
    let world = World::start("many")?;
    prepare(&world)?;
    let ground = Ground::lay(&world, "many", (Person::Ordinary, Level::Native, Policy::Usual))?;
    let folder = ground.folder().join("project/scratch");
    let absent: Vec<String> =
        (0..10_000).map(|number| folder.join(format!("absent{number}")).display().to_string()).collect();
    say(&ground, "denyRead", &absent)?;
    let since = Instant::now();
    let (code, said, errors) = run(&world, &ground, "echo ran")?;
    ensure!(code == Some(0) && said == "ran\n", "{code:?} {errors}");
    let present: Vec<String> =
        (0..2_000).map(|number| folder.join(format!("present{number}")).display().to_string()).collect();
    for path in &present {
        fs::write(path, "SECRET")?;
        fs::set_permissions(path, fs::Permissions::from_mode(0o644))?;
    }
    say(&ground, "denyRead", &present)?;
    let (code, said, errors) = run(&world, &ground, "cat scratch/present* 2>/dev/null; echo ran")?;
    let told = code == Some(1) && said.is_empty() && errors.contains("help:");
    ensure!(told || (code == Some(0) && said == "ran\n"), "{code:?} {said} {errors}");
    ensure!(since.elapsed() < Duration::from_secs(60), "it took {:?}", since.elapsed());
    Ok(())
}

#[test]
fn folders_that_nobody_may_enter_are_passed_by() -> Result<()> {
    let world = World::start("closed")?;
    prepare(&world)?;
    for person in Person::all() {
        let ground = Ground::lay(&world, "closed", (person, Level::Native, Policy::Usual))?;
        let closed = ground.folder().join("project/scratch/closed");
        fs::create_dir_all(closed.join("inner"))?;
        fs::set_permissions(&closed, fs::Permissions::from_mode(0o000))?;
        say(&ground, "denyRead", &[closed.join("inner/x").display().to_string()])?;
        let (code, said, errors) = run(&world, &ground, "echo ran")?;
        let told = code == Some(1) && said.is_empty() && errors.contains("help:");
        ensure!(told || (code == Some(0) && said == "ran\n"), "{person:?}: {code:?} {errors}");
        fs::set_permissions(&closed, fs::Permissions::from_mode(0o755))?;
    }
    Ok(())
}

/// A file system of one page, over the folder for temporary files, filled.
const FULL: &str = "mount -t tmpfs -o size=4k,nr_inodes=4 none \"$TMPDIR\" && \
                    head -c 9000 /dev/zero > \"$TMPDIR/full\" 2>/dev/null; mkdir \"$TMPDIR/a\" \"$TMPDIR/b\" 2>/dev/null; exec \"$@\"";

#[test]
fn a_full_temporary_folder_is_told() -> Result<()> {
    let world = World::start("full")?;
    prepare(&world)?;
    let ground = Ground::lay(&world, "full", (Person::Ordinary, Level::Native, Policy::Usual))?;
    let mut words: Vec<OsString> =
        ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", FULL, "sh"].map(Into::into).into();
    words.extend(confined(&world, Level::Native, &ground));
    words.push("echo ran".into());
    let output = start(&ground, words)?;
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    ensure!(output.status.code() == Some(1) && output.stdout.is_empty(), "{output:?}");
    ensure!(errors.contains("help:") && !Path::new("/tmp/full").exists(), "{errors}");
    Ok(())
}
