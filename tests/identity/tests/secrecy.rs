//! Every command and every failure with secrets that the test knows: none of them is printed, written down outside the
//! store, or to be seen in the list of processes.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use anyhow::{Result, ensure};
use mayi_identity_tests::{Parts, Stage};
use rustix::process::Signal;
use serde_json::{Value, json};

const KEYS: [&str; 4] = [
    "key-that-was-kept-1f6c0b7e4d2a9c85",
    "key-of-a-variable-2e7d1c8f5a3b0d96",
    "key-of-a-helper-3d8e2b9a6c4f1ea7",
    "key-of-nobody-4c9f3aab7d5e2fb8",
];

/// Writes down the words that every process was started with, for as long as it lasts.
struct Watch {
    over: Arc<AtomicBool>,
    thread: JoinHandle<BTreeSet<Vec<u8>>>,
}

impl Watch {
    fn begin() -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let until = Arc::clone(&over);
        let thread = std::thread::spawn(move || {
            let mut seen = BTreeSet::new();
            while !until.load(Ordering::Relaxed) {
                let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
                seen.extend(processes.filter_map(|process| fs::read(process.path().join("cmdline")).ok()));
                std::thread::yield_now();
            }
            seen
        });
        Self { over, thread }
    }

    fn end(self) -> BTreeSet<Vec<u8>> {
        self.over.store(true, Ordering::Relaxed);
        self.thread.join().unwrap_or_default()
    }
}

fn holds(bytes: &[u8], secret: &str) -> bool {
    bytes.windows(secret.len()).any(|piece| piece == secret.as_bytes())
}

/// Every file below a folder that holds a secret.
fn files_with(folder: &Path, secret: &str) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.symlink_metadata()?.is_dir() {
            found.extend(files_with(&path, secret)?);
        } else if path.is_file() && holds(&fs::read(&path)?, secret) {
            found.push(path.display().to_string());
        }
    }
    Ok(found)
}

/// A question of an agent in auto mode, which the model is asked about.
fn hooked(stage: &Stage) -> Result<()> {
    let message = json!({
        "session_id": "s", "cwd": stage.home().join("project"), "permission_mode": "auto",
        "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "frob --all"}, "tool_use_id": "1",
    });
    let said = stage.fed(&["hook", "claude-code"], &message.to_string())?;
    ensure!(said.code == 0 && said.out.contains("permissionDecision"), "{said:#?}");
    Ok(())
}

/// Everything that talks about credentials or uses them.
fn every_command(stage: &Stage) -> Result<()> {
    hooked(stage)?;
    for arguments in [
        &["whoami"][..],
        &["whoami", "--json"],
        &["doctor"],
        &["doctor", "--json"],
        &["explain", "frob"],
        &["explain", "--json", "frob"],
        &["classifier", "stats", "--json"],
        &["check", "--json", "frob"],
    ] {
        stage.mayi(arguments)?;
    }
    Ok(())
}

/// Keys: kept, in variables, from helpers; good ones, refused ones, and what is no key at all.
fn keys(parts: &mut Parts) -> Result<()> {
    let echo = |key: &str| json!({"error": {"message": format!("bad key {key}")}}).to_string();
    let stage = &mut parts.stage;
    parts.provider.accept_key(KEYS[0])?;
    ensure!(stage.fed(&["login", "--api-key"], KEYS[0])?.code == 0);
    every_command(stage)?;
    parts.provider.answer("/chat/completions", 401, &echo(KEYS[0]))?;
    every_command(stage)?;
    stage.mayi(&["logout"])?;
    for odd in [format!("{0} {0}", KEYS[3]), format!("{0}\n{0}", KEYS[3]), KEYS[3].repeat(9_000), String::new()] {
        let said = stage.fed(&["login", "--api-key"], &odd)?;
        ensure!(said.code == 1, "{said:#?}");
    }
    stage.variable("MAYI_CLASSIFIER_KEY", KEYS[1]);
    every_command(stage)?;
    stage.variable("MAYI_CLASSIFIER_KEY", "");
    let mut settings = Stage::settings_for(&parts.provider);
    for end in ["", "; exit 1", "; echo $KEY >&2; exec sleep 0.1"] {
        stage.variable("KEY", KEYS[2]);
        let helper = Value::from(format!("echo $KEY{end}"));
        settings.as_object_mut().map(|members| members.insert("apiKeyHelper".to_owned(), helper));
        stage.settings(&settings)?;
        every_command(stage)?;
    }
    stage.settings(&Stage::settings_for(&parts.provider))
}

/// Sign-ins: good ones, cancelled, refused, taken back; and providers that repeat what they were told.
fn sign_ins(parts: &Parts) -> Result<()> {
    let Parts { provider, browser, stage } = parts;
    parts.sign_in("alice")?;
    every_command(stage)?;
    for status in [400, 401, 500] {
        let known = provider.secrets()?.join(" ");
        let body = json!({"error": known, "error_description": known, "access_token": known}).to_string();
        provider.answer("/token", status, &body)?;
        stage.age(3500)?;
        every_command(stage)?;
        provider.mend()?;
        parts.sign_in("alice")?;
    }
    stage.age(3500)?;
    provider.go_down()?;
    every_command(stage)?;
    stage.mayi(&["logout"])?;
    provider.come_up()?;
    let (running, address) = parts.begin()?;
    browser.intercept(&address, "alice")?;
    running.signal(Signal::INT)?;
    stage.end(running)?;
    let (running, address) = parts.begin()?;
    browser.refuse(&address)?;
    stage.end(running)?;
    let mut running = stage.start(&["login", "--device"])?;
    let (address, code) = (running.address()?, running.line("and enter this code: ")?);
    browser.agree_to_device(&address, &code, "bob")?;
    stage.end(running)?;
    provider.revoke_everything()?;
    every_command(stage)?;
    parts.sign_in("alice")?;
    stage.mayi(&["logout", "--json"])?;
    Ok(())
}

#[test]
fn no_secret_is_printed_or_written_or_in_the_list_of_processes() -> Result<()> {
    let mut parts = Parts::set("secrecy")?;
    let watch = Watch::begin();
    keys(&mut parts)?;
    sign_ins(&parts)?;
    // Somebody is signed in while the files are searched, so that the store is not empty.
    parts.sign_in("alice")?;
    every_command(&parts.stage)?;
    let lines = watch.end();
    let store = parts.stage.secrets().display().to_string();
    assert!(parts.stage.state().join("audit.jsonl").exists(), "decisions were recorded");
    let issued = parts.provider.secrets()?;
    assert!(issued.len() > 30 && lines.len() > 10, "{} secrets, {} processes", issued.len(), lines.len());
    let heard = parts.stage.heard();
    let mut in_store = 0;
    for secret in KEYS.into_iter().chain(issued.iter().map(String::as_str)) {
        assert!(!heard.contains(secret), "`{secret}` was printed");
        assert!(!lines.iter().any(|line| holds(line, secret)), "`{secret}` is in the list of processes");
        for file in files_with(parts.stage.folder(), secret)? {
            assert!(file.starts_with(&store), "`{secret}` is in `{file}`");
            in_store += 1;
        }
    }
    assert!(in_store >= 2, "the search finds what is there");
    Ok(())
}

#[test]
fn a_key_that_is_typed_as_an_argument_is_refused_and_not_repeated() -> Result<()> {
    let parts = Parts::set("argument")?;
    for arguments in [["login", "--api-key", KEYS[3]], ["login", KEYS[3], "--api-key"]] {
        let said = parts.stage.mayi(&arguments)?;
        assert!(said.code == 2 && said.err.contains("never an argument"), "{said:#?}");
        assert!(!said.err.contains(KEYS[3]) && !said.out.contains(KEYS[3]), "{said:#?}");
    }
    Ok(())
}

#[test]
fn a_key_that_is_typed_at_a_terminal_is_not_shown_and_the_terminal_is_as_before() -> Result<()> {
    let parts = Parts::set("terminal")?;
    let shows = "stty -a | grep -q -- ' echo ' && echo it shows";
    let line = format!("{shows}; \"$MAYI\" login --api-key --json; {shows}");
    let table = [(format!("wrong\x15{}x\x7f\r", KEYS[3]), true), (format!("{}\x03", KEYS[3]), false)];
    for (typed, is_kept) in table {
        let mut running = parts.stage.at_a_terminal(&line)?;
        running.type_at("not shown", &typed)?;
        let shown = parts.stage.end(running)?.err;
        assert!(!shown.contains(KEYS[3]), "{shown}");
        assert_eq!(shown.contains("\"store\""), is_kept, "{shown}");
        assert_eq!(shown.matches("it shows").count(), 2, "{shown}");
        assert_eq!(!files_with(parts.stage.folder(), KEYS[3])?.is_empty(), is_kept);
        parts.stage.mayi(&["logout"])?;
    }
    Ok(())
}
