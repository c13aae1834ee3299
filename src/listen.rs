//! Sockets: bound, or refused with a sentence. A stale unix socket is replaced, a live
//! one never is; a socket that was passed is nobody's to replace. Accepts nothing itself.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::net::SocketAddr;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::net::sockopt;
use tokio::net::{TcpListener, TcpSocket, UnixListener, UnixStream};

use crate::settings::ListenAt;
use crate::systemd::Passed;

/// Connections that the kernel completes before they are accepted, if it grants so many.
const BACKLOG: u32 = 1024;
/// Who may connect to a unix socket: its owner and its group.
const SOCKET_MODE: u32 = 0o660;

/// One bound socket.
#[derive(Debug)]
pub enum Listener {
    /// TCP, and the address that it really has.
    Tcp(TcpListener, SocketAddr),
    /// Unix; the file is removed when this is dropped, if it is ours.
    Unix(UnixListener, SocketFile),
}

impl Listener {
    /// Binds. Inside a runtime only.
    ///
    /// # Errors
    /// The operating system's, or that the path is taken.
    pub async fn bind(at: &ListenAt) -> io::Result<Self> {
        match at {
            ListenAt::Tcp(address) => {
                let socket = match address {
                    SocketAddr::V4(_) => TcpSocket::new_v4(),
                    SocketAddr::V6(_) => TcpSocket::new_v6(),
                }?;
                // A gateway that has just ended leaves connections behind that hold the port.
                socket.set_reuseaddr(true)?;
                socket.bind(*address)?;
                let listener = socket.listen(BACKLOG)?;
                let address = listener.local_addr()?;
                Ok(Self::Tcp(listener, address))
            }
            ListenAt::Unix(path) => bind_unix(path).await,
        }
    }

    /// Bounds what the kernel holds, unseen by us, of answers that clients do not take: about
    /// so many bytes for each connection, and no longer than `time`, be it of a connection
    /// that is closed already. On TCP only; connections inherit both from their listener.
    ///
    /// # Errors
    /// The operating system's.
    pub fn bound_unsent(&self, bytes: usize, time: Duration) -> io::Result<()> {
        let Self::Tcp(listener, _) = self else {
            return Ok(());
        };
        sockopt::set_socket_send_buffer_size(listener, bytes)?;
        let millis = u32::try_from(time.as_millis()).unwrap_or(u32::MAX);
        Ok(sockopt::set_tcp_user_timeout(listener, millis)?)
    }

    /// Takes over a socket that was passed. Inside a runtime only.
    ///
    /// # Errors
    /// The operating system's.
    pub fn adopt(passed: Passed) -> io::Result<Self> {
        match passed {
            Passed::Tcp(listener) => {
                let address = listener.local_addr()?;
                Ok(Self::Tcp(TcpListener::from_std(listener)?, address))
            }
            Passed::Unix(listener) => {
                let address = listener.local_addr()?;
                let name = address.as_abstract_name().map(|name| [b"@", name].concat());
                let abstract_name = name.map(|name| OsString::from_vec(name).into());
                let path = address.as_pathname().map(Path::to_owned);
                let file = SocketFile {
                    path: path.or(abstract_name).unwrap_or_default(),
                    inode: None,
                };
                Ok(Self::Unix(UnixListener::from_std(listener)?, file))
            }
        }
    }

    /// What is listened on, as `--listen` would name it.
    pub fn address(&self) -> ListenAt {
        match self {
            Self::Tcp(_, address) => ListenAt::Tcp(*address),
            Self::Unix(_, file) => ListenAt::Unix(file.path.clone()),
        }
    }
}

/// The file of a unix socket.
#[derive(Debug)]
pub struct SocketFile {
    path: PathBuf,
    /// None for one that was passed: it stays, whoever listens.
    inode: Option<u64>,
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        // A successor may have put its own socket there in the meantime.
        if fs::symlink_metadata(&self.path).is_ok_and(|file| Some(file.ino()) == self.inode) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Bound beside its place, then moved there: nobody finds it before it has its mode.
async fn bind_unix(path: &Path) -> io::Result<Listener> {
    refuse_if_taken(path).await?;
    let (listener, inode) = put_in_place(path, |beside| {
        let listener = UnixListener::bind(beside)?;
        fs::set_permissions(beside, fs::Permissions::from_mode(SOCKET_MODE))?;
        Ok((listener, Some(fs::symlink_metadata(beside)?.ino())))
    })?;
    let path = path.to_owned();
    Ok(Listener::Unix(listener, SocketFile { path, inode }))
}

/// Whether what stands in this place, if anything does, may be replaced: a plain file that
/// may be written, or a socket. A device, a pipe or a link is somebody else's.
///
/// # Errors
/// A sentence.
pub fn may_replace(path: &Path) -> io::Result<()> {
    let Ok(found) = fs::symlink_metadata(path) else {
        return Ok(());
    };
    let kind = found.file_type();
    if !kind.is_file() && !kind.is_socket() {
        return Err(io::Error::other("what is there is no plain file"));
    }
    if kind.is_file() && found.permissions().readonly() {
        return Err(io::Error::other("what is there may not be written"));
    }
    Ok(())
}

/// Makes a file beside its place and moves it there, so that nobody ever finds half of it.
///
/// # Errors
/// Those of [`may_replace`], of `make`, and of the move; nothing is left behind.
pub fn put_in_place<T>(path: &Path, make: impl FnOnce(&Path) -> io::Result<T>) -> io::Result<T> {
    may_replace(path)?;
    let mut beside = path.as_os_str().to_owned();
    beside.push(format!(".{}", std::process::id()));
    let beside = PathBuf::from(beside);
    // In a container every gateway has the same id: one that was killed may have left its own.
    let _ = fs::remove_file(&beside);
    let placed = make(&beside).and_then(|made| fs::rename(&beside, path).map(|()| made));
    if placed.is_err() {
        let _ = fs::remove_file(&beside);
    }
    placed
}

async fn refuse_if_taken(path: &Path) -> io::Result<()> {
    let taken = |why: &str| Err(io::Error::new(io::ErrorKind::AddrInUse, why));
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
        Ok(file) if !file.file_type().is_socket() => taken("there is a file that is no socket"),
        Ok(_) => match UnixStream::connect(path).await {
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => Ok(()),
            // Full, and so alive.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                taken("somebody listens there")
            }
            Err(error) => Err(error),
            Ok(_) => taken("somebody listens there"),
        },
    }
}
