//! The doctor at real files and with real processes: stand-ins for `mayi hook` that answer, refuse, hang and babble.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use mayi_agents::adapter::{Event, Reply, Surroundings, Told};
use mayi_agents::dialect;
use mayi_agents::install::doctor::{Examination, Presence, Section, State};
use mayi_agents::install::{self, Ground, Manner, Order, Scope, agents};
use mayi_core::verdict::Verdict;
use mayi_settings::{Loaded, Places};
use serde_json::{Value, json};

struct World {
    folder: tempfile::TempDir,
    ground: Ground,
    places: Places,
}

/// A stand-in that answers every agent in its own words, strictly where the call is deadly.
const GOOD: &str = r#"#!/bin/sh
if [ "$1" = --version ]; then echo 'mayi 0.0.1'; exit; fi
message=$(cat)
case $message in *'rm -rf /'*) word=deny cancel=true block=block;; *) word=allow cancel=false block=allow;; esac
case $2 in
  claude-code|codex) echo '{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "'$word'"}}';;
  gemini) echo '{"decision": "'$word'"}';;
  goose) echo '{"decision": "'$block'"}';;
  copilot) echo '{"permissionDecision": "'$word'"}';;
  cursor) echo '{"permission": "'$word'"}';;
  cline) echo '{"cancel": '$cancel'}';;
  opencode) echo '{"verdict": "'$word'"}';;
  generic) echo '{"verdict": "'$word'"}'; [ $word = allow ] || exit 11;;
esac
"#;

impl World {
    fn new(stand_in: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for name in ["home", "project", "system", "bin"] {
            fs::create_dir(root.join(name)).unwrap();
        }
        let ground = Ground {
            home: Some(root.join("home")),
            project: root.join("project"),
            system: root.join("system"),
            search: vec![root.join("bin")],
            ..Ground::default()
        };
        let state = Some(root.join("home/.local/state/mayi"));
        let user = vec![root.join("home/.config/mayi/settings.json")];
        let places = Places { directory: root.join("project"), state, user, ..Places::default() };
        let world = Self { folder, ground, places };
        world.program("mayi", stand_in);
        world
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    fn program(&self, name: &str, text: &str) {
        let path = self.path("bin").join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn install(&self, name: &str) {
        let agent = agents::named(name).unwrap();
        let command = install::command(&self.path("bin/mayi"), agent, &[]).unwrap();
        install::install(&Order { agent, scope: Scope::User, command }, &self.ground, Manner::Real).unwrap();
    }

    fn examined(&self, name: &str, deadline: Duration) -> Section {
        let program = self.path("bin/mayi");
        let examination = Examination {
            ground: &self.ground,
            places: &self.places,
            program: (&program, "mayi 0.0.1"),
            deadline,
            lint: Loaded::problems,
        };
        examination.agent(agents::named(name).unwrap())
    }

    fn section(&self, name: &str) -> Section {
        self.examined(name, Duration::from_secs(30))
    }

    fn machine(&self) -> Section {
        let program = (Path::new("/bin/true"), "mayi 0.0.1");
        let deadline = Duration::from_secs(30);
        Examination { ground: &self.ground, places: &self.places, program, deadline, lint: Loaded::problems }.machine()
    }
}

fn says(section: &Section, state: State, part: &str) -> bool {
    section.findings.iter().any(|finding| finding.state == state && finding.what.contains(part))
}

#[track_caller]
fn assert_says(section: &Section, state: State, part: &str) {
    assert!(says(section, state, part), "{part}: {:#?}", section.findings);
}

#[test]
fn a_good_hook_of_every_agent_fires() {
    let world = World::new(GOOD);
    for agent in agents::ALL.iter().filter(|agent| !agent.files.is_empty()) {
        world.install(agent.name);
        let section = world.section(agent.name);
        assert_eq!(section.presence, Presence::Installed);
        assert!(section.is_well(), "{}: {:#?}", agent.name, section.findings);
        assert_says(&section, State::Fine, "ls is answered with allow, rm -rf / with deny");
    }
}

#[test]
fn the_doctor_speaks_and_understands_every_dialect() {
    let folder = Path::new("/work/project");
    let surroundings = Surroundings { variable: &|_| None, directory: folder.to_owned() };
    for agent in agents::ALL.iter().filter(|agent| !agent.files.is_empty()) {
        let dialect = dialect::named(agent.name).unwrap();
        let message = (dialect.read)(&agent.canary.message("rm -rf /", folder).unwrap(), &surroundings).unwrap();
        assert_eq!(message.event, Event::Before, "{}", agent.name);
        assert_eq!(message.session, mayi_engine::desk::CANARY, "{}", agent.name);
        assert_eq!(message.calls.len(), 1, "{}", agent.name);
        assert_eq!(message.calls[0].tool, "Bash", "{}", agent.name);
        assert_eq!(message.calls[0].text("command"), Some("rm -rf /"), "{}", agent.name);
        let heard = |reply: Reply| agent.canary.heard(reply.code.into(), &reply.stdout, &reply.stderr);
        let said = |verdict| heard((dialect.write)(&message, &Told::new(verdict, "because")));
        assert_eq!(said(Verdict::Allow), Ok(Verdict::Allow), "{}", agent.name);
        assert!(said(Verdict::Ask).unwrap() > Verdict::Allow, "{}", agent.name);
        assert_eq!(said(Verdict::Deny), Ok(Verdict::Deny), "{}", agent.name);
        let refused = heard((dialect.refuse)(Verdict::Deny, "because"));
        assert!(refused.is_ok_and(|verdict| verdict > Verdict::Allow), "{}", agent.name);
    }
}

#[test]
fn a_bad_hook_is_told_from_a_good_one() {
    for (stand_in, problem) in [
        ("#!/bin/sh\nexit 0\n", "it said nothing"),
        ("#!/bin/sh\necho hello\n", "not JSON"),
        (
            "#!/bin/sh\necho '{\"hookSpecificOutput\": {\"permissionDecision\": \"perhaps\"}}'\n",
            "`perhaps` means nothing",
        ),
        ("#!/bin/sh\necho broken >&2; exit 3\n", "exit code 3: broken"),
        ("#!/bin/sh\necho no such thing >&2; exit 2\n", "refuses even ls: exit code 2: no such thing"),
        ("#!/bin/sh\necho '{\"hookSpecificOutput\": {\"permissionDecision\": \"allow\"}}'\n", "lets rm -rf / pass"),
        ("#!/bin/sh\nkill -9 $$\n", "exit code 137"),
    ] {
        let world = World::new(stand_in);
        world.install("claude-code");
        let section = world.section("claude-code");
        assert!(!section.is_well());
        assert!(
            section.findings.iter().any(|finding| finding.state == State::Wrong && finding.what.contains(problem))
                || (problem.contains("137") && says(&section, State::Wrong, "signal")),
            "{problem}: {:#?}",
            section.findings
        );
    }
}

#[test]
fn a_guarded_hook_is_run_with_its_guard() {
    for (stand_in, problem) in [
        ("#!/bin/sh\nexit 3\n", "refuses even ls: exit code 2: mayi: the hook failed"),
        ("#!/bin/sh\necho a fault >&2; exit 101\n", "refuses even ls: exit code 2: a fault"),
    ] {
        let world = World::new(stand_in);
        world.install("codex");
        assert_says(&world.section("codex"), State::Wrong, problem);
    }
}

#[test]
fn a_guarded_hook_of_a_project_is_this_program_and_is_tried() {
    let world = World::new(GOOD);
    let agent = agents::named("gemini").unwrap();
    let options = ["--mode".to_owned(), "auto".to_owned()];
    let command = install::command(&world.path("bin/mayi"), agent, &options).unwrap();
    install::install(&Order { agent, scope: Scope::Project, command }, &world.ground, Manner::Real).unwrap();
    assert_says(&world.section("gemini"), State::Fine, "it fires");
}

/// A change to the hook at one event in a file of an agent: what becomes of the entry.
fn edited(world: &World, (file, event): (&str, &str), change: &dyn Fn(&mut Value)) {
    let path = world.path(file);
    let mut value: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    change(&mut value["hooks"][event]);
    fs::write(&path, value.to_string()).unwrap();
}

#[test]
fn a_hook_that_the_agent_would_not_call_or_heed_does_not_pass_for_a_good_one() {
    type Change = fn(&mut Value);
    let claude = ("claude-code", "home/.claude/settings.json", "PreToolUse");
    let codex = ("codex", "home/.codex/hooks.json", "PreToolUse");
    let gemini = ("gemini", "home/.gemini/settings.json", "BeforeTool");
    let cursor = ("cursor", "home/.cursor/hooks.json", "preToolUse");
    let copilot = ("copilot", "home/.copilot/hooks/mayi.json", "preToolUse");
    let goose = ("goose", "home/.agents/plugins/mayi/hooks/hooks.json", "PreToolUse");
    let unguarded: Change = |list| {
        let command = list[0]["hooks"][0]["command"].as_str().unwrap().split(" || ").next().unwrap().to_owned();
        list[0]["hooks"][0]["command"] = json!(command);
    };
    let rows: [((&str, &str, &str), Change, &str); 15] = [
        (claude, |list| list[0]["matcher"] = json!("Bash"), "some tools alone, those that match \"Bash\""),
        (claude, |list| list[0]["hooks"][0]["if"] = json!("Bash(git *)"), "on a condition alone"),
        (claude, |list| list[0]["hooks"][0]["async"] = json!(true), "nobody waits for its answer"),
        (claude, |list| list[0]["hooks"][0]["timeout"] = json!(1), "the agent waits 1 s, and mayi may take 50 s"),
        (claude, |list| list[0]["hooks"][0]["timeout"] = json!("soon"), "which is no time"),
        (claude, |list| drop(list[0]["hooks"][0].as_object_mut().unwrap().remove("onFailure")), "`onFailure` is not"),
        (claude, |list| list[0]["hooks"][0]["type"] = json!("prompt"), "its `type` is not"),
        (codex, unguarded, "does not end with the guard"),
        (codex, |list| list[0]["matcher"] = json!("^Bash$"), "some tools alone"),
        (gemini, unguarded, "does not end with the guard"),
        (gemini, |list| list[0]["hooks"][0]["timeout"] = json!(60), "the agent waits 0.06 s"),
        (cursor, |list| list[0]["failClosed"] = json!(false), "`failClosed` is not true"),
        (cursor, |list| list[0]["matcher"] = json!("Shell"), "some tools alone"),
        (copilot, |list| list[0]["timeoutSec"] = json!(5), "the agent waits 5 s, and mayi may take 25 s"),
        (goose, |list| list[0]["hooks"][0]["on_failure"] = json!("allow"), "`on_failure` is not"),
    ];
    for ((agent, file, event), change, problem) in rows {
        let world = World::new(GOOD);
        world.install(agent);
        edited(&world, (file, event), &change);
        let section = world.section(agent);
        assert_says(&section, State::Wrong, problem);
        assert!(!says(&section, State::Fine, "it fires"), "{agent} {problem}: {:#?}", section.findings);
        assert_says(&section, State::Fine, "run by hand it answers");
        world.install(agent);
        assert!(world.section(agent).is_well(), "{agent} {problem}: installing again mends it");
    }
}

#[test]
fn what_only_looks_like_a_narrow_hook_is_none() {
    type Change = fn(&mut Value);
    let rows: [Change; 5] = [
        |list| drop(list[0].as_object_mut().unwrap().remove("matcher")),
        |list| list[0]["matcher"] = json!(""),
        |list| list[0]["hooks"][0]["async"] = json!(false),
        |list| list[0]["hooks"][0]["timeout"] = json!(600),
        |list| drop(list[0]["hooks"][0].as_object_mut().unwrap().remove("timeout")),
    ];
    for change in rows {
        let world = World::new(GOOD);
        world.install("claude-code");
        edited(&world, ("home/.claude/settings.json", "PreToolUse"), &change);
        let section = world.section("claude-code");
        assert!(section.is_well(), "{:#?}", section.findings);
        assert_says(&section, State::Fine, "it fires");
    }
}

#[test]
fn a_file_that_says_one_thing_twice_is_wrong() {
    let world = World::new(GOOD);
    world.install("claude-code");
    let path = world.path("home/.claude/settings.json");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, format!("{},\n\"hooks\": {{}}}}\n", text.trim_end().trim_end_matches('}'))).unwrap();
    assert_says(&world.section("claude-code"), State::Wrong, "`hooks` stands twice in");
}

#[test]
fn a_hook_that_is_there_twice_is_mentioned() {
    let world = World::new(GOOD);
    world.install("claude-code");
    edited(&world, ("home/.claude/settings.json", "PreToolUse"), &|list| {
        let entry = list[0].clone();
        list.as_array_mut().unwrap().push(entry);
    });
    let section = world.section("claude-code");
    assert_says(&section, State::Warning, "the hook for PreToolUse is there 2 times");
    assert!(section.is_well());
}

#[test]
fn a_hook_that_hangs_is_ended_with_all_it_started() {
    let world = World::new("#!/bin/sh\nsleep 600 &\necho $! > \"$0.pid\"\nwait\n");
    world.install("claude-code");
    let start = Instant::now();
    let section = world.examined("claude-code", Duration::from_secs(1));
    assert_says(&section, State::Wrong, "it took longer than 1 s");
    assert!(start.elapsed() < Duration::from_secs(60));
    let id = fs::read_to_string(world.path("bin/mayi.pid")).unwrap();
    // A killed process dies when the system gets to it, and is a zombie until somebody collects it.
    let is_gone = || {
        let status = fs::read_to_string(format!("/proc/{}/stat", id.trim())).unwrap_or_default();
        status.is_empty() || status.contains(") Z ")
    };
    while !is_gone() {
        assert!(start.elapsed() < Duration::from_secs(60), "it runs on");
        std::thread::yield_now();
    }
}

#[test]
fn a_missing_or_foreign_program_is_named() {
    let world = World::new(GOOD);
    world.install("codex");
    fs::remove_file(world.path("bin/mayi")).unwrap();
    assert_says(&world.section("codex"), State::Wrong, "is not there or cannot be run");
    world.program("mayi", GOOD);
    world.program("mayi-other", GOOD);
    let other = world.path("bin/mayi-other");
    let examination = Examination {
        ground: &world.ground,
        places: &world.places,
        program: (&other, "mayi 0.0.2"),
        deadline: Duration::from_secs(30),
        lint: Loaded::problems,
    };
    let section = examination.agent(agents::named("codex").unwrap());
    assert_says(&section, State::Warning, "says it is mayi 0.0.1, and this is mayi 0.0.2");
}

#[test]
fn half_an_installation_and_an_old_one_are_noticed() {
    let world = World::new(GOOD);
    let program = world.path("bin/mayi").display().to_string();
    let hook = format!(r#"{{"type": "command", "command": "{program} hook claude-code", "timeout": 5}}"#);
    world.write("home/.claude/settings.json", &format!(r#"{{"hooks": {{"PreToolUse": [{{"hooks": [{hook}]}}]}}}}"#));
    assert_says(&world.section("claude-code"), State::Wrong, "there is no hook for PermissionRequest");
    world.install("opencode");
    let plugin = world.path("home/.config/opencode/plugins/mayi.js");
    let text = fs::read_to_string(&plugin).unwrap().replace("60_000", "1");
    fs::write(&plugin, text).unwrap();
    assert_says(&world.section("opencode"), State::Warning, "not as this version writes it");
    world.install("cline");
    let script = world.path("home/Documents/Cline/Hooks/PreToolUse");
    fs::set_permissions(script, fs::Permissions::from_mode(0o644)).unwrap();
    assert_says(&world.section("cline"), State::Wrong, "cannot be run");
}

#[test]
fn what_to_do_names_the_whole_command() {
    let world = World::new(GOOD);
    let agent = agents::named("claude-code").unwrap();
    let options = ["--unattended", "--mode", "auto", "--settings", "/a.json"].map(str::to_owned);
    let command = install::command(&world.path("bin/mayi"), agent, &options).unwrap();
    install::install(&Order { agent, scope: Scope::User, command }, &world.ground, Manner::Real).unwrap();
    let file = world.path("home/.claude/settings.json");
    let text = fs::read_to_string(&file).unwrap().replace("PermissionRequest", "Elsewhere");
    fs::write(&file, text).unwrap();
    let section = world.section("claude-code");
    let helps: Vec<&str> = section.findings.iter().filter_map(|finding| finding.help.as_deref()).collect();
    assert!(helps.contains(&"mayi install claude-code --scope user --unattended --mode auto"), "{helps:?}");
}

#[test]
fn what_switches_hooks_off_is_found_wherever_it_stands() {
    for (agent, file, text, means) in [
        ("claude-code", "project/.claude/settings.local.json", "{\"disableAllHooks\": true}", "no hooks at all"),
        ("claude-code", "system/etc/claude-code/managed-settings.json", "{\"allowManagedHooksOnly\": true}", "managed"),
        ("codex", "home/.codex/config.toml", "[features]\nhooks = false\n", "does not run"),
        ("codex", "system/etc/codex/requirements.toml", "allow_managed_hooks_only = true\n", "does not run"),
        ("gemini", "project/.gemini/settings.json", "{\"hooksConfig\": {\"disabled\": [\"mayi\"]}}", "named mayi"),
        ("copilot", "home/.copilot/settings.json", "{\"disableAllHooks\": true}", "no hooks at all"),
    ] {
        let world = World::new(GOOD);
        world.install(agent);
        assert!(world.section(agent).is_well(), "{agent}");
        world.write(file, text);
        assert_says(&world.section(agent), State::Wrong, means);
    }
}

#[test]
fn a_file_beside_the_hook_that_nobody_can_read_is_named_once() {
    let world = World::new(GOOD);
    world.install("codex");
    world.write("home/.codex/config.toml", "[features\nhooks = false\n");
    let section = world.section("codex");
    assert_says(&section, State::Wrong, "config.toml cannot be read: ");
    let wrong = section.findings.iter().filter(|finding| finding.state == State::Wrong).count();
    assert_eq!(wrong, 1, "{:#?}", section.findings);
}

#[test]
fn a_part_that_is_missing_or_somebody_elses_is_named() {
    let world = World::new(GOOD);
    world.install("goose");
    fs::remove_file(world.path("home/.agents/plugins/mayi/plugin.json")).unwrap();
    assert_says(&world.section("goose"), State::Wrong, "plugin.json is not there, and the hook needs it");

    let world = World::new(GOOD);
    world.write("home/Documents/Cline/Hooks/PreToolUse", "#!/bin/sh\n");
    let section = world.section("cline");
    assert_says(&section, State::Warning, "PreToolUse is somebody else's");
    let helps: Vec<&str> = section.findings.iter().filter_map(|finding| finding.help.as_deref()).collect();
    assert!(helps.contains(&"move it away, then mayi install cline"), "{helps:?}");

    let world = World::new(GOOD);
    world.install("cline");
    world.write("home/Documents/Cline/Hooks/PreToolUse", "#!/bin/sh\n");
    let section = world.section("cline");
    assert_says(&section, State::Wrong, "PreToolUse holds nothing of mayi's");
}

#[test]
fn an_option_that_no_hook_knows_is_named() {
    for bad in ["--frobnicate", "--mode sideways", "--settings"] {
        let world = World::new(GOOD);
        world.install("claude-code");
        let file = world.path("home/.claude/settings.json");
        let text = fs::read_to_string(&file).unwrap().replace("hook claude-code", &format!("hook claude-code {bad}"));
        fs::write(&file, text).unwrap();
        assert_says(&world.section("claude-code"), State::Wrong, "refuses every call");
        world.install("claude-code");
        assert!(world.section("claude-code").is_well(), "{bad}");
    }
}

#[test]
fn an_agent_that_is_configured_by_hand_is_tried_as_well() {
    let world = World::new(GOOD);
    let section = world.section("generic");
    assert!(section.is_well() && section.presence == Presence::Installed, "{:#?}", section.findings);
    assert_says(&section, State::Fine, "it has to run");
    assert_says(&section, State::Fine, "it fires: ls is answered with allow, rm -rf / with deny");
    let world = World::new("#!/bin/sh\nexit 0\n");
    assert_says(&world.section("generic"), State::Wrong, "it said nothing");
}

#[test]
fn codex_says_whether_it_was_told_to_trust_the_hook() {
    let world = World::new(GOOD);
    world.install("codex");
    assert_says(&world.section("codex"), State::Warning, "no note that you approved");
    let note = "[hooks.state.\"/home/x/.codex/hooks.json:pre_tool_use:0:0\"]\ntrusted_hash = \"sha256:1\"\n";
    world.write("home/.codex/config.toml", note);
    assert!(!says(&world.section("codex"), State::Warning, "no note"));
}

#[test]
fn a_command_of_a_project_that_nobody_trusts_is_not_run() {
    let world = World::new(GOOD);
    world.write("project/mayi", "#!/bin/sh\ntouch ran\n");
    fs::set_permissions(world.path("project/mayi"), fs::Permissions::from_mode(0o755)).unwrap();
    let hooks = r#"{"version": 1, "hooks": {"preToolUse": [{"command": "./mayi hook cursor"}]}}"#;
    world.write("project/.cursor/hooks.json", hooks);
    let section = world.section("cursor");
    assert!(!section.is_well());
    assert_says(&section, State::Wrong, "not tried: `./mayi hook cursor` is not this program alone");
    assert!(!world.path("project/ran").exists());

    world.write("project/.cursor/hooks.json", &hooks.replace("./mayi hook cursor", "mayi hook cursor; touch ran"));
    assert_says(&world.section("cursor"), State::Warning, "no hook of mayi's is installed");
    assert!(!world.path("project/ran").exists());

    let this = world.path("bin/mayi").display().to_string();
    let with_settings = hooks.replace("./mayi hook cursor", &format!("{this} hook cursor --settings evil.json"));
    world.write("project/.cursor/hooks.json", &with_settings);
    assert_says(&world.section("cursor"), State::Wrong, "not tried");
    world.write(
        "project/.cursor/hooks.json",
        &hooks.replace("./mayi hook cursor", &format!("{this} hook cursor --mode plan")),
    );
    assert_says(&world.section("cursor"), State::Fine, "run by hand it answers");
}

#[test]
fn a_script_of_a_project_that_only_looks_like_ours_is_not_run() {
    let world = World::new(GOOD);
    let agent = agents::named("cline").unwrap();
    let command = install::command(&world.path("bin/mayi"), agent, &[]).unwrap();
    install::install(&Order { agent, scope: Scope::Project, command }, &world.ground, Manner::Real).unwrap();
    assert_says(&world.section("cline"), State::Fine, "it fires");
    let script = world.path("project/.clinerules/hooks/PreToolUse");
    let text = fs::read_to_string(&script).unwrap().replace("set --", "touch ran\nset --");
    fs::write(&script, text).unwrap();
    assert_says(&world.section("cline"), State::Wrong, "not tried");
    assert!(!world.path("project/ran").exists());
}

#[test]
fn hooks_of_others_beside_ours_are_mentioned() {
    let world = World::new(GOOD);
    let theirs = r#"{"hooks": {"PreToolUse": [{"matcher": "*", "hooks": [{"type": "command", "command": "x"}]}]}}"#;
    world.write("home/.claude/settings.json", theirs);
    world.install("claude-code");
    assert_says(&world.section("claude-code"), State::Warning, "1 other hook(s) run at PreToolUse");
}

#[test]
fn an_agent_is_there_or_not() {
    let world = World::new(GOOD);
    assert_eq!(world.section("gemini").presence, Presence::Absent);
    world.program("gemini", "#!/bin/sh\n");
    let section = world.section("gemini");
    assert_eq!(section.presence, Presence::Without);
    assert_says(&section, State::Warning, "no hook of mayi's is installed");
    world.write("home/.gemini/settings.json", "{ broken");
    assert_says(&world.section("gemini"), State::Wrong, "not JSON");
}

#[test]
fn mayi_itself_is_looked_at() {
    let world = World::new(GOOD);
    assert!(world.machine().is_well());
    world.write("project/.mayi/settings.json", "{ broken");
    assert_says(&world.machine(), State::Wrong, "settings: ");
    world.write("project/.mayi/settings.json", "{\"permissions\": {\"allow\": [\"Bash(npm test:*)\"]}}");
    assert_says(&world.machine(), State::Warning, "do not count, because it is not trusted");
    fs::create_dir_all(world.path("home/.local/state/mayi/audit.jsonl")).unwrap();
    assert_says(&world.machine(), State::Wrong, "the audit cannot be written");
    fs::remove_dir(world.path("home/.local/state/mayi/audit.jsonl")).unwrap();
    // Wherever settings have it, and whatever is there.
    let pipe = world.path("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for (file, state) in
        [(pipe.as_path(), State::Wrong), (Path::new("/dev/null"), State::Wrong), (Path::new("/x/y"), State::Fine)]
    {
        world.write("home/.config/mayi/settings.json", &json!({"audit": {"file": file}}).to_string());
        let part = if state == State::Wrong { "the audit cannot be written" } else { "the audit" };
        assert_says(&world.machine(), state, part);
    }
    fs::remove_dir_all(world.path("home/.local")).unwrap();
    world.write("home/.local", "a file");
    assert_says(&world.machine(), State::Wrong, "cannot be written");
}
