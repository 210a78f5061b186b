//! `mayi hook AGENT`: one process for one message of an agent.
//!
//! It is on the agent's critical path, so it opens only what the decision needs. And it is never silent: several
//! agents run the call when their hook fails or is late, so whatever goes wrong here, from foreign input to a panic
//! to a deadline, ends in an answer in the agent's own dialect, and that answer is never an allow.

mod input;
mod lead;
mod options;
mod watchdog;
mod words;

use std::future::Future;
use std::path::PathBuf;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use mayi_core::session::{Aborted, Attendance};
use mayi_core::verdict::Verdict;
use mayi_engine::desk::{Answered, Asked, Desk, Manner, Turn};
use mayi_engine::waiting::Waiting;
use mayi_settings::{Given, Loaded, Places, load};
use serde_json::Value;

use crate::adapter::{Dialect, Event, Message, Reply, Surroundings, Told};
use options::Options;
use watchdog::Watchdog;

pub use options::BadOptions;

/// Answers the message on standard input, and ends the process.
pub fn run(arguments: &[String]) -> Result<std::convert::Infallible, BadOptions> {
    let options = match Options::parse(arguments, &|name| std::env::var(name).ok()) {
        Ok(options) => options,
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
        Ok(reply) => watchdog.answer(&reply),
        Err(problem) => watchdog.refuse(&words::plain(&problem)),
    }
}

fn answer(options: &Options, directory: PathBuf, watchdog: &Watchdog) -> Result<Reply, String> {
    watchdog.watch_unless_local(&directory);
    let message = read(options.dialect, directory.clone(), watchdog)?;
    watchdog.heard(&message);
    let directory = message.directory.clone().filter(|given| given.is_absolute()).unwrap_or(directory);
    let dialect = options.dialect;
    match message.event {
        Event::Before | Event::Request => {
            let desk = open(options, &message, directory, watchdog);
            if desk.needs_runtime() {
                watchdog.watch();
            }
            let told = decide(&desk, options, &message)?;
            // The process ends in a moment; taking every rule apart before would only delay the answer.
            std::mem::forget(desk);
            Ok((dialect.write)(&message, &told))
        }
        Event::After => {
            if let Some(id) = &message.call_id {
                let desk = open(options, &message, directory, watchdog);
                // The call has run: nobody can be protected from it any more by an error here.
                let _ = desk.ran(&message.session, id);
            }
            Ok((dialect.write)(&message, &Told::new(Verdict::Allow, "")))
        }
        Event::Other => {
            let mut reply = (dialect.write)(&message, &Told::new(Verdict::Allow, ""));
            if let Err(problem) = lead::leave(&message, std::env::var("CLAUDE_ENV_FILE").ok()) {
                reply.stderr = format!("mayi: {problem}\n");
            }
            Ok(reply)
        }
        Event::Denied | Event::Failed => Ok((dialect.write)(&message, &Told::new(Verdict::Allow, ""))),
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
fn open(options: &Options, message: &Message, directory: PathBuf, watchdog: &Watchdog) -> Desk {
    let places = Places::of_this_machine(&directory);
    if let Some(home) = &places.home {
        watchdog.watch_unless_local(home);
    }
    let given = Given { flags: options.settings.clone(), trust: places.trust(), ..Given::default() };
    let mut loaded = load(&places, &given);
    leave_to_the_agent(&mut loaded, options.dialect);
    let attendance = match (options.attendance, message.attendance) {
        (Attendance::Unattended, _) | (_, Some(Attendance::Unattended)) => Attendance::Unattended,
        (Attendance::Attended, None | Some(Attendance::Attended)) => Attendance::Attended,
    };
    Desk::once(
        places,
        loaded,
        Manner {
            attendance,
            mode: options.mode,
            lead: options.lead.clone(),
            patience: Some(options.patience()),
            waiting: {
                let watchdog = watchdog.clone();
                Waiting::told(move || watchdog.watch())
            },
        },
    )
}

/// Takes out hooks that are not ours to run: an agent runs the hooks of its own settings itself.
fn leave_to_the_agent(loaded: &mut Loaded, dialect: &Dialect) {
    if dialect.name != "claude-code" {
        return;
    }
    let of_claude = |file: &str| ["/.claude/", "/claude-code/"].iter().any(|part| file.contains(part));
    let is_theirs = |file: &str| of_claude(file) || file.starts_with(".claude/");
    loaded.hooks.retain(|hook| !hook.origin.file.as_deref().is_some_and(is_theirs));
}

/// Decides every call of the message; the strictest answer counts for all.
fn decide(desk: &Desk, options: &Options, message: &Message) -> Result<Told, String> {
    let mut together: Option<Told> = None;
    for call in &message.calls {
        let asked = Asked {
            agent: options.dialect.name.to_owned(),
            session: message.session.clone(),
            child: message.child.clone(),
            call: call.clone(),
            call_id: message.call_id.clone(),
            mode: message.mode,
            transcript: message.transcript.clone(),
            event: message.named.clone(),
            turn: if message.event == Event::Request { Turn::Again } else { Turn::First },
        };
        let told = told(finish(desk.decide(&asked), desk)?, message);
        together = Some(match together {
            Some(before) => both(before, told),
            None => told,
        });
    }
    together.ok_or_else(|| "the message names no call".to_owned())
}

/// What is told about two calls of one message.
fn both(first: Told, second: Told) -> Told {
    let (strict, other) = if second.verdict > first.verdict { (second, first) } else { (first, second) };
    Told {
        // An agent cannot run one of several calls changed, and is told so where this is written.
        changed: strict.changed.or(other.changed),
        updates: strict.updates.into_iter().chain(other.updates).collect(),
        ends_run: strict.ends_run || other.ends_run,
        context: strict.context.into_iter().chain(other.context).collect(),
        ..strict
    }
}

/// Drives a decision to its end. Only one that hooks or a model have a part in needs a runtime.
fn finish(decision: impl Future<Output = Answered>, desk: &Desk) -> Result<Answered, String> {
    if desk.needs_runtime() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| format!("hooks and the classifier cannot be asked: {error}"))?;
        return Ok(runtime.block_on(decision));
    }
    match pin!(decision).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(answered) => Ok(answered),
        Poll::Pending => Err("the decision waits for something that nobody brings".to_owned()),
    }
}

fn told(answered: Answered, message: &Message) -> Told {
    let decision = &answered.decision;
    let verdict = if answered.aborted.is_some() { Verdict::Deny } else { decision.verdict };
    Told {
        verdict,
        reason: words::reason(&answered, message),
        changed: answered.changed.then(|| answered.call.clone()),
        updates: answered.updates,
        ends_run: answered.aborted.as_ref().is_some_and(|aborted| !matches!(aborted, Aborted::Stopped)),
        may_retry: answered.may_retry,
        context: answered.context,
    }
}
