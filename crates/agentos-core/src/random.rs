//! Randomness that comes out the same each time a program is executed again.
//!
//! The generator is seeded anew at every delivery from the run's seed and the identity of the answer delivered.
//! A generator that lived through the whole run would hand out other numbers as soon as code that drew from it
//! were left out or executed in another order. Both algorithms are fixed by definition, so the numbers are the same
//! in every version.

use std::hash::Hasher;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng as _, SeedableRng};
use siphasher::sip::SipHasher24;

use crate::id::Seed;

/// The generator between two deliveries.
#[derive(Debug, Clone)]
pub(crate) struct Randomness(Xoshiro256PlusPlus);

impl Randomness {
    /// The generator for what happens after `identity` was delivered.
    pub(crate) fn after(seed: Seed, identity: &str) -> Self {
        let mut hash = SipHasher24::new_with_keys(seed.0, 0);
        hash.write(identity.as_bytes());
        Self(Xoshiro256PlusPlus::seed_from_u64(hash.finish()))
    }

    /// A number from 0 (included) to 1 (excluded), as `Math.random` gives.
    pub(crate) fn unit(&mut self) -> f64 {
        const STEPS: u64 = 1 << 53;
        #[expect(clippy::cast_precision_loss, reason = "53 bits are exactly what an f64 holds")]
        let unit = (self.0.next_u64() >> 11) as f64 / STEPS as f64;
        unit
    }

    /// A whole number from 0 to `most`, both included.
    pub(crate) fn up_to(&mut self, most: u64) -> u64 {
        let span = u128::from(most) + 1;
        u64::try_from((u128::from(self.0.next_u64()) * span) >> 64).unwrap_or(most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_never_change() {
        let mut random = Randomness::after(Seed(7), "/shell:a#1");
        let drawn: Vec<u64> = (0..3).map(|_| random.up_to(999)).collect();
        assert_eq!(drawn, [887, 971, 319]);
        assert!((0.0..1.0).contains(&random.unit()));
    }

    #[test]
    fn seed_and_identity_both_count() {
        let first = |seed, identity| Randomness::after(Seed(seed), identity).up_to(u64::MAX);
        assert_ne!(first(1, "a"), first(2, "a"));
        assert_ne!(first(1, "a"), first(1, "b"));
        assert_eq!(first(1, "a"), first(1, "a"));
    }
}
