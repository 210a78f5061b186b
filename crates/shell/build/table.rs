//! The data files as they are written: one table per program or subcommand, named by the words that lead to it.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::pool::Pools;

/// What a file says about one program or subcommand.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub(crate) struct Table {
    /// Other names for the same thing.
    pub(crate) also: Vec<String>,
    /// Flags, in the notation of `language.rs`.
    pub(crate) flags: String,
    /// Shared sets of flags, by name.
    #[serde(rename = "use")]
    pub(crate) shared: Vec<String>,
    /// The shared flags' text. A flag of the table's own wins over one of these.
    #[serde(skip)]
    pub(crate) common: String,
    /// Operands, in the notation of `language.rs`.
    pub(crate) operands: String,
    /// What happens to the current directory when no operand names a place.
    pub(crate) default: String,
    /// What it does in any case.
    pub(crate) does: Vec<String>,
    pub(crate) grammar: String,
    pub(crate) reader: String,
    /// Forms of words beyond flags and operands.
    pub(crate) forms: Vec<String>,
    /// No flag of any version does more than read.
    pub(crate) harmless: bool,
    /// Its flags are accepted by everything below it too.
    pub(crate) inherit: bool,
    /// Subcommands that behave exactly as this table says, by name: a short way to say the same of many.
    pub(crate) each: String,
    /// Lines that only list, read or print.
    pub(crate) accept: Vec<String>,
    /// Lines that must not be taken for reading.
    pub(crate) reject: Vec<String>,
    /// Lines with every effect they have.
    pub(crate) effects: BTreeMap<String, Vec<String>>,
}

/// A file's tables by their words, with shared flags filled in.
pub(crate) fn tables(text: &str) -> Result<Vec<(String, Table)>, String> {
    let mut file: BTreeMap<String, toml::Value> = toml::from_str(text).map_err(|error| error.to_string())?;
    let shared: BTreeMap<String, String> = match file.remove("shared") {
        Some(value) => value.try_into().map_err(|error: toml::de::Error| error.to_string())?,
        None => BTreeMap::new(),
    };
    let mut found = Vec::new();
    for (name, value) in file {
        let mut table: Table = value.try_into().map_err(|error: toml::de::Error| format!("[{name}]: {error}"))?;
        for wanted in &table.shared {
            let flags = shared.get(wanted).ok_or(format!("[{name}]: no shared flags called `{wanted}`"))?;
            table.common.push('\n');
            table.common.push_str(flags);
        }
        found.push((name, table));
    }
    Ok(found)
}

/// Lists of texts by the names of their statics.
pub(crate) type Lists = BTreeMap<String, Vec<String>>;

/// Reads `lists.toml`.
pub(crate) fn lists(text: &str) -> Result<Lists, String> {
    let lists: Lists = toml::from_str(text).map_err(|error| error.to_string())?;
    Ok(lists.into_iter().map(|(name, list)| (name.to_uppercase(), list)).collect())
}

/// The statics for lists.
pub(crate) fn list_statics(lists: &Lists, pools: &mut Pools) -> String {
    let line = |(name, list): (&String, &Vec<String>)| {
        format!("pub(crate) static {name}: List<Text> = {};\n", pools.texts(list))
    };
    lists.iter().map(line).collect()
}

/// Every list beside what it must hold, for the tests.
pub(crate) fn list_outline(lists: &Lists) -> String {
    let pairs: Vec<String> = lists.iter().map(|(name, list)| format!("(&table::{name}, &{list:?})")).collect();
    format!("static LISTS: &[(&List<Text>, &[&str])] = &[\n{}\n];\n", pairs.join(",\n"))
}

/// Variables of the environment: which may be set freely, which by value, which never.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Variables {
    /// Names (a `*` at the end stands for anything) that no program runs, writes or connects by.
    harmless: Vec<String>,
    /// Names that the shell or a program acts on.
    special: Vec<String>,
    /// Parts of names that hold secrets, in lower case.
    secrets: Vec<String>,
    /// Values of special names that are known to be harmless.
    values: BTreeMap<String, Vec<String>>,
}

/// Reads `variables.toml`.
pub(crate) fn variables(text: &str) -> Result<Variables, String> {
    toml::from_str(text).map_err(|error| error.to_string())
}

impl Variables {
    /// The lists of names.
    pub(crate) fn lists(&self) -> Lists {
        let lists = [
            ("SECRET_PARTS", &self.secrets),
            ("HARMLESS_VARIABLES", &self.harmless),
            ("SPECIAL_VARIABLES", &self.special),
        ];
        lists.map(|(name, list)| (name.to_string(), list.clone())).into()
    }

    /// The static for values.
    pub(crate) fn value_static(&self, pools: &mut Pools) -> String {
        let pair = |(name, values): (&String, &Vec<String>)| format!("({}, {})", pools.text(name), pools.texts(values));
        let pairs: Vec<String> = self.values.iter().map(pair).collect();
        let (count, pairs) = (pairs.len(), pairs.join(", "));
        format!("pub(crate) static VARIABLE_VALUES: [(Text, List<Text>); {count}] = [{pairs}];\n")
    }
}
