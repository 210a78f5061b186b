//! Runs from their start to their end: streams, variables, signals, codes, cleaning up, and the errors on the way.

#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test fails by panicking, and is told by lines"
)]

mod stage;

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use mayi_sandbox::enforcement::Mechanism;
use mayi_sandbox::host::Host;
use mayi_sandbox::plan::{Access, Confined, Files, HiddenPattern, Hosts, Nesting, Network, Why};
use mayi_sandbox::report::Ending;
use mayi_sandbox::run::{Io, Overlay, Sandbox, SpawnError, Stream};
use stage::{Stage, permit, said, twice};

/// Says to a test that it is the one to be killed.
const VICTIM: &str = "MAYI_STAGE_VICTIM";

#[test]
fn a_run_ends_as_its_command_does() {
    twice("a_run_ends_as_its_command_does", || {
        for (text, wanted) in [
            ("exit 7", Ending::Code(7)),
            ("true", Ending::Code(0)),
            ("kill -TERM $$", Ending::Signal(15)),
            ("no-such-program-here; exit $?", Ending::Code(127)),
            ("sleep 600 & exit 3", Ending::Code(3)),
            ("(setsid sleep 600 &) ; exit 4", Ending::Code(4)),
        ] {
            assert_eq!(Stage::new().run(text).report.ending, wanted, "{text}");
        }
    });
}

#[test]
fn what_cannot_be_executed_is_said_with_a_shells_code() {
    let stage = Stage::new();
    fs::write(stage.path("work/plain"), "no program").unwrap();
    for (text, code) in [("no-such-program-here", 127), ("./plain", 126), ("./none", 127), ("../vault/deep/x", 127)] {
        let error = stage.try_run(text).unwrap_err();
        assert_eq!(error.code(), code, "{text}: {error}");
    }
}

#[test]
fn a_plan_that_cannot_be_laid_out_runs_nothing() {
    let mut stage = Stage::new();
    std::os::unix::fs::symlink("circle", stage.path("work/circle")).unwrap();
    stage.place("work/circle", Access::Hidden, said());
    let error = stage.try_run("touch ran").unwrap_err();
    assert!(matches!(error, SpawnError::Layout(_)), "{error}");
    assert!(error.to_string().contains("circle"), "{error}");
    assert!(!stage.path("work/ran").exists());
}

#[test]
fn a_folder_that_is_gone_is_named() {
    let mut stage = Stage::new();
    stage.plan.directory = stage.path("work/gone");
    let error = stage.try_run("true").unwrap_err().to_string();
    assert!(error.contains("work/gone"), "{error}");
}

#[test]
fn variables_are_taken_away_and_added() {
    let mut stage = Stage::new();
    stage.plan.environment.removed = vec!["SECRET_KEY".into(), "AWS_*".into()];
    for name in ["SECRET_KEY", "AWS_TOKEN", "KEPT"] {
        stage.environment.push((name.into(), "value".into()));
    }
    let said = stage.run("env; true").said;
    assert!(said.contains("KEPT=value") && said.contains("TMPDIR=/tmp"), "{said}");
    assert!(!said.contains("SECRET_KEY") && !said.contains("AWS_"), "{said}");
}

#[test]
fn no_descriptor_is_inherited_but_the_streams() {
    let stage = Stage::new();
    let folder = fs::File::open(stage.path("outside")).unwrap();
    rustix::io::fcntl_setfd(&folder, rustix::io::FdFlags::empty()).unwrap();
    let said = stage.run("ls /proc/self/fd | tr '\\n' ' '; true").said;
    assert_eq!(said.trim(), "0 1 2 3", "the third is the listing itself");
}

#[test]
fn a_folder_is_no_stream() {
    let stage = Stage::new();
    let folder = OwnedFd::from(fs::File::open(stage.path("outside")).unwrap());
    let io = Io { stdin: Stream::Fd(folder), environment: stage.environment.clone(), ..Io::default() };
    let error = stage.sandbox().spawn(&permit("true"), io).unwrap_err();
    assert!(matches!(error, SpawnError::Folder("input")), "{error}");
}

#[test]
fn a_stream_that_is_a_file_can_be_opened_again_by_name() {
    let stage = Stage::new();
    let file = fs::File::create(stage.path("outside/log")).unwrap();
    let io = Io { stdout: Stream::Fd(file.into()), environment: stage.environment.clone(), ..Io::default() };
    let report = stage.sandbox().spawn(&permit("echo x >> /dev/stdout"), io).unwrap().wait();
    assert_eq!(report.ending, Ending::Code(0));
    assert_eq!(fs::read_to_string(stage.path("outside/log")).unwrap(), "x\n");
}

#[test]
fn a_signal_reaches_the_command_and_its_children() {
    let stage = Stage::new();
    let (output, input) = std::io::pipe().unwrap();
    let io = Io { stdout: Stream::Fd(input.into()), environment: stage.environment.clone(), ..Io::default() };
    let running = stage.sandbox().spawn(&permit("echo up; sleep 600; true"), io).unwrap();
    let mut line = String::new();
    BufReader::new(output).read_line(&mut line).unwrap();
    running.signal(15);
    assert_eq!(running.wait().ending, Ending::Signal(15));
}

#[test]
fn names_that_must_not_appear_are_removed_and_told() {
    twice("names_that_must_not_appear_are_removed_and_told", || {
        let mut stage = Stage::new();
        let names = ["work/HEAD", "work/objects", "work/refs", "work/config"].map(|name| stage.path(name));
        fs::write(stage.path("work/refs"), "was here").unwrap();
        stage.confined().scrubbed = names.to_vec();
        let seen = stage.run("echo x > HEAD; mkdir -p objects/a; echo y > refs; ln -s ../outside config");
        assert_eq!(seen.report.scrubbed, [&names[0], &names[1], &names[3]].map(Clone::clone));
        assert_eq!(fs::read_to_string(&names[2]).unwrap(), "y\n", "what was there before stays");
        assert!(stage.path("outside/file").exists());
    });
}

#[test]
fn git_takes_no_notice_of_what_holds_a_place() {
    let mut stage = Stage::new();
    for name in ["work/.gitconfig", "work/.mcp.json", "work/.claude"] {
        stage.place(name, Access::ReadOnly, Why::Protected("a test".into()));
    }
    let made = std::process::Command::new("git").args(["init", "-q"]).current_dir(stage.path("work")).status().unwrap();
    assert!(made.success());
    let seen = stage.run("touch mine && git status --short");
    assert!(seen.said.contains("?? mine"), "{}", seen.said);
    assert!(!seen.said.contains(".gitconfig") && !seen.said.contains(".mcp.json"), "{}", seen.said);
}

#[test]
fn a_project_may_make_folders_called_config_and_hooks() {
    let mut stage = Stage::new();
    let names = ["work/HEAD", "work/objects", "work/refs", "work/config", "work/hooks"].map(|name| stage.path(name));
    stage.confined().scrubbed = names.to_vec();
    let seen = stage.run("mkdir config hooks && echo x > config/app.yml");
    assert_eq!(seen.report.scrubbed, [] as [std::path::PathBuf; 0]);
    assert!(stage.path("work/config/app.yml").exists() && stage.path("work/hooks").exists());
}

#[test]
fn a_new_repository_keeps_nothing_that_git_would_run() {
    let mut stage = Stage::new();
    fs::create_dir(stage.path("work/new")).unwrap();
    stage.place("work/new/.git/hooks", Access::ReadOnly, Why::Protected("a test".into()));
    stage.place("work/new/.git/config", Access::ReadOnly, Why::Protected("a test".into()));
    let seen =
        stage.run("git init -q new && echo x > new/.git/hooks/pre-commit && git -C new config core.fsmonitor ./x");
    assert_eq!(seen.report.ending, Ending::Code(0), "{}", seen.said);
    assert!(!stage.path("work/new/.git/hooks/pre-commit").exists());
    assert!(!fs::read_to_string(stage.path("work/new/.git/config")).unwrap().contains("fsmonitor"));
    assert_eq!(seen.report.scrubbed.len(), 2, "{:?}", seen.report.scrubbed);
}

#[test]
fn two_runs_share_their_placeholders() {
    let stage = Stage::new();
    let (output, input) = std::io::pipe().unwrap();
    let io = Io { stdout: Stream::Fd(input.into()), environment: stage.environment.clone(), ..Io::default() };
    let first = stage.sandbox().spawn(&permit("echo up; read x < /dev/zero; sleep 600"), io).unwrap();
    let mut line = String::new();
    BufReader::new(output).read_line(&mut line).unwrap();
    // The second begins while the first is there, and must not take the first's away when it ends.
    assert_ne!(stage.run("echo x > .mcp.json").report.ending, Ending::Code(0));
    assert!(stage.path("work/.mcp.json").is_dir());
    drop(first);
    assert!(!stage.path("work/.mcp.json").exists());
}

#[test]
fn names_beside_our_own_folder_are_names_of_one_socket_until_the_last_run_ends() {
    for ours in ["absent", "there"] {
        let mut stage = Stage::new();
        for name in ["work/.mayi", "work/.envrc"] {
            stage.place(name, Access::ReadOnly, Why::Protected("a test".into()));
        }
        if ours == "there" {
            fs::create_dir(stage.path("work/.mayi")).unwrap();
        }
        let (output, input) = std::io::pipe().unwrap();
        let io = Io { stdout: Stream::Fd(input.into()), environment: stage.environment.clone(), ..Io::default() };
        let first = stage.sandbox().spawn(&permit("echo up; read x < /dev/zero; sleep 600"), io).unwrap();
        BufReader::new(output).read_line(&mut String::new()).unwrap();
        let number = |name: &str| {
            let found = fs::symlink_metadata(stage.path(name)).unwrap();
            assert!(found.file_type().is_socket(), "{name}");
            found.ino()
        };
        assert_eq!(number("work/.envrc"), number("work/.mcp.json"));
        // The second has a name more, and leaves it to the first.
        stage.place("work/.npmrc", Access::ReadOnly, Why::Protected("a test".into()));
        for attempt in ["echo x > .npmrc", "rm -rf .envrc", "mv .mcp.json away", "mkdir .npmrc", "ln -sf x .envrc"] {
            assert_ne!(stage.run(attempt).report.ending, Ending::Code(0), "{attempt}");
        }
        assert!(fs::symlink_metadata(stage.path("work/.envrc")).unwrap().file_type().is_socket());
        drop(first);
        let left = |name: &&str| fs::symlink_metadata(stage.path(name)).is_ok();
        assert!(!["work/.envrc", "work/.npmrc", "work/.mcp.json"].iter().any(left));
        assert_eq!(stage.path("work/.mayi").exists(), ours == "there");
    }
}

#[test]
fn what_somebody_puts_at_a_placeholders_place_stays() {
    let stage = Stage::new();
    let seen = stage.run("true; true");
    assert_eq!(seen.report.ending, Ending::Code(0));
    fs::create_dir(stage.path("work/.mcp.json")).unwrap();
    stage.run("true; true");
    assert!(stage.path("work/.mcp.json").is_dir(), "an empty folder that is no placeholder");
    // What a run left that lost its machine is taken away by the next.
    fs::set_permissions(stage.path("work/.mcp.json"), fs::Permissions::from_mode(0o1555)).unwrap();
    stage.run("true; true");
    assert!(!stage.path("work/.mcp.json").exists());
}

#[test]
fn nothing_is_left_when_the_caller_is_killed() {
    if let Some(folder) = std::env::var_os(VICTIM) {
        return wait_to_be_killed(Path::new(&folder));
    }
    let stage = Stage::new();
    let mut victim = Command::new(std::env::current_exe().unwrap())
        .args(["nothing_is_left_when_the_caller_is_killed", "--exact", "--nocapture"])
        .env(VICTIM, stage.folder.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(victim.stdout.take().unwrap()).lines();
    let inside = lines.by_ref().map(Result::unwrap).find_map(|line| line.strip_prefix("inside ").map(str::to_owned));
    let inside: u32 = inside.unwrap().trim().parse().unwrap();
    assert!(stage.path("work/.mcp.json").is_dir());
    victim.kill().unwrap();
    victim.wait().unwrap();
    let patience = Instant::now() + Duration::from_secs(20);
    while stage.path("work/.mcp.json").exists() || Path::new(&format!("/proc/{inside}")).exists() {
        assert!(Instant::now() < patience, "something is left");
        std::thread::yield_now();
    }
}

fn wait_to_be_killed(folder: &Path) {
    let work = folder.canonicalize().unwrap().join("work");
    let mut plan = Stage::empty_plan(&work);
    let places = vec![
        place(&work, Access::Writable, Why::WorkingDirectory),
        place(&work.join(".mcp.json"), Access::ReadOnly, Why::Protected("a test".into())),
    ];
    plan.files = Files::Confined(Confined { places, ..Confined::default() });
    let io = Io { environment: std::env::vars_os().collect(), ..Io::default() };
    let sandbox = Sandbox::with(plan, &Host::probe(), Mechanism::Native).unwrap();
    let running = sandbox.spawn(&permit("sleep 600; true"), io).unwrap();
    println!("inside {}", running.id());
    std::io::stdout().flush().unwrap();
    running.wait();
}

fn place(path: &Path, access: Access, why: Why) -> mayi_sandbox::plan::Place {
    mayi_sandbox::plan::Place { path: path.to_owned(), access, why }
}

#[test]
fn the_listener_inside_is_served_from_outside() {
    twice("the_listener_inside_is_served_from_outside", || {
        let mut stage = Stage::new();
        stage.plan.network = Network::Proxied(Hosts::default());
        let text = "echo $http_proxy; python3 -c 'import socket; s=socket.create_connection((\"127.0.0.1\",3128)); s.sendall(b\"hello\"); print(s.recv(9))'";
        let (output, input) = std::io::pipe().unwrap();
        let io = Io { stdout: Stream::Fd(input.into()), environment: stage.environment.clone(), ..Io::default() };
        let mut running = stage.sandbox().spawn(&permit(text), io).unwrap();
        let listener = std::net::TcpListener::from(running.listener().unwrap());
        let (mut stream, _): (TcpStream, _) = listener.accept().unwrap();
        let mut heard = [0; 5];
        stream.read_exact(&mut heard).unwrap();
        stream.write_all(b"back").unwrap();
        drop(stream);
        let mut said = String::new();
        { output }.read_to_string(&mut said).unwrap();
        assert_eq!(running.wait().ending, Ending::Code(0));
        assert!(said.contains("127.0.0.1:3128") && said.contains("back"), "{said}");
    });
}

#[test]
fn ten_thousand_hidden_files_are_covered() {
    let mut stage = Stage::new();
    fs::create_dir(stage.path("vault2")).unwrap();
    for number in 0..10_000 {
        fs::write(stage.path(&format!("vault2/{number}")), "canary").unwrap();
    }
    let folder = stage.path("vault2");
    stage
        .confined()
        .places
        .extend((0..10_000).map(|number| place(&folder.join(number.to_string()), Access::Hidden, said())));
    stage.confined().places.sort_by(|one, other| one.path.cmp(&other.path));
    let begin = Instant::now();
    let seen = stage.run("cat ../vault2/* 2>/dev/null | head -c 20; true");
    assert_eq!(seen.said, "");
    assert!(begin.elapsed() < Duration::from_secs(60), "{:?}", begin.elapsed());
}

#[test]
fn a_layer_takes_every_change_and_the_folder_none() {
    twice("a_layer_takes_every_change_and_the_folder_none", || {
        let stage = Stage::new();
        for name in ["upper", "scratch"] {
            fs::create_dir(stage.path(name)).unwrap();
        }
        let overlay = Overlay { lower: stage.path("work"), upper: stage.path("upper"), work: stage.path("scratch") };
        let io = Io { environment: stage.environment.clone(), overlays: vec![overlay], ..Io::default() };
        let text = "echo x > new; echo x > file; echo x > .git/new; ! (echo x > .git/hooks/new) && ! cat secret/key";
        let report = stage.sandbox().spawn(&permit(text), io).unwrap().wait();
        assert_eq!(report.ending, Ending::Code(0));
        for (name, wanted) in
            [("upper/new", "x\n"), ("upper/file", "x\n"), ("upper/.git/new", "x\n"), ("work/file", "plain\n")]
        {
            assert_eq!(fs::read_to_string(stage.path(name)).unwrap(), wanted, "{name}");
        }
        // The kernel's own folder can be entered by nobody, and must be removed all the same.
        fs::set_permissions(stage.path("scratch/work"), fs::Permissions::from_mode(0o700)).unwrap();
        for name in ["work/new", "work/.git/new", "work/.git/hooks/new", "upper/.git/hooks/new"] {
            assert!(!stage.path(name).exists(), "{name}");
        }
    });
}

#[test]
fn repositories_inside_are_protected_wherever_their_parts_are() {
    twice("repositories_inside_are_protected_wherever_their_parts_are", || {
        let stage = Stage::new();
        for name in ["work/a/b/.git/hooks", "work/sub", "work/.git/modules/sub/hooks"] {
            fs::create_dir_all(stage.path(name)).unwrap();
        }
        fs::write(stage.path("work/a/b/.git/config"), "[core]\n").unwrap();
        fs::write(stage.path("work/.git/modules/sub/config"), "[core]\n").unwrap();
        fs::write(stage.path("work/sub/.git"), "gitdir: ../.git/modules/sub\n").unwrap();
        for text in [
            "echo x > a/b/.git/hooks/pre-commit",
            "echo x >> a/b/.git/config",
            "mv a/b a/c",
            "mv a/b/.git a/b/.git2",
            "echo x > .git/modules/sub/hooks/post-checkout",
            "echo x >> .git/modules/sub/config",
            "echo 'gitdir: /elsewhere' > sub/.git",
            "mv sub other",
        ] {
            assert_ne!(stage.run(text).report.ending, Ending::Code(0), "{text}");
        }
    });
}

#[test]
fn a_linked_work_tree_can_commit_but_not_change_hooks() {
    twice("a_linked_work_tree_can_commit_but_not_change_hooks", || {
        let mut stage = Stage::new();
        let folder = stage.path("main");
        let tree = stage.path("tree");
        let git = |words: &[&str], at: &Path| {
            let mut done = Command::new("git");
            done.args(["-c", "user.name=a", "-c", "user.email=b"]).args(words).current_dir(at);
            assert!(done.env("HOME", "/").output().unwrap().status.success(), "{words:?}");
        };
        fs::create_dir(&folder).unwrap();
        git(&["init", "-q"], &folder);
        git(&["commit", "-q", "--allow-empty", "-m", "x"], &folder);
        git(&["worktree", "add", "-q", "../tree"], &folder);
        stage.plan.directory.clone_from(&tree);
        stage.place("tree", Access::Writable, Why::WorkingDirectory);
        for name in ["tree/.git/hooks", "tree/.git/config"] {
            stage.place(name, Access::ReadOnly, Why::Protected("a test".into()));
        }
        let seen = stage.run("git -c user.name=a -c user.email=b commit -q --allow-empty -m y; exit $?");
        assert_eq!(seen.report.ending, Ending::Code(0), "{}", seen.said);
        for text in [
            "echo x > ../main/.git/hooks/pre-commit",
            "git config core.fsmonitor x",
            "echo x > ../main/file",
            "echo x > .git",
        ] {
            assert_ne!(stage.run(text).report.ending, Ending::Code(0), "{text}");
        }
        // A file that only claims to belong to a repository opens nothing.
        fs::create_dir_all(stage.path("outside/.git/worktrees/w")).unwrap();
        fs::write(stage.path("outside/.git/HEAD"), "").unwrap();
        fs::write(stage.path("outside/.git/worktrees/w/commondir"), "../..\n").unwrap();
        fs::write(tree.join(".git"), format!("gitdir: {}\n", stage.path("outside/.git/worktrees/w").display()))
            .unwrap();
        assert_ne!(stage.run("echo x > ../outside/.git/new").report.ending, Ending::Code(0));
    });
}

#[test]
fn patterns_hide_what_matches_them() {
    let mut stage = Stage::new();
    fs::create_dir_all(stage.path("work/deep/er")).unwrap();
    fs::write(stage.path("work/deep/er/a.pem"), "canary").unwrap();
    let base = stage.path("work");
    stage.confined().patterns.push(HiddenPattern { base, glob: "**/*.pem".into(), why: said() });
    let seen = stage.run("cat deep/er/a.pem || mv deep/er deep/other");
    assert_ne!(seen.report.ending, Ending::Code(0));
    assert!(!seen.said.contains("canary"), "{}", seen.said);
}

/// Says to a test that it plays inside a sandbox.
const INNER: &str = "MAYI_STAGE_INNER";

#[test]
fn a_run_inside_a_run_is_refused_in_words_or_works_where_the_plan_says_so() {
    if std::env::var_os(INNER).is_some() {
        return run_inside(Path::new("/var/tmp"));
    }
    let mut stage = Stage::new();
    stage.environment.push((INNER.into(), "1".into()));
    let name = "a_run_inside_a_run_is_refused_in_words_or_works_where_the_plan_says_so";
    // Where the tests were built may be below /tmp, which is another one inside.
    let program = stage.path("work/tests");
    fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    let text = format!("{} {name} --exact --nocapture", program.display());
    let said = stage.run(&text).said;
    assert!(said.contains("this machine cannot confine the command: user namespaces are refused"), "{said}");
    assert!(said.contains("help: ") && said.contains("landlock ran: Code(0)"), "{said}");
    stage.plan.nesting = Nesting::Possible;
    let said = stage.run(&text).said;
    assert!(said.contains("inner ran: Code(0)"), "{said}");
}

fn run_inside(folder: &Path) {
    let mut plan = Stage::empty_plan(folder);
    plan.nesting = Nesting::Possible;
    match Sandbox::with(plan, &Host::probe(), Mechanism::Native) {
        Ok(sandbox) => {
            let io = Io { environment: std::env::vars_os().collect(), ..Io::default() };
            println!("inner ran: {:?}", sandbox.spawn(&permit("true; true"), io).unwrap().wait().ending);
        }
        Err(refused) => println!("{refused}"),
    }
    // Landlock needs nobody's leave.
    let sandbox = Sandbox::with(Stage::empty_plan(folder), &Host::probe(), Mechanism::Landlock).unwrap();
    let io = Io { environment: std::env::vars_os().collect(), ..Io::default() };
    println!("landlock ran: {:?}", sandbox.spawn(&permit("echo x > x; test ! -e x"), io).unwrap().wait().ending);
}

#[test]
fn a_repository_without_a_working_tree_keeps_its_hooks() {
    let stage = Stage::new();
    for name in ["work/HEAD", "work/objects", "work/refs", "work/hooks"] {
        fs::create_dir(stage.path(name)).unwrap();
    }
    assert_ne!(stage.run("echo x > hooks/pre-commit").report.ending, Ending::Code(0));
    assert_ne!(stage.run("echo x > config").report.ending, Ending::Code(0));
    assert_eq!(stage.run("echo x > refs/new").report.ending, Ending::Code(0));
}

#[test]
fn open_files_leave_the_other_walls_standing() {
    twice("open_files_leave_the_other_walls_standing", || {
        let mut stage = Stage::new();
        stage.plan.files = Files::Open;
        let seen = stage.run("echo x > ../outside/new");
        assert_eq!((seen.report.ending, seen.report.violations), (Ending::Code(0), Vec::new()));
        assert!(stage.path("outside/new").exists());
        for text in [
            "python3 -c 'import socket; socket.create_connection((\"192.0.2.1\", 80), 1)'",
            "unshare -Ur true",
            "test $(ls -d /proc/[0-9]* | wc -l) -gt 10",
            "exec 3<> /proc/sys/kernel/core_pattern",
        ] {
            assert_ne!(stage.run(text).report.ending, Ending::Code(0), "{text}");
        }
    });
}
