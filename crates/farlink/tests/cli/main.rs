//! farlink as its users have it: commands in a scratch directory. One program, since linking forty takes minutes.

#[path = "../common/mod.rs"]
mod common;
#[expect(clippy::disallowed_methods, reason = "processes end in the machine's own time")]
#[path = "../remains/mod.rs"]
mod remains;

mod advise;
mod background;
mod budgets;
mod catalogues;
mod chromium;
mod compare;
mod decide;
mod documentation;
mod emulated;
mod experiments;
mod init;
mod journeys;
mod link_test;
mod load;
mod matrix;
mod multiplexing;
mod radios;
mod record;
mod recorded_files;
mod recordings;
mod refusals;
mod replay;
mod schema;
mod studies;
mod study_files;
mod survival;
mod tables;
mod traces;
mod transfers;
mod until;
mod validation;
mod what_if;
mod why;
