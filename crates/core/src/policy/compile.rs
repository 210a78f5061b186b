//! Compiling: rules of all sources into the indexes that find them again.

use std::sync::{Arc, OnceLock};

use rustc_hash::FxHashMap;

use crate::call::Workspace;
use crate::catalogue::{self, Kind};
use crate::grant::SetAside;
use crate::policy::{Entry, Idle, Options, Origin, SettingAside, Source, Status, Written};
use crate::powershell;
use crate::rule::domain::{DomainIndex, DomainPattern};
use crate::rule::index::{RuleId, TextIndex};
use crate::rule::path::{Anchors, PathPattern};
use crate::rule::path_index::PathIndex;
use crate::rule::text::TextPattern;
use crate::rule::{Rule, RuleError};
use crate::verdict::Verdict;

/// The rules of one list about one kind of content.
#[derive(Clone, Debug)]
pub(super) struct Lists<T>([T; 3]);

impl<T> Lists<T> {
    pub(super) fn of(&self, verdict: Verdict) -> &T {
        let [allow, ask, deny] = &self.0;
        match verdict {
            Verdict::Allow => allow,
            Verdict::Ask => ask,
            Verdict::Deny => deny,
        }
    }

    fn of_mut(&mut self, verdict: Verdict) -> &mut T {
        let [allow, ask, deny] = &mut self.0;
        match verdict {
            Verdict::Allow => allow,
            Verdict::Ask => ask,
            Verdict::Deny => deny,
        }
    }
}

impl<T: Default> Default for Lists<T> {
    fn default() -> Self {
        Self([T::default(), T::default(), T::default()])
    }
}

/// The text rules of one list for one tool. They are compiled when somebody asks for one: most rules allow commands, and a command
/// that only reads needs none of them.
#[derive(Clone, Debug)]
pub(super) struct TextRules {
    ids: Vec<RuleId>,
    /// What their content means.
    meaning: fn(&str) -> TextPattern,
    index: OnceLock<Box<TextIndex>>,
}

impl Default for TextRules {
    fn default() -> Self {
        Self { ids: Vec::new(), meaning: TextPattern::command, index: OnceLock::new() }
    }
}

impl TextRules {
    fn add(&mut self, id: RuleId, meaning: fn(&str) -> TextPattern) {
        self.ids.push(id);
        self.meaning = meaning;
    }

    pub(super) fn first(&self) -> Option<RuleId> {
        self.ids.first().copied()
    }

    /// Their index.
    pub(super) fn index(&self, policy: &Policy) -> &TextIndex {
        self.index.get_or_init(|| {
            let mut index = TextIndex::default();
            index.make_room(self.ids.len());
            for id in &self.ids {
                index.insert((self.meaning)(policy.content(*id).unwrap_or_default()), *id);
            }
            Box::new(index)
        })
    }
}

/// What the content of a rule for commands means.
fn command_meaning(kind: Kind) -> fn(&str) -> TextPattern {
    match kind == Kind::Powershell {
        true => |content| TextPattern::command(&powershell::canonical(content)),
        false => TextPattern::command,
    }
}

/// A `Tool(param:value)` rule.
#[derive(Clone, Debug)]
pub(super) struct Parameter {
    pub(super) name: String,
    pub(super) value: TextPattern,
    pub(super) id: RuleId,
}

/// Every rule of every layer, compiled.
#[derive(Clone, Debug)]
pub struct Policy {
    /// Where it holds.
    pub workspace: Workspace,
    /// Everything that is not a rule. Rules that nobody asked for yet are read by these.
    pub options: Options,
    sources: Vec<Source>,
    /// One for each rule of the sources. Those that [`plain_command`] knows are there when somebody asked for them.
    entries: Vec<OnceLock<Arc<Entry>>>,
    /// All of them, once somebody asked for that.
    all: OnceLock<Vec<Arc<Entry>>>,
    pub(super) tools: Lists<TextIndex>,
    pub(super) texts: FxHashMap<Box<str>, Lists<TextRules>>,
    pub(super) reads: Lists<PathIndex>,
    pub(super) writes: Lists<PathIndex>,
    pub(super) hosts: Lists<DomainIndex>,
    pub(super) parameters: FxHashMap<Box<str>, Lists<Vec<Parameter>>>,
    pub(super) malformed: TextIndex,
    pub(super) excluded: TextIndex,
}

impl Policy {
    /// Compiles the rules of all sources, strongest layer first.
    pub fn build(workspace: Workspace, mut sources: Vec<Source>, options: Options) -> Self {
        sources.sort_by_key(|source| source.layer);
        let paths = || Lists(Verdict::ALL.map(|list| PathIndex::new(options.case, list)));
        let mut policy = Self {
            entries: Vec::with_capacity(sources.iter().map(|source| source.rules.len()).sum()),
            all: OnceLock::new(),
            sources: Vec::new(),
            tools: Lists::default(),
            texts: FxHashMap::default(),
            reads: paths(),
            writes: paths(),
            hosts: Lists::default(),
            parameters: FxHashMap::default(),
            malformed: TextIndex::default(),
            excluded: TextIndex::default(),
            workspace,
            options,
        };
        for pattern in policy.options.sandbox.excluded.clone() {
            policy.excluded.insert(TextPattern::command(&pattern), RuleId(0));
        }
        for (number, source) in sources.iter().enumerate() {
            policy.add_source(source, u32::try_from(number).unwrap_or(u32::MAX));
        }
        policy.sources = sources;
        policy
    }

    /// The rules as they were given, source by source, strongest layer first.
    pub fn sources(&self) -> &[Source] {
        &self.sources
    }

    /// Every rule, strongest layer first.
    pub fn entries(&self) -> &[Arc<Entry>] {
        let ids = || (0..u32::try_from(self.entries.len()).unwrap_or(u32::MAX)).map(RuleId);
        self.all.get_or_init(|| ids().filter_map(|id| self.entry(id).cloned()).collect())
    }

    /// Every rule, strongest layer first, with what `/p` in its path pattern starts from.
    pub fn rooted(&self) -> impl Iterator<Item = (&str, &Arc<Entry>)> {
        let sources = self.sources.iter();
        sources.flat_map(|source| std::iter::repeat_n(source.root.as_str(), source.rules.len())).zip(self.entries())
    }

    /// Every rule, strongest layer first, with the number of its source: a `!pattern` reaches no other one.
    pub fn sourced(&self) -> impl Iterator<Item = (usize, &Arc<Entry>)> {
        let sources = self.sources.iter().enumerate();
        sources.flat_map(|(number, source)| std::iter::repeat_n(number, source.rules.len())).zip(self.entries())
    }

    /// A rule.
    pub(super) fn entry(&self, id: RuleId) -> Option<&Arc<Entry>> {
        let entry = self.entries.get(id.0 as usize)?;
        if let Some(entry) = entry.get() {
            return Some(entry);
        }
        let (source, written) = self.written(id)?;
        Some(entry.get_or_init(|| {
            let (rule, status) = match written.rule() {
                Ok(rule) => (rule, Status::Live),
                Err(error) => (Rule::tool(Rule::tool_of(&written.text)), Status::Malformed(error)),
            };
            self.read((source, written), (rule, Kind::Shell), status)
        }))
    }

    /// What a rule is about, told without reading it where that will do.
    fn content(&self, id: RuleId) -> Option<&str> {
        match self.entries.get(id.0 as usize)?.get() {
            Some(entry) => entry.rule.content.as_deref(),
            None => plain_command(self.written(id)?.1),
        }
    }

    fn written(&self, id: RuleId) -> Option<(&Source, &Written)> {
        let mut place = id.0 as usize;
        for source in &self.sources {
            match source.rules.get(place) {
                Some(written) => return Some((source, written)),
                None => place -= source.rules.len(),
            }
        }
        None
    }

    fn add_source(&mut self, source: &Source, number: u32) {
        // Rules for one tool mostly stand together.
        let mut last: Option<(String, Kind)> = None;
        let mut ahead = source.rules.as_slice();
        while let Some((written, behind)) = ahead.split_first() {
            let plain = ahead.iter().take_while(|written| plain_command(written).is_some()).count();
            if plain > 0 {
                self.add_commands(plain);
                ahead = ahead.get(plain..).unwrap_or_default();
                continue;
            }
            ahead = behind;
            let id = RuleId(u32::try_from(self.entries.len()).unwrap_or(u32::MAX));
            let place = Place { list: written.verdict, id, source: number, root: &source.root };
            let (rule, error) = match written.rule() {
                Ok(rule) => (rule, None),
                Err(error) => (Rule::tool(Rule::tool_of(&written.text)), Some(error)),
            };
            let kind = match &last {
                Some((tool, kind)) if *tool == rule.tool => *kind,
                Some(_) | None => last.insert((rule.tool.clone(), self.tool(&rule.tool).kind)).1,
            };
            let status = match error {
                None => self.index(&rule, kind, place),
                Some(error) => Status::Malformed(error),
            };
            if matches!(status, Status::Malformed(_)) && written.verdict != Verdict::Allow {
                self.malformed.insert(malformed_pattern(&rule), id);
            }
            self.entries.push(self.read((source, written), (rule, kind), status).into());
        }
    }

    /// Adds the next so many rules, which plainly allow commands.
    fn add_commands(&mut self, count: usize) {
        let first = self.entries.len();
        self.entries.resize_with(first + count, OnceLock::new);
        let ids = (first..first + count).map(|place| RuleId(u32::try_from(place).unwrap_or(u32::MAX)));
        self.texts_of(COMMANDS).of_mut(Verdict::Allow).ids.extend(ids);
    }

    /// A rule with everything that is known of it.
    fn read(&self, (source, written): (&Source, &Written), (rule, kind): (Rule, Kind), status: Status) -> Arc<Entry> {
        let Written { verdict, ref text, line, column, .. } = *written;
        let origin = Origin { layer: source.layer, file: source.file.clone(), line, column };
        let setting_aside = match verdict {
            Verdict::Allow => self.setting_aside(kind),
            Verdict::Ask | Verdict::Deny => SettingAside::Known(SetAside::Never),
        };
        Arc::new(Entry { verdict, text: text.clone(), rule, origin, status, setting_aside })
    }

    fn setting_aside(&self, kind: Kind) -> SettingAside {
        match self.options.classify_all_shell && kind.runs_commands() {
            true => SettingAside::Known(SetAside::Always),
            false => SettingAside::ByRule(kind),
        }
    }

    fn index(&mut self, rule: &Rule, kind: Kind, place: Place<'_>) -> Status {
        if place.list == Verdict::Allow && rule.names_many() && !is_one_servers_glob(&rule.tool) {
            return Status::Malformed(RuleError::WideAllow);
        }
        let Some(content) = &rule.content else {
            self.index_tool(rule, place);
            return Status::Live;
        };
        if rule.tool.starts_with("mcp__") {
            return Status::Malformed(RuleError::McpContent);
        }
        if place.list != Verdict::Allow && self.index_parameter(rule, place) {
            return Status::Live;
        }
        match kind {
            Kind::Shell | Kind::Powershell => self.index_command((&rule.tool, kind), content, place),
            Kind::Agent | Kind::Skill => self.index_name(&rule.tool, place),
            Kind::Read | Kind::Edit | Kind::Search => self.index_path(&rule.tool, content, place),
            Kind::Fetch => self.index_host(content, place),
            Kind::Books | Kind::Person | Kind::Plain => Status::Idle(Idle::NoContent),
        }
    }

    fn index_tool(&mut self, rule: &Rule, place: Place<'_>) {
        let Place { list, id, .. } = place;
        // `Edit` is every writer and `Read` every reader, in a shell command too: refusing the tool refuses them all.
        if list != Verdict::Allow && matches!(rule.tool.as_str(), "Edit" | "Read") {
            self.index_path(&rule.tool, "//**", place);
        }
        let tools = self.tools.of_mut(list);
        tools.insert(TextPattern::glob(&rule.tool), id);
        // `mcp__server` is every tool of that server.
        let server = rule.tool.strip_prefix("mcp__").filter(|server| !server.contains("__") && !server.contains('*'));
        if let Some(server) = server {
            tools.insert(TextPattern::glob(&format!("mcp__{server}__*")), id);
        }
    }

    /// Indexes `Tool(param:value)`; false when it is no such rule.
    fn index_parameter(&mut self, rule: &Rule, Place { list, id, .. }: Place<'_>) -> bool {
        let content = rule.content.as_deref().unwrap_or_default();
        let Some((name, value)) = content.split_once(':') else { return false };
        let (name, value) = (name.trim(), value.trim());
        let tool = self.tool(&rule.tool);
        if !tool.params.contains(&name) {
            return false;
        }
        let runs_commands = tool.runs_commands();
        let parameter = Parameter { name: name.to_owned(), value: TextPattern::glob(value), id };
        self.parameters.entry(rule.tool.as_str().into()).or_default().of_mut(list).push(parameter);
        // `Bash(timeout:*)` may mean the program as well as the field: a deny holds for both.
        !(runs_commands && value == "*")
    }

    fn index_command(&mut self, (tool, kind): (&str, Kind), content: &str, place: Place<'_>) -> Status {
        let names_field = |field| content.strip_prefix(field).is_some_and(|rest| rest.trim_start().starts_with(':'));
        if !content.ends_with(":*") && content.contains(':') && self.tool(tool).field.is_some_and(names_field) {
            return Status::Idle(Idle::PrimaryField);
        }
        let meaning = command_meaning(kind);
        let is_something = kind == Kind::Shell && begins_with_a_letter(content);
        if !is_something && meaning(content) == TextPattern::Prefix(String::new()) {
            return Status::Idle(Idle::MatchesNothing);
        }
        self.add_text(tool, meaning, place);
        Status::Live
    }

    fn add_text(&mut self, tool: &str, meaning: fn(&str) -> TextPattern, Place { list, id, .. }: Place<'_>) {
        self.texts_of(tool).of_mut(list).add(id, meaning);
    }

    fn texts_of(&mut self, tool: &str) -> &mut Lists<TextRules> {
        self.texts.entry(tool.into()).or_default()
    }

    fn index_name(&mut self, tool: &str, place: Place<'_>) -> Status {
        self.add_text(tool, TextPattern::command, place);
        Status::Live
    }

    fn index_path(&mut self, tool: &str, content: &str, place: Place<'_>) -> Status {
        let indexes = match tool {
            "Read" => &mut self.reads,
            "Edit" => &mut self.writes,
            other => {
                let use_instead = match catalogue::built_in(other).map(|tool| tool.kind) {
                    Some(Kind::Edit) => "Edit",
                    _ => "Read",
                };
                return Status::Idle(Idle::OtherSpelling { use_instead });
            }
        };
        let Workspace { directory, home, .. } = &self.workspace;
        let anchors = Anchors { directory, home: home.as_deref(), source: place.root };
        match PathPattern::new(content, place.list, &anchors) {
            Some(pattern) => {
                indexes.of_mut(place.list).insert(pattern, place.id, place.source);
                Status::Live
            }
            None => Status::Idle(Idle::MatchesNothing),
        }
    }

    fn index_host(&mut self, content: &str, Place { list, id, .. }: Place<'_>) -> Status {
        let host = content.strip_prefix("domain:").and_then(DomainPattern::new);
        match (host, list) {
            (Some(pattern), _) => {
                self.hosts.of_mut(list).insert(pattern, id);
                Status::Live
            }
            (None, Verdict::Allow) => Status::Idle(Idle::MatchesNothing),
            // Nobody knows which host was meant to be stopped.
            (None, Verdict::Ask | Verdict::Deny) => Status::Malformed(RuleError::WrongType),
        }
    }
}

/// The tool that most rules are about.
const COMMANDS: &str = "Bash";

/// What a rule allows, if it plainly allows commands. Settings have many such rules and most calls ask for none, so they are not
/// read until one does: what could be wrong with others, and what else others could mean, is ruled out by a look at the text.
fn plain_command(written: &Written) -> Option<&str> {
    if written.verdict != Verdict::Allow || written.reading.is_some() {
        return None;
    }
    let content = written.text.strip_prefix(COMMANDS)?.strip_prefix('(')?.strip_suffix(')')?;
    let is_plain = begins_with_a_letter(content) && !content.bytes().any(|byte| byte == b'\\');
    // Such a rule may be about the field of that name.
    let names_field = content.starts_with("command");
    (is_plain && !names_field).then_some(content)
}

/// A letter that stands for itself is something to match.
fn begins_with_a_letter(content: &str) -> bool {
    content.as_bytes().first().is_some_and(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'/'))
}

/// Where a rule goes while it is indexed.
#[derive(Clone, Copy)]
struct Place<'a> {
    list: Verdict,
    id: RuleId,
    source: u32,
    root: &'a str,
}

fn is_one_servers_glob(tool: &str) -> bool {
    let Some((server, _)) = tool.strip_prefix("mcp__").and_then(|rest| rest.split_once("__")) else { return false };
    !server.is_empty() && !server.contains('*')
}

/// The tools that a malformed rule may have been about; all of them when not even that can be read.
fn malformed_pattern(rule: &Rule) -> TextPattern {
    let readable = !rule.tool.is_empty() && !rule.tool.contains(char::is_whitespace);
    TextPattern::glob(if readable { &rule.tool } else { "*" })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::policy::Text;

    proptest! {
        /// What is not read before somebody asks would have been read as just that.
        #[test]
        fn a_plain_command_reads_as_it_looks(text in r"( ?(Bash|Read|mcp__a)\()?(command|[ac:*. ()\\/]){0,6}\)? ?") {
            let written = Written::new(Verdict::Allow, &text);
            if let Some(content) = plain_command(&written) {
                let rule = written.rule().unwrap();
                prop_assert_eq!((rule.tool.as_str(), rule.content.as_deref()), (COMMANDS, Some(content)));
                let mut policy = Policy::build(Workspace::default(), Vec::new(), Options::default());
                let place = Place { list: Verdict::Allow, id: RuleId(0), source: 0, root: "/" };
                let kind = policy.tool(COMMANDS).kind;
                prop_assert_eq!(policy.index(&rule, kind, place), Status::Live);
                prop_assert_eq!(kind, Kind::Shell);
            }
        }
    }

    #[test]
    fn rules_stay_in_their_order_whoever_is_asked_for_first() {
        let written = |(text, line)| Written { line, ..Written::new(Verdict::Allow, text) };
        let rules = [("Bash(one:*)", 1), ("Read(./a)", 2), ("Bash(two)", 3), ("Bash(", 4), ("Bash(one b:*)", 5)];
        let source = Source::of(crate::policy::Layer::User, "/", rules.map(written).into());
        let deny = Source::of(crate::policy::Layer::Local, "/", vec![Written::new(Verdict::Deny, "Bash(no:*)")]);
        let policy = Policy::build(Workspace::default(), vec![source, deny], Options::default());
        let found = policy.text(Verdict::Allow, "Bash", Text::every("one b c")).unwrap();
        assert_eq!((found.text.as_str(), found.origin.line), ("Bash(one:*)", 1));
        assert_eq!(policy.some_text_rule(Verdict::Allow, "Bash").unwrap().origin.line, 1);
        assert_eq!(policy.entries().iter().map(|entry| entry.origin.line).collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5]);
        assert!(Arc::ptr_eq(found, &policy.entries()[1]), "it is read once");
        let sources: Vec<usize> = policy.sourced().map(|(number, _)| number).collect();
        assert_eq!(sources, [0, 1, 1, 1, 1, 1]);
    }
}
