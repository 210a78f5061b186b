//! All tables as one tree of names, and the Rust text that holds it.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::language;
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

    /// The statics for all programs.
    pub(crate) fn programs(&self) -> Result<String, String> {
        let mut text = Text::default();
        let (entries, _) = text.children(&self.root, "", "")?;
        let _ = writeln!(text.out, "pub(crate) static PROGRAMS: &[Entry] = {entries};");
        let _ = writeln!(text.out, "pub(crate) static INITIALS: [u16; 257] = {:?};", self.initials());
        Ok(text.out)
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

/// Rust text under construction.
#[derive(Default)]
struct Text {
    out: String,
    count: usize,
    /// Specs that run something given in their words, or have a subcommand that does.
    wrapping: Vec<String>,
}

impl Text {
    /// The tables of exact names and of families below a node.
    fn children(&mut self, node: &Node, path: &str, inherited: &str) -> Result<(String, String), String> {
        let (mut exact, mut families) = (Vec::new(), Vec::new());
        let mut written: BTreeMap<String, String> = BTreeMap::new();
        for (name, child) in &node.children {
            let spec = match self.twin(node, name, child) {
                Some(twin) => match written.get(&twin) {
                    Some(spec) => spec.clone(),
                    None => self.child(node, (&twin, path), inherited)?,
                },
                None => self.child(node, (name, path), inherited)?,
            };
            written.insert(name.clone(), spec.clone());
            match name.strip_suffix('*') {
                Some(start) => families.push(format!("Entry {{ name: {start:?}, spec: &{spec} }}")),
                None => exact.push(format!("Entry {{ name: {name:?}, spec: &{spec} }}")),
            }
        }
        Ok((format!("&[{}]", exact.join(", ")), format!("&[{}]", families.join(", "))))
    }

    fn child(&mut self, node: &Node, at: (&str, &str), inherited: &str) -> Result<String, String> {
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

    fn spec(&mut self, node: &Node, path: &str, inherited: &str) -> Result<String, String> {
        let implied = Table::default();
        let table = node.table.as_ref().unwrap_or(&implied);
        let mut flags = language::flags(&table.flags)?;
        for (name, code) in language::flags(&table.common)?.into_iter().chain(language::flags(inherited)?) {
            flags.entry(name).or_insert(code);
        }
        let below = if table.inherit {
            format!("{inherited}\n{}\n{}", table.flags, table.common)
        } else {
            inherited.to_string()
        };
        let (subcommands, families) = self.children(node, path, &below)?;
        let flags: Vec<String> = flags.into_values().collect();
        let default = match table.default.as_str() {
            "" => "None".to_string(),
            role => format!("Some({})", language::role(role)?),
        };
        let does = table.does.iter().map(|deed| language::deed(deed)).collect::<Result<Vec<_>, _>>()?;
        let forms = table.forms.iter().map(|form| language::form(form)).collect::<Result<Vec<_>, _>>()?;
        let operands = language::operands(&table.operands)?.join(", ");
        let text = format!("{operands} {} {subcommands} {families}", flags.join(" "));
        let wraps = table.reader == "env" || ["Role::Command", "Role::Script"].iter().any(|role| text.contains(role));
        let wraps = wraps || self.wrapping.iter().any(|below| text.contains(&format!("&{below} ")));
        self.count += 1;
        let name = format!("S{}", self.count);
        if wraps {
            self.wrapping.push(name.clone());
        }
        let _ = writeln!(
            self.out,
            "static {name}: Spec = Spec {{ path: {path:?}, grammar: Grammar::{}, reader: Reader::{}, flags: &[{}], operands: &[{}], default: {default}, does: &[{}], subcommands: {subcommands}, families: {families}, wraps: Wraps::{}, surprises: Surprises::{}, forms: &[{}] }};",
            language::grammar(&table.grammar)?,
            language::reader(&table.reader)?,
            flags.join(", "),
            operands,
            does.join(", "),
            if wraps { "Something" } else { "Nothing" },
            if table.harmless { "Harmless" } else { "Possible" },
            forms.join(", "),
        );
        Ok(name)
    }
}
