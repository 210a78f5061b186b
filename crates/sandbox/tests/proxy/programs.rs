//! Real programs: curl, git, Python, OpenSSL. What is not installed is skipped, and said.

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread;

use mayi_sandbox::proxy::inside_environment;

use crate::stage::{Server, Stage, setup};

fn is_there(program: &str) -> bool {
    let found = Command::new(program).arg("--version").output().is_ok();
    if !found {
        eprintln!("skipped: {program} is not installed");
    }
    found
}

/// A program that knows of the proxy by its variables alone.
fn program(name: &str, stage: &Stage) -> Command {
    let mut command = Command::new(name);
    for (name, value) in inside_environment(stage.port) {
        command.env(name, value);
    }
    // Loopback stands for the world here.
    command.env_remove("NO_PROXY").env_remove("no_proxy");
    command
}

fn run(command: &mut Command) -> (bool, String) {
    let Output { status, stdout, stderr } = command.stdin(Stdio::null()).output().unwrap();
    (status.success(), [String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr)].concat())
}

#[test]
fn curl_by_every_protocol() {
    if !is_there("curl") {
        return;
    }
    let web = Server::web();
    let stage = Stage::open(setup(&["a.test", "127.0.0.1"], &[]));
    let socks = format!("socks5h://127.0.0.1:{}", stage.port);
    let ways: [&[&str]; 3] = [&[], &["--proxytunnel"], &["--proxy", &socks]];
    for way in ways {
        let curl = |host: &str| {
            let address = format!("http://{host}:{}/", web.port);
            run(program("curl", &stage).args(["-sS", "--max-time", "20"]).args(way).arg(address))
        };
        assert_eq!(curl("a.test"), (true, "hello".to_owned()), "{way:?}");
        let visits = web.visits();
        let (_, said) = curl("evil.test");
        assert!(!said.contains("hello") && web.visits() == visits, "{way:?}: {said}");
        assert!(!curl("[::1]").1.contains("hello"), "{way:?}");
    }
    let folder = tempfile::tempdir().unwrap();
    let large = folder.path().join("large");
    fs::write(&large, vec![b'x'; 3 << 20]).unwrap();
    let body = format!("@{}", large.display());
    let address = format!("http://a.test:{}/", web.port);
    let sent = run(program("curl", &stage).args(["-sS", "--max-time", "20", "--data-binary", &body, &address]));
    assert_eq!(sent, (true, "hello".to_owned()));
    assert!(!web.heads().concat().to_lowercase().contains("expect:"), "curl was told to go on by the proxy");
    let refusals = stage.refusals();
    assert_eq!(refusals.len(), 2, "{refusals:?}");
}

/// A server of another program, ended with the test.
struct Serving(Child);

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn serving(command: &mut Command, port: u16) -> Serving {
    let child = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let child = Serving(child);
    while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
        thread::yield_now();
    }
    child
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

#[test]
fn git_clones_from_a_listed_host_alone() {
    if !is_there("git") || !is_there("python3") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let git = |arguments: &[&str], directory: &Path| {
        let mut command = Command::new("git");
        command.current_dir(directory).env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
        let (done, said) = run(command.args(["-c", "user.name=x", "-c", "user.email=x@x"]).args(arguments));
        assert!(done, "{arguments:?}: {said}");
    };
    let source = folder.path().join("source");
    fs::create_dir(&source).unwrap();
    git(&["init", "-q"], &source);
    fs::write(source.join("file"), "content").unwrap();
    git(&["add", "file"], &source);
    git(&["commit", "-qm", "one"], &source);
    git(&["update-server-info"], &source);
    let port = free_port();
    let arguments = ["-m", "http.server", "--bind", "127.0.0.1", &port.to_string()];
    let _server = serving(Command::new("python3").args(arguments).current_dir(&source), port);
    let stage = Stage::open(setup(&["a.test", "127.0.0.1"], &[]));
    let socks = format!("http.proxy=socks5h://127.0.0.1:{}", stage.port);
    for (number, way) in [&[][..], &["-c", &socks]].into_iter().enumerate() {
        let clone = |host: &str| {
            let address = format!("http://{host}:{port}/.git");
            let mut command = program("git", &stage);
            command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_TERMINAL_PROMPT", "0");
            let target = folder.path().join(format!("{host}-{number}"));
            (run(command.args(way).args(["clone", "-q", &address]).arg(&target)), target)
        };
        let ((done, said), target) = clone("a.test");
        assert!(done, "{said}");
        assert_eq!(fs::read_to_string(target.join("file")).unwrap(), "content");
        let ((done, said), _) = clone("evil.test");
        assert!(!done, "{said}");
    }
}

#[test]
fn python_shows_why_it_was_refused() {
    if !is_there("python3") {
        return;
    }
    let web = Server::web();
    let stage = Stage::open(setup(&["a.test", "127.0.0.1"], &[]));
    let script = "import sys, urllib.request as u\nprint(u.urlopen(sys.argv[1], timeout=20).read().decode())";
    let python = |address: &str| run(program("python3", &stage).args(["-c", script, address]));
    let (done, said) = python(&format!("http://a.test:{}/", web.port));
    assert!(done && said.trim() == "hello", "{said}");
    for scheme in ["http", "https"] {
        let (done, said) = python(&format!("{scheme}://evil.test:4433/"));
        assert!(!done && said.contains("mayi refused evil.test:4433: not listed"), "{said}");
    }
}

#[test]
fn real_tls_passes_for_the_host_it_was_opened_for_and_for_no_other() {
    if !is_there("curl") || !is_there("openssl") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (key, certificate) = (folder.path().join("key"), folder.path().join("certificate"));
    let made = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"])
        .args(["-subj", "/CN=a.test", "-addext", "subjectAltName=DNS:a.test,DNS:evil.test"])
        .args(["-keyout".as_ref(), key.as_os_str(), "-out".as_ref(), certificate.as_os_str()])
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let port = free_port();
    let mut server = Command::new("openssl");
    server.args(["s_server", "-quiet", "-www", "-accept", &format!("127.0.0.1:{port}")]);
    server.args(["-key".as_ref(), key.as_os_str(), "-cert".as_ref(), certificate.as_os_str()]);
    let _server = serving(&mut server, port);
    let stage = Stage::open(setup(&["a.test", "127.0.0.1"], &[]));
    let curl = |arguments: &[&str]| {
        let mut command = program("curl", &stage);
        run(command.args(["-sS", "--max-time", "20", "--cacert"]).arg(&certificate).args(arguments))
    };
    let (done, said) = curl(&[&format!("https://a.test:{port}/")]);
    assert!(done && said.contains("s_server"), "{said}");
    // The tunnel is opened for the listed host, and the greeting says another.
    let detour = format!("evil.test:{port}:a.test:{port}");
    let (done, said) = curl(&["--connect-to", &detour, &format!("https://evil.test:{port}/")]);
    assert!(!done && said.contains("access denied"), "{said}");
    assert_eq!(stage.refusals(), [format!("a.test:{port}: the TLS greeting is for `evil.test`")]);
}
