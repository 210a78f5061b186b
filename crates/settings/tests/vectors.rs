//! The published behaviour of the settings format, vector by vector, and where mayi differs on purpose.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use mayi_core::call::Workspace;
use mayi_core::mode::Mode;
use mayi_core::policy::{Layer, Status, Written};
use mayi_core::verdict::Verdict;
use mayi_settings::load::{Bundle, LocalAuthor};
use mayi_settings::places::{ManagedFolder, Places};
use mayi_settings::settings::Concealment;
use mayi_settings::update::SessionPermissions;
use mayi_settings::{Code, Given, Loaded, Trust, load, of_values};
use serde_json::{Value, json};

fn layers(layers: &[(Layer, Value)], given: &Given) -> Loaded {
    let layers: Vec<(Layer, &Value)> = layers.iter().map(|(layer, value)| (*layer, value)).collect();
    of_values(&layers, &Workspace::at("/w").with_home("/home/u"), given)
}

fn trusted() -> Given {
    Given { trust: Trust::Trusted, ..Given::default() }
}

fn rules(loaded: &Loaded) -> Vec<String> {
    loaded.policy.entries().iter().map(|entry| format!("{} {}", entry.verdict, entry.text)).collect()
}

fn codes(loaded: &Loaded) -> Vec<&'static str> {
    loaded.problems().iter().map(|problem| problem.code.word()).collect()
}

#[test]
fn st_01_allows_of_all_layers_add_up_and_the_projects_wait_for_trust() {
    let allow = |rule: &str| json!({"permissions": {"allow": [rule]}});
    let files = [(Layer::User, allow("A")), (Layer::Project, allow("B")), (Layer::Local, allow("C"))];
    assert_eq!(rules(&layers(&files, &trusted())), ["allow C", "allow B", "allow A"]);
    let untrusted = layers(&files, &Given::default());
    assert_eq!(rules(&untrusted), ["allow C", "allow A"]);
    assert_eq!(untrusted.withheld[0].written.text, "B");
    assert_eq!(codes(&untrusted), ["needs-trust"]);
}

fn starting_mode(files: &[(Layer, Value)], given: &Given) -> Option<Mode> {
    layers(files, given).policy.options.default_mode
}

fn mode(word: &str) -> Value {
    json!({"permissions": {"defaultMode": word}})
}

#[test]
fn st_02_to_05_the_starting_mode() {
    let given = trusted();
    assert_eq!(starting_mode(&[(Layer::User, mode("plan")), (Layer::Project, mode("auto"))], &given), None, "ST-02");
    assert_eq!(starting_mode(&[(Layer::Project, mode("bypassPermissions"))], &given), None, "ST-03");
    assert_eq!(starting_mode(&[(Layer::Local, mode("bypassPermissions"))], &given), None);
    let st_04 = [(Layer::Local, mode("acceptEdits")), (Layer::Project, mode("plan"))];
    assert_eq!(starting_mode(&st_04, &given), Some(Mode::AcceptEdits), "ST-04");
    let mut with_option = trusted();
    with_option.cli.mode = Some(Mode::AcceptEdits);
    assert_eq!(starting_mode(&[(Layer::Managed, mode("default"))], &with_option), Some(Mode::AcceptEdits), "ST-05");
    assert_eq!(starting_mode(&[(Layer::User, mode("auto"))], &given), Some(Mode::Auto));
    assert_eq!(starting_mode(&[(Layer::User, mode("manual"))], &given), Some(Mode::Default));
}

#[test]
fn a_starting_mode_that_loosens_waits_for_trust_and_a_misspelt_one_is_the_built_in_one() {
    let files = [(Layer::User, mode("plan")), (Layer::Project, mode("acceptEdits"))];
    assert_eq!(starting_mode(&files, &Given::default()), Some(Mode::Plan));
    assert_eq!(starting_mode(&files, &trusted()), Some(Mode::AcceptEdits));
    let misspelt = [(Layer::User, mode("acceptEdits")), (Layer::Project, mode("plann"))];
    assert_eq!(starting_mode(&misspelt, &trusted()), Some(Mode::Default));
    let disabled =
        json!({"permissions": {"defaultMode": "bypassPermissions", "disableBypassPermissionsMode": "disable"}});
    assert_eq!(starting_mode(&[(Layer::User, disabled)], &trusted()), None);
}

#[test]
fn st_06_a_project_cannot_configure_auto_mode() {
    for layer in [Layer::Project, Layer::Local] {
        let loaded = layers(&[(layer, json!({"autoMode": {"allow": ["everything"]}}))], &trusted());
        assert_eq!(loaded.settings.auto_mode.allow, None, "{layer}");
        assert_eq!(codes(&loaded), ["key-not-allowed-here"]);
    }
    let user = layers(&[(Layer::User, json!({"autoMode": {"allow": ["$defaults", "x"]}}))], &trusted());
    assert_eq!(user.settings.auto_mode.allow.as_deref(), Some(["$defaults".to_owned(), "x".to_owned()].as_slice()));
}

#[test]
fn st_07_any_layer_can_disable_bypass_and_auto() {
    for layer in Layer::ALL {
        let settings =
            json!({"permissions": {"disableBypassPermissionsMode": "disable", "disableAutoMode": "disable"}});
        let options = &layers(&[(layer, settings)], &Given::default()).policy.options;
        assert!(options.bypass_disabled && options.auto_disabled, "{layer}");
    }
    assert!(layers(&[(Layer::User, json!({"disableAutoMode": "disable"}))], &trusted()).policy.options.auto_disabled);
}

/// A machine in a temporary folder.
struct Machine {
    folder: tempfile::TempDir,
    places: Places,
}

impl Machine {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let managed = root.join("etc/mayi");
        let places = Places {
            directory: root.join("work"),
            home: Some(root.join("home")),
            repository: None,
            user: vec![root.join("home/.config/mayi/settings.json"), root.join("home/.claude/settings.json")],
            managed: vec![ManagedFolder { file: managed.join("managed.json"), drop_ins: managed.join("managed.d") }],
            state: Some(root.join("home/.local/state/mayi")),
            ..Places::default()
        };
        std::fs::create_dir_all(&places.directory).unwrap();
        Self { folder, places }
    }

    fn write(&self, name: &str, text: &str) -> &Self {
        let path = self.folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
        self
    }

    fn load(&self, given: &Given) -> Loaded {
        load(&self.places, given)
    }
}

#[test]
fn st_08_later_drop_ins_win_scalars_and_lists_unite() {
    let machine = Machine::new();
    machine
        .write("etc/mayi/managed.json", r#"{"classifier": {"model": "w"}, "permissions": {"deny": ["Bash(c)"]}}"#)
        .write(
            "etc/mayi/managed.d/10-a.json",
            r#"{"classifier": {"model": "x"}, "permissions": {"deny": ["Bash(a)"]}}"#,
        )
        .write(
            "etc/mayi/managed.d/20-b.json",
            r#"{"classifier": {"model": "y"}, "permissions": {"deny": ["Bash(b)"]}}"#,
        );
    let loaded = machine.load(&Given::default());
    assert_eq!(loaded.settings.classifier.model.as_deref(), Some("y"));
    assert_eq!(rules(&loaded), ["deny Bash(b)", "deny Bash(a)", "deny Bash(c)"]);
    assert_eq!(loaded.effective.setting("classifier.model").unwrap().origins[0].line, 1);
}

/// ST-09 says that the first managed source with any key wins whole. Here the lists of all of them unite, so that no
/// source can switch another one's denies off.
#[test]
fn st_09_differs_denies_of_every_managed_source_count() {
    let machine = Machine::new();
    machine.write("etc/mayi/managed.json", r#"{"permissions": {"deny": ["Bash(a)"], "defaultMode": "plan"}}"#);
    let bundle = json!({"env": {"A": "1"}, "permissions": {"defaultMode": "dontAsk"}});
    let given = Given { bundles: vec![Bundle { name: "server".into(), settings: bundle }], ..Given::default() };
    let loaded = machine.load(&given);
    assert_eq!(rules(&loaded), ["deny Bash(a)"]);
    assert_eq!(loaded.policy.options.default_mode, Some(Mode::DontAsk), "the server's scalars win");
}

/// ST-10 says that a comment makes a user file unreadable. Here comments are read.
#[test]
fn st_10_differs_comments_are_read_and_what_is_not_json_makes_everything_ask() {
    let machine = Machine::new();
    machine.write("home/.claude/settings.json", "{ // why\n \"permissions\": {\"deny\": [\"Bash(a)\",],}, }");
    machine.write("work/.claude/settings.json", "{\n  \"permissions\": {\n");
    let loaded = machine.load(&Given::default());
    assert_eq!(rules(&loaded), ["deny Bash(a)"]);
    let origin = &loaded.policy.options.broken[0];
    assert_eq!((origin.layer, origin.file.as_deref()), (Layer::Project, Some(".claude/settings.json")));
    assert_eq!(codes(&loaded), ["broken-file"]);
}

#[test]
fn st_11_a_malformed_rule_leaves_its_neighbours() {
    let machine = Machine::new();
    let text = "{\n  \"permissions\": {\n    \"allow\": [\n      \"Bash(\",\n      \"Read\"\n    ]\n  }\n}";
    machine.write("home/.claude/settings.json", text);
    let loaded = machine.load(&Given::default());
    let live: Vec<_> = loaded.policy.entries().iter().filter(|entry| entry.status == Status::Live).collect();
    assert_eq!(live.iter().map(|entry| entry.text.as_str()).collect::<Vec<_>>(), ["Read"]);
    let problem = &loaded.problems()[0];
    assert_eq!((problem.code, problem.origin.line, problem.origin.column), (Code::MalformedRule, 4, 7));
    assert!(problem.to_string().contains(" 4 |       \"Bash(\",\n   |       ^^^^^^^"), "{problem}");
}

#[test]
fn st_12_before_trust_denies_hold_and_allows_do_not() {
    let project = json!({"permissions": {"deny": ["Bash(rm *)"], "ask": ["Bash(git push *)"], "allow": ["Bash(ls)"],
        "additionalDirectories": ["/other"]}});
    let loaded = layers(&[(Layer::Project, project.clone())], &Given::default());
    assert_eq!(
        rules(&loaded),
        ["ask Bash(git push *)", "deny Bash(rm *)"].map(str::to_owned).iter().rev().cloned().collect::<Vec<_>>()
    );
    assert_eq!(loaded.policy.workspace.added, Vec::<String>::new());
    let loaded = layers(&[(Layer::Project, project)], &trusted());
    assert_eq!(rules(&loaded).len(), 3);
    assert_eq!(loaded.policy.workspace.added, ["/other"]);
}

#[test]
fn st_13_a_switch_that_cannot_be_read_is_on() {
    let loaded = layers(&[(Layer::Managed, json!({"allowManagedHooksOnly": "yes"}))], &Given::default());
    assert!(loaded.settings.allow_managed_hooks_only);
    assert_eq!(codes(&loaded), ["wrong-type"]);
    let odd = json!({"permissions": {"disableBypassPermissionsMode": true, "disableAutoMode": false}});
    let options = &layers(&[(Layer::User, odd)], &Given::default()).policy.options;
    assert!(options.bypass_disabled);
    assert!(!options.auto_disabled, "`false` plainly means no");
}

#[test]
fn st_14_a_tracked_local_file_is_the_repositorys() {
    let local = [(Layer::Local, json!({"permissions": {"allow": ["Bash(ls)"]}}))];
    assert_eq!(rules(&layers(&local, &Given::default())), ["allow Bash(ls)"]);
    let tracked = Given { local: LocalAuthor::Repository, ..Given::default() };
    let loaded = layers(&local, &tracked);
    assert_eq!(rules(&loaded), Vec::<String>::new());
    assert_eq!(codes(&loaded), ["needs-trust"]);
}

#[test]
fn st_14_git_is_asked_who_wrote_a_local_file() {
    let machine = Machine::new();
    let local = r#"{"permissions": {"allow": ["Bash(ls)"]}, "disableAllHooks": true,
        "hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "own"}]}]}}"#;
    let git = |words: &[&str]| {
        let status = std::process::Command::new("git").current_dir(&machine.places.directory).args(words).status();
        assert!(status.unwrap().success(), "{words:?}");
    };
    git(&["init", "-q"]);
    machine.write("work/.claude/settings.local.json", local);
    let load = |given: &Given| {
        let places = Places { repository: Some(machine.places.directory.clone()), ..machine.places.clone() };
        mayi_settings::load(&places, given)
    };
    let own = load(&Given::default());
    assert_eq!((rules(&own), own.settings.disable_all_hooks), (vec!["allow Bash(ls)".to_owned()], true));
    git(&["add", "-f", "."]);
    let theirs = load(&Given::default());
    assert_eq!((rules(&theirs), theirs.settings.disable_all_hooks, theirs.hooks.len()), (Vec::new(), false, 0));
    assert_eq!(rules(&load(&trusted())), ["allow Bash(ls)"]);
}

#[cfg(unix)]
#[test]
fn a_local_file_behind_a_link_is_the_repositorys() {
    let machine = Machine::new();
    machine.write("elsewhere/settings.local.json", r#"{"permissions": {"allow": ["Bash(ls)"]}}"#);
    let link = machine.places.directory.join(".claude");
    std::os::unix::fs::symlink(machine.folder.path().join("elsewhere"), link).unwrap();
    assert_eq!(rules(&machine.load(&Given::default())), Vec::<String>::new());
    assert_eq!(rules(&machine.load(&trusted())), ["allow Bash(ls)"]);
}

#[test]
fn st_15_blocking_outside_reads_sticks() {
    let block = |on: bool| json!({"permissions": {"blockReadsOutsideWorkingDirectories": on}});
    let files = [(Layer::Project, block(true)), (Layer::User, block(false)), (Layer::Managed, block(false))];
    let loaded = layers(&files, &Given::default());
    assert!(loaded.policy.options.block_outside_reads);
    let origins = &loaded.effective.setting("permissions.blockReadsOutsideWorkingDirectories").unwrap().origins;
    assert_eq!(origins[0].layer, Layer::Project, "the origin is the layer that said so");
}

#[test]
fn directories_of_a_repository_do_not_count_while_outside_reads_are_blocked() {
    let project =
        json!({"permissions": {"additionalDirectories": ["/p"], "blockReadsOutsideWorkingDirectories": true}});
    let user = json!({"permissions": {"additionalDirectories": ["~/u"]}});
    let mut given = trusted();
    given.cli.directories = vec!["/c".into()];
    let loaded = layers(&[(Layer::Project, project), (Layer::User, user)], &given);
    assert_eq!(loaded.policy.workspace.added, ["/c", "/home/u/u"]);
}

#[test]
fn st_16_a_directory_of_an_option_stays_when_a_session_takes_it_out() {
    let update = |kind: &str| json!({"type": kind, "directories": ["/c", "/s"], "destination": "session"});
    let mut session = SessionPermissions::default();
    session.apply(&serde_json::from_value(update("addDirectories")).unwrap());
    let mut given = Given::default();
    given.cli.directories = vec!["/c".into(), "sub".into()];
    let loaded = layers(&[], &given);
    assert_eq!(loaded.policy_for(&session).workspace.added, ["/c", "/w/sub", "/s"]);
    session.apply(&serde_json::from_value(update("removeDirectories")).unwrap());
    assert_eq!(loaded.policy_for(&session).workspace.added, ["/c", "/w/sub"]);
}

#[test]
fn st_17_a_managed_rule_that_is_gone_is_gone() {
    let machine = Machine::new();
    machine.write("etc/mayi/managed.json", r#"{"permissions": {"allow": ["Bash(a)"]}}"#);
    assert_eq!(rules(&machine.load(&Given::default())), ["allow Bash(a)"]);
    machine.write("etc/mayi/managed.json", "{}");
    assert_eq!(rules(&machine.load(&Given::default())), Vec::<String>::new());
}

#[test]
fn only_the_organisations_rules_count_when_it_says_so() {
    let managed = json!({"allowManagedPermissionRulesOnly": true, "permissions": {"allow": ["Bash(a)"]}});
    let user = json!({"permissions": {"allow": ["Bash(b)"], "deny": ["Bash(c)"]}});
    let mut given = trusted();
    given.cli.rules = vec![Written::new(Verdict::Allow, "Bash(d)")];
    given.session = vec![Written::new(Verdict::Allow, "Bash(e)")];
    let loaded = layers(&[(Layer::Managed, managed), (Layer::User, user)], &given);
    assert_eq!(rules(&loaded), ["allow Bash(a)"]);
    assert_eq!(loaded.withheld.len(), 4);
    assert!(!loaded.may_save_rules());
    let elsewhere = json!({"allowManagedPermissionRulesOnly": true});
    let loaded = layers(&[(Layer::User, elsewhere)], &trusted());
    assert_eq!(codes(&loaded), ["key-not-allowed-here"]);
    assert!(loaded.may_save_rules());
}

#[test]
fn a_broken_managed_file_is_told_from_others() {
    let machine = Machine::new();
    machine.write("etc/mayi/managed.d/10.json", "nonsense");
    let loaded = machine.load(&Given::default());
    assert_eq!(loaded.policy.options.broken[0].layer, Layer::Managed);
    std::fs::remove_dir_all(machine.folder.path().join("etc/mayi/managed.d")).unwrap();
    machine.write("etc/mayi/managed.d", "a file where a folder should be");
    assert_eq!(machine.load(&Given::default()).policy.options.broken[0].layer, Layer::Managed);
}

#[test]
fn lists_of_denies_that_are_no_lists_make_everything_ask() {
    for permissions in [json!({"deny": "Bash"}), json!({"ask": {"a": 1}}), json!({"deny": [42]})] {
        let loaded = layers(&[(Layer::User, json!({"permissions": permissions}))], &Given::default());
        assert!(loaded.policy.malformed("AnyTool").is_some(), "{permissions}");
    }
    let loaded = layers(&[(Layer::User, json!({"permissions": []}))], &Given::default());
    assert_eq!(loaded.policy.options.broken.len(), 1);
    let loaded = layers(&[(Layer::User, json!({"permissions": {"allow": "Bash"}}))], &Given::default());
    assert_eq!(rules(&loaded), Vec::<String>::new());
}

#[test]
fn anchors_start_where_the_source_stands() {
    let machine = Machine::new();
    let deny = r#"{"permissions": {"deny": ["Read(/secret)"]}}"#;
    for file in
        ["home/.claude/settings.json", "work/.claude/settings.json", "work/.mayi/settings.local.json", "flag/f.json"]
    {
        machine.write(file, deny);
    }
    let root = machine.places.directory.parent().unwrap().to_owned();
    let flag = mayi_settings::Flag::File(root.join("flag/f.json"));
    let loaded = machine.load(&Given { flags: vec![flag], ..Given::default() });
    let roots: Vec<String> =
        loaded.policy.sources().iter().map(|source| source.root.replace(&*root.to_string_lossy(), "")).collect();
    assert_eq!(roots, ["/flag", "/work", "/work", "/home/.claude"]);
}

#[test]
fn unknown_names_come_with_the_nearest_known_one() {
    let settings = json!({"permisions": {}, "permissions": {"deny": ["Bsah(rm:*)", "mcp__x__y", "*"], "alow": []},
        "model": "x", "sandbox": {"network": {"allowedDomain": []}}});
    let loaded = layers(&[(Layer::User, settings)], &Given::default());
    let fixes: Vec<_> = loaded.problems().iter().map(|problem| problem.fix.clone().unwrap()).collect();
    assert_eq!(
        fixes,
        [
            "did you mean `permissions`?",
            "did you mean `allow`?",
            "did you mean `allowedDomains`?",
            "did you mean `Bash`?"
        ]
    );
}

#[test]
fn a_repository_cannot_loosen_the_sandbox() {
    let project = json!({"sandbox": {"enabled": false, "allowUnsandboxedCommands": true, "excludedCommands": ["npm *"],
        "network": {"allowedDomains": ["evil.example"], "deniedDomains": ["a.example"]},
        "filesystem": {"allowWrite": ["/"], "denyRead": ["keys"]}}});
    let user = json!({"sandbox": {"enabled": true, "allowUnsandboxedCommands": false}});
    let loaded = layers(&[(Layer::Project, project), (Layer::User, user)], &trusted());
    let sandbox = &loaded.policy.options.sandbox;
    assert!(sandbox.enabled && !sandbox.allow_unsandboxed && sandbox.excluded.is_empty(), "{sandbox:?}");
    let typed = &loaded.settings.sandbox;
    assert_eq!(typed.network.allowed_domains, Vec::<String>::new());
    assert_eq!(typed.network.denied_domains, ["a.example"]);
    assert_eq!((&typed.filesystem.allow_write, &typed.filesystem.deny_read), (&vec![], &vec!["/w/keys".to_owned()]));
    assert!(codes(&loaded).iter().all(|code| *code == "key-not-allowed-here"));
}

#[test]
fn sn_02_an_organisations_sandbox_leaves_no_room_in_the_project() {
    let flag = json!({"sandbox": {"enabled": true, "allowUnsandboxedCommands": false}});
    let local = json!({"sandbox": {"excludedCommands": ["npm *"]}});
    let loaded = layers(&[(Layer::Flag, flag), (Layer::Local, local.clone())], &trusted());
    assert_eq!(loaded.policy.options.sandbox.excluded, Vec::<String>::new());
    let loaded = layers(&[(Layer::Local, local)], &trusted());
    assert_eq!(loaded.policy.options.sandbox.excluded, ["npm *"]);
}

#[test]
fn a_strangers_sandbox_answers_no_questions() {
    let project = [(Layer::Project, json!({"sandbox": {"enabled": true}}))];
    let stranger = layers(&project, &Given::default());
    assert!(stranger.policy.options.sandbox.enabled && !stranger.policy.options.sandbox.auto_allow);
    assert!(layers(&project, &trusted()).policy.options.sandbox.auto_allow);
}

#[test]
fn hooks_wait_for_trust_and_only_the_organisation_can_stop_its_own() {
    let hook = |command: &str| json!({"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": command}]}]});
    let files = |managed: Value| {
        [
            (Layer::Managed, managed),
            (Layer::User, json!({"hooks": hook("u"), "disableAllHooks": false})),
            (Layer::Project, json!({"hooks": hook("p")})),
            (Layer::Flag, json!({"hooks": hook("u")})),
        ]
    };
    let commands = |loaded: &Loaded| loaded.hooks.iter().map(|hook| hook.origin.layer.word()).collect::<Vec<_>>();
    let managed = json!({"hooks": hook("m")});
    assert_eq!(commands(&layers(&files(managed.clone()), &Given::default())), ["managed", "flag"]);
    assert_eq!(commands(&layers(&files(managed), &trusted())), ["managed", "flag", "project"]);
    let only = json!({"hooks": hook("m"), "allowManagedHooksOnly": true});
    assert_eq!(commands(&layers(&files(only), &trusted())), ["managed"]);
    let off = [
        (Layer::Managed, json!({"hooks": hook("m")})),
        (Layer::User, json!({"disableAllHooks": true, "hooks": hook("u")})),
    ];
    assert_eq!(commands(&layers(&off, &trusted())), ["managed"]);
    let all_off = json!({"hooks": hook("m"), "disableAllHooks": true});
    assert_eq!(commands(&layers(&[(Layer::Managed, all_off)], &trusted())), Vec::<&str>::new());
    // What stands for a hook that cannot be read is there where the hook would have been, and nowhere else.
    let bad = json!({"PreToolUse": [{"hooks": [{"type": "command"}]}]});
    let project = [(Layer::Project, json!({"hooks": bad}))];
    assert_eq!(commands(&layers(&project, &Given::default())), Vec::<&str>::new());
    assert_eq!(commands(&layers(&project, &trusted())), ["project"]);
    let off = json!({"disableAllHooks": true, "hooks": bad});
    assert_eq!(commands(&layers(&[(Layer::User, off)], &trusted())), Vec::<&str>::new());
}

#[test]
fn mayi_is_no_hook_of_its_own() {
    let hooks = json!({"PreToolUse": [{"matcher": "*", "hooks": [
        {"type": "command", "command": "'/opt/my tools/mayi' hook claude-code", "timeout": 60, "onFailure": "block"},
        {"type": "command", "command": "/opt/mayi", "args": ["hook", "claude-code"]},
        {"type": "command", "command": "mayi hook claude-code; guard"},
    ]}]});
    let loaded = layers(&[(Layer::User, json!({"hooks": hooks}))], &trusted());
    assert_eq!(loaded.problems(), []);
    assert_eq!(loaded.hooks.len(), 1, "only the one that does something else as well: {:?}", loaded.hooks);
}

#[test]
fn mayis_own_files_are_protected_also_before_they_exist() {
    let machine = Machine::new();
    let protected = machine.load(&Given::default()).policy.options.protected_files.clone();
    for file in
        ["work/.mayi/settings.json", "home/.config/mayi/settings.json", "etc/mayi/managed.d", "home/.local/state/mayi"]
    {
        let path = machine.places.directory.parent().unwrap().join(file);
        assert!(protected.contains(&path.to_string_lossy().into_owned()), "{file}");
    }
}

#[test]
fn objects_merge_key_by_key_and_every_value_keeps_its_origin() {
    let user = json!({"env": {"A": "user", "B": "user"}, "autoMode": {"limits": {"inARow": 5, "total": 9}}});
    let flag = json!({"env": {"A": "flag"}, "autoMode": {"limits": {"total": 7}}});
    let loaded = layers(&[(Layer::User, user), (Layer::Flag, flag)], &trusted());
    assert_eq!(loaded.settings.env["A"], "flag");
    assert_eq!(loaded.settings.env["B"], "user");
    let limits = loaded.policy.options.limits;
    assert_eq!((limits.in_a_row, limits.total), (5, 7));
    let origin = |path: &str| loaded.effective.setting(path).unwrap().origins[0].to_string();
    assert_eq!(origin("autoMode.limits.total"), "flag <flag>");
    assert_eq!(origin("autoMode.limits.inARow"), "user <user>");
}

#[test]
fn every_kind_of_bad_file_is_a_problem_with_a_place_and_never_a_panic() {
    for bytes in
        [&b""[..], b"\xff\xfe", b"[", b"{\"permissions\": {\"deny\": [\"Bash(x)\"}}", b"null", b"{\"a\":\"\\ud800\"}"]
    {
        let machine = Machine::new();
        std::fs::create_dir_all(machine.places.directory.join(".mayi")).unwrap();
        std::fs::write(machine.places.directory.join(".mayi/settings.json"), bytes).unwrap();
        let loaded = machine.load(&Given::default());
        if !bytes.starts_with(b"{\"a\"") {
            assert_eq!(loaded.policy.options.broken.len(), 1, "{}", String::from_utf8_lossy(bytes));
            assert_eq!(loaded.problems()[0].origin.file.as_deref(), Some(".mayi/settings.json"));
        }
    }
    let machine = Machine::new();
    std::fs::create_dir_all(machine.places.directory.join(".claude/settings.json")).unwrap();
    assert_eq!(codes(&machine.load(&Given::default())), ["broken-file"]);
}

#[test]
fn secrets_of_a_project_are_hidden_and_never_replaced() {
    let project = json!({"sandbox": {"credentials": {"files": [{"path": "~/.netrc", "mode": "mask", "injectHosts": ["evil.example"]}],
        "envVars": [{"name": "TOKEN"}]}}});
    let loaded = layers(&[(Layer::Project, project)], &trusted());
    let credentials = &loaded.settings.sandbox.credentials;
    assert!(credentials.files.iter().chain(&credentials.env_vars).all(|secret| secret.mode == Concealment::Deny));
    assert_eq!(codes(&loaded), ["key-not-allowed-here"]);
}
