//! A request's body, passed from its connection to its reader on the same thread.
//!
//! The connection holds the [`Feed`] and takes from its client only what is wanted; the reader, wherever it runs, holds
//! the [`Fed`]. Each wakes the other.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;

use super::{Body, BodyError};

/// Amount of unread bytes at which no more is taken: a read of 16 KiB is never cut.
const FULL_BYTES: usize = 64 << 10;

/// The reader's demand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FeedDemand {
    /// It waits for the next piece.
    Waiting,
    /// There is room for more.
    Room,
    /// It has not taken the pieces that are ready.
    Full,
    /// It wants no more.
    Gone,
}

#[derive(Default)]
struct FeedState {
    pieces: VecDeque<Bytes>,
    bytes: usize,
    /// Bytes taken since the connection last asked.
    taken: usize,
    end: Option<Result<(), BodyError>>,
    is_waiting: bool,
    is_gone: bool,
    reader: Option<Waker>,
    feeder: Option<Waker>,
}

/// The connection's side.
pub(crate) struct Feed(Rc<RefCell<FeedState>>);

/// The reader's side.
pub(crate) struct Fed(Rc<RefCell<FeedState>>);

/// Both sides of a body.
pub(crate) fn feed() -> (Feed, Fed) {
    let state = Rc::new(RefCell::new(FeedState::default()));
    (Feed(Rc::clone(&state)), Fed(state))
}

impl Feed {
    /// The reader's demand; `cx`'s task is woken when it changes.
    pub(crate) fn demand(&self, cx: &Context<'_>) -> FeedDemand {
        let mut state = self.0.borrow_mut();
        if !state.feeder.as_ref().is_some_and(|waker| waker.will_wake(cx.waker())) {
            state.feeder = Some(cx.waker().clone());
        }
        match &*state {
            FeedState { is_gone: true, .. } => FeedDemand::Gone,
            FeedState { bytes: FULL_BYTES.., .. } => FeedDemand::Full,
            FeedState { is_waiting: true, .. } => FeedDemand::Waiting,
            _ => FeedDemand::Room,
        }
    }

    /// Returns true if the reader wants no more.
    pub(crate) fn is_gone(&self) -> bool {
        self.0.borrow().is_gone
    }

    /// Hands over a piece.
    pub(crate) fn push(&self, piece: Bytes) {
        let mut state = self.0.borrow_mut();
        if state.is_gone {
            state.taken += piece.len();
        } else if !piece.is_empty() {
            state.bytes += piece.len();
            state.pieces.push_back(piece);
            state.wake_reader();
        }
    }

    /// Ends the body, complete or not.
    pub(crate) fn end(&self, end: Result<(), BodyError>) {
        let mut state = self.0.borrow_mut();
        state.end.get_or_insert(end);
        state.wake_reader();
    }

    /// Number of bytes that the reader has taken, or will never take, since the last call.
    pub(crate) fn taken(&self) -> usize {
        std::mem::take(&mut self.0.borrow_mut().taken)
    }
}

impl Drop for Feed {
    fn drop(&mut self) {
        self.end(Err(BodyError::GivenUp("the connection ended".to_owned())));
    }
}

impl FeedState {
    fn wake_reader(&mut self) {
        self.is_waiting = false;
        if let Some(waker) = self.reader.take() {
            waker.wake();
        }
    }

    fn wake_feeder(&mut self) {
        if let Some(waker) = self.feeder.take() {
            waker.wake();
        }
    }
}

impl Body for Fed {
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        let mut state = self.0.borrow_mut();
        if let Some(piece) = state.pieces.pop_front() {
            state.bytes -= piece.len();
            state.taken += piece.len();
            state.wake_feeder();
            return Poll::Ready(Some(Ok(piece)));
        }
        match state.end.take() {
            Some(end) => {
                state.end = Some(Ok(()));
                Poll::Ready(end.err().map(Err))
            }
            None => {
                state.reader = Some(cx.waker().clone());
                if !std::mem::replace(&mut state.is_waiting, true) {
                    state.wake_feeder();
                }
                Poll::Pending
            }
        }
    }
}

impl Drop for Fed {
    fn drop(&mut self) {
        let mut state = self.0.borrow_mut();
        state.is_gone = true;
        state.pieces.clear();
        state.taken += std::mem::take(&mut state.bytes);
        state.wake_feeder();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cx() -> Context<'static> {
        Context::from_waker(Waker::noop())
    }

    fn next(fed: &mut Fed) -> Poll<Option<Result<Bytes, BodyError>>> {
        fed.poll_next(&mut cx())
    }

    #[test]
    fn pieces_come_in_order_and_no_faster_than_they_are_taken() {
        let (feed, mut fed) = feed();
        assert_eq!(feed.demand(&cx()), FeedDemand::Room);
        assert!(next(&mut fed).is_pending());
        assert_eq!(feed.demand(&cx()), FeedDemand::Waiting);
        feed.push(Bytes::from(vec![1; 10]));
        feed.push(Bytes::from(vec![2; FULL_BYTES]));
        assert_eq!(feed.demand(&cx()), FeedDemand::Full);
        assert!(matches!(next(&mut fed), Poll::Ready(Some(Ok(piece))) if piece == vec![1; 10]));
        assert_eq!((feed.taken(), feed.taken()), (10, 0));
        assert!(
            matches!(next(&mut fed), Poll::Ready(Some(Ok(piece))) if piece.len() == FULL_BYTES)
        );
        assert_eq!(feed.demand(&cx()), FeedDemand::Room);
        feed.end(Ok(()));
        assert!(matches!(next(&mut fed), Poll::Ready(None)));
        assert!(matches!(next(&mut fed), Poll::Ready(None)));
    }

    #[test]
    fn a_body_whose_connection_ends_breaks_off_once() {
        let (feed, mut fed) = feed();
        feed.push(Bytes::from_static(b"ab"));
        drop(feed);
        assert!(matches!(next(&mut fed), Poll::Ready(Some(Ok(_)))));
        assert!(matches!(next(&mut fed), Poll::Ready(Some(Err(BodyError::GivenUp(_))))));
        assert!(matches!(next(&mut fed), Poll::Ready(None)));
    }

    #[test]
    fn what_nobody_reads_counts_as_taken() {
        let (feed, fed) = feed();
        feed.push(Bytes::from_static(b"abc"));
        drop(fed);
        assert_eq!(feed.demand(&cx()), FeedDemand::Gone);
        feed.push(Bytes::from_static(b"de"));
        assert_eq!(feed.taken(), 5);
    }
}
