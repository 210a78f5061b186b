//! Manual pages and completions as files, from the same arguments that clap reads.
//!
//! Compiled for tests alone: the program carries none of it. With `MAYI_MAN=DIR` the test writes them there, which is what
//! `cargo xtask man` does.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::{Command, CommandFactory, ValueEnum};
use clap_complete::Shell;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};

use crate::arguments::Arguments;

/// What every command ends with.
const EXIT_CODES: [(&str, &str); 5] = [
    ("0", "Allow, or done."),
    ("1", "An error, or something is wrong with what was looked at."),
    ("2", "It was called wrongly."),
    ("10", "Ask. For mayi diff: the new settings only narrow."),
    ("11", "Deny. For mayi diff: the new settings widen."),
];

const FILES: [(&str, &str); 5] = [
    (".mayi/settings.json, .claude/settings.json", "The project's settings. They loosen nothing until it is trusted."),
    (".mayi/settings.local.json", "Your own settings in this project."),
    ("~/.config/mayi/settings.json", "Your own settings everywhere."),
    ("/etc/mayi/managed.json, /etc/mayi/managed.d/", "What the organisation says; nothing overrules it."),
    ("~/.local/state/mayi/audit.jsonl", "The record of decisions."),
];

/// Every command with a page: all of them, also those that take no line of the first help.
fn commands() -> Vec<Command> {
    // What the first help says at its end is for commands that it does not list; a page lists them all.
    let mut root = shown(Arguments::command().after_help(None::<&str>));
    root.build();
    let mut found = vec![root];
    let mut next = 0;
    while let Some(command) = found.get(next) {
        let below: Vec<Command> = command.get_subcommands().cloned().collect();
        found.extend(below);
        next += 1;
    }
    found
}

fn shown(command: Command) -> Command {
    let names: Vec<String> = command.get_subcommands().map(|below| below.get_name().to_owned()).collect();
    names.into_iter().fold(command, |command, name| command.mut_subcommand(name, |below| shown(below.hide(false))))
}

fn name(command: &Command) -> String {
    command.get_display_name().unwrap_or(command.get_name()).to_owned()
}

fn page(command: &Command) -> io::Result<String> {
    let man = Man::new(command.clone())
        .source(concat!("mayi ", env!("CARGO_PKG_VERSION")))
        .manual("The permission engine for AI agents");
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    if command.get_arguments().any(|argument| !argument.is_hide_set()) {
        man.render_options_section(&mut page)?;
    }
    if command.has_subcommands() {
        man.render_subcommands_section(&mut page)?;
    }
    page.write_all(rest(command).render().as_bytes())?;
    Ok(String::from_utf8_lossy(&page).chars().map(plain).collect())
}

/// Other letters than those of ASCII are named: not everything that reads pages takes them as they are.
fn plain(letter: char) -> String {
    if letter.is_ascii() { letter.to_string() } else { format!("\\[u{:04X}]", u32::from(letter)) }
}

/// The sections that clap knows nothing of.
fn rest(command: &Command) -> Roff {
    let mut roff = Roff::new();
    if let Some(examples) = command.get_after_help() {
        roff.control("SH", ["EXAMPLES"]).control("nf", []);
        for line in examples.to_string().lines().filter(|line| *line != "Try:") {
            roff.text([roman(line.trim_start())]);
        }
        roff.control("fi", []);
    }
    let is_root = name(command) == "mayi";
    let tables = [("EXIT STATUS", EXIT_CODES.as_slice()), ("FILES", FILES.as_slice())];
    for (title, rows) in tables.into_iter().filter(|(title, _)| is_root || *title == "EXIT STATUS") {
        roff.control("SH", [title]);
        for (term, meaning) in rows {
            roff.control("TP", []).text([bold(*term)]).text([roman(*meaning)]);
        }
    }
    roff.control("SH", ["SEE ALSO"]);
    let whole = name(command);
    let leads = whole.match_indices('-').filter_map(|(at, _)| whole.get(..at));
    let leads: Vec<String> = leads.filter(|lead| is_page(lead)).map(|lead| format!("{lead}(1)")).collect();
    let book = concat!("The book: ", env!("CARGO_PKG_REPOSITORY"), "/tree/main/docs");
    roff.text([roman(if leads.is_empty() { book.to_owned() } else { leads.join(", ") })]);
    roff
}

/// Whether a name is a command's, and not the first half of one such as `auto-mode`.
fn is_page(wanted: &str) -> bool {
    let mut root = Arguments::command();
    root.build();
    let mut words = wanted.split('-').skip(1);
    words.try_fold(&root, |command, word| command.find_subcommand(word)).is_some()
}

fn write(folder: &Path) -> io::Result<()> {
    let (pages, completions) = (folder.join("man1"), folder.join("completions"));
    fs::create_dir_all(&pages)?;
    fs::create_dir_all(&completions)?;
    for command in commands() {
        fs::write(pages.join(format!("{}.1", name(&command))), page(&command)?)?;
    }
    for shell in Shell::value_variants() {
        clap_complete::generate_to(*shell, &mut Arguments::command(), "mayi", &completions)?;
    }
    Ok(())
}

#[test]
fn every_command_has_a_page_that_names_all_its_options() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = std::env::var_os("MAYI_MAN").map_or(scratch.path().to_owned(), PathBuf::from);
    write(&folder).unwrap();
    let commands = commands();
    assert!(commands.len() > 40, "{}", commands.len());
    for command in &commands {
        let file = folder.join(format!("man1/{}.1", name(command)));
        let page = fs::read_to_string(&file).unwrap().replace('\\', "");
        for option in command.get_arguments().filter(|argument| !argument.is_hide_set()) {
            let value = option.get_value_names().and_then(|names| names.first()).map(ToString::to_string);
            let word = option.get_long().map(|long| format!("--{long}")).or(value);
            let word = word.unwrap_or(option.get_id().to_string());
            assert!(page.contains(&word), "{}: {word}", file.display());
        }
        for below in command.get_subcommands() {
            assert!(page.contains(&format!("{}-{}(1)", name(command), below.get_name())), "{}", file.display());
        }
        assert!(page.contains("EXIT STATUS") && page.contains("SEE ALSO"), "{}", file.display());
    }
    assert_eq!(fs::read_dir(folder.join("completions")).unwrap().count(), 5);
}

#[test]
fn pages_point_to_the_commands_above_them() {
    for (of, leads) in [("mayi-rules-add", "mayi(1), mayi-rules(1)"), ("mayi-auto-mode", "mayi(1)")] {
        let command = commands().into_iter().find(|command| name(command) == of).unwrap();
        let page = page(&command).unwrap().replace('\\', "");
        assert_eq!(page.trim_end().lines().last(), Some(leads), "{of}");
    }
}
