//! The crate's tables as Rust text: every text once in one string, every list once in the pool of its kind, and
//! everything that points to them as a place. `src/knowledge/pool.rs` says why, and reads them.

use std::collections::HashMap;

use crate::model::{Deed, Entry, Flag, Operand, Role, Spec, Takes};

/// A text while the data is read. A build script ends soon, so nothing is given back.
pub(crate) type Text = &'static str;

/// A list while the data is read.
pub(crate) type List<T> = &'static [T];

/// Keeps a text.
pub(crate) fn text(text: &str) -> Text {
    text.to_string().leak()
}

/// All lists of one kind behind one another, as expressions. The first so many are in a static of their own.
#[derive(Default)]
struct Pool {
    items: Vec<String>,
    starts: HashMap<Vec<String>, usize>,
    usual: usize,
}

impl Pool {
    /// The place of a list. One that is there already is not written again.
    fn place(&mut self, list: Vec<String>) -> String {
        let length = list.len();
        let start = self.starts.entry(list).or_insert_with_key(|list| {
            let start = self.items.len();
            self.items.extend(list.iter().cloned());
            start
        });
        format!("List::at({start}, {length})")
    }

    fn write(&self, name: &str, kind: &str) -> String {
        let (usual, others) = self.items.split_at(self.usual);
        list_static(&format!("USUAL_{name}"), kind, usual) + &list_static(name, kind, others)
    }
}

/// A static for expressions.
pub(crate) fn list_static(name: &str, kind: &str, items: &[String]) -> String {
    format!("pub(crate) static {name}: [{kind}; {}] = [\n{}\n];\n", items.len(), items.join(",\n"))
}

/// All pools of the tables.
#[derive(Default)]
pub(crate) struct Pools {
    text: String,
    starts: HashMap<String, usize>,
    usual: usize,
    texts: Pool,
    entries: Pool,
    flags: Pool,
    operands: Pool,
    deeds: Pool,
    forms: Pool,
}

impl Pools {
    /// The statics. Places that are asked for later are not in them.
    pub(crate) fn write(&self) -> String {
        let (usual, others) = self.text.split_at(self.usual);
        let text =
            format!("pub(crate) static USUAL_TEXT: &str = {usual:?};\npub(crate) static TEXT: &str = {others:?};\n");
        let pools = [
            self.texts.write("TEXTS", "Text"),
            self.entries.write("ENTRIES", "Entry"),
            self.flags.write("FLAGS", "Flag"),
            self.operands.write("OPERANDS", "Operand"),
            self.deeds.write("DEEDS", "Deed"),
            self.forms.write("FORMS", "Form"),
        ];
        text + &pools.concat()
    }

    /// What is in the pools so far is usual: whoever looks up two usual programs touches little of the file.
    pub(crate) fn end_usual(&mut self) {
        self.usual = self.text.len();
        let Self { texts, entries, flags, operands, deeds, forms, .. } = self;
        for pool in [texts, entries, flags, operands, deeds, forms] {
            pool.usual = pool.items.len();
        }
    }

    /// The place of a text.
    pub(crate) fn text(&mut self, text: &str) -> String {
        let start = self.starts.entry(text.to_string()).or_insert_with(|| {
            self.text.push_str(text);
            self.text.len() - text.len()
        });
        format!("Text::at({start}, {})", text.len())
    }

    /// The place of a list of texts.
    pub(crate) fn texts(&mut self, texts: &[impl AsRef<str>]) -> String {
        let list = texts.iter().map(|text| self.text(text.as_ref())).collect();
        self.texts.place(list)
    }

    /// The place of a list of names.
    pub(crate) fn entries<'a>(&mut self, entries: impl IntoIterator<Item = &'a Entry>) -> String {
        let entry = |Entry { name, spec }: &Entry| format!("Entry {{ name: {}, spec: {spec:?} }}", self.text(name));
        let list = entries.into_iter().map(entry).collect();
        self.entries.place(list)
    }

    /// What is known about a program, with everything it points to.
    pub(crate) fn spec(&mut self, spec: &Spec) -> String {
        let Spec { grammar, reader, wraps, surprises, .. } = spec;
        let default = match spec.default {
            Some(role) => format!("Some({})", self.role(role)),
            None => "None".to_string(),
        };
        let forms = spec.forms.iter().map(|form| format!("Form::{form:?}")).collect();
        let fields = [
            format!("path: {}", self.text(spec.path)),
            format!("grammar: Grammar::{grammar:?}, reader: Reader::{reader:?}"),
            format!("flags: {}", self.flags(spec.flags)),
            format!("operands: {}, default: {default}", self.operands(spec.operands)),
            format!("does: {}", self.deeds(spec.does)),
            format!("subcommands: {}", self.entries(spec.subcommands)),
            format!("families: {}", self.entries(spec.families)),
            format!("wraps: Wraps::{wraps:?}, surprises: Surprises::{surprises:?}"),
            format!("forms: {}", self.forms.place(forms)),
        ];
        format!("Spec {{ {} }}", fields.join(", "))
    }

    fn flags(&mut self, flags: &[Flag]) -> String {
        let flag = |Flag { name, takes, does }: &Flag| {
            let (name, takes, does) = (self.text(name), self.takes(*takes), self.deeds(does));
            format!("Flag {{ name: {name}, takes: {takes}, does: {does} }}")
        };
        let list = flags.iter().map(flag).collect();
        self.flags.place(list)
    }

    fn takes(&mut self, takes: Takes) -> String {
        match takes {
            Takes::Nothing => "Takes::Nothing".to_string(),
            Takes::Value(role) => format!("Takes::Value({})", self.role(role)),
            Takes::Optional(role) => format!("Takes::Optional({})", self.role(role)),
            Takes::Pair(role) => format!("Takes::Pair({})", self.role(role)),
        }
    }

    fn operands(&mut self, operands: &[Operand]) -> String {
        let operand = |Operand { role, count }: &Operand| {
            format!("Operand {{ role: {}, count: Count::{count:?} }}", self.role(*role))
        };
        let list = operands.iter().map(operand).collect();
        self.operands.place(list)
    }

    fn role(&mut self, role: Role) -> String {
        if let Role::Choice(choices) = role {
            format!("Role::Choice({})", self.texts(choices))
        } else if let Role::Code(language) = role {
            format!("Role::Code(Language::{language:?})")
        } else {
            format!("Role::{role:?}")
        }
    }

    fn deeds(&mut self, deeds: &[Deed]) -> String {
        let list = deeds.iter().map(|deed| self.deed(*deed)).collect();
        self.deeds.place(list)
    }

    fn deed(&mut self, deed: Deed) -> String {
        if let Deed::Home(path) = deed {
            format!("Deed::Home({})", self.text(path))
        } else if let Deed::Place(path) = deed {
            format!("Deed::Place({})", self.text(path))
        } else if let Deed::Operands(role) = deed {
            format!("Deed::Operands({})", self.role(role))
        } else if let Deed::Default(role) = deed {
            format!("Deed::Default({})", self.role(role))
        } else {
            format!("Deed::{deed:?}")
        }
    }
}
