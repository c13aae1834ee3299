//! Sockets: bound, or refused with a sentence. A stale unix socket is replaced, a live
//! one never is. Accepts nothing itself.

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::UnixStream as BlockingUnixStream;
use std::path::{Path, PathBuf};

use tokio::net::{TcpListener, UnixListener};

use crate::settings::ListenAt;

/// Who may connect to a unix socket: its owner and its group.
const SOCKET_MODE: u32 = 0o660;

/// One bound socket.
#[derive(Debug)]
pub enum Listener {
    /// TCP, and the address that it really has.
    Tcp(TcpListener, SocketAddr),
    /// Unix; the file is removed when this is dropped.
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
                let listener = TcpListener::bind(address).await?;
                let address = listener.local_addr()?;
                Ok(Self::Tcp(listener, address))
            }
            ListenAt::Unix(path) => bind_unix(path),
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
    inode: u64,
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        // A successor may have put its own socket there in the meantime.
        if fs::symlink_metadata(&self.path).is_ok_and(|file| file.ino() == self.inode) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Bound beside its place, then moved there: nobody finds it before it has its mode.
fn bind_unix(path: &Path) -> io::Result<Listener> {
    refuse_if_taken(path)?;
    let mut beside = path.as_os_str().to_owned();
    beside.push(format!(".{}", std::process::id()));
    let beside = PathBuf::from(beside);
    let listener = UnixListener::bind(&beside)?;
    let placed = fs::set_permissions(&beside, fs::Permissions::from_mode(SOCKET_MODE))
        .and_then(|()| fs::symlink_metadata(&beside))
        .and_then(|file| fs::rename(&beside, path).map(|()| file.ino()));
    match placed {
        Ok(inode) => {
            let path = path.to_owned();
            Ok(Listener::Unix(listener, SocketFile { path, inode }))
        }
        Err(error) => {
            let _ = fs::remove_file(&beside);
            Err(error)
        }
    }
}

fn refuse_if_taken(path: &Path) -> io::Result<()> {
    let taken = |why: &str| Err(io::Error::new(io::ErrorKind::AddrInUse, why));
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
        Ok(file) if !file.file_type().is_socket() => taken("there is a file that is no socket"),
        Ok(_) => match BlockingUnixStream::connect(path) {
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => Ok(()),
            Err(error) => Err(error),
            Ok(_) => taken("somebody listens there"),
        },
    }
}
