//! Chance with a seed, the same for ever: a pattern in a picture's caption must draw that
//! picture again, so no crate's next version may change it. `SplitMix64` (Steele, Lea and
//! Flood, OOPSLA 2014), good enough for drawings and for nothing secret.

/// A sequence of random numbers.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The sequence of this seed for the `number`th of those who share it: they are
    /// independent, and one more changes no other.
    pub fn of(seed: u64, number: u64) -> Self {
        let mut seeded = Self(seed);
        Self(seeded.next() ^ number.wrapping_mul(0xda94_2042_e4dd_58b5))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Less than `end`, all alike (but for one in 2^64); 0 when `end` is.
    pub fn below(&mut self, end: u64) -> u64 {
        let wide = u128::from(self.next()) * u128::from(end);
        (wide >> 64) as u64
    }

    /// From `start` to below `end`.
    pub fn between(&mut self, start: u64, end: u64) -> u64 {
        start + self.below(end.saturating_sub(start))
    }

    /// Above 0 and below 1.
    fn unit(&mut self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "53 bits fit")]
        let bits = (self.next() >> 11) as f64;
        (bits + 0.5) * f64::EPSILON / 2.0
    }

    /// The gap to the next of independent events that come one every `mean` on average.
    pub fn exponential(&mut self, mean: u64) -> u64 {
        #[expect(clippy::cast_precision_loss, reason = "a mean of random gaps")]
        let mean = mean as f64;
        whole(-self.unit().ln() * mean)
    }

    /// Half of them below `median`, two of three within a factor of e^`sigma`.
    pub fn log_normal(&mut self, median: f64, sigma: f64) -> u64 {
        // The sum of twelve has variance 1: normal enough, and never far out.
        let normal = (0..12).map(|_| self.unit()).sum::<f64>() - 6.0;
        whole(median * (sigma * normal).exp())
    }
}

/// At most 40 times any mean comes in, so it fits; beyond, `as` stays at the largest.
fn whole(nanos: f64) -> u64 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "positive, and rounded"
    )]
    let nanos = nanos.round() as u64;
    nanos
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The reference's first numbers for the seed 1234567 (Vigna's splitmix64.c).
    #[test]
    fn it_is_splitmix64() {
        let mut random = Random(1_234_567);
        let first = [(); 3].map(|()| random.next());
        assert_eq!(
            first,
            [
                6_457_827_717_110_365_317,
                3_203_168_211_198_807_973,
                9_817_491_932_198_370_423
            ]
        );
    }

    #[test]
    fn numbers_have_the_shape_they_should() {
        let mut random = Random::of(1, 0);
        let mut sample = |draw: fn(&mut Random) -> u64| {
            let mut drawn: Vec<_> = (0..20_000).map(|_| draw(&mut random)).collect();
            drawn.sort_unstable();
            drawn
        };
        let uniform = sample(|random| random.between(100, 200));
        assert_eq!((uniform[0], uniform[19_999]), (100, 199));
        assert!((148..152).contains(&uniform[10_000]), "{}", uniform[10_000]);
        let gaps = sample(|random| random.exponential(1_000_000));
        let mean = gaps.iter().sum::<u64>() / 20_000;
        assert!((970_000..1_030_000).contains(&mean), "{mean}");
        // The median of an exponential is ln 2 of its mean.
        assert!(
            (670_000..716_000).contains(&gaps[10_000]),
            "{}",
            gaps[10_000]
        );
        let pauses = sample(|random| random.log_normal(1e6, 0.5));
        assert!(
            (980_000..1_020_000).contains(&pauses[10_000]),
            "{}",
            pauses[10_000]
        );
        // One standard deviation below, at 15.9 %: e^-0.5.
        assert!(
            (590_000..625_000).contains(&pauses[3_173]),
            "{}",
            pauses[3_173]
        );
        assert_eq!(random.below(0), 0);
    }
}
