//! Follows all connections of a namespace in its own thread.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

use units::Time;

use super::socket::{Diag, Obituaries, Seen};
use crate::{Error, Motions, monotonic, note_change};

/// A thread that polls all connections of a namespace, and keeps the changes.
#[derive(Debug)]
pub struct Follower {
    /// Dropped to stop it.
    stop: Sender<()>,
    thread: JoinHandle<Result<Motions, Error>>,
}

impl Follower {
    /// Starts to follow the connections of the calling thread's namespace, polling once per `every`; times count from `began` on
    /// `CLOCK_MONOTONIC`.
    ///
    /// # Errors
    /// If the kernel was built without `INET_DIAG`.
    pub fn start(every: Duration, began: Duration) -> Result<Follower, Error> {
        let view = View {
            diag: Diag::open()?,
            obituaries: Obituaries::open()?,
            began,
            motions: Motions::new(),
        };
        let (stop, stopped) = mpsc::channel::<()>();
        let thread = std::thread::spawn(move || {
            let mut view = view;
            while stopped.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
                view.look()?;
            }
            view.look_back()
        });
        Ok(Follower { stop, thread })
    }

    /// Polls a last time and ends.
    ///
    /// # Errors
    /// If a poll had failed.
    pub fn finish(self) -> Result<Motions, Error> {
        drop(self.stop);
        self.thread.join().expect("the follower's thread does not panic")
    }
}

struct View {
    diag: Diag,
    obituaries: Obituaries,
    began: Duration,
    motions: Motions,
}

impl View {
    fn look(&mut self) -> Result<(), Error> {
        let ended = self.obituaries.waiting()?;
        self.note(&ended);
        let open = self.diag.connections()?;
        self.note(&open);
        Ok(())
    }

    /// The last poll. Connections that end just now are seen open or ended, or both, in this order.
    fn look_back(mut self) -> Result<Motions, Error> {
        let open = self.diag.connections()?;
        self.note(&open);
        let ended = self.obituaries.up_to_now()?;
        self.note(&ended);
        Ok(self.motions)
    }

    fn note(&mut self, all: &[Seen]) {
        let now = Time::ZERO + monotonic().saturating_sub(self.began);
        // A listener, or a socket that was never connected, has no other end.
        for Seen { connection, snapshot } in
            all.iter().filter(|seen| seen.connection.peer.port() != 0)
        {
            let motion = self.motions.entry(*connection).or_default();
            note_change(&mut motion.samples, now, snapshot);
        }
    }
}
