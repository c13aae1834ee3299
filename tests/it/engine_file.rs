//! An engine whose file a test takes away or replaces while the gateway runs, and what
//! several files here ask of engines.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use crate::harness::{Gateway, Running, stub_engine, until};

/// The probe that these tests give: the stub answers it as any other line.
pub const PROBE: [&str; 2] = ["--ready-probe", r#"{"kind":"look","mark":"probe"}"#];

/// The file of an engine, in a folder of its own.
pub struct EngineFile {
    folder: TempDir,
}

impl EngineFile {
    /// A script that becomes the stub with these arguments.
    pub fn stub(arguments: &str) -> Self {
        let file = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        file.put_stub(arguments);
        file
    }

    /// Puts another file in its place, all at once.
    ///
    /// By a process of its own: where this one holds a file open for writing, a child that
    /// another test starts in that moment does so too, and then nobody can run the file.
    pub fn put(&self, content: impl AsRef<[u8]>) {
        let script = "cat >\"$0.new\" && chmod 755 \"$0.new\" && mv \"$0.new\" \"$0\"";
        let mut shell = Command::new("sh")
            .args(["-c", script])
            .arg(self.path())
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = shell.stdin.take().unwrap();
        stdin.write_all(content.as_ref()).unwrap();
        drop(stdin);
        assert!(shell.wait().unwrap().success());
    }

    /// The same, of a script that becomes the stub.
    pub fn put_stub(&self, arguments: &str) {
        let stub = stub_engine();
        self.put(format!(
            "#!/bin/sh\nexec '{}' {arguments}\n",
            stub.display()
        ));
    }

    /// Takes it away.
    pub fn remove(&self) {
        fs::remove_file(self.path()).unwrap();
    }

    pub fn path(&self) -> PathBuf {
        self.folder.path().join("engine")
    }

    /// Another path in the same folder: a file to wait for, or one to write.
    pub fn beside(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A gateway that runs it, with limits that never get in the way and a log to be read.
    pub fn gateway(&self, options: &[&str]) -> Gateway {
        let mut all = vec!["--log-format", "json"];
        all.extend(options);
        Gateway::unlimited(&all).engine(&[self.path().to_str().unwrap()])
    }
}

/// Lets whoever waits for this file go on.
pub fn create(file: &Path) {
    fs::write(file, "").unwrap();
}

/// How many records of the log say this.
pub fn told(gateway: &Running, message: &str) -> usize {
    let records = gateway.log_records();
    let told = (records.iter()).filter(|record| record["message"] == message);
    told.count()
}

/// Waits until the log has said it so often.
pub fn until_told(gateway: &Running, message: &str, times: usize) {
    until(message, || (told(gateway, message) >= times).then_some(()));
}

/// The records of deaths so far.
pub fn deaths(gateway: &Running) -> Vec<Value> {
    let records = gateway.log_records().into_iter();
    records
        .filter(|record| record["message"] == "the engine is dead")
        .collect()
}

/// Waits until an engine that dies at once pauses for longer than any test is patient.
pub fn until_a_long_pause(gateway: &Running) {
    // Five starts at once, then 0.1 s doubled each time: the last pause is 163 s at the least.
    for known in 0..17 {
        until("one more death", || {
            (deaths(gateway).len() > known).then_some(())
        });
        if (5..16).contains(&known) {
            gateway.signal("HUP");
        }
    }
}

/// The engine that serves now, by its own word.
pub fn serving(gateway: &Running) -> u32 {
    let reply = gateway.turn(r#"{"kind":"look"}"#);
    assert_eq!(reply.status, 200, "{}", reply.text());
    u32::try_from(reply.json()["pid"].as_u64().unwrap()).unwrap()
}

/// Waits until another one than `before` serves, and no turn in between fails.
pub fn until_another_serves(gateway: &Running, before: u32) -> u32 {
    until("another engine serves", || {
        let now = serving(gateway);
        (now != before).then_some(now)
    })
}

/// Waits until so many turns are accepted and not answered.
pub fn until_waiting(gateway: &Running, turns: usize) {
    until("turns that wait", || {
        (gateway.health()["waiting"] == turns).then_some(())
    });
}
