//! Rules that never speak, because stricter ones match everything that they match.

use std::sync::Arc;

use mayi_core::path;
use mayi_core::policy::{Access, Entry};
use mayi_core::verdict::Verdict;
use mayi_settings::lint::{about, cause};
use mayi_settings::{Code, Loaded, Problem};

use super::Finding;
use super::cover::{Cover, Covering};
use crate::automata::{Pattern, Region};

/// Allow and ask rules that denies cover, then allow rules that asks cover, alone or together with denies.
pub(super) fn find(loaded: &Loaded, covering: &mut Covering<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut denied = vec![false; loaded.policy.entries().len()];
    for (place, entry) in loaded.policy.entries().iter().enumerate() {
        if entry.verdict == Verdict::Deny {
            continue;
        }
        let cover = covering.cover(place, &[Verdict::Deny]);
        let words = ("denied", "deny");
        let Some(finding) = finding((place, entry), cover, Code::DenyShadowed, words) else { continue };
        if let Some(slot) = denied.get_mut(place) {
            *slot = true;
        }
        found.push(spared_reading(loaded, covering, finding));
    }
    // Without asks there is nothing to find that was not found already.
    let is_asked = covering.speaks(Verdict::Ask);
    for (place, entry) in loaded.policy.entries().iter().enumerate() {
        if entry.verdict != Verdict::Allow || !is_asked {
            continue;
        }
        let mut cover = covering.cover(place, &[Verdict::Ask]);
        let mut words = ("asked about", "ask");
        if matches!(cover, Cover::Open) && denied.get(place) == Some(&false) {
            cover = covering.cover(place, &[Verdict::Ask, Verdict::Deny]);
            words = ("denied or asked about", "other rules");
        }
        let finding = finding((place, entry), cover, Code::AskShadowed, words);
        found.extend(finding.map(|finding| spared_reading(loaded, covering, finding)));
    }
    found
}

fn finding(
    (place, entry): (usize, &Arc<Entry>),
    cover: Cover,
    code: Code,
    (what, list): (&str, &str),
) -> Option<Finding> {
    let text = &entry.text;
    let (by, message, needless) = match cover {
        Cover::Open | Cover::Undecided => return None,
        Cover::Whole(by) => (by, format!("`{text}` never speaks: what it matches is {what}"), true),
        Cover::ButOdd(by, left) => {
            let left = left.escape_default();
            (by, format!("`{text}` speaks for nothing but odd texts such as `{left}`: the rest is {what}"), false)
        }
    };
    let problem = about(entry, code, message).fix(format!("remove it, or make the {list} narrower"));
    let by = by.iter().map(|entry| cause(entry)).collect();
    Some(Finding { place, problem: Problem { by, ..problem }, needless })
}

/// A rule that lets files be written lets them be read as well. Where reading is not free anyway, and nothing stops
/// it, the rule still speaks for that.
fn spared_reading(loaded: &Loaded, covering: &mut Covering<'_>, mut finding: Finding) -> Finding {
    let claims = covering.meaning.of_rule(finding.place).to_vec();
    let Some(claim) = claims.iter().find(|claim| claim.region == Region::Path(Access::Write)) else { return finding };
    let Pattern::Path(pattern) = &claim.pattern else { return finding };
    let is_free = path::is_within(pattern.root(), &loaded.policy.workspace.directory);
    if claim.entry.verdict != Verdict::Allow || is_free {
        return finding;
    }
    let reading = claim.on(Region::Path(Access::Read));
    let lists = match finding.problem.code == Code::DenyShadowed {
        true => [Verdict::Deny].as_slice(),
        false => [Verdict::Ask, Verdict::Deny].as_slice(),
    };
    if !matches!(covering.cover_claim(&reading, lists), Cover::Whole(_)) {
        finding.needless = false;
        finding.problem.message = finding.problem.message.replace("never speaks:", "speaks for reading alone:");
    }
    finding
}
