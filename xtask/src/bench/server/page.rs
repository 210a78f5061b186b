//! The tables of the page: everything between two marks is written anew, what people wrote around them stays.

use std::fmt::Write as _;

use anyhow::{Context, Result};
use serde_json::Value;

use super::figure;

const BEGIN: &str = "<!-- figures -->\n";
const END: &str = "<!-- end of figures -->";
/// The stores, and how people call them.
pub(super) const STORES: [(&str, &str); 2] = [("sqlite", "SQLite"), ("postgres", "PostgreSQL")];

/// The page with new tables.
pub(super) fn with_figures(text: &str, figures: &Value) -> Result<String> {
    let marks = || format!("the page needs the lines `{}` and `{END}`", BEGIN.trim());
    let (before, rest) = text.split_once(BEGIN).with_context(marks)?;
    let (_, after) = rest.split_once(END).with_context(marks)?;
    Ok(format!("{before}{BEGIN}\n{}\n{END}{after}", tables(figures)?))
}

fn tables(figures: &Value) -> Result<String> {
    let mut text = String::from(
        "| connections | SQLite: decisions/s | p50 (ms) | p99 (ms) | PostgreSQL: decisions/s | p50 (ms) | p99 (ms) |\n\
         | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n",
    );
    let rows = figures.pointer("/sqlite/decisions").and_then(Value::as_array).context("no decisions")?.len();
    for row in 0..rows {
        let connections = figure(figures, &format!("/sqlite/decisions/{row}/connections"))?;
        write!(text, "| {connections:.0} |")?;
        for (store, _) in STORES {
            let of = |name: &str| figure(figures, &format!("/{store}/decisions/{row}/{name}"));
            write!(text, " {} | {:.2} | {:.2} |", grouped(of("rate")?), of("p50_ms")?, of("p99_ms")?)?;
        }
        text.push('\n');
    }
    text.push_str("\n| | SQLite | PostgreSQL |\n| --- | ---: | ---: |\n");
    for (name, shown) in ROWS {
        let mut cells = Vec::new();
        for (store, _) in STORES {
            cells.push(shown(figures, store)?);
        }
        writeln!(text, "| {name} | {} |", cells.join(" | "))?;
    }
    Ok(text)
}

type Shown = fn(&Value, &str) -> Result<String>;

const ROWS: [(&str, Shown); 11] = [
    ("one flush of the disk by itself, median (ms)", |figures, _| exact(figures, "/flush_ms")),
    ("decisions/s without a session, 64 connections", |figures, store| rate(figures, &format!("/{store}/alone/rate"))),
    ("decisions/s in batches of 100 lines", |figures, store| rate(figures, &format!("/{store}/lines/rate"))),
    ("p99 of such a batch (ms)", |figures, store| exact(figures, &format!("/{store}/lines/p99_ms"))),
    ("shipped audit records/s, 100 a request", |figures, store| rate(figures, &format!("/{store}/shipped/rate"))),
    ("p99 of such a shipment (ms)", |figures, store| exact(figures, &format!("/{store}/shipped/p99_ms"))),
    ("memory after start (MB)", |figures, store| megabytes(figures, &format!("/{store}/waiting/before_kb"))),
    ("memory with 10,000 questions (MB)", |figures, store| {
        megabytes(figures, &format!("/{store}/waiting/with_questions_kb"))
    }),
    ("memory with 10,000 agents waiting for them (MB)", |figures, store| {
        megabytes(figures, &format!("/{store}/waiting/with_agents_kb"))
    }),
    ("from the answer to the agent that waits, median (ms)", |figures, store| {
        exact(figures, &format!("/{store}/waiting/woken_p50_ms"))
    }),
    ("events delivered/s to 1,000 pages", |figures, store| rate(figures, &format!("/{store}/waiting/fan_out/rate"))),
];

fn rate(figures: &Value, pointer: &str) -> Result<String> {
    Ok(grouped(figure(figures, pointer)?))
}

fn exact(figures: &Value, pointer: &str) -> Result<String> {
    Ok(format!("{:.2}", figure(figures, pointer)?))
}

fn megabytes(figures: &Value, pointer: &str) -> Result<String> {
    Ok(format!("{:.0}", figure(figures, pointer)? / 1024.0))
}

/// A number with commas between thousands.
pub(super) fn grouped(number: f64) -> String {
    let digits = format!("{number:.0}");
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::grouped;

    #[test]
    fn thousands_stand_apart() {
        for (number, text) in [(0.0, "0"), (999.0, "999"), (1000.4, "1,000"), (20_123.0, "20,123"), (1e6, "1,000,000")]
        {
            assert_eq!(grouped(number), text);
        }
    }
}
