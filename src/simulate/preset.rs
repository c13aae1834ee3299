//! Limits that others have published, as one rate and one burst. Only the numbers are
//! theirs; every algorithm is run under them.

#![allow(
    clippy::doc_markdown,
    reason = "doc comments here are the text of --help"
)]

use clap::ValueEnum;

use crate::logic::bucket::{Burst, Limit, Rate};
use crate::logic::limiter::Algorithm;

/// Whose limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Preset {
    /// The text adventure's own: 2 a second, burst 2
    Game,
    /// GitHub's REST API: 5,000 an hour in fixed windows
    Github,
    /// Stripe's API: 100 a second, burst 500
    Stripe,
    /// OpenAI's former free tier: 200 a day as one every 432 s, burst 200
    Openai,
    /// Like nginx's own article on rate limiting: 10 a second, burst 20
    Nginx,
    /// Like Cloudflare's own article on counting: 50 a minute
    Cloudflare,
}

impl Preset {
    /// The numbers.
    pub fn limit(self) -> Limit {
        let (rate, burst) = match self {
            Self::Game => ("2", "2"),
            Self::Github => ("5000/h", "5000"),
            Self::Stripe => ("100", "500"),
            Self::Openai => ("200/d", "200"),
            Self::Nginx => ("10", "20"),
            Self::Cloudflare => ("50/min", "50"),
        };
        let limit = rate.parse::<Rate>().and_then(|rate| {
            let burst = burst.parse::<Burst>()?;
            Limit::new(rate, burst)
        });
        limit.expect("a test reads each of them")
    }

    /// What they are known to use.
    pub fn algorithm(self) -> Algorithm {
        match self {
            Self::Game | Self::Stripe | Self::Openai => Algorithm::TokenBucket,
            Self::Github => Algorithm::FixedWindow,
            Self::Nginx => Algorithm::LeakyQueue,
            Self::Cloudflare => Algorithm::SlidingWindow,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_is_a_limit() {
        for preset in Preset::value_variants() {
            let limit = preset.limit();
            assert!(limit.window_nanos() > 0, "{preset:?}");
        }
        assert_eq!(
            Preset::Openai.limit().rate().interval_nanos(),
            432_000_000_000
        );
    }
}
