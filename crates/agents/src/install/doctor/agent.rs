//! One agent: its program, our hook in each of its files, the command in it, and what stands in its way.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use mayi_core::mode::Mode;
use mayi_core::verdict::Verdict;
use mayi_engine::desk::TRIALS;
use mayi_settings::document;
use mayi_settings::own_hook;
use mayi_settings::write::replace;

use super::canary::{self, Trial};
use super::{Examination, Finding, Presence, Section, State, entry, machine, switches};
use crate::hook::options;
use crate::install::entries::{Sheet, Written};
use crate::install::facts::{Agent, Entries, File, Kind, Run, Whole};
use crate::install::ground::can_run;
use crate::install::{Found, InstallError, Scope, kept, whole};

/// A hook of ours in a file.
struct Installed {
    scope: Scope,
    path: PathBuf,
    found: Vec<Found>,
    /// Whether a file that is a program is exactly what we write.
    is_verbatim: bool,
    findings: Vec<Finding>,
}

/// What a scope of an agent's configuration holds.
#[derive(Default)]
struct Holding {
    /// Hooks of ours.
    installed: Option<Installed>,
    /// A file of a name that ours needs, and that somebody else wrote.
    foreign: Option<PathBuf>,
}

pub(super) fn examined(examination: &Examination<'_>, agent: &'static Agent) -> Section {
    if agent.files.is_empty() {
        return by_hand(examination, agent);
    }
    let program = agent.programs.iter().find_map(|name| examination.ground.program(name));
    let mut findings = vec![program_of(agent, program.as_deref())];
    let (mut installed, mut foreign) = (Vec::new(), None);
    for scope in Scope::ALL {
        match in_scope(examination, agent, scope) {
            Ok(holding) => {
                installed.extend(holding.installed);
                foreign = foreign.or(holding.foreign.filter(|_| scope == Scope::User));
            }
            Err(error) => findings.push(unreadable(&error)),
        }
    }
    let presence = match (&program, installed.is_empty()) {
        (_, false) => Presence::Installed,
        (Some(_), true) => Presence::Without,
        (None, true) => Presence::Absent,
    };
    if installed.is_empty() {
        findings.extend(missing(agent, (&findings, foreign)));
    } else {
        findings.extend(switches::thrown(examination.ground, agent));
    }
    for hooks in installed {
        findings.extend(examined_hooks(examination, agent, hooks));
    }
    Section { name: agent.name, title: agent.title, presence, findings }
}

fn program_of(agent: &Agent, program: Option<&Path>) -> Finding {
    let names = agent.programs.first().copied().unwrap_or_default();
    match program {
        Some(program) => Finding::fine(format!("{} is {}", agent.title, program.display())),
        None => {
            Finding::warning(format!("`{names}` is not on the search path"), "nothing to do if you use it another way")
        }
    }
}

/// That no hook is installed, unless a file that nobody could read stands in the way of installing one.
fn missing(agent: &Agent, (findings, foreign): (&[Finding], Option<PathBuf>)) -> Option<Finding> {
    let install = format!("mayi install {}", agent.name);
    if let Some(path) = foreign {
        let what = format!("no hook of mayi's is installed, and {} is somebody else's", path.display());
        return Some(Finding::warning(what, format!("move it away, then {install}")));
    }
    let is_clear = findings.iter().all(|finding| finding.state < State::Wrong);
    is_clear.then(|| Finding::warning("no hook of mayi's is installed", install))
}

/// An agent that a person configures by hand: there is no file to look at, but the command can be tried.
fn by_hand(examination: &Examination<'_>, agent: &'static Agent) -> Section {
    let program = examination.program.0.to_path_buf();
    let command = format!("{} hook {}", own_hook::quoted(&program.to_string_lossy()), agent.name);
    let told = format!("mayi keeps no file of it: it has to run `{command}` before each call by itself");
    let hooks =
        Installed { scope: Scope::User, path: program, found: Vec::new(), is_verbatim: true, findings: Vec::new() };
    let tried = tried(examination, agent, (&command, &hooks));
    let findings = std::iter::once(Finding::fine(told)).chain(tried).collect();
    Section { name: agent.name, title: agent.title, presence: Presence::Installed, findings }
}

fn unreadable(error: &InstallError) -> Finding {
    let text = error.to_string();
    let (what, help) = text.split_once("\nhelp: ").unwrap_or((&text, "mend the file"));
    Finding::wrong(what, help)
}

/// Our hooks in the files of a scope, and what stands in their place.
fn in_scope(examination: &Examination<'_>, agent: &'static Agent, scope: Scope) -> Result<Holding, InstallError> {
    let mut all = Holding::default();
    let mut missing = Vec::new();
    for file in agent.files {
        let location = match examination.ground.file(agent, file, scope) {
            Ok(Some(location)) => location,
            Ok(None) | Err(_) => continue,
        };
        let path = replace::located(&location.path, &location.within)?;
        let text = document::read_text(&path)
            .map_err(|error| mayi_settings::write::SaveError::Unreadable { path: path.clone(), error })?;
        let is_foreign = |text: &String| matches!(file.kind, Kind::Whole(_)) && !whole::is_ours(text);
        if text.as_ref().is_some_and(is_foreign) {
            all.foreign = all.foreign.or(Some(path.clone()));
        }
        let Some(hooks) = text.map_or(Ok(None), |text| in_file(agent, file, (path.clone(), &text, scope)))? else {
            missing.push(path);
            continue;
        };
        match &mut all.installed {
            // The file with the commands is the one to name.
            Some(known) => {
                if !hooks.found.is_empty() && known.found.is_empty() {
                    known.path = hooks.path;
                }
                known.found.extend(hooks.found);
                known.is_verbatim &= hooks.is_verbatim;
                known.findings.extend(hooks.findings);
            }
            None => all.installed = Some(hooks),
        }
    }
    if let Some(installed) = &mut all.installed {
        let command = installed.found.first().map(|found| found.command.clone()).unwrap_or_default();
        let gap = |path: PathBuf| gap(&path, again(agent, scope, &command));
        installed.findings.extend(missing.into_iter().map(gap));
    }
    Ok(all)
}

/// A file that belongs to an installation and is not what it should be.
fn gap(path: &Path, again: String) -> Finding {
    if path.exists() {
        let what = format!("{} holds nothing of mayi's, and the hook needs it", path.display());
        return Finding::wrong(what, format!("move it away if it is somebody else's, then {again}"));
    }
    Finding::wrong(format!("{} is not there, and the hook needs it", path.display()), again)
}

fn in_file(
    agent: &'static Agent,
    file: &'static File,
    (path, text, scope): (PathBuf, &str, Scope),
) -> Result<Option<Installed>, InstallError> {
    match &file.kind {
        Kind::Entries(entries) => entries_in(agent, entries, (path, text, scope)),
        Kind::Whole(file) => Ok(whole_in(agent, file, (path, text, scope))),
    }
}

fn entries_in(
    agent: &'static Agent,
    entries: &Entries,
    (path, text, scope): (PathBuf, &str, Scope),
) -> Result<Option<Installed>, InstallError> {
    let sheet = Sheet { agent: agent.name, entries, path: &path };
    let written = sheet.written(text)?;
    let Some(first) = written.first() else { return Ok(None) };
    let again = again(agent, scope, &first.command);
    let mut findings = Vec::new();
    let has = |event: &str| written.iter().any(|written| written.event == event);
    for hooked in entries.events.iter().filter(|hooked| !has(hooked.event)) {
        findings.push(Finding::wrong(format!("there is no hook for {}", hooked.event), again.as_str()));
    }
    findings.extend(entry::examined(agent, entries, (&written, &again)));
    let is_current = sheet.with(Some(text), &first.command).is_ok_and(|wanted| wanted == text);
    if findings.is_empty() && !is_current {
        findings.push(Finding::warning("the entries are not as this version writes them", again));
    }
    let others = sheet.others(text, agent.canary.event);
    if others > 0 {
        let what = format!("{others} other hook(s) run at {} as well", agent.canary.event);
        findings.push(Finding::warning(what, "a hook that changes a call may change it after mayi judged it"));
    }
    let found = written.into_iter().map(|Written { event, command, .. }| Found { event, command }).collect();
    Ok(Some(Installed { scope, path, found, is_verbatim: true, findings }))
}

fn whole_in(agent: &'static Agent, file: &Whole, (path, text, scope): (PathBuf, &str, Scope)) -> Option<Installed> {
    if !whole::is_ours(text) {
        return None;
    }
    let words = whole::command(file, text);
    let is_current = whole::text(file, words.as_deref().unwrap_or_default()) == text;
    let event = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let quoted = |words: Vec<String>| words.iter().map(|word| own_hook::quoted(word)).collect::<Vec<_>>().join(" ");
    let found: Vec<Found> = words.map(|words| Found { event, command: quoted(words) }).into_iter().collect();
    let command = found.first().map(|found| found.command.as_str()).unwrap_or_default();
    let mut findings = Vec::new();
    if !is_current {
        findings.push(Finding::warning("the file is not as this version writes it", again(agent, scope, command)));
    }
    if agent.canary.run == Run::File && !can_run(&path) {
        let what = format!("{} cannot be run, so the agent passes over it", path.display());
        findings.push(Finding::wrong(what, again(agent, scope, command)));
    }
    Some(Installed { scope, path, found, is_verbatim: is_current, findings })
}

/// How to install a hook again as it is: with the options that it has and that installing takes. Others are kept anyway.
fn again(agent: &Agent, scope: Scope, command: &str) -> String {
    let words = own_hook::words(own_hook::unguarded(command));
    let takes =
        |option: &&[String]| option.first().is_some_and(|name| ["--unattended", "--mode"].contains(&name.as_str()));
    let options = kept::known(&words).into_iter().filter(takes).flatten();
    let line = format!("mayi install {} --scope {scope}", agent.name);
    options.fold(line, |line, word| format!("{line} {word}"))
}

/// What is to be said about our hooks in a scope.
fn examined_hooks(examination: &Examination<'_>, agent: &'static Agent, hooks: Installed) -> Vec<Finding> {
    let mut findings = vec![Finding::fine(format!("installed ({}): {}", hooks.scope, hooks.path.display()))];
    findings.extend(hooks.findings.iter().cloned());
    let commands: BTreeSet<&str> = hooks.found.iter().map(|found| found.command.as_str()).collect();
    if commands.is_empty() {
        findings.push(Finding::wrong("there is no command in it", again(agent, hooks.scope, "")));
    }
    for command in commands {
        match stranger(examination, &hooks, command) {
            Some(finding) => findings.push(finding),
            None => findings.extend(examined_command(examination, agent, (command, &hooks))),
        }
    }
    findings
}

/// A command in a project's files that is more than this program as we would write it. Whoever wrote the project wrote
/// that, so it is run only in a folder that the person trusts.
fn stranger(examination: &Examination<'_>, hooks: &Installed, command: &str) -> Option<Finding> {
    let is_own = match hooks.scope {
        Scope::User => true,
        Scope::Project | Scope::Local => hooks.is_verbatim && is_this_program(examination, command),
    };
    (!is_own && !machine::is_trusted(examination)).then(|| {
        let what = format!("not tried: `{command}` is not this program alone, and the folder is not trusted");
        Finding::wrong(what, "look at it, then install it again, or trust the folder (mayi trust)")
    })
}

/// Whether a command is this very program, with no option but those that installation writes.
fn is_this_program(examination: &Examination<'_>, command: &str) -> bool {
    let words = own_hook::words(own_hook::unguarded(command));
    let program = words.first().map(PathBuf::from).unwrap_or_default();
    let is_name = program.components().count() == 1;
    let found = program.to_str().filter(|_| is_name).and_then(|name| examination.ground.program(name));
    let real = found.unwrap_or(program).canonicalize();
    let is_this = real.is_ok_and(|real| examination.program.0.canonicalize().is_ok_and(|this| this == real));
    let is_known = |word: &String| ["--unattended", "--mode"].contains(&word.as_str()) || word.parse::<Mode>().is_ok();
    is_this && words.iter().skip(3).all(is_known)
}

fn examined_command(
    examination: &Examination<'_>,
    agent: &'static Agent,
    (command, hooks): (&str, &Installed),
) -> Vec<Finding> {
    let words = own_hook::words(own_hook::unguarded(command));
    if let Some(problem) = options::problem(words.get(2..).unwrap_or_default()) {
        let what = format!("the hook refuses every call, because it cannot be run as `{command}`: {problem}");
        return vec![Finding::wrong(what, again(agent, hooks.scope, command))];
    }
    match examined_program(examination, agent, (command, hooks.scope)) {
        Some(finding) if finding.state == State::Wrong => vec![finding],
        finding => finding.into_iter().chain(tried(examination, agent, (command, hooks))).collect(),
    }
}

/// Whether the program of a command is there, can be run, and is this version.
fn examined_program(examination: &Examination<'_>, agent: &Agent, (command, scope): (&str, Scope)) -> Option<Finding> {
    let words = own_hook::words(command);
    let program = Path::new(words.first()?);
    if !program.is_absolute() {
        // A shell finds it, or not; the trial shows.
        return None;
    }
    if !can_run(program) {
        let what = format!("`{}` is not there or cannot be run", program.display());
        return Some(Finding::wrong(what, again(agent, scope, command)));
    }
    let (this, version) = examination.program;
    if program.canonicalize().ok() == this.canonicalize().ok() {
        return None;
    }
    let theirs = canary::version(program, examination.deadline).unwrap_or_else(|| "no version".to_owned());
    (theirs != version).then(|| {
        let what = format!("`{}` says it is {theirs}, and this is {version}", program.display());
        Finding::warning(what, again(agent, scope, command))
    })
}

/// Tries the hook with a call that only reads and one that must never be allowed.
fn tried(examination: &Examination<'_>, agent: &Agent, (command, hooks): (&str, &Installed)) -> Vec<Finding> {
    let trial = |call| Trial {
        canary: &agent.canary,
        command,
        file: &hooks.path,
        call,
        folder: &examination.ground.project,
        deadline: examination.deadline,
    };
    let [harmless, deadly] = TRIALS.map(|call| canary::tried(&trial(call)));
    let help = format!("run it by hand: {command}");
    match (harmless, deadly) {
        (Ok(canary::Answered { bare_refusal: Some(why), .. }), _) => {
            vec![Finding::wrong(format!("it refuses even ls: {why}"), help)]
        }
        (Ok(harmless), Ok(deadly)) if deadly.verdict > Verdict::Allow => {
            let took = harmless.took.max(deadly.took).as_millis();
            let (first, second) = (harmless.verdict, deadly.verdict);
            // That it answers here says nothing of an agent that passes over it.
            let is_heeded = hooks.findings.iter().all(|finding| finding.state < State::Wrong);
            let fires = if is_heeded { "it fires" } else { "run by hand it answers" };
            let fires = format!("{fires}: ls is answered with {first}, rm -rf / with {second}, in {took} ms");
            let strict = Finding::warning("even ls is denied", "mayi check ls says why");
            let is_strict = first == Verdict::Deny;
            std::iter::once(Finding::fine(fires)).chain(is_strict.then_some(strict)).collect()
        }
        (Ok(_), Ok(_)) => vec![Finding::wrong("it lets rm -rf / pass", "mayi check 'rm -rf /' says why")],
        (Err(problem), _) | (_, Err(problem)) => {
            vec![Finding::wrong(format!("it gives no answer: {problem}"), help)]
        }
    }
}
