//! Compiling: rules of all sources into the indexes that find them again.

use std::sync::{Arc, OnceLock};

use rustc_hash::FxHashMap;

use crate::call::Workspace;
use crate::catalogue::{self, Kind};
use crate::grant::SetAside;
use crate::policy::{Entry, Idle, Layer, Options, Origin, SettingAside, Source, Status, Written};
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
    index: OnceLock<TextIndex>,
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

    pub(super) fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// Their index, from the policy's entries.
    pub(super) fn index(&self, entries: &[Arc<Entry>]) -> &TextIndex {
        self.index.get_or_init(|| {
            let mut index = TextIndex::default();
            index.make_room(self.ids.len());
            for id in &self.ids {
                let content = entries.get(id.0 as usize).and_then(|entry| entry.rule.content.as_deref());
                index.insert((self.meaning)(content.unwrap_or_default()), *id);
            }
            index
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

/// A source without its rules, which are the next so many entries.
#[derive(Clone, Debug)]
struct Head {
    layer: Layer,
    file: Option<Arc<str>>,
    root: String,
    rules: usize,
}

/// Every rule of every layer, compiled.
#[derive(Clone, Debug)]
pub struct Policy {
    /// Where it holds.
    pub workspace: Workspace,
    /// Everything that is not a rule.
    pub options: Options,
    pub(super) entries: Vec<Arc<Entry>>,
    origins: Vec<Head>,
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
            origins: Vec::new(),
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
        for (number, source) in sources.into_iter().enumerate() {
            policy.add_source(source, u32::try_from(number).unwrap_or(u32::MAX));
        }
        policy
    }

    /// The rules as they were given, source by source.
    pub fn sources(&self) -> Vec<Source> {
        let mut entries = self.entries.iter();
        let source = |head: &Head| {
            let rules = entries.by_ref().take(head.rules).map(|entry| entry.written()).collect();
            Source { layer: head.layer, file: head.file.clone(), root: head.root.clone(), rules }
        };
        self.origins.iter().map(source).collect()
    }

    /// Every rule, strongest layer first, with what `/p` in its path pattern starts from.
    pub fn rooted(&self) -> impl Iterator<Item = (&str, &Arc<Entry>)> {
        let roots = self.origins.iter().flat_map(|head| std::iter::repeat_n(head.root.as_str(), head.rules));
        roots.zip(&self.entries)
    }

    /// Every rule, strongest layer first, with the number of its source: a `!pattern` reaches no other one.
    pub fn sourced(&self) -> impl Iterator<Item = (usize, &Arc<Entry>)> {
        let numbers =
            self.origins.iter().enumerate().flat_map(|(number, head)| std::iter::repeat_n(number, head.rules));
        numbers.zip(&self.entries)
    }

    fn add_source(&mut self, source: Source, number: u32) {
        let Source { layer, file, root, rules } = source;
        let count = rules.len();
        // Rules for one tool mostly stand together.
        let mut last: Option<(String, Kind)> = None;
        for written in rules {
            let id = RuleId(u32::try_from(self.entries.len()).unwrap_or(u32::MAX));
            let Written { verdict, text, rule, line, column } = written;
            let origin = Origin { layer, file: file.clone(), line, column };
            let (rule, error) = match rule {
                Ok(rule) => (rule, None),
                Err(error) => (Rule::tool(Rule::tool_of(&text)), Some(error)),
            };
            let kind = match &last {
                Some((tool, kind)) if *tool == rule.tool => *kind,
                Some(_) | None => last.insert((rule.tool.clone(), self.tool(&rule.tool).kind)).1,
            };
            let status = match error {
                None => self.index(&rule, kind, Place { list: verdict, id, source: number, root: &root }),
                Some(error) => Status::Malformed(error),
            };
            if matches!(status, Status::Malformed(_)) && verdict != Verdict::Allow {
                self.malformed.insert(malformed_pattern(&rule), id);
            }
            let setting_aside = match verdict {
                Verdict::Allow => self.setting_aside(kind),
                Verdict::Ask | Verdict::Deny => SettingAside::Known(SetAside::Never),
            };
            self.entries.push(Arc::new(Entry { verdict, text, rule, origin, status, setting_aside }));
        }
        self.origins.push(Head { layer, file, root, rules: count });
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
        // A letter at the beginning that stands for itself is something to match.
        let is_letter = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'/');
        let is_plain = kind == Kind::Shell && content.as_bytes().first().is_some_and(is_letter);
        if !is_plain && meaning(content) == TextPattern::Prefix(String::new()) {
            return Status::Idle(Idle::MatchesNothing);
        }
        self.add_text(tool, meaning, place);
        Status::Live
    }

    fn add_text(&mut self, tool: &str, meaning: fn(&str) -> TextPattern, Place { list, id, .. }: Place<'_>) {
        match self.texts.get_mut(tool) {
            Some(lists) => lists.of_mut(list).add(id, meaning),
            // The tool's name is copied for its first rule alone.
            None => self.texts.entry(tool.into()).or_default().of_mut(list).add(id, meaning),
        }
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
