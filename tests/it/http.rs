//! A small HTTP client that sends exactly what a test wants sent, wrong or right.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::thread;
use std::time::Duration;

use serde_json::Value;

/// Longest silence of the other side before a test fails.
const SILENCE: Duration = Duration::from_secs(20);

/// One request, header by header.
#[derive(Clone, Debug)]
pub struct Request {
    method: String,
    target: String,
    headers: Vec<(String, Vec<u8>)>,
    body: Vec<u8>,
}

impl Request {
    /// Any method and target; `Host` and, with a body, `Content-Length` are added when it is sent.
    pub fn new(method: &str, target: &str) -> Self {
        Self {
            method: method.to_owned(),
            target: target.to_owned(),
            headers: Vec::new(),
            body: Vec::new(),
        }
    }

    /// `GET`
    pub fn get(target: &str) -> Self {
        Self::new("GET", target)
    }

    /// `POST /api/turn`
    pub fn turn(body: impl AsRef<[u8]>) -> Self {
        Self::new("POST", "/api/turn").body(body)
    }

    /// `POST /api/new`
    pub fn new_game(body: impl AsRef<[u8]>) -> Self {
        Self::new("POST", "/api/new").body(body)
    }

    /// One more header line.
    pub fn header(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        let value = value.as_ref().to_owned();
        self.headers.push((name.to_owned(), value));
        self
    }

    /// As a proxy would say whom it speaks for.
    pub fn from(self, client: &str) -> Self {
        self.header("X-Forwarded-For", client)
    }

    /// The body.
    pub fn body(mut self, body: impl AsRef<[u8]>) -> Self {
        self.body = body.as_ref().to_vec();
        self
    }

    /// The bytes on the wire.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = format!("{} {} HTTP/1.1\r\n", self.method, self.target).into_bytes();
        let has = |name: &str| (self.headers.iter()).any(|(n, _)| n.eq_ignore_ascii_case(name));
        if !has("host") {
            bytes.extend_from_slice(b"Host: localhost\r\n");
        }
        let framed = has("content-length") || has("transfer-encoding");
        if !framed && (!self.body.is_empty() || self.method == "POST") {
            bytes.extend_from_slice(format!("Content-Length: {}\r\n", self.body.len()).as_bytes());
        }
        for (name, value) in &self.headers {
            bytes.extend_from_slice(name.as_bytes());
            bytes.extend_from_slice(b": ");
            bytes.extend_from_slice(value);
            bytes.extend_from_slice(b"\r\n");
        }
        bytes.extend_from_slice(b"\r\n");
        bytes.extend_from_slice(&self.body);
        bytes
    }

    /// On a connection of its own. Reads while it writes, as browsers do: an early answer is heard.
    pub fn send_to(&self, address: SocketAddr) -> io::Result<Reply> {
        let mut connection = Connection::open(address)?;
        let mut writer = connection.stream.try_clone()?;
        thread::scope(|scope| {
            // Who answered early may stop reading: what counts is the answer.
            scope.spawn(move || writer.write_all(&self.bytes()));
            connection.read(self.method == "HEAD")
        })
    }
}

/// One connection, kept alive as long as both sides want.
pub struct Connection<S = TcpStream> {
    /// To be misused at will.
    pub stream: S,
    unread: Vec<u8>,
}

impl Connection {
    /// Opens one.
    pub fn open(address: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(SILENCE))?;
        stream.set_write_timeout(Some(SILENCE))?;
        stream.set_nodelay(true)?;
        Ok(Self::over(stream))
    }
}

impl Connection<UnixStream> {
    /// Opens one on a unix socket.
    pub fn open_unix(path: &Path) -> io::Result<Self> {
        let stream = UnixStream::connect(path)?;
        stream.set_read_timeout(Some(SILENCE))?;
        stream.set_write_timeout(Some(SILENCE))?;
        Ok(Self::over(stream))
    }
}

impl<S: Read + Write> Connection<S> {
    /// Over any stream.
    pub fn over(stream: S) -> Self {
        let unread = Vec::new();
        Self { stream, unread }
    }

    /// A request, and its whole answer.
    pub fn send(&mut self, request: &Request) -> io::Result<Reply> {
        self.stream.write_all(&request.bytes())?;
        self.read(request.method == "HEAD")
    }

    /// The next whole answer.
    pub fn read(&mut self, head_only: bool) -> io::Result<Reply> {
        let head_end = loop {
            if let Some(at) = self.unread.windows(4).position(|four| four == b"\r\n\r\n") {
                break at;
            }
            self.fill()?;
        };
        let head: Vec<u8> = self.unread.drain(..head_end + 4).collect();
        let mut reply = Reply::parse(&String::from_utf8_lossy(&head))?;
        let length = reply.header("content-length").map_or(0, |length| {
            length.parse::<usize>().expect("a length is a number")
        });
        if !head_only && reply.status != 304 {
            while self.unread.len() < length {
                self.fill()?;
            }
            reply.body = self.unread.drain(..length).collect();
        }
        Ok(reply)
    }

    /// True when the other side has closed, with nothing more said.
    pub fn is_closed(&mut self) -> bool {
        self.unread.is_empty()
            && match read(&mut self.stream, &mut [0]) {
                Ok(n) => n == 0,
                Err(error) => error.kind() == io::ErrorKind::ConnectionReset,
            }
    }

    fn fill(&mut self) -> io::Result<()> {
        let mut chunk = [0; 16 * 1024];
        match read(&mut self.stream, &mut chunk)? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            n => {
                self.unread.extend_from_slice(&chunk[..n]);
                Ok(())
            }
        }
    }
}

/// A read that a signal breaks off is begun anew: with a deadline on the socket the kernel does not.
fn read(stream: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match stream.read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            read => return read,
        }
    }
}

/// One answer.
#[derive(Clone, Debug)]
pub struct Reply {
    /// The status.
    pub status: u16,
    /// As they came, names in small letters.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl Reply {
    fn parse(head: &str) -> io::Result<Self> {
        let broken = || io::Error::other(format!("no HTTP answer: {head:?}"));
        let mut lines = head.split("\r\n");
        let status = lines
            .next()
            .and_then(|line| line.strip_prefix("HTTP/1."))
            .and_then(|line| line.split(' ').nth(1))
            .and_then(|status| status.parse().ok())
            .ok_or_else(broken)?;
        let headers = lines
            .filter_map(|line| line.split_once(':'))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
            .collect();
        Ok(Self {
            status,
            headers,
            body: Vec::new(),
        })
    }

    /// The value of the one header line of this name.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut values = self.headers.iter().filter(|(n, _)| n == name);
        let value = values.next().map(|(_, value)| value.as_str());
        assert!(values.next().is_none(), "{name} is there twice: {self:?}");
        value
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error} in {:?}", self.text()))
    }

    /// The code of a refusal, empty if it is none.
    pub fn code(&self) -> String {
        self.json()["code"].as_str().unwrap_or_default().to_owned()
    }

    /// `Retry-After`, checked for its shape.
    pub fn retry_after(&self) -> Option<u64> {
        let value = self.header("retry-after")?;
        let whole = value.bytes().all(|b| b.is_ascii_digit()) && !value.starts_with('0');
        assert!(whole, "Retry-After: {value:?}");
        value.parse().ok()
    }
}
