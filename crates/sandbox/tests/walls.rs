//! Attempts to get past the walls, each for real, as root and as an ordinary user. Each may only touch canaries that
//! the stage made.

#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test fails by panicking, and is told by lines"
)]

mod stage;

use std::fs;

use mayi_sandbox::enforcement::{Enforcement, Lack, Mechanism};
use mayi_sandbox::host::Host;
use mayi_sandbox::plan::{Access, Nesting, Place, Sockets, Why};
use mayi_sandbox::report::{Ending, Violation};
use mayi_sandbox::run::{Ahead, Io, Sandbox};
use stage::{Stage, permit, said, twice};

/// Texts that must fail, and must leave no trace.
const ATTEMPTS: &[(&str, &str)] = &[
    ("write beside the workspace", "echo x > ../outside/file"),
    ("create a file beside the workspace", "echo x > $PWD/../new"),
    ("write through /proc", "echo x > /proc/self/root$PWD/../outside/file"),
    ("write through a link", "ln -s ../outside link && echo x > link/file"),
    ("write through /proc/1", "echo x > /proc/1/root$PWD/../outside/file"),
    ("link a file in from outside", "ln ../outside/file inside && echo x > inside"),
    ("rename over a file outside", "echo x > y && mv y ../outside/file"),
    ("read a hidden folder", "cat secret/key"),
    ("list a hidden folder", "ls secret/ | grep key"),
    ("read a hidden file", "cat .env"),
    ("open a hidden folder up", "chmod 755 secret && cat secret/key"),
    ("remove a hidden folder", "rm -rf secret && ! test -e secret"),
    ("read a hidden folder outside", "cat ../vault/key"),
    ("read a hidden folder through /proc", "cat /proc/self/root$PWD/secret/key"),
    ("copy what is hidden", "cp -r secret copy && cat copy/key || ! chmod 700 copy"),
    ("link what is hidden", "ln .env copy && cat copy"),
    ("change a hook", "echo x > .git/hooks/pre-commit"),
    ("change the configuration", "echo x >> .git/config"),
    ("replace the configuration", "echo x > n && mv n .git/config"),
    ("remove the configuration", "rm -f .git/config && ! test -e .git/config"),
    ("link the configuration", "ln .git/config c && echo x >> c"),
    ("move the repository away", "mv .git .git2 && mkdir -p .git/hooks && echo x > .git/hooks/pre-commit"),
    (
        "exchange the repository",
        "mkdir n && python3 -c 'import ctypes,sys; l=ctypes.CDLL(None); sys.exit(0 if l.renameat2(-100,b\"n\",-100,b\".git\",2)==0 else 1)'",
    ),
    ("create a protected file", "echo x > .mcp.json"),
    ("create a protected file as a folder", "mkdir -p .claude && echo x > .claude/settings.json"),
    ("remove a placeholder", "rm -rf .mcp.json && ! test -e .mcp.json"),
    ("move a placeholder", "mv .mcp.json away"),
    ("make a user namespace", "unshare -Ur true"),
    (
        "make a user namespace by clone",
        "python3 -c 'import ctypes,sys; l=ctypes.CDLL(None); sys.exit(0 if l.syscall(56, 0x10000000|17, 0, 0, 0, 0) >= 0 else 1)'",
    ),
    ("unmount a cover", "umount secret && cat secret/key"),
    ("unmount a cover from a namespace", "unshare -Urm umount secret && cat secret/key"),
    ("mount", "mount -t tmpfs none /mnt"),
    ("enter the host's namespaces", "nsenter -t 1 -m true"),
    ("trace", "strace true || gdb --batch -ex run true"),
    (
        "read the first process's memory",
        "head -c1 /proc/1/mem || cat /proc/1/environ || readlink /proc/1/fd/0 || ls /proc/1/root/ || ls /proc/1/cwd/",
    ),
    ("write the first process's memory", "python3 -c 'open(\"/proc/1/mem\",\"r+b\")'"),
    ("kill the first process", "kill -9 1"),
    // Only opened, and nothing written: where the wall is missing, the machine must not suffer.
    ("change the machine", "exec 3<> /proc/sys/kernel/core_pattern"),
    ("use the magic keys", "exec 3>> /proc/sysrq-trigger"),
    ("see other processes", "test $(ls -d /proc/[0-9]* | wc -l) -gt 10"),
    ("keep a capability", "grep -E 'Cap(Eff|Prm|Bnd|Inh|Amb):' /proc/self/status | grep -v 0000000000000000"),
    ("see disks", "ls /dev | grep -E '^(sd|vd|nvme|loop|dm-|mem|kmsg)'"),
    ("use the host's shared memory", "ls /dev/shm | grep ."),
    (
        "use a key ring",
        "python3 -c 'import ctypes,sys; l=ctypes.CDLL(None); sys.exit(0 if l.syscall(250, 0, -3, 0) >= 0 else 1)'",
    ),
    (
        "use io_uring",
        "python3 -c 'import ctypes,sys; l=ctypes.CDLL(None); b=ctypes.create_string_buffer(120); sys.exit(0 if l.syscall(425, 1, b) >= 0 else 1)'",
    ),
    (
        "open a file by its handle",
        "python3 -c 'import ctypes,sys; l=ctypes.CDLL(None); sys.exit(0 if ctypes.get_errno() or l.syscall(304, -100, 0, 0) != -1 else 1)'",
    ),
    (
        "use the second numbering",
        "python3 -c 'import ctypes,sys; l=ctypes.CDLL(None); sys.exit(0 if l.syscall(0x40000000 | 39) > 0 else 1)'",
    ),
    ("make a Unix socket", "python3 -c 'import socket; socket.socket(socket.AF_UNIX)'"),
    ("make a datagram pair", "python3 -c 'import socket; socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)'"),
    ("make a raw socket", "python3 -c 'import socket; socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)'"),
    ("make a packet socket", "python3 -c 'import socket; socket.socket(17, socket.SOCK_RAW, 0)'"),
    ("make a vsock", "python3 -c 'import socket; socket.socket(40, socket.SOCK_STREAM)'"),
    ("reach an address", "python3 -c 'import socket; socket.create_connection((\"192.0.2.1\", 80), 1)'"),
    ("type into the terminal", "python3 -c 'import fcntl, os; m,s=os.openpty(); fcntl.ioctl(s, 0x5412, b\"x\")'"),
    (
        "type into the terminal, with high bits",
        "python3 -c 'import ctypes,os,sys; l=ctypes.CDLL(None); m,s=os.openpty(); sys.exit(0 if l.syscall(16, s, ctypes.c_ulong(0x100005412), b\"x\") == 0 else 1)'",
    ),
];

#[test]
fn no_attempt_succeeds() {
    twice("no_attempt_succeeds", || try_all(Mechanism::Native, &Enforcement::Full));
}

#[test]
fn no_attempt_succeeds_in_bubblewrap() {
    let lacks = Enforcement::Partial(vec![Lack::SecondWall]);
    try_all(Mechanism::Bubblewrap, &lacks);
}

fn try_all(mechanism: Mechanism, enforcement: &Enforcement) {
    for (name, text) in ATTEMPTS {
        // In bubblewrap the first process has no more rights than the command, and no other secrets.
        if mechanism == Mechanism::Bubblewrap && name.contains("the first process") {
            continue;
        }
        let mut stage = Stage::new();
        stage.mechanism = mechanism;
        let seen = stage.run(text);
        assert_ne!(seen.report.ending, Ending::Code(0), "{name}: {}", seen.said);
        assert!(!seen.said.contains("canary"), "{name}: {}", seen.said);
        assert_eq!(fs::read_to_string(stage.path("outside/file")).unwrap(), "outside\n", "{name}");
        assert_eq!(fs::read_to_string(stage.path("work/.git/config")).unwrap(), "[core]\n", "{name}");
        assert_eq!(fs::read_to_string(stage.path("work/secret/key")).unwrap(), "canary\n", "{name}");
        assert!(!stage.path("work/.git/hooks/pre-commit").exists(), "{name}");
        for absent in ["work/.mcp.json", "work/.claude"] {
            assert!(fs::symlink_metadata(stage.path(absent)).is_err(), "{name} left {absent}");
        }
        assert_eq!(seen.report.enforcement, *enforcement);
        assert_eq!(seen.report.mechanism, mechanism);
    }
}

#[test]
fn landlock_alone_holds_what_it_can_and_takes_nothing_else_on() {
    twice("landlock_alone_holds_what_it_can_and_takes_nothing_else_on", || {
        let mut stage = Stage::new();
        stage.mechanism = Mechanism::Landlock;
        let refused = Sandbox::with(stage.plan.clone(), &Host::probe(), Mechanism::Landlock).unwrap_err();
        assert!(refused.to_string().contains("neither hide nor protect"), "{refused}");
        let work = stage.path("work");
        stage.confined().places.retain(|place| place.path == work);
        for (text, wanted) in [
            ("echo x > a && mkdir b && mv a b/ && echo x > /dev/null", Ending::Code(0)),
            ("echo x > ../outside/file", Ending::Code(1)),
            ("mv ../outside/file .", Ending::Code(1)),
            ("python3 -c 'import socket; socket.socket(socket.AF_INET)'", Ending::Code(1)),
            ("python3 -c 'import socket; socket.socket(socket.AF_INET6)'", Ending::Code(1)),
            ("python3 -c 'import socket; socket.socket(socket.AF_UNIX)'", Ending::Code(1)),
            ("unshare -Ur true", Ending::Code(1)),
            ("(setsid sleep 600 &) ; exit 4", Ending::Code(4)),
        ] {
            let seen = stage.run(text);
            assert_eq!(seen.report.ending, wanted, "{text}: {}", seen.said);
            assert_eq!(seen.report.enforcement, Enforcement::Partial(vec![Lack::Processes, Lack::Attributes]));
        }
        let text = format!("kill -0 {}", std::process::id());
        assert_ne!(stage.run(&text).report.ending, Ending::Code(0));
    });
}

/// Texts that must work.
const ORDINARY: &[(&str, &str)] = &[
    ("write in the workspace", "echo x > a && mkdir -p b/c && mv a b/c/ && rm -r b"),
    ("read outside", "cat ../outside/file"),
    ("write to devices", "echo x > /dev/null && head -c4 /dev/urandom > r && head -c4 /dev/zero > z"),
    ("write to the streams by name", "echo x > /dev/stdout && echo x > /dev/stderr"),
    ("use the private places", "echo x > /tmp/x && echo x > /dev/shm/x && test \"$TMPDIR\" = /tmp"),
    ("commit", "git -c user.name=a -c user.email=b commit -q --allow-empty -m x"),
    (
        "stage everything",
        "printf 'secret\n.env\n' > .gitignore; git add -A && ! git diff --cached --name-only | grep -E 'mcp|claude'",
    ),
    (
        "serve on the loopback",
        "python3 -c 'import socket; s=socket.socket(); s.bind((\"127.0.0.1\",0)); s.listen(); socket.create_connection(s.getsockname())'",
    ),
    ("make a pair of sockets", "python3 -c 'import socket; socket.socketpair()'"),
    ("make a terminal", "python3 -c 'import os; m,s=os.openpty(); print(os.ttyname(s))'"),
    ("start threads", "python3 -c 'import threading; t=threading.Thread(target=print); t.start(); t.join()'"),
    ("signal its own", "sleep 60 & kill $!; wait $!; test $? = 143"),
    ("rename inside", "echo x > a && python3 -c 'import os; os.rename(\"a\",\"b\"); os.link(\"b\",\"c\")'"),
    ("keep the umask", "umask 027; mkdir d; test $(stat -c %a d) = 750"),
];

#[test]
fn ordinary_work_goes_on() {
    twice("ordinary_work_goes_on", || {
        for (name, text) in ORDINARY {
            let stage = Stage::new();
            let seen = stage.run(text);
            assert_eq!(seen.report.ending, Ending::Code(0), "{name}: {}", seen.said);
            assert_eq!(seen.report.violations, [], "{name}");
        }
    });
}

#[test]
fn private_devices_stay_usable_whatever_else_is_open() {
    twice("private_devices_stay_usable_whatever_else_is_open", || {
        let text = "echo x > /dev/shm/x && echo x > /dev/null && echo x > /tmp/x && touch file && ! touch /dev/x \
                    && python3 -c 'import os; os.ttyname(os.openpty()[1])'";
        let mut stage = Stage::new();
        let root = Place { path: "/".into(), access: Access::Writable, why: said() };
        stage.confined().places.insert(0, root);
        let seen = stage.run(text);
        assert_eq!(seen.report.ending, Ending::Code(0), "all writable: {}", seen.said);

        let mut stage = Stage::new();
        let folder = tempfile::tempdir_in("/dev/shm").unwrap();
        let place = Place { path: folder.path().to_owned(), access: Access::Writable, why: Why::Temporary };
        stage.confined().places.insert(0, place);
        let seen = stage.run(text);
        assert_eq!(seen.report.ending, Ending::Code(0), "temporary files in /dev/shm: {}", seen.said);
        assert!(folder.path().join("x").exists(), "they are where the plan says");
    });
}

#[test]
fn namespaces_that_waited_too_long_are_replaced() {
    twice("namespaces_that_waited_too_long_are_replaced", || {
        let stage = Stage::new();
        let ahead = Ahead::begin();
        assert!(ahead.is_some());
        std::thread::sleep(std::time::Duration::from_millis(1_300));
        let io = Io { environment: stage.environment.clone(), ahead, ..Io::default() };
        let running = stage.sandbox().spawn(&permit("echo x > /dev/shm/x && ! echo x > ../outside/file"), io).unwrap();
        assert_eq!(running.wait().ending, Ending::Code(0));
        assert_eq!(fs::read_to_string(stage.path("outside/file")).unwrap(), "outside\n");
    });
}

#[test]
fn what_was_refused_is_told_by_path_and_by_call() {
    twice("what_was_refused_is_told_by_path_and_by_call", || {
        let stage = Stage::new();
        let seen = stage
            .run("echo x > ../outside/new; cd .git; echo x > hooks/a; unshare -U true; echo y > ok; cat /dev/null");
        let wanted = [
            Violation::Write { path: stage.path("outside/new") },
            Violation::Write { path: stage.path("work/.git/hooks/a") },
            Violation::Call { name: "unshare".into() },
        ];
        assert_eq!(seen.report.violations, wanted);
        assert_eq!(seen.report.more, 0);
    });
}

#[test]
fn a_narrower_place_is_open_inside_a_hidden_one() {
    twice("a_narrower_place_is_open_inside_a_hidden_one", || {
        let mut stage = Stage::new();
        stage.place("vault/deep/open", Access::ReadOnly, said());
        let seen = stage.run(
            "cat ../vault/deep/open/note; ls ../vault ../vault/deep; cat ../vault/key; echo x > ../vault/deep/open/new",
        );
        assert!(seen.said.contains("opened"), "{}", seen.said);
        assert!(!seen.said.contains("canary"), "{}", seen.said);
        assert!(!stage.path("vault/deep/open/new").exists());
    });
}

#[test]
fn links_to_protected_files_stay_and_their_targets_are_protected() {
    twice("links_to_protected_files_stay_and_their_targets_are_protected", || {
        let mut stage = Stage::new();
        std::os::unix::fs::symlink("elsewhere.json", stage.path("work/linked.json")).unwrap();
        fs::write(stage.path("work/elsewhere.json"), "{}").unwrap();
        stage.place("work/linked.json", Access::ReadOnly, Why::Protected("a test".into()));
        let seen = stage.run("echo x > linked.json; rm -f linked.json; echo y > n; mv n linked.json; mv elsewhere.json z; rm elsewhere.json; cat linked.json");
        assert!(seen.said.ends_with("{}"), "{}", seen.said);
        assert_eq!(fs::read_to_string(stage.path("work/elsewhere.json")).unwrap(), "{}");
        assert_eq!(fs::read_link(stage.path("work/linked.json")).unwrap().to_str(), Some("elsewhere.json"));
    });
}

#[test]
fn unix_sockets_are_reached_only_where_the_plan_says_so() {
    twice("unix_sockets_are_reached_only_where_the_plan_says_so", || {
        let mut stage = Stage::new();
        let path = stage.path("outside/socket");
        let _listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
        let text = format!("python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect(\"{}\")'", path.display());
        assert_ne!(stage.run(&text).report.ending, Ending::Code(0));
        stage.plan.sockets = Sockets::All;
        let seen = stage.run(&text);
        assert_eq!(seen.report.ending, Ending::Code(0), "{}", seen.said);
    });
}

#[test]
fn the_hosts_loopback_and_abstract_sockets_are_out_of_reach() {
    twice("the_hosts_loopback_and_abstract_sockets_are_out_of_reach", || {
        let mut stage = Stage::new();
        stage.plan.sockets = Sockets::All;
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let name = format!("mayi-test-{port}");
        let address =
            <std::os::unix::net::SocketAddr as std::os::linux::net::SocketAddrExt>::from_abstract_name(&name).unwrap();
        let _abstract = std::os::unix::net::UnixListener::bind_addr(&address).unwrap();
        for text in [
            format!("python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", {port}), 1)'"),
            format!("python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect(\"\\0{name}\")'"),
            format!("kill -0 {}", std::process::id()),
        ] {
            let seen = stage.run(&text);
            assert_ne!(seen.report.ending, Ending::Code(0), "{text}: {}", seen.said);
        }
    });
}

#[test]
fn a_sandbox_inside_works_only_where_the_plan_says_so() {
    twice("a_sandbox_inside_works_only_where_the_plan_says_so", || {
        let mut stage = Stage::new();
        let text = "bwrap --ro-bind / / --bind $PWD $PWD --unshare-user --unshare-pid --dev-bind /dev /dev sh -c 'echo x > inner; cat secret/key; echo y > ../outside/file'; cat inner";
        assert!(!stage.run(text).said.contains("x\n"));
        stage.plan.nesting = Nesting::Possible;
        let seen = stage.run(text);
        assert!(seen.said.ends_with("x\n"), "{}", seen.said);
        assert!(!seen.said.contains("canary"), "{}", seen.said);
        assert_eq!(fs::read_to_string(stage.path("outside/file")).unwrap(), "outside\n");
    });
}
