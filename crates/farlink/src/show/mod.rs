//! What people are shown: tables, spans, waterfalls.

pub mod arms;
pub mod table;
pub mod units;
pub mod waterfall;
