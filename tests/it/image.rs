//! The Dockerfile, as far as it can be read without a container engine: what the image
//! runs, as whom, and that all it copies is there. The build itself is not run here.

use std::fs;
use std::path::Path;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The instructions of the last stage: the image.
fn image() -> Vec<String> {
    let text = fs::read_to_string(root().join("Dockerfile")).unwrap();
    let text = text.replace("\\\n", " ");
    let (_, last) = text.rsplit_once("\nFROM ").expect("it has stages");
    last.lines()
        .skip(1)
        .filter(|line| !line.starts_with('#') && !line.is_empty())
        .map(str::to_owned)
        .collect()
}

fn argument<'a>(image: &'a [String], instruction: &str) -> &'a str {
    let mut found = image
        .iter()
        .filter_map(|line| line.strip_prefix(instruction)?.strip_prefix(' '));
    let argument = found.next().unwrap_or_else(|| panic!("no {instruction}"));
    assert!(found.next().is_none(), "{instruction} is there twice");
    argument
}

#[test]
fn it_runs_without_rights_and_asks_its_own_health() {
    let image = image();
    let user = argument(&image, "USER").split(':').next().unwrap();
    assert!(user.parse::<u32>().is_ok_and(|id| id > 0), "{user}");
    assert_eq!(argument(&image, "ENTRYPOINT"), r#"["/kidoban"]"#);
    assert_eq!(argument(&image, "CMD"), r#"["demo"]"#);
    assert_eq!(
        argument(&image, "HEALTHCHECK"),
        r#"CMD ["/kidoban", "health"]"#
    );
    assert_eq!(argument(&image, "ENV"), "KIDOBAN_LISTEN=0.0.0.0:8787");
}

#[test]
fn all_that_it_copies_is_there_and_let_in() {
    let text = fs::read_to_string(root().join("Dockerfile")).unwrap();
    let let_in = fs::read_to_string(root().join(".dockerignore")).unwrap();
    let mut seen = 0;
    for line in text.lines().filter(|line| line.starts_with("COPY ")) {
        let words: Vec<_> = line.split(' ').skip(1).collect();
        let (_, sources) = words.split_last().unwrap();
        if sources[0].starts_with("--from=") {
            continue;
        }
        for source in sources {
            assert!(root().join(source).exists(), "{source} is not there");
            let rule = format!("!{source}");
            assert!(
                let_in
                    .lines()
                    .any(|line| line.trim_end_matches('/') == rule),
                "{source}"
            );
            seen += 1;
        }
    }
    assert!(seen >= 4, "only {seen} copied");
}
