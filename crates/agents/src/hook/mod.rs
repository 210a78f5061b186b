//! `mayi hook AGENT`: one process for one message of an agent.
//!
//! It is on the agent's critical path, so it opens only what the decision needs. And it is never silent: several
//! agents run the call when their hook fails or is late, so whatever goes wrong here, from foreign input to a panic
//! to a deadline, ends in an answer in the agent's own dialect, and that answer is never an allow.

mod afterwards;
mod confined;
mod errands;
mod input;
mod notices;
pub(crate) mod options;
mod watchdog;
mod words;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use mayi_core::call::Call;
use mayi_core::session::{Aborted, Attendance};
use mayi_core::verdict::Verdict;
use mayi_engine::desk::{Answered, Asked, Bypass, Desk, Manner, Turn};
use mayi_engine::remote::{self, Haste, Propose, Served};
use mayi_engine::waiting::Waiting;
use mayi_settings::{Cli, Given, Loaded, Places, load, own_hook};
use serde_json::Value;

use crate::adapter::{Dialect, Event, Message, Reply, Surroundings, Told};
use crate::lead;
use crate::remedy::Remedy;
use confined::{Confiner, Seen};
use errands::Errands;
use options::Options;
use watchdog::Watchdog;

pub use options::BadOptions;

/// Answers the message on standard input, and ends the process. `propose` is asked for rules where people at a server
/// are.
pub fn run(arguments: &[String], propose: Propose) -> Result<std::convert::Infallible, BadOptions> {
    let options = match Options::parse(arguments, &lead::of_environment) {
        Ok(options) => Options { propose, ..options },
        Err(bad) => match bad.dialect {
            Some(dialect) => {
                Watchdog::new(dialect, Verdict::Deny, dialect.deadline).refuse(&words::plain(&bad.to_string()))
            }
            None => return Err(bad),
        },
    };
    let watchdog = Watchdog::new(options.dialect, options.fallback(), options.deadline);
    let reply = match std::env::current_dir() {
        Ok(directory) => answer(&options, directory, &watchdog),
        Err(error) => Err(format!("the present directory cannot be found: {error}")),
    };
    match reply {
        Ok((reply, errands)) => watchdog.answer_then(&reply, errands),
        Err(problem) => watchdog.refuse(&words::plain(&problem)),
    }
}

/// The answer, and what is to be done once it is given.
fn answer(options: &Options, directory: PathBuf, watchdog: &Watchdog) -> Result<(Reply, Option<Errands>), String> {
    watchdog.watch_unless_local(Path::new("."));
    let mut message = Arc::new(read(options.dialect, directory.clone(), watchdog)?);
    watchdog.heard(&message);
    let directory = message.directory.clone().filter(|given| given.is_absolute()).unwrap_or(directory);
    let dialect = options.dialect;
    match message.event {
        Event::Before | Event::Request => {
            let places = Places::of_this_machine(&directory);
            let seen = confined::taken_back(&mut message, &places);
            let (desk, confiner) = open(options, (&message, seen), places, watchdog);
            if desk.needs_runtime() {
                watchdog.watch();
            }
            let told = decide(&desk, options, &message, confiner)?;
            let mut reply = notices::added((dialect.write)(&message, &told), &told.notices, dialect);
            let errands = desk.server().and_then(|server| Errands::of(&server, options, (&directory, &mut reply)));
            // The process ends in a moment; taking every rule apart before would only delay the answer.
            std::mem::forget(desk);
            Ok((reply, errands))
        }
        Event::After | Event::Denied => {
            let places = Places::of_this_machine(&directory);
            let (desk, _) = open(options, (&message, Seen::First), places, watchdog);
            let told = afterwards::told(&desk, options, &message, watchdog)?;
            Ok((notices::added((dialect.write)(&message, &told), &told.notices, dialect), None))
        }
        Event::Other => {
            let mut reply = (dialect.write)(&message, &Told::new(Verdict::Allow, ""));
            if message.begins {
                let (desk, _) = open(options, (&message, Seen::First), Places::of_this_machine(&directory), watchdog);
                if let Err(problem) = desk.begun(&message.session) {
                    reply.stderr = format!("mayi: {problem}\n");
                }
            }
            if let Err(problem) = lead::leave(&message, std::env::var("CLAUDE_ENV_FILE").ok()) {
                reply.stderr = format!("mayi: {problem}\n");
            }
            Ok((reply, None))
        }
        Event::Failed => Ok(((dialect.write)(&message, &Told::new(Verdict::Allow, "")), None)),
    }
}

/// Reads the whole message.
fn read(dialect: &Dialect, directory: PathBuf, watchdog: &Watchdog) -> Result<Message, String> {
    let bytes = input::read(watchdog)?;
    let value: Value = serde_json::from_slice(&bytes).map_err(|error| format!("the message is no JSON: {error}"))?;
    let surroundings = Surroundings { variable: &|name| std::env::var(name).ok(), directory };
    (dialect.read)(&value, &surroundings).map_err(|foreign| foreign.to_string())
}

/// The desk for a message: settings of the directory that the agent works in.
fn open(options: &Options, (message, seen): (&Message, Seen), places: Places, watchdog: &Watchdog) -> (Desk, Confiner) {
    if let Some(home) = &places.home {
        watchdog.watch_unless_local(home);
    }
    let given = Given { flags: options.settings.clone(), trust: places.trust(), ..Given::default() };
    let barking = watchdog.clone();
    let waiting = Waiting::told(move || barking.watch());
    let loaded = load(&places, &given);
    let Served { mut loaded, server } = remote::served(&places, &given, loaded, (Haste::Answer, &waiting));
    leave_to_the_agent(&mut loaded, options.dialect);
    let attendance = match (options.attendance, message.attendance) {
        (Attendance::Unattended, _) | (_, Some(Attendance::Unattended)) => Attendance::Unattended,
        (Attendance::Attended, None | Some(Attendance::Attended)) => Attendance::Attended,
    };
    let ground = confined::Ground { loaded: &loaded, places: &places, waiting: &waiting };
    let (confiner, confinement) = confined::confiner(ground, options.dialect, message, seen);
    let manner = Manner {
        attendance,
        mode: options.mode,
        lead: options.lead.clone(),
        patience: Some(options.patience()),
        waiting,
        confinement,
        propose: options.propose,
        bypass: Bypass::NotAsRoot,
        settings: options.settings.clone(),
        options: Cli::default(),
    };
    (Desk::once(places, loaded, manner).serving(server), confiner)
}

/// Takes out hooks that are not ours to run: an agent runs the hooks of its own settings itself.
fn leave_to_the_agent(loaded: &mut Loaded, dialect: &Dialect) {
    if dialect.name != "claude-code" {
        return;
    }
    loaded.hooks.retain(|hook| !hook.origin.file.as_deref().is_some_and(own_hook::is_of_claude_code));
}

/// Decides every call of the message; the strictest answer counts for all.
fn decide(desk: &Desk, options: &Options, message: &Message, confiner: Confiner) -> Result<Told, String> {
    let mut together: Option<Told> = None;
    for call in &message.calls {
        let asked = question(options, message, call);
        let mut answered = desk.decided(&asked)?;
        let replaced = match confiner {
            Confiner::Mayi => confined::replace(desk, (&asked, &mut answered), message, options),
            Confiner::Nobody | Confiner::Already | Confiner::Agent => Ok(()),
        };
        let told = match replaced {
            Ok(()) => told(answered, message),
            // An ask would run it unconfined after a person's yes.
            Err(problem) => Told::new(Verdict::Deny, words::plain(&format!("mayi: it cannot be confined: {problem}"))),
        };
        together = Some(match together {
            Some(before) => both(before, told),
            None => told,
        });
    }
    together.ok_or_else(|| "the message names no call".to_owned())
}

/// The question that a call of a message is.
fn question(options: &Options, message: &Message, call: &Call) -> Asked {
    Asked {
        agent: options.dialect.name.to_owned(),
        session: message.session.clone(),
        child: message.child.clone(),
        call: call.clone(),
        call_id: message.call_id.clone(),
        mode: message.mode,
        transcript: message.transcript.clone(),
        event: message.named.clone(),
        turn: if message.event == Event::Request { Turn::Again } else { Turn::First },
    }
}

/// What is told about two calls of one message.
fn both(first: Told, second: Told) -> Told {
    let (strict, other) = if second.verdict > first.verdict { (second, first) } else { (first, second) };
    Told {
        // An agent cannot run one of several calls changed, and is told so where this is written.
        changed: strict.changed.or(other.changed),
        remedy: match other.verdict {
            Verdict::Ask => strict.remedy.zip(other.remedy).map(|(first, second)| first.max(second)),
            Verdict::Allow | Verdict::Deny => strict.remedy,
        },
        updates: strict.updates.into_iter().chain(other.updates).collect(),
        ends_run: strict.ends_run || other.ends_run,
        context: strict.context.into_iter().chain(other.context).collect(),
        notices: strict.notices.into_iter().chain(other.notices).collect(),
        ..strict
    }
}

fn told(answered: Answered, message: &Message) -> Told {
    let decision = &answered.decision;
    let verdict = if answered.aborted.is_some() { Verdict::Deny } else { decision.verdict };
    let plain = Told::new(verdict, words::reason(&answered, message));
    Told {
        remedy: (verdict == Verdict::Ask).then(|| Remedy::of(decision)),
        changed: answered.changed.then(|| answered.call.clone()),
        updates: answered.updates,
        ends_run: answered.aborted.as_ref().is_some_and(|aborted| !matches!(aborted, Aborted::Stopped)),
        may_retry: answered.may_retry,
        context: answered.context,
        notices: answered.notices,
        ..plain
    }
}
