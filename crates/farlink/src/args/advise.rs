//! Options of `farlink advise`.

use clap::{Args, ValueHint};

use super::{How, Loads};

#[derive(Args)]
pub struct Advise {
    /// Page, as `farlink load` takes it: a HAR file, an archive, a name.
    #[arg(value_hint = ValueHint::AnyPath)]
    pub page: String,

    #[command(flatten)]
    pub how: How,

    /// Shares of users on the networks, in their order: 60,40 (default: equal).
    #[arg(long, value_delimiter = ',', value_name = "SHARE", allow_negative_numbers = true)]
    pub share: Vec<f64>,

    /// Try proxies and PEPs at the network's far end, too: what its operator can place.
    #[arg(long)]
    pub middleboxes: bool,

    #[command(flatten)]
    pub loads: Loads,

    /// Try every configuration instead of searching.
    #[arg(long)]
    pub exhaustive: bool,

    /// Print JSON, one object, instead of tables.
    #[arg(long)]
    pub json: bool,
}
