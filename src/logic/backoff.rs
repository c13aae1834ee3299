//! When a dead engine is started again. Never asks the time, never rolls the dice:
//! both come in as arguments.

use std::collections::VecDeque;
use std::time::Duration;

use super::bucket::Nanos;

/// The window in which deaths are counted, and the run that clears the memory of them.
const WINDOW: Duration = Duration::from_secs(10);
/// Deaths in one window that are answered by a start at once.
const AT_ONCE: usize = 5;
/// The first pause, doubled at each further death.
const FIRST_DELAY: Duration = Duration::from_millis(100);

/// Memory of recent deaths.
#[derive(Debug)]
pub struct Backoff {
    delay_max: Duration,
    deaths: VecDeque<Nanos>,
    pauses: u32,
}

impl Backoff {
    /// Pauses never pass `delay_max`, jitter included.
    pub fn new(delay_max: Duration) -> Self {
        Self {
            delay_max,
            deaths: VecDeque::new(),
            pauses: 0,
        }
    }

    /// A death at `now` after `ran`; says how long to wait before the next start.
    ///
    /// At once for the first 5 deaths in any 10 s, then 0.1, 0.2, 0.4 … seconds, each
    /// times 0.8 to 1.2 (`jitter` in 0 to 1), until an engine has run for 10 s.
    pub fn died(&mut self, now: Nanos, ran: Duration, jitter: f64) -> Duration {
        if ran >= WINDOW {
            self.deaths.clear();
            self.pauses = 0;
        }
        if self.pauses == 0 && self.may_start_at_once(now) {
            return Duration::ZERO;
        }
        let doubled = FIRST_DELAY.saturating_mul(2u32.saturating_pow(self.pauses));
        self.pauses = self.pauses.saturating_add(1);
        let jittered = doubled.min(self.delay_max).mul_f64(0.8 + 0.4 * jitter);
        jittered.min(self.delay_max)
    }

    /// Counts this death; true for the first few in the window.
    fn may_start_at_once(&mut self, now: Nanos) -> bool {
        let window = u64::try_from(WINDOW.as_nanos()).unwrap_or(u64::MAX);
        while (self.deaths.front()).is_some_and(|death| now.saturating_sub(*death) > window) {
            self.deaths.pop_front();
        }
        self.deaths.push_back(now);
        self.deaths.len() <= AT_ONCE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLI: Nanos = 1_000_000;

    #[test]
    fn five_at_once_then_doubling_to_the_ceiling() {
        let mut backoff = Backoff::new(Duration::from_secs(1));
        let mut now = 0;
        let mut delays = Vec::new();
        for _ in 0..12 {
            let delay = backoff.died(now, Duration::ZERO, 0.5);
            delays.push(delay.as_millis());
            now += u64::try_from(delay.as_nanos()).unwrap() + MILLI;
        }
        assert_eq!(
            delays,
            [0, 0, 0, 0, 0, 100, 200, 400, 800, 1000, 1000, 1000]
        );
    }

    #[test]
    fn jitter_is_a_fifth_and_never_passes_the_ceiling() {
        for (jitter, expected) in [(0.0, 80), (1.0, 120)] {
            let mut backoff = Backoff::new(Duration::from_secs(10));
            let delays: Vec<_> = (0..6)
                .map(|_| backoff.died(0, Duration::ZERO, jitter))
                .collect();
            assert_eq!(delays[5], Duration::from_millis(expected));
        }
        let mut backoff = Backoff::new(Duration::from_millis(50));
        for _ in 0..40 {
            assert!(backoff.died(0, Duration::ZERO, 1.0) <= Duration::from_millis(50));
        }
    }

    #[test]
    fn rare_deaths_are_answered_at_once_for_ever() {
        let mut backoff = Backoff::new(Duration::from_secs(10));
        for n in 0..100 {
            assert_eq!(
                backoff.died(n * 2_600 * MILLI, Duration::from_millis(2_600), 0.5),
                Duration::ZERO
            );
        }
    }

    #[test]
    fn long_pauses_do_not_count_as_a_run() {
        let mut backoff = Backoff::new(Duration::from_mins(1));
        let mut now = 0;
        for _ in 0..20 {
            let delay = backoff.died(now, Duration::ZERO, 0.5);
            now += u64::try_from(delay.as_nanos()).unwrap();
        }
        assert!(backoff.died(now, Duration::ZERO, 0.5) == Duration::from_mins(1));
        assert_eq!(
            backoff.died(now, Duration::from_secs(10), 0.5),
            Duration::ZERO,
            "a run of 10 s clears"
        );
    }
}
