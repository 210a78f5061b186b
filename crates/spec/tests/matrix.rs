//! The golden matrix, compared with `spec/matrix.txt`. `UPDATE=1` writes the file instead.

use std::path::Path;
use std::{env, fs};

/// More than this many lines are better read as a diff of the file.
const SHOWN: usize = 30;

#[test]
fn the_matrix_is_what_it_was() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../spec/matrix.txt");
    let now = mayi_spec::matrix();
    if env::var_os("UPDATE").is_some_and(|value| value == "1") {
        return fs::write(&file, now).unwrap();
    }
    let then = fs::read_to_string(&file).unwrap_or_default();
    let changed = changes(&then, &now);
    let shown = changed.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join("\n");
    let help = "help: if that is meant, run it with UPDATE=1 and read the diff";
    assert!(then == now, "{} lines differ, such as\n{shown}\n{help}", changed.len());
}

/// The lines that differ, old and new, each with the table it stands in.
fn changes(then: &str, now: &str) -> Vec<String> {
    let (old, new) = (rows(then), rows(now));
    let gone = old.iter().filter(|row| !new.contains(row)).map(|(table, line)| format!("- {table}: {line}"));
    let come = new.iter().filter(|row| !old.contains(row)).map(|(table, line)| format!("+ {table}: {line}"));
    gone.chain(come).collect()
}

fn rows(text: &str) -> Vec<(&str, &str)> {
    let mut table = "";
    let tabled = text.lines().map(|line| {
        table = line.strip_prefix("## ").unwrap_or(table);
        (table, line)
    });
    tabled.collect()
}
