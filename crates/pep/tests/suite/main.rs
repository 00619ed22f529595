//! Performance-enhancing proxies between real clients and servers. One program, since linking one for each file
//! takes minutes.

#[path = "../common/mod.rs"]
mod common;

mod clear_page;
mod quic;
mod real;
mod split;
mod tls_page;
mod windows;
