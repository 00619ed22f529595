//! The source of a streamed response's body.

use std::task::{Context, Poll, ready};

use bytes::Bytes;

use super::{Body, BodyError};

/// A body checked against its announced length: a client never takes one of another length for complete.
pub(crate) struct Source {
    body: Box<dyn Body>,
    left: Option<u64>,
}

impl Source {
    pub(crate) fn new(body: Box<dyn Body>, length: Option<u64>) -> Source {
        Source { body, left: length }
    }

    /// Returns true if the end is known without polling.
    pub(crate) fn has_ended(&self) -> bool {
        self.left == Some(0)
    }

    /// The next piece, never an empty one; `None` at the end.
    pub(crate) fn poll_next(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Option<Bytes>, BodyError>> {
        if self.has_ended() {
            return Poll::Ready(Ok(None));
        }
        loop {
            let next = ready!(self.body.poll_next(cx)).transpose()?;
            let other_length = |how| BodyError::Malformed(format!("it is {how} than announced"));
            let Some(piece) = next else {
                return Poll::Ready(match self.left {
                    None => Ok(None),
                    Some(_) => Err(other_length("shorter")),
                });
            };
            if let Some(left) = &mut self.left {
                let rest = left.checked_sub(piece.len() as u64);
                *left = rest.ok_or_else(|| other_length("longer"))?;
            }
            if !piece.is_empty() {
                return Poll::Ready(Ok(Some(piece)));
            }
        }
    }
}

impl Body for Source {
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        Source::poll_next(self, cx).map(Result::transpose)
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use super::*;

    /// A body of this many bytes, one by one.
    struct Ones(u64);

    impl Body for Ones {
        fn poll_next(&mut self, _: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
            let left = self.0.checked_sub(1);
            self.0 = left.unwrap_or(0);
            Poll::Ready(left.map(|_| Ok(Bytes::from_static(b"1"))))
        }
    }

    fn drawn(bytes: u64, length: Option<u64>) -> Result<u64, BodyError> {
        let mut source = Source::new(Box::new(Ones(bytes)), length);
        let mut cx = Context::from_waker(Waker::noop());
        let mut drawn = 0;
        loop {
            match Source::poll_next(&mut source, &mut cx) {
                Poll::Pending => panic!("it never waits"),
                Poll::Ready(Ok(None)) => return Ok(drawn),
                Poll::Ready(Ok(Some(piece))) => drawn += piece.len() as u64,
                Poll::Ready(Err(error)) => return Err(error),
            }
        }
    }

    #[test]
    fn a_body_is_as_long_as_was_announced_or_breaks_off() {
        assert_eq!(drawn(5, None).ok(), Some(5));
        assert_eq!(drawn(5, Some(5)).ok(), Some(5));
        assert_eq!(drawn(0, Some(0)).ok(), Some(0));
        assert!(drawn(4, Some(5)).is_err());
        // Bytes beyond the announced length are never passed on.
        assert_eq!(drawn(6, Some(5)).ok(), Some(5));
    }
}
