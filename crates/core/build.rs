//! Turns the data files of `data/` into static tables, so that nothing is parsed when a program starts.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::{env, fs};

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct ToolEntry {
    kind: String,
    #[serde(default)]
    field: Option<String>,
    #[serde(default)]
    safe: bool,
    #[serde(default)]
    person: bool,
    #[serde(default)]
    was: Vec<String>,
    glob: Option<String>,
    #[serde(default)]
    params: Vec<String>,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Listed {
    /// What the entry names.
    name: String,
    /// Why it is on the list.
    why: String,
}

type Lists = BTreeMap<String, Vec<Listed>>;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=data");
    let out = PathBuf::from(env::var("OUT_DIR")?);
    fs::write(out.join("tools.rs"), tools(&fs::read_to_string("data/tools.toml")?)?)?;
    for list in ["paths", "grants", "web"] {
        let text = fs::read_to_string(format!("data/{list}.toml"))?;
        fs::write(out.join(format!("{list}.rs")), lists(&text)?)?;
    }
    fs::write(out.join("risk.rs"), risk(&fs::read_to_string("data/risk.toml")?)?)?;
    fs::write(out.join("powershell.rs"), powershell(&fs::read_to_string("data/powershell.toml")?)?)?;
    Ok(())
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Risks {
    environment: Environment,
    code: Code,
    services: Services,
    options: BTreeMap<String, Vec<String>>,
    clusters: BTreeMap<String, String>,
    rehearsal: Rehearsal,
    push: Push,
    packages: BTreeMap<String, String>,
    place: Vec<Place>,
    outside: Outside,
    category: Vec<Risk>,
    exception: Vec<Risk>,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Risk {
    id: String,
    title: String,
    guidance: String,
    #[serde(default)]
    commands: Vec<String>,
    #[serde(default)]
    doubtful: Vec<String>,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Code {
    interpreters: Vec<String>,
    doubtful: Vec<String>,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Environment {
    entries: Vec<String>,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Services {
    programs: Vec<String>,
    diversions: Vec<String>,
    movers: Vec<String>,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Rehearsal {
    words: Vec<String>,
    commands: Vec<String>,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Push {
    branches: Vec<String>,
    trunks: Vec<String>,
    remotes: Vec<String>,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Place {
    path: String,
    category: String,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Outside {
    servers: Vec<String>,
    verbs: Vec<String>,
}

fn risk(text: &str) -> Result<String, Box<dyn Error>> {
    let risks: Risks = toml::from_str(text)?;
    let known: Vec<&str> = risks.category.iter().map(|category| category.id.as_str()).collect();
    if let Some(place) = risks.place.iter().find(|place| !known.contains(&place.category.as_str())) {
        return Err(format!("risk.toml: the place `{}` names no category: `{}`", place.path, place.category).into());
    }
    let mut code = String::new();
    for (name, words) in [
        ("ENVIRONMENT", &risks.environment.entries),
        ("INTERPRETERS", &risks.code.interpreters),
        ("CODE_WORDS", &risks.code.doubtful),
        ("SERVICES", &risks.services.programs),
        ("DIVERSIONS", &risks.services.diversions),
        ("MOVERS", &risks.services.movers),
        ("REHEARSAL_WORDS", &risks.rehearsal.words),
        ("REHEARSALS", &risks.rehearsal.commands),
        ("DEPLOY_BRANCHES", &risks.push.branches),
        ("TRUNKS", &risks.push.trunks),
        ("DEPLOY_REMOTES", &risks.push.remotes),
        ("OUTSIDE_SERVERS", &risks.outside.servers),
        ("OUTSIDE_VERBS", &risks.outside.verbs),
    ] {
        writeln!(code, "pub(super) static {name}: &[&str] = &{words:?};")?;
    }
    let clusters: Vec<_> = risks.clusters.iter().collect();
    writeln!(code, "pub(super) static CLUSTERS: &[(&str, &str)] = &{clusters:?};")?;
    let packages: Vec<_> = risks.packages.iter().collect();
    writeln!(code, "pub(super) static PACKAGES: &[(&str, &str)] = &{packages:?};")?;
    let places: Vec<_> = risks.place.iter().map(|place| (&place.path, &place.category)).collect();
    writeln!(code, "pub(super) static PLACES: &[(&str, &str)] = &{places:?};")?;
    writeln!(code, "pub(super) static OPTIONS: &[(&str, &[&str])] = &[")?;
    for (program, valued) in &risks.options {
        writeln!(code, "({program:?}, &{valued:?}),")?;
    }
    code.push_str("];\n");
    let Risks { category, exception, .. } = risks;
    for (name, entries) in [("CATEGORIES", category), ("EXCEPTIONS", exception)] {
        writeln!(code, "pub(super) static {name}: &[Category] = &[")?;
        for Risk { id, title, guidance, commands, doubtful } in entries {
            writeln!(
                code,
                "Category {{ id: {id:?}, title: {title:?}, guidance: {guidance:?}, commands: &{commands:?}, doubtful: &{doubtful:?} }},"
            )?;
        }
        code.push_str("];\n");
    }
    Ok(code)
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct PowerShell {
    aliases: BTreeMap<String, String>,
    reads: Reads,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Reads {
    names: Vec<String>,
}

fn powershell(text: &str) -> Result<String, Box<dyn Error>> {
    let PowerShell { aliases, reads } = toml::from_str(text)?;
    let aliases: Vec<_> = aliases.into_iter().collect();
    Ok(format!(
        "pub(super) static ALIASES: &[(&str, &str)] = &{aliases:?};\npub(super) static READS: &[&str] = &{:?};\n",
        reads.names
    ))
}

fn tools(text: &str) -> Result<String, Box<dyn Error>> {
    let tools: BTreeMap<String, ToolEntry> = toml::from_str(text)?;
    let mut code = String::from("pub(crate) static TOOLS: &[Tool] = &[\n");
    for (name, tool) in &tools {
        let kind = camel(&tool.kind);
        let ToolEntry { field, safe, person, glob, params, .. } = tool;
        writeln!(
            code,
            "Tool {{ name: {name:?}, kind: Kind::{kind}, field: {field:?}, safe: {safe}, person: {person}, glob: {glob:?}, params: &{params:?} }},"
        )?;
    }
    code.push_str("];\npub(crate) static OLD_NAMES: &[(&str, &str)] = &[\n");
    for (name, tool) in &tools {
        for old in &tool.was {
            writeln!(code, "({old:?}, {name:?}),")?;
        }
    }
    code.push_str("];\n");
    Ok(code)
}

fn lists(text: &str) -> Result<String, Box<dyn Error>> {
    let lists: Lists = toml::from_str(text)?;
    let mut code = String::new();
    for (name, entries) in &lists {
        writeln!(code, "pub(crate) static {}: &[Listed] = &[", name.to_uppercase().replace('-', "_"))?;
        for Listed { name, why } in entries {
            writeln!(code, "Listed {{ name: {name:?}, why: {why:?} }},")?;
        }
        code.push_str("];\n");
    }
    Ok(code)
}

fn camel(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}
