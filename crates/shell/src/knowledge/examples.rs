//! The examples of the data files, run as tests: what they say is what comes out.

use crate::analyse;
use crate::command::Analysis;
use crate::knowledge::pool::{List, Text};
use crate::knowledge::{program, table};
use crate::observe::Observations;
use crate::walk::Context;

/// A line of a data file and what must come out.
struct Example {
    table: &'static str,
    line: &'static str,
    expected: Expected,
}

enum Expected {
    Reading,
    Otherwise,
    Exactly(&'static [&'static str]),
}

include!(concat!(env!("OUT_DIR"), "/examples.rs"));

fn analysis(line: &str) -> Analysis {
    let context = Context { directory: "/project".into(), home: Some("/home/me".into()) };
    analyse(line, &context, &Observations::default())
}

#[test]
fn every_example_comes_out_as_its_table_says() {
    let mut wrong = Vec::new();
    for example in EXAMPLES {
        let analysis = analysis(example.line);
        let effects = analysis.commands.iter().flat_map(|command| &command.effects);
        let found: Vec<String> = effects.map(|effect| effect.act.to_string()).collect();
        let reading = analysis.is_reading();
        let right = match example.expected {
            Expected::Reading => reading,
            Expected::Otherwise => !reading,
            Expected::Exactly(wanted) => found == wanted,
        };
        if !right {
            wrong.push(format!("[{}] {} -> {:?} {:?}", example.table, example.line, found, analysis.opaque));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn any_part_of_an_example_is_read_without_harm() {
    // No answer is checked: the point is that cutting a line anywhere neither panics nor hangs.
    for example in EXAMPLES {
        for (at, _) in example.line.char_indices() {
            let _ = analysis(&example.line[..at]);
        }
    }
}

#[test]
fn the_base_is_broad() {
    assert!(table::PROGRAMS.len() > 350);
    for programs in [table::PROGRAMS, table::USUAL_PROGRAMS] {
        assert!(programs.is_sorted_by(|one, other| *one.name < *other.name));
    }
    assert!(table::USUAL_PROGRAMS.iter().any(|entry| *entry.name == *"git"));
}

#[test]
fn every_program_is_found_by_its_name() {
    for entry in table::PROGRAMS.iter() {
        let same = |spec: &_| entry.spec().is_some_and(|known| std::ptr::eq(spec, known));
        let found = program(&entry.name).is_some_and(same);
        assert!(found, "`{}` is in the table and not found", entry.name);
    }
    assert!(program("").is_none() && program("no such program").is_none());
}

#[test]
fn the_pools_hold_what_the_data_says() {
    let outline = include_str!(concat!(env!("OUT_DIR"), "/outline.txt"));
    assert_eq!(outline.lines().count(), table::USUAL_SPECS.len() + table::SPECS.len());
    for (spec, said) in table::USUAL_SPECS.iter().chain(&table::SPECS).zip(outline.lines()) {
        assert_eq!(format!("{spec:?}"), said);
    }
    for (list, said) in LISTS {
        assert!(list.iter().map(|text| &**text).eq(said.iter().copied()), "{list:?} and {said:?}");
    }
}

#[test]
fn flags_and_subcommands_are_sorted_by_name() {
    for spec in table::USUAL_SPECS.iter().chain(&table::SPECS) {
        assert!(spec.flags.is_sorted_by(|one, other| *one.name < *other.name), "the flags of `{}`", spec.path);
        assert!(spec.subcommands.is_sorted_by(|one, other| *one.name < *other.name), "below `{}`", spec.path);
    }
}

#[test]
fn thousands_of_operands_stay_cheap() {
    let line = format!("echo {}", "a ".repeat(20_000));
    let start = std::time::Instant::now();
    assert!(!analysis(&line).is_reading());
    assert!(start.elapsed().as_secs() < 2, "took {:?}", start.elapsed());
}
