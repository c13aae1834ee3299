//! The time axis: where its ticks are, and what moments are called.

use std::time::{Duration, SystemTime};

use crate::logic::bucket::Nanos;

use super::Moments;
use super::layout::{LABEL_LETTER_WIDTH, Layout};
use super::words;

const MICROSECOND: Nanos = 1_000;
pub(super) const MILLISECOND: Nanos = 1_000 * MICROSECOND;
pub(super) const SECOND: Nanos = 1_000 * MILLISECOND;
pub(super) const MINUTE: Nanos = 60 * SECOND;
pub(super) const HOUR: Nanos = 60 * MINUTE;
pub(super) const DAY: Nanos = 24 * HOUR;

/// Ticks are these apart, or ten times the last until they are few enough.
const STEPS: [Nanos; 28] = [
    MICROSECOND,
    10 * MICROSECOND,
    100 * MICROSECOND,
    MILLISECOND,
    2 * MILLISECOND,
    5 * MILLISECOND,
    10 * MILLISECOND,
    20 * MILLISECOND,
    50 * MILLISECOND,
    100 * MILLISECOND,
    200 * MILLISECOND,
    500 * MILLISECOND,
    SECOND,
    2 * SECOND,
    5 * SECOND,
    10 * SECOND,
    30 * SECOND,
    MINUTE,
    2 * MINUTE,
    5 * MINUTE,
    10 * MINUTE,
    30 * MINUTE,
    HOUR,
    2 * HOUR,
    6 * HOUR,
    12 * HOUR,
    DAY,
    10 * DAY,
];

/// Moments at even distances, at most so many, and the distance.
pub(super) fn ticks((from, to): (Nanos, Nanos), most: u64) -> (Vec<Nanos>, Nanos) {
    let tens = std::iter::successors(Some(100 * DAY), |step| step.checked_mul(10));
    let few = |step: &Nanos| (to - from) / step <= most;
    let step = STEPS
        .into_iter()
        .chain(tens)
        .find(few)
        .unwrap_or(Nanos::MAX);
    let first = from.div_ceil(step).saturating_mul(step);
    let ticks = (0..=most)
        .map_while(|n| first.checked_add(n.checked_mul(step)?))
        .take_while(|tick| *tick <= to);
    (ticks.collect(), step)
}

/// Ticks whose names leave room between them, at most so many: where they are in pixels, and
/// what they are called.
pub(super) fn named_ticks(layout: &Layout, moments: Moments, most: u64) -> Vec<(f64, String)> {
    let mut named = Vec::new();
    for most in (1..=most).rev() {
        let (ticks, step) = ticks((layout.from, layout.to), most);
        let name = |tick| (layout.x(tick), moment(tick, moments, step));
        named = ticks.into_iter().map(name).collect();
        if are_apart(&named) {
            break;
        }
    }
    named
}

fn are_apart(ticks: &[(f64, String)]) -> bool {
    const ROOM: f64 = 8.0;
    ticks.windows(2).all(|pair| {
        let [(left, left_name), (right, right_name)] = pair else {
            return true;
        };
        let letters = words::letters(left_name) + words::letters(right_name);
        right - left >= letters / 2.0 * LABEL_LETTER_WIDTH + ROOM
    })
}

/// A moment as the axis names it, where ticks are this far apart.
pub(super) fn moment(at: Nanos, moments: Moments, step: Nanos) -> String {
    match moments {
        // `0.5 s` between `0 s` and `1 s`.
        Moments::SinceStart if step >= 100 * MILLISECOND && (1..SECOND).contains(&at) => {
            format!("0.{} s", at / (100 * MILLISECOND))
        }
        Moments::SinceStart => since_start(at),
        Moments::SinceEpoch => {
            let text = rfc3339(at);
            let (date, time) = (&text[..10], &text[11..]);
            let time = time.trim_end_matches('Z');
            if step >= DAY {
                date.to_owned()
            } else if step >= MINUTE {
                time[..5].to_owned()
            } else if step >= SECOND {
                time[..8].to_owned()
            } else {
                time[..12].to_owned()
            }
        }
    }
}

/// A moment by itself.
pub(super) fn full_moment(at: Nanos, moments: Moments) -> String {
    match moments {
        Moments::SinceStart => since_start(at),
        Moments::SinceEpoch => {
            let text = rfc3339(at);
            format!("{} {} UTC", &text[..10], &text[11..19])
        }
    }
}

/// As a length where that says all of it, else as on a stopwatch: `59:59.64`, `1:00:00.1`,
/// `2 d 1:00:05`. Cut off, not rounded, to the millisecond.
fn since_start(at: Nanos) -> String {
    let smaller_unit = match at {
        ..MINUTE => return length(at),
        MINUTE..HOUR => SECOND,
        HOUR..DAY => MINUTE,
        DAY.. => HOUR,
    };
    if at.is_multiple_of(smaller_unit) {
        return length(at);
    }
    let (days, hours) = (at / DAY, at % DAY / HOUR);
    let (minutes, seconds) = (at % HOUR / MINUTE, at % MINUTE / SECOND);
    let mut text = match (days, hours) {
        (0, 0) => format!("{minutes}:{seconds:02}"),
        (0, _) => format!("{hours}:{minutes:02}:{seconds:02}"),
        _ => format!("{days} d {hours}:{minutes:02}:{seconds:02}"),
    };
    let milliseconds = at % SECOND / MILLISECOND;
    if milliseconds > 0 {
        text += format!(".{milliseconds:03}").trim_end_matches('0');
    }
    text
}

/// To the millisecond, always of one length: `2026-11-30T14:30:05.000Z`.
fn rfc3339(at: Nanos) -> String {
    let time = SystemTime::UNIX_EPOCH + Duration::from_nanos(at);
    humantime::format_rfc3339_millis(time).to_string()
}

/// A length of time in words: `500 ms`, `9.5 s`, `7 min 12 s`, `2 h 5 min`, `3 d 4 h`.
/// Cut off, not rounded, beyond its second unit or second decimal.
pub fn length(nanos: Nanos) -> String {
    let decimal = |unit: Nanos, name: &str| {
        let hundredths = nanos / (unit / 100);
        let (whole, rest) = (hundredths / 100, hundredths % 100);
        match rest {
            0 => format!("{whole} {name}"),
            _ if rest % 10 == 0 => format!("{whole}.{} {name}", rest / 10),
            _ => format!("{whole}.{rest:02} {name}"),
        }
    };
    let pair = |unit: Nanos, name: &str, part: Nanos, part_name: &str| {
        let (whole, rest) = (nanos / unit, nanos % unit / part);
        match rest {
            0 => format!("{whole} {name}"),
            _ => format!("{whole} {name} {rest} {part_name}"),
        }
    };
    match nanos {
        0 => "0 s".to_owned(),
        1..MICROSECOND => format!("{nanos} ns"),
        MICROSECOND..MILLISECOND => decimal(MICROSECOND, "µs"),
        MILLISECOND..SECOND => decimal(MILLISECOND, "ms"),
        SECOND..MINUTE => decimal(SECOND, "s"),
        MINUTE..HOUR => pair(MINUTE, "min", SECOND, "s"),
        HOUR..DAY => pair(HOUR, "h", MINUTE, "min"),
        _ => pair(DAY, "d", HOUR, "h"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_in_words() {
        for (nanos, words) in [
            (0, "0 s"),
            (7, "7 ns"),
            (1_500, "1.5 µs"),
            (500 * MILLISECOND, "500 ms"),
            (9_500 * MILLISECOND, "9.5 s"),
            (1_050 * MILLISECOND, "1.05 s"),
            (MINUTE - 1, "59.99 s"),
            (432 * SECOND, "7 min 12 s"),
            (2 * HOUR, "2 h"),
            (2 * HOUR + 5 * MINUTE, "2 h 5 min"),
            (100 * HOUR, "4 d 4 h"),
        ] {
            assert_eq!(length(nanos), words);
        }
    }

    #[test]
    fn moments_close_to_each_other_have_different_names() {
        for (at, words) in [
            (59_990 * MILLISECOND, "59.99 s"),
            (MINUTE, "1 min"),
            (HOUR - 360 * MILLISECOND, "59:59.64"),
            (HOUR - 1, "59:59.999"),
            (HOUR, "1 h"),
            (HOUR + 100 * MILLISECOND, "1:00:00.1"),
            (HOUR + 5 * MINUTE, "1 h 5 min"),
            (49 * HOUR + 5 * SECOND, "2 d 1:00:05"),
        ] {
            assert_eq!(moment(at, Moments::SinceStart, MILLISECOND), words);
            assert_eq!(full_moment(at, Moments::SinceStart), words);
        }
    }

    #[test]
    fn ticks_are_few_and_even() {
        let (found, step) = ticks((0, 20_600 * MILLISECOND), 12);
        assert_eq!((found.len(), step), (11, 2 * SECOND));
        let (found, step) = ticks((5, 6), 12);
        assert_eq!((found, step), (vec![], MICROSECOND));
        let (found, _) = ticks((0, Nanos::MAX), 12);
        assert!((2..=12).contains(&found.len()), "{found:?}");
        let (found, _) = ticks((Nanos::MAX - 1, Nanos::MAX), 12);
        assert!(found.len() <= 1, "{found:?}");
    }

    #[test]
    fn moments_of_a_log_are_clock_times() {
        let at = 1_796_048_921_250 * MILLISECOND;
        let named = |step| moment(at, Moments::SinceEpoch, step);
        assert_eq!(named(DAY), "2026-11-30");
        assert_eq!(named(MINUTE), "14:28");
        assert_eq!(named(SECOND), "14:28:41");
        assert_eq!(named(MILLISECOND), "14:28:41.250");
        assert_eq!(
            full_moment(at, Moments::SinceEpoch),
            "2026-11-30 14:28:41 UTC"
        );
        // The last moment there is has a name too.
        assert!(!full_moment(Nanos::MAX, Moments::SinceEpoch).is_empty());
    }
}
