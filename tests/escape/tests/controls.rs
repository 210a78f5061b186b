//! Work that must go on inside: a wall that stops it is no use to anybody.

use std::ffi::OsString;
use std::fs;

use anyhow::{Context, Result, ensure};
use mayi_escape_tests::attempt::Policy;
use mayi_escape_tests::trial::{confined, left_behind, prepare, start};
use mayi_escape_tests::{Ground, Level, Person, World};

/// What is done, how it ends, and what it says last.
struct Control {
    name: &'static str,
    script: &'static str,
    code: i32,
    says: &'static str,
}

const fn works(name: &'static str, script: &'static str, says: &'static str) -> Control {
    Control { name, script, code: 0, says }
}

const CONTROLS: &[Control] = &[
    works("writing in the project", "echo one > file && mkdir -p a/b && mv file a/b/ && cat a/b/file", "one"),
    works("temporary files", "echo two > \"$TMPDIR/x\" && cat /tmp/x && mktemp > /dev/null && echo kept", "kept"),
    works("pipes", "seq 100000 | sort -rn | head -n 1", "100000"),
    works("redirections", "{ echo out; echo err >&2; } > both 2>&1 && wc -l < both", "2"),
    works("background and waiting", "(sleep 0.1; echo late > late) & wait && cat late", "late"),
    works("named pipes", "mkfifo pipe && (echo through > pipe &) && cat pipe", "through"),
    works("being somebody", "test \"$(id -u)\" = \"$(stat -c %u README.md)\" && echo same", "same"),
    works("reading the system", "test -r /etc/passwd && ls /usr/bin > /dev/null && echo read", "read"),
    works("devices", "head -c 4 /dev/urandom | wc -c > /dev/null && echo x > /dev/null && echo fine", "fine"),
    works(
        "shared memory",
        "/usr/bin/python3 -c 'import multiprocessing as m; m.Lock(); print(sum(m.Pool(2).map(abs, [1, -2])))'",
        "3",
    ),
    works(
        "a terminal inside",
        "/usr/bin/python3 -c 'import pty; pty.spawn([\"sh\", \"-c\", \"test -t 0 && echo terminal\"])'",
        "terminal",
    ),
    works("signals inside", "trap 'echo caught' TERM; kill -TERM $$; echo after", "after"),
    works("locks", "flock lock sh -c 'echo locked'", "locked"),
    works("a compiler", "printf 'int main(void){return 0;}' > x.c && cc -o x x.c && ./x && echo built", "built"),
    works(
        "a repository",
        "git config --file scratch/c user.name a; git init -q made && cd made && touch f && git add f && \
         git -c user.name=a -c user.email=a@b.c commit -qm x && git log --oneline | wc -l",
        "1",
    ),
    works(
        "a server and its client",
        "/usr/bin/python3 -m http.server 8123 --bind 127.0.0.1 > log 2>&1 & server=$!; \
         for try in $(seq 100); do curl -s --noproxy '*' http://127.0.0.1:8123/README.md && break; sleep 0.1; done; kill $server",
        "a project",
    ),
    Control { name: "exit codes", script: "exit 7", code: 7, says: "" },
    Control { name: "ends by signals", script: "kill -KILL $$", code: 137, says: "" },
];

fn people_and_means() -> impl Iterator<Item = (Person, Level)> {
    Person::all().into_iter().flat_map(|person| [Level::Native, Level::Bubblewrap].map(|level| (person, level)))
}

#[test]
fn ordinary_work_goes_on_inside() -> Result<()> {
    let world = World::start("controls")?;
    prepare(&world)?;
    let mut failed = Vec::new();
    for (person, level) in people_and_means() {
        for control in CONTROLS {
            let mut ground = Ground::lay(&world, "control", (person, level, Policy::Usual))?;
            let mut words = confined(&world, level, &ground);
            words.push(control.script.into());
            let output = start(&ground, words)?;
            let said = String::from_utf8_lossy(&output.stdout).into_owned();
            let last = said.lines().last().unwrap_or_default().trim();
            if output.status.code() != Some(control.code) || last != control.says {
                let errors = String::from_utf8_lossy(&output.stderr).into_owned();
                failed.push(format!(
                    "{person:?} {level:?} {}: {:?} `{said}` {errors}",
                    control.name,
                    output.status.code()
                ));
            }
            let left = left_behind(ground.token());
            let damage: Vec<_> = ground.damage()?.into_iter().filter(|path| !path.starts_with("project/")).collect();
            ensure!(damage.is_empty() && left.is_empty(), "{}: {damage:?} {left:?}", control.name);
        }
    }
    ensure!(failed.is_empty(), "{} do not work:\n{}", failed.len(), failed.join("\n"));
    Ok(())
}

#[test]
fn a_repository_can_be_made_and_used_where_there_was_none() -> Result<()> {
    let world = World::start("unborn")?;
    prepare(&world)?;
    const MAKE: &str = "git init -q . && git add README.md && \
                        git -c user.name=a -c user.email=a@b.c commit -qm x && git log --oneline | wc -l";
    for (person, level) in people_and_means() {
        let mut ground = Ground::lay(&world, "unborn", (person, level, Policy::Unborn))?;
        for script in [MAKE, "git log --oneline | wc -l"] {
            let mut words = confined(&world, level, &ground);
            words.push(script.into());
            let output = start(&ground, words)?;
            let said = String::from_utf8_lossy(&output.stdout).into_owned();
            ensure!(said.trim() == "1", "{person:?} {level:?}: {said} {}", String::from_utf8_lossy(&output.stderr));
        }
        left_behind(ground.token());
        ensure!(ground.damage()?.is_empty());
    }
    Ok(())
}

#[test]
fn what_is_listed_is_reached_by_every_way_the_proxy_knows() -> Result<()> {
    let world = World::start("listed")?;
    prepare(&world)?;
    let port = world.facts().get("listed").and_then(serde_json::Value::as_u64).context("a port")?;
    let script = format!(
        "curl -sS http://127.0.0.2:{port}/ | head -n 1; curl -sS --proxytunnel http://127.0.0.2:{port}/ | head -n 1; \
         curl -sS --noproxy '' --socks5-hostname 127.0.0.1:3128 http://127.0.0.2:{port}/ | head -n 1"
    );
    for person in Person::all() {
        let ground = Ground::lay(&world, "listed", (person, Level::Native, Policy::Usual))?;
        let mut words = confined(&world, Level::Native, &ground);
        words.push(script.clone().into());
        let output = start(&ground, words)?;
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        ensure!(said == "LISTED SERVER\n".repeat(3), "{person:?}: {said} {errors}");
    }
    Ok(())
}

#[test]
fn cargo_builds_and_tests_inside() -> Result<()> {
    // Toolchains lie in the home of whoever installed them, where nobody else may look.
    let cargo = std::env::var_os("CARGO").context("cargo starts tests")?;
    let world = World::start("cargo")?;
    prepare(&world)?;
    let person = if rustix::process::getuid().is_root() { Person::Root } else { Person::Ordinary };
    let ground = Ground::lay(&world, "cargo", (person, Level::Native, Policy::Usual))?;
    let project = ground.folder().join("project");
    fs::create_dir_all(project.join("src"))?;
    fs::write(project.join("Cargo.toml"), "[package]\nname = \"tiny\"\nedition = \"2024\"\n[workspace]\n")?;
    fs::write(project.join("src/lib.rs"), "#[test]\nfn holds() { assert_eq!(1 + 1, 2); }\n")?;
    let rustc = std::path::Path::new(&cargo).with_file_name("rustc");
    let mut words = confined(&world, Level::Native, &ground);
    let script = format!("RUSTC={} {} test --offline 2>&1", rustc.display(), std::path::Path::new(&cargo).display());
    words.push(script.into());
    let output = start(&ground, words)?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    ensure!(said.contains("test holds ... ok"), "{said} {}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}

#[test]
fn a_sandbox_can_be_made_inside_where_settings_let_it_and_nowhere_else() -> Result<()> {
    let world = World::start("nested")?;
    prepare(&world)?;
    for person in Person::all() {
        for (level, wanted) in [(Level::Nested, "inside\n"), (Level::Native, "")] {
            let ground = Ground::lay(&world, "nested", (person, level, Policy::Usual))?;
            // Settings and state of the user are out of reach inside, so the inner one has its own.
            let settings = ground.folder().join("project/scratch/mayi/settings.json");
            fs::create_dir_all(ground.folder().join("project/scratch/mayi"))?;
            fs::write(
                settings,
                r#"{"permissions":{"defaultMode":"bypassPermissions"},"sandbox":{"enableWeakerNestedSandbox":true}}"#,
            )?;
            let inner = "mkdir -p scratch/state && XDG_CONFIG_HOME=$PWD/scratch XDG_STATE_HOME=$PWD/scratch/state \
                         \"$0\" run --unattended -- sh -c 'echo inside; echo taken over > ../outside/canary'";
            let inner = inner.replace("$0", &world.folder().join("mayi").display().to_string());
            let mut words: Vec<OsString> = confined(&world, level, &ground);
            words.push(inner.into());
            let output = start(&ground, words)?;
            let said = String::from_utf8_lossy(&output.stdout).into_owned();
            let errors = String::from_utf8_lossy(&output.stderr).into_owned();
            ensure!(said == wanted, "{person:?} {level:?}: {said} {errors}");
            ensure!(fs::read_to_string(ground.folder().join("outside/canary"))? == "untouched");
        }
    }
    Ok(())
}
