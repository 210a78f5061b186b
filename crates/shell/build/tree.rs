//! All tables as one tree of names, and what the crate knows from it.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::language;
use crate::model::{Deed, Entry, Flag, Reader, Role, Spec, SpecAt, Surprises, Takes, Wraps};
use crate::pool::{List, Pools, list_static, text};
use crate::table::Table;

/// How a name came to its table. A table of its own wins over being listed in another, and a short list over a
/// long one: the long ones are for what little can be said of many.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Claim {
    Own,
    Listed(usize),
}

/// A program or subcommand, and what lies below it.
#[derive(Default)]
struct Node {
    table: Option<Table>,
    claim: Option<Claim>,
    children: BTreeMap<String, Node>,
}

/// Every program.
#[derive(Default)]
pub(crate) struct Tree {
    root: Node,
    examples: String,
}

impl Tree {
    /// Adds a file's tables.
    pub(crate) fn add(&mut self, tables: Vec<(String, Table)>) -> Result<(), String> {
        for (name, table) in tables {
            self.examples.push_str(&examples(&name, &table));
            let (parent, last) = name.rsplit_once(' ').unwrap_or(("", &name));
            // A last word with a star in front is a label for the names listed under `each`.
            if !last.starts_with('*') {
                self.place(parent, last, (&table, Claim::Own))?;
            }
            let listed: Vec<&str> =
                table.also.iter().map(String::as_str).chain(table.each.split_whitespace()).collect();
            for each in &listed {
                self.place(parent, each, (&table, Claim::Listed(listed.len())))?;
            }
        }
        Ok(())
    }

    /// Other names of a parent share its children, so a table is placed under the first name only; the text of
    /// the tree resolves the others.
    fn place(&mut self, parent: &str, name: &str, (table, claim): (&Table, Claim)) -> Result<(), String> {
        let mut node = &mut self.root;
        for word in parent.split_whitespace() {
            node = node.children.entry(word.to_string()).or_default();
        }
        let node = node.children.entry(name.to_string()).or_default();
        if node.claim == Some(claim) {
            return Err(format!("`{parent} {name}` stands twice"));
        }
        if node.claim.is_none_or(|before| claim < before) {
            node.table = Some(table.clone());
            node.claim = Some(claim);
        }
        Ok(())
    }

    /// All programs and everything below them.
    pub(crate) fn programs(&self) -> Result<Programs, String> {
        let mut specs = Specs::default();
        let (names, _) = specs.children(&self.root, "", "")?;
        Ok(specs.usual_first(names, self.initials()))
    }

    /// For every byte, how many programs start with a lesser one: where a name is looked for in their sorted list.
    fn initials(&self) -> Vec<usize> {
        let starts_below = |name: &str, byte| name.bytes().next().is_none_or(|first| usize::from(first) < byte);
        let count = |byte| self.root.children.keys().filter(|name| starts_below(name, byte)).count();
        (0..=256).map(count).collect()
    }

    /// The examples, for the tests.
    pub(crate) fn examples(&self) -> String {
        format!("static EXAMPLES: &[Example] = &[\n{}];\n", self.examples)
    }
}

fn examples(name: &str, table: &Table) -> String {
    let mut out = String::new();
    for line in &table.accept {
        let _ = writeln!(out, "Example {{ table: {name:?}, line: {line:?}, expected: Expected::Reading }},");
    }
    for line in &table.reject {
        let _ = writeln!(out, "Example {{ table: {name:?}, line: {line:?}, expected: Expected::Otherwise }},");
    }
    for (line, effects) in &table.effects {
        let _ =
            writeln!(out, "Example {{ table: {name:?}, line: {line:?}, expected: Expected::Exactly(&{effects:?}) }},");
    }
    out
}

/// What the crate knows of programs.
pub(crate) struct Programs {
    /// The usual ones first.
    specs: Vec<Spec>,
    names: List<Entry>,
    initials: Vec<usize>,
}

impl Programs {
    /// The statics, with everything they point to in the pools.
    pub(crate) fn statics(&self, pools: &mut Pools) -> String {
        let usual: Vec<&Spec> = self.specs.iter().filter(|spec| is_usual(spec)).collect();
        let is_usual_name = |entry: &&Entry| usual.iter().any(|spec| spec.path == entry.name);
        let usual_names = pools.entries(self.names.iter().filter(is_usual_name));
        for spec in &usual {
            pools.spec(spec);
        }
        pools.end_usual();
        let names = pools.entries(self.names);
        let specs: Vec<String> = self.specs.iter().map(|spec| pools.spec(spec)).collect();
        let (usual, others) = specs.split_at(usual.len());
        let mut out = format!("pub(crate) static USUAL_PROGRAMS: List<Entry> = {usual_names};\n");
        let _ = writeln!(out, "pub(crate) static PROGRAMS: List<Entry> = {names};");
        let _ = writeln!(out, "pub(crate) static INITIALS: [u16; 257] = {:?};", self.initials);
        out + &list_static("USUAL_SPECS", "Spec", usual) + &list_static("SPECS", "Spec", others)
    }

    /// Every spec in plain words, a line each, against which the tests hold what comes out of the pools.
    pub(crate) fn outline(&self) -> String {
        self.specs.iter().map(|spec| format!("{spec:?}\n")).collect()
    }
}

/// What agents run all day. What is known of it lies beside each other: whoever looks up two of these touches less of the file.
const USUAL: [&str; 30] = [
    "cat",
    "cd",
    "echo",
    "find",
    "grep",
    "head",
    "ls",
    "pwd",
    "rg",
    "sed",
    "sort",
    "tail",
    "test",
    "wc",
    "git",
    "git add",
    "git branch",
    "git commit",
    "git diff",
    "git log",
    "git push",
    "git show",
    "git status",
    "cargo",
    "cargo build",
    "cargo test",
    "npm",
    "npm run",
    "npm test",
    "python3",
];

fn is_usual(spec: &Spec) -> bool {
    USUAL.contains(&spec.path)
}

/// Specs under construction.
#[derive(Default)]
struct Specs {
    all: Vec<Spec>,
}

impl Specs {
    /// The tables of exact names and of families below a node.
    fn children(&mut self, node: &Node, path: &str, inherited: &str) -> Result<(List<Entry>, List<Entry>), String> {
        let (mut exact, mut families) = (Vec::new(), Vec::new());
        let mut written: BTreeMap<String, SpecAt> = BTreeMap::new();
        for (name, child) in &node.children {
            let own = self.twin(node, name, child).unwrap_or_else(|| name.clone());
            let spec = match written.get(&own) {
                Some(spec) => *spec,
                None => self.child(node, (&own, path), inherited)?,
            };
            written.insert(own, spec);
            match name.strip_suffix('*') {
                Some(start) => families.push(Entry { name: text(start), spec }),
                None => exact.push(Entry { name: text(name), spec }),
            }
        }
        Ok((exact.leak(), families.leak()))
    }

    /// All of them, in another order than they were found in.
    fn usual_first(self, names: List<Entry>, initials: Vec<usize>) -> Programs {
        let mut specs: Vec<(u16, Spec)> = (0..).zip(self.all).collect();
        specs.sort_by_key(|(_, spec)| !is_usual(spec));
        let places: BTreeMap<u16, u16> = specs.iter().map(|(before, _)| *before).zip(0..).collect();
        let moved = |entries: List<Entry>| -> List<Entry> {
            let place = |entry: &Entry| places.get(&entry.spec.0).map_or(entry.spec, |place| SpecAt(*place));
            entries.iter().map(|entry| Entry { name: entry.name, spec: place(entry) }).collect::<Vec<_>>().leak()
        };
        let moved_below = |(_, spec): (u16, Spec)| Spec {
            subcommands: moved(spec.subcommands),
            families: moved(spec.families),
            ..spec
        };
        Programs { names: moved(names), specs: specs.into_iter().map(moved_below).collect(), initials }
    }

    fn child(&mut self, node: &Node, at: (&str, &str), inherited: &str) -> Result<SpecAt, String> {
        let (name, path) = at;
        let Some(child) = node.children.get(name) else { return Err(format!("no table for `{path} {name}`")) };
        let full = format!("{path} {name}");
        self.spec(child, full.trim(), inherited).map_err(|error| format!("[{}]: {error}", full.trim()))
    }

    /// The sibling that has the subcommands of which this one is another name. Only the sibling whose table it is
    /// counts: one that merely stands in the same list has its subcommands to itself.
    fn twin(&self, node: &Node, name: &str, child: &Node) -> Option<String> {
        if !child.children.is_empty() {
            return None;
        }
        let table = child.table.as_ref()?;
        let (found, _) = node.children.iter().find(|(other, twin)| {
            other.as_str() != name
                && twin.claim == Some(Claim::Own)
                && !twin.children.is_empty()
                && twin.table.as_ref().is_some_and(|table| table.also.iter().any(|also| also == name))
        })?;
        table.also.iter().any(|also| also == name).then(|| found.clone())
    }

    fn spec(&mut self, node: &Node, path: &str, inherited: &str) -> Result<SpecAt, String> {
        let implied = Table::default();
        let table = node.table.as_ref().unwrap_or(&implied);
        let mut flags = language::flags(&table.flags)?;
        for (name, flag) in language::flags(&table.common)?.into_iter().chain(language::flags(inherited)?) {
            flags.entry(name).or_insert(flag);
        }
        let below = if table.inherit {
            format!("{inherited}\n{}\n{}", table.flags, table.common)
        } else {
            inherited.to_string()
        };
        let (subcommands, families) = self.children(node, path, &below)?;
        let default = match table.default.as_str() {
            "" => None,
            role => Some(language::role(role)?),
        };
        let mut spec = Spec {
            path: text(path),
            grammar: language::grammar(&table.grammar)?,
            reader: language::reader(&table.reader)?,
            flags: flags.into_values().collect::<Vec<_>>().leak(),
            operands: language::operands(&table.operands)?.leak(),
            default,
            does: language::deeds(&table.does)?.leak(),
            subcommands,
            families,
            wraps: Wraps::Nothing,
            surprises: if table.harmless { Surprises::Harmless } else { Surprises::Possible },
            forms: table.forms.iter().map(|form| language::form(form)).collect::<Result<Vec<_>, _>>()?.leak(),
        };
        if self.wraps(&spec) {
            spec.wraps = Wraps::Something;
        }
        let at = u16::try_from(self.all.len()).map_err(|_| "too many tables")?;
        self.all.push(spec);
        Ok(SpecAt(at))
    }

    /// Whether a spec runs something given in its words, or has a subcommand that does.
    fn wraps(&self, spec: &Spec) -> bool {
        let below =
            |entry: &Entry| self.all.get(usize::from(entry.spec.0)).is_some_and(|spec| spec.wraps == Wraps::Something);
        spec.reader == Reader::Env
            || spec.operands.iter().any(|operand| runs(operand.role))
            || spec.flags.iter().any(flag_runs)
            || spec.subcommands.iter().chain(spec.families).any(below)
    }
}

fn flag_runs(flag: &Flag) -> bool {
    let value = match flag.takes {
        Takes::Nothing => false,
        Takes::Value(role) | Takes::Optional(role) | Takes::Pair(role) => runs(role),
    };
    value || flag.does.iter().any(|deed| matches!(deed, Deed::Operands(role) | Deed::Default(role) if runs(*role)))
}

fn runs(role: Role) -> bool {
    matches!(role, Role::Command | Role::Script)
}
