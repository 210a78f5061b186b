//! Limits: texts made to be slow end soon, and texts made to nest deeply need no more than a small stack.

#![allow(clippy::expect_used, reason = "a test fails by panicking")]

mod support;

#[path = "support/adversarial.rs"]
mod adversarial;

use std::time::{Duration, Instant};

use mayi_shell::observe::Observations;
use rustix::time::{ClockId, clock_gettime};

/// Far above what is needed even without optimisation on a busy machine, far below what a blow-up takes.
const SOON: Duration = Duration::from_secs(10);
/// What four times the text may take: four times as long is linear, sixteen times quadratic.
const GROWTH: f64 = 12.0;
/// Less than this is lost in the noise.
const NOISE: f64 = 2e-3;
/// Half of what a thread gets by default.
const STACK: usize = 1024 * 1024;

#[test]
fn adversarial_texts_end_soon_on_a_small_stack() {
    let work = || {
        for (name, text) in adversarial::texts(adversarial::LIMIT) {
            for length in [text.len(), text.len() / 2, text.len() / 3] {
                let start = Instant::now();
                support::analyse(text.get(..length).unwrap_or(&text));
                assert!(start.elapsed() < SOON, "{name} took {:?}", start.elapsed());
            }
        }
    };
    let thread = std::thread::Builder::new().stack_size(STACK).spawn(work).expect("a thread starts");
    thread.join().expect("no text overflows or panics");
}

#[test]
fn deep_but_allowed_nesting_fits_the_stack() {
    let work = || {
        let shapes = [
            ("$(", ")"),
            ("(", " )"),
            ("{ ", "; }"),
            ("\"${x:-", "}\""),
            ("if a; then ", "; fi"),
            ("echo \"$(", ")\""),
            ("f() { ", "; }"),
            ("<(", ")"),
        ];
        for (open, close) in shapes {
            for depth in [10, 25, 31, 62] {
                support::analyse(&format!("echo {}a{}", open.repeat(depth), close.repeat(depth)));
                support::analyse(&format!("{}a{}", open.repeat(depth), close.repeat(depth)));
            }
        }
        support::analyse(&("eval ".repeat(60) + "a"));
        support::analyse(&("xargs ".repeat(60) + "a"));
    };
    let thread = std::thread::Builder::new().stack_size(STACK).spawn(work).expect("a thread starts");
    thread.join().expect("no text overflows or panics");
}

#[test]
fn four_times_the_text_takes_about_four_times_as_long() {
    let (small, big) = (adversarial::texts(adversarial::LIMIT / 4), adversarial::texts(adversarial::LIMIT));
    for ((name, small), (_, big)) in small.iter().zip(&big) {
        assert!(big.len() <= adversarial::LIMIT, "{name} would be refused for its length alone");
        let (little, much) = (seconds(small), seconds(big));
        assert!(
            much < GROWTH * little + NOISE,
            "{name}: {:.1} ms for {} bytes, {:.1} ms for {}",
            little * 1e3,
            small.len(),
            much * 1e3,
            big.len()
        );
    }
}

/// CPU time of this thread that the whole analysis takes, the least of a few: a busy machine does not count.
fn seconds(text: &str) -> f64 {
    let now = || {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
    };
    let once = || {
        let start = now();
        mayi_shell::analyse(text, &support::context(), &Observations::default());
        now() - start
    };
    (0..3).map(|_| once()).fold(f64::INFINITY, f64::min)
}

#[test]
fn a_question_is_asked_once_and_in_the_order_of_the_text() {
    let analysis = mayi_shell::analyse("./b; ./a; ./b; ./a", &support::context(), &Observations::default());
    let file = |name: &str| mayi_shell::observe::Question::File(format!("/project/{name}"));
    assert_eq!(analysis.questions, [file("b"), file("a")]);
}
