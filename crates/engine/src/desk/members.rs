//! Who asks: the session behind a question, in the mode it is in, and the line of its leads.

use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use mayi_core::call::Workspace;
use mayi_core::lineage::Inheritance;
use mayi_core::mode::Mode;
use mayi_core::policy::Policy;
use mayi_core::session::{Availability, Session};
use mayi_settings::update::SessionPermissions;
use mayi_settings::{Cli, Flag, Given, Loaded, Places, load};

use super::{Asked, CANARY, Confinement, Desk, KEPT};
use crate::audit::ground::{Ground, Lead};
use crate::family::{self, BrokenLine, Member};
use crate::store::{Card, Record, Sessions, StoreError, is_fading};
use crate::version::version;

/// Who asks, and what is missing to be sure.
pub(super) struct Standing {
    /// Itself, its lead, and so on to the root.
    pub(super) line: Vec<Member>,
    /// What of its state could not be had.
    pub(super) trouble: Option<String>,
    /// What answers had added to its rules.
    added: SessionPermissions,
}

impl Standing {
    pub(super) fn mode(&self) -> Mode {
        self.line.first().map(|member| member.session.mode).unwrap_or_default()
    }

    pub(super) fn policy(&self) -> Option<&Policy> {
        self.line.first().map(|member| &*member.policy)
    }

    /// What a decision about a call of the first rests on.
    pub(super) fn ground(&self) -> Ground {
        let Some((first, leads)) = self.line.split_first() else { return Ground::default() };
        let Workspace { home, added, .. } = &first.policy.workspace;
        let version = version(&first.policy);
        let lead = |(below, lead): (&Member, &Member)| Lead {
            name: lead.name.clone(),
            mode: lead.session.mode,
            inheritance: below.inheritance,
            // Mostly it is the very same policy.
            policy: match Arc::ptr_eq(&lead.policy, &first.policy) {
                true => version.clone(),
                false => self::version(&lead.policy),
            },
        };
        Ground {
            leads: self.line.iter().zip(leads).map(lead).collect(),
            policy: version.clone(),
            home: home.clone(),
            directories: added.clone(),
            added: self.added.clone(),
            ..Ground::of_session(&first.session)
        }
    }
}

impl Desk {
    /// The state of a session, where it has a name to keep it by.
    pub(super) fn sessions_for(&self, asked: &Asked) -> Option<&Sessions> {
        self.sessions.as_ref().filter(|_| !asked.session.is_empty() && asked.session != CANARY)
    }

    /// Finds out who asks. A broken line of leads is an error; missing state is only noted, so that rules still
    /// speak.
    pub(super) fn standing(&self, asked: &Asked, loaded: &Arc<Loaded>) -> Result<Standing, BrokenLine> {
        let mut trouble = None;
        let sessions = self.sessions_for(asked);
        let before =
            sessions.map_or(Ok(None), |sessions| sessions.dated_card(&asked.session)).unwrap_or_else(|error| {
                // Who its lead is stands there as well.
                trouble = Some(error.to_string());
                None
            });
        let record = sessions.map_or(Ok(None), |sessions| sessions.record(&asked.session)).unwrap_or_else(|error| {
            trouble = Some(error.to_string());
            None
        });
        let own_lead = self.manner.lead.as_ref().filter(|(lead, _)| *lead != asked.session);
        let card = self.card(asked, before.as_ref().map(|(card, _)| card), own_lead.cloned());
        self.show(asked, &card, before.as_ref());
        let mode = asked.mode.or(record.as_ref().and_then(|record| record.mode)).unwrap_or(card.mode);
        let first = match &asked.child {
            None => self.member((&asked.session, mode), loaded, record.as_ref()).led_by(card.lead, card.inheritance),
            Some(child) => {
                let member = self.member((&child.id, mode), loaded, record.as_ref());
                // Its questions appear where the session's own do.
                member.led_by(Some(asked.session.clone()), Inheritance::Ask)
            }
        };
        let line = family::line(first, |name| {
            let found = self.lead(name, asked, loaded).unwrap_or_else(|error| {
                trouble = Some(error.to_string());
                None
            });
            Ok::<_, BrokenLine>(found)
        })?;
        let added = record.map(|record| record.permissions).unwrap_or_default();
        Ok(Standing { line, trouble, added })
    }

    /// The card of the session that asks. A child says nothing about the mode of the session it belongs to.
    fn card(&self, asked: &Asked, before: Option<&Card>, lead: Option<(String, Inheritance)>) -> Card {
        let mode = match (&asked.child, asked.mode) {
            (None, Some(mode)) => mode,
            (None, None) => self.unsaid_mode(),
            (Some(_), _) => before.map_or_else(|| self.unsaid_mode(), |before| before.mode),
        };
        let (lead, inheritance) = match lead {
            Some((lead, inheritance)) => (Some(lead), inheritance),
            None => before.map_or((None, Inheritance::Ask), |before| (before.lead.clone(), before.inheritance)),
        };
        // A child may work elsewhere than the session it belongs to.
        let (directory, settings) = match before.filter(|_| asked.child.is_some()) {
            Some(Card { directory, settings, .. }) => (directory.clone(), settings.clone()),
            None => (self.places.directory.clone(), self.given()),
        };
        Card { agent: asked.agent.clone(), directory, mode, lead, inheritance, settings }
    }

    /// The settings that were given beside the files, for those who are in another directory.
    fn given(&self) -> Vec<Flag> {
        let directory = &self.places.directory;
        self.manner.settings.iter().map(|flag| flag.seen_from_anywhere(directory)).collect()
    }

    /// Writes the card when it says something new. A card that cannot be written only means that children of this
    /// session will not find their lead, and they are told no.
    fn show(&self, asked: &Asked, card: &Card, before: Option<&(Card, Option<SystemTime>)>) {
        let Some(sessions) = self.sessions_for(asked) else { return };
        let now = SystemTime::now();
        if before.is_some_and(|(before, written)| before == card && !is_fading(*written, now)) {
            return;
        }
        let _ = sessions.put_card(&asked.session, card);
        if before.is_none() {
            // A session begins: the one moment with time to tidy up. What does not work today works tomorrow.
            let _ = sessions.sweep(now, KEPT);
            let loaded = self.settings();
            let is_wanted = |file: &Path| self.is_wanted(file, &loaded);
            let _ = self.audit(&loaded).map(|audit| audit.turn_over_sparing(now, KEPT, &is_wanted));
            let _ = self.slips().map(|slips| slips.sweep(now));
        }
    }

    fn member(&self, (name, mode): (&str, Mode), loaded: &Arc<Loaded>, record: Option<&Record>) -> Member {
        let policy = match record.map(|record| &record.permissions) {
            Some(permissions) if *permissions != SessionPermissions::default() => {
                Arc::new(loaded.policy_for(permissions))
            }
            Some(_) | None => loaded.policy.clone(),
        };
        let session = self.session(mode, loaded, record);
        let entered = if session.may_enter(mode, &policy).is_ok() { mode } else { Mode::Default };
        Member::alone(name, policy, Session { mode: entered, ..session })
    }

    fn session(&self, mode: Mode, loaded: &Loaded, record: Option<&Record>) -> Session {
        let classifier = &loaded.settings.classifier;
        let model = classifier.model.is_some() && !classifier.strict;
        let availability = Availability {
            // The agent was started in it, or could not be in it now.
            bypass: mode == Mode::BypassPermissions && self.manner.bypass.counts(),
            auto: mode == Mode::Auto || model || classifier.strict,
            model,
            sandbox: self.manner.confinement == Confinement::Sure,
        };
        let kept = record.map(|record| record.session.clone()).unwrap_or_default();
        Session { mode, attendance: self.manner.attendance, availability, ..kept }
    }

    /// Whether whoever asks would bypass permissions, if that counted here.
    pub(super) fn is_bypass_refused(&self, asked: &Asked, standing: &Standing) -> bool {
        let said = asked.mode.unwrap_or_else(|| self.unsaid_mode());
        said == Mode::BypassPermissions && standing.mode() != said && !self.manner.bypass.counts()
    }

    /// The mode of a session that says none.
    fn unsaid_mode(&self) -> Mode {
        self.manner.mode.or(self.settings().policy.options.default_mode).unwrap_or_default()
    }

    /// A lead by its name: with the settings of the directory it works in and those it was given, and the mode it was last seen
    /// in. The session itself is the lead of its children even where nothing is kept of it.
    fn lead(&self, name: &str, asked: &Asked, loaded: &Arc<Loaded>) -> Result<Option<Member>, StoreError> {
        let sessions = self.sessions_for(asked);
        let Some(card) = sessions.map_or(Ok(None), |sessions| sessions.card(name))? else {
            return Ok((name == asked.session).then(|| self.member((name, self.unsaid_mode()), loaded, None)));
        };
        let record = sessions.map_or(Ok(None), |sessions| sessions.record(name))?;
        let is_alike = card.directory == self.places.directory
            && card.settings == self.given()
            && self.manner.options == Cli::default();
        let loaded = if is_alike { loaded.clone() } else { self.settings_of(&card) };
        Ok(Some(self.member((name, card.mode), &loaded, record.as_ref()).led_by(card.lead, card.inheritance)))
    }

    /// The settings of a lead, below the same server's policy.
    fn settings_of(&self, card: &Card) -> Arc<Loaded> {
        let places = Places::of_this_machine(&card.directory);
        let (trust, bundles, flags) = (places.trust(), self.bundles(), card.settings.clone());
        Arc::new(load(&places, &Given { trust, bundles, flags, ..Given::default() }))
    }
}
