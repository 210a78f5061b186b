//! The paths a command text touches, each held against the path rules and the lists.

use mayi_shell::command::Analysis;
use mayi_shell::effect::{Act, Place};
use mayi_shell::observe::Question;
use mayi_shell::word::Span;

use crate::inspect::View;
use crate::inspect::files::{self, Located, PathFindings};
use crate::inspect::shell::{Reading, landing};
use crate::locations;
use crate::policy::Access;
use crate::reason::Reason;
use crate::verdict::Verdict;

/// A path that one command touches.
pub(crate) struct Touched {
    /// Which command, as an index.
    pub(crate) command: usize,
    /// What it does to the path.
    pub(crate) access: Access,
    /// How the command names it.
    pub(crate) by: By,
    /// Names and metadata only.
    pub(crate) listing: bool,
    /// It writes through whatever a pattern matches: a link among them would lead the write elsewhere.
    pub(crate) scattered: bool,
    /// The path; for a pattern, the directory it matches in. `None` when the text does not tell.
    pub(in crate::inspect) located: Option<Located>,
    /// What rules and lists say.
    pub(in crate::inspect) findings: PathFindings,
}

/// How a command names a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum By {
    /// As an operand.
    Operand,
    /// As the target of a redirection, or of `tee`.
    Redirect,
}

/// Where a touched path really leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lead<'a> {
    /// It is what it says, or the text does not tell the path at all.
    Plain,
    /// Through links, to this path.
    To(&'a str),
    /// Nobody could find out.
    Unknown,
}

impl Touched {
    /// Where the path really leads.
    pub(crate) fn lead(&self) -> Lead<'_> {
        match &self.located {
            Some(located) if located.unknown => Lead::Unknown,
            Some(located) => located.real.as_deref().map_or(Lead::Plain, Lead::To),
            None => Lead::Plain,
        }
    }
}

pub(super) fn touched(view: &View<'_>, analysis: &Analysis, questions: &mut Vec<Question>) -> Vec<Touched> {
    let effects = analysis.commands.iter().flat_map(|command| &command.effects);
    // They are large, and mostly one or two.
    let mut touched = Vec::with_capacity(effects.filter(|effect| path_of(&effect.act).is_some()).count());
    for (index, command) in analysis.commands.iter().enumerate() {
        let redirected = |span: Span| command.redirects.iter().any(|redirect| holds(redirect.span, span));
        let is_tee = super::program(command) == Some("tee");
        for effect in &command.effects {
            let Some((access, place, listing)) = path_of(&effect.act) else { continue };
            let by = if is_tee || redirected(effect.span) { By::Redirect } else { By::Operand };
            let scattered = matches!(effect.act, Act::Writes(Place::Pattern { .. }));
            let findings = PathFindings::default();
            let mut entry = Touched { command: index, access, by, listing, scattered, located: None, findings };
            if let Some(path) = placed(place) {
                look(view, path, &mut entry, questions);
                meet(view, place, &mut entry);
            }
            touched.push(entry);
        }
        for path in landing::landings(analysis, command) {
            let (access, by, findings) = (Access::Write, By::Operand, PathFindings::default());
            let mut entry =
                Touched { command: index, access, by, listing: false, scattered: false, located: None, findings };
            look(view, path, &mut entry, questions);
            touched.push(entry);
        }
    }
    touched
}

/// Finds out what rules and lists say of a path.
fn look(view: &View<'_>, path: String, entry: &mut Touched, questions: &mut Vec<Question>) {
    match files::follow(view, path, questions) {
        Ok(located) => {
            entry.findings = files::examine(view, &located, entry.access);
            entry.located = Some(located);
        }
        Err(reason) => entry.findings.deny = Some(reason),
    }
}

/// What a pattern may run into, although nobody has looked which files there are: only a person may let that pass.
fn meet(view: &View<'_>, place: &Place, entry: &mut Touched) {
    let Place::Pattern { below, pattern } = place else { return };
    // A directory that is written or removed goes with what lies in it, and what may not be read may not be written.
    let (accesses, inside) = match entry.access {
        Access::Read => ([Access::Read].as_slice(), None),
        Access::Write => ([Access::Write, Access::Read].as_slice(), Some(format!("{pattern}/?"))),
    };
    let reached: Vec<&str> = [pattern.as_str()].into_iter().chain(inside.as_deref()).collect();
    let met = [Verdict::Deny, Verdict::Ask].into_iter().find_map(|list| {
        accesses.iter().find_map(|access| {
            reached.iter().find_map(|pattern| view.policy.path_meeting(list, *access, (below, pattern)))
        })
    });
    if let (None, Some(rule)) = (&entry.findings.ask, met) {
        let unknown = format!("nobody has looked what `{place}` matches");
        entry.findings.ask = Some(Reason::MightMatch { rule: rule.clone(), unknown });
    }
    let protected = || locations::protected_by_pattern(pattern);
    if let (Access::Write, None, Some(name)) = (entry.access, &entry.findings.guarded, protected()) {
        entry.findings.guarded = Some(Reason::Protected { path: place.to_string(), entry: name.to_owned() });
    }
}

fn holds(outer: Span, inner: Span) -> bool {
    outer.start <= inner.start && inner.end <= outer.end && inner.start < inner.end
}

fn path_of(act: &Act) -> Option<(Access, &Place, bool)> {
    match act {
        Act::Lists(place) => Some((Access::Read, place, true)),
        Act::Reads(place) => Some((Access::Read, place, false)),
        Act::Writes(place) | Act::Removes { place, .. } => Some((Access::Write, place, false)),
        Act::Executes(_) | Act::Connects { .. } | Act::ChangesSystem(_) | Act::Unknown(_) => None,
    }
}

/// The path, or the directory that holds everything a pattern may match.
fn placed(place: &Place) -> Option<String> {
    match place {
        Place::Path(path) => Some(path.clone()),
        Place::Pattern { below, pattern } if !pattern.split('/').any(|segment| segment == "..") => Some(below.clone()),
        Place::Pattern { .. } | Place::Unknown(_) => None,
    }
}

/// A path rule refuses.
pub(super) fn denied(reading: &Reading<'_>) -> Option<Reason> {
    let denies = reading.touched.iter().filter_map(|touched| touched.findings.deny.clone());
    denies.into_iter().find(|reason| !matches!(reason, Reason::ReadsBlocked { .. }))
}

/// A path rule asks, or reading outside is blocked: a shell may read there once a person says so.
pub(super) fn asked(reading: &Reading<'_>) -> Option<Reason> {
    let asks = reading.touched.iter().filter_map(|touched| touched.findings.ask.clone());
    let blocked = reading.touched.iter().filter_map(|touched| touched.findings.deny.clone());
    asks.chain(blocked.filter(|reason| matches!(reason, Reason::ReadsBlocked { .. }))).next()
}

/// A protected path would be written.
pub(super) fn guarded(reading: &Reading<'_>) -> Option<Reason> {
    reading.touched.iter().find_map(|touched| touched.findings.guarded.clone())
}

/// Whether the text writes files, as an edit does.
pub(super) fn edits(reading: &Reading<'_>) -> bool {
    reading.touched.iter().any(|touched| touched.access == Access::Write)
}
