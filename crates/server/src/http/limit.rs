//! How often somebody may come: a bucket each that fills at a steady rate and is emptied by requests.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, RandomState};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use crate::problem::Problem;

/// A steady rate, and what may come at once.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    /// So many a second.
    pub per_second: f64,
    /// So many at once.
    pub burst: f64,
}

/// Every limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rates {
    /// Requests of one token.
    pub token: Rate,
    /// Requests of one address, by people and by those whom nobody knows.
    pub address: Rate,
    /// Tokens that are not good, of one address.
    pub failures: Rate,
}

impl Default for Rates {
    fn default() -> Self {
        Self {
            token: Rate { per_second: 5000.0, burst: 10_000.0 },
            address: Rate { per_second: 100.0, burst: 400.0 },
            failures: Rate { per_second: 0.5, burst: 20.0 },
        }
    }
}

impl Rates {
    /// The same, with so many requests a second for one token.
    #[must_use]
    pub fn per_token(self, per_second: u64) -> Self {
        #[allow(clippy::cast_precision_loss, reason = "settings allow a million")]
        let per_second = per_second as f64;
        Self { token: Rate { per_second, burst: per_second * 2.0 }, ..self }
    }
}

/// The buckets.
#[derive(Debug)]
pub(super) struct Limits {
    rates: Rates,
    tokens: Buckets,
    addresses: Buckets,
    failures: Buckets,
}

impl Limits {
    pub(super) fn new(rates: Rates) -> Self {
        let (tokens, addresses, failures) = (Buckets::default(), Buckets::default(), Buckets::default());
        Self { rates, tokens, addresses, failures }
    }

    /// A request of a token.
    pub(super) fn token(&self, id: &str) -> Result<(), Problem> {
        self.tokens.take(id, self.rates.token)
    }

    /// A request of an address.
    pub(super) fn address(&self, address: IpAddr) -> Result<(), Problem> {
        self.addresses.take(block(address), self.rates.address)
    }

    /// A token that was not good.
    pub(super) fn failed(&self, address: IpAddr) -> Result<(), Problem> {
        self.failures.take(block(address), self.rates.failures)
    }

    /// A failure that was answered as what it is.
    pub(super) fn count_failure(&self, address: IpAddr) {
        // The bucket may have been emptied by others meanwhile; the next one is refused.
        let _ = self.failed(address);
    }

    /// Whether a further token of this address is looked at.
    pub(super) fn may_fail(&self, address: IpAddr) -> Result<(), Problem> {
        self.failures.look(block(address), self.rates.failures)
    }
}

/// Whoever has one address of the sixth kind has a whole block of them.
fn block(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(address) => {
            let bits = u128::from_be_bytes(address.octets()) >> 64 << 64;
            IpAddr::V6(Ipv6Addr::from(bits))
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Bucket {
    left: f64,
    at: Instant,
}

const SHARDS: usize = 16;
/// More buckets than this in one shard are not kept: the full ones go first, then all.
const MOST: usize = 4096;

/// Buckets by a digest of whose they are; those of two who share one are shared, which does no harm.
#[derive(Debug, Default)]
struct Buckets {
    hasher: RandomState,
    shards: [Mutex<HashMap<u64, Bucket>>; SHARDS],
}

impl Buckets {
    fn take(&self, whose: impl Hash, rate: Rate) -> Result<(), Problem> {
        self.at(whose, rate, 1.0)
    }

    fn look(&self, whose: impl Hash, rate: Rate) -> Result<(), Problem> {
        self.at(whose, rate, 0.0)
    }

    fn at(&self, whose: impl Hash, rate: Rate, taken: f64) -> Result<(), Problem> {
        let (key, now) = (self.hasher.hash_one(whose), Instant::now());
        let index = usize::try_from(key % SHARDS as u64).unwrap_or_default();
        let Some(shard) = self.shards.get(index) else { return Err(Problem::Broken) };
        let mut shard = shard.lock().unwrap_or_else(PoisonError::into_inner);
        if shard.len() >= MOST && !shard.contains_key(&key) {
            shard.retain(|_, bucket| bucket.filled(rate, now) < rate.burst);
            if shard.len() >= MOST {
                shard.clear();
            }
        }
        let bucket = shard.entry(key).or_insert(Bucket { left: rate.burst, at: now });
        *bucket = Bucket { left: bucket.filled(rate, now), at: now };
        if bucket.left < 1.0 {
            return Err(Problem::TooMany { seconds: wait((1.0 - bucket.left) / rate.per_second) });
        }
        bucket.left -= taken;
        Ok(())
    }
}

impl Bucket {
    fn filled(&self, rate: Rate, now: Instant) -> f64 {
        let since = now.saturating_duration_since(self.at).as_secs_f64();
        (self.left + since * rate.per_second).min(rate.burst)
    }
}

/// Whole seconds, at least one.
fn wait(seconds: f64) -> u64 {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bounded on both sides before")]
    let whole = seconds.ceil().clamp(1.0, 3600.0) as u64;
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_empties_and_says_when_to_come_again() {
        let buckets = Buckets::default();
        let rate = Rate { per_second: 0.001, burst: 3.0 };
        for _ in 0..3 {
            assert_eq!(buckets.take("a", rate), Ok(()));
        }
        let Err(Problem::TooMany { seconds }) = buckets.take("a", rate) else { unreachable!() };
        assert!((990..=1000).contains(&seconds), "{seconds}");
        assert_eq!(buckets.take("b", rate), Ok(()), "others are not held up");
        for _ in 0..9 {
            assert_eq!(buckets.look("b", rate), Ok(()), "looking takes nothing");
        }
    }

    #[test]
    fn buckets_do_not_grow_without_bound() {
        let buckets = Buckets::default();
        let rate = Rate { per_second: 0.001, burst: 2.0 };
        for number in 0..(SHARDS * MOST * 2) {
            assert_eq!(buckets.take(number, rate), Ok(()));
        }
        let kept: usize = buckets.shards.iter().map(|shard| shard.lock().unwrap().len()).sum();
        assert!(kept <= SHARDS * MOST, "{kept}");
    }

    #[test]
    fn addresses_of_one_block_share_a_bucket() {
        let table = [
            ("2001:db8::1", "2001:db8::ffff", true),
            ("2001:db8::1", "2001:db8:0:1::1", false),
            ("10.0.0.1", "10.0.0.2", false),
        ];
        for (one, other, shared) in table {
            assert_eq!(block(one.parse().unwrap()) == block(other.parse().unwrap()), shared, "{one} {other}");
        }
    }
}
