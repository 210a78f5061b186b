//! Coverage: whether every call that one rule matches is matched by rules of other lists as well, by one of them or by
//! several together.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use mayi_core::catalogue::{self, Kind};
use mayi_core::policy::{Entry, Policy};
use mayi_core::rule::text::TextPattern;
use mayi_core::verdict::Verdict;
use mayi_settings::lint::about;
use mayi_settings::{Code, Loaded, Problem};

use super::index::{finders, fresh_letter, work_of_match};
use super::plainly;
use super::specimen::{self, Specimen};
use crate::automata::{Budget, Claim, Finder, Language, Meaning, Pattern, Region, Search, Taken};

/// How much work all searches of one lint may do, and each of them.
const WORK: usize = 12_000_000;
const WORK_OF_ONE: usize = 2_000_000;
/// How much work all lookups may do. They have their own, so that few rules made to explode leave the others decided.
const LOOKUPS: usize = 12_000_000;
/// What it costs to make an automaton beyond its length, in the steps of a search.
const WORK_OF_AUTOMATON: usize = 40;
/// Of so many covering rules the needless ones are looked for.
const FEW: usize = 24;

/// How far a rule is covered.
#[derive(Clone, Debug)]
pub(super) enum Cover {
    /// Not, or not wholly.
    Open,
    /// Wholly, by these rules.
    Whole(Vec<Arc<Entry>>),
    /// By these rules, but for texts that nobody writes, such as this one.
    ButOdd(Vec<Arc<Entry>>, String),
    /// It was not found out.
    Undecided,
}

/// Which claims may take part in covering another one.
type Accepts<'f> = &'f dyn Fn(&Claim) -> bool;

/// Answers questions about coverage in one policy.
pub(super) struct Covering<'a> {
    policy: &'a Policy,
    pub(super) meaning: Meaning,
    /// A letter that no rule spells.
    fresh: char,
    /// Claims by list and region, each pattern once. The numbers are those of claims.
    finders: HashMap<(Verdict, Region), Finder>,
    /// Rules for whole tools, by the region that they make needless.
    whole: HashMap<(Region, Vec<Verdict>), Option<usize>>,
    /// Paths that each rule over paths matches, by its place.
    paths: HashMap<usize, Arc<[String]>>,
    /// What sets of `!pattern`s take back.
    taken: HashMap<Taken, Language>,
    takers: HashMap<Taken, Finder>,
    budget: Budget,
    lookups: Budget,
    undecided: BTreeSet<usize>,
}

impl<'a> Covering<'a> {
    pub(super) fn of(policy: &'a Policy) -> Self {
        let meaning = Meaning::of(policy);
        let fresh = fresh_letter(policy);
        let finders = finders(policy, &meaning);
        // Without such a letter specimens show nothing, so nothing is found out.
        let lookups = Budget::of(if fresh.is_some() { LOOKUPS } else { 0 });
        let fresh = fresh.unwrap_or('\u{10ffff}');
        let paths = meaning.claims().iter().filter_map(|claim| match &claim.pattern {
            Pattern::Path(path) => Some((claim.place, specimen::of_path(path, fresh).into())),
            Pattern::Text(_) | Pattern::Host(_) => None,
        });
        Self {
            policy,
            fresh,
            finders,
            whole: HashMap::new(),
            paths: paths.collect(),
            taken: HashMap::new(),
            takers: HashMap::new(),
            budget: Budget::of(WORK),
            lookups,
            undecided: BTreeSet::new(),
            meaning,
        }
    }

    /// Whether a list holds any rule that could cover another one.
    pub(super) fn speaks(&self, list: Verdict) -> bool {
        self.finders.keys().any(|(own, _)| *own == list)
    }

    /// How far rules of the lists cover the rule at a place.
    pub(super) fn cover(&mut self, place: usize, lists: &[Verdict]) -> Cover {
        // A server's name alone is the name of no tool.
        let of_rule = self.meaning.of_rule(place).iter().filter(|claim| !is_server(claim));
        let claims: Vec<Claim> = of_rule.cloned().collect();
        if claims.is_empty() || claims.iter().any(Claim::is_negation) {
            return Cover::Open;
        }
        let mut by: Vec<Arc<Entry>> = Vec::new();
        let mut odd = None;
        for claim in &claims {
            match self.cover_claim(claim, lists) {
                Cover::Whole(more) => merge(&mut by, more),
                Cover::ButOdd(more, left) => {
                    merge(&mut by, more);
                    odd.get_or_insert(left);
                }
                Cover::Open => return Cover::Open,
                Cover::Undecided => {
                    self.undecided.insert(place);
                    return Cover::Undecided;
                }
            }
        }
        match odd {
            Some(left) => Cover::ButOdd(by, left),
            None => Cover::Whole(by),
        }
    }

    /// How far rules of the lists cover what a claim holds for.
    pub(super) fn cover_claim(&mut self, claim: &Claim, lists: &[Verdict]) -> Cover {
        let found = match self.whole_tool(&claim.region, lists) {
            Err(Spent) => return Cover::Undecided,
            Ok(Some(whole)) => return Cover::Whole(self.entries(&[whole])),
            Ok(None) => match &claim.pattern {
                Pattern::Text(pattern) => self.text(&claim.region, pattern, lists),
                Pattern::Host(pattern) => {
                    let specimens = specimen::of_host(pattern, self.fresh);
                    self.by_specimens(claim, lists, &specimens)
                }
                Pattern::Path(_) => {
                    let specimens = self.paths(claim.place);
                    self.by_specimens(claim, lists, &specimens)
                }
            },
        };
        found.unwrap_or(Cover::Undecided)
    }

    /// A rule of the lists for the whole of every tool that the region is about.
    fn whole_tool(&mut self, region: &Region, lists: &[Verdict]) -> Result<Option<usize>, Spent> {
        if *region == Region::Tool {
            return Ok(None);
        }
        let key = (region.clone(), lists.to_vec());
        if let Some(known) = self.whole.get(&key) {
            return Ok(*known);
        }
        let mut first = None;
        for name in self.tools(region) {
            let found = self.matching(&Region::Tool, &name, lists)?;
            let Some(one) = found.first() else {
                first = None;
                break;
            };
            first.get_or_insert(*one);
        }
        self.whole.insert(key, first);
        Ok(first)
    }

    /// The names of the tools that a region is about.
    fn tools(&self, region: &Region) -> Vec<String> {
        match region {
            Region::Tool => Vec::new(),
            Region::Text { tool } | Region::Parameter { tool, .. } => vec![tool.clone()],
            // Every tool that touches files, shells too: only a rule for any name at all covers those.
            Region::Path(_) => vec![self.fresh.to_string()],
            Region::Host => {
                let built_in = catalogue::all().iter().filter(|tool| tool.kind == Kind::Fetch).map(|tool| tool.name);
                let declared = self.policy.options.tools.iter().filter(|tool| tool.kind == Kind::Fetch);
                built_in.map(str::to_owned).chain(declared.map(|tool| tool.name.clone())).collect()
            }
        }
    }

    fn entries(&self, claims: &[usize]) -> Vec<Arc<Entry>> {
        let claims = claims.iter().filter_map(|claim| self.meaning.claims().get(*claim));
        let mut entries = Vec::new();
        merge(&mut entries, claims.map(|claim| Arc::clone(&claim.entry)).collect());
        entries
    }

    /// The claims of the lists whose pattern matches a text of a region, in their order.
    fn matching(&mut self, region: &Region, text: &str, lists: &[Verdict]) -> Result<Vec<usize>, Spent> {
        let mut found = Vec::new();
        for ((list, own), finder) in &self.finders {
            if lists.contains(list) && self.meaning.reaches(*list, own, region) {
                found.extend(finder.candidates(text, &mut self.lookups).ok_or(Spent)?);
            }
        }
        found.sort_unstable();
        let case = self.meaning.case();
        let mut is_spent = false;
        found.retain(|number| {
            let claim = self.meaning.claims().get(*number);
            let matches = |claim: &Claim| {
                is_spent |= !self.lookups.take(work_of_match(&claim.pattern, text));
                !is_spent && claim.pattern.matches(text, case)
            };
            claim.is_some_and(matches)
        });
        if is_spent { Err(Spent) } else { Ok(found) }
    }

    fn text(&mut self, region: &Region, pattern: &TextPattern, lists: &[Verdict]) -> Result<Cover, Spent> {
        let (mut alone, mut first): (Option<Vec<usize>>, BTreeSet<usize>) = (None, BTreeSet::new());
        let mut left = None;
        for Specimen { text, is_odd } in specimen::of_text(pattern, self.fresh) {
            let found = self.matching(region, &text, lists)?;
            let Some(one) = found.first() else {
                if is_odd {
                    left.get_or_insert(text.replace(self.fresh, "x"));
                    continue;
                }
                return Ok(Cover::Open);
            };
            first.insert(*one);
            alone = Some(match alone {
                None => found,
                Some(alone) => alone.into_iter().filter(|one| found.binary_search(one).is_ok()).collect(),
            });
        }
        // One rule that does it alone is the better explanation.
        let by = match alone.as_ref().and_then(|alone| alone.first()) {
            Some(one) => vec![*one],
            None => first.into_iter().collect(),
        };
        let by = self.entries(&by);
        Ok(match left {
            Some(left) => Cover::ButOdd(by, left),
            None => Cover::Whole(by),
        })
    }

    /// Some paths that the rule at a place matches.
    pub(super) fn paths(&self, place: usize) -> Arc<[String]> {
        self.paths.get(&place).cloned().unwrap_or_default()
    }

    /// Coverage of hosts and paths: what matches the specimens is where the search begins, and one that nothing matches
    /// is proof that nothing covers.
    fn by_specimens(&mut self, claim: &Claim, lists: &[Verdict], specimens: &[String]) -> Result<Cover, Spent> {
        let mut first = Vec::new();
        for text in specimens {
            let found = self.matching(&claim.region, text, lists)?;
            match self.best(claim, &found) {
                Some(one) if first.contains(&one) => {}
                Some(one) => first.push(one),
                // What a `!pattern` takes back of this rule need not be covered.
                None if self.is_taken_back(claim, text)? => {}
                None => return Ok(Cover::Open),
            }
        }
        let plain = |number: &&usize| self.meaning.claims().get(**number).is_some_and(|other| plainly(other, claim));
        if let Some(one) = first.iter().find(plain) {
            return Ok(Cover::Whole(self.entries(&[*one])));
        }
        self.by_languages(claim, lists, first)
    }

    /// Of claims that match something of another one: the first that plainly covers it, or else the first.
    fn best(&self, claim: &Claim, found: &[usize]) -> Option<usize> {
        let few = found.iter().take(FEW);
        let plain = |number: &&usize| self.meaning.claims().get(**number).is_some_and(|other| plainly(other, claim));
        few.clone().find(plain).or(found.first()).copied()
    }

    /// Coverage by each of some claims alone; then by more and more of them together.
    fn by_languages(&mut self, claim: &Claim, lists: &[Verdict], first: Vec<usize>) -> Result<Cover, Spent> {
        let own = self.language(claim).ok_or(Spent)?;
        for one in first.iter().filter(|_| first.len() > 1) {
            if let Outside::Nothing = self.outside(claim, &own, &[*one])? {
                return Ok(Cover::Whole(self.entries(&[*one])));
            }
        }
        self.together((claim, &own), (lists, &|_| true), first)
    }

    /// Coverage by claims together. A text that they leave is held against all others; those that match it join them,
    /// and where none does, that is the answer. So few are ever looked at, however many there are.
    pub(super) fn together(
        &mut self,
        (claim, own): (&Claim, &Language),
        (lists, accepts): (&[Verdict], Accepts<'_>),
        mut by: Vec<usize>,
    ) -> Result<Cover, Spent> {
        loop {
            let (text, is_readable) = match self.outside(claim, own, &by)? {
                Outside::Nothing => {
                    let needed = self.needed(claim, own, by);
                    return Ok(Cover::Whole(self.entries(&needed)));
                }
                Outside::Text(text, is_readable) => (text, is_readable),
            };
            match self.holding(&claim.region, &text, (lists, accepts))? {
                Some(one) => by.push(one),
                None if is_readable || by.is_empty() => return Ok(Cover::Open),
                None => return Ok(Cover::ButOdd(self.entries(&by), text)),
            }
        }
    }

    /// A claim of the lists that holds for a text.
    fn holding(
        &mut self,
        region: &Region,
        text: &str,
        (lists, accepts): (&[Verdict], Accepts<'_>),
    ) -> Result<Option<usize>, Spent> {
        for number in self.matching(region, text, lists)? {
            let Some(claim) = self.meaning.claims().get(number).cloned() else { continue };
            if accepts(&claim) && !self.is_taken_back(&claim, text)? {
                return Ok(Some(number));
            }
        }
        Ok(None)
    }

    /// Whether a `!pattern` takes a text back from a claim that matches it.
    pub(super) fn is_taken_back(&mut self, claim: &Claim, text: &str) -> Result<bool, Spent> {
        let case = self.meaning.case();
        // As in gitignore: nothing is re-opened below a directory that is matched.
        let below = |text| mayi_core::path::parent(text).is_some_and(|above| claim.pattern.matches(above, case));
        if claim.taken.is_nothing() || claim.entry.verdict != Verdict::Allow && below(text) {
            return Ok(false);
        }
        if !self.takers.contains_key(&claim.taken) {
            let taken = self.meaning.taken_back(claim.taken);
            let patterns = taken.iter().filter_map(|at| Some((*at, &self.meaning.claims().get(*at)?.pattern)));
            if !self.lookups.take(WORK_OF_AUTOMATON * taken.len()) {
                return Err(Spent);
            }
            self.takers.insert(claim.taken, Finder::of(patterns, case));
        }
        let finder = self.takers.get(&claim.taken);
        let found = finder.map_or(Some(Vec::new()), |finder| finder.candidates(text, &mut self.lookups));
        for negation in found.ok_or(Spent)?.into_iter().filter_map(|at| self.meaning.claims().get(at)) {
            if !self.lookups.take(work_of_match(&negation.pattern, text)) {
                return Err(Spent);
            }
            if negation.pattern.matches(text, case) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// What some claims hold for together.
    fn union(&mut self, claim: &Claim, others: &[usize]) -> Result<Language, Spent> {
        let mut languages = vec![Language::nothing(self.meaning.universe(&claim.region))];
        for number in others {
            let Some(other) = self.meaning.claims().get(*number).cloned() else { continue };
            languages.push(self.language(&other).ok_or(Spent)?);
        }
        Ok(Language::union(languages))
    }

    /// What a claim holds for; `None` when there is no work left for it. Making automata is work, too.
    pub(super) fn language(&mut self, claim: &Claim) -> Option<Language> {
        let of = |claim: &Claim| WORK_OF_AUTOMATON + claim.entry.text.len();
        if !claim.taken.is_nothing() && !self.taken.contains_key(&claim.taken) {
            let negations = self.meaning.taken_back(claim.taken).iter();
            let work = negations.filter_map(|at| self.meaning.claims().get(*at)).map(of).sum();
            let taken = self.budget.take(work).then(|| self.meaning.taken(claim.taken))??;
            self.taken.insert(claim.taken, taken);
        }
        let taken = self.taken.get(&claim.taken);
        self.budget.take(of(claim)).then(|| self.meaning.language_without(claim, taken))
    }

    /// A text that a claim holds for and none of the others.
    fn outside(&mut self, claim: &Claim, own: &Language, others: &[usize]) -> Result<Outside, Spent> {
        let union = self.union(claim, others)?;
        match self.search(|budget| own.outside(&union, budget)) {
            Search::Nothing => Ok(Outside::Nothing),
            Search::Found(witness) => Ok(Outside::Text(witness.text, witness.is_readable)),
            Search::Undecided => Err(Spent),
        }
    }

    /// The same claims without those that are not needed.
    fn needed(&mut self, claim: &Claim, own: &Language, mut covering: Vec<usize>) -> Vec<usize> {
        let mut at = 0;
        // Of two that were looked for one after the other, neither was enough.
        while at < covering.len() && (3..=FEW).contains(&covering.len()) {
            let mut others = covering.clone();
            others.remove(at);
            match self.outside(claim, own, &others) {
                Ok(Outside::Nothing) => covering = others,
                Ok(Outside::Text(..)) | Err(Spent) => at += 1,
            }
        }
        covering
    }

    /// A search within what is left of the work.
    pub(super) fn search(&mut self, search: impl FnOnce(&mut Budget) -> Search) -> Search {
        self.budget.part(WORK_OF_ONE, search)
    }

    /// Whether no work is left to search.
    pub(super) fn is_spent(&self) -> bool {
        self.budget.is_spent()
    }

    /// What could not be found out, as problems.
    pub(super) fn undecided(&self, loaded: &Loaded) -> Vec<Problem> {
        let entries = self.undecided.iter().filter_map(|place| loaded.policy.entries().get(*place));
        let problem = |entry: &Arc<Entry>| {
            let message = format!("whether other rules cover `{}` would take too long to find out", entry.text);
            about(entry, Code::Undecided, message).fix("write the rules with fewer wildcards, or name the folders")
        };
        entries.map(problem).collect()
    }

    /// The rule at a place is one of those that were not found out about.
    pub(super) fn gave_up(&mut self, place: usize) {
        self.undecided.insert(place);
    }
}

/// There is no work left.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spent;

/// What a claim holds for beyond others.
enum Outside {
    Nothing,
    /// Such a text, and whether a person would write it.
    Text(String, bool),
}

fn plainly(over: &Claim, under: &Claim) -> bool {
    over.taken.is_nothing() && plainly::covers(&over.pattern, &under.pattern)
}

/// `mcp__server`, which stands for `mcp__server__*`.
fn is_server(claim: &Claim) -> bool {
    let server = |name: &String| name.strip_prefix("mcp__").is_some_and(|server| !server.contains("__"));
    claim.region == Region::Tool && matches!(&claim.pattern, Pattern::Text(TextPattern::Exact(name)) if server(name))
}

fn merge(rules: &mut Vec<Arc<Entry>>, more: Vec<Arc<Entry>>) {
    for rule in more {
        if !rules.iter().any(|known| Arc::ptr_eq(known, &rule)) {
            rules.push(rule);
        }
    }
}
