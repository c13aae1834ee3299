//! Everything in `config/` besides the Caddyfile and the units, each read by its own tool,
//! and held against what the program really has: options, metrics, and the README.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::harness::{Gateway, Outcome, absent, kidoban, not_run, outcome, output, peer};
use crate::http::Request;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn config(name: &str) -> PathBuf {
    root().join("config").join(name)
}

fn read(path: impl AsRef<Path>) -> String {
    let path = path.as_ref();
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Runs a tool to its end, which must be a good one.
fn passes(command: &mut Command) -> Outcome {
    let ended = outcome(command);
    assert_eq!(ended.code, Some(0), "{command:?}: {ended:?}");
    ended
}

/// The longest pieces of a text that are made of such characters and begin like this.
fn words<'a>(text: &'a str, start: &'a str) -> impl Iterator<Item = &'a str> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && !"_./-".contains(c))
        .filter(move |word| word.starts_with(start) && word.len() > start.len())
        .map(|word| word.trim_end_matches(['.', '/', '-']))
}

/// All of `config/` is told of, and all that is told of is there.
#[test]
fn the_readme_names_each_file_and_no_other() {
    let readme = read(root().join("README.md"));
    let there: BTreeSet<String> = fs::read_dir(config(""))
        .unwrap()
        .map(|entry| format!("config/{}", entry.unwrap().file_name().display()))
        .collect();
    let told: BTreeSet<String> = words(&readme, "config/").map(str::to_owned).collect();
    assert!(there.len() >= 9, "{there:?}");
    assert_eq!(told, there);
    for folder in ["src/", "tests/"] {
        for named in words(&readme, folder) {
            assert!(root().join(named).exists(), "{named}");
        }
    }
    for name in ["Dockerfile", ".ci/run", "LICENSE"] {
        assert!(root().join(name).exists(), "{name}");
    }
}

/// What the program reads from its environment, as `--help` tells it.
fn variables() -> BTreeSet<String> {
    let help = String::from_utf8(output(&["serve", "--help"]).stdout).unwrap();
    let all: BTreeSet<_> = words(&help, "KIDOBAN_").map(str::to_owned).collect();
    assert!(all.len() > 30, "{all:?}");
    all
}

/// Of the files that set options, each sets what is there.
#[test]
fn variables_in_files_are_those_of_the_program() {
    let variables = variables();
    // Caddy's, and the build's.
    let of_others = [
        "KIDOBAN_SITE",
        "KIDOBAN_UPSTREAM",
        "KIDOBAN_COMMIT",
        "KIDOBAN_COMMIT_DATE",
    ];
    for file in [
        "config/kidoban.env",
        "config/compose.yml",
        "config/kidoban.service",
        "config/prometheus.yml",
        "Dockerfile",
    ] {
        let text = read(root().join(file));
        for variable in words(&text, "KIDOBAN_") {
            assert!(
                variables.contains(variable) || of_others.contains(&variable),
                "{variable} in {file}"
            );
        }
    }
}

/// As it ships, and with everything in it that is only a suggestion.
#[test]
fn the_options_file_is_taken_as_it_is() {
    let shipped = read(config("kidoban.env"));
    let all = format!("\n{shipped}").replace("\n#KIDOBAN_", "\nKIDOBAN_");
    assert_ne!(all, shipped);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("env");
    let program = kidoban().get_program().to_owned();
    for text in [shipped, all] {
        // The one folder that it names is not on every machine.
        let text = text.replace("/var/www/game", folder.path().to_str().unwrap());
        let text = text.replace("/usr/local/bin/kidoban", program.to_str().unwrap());
        fs::write(&file, &text).unwrap();
        let mut command = Command::new("sh");
        let script = "set -a && . \"$1\" && exec \"$0\" serve --check -- $ENGINE";
        command.args(["-c", script]).arg(&program).arg(&file);
        for (name, _) in std::env::vars_os() {
            if name.as_encoded_bytes().starts_with(b"KIDOBAN_") {
                command.env_remove(name);
            }
        }
        let told = passes(&mut command).stdout;
        let mut seen = 0;
        for line in text.lines().filter(|line| line.starts_with("KIDOBAN_")) {
            let (name, value) = line.split_once('=').unwrap();
            let flag = name["KIDOBAN_".len()..].to_lowercase().replace('_', "-");
            let setting = format!("--{flag} = {}  (environment)\n", value.trim_matches('\''));
            assert!(told.contains(&setting), "{setting} in\n{told}");
            seen += 1;
        }
        assert!(seen >= 2);
    }
}

#[test]
fn promtool_finds_nothing_wrong() {
    let Some(promtool) = peer("promtool", "apt-get install prometheus") else {
        return;
    };
    passes(
        Command::new(&promtool)
            .args(["check", "config"])
            .arg(config("prometheus.yml")),
    );
    passes(
        Command::new(&promtool)
            .args(["check", "rules"])
            .arg(config("alerts.yml")),
    );
    let tests = root().join("tests/alerts.yml");
    passes(Command::new(&promtool).args(["test", "rules"]).arg(&tests));
    // Each alert was seen to fire.
    let alerts = read(config("alerts.yml"));
    let alerts = alerts
        .lines()
        .filter_map(|line| line.trim().strip_prefix("- alert: "));
    let tests = read(tests);
    let mut seen = 0;
    for alert in alerts {
        assert!(tests.contains(&format!("alertname=\"{alert}\"")), "{alert}");
        seen += 1;
    }
    assert!(seen > 10, "only {seen}");
}

fn dashboard() -> Value {
    serde_json::from_str(&read(config("grafana.json"))).unwrap()
}

/// Every `expr` in it.
fn queries(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                match value.as_str() {
                    Some(query) if name == "expr" => found.push(query.to_owned()),
                    _ => queries(value, found),
                }
            }
        }
        Value::Array(values) => values.iter().for_each(|value| queries(value, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Its own library knows every word of it.
#[test]
fn grafana_reads_the_dashboard() {
    // Where `.ci/run` has put it; empty, where that could not be had.
    let library = match std::env::var("KIDOBAN_GRAFANA_SDK") {
        Ok(library) if !library.is_empty() => library,
        Ok(_) => return not_run("Grafana's library for Python could not be had"),
        Err(_) => {
            let how = "pip install grafana-foundation-sdk";
            return absent(&format!("KIDOBAN_GRAFANA_SDK names no folder ({how})"));
        }
    };
    let Some(python) = peer("python3", "apt-get install python3") else {
        return;
    };
    let script = root().join("tests/grafana.py");
    let reads = |dashboard: &Path| {
        let mut command = Command::new(&python);
        command.env("PYTHONPATH", &library).arg(&script);
        outcome(command.arg(dashboard))
    };
    let ended = reads(&config("grafana.json"));
    assert_eq!((ended.code, &*ended.stdout), (Some(0), "\n"), "{ended:?}");
    // A word that it does not know is seen.
    let folder = tempfile::tempdir().unwrap();
    let other = folder.path().join("other.json");
    let slip = read(config("grafana.json")).replacen("\"gridPos\"", "\"gridPosition\"", 1);
    fs::write(&other, slip).unwrap();
    let ended = reads(&other);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stdout.contains("gridPosition"), "{ended:?}");
}

#[test]
fn the_dashboard_asks_any_prometheus_and_its_panels_stand_apart() {
    let dashboard = dashboard();
    let variables = dashboard["templating"]["list"].as_array().unwrap();
    let source = &variables[0];
    assert_eq!(
        (&source["name"], &source["type"]),
        (&"datasource".into(), &"datasource".into())
    );
    // Its own id is the only other.
    let text = read(config("grafana.json"));
    let others = text.replace(r#""uid": "${datasource}""#, "");
    assert_eq!(others.matches(r#""uid":"#).count(), 1);
    assert_eq!(dashboard["uid"], "kidoban");
    let panels = dashboard["panels"].as_array().unwrap();
    assert!(panels.len() > 15, "{}", panels.len());
    let mut taken = BTreeSet::new();
    let mut ids = BTreeSet::new();
    for panel in panels {
        let title = &panel["title"];
        assert!(ids.insert(panel["id"].as_u64().unwrap()), "{title}");
        assert_eq!(panel["datasource"]["uid"], "${datasource}", "{title}");
        for target in panel["targets"].as_array().unwrap() {
            assert_eq!(target["datasource"]["uid"], "${datasource}", "{title}");
        }
        let side = |name: &str| panel["gridPos"][name].as_u64().unwrap();
        assert!(side("x") + side("w") <= 24, "{title}");
        for x in side("x")..side("x") + side("w") {
            for y in side("y")..side("y") + side("h") {
                assert!(taken.insert((x, y)), "{title} lies on another");
            }
        }
    }
}

/// Its questions are put to the tool that knows the language.
#[test]
fn the_dashboards_questions_can_be_asked() {
    let Some(promtool) = peer("promtool", "apt-get install prometheus") else {
        return;
    };
    let mut all = Vec::new();
    queries(&dashboard(), &mut all);
    assert!(all.len() > 25, "{}", all.len());
    let mut rules = "groups:\n  - name: dashboard\n    rules:\n".to_owned();
    for (nth, query) in all.iter().enumerate() {
        let query = query.replace("$__rate_interval", "1m").replace('\'', "''");
        writeln!(rules, "      - {{record: 'q{nth}', expr: '{query}'}}").unwrap();
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("rules.yml");
    fs::write(&file, rules).unwrap();
    let ended = passes(Command::new(promtool).args(["check", "rules"]).arg(&file));
    assert!(
        ended.stdout.contains(&format!("{} rules found", all.len())),
        "{ended:?}"
    );
}

/// The names of metrics in a query, without what a histogram adds to them.
fn metrics_in(text: &str) -> BTreeSet<String> {
    ["kidoban_", "process_"]
        .iter()
        .flat_map(|start| words(text, start))
        .map(|name| name.trim_end_matches("_bucket").to_owned())
        .collect()
}

/// Alerts and panels ask for nothing that is not told, each metric with labels that it has.
#[test]
fn what_is_asked_for_is_among_the_metrics() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("admin");
    let admin = format!("unix:{}", socket.display());
    let _gateway = Gateway::with(&["--admin", &admin]).start();
    let mut connection = crate::http::Connection::open_unix(&socket).unwrap();
    let metrics = connection.send(&Request::get("/metrics")).unwrap().text();
    let told: BTreeSet<&str> = metrics
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next())
        .collect();
    assert!(told.len() > 20, "{told:?}");

    let mut asked = Vec::new();
    queries(&dashboard(), &mut asked);
    let alerts = read(config("alerts.yml"));
    let without_comments = alerts.lines().filter(|line| !line.trim().starts_with('#'));
    asked.extend(without_comments.map(str::to_owned));
    let mut names = BTreeSet::new();
    for query in &asked {
        for name in metrics_in(query) {
            assert!(told.contains(name.as_str()), "{name} in {query}");
            names.insert(name);
        }
        // Values that a query names stand in the output: {outcome="ok"} or {outcome=~"ok|shed"}.
        for label in ["outcome", "gate", "state", "cause", "reason"] {
            for sign in ["=\"", "=~\"", "!=\""] {
                for found in query.split(&format!("{label}{sign}")).skip(1) {
                    let values = found.split('"').next().unwrap();
                    for value in values.split('|') {
                        let told = format!("{label}=\"{value}\"");
                        assert!(metrics.contains(&told), "{told} in {query}");
                    }
                }
            }
        }
    }
    assert!(names.len() > 20, "{names:?}");
}

/// In a network of its own, so that the machine's own rules stay as they are.
#[test]
fn the_kernel_takes_the_nftables_example_twice() {
    for (program, package) in [("nft", "nftables"), ("unshare", "util-linux")] {
        // `nft` is where only the superuser looks.
        if peer(program, &format!("apt-get install {package}")).is_none() {
            return;
        }
    }
    let inside = ["--map-root-user", "--net"];
    if outcome(Command::new("unshare").args(inside).arg("true")).code != Some(0) {
        absent("this machine lets nobody make a network namespace (unshare --net)");
        return;
    }
    let script =
        "nft -c -f \"$0\" && nft -f \"$0\" && nft -f \"$0\" && nft list table inet kidoban";
    let mut command = Command::new("unshare");
    command
        .args(inside)
        .args(["sh", "-c", script])
        .arg(config("nftables.conf"));
    let table = passes(&mut command).stdout;
    assert_eq!(table.matches("ct count over").count(), 2, "{table}");
    assert_eq!(table.matches("limit rate over").count(), 2, "{table}");
}

/// Caddy's address is the one that the gateway believes, and only Caddy is seen by the world.
#[test]
fn the_compose_file_is_valid_and_trusts_only_caddy() {
    let Some(compose) = peer("docker-compose", "apt-get install docker-compose") else {
        return;
    };
    let mut command = Command::new(compose);
    command.arg("-f").arg(config("compose.yml")).arg("config");
    let told = passes(&mut command).stdout;
    let value = |name: &str| {
        let line = told.lines().find_map(|line| line.trim().strip_prefix(name));
        line.unwrap_or_else(|| panic!("no {name} in {told}"))
            .trim()
            .to_owned()
    };
    assert_eq!(value("KIDOBAN_TRUSTED_PROXY:"), value("ipv4_address:"));
    assert_eq!(value("KIDOBAN_UPSTREAM:"), "kidoban:8787");
    let (_, gateway) = told.split_once("  kidoban:\n").unwrap();
    let (_, ports) = gateway.split_once("ports:\n").unwrap();
    let ports: Vec<_> = ports
        .lines()
        .take_while(|line| line.trim().starts_with("- "))
        .collect();
    assert_eq!(ports.len(), 1, "{ports:?}");
    assert!(ports[0].contains("127.0.0.1:8788:8788"), "{ports:?}");
}

/// What stands for the programs that would change the machine. They say that they were asked.
const STAND_INS: &str = r#"
set -eu
here=$1
mount -t overlay overlay -o "lowerdir=/etc,upperdir=$here/etc,workdir=$here/etc.work" /etc
mount -t overlay overlay -o "lowerdir=/usr/local,upperdir=$here/local,workdir=$here/local.work" /usr/local
for name in apt-get systemctl; do
  printf '#!/bin/sh\necho "%s $*" >>"%s/asked"\n' "$name" "$here" >"$here/bin/$name"
  chmod 755 "$here/bin/$name"
done
PATH=$here/bin:$PATH
cd "$here/arrived"
. "$here/walk"
"#;

/// And then each tool reads what lies where the walk has put it.
const LOOK: &str = r"
set -a
. /etc/kidoban/kidoban.env
/usr/local/bin/kidoban serve --check -- $ENGINE
caddy validate --adapter caddyfile --config /etc/caddy/Caddyfile
grep -q '^{$KIDOBAN_SITE:play.example.org} {' /etc/caddy/Caddyfile
grep -q '^.admin {$CADDY_ADMIN:unix//var/lib/caddy/admin.sock}' /etc/caddy/Caddyfile
promtool check config /etc/prometheus/prometheus.yml
systemd-analyze verify --man=no kidoban.service kidoban.socket
";

/// The README's own commands, against a copy of `/etc` that nobody else sees.
#[test]
fn the_walk_puts_everything_where_it_is_read() {
    let tools = [
        ("unshare", "util-linux"),
        ("caddy", "caddy"),
        ("promtool", "prometheus"),
        ("systemd-analyze", "systemd"),
    ];
    for (program, package) in tools {
        if peer(program, &format!("apt-get install {package}")).is_none() {
            return;
        }
    }
    let readme = read(root().join("README.md"));
    let (_, section) = readme.split_once("## Run it on a VPS").unwrap();
    let (_, walk) = section
        .split_once("where the files arrived:\n\n```sh\n")
        .unwrap();
    let (walk, _) = walk.split_once("```").unwrap();
    assert!(
        (8..=12).contains(&walk.lines().count()),
        "about ten commands"
    );

    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    for name in [
        "etc",
        "etc.work",
        "local",
        "local.work",
        "bin",
        "arrived",
        "home",
    ] {
        fs::create_dir(path(name)).unwrap();
    }
    for entry in fs::read_dir(config("")).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), path("arrived").join(entry.file_name())).unwrap();
    }
    fs::copy(kidoban().get_program(), path("arrived/kidoban")).unwrap();
    fs::write(path("walk"), walk).unwrap();
    let inside = ["--map-root-user", "--mount", "sh", "-c"];
    let mount =
        "mkdir up work && mount -t overlay overlay -o lowerdir=/etc,upperdir=up,workdir=work /etc";
    let trial = tempfile::tempdir().unwrap();
    let mut may = Command::new("unshare");
    if outcome(may.args(inside).arg(mount).current_dir(&trial)).code != Some(0) {
        absent("this machine lets nobody mount in a namespace (unshare --mount, overlay)");
        return;
    }
    let mut command = Command::new("unshare");
    command
        .args(inside)
        .arg(format!("{STAND_INS}{LOOK}"))
        .args(["sh", folder.path().to_str().unwrap()])
        .env("HOME", path("home"))
        .env("CADDY_ADMIN", "off");
    let ended = passes(&mut command);
    assert!(ended.stdout.contains("--ready-probe"), "{ended:?}");
    let asked = read(path("asked"));
    let asked: Vec<_> = asked.lines().collect();
    assert_eq!(asked.len(), 5, "{asked:?}");
    assert!(asked.contains(&"systemctl enable --now kidoban.socket kidoban.service"));
    for copied in [
        "local/bin/kidoban",
        "etc/systemd/system/kidoban.socket",
        "etc/prometheus/alerts.yml",
    ] {
        assert!(path(copied).exists(), "{copied}");
    }
    // Debian's package would listen on all addresses.
    let arguments = read(path("etc/default/prometheus"));
    assert!(arguments.contains("--web.listen-address=127.0.0.1:9090"));
    assert!(
        !Path::new("/etc/kidoban").exists(),
        "the machine's own is as it was"
    );
}
