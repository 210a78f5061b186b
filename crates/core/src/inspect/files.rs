//! Files: reading, searching and editing by path. Both the path as written and the path after links count: allow
//! needs both, deny and ask need either.

use std::sync::Arc;

use mayi_shell::observe::{Answer, Question};

use crate::inspect::{Inspection, View};
use crate::listed::Listed;
use crate::locations;
use crate::path::{self, Unplaceable};
use crate::policy::{Access, Entry};
use crate::reason::{Part, Reason};
use crate::risk::{self, Assessment};
use crate::verdict::Verdict;

/// A path in a call, and what is known of it.
#[derive(Clone, Debug)]
pub(crate) struct Located {
    /// Absolute and clean, as the call names it.
    pub(super) path: String,
    /// After every link, when it differs.
    pub(super) real: Option<String>,
    /// What could not be found out about it: it is inside nothing.
    pub(super) unknown: bool,
}

impl Located {
    /// The path, and where it really leads.
    pub(super) fn both(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.path.as_str()).chain(self.real.as_deref())
    }
}

/// Places a path and asks where it really leads. `Err` carries the refusal.
pub(super) fn locate(view: &View<'_>, path: &str, questions: &mut Vec<Question>) -> Result<Located, Reason> {
    let path = match path::place(path, &view.policy.workspace) {
        Ok(path) => path,
        Err(problem @ (Unplaceable::Nul | Unplaceable::Empty)) => {
            return Err(Reason::BadInput { problem: problem.to_string() });
        }
        Err(Unplaceable::OtherHome | Unplaceable::NoHome) => {
            return Ok(Located { path: path.to_owned(), real: None, unknown: true });
        }
    };
    follow(view, path, questions)
}

/// Asks where an absolute, clean path really leads.
pub(super) fn follow(view: &View<'_>, path: String, questions: &mut Vec<Question>) -> Result<Located, Reason> {
    let question = Question::Path(path.clone());
    match view.facts.answer(&question) {
        Some(Answer::Real(real)) if *real != path => Ok(Located { path, real: Some(real.clone()), unknown: false }),
        Some(Answer::Real(_) | Answer::Absent) => Ok(Located { path, real: None, unknown: false }),
        Some(Answer::Loop) => Err(Reason::LinkLoop { path }),
        None => {
            questions.push(question);
            Ok(Located { path, real: None, unknown: false })
        }
        Some(_) => Ok(Located { path, real: None, unknown: true }),
    }
}

pub(super) fn inspect_read(view: &View<'_>) -> Inspection {
    match view.primary() {
        Ok(path) => judge(view, path, Access::Read),
        Err(refusal) => *refusal,
    }
}

pub(super) fn inspect_search(view: &View<'_>) -> Inspection {
    let field = view.tool.field.unwrap_or_default();
    let below = match view.call.input.get(field) {
        None | Some(serde_json::Value::Null) => ".",
        Some(_) => match view.primary() {
            Ok(path) => path,
            Err(refusal) => return *refusal,
        },
    };
    match view.tool.glob.and_then(|glob| view.call.text(glob)) {
        Some(pattern) => judge(view, &beginning(below, pattern), Access::Read),
        None => judge(view, below, Access::Read),
    }
}

/// Where a search for a file pattern begins: its leading plain names are a path, and may lead out of the folder it is
/// said to be in. A pattern that can climb or choose where to begin may begin anywhere.
fn beginning(below: &str, pattern: &str) -> String {
    let is_plain = |name: &&str| !name.contains(['*', '?', '[', '{', '!', '(']);
    let plain: Vec<&str> = pattern.split('/').take_while(is_plain).collect();
    let rest = pattern.split('/').skip(plain.len());
    let chooses = ["{/", ",/", "{~", ",~", "(/", "|/", "(~", "|~"].iter().any(|start| pattern.contains(start));
    if chooses || rest.into_iter().any(|name| name.contains("..")) {
        return "/".to_owned();
    }
    let plain = plain.join("/");
    match pattern.chars().next() {
        Some('/') if plain.is_empty() => "/".to_owned(),
        Some('/' | '~') => plain,
        Some(_) | None if plain.is_empty() => below.to_owned(),
        Some(_) | None => format!("{below}/{plain}"),
    }
}

pub(super) fn inspect_edit(view: &View<'_>) -> Inspection {
    match view.primary() {
        Ok(path) => judge(view, path, Access::Write),
        Err(refusal) => *refusal,
    }
}

fn judge(view: &View<'_>, path: &str, access: Access) -> Inspection {
    let mut questions = Vec::new();
    let located = match locate(view, path, &mut questions) {
        Ok(located) => located,
        Err(reason) => return Inspection { deny: Some(reason), ..Inspection::default() },
    };
    let findings = examine(view, &located, access);
    let in_scope = access == Access::Write && in_scope(view, &located);
    let allow = findings.allow;
    let link = (access == Access::Write).then(|| link(view, &located, &mut questions)).flatten();
    Inspection {
        deny: findings.deny.or(link),
        risk: assess(view, &located, access, findings.sensitive),
        ask: findings.ask,
        guarded: findings.guarded,
        accept_edits: allow.clone().or_else(|| in_scope.then_some(Reason::AcceptedEdit)),
        allow,
        reads_only: findings.free,
        edits: access == Access::Write,
        open: Some(Part { text: located.path, why: findings.open, span: None }),
        questions,
        ..Inspection::default()
    }
}

fn assess(view: &View<'_>, located: &Located, access: Access, sensitive: Option<&'static Listed>) -> Assessment {
    let workspace = &view.policy.workspace;
    match (access, sensitive) {
        (Access::Read, Some(listed)) => risk::of_sensitive(&located.path, listed),
        (Access::Read, None) => Assessment::default(),
        (Access::Write, _) => {
            let assessed = located.both().map(|path| risk::of_edit(path, workspace));
            assessed.into_iter().find(|risk| *risk != Assessment::default()).unwrap_or_default()
        }
    }
}

/// An edit of a file that is itself a link is refused, so that whoever edits names what is really changed.
fn link(view: &View<'_>, located: &Located, questions: &mut Vec<Question>) -> Option<Reason> {
    let target = located.real.as_deref()?;
    let folder = follow(view, path::parent(&located.path)?.to_owned(), questions).ok()?;
    let here = path::join(folder.real.as_deref().unwrap_or(&folder.path), path::name(&located.path));
    (here != target).then(|| Reason::IsLink { path: located.path.clone(), target: target.to_owned() })
}

/// What rules and lists say of one path.
#[derive(Debug, Default)]
pub(crate) struct PathFindings {
    pub(super) deny: Option<Reason>,
    pub(super) ask: Option<Reason>,
    pub(super) guarded: Option<Reason>,
    pub(super) allow: Option<Reason>,
    /// Reading it is free.
    pub(super) free: bool,
    /// Its content is nobody else's business.
    pub(super) sensitive: Option<&'static Listed>,
    /// Why nobody speaks for it, if nobody does.
    pub(super) open: String,
}

pub(super) fn examine(view: &View<'_>, located: &Located, access: Access) -> PathFindings {
    match access {
        Access::Read => examine_read(view, located),
        Access::Write => examine_write(view, located),
    }
}

fn examine_read(view: &View<'_>, located: &Located) -> PathFindings {
    let policy = view.policy;
    let sensitive = located.both().find_map(|path| locations::sensitive(path, &policy.workspace));
    let inside = !located.unknown && located.both().all(|path| policy.workspace.holds(path));
    let public =
        !located.unknown && located.both().all(|path| policy.workspace.holds(path) || locations::is_public(path));
    let free = public && sensitive.is_none();
    let blocked = policy.options.block_outside_reads && !inside && !public;
    let by_rule = || allowed_by_rule(view, located, &[Access::Read, Access::Write]);
    let open = match sensitive {
        Some(listed) => format!("sensitive: {}", listed.why),
        None => "outside the working directories".to_owned(),
    };
    PathFindings {
        deny: rule(view, located, Verdict::Deny, Access::Read)
            .or_else(|| blocked.then(|| Reason::ReadsBlocked { path: located.path.clone() })),
        ask: rule(view, located, Verdict::Ask, Access::Read),
        guarded: None,
        allow: by_rule().or_else(|| free.then_some(Reason::ReadOnly)),
        free,
        sensitive,
        open,
    }
}

fn examine_write(view: &View<'_>, located: &Located) -> PathFindings {
    let protected = located.both().find_map(|path| {
        let entry = locations::protected(path, view.policy)?;
        let cleared = view.session.cleared.iter().any(|cleared| cleared == path);
        (!cleared).then(|| Reason::Protected { path: path.to_owned(), entry: entry.to_owned() })
    });
    PathFindings {
        deny: rule(view, located, Verdict::Deny, Access::Write)
            .or_else(|| rule(view, located, Verdict::Deny, Access::Read)),
        ask: rule(view, located, Verdict::Ask, Access::Write),
        guarded: protected,
        allow: allowed_by_rule(view, located, &[Access::Write]),
        free: false,
        sensitive: None,
        open: "no rule allows this edit".to_owned(),
    }
}

/// Deny and ask: the path as written or where it really leads.
fn rule(view: &View<'_>, located: &Located, list: Verdict, access: Access) -> Option<Reason> {
    located.both().find_map(|path| {
        let rule = view.policy.path(list, access, path)?;
        Some(Reason::Rule { rule: rule.clone(), matched: Some(path.to_owned()) })
    })
}

/// Allow: the path as written and where it really leads.
fn allowed_by_rule(view: &View<'_>, located: &Located, accesses: &[Access]) -> Option<Reason> {
    if located.unknown {
        return None;
    }
    let allowing = |path: &str| -> Option<&Arc<Entry>> {
        accesses.iter().find_map(|access| view.policy.path(Verdict::Allow, *access, path))
    };
    let rule = allowing(&located.path)?.clone();
    located
        .both()
        .all(|path| allowing(path).is_some())
        .then(|| Reason::Rule { rule, matched: Some(located.path.clone()) })
}

/// Whether accept-edits mode would let this path be written: inside the working directories, links and all.
pub(super) fn in_scope(view: &View<'_>, located: &Located) -> bool {
    !located.unknown && located.both().all(|path| view.policy.workspace.holds(path))
}
