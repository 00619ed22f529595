//! Benchmark of simulated page loads: loads per second on one core, and memory.
//!
//! A load is `farlink load` for one visit: the whole of [`Simulator::execute`], from the plan to the record and
//! its floors. Each has a seed of its own. Time is the thread's CPU time, because machines are shared; the best
//! of many short rounds counts, since other users of a core's caches and pipelines take turns longer than one
//! round; and beside each round a fixed loop of integer and memory work is timed, so that numbers of different
//! machines and hours can be compared. Costs of the store and the reports are left out.
//!
//! ```text
//! loads [ROUNDS LOADS]      every arm, as a table: by default the best of 100 rounds of 10 loads
//! loads --count ARM LOADS   loads of one arm and nothing else, for callgrind to count
//! ```

use std::process::ExitCode;
use std::time::Duration;

use farlink_testbed::simulate::Simulator;
use rustix::time::{ClockId, clock_gettime};
use scenario::{Execute, Order, Plan};
use scenario::{NetworkSpec, Protocol, Scenario, Tls};

/// The allocator of `farlink` itself.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const PAGE: &str = "synthetic:100x10KB";
const NETWORK: &str = "rtt=100ms,down=10mbit,up=10mbit,queue=100pkt";

/// Measured arms: a name and the stack behind it.
const ARMS: [(&str, Protocol, Tls); 8] = [
    ("h1/none", Protocol::H1, Tls::None),
    ("h1/tls13", Protocol::H1, Tls::Tls13),
    ("h2/none", Protocol::H2, Tls::None),
    ("h2/tls13", Protocol::H2, Tls::Tls13),
    ("spdy/none", Protocol::Spdy, Tls::None),
    ("spdy/tls13", Protocol::Spdy, Tls::Tls13),
    ("h3-deployed", Protocol::H3Deployed, Tls::Tls13),
    ("h3-matched", Protocol::H3Matched, Tls::Tls13),
];

fn main() -> ExitCode {
    // Cargo adds `--bench`.
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let size = match words[..] {
        [] => Some((100, 10)),
        [rounds, loads] => number(rounds).zip(number(loads)),
        _ => None,
    };
    let done = match words[..] {
        ["--count", arm, loads] => number(loads).and_then(|loads| count(arm, loads)),
        _ => size.map(|(rounds, loads)| table(rounds, loads)),
    };
    match done {
        Some(()) => ExitCode::SUCCESS,
        None => {
            let arms = ARMS.map(|(name, ..)| name).join(", ");
            eprintln!("error: usage: loads [ROUNDS LOADS] | loads --count ARM LOADS");
            eprintln!("\nhint: an ARM is one of {arms}");
            ExitCode::FAILURE
        }
    }
}

fn number(text: &str) -> Option<u32> {
    text.parse().ok().filter(|number| *number > 0)
}

/// Loads of one arm and nothing else; `None` if there is no such arm.
fn count(arm: &str, loads: u32) -> Option<()> {
    let plan = plan(arm, loads)?;
    run(&Simulator::default(), &plan, loads);
    Some(())
}

/// The plan of one arm's loads; `None` if there is no such arm.
fn plan(arm: &str, loads: u32) -> Option<Plan> {
    let (_, protocol, tls) = ARMS.into_iter().find(|(name, ..)| *name == arm)?;
    let mut scenario = Scenario::new(PAGE, NetworkSpec::parse(NETWORK).expect("a valid network"));
    scenario.stack.protocol = protocol;
    scenario.stack.tls = tls;
    Some(Plan::new("loads", 1, loads, Order::Blocked, vec![scenario]))
}

/// Loads the page `loads` times. Every load must succeed, or the measurement means nothing.
fn run(simulator: &Simulator, plan: &Plan, loads: u32) {
    for position in 0..u64::from(loads) {
        let result = simulator.execute(&plan.journey(position));
        assert_eq!(result.failure, None, "a load failed");
        assert!(result.visits[0].record.plt_ns().is_some(), "a page did not load");
    }
}

fn table(rounds: u32, loads: u32) {
    println!("{PAGE} over {NETWORK}; best of {rounds} rounds of {loads} loads");
    println!(
        "{:<12} {:>14} {:>12} {:>18}",
        "arm", "loads/CPU-s", "CPU ms/load", "calibrations/load"
    );
    let simulator = Simulator::default();
    let mut fastest = Duration::MAX;
    for (name, ..) in ARMS {
        let plan = plan(name, loads).expect("an arm of the table");
        run(&simulator, &plan, loads.min(20));
        let measured = (0..rounds).map(|_| {
            let calibration = timed(calibrate);
            (timed(|| run(&simulator, &plan, loads)) / loads, calibration)
        });
        let (load, calibration) = measured.min().expect("at least one round");
        fastest = fastest.min(calibration);
        let seconds = load.as_secs_f64();
        let relative = seconds / calibration.as_secs_f64();
        println!("{name:<12} {:>14.0} {:>12.3} {relative:>18.4}", 1.0 / seconds, seconds * 1e3);
    }
    println!("calibration loop: {:.1} ms", fastest.as_secs_f64() * 1e3);
    match peak_rss_kib() {
        Some(kib) => println!("peak memory (VmHWM, one worker): {:.1} MiB", kib as f64 / 1024.0),
        None => println!("peak memory: not known on this system"),
    }
}

/// The CPU time that `work` took on this thread.
fn timed(work: impl FnOnce()) -> Duration {
    let now = || {
        let now = clock_gettime(ClockId::ThreadCPUTime);
        Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
    };
    let before = now();
    work();
    now() - before
}

/// A fixed amount of work: dependent multiplications and reads scattered over 256 KiB, similar to the processor
/// load of a simulation. About 25 ms on a server core of 2024.
fn calibrate() {
    let mut memory: Vec<u64> = (0..32 * 1024).collect();
    let mut state = 1_u64;
    for _ in 0..4_000_000 {
        let place = &mut memory[(state >> 49) as usize];
        *place = place.wrapping_add(state);
        state = (state ^ *place).wrapping_mul(6_364_136_223_846_793_005).rotate_left(23) | 1;
    }
    std::hint::black_box(state);
}

/// The peak resident memory of this process.
fn peak_rss_kib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.parse().ok()
}
