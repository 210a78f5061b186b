//! Turns the data files of `data/` into static tables, so that nothing is parsed when a program starts.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::{env, fs};

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    /// What the entry names.
    name: String,
    /// What is closed in its place.
    #[serde(default)]
    closed: Vec<String>,
    /// Why it is on the list.
    why: String,
}

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=data");
    let out = PathBuf::from(env::var("OUT_DIR")?);
    for file in ["protected", "places"] {
        let text = fs::read_to_string(format!("data/{file}.toml"))?;
        fs::write(out.join(format!("{file}.rs")), tables(&text)?)?;
    }
    Ok(())
}

fn tables(text: &str) -> Result<String, Box<dyn Error>> {
    let lists: BTreeMap<String, Vec<Entry>> = toml::from_str(text)?;
    let mut code = String::new();
    for (list, entries) in &lists {
        writeln!(code, "pub(in crate::plan) static {}: &[Entry] = &[", list.to_uppercase().replace('-', "_"))?;
        for Entry { name, closed, why } in entries {
            writeln!(code, "Entry {{ name: {name:?}, closed: &{closed:?}, why: {why:?} }},")?;
        }
        code.push_str("];\n");
    }
    Ok(code)
}
