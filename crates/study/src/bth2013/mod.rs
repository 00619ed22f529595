//! The files of bth2013's own programs (its appendix A): what `newrun.sh` and `run.py` were told becomes an experiment, and what an experiment measured the documents
//! that `run.py` stored.
//!
//! Nothing is executed: a case file is a shell script to its program, and a list of assignments here. No database server is spoken to.

mod case;
mod config;
mod documents;
mod error;
mod experiment;
mod options;
mod terms;

pub use self::config::Config;
pub use self::documents::{DocumentError, Written, documents};
pub use self::error::{FileError, Place};
pub use self::options::Options;
pub use self::terms::{Conditions, NetType, Protocol, Uplink};
