//! What the kernel tells of a running process: its memory and its time.

use std::fs;
use std::time::Duration;

/// What `/proc` counts processor time in (`USER_HZ`).
const TICK: Duration = Duration::from_millis(10);

/// Bytes in memory now.
pub fn resident_bytes(pid: u32) -> u64 {
    status_bytes(pid, "VmRSS:")
}

/// The most bytes in memory since its start, or since [`forget_peak`].
pub fn peak_bytes(pid: u32) -> u64 {
    status_bytes(pid, "VmHWM:")
}

/// The peak is what is in memory now (proc(5), `clear_refs`).
pub fn forget_peak(pid: u32) {
    fs::write(format!("/proc/{pid}/clear_refs"), "5").expect("one's own child can be told");
}

fn status_bytes(pid: u32, field: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("it runs");
    let line = status.lines().find_map(|line| line.strip_prefix(field));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB"));
    kib.and_then(|kib| kib.parse::<u64>().ok())
        .expect("a number of kB")
        * 1024
}

/// Processor time used so far, its own and the kernel's for it.
pub fn processor_time(pid: u32) -> Duration {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).expect("it runs");
    // After the name, which may hold anything: state is field 3, utime and stime 14 and 15.
    let (_, rest) = stat.rsplit_once(") ").expect("a name in brackets");
    let mut ticks = (rest.split(' ').skip(11).take(2)).map(|n| n.parse::<u32>().expect("a number"));
    let sum = ticks.next().expect("utime") + ticks.next().expect("stime");
    TICK * sum
}
