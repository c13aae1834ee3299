//! What the operating system knows of the gateway's process, under the names that every
//! Prometheus client uses. Read from `/proc` when somebody scrapes, through what was opened
//! at the start: also when no descriptor is left, which is when they are wanted. A figure
//! that cannot be read is left out.

use std::fmt;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::sync::{Mutex, PoisonError};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Unit;
use rustix::fs::Dir;
use rustix::param::{clock_ticks_per_second, page_size};
use rustix::process::{Resource, getrlimit};

/// Of `/proc/self/stat`, counted behind the program's name (`man 5 proc_pid_stat`: 14, 15, 22, 24).
const USER_TICKS: usize = 11;
const SYSTEM_TICKS: usize = 12;
const START_TICKS: usize = 19;
const RESIDENT_PAGES: usize = 21;
/// More than `/proc/self/stat` says: some fifty numbers, and a name of 15 bytes.
const STAT_BYTES_MAX: usize = 2 * 1024;

/// The figures.
#[derive(Debug)]
pub struct ProcessFigures {
    /// When the machine was started, in seconds since the epoch.
    boot_seconds: Option<u64>,
    stat: Option<File>,
    /// Of open descriptors, this one included. A lock, since a folder is read step by step.
    descriptors: Mutex<Option<Dir>>,
}

/// One reading.
#[derive(Debug, PartialEq)]
struct Reading {
    cpu_seconds: f64,
    resident_bytes: i64,
    /// After the machine's own start.
    start_seconds: f64,
}

impl ProcessFigures {
    /// Of this process.
    pub fn new() -> Self {
        let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
        let boot = stat.lines().find_map(|line| line.strip_prefix("btime "));
        Self {
            boot_seconds: boot.and_then(|seconds| seconds.parse().ok()),
            stat: File::open("/proc/self/stat").ok(),
            descriptors: Mutex::new(
                File::open("/proc/self/fd")
                    .ok()
                    .and_then(|folder| Dir::new(folder).ok()),
            ),
        }
    }

    /// What `/proc/self/stat` says now.
    fn stat(&self) -> Option<String> {
        let mut text = vec![0; STAT_BYTES_MAX];
        let read = self.stat.as_ref()?.read_at(&mut text, 0).ok()?;
        text.truncate(read);
        Some(String::from_utf8_lossy(&text).into_owned())
    }

    fn open_descriptors(&self) -> Option<i64> {
        let mut folder = self
            .descriptors
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let folder = folder.as_mut()?;
        folder.rewind();
        // Numbers, and not the folder itself or the one above it.
        let open = folder.filter(|entry| {
            let name = entry.as_ref().map(|entry| entry.file_name().to_bytes());
            name.is_ok_and(|name| name.first() != Some(&b'.'))
        });
        i64::try_from(open.count()).ok()
    }
}

impl Reading {
    /// `stat` is what `/proc/self/stat` says; the program's name in it may hold anything.
    #[expect(
        clippy::cast_precision_loss,
        reason = "ticks of centuries fit a double's 53 bits"
    )]
    fn of(stat: &str, ticks_per_second: u64, page_bytes: usize) -> Option<Self> {
        let (_, fields) = stat.rsplit_once(") ")?;
        let fields: Vec<&str> = fields.split_ascii_whitespace().collect();
        let number = |at: usize| fields.get(at)?.parse::<u64>().ok();
        let seconds = |ticks: u64| ticks as f64 / ticks_per_second as f64;
        let pages = i64::try_from(number(RESIDENT_PAGES)?).ok()?;
        Some(Self {
            cpu_seconds: seconds(number(USER_TICKS)? + number(SYSTEM_TICKS)?),
            resident_bytes: pages * i64::try_from(page_bytes).ok()?,
            start_seconds: seconds(number(START_TICKS)?),
        })
    }
}

impl Collector for ProcessFigures {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut tell = |name, help, unit, metric: &dyn EncodeMetric| {
            let unit: Option<&Unit> = unit;
            metric.encode(encoder.encode_descriptor(name, help, unit, metric.metric_type())?)
        };
        let stat = self.stat().unwrap_or_default();
        if let Some(reading) = Reading::of(&stat, clock_ticks_per_second(), page_size()) {
            tell(
                "process_cpu",
                "CPU time that the gateway has used, in user and system mode, its engines not included.",
                Some(&Unit::Seconds),
                &ConstCounter::new(reading.cpu_seconds),
            )?;
            tell(
                "process_resident_memory",
                "Memory that the gateway holds, its engines not included.",
                Some(&Unit::Bytes),
                &ConstGauge::new(reading.resident_bytes),
            )?;
            if let Some(boot) = self
                .boot_seconds
                .and_then(|seconds| u32::try_from(seconds).ok())
            {
                tell(
                    "process_start_time",
                    "When the gateway was started, in seconds since the epoch.",
                    Some(&Unit::Seconds),
                    &ConstGauge::new(f64::from(boot) + reading.start_seconds),
                )?;
            }
        }
        if let Some(open) = self.open_descriptors() {
            tell(
                "process_open_fds",
                "Descriptors that the gateway has open.",
                None,
                &ConstGauge::new(open),
            )?;
        }
        if let Some(most) = getrlimit(Resource::Nofile).current {
            tell(
                "process_max_fds",
                "Descriptors that the gateway may have open.",
                None,
                &ConstGauge::new(i64::try_from(most).unwrap_or(i64::MAX)),
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_looks_like_the_end_of_itself() {
        let stat = "1 (a) R 1 2) S 0 1 1 0 -1 4194560 1 0 0 0 250 50 0 0 20 0 2 0 1000 9 7 1";
        let reading = Reading::of(stat, 100, 4096);
        let expected = Reading {
            cpu_seconds: 3.0,
            resident_bytes: 7 * 4096,
            start_seconds: 10.0,
        };
        assert_eq!(reading, Some(expected));
        for broken in ["", "1 (a)", "1 (a) S 0", &stat.replace("250", "x")] {
            assert_eq!(Reading::of(broken, 100, 4096), None, "{broken:?}");
        }
    }
}
