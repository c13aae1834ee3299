//! A bound on the memory of gateway and engine together, as the unit's `MemoryMax=` sets it:
//! the kernel ends the engine, and the gateway goes on with the next.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use crate::harness::{Gateway, not_run, until};
use crate::metrics::scrape::{Scrape, expected};
use crate::watch::resident_bytes;

/// Of the group. Smaller than the unit's, to be there sooner.
const BOUND_BYTES: u64 = 128 * 1024 * 1024;
/// What the gateway holds of it: more than the engine will get to, so that size alone does not decide.
const PAGE_BYTES: u64 = 62 * 1024 * 1024;

/// A control group of its own; removed when dropped, when nobody is in it any more.
struct Group {
    folder: PathBuf,
    /// The file that counts whom the kernel ended for the bound.
    kills: &'static str,
}

impl Group {
    /// None where the kernel, or whoever runs this, gives no such group.
    fn new() -> io::Result<Self> {
        let name = format!("kidoban-test-{}", std::process::id());
        let root = Path::new("/sys/fs/cgroup");
        // The first version has a tree for each resource.
        let is_first = root.join("memory/memory.limit_in_bytes").exists();
        let (folder, kills, bounds) = if is_first {
            let bounds = ["memory.limit_in_bytes", "memory.memsw.limit_in_bytes"];
            (root.join("memory").join(name), "memory.oom_control", bounds)
        } else {
            let bounds = ["memory.max", "memory.swap.max"];
            (root.join(name), "memory.events", bounds)
        };
        fs::create_dir(&folder)?;
        let group = Self { folder, kills };
        let [memory, swap] = bounds.map(|name| group.folder.join(name));
        fs::write(memory, BOUND_BYTES.to_string())?;
        // Memory and swap together in the first version. A kernel without swap may have no such file.
        if swap.exists() {
            let bound = if is_first { BOUND_BYTES } else { 0 };
            fs::write(swap, bound.to_string())?;
        }
        Ok(group)
    }

    fn kills(&self) -> u64 {
        let told = fs::read_to_string(self.folder.join(self.kills)).unwrap();
        let kills = told.lines().find_map(|line| line.strip_prefix("oom_kill "));
        kills.expect("it is counted").parse().unwrap()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        until("the group is empty", || {
            match fs::remove_dir(&self.folder) {
                Err(error) if error.kind() == io::ErrorKind::ResourceBusy => None,
                _ => Some(()),
            }
        });
    }
}

#[test]
fn an_engine_that_grows_is_ended_by_the_kernel_and_the_gateway_goes_on() {
    let group = match Group::new() {
        Ok(group) => group,
        Err(error) => {
            return not_run(&format!(
                "this machine gives no group with a bound: {error}"
            ));
        }
    };
    let folder = tempfile::tempdir().unwrap();
    let page = File::create(folder.path().join("page")).unwrap();
    page.set_len(PAGE_BYTES).unwrap();
    let enter = format!("echo $$ >'{}/cgroup.procs'", group.folder.display());
    let page = ["--static", folder.path().to_str().unwrap()];
    let gateway = Gateway::after(
        &enter,
        &[&page[..], &["--rate=1000", "--burst=1000"]].concat(),
    )
    .admin()
    .start();
    let held = resident_bytes(gateway.pid());
    assert!(held > BOUND_BYTES / 2, "it holds {held} bytes");

    let look = r#"{"kind":"look"}"#;
    for deaths in 1..=3 {
        let engine = gateway.turn(look).json()["pid"].clone();
        assert_eq!(engine, gateway.one_engine());
        let grows = gateway.turn(r#"{"kind":"look","do":"grow:512"}"#);
        assert_eq!((grows.status, &*grows.code()), (502, "engine_failed"));
        let next = until("the next engine answers", || {
            let reply = gateway.turn(look);
            (reply.status == 200).then(|| reply.json()["pid"].clone())
        });
        assert_ne!(next, engine);
        assert_eq!(group.kills(), deaths, "nobody else was ended");
        let death = &gateway.status()["engine"]["deaths"][0];
        assert_eq!(death["status"], "signal: 9 (SIGKILL)");
        assert_eq!(death["code"], "exited");
        let counted = Scrape::of(&gateway).by_label("kidoban_engine_deaths_total");
        assert_eq!(counted, expected(&[("exited", deaths)]));
    }
}
