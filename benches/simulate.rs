//! Lines a second of `kidoban simulate`, with all algorithms together, beside a program that
//! only finds the ends of the same lines. In CPU time, since machines are shared:
//!
//! ```sh
//! cargo bench --bench simulate
//! ```

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::time::Duration;

use kidoban::logic::bucket::Limit;
use kidoban::logic::limiter::Algorithm;
use kidoban::simulate::input::filter::Filter;
use kidoban::simulate::input::log::Log;
use kidoban::simulate::input::{self, Input};
use kidoban::simulate::run::Run;
use rustix::time::{ClockId, clock_gettime};

/// A few seconds of work; `KIDOBAN_LINES` says another number.
const LINES: u64 = 4_000_000;
/// Players of a busy game, some of them far busier than others.
const CLIENTS: u32 = 20_000;
const LINES_PER_SECOND: u64 = 2_000;
const ROUNDS: usize = 3;

fn main() {
    let lines =
        std::env::var("KIDOBAN_LINES").map_or(LINES, |lines| lines.parse().expect("a number"));
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("access.log");
    write_log(&file, lines);
    let megabytes = fs::metadata(&file).expect("a file").len() / 1_000_000;
    println!(
        "{lines} common-format lines, {megabytes} MB, {CLIENTS} clients; CPU time, best of {ROUNDS}"
    );

    let (split, simulated) = (0..ROUNDS)
        .map(|_| (cpu_time(|| split(&file)), cpu_time(|| simulate(&file))))
        .reduce(|best, round| (best.0.min(round.0), best.1.min(round.1)))
        .expect("a round");
    let show = |what: &str, time: Duration| {
        #[expect(clippy::cast_precision_loss, reason = "to be read by people")]
        let per_second = lines as f64 / time.as_secs_f64();
        println!(
            "{what:<12} {time:>8.2?}  {:>6.2} million lines a second",
            per_second / 1e6
        );
    };
    show("split only", split);
    show("simulate", simulated);
    println!(
        "ratio        {:.1}",
        simulated.as_secs_f64() / split.as_secs_f64()
    );
    println!("most memory  {} MB", most_memory_kilobytes() / 1_000);
}

fn write_log(file: &Path, lines: u64) {
    let mut random = fastrand::Rng::with_seed(1);
    let mut file = File::create(file).expect("a file");
    let mut text = String::new();
    for n in 0..lines {
        // Half of all from a hundredth of the clients.
        let client = if random.bool() {
            random.u32(0..CLIENTS)
        } else {
            random.u32(0..CLIENTS / 100)
        };
        let second = n / LINES_PER_SECOND;
        let _ = writeln!(
            text,
            "10.{}.{}.{} - - [17/Oct/2026:{:02}:{:02}:{:02} +0000] \"POST /api/turn HTTP/1.1\" 200 512",
            client >> 16,
            client >> 8 & 255,
            client & 255,
            second / 3_600 % 24,
            second / 60 % 60,
            second % 60,
        );
        if text.len() > 1 << 20 {
            file.write_all(text.as_bytes()).expect("room on the disk");
            text.clear();
        }
    }
    file.write_all(text.as_bytes()).expect("room on the disk");
}

fn split(file: &Path) {
    let mut reader = BufReader::with_capacity(256 * 1024, File::open(file).expect("the log"));
    let (mut line, mut lines) = (Vec::new(), 0_u64);
    while reader.read_until(b'\n', &mut line).expect("the log") > 0 {
        lines += 1;
        line.clear();
    }
    assert!(lines > 0);
}

fn simulate(file: &Path) {
    let limit = Limit::new("2".parse().expect("a rate"), "2".parse().expect("a burst"));
    let limit = limit.expect("a limit");
    let input = Input::Log(Log {
        file: Some(file.to_owned()),
        reorder: 60_000_000_000,
        ipv6_prefix: 64,
        filter: Filter::default(),
    });
    let mut run = Run::new(&limit, &Algorithm::ALL);
    let read = input::read(&input, &limit, &mut |_| {}, &mut |arrival| {
        run.arrive(arrival.at, arrival.client);
    });
    read.expect("arrivals");
    let summary = run.finish();
    assert!(summary.outcomes.iter().all(|outcome| outcome.admitted > 0));
}

fn cpu_time(work: impl FnOnce()) -> Duration {
    let now = || {
        let time = clock_gettime(ClockId::ProcessCPUTime);
        Duration::try_from(time).expect("not before the start")
    };
    let before = now();
    work();
    now().saturating_sub(before)
}

fn most_memory_kilobytes() -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    number.and_then(|number| number.parse().ok()).expect("kB")
}
