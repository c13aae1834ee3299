//! The README is read by these tests, so that it cannot rot: its engine runs, its tables
//! are those of the program.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::json;

use kidoban::logic::limiter::Algorithm;

use crate::harness::{Gateway, output, peer};
use crate::http::Request;

fn readme() -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).unwrap()
}

/// The fenced block that opens with this language, after this heading.
fn block(heading: &str, language: &str) -> String {
    let readme = readme();
    let (_, section) = readme.split_once(heading).expect("the heading is there");
    let fence = format!("```{language}\n");
    let (_, block) = section.split_once(&fence).expect("the block is there");
    block.split_once("```").expect("it ends").0.to_owned()
}

/// The cells of each row of the table that starts with this head.
fn table(head: &str) -> Vec<Vec<String>> {
    let readme = readme();
    let (_, rows) = readme.split_once(head).expect("the table is there");
    let rows: Vec<Vec<String>> = rows
        .lines()
        .skip(2)
        .take_while(|line| line.starts_with('|'))
        .map(|line| {
            let cells = line.split('|').skip(1);
            cells.map(|cell| cell.trim().to_owned()).collect()
        })
        .collect();
    assert!(rows.len() > 4, "{head} has {} rows", rows.len());
    rows
}

#[test]
fn the_engine_in_python_plays() {
    if peer("python3", "apt-get install python3").is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let engine = folder.path().join("engine.py");
    let code = block("## Your own engine", "python");
    assert!(code.lines().count() <= 10, "a ten-line engine");
    fs::write(&engine, code).unwrap();
    let gateway = Gateway::with(&[])
        .engine(&["python3", engine.to_str().unwrap()])
        .start();
    let asked = block("put it behind the gateway", "sh");
    let asked = readme()
        .split_once("--data '")
        .and_then(|(_, rest)| rest.split_once('\''))
        .map_or_else(
            || panic!("no --data in {asked}"),
            |(data, _)| data.to_owned(),
        );
    let said = block("put it behind the gateway", "json");
    let reply = gateway.turn(&asked);
    assert_eq!((reply.status, reply.text().trim()), (200, said.trim()));
    let first = gateway.send(&Request::new_game(""));
    assert_eq!(first.json()["state"], json!(1));
}

#[test]
fn the_options_table_is_that_of_the_program() {
    let help = String::from_utf8(output(&["serve", "--help"]).stdout).unwrap();
    let mut of_help = BTreeSet::new();
    let mut flag = String::new();
    for line in help.lines().map(str::trim) {
        if line.starts_with("--") && !line.starts_with("--help") {
            flag = line.split(' ').next().unwrap().to_owned();
            of_help.insert((flag.clone(), String::new()));
        } else if let Some(default) = line.strip_prefix("[default: ") {
            of_help.remove(&(flag.clone(), String::new()));
            let default = default.trim_end_matches(']').replace(' ', ",");
            of_help.insert((flag.clone(), default));
        }
    }
    of_help.retain(|(flag, default)| !(flag.is_empty() || default.contains("adv-sim")));
    assert!(of_help.len() > 30, "{of_help:?}");
    let of_readme: BTreeSet<_> = table("| flag | default | meaning |")
        .iter()
        .map(|row| (row[0].replace('`', ""), row[1].replace('`', "")))
        .collect();
    assert_eq!(of_readme, of_help);
}

/// Those of the table.
pub fn exit_codes() -> Vec<String> {
    let table = table("| exit code | means |");
    table.into_iter().map(|mut row| row.remove(0)).collect()
}

/// The exit codes of the table are those that the other files see happen.
#[test]
fn the_exit_codes_are_those_of_the_program() {
    assert_eq!(exit_codes(), ["0", "1", "2", "126", "127", "130", "143"]);
}

/// Each test that the threat table names is there.
#[test]
fn the_threats_name_tests_that_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut folders = vec![root.join("tests/it"), root.join("src/logic")];
    let mut tests = BTreeSet::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let text = fs::read_to_string(&path).unwrap();
            // A file of tests is named after the folder it is in.
            let file = match path.file_stem().unwrap().to_str().unwrap() {
                "tests" => path
                    .parent()
                    .unwrap()
                    .file_name()
                    .unwrap()
                    .to_str()
                    .unwrap(),
                stem => stem,
            };
            let marked = text
                .split("#[test]")
                .flat_map(|part| part.split("#[tokio::test"));
            for function in marked.skip(1) {
                let named = function
                    .split_once("fn ")
                    .and_then(|(_, rest)| rest.split_once('('));
                tests.extend(named.map(|(name, _)| format!("{file}::{name}")));
            }
        }
    }
    let mut seen = 0;
    for row in table("| threat | what stops it | shown by |") {
        for name in row[2].split('`').skip(1).step_by(2) {
            assert!(tests.contains(name), "{name} is no test");
            seen += 1;
        }
    }
    assert!(seen >= 16, "only {seen} named");
}

/// Every code that a refusal can have stands in the README, and no other does.
#[test]
fn the_codes_are_those_of_the_program() {
    let source = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/refusal.rs"));
    let source = source.unwrap();
    let (_, codes) = source.split_once("impl Code {").unwrap();
    let (_, codes) = codes.split_once("fn word(self)").unwrap();
    let codes = codes.split_once("\n    }\n").unwrap().0;
    let of_program: BTreeSet<&str> = codes.split('"').skip(1).step_by(2).collect();
    assert!(of_program.len() > 10, "{of_program:?}");
    let readme = readme();
    let (_, section) = readme.split_once("### The gates, in this order").unwrap();
    let section = section.split_once("A refusal is").unwrap().0;
    let of_readme: BTreeSet<&str> = section
        .split('`')
        .skip(1)
        .step_by(2)
        .filter(|word| !word.starts_with("--"))
        .collect();
    assert_eq!(of_readme, of_program);
}

/// The ten algorithms, and what each promises, keeps and comes from.
#[test]
fn the_algorithms_are_those_of_the_program() {
    let of_readme = table("| algorithm | at most in any window | kept of each client | source |");
    let of_program = Algorithm::ALL.map(|algorithm| {
        vec![
            format!("`{}`", algorithm.name()),
            algorithm.guarantee().to_string(),
            algorithm.state().to_string(),
            algorithm.source().to_owned(),
            String::new(),
        ]
    });
    assert_eq!(of_readme, of_program);
}
