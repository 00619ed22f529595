//! What is recorded of visits over time.

use clap::Args;

#[derive(Args)]
pub struct Recording {
    /// What is recorded of visits over time, separated by commas: windows, throughput, packets, radio, departures (docs/store.md; default:
    /// nothing). In the simulated world only.
    #[arg(long, value_name = "WHAT", help_heading = "Results")]
    pub record: Option<String>,
}
