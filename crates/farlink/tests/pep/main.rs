//! `farlink pep`, from outside: both halves as shipped, a client and an origin over loopback.

#![expect(
    clippy::disallowed_methods,
    reason = "a real proxy between other processes takes the machine's time"
)]

#[path = "../common/mod.rs"]
mod common;
mod dying;
mod ends;
mod intercepting;
mod letting_in;
mod origin;
mod pages;
mod passing;
mod restarting;
mod round_trips;
