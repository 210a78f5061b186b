//! What confinement costs: a confined `/bin/true` beside bubblewrap with the same namespaces, without covers and with, and a
//! build inside beside the same build outside. All in one run, in turns: only ratios of one run mean anything.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::hook::{LIBRARIES, found, hyperfine, installed};
use crate::dist;
use crate::run::{cargo, root};

/// How often everything is measured in turn.
const TURNS: usize = 5;
/// Rounds of the build, inside and outside in turn.
const BUILDS: usize = 7;
/// Files of the build.
const FILES: usize = 24;

/// Namespaces and rights as mayi's own.
const BUBBLEWRAP: [&str; 21] = [
    "--unshare-user",
    "--unshare-pid",
    "--unshare-net",
    "--unshare-ipc",
    "--unshare-uts",
    "--unshare-cgroup",
    "--die-with-parent",
    "--new-session",
    "--cap-drop",
    "ALL",
    "--ro-bind",
    "/",
    "/",
    "--dev",
    "/dev",
    "--proc",
    "/proc",
    "--perms",
    "1777",
    "--tmpfs",
    "/tmp",
];

/// What bubblewrap covers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Covers {
    /// All that mayi covers, made beforehand where it is absent.
    All,
    /// Only what is there.
    Existing,
    /// Nothing.
    None,
}

/// One thing that is measured.
struct Subject {
    name: String,
    command: Vec<String>,
    scene: &'static str,
}

/// Builds, measures and prints the tables.
pub(crate) fn sandbox() -> Result<()> {
    cargo(&["build", "--release", "--package", "mayi"])?;
    let (plain, fixed) = (root().join("target/release/mayi"), dist::build()?);
    let stage = Stage::set(&fixed)?;
    let plain = installed(&plain, &stage.folder.join("plain"))?;
    let fixed = installed(&fixed, &stage.folder.join("static"))?;
    let measured = start_up(&stage, &plain, &fixed).and_then(|()| build(&stage, &fixed));
    fs::remove_dir_all(&stage.folder)?;
    measured
}

fn start_up(stage: &Stage, plain: &Path, fixed: &Path) -> Result<()> {
    let mayi = |name: &str, binary: &Path, scene| Subject {
        name: name.to_owned(),
        command: [&binary.display().to_string(), "run", "--unattended", "--", "/bin/true"].map(str::to_owned).into(),
        scene,
    };
    // First, because for all covers the absent ones are made.
    let (none, few) = (stage.bubblewrap(Covers::None)?, stage.bubblewrap(Covers::Existing)?);
    let all = stage.bubblewrap(Covers::All)?;
    let mut subjects = vec![
        Subject { name: "/bin/true".to_owned(), command: vec!["/bin/true".to_owned()], scene: "alone" },
        Subject {
            name: "bubblewrap, the same namespaces, nothing covered".to_owned(),
            command: none,
            scene: "bubblewrap",
        },
        Subject { name: "bubblewrap, only what exists covered".to_owned(), command: few, scene: "bubblewrap" },
        Subject { name: "bubblewrap, the same namespaces and covers".to_owned(), command: all, scene: "bubblewrap" },
        mayi("mayi, `cargo build --release`, no host listed", plain, "alone"),
        mayi("mayi, `cargo xtask dist`, no host listed", fixed, "alone"),
        mayi("mayi, `cargo xtask dist`, with the proxy", fixed, "proxied"),
    ];
    if let Some(srt) = found("srt") {
        let command = [srt.as_str(), "/bin/true"].map(str::to_owned).into();
        subjects.push(Subject { name: "srt (peer)".to_owned(), command, scene: "alone" });
    }
    let hyperfine = hyperfine()?;
    let mut medians: Vec<Vec<f64>> = vec![Vec::new(); subjects.len()];
    for _ in 0..TURNS {
        for (subject, medians) in subjects.iter().zip(&mut medians) {
            medians.push(stage.median(&hyperfine, subject)?);
        }
    }
    table(&subjects, &medians)
}

#[expect(clippy::print_stdout, reason = "the table is the output")]
fn table(subjects: &[Subject], medians: &[Vec<f64>]) -> Result<()> {
    let best: Vec<f64> = medians.iter().map(|medians| medians.iter().copied().fold(f64::MAX, f64::min)).collect();
    let [bare, bubblewrap, ..] = best.as_slice() else { anyhow::bail!("nothing was measured") };
    println!(
        "| process | median, best of {TURNS} turns (µs) | beside /bin/true | beside bubblewrap with nothing covered |"
    );
    println!("| --- | ---: | ---: | ---: |");
    for (subject, seconds) in subjects.iter().zip(&best) {
        let name = &subject.name;
        println!("| {name} | {:.0} | {:.2} | {:.2} |", seconds * 1e6, seconds / bare, seconds / bubblewrap);
    }
    Ok(())
}

/// The same small build, outside and inside in turn.
#[expect(clippy::print_stdout, reason = "the table is the output")]
fn build(stage: &Stage, fixed: &Path) -> Result<()> {
    let project = stage.project("alone");
    for number in 0..FILES {
        let text = format!(
            "#include <stdio.h>\n#include <stdlib.h>\nint part{number}(int x) {{ return printf(\"%d\", x); }}\n"
        );
        fs::write(project.join(format!("part{number}.c")), text)?;
    }
    let script = "rm -f *.o; for f in *.c; do cc -O1 -c $f || exit 1; done";
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..BUILDS {
        let mut outside = stage.command(&["sh", "-c", script].map(str::to_owned), "alone")?;
        let fixed = fixed.display().to_string();
        let inside = [&fixed, "run", "--unattended", "--", "sh", "-c", script].map(str::to_owned);
        for (times, command) in times.iter_mut().zip([&mut outside, &mut stage.command(&inside, "alone")?]) {
            let since = Instant::now();
            ensure!(command.stdout(Stdio::null()).status()?.success(), "the build failed");
            times.push(since.elapsed().as_secs_f64());
        }
    }
    let [outside, inside] = times.map(|mut times| {
        times.sort_by(f64::total_cmp);
        times.get(times.len() / 2).copied().unwrap_or_default()
    });
    println!("\n| {FILES} files of C, median of {BUILDS} | ms | beside outside |\n| --- | ---: | ---: |");
    println!("| outside | {:.0} | 1.00 |", outside * 1e3);
    println!("| inside | {:.0} | {:.3} |", inside * 1e3, inside / outside);
    Ok(())
}

/// Homes and projects to measure in.
struct Stage {
    folder: PathBuf,
    /// What the plan covers, as it says itself.
    plan: Value,
}

impl Stage {
    fn set(mayi: &Path) -> Result<Self> {
        // Not below /tmp, which is private inside.
        let folder = PathBuf::from("/var/tmp/mayi-bench-sandbox");
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        let mut stage = Self { folder, plan: Value::Null };
        for (scene, hosts) in [("alone", json!([])), ("proxied", json!(["example.org"])), ("bubblewrap", json!([]))] {
            let (home, project) = (stage.folder.join(scene).join("home"), stage.project(scene));
            fs::create_dir_all(home.join(".config/mayi"))?;
            fs::create_dir_all(home.join(".ssh"))?;
            for folder in [".git/hooks", ".git/objects", ".git/refs"] {
                fs::create_dir_all(project.join(folder))?;
            }
            fs::write(project.join(".git/HEAD"), "ref: refs/heads/main\n")?;
            fs::write(project.join(".git/config"), "[core]\n\tbare = false\n")?;
            let settings = json!({
                "permissions": { "defaultMode": "bypassPermissions" },
                "sandbox": { "network": { "allowedDomains": hosts, "strictAllowlist": true } },
            });
            fs::write(home.join(".config/mayi/settings.json"), settings.to_string())?;
        }
        let plan = [&mayi.display().to_string(), "run", "--unattended", "--plan", "--json", "--", "/bin/true"];
        let output = stage.command(&plan.map(str::to_owned), "bubblewrap")?.output()?;
        stage.plan = serde_json::from_slice(&output.stdout).context("the plan cannot be read")?;
        Ok(stage)
    }

    fn project(&self, scene: &str) -> PathBuf {
        self.folder.join(scene).join("project")
    }

    fn command(&self, words: &[String], scene: &str) -> Result<Command> {
        let (program, words) = words.split_first().context("nothing to run")?;
        let mut command = Command::new(program);
        command.args(words).current_dir(self.project(scene)).env("HOME", self.folder.join(scene).join("home"));
        for name in ["XDG_CONFIG_HOME", "XDG_STATE_HOME", "CLAUDE_CONFIG_DIR", LIBRARIES] {
            command.env_remove(name);
        }
        Ok(command)
    }

    /// Bubblewrap with every cover of mayi's plan. What is absent is made beforehand: bubblewrap cannot hold a place.
    fn bubblewrap(&self, covers: Covers) -> Result<Vec<String>> {
        let mut words: Vec<String> = std::iter::once("bwrap").chain(BUBBLEWRAP).map(str::to_owned).collect();
        let project = self.project("bubblewrap").display().to_string();
        words.extend(["--bind".to_owned(), project.clone(), project.clone()]);
        let places = self.plan.pointer("/files/confined/places").and_then(Value::as_array).context("no places")?;
        for place in places {
            let text = |name: &str| place.get(name).and_then(Value::as_str).unwrap_or_default();
            let (path, access) = (text("path"), text("access"));
            if covers == Covers::None {
                continue;
            }
            if access == "read-only" && path.starts_with(&project) {
                match (Path::new(path).exists(), covers) {
                    (true, _) => (),
                    (false, Covers::All) => fs::create_dir_all(path)?,
                    (false, Covers::Existing | Covers::None) => continue,
                }
                words.extend(["--ro-bind", path, path].map(str::to_owned));
            } else if access == "hidden" && Path::new(path).is_dir() {
                words.extend(["--perms", "0000", "--tmpfs", path].map(str::to_owned));
            } else if access == "hidden" && Path::new(path).is_file() {
                words.extend(["--ro-bind", "/dev/null", path].map(str::to_owned));
            }
        }
        words.extend(["--chdir".to_owned(), project, "/bin/true".to_owned()]);
        Ok(words)
    }

    fn median(&self, hyperfine: &Path, subject: &Subject) -> Result<f64> {
        let results = self.folder.join("results.json");
        let mut run = self.command(&[hyperfine.display().to_string()], subject.scene)?;
        run.args(["--shell=none", "--warmup", "10", "--runs", "100", "--style", "none", "--export-json"]).arg(&results);
        let output = run.arg(subject.command.join(" ")).output().context("hyperfine cannot be run")?;
        ensure!(output.status.success(), "`{}` failed: {}", subject.name, String::from_utf8_lossy(&output.stderr));
        let value: Value = serde_json::from_str(&fs::read_to_string(&results)?)?;
        value.pointer("/results/0/median").and_then(Value::as_f64).context("hyperfine gave no median")
    }
}
