//! Either end of every protocol, for interoperability tests with third-party software (`scripts/interop`). It runs over
//! the machine's own sockets, presents (or trusts) the fixed RSA certificate of `crates/tls/assets`, and speaks only
//! the protocol that it is told.
//!
//! ```text
//! peer serve PROTOCOL SECURITY ADDRESS FOLDER [--streams N] [--window BYTES] [--header BYTES] [--push NAME]
//! peer fetch PROTOCOL SECURITY ADDRESS PATH... [--times N] [--connections N] [--post BYTES] [--header BYTES] [--window BYTES] [--take-pushes]
//! ```
//!
//! PROTOCOL is `h1`, `h1-pipelined` (of a client), `h2`, `h3`, `spdy`, `spdy/3` or `spdy/2`; SECURITY `none`, `tls12` or `tls13`.

mod fetch;
mod options;
mod serve;

use std::error::Error;

use options::Options;

fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let end = words.next().unwrap_or_default();
    let options = Options::parse(words)?;
    let config = world::real::Config::new(chance::RandomSource::new(1, 0));
    match end.as_str() {
        "serve" => world::real::run(config, serve::serve(options))?,
        "fetch" => world::real::run(config, fetch::fetch(options))?,
        _ => Err(format!("`{end}` is no end: say `serve` or `fetch`").into()),
    }
}
