//! Whatever the path does, both streams arrive complete and in order, neither end waits for ever, and the rules of windows
//! are kept.
//!
//! Each case is a pure function of its number. `FARLINK_TCP_CASES=100000` runs this many per generation;
//! `FARLINK_TCP_CASE=4711` runs that one alone.

mod application;
mod audit;
mod case;
#[path = "../common/mod.rs"]
mod common;
mod exchange;

use std::ops::Range;

use farlink_tcp::Generation;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};

/// Cases for each of the five generations in an ordinary run.
const CASES: u64 = 2_000;

#[test]
fn linux_2_6_32() {
    run(Generation::Linux2_6_32);
}

#[test]
fn linux_3_0() {
    run(Generation::Linux3_0);
}

#[test]
fn linux_3_2() {
    run(Generation::Linux3_2);
}

#[test]
fn linux_3_10() {
    run(Generation::Linux3_10);
}

#[test]
fn linux_6() {
    run(Generation::Linux6);
}

/// Runs all cases in which the server is of this generation.
fn run(server: Generation) {
    for number in numbers() {
        let cases = case::cases(server);
        let outcome = runner(number).run(&cases, |case| {
            exchange::exchange(&case);
            Ok::<(), TestCaseError>(())
        });
        if let Err(error) = outcome {
            let test = server.to_string().replace(['-', '.'], "_");
            panic!(
                "case {number}: {error}\nto repeat it: FARLINK_TCP_CASE={number} cargo test -p farlink-tcp \
                 --test integrity {test}"
            );
        }
    }
}

fn numbers() -> Range<u64> {
    if let Some(number) = variable("FARLINK_TCP_CASE") {
        return number..number + 1;
    }
    0..variable("FARLINK_TCP_CASES").unwrap_or(CASES)
}

#[expect(
    clippy::disallowed_methods,
    reason = "whoever runs the tests may ask for more, or for one"
)]
fn variable(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name} is a whole number, not `{text}`")))
}

/// Draws one case, the same for the same number, and makes it smaller if it fails.
fn runner(number: u64) -> TestRunner {
    let mut seed = [0; 32];
    seed[..8].copy_from_slice(&number.to_le_bytes());
    let config =
        Config { cases: 1, failure_persistence: None, max_shrink_iters: 300, ..Config::default() };
    TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &seed))
}
