//! CPU time of this thread: what other programs do on the machine does not count.

/// How many times a batch is measured; the least counts.
const ROUNDS: usize = 15;

/// Nanoseconds one call of `work` takes, at the least.
pub(crate) fn least(mut work: impl FnMut()) -> f64 {
    let mut batch = 1;
    while time(batch, &mut work) < 5_000_000.0 && batch < 1 << 20 {
        batch *= 2;
    }
    (0..ROUNDS).map(|_| time(batch, &mut work) / batch as f64).fold(f64::INFINITY, f64::min)
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
