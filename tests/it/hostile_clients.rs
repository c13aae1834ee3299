//! Floods of clients: what they cost in memory and time, and that they refill nobody's bucket.
//!
//! `KIDOBAN_CLIENTS` says how many clients the flood has: 10,000 if it does not, which
//! takes seconds. `.ci/run` sets a million on an optimized build, at one turn a minute each.

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use kidoban::logic::address::{Client, Hop};
use kidoban::logic::bucket::{Cost, Limit};
use kidoban::logic::clients::Clients;

use crate::harness::{Gateway, Running, until};
use crate::http::{Connection, Request};
use crate::watch::resident_bytes;

const LOOK: &str = r#"{"kind":"look"}"#;
const MIB: u64 = 1024 * 1024;

/// An address in the n-th /64 of `2001:db8::/32`.
fn address(n: u64) -> Ipv6Addr {
    Ipv6Addr::from_bits(((0x2001_0db8_0000_0000 + u128::from(n)) << 64) + 1)
}

/// The flood of one test.
#[derive(Clone, Copy)]
struct Size {
    clients: u64,
    rate: &'static str,
    /// In which a bucket of this rate wins one ticket.
    refill: Duration,
    /// In which all of them come.
    sending: Duration,
    /// Whether the machine has been left to this test, so that moments can be compared.
    is_full: bool,
}

fn size() -> Size {
    match std::env::var("KIDOBAN_CLIENTS") {
        Ok(clients) => Size {
            clients: clients.parse().expect("KIDOBAN_CLIENTS is a number"),
            rate: "1/min",
            refill: Duration::from_mins(1),
            sending: Duration::from_secs(50),
            is_full: true,
        },
        Err(_) => Size {
            clients: 10_000,
            rate: "12/min",
            refill: Duration::from_secs(5),
            sending: Duration::from_secs(3),
            is_full: false,
        },
    }
}

/// Sends the first turns of these clients, a few at a time, evenly over the time; all are answered.
fn flood(to: SocketAddr, clients: std::ops::Range<u64>, step: usize, time: Duration) {
    const AT_ONCE: usize = 4;
    let mut stream = Connection::open(to).unwrap().stream;
    let began = Instant::now();
    let clients: Vec<u64> = clients.step_by(step).collect();
    let turns = u32::try_from(clients.len().div_ceil(AT_ONCE)).unwrap();
    let pace = time / turns;
    let mut answers = Answers::default();
    for (n, few) in clients.chunks(AT_ONCE).enumerate() {
        let due = pace * u32::try_from(n).unwrap();
        // A pace, not a wait for anything.
        thread::sleep(due.saturating_sub(began.elapsed()));
        let mut bytes = Vec::new();
        for client in few {
            let turn = Request::turn(LOOK).from(&address(*client).to_string());
            bytes.extend(turn.bytes());
        }
        stream.write_all(&bytes).unwrap();
        answers.read(&mut stream, few.len());
    }
}

/// Answers that are only counted: cheaper than reading what they say.
#[derive(Default)]
struct Answers {
    unread: Vec<u8>,
}

impl Answers {
    fn read(&mut self, stream: &mut impl Read, mut answers: usize) {
        let mut chunk = [0; 16 * 1024];
        while answers > 0 {
            while let Some(end) = self.first_end() {
                self.unread.drain(..end);
                answers -= 1;
            }
            if answers > 0 {
                let bytes = stream.read(&mut chunk).unwrap();
                assert!(bytes > 0, "closed in the middle of a flood");
                self.unread.extend_from_slice(&chunk[..bytes]);
            }
        }
    }

    /// Where the first answer ends, if it is there as a whole.
    fn first_end(&self) -> Option<usize> {
        const LENGTH: &[u8] = b"content-length: ";
        let head = self
            .unread
            .windows(4)
            .position(|four| four == b"\r\n\r\n")?;
        let bytes = &self.unread[..head];
        let at = bytes.windows(LENGTH.len()).position(|name| name == LENGTH);
        let digits = bytes[at.expect("a length") + LENGTH.len()..].iter();
        let digits = digits.take_while(|byte| byte.is_ascii_digit());
        let length = digits.fold(0, |sum, digit| sum * 10 + usize::from(digit - b'0'));
        let end = head + 4 + length;
        (self.unread.len() >= end).then_some(end)
    }
}

/// The 99th percentile of the answers' times, by rounds of a second; the best round's.
fn best_p99(rounds: &[Vec<Duration>]) -> Duration {
    let p99 = |round: &Vec<Duration>| {
        let mut sorted = round.clone();
        sorted.sort_unstable();
        sorted[sorted.len() * 99 / 100]
    };
    let whole = rounds.iter().filter(|round| round.len() >= 200);
    whole.map(p99).min().expect("a round with enough answers")
}

/// A client beside all others asks about once a millisecond, until it is told to stop.
fn watch_control(to: SocketAddr, stop: &AtomicBool) -> Vec<Vec<Duration>> {
    let mut connection = Connection::open(to).unwrap();
    let turn = Request::turn(LOOK).from("192.0.2.1");
    let mut rounds = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        let round = Instant::now();
        let mut times = Vec::new();
        while round.elapsed() < Duration::from_secs(1) {
            let began = Instant::now();
            assert_eq!(connection.send(&turn).unwrap().code(), "queue_full");
            times.push(began.elapsed());
            thread::sleep(Duration::from_millis(1));
        }
        rounds.push(times);
    }
    rounds
}

/// Of so many of the flood's clients, how many are still known: their second ticket is their last.
fn known_of(gateway: &Running, size: Size, asked: u64) -> u64 {
    let mut connection = Connection::open(gateway.address()).unwrap();
    let clients = (0..asked).map(|n| n * size.clients / asked);
    let known = clients.filter(|client| {
        let turn = Request::turn(LOOK).from(&address(*client).to_string());
        let reply = connection.send(&turn).unwrap();
        reply.header("x-ratelimit-remaining") == Some("0")
    });
    known.count() as u64
}

/// What a million clients weigh, that each is remembered, what they cost the others, and
/// that all of it passes.
#[test]
fn a_flood_of_clients_weighs_little_delays_nobody_and_passes() {
    const ASKED: u64 = 500;
    /// In which the memory is given back, once the buckets are full.
    const PASSES_IN: Duration = Duration::from_mins(2);
    let size = size();
    let gateway = Gateway::with(&["--rate", size.rate, "--queue", "1"])
        .stub(&[])
        .env("KIDOBAN_MAX_CLIENTS", "1000100")
        .env("KIDOBAN_REPLY_TIMEOUT", "10m")
        .env("KIDOBAN_LIMIT_FOR", "192.0.2.0/24=1000000:1000000")
        .start();
    // The one place is taken, so that every turn goes the same way: through gate 3 to gate 5.
    let mut holder = Connection::open(gateway.address()).unwrap();
    let held = Request::turn(r#"{"kind":"look","do":"hang"}"#).from("192.0.2.2");
    holder.stream.write_all(&held.bytes()).unwrap();
    until("the place is taken", || {
        (gateway.health()["waiting"] == 1).then_some(())
    });
    let control = |during: &dyn Fn()| {
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            let watched = scope.spawn(|| watch_control(gateway.address(), &stop));
            during();
            stop.store(true, Ordering::Relaxed);
            watched.join().unwrap()
        })
    };
    let quiet = control(&|| thread::sleep(Duration::from_secs(4)));

    let idle = resident_bytes(gateway.pid());
    let began = Instant::now();
    let busy = control(&|| {
        thread::scope(|scope| {
            for half in 0..2 {
                let to = gateway.address();
                scope.spawn(move || flood(to, half..size.clients, 2, size.sending));
            }
        });
    });
    let known = known_of(&gateway, size, ASKED);
    let took = began.elapsed();
    let most = 48 * MIB * size.clients / 1_000_000 + if size.is_full { 0 } else { 4 * MIB };
    let more = resident_bytes(gateway.pid()).saturating_sub(idle);
    assert!(more < most, "{more} bytes for {} clients", size.clients);
    assert!(
        known >= ASKED * 9 / 10,
        "{known} of {ASKED} known after {took:?}"
    );
    let log = gateway.log();
    assert!(
        !log.contains("--max-clients"),
        "none shared a bucket: {log}"
    );

    let (quiet, busy) = (best_p99(&quiet), best_p99(&busy));
    if size.is_full {
        assert!(
            busy <= 2 * quiet,
            "{busy:?} in the flood, {quiet:?} without"
        );
    }

    // Time itself: those that were asked have paid twice.
    thread::sleep(2 * size.refill);
    let near = idle + most / 8;
    let deadline = Instant::now() + PASSES_IN;
    while resident_bytes(gateway.pid()) > near {
        let more = resident_bytes(gateway.pid()) - idle;
        assert!(Instant::now() < deadline, "{more} bytes are kept");
        thread::sleep(Duration::from_millis(100));
    }
    assert_eq!(
        known_of(
            &gateway,
            Size {
                clients: 10,
                ..size
            },
            10
        ),
        0
    );
}

/// Ten times as many newcomers as there is room for: some stay, some are forgotten at
/// once, and most find no place.
#[test]
fn a_drained_client_stays_drained_through_a_flood() {
    const ROOM: u64 = 200;
    let room = ROOM.to_string();
    // Buckets of the second network are full again, and so forgotten, within a millisecond.
    let gateway = Gateway::with(&[
        "--rate",
        "1/min",
        "--max-clients",
        &room,
        "--limit-for",
        "10.0.0.0/8=1000:2",
    ])
    .start();
    let mut connection = Connection::open(gateway.address()).unwrap();
    let mut code = |client: &str| {
        let reply = connection.send(&Request::turn(LOOK).from(client)).unwrap();
        if reply.status == 200 {
            String::new()
        } else {
            reply.code()
        }
    };
    let began = Instant::now();
    let drained = "192.0.2.1";
    assert_eq!([code(drained), code(drained)], ["", ""]);
    let mut refused = 0;
    for n in 0..10 * ROOM {
        let newcomer = match n % 2 {
            0 => address(n).to_string(),
            _ => format!("10.0.{}.{}", n / 250, n % 250),
        };
        refused += u64::from(code(&newcomer) == "rate_limited");
        if n % 20 == 0 {
            let told = code(drained);
            if began.elapsed() < Duration::from_secs(55) {
                assert_eq!(told, "rate_limited", "after {n}");
            }
        }
    }
    assert!(refused > ROOM, "the flood found no room: {refused}");
}

/// The same with time moved by hand: before its minute is over it is refused, whatever is
/// forgotten, and after it let in.
#[test]
fn no_forgetting_refills_a_bucket() {
    const SECOND: u64 = 1_000_000_000;
    const ROOM: u64 = 1_000;
    let slow = Limit::new("1/min".parse().unwrap(), "2".parse().unwrap()).unwrap();
    let fast = Limit::new("1000".parse().unwrap(), "2".parse().unwrap()).unwrap();
    let client = |n| Client::of(Hop::new(IpAddr::V6(address(n))), 64);
    let mut table = Clients::new(usize::try_from(ROOM).unwrap(), 64, slow.clone());
    let mut admits = |n: u64, now: u64, limit: &Limit| {
        let answer = table.take(client(n), now, limit, Cost::ONE);
        table.forget(now, 100);
        answer.decision.wait.is_none()
    };
    assert!(admits(0, 0, &slow) && admits(0, 0, &slow));
    for n in 1..=10 * ROOM {
        let now = n * 60 * SECOND / (10 * ROOM + 1);
        admits(n, now, if n % 3 == 0 { &slow } else { &fast });
        assert!(!admits(0, now, &slow), "after {n}");
    }
    assert!(admits(0, 60 * SECOND, &slow));
}

/// The median time of a newcomer's and a known client's turn at gate 3, once and three and
/// ten times as many newcomers as there is room for having come.
fn times_at(bound: u64, rate: &str) -> [Duration; 3] {
    const PER_SAMPLE: u64 = 500;
    let limit = Limit::new(rate.parse().unwrap(), "2".parse().unwrap()).unwrap();
    let mut table = Clients::new(usize::try_from(bound).unwrap(), 64, limit.clone());
    let client = |n| Client::of(Hop::new(IpAddr::V6(address(n))), 64);
    let mut come = 0;
    [1, 3, 10].map(|times| {
        let mut samples = Vec::new();
        while come < times * bound {
            let began = Instant::now();
            for n in come..come + PER_SAMPLE {
                // A newcomer each 10 microseconds.
                table.take(client(n), n * 10_000, &limit, Cost::ONE);
                table.take(client(n / 2), n * 10_000, &limit, Cost::ONE);
            }
            samples.push(began.elapsed());
            come += PER_SAMPLE;
        }
        samples.sort_unstable();
        samples[samples.len() / 2]
    })
}

#[test]
fn a_flood_never_slows_a_turn_by_more_than_a_fifth() {
    const BOUND: u64 = 20_000;
    // Buckets that stay, and buckets that are forgotten all the time.
    for rate in ["1/min", "100"] {
        let tried = (0..5).map(|_| {
            let [once, thrice, tenfold] = times_at(BOUND, rate);
            let worst = thrice.max(tenfold).as_secs_f64();
            (worst / once.as_secs_f64(), [once, thrice, tenfold])
        });
        let best = tried.min_by(|a, b| a.0.total_cmp(&b.0)).unwrap();
        assert!(best.0 < 1.2, "at {rate}: {best:?}");
    }
}
