//! `kidoban health`: asks one gateway once, for containers and scripts. Says what it
//! heard in one line, and never waits long.

use std::fmt;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::str::FromStr;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Empty, Limited};
use hyper::header::HOST;
use hyper::{Request, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};
use tokio::time::timeout;

use crate::protocol::is_host_and_port;

/// The whole question; shorter than a container's own patience.
const PATIENCE: Duration = Duration::from_secs(5);
/// Longest answer that is read.
const ANSWER_BYTES_MAX: usize = 64 * 1024;
/// What is asked for when no path was named.
const PATH: &str = "/api/health";

/// Where to ask.
#[derive(Clone, Debug)]
pub enum Target {
    /// Over TCP.
    Http {
        /// `HOST:PORT`
        address: String,
        /// What is asked for.
        path: String,
    },
    /// A unix socket.
    Unix(PathBuf),
}

impl FromStr for Target {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const TAKES: &str = "takes http://HOST:PORT[/PATH] or unix:/path/to.sock";
        if let Some(path) = text.strip_prefix("unix:").filter(|path| !path.is_empty()) {
            return Ok(Self::Unix(path.into()));
        }
        let uri: Uri = text.parse().map_err(|_| TAKES)?;
        let authority = uri.authority().ok_or(TAKES)?;
        let is_place = !authority.host().is_empty() && is_host_and_port(authority);
        if uri.scheme_str() != Some("http") || !is_place {
            return Err(TAKES.into());
        }
        let address = match authority.port_u16() {
            Some(_) => authority.to_string(),
            None => format!("{}:80", authority.host()),
        };
        let path = match uri.path() {
            "" | "/" => PATH,
            path => path,
        };
        let path = path.to_owned();
        Ok(Self::Http { address, path })
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Http { address, path } => write!(f, "http://{address}{path}"),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

/// Asks, and tells it on stdout. The exit code says whether turns are taken.
pub async fn tell(target: &Target) -> ExitCode {
    let (answer, ok) = ask(target).await;
    // Nobody may be reading; the exit code says it all the same.
    let _ = writeln!(io::stdout(), "{answer}");
    if ok {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// The line for a person, and whether all is well.
async fn ask(target: &Target) -> (String, bool) {
    let asking = async {
        match target {
            Target::Http { address, path } => {
                let stream = TcpStream::connect(address).await?;
                get(stream, address, path).await
            }
            Target::Unix(socket) => {
                let stream = UnixStream::connect(socket).await?;
                get(stream, "localhost", PATH).await
            }
        }
    };
    match timeout(PATIENCE, asking).await {
        Ok(Ok((status, body))) => (
            format!("{status} {}", body.escape_ascii()),
            status.is_success(),
        ),
        Ok(Err(error)) => (format!("{target}: {error}"), false),
        Err(_) => (format!("{target}: no answer in {PATIENCE:?}"), false),
    }
}

type AnyError = Box<dyn std::error::Error + Send + Sync>;

async fn get<S>(stream: S, host: &str, path: &str) -> Result<(StatusCode, Bytes), AnyError>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    tokio::spawn(connection);
    let request = Request::get(path)
        .header(HOST, host)
        .body(Empty::<Bytes>::new())?;
    let response = sender.send_request(request).await?;
    let status = response.status();
    let body = Limited::new(response.into_body(), ANSWER_BYTES_MAX);
    Ok((status, body.collect().await?.to_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_read_as_written() {
        for (text, address) in [
            ("http://127.0.0.1:8787", "127.0.0.1:8787"),
            ("http://[::1]:1", "[::1]:1"),
            ("http://localhost/", "localhost:80"),
            ("http://localhost:", "localhost:80"),
        ] {
            let read = text.parse::<Target>().unwrap().to_string();
            assert_eq!(read, format!("http://{address}{PATH}"), "{text}");
        }
        for bad in [
            "",
            "unix:",
            "https://h",
            "h:80",
            "http://:80",
            "http://h:99999",
            "http://h:x",
            "http://user:secret@h:80",
        ] {
            let said = bad.parse::<Target>().unwrap_err();
            assert!(
                said.starts_with("takes http://") && !said.contains("secret"),
                "{bad}"
            );
        }
    }
}
