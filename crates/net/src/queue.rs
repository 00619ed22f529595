//! Queue disciplines: which packets wait for the server, and which are dropped.

mod backlog;
mod codel;
mod codel_queue;
mod discipline;
mod drop_tail;
mod fq_codel;
mod pie;

use backlog::Backlog;
pub(crate) use codel_queue::CodelQueue;
pub(crate) use discipline::{Discipline, Drops, Queued};
pub(crate) use drop_tail::DropHead;
pub(crate) use drop_tail::TailDrop;
pub(crate) use drop_tail::{Depth, DropTail};
pub(crate) use fq_codel::FqCodel;
pub(crate) use pie::PieQueue;
