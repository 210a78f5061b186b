//! Witnesses: calls that are decided under both policies, in the modes in which they could differ.

use std::sync::Arc;

use mayi_core::call::Call;
use mayi_core::catalogue::Kind;
use mayi_core::mode::Mode;
use mayi_core::policy::{Access, Policy};
use mayi_core::session::{Attendance, Availability, Session};
use mayi_engine::observe::Observer;
use mayi_settings::Loaded;
use serde_json::{Map, Value, json};

use super::{Because, Region};
use crate::again::{Again, alone};
use crate::automata;

/// Two policies.
#[derive(Clone, Copy)]
pub(super) struct Pair<'a> {
    pub(super) old: &'a Loaded,
    pub(super) new: &'a Loaded,
    pub(super) observer: &'a dyn Observer,
}

/// The modes in which a call is tried, the plainest first.
const MODES: [Mode; 6] =
    [Mode::Default, Mode::AcceptEdits, Mode::BypassPermissions, Mode::Auto, Mode::Plan, Mode::DontAsk];

/// What a witness is about.
pub(super) struct About<'a> {
    /// What of a call is compared.
    pub(super) region: &'a str,
    /// What makes the difference.
    pub(super) because: &'a [Because],
}

impl Pair<'_> {
    /// The call as a witness, if some session tells the policies apart by it.
    pub(super) fn told_apart(&self, call: &Call, about: &About<'_>) -> Option<Region> {
        sessions().find_map(|session| self.in_session(call, session, about))
    }

    /// The same in sessions that begin in the mode that each policy wants.
    pub(super) fn told_apart_at_start(&self, call: &Call, about: &About<'_>) -> Option<Region> {
        let mode = |loaded: &Loaded| loaded.policy.options.default_mode.unwrap_or_default();
        let (old, new) = (session(mode(self.old)), session(mode(self.new)));
        let (before, after) = (self.decided(call, self.old, &old)?, self.decided(call, self.new, &new)?);
        region(call, new, (before, after), about)
    }

    fn in_session(&self, call: &Call, session: Session, about: &About<'_>) -> Option<Region> {
        let before = self.decided(call, self.old, &session)?;
        let after = self.decided(call, self.new, &session)?;
        region(call, session, (before, after), about)
    }

    fn decided(&self, call: &Call, loaded: &Loaded, session: &Session) -> Option<Again> {
        let policy: &Arc<Policy> = &loaded.policy;
        let mode = if session.may_enter(session.mode, policy).is_ok() { session.mode } else { Mode::Default };
        alone(call.clone(), policy, &Session { mode, ..session.clone() }, self.observer)
    }
}

fn session(mode: Mode) -> Session {
    // Confinement is there, so that what settings say about it can be seen.
    let availability =
        Availability { bypass: mode == Mode::BypassPermissions, auto: true, model: false, sandbox: true };
    Session { availability, ..Session::in_mode(mode) }
}

fn sessions() -> impl Iterator<Item = Session> {
    let attended = MODES.into_iter().map(session);
    let unconfined = MODES.into_iter().map(|mode| {
        let own = session(mode);
        Session { availability: Availability { sandbox: false, auto: false, ..own.availability }, ..own }
    });
    let unattended = Session { attendance: Attendance::Unattended, ..session(Mode::Default) };
    unconfined.chain(attended).chain([unattended])
}

fn region(call: &Call, session: Session, (old, new): (Again, Again), about: &About<'_>) -> Option<Region> {
    (old.decision.verdict != new.decision.verdict).then(|| Region {
        tool: call.tool.clone(),
        region: about.region.to_owned(),
        witness: call.clone(),
        mode: session.mode,
        attendance: session.attendance,
        old: old.decision.verdict,
        new: new.decision.verdict,
        because: about.because.to_vec(),
        old_trace: old.decision.trace,
        new_trace: new.decision.trace,
    })
}

/// A call with a text in the region that automata found it in.
pub(super) fn call_of(region: &automata::Region, text: &str, policy: &Policy) -> Vec<Call> {
    let with_field = |tool: &str, value: String| match policy.tool(tool).field {
        Some(field) => Call::new(tool, json!({ field: value })),
        None => Call::new(tool, json!({})),
    };
    match region {
        automata::Region::Tool => vec![sample(text, policy)],
        automata::Region::Text { tool } => {
            // What a rule lets pass may pass anyway where only names are looked at; operands show the rest.
            let operands = ["", " x", " /etc/x", " ../x", " -x", " https://example.com"];
            operands.iter().map(|operand| with_field(tool, format!("{text}{operand}"))).collect()
        }
        automata::Region::Path(Access::Read) => vec![with_field("Read", text.to_owned())],
        automata::Region::Path(Access::Write) => {
            vec![with_field("Edit", text.to_owned()), with_field("Read", text.to_owned())]
        }
        automata::Region::Host => vec![with_field("WebFetch", format!("https://{text}/"))],
        automata::Region::Parameter { tool, name } => {
            let call = sample(tool, policy);
            let Value::Object(input) = call.input else { return Vec::new() };
            let scalars = [json!(text), serde_json::from_str(text).unwrap_or(json!(text))];
            let with = |value: Value| {
                let own = Map::from_iter(input.clone().into_iter().chain([(name.clone(), value)]));
                Call { tool: call.tool.clone(), input: Value::Object(own) }
            };
            scalars.into_iter().map(with).collect()
        }
    }
}

/// A call of a tool that nothing but rules about the tool speak for.
pub(super) fn sample(tool: &str, policy: &Policy) -> Call {
    let known = policy.tool(tool);
    let value = match known.kind {
        Kind::Shell | Kind::Powershell => "frobnicate".to_owned(),
        Kind::Read | Kind::Search => "/srv/elsewhere/file".to_owned(),
        Kind::Edit => format!("{}/file", policy.workspace.directory.trim_end_matches('/')),
        Kind::Fetch => "https://elsewhere.example/".to_owned(),
        Kind::Agent | Kind::Skill => "somebody".to_owned(),
        Kind::Books | Kind::Person | Kind::Plain => "something".to_owned(),
    };
    match known.field {
        Some(field) => Call::new(tool, json!({ field: value })),
        None => Call::new(tool, json!({})),
    }
}
