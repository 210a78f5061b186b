//! Turns the tool names of `data/tools.toml` into static tables: a hook is a cold process and parses nothing.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::{env, fs};

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Tool {
    /// Our name for it.
    is: String,
    learnt: Source,
    #[serde(default)]
    shape: Shape,
    /// Our field, and the agent's names for it.
    #[serde(default)]
    fields: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    directory: Vec<String>,
    #[serde(default)]
    unless: Vec<String>,
}

#[derive(Debug, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
enum Source {
    Recorded,
    Documented,
    Reported,
}

#[derive(Debug, Default, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
enum Shape {
    #[default]
    Plain,
    Words,
    Patch,
    Urls,
}

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=data");
    let agents: BTreeMap<String, BTreeMap<String, Tool>> = toml::from_str(&fs::read_to_string("data/tools.toml")?)?;
    let mut code = String::new();
    for (agent, tools) in &agents {
        // A sorted map writes a sorted table, and lookups rely on that.
        writeln!(code, "pub(crate) static {}: &[Named] = &[", agent.to_uppercase())?;
        for (name, Tool { is, learnt, shape, fields, directory, unless }) in tools {
            let fields: Vec<String> = fields.iter().map(|(ours, theirs)| format!("({ours:?}, &{theirs:?})")).collect();
            writeln!(
                code,
                "Named {{ name: {name:?}, is: {is:?}, learnt: Source::{learnt:?}, shape: Shape::{shape:?}, \
                 fields: &[{}], directory: &{directory:?}, unless: &{unless:?} }},",
                fields.join(", ")
            )?;
        }
        code.push_str("];\n");
    }
    fs::write(PathBuf::from(env::var("OUT_DIR")?).join("tools.rs"), code)?;
    Ok(())
}
