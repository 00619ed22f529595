//! The way to the page's hosts.

use clap::Args;

#[derive(Args)]
pub struct Route {
    /// The way to the page's hosts: direct, proxy, caching-proxy, socks or pep, with a proxy that it is like (apache, mod_spdy, squid-3.1,
    /// nokia-netty), settings of it and of the stretch beyond: caching-proxy:nokia-netty,rtt=50ms,rate=100mbit,cache=primed;
    /// pep,channels=2,prefetch=off. A proxy may stand nearer (at=first-hop), and a second one behind it: caching-proxy,at=first-hop/caching-proxy (docs/routes.md).
    #[arg(long, default_value = "direct", value_name = "ROUTE", help_heading = "Network")]
    pub route: String,
}
