//! Rules compared by meaning: for each rule that came or went, the texts for which the rules of both policies together
//! say something else, found on automata.

use std::collections::HashMap;

use mayi_core::path;
use mayi_core::policy::{Access, Policy};
use mayi_core::rule::text::TextPattern;
use mayi_core::verdict::Verdict;

use super::witness::{About, Pair, call_of, sample};
use super::{Because, Came, Diff, Undecided, tools};
use crate::automata::{Budget, Claim, Language, Meaning, Pattern, Region, Search};

/// So many rules that came or went are looked at one by one.
const CLAIMS: usize = 400;
/// So many texts are tried before a difference that no call shows is left undecided.
const TRIES: usize = 10;
/// How much work one search may be.
const STEPS: usize = 400_000;

/// What the rules say about a text: the strictest list that names it, or nothing.
type Said = Option<Verdict>;

const SAID: [Said; 4] = [Some(Verdict::Deny), Some(Verdict::Ask), Some(Verdict::Allow), None];

/// What both policies mean.
struct Both<'a> {
    pair: &'a Pair<'a>,
    old: Meaning,
    new: Meaning,
}

/// A rule that came or went, and the texts that it may make a difference for.
struct Change<'a> {
    claim: &'a Claim,
    because: Vec<Because>,
    language: Language,
}

/// Compares the rules of two policies.
pub(super) fn compare(pair: &Pair<'_>, diff: &mut Diff) {
    compare_malformed(pair, diff);
    let (old, new) = (Meaning::of(&pair.old.policy), Meaning::of(&pair.new.policy));
    let came: Vec<Claim> = gone(&new, &old);
    let went: Vec<Claim> = gone(&old, &new);
    let both = Both { pair, old, new };
    let came = came.iter().map(|claim| both.change(Came::Added, claim));
    let went = went.iter().map(|claim| both.change(Came::Removed, claim));
    let (of_tools, of_content): (Vec<Change<'_>>, Vec<Change<'_>>) =
        came.chain(went).partition(|change| change.claim.region == Region::Tool);
    if !of_tools.is_empty() {
        both.compare_tools(&of_tools, diff);
    }
    for change in of_content.iter().take(CLAIMS) {
        both.compare_change(change, diff);
    }
    if of_content.len() > CLAIMS {
        let why = format!("{} rules changed; only the first {CLAIMS} were looked at", of_content.len());
        diff.undecided.push(Undecided { region: "rules".to_owned(), why, because: Vec::new() });
    }
}

/// The claims of one meaning that the other does not make. A rule that moved to another layer says the same.
fn gone(of: &Meaning, other: &Meaning) -> Vec<Claim> {
    let key = |claim: &Claim| (claim.entry.verdict, claim.region.clone(), format!("{:?}", claim.pattern));
    let mut there: HashMap<_, usize> = HashMap::new();
    for claim in other.claims() {
        *there.entry(key(claim)).or_default() += 1;
    }
    // What `!pattern` takes back depends on the order and the source, so with one the languages are compared.
    let negates = of.claims().iter().chain(other.claims()).any(Claim::is_negation);
    let mut is_gone = |claim: &&Claim| match there.get_mut(&key(claim)).filter(|count| **count > 0) {
        Some(count) => {
            *count -= 1;
            negates && matches!(claim.region, Region::Path(_))
        }
        None => true,
    };
    of.claims().iter().filter(|claim| is_gone(claim)).cloned().collect()
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
        let meaning = match came {
            Came::Added => &self.new,
            Came::Removed => &self.old,
        };
        // A `!pattern` has no language of its own: it changes those of the rules around it.
        let language = match claim.is_negation() {
            true => Language::everything(meaning.universe(&claim.region)),
            false => meaning.language(claim),
        };
        Change { claim, because: vec![because(came, claim)], language }
    }

    /// Each tool by its name, and then whatever other names there are.
    fn compare_tools(&self, changes: &[Change<'_>], diff: &mut Diff) {
        let names = tools(self.pair);
        let region = named(&Region::Tool);
        let (old, new) = (texts_said(&self.old, &Region::Tool, None), texts_said(&self.new, &Region::Tool, None));
        for name in &names {
            let about = changes.iter().filter(|change| change.language.holds(name));
            let because: Vec<Because> = about.flat_map(|change| change.because.clone()).collect();
            let says = |texts: &[Language]| texts.iter().position(|texts| texts.holds(name));
            if because.is_empty() || says(&old) == says(&new) {
                continue;
            }
            let about = About { region: &region, because: &because };
            match self.pair.told_apart(&sample(name, &self.pair.new.policy), &about) {
                Some(found) => diff.note(found),
                None => {
                    let why = format!("no call of `{name}` was found that is decided otherwise");
                    diff.undecided.push(unshown(&region, why, &because));
                }
            }
        }
        let known = Language::union(names.iter().map(|name| Language::name(&TextPattern::Exact(name.clone()))));
        for Change { claim, because, language } in changes {
            self.compare_change(&Change { claim, because: because.clone(), language: language.minus(&known) }, diff);
        }
    }

    /// Looks for texts about which the two policies say something else, each way they could.
    fn compare_change(&self, Change { claim, because, language }: &Change<'_>, diff: &mut Diff) {
        let region = &claim.region;
        let near = (!claim.is_negation()).then_some(*claim);
        let (old, new) = (texts_said(&self.old, region, near), texts_said(&self.new, region, near));
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
            let text = match open.find(&mut Budget::of(STEPS)) {
                Search::Nothing if tried == 0 => return Shown::Nothing,
                Search::Nothing => break,
                Search::Undecided => return Shown::Not("the patterns are too much work to compare".to_owned()),
                Search::Found(witness) => witness.text,
            };
            for call in call_of(region, &text, &self.pair.new.policy) {
                if let Some(found) = self.pair.told_apart(&call, &about) {
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

/// The texts of a region by what the rules say about them, in the order of [`SAID`]. A rule about the whole tool says it
/// of every text. Near a claim, rules that can match nothing that it matches are left out: among thousands few can.
fn texts_said(meaning: &Meaning, region: &Region, near: Option<&Claim>) -> Vec<Language> {
    let tool = match region {
        Region::Tool => None,
        Region::Text { tool } | Region::Parameter { tool, .. } => Some(tool.as_str()),
        Region::Path(Access::Read) => Some("Read"),
        Region::Path(Access::Write) => Some("Edit"),
        Region::Host => Some("WebFetch"),
    };
    let universe = meaning.universe(region);
    let of_list = |list| meaning.claims().iter().filter(move |claim| claim.entry.verdict == list);
    let whole = |list| {
        let mut of_tools = of_list(list).filter(|claim| claim.region == Region::Tool);
        tool.is_some_and(|tool| of_tools.any(|claim| meaning.language(claim).holds(tool)))
    };
    let named = |list| match whole(list) {
        true => Language::everything(universe),
        false => {
            let speaking = of_list(list).filter(|claim| meaning.reaches(list, &claim.region, region));
            let meeting = speaking.filter(|claim| near.is_none_or(|near| may_meet(&claim.pattern, &near.pattern)));
            Language::union(meeting.map(|claim| meaning.language(claim)))
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

/// Whether two patterns could match the same text, as far as their beginnings tell.
fn may_meet(one: &Pattern, other: &Pattern) -> bool {
    match (one, other) {
        (Pattern::Text(one), Pattern::Text(other)) => {
            let (one, other) = (beginning(one), beginning(other));
            one.starts_with(other) || other.starts_with(one)
        }
        (Pattern::Path(one), Pattern::Path(other)) => {
            let ((one, _), (other, _)) = (one.place(), other.place());
            // Folded, so that it holds also where names are compared without case.
            let (one, other) = (one.to_lowercase(), other.to_lowercase());
            path::is_within(&one, &other) || path::is_within(&other, &one)
        }
        (Pattern::Host(_), Pattern::Host(_)) => true,
        (Pattern::Text(_) | Pattern::Path(_) | Pattern::Host(_), _) => false,
    }
}

fn beginning(pattern: &TextPattern) -> &str {
    match pattern {
        TextPattern::Exact(text) | TextPattern::Prefix(text) => text,
        TextPattern::Glob(glob) => &glob.first,
    }
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
