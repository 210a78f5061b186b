//! The tables for people and for the docs.

use crate::inputs::{SIZES, Shape, Typical};
use crate::one::{DEADLINE, Measured};
use crate::readers::{Outcome, Reader};

/// How many of the slowest are shown.
const SHOWN: usize = 8;

/// One reader's row.
type Row = (Reader, [Measured; 4]);

pub(crate) fn typical(rows: &[Row]) {
    println!("| what agents write | {} |", Typical::ALL.map(|text| format!("`{}`", text.name())).join(" | "));
    println!("| --- | ---: | ---: | ---: | ---: |");
    for (reader, results) in rows {
        println!("| {} | {} |", reader.title(), results.map(cell).join(" | "));
    }
    println!();
}

pub(crate) fn growth(shape: Shape, rows: &[Row]) {
    println!(
        "| {} | {} | growth for {}× the text |",
        shape.name(),
        SIZES.map(|size| format!("{size} KiB")).join(" | "),
        SIZES[3] / SIZES[1]
    );
    println!("| --- | ---: | ---: | ---: | ---: | ---: |");
    for (reader, results) in rows {
        let growth = match (results[1], results[3]) {
            (Measured::Took(small, _), Measured::Took(big, _)) => format!("{:.1}×", big / small),
            _ => "–".to_owned(),
        };
        println!("| {} | {} | {growth} |", reader.title(), results.map(cell).join(" | "));
    }
    println!();
}

/// The head of a list that is sorted already.
pub(crate) fn slowest(sorted: &[(&str, Measured)]) {
    println!("| the slowest of {} texts made to be slow, 64 KiB | {} |", sorted.len(), Reader::Analyse.title());
    println!("| --- | ---: |");
    for (name, result) in sorted.iter().take(SHOWN) {
        println!("| `{name}` | {} |", cell(*result));
    }
    println!();
}

fn cell(result: Measured) -> String {
    match result {
        Measured::Took(time, Outcome::Read) => human(time),
        Measured::Took(time, Outcome::Refused) => format!("{} (refused)", human(time)),
        Measured::TooSlow => format!("more than {DEADLINE} s"),
        Measured::Crashed => "crashes".to_owned(),
    }
}

fn human(nanoseconds: f64) -> String {
    match nanoseconds {
        time if time < 10_000.0 => format!("{time:.0} ns"),
        time if time < 10_000_000.0 => format!("{:.0} µs", time / 1e3),
        time => format!("{:.1} ms", time / 1e6),
    }
}
