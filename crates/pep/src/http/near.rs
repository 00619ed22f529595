//! The near end's part: trapping a client's GETs, and answering from pushed responses.

mod answer;
mod front;
mod store;

pub(crate) use self::answer::{Answered, Asking, answer};
pub(crate) use self::front::{Front, Next};
pub(crate) use self::store::Store;
