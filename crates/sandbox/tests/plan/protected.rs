//! What stays closed, whatever opens it.

use std::path::{Path, PathBuf};

use mayi_core::policy::Layer;
use mayi_sandbox::plan::Access::{Hidden, ReadOnly, Writable};
use mayi_sandbox::plan::{Plan, Wanted, Why};
use mayi_settings::places::{ManagedFolder, Places};
use mayi_settings::update::SessionPermissions;
use mayi_settings::{Given, load};
use serde_json::json;

use crate::{TEMPORARY, World, confined, permit, place};

#[test]
fn what_runs_by_itself_is_closed_in_the_working_directory() {
    let world = World::user(json!({}));
    for path in [
        ".claude/settings.json",
        ".claude/settings.local.json",
        ".claude/skills/x/SKILL.md",
        ".claude/agents/a.md",
        ".claude/commands/c.md",
        ".claude/hooks/h.sh",
        ".claude/workflows/w",
        ".claude/scheduled_tasks.json",
        ".mayi/settings.json",
        ".codex/hooks.json",
        ".cursor/hooks.json",
        ".gemini/settings.json",
        ".github/hooks/x",
        ".opencode/plugin/x.js",
        ".mcp.json",
        ".git/hooks/pre-commit",
        ".git/config",
        ".git/config.worktree",
        ".git/commondir",
        ".bashrc",
        ".zshenv",
        ".profile",
        ".gitconfig",
        ".vscode/tasks.json",
        ".idea/workspace.xml",
        ".npmrc",
        ".husky/pre-commit",
        ".cargo/config.toml",
        ".yarn/releases/yarn.cjs",
        "gradle/wrapper/gradle-wrapper.properties",
    ] {
        world.check(&[(&format!("/home/u/p/{path}"), ReadOnly)]);
    }
    for path in [
        ".git/index",
        ".git/objects/aa",
        ".git/HEAD",
        ".claude/worktrees/w/a",
        ".yarn/cache/x",
        ".cargo/registry",
        ".github/workflows/ci.yml",
        ".pnp.cjs",
    ] {
        world.check(&[(&format!("/home/u/p/{path}"), Writable)]);
    }
}

#[test]
fn configuration_of_tools_is_closed_only_where_it_is_there() {
    let confined = World::user(json!({})).confined();
    let why = |path: &str| confined.place_of(Path::new(path)).map(|place| place.why.clone());
    assert!(matches!(why("/home/u/p/lefthook.yml"), Some(Why::Kept(_))));
    assert!(matches!(why("/home/u/p/.claude"), Some(Why::Protected(_))));
    assert!(matches!(why("/home/u/p/.git/hooks"), Some(Why::Protected(_))));
    assert!(matches!(why("/home/u/p/.config/git"), Some(Why::Kept(_))), "git reads it in a home alone");
    let at_home = World::user(json!({})).at("/home/u").confined();
    let why = |path: &str| at_home.place_of(Path::new(path)).map(|place| place.why.clone());
    assert!(matches!(why("/home/u/.config/git"), Some(Why::Protected(_))));
}

#[test]
fn nothing_opens_a_protected_path() {
    let everything = json!({
        "permissions": {"allow": ["Edit(//**)", "Edit(.claude/**)", "Edit(~/.claude/**)", "Edit(.git/hooks/pre-commit)"],
            "additionalDirectories": ["/home/u/.claude", "/home/u/p/.git/hooks"]},
        "sandbox": {"filesystem": {"allowWrite": ["/", "~", "~/.bashrc", ".claude", "~/.claude/skills", "/home/u/p/.vscode"]}}});
    World::user(everything).check(&[
        ("/home/u/p/.claude/settings.json", ReadOnly),
        ("/home/u/p/.git/hooks/pre-commit", ReadOnly),
        ("/home/u/p/.vscode/tasks.json", ReadOnly),
        ("/home/u/.bashrc", ReadOnly),
        ("/home/u/.zshrc", ReadOnly),
        ("/home/u/.gitconfig", ReadOnly),
        ("/home/u/.config/git/config", ReadOnly),
        ("/home/u/.claude/skills/x", ReadOnly),
        ("/home/u/.claude.json", Hidden),
        ("/home/u/.ssh/authorized_keys", Hidden),
        ("/home/u/.mcp.json", ReadOnly),
        ("/home/u/other", Writable),
    ]);
}

#[test]
fn folders_above_the_working_directory_keep_their_settings() {
    let settings = json!({"sandbox": {"filesystem": {"allowWrite": ["/srv"]}}});
    World::user(settings).at("/srv/a/b/c").check(&[
        ("/srv/a/.claude/settings.json", ReadOnly),
        ("/srv/a/b/.mcp.json", ReadOnly),
        ("/srv/.mayi/settings.json", ReadOnly),
        ("/srv/a/b/c/.git/config", ReadOnly),
        ("/srv/a/b/x", Writable),
    ]);
}

#[test]
fn every_opened_folder_keeps_its_settings() {
    let settings = json!({"permissions": {"allow": ["Edit(//opt/**)"], "additionalDirectories": ["/data"]}});
    World::user(settings).check(&[
        ("/opt/.git/hooks/x", ReadOnly),
        ("/data/.claude/settings.json", ReadOnly),
        ("/data/.git/config", ReadOnly),
        ("/data/x", Writable),
    ]);
}

#[test]
fn a_working_directory_inside_a_protected_folder_is_closed_and_that_is_said() {
    let world = World::user(json!({})).at("/home/u/.claude/skills/mine");
    world.check(&[("/home/u/.claude/skills/mine/SKILL.md", ReadOnly)]);
    assert!(world.gap().contains("the working directory `/home/u/.claude/skills/mine` cannot be written"));
    let tree = World::user(json!({})).at("/repo/.claude/worktrees/one");
    tree.check(&[
        ("/repo/.claude/worktrees/one/src", Writable),
        ("/repo/.claude/worktrees/one/.claude/settings.json", ReadOnly),
        ("/repo/.claude/worktrees/two", ReadOnly),
    ]);
    assert_eq!(tree.gaps(), Vec::<String>::new());
}

#[test]
fn names_that_make_a_bare_repository_are_scrubbed_at_the_top_of_working_directories() {
    let world = World::user(json!({"permissions": {"additionalDirectories": ["/data"]},
        "sandbox": {"filesystem": {"allowWrite": ["/home/u", "/opt"], "denyWrite": ["/data"]}}}));
    let expected =
        ["HEAD", "objects", "refs", "hooks", "config"].map(|name| PathBuf::from(format!("/home/u/p/{name}")));
    assert_eq!(world.confined().scrubbed, expected, "inside a wider folder too; not where nothing can be written");
}

#[test]
fn mayis_own_files_are_closed() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let managed = root.join("etc");
    std::fs::create_dir_all(managed.join("managed.d")).unwrap();
    let user = root.join("conf/settings.json");
    std::fs::create_dir_all(root.join("conf")).unwrap();
    let open = json!({"sandbox": {"filesystem": {"allowWrite": [root]}}});
    std::fs::write(&user, open.to_string()).unwrap();
    let places = Places {
        directory: root.join("p"),
        home: Some(root.join("home")),
        user: vec![user.clone()],
        managed: vec![ManagedFolder { file: managed.join("managed.json"), drop_ins: managed.join("managed.d") }],
        state: Some(root.join("state")),
        ..Places::default()
    };
    let loaded = load(&places, &Given::default());
    let (session, permit) = (SessionPermissions::default(), permit("frob", crate::because_confined()));
    let plan =
        Plan::of(Wanted { loaded: &loaded, session: &session, permit: &permit, temporary: Path::new(TEMPORARY) });
    let access = |path: PathBuf| confined(&plan).access_of(&path);
    assert_eq!(access(root.join("x")), Writable);
    for closed in [
        user,
        managed.join("managed.json"),
        managed.join("managed.d/10.json"),
        root.join("state/trust"),
        root.join("p/.claude/settings.json"),
    ] {
        assert_eq!(access(closed.clone()), ReadOnly, "{}", closed.display());
    }
}

#[test]
fn what_is_closed_anyway_is_not_listed() {
    let confined = World::new(&[(Layer::User, json!({}))]).confined();
    assert_eq!(place(&confined, "/home/u/.bashrc"), None, "home is not open");
    assert_eq!(place(&confined, "/home/u/p/.bashrc"), Some(ReadOnly));
    assert!(confined.places.is_sorted_by(|one, other| one.path < other.path), "sorted, each once");
}
