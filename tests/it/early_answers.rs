//! An answer that is given before the body was read still gets read: by a client that
//! first sends everything, as Caddy and most libraries do.

use std::io::Write;
use std::thread;
use std::time::Duration;

use crate::harness::Gateway;
use crate::http::{Connection, Request};

const REPEATS: usize = 20;

/// Sizes of bodies far over the limit, and how often each is tried.
pub const LARGE_BODIES: [(usize, usize); 3] = [(1_000_000, 50), (8_000_000, 30), (20_000_000, 20)];

fn chunked(body: &[u8], more_head: &str) -> Vec<u8> {
    let mut bytes = format!(
        "POST /api/turn HTTP/1.1\r\nHost: h\r\n{more_head}Transfer-Encoding: chunked\r\n\r\n"
    )
    .into_bytes();
    for chunk in body.chunks(10_000) {
        bytes.extend(format!("{:x}\r\n", chunk.len()).bytes());
        bytes.extend(chunk);
        bytes.extend(b"\r\n");
    }
    bytes.extend(b"0\r\n\r\n");
    bytes
}

#[test]
fn a_413_is_read_by_a_client_that_sends_everything_first() {
    let gateway = Gateway::with(&[]).start();
    for size in [70_000, 300_000, 1_000_000, 8_000_000] {
        let body = vec![b'x'; size];
        for bytes in [Request::turn(&body).bytes(), chunked(&body, "")] {
            for repeat in 0..REPEATS {
                let mut connection = Connection::open(gateway.address()).unwrap();
                let what = format!("{size} bytes, time {repeat}");
                let sent = connection.stream.write_all(&bytes);
                assert!(sent.is_ok(), "{what}: {sent:?}");
                let reply = connection.read(false);
                let reply = reply.unwrap_or_else(|error| panic!("{what}: {error}"));
                assert_eq!(
                    (reply.status, reply.code().as_str()),
                    (413, "body_too_large")
                );
                assert_eq!(reply.header("connection"), Some("close"));
                assert!(connection.is_closed(), "{what}");
            }
        }
    }
    let mark = gateway.turn(r#"{"kind":"look"}"#);
    assert_eq!(
        mark.json()["lines"],
        1,
        "none took a ticket or reached the engine"
    );
}

/// It is not idle meanwhile, and what it sends is no head: neither a newcomer nor the head's time cuts it off.
#[test]
fn who_pauses_inside_a_refused_body_still_reads_its_413() {
    let options = ["--header-timeout=200ms", "--max-connections=1"];
    let gateway = Gateway::with(&options).start();
    let bytes = Request::turn(vec![b'x'; 1_000_000]).bytes();
    let (begin, rest) = bytes.split_at(500_000);
    let mut slow = Connection::open(gateway.address()).unwrap();
    slow.stream.write_all(begin).unwrap();
    let mut newcomer = Connection::open(gateway.address()).unwrap();
    let request = Request::get("/api/health").bytes();
    newcomer.stream.write_all(&request).unwrap();
    // Longer than a connection is idle before it makes room.
    thread::sleep(Duration::from_millis(800));
    for piece in rest.chunks(100_000) {
        slow.stream.write_all(piece).unwrap();
        thread::sleep(Duration::from_millis(100));
    }
    let reply = slow.read(false).unwrap();
    assert_eq!(reply.code(), "body_too_large");
    assert_eq!(newcomer.read(false).unwrap().status, 200);
}

/// Up to 20 MB: of a hundred clients that send everything first, one may lose its answer.
#[test]
fn large_refused_bodies_get_their_413() {
    let gateway = Gateway::with(&[]).start();
    let tries = LARGE_BODIES.iter().map(|(_, tries)| tries).sum::<usize>();
    let mut read = 0;
    for (size, tries) in LARGE_BODIES {
        let bytes = Request::turn(vec![b' '; size]).bytes();
        for _ in 0..tries {
            let mut connection = Connection::open(gateway.address()).unwrap();
            let sent = connection.stream.write_all(&bytes);
            let reply = sent.and_then(|()| connection.read(false));
            read += usize::from(reply.is_ok_and(|reply| reply.code() == "body_too_large"));
        }
    }
    assert!(read * 100 >= tries * 99, "{read} of {tries}");
}

/// Told to go on, a client sends; the 413 that comes then must still be read.
#[test]
fn who_asked_and_was_told_to_go_on_reads_its_413_too() {
    let gateway = Gateway::with(&[]).start();
    let bytes = chunked(&vec![b'x'; 1_000_000], "Expect: 100-continue\r\n");
    for repeat in 0..REPEATS {
        let mut connection = Connection::open(gateway.address()).unwrap();
        connection.stream.write_all(&bytes).unwrap();
        let go_on = connection.read(false).unwrap();
        assert_eq!(go_on.status, 100, "time {repeat}");
        let reply = connection.read(false).unwrap();
        assert_eq!(reply.status, 413, "time {repeat}");
    }
}

/// The same for refusals of the head, whose body nobody wants to see.
#[test]
fn other_early_answers_are_read_too() {
    let gateway = Gateway::with(&[]).start();
    let body = vec![b'x'; 4_000_000];
    for (request, status) in [
        (Request::new("POST", "/api/nothing"), 404),
        (Request::new("PUT", "/api/turn"), 405),
        (
            Request::new("POST", "/api/turn").header("Content-Encoding", "gzip"),
            400,
        ),
    ] {
        let bytes = request.body(&body).bytes();
        for _ in 0..REPEATS {
            let mut connection = Connection::open(gateway.address()).unwrap();
            connection.stream.write_all(&bytes).unwrap();
            assert_eq!(connection.read(false).unwrap().status, status);
        }
    }
}

/// A client that waits to be told gets its 413 and no `100 Continue`.
#[test]
fn who_asks_first_is_told_first() {
    let gateway = Gateway::with(&[]).start();
    let mut connection = Connection::open(gateway.address()).unwrap();
    let head = "POST /api/turn HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 70000\r\n\r\n";
    connection.stream.write_all(head.as_bytes()).unwrap();
    assert_eq!(connection.read(false).unwrap().status, 413);
    assert!(connection.is_closed());
}
