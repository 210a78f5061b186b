//! Installation on real files in folders of its own: what is written, what stays, what comes back, what is refused.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

use std::fs;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use mayi_agents::install::facts::{Agent, Kind};
use mayi_agents::install::{self, Change, Ground, InstallError, Manner, Order, Outcome, Scope, agents};
use mayi_core::call::Workspace;
use mayi_settings::Given;
use proptest::prelude::*;
use serde_json::{Value, json};

struct World {
    _folder: tempfile::TempDir,
    ground: Ground,
}

impl World {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for name in ["home", "project", "system"] {
            fs::create_dir(root.join(name)).unwrap();
        }
        let ground = Ground {
            home: Some(root.join("home")),
            project: root.join("project"),
            system: root.join("system"),
            ..Ground::default()
        };
        Self { _folder: folder, ground }
    }

    fn home(&self, name: &str) -> PathBuf {
        self.ground.home.as_ref().unwrap().join(name)
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.home(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    fn order(&self, name: &str, program: &str) -> Order {
        let agent = agents::named(name).unwrap();
        let command = install::command(Path::new(program), agent, &[]).unwrap();
        Order { agent, scope: Scope::User, command }
    }

    fn install(&self, name: &str) -> Result<Vec<Outcome>, InstallError> {
        install::install(&self.order(name, "/opt/mayi"), &self.ground, Manner::Real)
    }

    fn uninstall(&self, name: &str) -> Result<Vec<Outcome>, InstallError> {
        install::uninstall(agents::named(name).unwrap(), Scope::User, &self.ground, Manner::Real)
    }

    /// Every file below home, with its text.
    fn files(&self) -> Vec<(PathBuf, String)> {
        let mut found = Vec::new();
        let mut folders = vec![self.home("")];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    found.push((path.clone(), fs::read_to_string(path).unwrap()));
                }
            }
        }
        found.sort();
        found
    }
}

fn installable() -> impl Iterator<Item = &'static Agent> {
    agents::ALL.iter().copied().filter(|agent| !agent.files.is_empty())
}

fn changes(outcomes: &[Outcome]) -> Vec<Change> {
    outcomes.iter().map(|outcome| outcome.change).collect()
}

fn json_of(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn claude_code_gets_the_documented_shape() {
    let world = World::new();
    world.install("claude-code").unwrap();
    let settings = json_of(&world.home(".claude/settings.json"));
    let hook = |extra: Value| {
        let mut hook = json!({"type": "command", "command": "/opt/mayi hook claude-code", "timeout": 60});
        hook.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        json!([{"matcher": "*", "hooks": [hook]}])
    };
    let blocks = json!({"onFailure": "block"});
    assert_eq!(
        settings,
        json!({"hooks": {
            "SessionStart": [{"hooks": [{"type": "command", "command": "/opt/mayi hook claude-code", "timeout": 60}]}],
            "PreToolUse": hook(blocks.clone()),
            "PermissionRequest": hook(blocks),
            "PermissionDenied": hook(json!({})),
            "PostToolUse": hook(json!({})),
        }})
    );
}

#[test]
fn an_entry_without_its_guard_gets_one_and_a_foreign_tail_is_left_alone() {
    let world = World::new();
    let entry = |command: &str| json!({"matcher": "*", "hooks": [{"type": "command", "command": command}]});
    let foreign = "/opt/mayi hook codex || true";
    let before = json!({"hooks": {"PreToolUse": [entry("/usr/bin/mayi hook codex --mode auto"), entry(foreign)]}});
    let path = world.write(".codex/hooks.json", &before.to_string());
    world.install("codex").unwrap();
    let at = |number: usize| json_of(&path)["hooks"]["PreToolUse"][number]["hooks"][0]["command"].clone();
    assert_eq!(at(0), json!("/opt/mayi hook codex --mode auto || { echo 'mayi: the hook failed' >&2; exit 2; }"));
    assert_eq!(at(1), json!(foreign));
    assert_eq!(changes(&world.install("codex").unwrap()), [Change::Unchanged]);
    world.uninstall("codex").unwrap();
    assert_eq!(json_of(&path), json!({"hooks": {"PreToolUse": [entry(foreign)]}}));
}

/// What a shell makes of the command that was installed for an agent, with a program in mayi's place.
fn run_guarded(agent: &str, program: &str, input: &str) -> (Option<i32>, String, String) {
    let world = World::new();
    let mayi = world.write("bin/mayi", program);
    fs::set_permissions(&mayi, fs::Permissions::from_mode(0o755)).unwrap();
    install::install(&world.order(agent, mayi.to_str().unwrap()), &world.ground, Manner::Real).unwrap();
    let (file, event) = match agent {
        "codex" => (".codex/hooks.json", "PreToolUse"),
        _ => (".gemini/settings.json", "BeforeTool"),
    };
    let command = json_of(&world.home(file))["hooks"][event][0]["hooks"][0]["command"].clone();
    if program.is_empty() {
        fs::remove_file(&mayi).unwrap();
    }
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", command.as_str().unwrap()]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = shell.spawn().unwrap();
    // A program that is not there reads nothing.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    let output = child.wait_with_output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn a_hook_that_crashes_or_is_gone_ends_with_two_and_says_so() {
    for agent in ["codex", "gemini"] {
        for program in ["#!/bin/sh\nkill -9 $$\n", "#!/bin/sh\nexit 101\n", ""] {
            let (code, _, stderr) = run_guarded(agent, program, "{}");
            assert_eq!(code, Some(2), "{agent} {program}");
            assert!(stderr.contains("mayi: the hook failed"), "{agent} {program}: {stderr}");
        }
        let answer = run_guarded(agent, "#!/bin/sh\ncat\n", "as it was");
        assert_eq!(answer, (Some(0), "as it was".to_owned(), String::new()), "{agent}");
    }
}

#[test]
fn each_agent_gets_its_own_shape_in_its_own_place() {
    let world = World::new();
    for agent in installable() {
        let outcomes = world.install(agent.name).unwrap();
        assert!(outcomes.iter().all(|outcome| outcome.change == Change::Created), "{}", agent.name);
    }
    let at = |file: &str, pointer: &str| json_of(&world.home(file)).pointer(pointer).cloned().unwrap();
    assert_eq!(at(".gemini/settings.json", "/hooks/BeforeTool/0/hooks/0/timeout"), json!(60_000));
    assert_eq!(at(".gemini/settings.json", "/hooks/BeforeTool/0/hooks/0/name"), json!("mayi"));
    let guarded = |agent| json!(format!("/opt/mayi hook {agent} || {{ echo 'mayi: the hook failed' >&2; exit 2; }}"));
    assert_eq!(at(".codex/hooks.json", "/hooks/PreToolUse/0/hooks/0/command"), guarded("codex"));
    assert_eq!(at(".gemini/settings.json", "/hooks/BeforeTool/0/hooks/0/command"), guarded("gemini"));
    assert_eq!(
        at(".cursor/hooks.json", ""),
        json!({"version": 1, "hooks": {
            "preToolUse": [{"command": "/opt/mayi hook cursor", "timeout": 60, "failClosed": true}],
            "postToolUse": [{"command": "/opt/mayi hook cursor", "timeout": 60}],
        }})
    );
    assert_eq!(at(".copilot/hooks/mayi.json", "/hooks/preToolUse/0/bash"), json!("/opt/mayi hook copilot"));
    assert_eq!(at(".agents/plugins/mayi/hooks/hooks.json", "/hooks/PreToolUse/0/hooks/0/on_failure"), json!("block"));
    assert_eq!(at(".agents/plugins/mayi/plugin.json", "/name"), json!("mayi"));
    let plugin = fs::read_to_string(world.home(".config/opencode/plugins/mayi.js")).unwrap();
    assert!(plugin.contains(r#"const COMMAND = ["/opt/mayi","hook","opencode"]"#), "{plugin}");
    let script = world.home("Documents/Cline/Hooks/PreToolUse");
    assert!(fs::read_to_string(&script).unwrap().contains("set -- /opt/mayi hook cline\n"));
    assert_eq!(fs::metadata(script).unwrap().permissions().mode() & 0o111, 0o111 & !umask());
}

/// The bits that this process leaves out of new files.
fn umask() -> u32 {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("probe"), "").unwrap();
    let mode = fs::metadata(folder.path().join("probe")).unwrap().permissions().mode();
    (0o666 & !mode) >> 2
}

#[test]
fn a_second_time_changes_nothing_and_uninstalling_leaves_nothing() {
    for agent in installable() {
        let world = World::new();
        world.install(agent.name).unwrap();
        let once = world.files();
        let again = world.install(agent.name).unwrap();
        assert!(again.iter().all(|outcome| outcome.change == Change::Unchanged), "{}: {again:?}", agent.name);
        assert_eq!(world.files(), once, "{}", agent.name);
        let gone = world.uninstall(agent.name).unwrap();
        assert!(gone.iter().all(|outcome| outcome.change == Change::Removed), "{}: {gone:?}", agent.name);
        assert_eq!(world.files(), [], "{}", agent.name);
        assert!(!world.home(".agents/plugins/mayi").exists(), "{}: a folder of ours goes too", agent.name);
        assert!(changes(&world.uninstall(agent.name).unwrap()).iter().all(|change| *change == Change::Unchanged));
    }
}

#[test]
fn a_program_of_another_name_knows_its_own_entries() {
    let this = std::env::current_exe().unwrap();
    for agent in installable() {
        let world = World::new();
        let order = world.order(agent.name, this.to_str().unwrap());
        install::install(&order, &world.ground, Manner::Real).unwrap();
        let once = world.files();
        for _ in 0..3 {
            install::install(&order, &world.ground, Manner::Real).unwrap();
        }
        assert_eq!(world.files(), once, "{}", agent.name);
        world.uninstall(agent.name).unwrap();
        assert_eq!(world.files(), [], "{}", agent.name);
    }
}

#[test]
fn installing_again_keeps_the_options_that_are_not_given_anew() {
    let words = |text: &str| -> Vec<String> { text.split(' ').map(str::to_owned).collect() };
    for agent in installable() {
        let world = World::new();
        let installed = |options: &[String]| {
            let command = install::command(Path::new("/opt/mayi"), agent, options).unwrap();
            let order = Order { agent, scope: Scope::User, command };
            let settled = install::settled(&order, &world.ground);
            install::install(&order, &world.ground, Manner::Real).unwrap();
            let texts: String = world.files().into_iter().map(|(_, text)| text).collect();
            let shown = settled.join(" ");
            assert!(texts.contains(&shown) || texts.contains(&json!(settled).to_string()), "{}: {shown}", agent.name);
            settled[3..].join(" ")
        };
        assert_eq!(installed(&words("--unattended --mode auto --settings /a/b.json")).matches("--").count(), 3);
        assert_eq!(installed(&[]), "--unattended --mode auto --settings /a/b.json", "{}", agent.name);
        assert_eq!(installed(&words("--mode plan")), "--mode plan --unattended --settings /a/b.json", "{}", agent.name);
    }
}

/// A repository may come with a hook of its own, and whoever installs beside it did not write its options.
#[test]
fn options_of_a_projects_file_are_kept_only_where_they_tighten() {
    let world = World::new();
    let hook = "/old/mayi hook claude-code --mode bypassPermissions --unattended --settings ./theirs.json";
    let entry = json!([{"matcher": "*", "hooks": [{"type": "command", "command": hook}]}]);
    let file = world.ground.project.join(".claude/settings.json");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, json!({"hooks": {"PreToolUse": entry}}).to_string()).unwrap();
    let order = Order { scope: Scope::Project, ..world.order("claude-code", "/opt/mayi") };
    assert_eq!(install::settled(&order, &world.ground).join(" "), "/opt/mayi hook claude-code --unattended");
    let strict = json!({"hooks": {"PreToolUse": entry}}).to_string().replace("bypassPermissions", "plan");
    fs::write(&file, strict).unwrap();
    let settled = install::settled(&order, &world.ground).join(" ");
    assert_eq!(settled, "/opt/mayi hook claude-code --mode plan --unattended");
}

#[test]
fn options_that_no_hook_can_be_run_with_are_not_kept() {
    let world = World::new();
    let hook = "/old/mayi hook claude-code --frobnicate --mode sideways --unattended --settings";
    let entry = json!([{"matcher": "*", "hooks": [{"type": "command", "command": hook}]}]);
    world.write(".claude/settings.json", &json!({"hooks": {"PreToolUse": entry}}).to_string());
    let settled = install::settled(&world.order("claude-code", "/opt/mayi"), &world.ground);
    assert_eq!(settled.join(" "), "/opt/mayi hook claude-code --unattended");
}

#[test]
fn a_dry_run_shows_the_lines_and_changes_nothing() {
    let world = World::new();
    let path = world.write(".claude/settings.json", "{\n  \"model\": \"x\"\n}\n");
    let before = world.files();
    let shown = install::install(&world.order("claude-code", "/opt/mayi"), &world.ground, Manner::DryRun).unwrap();
    assert_eq!(world.files(), before);
    assert_eq!(changes(&shown), [Change::Changed]);
    assert!(shown[0].diff.starts_with(&format!("--- {0}\n+++ {0}\n@@ ", path.display())), "{}", shown[0].diff);
    assert!(shown[0].diff.contains("\n-  \"model\": \"x\"\n+  \"model\": \"x\",\n"), "{}", shown[0].diff);
    let fresh = World::new();
    install::install(&fresh.order("goose", "/opt/mayi"), &fresh.ground, Manner::DryRun).unwrap();
    assert_eq!(fs::read_dir(fresh.home("")).unwrap().count(), 0, "not even a folder is made");
}

const COMMENTED: &str = r#"// Mine.
{
    // Why this model.
    "model": "x", /* fast */
    "hooks": {
        "PreToolUse": [
            // My own guard.
            {"matcher": "Bash", "hooks": [{"type": "command", "command": "~/guard.sh"}]}, // keep
        ],
        "Stop": [],
    },
}
"#;

#[test]
fn hooks_and_comments_of_others_stay() {
    let world = World::new();
    let path = world.write(".claude/settings.json", COMMENTED);
    let outcomes = world.install("claude-code").unwrap();
    let text = fs::read_to_string(&path).unwrap();
    for line in COMMENTED.lines().map(str::trim).filter(|line| line.contains("//") || line.contains("/*")) {
        assert!(text.contains(line.trim_end_matches(',')), "{line}\n{text}");
    }
    assert_eq!(fs::read_to_string(outcomes[0].backup.as_ref().unwrap()).unwrap(), COMMENTED);
    world.uninstall("claude-code").unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), COMMENTED);
    assert_eq!(world.files().len(), 1, "the copy is gone, because the file is the copy");
}

#[test]
fn usual_files_come_back_in_the_same_bytes_even_without_the_copy() {
    let pretty = "{\n  \"model\": \"x\",\n  \"permissions\": {\n    \"deny\": []\n  }\n}\n";
    let tabs = pretty.replace("  ", "\t").replace('\n', "\r\n");
    let hooked = "{\n  \"hooks\": {\n    \"PreToolUse\": [\n      {\n        \"hooks\": []\n      }\n    ]\n  }\n}\n";
    for text in [pretty, tabs.as_str(), hooked, COMMENTED] {
        let world = World::new();
        let path = world.write(".claude/settings.json", text);
        let backup = world.install("claude-code").unwrap()[0].backup.clone().unwrap();
        fs::remove_file(backup).unwrap();
        world.uninstall("claude-code").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
    }
}

#[test]
fn what_was_changed_since_the_installation_stays_changed() {
    let world = World::new();
    let path = world.write(".claude/settings.json", COMMENTED);
    world.install("claude-code").unwrap();
    let edited = fs::read_to_string(&path).unwrap().replace("\"model\": \"x\"", "\"model\": \"y\"");
    fs::write(&path, &edited).unwrap();
    assert_eq!(changes(&world.uninstall("claude-code").unwrap()), [Change::Changed]);
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains("\"model\": \"y\"") && !text.contains("mayi hook"), "{text}");
    assert!(text.contains("// My own guard.") && text.contains("~/guard.sh"), "{text}");
}

#[test]
fn an_older_entry_of_ours_becomes_the_present_one_in_place() {
    let world = World::new();
    let old = r#"{
  "hooks": {
    "PreToolUse": [
      {"matcher": "Bash", "hooks": [{"type": "command", "command": "'/old place/mayi' hook claude-code", "timeout": 5}]},
      {"matcher": "Edit", "hooks": [{"type": "command", "command": "lint"}]},
      {"matcher": "Write", "hooks": [{"type": "command", "command": "mayi hook claude-code"}]}
    ],
    "SessionEnd": [{"hooks": [{"type": "command", "command": "/old/mayi hook claude-code"}]}]
  }
}
"#;
    let path = world.write(".claude/settings.json", old);
    world.install("claude-code").unwrap();
    assert_eq!(world.files().len(), 1, "nothing but ours changed, so there is nothing to keep");
    let hooks = json_of(&path)["hooks"].clone();
    let events: Vec<&String> = hooks.as_object().unwrap().keys().collect();
    assert_eq!(events, ["PreToolUse", "SessionStart", "PermissionRequest", "PermissionDenied", "PostToolUse"]);
    let list = hooks["PreToolUse"].as_array().unwrap();
    assert_eq!(list.len(), 2, "one of ours, one of theirs: {list:?}");
    assert_eq!(list[0]["matcher"], "*");
    assert_eq!(list[0]["hooks"][0]["command"], "/opt/mayi hook claude-code");
    assert_eq!(list[1]["hooks"][0]["command"], "lint");
}

#[test]
fn a_group_that_is_shared_with_others_keeps_them() {
    let world = World::new();
    let shared = r#"{"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [
        {"type": "command", "command": "mine"}, {"type": "command", "command": "mayi hook claude-code"}]}]}}"#;
    let path = world.write(".claude/settings.json", shared);
    world.install("claude-code").unwrap();
    let list = json_of(&path)["hooks"]["PreToolUse"].clone();
    assert_eq!(list[0], json!({"matcher": "Bash", "hooks": [{"type": "command", "command": "mine"}]}));
    assert_eq!(list[1]["matcher"], "*");
    world.uninstall("claude-code").unwrap();
    let hooks = json_of(&path)["hooks"].clone();
    assert_eq!(hooks, json!({"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "mine"}]}]}));
}

#[test]
fn the_mode_of_a_file_and_of_its_copy_is_that_of_before() {
    let world = World::new();
    let path = world.write(".claude/settings.json", "{}");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    let outcomes = world.install("claude-code").unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&path), mode(outcomes[0].backup.as_ref().unwrap())), (0o640, 0o640));
}

#[test]
fn a_copy_is_never_written_over() {
    let world = World::new();
    let path = world.write(".claude/settings.json", "{}");
    world.write(".claude/settings.json.mayi-backup", "precious");
    let backup = world.install("claude-code").unwrap()[0].backup.clone().unwrap();
    assert!(backup.ends_with("settings.json.mayi-backup-2"), "{}", backup.display());
    assert_eq!(fs::read_to_string(world.home(".claude/settings.json.mayi-backup")).unwrap(), "precious");
    world.uninstall("claude-code").unwrap();
    assert_eq!(fs::read_to_string(path).unwrap(), "{}");
}

#[test]
fn paths_with_spaces_and_quotes_are_quoted_for_the_shell() {
    let world = World::new();
    let order = world.order("claude-code", "/opt/it's here/mayi");
    install::install(&order, &world.ground, Manner::Real).unwrap();
    let settings = json_of(&world.home(".claude/settings.json"));
    let command = settings.pointer("/hooks/PreToolUse/0/hooks/0/command").unwrap();
    assert_eq!(command, r"'/opt/it'\''s here/mayi' hook claude-code");
    assert_eq!(changes(&install::install(&order, &world.ground, Manner::Real).unwrap()), [Change::Unchanged]);
    for program in ["mayi", "/opt/a\nb"] {
        let agent = agents::named("codex").unwrap();
        assert!(matches!(install::command(Path::new(program), agent, &[]), Err(InstallError::Program(_))), "{program}");
    }
}

#[test]
fn many_at_once_make_one_entry_and_lose_nothing() {
    let world = World::new();
    let path = world.write(".claude/settings.json", COMMENTED);
    std::thread::scope(|scope| {
        for number in 0..4 {
            let (world, path) = (&world, &path);
            scope.spawn(move || {
                // One of them is an editor that changes another part of the file whenever it can.
                if number == 0 {
                    let text = fs::read_to_string(path).unwrap().replace("\"x\"", "\"y\"");
                    let draft = path.with_extension("draft");
                    fs::write(&draft, text).unwrap();
                    fs::rename(&draft, path).unwrap();
                } else {
                    world.install("claude-code").unwrap();
                }
            });
        }
    });
    world.install("claude-code").unwrap();
    let text = fs::read_to_string(&path).unwrap();
    assert_eq!(text.matches("/opt/mayi hook claude-code").count(), 5, "{text}");
    assert!(text.contains("~/guard.sh") && text.contains("// My own guard."), "{text}");
}

#[test]
fn a_broken_file_is_named_with_the_place_and_left_alone() {
    let deep = "[".repeat(100_000);
    let giant = " ".repeat(40 * 1024 * 1024);
    for (text, says) in [
        ("{\n  \"a\" 1\n}", "settings.json:2:"),
        ("", "the file is empty"),
        ("[]", "does not hold what it should"),
        ("{\"hooks\": []}", "`hooks` in"),
        ("{\"hooks\": {\"PreToolUse\": 1}}", "`PreToolUse` in"),
        (deep.as_str(), "not JSON"),
        (giant.as_str(), "more than"),
    ] {
        let world = World::new();
        let path = world.write(".claude/settings.json", text);
        let error = world.install("claude-code").unwrap_err().to_string();
        assert!(error.contains(says) && error.contains("help: "), "{error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
        assert_eq!(world.files().len(), 1, "no copy and no draft: {error}");
    }
}

#[test]
fn a_file_that_says_one_thing_twice_is_left_alone() {
    let hook = r#"{"type": "command", "command": "mayi hook claude-code"}"#;
    for (text, line, member) in [
        ("{\n\"hooks\": {},\n\"model\": \"x\",\n\"hooks\": {\"PreToolUse\": []}\n}".to_owned(), 4, "hooks"),
        ("{\"hooks\": {\"PreToolUse\": [],\n\"PreToolUse\": []}}".to_owned(), 2, "PreToolUse"),
        (format!("{{\"hooks\": {{\"PreToolUse\": [{{\n\"hooks\": [{hook}],\n\"hooks\": []}}]}}}}"), 3, "hooks"),
        ("{\"disableAllHooks\": false,\n\"disableAllHooks\": true}".to_owned(), 2, "disableAllHooks"),
        ("{\"ho\\u006fks\": {},\n\"hooks\": {}}".to_owned(), 2, "hooks"),
    ] {
        let world = World::new();
        let path = world.write(".claude/settings.json", &text);
        for error in [world.install("claude-code").unwrap_err(), world.uninstall("claude-code").unwrap_err()] {
            let error = error.to_string();
            let says = format!("`{member}` stands twice in `{}`, the second time on line {line}", path.display());
            assert!(error.starts_with(&says) && error.contains("help: "), "{error}");
        }
        assert_eq!(world.files(), [(path, text)]);
    }
    let world = World::new();
    world.write(".claude/settings.json", r#"{"env": {"A": "1", "A": "2"}}"#);
    world.install("claude-code").unwrap();
}

#[test]
fn what_is_no_plain_file_is_refused() {
    let world = World::new();
    fs::create_dir_all(world.home(".claude/settings.json")).unwrap();
    let error = world.install("claude-code").unwrap_err().to_string();
    assert!(error.contains("not a file"), "{error}");

    let world = World::new();
    fs::create_dir(world.home(".claude")).unwrap();
    let outside = world.ground.system.join("elsewhere.json");
    fs::write(&outside, "{}").unwrap();
    symlink(&outside, world.home(".claude/settings.json")).unwrap();
    let error = world.install("claude-code").unwrap_err().to_string();
    assert!(error.contains("leads out of"), "{error}");
    assert_eq!(fs::read_to_string(&outside).unwrap(), "{}");

    let world = World::new();
    symlink(&world.ground.system, world.home(".claude")).unwrap();
    assert!(world.install("claude-code").is_err());
    assert_eq!(fs::read_dir(&world.ground.system).unwrap().count(), 0);
}

#[test]
fn a_link_that_stays_at_home_is_followed_and_stays_a_link() {
    let world = World::new();
    let real = world.write("dotfiles/claude.json", "{\"a\": 1}\n");
    fs::create_dir(world.home(".claude")).unwrap();
    symlink(&real, world.home(".claude/settings.json")).unwrap();
    assert_eq!(world.install("claude-code").unwrap()[0].path, real);
    assert!(world.home(".claude/settings.json").symlink_metadata().unwrap().is_symlink());
    world.uninstall("claude-code").unwrap();
    assert_eq!(fs::read_to_string(real).unwrap(), "{\"a\": 1}\n");
}

#[test]
fn folders_that_may_have_been_there_before_stay() {
    for (name, folder) in [
        ("claude-code", ".claude"),
        ("cline", "Documents"),
        ("copilot", ".copilot/hooks"),
        ("opencode", ".config/opencode/plugins"),
        ("goose", ".agents/plugins"),
    ] {
        let world = World::new();
        fs::create_dir_all(world.home(folder)).unwrap();
        world.install(name).unwrap();
        world.uninstall(name).unwrap();
        assert!(world.home(folder).is_dir(), "{name}: {folder}");
        assert_eq!(world.files(), [], "{name}");
    }
}

#[test]
fn what_a_linked_folder_leads_to_stays() {
    for (name, folder) in [("claude-code", ".claude"), ("goose", ".agents/plugins/mayi")] {
        let world = World::new();
        fs::create_dir_all(world.home("dotfiles/mayi")).unwrap();
        let link = world.home(folder);
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        symlink(world.home("dotfiles/mayi"), &link).unwrap();
        world.install(name).unwrap();
        world.uninstall(name).unwrap();
        assert!(link.is_dir(), "{name}: the link still leads somewhere");
    }
}

#[test]
fn a_link_that_leads_nowhere_is_called_that() {
    let world = World::new();
    symlink(world.home("gone"), world.home(".claude")).unwrap();
    let error = world.install("claude-code").unwrap_err().to_string();
    assert!(error.contains("symbolic link to something that is not there") && error.contains("help: "), "{error}");

    let world = World::new();
    fs::create_dir(world.home(".claude")).unwrap();
    symlink(world.home("gone.json"), world.home(".claude/settings.json")).unwrap();
    let error = world.install("claude-code").unwrap_err().to_string();
    assert!(error.contains("symbolic link to something that is not there"), "{error}");
    assert!(!world.home("gone.json").exists());
}

#[test]
fn a_foreign_file_of_our_name_is_never_touched() {
    for (name, file) in
        [("opencode", ".config/opencode/plugins/mayi.js"), ("cline", "Documents/Cline/Hooks/PreToolUse")]
    {
        let world = World::new();
        world.write(file, "mine\n");
        let before = world.files();
        assert!(matches!(world.install(name), Err(InstallError::Foreign { .. })), "{name}");
        assert!(changes(&world.uninstall(name).unwrap()).iter().all(|change| *change == Change::Unchanged), "{name}");
        assert_eq!(world.files(), before, "{name}");
    }
}

#[test]
fn a_script_of_ours_that_cannot_be_run_is_mended() {
    let world = World::new();
    world.install("cline").unwrap();
    let script = world.home("Documents/Cline/Hooks/PreToolUse");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o644)).unwrap();
    assert_eq!(changes(&world.install("cline").unwrap()), [Change::Changed, Change::Unchanged]);
    assert_eq!(fs::metadata(script).unwrap().permissions().mode() & 0o777, 0o755);
}

#[test]
fn scopes_and_variables_lead_to_their_files() {
    let mut world = World::new();
    let elsewhere = world.ground.system.join("claude");
    world.ground.variables.insert("CLAUDE_CONFIG_DIR".to_owned(), elsewhere.clone());
    assert_eq!(world.install("claude-code").unwrap()[0].path, elsewhere.join("settings.json"));
    for (scope, file) in [(Scope::Project, ".claude/settings.json"), (Scope::Local, ".claude/settings.local.json")] {
        let order = Order { scope, ..world.order("claude-code", "/opt/mayi") };
        let outcomes = install::install(&order, &world.ground, Manner::Real).unwrap();
        assert_eq!(outcomes[0].path, world.ground.project.join(file));
    }
    let order = Order { scope: Scope::Local, ..world.order("codex", "/opt/mayi") };
    let error = install::install(&order, &world.ground, Manner::Real).unwrap_err().to_string();
    assert_eq!(error, "Codex CLI has no local configuration for hooks\nhelp: use --scope user or project");
    world.ground.home = None;
    assert!(matches!(world.install("gemini"), Err(InstallError::NoHome)));
}

/// The name of a hook that a line of opencode's plugin defines.
fn hook_of_a_plugin(line: &str) -> Option<&str> {
    let (name, rest) = line.strip_prefix('"')?.split_once('"')?;
    rest.starts_with(": async").then_some(name)
}

#[test]
fn the_guide_names_the_events_that_are_registered() {
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/agents.md")).unwrap();
    for agent in installable() {
        let row = page.lines().find(|line| line.starts_with(&format!("| `{}` |", agent.name))).unwrap();
        let told: Vec<&str> =
            row.split('|').nth(2).unwrap().split(',').map(|word| word.trim_matches([' ', '`'])).collect();
        let registered = agent.files.iter().flat_map(|file| match &file.kind {
            Kind::Entries(entries) => entries.events.iter().map(|hooked| hooked.event).collect(),
            Kind::Whole(whole) if whole.text.contains("tool.execute.before") => {
                let mut hooks: Vec<&str> =
                    whole.text.lines().filter_map(|line| hook_of_a_plugin(line.trim())).collect();
                hooks.sort_by_key(|hook| told.iter().position(|event| event == hook));
                hooks
            }
            Kind::Whole(_) if agent.name == "cline" => vec![file.user.unwrap().trim_start_matches("Hooks/")],
            Kind::Whole(_) => Vec::new(),
        });
        assert_eq!(told, registered.collect::<Vec<&str>>(), "{}", agent.name);
    }
}

#[test]
fn every_canary_is_json_with_the_session_of_the_doctor() {
    for agent in agents::ALL {
        let message: Value = serde_json::from_str(agent.canary.message).unwrap();
        let text = message.to_string();
        for part in ["mayi-doctor", "@COMMAND@", "@FOLDER@"] {
            assert!(text.contains(part), "{}: {part}", agent.name);
        }
        let has_event = agent.files.is_empty()
            || agent.files.iter().any(|file| match &file.kind {
                Kind::Entries(entries) => entries.events.iter().any(|hooked| hooked.event == agent.canary.event),
                Kind::Whole(_) => true,
            });
        assert!(has_event, "{}", agent.name);
    }
}

#[test]
fn no_agent_can_take_our_hook_out_unasked() {
    let policy = mayi_settings::of_values(&[], &Workspace::at("/work"), &Given::default()).policy;
    for agent in installable() {
        for file in agent.files {
            let user = file.user.map(|name| format!("/home/u/{}/{name}", agent.base.below_home));
            let here = file.project.into_iter().chain(file.local).map(|name| format!("/work/{name}"));
            for path in user.into_iter().chain(here) {
                assert!(mayi_core::locations::protected(&path, &policy).is_some(), "{}: {path}", agent.name);
            }
        }
    }
}

/// A JSON text in one of the ways people and programs write it.
fn written(value: &Value, style: usize) -> String {
    let pretty = serde_json::to_string_pretty(value).unwrap();
    match style % 7 {
        0 => pretty,
        1 => pretty + "\n",
        2 => serde_json::to_string(value).unwrap(),
        3 => pretty.replace("  ", "\t").replace('\n', "\r\n") + "\r\n",
        4 => format!("\u{feff}{pretty}\n"),
        5 => format!("// Mine.\n{}\n\n", pretty.replace("{\n", "{ // why\n")),
        _ => pretty.replace("  ", "    ").replace("]\n", "],\n").replace("}\n", "},\n") + "\n",
    }
}

fn settings() -> impl Strategy<Value = Value> {
    let command = prop_oneof![Just("lint"), Just("~/guard.sh --all"), Just("mayi check ls")];
    let hook = command.prop_map(|command| json!({"type": "command", "command": command}));
    let group = (prop_oneof![Just("*"), Just("Bash")], prop::collection::vec(hook, 0..3))
        .prop_map(|(matcher, hooks)| json!({"matcher": matcher, "hooks": hooks}));
    let event = prop_oneof![Just("PreToolUse"), Just("PostToolUse"), Just("Stop"), Just("BeforeTool")];
    let hooks = prop::collection::btree_map(event, prop::collection::vec(group, 0..3), 0..4);
    (prop::option::of(hooks), any::<bool>()).prop_map(|(hooks, model)| {
        let mut value = json!({});
        if model {
            value["model"] = json!("x");
        }
        if let Some(hooks) = hooks {
            value["hooks"] = json!(hooks);
        }
        value["last"] = json!([1, {"a": null}]);
        value
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn installing_and_uninstalling_gives_the_same_bytes_back(value in settings(), style in 0..7usize) {
        let text = written(&value, style);
        prop_assume!(mayi_settings::document::Document::parse(&text).is_ok());
        for (name, file) in [("claude-code", ".claude/settings.json"), ("gemini", ".gemini/settings.json")] {
            let world = World::new();
            let path = world.write(file, &text);
            world.install(name).unwrap();
            let installed = fs::read_to_string(&path).unwrap();
            prop_assert!(mayi_settings::document::Document::parse(&installed).is_ok());
            world.uninstall(name).unwrap();
            prop_assert_eq!(&fs::read_to_string(&path).unwrap(), &text);

            // Without the copy the same is said, if not in the same bytes.
            world.install(name).unwrap();
            fs::remove_file(path.with_extension("json.mayi-backup")).unwrap();
            world.uninstall(name).unwrap();
            let left = mayi_settings::document::Document::open(&path).unwrap().unwrap().root.to_value();
            prop_assert_eq!(left.get("model"), value.get("model"));
            prop_assert_eq!(left.get("last"), value.get("last"));
            prop_assert!(!left.to_string().contains("mayi hook"));
        }
    }
}
