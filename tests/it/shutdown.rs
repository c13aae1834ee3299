//! How the gateway ends: signals, the drain, exit codes, and the engine that goes with it.

use std::fs;
use std::io::Write;
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::harness::{Gateway, Running, is_gone, until, wait_until_gone};
use crate::http::{Connection, Request};

fn until_waiting(gateway: &Running, turns: u64) {
    until("turns that wait", || {
        (gateway.health()["waiting"] == turns).then_some(())
    });
}

fn until_draining(gateway: &Running) {
    gateway.wait_for_log("the drain", |record| record["message"] == "draining");
}

/// Its engine's process id.
fn engine(gateway: &Running) -> u32 {
    let pid = gateway.turn(r#"{"kind":"look"}"#).json()["pid"].as_u64();
    u32::try_from(pid.expect("the stub tells its id")).unwrap()
}

#[test]
fn both_signals_drain_what_was_accepted() {
    for signal in ["TERM", "INT"] {
        let mut gateway = Gateway::unlimited(&[]).start();
        let engine = engine(&gateway);
        let address = gateway.address();
        let turn = |steps: &str| {
            let turn = Request::turn(format!(r#"{{"kind":"look","do":{steps}}}"#));
            thread::spawn(move || turn.send_to(address).unwrap())
        };
        let slow = turn(r#"["sleep:1500","reply"]"#);
        until_waiting(&gateway, 1);
        let accepted = [slow, turn(r#""reply""#), turn(r#""reply""#)];
        until_waiting(&gateway, 3);
        gateway.signal(signal);
        until_draining(&gateway);
        for turn in accepted {
            let reply = turn.join().unwrap();
            assert_eq!(reply.status, 200, "{signal}: {reply:?}");
            assert_eq!(reply.header("connection"), Some("close"), "{signal}");
        }
        assert_eq!(gateway.wait().code(), Some(0), "{signal}");
        assert!(is_gone(engine), "{signal}: the engine went first");
    }
}

/// A connection that had begun a request when the drain began still gets an answer.
#[test]
fn a_drain_tells_who_can_still_ask() {
    let mut gateway = Gateway::with(&["--burst", "9", "--cors-origin", "*"]).start();
    let address = gateway.address();
    let slow = Request::turn(r#"{"kind":"look","do":["sleep:1500","reply"]}"#);
    let slow = thread::spawn(move || slow.send_to(address).unwrap());
    until_waiting(&gateway, 1);
    let begun = |request: &Request| {
        let bytes = request.bytes();
        let mut connection = Connection::open(address).unwrap();
        connection.stream.write_all(&bytes[..10]).unwrap();
        (connection, bytes[10..].to_vec())
    };
    let mut asking = begun(&Request::get("/api/health"));
    let mut playing = begun(&Request::turn(r#"{"kind":"look"}"#));
    let mut too_long = begun(&Request::turn(vec![b'x'; 70_000]));
    let mut idle = Connection::open(address).unwrap();
    idle.send(&Request::get("/api/health")).unwrap();
    // Connections are taken and read in order, so what was begun before this answer has been read.
    gateway.health();

    gateway.signal("TERM");
    until_draining(&gateway);
    assert!(idle.is_closed(), "who asks for nothing is let go");
    // The answers below show that it was no end of the gateway that closed the door.
    until("nobody is let in any more", || {
        TcpStream::connect(address).is_err().then_some(())
    });

    let (connection, rest) = &mut asking;
    connection.stream.write_all(rest).unwrap();
    let health = connection.read(false).unwrap();
    assert_eq!(health.status, 503);
    assert_eq!(health.json()["engine"], "draining");
    assert_eq!(health.json()["ok"], false);
    assert_eq!(health.retry_after(), Some(1));
    assert!(connection.is_closed());

    for (connection, rest) in [&mut playing, &mut too_long] {
        connection.stream.write_all(rest).unwrap();
        let refused = connection.read(false).unwrap();
        assert_eq!((refused.status, refused.code().as_str()), (503, "draining"));
        assert_eq!(refused.retry_after(), Some(1));
        assert_eq!(refused.header("ratelimit"), None, "no ticket was taken");
        assert_eq!(refused.header("access-control-allow-origin"), Some("*"));
    }
    assert_eq!(slow.join().unwrap().status, 200);
    assert_eq!(gateway.wait().code(), Some(0));
}

#[test]
fn when_the_drains_time_is_up_open_turns_are_told() {
    let mut gateway = Gateway::unlimited(&["--drain-timeout", "300ms"]).start();
    let engine = engine(&gateway);
    let address = gateway.address();
    let turn = || {
        let turn = Request::turn(r#"{"kind":"look","do":"hang"}"#);
        thread::spawn(move || turn.send_to(address).unwrap())
    };
    let (in_engine, waiting) = (turn(), turn());
    until_waiting(&gateway, 2);
    gateway.signal("TERM");
    for turn in [in_engine, waiting] {
        let reply = turn.join().unwrap();
        assert_eq!((reply.status, reply.code().as_str()), (503, "draining"));
        assert_eq!(reply.retry_after(), Some(1));
    }
    assert_eq!(gateway.wait().code(), Some(0));
    assert!(is_gone(engine));
}

/// A connection with a request that never ends does not hold the end up for ever.
#[test]
fn a_half_sent_request_does_not_stop_the_end() {
    let mut gateway = Gateway::unlimited(&["--drain-timeout", "200ms"]).start();
    let mut connection = Connection::open(gateway.address()).unwrap();
    let head = "POST /api/turn HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\n{";
    connection.stream.write_all(head.as_bytes()).unwrap();
    gateway.health();
    gateway.signal("TERM");
    assert_eq!(gateway.wait().code(), Some(0));
}

#[test]
fn a_second_signal_ends_it_at_once_with_all_that_the_engine_started() {
    for (first, second, code) in [
        ("TERM", "TERM", 143),
        ("TERM", "INT", 130),
        ("INT", "INT", 130),
    ] {
        let mut gateway = Gateway::unlimited(&["--drain-timeout", "1h"]).start();
        let engine = engine(&gateway);
        let address = gateway.address();
        let turn = Request::turn(r#"{"kind":"look","do":["fork:600","hang"]}"#);
        let open = thread::spawn(move || turn.send_to(address).is_err());
        let grandchild = until("the engine's child", || {
            let list = format!("/proc/{engine}/task/{engine}/children");
            fs::read_to_string(list).ok()?.trim().parse().ok()
        });
        gateway.signal(first);
        until_draining(&gateway);
        // During a drain it is ignored.
        gateway.signal("HUP");
        gateway.signal(second);
        assert_eq!(gateway.wait().code(), Some(code), "{first} {second}");
        assert!(open.join().unwrap(), "no answer was made up");
        wait_until_gone("the engine", engine);
        wait_until_gone("the engine's child", grandchild);
    }
}

#[test]
fn an_engine_leaves_when_its_stdin_is_closed() {
    let mut gateway = Gateway::with(&[]).start();
    let began = Instant::now();
    gateway.signal("TERM");
    assert_eq!(gateway.wait().code(), Some(0));
    let record = gateway.wait_for_log("its end", |record| {
        record["message"] == "the engine is closed"
    });
    assert_eq!(record["status"], "exit status: 0", "no signal was needed");
    assert!(began.elapsed() < Duration::from_secs(20));
}

/// Stdin closed, 2 s, TERM, 2 s, KILL.
#[test]
fn an_engine_that_does_not_leave_is_told_and_then_made_to() {
    let ended = |script: &str| {
        let mut gateway = Gateway::with(&[]).engine(&["sh", "-c", script]).start();
        // The trap is set before anything is read.
        gateway.wait_for_log("its greeting", |record| {
            record["line"]
                .as_str()
                .is_some_and(|line| line.contains("set"))
        });
        let began = Instant::now();
        gateway.signal("TERM");
        assert_eq!(gateway.wait().code(), Some(0));
        let took = began.elapsed();
        let record = gateway.wait_for_log("its end", |record| {
            record["message"] == "the engine is closed"
        });
        (
            record["status"].as_str().unwrap_or_default().to_owned(),
            took,
        )
    };
    let (stubborn, deaf) = thread::scope(|scope| {
        let polite = "trap 'exit 7' TERM; echo set >&2; while :; do sleep 0.05; done";
        let deaf = "trap '' TERM; echo set >&2; while :; do sleep 0.05; done";
        let polite = scope.spawn(move || ended(polite));
        let deaf = scope.spawn(move || ended(deaf));
        (polite.join().unwrap(), deaf.join().unwrap())
    });
    assert_eq!(stubborn.0, "exit status: 7");
    assert!(stubborn.1 >= Duration::from_secs(2), "{:?}", stubborn.1);
    assert!(deaf.0.contains("SIGKILL"), "{}", deaf.0);
    assert!(deaf.1 >= Duration::from_secs(4), "{:?}", deaf.1);
}

#[test]
fn killed_it_takes_the_engine_along() {
    let mut gateway = Gateway::with(&[]).start();
    let engine = engine(&gateway);
    assert_eq!(gateway.children(), [engine]);
    let address = gateway.address();
    // In the middle of a turn, so that no end of file tells it to leave.
    let turn = Request::turn(r#"{"kind":"look","do":"hang"}"#);
    let open = thread::spawn(move || turn.send_to(address).is_err());
    until_waiting(&gateway, 1);
    assert!(!is_gone(engine));
    gateway.signal("KILL");
    gateway.wait();
    assert!(open.join().unwrap());
    wait_until_gone("the engine", engine);
}

#[test]
fn a_hang_up_ends_the_demo_and_not_the_gateway() {
    let mut demo = Gateway::demo(&[]).start();
    demo.signal("HUP");
    assert_eq!(demo.wait().code(), Some(0));
    until_draining(&demo);

    let gateway = Gateway::with(&[]).start();
    let engine = engine(&gateway);
    gateway.signal("HUP");
    gateway.wait_for_log("the files are read again", |record| {
        record["message"]
            .as_str()
            .is_some_and(|text| text.contains("read again"))
    });
    let reply = gateway.turn(r#"{"kind":"look"}"#);
    assert_eq!(
        (reply.status, reply.json()["pid"].clone()),
        (200, Value::from(engine))
    );
}

#[test]
fn the_unix_socket_is_gone_after_every_kind_of_end() {
    for signals in [&["TERM"][..], &["INT", "INT"]] {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("sock");
        let listen = format!("unix:{}", socket.display());
        let mut gateway = Gateway::with(&["--listen", &listen]).start_unready();
        let mut connection = Connection::open_unix(&socket).unwrap();
        let turn = Request::turn(r#"{"kind":"look","do":["sleep:200","reply"]}"#);
        connection.stream.write_all(&turn.bytes()).unwrap();
        for signal in signals {
            gateway.signal(signal);
        }
        gateway.wait();
        assert!(!socket.exists(), "{signals:?}");
    }
}
