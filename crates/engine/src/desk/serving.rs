//! The server behind a desk: its policy must be known before anything is let through, records must not wait for it too
//! long where an organisation says so, and people there are asked where nobody is at the agent's own prompt.

use std::path::Path;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use mayi_core::call::Call;
use mayi_core::reason::Reason;
use mayi_core::referral::{self, PersonAnswer};
use mayi_core::session::Attendance;
use mayi_core::verdict::{Decision, Verdict};
use mayi_settings::Loaded;
use mayi_settings::load::Bundle;
use mayi_settings::settings::Approvals;

use super::staff::Staff;
use super::{Answered, Asked, CANARY, Desk, Settings, Turn, hold_back};
use crate::remote::spool::Spool;
use crate::remote::{self, Haste, Matter, Server, Word, courier};

/// How long an approval waits where neither settings nor the agent say.
const APPROVAL: Duration = Duration::from_secs(300);
/// How long records may wait where they are required.
const LAG: Duration = Duration::from_secs(60 * 60);
/// How much may wait.
const MOST: u64 = 256 * 1024 * 1024;

/// What people at a server did about a question.
#[derive(Clone, Debug)]
pub(super) enum Elsewhere {
    /// Somebody answered, and who.
    Answered(Verdict, String),
    /// Nobody did, and why.
    Nobody(String),
}

impl Desk {
    /// The same desk, with the server that its settings name.
    pub fn serving(self, server: Option<Server>) -> Self {
        self.serve(server.map(Arc::new));
        self
    }

    fn serve(&self, server: Option<Arc<Server>>) {
        *self.server.write().unwrap_or_else(PoisonError::into_inner) = server;
    }

    /// Looks for the server of a desk that stays, before its first question.
    pub(super) fn look_for_server(&self) {
        let loaded = self.settings();
        if loaded.settings.server.url.is_none() {
            return;
        }
        let server = Server::found(&loaded, self.places.state.as_deref(), (Haste::Answer, &self.manner.waiting));
        self.govern(server);
    }

    /// Takes up a server and its policy.
    fn govern(&self, mut server: Server) -> Arc<Server> {
        if let Settings::Watched(store) = &self.settings {
            store.govern(server.bundles());
            server.heed(&store.current());
        }
        let server = Arc::new(server);
        self.serve(Some(server.clone()));
        server
    }

    /// The server, if settings name one and it was looked for.
    pub fn server(&self) -> Option<Arc<Server>> {
        self.server.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn bundles(&self) -> Vec<Bundle> {
        self.server().map(|server| server.bundles()).unwrap_or_default()
    }

    /// The records that wait for the server; `None` without a server or without records.
    pub fn spool(&self, loaded: &Loaded) -> Option<Spool> {
        let url = loaded.settings.server.url.as_deref()?;
        Some(Spool::new(self.audit(loaded)?.file(), url))
    }

    /// Whether a file of the audit must not be removed yet.
    pub(super) fn is_wanted(&self, file: &Path, loaded: &Loaded) -> bool {
        self.spool(loaded).is_some_and(|spool| spool.wants(file))
    }

    /// Carries records to the server and fetches its policy. For desks that stay.
    pub(crate) fn run_errands(&self, within: Duration) {
        let loaded = self.settings();
        let Some(url) = loaded.settings.server.url.as_deref() else { return self.serve(None) };
        let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else { return };
        let known = self.server().filter(|server| server.url() == url).map(|server| server.again());
        let mut server = known.unwrap_or_else(|| Server::of(&loaded, self.places.state.as_deref()));
        runtime.block_on(courier::fetch(&mut server, within));
        // What cannot be carried now is carried next time, and told by whoever it keeps from answering.
        if let (Some(client), Some(spool)) = (self.govern(server).client(), self.spool(&loaded)) {
            let _ = runtime.block_on(spool.ship(client, within));
        }
    }

    /// Holds an allow back where the server's policy is not known, or records wait for it too long.
    pub(super) fn governed(&self, loaded: &Loaded, answered: &mut Answered) {
        let wanted = &loaded.settings.server;
        if answered.decision.verdict != Verdict::Allow || (wanted.url.is_none() && !wanted.require_audit) {
            return;
        }
        if let Some(problem) = self.ungoverned(loaded).or_else(|| self.unaccounted(loaded)) {
            hold_back(answered, problem, self.manner.attendance);
        }
    }

    /// Why nothing may be let through: the policy of the server that settings name is not known.
    fn ungoverned(&self, loaded: &Loaded) -> Option<String> {
        loaded.settings.server.url.as_ref()?;
        match self.server() {
            Some(server) => server.trouble(),
            None => Some("settings name a server, and its policy was not looked for".to_owned()),
        }
    }

    /// Why nothing may be let through: the organisation wants records at the server, and they are not.
    fn unaccounted(&self, loaded: &Loaded) -> Option<String> {
        if !loaded.settings.server.require_audit {
            return None;
        }
        let Some(spool) = self.spool(loaded) else {
            return Some("the organisation requires records at a server, and settings leave no way there".to_owned());
        };
        let most = loaded.settings.server.audit_max_lag_seconds.map_or(LAG, Duration::from_secs);
        match spool.backlog() {
            Ok(backlog) if backlog.lag() > most || backlog.bytes > MOST => {
                let waited = backlog.lag().as_secs();
                Some(format!(
                    "the organisation requires records at the server, and some have waited for {waited} seconds\n\
                     help: mayi doctor says why they do"
                ))
            }
            Ok(_) => None,
            Err(error) => Some(error.to_string()),
        }
    }

    /// Whether people at the server may have to be asked.
    pub(super) fn may_ask_elsewhere(&self, loaded: &Loaded) -> bool {
        let wanted = &loaded.settings.server;
        let bubbles = || self.manner.lead.is_some();
        wanted.url.is_some()
            && match wanted.approvals {
                Approvals::Never => false,
                Approvals::Always => true,
                Approvals::Unattended => self.manner.attendance == Attendance::Unattended || bubbles(),
            }
    }

    /// Writes down what was said elsewhere, and makes a no of a question that nobody is left to answer.
    pub(super) fn concluded(&self, asked: &Asked, answered: &mut Answered, said: Option<Elsewhere>) {
        let why = match said {
            Some(Elsewhere::Answered(verdict, by)) => {
                if let Err(error) = self.note_answer(asked, verdict, &by) {
                    hold_back(answered, error.to_string(), self.manner.attendance);
                }
                return;
            }
            Some(Elsewhere::Nobody(why)) => Some(why),
            None => None,
        };
        match (self.manner.attendance, why) {
            (Attendance::Attended, None) => {}
            (Attendance::Attended, Some(why)) => answered.context.push(format!("mayi: {why}")),
            (Attendance::Unattended, None) if self.server().is_none() => {}
            (Attendance::Unattended, why) => {
                let why = why.unwrap_or_else(|| "nobody is there to ask".to_owned());
                let problem = format!("{why} ({})", answered.decision.reason);
                answered.decision = referral::unanswered(answered.decision.clone(), problem);
            }
        }
    }
}

impl Staff<'_> {
    /// Where a question goes beside the agent's own prompt, if it goes anywhere.
    pub(super) fn elsewhere(&self, decision: Option<&Decision>) -> Option<&Server> {
        let server = self.server.as_deref()?;
        // A question that is put again was put there the first time, and one that only tries the hook is nobody's.
        let is_idle = self.asked.turn == Turn::Again || self.asked.session == CANARY;
        if is_idle || server.client().is_none() || server.trouble().is_some() {
            return None;
        }
        let bubbles = decision.is_some_and(|decision| matches!(decision.reason, Reason::Bubbled { .. }));
        let goes = match self.loaded.settings.server.approvals {
            Approvals::Never => false,
            Approvals::Always => true,
            Approvals::Unattended => self.attendance == Attendance::Unattended || bubbles,
        };
        goes.then_some(server)
    }

    /// Asks people at the server.
    pub(super) async fn asked_elsewhere(&self, call: &Call, decision: &Decision) -> Option<PersonAnswer> {
        let client = self.elsewhere(Some(decision))?.client()?;
        let member = self.member?;
        self.waiting.announce();
        let (asked, loaded, places, machine) = (self.asked, self.loaded, self.places, self.machine);
        let propose = self.propose;
        let question = remote::question(&Matter { asked, call, decision, member, loaded, places, machine, propose });
        let most = loaded.settings.server.approval_timeout_seconds.map_or(APPROVAL, Duration::from_secs);
        let left = self.patience.map_or(most, |patience| patience.saturating_sub(self.begun.elapsed()));
        match remote::ask(client, question, left.min(most)).await {
            Word::Given { verdict, comment, by, update } => {
                let by = format!("{by} at {}", client.host());
                self.note(|aside| {
                    aside.updates.extend(update);
                    aside.elsewhere = Some(Elsewhere::Answered(verdict, by));
                });
                Some(PersonAnswer { verdict, comment })
            }
            Word::Nobody(why) => {
                self.note(|aside| aside.elsewhere = Some(Elsewhere::Nobody(why)));
                None
            }
        }
    }
}
