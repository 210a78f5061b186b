//! The book's page of commands is what the commands say of themselves. `MAYI_BLESS=1` writes it.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

#[test]
fn the_page_of_commands_is_what_they_say_of_themselves() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/commands.md");
    let mut page = "# Commands\n\n<!-- Made by `MAYI_BLESS=1 cargo test -p mayi --test book`. -->\n\n\
                    What each command says of itself with `--help`. Exit codes: 0 allow or done, 1 error, 2 usage, 10 ask, 11 deny.\n"
        .to_owned();
    let first = help(&[]);
    let more = first.split("More:").nth(1).unwrap().split("Try:").next().unwrap();
    let words =
        more.split([',', ' ', '\n', '(']).filter(|word| !word.is_empty()).take_while(|word| *word != "--version");
    let mut names: Vec<String> = listed(&first).into_iter().chain(words.map(str::to_owned)).collect();
    names.sort();
    assert!(names.len() >= 25, "{names:?}");
    for name in names {
        let path = vec![name];
        told(&path, &mut page);
        for below in listed(&help(&path)) {
            told(&[path.clone(), vec![below]].concat(), &mut page);
        }
    }
    if std::env::var_os("MAYI_BLESS").is_some() {
        return std::fs::write(&file, page).unwrap();
    }
    let then = std::fs::read_to_string(&file).unwrap_or_default();
    let differs = page.lines().zip(then.lines().chain(std::iter::repeat(""))).find(|(now, old)| now != old);
    assert!(
        then == page,
        "docs/reference/commands.md is old: {differs:?}\nhelp: MAYI_BLESS=1 cargo test -p mayi --test book"
    );
}

fn told(path: &[String], page: &mut String) {
    let mark = "#".repeat(path.len() + 1);
    let text = help(path).lines().map(str::trim_end).collect::<Vec<_>>().join("\n");
    write!(page, "\n{mark} mayi {}\n\n```text\n{}\n```\n", path.join(" "), text.trim_end()).unwrap();
}

fn help(path: &[String]) -> String {
    let mut mayi = Command::new(env!("CARGO_BIN_EXE_mayi"));
    let output = mayi.args(path).arg("--help").env("COLUMNS", "100").output().unwrap();
    assert!(output.status.success(), "{path:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// The names below `Commands:`, or in the first help: lines of two blanks, a word and what it is for.
fn listed(help: &str) -> Vec<String> {
    let commands = help.split_once("Commands:\n").map_or(help, |(_, after)| after);
    let is_first = help.contains("More:");
    if !is_first && !help.contains("Commands:\n") {
        return Vec::new();
    }
    let lines = commands.lines().skip_while(|line| !line.starts_with("  ")).take_while(|line| !line.is_empty());
    let names = lines.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    names.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help").map(str::to_owned).collect()
}
