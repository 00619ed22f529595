//! A proxy in virtual time between clients and origins that misbehave, each written byte by byte.

mod check;
mod collapsing;
mod compression;
mod failover;
mod images;
mod replies;
mod shares;
mod town;
