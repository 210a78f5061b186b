//! From the arguments to a permit: by a slip that a hook left, or by deciding here and asking whoever is there.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, bail};
use mayi_agents::remedy::Remedy;
use mayi_core::catalogue::Kind;
use mayi_core::referral::{self, PersonAnswer};
use mayi_core::session::Attendance;
use mayi_core::verdict::{Decision, Permit, Verdict};
use mayi_engine::audit::{Answer, Audit, Ran};
use mayi_engine::confine;
use mayi_engine::confine::slip::{Slip, Slips};
use mayi_engine::desk::{Answered, Asked, Confinement, Desk, Manner, Turn};
use mayi_engine::remote::{Haste, Served};
use mayi_engine::store::Sessions;
use mayi_settings::update::SessionPermissions;
use mayi_settings::{Flag, Given, Loaded, Places};
use serde_json::json;

use crate::arguments::Run;
use crate::check::{self, Words};
use crate::exit::Exit;
use crate::person::{self, Said};
use crate::subject::heading;
use crate::{Out, paint, suggest, surroundings};

/// How audits name runs that no agent asked for.
const WHO: &str = "mayi run";

/// A command that may run, and all that its run has to know.
pub(super) struct Decided {
    pub(super) loaded: Arc<Loaded>,
    pub(super) session: SessionPermissions,
    pub(super) permit: Permit,
    /// Where it starts.
    pub(super) directory: PathBuf,
    /// Whether a person may be asked about what comes up while it runs.
    pub(super) attendance: Attendance,
    audit: Option<Audit>,
    slip: Option<Slip>,
}

impl Decided {
    /// The command's text.
    pub(super) fn command(&self) -> &str {
        self.permit.call().text("command").unwrap_or_default()
    }

    /// Writes the run down.
    pub(super) fn record(&self, ran: Ran<'_>) -> Result<()> {
        let cwd = self.directory.display().to_string();
        let slip = self.slip.as_ref();
        let ran = Ran {
            agent: slip.map_or(WHO, |slip| &slip.agent),
            session: slip.map_or("", |slip| &slip.session),
            child: slip.and_then(|slip| slip.child.as_deref()),
            call_id: slip.and_then(|slip| slip.call_id.as_deref()),
            cwd: &cwd,
            command: self.command(),
            ..ran
        };
        match &self.audit {
            Some(audit) => Ok(audit.append_run(&ran)?),
            None => Ok(()),
        }
    }
}

/// A permit for the command, or how the run ends without one.
pub(super) fn decided(task: &Run, out: Out<'_>) -> Result<Result<Decided, Exit>> {
    match &task.permit {
        Some(name) => by_slip(task, name).map(Ok),
        None => here(task, out),
    }
}

/// A hook has decided, and the agent has asked whom it had to ask.
fn by_slip(task: &Run, name: &str) -> Result<Decided> {
    let directory = surroundings::directory(None)?;
    let [command] = task.command.as_slice() else { bail!("a permit is for a command in one word") };
    let state = Places::of_this_machine(&directory).state.context("there is no home directory with permits")?;
    let slip = Slips::in_folder(&state).take(name, command)?;
    let places = Places::of_this_machine(&slip.directory);
    let flags = slip.settings.iter().map(|argument| Flag::of_argument(argument)).collect();
    let given = Given { flags, trust: places.trust(), ..Given::default() };
    let sources = (places, given);
    let loaded = Arc::new(surroundings::governed(&sources, Haste::Answer)?.loaded);
    let desk = Desk::once(sources.0, Loaded::clone(&loaded), Manner::default());
    let audit = desk.audit(&loaded);
    if let (Verdict::Ask, Some(audit)) = (slip.verdict, &audit) {
        let Slip { agent, session, tool, .. } = &slip;
        let (child, call_id) = (slip.child.as_deref(), slip.call_id.as_deref());
        let (verdict, by) = (Verdict::Allow, "agent");
        audit.append_answer(&Answer { agent, session, child, call_id, tool, verdict, by })?;
    }
    let permit = slip.decision().permit(slip.call()).context("the permit allows nothing")?;
    let session = answers(&state, &slip.session)?;
    // The agent's own screen is on the terminal: nothing may be asked there.
    let attendance = Attendance::Unattended;
    Ok(Decided { loaded, session, permit, directory, attendance, audit, slip: Some(slip) })
}

/// What was answered in a session.
fn answers(state: &std::path::Path, session: &str) -> Result<SessionPermissions> {
    if session.is_empty() {
        return Ok(SessionPermissions::default());
    }
    let record = Sessions::in_folder(state).record(session)?;
    Ok(record.map(|record| record.permissions).unwrap_or_default())
}

fn here(task: &Run, out: Out<'_>) -> Result<Result<Decided, Exit>> {
    let sources = surroundings::sources(&task.place)?;
    let Served { loaded, server } = surroundings::governed(&sources, Haste::Leisure)?;
    let places = sources.0;
    let directory = places.directory.clone();
    surroundings::report(&loaded);
    let call =
        check::call(&Words { subcommand: "run", tool: None, input: None, command: &task.command }, &loaded.policy)?;
    let attendance = if task.unattended { Attendance::Unattended } else { Attendance::Attended };
    let confinement = match loaded.settings.sandbox.enabled {
        true => confine::available(&loaded).map_or_else(Confinement::Missing, |()| Confinement::Sure),
        false => Confinement::Unasked,
    };
    let propose = suggest::AT_A_SERVER;
    // A person's own command line, and what it lets run is confined: root may bypass questions here.
    let manner = Manner { attendance, mode: task.mode, confinement, propose, ..Manner::default() };
    let desk = Desk::once(places, loaded, manner).serving(server);
    let asked = Asked {
        agent: WHO.to_owned(),
        session: String::new(),
        child: None,
        call,
        call_id: None,
        mode: task.mode,
        transcript: None,
        event: "run".to_owned(),
        turn: Turn::First,
    };
    let answered = desk.decided(&asked).map_err(|problem| anyhow!(problem))?;
    let decision = concluded(task, &desk, &asked, &answered)?;
    let loaded = desk.settings();
    if decision.verdict != Verdict::Allow {
        return refused(task, (&answered, &decision), &loaded, out).map(Err);
    }
    if loaded.policy.tool(&answered.call.tool).kind != Kind::Shell {
        bail!("a hook made something else of the command, which is not for `mayi run`");
    }
    let audit = desk.audit(&loaded);
    let permit = decision.permit(answered.call).context("nothing was allowed")?;
    let session = SessionPermissions::default();
    Ok(Ok(Decided { loaded, session, permit, directory, attendance, audit, slip: None }))
}

/// The decision with what the person at the terminal said, if it takes one and one is there.
fn concluded(task: &Run, desk: &Desk, asked: &Asked, answered: &Answered) -> Result<Decision> {
    let decision = answered.decision.clone();
    if answered.aborted.is_some() {
        return Ok(Decision { verdict: Verdict::Deny, ..decision });
    }
    if decision.verdict != Verdict::Ask {
        return Ok(decision);
    }
    if task.plan {
        // Nothing will run: this only shows what a yes would lead to.
        return Ok(referral::answered(decision, PersonAnswer { verdict: Verdict::Allow, comment: None }));
    }
    let heading = heading(&answered.call, &decision, &desk.settings().policy);
    let verdict = match person::asked(&format!("{heading}\n{}\nRun it, confined?", reason(&decision))) {
        Said::Yes => Verdict::Allow,
        Said::No => Verdict::Deny,
        Said::Nothing => return Ok(decision),
    };
    desk.note_answer(asked, verdict, "terminal")?;
    Ok(referral::answered(decision, PersonAnswer { verdict, comment: None }))
}

fn reason(decision: &Decision) -> String {
    paint::visible(&decision.reason.to_string())
}

/// Says why nothing runs, as `mayi check` would.
fn refused(task: &Run, (answered, decision): (&Answered, &Decision), loaded: &Loaded, out: Out<'_>) -> Result<Exit> {
    if task.json {
        let message = decision.reason.to_string();
        let answer = json!({ "verdict": decision.verdict, "step": decision.step, "reason": decision.reason, "message": message });
        writeln!(out, "{answer:#}")?;
        return Ok(decision.verdict.into());
    }
    paint::tell(heading(&answered.call, decision, &loaded.policy));
    paint::tell(format!("mayi: {}", reason(decision)));
    if let Some(aborted) = &answered.aborted {
        paint::tell(format!("mayi: {aborted}"));
    }
    if let Some(instead) = &answered.instead {
        paint::tell(format!("help: this would pass: {}", paint::visible(instead)));
    }
    if decision.verdict == Verdict::Ask {
        let remedy = Remedy::of(decision);
        paint::tell(if remedy == Remedy::AllowRule {
            "help: a person at a terminal can say yes, or a rule: mayi rules add 'Bash(…)'".to_owned()
        } else {
            format!("help: a person at a terminal can say yes; {remedy}")
        });
    }
    Ok(decision.verdict.into())
}
