//! Golden transcripts: each page in `cmd/`, and each page of the book with a `console` block, is a project and what a person types in it, with every word of the answers.
//!
//! A block that begins with a path (`json .claude/settings.json`) is a file of the project. In a `console` block, a
//! line that begins with `$ ` is typed, what follows is the answer, and `? 10` its exit code when that is not 0. One
//! world lasts a page, so what a command changed is there for the next. `MAYI_BLESS=1` writes the answers as they are
//! now; read the difference before it is committed.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod support;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use support::World;

#[test]
fn every_page_says_what_really_happens() {
    let pages = pages();
    assert!(pages.len() >= 15, "the pages are there");
    let mut stale = Vec::new();
    for page in pages {
        let written = std::fs::read_to_string(&page).unwrap();
        let real = replayed(&written);
        if written != real && std::env::var_os("MAYI_BLESS").is_some() {
            std::fs::write(&page, &real).unwrap();
        } else if written != real {
            stale.push(format!("{}\n{}", page.display(), difference(&written, &real)));
        }
    }
    assert!(stale.is_empty(), "{}", stale.join("\n\n"));
}

/// The pages of this folder, and those of the book in which something is typed.
fn pages() -> Vec<PathBuf> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cmd");
    let book = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let folders = [own, book.join("start"), book];
    let entries = folders.iter().flat_map(|folder| std::fs::read_dir(folder).unwrap());
    let typed = |page: &PathBuf| {
        page.extension().is_some_and(|ending| ending == "md")
            && std::fs::read_to_string(page).is_ok_and(|text| text.contains("```console\n"))
    };
    let mut pages: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).filter(typed).collect();
    pages.sort();
    pages
}

/// The page with its answers as they really are.
fn replayed(page: &str) -> String {
    let world = World::new();
    let mut real = String::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        writeln!(real, "{line}").unwrap();
        let Some(kind) = line.strip_prefix("```").filter(|kind| !kind.is_empty()) else { continue };
        let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
        match kind.split_once(' ') {
            Some((_, path)) => {
                let text = block.join("\n") + "\n";
                world.write(path, &text);
                real.push_str(&text);
            }
            None if kind == "console" => real.push_str(&typed(&world, &block)),
            None => real.push_str(&(block.join("\n") + "\n")),
        }
        real.push_str("```\n");
    }
    real
}

/// Types every command of a block. A line that goes on after a backslash belongs to the one before.
fn typed(world: &World, block: &[&str]) -> String {
    let mut real = String::new();
    for line in block {
        let Some(command) = line.strip_prefix("$ ") else { continue };
        let said = world.shell(command);
        writeln!(real, "{line}\n{}", said.out.trim_end()).unwrap();
        if said.code != 0 {
            writeln!(real, "? {}", said.code).unwrap();
        }
    }
    real
}

fn difference(written: &str, real: &str) -> String {
    let (mut left, mut right) = (written.lines(), real.lines());
    loop {
        match (left.next(), right.next()) {
            (Some(written), Some(real)) if written == real => {}
            (None, None) => return "the ends differ".to_owned(),
            (written, real) => {
                return format!("  written: {}\n  real:    {}", written.unwrap_or("-"), real.unwrap_or("-"));
            }
        }
    }
}
