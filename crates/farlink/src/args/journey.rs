//! The way through several visits.

use clap::Args;

#[derive(Args)]
pub struct Journey {
    /// How often the page, or the list of pages, is gone through in one journey (docs/journeys.md).
    #[arg(long, default_value_t = 1, value_name = "N", help_heading = "Journey")]
    pub times: u32,

    /// In which order the pages of a list are visited: listed, drawn (shuffled, the same for all repetitions) or drawn-anew (for
    /// each repetition).
    #[arg(long, default_value = "listed", value_name = "ORDER", help_heading = "Journey")]
    pub page_order: String,

    /// When the next visit begins: think=10s after the end of the last, or every=60s from beginning to beginning.
    #[arg(long, default_value = "think=10s", value_name = "PACE", help_heading = "Journey")]
    pub pace: String,

    /// What outlives a visit, separated by commas: connections, sessions (TLS), metrics (TCP's), cache, names (DNS); or nothing.
    #[arg(long, default_value = "sessions,metrics", value_name = "WHAT", help_heading = "Journey")]
    pub keeps: String,
}
