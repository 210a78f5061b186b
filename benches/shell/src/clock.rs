//! CPU time of this thread: what other programs do on the machine does not count.

/// How many times a batch is measured; the least counts.
const ROUNDS: usize = 15;
/// What all rounds of a slow reading may take together.
const PATIENCE: f64 = 1e9;

/// Nanoseconds one call of `work` takes, at the least.
pub(crate) fn least(mut work: impl FnMut()) -> f64 {
    let mut batch = 1;
    let mut last = time(batch, &mut work);
    while last < 5_000_000.0 && batch < 1 << 20 {
        batch *= 2;
        last = time(batch, &mut work);
    }
    let rounds = ROUNDS.min((PATIENCE / last) as usize);
    (0..rounds).map(|_| time(batch, &mut work)).fold(last, f64::min) / batch as f64
}

fn time(batch: usize, work: &mut impl FnMut()) -> f64 {
    let start = now();
    for _ in 0..batch {
        work();
    }
    now() - start
}

fn now() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}
