//! Numbers from a text: the simulation's only source of chance.
//!
//! Both functions are part of the recorded fixtures, so they never change.

/// A well-mixed number for a text: FNV-1a with a final avalanche.
#[must_use]
pub fn number(text: &str) -> u32 {
    let mut hash = 2_166_136_261_u32;
    for byte in text.bytes() {
        hash = (hash ^ u32::from(byte)).wrapping_mul(16_777_619);
    }
    hash ^= hash >> 15;
    hash = hash.wrapping_mul(2_246_822_507);
    hash ^= hash >> 13;
    hash = hash.wrapping_mul(3_266_489_909);
    hash ^ (hash >> 16)
}

/// A stream of numbers from a seed.
#[derive(Debug, Clone)]
pub struct Chance {
    seed: String,
    drawn: u64,
}

impl Chance {
    /// The stream of this seed.
    #[must_use]
    pub fn new(seed: impl Into<String>) -> Self {
        Self { seed: seed.into(), drawn: 0 }
    }

    /// A number below `end`; 0 if there is none.
    pub fn below(&mut self, end: u32) -> u32 {
        self.drawn += 1;
        number(&format!("{}/{}", self.seed, self.drawn)) % end.max(1)
    }

    /// Yes in so many of a hundred cases.
    pub fn percent(&mut self, percent: u32) -> bool {
        self.below(100) < percent
    }

    /// One of several.
    pub fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        let index = self.below(u32::try_from(of.len()).unwrap_or(u32::MAX)) as usize;
        &of[index]
    }
}
