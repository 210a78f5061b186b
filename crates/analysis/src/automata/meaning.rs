//! What the rules of a policy are about: each rule as claims on regions of calls, each claim as a language. This reads
//! rules exactly as the policy compiles them; a test holds the two against each other.

use std::collections::HashMap;
use std::sync::Arc;

use mayi_core::catalogue::Kind;
use mayi_core::path::Case;
use mayi_core::policy::{Access, Entry, Policy, Status};
use mayi_core::powershell;
use mayi_core::rule::domain::DomainPattern;
use mayi_core::rule::path::{Anchors, PathPattern};
use mayi_core::rule::text::TextPattern;
use mayi_core::verdict::Verdict;
use rustc_hash::FxHashMap;

use super::negations::Negations;
use super::{Language, Universe};

/// What of a call is compared.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Region {
    /// The name of its tool, whatever the input is.
    Tool,
    /// The text of a tool: a command, an agent, a skill.
    Text {
        /// The tool.
        tool: String,
    },
    /// A path that is read or written, by whatever tool.
    Path(Access),
    /// The host that is fetched from.
    Host,
    /// A parameter of a tool.
    Parameter {
        /// The tool.
        tool: String,
        /// The parameter.
        name: String,
    },
}

/// The pattern of a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// Over text.
    Text(TextPattern),
    /// Over paths.
    Path(PathPattern),
    /// Over hosts.
    Host(DomainPattern),
}

/// What one rule says about one region.
#[derive(Clone, Debug)]
pub struct Claim {
    /// The rule.
    pub entry: Arc<Entry>,
    /// Its place in the policy.
    pub place: usize,
    /// What of a call it is about.
    pub region: Region,
    /// What it matches there.
    pub pattern: Pattern,
    /// What takes some of that back again. Claims with the same number lose the same.
    pub taken: Taken,
    /// Rules of one list in one file: a `!pattern` reaches no further.
    pub(super) source: usize,
}

/// The number of a set of `!pattern`s.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Taken(u32);

impl Taken {
    /// Whether nothing is taken back.
    pub fn is_nothing(self) -> bool {
        self == Self::default()
    }
}

/// What the rules of a policy are about.
#[derive(Clone, Debug)]
pub struct Meaning {
    claims: Vec<Claim>,
    by_place: Vec<std::ops::Range<usize>>,
    /// Sets of `!pattern`s by their number; the first one is empty.
    taken: Vec<Box<[usize]>>,
    shells: Vec<String>,
    case: Case,
    universes: HashMap<String, Universe>,
}

impl Meaning {
    /// The meaning of every rule that counts.
    pub fn of(policy: &Policy) -> Self {
        let mut meaning = Self {
            claims: Vec::new(),
            by_place: Vec::new(),
            taken: vec![Box::default()],
            shells: Vec::new(),
            case: policy.options.case,
            universes: HashMap::new(),
        };
        let roots = policy.rooted().map(|(root, _)| root);
        for (place, ((source, entry), root)) in policy.sourced().zip(roots).enumerate() {
            let before = meaning.claims.len();
            if entry.status == Status::Live {
                let reader = Reader { policy, entry, root };
                let claimed = reader.claims().into_iter();
                meaning.claims.extend(claimed.map(|(region, pattern)| Claim {
                    entry: Arc::clone(entry),
                    place,
                    region,
                    pattern,
                    taken: Taken::default(),
                    source,
                }));
                meaning.note_tool(policy, &entry.rule.tool);
            }
            meaning.by_place.push(before..meaning.claims.len());
        }
        meaning.note_taken();
        meaning
    }

    /// Notes for each claim which later `!pattern`s of its list and source may take back some of it. Denies and asks
    /// with an anchor are beyond their reach.
    fn note_taken(&mut self) {
        let negations = Negations::of(&self.claims);
        let mut numbers: FxHashMap<Box<[usize]>, Taken> = FxHashMap::default();
        numbers.insert(Box::default(), Taken::default());
        let mut of_claim = |claim: &Claim| {
            let found: Box<[usize]> = negations.reaching(claim).into();
            if let Some(known) = numbers.get(&found) {
                return *known;
            }
            let next = Taken(u32::try_from(self.taken.len()).unwrap_or(u32::MAX));
            self.taken.push(found.clone());
            numbers.insert(found, next);
            next
        };
        let taken: Vec<Taken> = self.claims.iter().map(&mut of_claim).collect();
        for (claim, taken) in self.claims.iter_mut().zip(taken) {
            claim.taken = taken;
        }
    }

    fn note_tool(&mut self, policy: &Policy, tool: &str) {
        if self.universes.contains_key(tool) {
            return;
        }
        let kind = policy.tool(tool).kind;
        let universe = if kind == Kind::Powershell { Universe::LowerText } else { Universe::Text };
        self.universes.insert(tool.to_owned(), universe);
        if kind == Kind::Shell {
            self.shells.push(tool.to_owned());
        }
    }

    /// Every claim, in the order of the policy.
    pub fn claims(&self) -> &[Claim] {
        &self.claims
    }

    /// The claims of the rule at a place of the policy.
    pub fn of_rule(&self, place: usize) -> &[Claim] {
        self.by_place.get(place).and_then(|range| self.claims.get(range.clone())).unwrap_or_default()
    }

    /// Every region that some rule is about, each once.
    pub fn regions(&self) -> Vec<Region> {
        let mut seen = std::collections::HashSet::new();
        self.claims.iter().map(|claim| &claim.region).filter(|region| seen.insert(*region)).cloned().collect()
    }

    /// The texts that are compared in a region.
    pub fn universe(&self, region: &Region) -> Universe {
        match region {
            Region::Tool => Universe::Name,
            Region::Text { tool } => self.universes.get(tool).copied().unwrap_or(Universe::Text),
            Region::Path(_) => Universe::Path(self.case),
            Region::Host => Universe::Host,
            Region::Parameter { .. } => Universe::Text,
        }
    }

    /// Whether a rule of a list that claims one region speaks for another as well.
    pub fn reaches(&self, list: Verdict, from: &Region, to: &Region) -> bool {
        match (list, from, to) {
            _ if from == to => true,
            // Reading and writing: a read that is denied stops writing, and who may write may read.
            (Verdict::Deny, Region::Path(Access::Read), Region::Path(Access::Write))
            | (Verdict::Allow, Region::Path(Access::Write), Region::Path(Access::Read)) => true,
            // What Bash may not run, no other shell may.
            (Verdict::Deny | Verdict::Ask, Region::Text { tool: bash }, Region::Text { tool }) => {
                bash == "Bash" && self.shells.contains(tool)
            }
            (Verdict::Allow | Verdict::Ask | Verdict::Deny, _, _) => false,
        }
    }

    /// Everything that a claim holds for: its pattern, without what a later `!pattern` of its source takes back.
    pub fn language(&self, claim: &Claim) -> Language {
        self.language_without(claim, self.taken(claim.taken).as_ref())
    }

    /// The same, with what is taken back in hand.
    pub fn language_without(&self, claim: &Claim, taken: Option<&Language>) -> Language {
        let path = match &claim.pattern {
            Pattern::Text(text) => {
                return Language { universe: self.universe(&claim.region), ..Language::text(text) };
            }
            Pattern::Host(host) => return Language::host(host),
            Pattern::Path(path) if path.is_negated() => return Language::nothing(self.universe(&claim.region)),
            Pattern::Path(path) => path,
        };
        let whole = Language::path(path, self.case);
        match (taken, claim.entry.verdict) {
            (None, _) => whole,
            (Some(taken), Verdict::Allow) => whole.minus(taken),
            // As in gitignore: nothing is re-opened below a directory that is matched.
            (Some(taken), Verdict::Ask | Verdict::Deny) => {
                Language::union([Language::path_above(path, self.case), whole.minus(taken)])
            }
        }
    }

    /// What a set of `!pattern`s takes back; `None` for the empty one.
    pub fn taken(&self, taken: Taken) -> Option<Language> {
        let claims = self.taken_back(taken).iter().filter_map(|at| self.claims.get(*at));
        let languages: Vec<Language> = claims.filter_map(|other| other.path(self.case)).collect();
        (!languages.is_empty()).then(|| Language::union(languages))
    }

    /// The claims of a set of `!pattern`s, in the order of the policy.
    pub fn taken_back(&self, taken: Taken) -> &[usize] {
        self.taken.get(taken.0 as usize).map(|set| &**set).unwrap_or_default()
    }

    /// How paths are compared.
    pub fn case(&self) -> Case {
        self.case
    }

    /// What the rules of a list say about a region, all together.
    pub fn list(&self, list: Verdict, region: &Region) -> Language {
        let of_list = self.claims.iter().filter(|claim| claim.entry.verdict == list);
        let speaking = of_list.filter(|claim| self.reaches(list, &claim.region, region));
        let whole = Language::union(speaking.map(|claim| self.language(claim)));
        Language { universe: self.universe(region), ..whole }
    }
}

impl Claim {
    fn path(&self, case: Case) -> Option<Language> {
        match &self.pattern {
            Pattern::Path(path) => Some(Language::path(path, case)),
            Pattern::Text(_) | Pattern::Host(_) => None,
        }
    }

    /// The same pattern on another region.
    #[must_use]
    pub fn on(&self, region: Region) -> Self {
        Self { region, ..self.clone() }
    }

    /// Whether it only takes back what other rules of its source say: `!pattern`.
    pub fn is_negation(&self) -> bool {
        matches!(&self.pattern, Pattern::Path(path) if path.is_negated())
    }
}

impl Pattern {
    /// Whether a text matches, as far as one pattern can tell.
    pub fn matches(&self, text: &str, case: Case) -> bool {
        match self {
            Pattern::Text(pattern) => pattern.matches(text),
            Pattern::Path(pattern) => pattern.matches(text, case),
            Pattern::Host(pattern) => pattern.matches(text),
        }
    }
}

/// Reads one rule as the policy does.
struct Reader<'a> {
    policy: &'a Policy,
    entry: &'a Entry,
    root: &'a str,
}

impl Reader<'_> {
    fn claims(&self) -> Vec<(Region, Pattern)> {
        let tool = self.entry.rule.tool.as_str();
        let Some(content) = self.entry.rule.content.as_deref() else { return self.whole(tool) };
        let known = self.policy.tool(tool);
        let mut claims = Vec::new();
        if self.entry.verdict != Verdict::Allow
            && let Some((name, value)) = content.split_once(':').map(|(name, value)| (name.trim(), value.trim()))
            && known.params.contains(&name)
        {
            let region = Region::Parameter { tool: tool.to_owned(), name: name.to_owned() };
            claims.push((region, Pattern::Text(TextPattern::glob(value))));
            if !(known.runs_commands() && value == "*") {
                return claims;
            }
        }
        let text = |pattern| (Region::Text { tool: tool.to_owned() }, Pattern::Text(pattern));
        match known.kind {
            Kind::Powershell => claims.push(text(TextPattern::command(&powershell::canonical(content)))),
            Kind::Shell | Kind::Agent | Kind::Skill => claims.push(text(TextPattern::command(content))),
            Kind::Read | Kind::Edit | Kind::Search => claims.extend(self.path(tool, content)),
            Kind::Fetch => {
                let host = content.strip_prefix("domain:").and_then(DomainPattern::new);
                claims.extend(host.map(|host| (Region::Host, Pattern::Host(host))));
            }
            Kind::Books | Kind::Person | Kind::Plain => {}
        }
        claims
    }

    fn whole(&self, tool: &str) -> Vec<(Region, Pattern)> {
        let mut claims = vec![(Region::Tool, Pattern::Text(TextPattern::glob(tool)))];
        let server = tool.strip_prefix("mcp__").filter(|server| !server.contains("__") && !server.contains('*'));
        if let Some(server) = server {
            claims.push((Region::Tool, Pattern::Text(TextPattern::glob(&format!("mcp__{server}__*")))));
        }
        if self.entry.verdict != Verdict::Allow {
            claims.extend(self.path(tool, "//**"));
        }
        claims
    }

    fn path(&self, tool: &str, content: &str) -> Option<(Region, Pattern)> {
        let access = match tool {
            "Read" => Access::Read,
            "Edit" => Access::Write,
            _ => return None,
        };
        let workspace = &self.policy.workspace;
        let anchors = Anchors { directory: &workspace.directory, home: workspace.home.as_deref(), source: self.root };
        let pattern = PathPattern::new(content, self.entry.verdict, &anchors)?;
        Some((Region::Path(access), Pattern::Path(pattern)))
    }
}
