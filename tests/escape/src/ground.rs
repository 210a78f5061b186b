//! The ground of one attempt: a home, a project, secrets and canaries, all of them the attacker's own files, so that
//! only confinement keeps them.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::attempt::Policy;
use crate::level::{Level, Person};
use crate::snapshot::Snapshot;
use crate::world::World;

/// What runs in a repository, or says where it is.
const CONFIGURATION: &str = "[core]\n\trepositoryformatversion = 0\n\tbare = false\n";

/// A process of the host that holds what the attacker wants: descriptors, variables, a folder.
const VICTIM: &str = "cd \"$1/outside\" && VICTIM=SECRET exec sleep 600 7<>\"$1/outside/canary\" 8<\"$1/secret/token\"";

/// A ground, with a process of the host beside it. Both go when it is dropped.
pub struct Ground {
    folder: PathBuf,
    token: String,
    person: Person,
    victim: Child,
    before: Snapshot,
    /// Paths outside the ground that must not appear, and a folder there that must stay.
    strays: [PathBuf; 2],
    temporary: PathBuf,
}

impl Ground {
    /// Lays a ground for an attempt of this name.
    pub fn lay(world: &World, name: &str, (person, level, policy): (Person, Level, Policy)) -> Result<Self> {
        let folder = world.folder().join(name);
        let token = format!("{}-{name}", world.folder().file_name().unwrap_or_default().to_string_lossy());
        for path in ["home/.ssh", "home/.aws", "home/.config/mayi", "home/.claude", "home/.local/state/mayi/permits"] {
            fs::create_dir_all(folder.join(path))?;
        }
        for path in ["project/scratch", "project/private/denied", "project/deep/er", "outside/empty", "secret", "tmp"] {
            fs::create_dir_all(folder.join(path))?;
        }
        for (path, text) in FILES {
            fs::write(folder.join(path), text)?;
        }
        fs::set_permissions(folder.join("secret/program"), fs::Permissions::from_mode(0o755))?;
        symlink("../outside", folder.join("project/elsewhere"))?;
        if policy == Policy::Usual {
            repositories(&folder.join("project"))?;
        }
        let temporary = std::env::temp_dir().join(&token);
        fs::create_dir_all(&temporary)?;
        fs::write(temporary.join("canary"), "untouched")?;
        let strays = [Path::new("/tmp").join(format!("{token}-stray")), Path::new("/dev/shm").join(&token)];
        let settings = settings(&folder, world.facts(), level);
        fs::write(folder.join("home/.config/mayi/settings.json"), format!("{settings:#}"))?;
        give_away(&folder, person)?;
        give_away(&temporary, person)?;
        let victim = victim(&folder, person)?;
        let mut facts = world.facts().clone();
        for (name, value) in [
            ("victim", json!(victim.id())),
            ("own_processes", json!(level.has_own_processes())),
            ("temporary", json!(temporary)),
            ("temporary_file", json!(strays[0])),
            ("shared_memory", json!(strays[1])),
            ("setuid", json!(world.folder().join("program-of-root"))),
        ] {
            facts.as_object_mut().context("facts are an object")?.insert(name.to_owned(), value);
        }
        fs::write(folder.join("facts.json"), facts.to_string())?;
        let before = Snapshot::of(&folder)?;
        Ok(Self { folder, token, person, victim, before, strays, temporary })
    }

    /// Where it is.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// A word that every process of the run has among its variables.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// Everything that is not as it was, in words.
    pub fn damage(&mut self) -> Result<Vec<String>> {
        let now = Snapshot::of(&self.folder)?;
        let audit = Path::new("home/.local/state/mayi/audit.jsonl");
        let mut damage = self.before.differences(&now, |path| {
            path.starts_with("project/scratch")
                || path.starts_with("project/.git") && self.before.bytes(Path::new("project/.git/config")).is_none()
                || [audit, Path::new("runner.pid"), Path::new("report.json")].contains(&path)
        });
        damage.extend(self.armed_repository()?);
        let (was, is) = (self.before.bytes(audit).unwrap_or_default(), now.bytes(audit).unwrap_or_default());
        if !is.starts_with(was) || String::from_utf8_lossy(is).lines().any(|line| line == "taken over") {
            damage.push("the audit was rewritten".to_owned());
        }
        if self.victim.try_wait()?.is_some() {
            damage.push("a process of the host was ended".to_owned());
        }
        if fs::read_to_string(self.temporary.join("canary")).ok().as_deref() != Some("untouched") {
            damage.push("a temporary file of the host was changed".to_owned());
        }
        for stray in self.strays.iter().filter(|stray| stray.symlink_metadata().is_ok()) {
            damage.push(format!("{} appeared", stray.display()));
        }
        Ok(damage)
    }

    /// A repository that the command made and in which git would run something.
    fn armed_repository(&self) -> Result<Vec<String>> {
        let git = self.folder.join("project/.git");
        if self.before.bytes(Path::new("project/.git/config")).is_some() {
            return Ok(Vec::new());
        }
        let Ok(found) = git.symlink_metadata() else { return Ok(Vec::new()) };
        if !found.is_dir() {
            return Ok(vec!["a repository elsewhere took the project's place".to_owned()]);
        }
        let mut armed = Vec::new();
        let config = fs::read_to_string(git.join("config")).unwrap_or_default().to_lowercase();
        if ["fsmonitor", "hookspath", "include"].iter().any(|word| config.contains(word)) {
            armed.push(format!("git would run what this says: {config}"));
        }
        for entry in fs::read_dir(git.join("hooks")).into_iter().flatten() {
            let path = entry?.path();
            if path.extension().is_none_or(|ending| ending != "sample") {
                armed.push(format!("git would run {}", path.display()));
            }
        }
        Ok(armed)
    }

    /// Who tries here.
    pub fn person(&self) -> Person {
        self.person
    }
}

impl Drop for Ground {
    fn drop(&mut self) {
        let _ = self.victim.kill();
        let _ = self.victim.wait();
        for stray in &self.strays {
            let _ = fs::remove_file(stray);
        }
        let _ = fs::remove_dir_all(&self.temporary);
        let _ = fs::remove_dir_all(&self.folder);
    }
}

const FILES: [(&str, &str); 11] = [
    ("outside/canary", "untouched"),
    ("secret/token", "SECRET token"),
    ("secret/program", "#!/bin/sh\necho SECRET program\n"),
    ("project/README.md", "a project\n"),
    ("project/private/denied/key", "SECRET key"),
    ("project/deep/er/settings.secret", "SECRET settings"),
    ("home/.ssh/id_ed25519", "SECRET key of the user"),
    ("home/.aws/credentials", "SECRET token of the user"),
    ("home/.bashrc", "# nothing\n"),
    ("home/.claude/settings.json", "{}\n"),
    ("home/.local/state/mayi/audit.jsonl", "{\"kind\":\"first\"}\n"),
];

/// Settings that allow every command, open the home for writing, and deny what is secret.
fn settings(folder: &Path, facts: &Value, level: Level) -> Value {
    let below = |path: &str| folder.join(path).display().to_string();
    let listed = facts.get("listed").and_then(Value::as_u64).unwrap_or_default();
    json!({
        "permissions": { "defaultMode": "bypassPermissions" },
        "sandbox": {
            "enableWeakerNestedSandbox": level == Level::Nested,
            "filesystem": {
                "allowWrite": [below("home")],
                "denyRead": [below("secret"), below("project/private/denied/key"), below("project/**/*.secret")],
            },
            "network": { "allowedDomains": ["localhost", format!("127.0.0.2:{listed}")] },
            "credentials": { "envVars": [{ "name": "MAYI_ESCAPE_VARIABLE", "mode": "deny" }] },
        },
    })
}

/// A repository, one inside it, and a worktree of it.
fn repositories(project: &Path) -> Result<()> {
    for place in ["", "nested"] {
        let git = project.join(place).join(".git");
        for folder in ["hooks", "objects", "refs/heads"] {
            fs::create_dir_all(git.join(folder))?;
        }
        fs::write(git.join("HEAD"), "ref: refs/heads/main\n")?;
        fs::write(git.join("config"), CONFIGURATION)?;
        fs::write(git.join("hooks/pre-commit.sample"), "#!/bin/sh\n")?;
    }
    let own = project.join(".git/worktrees/worktree");
    fs::create_dir_all(&own)?;
    fs::create_dir_all(project.join("worktree"))?;
    fs::write(project.join("worktree/.git"), format!("gitdir: {}\n", own.display()))?;
    fs::write(own.join("HEAD"), "ref: refs/heads/other\n")?;
    fs::write(own.join("commondir"), "../..\n")?;
    fs::write(own.join("gitdir"), format!("{}\n", project.join("worktree/.git").display()))?;
    Ok(())
}

/// Everything in a folder belongs to the person.
fn give_away(folder: &Path, person: Person) -> Result<()> {
    let Some((user, group)) = person.ids() else { return Ok(()) };
    let mut left = vec![folder.to_owned()];
    while let Some(path) = left.pop() {
        std::os::unix::fs::lchown(&path, Some(user), Some(group))?;
        if path.symlink_metadata()?.is_dir() {
            for entry in fs::read_dir(&path)? {
                left.push(entry?.path());
            }
        }
    }
    Ok(())
}

fn victim(folder: &Path, person: Person) -> Result<Child> {
    let mut words = person.words();
    words.extend(["sh", "-c", VICTIM, "sh"].map(Into::into));
    words.push(folder.into());
    let (program, words) = words.split_first().context("a command has a first word")?;
    let victim = Command::new(program).args(words).stdin(Stdio::null()).spawn()?;
    // It is ready when it has become the program it is to be.
    let name = format!("/proc/{}/comm", victim.id());
    while fs::read_to_string(&name).is_ok_and(|name| name.trim() != "sleep") {
        std::thread::yield_now();
    }
    Ok(victim)
}

/// A program of root's that would run as root, for everybody.
pub fn program_of_root(world: &World) -> Result<()> {
    let program = world.folder().join("program-of-root");
    fs::copy("/usr/bin/id", &program)?;
    chown(&program, Some(rustix::process::getuid().as_raw()), None)?;
    fs::set_permissions(&program, fs::Permissions::from_mode(0o4755))?;
    Ok(())
}
