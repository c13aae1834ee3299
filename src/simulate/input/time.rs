//! Moments and durations as logs and patterns write them, in integer nanoseconds. Asks
//! no clock and knows no time zone: a log's own offset counts, and where it has none,
//! it is UTC. Arbitrary bytes never panic here, and nothing is allocated.
//!
//! Days are counted as in Howard Hinnant's "chrono-compatible low-level date
//! algorithms", `days_from_civil`.

use crate::logic::bucket::Nanos;

/// One second.
pub const NANOS_PER_SECOND: u64 = 1_000_000_000;
const SECONDS_PER_DAY: i64 = 86_400;
/// The last year whose every moment fits 64 bits of nanoseconds since 1970.
const YEAR_MAX: u32 = 2553;
/// Most digits behind a decimal point that are looked at: the rest is less than a nanosecond.
const FRACTION_DIGITS: u32 = 9;
/// Length of `17/Oct/2026:13:55:36 -0700`.
const COMMON_LEN: usize = 26;

/// A moment as a log tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// Since 1970-01-01T00:00:00Z, leap seconds left out.
    pub at: Nanos,
    /// It has no fraction: the true moment is anywhere in this second.
    pub whole: bool,
}

/// Reads the stamps of common-format logs, where many lines share one.
#[derive(Default, Debug)]
pub struct CommonStamps {
    last: [u8; COMMON_LEN],
    at: Nanos,
}

impl CommonStamps {
    /// `10/Oct/2000:13:55:36 -0700`, and how long it is, at the start of `text`.
    pub fn read(&mut self, text: &[u8]) -> Option<(Nanos, usize)> {
        let stamp = text.first_chunk::<COMMON_LEN>()?;
        if *stamp != self.last {
            self.at = common(stamp)?;
            self.last = *stamp;
        }
        Some((self.at, COMMON_LEN))
    }
}

fn common(stamp: &[u8; COMMON_LEN]) -> Option<Nanos> {
    let mut left = Cursor(stamp);
    let day = left.number(2)?;
    left.skip(b"/")?;
    let month = month(left.take(3)?)?;
    left.skip(b"/")?;
    let year = left.number(4)?;
    left.skip(b":")?;
    let time = left.time_of_day()?;
    left.skip(b" ")?;
    let offset = left.offset()?;
    nanos(days(year, month, day)?, time - offset)
}

/// `2026-10-17T13:55:36.25+02:00` (RFC 3339), also with a space for the `T`, without a
/// colon in the offset (Caddy's `iso8601`), with slashes (Caddy's `wall`), or as a
/// common-format log has it (Caddy's `common_log`).
pub fn stamp(text: &[u8]) -> Option<Stamp> {
    if let Some(stamp) = text.first_chunk::<COMMON_LEN>()
        && text.len() == COMMON_LEN
        && let Some(at) = common(stamp)
    {
        return Some(Stamp { at, whole: true });
    }
    let mut left = Cursor(text);
    let days = left.date()?;
    if !matches!(left.take(1)?, b"T" | b"t" | b" ") {
        return None;
    }
    let time = left.time_of_day()?;
    let fraction = left.fraction()?;
    let offset = match left.0 {
        b"" => 0,
        b"Z" | b"z" => {
            left.take(1)?;
            0
        }
        _ => left.offset()?,
    };
    let second = nanos(days, time - offset)?;
    left.0.is_empty().then(|| Stamp {
        at: second + u64::from(fraction.unwrap_or(0)),
        whole: fraction.is_none(),
    })
}

/// `2026-10-17`: its first moment, in UTC.
pub fn date(text: &[u8]) -> Option<Nanos> {
    let mut left = Cursor(text);
    let days = left.date()?;
    if left.0.is_empty() {
        nanos(days, 0)
    } else {
        None
    }
}

/// `100ms`, `9.5s`, `1m30.5s`: decimals, each with its unit, as people and Go's
/// `Duration.String` write them. Below a nanosecond it is cut.
pub fn span(text: &str) -> Option<Nanos> {
    let mut left = text;
    let mut sum: u64 = 0;
    loop {
        let end = left.find(|c: char| c != '.' && !c.is_ascii_digit())?;
        let (number, rest) = left.split_at(end);
        let end = rest
            .find(|c: char| c == '.' || c.is_ascii_digit())
            .unwrap_or(rest.len());
        let (unit, rest) = rest.split_at(end);
        let unit = match unit {
            "ns" => 1,
            "us" | "µs" | "μs" => 1_000,
            "ms" => 1_000_000,
            "s" | "sec" => NANOS_PER_SECOND,
            "m" | "min" => 60 * NANOS_PER_SECOND,
            "h" => 3_600 * NANOS_PER_SECOND,
            "d" => 86_400 * NANOS_PER_SECOND,
            _ => return None,
        };
        sum = sum.checked_add(decimal(number, unit)?)?;
        if rest.is_empty() {
            return Some(sum);
        }
        left = rest;
    }
}

/// A plain decimal times a unit.
fn decimal(number: &str, unit: u64) -> Option<u64> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let mut sum = if whole.is_empty() {
        0
    } else {
        whole.parse::<u64>().ok()?.checked_mul(unit)?
    };
    let mut scale = unit;
    for digit in fraction.bytes().take(FRACTION_DIGITS as usize) {
        let digit = u64::from(digit.checked_sub(b'0').filter(|d| *d < 10)?);
        sum = sum.checked_add(digit * scale / 10)?;
        scale /= 10;
    }
    fraction.bytes().all(|b| b.is_ascii_digit()).then_some(sum)
}

/// Days from 1970-01-01 to this day, negative before it; none if there is no such day.
fn days(year: u32, month: u32, day: u32) -> Option<i64> {
    let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let last = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if is_leap => 29,
        2 => 28,
        _ => return None,
    };
    if !(1..=last).contains(&day) || year > YEAR_MAX {
        return None;
    }
    // A year that begins in March ends with its leap day.
    let (year, month) = if month <= 2 {
        (i64::from(year) - 1, i64::from(month) + 9)
    } else {
        (i64::from(year), i64::from(month) - 3)
    };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * month + 2) / 5 + i64::from(day) - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    Some(era * 146_097 + day_of_era - 719_468)
}

/// Since 1970; none before.
fn nanos(days: i64, seconds: i64) -> Option<Nanos> {
    let seconds = days.checked_mul(SECONDS_PER_DAY)?.checked_add(seconds)?;
    u64::try_from(seconds).ok()?.checked_mul(NANOS_PER_SECOND)
}

fn month(name: &[u8]) -> Option<u32> {
    let number = match name {
        b"Jan" => 1,
        b"Feb" => 2,
        b"Mar" => 3,
        b"Apr" => 4,
        b"May" => 5,
        b"Jun" => 6,
        b"Jul" => 7,
        b"Aug" => 8,
        b"Sep" => 9,
        b"Oct" => 10,
        b"Nov" => 11,
        b"Dec" => 12,
        _ => return None,
    };
    Some(number)
}

/// What is left of a text.
struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    fn take(&mut self, bytes: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(bytes)?;
        self.0 = rest;
        Some(taken)
    }

    fn skip(&mut self, what: &[u8]) -> Option<()> {
        (self.take(what.len())? == what).then_some(())
    }

    /// So many digits; few enough for 32 bits.
    fn number(&mut self, digits: usize) -> Option<u32> {
        let mut number = 0;
        for byte in self.take(digits)? {
            number = number * 10 + u32::from(byte.checked_sub(b'0').filter(|d| *d < 10)?);
        }
        Some(number)
    }

    /// `2026-10-17` or `2026/10/17`, in days.
    fn date(&mut self) -> Option<i64> {
        let year = self.number(4)?;
        let between = self.take(1).filter(|b| matches!(*b, b"-" | b"/"))?;
        let month = self.number(2)?;
        self.skip(between)?;
        days(year, month, self.number(2)?)
    }

    /// `13:55:36`, in seconds. A leap second is the next minute's first.
    fn time_of_day(&mut self) -> Option<i64> {
        let hour = self.number(2)?;
        self.skip(b":")?;
        let minute = self.number(2)?;
        self.skip(b":")?;
        let second = self.number(2)?;
        let is_good = hour < 24 && minute < 60 && second <= 60;
        is_good.then(|| i64::from(hour * 3_600 + minute * 60 + second))
    }

    /// `.25` in nanoseconds; `Some(None)` where there is none.
    #[expect(
        clippy::option_option,
        reason = "bad, absent, and there are three things"
    )]
    fn fraction(&mut self) -> Option<Option<u32>> {
        if !matches!(self.0.first(), Some(b'.' | b',')) {
            return Some(None);
        }
        self.take(1)?;
        let digits = self.0.iter().take_while(|b| b.is_ascii_digit()).count();
        let mut nanos = 0;
        let mut scale = 100_000_000;
        for byte in self.take(digits).filter(|digits| !digits.is_empty())? {
            nanos += u32::from(byte - b'0') * scale;
            scale /= 10;
        }
        Some(Some(nanos))
    }

    /// `+02:00` or `-0700`, in seconds.
    fn offset(&mut self) -> Option<i64> {
        let sign = match self.take(1)? {
            b"+" => 1,
            b"-" => -1,
            _ => return None,
        };
        let hours = self.number(2)?;
        if self.0.first() == Some(&b':') {
            self.take(1)?;
        }
        let minutes = self.number(2)?;
        let is_good = hours < 24 && minutes < 60;
        is_good.then(|| sign * i64::from(hours * 3_600 + minutes * 60))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(text: &str) -> Option<Nanos> {
        stamp(text.as_bytes()).map(|stamp| stamp.at)
    }

    #[test]
    fn stamps_as_servers_write_them() {
        // `date --date=… +%s.%N`
        for (text, nanos, whole) in [
            ("1970-01-01T00:00:00Z", 0, true),
            ("2000-10-10T13:55:36-07:00", 971_211_336_000_000_000, true),
            ("10/Oct/2000:13:55:36 -0700", 971_211_336_000_000_000, true),
            (
                "2026-11-30T16:16:35.764994697Z",
                1_796_055_395_764_994_697,
                false,
            ),
            ("2026-11-30T16:16:35.764Z", 1_796_055_395_764_000_000, false),
            (
                "2026-11-30T16:16:35.764+0100",
                1_796_051_795_764_000_000,
                false,
            ),
            ("2026/11/30 16:16:35", 1_796_055_395_000_000_000, true),
            ("2026/11/30 16:16:35.5", 1_796_055_395_500_000_000, false),
            ("2024-02-29T23:59:60Z", 1_709_251_200_000_000_000, true),
            ("2000-02-29 00:00:00", 951_782_400_000_000_000, true),
            (
                "2553-12-31T23:59:59.9999999999Z",
                18_429_292_799_999_999_999,
                false,
            ),
        ] {
            let expected = Some(Stamp { at: nanos, whole });
            assert_eq!(stamp(text.as_bytes()), expected, "{text}");
        }
        for bad in [
            "",
            "2026-11-30",
            "2026-11-30T16:16:35.Z",
            "2026-11-30T16:16:35ZZ",
            "2026-11-30T24:00:00Z",
            "2026-11/30 16:16:35",
            "2023-02-29T00:00:00Z",
            "1900-02-28T00:00:00Z",
            "1969-12-31T23:59:59Z",
            "2554-01-01T00:00:00Z",
            "2026-13-01T00:00:00Z",
            "2026-00-01T00:00:00Z",
            "2026-01-00T00:00:00Z",
            "2026-01-01T00:00:00+24:00",
            "10/Okt/2000:13:55:36 -0700",
            "10/Oct/2000:13:55:36 -0700 ",
        ] {
            assert_eq!(stamp(bad.as_bytes()), None, "{bad}");
        }
        assert_eq!(date(b"2026-11-30"), at("2026-11-30T00:00:00Z"));
        assert_eq!(date(b"2026-11-30T"), None);
    }

    #[test]
    fn the_same_second_again_is_the_same() {
        let mut stamps = CommonStamps::default();
        let first = stamps.read(b"10/Oct/2000:13:55:36 -0700] more");
        assert_eq!(first, Some((971_211_336_000_000_000, 26)));
        assert_eq!(stamps.read(b"10/Oct/2000:13:55:36 -0700]"), first);
        assert_eq!(stamps.read(b"10/Oct/2000:13:55:37 -070"), None);
        assert_eq!(stamps.read(b"xx/Oct/2000:13:55:37 -0700]"), None);
        let later = stamps.read(b"10/Oct/2000:13:55:37 -0700]");
        assert_eq!(later, Some((971_211_337_000_000_000, 26)));
    }

    #[test]
    fn spans() {
        for (text, nanos) in [
            ("100ms", 100_000_000),
            ("9.5s", 9_500_000_000),
            ("1m30.5s", 90_500_000_000),
            ("16.835µs", 16_835),
            ("0s", 0),
            (".5s", 500_000_000),
            ("2.s", 2_000_000_000),
            ("1.0000000019s", 1_000_000_001),
            ("1.25d", 108_000_000_000_000),
            ("10min", 600_000_000_000),
            ("7ns", 7),
        ] {
            assert_eq!(span(text), Some(nanos), "{text}");
        }
        for bad in [
            "",
            "5",
            "s",
            ".s",
            "1.2.3s",
            "-1s",
            "1 s",
            "5x",
            "1s5",
            "1e3s",
            "99999999999d",
            "18446744073709551616ns",
            "1.00000000000x1s",
        ] {
            assert_eq!(span(bad), None, "{bad}");
        }
    }

    proptest! {
        /// Every day there is, against the days counted one by one.
        #[test]
        fn days_follow_each_other(year in 1970u32..=YEAR_MAX, month in 1u32..=12, day in 1u32..=31) {
            if let Some(today) = days(year, month, day) {
                let next = days(year, month, day + 1)
                    .or_else(|| days(year, month + 1, 1))
                    .or_else(|| days(year + 1, 1, 1));
                if let Some(next) = next {
                    prop_assert_eq!(next, today + 1);
                }
            }
        }

        #[test]
        fn any_bytes_are_read_or_not(text: Vec<u8>, shape in "[0-9TZ:/. +-]{0,40}") {
            for text in [text.as_slice(), shape.as_bytes()] {
                stamp(text);
                date(text);
                CommonStamps::default().read(text);
            }
            span(&shape);
            span(&String::from_utf8_lossy(&text));
        }
    }
}
