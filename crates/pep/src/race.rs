//! The first of two futures.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::Poll;

/// The future that completed first, with its output.
pub(crate) enum First<A, B> {
    One(A),
    Other(B),
}

/// Runs both until one completes, and drops futures passed by value. `one` is polled first, each time.
pub(crate) async fn race<A: Future, B: Future>(one: A, other: B) -> First<A::Output, B::Output> {
    let (mut one, mut other) = (pin!(one), pin!(other));
    poll_fn(|cx| {
        if let Poll::Ready(output) = Pin::as_mut(&mut one).poll(cx) {
            return Poll::Ready(First::One(output));
        }
        Pin::as_mut(&mut other).poll(cx).map(First::Other)
    })
    .await
}
