//! Shell text read, side by side in one run: mayi all the way to effects, and three parsers of the field that only parse.
//!
//! Every cell is measured in a process of its own (this program, called with `one`), because some readers overflow
//! their stack or do not come to an end. A process has two seconds of CPU time for its first reading; what needs more
//! is named in the table instead of timed. Times are CPU time of the thread, the least of several rounds, so that other
//! programs on the machine disturb little.

mod clock;
mod inputs;
mod one;
mod readers;
mod table;

use inputs::{SIZES, Shape, Typical};
use readers::Reader;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["one", reader, input @ ..] => one::measure(reader, input),
        ["repeat", reader, times, input @ ..] => one::repeat(reader, times, input),
        _ => compare(),
    }
}

fn compare() {
    let rows = Reader::ALL.map(|reader| (reader, Typical::ALL.map(|text| one::spawn(reader, &[text.name()]))));
    table::typical(&rows);
    for shape in Shape::ALL {
        let rows = Reader::ALL
            .map(|reader| (reader, SIZES.map(|kibibytes| one::spawn(reader, &[shape.name(), &kibibytes.to_string()]))));
        table::growth(shape, &rows);
    }
    let mut slow: Vec<_> = inputs::adversarial()
        .into_iter()
        .map(|name| (name, one::spawn(Reader::Analyse, &["adversarial", name])))
        .collect();
    slow.sort_by(|(_, one), (_, other)| other.nanoseconds().total_cmp(&one.nanoseconds()));
    table::slowest(&slow);
}
