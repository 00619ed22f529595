//! Presentation: answers, tables, spans, waterfalls.

pub mod answer;
pub mod arms;
pub mod conditions;
pub mod table;
pub mod terminal;
pub mod units;
pub mod waterfall;
pub mod why;
