//! Shares with their uncertainty, and percentiles. Plain arithmetic, no state.

use std::time::Duration;

use serde::Serialize;

/// A share of a count, with the 95 % confidence interval by Wilson's method, which holds for small counts and for
/// shares near none and all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Share {
    /// How many.
    pub count: usize,
    /// Of how many.
    pub of: usize,
    /// The share, from 0 to 1; 0 of none.
    pub rate: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// The standard normal quantile of a two-sided 95 % interval.
const Z: f64 = 1.959_963_984_540_054;

impl Share {
    /// `count` of `of`.
    pub fn of(count: usize, of: usize) -> Self {
        if of == 0 {
            // Nothing was seen, so nothing is excluded.
            return Self { count, of, rate: 0.0, low: 0.0, high: 1.0 };
        }
        let (n, rate) = (of as f64, count as f64 / of as f64);
        let square = Z * Z;
        let centre = rate + square / (2.0 * n);
        let spread = Z * (rate * (1.0 - rate) / n + square / (4.0 * n * n)).sqrt();
        let scale = 1.0 + square / n;
        let low = if count == 0 { 0.0 } else { ((centre - spread) / scale).max(0.0) };
        let high = if count == of { 1.0 } else { ((centre + spread) / scale).min(1.0) };
        Self { count, of, rate, low, high }
    }
}

/// The value below which this share of the sorted values lies; `None` of none.
pub(super) fn percentile(sorted: &[Duration], share: f64) -> Option<Duration> {
    let last = sorted.len().checked_sub(1)?;
    // The share is between 0 and 1, so the product is an index.
    let index = (share * last as f64).round() as usize;
    sorted.get(index.min(last)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_agree_with_published_tables() {
        // Values computed by hand from the formula, to four places.
        for (count, of, low, high) in
            [(0, 10, 0.0, 0.2775), (10, 10, 0.7225, 1.0), (5, 10, 0.2366, 0.7634), (1, 100, 0.0018, 0.0545)]
        {
            let share = Share::of(count, of);
            assert!((share.low - low).abs() < 1e-4 && (share.high - high).abs() < 1e-4, "{share:?}");
        }
        assert_eq!(Share::of(0, 0), Share { count: 0, of: 0, rate: 0.0, low: 0.0, high: 1.0 });
    }

    #[test]
    fn percentiles_are_values_that_were_seen() {
        let values: Vec<_> = (1..=101).map(Duration::from_micros).collect();
        assert_eq!(percentile(&values, 0.5), Some(Duration::from_micros(51)));
        assert_eq!(percentile(&values, 0.99), Some(Duration::from_micros(100)));
        assert_eq!(percentile(&values, 1.0), Some(Duration::from_micros(101)));
        assert_eq!(percentile(&[], 0.5), None);
    }
}
