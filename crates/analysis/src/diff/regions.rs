//! Rules compared by meaning: for each rule that came or went, the texts for which the rules of both policies together
//! say something else, found on automata.

use std::cell::Cell;
use std::collections::HashMap;
use std::hash::Hash;

use mayi_core::call::Call;
use mayi_core::path::{self, Case};
use mayi_core::policy::{Access, Grants, Policy};
use mayi_core::rule::text::TextPattern;
use mayi_core::verdict::Verdict;

use super::near::Near;
use super::witness::{About, Pair, call_of, sample};
use super::{Because, Came, Diff, Undecided, tools};
use crate::automata::{Budget, Claim, Language, Meaning, Pattern, Region, Search, Taken};

/// How much work the comparison may be altogether; the rest of the rules is then said not to have been compared.
pub(super) const WORK: usize = 150_000_000;
/// What it costs to make an automaton, in the steps of a search.
const WORK_OF_AUTOMATON: usize = 60;
/// What it costs to try a call, in the steps of a search: most often the first session shows the difference, and where
/// none does, all kinds of them were tried.
const WORK_OF_SHOWING: usize = 4_000;
const WORK_OF_TRYING: usize = 40_000;
/// So many texts are tried before a difference that no call shows is left undecided.
const TRIES: usize = 10;
/// How much work one search may be.
const STEPS: usize = 400_000;

/// What the rules say about a text: the strictest list that names it, or nothing.
type Said = Option<Verdict>;

const SAID: [Said; 4] = [Some(Verdict::Deny), Some(Verdict::Ask), Some(Verdict::Allow), None];

/// One of the policies, and what it means.
struct Meant<'a> {
    policy: &'a Policy,
    meaning: Meaning,
    near: Near,
}

impl<'a> Meant<'a> {
    fn of(policy: &'a Policy) -> Self {
        let meaning = Meaning::of(policy);
        Self { policy, near: Near::of(&meaning), meaning }
    }
}

/// What both policies mean.
struct Both<'a> {
    pair: &'a Pair<'a>,
    old: Meant<'a>,
    new: Meant<'a>,
    budget: Cell<Budget>,
}

/// A rule that came or went, and the texts that it may make a difference for.
struct Change<'a> {
    claim: &'a Claim,
    because: Vec<Because>,
    language: Language,
}

/// Compares the rules of two policies.
pub(super) fn compare(pair: &Pair<'_>, diff: &mut Diff, budget: Budget) {
    compare_malformed(pair, diff);
    let (old, new) = (Meant::of(&pair.old.policy), Meant::of(&pair.new.policy));
    let (went, came) = changed(&old.meaning, &new.meaning);
    let both = Both { pair, old, new, budget: Cell::new(budget) };
    let came = came.iter().map(|claim| (Came::Added, claim));
    let went = went.iter().map(|claim| (Came::Removed, claim));
    let (of_tools, of_content): (Vec<_>, Vec<_>) =
        came.chain(went).partition(|(_, claim)| claim.region == Region::Tool);
    let of_tools: Vec<Change<'_>> = of_tools.into_iter().map(|(came, claim)| both.change(came, claim)).collect();
    if !of_tools.is_empty() {
        both.compare_tools(&of_tools, diff);
    }
    let mut left = of_content.as_slice();
    while let [(came, claim), rest @ ..] = left {
        if both.is_spent() {
            break;
        }
        both.compare_change(&both.change(*came, claim), diff);
        left = rest;
    }
    if let [(came, claim), ..] = left {
        let why =
            format!("{} of {} rules that changed were not compared: it is too much work", left.len(), of_content.len());
        let because = vec![because(*came, claim)];
        diff.undecided.push(Undecided { region: "rules".to_owned(), why, because });
    }
}

/// The claims of each meaning that the other does not make. A rule that moved to another layer says the same, and so does
/// one from which the same is taken back.
fn changed(old: &Meaning, new: &Meaning) -> (Vec<Claim>, Vec<Claim>) {
    let mut names: HashMap<Vec<String>, usize> = HashMap::new();
    let mut name = |meaning: &Meaning, taken: Taken| {
        let claims = meaning.taken_back(taken).iter().filter_map(|at| meaning.claims().get(*at));
        let next = names.len();
        *names.entry(claims.map(|claim| format!("{:?}", claim.pattern)).collect()).or_insert(next)
    };
    let mut keyed = |meaning: &Meaning| {
        let mut known: HashMap<Taken, usize> = HashMap::new();
        let key = |claim: &Claim| {
            let taken = *known.entry(claim.taken).or_insert_with(|| name(meaning, claim.taken));
            (claim.entry.verdict, claim.region.clone(), format!("{:?}", claim.pattern), taken)
        };
        meaning.claims().iter().map(key).collect::<Vec<_>>()
    };
    let (before, after) = (keyed(old), keyed(new));
    (gone((old, &before), &after), gone((new, &after), &before))
}

/// The claims with keys that others do not have, or not as often.
fn gone<K: Eq + Hash>((of, keys): (&Meaning, &[K]), others: &[K]) -> Vec<Claim> {
    let mut there: HashMap<&K, usize> = HashMap::new();
    for key in others {
        *there.entry(key).or_default() += 1;
    }
    let is_gone = |key: &K| match there.get_mut(key).filter(|count| **count > 0) {
        Some(count) => {
            *count -= 1;
            false
        }
        None => true,
    };
    let gone: Vec<bool> = keys.iter().map(is_gone).collect();
    of.claims().iter().zip(gone).filter(|(_, gone)| *gone).map(|(claim, _)| claim.clone()).collect()
}

fn because(came: Came, claim: &Claim) -> Because {
    let entry = &claim.entry;
    Because { change: came, what: entry.text.clone(), list: Some(entry.verdict), origin: Some(entry.origin.clone()) }
}

fn named(region: &Region) -> String {
    match region {
        Region::Tool => "tools".to_owned(),
        Region::Text { tool } => format!("{tool} texts"),
        Region::Path(Access::Read) => "paths that are read".to_owned(),
        Region::Path(Access::Write) => "paths that are written".to_owned(),
        Region::Host => "hosts".to_owned(),
        Region::Parameter { tool, name } => format!("`{name}` of {tool}"),
    }
}

impl Both<'_> {
    fn change<'c>(&self, came: Came, claim: &'c Claim) -> Change<'c> {
        let Meant { meaning, .. } = match came {
            Came::Added => &self.new,
            Came::Removed => &self.old,
        };
        // A `!pattern` holds for nothing by itself: it changes what others hold for, as far as it matches.
        let language = match &claim.pattern {
            Pattern::Path(path) if path.is_negated() => Language::path(path, meaning.case()),
            Pattern::Path(_) | Pattern::Text(_) | Pattern::Host(_) => meaning.language(claim),
        };
        Change { claim, because: vec![because(came, claim)], language }
    }

    /// Whether no work is left.
    fn is_spent(&self) -> bool {
        self.budget.get().is_spent()
    }

    /// Does something within what is left of the work.
    fn within<T>(&self, most: usize, work: impl FnOnce(&mut Budget) -> T) -> T {
        let mut budget = self.budget.get();
        let done = budget.part(most, work);
        self.budget.set(budget);
        done
    }

    /// The call as a witness, if it is one.
    fn told_apart(&self, call: &Call, about: &About<'_>) -> Option<super::Region> {
        let found = self.pair.told_apart(call, about);
        let work = if found.is_some() { WORK_OF_SHOWING } else { WORK_OF_TRYING };
        self.within(work, |budget| budget.take(work));
        found
    }

    /// Each tool by its name, and then whatever other names there are.
    fn compare_tools(&self, changes: &[Change<'_>], diff: &mut Diff) {
        let names = tools(self.pair);
        let region = named(&Region::Tool);
        let says = |policy: &Policy, name: &str| {
            SAID.into_iter().flatten().find(|list| policy.whole_tool(*list, name, Grants::All).is_some())
        };
        for name in &names {
            let about = changes.iter().filter(|change| change.claim.pattern.matches(name, Case::Sensitive));
            let because: Vec<Because> = about.flat_map(|change| change.because.clone()).collect();
            if because.is_empty() || says(self.old.policy, name) == says(self.new.policy, name) {
                continue;
            }
            let about = About { region: &region, because: &because };
            match self.told_apart(&sample(name, &self.pair.new.policy), &about) {
                Some(found) => diff.note(found),
                None => {
                    let why = format!("no call of `{name}` was found that is decided otherwise");
                    diff.undecided.push(unshown(&region, why, &because));
                }
            }
        }
        let known = Language::union(names.iter().map(|name| Language::name(&TextPattern::Exact(name.clone()))));
        for Change { claim, because, language } in changes {
            if self.is_spent() {
                let why = "not compared: it is too much work".to_owned();
                diff.undecided.push(unshown(&region, why, because));
                return;
            }
            self.compare_change(&Change { claim, because: because.clone(), language: language.minus(&known) }, diff);
        }
    }

    /// The texts of a claim's region by what the rules say about them, in the order of [`SAID`]. A rule about the whole tool
    /// says it of every text. Rules that can match nothing that the claim matches are left out: among thousands few can.
    fn texts_said(&self, Meant { policy, meaning, near }: &Meant<'_>, claim: &Claim) -> Vec<Language> {
        let tool = match &claim.region {
            Region::Tool => None,
            Region::Text { tool } | Region::Parameter { tool, .. } => Some(tool.as_str()),
            Region::Path(Access::Read) => Some("Read"),
            Region::Path(Access::Write) => Some("Edit"),
            Region::Host => Some("WebFetch"),
        };
        let universe = meaning.universe(&claim.region);
        let named = |list| match tool.and_then(|tool| policy.whole_tool(list, tool, Grants::All)) {
            Some(_) => Language::everything(universe),
            None => {
                let meeting = near.meeting(meaning, list, claim);
                self.within(WORK, |budget| budget.take(WORK_OF_AUTOMATON * meeting.len()));
                Language::union(meeting.into_iter().map(|other| meaning.language(other)))
            }
        };
        let mut left = Language::everything(universe);
        let mut said = Vec::new();
        for list in SAID {
            let own = list.map_or_else(|| Language::everything(universe), named);
            said.push(left.and(&own));
            left = left.minus(&own);
        }
        said
    }

    /// Looks for texts about which the two policies say something else, each way they could.
    fn compare_change(&self, Change { claim, because, language }: &Change<'_>, diff: &mut Diff) {
        let region = &claim.region;
        let (old, new) = (self.texts_said(&self.old, claim), self.texts_said(&self.new, claim));
        for (index, before) in old.iter().enumerate() {
            for after in new.iter().enumerate().filter(|(other, _)| *other != index).map(|(_, after)| after) {
                let both = before.and(after).and(language);
                match self.shown(&both, region, because) {
                    Shown::Nothing => {}
                    Shown::Witness(found) => diff.note(*found),
                    Shown::Not(why) => {
                        let undecided = unshown(&named(region), why, because);
                        if !diff.undecided.contains(&undecided) {
                            diff.undecided.push(undecided);
                        }
                    }
                }
            }
        }
    }

    /// A call with a text of the language that is really decided otherwise.
    fn shown(&self, language: &Language, region: &Region, because: &[Because]) -> Shown {
        let name = named(region);
        let about = About { region: &name, because };
        let mut open = language.clone();
        for tried in 0..TRIES {
            let text = match self.within(STEPS, |budget| open.find(budget)) {
                Search::Nothing if tried == 0 => return Shown::Nothing,
                Search::Nothing => break,
                Search::Undecided => return Shown::Not("the patterns are too much work to compare".to_owned()),
                Search::Found(witness) => witness.text,
            };
            for call in call_of(region, &text, &self.pair.new.policy) {
                if let Some(found) = self.told_apart(&call, &about) {
                    return Shown::Witness(Box::new(found));
                }
            }
            open = open.minus(&alike(region, &text, tried, &self.pair.new.policy));
        }
        Shown::Not("the rules say something else, but no call was found that is decided otherwise".to_owned())
    }
}

/// Rules that cannot be read make their tool ask.
fn compare_malformed(pair: &Pair<'_>, diff: &mut Diff) {
    for name in tools(pair) {
        let broken = |policy: &Policy| policy.malformed(&name).cloned();
        let (came, entry) = match (broken(&pair.old.policy), broken(&pair.new.policy)) {
            (None, Some(entry)) => (Came::Added, entry),
            (Some(entry), None) => (Came::Removed, entry),
            (Some(_), Some(_)) | (None, None) => continue,
        };
        let origin = Some(entry.origin.clone());
        let because = [Because { change: came, what: entry.text.clone(), list: Some(entry.verdict), origin }];
        let region = "a rule that cannot be read";
        match pair.told_apart(&sample(&name, &pair.new.policy), &About { region, because: &because }) {
            Some(found) => diff.note(found),
            None if name == entry.rule.tool => {
                let why = format!("no call of `{name}` was found that is decided otherwise");
                diff.undecided.push(unshown(region, why, &because));
            }
            None => {}
        }
    }
}

/// What became of a search.
enum Shown {
    Nothing,
    Witness(Box<super::Region>),
    Not(String),
}

fn unshown(region: &str, why: String, because: &[Because]) -> Undecided {
    Undecided { region: region.to_owned(), why, because: because.to_vec() }
}

/// Texts like one that showed nothing: itself first, then ever more of its kind.
fn alike(region: &Region, text: &str, tried: usize, policy: &Policy) -> Language {
    let words: Vec<&str> = text.split(' ').collect();
    match region {
        Region::Path(_) => match (tried, path::parent(text)) {
            (0, _) | (_, None) => Language::within(text, policy.options.case),
            (1 | 2, Some(folder)) => Language::within(folder, policy.options.case),
            (_, Some(_)) => Language::within(&policy.workspace.directory, policy.options.case),
        },
        Region::Host => Language::union(mayi_core::rule::domain::DomainPattern::new(text).as_ref().map(Language::host)),
        Region::Tool => Language::name(&TextPattern::Exact(text.to_owned())),
        Region::Parameter { .. } => Language::text(&TextPattern::Exact(text.to_owned())),
        Region::Text { .. } => {
            let pattern = match (tried, words.as_slice()) {
                (0 | 1, _) => TextPattern::Exact(text.to_owned()),
                (2 | 3, [program, word, ..]) => TextPattern::Prefix(format!("{program} {word}")),
                (_, [program, ..]) if !program.is_empty() => TextPattern::Prefix((*program).to_owned()),
                _ => TextPattern::Exact(text.to_owned()),
            };
            Language::text(&pattern)
        }
    }
}

#[cfg(test)]
mod tests {
    use mayi_core::call::Workspace;
    use mayi_core::policy::Layer;
    use mayi_engine::observe::Imagined;
    use mayi_settings::{Given, of_values};
    use serde_json::json;

    use super::*;
    use crate::diff::Direction;

    #[test]
    fn what_was_not_compared_is_said_and_never_equal() {
        let loaded = |list: &str, rules: &[&str]| {
            let settings = json!({"permissions": {list: rules}});
            of_values(&[(Layer::User, &settings)], &Workspace::at("/w"), &Given::default())
        };
        for changed in [["Bash(frob x)", "Bash(frob y)"], ["mcp__a__x", "mcp__a__y"]] {
            let (old, new) = (loaded("allow", &[]), loaded("deny", &changed));
            let pair = Pair { old: &old, new: &new, observer: &Imagined::default() };
            let mut diff = Diff::default();
            compare(&pair, &mut diff, Budget::of(1));
            assert_eq!(diff.direction(), Direction::Undecided, "{diff:?}");
            assert!(diff.undecided.iter().any(|undecided| undecided.why.contains("not compared")), "{diff:?}");
        }
    }
}
