//! Connections: their deadlines, their number, and answers that nobody reads.

use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::harness::{Gateway, PATIENCE, Running, until};
use crate::http::{Connection, Request};

const LOOK: &str = r#"{"kind":"look"}"#;

fn open(gateway: &Running) -> Connection {
    Connection::open(gateway.address()).unwrap()
}

/// That the other side keeps this connection open, silently, for so long.
fn stays_open(stream: &mut TcpStream, time: Duration) -> bool {
    stream.set_read_timeout(Some(time)).unwrap();
    let read = stream.read(&mut [0]);
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    read.is_err_and(|error| matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut))
}

fn is_alive(connection: &mut Connection) -> bool {
    let health = connection.send(&Request::get("/api/health"));
    health.is_ok_and(|health| health.status == 200)
}

#[test]
fn the_heads_time_runs_from_its_first_byte() {
    let limit = Duration::from_millis(500);
    let gateway = Gateway::unlimited(&["--header-timeout", "500ms"]).start();
    let mut connection = open(&gateway);
    let silence = limit + Duration::from_millis(200);
    assert!(
        stays_open(&mut connection.stream, silence),
        "no byte, no head"
    );

    let began = Instant::now();
    connection
        .stream
        .write_all(b"GET /api/health HTTP/1.1\r\n")
        .unwrap();
    assert!(connection.is_closed());
    assert!(
        began.elapsed() >= limit,
        "closed after {:?}",
        began.elapsed()
    );
}

/// One byte now and then does not win more time.
#[test]
fn a_head_that_trickles_is_closed_too() {
    let gateway = Gateway::unlimited(&["--header-timeout", "400ms"]).start();
    let mut connection = open(&gateway);
    assert!(
        is_alive(&mut connection),
        "the limit holds for later requests as well"
    );
    let began = Instant::now();
    let head = b"GET /api/health HTTP/1.1\r\nHost: h\r\nX: ";
    connection.stream.write_all(head).unwrap();
    until("the end of patience", || {
        let gone = connection.stream.write_all(b"x").is_err();
        thread::sleep(Duration::from_millis(50));
        gone.then_some(())
    });
    assert!(began.elapsed() >= Duration::from_millis(400));
}

#[test]
fn a_slow_head_inside_its_time_is_answered() {
    let gateway = Gateway::unlimited(&["--idle-timeout", "700ms"]).start();
    let mut connection = open(&gateway);
    for byte in b"GET /api/health HTTP/1.1\r\nHost: h\r\n\r\n".chunks(4) {
        connection.stream.write_all(byte).unwrap();
        thread::sleep(Duration::from_millis(100));
    }
    assert_eq!(connection.read(false).unwrap().status, 200);
}

#[test]
fn an_idle_connection_is_closed_before_and_after_a_request() {
    let limit = Duration::from_millis(500);
    let gateway = Gateway::unlimited(&["--idle-timeout", "500ms"]).start();
    for requests in 0..3 {
        let mut began = Instant::now();
        let mut connection = open(&gateway);
        for _ in 0..requests {
            began = Instant::now();
            assert!(is_alive(&mut connection));
        }
        assert!(connection.is_closed());
        let waited = began.elapsed();
        assert!(
            waited >= limit,
            "{requests} requests: closed after {waited:?}"
        );
    }
}

#[test]
fn a_long_turn_is_not_idle() {
    let options = [
        "--idle-timeout",
        "200ms",
        "--header-timeout",
        "200ms",
        "--body-timeout",
        "200ms",
    ];
    let gateway = Gateway::unlimited(&options).start();
    let mut connection = open(&gateway);
    let slow = Request::turn(r#"{"kind":"look","do":["sleep:900","reply"]}"#);
    assert_eq!(connection.send(&slow).unwrap().status, 200);
    assert!(connection.is_closed(), "and afterwards it is");
}

#[test]
fn a_body_that_stalls_is_told() {
    let gateway = Gateway::unlimited(&["--body-timeout", "400ms"]).start();
    for framing in ["Content-Length: 100", "Transfer-Encoding: chunked"] {
        let mut connection = open(&gateway);
        let began = Instant::now();
        let head = format!("POST /api/turn HTTP/1.1\r\nHost: h\r\n{framing}\r\n\r\n5\r\n{{");
        connection.stream.write_all(head.as_bytes()).unwrap();
        let reply = connection.read(false).unwrap();
        assert_eq!((reply.status, reply.code().as_str()), (408, "body_timeout"));
        assert!(began.elapsed() >= Duration::from_millis(400));
        assert_eq!(reply.header("connection"), Some("close"));
        assert!(connection.is_closed());
    }
    assert_eq!(gateway.turn(LOOK).json()["lines"], 1);
}

#[test]
fn when_full_the_longest_idle_makes_room() {
    let gateway = Gateway::unlimited(&["--max-connections", "3"]).start();
    let mut first = open(&gateway);
    let mut second = open(&gateway);
    let mut third = open(&gateway);
    // Idle since: the second, then the first, then the third.
    for connection in [&mut second, &mut first, &mut third] {
        assert!(is_alive(connection));
    }
    let mut newcomer = open(&gateway);
    assert!(is_alive(&mut newcomer));
    assert!(second.is_closed());
    for connection in [&mut first, &mut third, &mut newcomer] {
        assert!(is_alive(connection));
    }
}

/// An idle connection is closed for a newcomer in the moment in which its next turn comes:
/// either the turn is answered, or nothing of it happened and it may be sent again.
#[test]
fn making_room_never_swallows_a_turn() {
    let gateway =
        Gateway::with(&["--rate", "1/h", "--burst", "1", "--max-connections", "1"]).start();
    for n in 0..6 {
        let client = format!("192.0.2.{n}");
        let turn = Request::turn(LOOK).from(&client);
        let mut idle = until("a connection that is alive", || {
            let mut connection = open(&gateway);
            (connection.send(&Request::get("/api/health")).ok()).map(|_| connection)
        });
        // Time itself: only who has idled for half a second is closed for others.
        thread::sleep(Duration::from_millis(600));
        gateway.signal("STOP");
        let mut newcomer = open(&gateway);
        idle.stream.write_all(&turn.bytes()).unwrap();
        gateway.signal("CONT");
        let answered = idle.read(false).is_ok_and(|reply| reply.status == 200);
        let again = newcomer.send(&turn).unwrap();
        let expected = if answered { 429 } else { 200 };
        assert_eq!(again.status, expected, "{client}, answered: {answered}");
    }
}

/// The lines that the stub has seen.
fn until_seen(log: &Path, mark: &str) {
    until("the turn is in the engine", || {
        let seen = fs::read_to_string(log).unwrap_or_default();
        seen.contains(mark).then_some(())
    });
}

fn stub_log(folder: &tempfile::TempDir) -> (PathBuf, String) {
    let log = folder.path().join("seen");
    let text = log.display().to_string();
    (log, text)
}

/// Nobody is idle: the newcomer waits, and is served as soon as somebody is.
#[test]
fn when_full_of_busy_ones_a_newcomer_waits_its_turn() {
    let folder = tempfile::tempdir().unwrap();
    let (log, log_text) = stub_log(&folder);
    let gateway = Gateway::unlimited(&["--max-connections", "1"])
        .stub(&["--log", &log_text])
        .start();
    let mut busy = open(&gateway);
    let slow = r#"{"kind":"look","mark":"slow","do":["sleep:600","reply"]}"#;
    busy.stream.write_all(&Request::turn(slow).bytes()).unwrap();
    until_seen(&log, "slow");

    let mut newcomer = open(&gateway);
    newcomer
        .stream
        .write_all(&Request::turn(LOOK).bytes())
        .unwrap();
    let reply = busy.read(false).unwrap();
    assert_eq!(
        reply.json()["mark"],
        "slow",
        "the busy one is not closed for it"
    );
    let reply = newcomer.read(false).unwrap();
    assert_eq!(reply.json()["lines"], 2, "{reply:?}");
    assert!(busy.is_closed(), "idle by then, it made room");
    assert!(is_alive(&mut newcomer));
}

/// The same when the busy one leaves by itself.
#[test]
fn accepting_goes_on_when_a_connection_ends() {
    let folder = tempfile::tempdir().unwrap();
    let (log, log_text) = stub_log(&folder);
    let gateway = Gateway::unlimited(&["--max-connections", "1"])
        .stub(&["--log", &log_text])
        .start();
    let mut busy = open(&gateway);
    let hanging = r#"{"kind":"look","mark":"first","do":["sleep:300","reply"]}"#;
    busy.stream
        .write_all(&Request::turn(hanging).bytes())
        .unwrap();
    until_seen(&log, "first");
    let mut newcomer = open(&gateway);
    newcomer
        .stream
        .write_all(&Request::turn(LOOK).bytes())
        .unwrap();
    drop(busy);
    assert_eq!(newcomer.read(false).unwrap().status, 200);
}

/// On a unix socket, whose buffers are small and do not grow.
#[test]
fn the_slowest_readers_are_closed_and_the_others_served() {
    const ANSWER_BYTES: usize = 900_000;
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("sock");
    let listen = format!("unix:{}", socket.display());
    let gateway = Gateway::unlimited(&[
        "--listen",
        "127.0.0.1:0",
        "--listen",
        &listen,
        "--max-unsent",
        "3MiB",
    ])
    .start();
    let big =
        Request::turn(json!({"kind": "look", "do": format!("big:{ANSWER_BYTES}")}).to_string());

    let mut lazy: Vec<Connection<UnixStream>> = Vec::new();
    for _ in 0..12 {
        let mut connection = Connection::open_unix(&socket).unwrap();
        connection.stream.write_all(&big.bytes()).unwrap();
        // Its answer has begun to come, so it counts; the rest is not read.
        connection.stream.read_exact(&mut [0]).unwrap();
        lazy.push(connection);
        // By now it has taken nothing for so long that it is slower than anybody who takes something.
        thread::sleep(Duration::from_millis(150));
        let reply = gateway.send(&big);
        assert_eq!(
            (reply.status, reply.body.len()),
            (200, ANSWER_BYTES),
            "others are served"
        );
    }
    let whole: Vec<bool> = lazy
        .iter_mut()
        .map(|connection| {
            let mut read = 0;
            let mut chunk = [0; 16 * 1024];
            // Closed early, it comes to an end or a reset.
            while let Ok(1..) = connection.stream.read(&mut chunk).inspect(|n| read += n)
                && read < ANSWER_BYTES
            {}
            read >= ANSWER_BYTES
        })
        .collect();
    let closed = whole.iter().take_while(|whole| !**whole).count();
    assert!(
        closed >= 6,
        "the first, and so the slowest, are closed: {whole:?}"
    );
    assert!(
        whole[closed..].iter().all(|whole| *whole),
        "and only they: {whole:?}"
    );
    assert!(closed < 12, "the last is not: {whole:?}");
}

/// An honest reader is not the slowest, however many come after it that take nothing.
#[test]
fn who_takes_something_is_faster_than_those_who_take_nothing() {
    const FILE_BYTES: usize = 4_000_000;
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("page"), vec![b'p'; FILE_BYTES]).unwrap();
    let folder = folder.path().to_str().unwrap();
    let gateway = Gateway::unlimited(&["--static", folder, "--max-unsent", "10MiB"]).start();
    let get = Request::get("/page").bytes();
    let mut honest = open(&gateway);
    honest.stream.write_all(&get).unwrap();
    let mut lazy = Vec::new();
    let mut read = 0;
    let mut chunk = vec![0; 20_000];
    while read < FILE_BYTES {
        honest.stream.read_exact(&mut chunk).unwrap();
        read += chunk.len();
        if read >= 200_000 && lazy.is_empty() {
            for _ in 0..6 {
                let mut connection = open(&gateway);
                connection.stream.write_all(&get).unwrap();
                lazy.push(connection);
            }
        }
        // Some megabytes a second.
        thread::sleep(Duration::from_millis(3));
    }
    let closed = lazy.iter_mut().filter_map(|connection| {
        let mut bytes = Vec::new();
        let whole = connection.stream.read_to_end(&mut bytes);
        (whole.is_err() || bytes.len() < FILE_BYTES).then_some(())
    });
    drop(honest);
    assert!(
        closed.take(4).count() == 4,
        "room was made by those who took nothing"
    );
}

/// One answer larger than all answers together may be is still taken by somebody who is alone.
#[test]
fn who_is_alone_is_not_the_slowest() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("page"), vec![b'p'; 8_000_000]).unwrap();
    let folder = folder.path().to_str().unwrap();
    let gateway = Gateway::unlimited(&["--static", folder, "--max-unsent", "2MiB"]).start();
    let reply = gateway.send(&Request::get("/page"));
    assert_eq!((reply.status, reply.body.len()), (200, 8_000_000));
}

/// Bytes that the kernel holds for those who were answered at this port, of closed connections too.
fn held_by_the_kernel(port: u16) -> u64 {
    let sockets = fs::read_to_string("/proc/net/tcp").unwrap();
    let local = format!(":{port:04X}");
    let of_port = sockets.lines().skip(1).filter_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        // Listening sockets have a backlog in this place.
        (fields[1].ends_with(&local) && fields[3] != "0A").then(|| fields[4].to_owned())
    });
    of_port
        .map(|queues| u64::from_str_radix(queues.split(':').next().unwrap(), 16).unwrap())
        .sum()
}

/// The kernel takes whole answers for those who read nothing: but bounded, and not for ever.
#[test]
fn what_nobody_takes_is_not_left_with_the_kernel() {
    const CLIENTS: usize = 40;
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("page"), vec![b'p'; 2_000_000]).unwrap();
    let folder = folder.path().to_str().unwrap();
    let gateway = Gateway::unlimited(&[
        "--static",
        folder,
        "--write-timeout",
        "2s",
        "--max-unsent",
        "8MiB",
        "--max-connections",
        "128",
    ])
    .start();
    let port = gateway.address().port();
    let get = Request::get("/page").bytes();
    let mut lazy = Vec::new();
    for _ in 0..CLIENTS {
        let mut connection = open(&gateway);
        connection.stream.write_all(&get).unwrap();
        lazy.push(connection);
    }
    let began = Instant::now();
    let mut most = 0;
    until("nothing is left", || {
        let held = held_by_the_kernel(port);
        most = held.max(most);
        (most > 0 && held == 0).then_some(())
    });
    assert!(most <= 8 << 20, "{most}");
    assert!(
        began.elapsed() < Duration::from_secs(8),
        "{:?}",
        began.elapsed()
    );
    assert_eq!(gateway.health()["engine"], "up");
}

#[test]
fn the_descriptor_limit_is_raised_and_the_engine_gets_the_old_one() {
    let gateway = Gateway::after("ulimit -S -n 200", &["--rate", "1000"]).start();
    let limits = fs::read_to_string(format!("/proc/{}/limits", gateway.pid())).unwrap();
    let of_files = limits
        .lines()
        .find(|line| line.starts_with("Max open files"))
        .unwrap();
    let [.., soft, hard, _unit] = of_files.split_whitespace().collect::<Vec<_>>()[..] else {
        panic!("soft, hard, unit: {of_files}");
    };
    assert_eq!(soft, hard);
    assert_ne!(soft, "200");
    let reply = gateway.turn(r#"{"kind":"look","do":"nofile"}"#);
    assert_eq!(reply.json()["nofile"], 200);
}

/// More clients than may be open: each newcomer is answered, none is closed for the next one unheard.
#[test]
fn newcomers_do_not_push_each_other_out() {
    let gateway = Gateway::unlimited(&["--max-connections", "4"]).start();
    thread::scope(|scope| {
        for n in 0..24 {
            let gateway = &gateway;
            scope.spawn(move || {
                let turn = format!(r#"{{"kind":"look","mark":{n},"do":["sleep:5","reply"]}}"#);
                let reply = gateway.try_send(&Request::turn(turn));
                let reply = reply.unwrap_or_else(|error| panic!("client {n}: {error}"));
                assert_eq!(reply.json()["mark"], n);
            });
        }
    });
}

/// Bytes of a next request behind a turn do not hide that its client has left.
#[test]
fn a_hang_up_is_noticed_behind_waiting_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let (log, log_text) = stub_log(&folder);
    let gateway = Gateway::unlimited(&[]).stub(&["--log", &log_text]).start();
    let slow = r#"{"kind":"look","mark":"slow","do":["sleep:400","reply"]}"#;
    let mut busy = open(&gateway);
    busy.stream.write_all(&Request::turn(slow).bytes()).unwrap();
    until_seen(&log, "slow");
    for (n, behind) in ["\r\n", "GET /api/health HTTP/1.1\r\nHost: h\r\n\r\n"]
        .iter()
        .enumerate()
    {
        let turn = format!(r#"{{"kind":"look","mark":"gone-{n}"}}"#);
        let mut bytes = Request::turn(turn).bytes();
        bytes.extend(behind.bytes());
        let mut connection = open(&gateway);
        connection.stream.write_all(&bytes).unwrap();
        until("it waits", || {
            (gateway.health()["waiting"] == 2).then_some(())
        });
        drop(connection);
        until("it has left", || {
            (gateway.health()["waiting"] == 1).then_some(())
        });
    }
    assert_eq!(busy.read(false).unwrap().status, 200);
    assert!(!fs::read_to_string(&log).unwrap().contains("gone"));
}
