//! Import and export of the files of bth2013's own programs (its appendix A): settings of `newrun.sh` and
//! `run.py` become an experiment, and its results become the documents that `run.py` stored.
//!
//! Nothing is executed: a case file, a shell script to its own program, is read as a list of assignments. No
//! database server is contacted.

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
