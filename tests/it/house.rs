//! The house rules that a reader can rely on, held by reading the sources: who imports
//! whom, and that every file says what it is for.

use std::fs;
use std::path::{Path, PathBuf};

/// Longest `main.rs`, in lines.
const MAIN_LINES_MAX: usize = 80;
/// Longest file without its tests, in lines.
const LINES_MAX: usize = 430;

fn sources() -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut folders = vec![root.clone()];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                found.push((path.strip_prefix(&root).unwrap().to_owned(), text));
            }
        }
    }
    assert!(found.len() > 30, "only {} sources", found.len());
    found
}

/// The modules of ours that a file names by `crate::`.
fn imports(text: &str) -> Vec<&str> {
    text.split("crate::")
        .skip(1)
        .map(|rest| {
            let end = rest.find(|c: char| c != '_' && !c.is_alphanumeric());
            &rest[..end.unwrap_or(rest.len())]
        })
        .collect()
}

#[test]
fn imports_go_one_way() {
    let allowed: [(&str, &[&str]); 9] = [
        ("logic/", &["logic"]),
        ("demo/", &["demo"]),
        ("simulate/", &["simulate", "logic", "settings", "listen"]),
        (
            "engine/",
            &["engine", "logic", "settings", "clock", "metrics"],
        ),
        // It names what others count, and asks nobody.
        ("metrics", &["metrics", "connection", "engine", "refusal"]),
        ("tally.rs", &["logic", "metrics", "refusal"]),
        // It may ask everybody; nobody but the start asks it.
        (
            "request",
            &[
                "answer",
                "clock",
                "config",
                "drain",
                "engine",
                "gates",
                "log",
                "logic",
                "protocol",
                "refusal",
                "request",
                "static_files",
                "tally",
            ],
        ),
        // The tests beside it need an engine's supervisor.
        (
            "systemd.rs",
            &["drain", "engine", "clock", "logic", "metrics", "settings"],
        ),
        (
            "gates.rs",
            &["logic", "refusal", "config", "engine", "clock", "metrics"],
        ),
    ];
    let sources = sources();
    for (place, allowed) in allowed {
        let mut seen = 0;
        for (path, text) in &sources {
            if !path.to_string_lossy().starts_with(place) {
                continue;
            }
            seen += 1;
            for import in imports(text) {
                assert!(
                    allowed.contains(&import),
                    "{} imports {import}",
                    path.display()
                );
            }
        }
        assert!(seen > 0, "nothing in {place}");
    }
}

#[test]
fn logic_is_pure() {
    for (path, text) in sources() {
        if path.starts_with("logic") {
            for word in [
                "tokio",
                "async ",
                "Instant",
                "SystemTime",
                "std::fs",
                "std::env",
            ] {
                assert!(!text.contains(word), "{} has {word:?}", path.display());
            }
        }
    }
}

#[test]
fn files_say_what_they_are_for_and_stay_small() {
    for (path, text) in sources() {
        let shown = path.display();
        assert!(text.starts_with("//! "), "{shown} has no header");
        if path.file_name().is_some_and(|name| name == "tests.rs") {
            continue;
        }
        let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
        let lines = code.lines().count();
        let most = if path == Path::new("main.rs") {
            MAIN_LINES_MAX
        } else {
            LINES_MAX
        };
        assert!(lines <= most, "{shown} has {lines} lines");
    }
}

/// One looks for nothing among things that nobody needs.
#[test]
fn the_top_level_is_short() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut visible: Vec<_> = fs::read_dir(root)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| !name.starts_with('.') && name != "target")
        .collect();
    visible.sort();
    let expected = [
        "Cargo.lock",
        "Cargo.toml",
        "Dockerfile",
        "LICENSE",
        "README.md",
        "benches",
        "config",
        "src",
        "tests",
    ];
    assert_eq!(visible, expected);
}
