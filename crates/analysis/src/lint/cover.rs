//! Coverage: whether every call that one rule matches is matched by rules of other lists as well, by one of them or by
//! several together.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use mayi_core::catalogue::{self, Kind};
use mayi_core::path;
use mayi_core::policy::{Access, Entry, Layer, Policy};
use mayi_core::rule::index::{Reach, RuleId, TextIndex};
use mayi_core::rule::text::TextPattern;
use mayi_core::verdict::Verdict;
use mayi_settings::lint::about;
use mayi_settings::{Code, Loaded, Problem};

use super::plainly;
use super::specimen::{self, Specimen};
use crate::automata::{Budget, Claim, Language, Meaning, Pattern, Region, Search};

/// How much work all searches of one lint may do, and each of them.
const WORK: usize = 8_000_000;
const WORK_OF_ONE: usize = 1_000_000;
/// What it costs to make an automaton, in the steps of a search.
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

/// A claim that may cover others, and the folder that everything it matches lies in.
struct Candidate {
    claim: usize,
    folder: Option<String>,
}

/// Answers questions about coverage in one policy.
pub(super) struct Covering<'a> {
    policy: &'a Policy,
    pub(super) meaning: Meaning,
    /// A letter that no rule spells.
    fresh: char,
    /// Text claims, by list and region. The numbers are those of claims.
    texts: HashMap<(Verdict, Region), TextIndex>,
    /// The place of each rule in the policy.
    places: HashMap<*const Entry, usize>,
    /// Path and host claims, by list and region: of those with one pattern, the first.
    candidates: HashMap<(Verdict, Region), Vec<Candidate>>,
    /// Paths that each rule over paths matches, by its place.
    paths: HashMap<usize, Arc<[String]>>,
    /// The last union that was made, and of which claims.
    last: Option<(Vec<usize>, Language)>,
    budget: Budget,
    undecided: BTreeSet<usize>,
}

impl<'a> Covering<'a> {
    pub(super) fn of(policy: &'a Policy) -> Self {
        let meaning = Meaning::of(policy);
        let spells = |letter: char| {
            let in_rule = |entry: &Arc<Entry>| {
                entry.rule.tool.contains(letter)
                    || entry.rule.content.as_ref().is_some_and(|text| text.contains(letter))
            };
            policy.entries().iter().any(in_rule)
        };
        let mut letters = ('\u{100000}'..='\u{10ffff}').rev();
        let fresh = letters.find(|letter| !spells(*letter)).unwrap_or('\u{10ffff}');
        let sandbox = &policy.options.sandbox;
        let confined = sandbox.enabled && sandbox.auto_allow;
        let mut texts: HashMap<(Verdict, Region), TextIndex> = HashMap::new();
        for (number, claim) in meaning.claims().iter().enumerate() {
            let Pattern::Text(pattern) = &claim.pattern else { continue };
            // Such an ask holds only for what runs outside the sandbox, so it shadows nothing.
            if confined && is_personal_ask_for_bash(&claim.entry) {
                continue;
            }
            let id = RuleId(u32::try_from(number).unwrap_or(u32::MAX));
            texts.entry((claim.entry.verdict, claim.region.clone())).or_default().insert(pattern.clone(), id);
        }
        let entries = policy.entries().iter().enumerate();
        let places = entries.map(|(place, entry)| (Arc::as_ptr(entry), place)).collect();
        let candidates = candidates(&meaning);
        let paths = meaning.claims().iter().filter_map(|claim| match &claim.pattern {
            Pattern::Path(path) => Some((claim.place, specimen::of_path(path, fresh).into())),
            Pattern::Text(_) | Pattern::Host(_) => None,
        });
        let paths = paths.collect();
        let (budget, undecided) = (Budget::of(WORK), BTreeSet::new());
        Self { policy, meaning, fresh, texts, places, candidates, paths, last: None, budget, undecided }
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
        if let Some(whole) = self.whole_tool(&claim.region, lists) {
            return Cover::Whole(vec![whole]);
        }
        match &claim.pattern {
            Pattern::Text(pattern) => self.text(&claim.region, pattern, lists),
            Pattern::Host(pattern) => {
                let specimens = specimen::of_host(pattern, self.fresh);
                let found = |host: &String| lists.iter().find_map(|list| self.policy.host(*list, host)).cloned();
                match specimens.iter().map(found).collect::<Option<Vec<_>>>() {
                    None => Cover::Open,
                    Some(found) => self.by_languages(claim, lists, found),
                }
            }
            Pattern::Path(_) => self.path(claim, lists),
        }
    }

    /// A rule of the lists for the whole of every tool that the region is about.
    fn whole_tool(&self, region: &Region, lists: &[Verdict]) -> Option<Arc<Entry>> {
        let names: Vec<String> = match region {
            Region::Tool => return None,
            Region::Text { tool } | Region::Parameter { tool, .. } => vec![tool.clone()],
            // Every tool that touches files, shells too: only a rule for any name at all covers those.
            Region::Path(_) => vec![self.fresh.to_string()],
            Region::Host => {
                let built_in = catalogue::all().iter().filter(|tool| tool.kind == Kind::Fetch).map(|tool| tool.name);
                let declared = self.policy.options.tools.iter().filter(|tool| tool.kind == Kind::Fetch);
                built_in.map(str::to_owned).chain(declared.map(|tool| tool.name.clone())).collect()
            }
        };
        let first = |name: &String| self.matching(&Region::Tool, name, lists).into_iter().next();
        let found: Option<Vec<usize>> = names.iter().map(first).collect();
        self.entry(*found?.first()?)
    }

    fn entry(&self, claim: usize) -> Option<Arc<Entry>> {
        self.meaning.claims().get(claim).map(|claim| Arc::clone(&claim.entry))
    }

    /// The claims of the lists that match a text of a region, in their order.
    fn matching(&self, region: &Region, text: &str, lists: &[Verdict]) -> BTreeSet<usize> {
        let mut found = BTreeSet::new();
        let bash = Region::Text { tool: "Bash".to_owned() };
        for list in lists {
            let further = (bash != *region && self.meaning.reaches(*list, &bash, region)).then_some(&bash);
            for region in std::iter::once(region).chain(further) {
                if let Some(index) = self.texts.get(&(*list, region.clone())) {
                    index.visit(text, Reach::Every, &mut |id| {
                        found.insert(id.0 as usize);
                    });
                }
            }
        }
        found
    }

    fn text(&self, region: &Region, pattern: &TextPattern, lists: &[Verdict]) -> Cover {
        let (mut alone, mut first): (Option<BTreeSet<usize>>, BTreeSet<usize>) = (None, BTreeSet::new());
        let mut left = None;
        for Specimen { text, is_odd } in specimen::of_text(pattern, self.fresh) {
            let found = self.matching(region, &text, lists);
            let Some(one) = found.first() else {
                if is_odd {
                    left.get_or_insert(text.replace(self.fresh, "x"));
                    continue;
                }
                return Cover::Open;
            };
            first.insert(*one);
            alone = Some(alone.map_or(found.clone(), |alone| alone.intersection(&found).copied().collect()));
        }
        // One rule that does it alone is the better explanation.
        let by = match alone.as_ref().and_then(BTreeSet::first) {
            Some(one) => BTreeSet::from([*one]),
            None => first,
        };
        let by = by.into_iter().filter_map(|claim| self.entry(claim)).collect();
        match left {
            Some(left) => Cover::ButOdd(by, left),
            None => Cover::Whole(by),
        }
    }

    /// Some paths that the rule at a place matches.
    pub(super) fn paths(&self, place: usize) -> Arc<[String]> {
        self.paths.get(&place).cloned().unwrap_or_default()
    }

    fn path(&mut self, claim: &Claim, lists: &[Verdict]) -> Cover {
        let Region::Path(access) = claim.region else { return Cover::Open };
        let mut first = Vec::new();
        for path in self.paths(claim.place).iter() {
            let denied = |list: &Verdict| {
                let of = |access| self.policy.path(*list, access, path).cloned();
                of(access).or_else(|| (*list == Verdict::Deny && access == Access::Write).then(|| of(Access::Read))?)
            };
            match lists.iter().find_map(denied) {
                Some(rule) => merge(&mut first, vec![rule]),
                None if self.meaning.taken_back(claim).is_empty() => return Cover::Open,
                // What a `!pattern` takes back of this rule need not be covered.
                None => {}
            }
        }
        self.by_languages(claim, lists, first)
    }

    /// Coverage by the rules that specimens were matched by, each alone; then by all that may have to do with it.
    fn by_languages(&mut self, claim: &Claim, lists: &[Verdict], first: Vec<Arc<Entry>>) -> Cover {
        let Some(own) = self.language(claim) else { return Cover::Undecided };
        for rule in &first {
            let place = self.places.get(&Arc::as_ptr(rule)).copied().unwrap_or(usize::MAX);
            let reaches = |other: &&Claim| self.meaning.reaches(rule.verdict, &other.region, &claim.region);
            let of_rule: Vec<Claim> = self.meaning.of_rule(place).iter().filter(reaches).cloned().collect();
            let plain = |other: &Claim| plainly::covers(&other.pattern, &claim.pattern);
            if of_rule.iter().any(|other| plain(other) && self.meaning.taken_back(other).is_empty()) {
                return Cover::Whole(vec![Arc::clone(rule)]);
            }
            let Some(union) = self.union(claim, &of_rule) else { return Cover::Undecided };
            if let cover @ (Cover::Whole(_) | Cover::ButOdd(..)) = self.outside(&own, &union, vec![Arc::clone(rule)]) {
                return cover;
            }
        }
        self.together(claim, &own, lists)
    }

    fn together(&mut self, claim: &Claim, own: &Language, lists: &[Verdict]) -> Cover {
        let numbers = self.reaching(claim, lists);
        let reaching: Vec<Claim> =
            numbers.iter().filter_map(|number| self.meaning.claims().get(*number)).cloned().collect();
        if reaching.is_empty() {
            return Cover::Open;
        }
        let known = self.last.take().filter(|(of, _)| *of == numbers).map(|(_, union)| union);
        let Some(union) = known.or_else(|| self.union(claim, &reaching)) else { return Cover::Undecided };
        self.last = Some((numbers, union.clone()));
        let all = reaching.iter().map(|claim| Arc::clone(&claim.entry)).collect();
        match self.outside(own, &union, all) {
            Cover::Whole(_) => Cover::Whole(self.needed(claim, own, reaching)),
            other @ (Cover::Open | Cover::ButOdd(..) | Cover::Undecided) => other,
        }
    }

    /// The claims of the lists that may cover some of a claim.
    fn reaching(&self, claim: &Claim, lists: &[Verdict]) -> Vec<usize> {
        let folder = match &claim.pattern {
            Pattern::Path(path) => Some(path.place().0.to_lowercase()),
            Pattern::Text(_) | Pattern::Host(_) => None,
        };
        let meets = |candidate: &&Candidate| match (&folder, &candidate.folder) {
            (Some(one), Some(other)) => path::is_within(one, other) || path::is_within(other, one),
            (None, _) | (_, None) => true,
        };
        let of_lists = self
            .candidates
            .iter()
            .filter(|((list, region), _)| lists.contains(list) && self.meaning.reaches(*list, region, &claim.region));
        let mut found: Vec<usize> =
            of_lists.flat_map(|(_, candidates)| candidates.iter().filter(meets)).map(|found| found.claim).collect();
        found.sort_unstable();
        found
    }

    /// What some claims hold for together; `None` when there is no work left for it.
    fn union(&mut self, claim: &Claim, others: &[Claim]) -> Option<Language> {
        let languages = others.iter().map(|other| self.language(other)).collect::<Option<Vec<_>>>()?;
        let none = Language::nothing(self.meaning.universe(&claim.region));
        Some(Language::union(std::iter::once(none).chain(languages)))
    }

    /// What a claim holds for; `None` when there is no work left for it. Making automata is work, too.
    pub(super) fn language(&mut self, claim: &Claim) -> Option<Language> {
        let automata = 1 + self.meaning.taken_back(claim).len();
        self.budget.take(automata * WORK_OF_AUTOMATON).then(|| self.meaning.language(claim))
    }

    fn outside(&mut self, own: &Language, union: &Language, by: Vec<Arc<Entry>>) -> Cover {
        match self.search(|budget| own.outside(union, budget)) {
            Search::Nothing => Cover::Whole(by),
            Search::Found(witness) if witness.is_readable => Cover::Open,
            Search::Found(witness) => Cover::ButOdd(by, witness.text),
            Search::Undecided => Cover::Undecided,
        }
    }

    /// The same rules without those that are not needed.
    fn needed(&mut self, claim: &Claim, own: &Language, mut covering: Vec<Claim>) -> Vec<Arc<Entry>> {
        if covering.len() <= 2 {
            return covering.into_iter().map(|claim| claim.entry).collect();
        }
        covering.retain(|other| match self.language(other) {
            Some(other) => self.search(|budget| own.overlap(&other, budget)) != Search::Nothing,
            None => true,
        });
        let mut at = 0;
        while at < covering.len() && covering.len() <= FEW {
            let mut others = covering.clone();
            others.remove(at);
            let union = self.union(claim, &others);
            let needless =
                union.is_some_and(|union| self.search(|budget| own.outside(&union, budget)) == Search::Nothing);
            match needless {
                true => covering = others,
                false => at += 1,
            }
        }
        let mut by = Vec::new();
        merge(&mut by, covering.into_iter().map(|claim| claim.entry).collect());
        by
    }

    /// A search within what is left of the work.
    pub(super) fn search(&mut self, search: impl FnOnce(&mut Budget) -> Search) -> Search {
        self.budget.part(WORK_OF_ONE, search)
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

fn candidates(meaning: &Meaning) -> HashMap<(Verdict, Region), Vec<Candidate>> {
    let mut candidates: HashMap<(Verdict, Region), Vec<Candidate>> = HashMap::new();
    let mut seen = HashSet::new();
    for (number, claim) in meaning.claims().iter().enumerate().filter(|(_, claim)| !claim.is_negation()) {
        let (key, folder) = match &claim.pattern {
            Pattern::Text(_) => continue,
            Pattern::Host(host) => (format!("{host:?}"), None),
            Pattern::Path(path) => (plainly::plain_path(path), Some(path.place().0.to_lowercase())),
        };
        let list = (claim.entry.verdict, claim.region.clone());
        if seen.insert((list.clone(), key, meaning.taken_back(claim))) {
            candidates.entry(list).or_default().push(Candidate { claim: number, folder });
        }
    }
    candidates
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

fn is_personal_ask_for_bash(entry: &Entry) -> bool {
    let personal = match entry.origin.layer {
        Layer::User | Layer::Local | Layer::Cli | Layer::Session | Layer::Flag => true,
        Layer::Managed | Layer::Command | Layer::Project => false,
    };
    personal && entry.verdict == Verdict::Ask && entry.rule.tool == "Bash" && entry.rule.content.is_none()
}
