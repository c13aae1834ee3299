//! Whole byte streams against a running gateway: `KIDOBAN_FUZZ_ADDRESS` says where. It
//! must never answer 101 or 500, never stay silent on a
//! closed stream for longer than its deadlines, and be healthy after each input.
#![no_main]

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use libfuzzer_sys::fuzz_target;

fn open() -> TcpStream {
    let address = std::env::var("KIDOBAN_FUZZ_ADDRESS").expect("KIDOBAN_FUZZ_ADDRESS=IP:PORT");
    let stream = TcpStream::connect(address).expect("the gateway accepts");
    let patience = Some(Duration::from_secs(20));
    stream.set_read_timeout(patience).expect("a timeout");
    stream
}

fuzz_target!(|data: &[u8]| {
    let mut stream = open();
    // Refused early, it may close while this is still being written.
    let _ = stream.write_all(data);
    let _ = stream.shutdown(Shutdown::Write);
    let mut answer = Vec::new();
    match stream.read_to_end(&mut answer) {
        Ok(_) => {}
        Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset),
    }
    let text = String::from_utf8_lossy(&answer);
    for head in text.split("HTTP/1.").skip(1) {
        let status = head.get(2..5).unwrap_or_default();
        assert!(status != "101" && status != "500", "{text}");
    }

    let mut health = open();
    let asked = b"GET /api/health HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";
    health.write_all(asked).expect("it listens");
    let mut answer = String::new();
    health.read_to_string(&mut answer).expect("it answers");
    assert!(answer.contains(r#""ok":true"#), "{answer}");
});
