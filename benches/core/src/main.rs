//! Decisions against growing rule sets, side by side in one run: mayi, and three policy engines of the field.
//!
//! The job is the same for all: a call whose text begins with one of N prefixes; 90 % of the rules allow, 5 % ask, 5 %
//! deny; deny wins. Times are CPU time of the thread, the least of several rounds, so that other programs on the
//! machine disturb little. Run with `count N` it only decides with mayi, for an instruction counter; run with `auto` it
//! compares decisions in auto mode with the same in default mode.

mod auto;
mod clock;
mod engines;
mod table;

use std::hint::black_box;

use engines::{Casbin, Cedar, Engine, Mayi, MayiShell, Regorus};

/// How many rules.
const SIZES: [usize; 4] = [20, 200, 2_000, 10_000];

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    match arguments.get(1).map(String::as_str) {
        Some("count") => count(&arguments),
        Some("lines") => lines(&arguments),
        Some("auto") => auto::compare(),
        _ => compare(),
    }
}

fn compare() {
    let mut rows = Vec::new();
    rows.push(measure("mayi, rule lookup and all steps", |size| Box::new(Mayi::new(size)) as Box<dyn Engine>));
    rows.push(measure("mayi, shell command parsed and judged", |size| Box::new(MayiShell::new(size))));
    rows.push(measure("regorus 0.14", |size| Box::new(Regorus::new(size))));
    rows.push(measure("casbin 2.20", |size| Box::new(Casbin::new(size))));
    rows.push(measure("cedar-policy 4", |size| Box::new(Cedar::new(size))));
    table::print(&SIZES, &rows);
}

/// Nanoseconds a decision, hit and miss together, for each size.
fn measure(name: &'static str, make: impl Fn(usize) -> Box<dyn Engine>) -> table::Row {
    let times = SIZES.map(|size| {
        let mut engine = make(size);
        engine.check(size);
        clock::least(|| {
            black_box(engine.decide_hit());
            black_box(engine.decide_miss());
        }) / 2.0
    });
    eprintln!("{name}: {times:.0?}");
    table::Row { name, times }
}

/// Decides a fixed number of times with N rules, for `valgrind --tool=callgrind`.
fn count(arguments: &[String]) {
    let size = arguments.get(2).and_then(|text| text.parse().ok()).unwrap_or(20);
    let times: usize = arguments.get(3).and_then(|text| text.parse().ok()).unwrap_or(1_000);
    let mut engine = Mayi::new(size);
    for _ in 0..times {
        black_box(engine.decide_hit());
    }
}

/// Writes N typical batch lines, for measuring `check --batch`.
fn lines(arguments: &[String]) {
    let count: usize = arguments.get(2).and_then(|text| text.parse().ok()).unwrap_or(100_000);
    let commands = ["git status", "ls -la src", "rg foo src", "npm test", "cat README.md", "git push origin main"];
    for (number, command) in commands.iter().cycle().take(count).enumerate() {
        println!("{{\"id\":{number},\"tool\":\"Bash\",\"input\":{{\"command\":\"{command}\"}},\"cwd\":\"/w\",\"settings\":{{\"permissions\":{{\"allow\":[\"Bash(npm test:*)\"]}}}}}}");
    }
}
