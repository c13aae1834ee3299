//! Reading the folder of static files, once, into memory.
//!
//! Everything is opened name by name from the folder's own descriptor, and no link is followed on the way: where a link
//! leads is decided first, so a folder that changes while it is read can spoil itself but let nothing in from outside.
//! Nothing here ever opens a pipe, a socket or a device, or reads without a limit.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use bytesize::ByteSize;
use rustix::fs::{Dir, Mode, OFlags};
use rustix::io::Errno;

/// Most bytes of all files together: they stay in memory for as long as the gateway runs, twice over during a re-read.
pub const TOTAL_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Most entries looked at, left-out ones included: a folder given by mistake (`/`) ends in a sentence, not in a wait.
pub const ENTRIES_MAX: usize = 10_000;

/// Most folders inside one another; deeper ones are left out.
pub const DEPTH_MAX: usize = 32;

/// Most left-out entries told one by one; the rest is one number, so that a folder cannot fill the log.
pub const LEFT_OUT_MAX: usize = 50;

/// An entry that is not served.
#[derive(Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// Where it lies, below the folder.
    pub path: PathBuf,
    /// Why it is not served.
    pub why: Why,
}

impl fmt::Display for LeftOut {
    // Quoted and escaped: a name may hold line breaks and terminal controls.
    #[allow(clippy::unnecessary_debug_formatting)]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.why {
            Why::Further(_) => self.why.fmt(f),
            Why::DotName
            | Why::NameUnusable
            | Why::LinkOut
            | Why::LinkBroken
            | Why::LinkLoop
            | Why::NoFile
            | Why::TooDeep
            | Why::Unreadable(_) => write!(f, "{:?}: {}", self.path, self.why),
        }
    }
}

/// Why an entry is not served.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Why {
    /// The name begins with a dot.
    #[error("its name begins with a dot")]
    DotName,
    /// The name is not UTF-8 or holds a backslash: no request path means it.
    #[error("no request can ask for its name")]
    NameUnusable,
    /// A symbolic link that leads out of the folder.
    #[error("it is a link out of the folder")]
    LinkOut,
    /// A symbolic link that leads nowhere.
    #[error("it is a link to nothing")]
    LinkBroken,
    /// A symbolic link to a folder that it lies in, which would never end.
    #[error("a link leads back to a folder that it lies in")]
    LinkLoop,
    /// A pipe, a socket or a device.
    #[error("it is neither a file nor a folder")]
    NoFile,
    /// A folder deeper than [`DEPTH_MAX`].
    #[error("it lies too deep")]
    TooDeep,
    /// No permission, or gone or replaced while it was read.
    #[error("it cannot be read: {0}")]
    Unreadable(io::ErrorKind),
    /// Not one entry but the number of those not told one by one.
    #[error("{0} more are left out")]
    Further(usize),
}

/// Why a folder cannot be served at all.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// It is not there, is no folder, or may not be read.
    #[error("the folder {folder:?} cannot be read: {source}")]
    Folder {
        /// As it was given.
        folder: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// The machine failed at one entry, which says nothing about the others.
    #[error("{path:?} in the folder {folder:?} cannot be read: {source}")]
    Entry {
        /// As it was given.
        folder: PathBuf,
        /// Below the folder.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// All files together are larger than [`TOTAL_BYTES_MAX`].
    #[error("the files in {folder:?} are larger than {max} together; they are kept in memory")]
    TooLarge {
        /// As it was given.
        folder: PathBuf,
        /// What would have been taken.
        max: ByteSize,
    },
    /// More entries than [`ENTRIES_MAX`].
    #[error("{folder:?} holds more than {max} files and folders")]
    TooMany {
        /// As it was given.
        folder: PathBuf,
        /// What would have been taken.
        max: usize,
    },
}

/// The constants above; smaller in tests.
#[derive(Clone, Copy)]
pub(super) struct Limits {
    bytes: u64,
    entries: usize,
    depth: usize,
    left_out: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            bytes: TOTAL_BYTES_MAX,
            entries: ENTRIES_MAX,
            depth: DEPTH_MAX,
            left_out: LEFT_OUT_MAX,
        }
    }
}

/// All files of a folder by the path they are asked for, and what was left out.
pub(super) fn read(
    folder: &Path,
    limits: Limits,
) -> Result<(HashMap<String, Bytes>, Vec<LeftOut>), ReadError> {
    let mut walk = Walk::start(folder, limits)?;
    walk.folder(&mut vec![PathBuf::new()], "")?;
    if walk.untold > 0 {
        let why = Why::Further(walk.untold);
        walk.told.push(LeftOut {
            path: PathBuf::new(),
            why,
        });
    }
    Ok((walk.files, walk.told))
}

/// One reading of a folder.
struct Walk {
    limits: Limits,
    /// As it was given, for messages.
    given: PathBuf,
    /// The same without links.
    root: PathBuf,
    /// The same, open: everything is opened from here.
    root_fd: OwnedFd,
    files: HashMap<String, Bytes>,
    bytes: u64,
    entries: usize,
    told: Vec<LeftOut>,
    untold: usize,
}

impl Walk {
    fn start(given: &Path, limits: Limits) -> Result<Self, ReadError> {
        let refused = |source| ReadError::Folder {
            folder: given.to_owned(),
            source,
        };
        let root = given.canonicalize().map_err(refused)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let root_fd =
            rustix::fs::open(&root, flags, Mode::empty()).map_err(|errno| refused(errno.into()))?;
        Ok(Self {
            limits,
            given: given.to_owned(),
            root,
            root_fd,
            files: HashMap::new(),
            bytes: 0,
            entries: 0,
            told: Vec::new(),
            untold: 0,
        })
    }

    /// Reads the last folder of `trail`, whose entries are asked for below `asked`. `trail` holds the folders on the
    /// way here by their real place below the root, so that a link back to one of them is seen.
    fn folder(&mut self, trail: &mut Vec<PathBuf>, asked: &str) -> Result<(), ReadError> {
        let here = trail.last().cloned().unwrap_or_default();
        let listing = match open_beneath(&self.root_fd, &here, OFlags::DIRECTORY).and_then(Dir::new)
        {
            Ok(listing) => listing,
            Err(errno) if here.as_os_str().is_empty() => return Err(self.folder_failed(errno)),
            Err(errno) => return self.entry_failed(asked.into(), errno),
        };
        let mut names = Vec::new();
        for entry in listing {
            let entry = match entry {
                Ok(entry) => entry,
                Err(errno) => return self.entry_failed(asked.into(), errno),
            };
            if matches!(entry.file_name().to_bytes(), b"." | b"..") {
                continue;
            }
            self.entries += 1;
            if self.entries > self.limits.entries {
                return Err(ReadError::TooMany {
                    folder: self.given.clone(),
                    max: self.limits.entries,
                });
            }
            names.push(entry.file_name().to_bytes().to_owned());
        }
        // The order of a listing is the file system's own; what is told should not depend on it.
        names.sort_unstable();
        for name in names {
            self.entry(trail, asked, &name)?;
        }
        Ok(())
    }

    fn entry(
        &mut self,
        trail: &mut Vec<PathBuf>,
        asked: &str,
        name: &[u8],
    ) -> Result<(), ReadError> {
        let lies_at = Path::new(asked.trim_start_matches('/')).join(OsStr::from_bytes(name));
        if name.starts_with(b".") {
            self.leave_out(lies_at, Why::DotName);
            return Ok(());
        }
        let Some(name) = str::from_utf8(name)
            .ok()
            .filter(|name| !name.contains('\\'))
        else {
            self.leave_out(lies_at, Why::NameUnusable);
            return Ok(());
        };
        let asked = format!("{asked}/{name}");
        let entry = trail.last().cloned().unwrap_or_default().join(name);
        let place = match self.resolve(entry) {
            Ok(place) => place,
            Err(why) => {
                self.leave_out(lies_at, why);
                return Ok(());
            }
        };
        // Looked at before it is opened, since opening alone can have effects (a device) and a pipe's writer sees it.
        let kind = match self.root.join(&place).symlink_metadata() {
            Ok(metadata) => metadata.file_type(),
            Err(error) => return self.entry_failed(lies_at, errno_of(&error)),
        };
        if kind.is_file() {
            self.file(asked, lies_at, &place)
        } else if !kind.is_dir() {
            self.leave_out(lies_at, Why::NoFile);
            Ok(())
        } else if trail.contains(&place) {
            self.leave_out(lies_at, Why::LinkLoop);
            Ok(())
        } else if trail.len() > self.limits.depth {
            self.leave_out(lies_at, Why::TooDeep);
            Ok(())
        } else {
            trail.push(place);
            let outcome = self.folder(trail, &asked);
            trail.pop();
            outcome
        }
    }

    /// The place below the root that an entry stands for: its own, or, if it is a link, where that leads.
    fn resolve(&self, entry: PathBuf) -> Result<PathBuf, Why> {
        let path = self.root.join(&entry);
        if !path.is_symlink() {
            return Ok(entry);
        }
        let target = path.canonicalize().map_err(|_| Why::LinkBroken)?;
        let below = target.strip_prefix(&self.root).map_err(|_| Why::LinkOut)?;
        Ok(below.to_owned())
    }

    fn file(&mut self, asked: String, lies_at: PathBuf, place: &Path) -> Result<(), ReadError> {
        let room = self.limits.bytes - self.bytes;
        match read_file(&self.root_fd, place, room) {
            Ok(Content::Whole(body)) => {
                self.bytes += body.len() as u64;
                self.files.insert(asked, body);
                Ok(())
            }
            Ok(Content::TooLarge) => Err(ReadError::TooLarge {
                folder: self.given.clone(),
                max: ByteSize(self.limits.bytes),
            }),
            Ok(Content::NoFile) => {
                self.leave_out(lies_at, Why::NoFile);
                Ok(())
            }
            Err(errno) => self.entry_failed(lies_at, errno),
        }
    }

    /// What the folder's owner did (no permission, gone, replaced) concerns one entry; what the machine failed at
    /// would make a half-empty site look whole, so it ends the reading.
    fn entry_failed(&mut self, path: PathBuf, errno: Errno) -> Result<(), ReadError> {
        let source = io::Error::from(errno);
        if is_of_one_entry(errno) {
            self.leave_out(path, Why::Unreadable(source.kind()));
            return Ok(());
        }
        Err(ReadError::Entry {
            folder: self.given.clone(),
            path,
            source,
        })
    }

    fn folder_failed(&self, errno: Errno) -> ReadError {
        ReadError::Folder {
            folder: self.given.clone(),
            source: errno.into(),
        }
    }

    fn leave_out(&mut self, path: PathBuf, why: Why) {
        if self.told.len() < self.limits.left_out {
            self.told.push(LeftOut { path, why });
        } else {
            self.untold += 1;
        }
    }
}

/// What was found behind a file's name.
enum Content {
    Whole(Bytes),
    TooLarge,
    /// It became something else after it was looked at.
    NoFile,
}

/// Reads at most `bytes_max` bytes. Asks for the type again once it is open, and opens without waiting: a pipe that took
/// the file's place meanwhile must not hold the gateway.
fn read_file(root: &OwnedFd, place: &Path, bytes_max: u64) -> Result<Content, Errno> {
    let file = File::from(open_beneath(
        root,
        place,
        OFlags::NONBLOCK | OFlags::NOCTTY,
    )?);
    let metadata = file.metadata().map_err(|error| errno_of(&error))?;
    if !metadata.is_file() {
        return Ok(Content::NoFile);
    }
    if metadata.len() > bytes_max {
        return Ok(Content::TooLarge);
    }
    let mut body = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or(0));
    // The length may be out of date already, or 0 for a file that the kernel makes up.
    file.take(bytes_max + 1)
        .read_to_end(&mut body)
        .map_err(|error| errno_of(&error))?;
    if body.len() as u64 > bytes_max {
        return Ok(Content::TooLarge);
    }
    Ok(Content::Whole(body.into()))
}

/// Opens a place below `root` for reading, name by name, and fails where any of the names is a link.
fn open_beneath(root: &OwnedFd, place: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    let never_a_link = OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let on_the_way = never_a_link | OFlags::PATH | OFlags::DIRECTORY;
    let mut at = rustix::fs::openat(root, ".", on_the_way, Mode::empty())?;
    for name in place.parent().into_iter().flatten() {
        at = rustix::fs::openat(&at, name, on_the_way, Mode::empty())?;
    }
    let last = place.file_name().unwrap_or(OsStr::new("."));
    rustix::fs::openat(
        &at,
        last,
        OFlags::RDONLY | never_a_link | flags,
        Mode::empty(),
    )
}

fn is_of_one_entry(errno: Errno) -> bool {
    [
        Errno::ACCESS,
        Errno::PERM,
        Errno::NOENT,
        Errno::LOOP,
        Errno::NOTDIR,
        Errno::ISDIR,
        Errno::NXIO,
        Errno::AGAIN,
    ]
    .contains(&errno)
}

/// An error that is none of the system's is the machine's fault in any case.
fn errno_of(error: &io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;
    use std::sync::mpsc::sync_channel;
    use std::thread;
    use std::time::Duration;

    use tempfile::TempDir;

    use super::*;

    fn folder_with(files: &[(&str, &str)]) -> TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (path, content) in files {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        folder
    }

    /// Sorted paths of the files, and what was left out.
    fn read_all(folder: &Path, limits: Limits) -> (Vec<String>, Vec<(String, Why)>) {
        let (files, left_out) = read(folder, limits).unwrap();
        let mut paths: Vec<_> = files.into_keys().collect();
        paths.sort();
        let left_out = left_out
            .into_iter()
            .map(|entry| (entry.path.to_string_lossy().into_owned(), entry.why))
            .collect();
        (paths, left_out)
    }

    fn left_out_of(folder: &TempDir) -> Vec<(String, Why)> {
        read_all(folder.path(), Limits::default()).1
    }

    fn make_pipe(path: &Path) {
        let mode = Mode::RUSR | Mode::WUSR;
        rustix::fs::mkfifoat(rustix::fs::CWD, path, mode).unwrap();
    }

    fn open_root(folder: &TempDir) -> OwnedFd {
        File::open(folder.path()).unwrap().into()
    }

    /// Fails instead of hanging where `work` would.
    fn in_time<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
        let (done, result) = sync_channel(1);
        thread::spawn(move || done.send(work()));
        result
            .recv_timeout(Duration::from_secs(10))
            .expect("reading hangs")
    }

    #[test]
    fn files_of_all_folders_are_read() {
        let folder = folder_with(&[
            ("index.html", "top"),
            ("a/b/c.txt", "deep"),
            ("空 白.txt", ""),
        ]);
        let (files, left_out) = read(folder.path(), Limits::default()).unwrap();
        assert_eq!(files["/index.html"], "top");
        assert_eq!(files["/a/b/c.txt"], "deep");
        assert_eq!(files["/空 白.txt"], "");
        assert_eq!(files.len(), 3);
        assert_eq!(left_out, []);
    }

    #[test]
    fn dot_files_and_dot_folders_are_left_out_and_told() {
        let folder = folder_with(&[
            ("a.txt", ""),
            (".env", "secret"),
            ("sub/.git/config", "secret"),
        ]);
        let (paths, left_out) = read_all(folder.path(), Limits::default());
        assert_eq!(paths, ["/a.txt"]);
        assert_eq!(
            left_out,
            [
                (".env".to_owned(), Why::DotName),
                ("sub/.git".to_owned(), Why::DotName)
            ]
        );
    }

    #[test]
    fn links_inside_are_followed_under_their_own_name() {
        let folder = folder_with(&[("a.txt", "A"), ("sub/b.txt", "B")]);
        symlink("a.txt", folder.path().join("relative.txt")).unwrap();
        symlink(folder.path().join("sub"), folder.path().join("absolute")).unwrap();
        let (files, left_out) = read(folder.path(), Limits::default()).unwrap();
        assert_eq!(files["/relative.txt"], "A");
        assert_eq!(files["/absolute/b.txt"], "B");
        assert_eq!(files.len(), 4);
        assert_eq!(left_out, []);
    }

    #[test]
    fn a_folder_laid_out_like_a_mounted_config_map_is_read() {
        let folder = folder_with(&[("..2024_01/index.html", "page")]);
        symlink("..2024_01", folder.path().join("..data")).unwrap();
        symlink("..data/index.html", folder.path().join("index.html")).unwrap();
        let (paths, left_out) = read_all(folder.path(), Limits::default());
        assert_eq!(paths, ["/index.html"]);
        assert_eq!(left_out.len(), 2);
    }

    #[test]
    fn the_folder_itself_may_be_a_link_and_begin_with_a_dot() {
        let folder = folder_with(&[(".site/a.txt", "")]);
        let link = folder.path().join("link");
        symlink(".site", &link).unwrap();
        let (paths, left_out) = read_all(&link, Limits::default());
        assert_eq!(paths, ["/a.txt"]);
        assert_eq!(left_out, []);
    }

    #[test]
    fn links_out_are_left_out_and_told() {
        let outside = folder_with(&[("secret.txt", "secret")]);
        let folder = folder_with(&[("a.txt", "")]);
        symlink(
            outside.path().join("secret.txt"),
            folder.path().join("file"),
        )
        .unwrap();
        symlink(outside.path(), folder.path().join("folder")).unwrap();
        symlink("..", folder.path().join("parent")).unwrap();
        symlink("/dev/zero", folder.path().join("zero")).unwrap();
        symlink("nowhere", folder.path().join("broken")).unwrap();
        // Shares the folder's name as a prefix of text, yet is another folder.
        let sibling = PathBuf::from(format!("{}-sibling", folder.path().display()));
        fs::write(&sibling, "secret").unwrap();
        symlink(&sibling, folder.path().join("sibling")).unwrap();
        let (paths, left_out) = read_all(folder.path(), Limits::default());
        fs::remove_file(&sibling).unwrap();
        assert_eq!(paths, ["/a.txt"]);
        assert_eq!(
            left_out,
            [
                ("broken".to_owned(), Why::LinkBroken),
                ("file".to_owned(), Why::LinkOut),
                ("folder".to_owned(), Why::LinkOut),
                ("parent".to_owned(), Why::LinkOut),
                ("sibling".to_owned(), Why::LinkOut),
                ("zero".to_owned(), Why::LinkOut),
            ]
        );
    }

    #[test]
    fn links_in_a_circle_end() {
        let folder = folder_with(&[("a/1.txt", ""), ("b/2.txt", "")]);
        symlink("../b", folder.path().join("a/to_b")).unwrap();
        symlink("../a", folder.path().join("b/to_a")).unwrap();
        symlink(".", folder.path().join("self")).unwrap();
        let (paths, left_out) = read_all(folder.path(), Limits::default());
        assert_eq!(
            paths,
            ["/a/1.txt", "/a/to_b/2.txt", "/b/2.txt", "/b/to_a/1.txt"]
        );
        assert_eq!(
            left_out,
            [
                ("a/to_b/to_a".to_owned(), Why::LinkLoop),
                ("b/to_a/to_b".to_owned(), Why::LinkLoop),
                ("self".to_owned(), Why::LinkLoop),
            ]
        );
    }

    #[test]
    fn pipes_and_sockets_are_left_out_and_never_hang() {
        let folder = folder_with(&[("a.txt", "")]);
        make_pipe(&folder.path().join("pipe"));
        symlink("pipe", folder.path().join("link_to_pipe")).unwrap();
        let _socket = UnixListener::bind(folder.path().join("socket")).unwrap();
        let left_out = in_time(move || left_out_of(&folder));
        assert_eq!(
            left_out,
            [
                ("link_to_pipe".to_owned(), Why::NoFile),
                ("pipe".to_owned(), Why::NoFile),
                ("socket".to_owned(), Why::NoFile),
            ]
        );
    }

    #[test]
    fn a_pipe_that_took_a_files_place_does_not_hang_and_is_no_file() {
        let folder = folder_with(&[]);
        make_pipe(&folder.path().join("pipe"));
        let content = in_time(move || read_file(&open_root(&folder), Path::new("pipe"), 10));
        assert!(matches!(content, Ok(Content::NoFile)));
    }

    #[test]
    fn a_link_that_took_a_names_place_is_not_followed() {
        let folder = folder_with(&[("sub/a.txt", "A")]);
        symlink("sub", folder.path().join("folder")).unwrap();
        symlink("sub/a.txt", folder.path().join("file")).unwrap();
        let root = open_root(&folder);
        let open = |path| open_beneath(&root, Path::new(path), OFlags::empty()).map(drop);
        assert_eq!(open("sub/a.txt"), Ok(()));
        assert_eq!(open("file"), Err(Errno::LOOP));
        assert_eq!(open("folder/a.txt"), Err(Errno::NOTDIR));
        for errno in [Errno::LOOP, Errno::NOTDIR] {
            assert!(is_of_one_entry(errno), "{errno} would end the reading");
        }
    }

    #[test]
    fn the_size_limit_is_met_exactly() {
        let folder = folder_with(&[("a", "12345"), ("sub/b", "67890")]);
        let limits = |bytes| Limits {
            bytes,
            ..Limits::default()
        };
        assert_eq!(read_all(folder.path(), limits(10)).0.len(), 2);
        let error = read(folder.path(), limits(9)).unwrap_err();
        assert!(matches!(error, ReadError::TooLarge { .. }));
        assert!(
            error.to_string().contains("larger than 9 B together"),
            "{error}"
        );
    }

    #[test]
    fn a_file_larger_than_it_says_is_not_read_beyond_the_limit() {
        // A file that the kernel makes up says that it has 0 bytes.
        let root = File::open("/proc/self").unwrap().into();
        let content = read_file(&root, Path::new("status"), 10);
        assert!(matches!(content, Ok(Content::TooLarge)));
    }

    #[test]
    fn the_number_of_entries_is_bounded() {
        let folder = folder_with(&[("a", ""), ("sub/b", ""), (".c", "")]);
        let limits = |entries| Limits {
            entries,
            ..Limits::default()
        };
        assert_eq!(read_all(folder.path(), limits(4)).0.len(), 2);
        let error = read(folder.path(), limits(3)).unwrap_err();
        assert!(matches!(error, ReadError::TooMany { max: 3, .. }));
    }

    #[test]
    fn folders_that_lie_too_deep_are_left_out() {
        let folder = folder_with(&[("1/2/in.txt", ""), ("1/2/3/out.txt", "")]);
        let limits = Limits {
            depth: 2,
            ..Limits::default()
        };
        let (paths, left_out) = read_all(folder.path(), limits);
        assert_eq!(paths, ["/1/2/in.txt"]);
        assert_eq!(left_out, [("1/2/3".to_owned(), Why::TooDeep)]);
    }

    #[test]
    fn what_is_left_out_is_told_up_to_a_limit() {
        let folder = folder_with(&[(".1", ""), (".2", ""), (".3", ""), (".4", "")]);
        let limits = Limits {
            left_out: 2,
            ..Limits::default()
        };
        let (_, left_out) = read_all(folder.path(), limits);
        assert_eq!(left_out.len(), 3);
        assert_eq!(left_out[2].1, Why::Further(2));
    }

    #[test]
    fn names_that_no_request_can_mean_are_left_out() {
        let folder = folder_with(&[("back\\slash", "")]);
        fs::write(folder.path().join(OsStr::from_bytes(b"\xff")), "").unwrap();
        let why: Vec<_> = left_out_of(&folder)
            .into_iter()
            .map(|entry| entry.1)
            .collect();
        assert_eq!(why, [Why::NameUnusable, Why::NameUnusable]);
    }

    #[test]
    fn a_left_out_name_is_told_on_one_line() {
        let left_out = LeftOut {
            path: ".\n\x1b[2J".into(),
            why: Why::DotName,
        };
        assert_eq!(
            left_out.to_string(),
            r#"".\n\u{1b}[2J": its name begins with a dot"#
        );
        let further = LeftOut {
            path: PathBuf::new(),
            why: Why::Further(7),
        };
        assert_eq!(further.to_string(), "7 more are left out");
    }

    #[test]
    fn a_folder_that_is_none_is_an_error_with_a_sentence() {
        let folder = folder_with(&[("file", "")]);
        make_pipe(&folder.path().join("pipe"));
        for name in ["missing", "file", "pipe"] {
            let path = folder.path().join(name);
            let error = in_time(move || read(&path, Limits::default()).unwrap_err());
            assert!(matches!(error, ReadError::Folder { .. }), "{name}");
            assert!(error.to_string().contains(name), "{error}");
        }
    }

    #[test]
    fn a_failing_machine_is_not_taken_for_a_missing_file() {
        let folder = folder_with(&[]);
        let mut walk = Walk::start(folder.path(), Limits::default()).unwrap();
        let error = walk.entry_failed("a.txt".into(), Errno::IO).unwrap_err();
        assert!(error.to_string().contains("a.txt"), "{error}");
        walk.entry_failed("b.txt".into(), Errno::ACCESS).unwrap();
        assert_eq!(walk.told.len(), 1);
        for errno in [Errno::IO, Errno::MFILE, Errno::NFILE, Errno::NOMEM] {
            assert!(!is_of_one_entry(errno), "{errno}");
        }
        for errno in [Errno::ACCESS, Errno::NOENT] {
            assert!(is_of_one_entry(errno), "{errno}");
        }
    }
}
