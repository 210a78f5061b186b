//! Automatic fixes: only what cannot loosen anything. Rules that say nothing are taken out, denies that nobody reads
//! get the spelling that is read; whatever would grant more is left to a person.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use mayi_core::catalogue;
use mayi_core::policy::{Entry, Idle, Layer, Origin, Status};
use mayi_core::rule::Rule;
use mayi_core::verdict::Verdict;
use mayi_settings::write::mend::{self, Mending};
use mayi_settings::write::{self, SaveError};
use mayi_settings::{Loaded, Places, Problem, lint};
use similar::TextDiff;

use super::cover::{Cover, Covering};
use super::{Finding, duplicate, empty, shadowed};
use crate::automata::Claim;

/// A settings file with what can be mended in it.
#[derive(Clone, Debug)]
pub struct Fixed {
    /// The file as a person would name it.
    pub file: Arc<str>,
    /// Where it is.
    pub path: PathBuf,
    /// Its layer.
    pub layer: Layer,
    /// Its text.
    pub before: String,
    /// Its text, mended.
    pub after: String,
    /// How many rules are changed.
    pub count: usize,
}

impl Fixed {
    /// The change as a unified diff.
    pub fn diff(&self) -> String {
        let diff = TextDiff::from_lines(&self.before, &self.after);
        diff.unified_diff().context_radius(3).header(&self.file, &self.file).to_string()
    }

    /// Writes it, if the file still holds the text that was looked at.
    pub fn save(&self, places: &Places) -> Result<(), SaveError> {
        write::save_mended(places, (self.layer, &self.path), (&self.before, &self.after))
    }
}

/// Everything that can be mended without loosening anything, file by file. Nothing is written.
pub fn fixes(loaded: &Loaded) -> Result<Vec<Fixed>, SaveError> {
    let mut by_file: BTreeMap<Arc<str>, Vec<(Origin, Mending)>> = BTreeMap::new();
    for (origin, mending) in mendings(loaded).into_values() {
        if let Some(file) = origin.file.clone().filter(|_| is_writable(origin.layer)) {
            by_file.entry(file).or_default().push((origin, mending));
        }
    }
    let mut fixed = Vec::new();
    for (file, of_file) in by_file {
        let (Some(path), Some(text)) = (loaded.path(&file), loaded.text(&file)) else { continue };
        let Some(layer) = of_file.first().map(|(origin, _)| origin.layer) else { continue };
        let mendings: Vec<Mending> = of_file.into_iter().map(|(_, mending)| mending).collect();
        fixed.push(self::of_file((file.clone(), layer), (path, text), &mendings)?);
    }
    Ok(fixed)
}

fn of_file(
    (file, layer): (Arc<str>, Layer),
    (path, text): (&Path, &str),
    mendings: &[Mending],
) -> Result<Fixed, SaveError> {
    let after = mend::mended(text, mendings, path)?;
    Ok(Fixed { file, path: path.to_owned(), layer, before: text.to_owned(), after, count: mendings.len() })
}

fn is_writable(layer: Layer) -> bool {
    match layer {
        Layer::Local | Layer::Project | Layer::User | Layer::Flag => true,
        Layer::Managed | Layer::Cli | Layer::Command | Layer::Session => false,
    }
}

/// The mendings, by the place of their rule in the policy.
fn mendings(loaded: &Loaded) -> BTreeMap<usize, (Origin, Mending)> {
    let mut covering = Covering::of(&loaded.policy);
    let entries = loaded.policy.entries();
    let is_allow = |finding: &Finding| entries.get(finding.place).is_some_and(|entry| entry.verdict == Verdict::Allow);
    let shadows = shadowed::find(loaded, &mut covering);
    let gone = shadows.into_iter().filter(|finding| is_allow(finding) && holds_everywhere(&finding.problem));
    let doubles = duplicate::find(loaded, &mut covering);
    let nothing = empty::find(loaded, &mut covering);
    let gone = gone.chain(doubles).chain(nothing.into_iter().filter(is_allow)).filter(|finding| finding.needless);
    let mut all: BTreeMap<usize, (Origin, Mending)> = BTreeMap::new();
    for (place, entry) in gone.filter_map(|finding| Some((finding.place, entries.get(finding.place)?))) {
        all.insert(place, (entry.origin.clone(), mending(entry, None)));
    }
    let gone: BTreeSet<usize> = all.keys().copied().collect();
    for (place, entry) in entries.iter().enumerate().filter(|(place, _)| !gone.contains(place)) {
        let instead = match instead(loaded, entry) {
            Instead::Stays => continue,
            Instead::Goes => None,
            Instead::Becomes(rule) => Some(rule),
            Instead::IfStillClosed(rule) if stays_closed(loaded, &mut covering, (place, &gone)) => Some(rule),
            Instead::IfStillClosed(_) => continue,
        };
        all.insert(place, (entry.origin.clone(), mending(entry, instead)));
    }
    all
}

fn mending(entry: &Entry, instead: Option<Rule>) -> Mending {
    let Origin { line, column, .. } = entry.origin;
    Mending { list: entry.verdict, line, column, instead }
}

/// Whether the rules that make this one needless are in force wherever its file is: a rule of a person's settings is
/// not needless because one project denies what it allows.
fn holds_everywhere(problem: &Problem) -> bool {
    let own = &problem.origin;
    problem.by.iter().all(|cause| {
        let same = cause.origin.layer == own.layer && cause.origin.file == own.file;
        same || match (cause.origin.layer, own.layer) {
            (Layer::Managed, Layer::User | Layer::Local) => true,
            (Layer::User | Layer::Project, Layer::Local) => true,
            (
                Layer::Managed
                | Layer::Flag
                | Layer::Cli
                | Layer::Command
                | Layer::Session
                | Layer::Local
                | Layer::Project
                | Layer::User,
                _,
            ) => false,
        }
    })
}

enum Instead {
    Stays,
    Goes,
    Becomes(Rule),
    /// The same where nothing that the rule stops now would be open then.
    IfStillClosed(Rule),
}

/// What should stand in the place of a rule that is never compared, or compared from the wrong start.
fn instead(loaded: &Loaded, entry: &Entry) -> Instead {
    let content = entry.rule.content.as_deref().unwrap_or_default();
    match (&entry.status, entry.verdict) {
        (Status::Malformed(_), _) | (Status::Live, Verdict::Allow) => Instead::Stays,
        // Another agent may have a tool that nobody knows here.
        (Status::Idle(_), Verdict::Allow) if catalogue::built_in(&entry.rule.tool).is_some() => Instead::Goes,
        // It takes nothing back now; in the spelling that is read it would open what another rule stops.
        (Status::Idle(Idle::OtherSpelling { .. }), _) if content.trim_start().starts_with('!') => Instead::Stays,
        // It stops nothing now, so the spelling that is read can only tighten.
        (Status::Idle(Idle::OtherSpelling { use_instead }), Verdict::Ask | Verdict::Deny) => {
            Instead::Becomes(Rule::content(use_instead, content))
        }
        (Status::Idle(_), _) => Instead::Stays,
        (Status::Live, Verdict::Ask | Verdict::Deny) => match anchored(loaded, entry) {
            Some(rule) => Instead::IfStillClosed(rule),
            None => Instead::Stays,
        },
    }
}

/// The rule with the start that was meant.
fn anchored(loaded: &Loaded, entry: &Entry) -> Option<Rule> {
    let content = entry.rule.content.as_deref().filter(|_| matches!(entry.rule.tool.as_str(), "Read" | "Edit"))?;
    if !content.starts_with('/') || content.starts_with("//") {
        return None;
    }
    Some(Rule::content(&entry.rule.tool, &lint::better_anchor(content, loaded)?))
}

/// Whether other rules, which stay as they are, stop everything that this one stops.
fn stays_closed(loaded: &Loaded, covering: &mut Covering<'_>, (place, gone): (usize, &BTreeSet<usize>)) -> bool {
    let Some(claim) = covering.meaning.of_rule(place).first().cloned() else { return false };
    let stays = |other: &Claim| {
        other.place != place
            && !gone.contains(&other.place)
            && other.region == claim.region
            && other.entry.verdict == claim.entry.verdict
            && anchored(loaded, &other.entry).is_none()
    };
    let Some(own) = covering.language(&claim) else { return false };
    let lists = [claim.entry.verdict];
    matches!(covering.together((&claim, &own), (&lists, &stays), Vec::new()), Ok(Cover::Whole(_)))
}
