//! What a hook costs: a cold process, from start to answer, beside `/bin/true` and beside the hooks of others that
//! are installed. All in one run, because machines are noisy and only ratios last.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::peers::installed_hooks;
use crate::dist;
use crate::run::{cargo, root, run};

/// The version that can feed standard input.
const HYPERFINE: &str = "1.20.0";

/// Where cargo has programs look for libraries first. It would slow down all that load any, `/bin/true` among them.
pub(in crate::bench) const LIBRARIES: &str = "LD_LIBRARY_PATH";

/// One thing that is measured.
struct Subject {
    name: String,
    command: Vec<String>,
    scene: &'static str,
}

/// Builds, measures and prints the table.
pub(crate) fn hook() -> Result<()> {
    cargo(&["build", "--release", "--package", "mayi"])?;
    let fixed = dist::build()?;
    let hyperfine = hyperfine()?;
    let stage = Stage::set()?;
    let plain = installed(&root().join("target/release/mayi"), &stage.folder.join("plain"))?;
    let fixed = installed(&fixed, &stage.folder.join("static"))?;
    let mut subjects =
        vec![Subject { name: "/bin/true".to_owned(), command: vec!["/bin/true".to_owned()], scene: "full" }];
    for (name, binary) in [("mayi, cargo build --release", &plain), ("mayi, cargo xtask dist", &fixed)] {
        subjects.push(mayi(name, binary, "full"));
    }
    for (scene, what) in SCENES.iter().filter(|(scene, _)| *scene != "full") {
        subjects.push(mayi(&format!("dist, {what}"), &fixed, scene));
    }
    subjects.push(Subject {
        name: "dist, `--version` only".to_owned(),
        command: vec![fixed.display().to_string(), "--version".to_owned()],
        scene: "full",
    });
    for (name, command) in installed_hooks() {
        subjects.push(Subject { name: format!("{name} (peer)"), command, scene: "full" });
    }
    measure(&hyperfine, &stage, &subjects)
}

fn mayi(name: &str, binary: &Path, scene: &'static str) -> Subject {
    let command = ["hook", "claude-code"].map(str::to_owned);
    let command = std::iter::once(binary.display().to_string()).chain(command).collect();
    Subject { name: name.to_owned(), command, scene }
}

/// What is there for the hook to find; the differences show where the time goes.
const SCENES: [(&str, &str); 4] = [
    ("full", "three settings files, audit on"),
    ("silent", "three settings files, audit off"),
    ("bare", "no settings, audit on"),
    ("state", "as full, and the session has denials on record"),
];

/// Homes and projects to measure in.
struct Stage {
    folder: PathBuf,
}

impl Stage {
    fn set() -> Result<Self> {
        let folder = std::env::temp_dir().join("mayi-bench-hook");
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        for (scene, _) in SCENES {
            let (home, project) = (folder.join(scene).join("home"), folder.join(scene).join("project"));
            fs::create_dir_all(home.join(".claude"))?;
            fs::create_dir_all(project.join(".claude"))?;
            fs::create_dir_all(project.join(".git"))?;
            fs::write(project.join(".git/HEAD"), "ref: refs/heads/main\n")?;
            fs::write(project.join(".git/config"), "[core]\n\trepositoryformatversion = 0\n\tbare = false\n")?;
            if scene != "bare" {
                let off = json!({"audit": {"enabled": false}});
                let user = if scene == "silent" { merged(&rules("user", 60), &off) } else { rules("user", 60) };
                fs::write(home.join(".claude/settings.json"), format!("{user:#}"))?;
                fs::write(project.join(".claude/settings.json"), format!("{:#}", rules("project", 25)))?;
                fs::write(project.join(".claude/settings.local.json"), format!("{:#}", rules("local", 15)))?;
            }
            fs::write(
                folder.join(scene).join("message.json"),
                message("git status --short && ls src", "default", &project),
            )?;
            fs::write(
                folder.join(scene).join("denied.json"),
                message("git push --force origin main", "auto", &project),
            )?;
        }
        Ok(Self { folder })
    }

    fn file(&self, scene: &str, name: &str) -> PathBuf {
        self.folder.join(scene).join(name)
    }
}

/// Rules as people have them: mostly commands, some paths, a few denies.
fn rules(layer: &str, count: usize) -> Value {
    let allow: Vec<String> = (0..count).map(|index| format!("Bash({layer}-tool-{index} run:*)")).collect();
    json!({"permissions": {
        "allow": allow,
        "deny": ["Read(./.env)", "Read(./secrets/**)", format!("Bash({layer}-danger:*)")],
        "ask": [format!("Bash({layer}-publish:*)")],
    }})
}

fn merged(first: &Value, second: &Value) -> Value {
    let mut both = first.clone();
    if let (Some(both), Some(second)) = (both.as_object_mut(), second.as_object()) {
        both.extend(second.clone());
    }
    both
}

fn message(command: &str, mode: &str, project: &Path) -> String {
    json!({
        "session_id": "7c0ffee0-1111-4222-8333-944455556666",
        "transcript_path": "/nonexistent/transcript.jsonl",
        "cwd": project,
        "permission_mode": mode,
        "hook_event_name": "PreToolUse",
        "tool_name": "Bash",
        "tool_input": {"command": command, "description": "Look around"},
        "tool_use_id": "toolu_01BenchBenchBenchBench",
    })
    .to_string()
}

#[expect(clippy::print_stdout, reason = "the table is the output")]
fn measure(hyperfine: &Path, stage: &Stage, subjects: &[Subject]) -> Result<()> {
    let results = stage.folder.join("results.json");
    prime(stage, subjects)?;
    let mut medians: Vec<Vec<f64>> = vec![Vec::new(); subjects.len()];
    // In turns, so that what else the machine does meets all of them alike.
    for _ in 0..5 {
        for (subject, medians) in subjects.iter().zip(&mut medians) {
            medians.push(median(hyperfine, stage, subject, &results)?);
        }
    }
    let best: Vec<f64> = medians.iter().map(|medians| medians.iter().copied().fold(f64::MAX, f64::min)).collect();
    let base = best.first().copied().context("nothing was measured")?;
    println!("| process | median, best of 5 turns (µs) | beside /bin/true |\n| --- | ---: | ---: |");
    for (subject, seconds) in subjects.iter().zip(&best) {
        println!("| {} | {:.0} | {:.2} |", subject.name, seconds * 1e6, seconds / base);
    }
    fs::remove_dir_all(&stage.folder)?;
    Ok(())
}

/// Every session is seen once before, as all but the first call of one are; the last scene has denials on record.
fn prime(stage: &Stage, subjects: &[Subject]) -> Result<()> {
    for subject in subjects.iter().filter(|subject| subject.name.contains("mayi") || subject.name.contains("dist,")) {
        let name = if subject.scene == "state" { "denied.json" } else { "message.json" };
        command(stage, subject)?.stdin(fs::File::open(stage.file(subject.scene, name))?).output()?;
    }
    Ok(())
}

fn command(stage: &Stage, subject: &Subject) -> Result<Command> {
    let (program, arguments) = subject.command.split_first().context("nothing to run")?;
    let mut command = Command::new(program);
    command.args(arguments).current_dir(stage.file(subject.scene, "project"));
    command.env("HOME", stage.file(subject.scene, "home"));
    for name in ["XDG_CONFIG_HOME", "XDG_STATE_HOME", "CLAUDE_CONFIG_DIR", "MAYI_LEAD", LIBRARIES] {
        command.env_remove(name);
    }
    Ok(command)
}

fn median(hyperfine: &Path, stage: &Stage, subject: &Subject, results: &Path) -> Result<f64> {
    let mut run = command(stage, &Subject { command: vec![hyperfine.display().to_string()], ..subject.copy() })?;
    let runs = ["--warmup", "5", "--min-runs", "10", "--max-runs", "300"];
    run.args(["--shell=none", "--style", "none", "--ignore-failure"]).args(runs).arg("--input");
    run.arg(stage.file(subject.scene, "message.json")).arg("--export-json").arg(results);
    let output = run.arg(subject.command.join(" ")).output().context("hyperfine cannot be run")?;
    if !output.status.success() {
        bail!("hyperfine failed on `{}`: {}", subject.name, String::from_utf8_lossy(&output.stderr));
    }
    let value: Value = serde_json::from_str(&fs::read_to_string(results)?)?;
    value.pointer("/results/0/median").and_then(Value::as_f64).context("hyperfine gave no median")
}

impl Subject {
    fn copy(&self) -> Self {
        Self { name: self.name.clone(), command: self.command.clone(), scene: self.scene }
    }
}

/// A copy of a program in a folder of its own, as whoever installs it makes one. What a linker has just written lies in
/// memory page by page and starts slower until it is read anew.
pub(super) fn installed(program: &Path, folder: &Path) -> Result<PathBuf> {
    fs::create_dir_all(folder)?;
    let copy = folder.join("mayi");
    fs::copy(program, &copy)?;
    Ok(copy)
}

/// A hyperfine that can feed standard input: the installed one, or one that is built for this.
pub(super) fn hyperfine() -> Result<PathBuf> {
    let feeds = |program: &Path| {
        let help = Command::new(program).arg("--help").output();
        help.is_ok_and(|help| String::from_utf8_lossy(&help.stdout).contains("--input"))
    };
    let installed = PathBuf::from("hyperfine");
    if feeds(&installed) {
        return Ok(installed);
    }
    let prefix = root().join("target/tools");
    let built = prefix.join("bin/hyperfine");
    if !feeds(&built) {
        let prefix = prefix.display().to_string();
        run("cargo", &["install", "--locked", "--root", &prefix, "--version", HYPERFINE, "hyperfine"], &[])?;
    }
    Ok(built)
}

pub(super) fn found(program: &str) -> Option<String> {
    let path = std::env::var_os("PATH")?;
    let file = std::env::split_paths(&path).map(|folder| folder.join(program)).find(|file| file.is_file())?;
    Some(file.display().to_string())
}
