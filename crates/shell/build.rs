//! Turns `knowledge/*.toml` into statics. A file that does not read is a build error, so that a slip in the data
//! never becomes a program that is thought harmless.

#[path = "build/language.rs"]
mod language;
#[path = "src/knowledge/model.rs"]
mod model;
#[path = "build/pool.rs"]
mod pool;
#[path = "build/table.rs"]
mod table;
#[path = "build/tree.rs"]
mod tree;

use std::path::Path;
use std::{env, fs};

fn main() -> Result<(), String> {
    println!("cargo::rerun-if-changed=build");
    println!("cargo::rerun-if-changed=knowledge");
    println!("cargo::rerun-if-changed=src/knowledge/model.rs");
    let out = env::var("OUT_DIR").map_err(|error| error.to_string())?;
    let mut tree = tree::Tree::default();
    let mut lists = table::Lists::new();
    let mut variables = table::Variables::default();
    for path in files(Path::new("knowledge"))? {
        let text = fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))?;
        let placed = |error: String| format!("{path}: {error}");
        if path.ends_with("lists.toml") {
            lists.extend(table::lists(&text).map_err(placed)?);
        } else if path.ends_with("variables.toml") {
            variables = table::variables(&text).map_err(placed)?;
            lists.extend(variables.lists());
        } else {
            tree.add(table::tables(&text).map_err(placed)?).map_err(placed)?;
        }
    }
    let programs = tree.programs()?;
    let mut pools = pool::Pools::default();
    let statics = [
        programs.statics(&mut pools),
        table::list_statics(&lists, &mut pools),
        variables.value_static(&mut pools),
        pools.write(),
    ];
    write(&out, "programs.rs", &statics.concat())?;
    write(&out, "outline.txt", &programs.outline())?;
    write(&out, "examples.rs", &(tree.examples() + &table::list_outline(&lists)))
}

fn write(folder: &str, name: &str, text: &str) -> Result<(), String> {
    fs::write(Path::new(folder).join(name), text).map_err(|error| format!("{name}: {error}"))
}

/// The data files, in the order of their names.
fn files(folder: &Path) -> Result<Vec<String>, String> {
    let entries = fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut found = Vec::new();
    for entry in entries {
        let path = entry.map_err(|error| error.to_string())?.path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            found.push(path.display().to_string());
        }
    }
    found.sort();
    Ok(found)
}
