//! Hooks that settings name: programs and addresses that are asked before a call and told after it.
//!
//! All hooks that match run at once, identical ones once; the strictest answer counts. A hook that cannot be run, is
//! late or makes no sense never allows anything: before a call it asks, and elsewhere it has not answered. Which hooks
//! may run at all (trust, the organisation's say) was decided where settings were loaded.

mod after;
mod before;
mod condition;
mod environment;
mod failure;
mod join;
mod matcher;
mod message;
mod process;
mod report;
mod request;
mod unique;
mod web;

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mayi_core::call::Call;
use mayi_core::mode::Mode;
use mayi_core::policy::Policy;
use mayi_settings::hooks::{Action, Hook};
use mayi_settings::{Loaded, secret};
use serde_json::Value;

use environment::Environment;
use failure::{Failure, shortened};
use message::About;
use process::Program;
use report::Report;
use web::{Address, Bounds};

pub use after::After;
pub use before::Before;
pub use request::Requested;

/// Set for hooks: a mayi that one of them starts runs no hooks, which could go on without end.
pub const NESTED: &str = "MAYI_IN_HOOK";

/// A hook that says nothing of its time has this long.
const TIME: Duration = Duration::from_secs(600);

/// When hooks run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Event {
    /// Before a call is decided.
    PreToolUse,
    /// When a person is about to be asked, or would be if one were there.
    PermissionRequest,
    /// When auto mode has refused a call.
    PermissionDenied,
    /// After a call.
    PostToolUse,
}

impl Event {
    /// All events.
    pub const ALL: [Event; 4] =
        [Event::PreToolUse, Event::PermissionRequest, Event::PermissionDenied, Event::PostToolUse];

    /// The name in settings and messages.
    pub fn word(self) -> &'static str {
        match self {
            Event::PreToolUse => "PreToolUse",
            Event::PermissionRequest => "PermissionRequest",
            Event::PermissionDenied => "PermissionDenied",
            Event::PostToolUse => "PostToolUse",
        }
    }
}

/// What a hook is told beside the call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Occasion {
    /// The agent's session.
    pub session: String,
    /// Where the agent works; hooks start there.
    pub directory: PathBuf,
    /// The session's mode.
    pub mode: Mode,
    /// The file with the transcript.
    pub transcript: Option<PathBuf>,
    /// The agent's name for the call.
    pub call_id: Option<String>,
    /// The agent within the session that makes the call, when it is not the lead: its name and its kind.
    pub agent: Option<(String, Option<String>)>,
    /// The project's folder; the working directory where there is none.
    pub project: Option<PathBuf>,
}

/// Runs the hooks of settings. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Runner {
    setup: Arc<Setup>,
    deadline: Option<Instant>,
}

#[derive(Debug)]
struct Setup {
    hooks: Vec<Hook>,
    policy: Arc<Policy>,
    environment: Environment,
    bounds: Bounds,
}

/// What came back from one hook.
struct Heard<'a> {
    hook: &'a Hook,
    report: Result<Report, Failure>,
}

/// Everything that came back for one event, in the order of settings.
#[derive(Default)]
struct Round<'a> {
    heard: Vec<Heard<'a>>,
    problems: Vec<String>,
}

impl Runner {
    /// The hooks of these settings. `environment` is the process's own; hooks see only a few
    /// harmless variables of it.
    pub fn new(loaded: &Loaded, environment: Vec<(OsString, OsString)>) -> Self {
        let settings = &loaded.settings;
        let setup = Setup {
            hooks: loaded.hooks.clone(),
            policy: loaded.policy.clone(),
            environment: match loaded.hooks.is_empty() {
                true => Environment::default(),
                false => Environment::new(environment, settings.env.clone()),
            },
            bounds: Bounds {
                addresses: settings.allowed_http_hook_urls.clone(),
                variables: settings.http_hook_allowed_env_vars.clone(),
            },
        };
        Self { setup: Arc::new(setup), deadline: None }
    }

    /// The same with a limit on everything it still does: what has not answered by then was late.
    pub fn within(&self, time: Duration) -> Self {
        Self { setup: self.setup.clone(), deadline: Instant::now().checked_add(time) }
    }

    /// Whether there is any hook for an event.
    pub fn watches(&self, event: Event) -> bool {
        self.setup.hooks.iter().any(|hook| hook.event == event.word())
    }

    /// PreToolUse: what hooks say before a call. `None` when no hook is for it.
    pub async fn before(&self, call: &Call, occasion: &Occasion) -> Option<Before> {
        let (round, told) = self.ask(About::Call, call, occasion).await?;
        Some(before::together(round, call, &told))
    }

    /// PermissionRequest: what hooks answer in a person's place. `None` when no hook is for it.
    pub async fn request(&self, call: &Call, occasion: &Occasion) -> Option<Requested> {
        let (round, told) = self.ask(About::Question, call, occasion).await?;
        Some(request::together(round, call, &told))
    }

    /// PermissionDenied: whether the model may be told to try again.
    pub async fn denied(&self, call: &Call, occasion: &Occasion, reason: &str) -> bool {
        let asked = self.ask(About::Refusal(reason), call, occasion).await;
        asked.is_some_and(|(round, _)| after::may_retry(&round))
    }

    /// PostToolUse: what hooks say of a call that ran.
    pub async fn after(&self, call: &Call, occasion: &Occasion, response: &Value) -> After {
        let asked = self.ask(About::Response(response), call, occasion).await;
        asked.map(|(round, _)| after::together(round)).unwrap_or_default()
    }

    /// Asks every hook that is for the call, all at once. Also gives the input as they were told it.
    async fn ask(&self, about: About<'_>, call: &Call, occasion: &Occasion) -> Option<(Round<'_>, Value)> {
        let (hooks, problems) = self.matching(about.event(), call);
        if hooks.is_empty() {
            return None;
        }
        let input = message::input(call, &self.setup.policy);
        let text = message::told(about, call, &input, occasion);
        let reports = join::all(hooks.iter().map(|hook| self.run(hook, &text, occasion))).await;
        let heard = hooks.into_iter().zip(reports).map(|(hook, report)| Heard { hook, report }).collect();
        Some((Round { heard, problems }, input))
    }

    /// The hooks for a call, each once, and what is wrong with their matchers and conditions.
    fn matching(&self, event: Event, call: &Call) -> (Vec<&Hook>, Vec<String>) {
        let (mut hooks, mut problems): (Vec<&Hook>, _) = (Vec::new(), Vec::new());
        for hook in self.setup.hooks.iter().filter(|hook| hook.event == event.word()) {
            let mut told = |problem: String| {
                problems.push(reported(hook, format_args!("is not in order: {problem}")));
                true
            };
            if !matcher::names(hook.matcher.as_deref(), &call.tool).unwrap_or_else(&mut told) {
                continue;
            }
            let ground = (&*self.setup.policy, self.setup.environment.search());
            let holds = |condition: &str| condition::holds(condition, call, ground).unwrap_or_else(&mut told);
            if hook.condition.as_deref().is_none_or(holds) && !hooks.iter().any(|other| do_the_same(hook, other)) {
                hooks.push(hook);
            }
        }
        (hooks, problems)
    }

    async fn run(&self, hook: &Hook, text: &str, occasion: &Occasion) -> Result<Report, Failure> {
        let limit = self.time_for(hook).ok_or(Failure::NoTime)?;
        let Setup { environment, bounds, .. } = &*self.setup;
        if environment.is_within_hook() {
            return Err(Failure::WithinHook);
        }
        let (directory, project) = (&occasion.directory, occasion.project.as_ref().unwrap_or(&occasion.directory));
        match &hook.action {
            Action::Command { command, args } => {
                let variables = environment.of_hook(hook.origin.layer, directory, project);
                let program = Program::new(command, args.as_deref(), project);
                let ended = program.run((variables, directory), text.as_bytes(), limit).await?;
                Report::of_program(&ended)
            }
            Action::Http { url, headers, allowed_env_vars } => {
                let variable = web::sendable(allowed_env_vars, bounds, environment);
                let address = Address::new(url, headers, bounds, variable)?;
                Report::of_response(&address.post(text.to_owned(), limit).await?)
            }
            Action::Unusable(why) => Err(Failure::Unusable(why.clone())),
        }
    }

    /// How long a hook may take; `None` when no time is left.
    fn time_for(&self, hook: &Hook) -> Option<Duration> {
        let own = hook.timeout.unwrap_or(TIME);
        let left = self.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        Some(left.map_or(own, |left| left.min(own))).filter(|time| !time.is_zero())
    }
}

/// Whether two hooks that are both for a call do the same with it: the second need not run.
fn do_the_same(one: &Hook, other: &Hook) -> bool {
    let matched = Hook { matcher: other.matcher.clone(), condition: other.condition.clone(), ..one.clone() };
    matched.is_same(other)
}

/// What is said of a hook: which it is, and the words that follow. Whatever its definition, its output or an error quotes goes
/// to the model and to records, so secrets are hidden here, for all of them.
fn reported(hook: &Hook, words: impl std::fmt::Display) -> String {
    let mut text = match name(&hook.action) {
        Some(name) => format!("the hook `{name}` ({}) {words}", hook.origin),
        None => format!("the hook ({}) {words}", hook.origin),
    };
    secret::redact(&mut text);
    text
}

/// What people call a hook: its command line or its address, shortened.
fn name(action: &Action) -> Option<String> {
    let text = match action {
        Action::Command { command, .. } => command,
        // What follows the path may hold a token.
        Action::Http { url, .. } => url.split(['?', '#']).next().unwrap_or(url),
        Action::Unusable(_) => return None,
    };
    Some(shortened(text, 80))
}
