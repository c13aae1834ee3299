//! Where the gateway listens: `--listen` and `--port-file`.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::Path;

use crate::harness::{Gateway, absent, kidoban, outcome, stub_engine, until};
use crate::http::{Connection, Request};

fn unix_address(path: &Path) -> String {
    format!("unix:{}", path.display())
}

/// Runs a gateway that must not come up.
fn refused(listen: &str) -> (Option<i32>, String) {
    let ended = outcome(
        kidoban()
            .args(["--listen", listen, "--"])
            .arg(stub_engine()),
    );
    (ended.code, ended.stderr)
}

#[test]
fn several_addresses_at_once_and_each_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("sock");
    let unix = unix_address(&socket);
    let gateway = Gateway::with(&[
        "--listen",
        "127.0.0.1:0",
        "--listen",
        "127.0.0.2:0",
        "--listen",
        &unix,
    ])
    .start();

    let [first, second, third] = gateway.addresses.as_slice() else {
        panic!("three lines: {:?}", gateway.addresses);
    };
    assert!(first.starts_with("127.0.0.1:") && second.starts_with("127.0.0.2:"));
    assert_eq!(third, &unix);
    for address in [first, second] {
        assert!(
            !address.ends_with(":0"),
            "{address} is the port that it got"
        );
        let reply = Request::get("/api/health").send_to(address.parse().unwrap());
        assert_eq!(reply.unwrap().status, 200, "{address}");
    }
    let mut connection = Connection::open_unix(&socket).unwrap();
    let reply = connection.send(&Request::get("/api/health")).unwrap();
    assert_eq!(reply.status, 200);
    for address in &gateway.addresses {
        gateway.wait_for_log("its address in the log", |record| {
            record["message"] == "listening" && record["address"] == address.as_str()
        });
    }
}

#[test]
fn ipv6_is_listened_on() {
    if TcpListener::bind("[::1]:0").is_err() {
        return absent("this machine has no IPv6 loopback");
    }
    let gateway = Gateway::with(&["--listen", "[::1]:0"]).start();
    assert!(gateway.addresses[0].starts_with("[::1]:"));
    assert_eq!(gateway.turn(r#"{"kind":"look"}"#).status, 200);
}

#[test]
fn a_unix_socket_is_for_owner_and_group_and_goes_at_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("sock");
    let mut gateway = Gateway::with(&["--listen", &unix_address(&socket)]).start_unready();
    let file = fs::symlink_metadata(&socket).unwrap();
    assert!(file.file_type().is_socket());
    assert_eq!(file.permissions().mode() & 0o7777, 0o660);

    gateway.signal("TERM");
    assert_eq!(gateway.wait().code(), Some(0));
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0, "nothing is left");
}

#[test]
fn a_stale_socket_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("sock");
    drop(UnixListener::bind(&socket).unwrap());
    assert!(socket.exists(), "a socket that nobody listens on");

    let gateway = Gateway::with(&["--listen", &unix_address(&socket)]).start_unready();
    let mut connection = Connection::open_unix(&socket).unwrap();
    let reply = connection.send(&Request::get("/api/health"));
    assert!(reply.is_ok(), "{reply:?}\n{}", gateway.log());
}

#[test]
fn a_live_socket_is_refused_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("sock");
    let _alive = UnixListener::bind(&socket).unwrap();
    let (code, told) = refused(&unix_address(&socket));
    assert_eq!(code, Some(1), "{told}");
    let why = format!("{}: somebody listens there", unix_address(&socket));
    assert!(told.contains(&why), "{told}");
    assert!(Connection::open_unix(&socket).is_ok(), "it still listens");
}

#[test]
fn a_plain_file_is_refused_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("letter");
    fs::write(&path, "dear diary").unwrap();
    let (code, told) = refused(&unix_address(&path));
    assert_eq!(code, Some(1), "{told}");
    assert!(told.contains("there is a file that is no socket"), "{told}");
    assert_eq!(fs::read_to_string(&path).unwrap(), "dear diary");
}

#[test]
fn a_port_that_is_taken_is_refused() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let (code, told) = refused(&address);
    assert_eq!(code, Some(1), "{told}");
    assert!(
        told.contains(&format!("cannot listen on {address}")),
        "{told}"
    );
}

#[test]
fn the_variable_names_several_with_commas() {
    let folder = tempfile::tempdir().unwrap();
    let unix = unix_address(&folder.path().join("sock"));
    let gateway = Gateway::with(&[])
        .env("KIDOBAN_LISTEN", format!("127.0.0.1:0,{unix}"))
        .start();
    assert_eq!(gateway.addresses.len(), 2);
    assert_eq!(gateway.addresses[1], unix);
    let beside = fs::read_dir(gateway.folder()).unwrap().count();
    assert_eq!(
        beside, 2,
        "the port file and the log, and nothing half written"
    );
}

#[test]
fn the_port_file_is_found_whole_and_a_bad_place_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let port_file = folder.path().join("ports");
    let mut child = kidoban();
    child
        .args(["--listen", "127.0.0.1:0", "--port-file"])
        .arg(&port_file)
        .arg("--")
        .arg(stub_engine())
        .stderr(std::process::Stdio::null());
    let mut child = child.spawn().unwrap();
    let text = until("the port file", || fs::read_to_string(&port_file).ok());
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(
        text.ends_with('\n') && text.lines().count() == 1,
        "{text:?}"
    );

    let nowhere = folder.path().join("absent/ports");
    let mut command = kidoban();
    command
        .args(["--listen", "127.0.0.1:0", "--port-file"])
        .arg(&nowhere);
    let ended = outcome(command.arg("--").arg(stub_engine()));
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let told = ended.stderr.contains("--port-file: cannot write");
    assert!(told, "{ended:?}");
}
