//! Whole logs, from bytes to arrivals.

use std::io::{Cursor, Write};

use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::prelude::*;

use super::*;

const SECOND: Nanos = NANOS_PER_SECOND;
/// 2026-11-30T16:16:00Z
const MINUTE: Nanos = 1_796_055_360 * SECOND;

fn log() -> Log {
    Log {
        file: None,
        reorder: 60 * SECOND,
        ipv6_prefix: 64,
        filter: Filter::default(),
    }
}

/// A common-format line at this second of the minute.
fn line(second: u64, client: &str, path: &str) -> String {
    format!("{client} - - [30/Nov/2026:16:16:{second:02} +0000] \"GET {path} HTTP/1.1\" 200 5\n")
}

/// Arrivals as moments since the minute and names.
fn run_log(bytes: impl Into<Vec<u8>>, log: &Log) -> (Vec<(Nanos, String)>, Told) {
    let mut arrivals = Vec::new();
    let source = Box::new(Cursor::new(bytes.into()));
    let mut each = |arrival: Arrival| arrivals.push(arrival);
    let Ok(told) = read_from(source, None, log, &mut |_| {}, &mut each) else {
        panic!("a cursor can be read");
    };
    assert!(arrivals.is_sorted_by_key(|arrival| arrival.at));
    let name = |client| told.names.name(client).unwrap().to_string();
    let arrivals: Vec<_> = arrivals
        .iter()
        .map(|arrival| (arrival.at.wrapping_sub(MINUTE), name(arrival.client)))
        .collect();
    let counted = told.arrivals + told.bad + told.other + told.filtered + told.late;
    assert_eq!(told.lines, counted, "{told:?}");
    assert_eq!(told.arrivals, arrivals.len() as u64);
    (arrivals, told)
}

fn run(bytes: impl Into<Vec<u8>>) -> (Vec<(Nanos, String)>, Told) {
    run_log(bytes, &log())
}

fn gzip(text: &str) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(text.as_bytes()).unwrap();
    packed.finish().unwrap()
}

fn common() -> String {
    [
        line(5, "192.0.2.1", "/a"),
        line(5, "192.0.2.2", "/a"),
        "\n".to_owned(),
        line(3, "192.0.2.1", "/b"),
        "what is this\n".to_owned(),
        line(7, "2001:db8::1", "/b"),
        line(7, "2001:db8::2", "/b"),
        line(9, "-", "/b"),
    ]
    .concat()
}

#[test]
fn a_common_log_in_order_and_spread_over_its_seconds() {
    let (arrivals, told) = run(common());
    let expected = [
        (3 * SECOND, "192.0.2.1"),
        (5 * SECOND, "192.0.2.1"),
        (5 * SECOND + SECOND / 2, "192.0.2.2"),
        (7 * SECOND, "2001:db8::"),
        (7 * SECOND + SECOND / 2, "2001:db8::"),
    ];
    assert!(
        arrivals
            .iter()
            .map(|(at, name)| (*at, &**name))
            .eq(expected),
        "{arrivals:?}"
    );
    assert_eq!(
        (told.format, told.whole_seconds),
        (Some(Format::Common), true)
    );
    assert_eq!((told.lines, told.bad, told.names.len()), (7, 2, 3));
    let shown: Vec<_> = told
        .bad_shown
        .iter()
        .map(|bad| (bad.number, bad.why))
        .collect();
    assert_eq!(
        shown,
        [(5, "it has no [time]"), (8, "it does not say who asked")]
    );
}

#[test]
fn gzip_is_taken_off_in_several_members() {
    let text = common();
    let (plain, _) = run(text.clone());
    let (first, second) = text.split_at(100);
    let packed = [gzip(first), gzip(""), gzip(second)].concat();
    assert_eq!(run(packed.clone()).0, plain);
    let cut = packed[..packed.len() - 9].to_vec();
    let source = Box::new(Cursor::new(cut));
    let told = read_from(source, None, &log(), &mut |_| {}, &mut |_| {});
    assert!(matches!(told, Err(Stop::Io(_))), "half a file is no file");
}

const CADDY: &str = r#"{"level":"info","ts":1796055365.5,"logger":"http.log.access.log0","msg":"handled request","request":{"remote_ip":"192.0.2.1","uri":"/a"},"duration":0.5,"status":200}"#;
const CADDY_OTHER: &str =
    r#"{"level":"warn","ts":1796055360.0,"logger":"admin","msg":"admin endpoint disabled"}"#;
const GATEWAY: &str = r#"{"timestamp":"2026-11-30T16:16:07.5Z","level":"INFO","client":"unix","route":"/api/turn","kind":"look","status":200,"wait_ms":400,"engine_ms":100,"message":"turn"}"#;
const GATEWAY_OTHER: &str =
    r#"{"timestamp":"2026-11-30T16:16:00Z","level":"INFO","message":"the engine is up"}"#;
const GATEWAY_MORE: &str = r#"{"timestamp":"2026-11-30T16:16:00Z","level":"WARN","message":"more refusals than are logged one by one","refusals":7}"#;

#[test]
fn a_log_is_recognised_by_its_first_request() {
    let common = line(5, "192.0.2.1", "/a");
    for (text, format, counts) in [
        (
            format!("{CADDY_OTHER}\n{CADDY}\n{common}{GATEWAY}\n"),
            Format::Caddy,
            (1, 1, 2),
        ),
        (
            format!("{CADDY}\n{CADDY_OTHER}\nrubbish"),
            Format::Caddy,
            (1, 1, 1),
        ),
        (
            format!("{GATEWAY_OTHER}\n{GATEWAY}\n{GATEWAY_OTHER}"),
            Format::Gateway,
            (1, 0, 2),
        ),
        (
            format!("{GATEWAY_MORE}\n{GATEWAY}\n{common}"),
            Format::Gateway,
            (1, 1, 1),
        ),
        (
            format!("rubbish\n{common}{CADDY}\n"),
            Format::Common,
            (1, 2, 0),
        ),
    ] {
        let (arrivals, told) = run(text.clone());
        assert_eq!(told.format, Some(format), "{text}");
        assert_eq!((told.arrivals, told.bad, told.other), counts, "{text}");
        let at = if format == Format::Gateway { 7 } else { 5 };
        assert_eq!(arrivals[0].0, at * SECOND, "{text}");
        assert_eq!(told.whole_seconds, format == Format::Common);
    }
    let (_, told) = run(format!("{GATEWAY_MORE}\n{GATEWAY}\n{GATEWAY_MORE}\n"));
    assert_eq!(told.unlogged, 14);
}

#[test]
fn a_log_without_clients_says_so() {
    let (_, told) = run(GATEWAY.replace("\"client\":\"unix\",", ""));
    assert_eq!(told.arrivals, 0);
    assert!(
        told.bad_shown[0].why.contains("--log-client off"),
        "{told:?}"
    );
}

#[test]
fn filters_leave_out_and_count() {
    let text = [
        line(1, "192.0.2.1", "/api/turn"),
        line(2, "192.0.2.2", "/api/turn"),
        line(3, "192.0.2.1", "/"),
        line(9, "192.0.2.1", "/api/turn"),
    ]
    .concat();
    let filter = Filter {
        clients: vec!["192.0.2.1".parse().unwrap()],
        path: Some("/api".to_owned()),
        since: None,
        until: Some("2026-11-30T16:16:09Z".parse().unwrap()),
    };
    let (arrivals, told) = run_log(text, &Log { filter, ..log() });
    assert_eq!(arrivals, [(SECOND, "192.0.2.1".to_owned())]);
    // Whoever is filtered out is nobody.
    assert_eq!((told.filtered, told.names.len()), (3, 1));
}

#[test]
fn late_lines_are_counted_and_left_out() {
    let text = [
        line(10, "192.0.2.1", "/"),
        line(50, "192.0.2.1", "/"),
        line(20, "192.0.2.9", "/"),
    ]
    .concat();
    let (arrivals, told) = run(text.clone());
    assert_eq!((arrivals.len(), told.late), (3, 0));
    let reorder = 5 * SECOND;
    let (arrivals, told) = run_log(text, &Log { reorder, ..log() });
    assert_eq!((arrivals.len(), told.late, told.names.len()), (2, 1, 1));
}

/// A clock that was wrong for one line makes no other late, wherever it stands.
#[test]
fn one_line_far_ahead_is_bad_and_a_long_silence_is_not() {
    let ahead = line(5, "192.0.2.9", "/").replace("2026", "2200");
    let steady: Vec<_> = (0..20).map(|n| line(n, "192.0.2.1", "/")).collect();
    for place in [0, 1, 10, 19] {
        let mut lines = steady.clone();
        lines.insert(place, ahead.clone());
        let (arrivals, told) = run(lines.concat());
        assert_eq!((arrivals.len(), told.late), (20, 0), "at {place}");
        assert_eq!((told.bad, told.names.len()), (1, 1), "at {place}");
        let shown = &told.bad_shown[0];
        assert_eq!(shown.number, place as u64 + 1);
        assert_eq!(shown.why, "its time is far ahead of the lines around it");
    }
    let next_day = |second| line(second, "192.0.2.1", "/").replace("30/Nov", "01/Dec");
    let silence = [&steady[..], &[next_day(9), next_day(2), next_day(3)]].concat();
    let (arrivals, told) = run(silence.concat());
    assert_eq!((arrivals.len(), told.late, told.bad), (23, 0, 0));
    // Nobody is there to say that the last one is wrong.
    let (arrivals, told) = run([&steady[..], &[next_day(0)]].concat().concat());
    assert_eq!((arrivals.len(), told.bad), (21, 0));
}

/// A log that begins with its latest line has no wrong clock: its other lines are late.
#[test]
fn a_log_in_reverse_order_is_late_and_not_bad() {
    let lines: Vec<_> = (0..6)
        .rev()
        .map(|n| line(n * 10, "192.0.2.1", "/"))
        .collect();
    let reorder = 5 * SECOND;
    let (arrivals, told) = run_log(lines.concat(), &Log { reorder, ..log() });
    assert_eq!((arrivals.len(), told.late, told.bad), (1, 5, 0));
    assert!(told.notes().join(" ").contains("--reorder"));
}

#[test]
fn a_byte_order_mark_belongs_to_nobody() {
    let marked = format!("\u{feff}{}", common());
    let (plain, without) = run(common());
    for bytes in [marked.clone().into_bytes(), gzip(&marked)] {
        let (arrivals, told) = run(bytes);
        assert_eq!((&arrivals, told.bad), (&plain, without.bad));
    }
    // In the middle it is a part of the line.
    let (_, told) = run(format!("{}{marked}", common()));
    assert!(told.names.len() > without.names.len());
}

#[test]
fn long_lines_and_names_are_bad() {
    let text = [
        line(1, &"x".repeat(70_000), "/"),
        line(2, &"x".repeat(256), "/"),
        line(3, &"x".repeat(255), "/"),
    ]
    .concat();
    let (arrivals, told) = run(text);
    assert_eq!((arrivals.len(), told.bad), (1, 2));
    assert_eq!(told.bad_shown[0].why, "it is longer than 64 KiB");
    assert!(told.bad_shown[0].text.len() < 100);
}

#[test]
fn what_cannot_be_read_says_what_and_where() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| Log {
        file: Some(folder.path().join(name)),
        ..log()
    };
    let told = |log: &Log| {
        let told = read(log, &mut |_| {}, &mut |_| {});
        told.unwrap_err().to_string()
    };
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("empty", "");
    write("blank", "\n\r\n  \n");
    write("rubbish", "a b\nc d\n");
    write("other", &format!("{CADDY_OTHER}\n"));
    for (name, said) in [
        ("missing", "No such file"),
        ("", "Is a directory"),
        ("empty", "it is empty"),
        ("blank", "it is empty"),
        (
            "rubbish",
            "no request is left of its 2 lines: 2 lines could not be read: line 1: it has no [time]: a b; line 2",
        ),
        ("other", "1 line of no request"),
    ] {
        let told = told(&at(name));
        assert!(told.contains(said), "{name}: {told}");
        assert!(told.starts_with("--log "), "{told}");
        assert!(told.contains(name) && !told.contains('\n'), "{told}");
    }
}

#[test]
fn how_far_it_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("log");
    let text = line(1, "192.0.2.1", "/").repeat(40_000);
    std::fs::write(&file, &text).unwrap();
    let log = Log {
        file: Some(file),
        ..log()
    };
    let mut seen = Vec::new();
    let told = read(&log, &mut |progress| seen.push(progress), &mut |_| {}).unwrap();
    assert_eq!(told.arrivals, 40_000);
    assert_eq!(seen.len(), 2);
    assert!(
        seen.iter()
            .all(|now| now.of_bytes == Some(text.len() as u64))
    );
    assert!(0 < seen[0].bytes && seen[0].bytes < seen[1].bytes);
}

proptest! {
    /// Whatever the order and the leaps, what goes out is in order and every line is counted.
    #[test]
    fn leaps_and_disorder_end_in_order(
        seconds in prop::collection::vec(prop_oneof![0u64..9_000, 80_000u64..90_000], 1..60),
        reorder in prop_oneof![Just(5 * SECOND), Just(7_200 * SECOND)],
    ) {
        let said = |second: &u64| {
            let (hour, minute) = (second / 3_600, second / 60 % 60);
            let time = format!("30/Nov/2026:{hour:02}:{minute:02}:{:02} +0000", second % 60);
            format!("192.0.2.1 - - [{time}] \"GET / HTTP/1.1\" 200 5\n")
        };
        let seconds = seconds.iter().map(|second| second % 86_400);
        let lines: String = seconds.map(|second| said(&second)).collect();
        let (_, told) = run_log(lines, &Log { reorder, ..log() });
        prop_assert!(told.arrivals > 0);
    }

    /// Any bytes: every line is counted once, and what goes out is in order (see `run`).
    #[test]
    fn any_bytes_are_read_to_their_end(
        bytes: Vec<u8>,
        picks in prop::collection::vec((0usize..8, 0u64..60, any::<u8>(), 0usize..200), 0..40),
    ) {
        run(bytes);
        let mut text = Vec::new();
        for (pick, second, byte, place) in picks {
            let mut line = match pick {
                0 => CADDY.replace("365.5", &format!("{}.5", 360 + second)),
                1 => GATEWAY.replace(":07.", &format!(":{second:02}.")),
                2 => GATEWAY_MORE.to_owned(),
                _ => line(second, "192.0.2.1", "/"),
            }
            .into_bytes();
            if pick > 5 && place < line.len() {
                line[place] = byte;
            }
            text.extend(line);
            text.push(b'\n');
        }
        run(text);
    }
}
