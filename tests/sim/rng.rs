//! A small random number generator of our own, so that a seed means the same schedule for ever.
//!
//! No dependency may come in here: another version of it would give an old seed another meaning.

/// Splitmix64: tiny, fast, and good enough to pick test cases.
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// Returns the generator of one seed.
    pub fn new(seed: u64) -> Rng {
        let mut rng = Rng(seed ^ 0x5851_f42d_4c95_7f2d);
        rng.next();
        rng
    }

    /// Returns the next number.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// Returns a number below `n`.
    pub fn below(&mut self, n: u64) -> u64 {
        self.next() % n.max(1)
    }

    /// Returns a small number to pick something with.
    pub fn pick(&mut self) -> u8 {
        (self.next() >> 32) as u8
    }

    /// Returns true in `n` of 100 cases.
    pub fn percent(&mut self, n: u64) -> bool {
        self.below(100) < n
    }
}

/// Returns a number that depends on all bits of another.
pub fn mix(n: u64) -> u64 {
    let n = (n ^ (n >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let n = (n ^ (n >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    n ^ (n >> 31)
}
