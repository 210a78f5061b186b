//! Who answers at the desk: hooks, the classifier, and people at a server. At the agent's own prompt it asks by itself.
//!
//! Most questions are answered by rules. What waits for somebody is boxed, so that the others carry no room for it.

use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use mayi_core::call::Call;
use mayi_core::mode::Mode;
use mayi_core::pipeline::Said;
use mayi_core::referral::{Classified, HookAnswer, OnFailure, PersonAnswer};
use mayi_core::session::Attendance;
use mayi_core::verdict::Decision;
use mayi_settings::update::PermissionUpdate;
use mayi_settings::{Loaded, Places};

use super::members::Standing;
use super::serving::Elsewhere;
use super::{Asked, Desk, apart};
use crate::audit::Heard;
use crate::classifier::{Classifier, Gathered, Ledger, Question, Spent, Transcript};
use crate::decide::Respond;
use crate::family::Member;
use crate::hooks::{Event, Occasion, Runner};
use crate::observe::Machine;
use crate::remote::{Propose, Server};
use crate::store::Sessions;
use crate::waiting::Waiting;

/// How long reading a transcript may take.
const READING: Duration = Duration::from_secs(2);

/// The classifier of some settings, or why they give none.
pub(super) type Judge = Result<Option<Classifier>, String>;

/// Everybody who may be asked about one question.
pub(super) struct Staff<'a> {
    pub(super) asked: &'a Asked,
    pub(super) loaded: &'a Loaded,
    pub(super) begun: Instant,
    runner: Runner,
    occasion: Occasion,
    judge: Arc<Judge>,
    pub(super) patience: Option<Duration>,
    sessions: Option<&'a Sessions>,
    said: Mutex<Aside>,
    pub(super) server: Option<Arc<Server>>,
    /// The agent that asks.
    pub(super) member: Option<&'a Member>,
    pub(super) attendance: Attendance,
    pub(super) waiting: &'a Waiting,
    pub(super) places: &'a Places,
    pub(super) machine: &'a Machine,
    pub(super) propose: Propose,
}

/// What hooks said beside their answer.
#[derive(Clone, Debug, Default)]
pub(super) struct Aside {
    pub(super) updates: Vec<PermissionUpdate>,
    pub(super) context: Vec<String>,
    pub(super) notices: Vec<String>,
    /// Why hooks that were to answer in a person's place did not.
    pub(super) unanswered: Vec<String>,
    pub(super) ends_run: Option<String>,
    /// What was answered, for the record.
    pub(super) heard: Heard,
    /// What people at a server did.
    pub(super) elsewhere: Option<Elsewhere>,
}

impl Desk {
    pub(super) fn staff<'a>(
        &'a self,
        asked: &'a Asked,
        loaded: &'a Arc<Loaded>,
        (standing, machine): (&'a Standing, &'a Machine),
    ) -> Staff<'a> {
        let environment = if loaded.hooks.is_empty() { Vec::new() } else { environment() };
        let runner = Runner::new(loaded, environment);
        Staff {
            asked,
            loaded,
            begun: Instant::now(),
            runner: self.manner.patience.map_or(runner.clone(), |patience| runner.within(patience)),
            occasion: self.occasion(asked, standing.mode()),
            judge: self.judge(loaded),
            patience: self.manner.patience,
            sessions: self.sessions_for(asked),
            said: Mutex::default(),
            server: self.server(),
            member: standing.line.first(),
            attendance: self.manner.attendance,
            waiting: &self.manner.waiting,
            places: &self.places,
            machine,
            propose: self.manner.propose,
        }
    }

    /// What hooks are told beside the call.
    pub(super) fn occasion(&self, asked: &Asked, mode: Mode) -> Occasion {
        let directory = self.places.directory.clone();
        Occasion {
            session: asked.session.clone(),
            mode,
            transcript: asked.transcript.clone(),
            call_id: asked.call_id.clone(),
            agent: asked.child.as_ref().map(|child| (child.id.clone(), child.kind.clone())),
            project: Some(self.places.repository.clone().unwrap_or_else(|| directory.clone())),
            directory,
        }
    }

    /// The classifier of these settings. It is kept as long as they are, because it keeps its connections.
    fn judge(&self, loaded: &Arc<Loaded>) -> Arc<Judge> {
        let mut kept = self.judges.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((of, judge)) = &*kept
            && Arc::ptr_eq(of, loaded)
        {
            return judge.clone();
        }
        // Settings without a model need no look at the environment, where keys are.
        let judge = if loaded.settings.classifier.model.is_none() {
            Ok(None)
        } else {
            Classifier::configured(&loaded.settings, &environment()).map_err(|error| error.to_string())
        };
        let judge = Arc::new(judge);
        *kept = Some((loaded.clone(), judge.clone()));
        judge
    }
}

pub(super) fn environment() -> Vec<(OsString, OsString)> {
    std::env::vars_os().collect()
}

impl Staff<'_> {
    /// What hooks said beside their answers.
    pub(super) fn aside(&self) -> Aside {
        self.said.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn note(&self, note: impl FnOnce(&mut Aside)) {
        note(&mut self.said.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Tells hooks of a denial of automatic mode. True when the model may try again.
    pub(super) async fn tell_denied(&self, call: &Call, reason: &str) -> bool {
        self.runner.watches(Event::PermissionDenied) && apart(|| self.runner.denied(call, &self.occasion, reason)).await
    }

    /// The session so far, as far as the agent shows it.
    pub(super) fn transcript(&self) -> Result<Transcript, String> {
        let workspace = &self.loaded.policy.workspace;
        let Some(path) = self.asked.transcript.as_deref().filter(|_| self.asked.agent == "claude-code") else {
            return Ok(Transcript::new(workspace));
        };
        let gathered = self.gathered()?;
        let gathered = match gathered.read(path, workspace, READING) {
            Ok(gathered) => gathered,
            // Nothing was said yet, so nothing was consented to.
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Transcript::new(workspace)),
            Err(error) => return Err(unreadable(path, &error)),
        };
        if let Some(sessions) = self.sessions {
            let text = serde_json::to_string(&gathered).map_err(|error| error.to_string())?;
            sessions.amend(&self.asked.session, "transcript", |_| text).map_err(|error| error.to_string())?;
        }
        Ok(gathered.transcript(workspace))
    }

    /// What was read of the transcript by earlier processes.
    fn gathered(&self) -> Result<Gathered, String> {
        let kept = match self.sessions {
            Some(sessions) => sessions.kept(&self.asked.session, "transcript").map_err(|error| error.to_string())?,
            None => None,
        };
        // What was kept and cannot be read is read anew from the file.
        Ok(kept.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default())
    }

    async fn judged(&self, classifier: &Classifier, call: &Call) -> Result<Classified, String> {
        let transcript = self.transcript()?;
        let id = &self.asked.session;
        let kept = |name: &str| match self.sessions {
            Some(sessions) => sessions.kept(id, name).map_err(|error| error.to_string()),
            None => Ok(None),
        };
        let flag = kept("flag")?.and_then(|text| serde_json::from_str(&text).ok());
        let mode = self.occasion.mode;
        // Another process of the session may have seen another mode by now.
        let stands = || {
            let card = self.sessions.and_then(|sessions| sessions.card(id).ok().flatten());
            self.asked.child.is_some() || card.is_none_or(|card| card.mode == mode)
        };
        let spent = Ledger::of_text(kept("ledger")?.as_deref());
        let within = self.patience;
        let question = Question { transcript: &transcript, action: call, spent, flag, within, stands: &stands };
        let since = Instant::now();
        let judgement = classifier.judge(question).await;
        let used = Spent::on(classifier.model(), judgement.usage, since.elapsed());
        self.note(|aside| aside.heard.spent = Some(used.after(aside.heard.spent.take())));
        if let Some(sessions) = self.sessions {
            let books = |old: Option<&str>| Ledger::of_text(old).with(classifier.model(), judgement.usage).text();
            sessions.amend(id, "ledger", books).map_err(|error| error.to_string())?;
            if let Some(text) = judgement.flag.and_then(|flag| serde_json::to_string(&flag).ok()) {
                sessions.amend(id, "flag", |_| text).map_err(|error| error.to_string())?;
            }
        }
        Ok(judgement.classified)
    }
}

fn unreadable(path: &Path, error: &std::io::Error) -> String {
    format!("the transcript `{}` cannot be read: {error}", path.display())
}

impl Respond for Staff<'_> {
    async fn before(&self, call: &Call) -> (Option<Said>, Option<Call>) {
        if !self.runner.watches(Event::PreToolUse) {
            return (None, None);
        }
        let Some(before) = apart(|| self.runner.before(call, &self.occasion)).await else { return (None, None) };
        self.note(|aside| {
            aside.context.extend(before.context);
            aside.context.extend(before.problems.iter().cloned());
            aside.notices.extend(before.notices);
            aside.heard.problems.extend(before.problems);
            aside.ends_run = before.ends_run;
            aside.heard.before.clone_from(&before.said);
        });
        (before.said, before.changed)
    }

    async fn classify(&self, call: &Call) -> Classified {
        let failed = |problem: String| Classified::Failed { problem, then: OnFailure::Closed };
        let classified = match &*self.judge {
            Ok(Some(classifier)) => apart(|| self.judged(classifier, call)).await.unwrap_or_else(failed),
            Ok(None) => failed("no classifier is configured".to_owned()),
            Err(misconfigured) => failed(misconfigured.clone()),
        };
        self.note(|aside| aside.heard.classified = Some(classified.clone()));
        classified
    }

    async fn hooks(&self, call: &Call) -> Option<HookAnswer> {
        if !self.runner.watches(Event::PermissionRequest) {
            return None;
        }
        let requested = apart(|| self.runner.request(call, &self.occasion)).await?;
        self.note(|aside| {
            aside.updates.extend(requested.updates);
            aside.context.extend(requested.problems.iter().cloned());
            aside.notices.extend(requested.notices);
            aside.unanswered.extend(requested.problems.iter().cloned());
            aside.heard.problems.extend(requested.problems);
            aside.heard.note_request(requested.answer.as_ref());
        });
        requested.answer
    }

    async fn person(&self, call: &Call, asked: &Decision) -> Option<PersonAnswer> {
        apart(|| self.asked_elsewhere(call, asked)).await
    }

    fn reaches_people(&self) -> bool {
        self.attendance == Attendance::Unattended && self.elsewhere(None).is_some()
    }
}
