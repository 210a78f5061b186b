//! The README's examples are run: what it shows is what a new user sees.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod support;

use std::path::Path;

use support::World;

/// The blocks of a page with their language, in order.
fn blocks(page: &str) -> Vec<(String, String)> {
    let mut blocks = Vec::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        if let Some(language) = line.strip_prefix("```") {
            let inside: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
            blocks.push((language.to_owned(), inside.join("\n")));
        }
    }
    blocks
}

/// A command of a block, as the test runs it: a build through cargo becomes the binary that was built already.
fn runnable(line: &str) -> Option<String> {
    let arguments = line.strip_prefix("cargo run --release -- ").or(line.strip_prefix("mayi "))?;
    Some(format!("mayi {arguments}"))
}

#[test]
fn every_example_prints_what_the_readme_shows() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    let blocks = blocks(&std::fs::read_to_string(page).unwrap());
    let mut compared = 0;
    for pair in blocks.windows(2) {
        let [(shell, commands), (text, shown)] = pair else { continue };
        let Some(commands) = commands.lines().map(runnable).collect::<Option<Vec<_>>>() else { continue };
        if shell == "sh" && text == "text" {
            let said = World::new().shell(&commands.join("\n"));
            assert_eq!(said.out.trim_end(), shown, "after {commands:?}");
            compared += 1;
        }
    }
    assert!(compared > 0, "the README begins with an example");
}

#[test]
fn every_command_the_readme_names_exists() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    let page = std::fs::read_to_string(page).unwrap();
    let named: Vec<&str> = page.split("`mayi ").skip(1).filter_map(|rest| rest.split([' ', '`', ',']).next()).collect();
    assert!(named.len() > 5);
    for name in named {
        assert_eq!(World::new().mayi(&[name, "--help"]).code, 0, "{name}");
    }
}
