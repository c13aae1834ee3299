//! What the engine writes to stderr goes to the log, line by line. Any bytes, drained
//! for ever, and but for the last few lines kept nowhere: an engine never blocks on it, and never fills the disk by it.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;
use tracing::{info, warn};

use crate::clock::Clock;
use crate::logic::frame::CutLines;
use crate::logic::printable::printable;
use crate::logic::sampler::{Sampler, Verdict};
use crate::metrics::Metrics;

/// Longest line of stderr in the log; the rest of it is cut off.
const LINE_BYTES_MAX: usize = 4 * 1024;
/// Lines of one engine's stderr in the log, in each second; the rest is counted.
const LINES_PER_SECOND: u32 = 50;
/// Lines kept for the record of a death, and how much of each.
const LAST_LINES: usize = 5;
const LAST_LINE_BYTES_MAX: usize = 256;
/// Read at once.
const CHUNK_BYTES: usize = 8 * 1024;

/// Logs lines until end of file. The last few come back, shortened, for the record of a death.
pub async fn log_lines(
    mut stderr: pipe::Receiver,
    clock: Clock,
    metrics: Arc<Metrics>,
) -> Vec<String> {
    let mut chunk = vec![0; CHUNK_BYTES];
    let mut lines = CutLines::new(LINE_BYTES_MAX);
    let mut sampler = Sampler::new(LINES_PER_SECOND);
    let mut tell = None;
    let mut last = VecDeque::new();
    loop {
        let told = async {
            match tell {
                Some(at) => tokio::time::sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        let read = tokio::select! {
            read = stderr.read(&mut chunk) => read,
            () = told => {
                tell_dropped(&mut sampler);
                tell = None;
                continue;
            }
        };
        let mut each = |line: &[u8], cut_bytes: usize| {
            keep(&mut last, line);
            let verdict = sampler.ask(clock.nanos());
            if verdict == Verdict::Write {
                log_line(line, cut_bytes);
                return;
            }
            metrics.stderr_lines_dropped.inc();
            if verdict == Verdict::CountFirst {
                tell = Some(crate::clock::now() + Duration::from_secs(1));
            }
        };
        match read {
            Ok(0) | Err(_) => {
                lines.finish(&mut each);
                tell_dropped(&mut sampler);
                let text = |line: Vec<u8>| String::from_utf8_lossy(&line).into_owned();
                return last.into_iter().map(text).collect();
            }
            Ok(n) => lines.push(&chunk[..n], &mut each),
        }
    }
}

fn keep(last: &mut VecDeque<Vec<u8>>, line: &[u8]) {
    // The oldest one's memory serves the newest: a flood of lines allocates nothing.
    let mut kept = if last.len() == LAST_LINES {
        last.pop_front().unwrap_or_default()
    } else {
        Vec::new()
    };
    kept.clear();
    kept.extend_from_slice(&line[..line.len().min(LAST_LINE_BYTES_MAX)]);
    last.push_back(kept);
}

fn log_line(line: &[u8], cut_bytes: usize) {
    let text = String::from_utf8_lossy(line);
    let line = &*printable(&text);
    let cut_bytes = Some(cut_bytes).filter(|cut| *cut > 0);
    info!(line, cut_bytes, "engine stderr");
}

fn tell_dropped(sampler: &mut Sampler) {
    let lines = sampler.take_dropped();
    if lines > 0 {
        warn!(lines, "engine stderr: more lines than are logged");
    }
}
