//! A stand-in engine that misbehaves on request, for the tests. Reads one JSON line,
//! does what its `do` says, and by default replies with the request's `mark` and with
//! what it saw: `{"mark":…,"saw":"the line","lines":N,"pid":N}`. Never ships.
//!
//! `do`: a list of steps, each a string with one argument after a colon:
//!
//! | step | does |
//! | --- | --- |
//! | `sleep:MS` | waits, then goes on |
//! | `reply` | the usual reply (what an empty list does) |
//! | `reply-slowly` | the same, byte by byte |
//! | `raw:TEXT` | writes TEXT as it stands, no line end |
//! | `newline` | writes a line end |
//! | `not-utf-8` | replies with a line that is JSON but for one byte |
//! | `big:N` | replies with a line of N bytes |
//! | `flood` | writes bytes without a line end for ever |
//! | `stderr:N` | writes N lines to stderr |
//! | `stderr-raw:N` | writes `\xff` and N bytes without a line end to stderr |
//! | `exit:N` | exits |
//! | `abort` | dies by a signal |
//! | `hang` | never goes on |
//! | `grow:N` | takes N MiB of memory, one after the other, and replies |
//! | `late:MS` | waits until the next line is there, MS more, and writes a line that is nobody's before it reads it |
//! | `late-unseen:MS` | the same, and its parent is stopped from the next line's coming until it was read |
//! | `close-stdout`, `close-stdin` | closes that end, and hangs |
//! | `fork:SECONDS` | leaves a child behind that holds the pipes |
//! | `fork-away:SECONDS` | the same, and the child leaves the process group |
//! | `wait-for:FILE` | goes on once this file is there |
//! | `env:NAME` | replies with `{"env":"value or null"}` |
//! | `cwd`, `nofile` | replies with its directory, its soft descriptor limit |
//!
//! Arguments: `--greet TEXT` writes TEXT and a line end at start; `--exit N` exits at
//! start; `--start-when FILE` reads nothing before this file is there; `--slow MS` takes
//! that long for each turn; `--sip N` reads at most N bytes a millisecond; `--log FILE`
//! appends each line seen.

#![allow(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    clippy::disallowed_methods,
    clippy::zombie_processes,
    reason = "a stand-in that fails at a wrong request has told enough"
)]

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Command, exit};
use std::thread;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};

#[derive(Default)]
struct Habits {
    slow: Duration,
    sip: Option<usize>,
    log: Option<String>,
}

fn main() {
    let mut habits = Habits::default();
    let mut arguments = std::env::args().skip(1);
    while let Some(flag) = arguments.next() {
        let value = arguments.next().unwrap_or_default();
        match flag.as_str() {
            "--greet" => say(format!("{value}\n").as_bytes()),
            "--exit" => exit(number(&value) as i32),
            "--start-when" => wait_for(&value),
            "--slow" => habits.slow = Duration::from_millis(number(&value)),
            "--sip" => habits.sip = Some(number(&value) as usize),
            "--log" => habits.log = Some(value),
            _ => panic!("unknown argument {flag}"),
        }
    }
    let mut stdin: Box<dyn BufRead> = match habits.sip {
        Some(bytes) => Box::new(BufReader::with_capacity(bytes, Sips(stdin_file()))),
        None => Box::new(io::stdin().lock()),
    };
    let mut line = Vec::new();
    let mut lines = 0;
    while stdin.read_until(b'\n', &mut line).unwrap_or(0) > 0 {
        lines += 1;
        if let Some(log) = &habits.log {
            let mut log = OpenOptions::new()
                .create(true)
                .append(true)
                .open(log)
                .unwrap();
            log.write_all(&line).unwrap();
        }
        thread::sleep(habits.slow);
        let request = serde_json::from_slice(&line).unwrap_or(Value::Null);
        let reply = json!({
            "mark": request["mark"],
            "saw": String::from_utf8_lossy(&line),
            "lines": lines,
            "pid": std::process::id(),
        });
        let steps = match &request["do"] {
            Value::Array(steps) if !steps.is_empty() => steps.clone(),
            Value::Array(_) | Value::Null => vec!["reply".into()],
            step => vec![step.clone()],
        };
        for step in &steps {
            do_step(step.as_str().unwrap_or_default(), &reply);
        }
        line.clear();
    }
}

fn do_step(step: &str, reply: &Value) {
    let (step, argument) = step.split_once(':').unwrap_or((step, ""));
    match step {
        "sleep" => thread::sleep(Duration::from_millis(number(argument))),
        "reply" => say_line(reply),
        "reply-slowly" => {
            for byte in format!("{reply}\n").into_bytes() {
                say(&[byte]);
            }
        }
        "raw" => say(argument.as_bytes()),
        "newline" => say(b"\n"),
        "not-utf-8" => say(b"\"\xff\"\n"),
        "big" => {
            let fill = "x".repeat(number(argument) as usize - 2);
            say(format!("\"{fill}\"\n").as_bytes());
        }
        "flood" => loop {
            say(&[b'x'; 4096]);
        },
        "stderr" => {
            let mut stderr = io::stderr().lock();
            for n in 0..number(argument) {
                writeln!(stderr, "stub line {n}").unwrap();
            }
        }
        "stderr-raw" => {
            let mut stderr = io::stderr().lock();
            stderr.write_all(b"\xff").unwrap();
            stderr
                .write_all(&vec![b'e'; number(argument) as usize])
                .unwrap();
        }
        "exit" => exit(number(argument) as i32),
        "abort" => std::process::abort(),
        "hang" => hang(),
        "grow" => {
            // Written to, or the kernel would give none.
            let taken: Vec<_> = (0..number(argument)).map(|_| vec![1_u8; 1 << 20]).collect();
            say_line(&json!({ "grown": taken.len() }));
        }
        "late" | "late-unseen" => {
            while rustix::io::ioctl_fionread(rustix::stdio::stdin()).unwrap() == 0 {
                thread::sleep(Duration::from_micros(200));
            }
            if step == "late-unseen" {
                let parent = rustix::process::getppid().unwrap();
                rustix::process::kill_process(parent, Signal::STOP).unwrap();
                thread::spawn(move || {
                    while rustix::io::ioctl_fionread(rustix::stdio::stdin()).unwrap() > 0 {
                        thread::sleep(Duration::from_millis(1));
                    }
                    rustix::process::kill_process(parent, Signal::CONT).unwrap();
                });
            }
            thread::sleep(Duration::from_millis(number(argument)));
            say(b"{\"mark\":\"nobody's\"}\n");
        }
        "close-stdout" => {
            rustix::stdio::dup2_stdout(elsewhere()).unwrap();
            hang()
        }
        "close-stdin" => {
            rustix::stdio::dup2_stdin(elsewhere()).unwrap();
            hang()
        }
        "fork" => {
            Command::new("sleep").arg(argument).spawn().unwrap();
        }
        "fork-away" => {
            let mut away = Command::new("setsid");
            away.args(["sleep", argument]).spawn().unwrap();
        }
        "wait-for" => wait_for(argument),
        "env" => say_line(&json!({ "env": std::env::var(argument).ok() })),
        "cwd" => say_line(&json!({ "cwd": std::env::current_dir().unwrap() })),
        "nofile" => {
            let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
            say_line(&json!({ "nofile": limit.current }));
        }
        _ => panic!("unknown step {step}"),
    }
}

/// Past std's own buffer.
fn stdin_file() -> File {
    File::from(rustix::stdio::stdin().try_clone_to_owned().unwrap())
}

/// Reads little at a time, and slowly.
struct Sips(File);

impl Read for Sips {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        thread::sleep(Duration::from_millis(1));
        self.0.read(buffer)
    }
}

fn say_line(reply: &Value) {
    say(format!("{reply}\n").as_bytes());
}

/// In one write and past std's line buffer, which would split `{}\nx` in two.
fn say(bytes: &[u8]) {
    let stdout = rustix::stdio::stdout().try_clone_to_owned().unwrap();
    File::from(stdout).write_all(bytes).unwrap();
}

/// What stands in the place of a closed end.
fn elsewhere() -> File {
    File::open("/dev/null").unwrap()
}

fn wait_for(file: &str) {
    while !Path::new(file).exists() {
        thread::sleep(Duration::from_millis(2));
    }
}

fn hang() -> ! {
    loop {
        thread::sleep(Duration::from_mins(1));
    }
}

fn number(text: &str) -> u64 {
    text.parse()
        .unwrap_or_else(|_| panic!("{text:?} is no number"))
}
