//! The status as server-sent events: a greeting at once, then one status a second, for as
//! long as somebody listens; bounded in number, and in nobody's way.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::engine_file::{EngineFile, create, until_waiting};
use crate::harness::{Gateway, PATIENCE, until};
use crate::http::{Connection, Request};

/// Streams at once, as the README says.
const STREAMS_MAX: usize = 16;

fn ask() -> Request {
    Request::get("/status.json").header("Accept", "text/event-stream")
}

/// A stream of events, its head read.
struct Events {
    body: BufReader<TcpStream>,
    head: String,
}

/// One event, and the bytes it took.
struct Event {
    name: String,
    data: Value,
    bytes: usize,
}

impl Events {
    fn open(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        (&stream).write_all(&ask().bytes()).unwrap();
        let mut body = BufReader::new(stream);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert!(body.read_line(&mut head).unwrap() > 0, "{head}");
        }
        Self { body, head }
    }

    fn status(&self) -> u16 {
        self.head.split(' ').nth(1).unwrap().parse().unwrap()
    }

    /// The next one; none at the end of the stream.
    fn next(&mut self) -> Option<Event> {
        let mut text = String::new();
        while !text.ends_with("\n\n") {
            let mut size = String::new();
            self.body.read_line(&mut size).unwrap();
            let size = usize::from_str_radix(size.trim(), 16).expect("a chunk's size");
            let mut chunk = vec![0; size + 2];
            self.body.read_exact(&mut chunk).unwrap();
            if size == 0 {
                assert_eq!(text, "", "it ends between events");
                return None;
            }
            chunk.truncate(size);
            text.push_str(std::str::from_utf8(&chunk).unwrap());
        }
        let line = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name));
            line.unwrap_or_else(|| panic!("no {name:?} in {text}"))
        };
        Some(Event {
            name: line("event: ").to_owned(),
            data: serde_json::from_str(line("data: ")).unwrap(),
            bytes: text.len(),
        })
    }
}

#[test]
fn a_small_greeting_at_once_and_then_one_status_a_second() {
    let gateway = Gateway::with(&[]).admin().start();
    let asked = Instant::now();
    let mut events = Events::open(gateway.admin());
    assert_eq!(events.status(), 200);
    let head = events.head.to_ascii_lowercase();
    assert!(
        head.contains("content-type: text/event-stream\r\n"),
        "{head}"
    );
    assert!(head.contains("cache-control: no-store\r\n"), "{head}");
    let hello = events.next().unwrap();
    assert_eq!(hello.name, "hello");
    assert_eq!(hello.data["version"], env!("CARGO_PKG_VERSION"));
    assert!(hello.bytes < 512, "{} bytes", hello.bytes);
    let first = events.next().unwrap();
    assert!(
        asked.elapsed() < Duration::from_millis(900),
        "{:?}",
        asked.elapsed()
    );
    let shape =
        |status: &Value| -> Vec<String> { status.as_object().unwrap().keys().cloned().collect() };
    assert_eq!(first.name, "status");
    assert_eq!(shape(&first.data), shape(&gateway.status()));

    let mut before = Instant::now();
    let mut uptime = first.data["uptime_s"].as_f64().unwrap();
    for _ in 0..3 {
        let event = events.next().unwrap();
        assert_eq!(event.name, "status");
        // By the gateway's own clock; when it is read here is this machine's business.
        let later = event.data["uptime_s"].as_f64().unwrap() - uptime;
        assert!((0.99..1.6).contains(&later), "{later} s later");
        assert!(before.elapsed() > Duration::from_millis(500));
        before = Instant::now();
        uptime += later;
    }
}

/// What happens is in the next event.
#[test]
fn events_are_of_now() {
    let gateway = Gateway::unlimited(&[]).admin().start();
    let mut events = Events::open(gateway.admin());
    events.next();
    assert_eq!(events.next().unwrap().data["turns"]["ok"], 0);
    for turns in 1..=2 {
        assert_eq!(gateway.turn(r#"{"kind":"look"}"#).status, 200);
        assert_eq!(events.next().unwrap().data["turns"]["ok"], turns);
    }
}

#[test]
fn only_who_asks_for_events_gets_them() {
    let gateway = Gateway::with(&[]).admin().start();
    for accept in ["*/*", "application/json", "text/event-stream;q=0"] {
        let reply = gateway.ask_admin(&Request::get("/status.json").header("Accept", accept));
        assert_eq!(reply.json()["health"], "up", "{accept}");
    }
    let head = Request::new("HEAD", "/status.json").header("Accept", "text/event-stream");
    assert!(gateway.ask_admin(&head).header("content-length").is_some());
    let rebound = ask().header("Host", "evil.example");
    assert_eq!(gateway.ask_admin(&rebound).status, 421);
}

#[test]
fn there_are_so_many_streams_and_no_more() {
    let gateway = Gateway::with(&[]).admin().start();
    let address = gateway.admin();
    let mut open: Vec<_> = (0..STREAMS_MAX).map(|_| Events::open(address)).collect();
    assert!(open.iter().all(|events| events.status() == 200));
    let refused = gateway.ask_admin(&ask());
    assert_eq!((refused.status, refused.retry_after()), (503, Some(5)));
    // All else goes on, and so do they.
    assert_eq!(gateway.status()["health"], "up");
    assert_eq!(gateway.turn(r#"{"kind":"look"}"#).status, 200);
    for events in &mut open {
        let names = [0; 3].map(|_| events.next().unwrap().name);
        assert_eq!(names, ["hello", "status", "status"]);
    }
    open.pop();
    until("a place is free", || {
        (Events::open(address).status() == 200).then_some(())
    });
}

/// Who does not read holds nobody up: not the turns, not those who do.
#[test]
fn a_reader_that_does_not_read_is_in_nobodys_way() {
    let gateway = Gateway::unlimited(&[]).admin().start();
    let mut connection = Connection::open(gateway.admin()).unwrap();
    connection.stream.write_all(&ask().bytes()).unwrap();
    let mut events = Events::open(gateway.admin());
    events.next();
    for _ in 0..3 {
        let asked = Instant::now();
        assert_eq!(gateway.turn(r#"{"kind":"look"}"#).status, 200);
        assert!(asked.elapsed() < Duration::from_secs(1));
        assert_eq!(events.next().unwrap().name, "status");
    }
}

#[test]
fn a_drain_is_told_and_ends_the_stream() {
    let file = EngineFile::stub("");
    let mut gateway = file.gateway(&[]).admin().start();
    let release = format!("wait-for:{}", file.beside("release").display());
    let address = gateway.address();
    let turn = json!({ "kind": "look", "do": [release, "reply"] }).to_string();
    let slow = thread::spawn(move || Request::turn(turn).send_to(address).unwrap().status);
    until_waiting(&gateway, 1);
    let mut events = Events::open(gateway.admin());
    assert_eq!(events.next().unwrap().name, "hello");
    assert_eq!(events.next().unwrap().data["health"], "up");
    gateway.signal("TERM");
    let mut last = Value::Null;
    while let Some(event) = events.next() {
        last = event.data;
    }
    assert_eq!(last["health"], "draining");
    assert_eq!(last["queue"]["waiting"], 1);
    // Who comes now is told the same, once.
    let mut late = Events::open(gateway.admin());
    assert_eq!(late.next().unwrap().name, "hello");
    assert_eq!(late.next().unwrap().data["health"], "draining");
    assert!(late.next().is_none());
    create(&file.beside("release"));
    assert_eq!(slow.join().unwrap(), 200);
    assert_eq!(gateway.wait().code(), Some(0));
    let gone = late.body.read(&mut [0]).map_err(|error| error.kind());
    assert!(
        matches!(gone, Ok(0) | Err(ErrorKind::ConnectionReset)),
        "{gone:?}"
    );
}
