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
    source: usize,
}

/// What the rules of a policy are about.
#[derive(Clone, Debug)]
pub struct Meaning {
    claims: Vec<Claim>,
    by_place: Vec<std::ops::Range<usize>>,
    negations: Vec<usize>,
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
            negations: Vec::new(),
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
                    source,
                }));
                meaning.note_tool(policy, &entry.rule.tool);
            }
            meaning.by_place.push(before..meaning.claims.len());
        }
        let is_negation = |claim: &Claim| matches!(&claim.pattern, Pattern::Path(path) if path.is_negated());
        meaning.negations =
            (0..meaning.claims.len()).filter(|at| meaning.claims.get(*at).is_some_and(is_negation)).collect();
        meaning
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
        let path = match &claim.pattern {
            Pattern::Text(text) => {
                return Language { universe: self.universe(&claim.region), ..Language::text(text) };
            }
            Pattern::Host(host) => return Language::host(host),
            Pattern::Path(path) if path.is_negated() => return Language::nothing(self.universe(&claim.region)),
            Pattern::Path(path) => path,
        };
        let whole = Language::path(path, self.case);
        let later = self.taken_back(claim).into_iter().filter_map(|at| self.claims.get(at));
        let taken: Vec<Language> = later.filter_map(|other| other.path(self.case)).collect();
        match (taken.is_empty(), claim.entry.verdict) {
            (true, _) => whole,
            (false, Verdict::Allow) => whole.minus(&Language::union(taken)),
            // As in gitignore: nothing is re-opened below a directory that is matched.
            (false, Verdict::Ask | Verdict::Deny) => {
                let above = Language::path_above(path, self.case);
                Language::union([above, whole.minus(&Language::union(taken))])
            }
        }
    }

    /// The claims that may take back some of what a claim holds for: later `!pattern`s of its list and source. Denies
    /// and asks with an anchor are beyond their reach.
    pub fn taken_back(&self, claim: &Claim) -> Vec<usize> {
        let is_open = match &claim.pattern {
            Pattern::Path(path) => claim.entry.verdict == Verdict::Allow || !path.is_anchored(),
            Pattern::Text(_) | Pattern::Host(_) => false,
        };
        let takes_back = |other: &Claim| {
            other.source == claim.source
                && other.place > claim.place
                && other.region == claim.region
                && other.entry.verdict == claim.entry.verdict
        };
        let later = |at: &usize| is_open && self.claims.get(*at).is_some_and(takes_back);
        self.negations.iter().copied().filter(later).collect()
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
