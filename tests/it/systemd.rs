//! What systemd hands over and what it is told: sockets by `LISTEN_FDS`, from a shell and
//! from systemd's own tool, and the messages on `NOTIFY_SOCKET`.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::fd::OwnedFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::engine_file::{EngineFile, PROBE, create, serving};
use crate::harness::{self, Gateway, PATIENCE, Running, kidoban, peer, stub_engine, until};
use crate::http::{Connection, Request};

/// What a shell does to pass its own stdin as systemd would.
pub const PASS_STDIN: &str = "exec 3<&0 0</dev/null && export LISTEN_FDS=1 LISTEN_PID=$$";

/// A gateway that is given this socket and told to listen elsewhere.
pub fn given(socket: impl Into<OwnedFd>, options: &[&str]) -> Gateway {
    let elsewhere = ["--listen", "127.0.0.1:1"];
    let options = [&elsewhere, options].concat();
    Gateway::after(PASS_STDIN, &options).stdin(Stdio::from(socket.into()))
}

/// What a gateway says that must not come up: its exit code, its words.
fn refused(pass: &str, socket: impl Into<OwnedFd>) -> (Option<i32>, String) {
    let mut command = std::process::Command::new("sh");
    command
        .args(["-c", &format!("{pass} && exec \"$@\""), "sh"])
        .arg(kidoban().get_program())
        .args(["serve", "--listen", "127.0.0.1:0", "--"])
        .arg(stub_engine())
        .stdin(Stdio::from(socket.into()));
    let ended = harness::outcome(&mut command);
    (ended.code, ended.stderr)
}

#[test]
fn a_passed_socket_takes_the_place_of_listen_and_stays() {
    let socket = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = socket.local_addr().unwrap();
    // Nobody accepts it before the gateway runs.
    let mut early = Connection::open(address).unwrap();
    let mut gateway = given(socket.try_clone().unwrap(), &[]).admin().start();
    assert_eq!(gateway.addresses, [address.to_string()]);
    let status = gateway.status();
    let limits = status["limits"].as_array().unwrap();
    let listen = limits.iter().find(|limit| limit["flag"] == "--listen");
    let listen = listen.map(|limit| (limit["value"].as_str(), limit["source"].as_str()));
    assert_eq!(listen, Some((Some(&*address.to_string()), Some("passed"))));
    let reply = early.send(&Request::turn(r#"{"kind":"look"}"#)).unwrap();
    assert_eq!(reply.status, 200);
    gateway.wait_for_log("its address in the log", |record| {
        record["message"] == "listening" && record["address"] == address.to_string()
    });

    gateway.signal("TERM");
    assert_eq!(gateway.wait().code(), Some(0));
    let late = TcpStream::connect(address);
    assert!(late.is_ok(), "the socket still listens: {late:?}");
}

#[test]
fn a_passed_unix_socket_is_never_removed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sock");
    for signals in [&["TERM"][..], &["TERM", "TERM"]] {
        let _ = fs::remove_file(&path);
        let socket = UnixListener::bind(&path).unwrap();
        let mut gateway = given(socket.try_clone().unwrap(), &[]).start_unready();
        assert_eq!(gateway.addresses, [format!("unix:{}", path.display())]);
        let mut connection = Connection::open_unix(&path).unwrap();
        let hangs = Request::turn(r#"{"kind":"look","do":["sleep:200","reply"]}"#);
        let alive = connection.send(&Request::get("/api/health"));
        assert!(alive.is_ok(), "{alive:?}");
        std::io::Write::write_all(&mut connection.stream, &hangs.bytes()).unwrap();
        for signal in signals {
            gateway.signal(signal);
        }
        gateway.wait();
        assert!(path.exists(), "{signals:?}");
        assert!(Connection::open_unix(&path).is_ok(), "{signals:?}");
    }
}

#[test]
fn an_abstract_socket_is_taken_and_named() {
    let name = format!("kidoban-test-{}", std::process::id());
    let address = SocketAddr::from_abstract_name(&name).unwrap();
    let socket = UnixListener::bind_addr(&address).unwrap();
    let gateway = given(socket, &[]).start_unready();
    assert_eq!(gateway.addresses, [format!("unix:@{name}")]);
}

/// A shell or a wrapper keeps its own; with none at all the variables mean nothing.
#[test]
fn sockets_for_another_process_are_left_alone() {
    for variables in ["LISTEN_FDS=1 LISTEN_PID=1", "LISTEN_FDS=1", "LISTEN_FDS=x"] {
        let socket = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = socket.local_addr().unwrap().to_string();
        let pass = format!("exec 3<&0 0</dev/null && export {variables}");
        let gateway = Gateway::after(&pass, &[])
            .stdin(Stdio::from(OwnedFd::from(socket)))
            .start();
        assert_ne!(gateway.addresses, [address], "{variables}");
        assert_eq!(gateway.addresses.len(), 1);
    }
}

#[test]
fn what_cannot_be_taken_over_is_one_sentence() {
    let listening = || TcpListener::bind("127.0.0.1:0").unwrap();
    let takes = "takes a number from 0 to 64";
    for count in ["x", "-1", "65", "99999999999999999999", ""] {
        let pass = format!("exec 3<&0 0</dev/null && export LISTEN_FDS='{count}' LISTEN_PID=$$");
        let (code, told) = refused(&pass, listening());
        assert_eq!(code, Some(2), "{told}");
        let expected = format!("kidoban: LISTEN_FDS=\"{count}\" in the environment: {takes}\n");
        assert_eq!(told, expected);
    }
    let pass = "exec 3<&0 0</dev/null && export LISTEN_FDS=1 LISTEN_PID=me";
    let (code, told) = refused(pass, listening());
    assert_eq!(code, Some(2), "{told}");
    assert!(told.contains("LISTEN_PID=\"me\""), "{told}");

    let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
    let datagrams = UnixDatagram::unbound().unwrap();
    let server = listening();
    let connected = TcpStream::connect(server.local_addr().unwrap()).unwrap();
    let file = tempfile::tempfile().unwrap();
    let unfit: [(&str, OwnedFd); 4] = [
        ("datagrams", udp.into()),
        ("unix datagrams", datagrams.into()),
        ("one connection", connected.into()),
        ("no socket", file.into()),
    ];
    for (what, descriptor) in unfit {
        let (code, told) = refused(PASS_STDIN, descriptor);
        assert_eq!(code, Some(1), "{what}: {told}");
        let expected = "kidoban: the socket passed as descriptor 3 (LISTEN_FDS): \
             no listening TCP or unix stream socket\n";
        assert_eq!(told, expected, "{what}");
    }
    let two = PASS_STDIN.replace("LISTEN_FDS=1", "LISTEN_FDS=2");
    let (code, told) = refused(&two, listening());
    assert_eq!(code, Some(1), "{told}");
    assert!(told.contains("descriptor 4"), "{told}");
}

/// systemd's own tool: it waits for a first connection, which must be answered too.
#[test]
fn systemds_own_tool_passes_two_sockets() {
    let Some(tool) = peer("systemd-socket-activate", "apt-get install systemd") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sock");
    // It hands on what it was given itself, and takes no port 0.
    let passed = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = passed.local_addr().unwrap().to_string();
    let pass = format!("{PASS_STDIN} && exec \"$@\"");
    let tool = tool.to_str().unwrap();
    let words = ["sh", "-c", &pass, "sh", tool, "-l", path.to_str().unwrap()];
    let first = {
        let path = path.clone();
        std::thread::spawn(move || {
            let mut first = until("the tool listens", || Connection::open_unix(&path).ok());
            first.send(&Request::get("/api/health")).unwrap().status
        })
    };
    let mut gateway = Gateway::behind(&words, &[])
        .stdin(Stdio::from(OwnedFd::from(passed)))
        .start();
    let unix = format!("unix:{}", path.display());
    assert_eq!(gateway.addresses, [address, unix]);
    assert_ne!(first.join().unwrap(), 0, "an answer");
    let turn = Request::turn(r#"{"kind":"look"}"#);
    assert_eq!(gateway.send(&turn).status, 200);
    let mut over_unix = Connection::open_unix(&path).unwrap();
    assert_eq!(over_unix.send(&turn).unwrap().status, 200);
    gateway.signal("TERM");
    assert_eq!(gateway.wait().code(), Some(0));
    assert!(path.exists());
}

/// Somebody who listens where systemd would.
struct Listener {
    socket: UnixDatagram,
    address: String,
    _folder: TempDir,
}

impl Listener {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path: PathBuf = folder.path().join("notify");
        let socket = UnixDatagram::bind(&path).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        Self {
            socket,
            address: path.display().to_string(),
            _folder: folder,
        }
    }

    /// The next message, line by line; none if there is none for so long.
    fn within(&self, time: Duration) -> Option<BTreeMap<String, String>> {
        self.socket.set_read_timeout(Some(time)).unwrap();
        let mut bytes = [0; 4096];
        match self.socket.recv(&mut bytes) {
            Ok(length) => {
                let text = String::from_utf8(bytes[..length].to_vec()).unwrap();
                let lines = text.lines().map(|line| line.split_once('=').unwrap());
                let lines = lines.map(|(name, value)| (name.to_owned(), value.to_owned()));
                Some(lines.collect())
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => None,
            Err(error) => panic!("{error}"),
        }
    }

    fn next(&self) -> BTreeMap<String, String> {
        self.within(PATIENCE).expect("a message")
    }

    /// Reads on until there is one with this line.
    fn until(&self, name: &str, value: &str) -> BTreeMap<String, String> {
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            let message = self.next();
            if message.get(name).is_some_and(|said| said == value) {
                return message;
            }
        }
        panic!("{name}={value} was never said");
    }

    /// Nothing more is said about the watchdog.
    fn hears_no_feeding(&self, time: Duration) {
        let deadline = Instant::now() + time;
        while Instant::now() < deadline {
            let message = self.within(time);
            let fed = message.is_some_and(|message| message.contains_key("WATCHDOG"));
            assert!(!fed, "it is fed");
        }
    }
}

fn message(lines: &[(&str, &str)]) -> BTreeMap<String, String> {
    let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    lines.iter().map(owned).collect()
}

#[test]
fn ready_is_told_before_the_engine_is_up_and_its_states_after() {
    let systemd = Listener::new();
    let file = EngineFile::stub("");
    let warm = file.beside("warm");
    file.put_stub(&format!("--start-when '{}'", warm.display()));
    let mut gateway = file
        .gateway(&PROBE)
        .env("NOTIFY_SOCKET", &systemd.address)
        .start_unready();
    let first = systemd.next();
    let starting = message(&[("READY", "1"), ("STATUS", "The engine is starting")]);
    assert_eq!(first, starting, "{}", gateway.log());
    // A connection is taken whatever the engine does.
    assert_eq!(gateway.health()["engine"], "starting");
    create(&warm);
    assert_eq!(
        systemd.next(),
        message(&[("STATUS", "The engine is up")]),
        "ready is said once, and no watchdog was asked for"
    );
    let engine = serving(&gateway);
    file.remove();
    let pid = rustix::process::Pid::from_raw(i32::try_from(engine).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    systemd.until("STATUS", "The engine is down");
    gateway.signal("TERM");
    let last = systemd.until("STOPPING", "1");
    // A drain of the default's 10 s, and what comes after it.
    let within = ("EXTEND_TIMEOUT_USEC", "20000000");
    let expected = [("STOPPING", "1"), within, ("STATUS", "Draining")];
    assert_eq!(last, message(&expected));
    assert_eq!(gateway.wait().code(), Some(0));
}

#[test]
fn an_abstract_address_is_told_too() {
    let name = format!("kidoban-notify-{}", std::process::id());
    let socket = UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    let _gateway = Gateway::with(&[])
        .env("NOTIFY_SOCKET", format!("@{name}"))
        .start_unready();
    let mut bytes = [0; 4096];
    let length = socket.recv(&mut bytes).unwrap();
    assert!(bytes[..length].starts_with(b"READY=1\n"));
}

/// Who is not there, or has no address that can be, holds nobody up.
#[test]
fn nobody_to_tell_is_a_warning() {
    for address in ["/nowhere/notify", "notify", "@"] {
        let gateway = Gateway::with(&["--log-format", "json"])
            .env("NOTIFY_SOCKET", address)
            .start();
        gateway.wait_for_log("a warning", |record| {
            let text = record["message"].as_str().unwrap_or_default();
            record["level"] == "WARN" && text.starts_with("NOTIFY_SOCKET:")
        });
        assert_eq!(gateway.turn(r#"{"kind":"look"}"#).status, 200);
    }
}

/// A gateway with a watchdog of this period.
fn watched(systemd: &Listener, period: Duration) -> Gateway {
    Gateway::unlimited(&["--log-format", "json"])
        .env("NOTIFY_SOCKET", &systemd.address)
        .env("WATCHDOG_USEC", period.as_micros().to_string())
}

#[test]
fn the_watchdog_is_fed_more_than_twice_in_its_period() {
    let systemd = Listener::new();
    let period = Duration::from_secs(3);
    let _gateway = watched(&systemd, period).start();
    systemd.until("WATCHDOG", "1");
    for _ in 0..4 {
        let before = Instant::now();
        systemd.until("WATCHDOG", "1");
        let gap = before.elapsed();
        assert!(gap < period / 2, "{gap:?}");
    }
}

#[test]
fn a_gateway_that_stands_still_is_not_fed() {
    let systemd = Listener::new();
    let period = Duration::from_millis(600);
    let gateway = watched(&systemd, period).start();
    systemd.until("WATCHDOG", "1");
    gateway.signal("STOP");
    until("it stands still", || stands_still(&gateway));
    // What it had said before.
    while systemd.within(Duration::from_millis(1)).is_some() {}
    systemd.hears_no_feeding(period * 2);
    gateway.signal("CONT");
    systemd.until("WATCHDOG", "1");
}

fn stands_still(gateway: &Running) -> Option<()> {
    let stat = fs::read_to_string(format!("/proc/{}/stat", gateway.pid())).unwrap();
    let (_, rest) = stat.rsplit_once(") ").unwrap();
    rest.starts_with('T').then_some(())
}

/// The drain may take longer than the period.
#[test]
fn it_is_fed_while_it_drains() {
    let systemd = Listener::new();
    let mut gateway = watched(&systemd, Duration::from_millis(600)).start();
    let address = gateway.address();
    let file = EngineFile::stub("");
    let release = file.beside("release");
    let steps = format!("wait-for:{}", release.display());
    let turn = serde_json::json!({ "kind": "look", "do": [steps, "reply"] });
    let turn = Request::turn(turn.to_string());
    let slow = std::thread::spawn(move || turn.send_to(address).unwrap());
    until("it has its turn", || {
        (gateway.health()["waiting"] == 1).then_some(())
    });
    gateway.signal("TERM");
    systemd.until("STOPPING", "1");
    for _ in 0..4 {
        systemd.until("WATCHDOG", "1");
    }
    create(&release);
    assert_eq!(slow.join().unwrap().status, 200);
    assert_eq!(gateway.wait().code(), Some(0));
    let stuck = gateway.log_records().into_iter().find(|record| {
        let text = record["message"].as_str().unwrap_or_default();
        text.contains("stuck")
    });
    assert_eq!(stuck, None);
}

#[test]
fn a_watchdog_of_another_process_is_not_ours_and_nonsense_is_told() {
    let systemd = Listener::new();
    let _gateway = watched(&systemd, Duration::from_millis(50))
        .env("WATCHDOG_PID", "1")
        .start();
    systemd.until("STATUS", "The engine is up");
    systemd.hears_no_feeding(Duration::from_millis(300));

    for period in ["0", "soon", ""] {
        let mut command = kidoban();
        command
            .args(["--listen", "127.0.0.1:0", "--"])
            .arg(stub_engine())
            .env("NOTIFY_SOCKET", &systemd.address)
            .env("WATCHDOG_USEC", period);
        let ended = harness::outcome(&mut command);
        assert_eq!(ended.code, Some(2), "{ended:?}");
        let told = format!("kidoban: WATCHDOG_USEC=\"{period}\" in the environment: takes");
        assert!(ended.stderr.contains(&told), "{ended:?}");
    }
}
