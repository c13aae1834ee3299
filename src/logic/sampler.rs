//! So many log lines a second, the rest counted: a flood cannot fill the disk.
//! Never asks the time and writes nothing; it only says what may be written.

use super::bucket::Nanos;

/// One second. It begins with the first line after the last one ended.
const WINDOW: Nanos = 1_000_000_000;

/// What to do with one line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Write it.
    Write,
    /// Count it; this is the first one of its second, so say the count when the second is over.
    CountFirst,
    /// Count it.
    Count,
}

/// Lets `per_second` lines through in each second.
#[derive(Debug)]
pub struct Sampler {
    per_second: u32,
    window_start: Nanos,
    written: u32,
    dropped: u64,
}

impl Sampler {
    /// At most `per_second` lines in each second.
    pub fn new(per_second: u32) -> Self {
        Self {
            per_second,
            window_start: 0,
            written: 0,
            dropped: 0,
        }
    }

    /// May one more line be written at `now`?
    pub fn ask(&mut self, now: Nanos) -> Verdict {
        if now.saturating_sub(self.window_start) >= WINDOW {
            self.window_start = now;
            self.written = 0;
        }
        if self.written < self.per_second {
            self.written += 1;
            return Verdict::Write;
        }
        self.dropped += 1;
        if self.dropped == 1 {
            Verdict::CountFirst
        } else {
            Verdict::Count
        }
    }

    /// Lines counted and not yet told; telling them empties the count.
    pub fn take_dropped(&mut self) -> u64 {
        std::mem::take(&mut self.dropped)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_a_second_and_the_rest_counted() {
        let mut sampler = Sampler::new(10);
        let at = |second: u64| 5 * WINDOW + second * WINDOW;
        for _ in 0..10 {
            assert_eq!(sampler.ask(at(0)), Verdict::Write);
        }
        assert_eq!(sampler.ask(at(0)), Verdict::CountFirst);
        assert_eq!(sampler.ask(at(1) - 1), Verdict::Count);
        assert_eq!(sampler.ask(at(1)), Verdict::Write);
        assert_eq!(sampler.take_dropped(), 2);
        assert_eq!(sampler.take_dropped(), 0);
    }
}
