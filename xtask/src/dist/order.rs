//! Where functions lie in what plain `cargo build --release` makes: those beside each other that a hook calls. That build
//! cannot practise, so what was called is kept with the program, as a script for the linker. It goes stale slowly and
//! harmlessly: a function that is not in it lies where it would have lain.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Result, ensure};

use super::practice;
use crate::run::{cargo, root};

/// Beside the build script that gives it to the linker.
const SCRIPT: &str = "crates/cli/hook.ld";
/// What fewer messages of practice call is not listed: about a sixth of them.
const LEAST: usize = 8;

/// Writes the script anew, from what the program calls that `cargo build --release` makes now.
pub(crate) fn order() -> Result<()> {
    let folder = root().join("target/order");
    fs::create_dir_all(&folder)?;
    let map = folder.join("map.txt");
    let told = format!("link-arg=-Wl,-Map={}", map.display());
    cargo(&["rustc", "--release", "--package", "mayi", "--bin", "mayi", "--", "-C", &told])?;
    let watch = practice::watched(&root().join("target/release/mayi"), &folder.join("stage"))?;
    let script = script(&watch.names(LEAST), &fs::read_to_string(&map)?);
    ensure!(script.lines().count() > 100, "a hook calls more than that:\n{script}");
    fs::write(root().join(SCRIPT), script)?;
    eprintln!("{}", Path::new(SCRIPT).display());
    Ok(())
}

/// The script for functions, by the linker's own list of what it put where.
fn script(names: &[&str], map: &str) -> String {
    // The compiler sets apart what is marked as cold. A vector that grows is, and every hook has some.
    let cold = map.lines().filter_map(|line| line.split_once(":(.text.unlikely.")?.1.strip_suffix(')'));
    let cold: BTreeSet<&str> = cold.collect();
    let mut seen = BTreeSet::new();
    let mut lines = String::new();
    for name in names {
        let apart = if cold.contains(name) { "unlikely." } else { "" };
        if let Some(lasting) = lasting(name).filter(|lasting| seen.insert(lasting.clone())) {
            lines.extend(["    *(.text.", apart, &lasting, ")\n"]);
        }
    }
    format!(
        "/* Functions that a hook calls, for the linker to lay beside each other. `cargo xtask order` writes this. */\n\
         SECTIONS {{\n  .text.hook : {{\n{lines}  }}\n}} INSERT BEFORE .text;\n"
    )
}

/// A function's name without what changes from build to build: the digests of the crates that it is made from, each in base 62
/// behind `Cs` and before `_`. Names in the older way hold no types, and one of them would stand for hundreds of functions.
fn lasting(name: &str) -> Option<String> {
    let name = name.split_once(".llvm.").map_or(name, |(name, _)| name);
    let path = name.strip_prefix("_R")?;
    let mut parts = path.split("Cs");
    let mut lasting = format!("_R{}", parts.next()?);
    for part in parts {
        lasting.push_str("Cs");
        match part.split_once('_').filter(|(digest, _)| digest.bytes().all(|byte| byte.is_ascii_alphanumeric())) {
            // Any digest as long as this one, as nearly all are.
            Some((digest, rest)) => lasting.extend(["?".repeat(digest.len()).as_str(), "_", rest]),
            None => lasting.push_str(part),
        }
    }
    // And whatever stands behind it, as `.llvm.1234` does where the optimiser took it from another crate.
    lasting.push('*');
    Some(lasting)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lose_what_changes_from_build_to_build() {
        let names = [
            ("_RNvNtCs7BliBxkEZsN_4core3fmt5write", Some("_RNvNtCs???????????_4core3fmt5write*")),
            ("_RINvCsab_1aNtCsc_1bEC1c.llvm.1234", Some("_RINvCs??_1aNtCs?_1bEC1c*")),
            ("_ZN4core3fmt5write17h0123456789abcdefE", None),
            ("memcpy", None),
        ];
        for (name, wanted) in names {
            assert_eq!(lasting(name).as_deref(), wanted);
        }
    }

    #[test]
    fn a_name_is_said_once_and_as_the_linker_knows_it() {
        let map = "  10 10 5 16 mayi.o:(.text._RNvCsab_1b)\n  20 20 5 16 mayi.o:(.text.unlikely._RNvCsab_1a)\n";
        let script = script(&["_RNvCsab_1b", "_RNvCsab_1a", "memcpy", "_RNvCscd_1b"], map);
        let lines: Vec<&str> = script.lines().filter(|line| line.contains("*(.text")).map(str::trim).collect();
        assert_eq!(lines, ["*(.text._RNvCs??_1b*)", "*(.text.unlikely._RNvCs??_1a*)"]);
    }
}
