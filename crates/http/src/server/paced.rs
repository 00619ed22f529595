//! A request's body with a minimum rate.

use std::task::{Context, Poll, ready};

use bytes::Bytes;

use super::{Body, BodyError, Patience, Patient, RequestBody};
use crate::wheel::Timer;

/// A body that fails as stalled if it comes too slowly. Time in which it is not awaited does not count.
pub(crate) struct Paced {
    body: RequestBody,
    timer: Timer,
    patient: Patient,
    patience: Patience,
    is_waiting: bool,
}

impl Paced {
    pub(crate) fn body(body: RequestBody, timer: Timer, patient: Patient) -> RequestBody {
        let length = body.length();
        let patience = Patience::default();
        RequestBody::new(
            Box::new(Paced { body, timer, patient, patience, is_waiting: false }),
            length,
        )
    }
}

impl Body for Paced {
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        let next = self.body.poll_next(cx);
        match &next {
            Poll::Ready(Some(Ok(piece))) => self.patience.took(world::now(), piece.len()),
            Poll::Ready(_) => {}
            Poll::Pending => {
                if !self.is_waiting {
                    let Patient { idle_timeout, body_pace, .. } = self.patient;
                    let left = self.patience.wait(world::now(), Some(body_pace), idle_timeout);
                    self.timer.set(left);
                    self.is_waiting = true;
                }
                ready!(self.timer.poll_expired(cx));
                return Poll::Ready(Some(Err(BodyError::Stalled)));
            }
        }
        self.is_waiting = false;
        next
    }
}
