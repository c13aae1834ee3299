//! Files that a run writes: whole, or not there at all. Whether one can be written is asked
//! before the work, so that nobody waits for a long log to be told of a missing folder.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::listen::{may_replace, put_in_place};

/// A file that cannot be written, in one sentence.
#[derive(Debug, thiserror::Error)]
#[error("{flag} {}: {why}", path.display())]
pub struct PlaceError {
    flag: &'static str,
    path: PathBuf,
    why: String,
}

/// Could this file be written, as far as one can see without writing it?
///
/// # Errors
/// When its folder is missing or none, or when it is itself a folder. `flag` is what the
/// message begins with, such as `--svg`.
pub fn check(flag: &'static str, path: &Path) -> Result<(), PlaceError> {
    let refuse = |why: String| {
        Err(PlaceError {
            flag,
            path: path.to_owned(),
            why,
        })
    };
    if path.file_name().is_none() || path.is_dir() {
        return refuse("takes the name of a file, and this is a folder".to_owned());
    }
    if let Err(error) = may_replace(path) {
        return refuse(error.to_string());
    }
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    match fs::metadata(folder) {
        Ok(found) if found.is_dir() => Ok(()),
        Ok(_) => refuse(format!("{} is no folder", folder.display())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            refuse(format!("there is no folder {}", folder.display()))
        }
        Err(error) => refuse(error.to_string()),
    }
}

/// Writes it beside its place and moves it there: who looks finds the file from before, or
/// all of the new one.
///
/// # Errors
/// Those of [`check`], and the operating system's; nothing is left behind.
pub fn write(flag: &'static str, path: &Path, text: &str) -> Result<(), PlaceError> {
    check(flag, path)?;
    let written = put_in_place(path, |beside| {
        fs::write(beside, text)?;
        match fs::metadata(path) {
            Ok(before) => fs::set_permissions(beside, before.permissions()),
            Err(_) => Ok(()),
        }
    });
    written.map_err(|error| PlaceError {
        flag,
        path: path.to_owned(),
        why: error.to_string(),
    })
}

/// Whether two names are of one file, as far as it can be told before they are written.
pub fn are_one(one: &Path, other: &Path) -> bool {
    let whole = |path: &Path| {
        let folder = path.parent().filter(|folder| *folder != Path::new(""));
        let folder = fs::canonicalize(folder.unwrap_or(Path::new("."))).ok()?;
        Some(folder.join(path.file_name()?))
    };
    fs::canonicalize(one).ok().or_else(|| whole(one))
        == fs::canonicalize(other).ok().or_else(|| whole(other))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn what_is_somebody_elses_is_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("file"), "kept").unwrap();
        symlink(at("file"), at("link")).unwrap();
        fs::write(at("locked"), "kept").unwrap();
        fs::set_permissions(at("locked"), fs::Permissions::from_mode(0o444)).unwrap();
        for (path, why) in [
            (at("link"), "no plain file"),
            (at("locked"), "may not be written"),
            (PathBuf::from("/dev/null"), "no plain file"),
        ] {
            // Asked before anything is done: a test is no place to lose a device.
            let said = check("--svg", &path).unwrap_err().to_string();
            assert!(said.ends_with(why), "{said}");
        }
        fs::set_permissions(at("file"), fs::Permissions::from_mode(0o640)).unwrap();
        write("--svg", &at("file"), "new").unwrap();
        let mode = fs::metadata(at("file")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o640);
        assert!(are_one(&at("file"), &at("link")));
        assert!(are_one(&at("new"), &folder.path().join("./new")));
        assert!(!are_one(&at("new"), &at("file")));
    }

    #[test]
    fn a_file_is_there_whole_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("figure.svg");
        write("--svg", &file, "before").unwrap();
        write("--svg", &file, "after").unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "after");
        let names: Vec<_> = fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        assert_eq!(names, ["figure.svg"], "nothing beside it");
    }

    #[test]
    fn what_cannot_be_written_is_told_and_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("file"), "kept").unwrap();
        let said = |path: &Path| write("--svg", path, "new").unwrap_err().to_string();
        let shown = folder.path().display();
        assert_eq!(
            said(&at("missing/figure.svg")),
            format!("--svg {shown}/missing/figure.svg: there is no folder {shown}/missing")
        );
        assert_eq!(
            said(&at("file/figure.svg")),
            format!("--svg {shown}/file/figure.svg: {shown}/file is no folder")
        );
        assert_eq!(
            said(folder.path()),
            format!("--svg {shown}: takes the name of a file, and this is a folder")
        );
        assert_eq!(fs::read_to_string(at("file")).unwrap(), "kept");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
