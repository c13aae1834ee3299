//! `kidoban simulate` as it is typed: the figures that people know of each algorithm, logs
//! of every kind, and what bad input gets.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value;

use crate::harness::{kidoban, outcome, output, peer};

const NAMES: [&str; 10] = [
    "token-bucket",
    "gcra",
    "gcra-no-burst",
    "leaky-bucket",
    "leaky-queue",
    "fixed-window",
    "fixed-window-first",
    "fixed-window-offset",
    "sliding-log",
    "sliding-window",
];
const TEN_PER_TEN: [&str; 2] = ["--rate=10/10s", "--burst=10"];

/// What `--json` says of this.
fn simulated(arguments: &[&str]) -> Value {
    let arguments: Vec<&str> = ["simulate", "--json"]
        .iter()
        .chain(arguments)
        .copied()
        .collect();
    let output = output(&arguments);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {said}");
    // A log of whole seconds is spread over them, and that is told.
    let is_spread = said.starts_with("Note: ") && said.contains("to the second");
    assert!(said.is_empty() || is_spread, "{arguments:?}: {said}");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn played(pattern: &str, limit: &[&str]) -> Value {
    simulated(&[&["--pattern", pattern], limit].concat())
}

/// One number of one algorithm.
fn of(told: &Value, name: &str, what: &str) -> u64 {
    let algorithms = told["algorithms"].as_array().unwrap();
    let one = algorithms.iter().find(|one| one["name"] == name).unwrap();
    one[what].as_u64().unwrap()
}

#[test]
fn json_has_the_promised_fields() {
    let told = played("burst:10", &[]);
    let fields = |value: &Value| {
        value
            .as_object()
            .unwrap()
            .keys()
            .cloned()
            .collect::<Vec<_>>()
    };
    assert_eq!(
        fields(&told),
        ["algorithms", "arrivals", "clients", "command"]
    );
    assert_eq!(
        told["command"],
        "kidoban simulate --json --pattern burst:10"
    );
    assert_eq!(
        (&told["arrivals"], &told["clients"]),
        (&10.into(), &1.into())
    );
    let algorithms = told["algorithms"].as_array().unwrap();
    let names: Vec<&str> = algorithms
        .iter()
        .map(|one| one["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, NAMES);
    for one in algorithms {
        let mut expected = [
            "name",
            "admitted",
            "refused",
            "delayed",
            "refused_clients",
            "worst_window",
            "worst_second",
            "longest_wait_ms",
            "fairness",
            "bytes_per_client",
        ];
        expected.sort_unstable();
        assert_eq!(fields(one), expected);
        let sum = one["admitted"].as_u64().unwrap() + one["refused"].as_u64().unwrap();
        assert_eq!(sum, 10);
    }
}

#[test]
fn ten_at_once_are_two() {
    let told = played("burst:10", &[]);
    for name in [
        "token-bucket",
        "gcra",
        "leaky-bucket",
        "fixed-window",
        "sliding-log",
    ] {
        assert_eq!(of(&told, name, "admitted"), 2, "{name}");
    }
    assert_eq!(of(&told, "token-bucket", "refused_clients"), 1);
}

#[test]
fn forty_six_in_five_seconds_are_eleven_or_twelve() {
    let told = played("every:108ms:46", &[]);
    assert!((11..=12).contains(&of(&told, "token-bucket", "admitted")));
}

#[test]
fn around_an_edge_the_fixed_window_lets_twice_the_limit_in() {
    let told = played("burst:10@9.5s+burst:10@10s", &TEN_PER_TEN);
    for (name, admitted) in [
        ("token-bucket", 10),
        ("gcra-no-burst", 1),
        ("fixed-window", 20),
        ("sliding-log", 10),
        ("sliding-window", 10),
        ("leaky-queue", 10),
    ] {
        assert_eq!(of(&told, name, "admitted"), admitted, "{name}");
    }
    assert_eq!(of(&told, "fixed-window", "worst_window"), 20);
    let queue = &told["algorithms"][4];
    let wait = queue["longest_wait_ms"].as_f64().unwrap();
    assert!((9_500.0..=10_000.0).contains(&wait), "{queue}");
    let github = played("edge", &["--preset=github"]);
    assert_eq!(of(&github, "fixed-window", "worst_window"), 10_000);
}

#[test]
fn five_a_second_for_forty_seconds() {
    let told = played("every:200ms:200", &TEN_PER_TEN);
    for (name, admitted, worst) in [
        ("token-bucket", 49, 19),
        ("gcra-no-burst", 40, 10),
        ("fixed-window", 40, 10),
        ("sliding-log", 40, 10),
        ("sliding-window", 40, 10),
    ] {
        assert_eq!(of(&told, name, "admitted"), admitted, "{name}");
        if name != "sliding-window" && name != "fixed-window" {
            assert_eq!(of(&told, name, "worst_window"), worst, "{name}");
        }
    }
}

#[test]
fn what_keeps_to_the_rate_passes_everywhere() {
    let told = played("every:1250ms:32", &TEN_PER_TEN);
    for name in NAMES {
        assert_eq!(of(&told, name, "admitted"), 32, "{name}");
    }
}

#[test]
fn two_hundred_a_day_are_two_hundred_at_once_and_then_one_every_432_seconds() {
    let at_once = played("burst:300", &["--preset=openai"]);
    assert_eq!(of(&at_once, "token-bucket", "admitted"), 200);
    let then = played("burst:300+every:432s:20@432s", &["--preset=openai"]);
    assert_eq!(of(&then, "token-bucket", "admitted"), 220);
    let faster = played("burst:300+every:216s:20@216s", &["--preset=openai"]);
    assert_eq!(of(&faster, "token-bucket", "admitted"), 210);
}

#[test]
fn a_table_for_people_and_lines_for_a_spreadsheet() {
    let arguments = [
        "simulate",
        "--pattern=burst:10@9.5s+burst:10@10s",
        "--rate=10/10s",
        "--burst=10",
    ];
    let table = String::from_utf8(output(&arguments).stdout).unwrap();
    assert!(
        table.starts_with("20 arrivals of 1 client within 500 ms"),
        "{table}"
    );
    for name in NAMES {
        let lines: Vec<&str> = table
            .lines()
            .filter(|line| line.split(' ').next() == Some(name))
            .collect();
        assert_eq!(
            lines.len(),
            2,
            "a row and a line of glyphs for {name}:\n{table}"
        );
    }
    let glyphs = |name: &str| table.lines().rfind(|line| line.starts_with(name)).unwrap();
    assert!(glyphs("fixed-window ").ends_with("●"), "{table}");
    assert!(glyphs("token-bucket").ends_with("○"), "{table}");
    assert!(
        table.lines().all(|line| line.chars().count() <= 80),
        "{table}"
    );

    let csv = output(&[&arguments[..], &["--csv"]].concat()).stdout;
    let csv = String::from_utf8(csv).unwrap();
    let rows: Vec<Vec<&str>> = csv
        .split_terminator("\r\n")
        .map(|line| line.split(',').collect())
        .collect();
    assert_eq!(rows.len(), 11);
    assert!(rows.iter().all(|row| row.len() == rows[0].len()));
    let names: Vec<&str> = rows[1..].iter().map(|row| row[0]).collect();
    assert_eq!(names, NAMES);
    assert_eq!(rows[6][..3], ["fixed-window", "20", "0"]);
}

/// Ten requests at 12:00:00 and ten at 12:00:10, each log telling it in its own way.
fn log_lines(line: impl Fn(u32) -> String) -> String {
    (0..20).map(|n| line(n / 10 * 10) + "\n").collect()
}

#[test]
fn logs_of_every_kind_tell_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let common = log_lines(|second| {
        format!(
            r#"192.0.2.7 - - [17/Oct/2026:12:00:{second:02} +0000] "GET /api/turn HTTP/1.1" 200 12"#
        )
    });
    let combined = log_lines(|second| {
        format!(
            r#"192.0.2.7 - - [17/Oct/2026:14:00:{second:02} +0200] "GET /api/turn HTTP/1.1" 200 12 "-" "curl/8""#
        )
    });
    let caddy = log_lines(|second| {
        let at = 1_792_238_400 + second;
        format!(
            r#"{{"level":"info","ts":{at}.5,"logger":"http.log.access","msg":"handled request","request":{{"remote_ip":"192.0.2.7","method":"POST","uri":"/api/turn"}},"duration":0.5,"status":200}}"#
        )
    });
    let own = log_lines(|second| {
        format!(
            r#"{{"timestamp":"2026-10-17T12:00:{second:02}.004Z","level":"INFO","client":"192.0.2.7","route":"/api/turn","kind":"look","status":200,"wait_ms":1.0,"engine_ms":3.0,"request_id":"x","message":"turn"}}"#
        )
    });
    for (name, text) in [
        ("common", common),
        ("combined", combined),
        ("caddy", caddy),
        ("own", own),
    ] {
        let file = folder.path().join(name);
        fs::write(&file, &text).unwrap();
        let zipped = folder.path().join(format!("{name}.gz"));
        let mut zip = GzEncoder::new(fs::File::create(&zipped).unwrap(), Compression::default());
        zip.write_all(text.as_bytes()).unwrap();
        zip.finish().unwrap();
        for file in [file, zipped] {
            let told = simulated(&[
                "--log",
                file.to_str().unwrap(),
                "--rate=10/10s",
                "--burst=10",
            ]);
            assert_eq!(
                (&told["arrivals"], &told["clients"]),
                (&20.into(), &1.into()),
                "{name}"
            );
            assert_eq!(of(&told, "fixed-window", "admitted"), 20, "{name}");
        }
        let told = piped(&text, &["--rate=10/10s", "--burst=10", "--json"]);
        let told: Value = serde_json::from_slice(&told.stdout).unwrap();
        assert_eq!(told["arrivals"], 20, "{name}");
        let from = ["--log", "-", "--since=2026-10-17T12:00:05Z", "--json"];
        let told = piped_with(&text, &from);
        let told: Value = serde_json::from_slice(&told.stdout).unwrap();
        assert_eq!(told["arrivals"], 10, "{name}");
    }
}

fn piped(text: &str, arguments: &[&str]) -> Output {
    piped_with(text, &[&["--log", "-"], arguments].concat())
}

fn piped_with(text: &str, arguments: &[&str]) -> Output {
    let mut child = kidoban()
        .arg("simulate")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(text.as_bytes())
        .unwrap();
    child.wait_with_output().unwrap()
}

#[test]
fn the_table_says_what_a_log_could_not_tell() {
    let mut text = log_lines(|second| {
        format!(r#"192.0.2.7 - - [17/Oct/2026:12:00:{second:02} +0000] "GET / HTTP/1.1" 200 12"#)
    });
    text += "garbage \u{1b}[31m\n";
    let table = String::from_utf8(piped(&text, &[]).stdout).unwrap();
    assert!(table.contains("to the second"), "{table}");
    assert!(
        table.contains("1 line could not be read") && !table.contains('\u{1b}'),
        "{table}"
    );
    let json = piped(&text, &["--json"]);
    let said = String::from_utf8(json.stderr).unwrap();
    assert!(said.contains("1 line could not be read"), "{said}");
}

#[test]
fn an_advice_can_be_pasted() {
    let told = played("flood+players:30:10min", &["--advise"]);
    let flags = told["advice"]["flags"].as_str().unwrap();
    let words: Vec<&str> = ["serve"]
        .into_iter()
        .chain(flags.split(' '))
        .chain(["--check", "--", "cat"])
        .collect();
    assert!(output(&words).status.success(), "{flags}");
    // Whoever is not the flood's greedy client is let in by what is advised.
    let under: Vec<&str> = flags.split(' ').collect();
    let under = played("players:30:10min", &under);
    assert_eq!(of(&under, "token-bucket", "refused"), 0, "{flags}");
    let table = output(&["simulate", "--pattern=flood+players:30:10min", "--advise"]).stdout;
    let table = String::from_utf8(table).unwrap();
    assert!(
        table.ends_with(&format!("After kidoban:\n\n  {flags}\n")),
        "{table}"
    );
}

/// A limit that was not seen to refill is marked, and advised only with a warning.
#[test]
fn what_was_too_short_to_tell_is_advised_with_a_warning() {
    let table = |pattern: &str| {
        let table = output(&["simulate", pattern, "--advise=0"]).stdout;
        String::from_utf8(table).unwrap()
    };
    let short = table("--pattern=burst:10");
    for part in [
        "\n→ ?  1/min     10",
        "? takes longer to fill than a quarter of what was seen (0 s)",
        "What was seen is too short to tell",
    ] {
        assert!(short.contains(part), "{part}: {short}");
    }
    assert!(short.ends_with("  --rate 1/min --burst 10\n"), "{short}");
    let told = played("burst:10", &["--advise=0"]);
    assert_eq!(told["advice"]["curve"][0]["beyond_the_seen"], true);
    let long = table("--pattern=every:1s:100");
    assert!(!long.contains("too short"), "{long}");
    assert!(
        long.ends_with("After kidoban:\n\n  --rate 1 --burst 1\n"),
        "{long}"
    );
}

/// On a terminal one sees how far it is; elsewhere nothing is said.
#[test]
fn a_terminal_is_told_how_far_the_reading_is() {
    let Some(script) = peer("script", "apt-get install bsdutils") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let line = "192.0.2.1 - - [30/Nov/2026:12:00:00 +0000] \"GET / HTTP/1.1\" 200 5\n";
    fs::write(&log, line.repeat(400_000)).unwrap();
    let program = env!("CARGO_BIN_EXE_kidoban");
    let command = format!("{program} simulate --log {} --csv", log.display());
    let mut terminal = Command::new(script);
    terminal
        .args(["-qec", &command, "/dev/null"])
        .env("TERM", "xterm");
    let seen = outcome(terminal.stdin(Stdio::null()));
    assert_eq!(seen.code, Some(0), "{seen:?}");
    assert!(seen.stdout.contains(" lines, "), "{}", seen.stdout);
    assert!(seen.stdout.contains("token-bucket,"), "{}", seen.stdout);
    let elsewhere = outcome(kidoban().args(["simulate", "--csv", "--log"]).arg(&log));
    assert!(
        !elsewhere.stderr.contains(" lines, "),
        "{}",
        elsewhere.stderr
    );
}

/// The README's pictures are what its commands draw.
#[test]
fn the_gallery_is_drawn_by_its_commands() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let readme = fs::read_to_string(root.join("README.md")).unwrap();
    let mut drawn = 0;
    for line in readme
        .lines()
        .filter(|line| line.starts_with("kidoban simulate "))
    {
        let Some((_, picture)) = line.split_once(" --svg ") else {
            continue;
        };
        assert!(
            readme.contains(&format!("]({picture})")),
            "{picture} is shown"
        );
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join(".pictures")).unwrap();
        let words = line.split(' ').skip(1);
        let outcome = outcome(kidoban().args(words).current_dir(folder.path()));
        assert_eq!((outcome.code, &*outcome.stderr), (Some(0), ""), "{line}");
        let now = fs::read_to_string(folder.path().join(picture)).unwrap();
        let shown = fs::read_to_string(root.join(picture)).unwrap();
        assert!(now == shown, "{picture} is drawn anew with: {line}");
        drawn += 1;
    }
    assert!(drawn >= 2, "{drawn}");
}

/// One message, exit 2, and no file.
#[track_caller]
fn is_refused(arguments: &[&str], says: &[&str]) {
    let output = output(&[&["simulate"], arguments].concat());
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
    assert_eq!(output.stdout, b"", "{arguments:?}");
    for part in says {
        assert!(said.contains(part), "{arguments:?}: {said}");
    }
}

/// The system's fault, and nobody's bad option.
#[test]
fn a_full_disk_is_told_of_standard_output() {
    let full = fs::OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let mut command = kidoban();
    let command = command.args(["simulate", "--pattern", "burst:10"]);
    let ended = command
        .stdout(full)
        .stderr(Stdio::piped())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(1), "{said}");
    assert!(said.contains("standard output: No space left"), "{said}");
}

/// A filter that would let nothing pass is most likely a slip.
#[test]
fn filters_that_are_none_are_bad_input() {
    let folder = tempfile::tempdir().unwrap();
    let garbage = folder.path().join("garbage").to_str().unwrap().to_owned();
    fs::write(&garbage, "no log\nat all\n").unwrap();
    for name in ["unix:", "42", "a:b", "host.example"] {
        let says = ["no request is left"];
        is_refused(&["--log", &garbage, "--client", name], &says);
    }
    let none = [
        "192.0.2.1/33",
        "192.0.2.0/",
        "/64",
        "10.0.0",
        "10.0.0.300",
        "10.0.0.1:80",
    ];
    for network in none {
        let says = ["--client", "192.0.2.0/24"];
        is_refused(&["--log", &garbage, "--client", network], &says);
    }
    is_refused(&["--log", &garbage, "--path", "api"], &["--path", "/api/"]);
    is_refused(
        &[
            "--log",
            &garbage,
            "--since=2026-11-30",
            "--until=2026-11-30",
        ],
        &["--since, --until", "nothing lies between"],
    );
}

#[test]
fn bad_input_is_one_message_and_nothing_half_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    fs::write(path("empty"), "").unwrap();
    fs::write(path("garbage"), "no log\nat all\n").unwrap();
    fs::write(path("cut.gz"), b"\x1f\x8b\x08\x00\x00").unwrap();
    let (empty, garbage, cut) = (path("empty"), path("garbage"), path("cut.gz"));
    is_refused(
        &["--log", "/nowhere/log"],
        &["--log /nowhere/log: ", "No such file"],
    );
    is_refused(
        &["--log", folder.path().to_str().unwrap()],
        &["--log ", "directory"],
    );
    is_refused(&["--log", &empty], &["--log ", "it is empty"]);
    is_refused(&["--log", &garbage], &["--log ", "2 lines", "no log"]);
    is_refused(&["--log", &cut], &["--log ", "cut.gz"]);
    is_refused(&["--log", "/no\u{1b}[31mwhere"], &["/no\\u{1b}[31mwhere"]);
    is_refused(
        &["--pattern", "burst"],
        &["at character 6: `burst` goes on"],
    );
    is_refused(&["--pattern", "burst:"], &["--pattern", "character 7"]);
    is_refused(&["--pattern", "burst:10+x"], &["--pattern", "character 10"]);
    is_refused(&["--pattern", "burst:10", "--rate", "0"], &["--rate"]);
    is_refused(&["--pattern", "burst:10", "--burst", "0"], &["--burst"]);
    is_refused(
        &[
            "--pattern",
            "burst:10",
            "--rate",
            "0.000001",
            "--burst",
            "1000",
        ],
        &["--rate", "--burst", "10 years"],
    );
    is_refused(
        &["--pattern", "burst:1", "--preset", "nobody"],
        &["--preset"],
    );
    is_refused(
        &["--pattern", "burst:1", "--preset", "github", "--rate", "1"],
        &["--preset", "--rate"],
    );
    is_refused(
        &["--pattern", "burst:1", "--log", &empty],
        &["--pattern", "--log"],
    );
    for once in ["-", "/dev/stdin"] {
        is_refused(&["--log", once, "--advise"], &["--advise", "a plain file"]);
    }
    is_refused(
        &["--log", &garbage, "--svg", &garbage],
        &["--log and --svg", "the same file"],
    );
    let both = path("both");
    is_refused(
        &["--pattern", "burst:1", "--svg", &both, "--html", &both],
        &["--svg and --html"],
    );
    is_refused(
        &["--pattern", "burst:1", "--advise", "--csv"],
        &["--csv", "--advise"],
    );
    is_refused(
        &["--pattern", "burst:1", "--svg", "/dev/null"],
        &["--svg", "no plain file"],
    );
    is_refused(
        &["--pattern", "burst:1", "--advise=51%"],
        &["--advise", "50%"],
    );
    for (flag, end) in [("--svg", "picture.svg"), ("--html", "page.html")] {
        let file = path(&format!("missing/{end}"));
        is_refused(
            &["--pattern", "burst:10", flag, &file],
            &[flag, "there is no folder"],
        );
        // The log is looked at after the places, and what follows from it is not written either.
        let file = path(end);
        is_refused(&["--log", &garbage, flag, &file], &["--log"]);
        assert!(!Path::new(&file).exists());
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3);
}

/// `yes | head` and the like: whoever stops reading is no fault.
#[test]
fn a_reader_that_has_seen_enough_is_no_fault() {
    let script = r#""$0" simulate --pattern burst:10 | true; echo "${PIPESTATUS[0]}""#;
    let program = env!("CARGO_BIN_EXE_kidoban");
    let output = Command::new("bash")
        .args(["-c", script, program])
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "0\n");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

/// Three times the lines of the same clients take no more memory, once all buffers have been full.
#[test]
fn memory_grows_with_clients_and_not_with_lines() {
    let most = |lines: u32| {
        let mut child = kidoban()
            .args(["simulate", "--json", "--log", "-"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let mut text = String::new();
        for n in 0..lines {
            let (minute, second, client) = (n / 3_000 % 60, n / 50 % 60, n % 100);
            let hour = n / 180_000;
            let _ = writeln!(
                text,
                r#"10.0.0.{client} - - [17/Oct/2026:{hour:02}:{minute:02}:{second:02} +0000] "GET / HTTP/1.1" 200 1"#
            );
            if text.len() > 60_000 {
                stdin.write_all(text.as_bytes()).unwrap();
                text.clear();
            }
        }
        stdin.write_all(text.as_bytes()).unwrap();
        // A pipe holds 64 KiB: all but that has been read by now.
        let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("VmHWM:"))
            .unwrap();
        let kibibytes: u64 = line.trim().trim_end_matches(" kB").parse().unwrap();
        drop(stdin);
        let output = child.wait_with_output().unwrap();
        let told: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(told["arrivals"], lines);
        kibibytes
    };
    let (few, many) = (most(100_000), most(300_000));
    assert!(many < few + 4_096, "{few} KiB, then {many} KiB");
}
