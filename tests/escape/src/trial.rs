//! One attempt on one ground: run it, hear what it says, and look whether that is true.

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::attempt::{self, Attempt, PYTHON, Who};
use crate::ground::{Ground, program_of_root};
use crate::level::{Level, Person, mayi};
use crate::world::World;

/// Leaves its number, and two descriptors open, for whatever it becomes.
const BECOME: &str = "echo $$ > \"$1/runner.pid\"; cd \"$1/project\"; ground=$1; shift; \
                      exec \"$@\" 8<\"$ground/outside\" 9<>\"$ground/outside/canary\"";

/// How an attempt ended.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Outcome {
    /// It was stopped.
    Stopped,
    /// It got through, and the report says that this very wall is missing.
    Foretold,
    /// This machine has not what it needs.
    Untried(String),
    /// It got through.
    Escaped(String),
    /// It never got as far as trying.
    Broken(String),
}

/// What came of all attempts of one person on one level.
#[derive(Default)]
struct Tally {
    stopped: usize,
    foretold: Vec<String>,
    untried: Vec<String>,
    escaped: Vec<String>,
}

impl Tally {
    fn count(&mut self, name: &str, outcome: Outcome) {
        match outcome {
            Outcome::Stopped => self.stopped += 1,
            Outcome::Foretold => self.foretold.push(name.to_owned()),
            Outcome::Untried(why) => self.untried.push(format!("{name} ({why})")),
            Outcome::Escaped(how) => self.escaped.push(format!("{name}: {how}")),
            Outcome::Broken(how) => self.escaped.push(format!("{name} is broken: {how}")),
        }
    }

    fn line(&self) -> String {
        let mut line = format!("{} stopped", self.stopped);
        for (what, names) in [("foretold by the report or let by settings", &self.foretold), ("untried", &self.untried)]
        {
            if !names.is_empty() {
                line = format!("{line}; {} {what}: {}", names.len(), names.join(", "));
            }
        }
        line
    }
}

/// Tries all attempts as one person on one level, and fails if any got through. Gives back a line about the level.
pub fn try_all(person: Person, level: Level) -> Result<String> {
    let world = World::start(&format!("{person:?}-{level:?}").to_lowercase())?;
    prepare(&world)?;
    let attempts = attempt::all()?;
    let fitting = attempts.iter().filter(|one| person == Person::Ordinary || one.who == Who::Anyone);
    let fitting: Vec<&Attempt> = fitting.collect();
    let stage = Stage { world: &world, person, level };
    let mut tally = Tally::default();
    for batch in fitting.chunk_by(|one, other| !one.alone && !other.alone && one.group == other.group) {
        let Tried::Ran(outcomes) = stage.try_together(batch)? else {
            let why = stage.why_not(batch)?;
            return Ok(format!("NOT OFFERED: {person:?} {level:?}: {why}"));
        };
        // Who it was is found out one by one.
        let settled = outcomes.iter().all(|outcome| matches!(outcome, Outcome::Stopped | Outcome::Untried(_)));
        for (attempt, outcome) in batch.iter().zip(outcomes) {
            let alone = if settled { outcome } else { stage.try_alone(attempt)? };
            tally.count(&attempt.name, alone);
        }
    }
    let escaped = &tally.escaped;
    ensure!(escaped.is_empty(), "{person:?} {level:?}: {} got out:\n{}", escaped.len(), escaped.join("\n"));
    ensure!(tally.stopped > 60, "only {} attempts were stopped: the suite is not what it was", tally.stopped);
    Ok(format!("{person:?} {level:?}: {}", tally.line()))
}

/// Puts the programs where everybody can execute them.
pub fn prepare(world: &World) -> Result<()> {
    fs::copy(mayi()?, world.folder().join("mayi"))?;
    let attempts = world.folder().join("attempts");
    fs::create_dir_all(&attempts)?;
    for entry in fs::read_dir(attempt::folder())? {
        let path = entry?.path();
        if path.extension().is_some_and(|ending| ending == "py") {
            fs::copy(&path, attempts.join(path.file_name().unwrap_or_default()))?;
        }
    }
    program_of_root(world)
}

/// Where attempts are tried: as whom, and against which walls.
struct Stage<'a> {
    world: &'a World,
    person: Person,
    level: Level,
}

/// What came of a run.
enum Tried {
    /// It ran: one outcome for each attempt.
    Ran(Vec<Outcome>),
    /// The means of confinement is not offered here, and nothing ran.
    NotOffered(String),
}

impl Stage<'_> {
    /// One attempt, so that what went wrong is its own.
    fn try_alone(&self, attempt: &Attempt) -> Result<Outcome> {
        match self.try_together(&[attempt])? {
            Tried::Ran(outcomes) => outcomes.into_iter().next().context("an attempt has an outcome"),
            Tried::NotOffered(why) => bail!("the means is offered now and then: {why}"),
        }
    }

    /// Why nothing can run here.
    fn why_not(&self, batch: &[&Attempt]) -> Result<String> {
        match self.try_together(batch)? {
            Tried::Ran(_) => bail!("the means is offered now and then"),
            Tried::NotOffered(why) => Ok(why),
        }
    }

    /// Several attempts in one sandbox. What went wrong is everybody's then.
    fn try_together(&self, batch: &[&Attempt]) -> Result<Tried> {
        let first = batch.first().context("nothing to try")?;
        let mut ground = Ground::lay(self.world, &first.name, (self.person, self.level, first.policy))?;
        let output = start(&ground, self.words(batch, &ground))?;
        let heard = self.world.heard();
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        let left = left_behind(ground.token());
        let mut trouble = ground.damage()?;
        trouble.extend(heard.into_iter().map(|server| format!("reached {server}")));
        trouble.extend(left.into_iter().map(|process| format!("{process} lives on")));
        if errors.contains("cannot run confined") {
            ensure!(trouble.is_empty() && output.stdout.is_empty(), "something ran: {trouble:?}");
            return Ok(Tried::NotOffered(errors.lines().take(2).collect::<Vec<_>>().join(" ")));
        }
        let mut lacks = lacks(&ground.folder().join("report.json")).with_context(|| format!("no report; {errors}"))?;
        // Settings let sandboxes be made inside, so the report need not say it.
        if self.level == Level::Nested {
            lacks.push("nesting".to_owned());
        }
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let outcomes = batch.iter().map(|attempt| {
            let line = said.lines().find_map(|line| line.strip_prefix(&format!("{} ", attempt.name)));
            outcome(attempt, line, &trouble, &lacks).unwrap_or_else(|| Outcome::Broken(errors.clone()))
        });
        Ok(Tried::Ran(outcomes.collect()))
    }

    fn words(&self, batch: &[&Attempt], ground: &Ground) -> Vec<OsString> {
        let mut words = confined(self.world, self.level, ground);
        words.extend(itself(self.world, batch, ground));
        words
    }
}

/// `mayi run` with the means of a level, up to the command.
pub fn confined(world: &World, level: Level, ground: &Ground) -> Vec<OsString> {
    let mut words = level.around();
    words.extend([world.folder().join("mayi").into(), "run".into(), "--unattended".into()]);
    if let Some(means) = level.means() {
        words.extend(["--mechanism".into(), means.into()]);
    }
    words.extend(["--report".into(), ground.folder().join("report.json").into(), "--".into()]);
    words
}

/// What an attempt's own line, and a look from outside, come to; nothing where it said nothing that it can say.
fn outcome(attempt: &Attempt, said: Option<&str>, trouble: &[String], lacks: &[String]) -> Option<Outcome> {
    let said = said?;
    let mut trouble = trouble.to_vec();
    match said.split(": ").next()? {
        "escaped" => trouble.insert(0, "it says so".to_owned()),
        "refused" | "done" => (),
        "untried" if trouble.is_empty() => return Some(Outcome::Untried(said.to_owned())),
        _ => return None,
    }
    let is_named = attempt.lack.as_ref().is_some_and(|lack| lacks.contains(lack));
    Some(match (trouble.is_empty(), is_named) {
        (true, _) => Outcome::Stopped,
        (false, true) => Outcome::Foretold,
        (false, false) => Outcome::Escaped(trouble.join("; ")),
    })
}

/// A process of the host beside the attempt, in the same namespaces: without walls between users, there are none.
const UNWALLED: &str = "(cd \"$1/outside\" && VICTIM=SECRET exec sleep 600 7<>canary 8<../secret/token) & \
                        sed -i \"s/\\\"victim\\\":[0-9]*/\\\"victim\\\":$!/\" \"$1/facts.json\"; shift; exec \"$@\"";

/// Shows that an attempt works where nothing but a read-only file system, canaries excepted, is in its way.
pub fn works_without_walls(world: &World, attempt: &Attempt) -> Result<bool> {
    let mut ground = Ground::lay(world, &attempt.name, (Person::Ordinary, Level::Native, attempt.policy))?;
    let folder = ground.folder().as_os_str();
    let mut words: Vec<OsString> = ["bwrap", "--ro-bind", "/", "/", "--proc", "/proc"].map(Into::into).into();
    words.extend(["--dev-bind", "/dev", "/dev", "--bind", "/tmp", "/tmp"].map(OsString::from));
    words.extend(["--bind".into(), folder.into(), folder.into()]);
    words.extend(["--unshare-user", "--unshare-pid", "--die-with-parent", "sh", "-c", UNWALLED, "sh"].map(Into::into));
    words.push(folder.into());
    words.extend(itself(world, &[attempt], &ground));
    let output = start(&ground, words)?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let said = text.split_once(' ').map_or("", |(_, said)| said.trim());
    if said != "escaped" && said != "done" {
        eprintln!("{}: {said} {}", attempt.name, String::from_utf8_lossy(&output.stderr));
    }
    Ok(said == "escaped" || said.starts_with("untried") || (said == "done" && !ground.damage()?.is_empty()))
}

/// Attempts as a command.
fn itself(world: &World, batch: &[&Attempt], ground: &Ground) -> Vec<OsString> {
    let script = world.folder().join("attempts/escape.py");
    let mut words = vec![PYTHON.into(), "-IS".into(), script.into(), ground.folder().into()];
    words.extend(batch.iter().map(|attempt| attempt.name.clone().into()));
    words
}

/// Runs words as the ground's person in its project, at most half a minute.
pub fn start(ground: &Ground, words: Vec<OsString>) -> Result<Output> {
    command(ground, words).output().context("`timeout` cannot be run")
}

/// The command that does so.
pub fn command(ground: &Ground, words: Vec<OsString>) -> Command {
    let home = ground.folder().join("home");
    let sockets = ground.folder().parent().unwrap_or(ground.folder()).join("sockets/docker.sock");
    let mut command = Command::new("timeout");
    command.args(["--signal=KILL", "30"]).args(ground.person().words()).args(["sh", "-c", BECOME, "sh"]);
    command.arg(ground.folder()).args(words).stdin(Stdio::null()).env_clear();
    command.env("PATH", "/usr/local/bin:/usr/bin:/bin").env("HOME", home).env("SSH_AUTH_SOCK", sockets);
    command.env("TMPDIR", ground.folder().join("tmp")).env("MAYI_ESCAPE_RUN", ground.token());
    command.env("MAYI_ESCAPE_VARIABLE", "SECRET variable");
    command
}

/// What the report says is missing.
fn lacks(report: &Path) -> Result<Vec<String>> {
    let report: Value = serde_json::from_str(&fs::read_to_string(report)?)?;
    let enforcement = report.get("enforcement").context("the report names no enforcement")?;
    if enforcement.as_str() == Some("full") {
        return Ok(Vec::new());
    }
    let partial = enforcement.get("partial").and_then(Value::as_array).context("the report is no report")?;
    Ok(partial.iter().filter_map(Value::as_str).map(str::to_owned).collect())
}

/// Processes that a run left behind. The kernel needs a moment to end them, and who cleans up after them another.
pub fn left_behind(token: &str) -> Vec<String> {
    let patience = Instant::now() + Duration::from_secs(10);
    loop {
        let left = processes(token);
        if left.is_empty() || Instant::now() > patience {
            return left;
        }
        std::thread::yield_now();
    }
}

/// Processes that have a word among their variables.
pub fn processes(token: &str) -> Vec<String> {
    let wanted = format!("MAYI_ESCAPE_RUN={token}");
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter(|entry| {
            let variables = fs::read(entry.path().join("environ")).unwrap_or_default();
            variables.split(|byte| *byte == 0).any(|variable| variable == wanted.as_bytes())
        })
        .map(|entry| {
            let words = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&words).replace('\0', " ")
        })
        .collect()
}
