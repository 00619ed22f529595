//! On how many machines a page is.

use clap::Args;

#[derive(Args)]
pub struct Hosting {
    /// The page's hosts: apart, each at an address of its own, or together at one, with one certificate and the same workers.
    #[arg(long, default_value = "apart", help_heading = "Servers")]
    pub hosting: String,
}
