//! Possible leftovers of sandboxes on the machine.

use std::time::{Duration, Instant};

/// The traces of a sandbox: its processes, here those with a marker among their arguments or in their environment,
/// and mounts. Namespaces without either do not exist (namespaces(7)).
#[derive(Debug, PartialEq, Eq)]
pub struct Traces {
    pub processes: usize,
    pub mounts: usize,
}

/// The present traces.
pub fn traces(marker: &str) -> Traces {
    let holds = |process: &std::fs::DirEntry, file: &str| {
        let text = std::fs::read(process.path().join(file)).unwrap_or_default();
        text.split(|byte| *byte == 0).any(|item| item.ends_with(marker.as_bytes()))
    };
    let is_marked =
        |process: &std::fs::DirEntry| holds(process, "cmdline") || holds(process, "environ");
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    Traces {
        processes: std::fs::read_dir("/proc").unwrap().flatten().filter(is_marked).count(),
        mounts: mounts.lines().count(),
    }
}

/// Waits until nothing is left. A scan of `/proc` misses a process that is forked meanwhile, so a single empty scan
/// does not count.
#[track_caller]
pub fn assert_gone(marker: &str, before: &Traces) {
    const SCANS: usize = 5;
    let began = Instant::now();
    let mut clean = 0;
    while clean < SCANS {
        let now = traces(marker);
        clean = if now == *before { clean + 1 } else { 0 };
        assert!(began.elapsed() < Duration::from_secs(10), "left: {now:?}, before: {before:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
