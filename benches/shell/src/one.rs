//! One reader on one text, in a process of its own with a limit on its CPU time.

use std::hint::black_box;
use std::process::Command;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::readers::{Outcome, Reader};
use crate::{clock, inputs};

/// Seconds of CPU time for the first reading.
pub(crate) const DEADLINE: u64 = 2;

/// What became of it.
#[derive(Clone, Copy)]
pub(crate) enum Measured {
    /// It came to an end: nanoseconds, and whether the text was understood.
    Took(f64, Outcome),
    TooSlow,
    Crashed,
}

impl Measured {
    pub(crate) fn nanoseconds(self) -> f64 {
        match self {
            Self::Took(time, _) => time,
            Self::TooSlow | Self::Crashed => f64::INFINITY,
        }
    }
}

/// Measures in a new process.
pub(crate) fn spawn(reader: Reader, input: &[&str]) -> Measured {
    let program = std::env::current_exe().expect("this program has a path");
    let output = Command::new(program).arg("one").arg(reader.name()).args(input).output().expect("a process starts");
    let text = String::from_utf8_lossy(&output.stdout);
    let mut words = text.split_whitespace();
    let result = match (words.next().and_then(|word| word.parse().ok()), words.next()) {
        (Some(time), Some("read")) => Measured::Took(time, Outcome::Read),
        (Some(time), _) => Measured::Took(time, Outcome::Refused),
        (None, _) if ran_out_of_time(output.status) => Measured::TooSlow,
        (None, _) => Measured::Crashed,
    };
    eprintln!("{} on {}: {}", reader.name(), input.join(" "), text.trim());
    result
}

fn ran_out_of_time(status: std::process::ExitStatus) -> bool {
    use std::os::unix::process::ExitStatusExt;
    status.signal() == Some(rustix::process::Signal::XCPU.as_raw())
}

/// The process itself: reads once under the limit, then as often as the clock wants.
pub(crate) fn measure(reader: &str, input: &[&str]) {
    let reader = Reader::named(reader).expect("a reader of this name");
    let text = inputs::text(input).expect("a text of this name");
    let mut read = reader.ready();
    let usual = getrlimit(Resource::Cpu);
    setrlimit(Resource::Cpu, Rlimit { current: Some(DEADLINE), ..usual }).expect("a limit can be lowered");
    let outcome = read(&text);
    setrlimit(Resource::Cpu, usual).expect("a limit can be put back");
    let time = clock::least(|| {
        black_box(read(&text));
    });
    println!("{time} {}", if outcome == Outcome::Read { "read" } else { "refused" });
}

/// Reads a fixed number of times, for a profiler or an instruction counter.
pub(crate) fn repeat(reader: &str, times: &str, input: &[&str]) {
    let mut read = Reader::named(reader).expect("a reader of this name").ready();
    let text = inputs::text(input).expect("a text of this name");
    for _ in 0..times.parse().expect("a number") {
        black_box(read(&text));
    }
}
