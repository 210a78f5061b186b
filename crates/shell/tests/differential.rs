//! Another parser as a witness: every command it names must be named here too, or the script be called opaque. The
//! witness may well see less than we do; where it is known to see what is not there, the script is listed below.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test fails by panicking and reports what it saw"
)]

mod support;

#[path = "support/generated.rs"]
mod generated;
#[path = "support/machine.rs"]
mod machine;
#[path = "support/other.rs"]
mod other;

use mayi_shell::command::{Analysis, Command};
use support::Chance;

/// Where the witness is wrong: a script's name, the commands it makes up, and why.
const FAULTS: &[(&str, &[&str], &str)] = &[
    ("heredoc_fake_end", &["E", "E"], "it ends a here-document at a line that only resembles the delimiter"),
    ("cont_heredoc_op", &["E"], "it does not see `<<` when a line continuation stands inside"),
    ("func_eval_defined", &["f"], "it does not know a function that an evaluated text defines, whose body we list"),
];

/// What the comparison of many scripts came to.
#[derive(Default)]
struct Tally {
    compared: usize,
    refused: usize,
    opaque: usize,
    commands: usize,
    missing: Vec<String>,
}

impl Tally {
    fn compare(&mut self, name: &str, text: &str) {
        let Some(mut theirs) = other::programs(text) else {
            self.refused += 1;
            return;
        };
        let analysis = support::analyse(text);
        if analysis.opaque.is_some() {
            self.opaque += 1;
            return;
        }
        self.compared += 1;
        self.commands += theirs.len();
        for ours in programs(&analysis) {
            if let Some(at) = theirs.iter().position(|name| name == ours) {
                theirs.swap_remove(at);
            }
        }
        // A fault that is mended has to leave the list: so what is expected must be there too.
        let made_up = FAULTS.iter().find(|(fault, ..)| *fault == name).map_or(&[][..], |(_, commands, _)| commands);
        if theirs != made_up {
            self.missing.push(format!("{name}: {theirs:?}"));
        }
    }

    /// Fails if a command is missing, or if next to nothing was compared.
    fn check(&self, least: usize) {
        println!(
            "{} scripts with {} commands agree; the witness refuses {}, we refuse {}",
            self.compared, self.commands, self.refused, self.opaque
        );
        assert!(self.missing.is_empty(), "{} scripts:\n{}", self.missing.len(), self.missing.join("\n"));
        assert!(self.compared >= least, "only {} scripts were compared", self.compared);
    }
}

/// The programs of all commands, wrappers and what they run alike.
fn programs(analysis: &Analysis) -> impl Iterator<Item = &str> {
    analysis.commands.iter().filter_map(|command: &Command| command.words.first()?.text())
}

#[test]
fn what_bash_was_seen_to_run() {
    let mut tally = Tally::default();
    let files = [include_str!("truth/cases.jsonl"), include_str!("truth/more.jsonl")];
    for line in files.iter().flat_map(|file| file.lines()).filter(|line| !line.trim().is_empty()) {
        let case: serde_json::Value = serde_json::from_str(line).expect("a case is a JSON object");
        // A script that is no text is none for the witness either.
        if let Some(script) = case["script"].as_str() {
            tally.compare(case["name"].as_str().expect("a name"), script);
        }
    }
    tally.check(300);
}

#[test]
fn generated_scripts() {
    let mut chance = Chance::new(4);
    let mut tally = Tally::default();
    for number in 0..3_000 {
        let script = generated::script(&mut chance, 1 + number % 4);
        tally.compare(&script, &script);
    }
    tally.check(2_000);
}

#[test]
fn scripts_of_this_machine() {
    let mut tally = Tally::default();
    for (path, text) in machine::scripts(400) {
        tally.compare(&path.display().to_string(), &text);
    }
    tally.check(0);
}
