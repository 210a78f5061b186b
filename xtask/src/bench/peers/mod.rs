//! mayi beside its peers on the same work, in one run: cold hooks, confined starts, what each says about the same commands,
//! and policy engines inside one process. Peers run confined, without network; those that cannot be had are named with the
//! reason, and nothing about them is guessed.

mod install;
mod page;
mod plot;
mod stage;
mod table;
mod timing;
mod verdicts;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::real::target;
use crate::run::{cargo, root};
use stage::{Scene, Stage};
use table::{ABSENT, Asked, PEERS, Peer};
use timing::{Subject, Timed};
use verdicts::Hook;

/// What every time is compared with.
const BARE: &str = "`/bin/true`";
/// The call that hooks are timed on.
const TYPICAL: &str = "git status --short && ls src";

/// Measures one part and writes it.
type Measure = fn() -> Result<()>;

/// The parts of the page, in their order.
const PARTS: [(&str, Measure); 5] =
    [("hooks", hooks), ("sandboxes", sandboxes), ("verdicts", said), ("engines", engines), ("sources", sources)];

/// Measures the parts that are named, or all, and writes them into the page.
pub(crate) fn peers(names: &[&str]) -> Result<()> {
    for name in names {
        let known = PARTS.map(|(part, _)| part);
        ensure!(known.contains(name), "there is no part `{name}`\nhelp: the parts are {}", known.join(", "));
    }
    stage::can_be_set()?;
    for (_, part) in PARTS.iter().filter(|(part, _)| names.is_empty() || names.contains(part)) {
        part()?;
    }
    Ok(())
}

/// Cold hooks on one message, everybody with the settings they come with.
fn hooks() -> Result<()> {
    let mut subjects = vec![bare()];
    subjects.extend(mayi(&["hook", "claude-code"])?);
    let stage = Stage::set(Scene::Hooks)?;
    let message = stage.message(TYPICAL)?;
    let mut missing = Vec::new();
    for peer in &PEERS {
        let (Asked::Hook(words) | Asked::Words(words)) = peer.asked else { continue };
        match tried(peer, words, &stage, &message)? {
            Ok(subject) => subjects.push(subject),
            Err(why) => missing.push((peer.name, why)),
        }
    }
    let timed = timing::measured(&stage, subjects, &message)?;
    written("hooks", "A hook as a cold process, times /bin/true", &timed, &missing)
}

/// Hooks of Claude Code that an earlier run installed, with their arguments.
pub(super) fn installed_hooks() -> Vec<(&'static str, Vec<String>)> {
    let hook = |peer: &'static Peer| match peer.asked {
        Asked::Hook(words) => {
            let program = install::present(peer)?.display().to_string();
            Some((peer.name, std::iter::once(program).chain(words.iter().map(ToString::to_string)).collect()))
        }
        Asked::Words(_) | Asked::Never => None,
    };
    PEERS.iter().filter_map(hook).collect()
}

/// A confined `/bin/true`.
fn sandboxes() -> Result<()> {
    let mut subjects = vec![bare()];
    subjects.extend(mayi(&["run", "--unattended", "--", "/bin/true"])?);
    let stage = Stage::set(Scene::Sandboxes)?;
    let nothing = Path::new("/dev/null");
    let mut missing = Vec::new();
    for peer in &PEERS {
        let Some(words) = peer.confines else { continue };
        match tried(peer, &[words, &["/bin/true"]].concat(), &stage, nothing)? {
            Ok(subject) => subjects.push(subject),
            Err(why) => missing.push((peer.name, why)),
        }
    }
    let timed = timing::measured(&stage, subjects, nothing)?;
    written("sandboxes", "A confined /bin/true, times an unconfined one", &timed, &missing)
}

/// Every hook on every command.
fn said() -> Result<()> {
    let (lines, stage) = (verdicts::lines()?, Stage::set(Scene::Hooks)?);
    let binary = binaries()?.into_iter().next().context("no mayi")?.1;
    let arguments = ["hook", "claude-code"].map(str::to_owned).into();
    let mut hooks = vec![Hook { name: "mayi".to_owned(), program: binary, arguments }];
    let mut missing = Vec::new();
    for peer in &PEERS {
        let Asked::Hook(arguments) = peer.asked else { continue };
        match install::program(peer)? {
            Ok(program) => hooks.push(Hook { name: peer.name.to_owned(), program, arguments: stage.filled(arguments) }),
            Err(why) => missing.push((peer.name, why)),
        }
    }
    let mut words = Vec::new();
    for hook in hooks {
        eprintln!("asking {}", hook.name);
        words.push((hook.name.clone(), verdicts::of(&stage, &hook, &lines)?));
    }
    page::write("verdicts", &format!("{}{}", page::verdicts(&lines, &words)?, page::absent(&missing)))
}

/// Policy engines in one process: what `bench core` measures, in this run.
fn engines() -> Result<()> {
    let output = Command::new("cargo")
        .args(["run", "--quiet", "--release", "--manifest-path", "benches/core/Cargo.toml"])
        .current_dir(root())
        .stderr(std::process::Stdio::inherit())
        .output()
        .context("cannot run the benchmark of the core")?;
    ensure!(output.status.success(), "the benchmark of the core failed: {}", output.status);
    let text = String::from_utf8(output.stdout)?;
    let table: Vec<&str> = text.lines().filter(|line| line.starts_with('|')).collect();
    page::write("engines", &table.join("\n"))
}

fn written(part: &str, title: &str, timed: &[Timed], missing: &[(&str, String)]) -> Result<()> {
    let picture = format!("peers-{part}.svg");
    fs::write(root().join("docs/benchmarks").join(&picture), plot::drawn(title, timed)?)?;
    page::write(part, &format!("![{title}]({picture})\n\n{}", page::times(timed, missing)?))
}

fn bare() -> Subject {
    Subject { name: BARE.to_owned(), command: vec!["/bin/true".to_owned()] }
}

/// The programs of mayi that there are: the plain build, and the static one where it was made.
/// `MAYI_BINARY` names another one to measure in their place.
fn binaries() -> Result<Vec<(&'static str, PathBuf)>> {
    if let Some(binary) = std::env::var_os("MAYI_BINARY") {
        return Ok(vec![("mayi", binary.into())]);
    }
    cargo(&["build", "--release", "--package", "mayi"])?;
    let fixed = target().join("x86_64-unknown-linux-musl/dist/mayi");
    let mut binaries = vec![("mayi, plain build", target().join("release/mayi"))];
    if fixed.is_file() {
        binaries.push(("mayi, static build", fixed));
    } else {
        eprintln!("the static build is left out: `cargo xtask dist` makes it");
    }
    Ok(binaries)
}

fn mayi(arguments: &[&str]) -> Result<Vec<Subject>> {
    let subject = |(name, binary): (&str, PathBuf)| {
        let command = std::iter::once(binary.display().to_string()).chain(arguments.iter().map(ToString::to_string));
        Subject { name: name.to_owned(), command: command.collect() }
    };
    Ok(binaries()?.into_iter().map(subject).collect())
}

/// A peer that is installed and does what is to be measured, or why there is none.
fn tried(peer: &Peer, words: &[&str], stage: &Stage, input: &Path) -> Result<Result<Subject, String>> {
    let program = match install::program(peer)? {
        Ok(program) => program,
        Err(why) => return Ok(Err(why)),
    };
    let arguments = stage.filled(words);
    let output = stage.command(&program)?.args(&arguments).stdin(fs::File::open(input)?).output()?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).lines().next().unwrap_or_default().to_owned();
        return Ok(Err(format!("it fails here: {} {said}", output.status)));
    }
    let command = std::iter::once(program.display().to_string()).chain(arguments).collect();
    Ok(Ok(Subject { name: peer.name.to_owned(), command }))
}

/// Who is measured and where it comes from; who is not, and why.
fn sources() -> Result<()> {
    let measured = PEERS.iter().map(|peer| (peer.name, peer.project)).collect::<Vec<_>>();
    let tables = [("measured where it can be installed", measured.as_slice()), ("cannot be measured", &ABSENT)].map(
        |(title, rows)| {
            let rows: Vec<String> = rows.iter().map(|(name, what)| format!("| {name} | {what} |")).collect();
            format!("| {title} | |\n| --- | --- |\n{}", rows.join("\n"))
        },
    );
    page::write("sources", &tables.join("\n\n"))
}
