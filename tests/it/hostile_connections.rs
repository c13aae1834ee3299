//! Connections that want to be held on to: heads that never end, answers that nobody
//! takes, floods of sockets, and bytes that could be read two ways.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Resource, getrlimit, setrlimit};
use serde_json::json;
use tempfile::TempDir;

use crate::harness::{Gateway, PATIENCE, Running, until};
use crate::http::{Connection, Request};
use crate::watch::{forget_peak, peak_bytes, processor_time, resident_bytes};

const LOOK: &str = r#"{"kind":"look"}"#;
const MIB: u64 = 1024 * 1024;
const WRITE_TIMEOUT: Duration = Duration::from_millis(800);
const ANSWER_BYTES: usize = 900_000;

fn big() -> Request {
    Request::turn(json!({"kind": "look", "do": format!("big:{ANSWER_BYTES}")}).to_string())
}

/// A gateway with a write timeout, on a unix socket: its buffers are small and do not grow.
fn impatient() -> (Running, PathBuf, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("sock");
    let listen = format!("unix:{}", socket.display());
    let gateway = Gateway::unlimited(&[
        "--listen",
        "127.0.0.1:0",
        "--listen",
        &listen,
        "--write-timeout",
        &format!("{}ms", WRITE_TIMEOUT.as_millis()),
    ]);
    (gateway.start(), socket, folder)
}

/// Asks for a large answer, and takes its first byte: by then its time runs.
fn begun(socket: &Path) -> (UnixStream, Instant) {
    let mut stream = Connection::open_unix(socket).unwrap().stream;
    let asked = Instant::now();
    stream.write_all(&big().bytes()).unwrap();
    stream.read_exact(&mut [0]).unwrap();
    (stream, asked)
}

#[test]
fn who_takes_nothing_of_an_answer_is_closed_in_time() {
    let (gateway, socket, _folder) = impatient();
    let (mut stream, asked) = begun(&socket);
    let began = Instant::now();
    until("nothing can be written any more", || {
        stream.write_all(b"\r").err()
    });
    assert!(asked.elapsed() >= WRITE_TIMEOUT, "{:?}", asked.elapsed());
    assert!(began.elapsed() < 5 * WRITE_TIMEOUT, "{:?}", began.elapsed());
    assert_eq!(gateway.send(&big()).body.len(), ANSWER_BYTES);
}

#[test]
fn who_pauses_for_less_gets_all_of_it() {
    let (_gateway, socket, _folder) = impatient();
    // A busy machine may stretch the pause beyond the limit: such a try says nothing.
    until("a pause inside the limit", || {
        let (mut stream, asked) = begun(&socket);
        thread::sleep(WRITE_TIMEOUT / 4);
        let mut rest = vec![0; ANSWER_BYTES];
        let read = stream.read_exact(&mut rest);
        if asked.elapsed() > WRITE_TIMEOUT {
            return None;
        }
        assert!(read.is_ok(), "{read:?} after {:?}", asked.elapsed());
        Some(())
    });
}

/// A little now and then does not win more time.
#[test]
fn a_slow_but_steady_reader_is_judged_by_the_whole_answer() {
    let (_gateway, socket, _folder) = impatient();
    let (mut stream, asked) = begun(&socket);
    let mut chunk = [0; 8 * 1024];
    let mut read = 1;
    // At this pace the whole would take three times as long.
    while let Ok(bytes @ 1..) = stream.read(&mut chunk) {
        read += bytes;
        thread::sleep(WRITE_TIMEOUT * 3 / u32::try_from(ANSWER_BYTES / chunk.len()).unwrap());
    }
    assert!(asked.elapsed() >= WRITE_TIMEOUT, "{:?}", asked.elapsed());
    assert!(read < ANSWER_BYTES, "it got all {read} bytes");
    assert!(read > chunk.len(), "it got only {read} bytes");
}

/// Without a pause after each failure this would burn a whole core.
#[test]
fn accepting_backs_off_when_descriptors_run_out_and_recovers() {
    const WINDOW: Duration = Duration::from_millis(1500);
    let gateway = Gateway::after("ulimit -n 40", &["--rate", "1000", "--burst", "1000"]).start();
    let failures = || {
        let log = gateway.log();
        log.matches("cannot accept a connection").count()
    };
    let flood: Vec<_> = (0..100)
        .map(|_| TcpStream::connect(gateway.address()).unwrap())
        .collect();
    until("accepting fails", || (failures() > 0).then_some(()));

    let used = processor_time(gateway.pid());
    let before = failures();
    // Time itself: what is measured is how much happens in it.
    let began = Instant::now();
    thread::sleep(WINDOW);
    let used = processor_time(gateway.pid()).saturating_sub(used);
    let pauses = began.elapsed().as_millis() / 50;
    let tries = failures() - before;
    assert!(used < WINDOW / 5, "{used:?} of processor time");
    assert!((1..=pauses).contains(&(tries as u128)), "{tries} tries");

    drop(flood);
    until("an answer", || {
        let reply = gateway.try_send(&Request::turn(LOOK)).ok()?;
        (reply.status == 200).then_some(())
    });
}

/// As many descriptors as this process may have.
fn raise_descriptor_limit() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    setrlimit(Resource::Nofile, limit).unwrap();
}

#[test]
fn heads_that_never_end_weigh_little() {
    const CONNECTIONS: usize = 800;
    raise_descriptor_limit();
    let gateway = Gateway::unlimited(&["--header-timeout", "60s"]).start();
    let idle = resident_bytes(gateway.pid());
    forget_peak(gateway.pid());
    let start = "GET /api/health HTTP/1.1\r\nHost: h\r\nX: ";
    // 390 KB, of which the gateway takes as much as it cares to; and just less than it
    // takes, which stays open and comes with what a connection weighs by itself.
    for (head_bytes, most) in [(390_000, 20 * MIB), (16_000, 25 * MIB)] {
        let head = format!("{start}{}", "x".repeat(head_bytes - start.len()));
        let all: Vec<_> = (0..CONNECTIONS)
            .map(|_| {
                let mut stream = TcpStream::connect(gateway.address()).unwrap();
                stream.set_nonblocking(true).unwrap();
                // What does not fit on the way need not go; a close is an answer.
                let mut left = head.as_bytes();
                while let Ok(written @ 1..) = stream.write(left) {
                    left = &left[written..];
                }
                stream
            })
            .collect();
        // Answered on one thread: what came before has been read by now.
        assert_eq!(gateway.send(&Request::get("/api/health")).status, 200);
        let more = peak_bytes(gateway.pid()).saturating_sub(idle);
        assert!(more <= most, "{more} bytes for {head_bytes} each");
        drop(all);
    }
}

#[test]
fn answers_to_piped_requests_that_nobody_reads_stay_bounded() {
    const REQUESTS: usize = 10_000;
    let folder = tempfile::tempdir().unwrap();
    let page = "p".repeat(100_000);
    std::fs::write(folder.path().join("page"), &page).unwrap();
    let gateway = Gateway::unlimited(&["--static", folder.path().to_str().unwrap()]).start();
    assert_eq!(gateway.send(&Request::get("/page")).body.len(), page.len());
    let idle = resident_bytes(gateway.pid());
    forget_peak(gateway.pid());

    let bytes = Request::get("/page").bytes().repeat(REQUESTS);
    let mut connection = Connection::open(gateway.address()).unwrap();
    let mut writer = connection.stream.try_clone().unwrap();
    thread::scope(|scope| {
        // Stuck when the way is full, and set free by the shutdown below.
        let sending = scope.spawn(move || writer.write_all(&bytes).is_ok());
        until("it has stopped taking more", || {
            let before = processor_time(gateway.pid());
            thread::sleep(Duration::from_millis(200));
            (processor_time(gateway.pid()) == before).then_some(())
        });
        assert_eq!(gateway.turn(LOOK).status, 200, "others are served");
        let more = peak_bytes(gateway.pid()).saturating_sub(idle);
        assert!(more <= 4 * MIB, "{more} bytes");
        for n in 0..20 {
            let reply = connection.read(false).unwrap();
            assert_eq!((reply.status, reply.body.len()), (200, page.len()), "{n}");
        }
        connection
            .stream
            .shutdown(std::net::Shutdown::Both)
            .unwrap();
        sending.join().unwrap();
    });
}

/// What comes to the end of the connection, however it ends.
fn everything_said(gateway: &Running, bytes: &[u8]) -> String {
    let mut connection = Connection::open(gateway.address()).unwrap();
    // It may be closed before all of it is sent.
    let _ = connection.stream.write_all(bytes);
    let mut said = Vec::new();
    let ended = connection.stream.read_to_end(&mut said);
    if let Err(error) = ended {
        assert_eq!(
            error.kind(),
            std::io::ErrorKind::ConnectionReset,
            "{bytes:?}"
        );
    }
    String::from_utf8_lossy(&said).into_owned()
}

fn status_of(said: &str) -> u16 {
    let status = said
        .strip_prefix("HTTP/1.1 ")
        .and_then(|rest| rest.get(..3));
    let status = status.and_then(|status| status.parse().ok());
    status.unwrap_or_else(|| panic!("no answer: {said:?}"))
}

#[test]
fn a_request_hidden_in_the_body_of_a_get_is_not_answered() {
    let gateway = Gateway::unlimited(&[]).start();
    let hidden = String::from_utf8(Request::turn(LOOK).bytes()).unwrap();
    let length = hidden.len();
    for method in ["GET", "HEAD"] {
        for target in ["/api/health", "/none", "/api/turn"] {
            for framed in [
                format!("Content-Length: {length}\r\n\r\n{hidden}"),
                format!("Transfer-Encoding: chunked\r\n\r\n{length:x}\r\n{hidden}\r\n0\r\n\r\n"),
            ] {
                let bytes = format!("{method} {target} HTTP/1.1\r\nHost: h\r\n{framed}");
                let said = everything_said(&gateway, bytes.as_bytes());
                assert_eq!(said.matches("HTTP/1.1 ").count(), 1, "{bytes:?}: {said:?}");
            }
        }
    }
    assert_eq!(gateway.turn(LOOK).json()["lines"], 1, "the engine saw none");
}

#[test]
fn lengths_that_are_none_are_refused_and_closed() {
    let gateway = Gateway::unlimited(&[]).start();
    for (length, statuses) in [
        ("9223372036854775808", &[400, 413][..]),
        ("9223372036854775807", &[400, 413]),
        // The library under the gateway says 431 where no counter of its own reaches.
        ("18446744073709551615", &[400, 413, 431]),
        ("18446744073709551616", &[400, 413, 431]),
        ("99999999999999999999999999", &[400, 413, 431]),
        ("-1", &[400]),
        ("+15", &[400]),
        ("0x0f", &[400]),
        ("1e1", &[400]),
        ("15, 16", &[400]),
        ("", &[400]),
    ] {
        let bytes =
            format!("POST /api/turn HTTP/1.1\r\nHost: h\r\nContent-Length: {length}\r\n\r\n{LOOK}");
        let mut connection = Connection::open(gateway.address()).unwrap();
        connection.stream.write_all(bytes.as_bytes()).unwrap();
        let reply = connection.read(false).unwrap();
        assert!(statuses.contains(&reply.status), "{length:?}: {reply:?}");
    }
    assert_eq!(gateway.turn(LOOK).json()["lines"], 1, "the engine saw none");
}

#[test]
fn codings_with_strange_space_are_refused_and_closed() {
    let gateway = Gateway::unlimited(&[]).start();
    let chunked = format!("{:x}\r\n{LOOK}\r\n0\r\n\r\n", LOOK.len());
    for line in [
        "Transfer-Encoding:\x0bchunked",
        "Transfer-Encoding: \x0cchunked",
        "Transfer-Encoding: chunked\x0b",
        "Transfer-Encoding: \u{a0}chunked",
        "Transfer-Encoding : chunked",
        "Transfer-Encoding:\r\n chunked",
        "Transfer-Encoding: \"chunked\"",
        "Transfer-Encoding: chunked;q=1",
        "Transfer-Encoding: xchunked",
    ] {
        let bytes = format!("POST /api/turn HTTP/1.1\r\nHost: h\r\n{line}\r\n\r\n{chunked}");
        let said = everything_said(&gateway, bytes.as_bytes());
        assert_eq!(status_of(&said), 400, "{line:?}: {said:?}");
        assert_eq!(said.matches("HTTP/1.1 ").count(), 1, "{line:?}: {said:?}");
    }
    assert_eq!(gateway.turn(LOOK).json()["lines"], 1, "the engine saw none");
}

#[test]
fn a_long_list_of_hops_costs_little() {
    const LIMIT: Duration = Duration::from_millis(50);
    let gateway = Gateway::unlimited(&[]).start();
    for (hops, status) in [
        // As long as a head may be: the walk goes over all of it.
        ("127.0.0.1,".repeat(1_500), 200),
        (",".repeat(15_000), 200),
        ("[::ffff:127.0.0.1]:1, ".repeat(680), 200),
        ("x".repeat(15_000), 200),
        ("127.0.0.1,".repeat(6_000), 431),
        ("x".repeat(60_000), 431),
    ] {
        let request = Request::turn(LOOK).from(&hops);
        let mut best = PATIENCE;
        for _ in 0..5 {
            let began = Instant::now();
            // Refused early, it may be closed while the rest is still being sent.
            let reply = request.send_to(gateway.address());
            best = best.min(began.elapsed());
            let told = reply.map(|reply| reply.status);
            assert!(
                told.as_ref().is_ok_and(|told| *told == status),
                "{} bytes: {told:?}",
                hops.len()
            );
        }
        assert!(best < LIMIT, "{best:?} for {} bytes", hops.len());
    }
}
