//! Received frames, the answers to invalid ones, and rate limits on frames that cost their sender nothing.

use std::time::Duration;

use bytes::Bytes;

use super::event::Message;
use super::streams::HalfState;
use super::{Event, Role, Session, SessionError};
use crate::frame::{self, Block, Frame, SettingId, Settings, SynStream};
use crate::{Fields, Limits, Priority, ResetReason, StreamId, Version};

/// Error in a frame.
enum FrameFault {
    /// Its stream is reset (2.4.2).
    Stream(StreamId, ResetReason),
    /// The session ends (2.4.1).
    Session(SessionError),
}

impl<E: Into<SessionError>> From<E> for FrameFault {
    fn from(error: E) -> FrameFault {
        FrameFault::Session(error.into())
    }
}

type FrameVerdict = Result<(), FrameFault>;

impl Session {
    /// Processes `bytes` received from the peer. `now` is the time since any fixed instant.
    pub fn receive(&mut self, now: Duration, bytes: Bytes) {
        self.floods.tell(now);
        let mut bytes = bytes;
        while !self.life.failed {
            let verdict = match self.reader.next(&mut bytes) {
                Ok(Some(frame)) => self.accept(frame),
                Ok(None) => return,
                Err(error) => Err(error.into()),
            };
            if let Err(fault) = verdict {
                self.answer(fault);
            }
        }
    }

    fn answer(&mut self, fault: FrameFault) {
        match fault {
            FrameFault::Session(error) => self.fail(error),
            FrameFault::Stream(stream, reason) => {
                if self.streams.remove(stream).is_some() {
                    self.events.push_back(Event::Broken { stream, reason });
                } else if let Err(error) = self.floods.idle_frame() {
                    return self.fail(error);
                }
                self.send_reset(stream, reason);
            }
        }
    }

    fn accept(&mut self, frame: Frame) -> FrameVerdict {
        match frame {
            Frame::Data { stream, payload, fin } => self.on_data(stream, payload, fin),
            Frame::SynStream(frame) => self.on_syn_stream(frame),
            Frame::SynReply(frame) => self.on_syn_reply(frame),
            Frame::Headers(frame) => self.on_headers(frame),
            Frame::RstStream { stream, reason } => self.on_reset(stream, reason),
            Frame::Settings(settings) => self.on_settings(settings),
            Frame::Ping(id) => self.on_ping(id),
            Frame::GoAway { last, reason } => {
                self.life.peer_goes = true;
                for stream in self.streams.ours_after(last) {
                    self.lose(stream, ResetReason::REFUSED_STREAM);
                }
                self.events.push_back(Event::GoAway { last, reason });
                Ok(())
            }
            Frame::WindowUpdate { stream, delta } => self.on_window_update(stream, delta),
            Frame::Credential => Err(SessionError::Credential.into()),
            Frame::OtherVersion(stream) => {
                Err(FrameFault::Stream(stream, ResetReason::UNSUPPORTED_VERSION))
            }
            Frame::Noop | Frame::Unknown => Ok(self.floods.idle_frame()?),
        }
    }

    /// Inflates a block, which must be done even if its fields are not wanted. The inner error is the stream's.
    fn inflate(&mut self, block: &[u8]) -> Result<Result<Fields, ResetReason>, SessionError> {
        self.inflater.code(block, &mut self.scratch)?;
        let fields = Fields::read(self.version, &self.scratch, self.config.limits.fields);
        Ok(fields.map_err(|_| ResetReason::PROTOCOL_ERROR))
    }

    fn on_syn_stream(&mut self, frame: SynStream) -> FrameVerdict {
        let fields = self.inflate(&frame.block)?;
        let wire_bytes = frame.wire_bytes();
        let SynStream { stream, associated, priority, fin, .. } = frame;
        let last = self.streams.last_received();
        if stream.is_zero() || self.streams.is_ours(stream) || stream < last {
            return Err(SessionError::StreamId { stream, last }.into());
        }
        if stream == last {
            return Err(FrameFault::Stream(stream, ResetReason::PROTOCOL_ERROR));
        }
        self.streams.note_received(stream);
        if self.life.this_goes {
            // "After sending a GOAWAY message, the sender must ignore all SYN_STREAM frames for new streams."
            return Ok(self.floods.idle_frame()?);
        }
        let refuse = |reason| FrameFault::Stream(stream, reason);
        match self.role {
            Role::Server => self.check_request(&frame).map_err(refuse)?,
            Role::Client => self.check_pushed(&frame)?,
        }
        if self.streams.theirs() >= self.config.streams as usize {
            return Err(refuse(ResetReason::REFUSED_STREAM));
        }
        let fields = fields.map_err(refuse)?;
        self.begin_received(stream, priority, &frame);
        self.events.push_back(Event::Opened {
            stream,
            associated,
            priority,
            fields,
            fin,
            wire_bytes,
        });
        Ok(())
    }

    fn check_request(&self, frame: &SynStream) -> Result<(), ResetReason> {
        // The slot exists in version 3; 3.1 has dropped it.
        if frame.slot != 0 && self.version == Version::V3 {
            return Err(ResetReason::INVALID_CREDENTIALS);
        }
        // A request that accepts no response.
        if frame.unidirectional { Err(ResetReason::PROTOCOL_ERROR) } else { Ok(()) }
    }

    /// A pushed stream belongs to an open request (3.3). It is treated as unidirectional even if the flag is
    /// missing, as in npm's spdy-transport; Chrome did not check either.
    fn check_pushed(&self, frame: &SynStream) -> FrameVerdict {
        let refuse = |reason| Err(FrameFault::Stream(frame.stream, reason));
        if frame.associated.is_zero() {
            return match self.version {
                Version::V2 => refuse(ResetReason::INVALID_STREAM),
                _ => Err(SessionError::Unassociated(frame.stream).into()),
            };
        }
        match self.streams.get(frame.associated) {
            Some(request) if request.receiving == HalfState::Open => Ok(()),
            _ => refuse(ResetReason::INVALID_STREAM),
        }
    }

    fn begin_received(&mut self, stream: StreamId, priority: Priority, frame: &SynStream) {
        let mut state = self.new_stream(stream, priority);
        state.associated = frame.associated;
        if frame.unidirectional || self.role == Role::Client {
            state.sending = HalfState::Closed;
            state.is_replied = true;
        }
        if frame.fin {
            state.receiving = HalfState::Closed;
        }
        self.streams.insert(stream, state);
        self.streams.settle(stream);
    }

    fn on_syn_reply(&mut self, frame: Block) -> FrameVerdict {
        let fields = self.inflate(&frame.block)?;
        let stream = frame.stream;
        let refuse = |reason| FrameFault::Stream(stream, reason);
        let is_ours = self.streams.is_ours(stream);
        let Some(state) = self.streams.get_mut(stream) else { return self.stray(stream) };
        if state.receiving == HalfState::Closed {
            return Err(refuse(ResetReason::STREAM_ALREADY_CLOSED));
        }
        if !is_ours {
            return Err(refuse(ResetReason::PROTOCOL_ERROR));
        }
        if std::mem::replace(&mut state.is_replied, true) {
            return Err(refuse(ResetReason::STREAM_IN_USE));
        }
        let message = self.message(frame, fields.map_err(refuse)?);
        self.events.push_back(Event::Replied(message));
        Ok(())
    }

    fn on_headers(&mut self, frame: Block) -> FrameVerdict {
        let fields = self.inflate(&frame.block)?;
        let stream = frame.stream;
        let refuse = |reason| FrameFault::Stream(stream, reason);
        let Some(state) = self.streams.get(stream) else { return self.stray(stream) };
        if state.receiving == HalfState::Closed {
            return Err(refuse(ResetReason::STREAM_ALREADY_CLOSED));
        }
        self.floods.idle_frame()?;
        let message = self.message(frame, fields.map_err(refuse)?);
        self.events.push_back(Event::Headers(message));
        Ok(())
    }

    fn message(&mut self, frame: Block, fields: Fields) -> Message {
        let wire_bytes = frame.wire_bytes(self.version);
        let Block { stream, fin, .. } = frame;
        if fin {
            self.streams.end_receiving(stream);
        }
        Message { stream, fields, fin, wire_bytes }
    }

    fn on_data(&mut self, stream: StreamId, payload: Bytes, fin: bool) -> FrameVerdict {
        // Counted even if the frame is invalid: its sender has counted it (2.6.8).
        if let Some(window) = &mut self.receive_window {
            window.receive(payload.len()).map_err(|_| SessionError::Overrun)?;
        }
        let verdict = self.check_data(stream, payload.len(), fin);
        if !matches!(verdict, Ok(true)) {
            self.consume_session(payload.len());
            return verdict.map(drop);
        }
        if fin {
            self.streams.end_receiving(stream);
        }
        self.events.push_back(Event::Data { stream, payload, fin });
        Ok(())
    }

    /// Returns true if the data are wanted.
    fn check_data(
        &mut self,
        stream: StreamId,
        bytes: usize,
        fin: bool,
    ) -> Result<bool, FrameFault> {
        if bytes == 0 && !fin {
            self.floods.idle_frame()?;
        }
        let refuse = |reason| Err(FrameFault::Stream(stream, reason));
        let Some(state) = self.streams.get_mut(stream) else {
            return self.stray(stream).map(|()| false);
        };
        if state.receiving == HalfState::Closed {
            return refuse(ResetReason::STREAM_ALREADY_CLOSED);
        }
        let is_answer = self.role == Role::Client && stream.is_clients();
        if is_answer && !state.is_replied {
            return match self.version {
                Version::V2 => Err(SessionError::DataBeforeReply(stream).into()),
                _ => refuse(ResetReason::PROTOCOL_ERROR),
            };
        }
        let overrun = state.receive_window.as_mut().is_some_and(|w| w.receive(bytes).is_err());
        if overrun { refuse(ResetReason::FLOW_CONTROL_ERROR) } else { Ok(true) }
    }

    /// A frame for a stream that is not open.
    fn stray(&mut self, stream: StreamId) -> FrameVerdict {
        if self.streams.was_reset(stream) {
            return Ok(());
        }
        if self.streams.is_unused(stream) {
            return Err(FrameFault::Stream(stream, ResetReason::INVALID_STREAM));
        }
        match self.version {
            // "It must ignore the data received after the teardown" (draft 2, "Stream close").
            Version::V2 => Ok(self.floods.idle_frame()?),
            _ => Err(FrameFault::Stream(stream, ResetReason::PROTOCOL_ERROR)),
        }
    }

    fn on_reset(&mut self, stream: StreamId, reason: ResetReason) -> FrameVerdict {
        // Never answered, so that no two ends reset each other for ever (2.4.2).
        if self.streams.get(stream).is_none() {
            return Ok(self.floods.idle_frame()?);
        }
        if !self.streams.is_ours(stream) {
            self.floods.reset()?;
        }
        // "The server MUST immediately stop sending frames for any streams" that belong to a cancelled one (3.3.2).
        for pushed in self.streams.associated_with(stream) {
            if self.role == Role::Server {
                self.lose(pushed, reason);
            }
        }
        self.lose(stream, reason);
        Ok(())
    }

    fn lose(&mut self, stream: StreamId, reason: ResetReason) {
        self.streams.remove(stream);
        self.events.push_back(Event::Reset { stream, reason });
    }

    fn on_settings(&mut self, settings: Settings) -> FrameVerdict {
        self.floods.settings()?;
        if let Some(streams) = settings.get(SettingId::MAX_CONCURRENT_STREAMS) {
            self.allowed_streams = streams;
        }
        if self.version.has_stream_windows()
            && let Some(size) = settings.get(SettingId::INITIAL_WINDOW_SIZE)
        {
            self.resize_windows(size)?;
        }
        self.events.push_back(Event::Settings(settings));
        Ok(())
    }

    /// Applies another initial size: the windows of all streams change by the difference (2.6.8).
    fn resize_windows(&mut self, size: u32) -> Result<(), SessionError> {
        let delta = i64::from(size) - i64::from(self.initial_window);
        self.initial_window = size;
        if size > i32::MAX as u32 {
            return Err(SessionError::WindowOverflow);
        }
        for stream in self.streams.all() {
            let state = self.streams.get_mut(stream).expect("it is open");
            if let Some(window) = &mut state.send_window {
                window.shift(delta).map_err(|_| SessionError::WindowOverflow)?;
            }
            self.streams.reschedule(stream);
        }
        Ok(())
    }

    fn on_ping(&mut self, id: u32) -> FrameVerdict {
        let is_ours = (id % 2 == 1) == (self.role == Role::Client);
        if !is_ours {
            self.floods.ping()?;
            self.put(|out, version| frame::ping(out, version, id));
            return Ok(());
        }
        match self.pings.unanswered.iter().position(|sent| *sent == id) {
            Some(at) => {
                self.pings.unanswered.remove(at);
                self.events.push_back(Event::Pong(id));
                Ok(())
            }
            // "Which it did not initiate, it must ignore."
            None => Ok(self.floods.idle_frame()?),
        }
    }

    fn on_window_update(&mut self, stream: StreamId, delta: u32) -> FrameVerdict {
        if stream.is_zero() {
            // Version 3 has no session window: the frame is for a nonexistent stream.
            let Some(window) = &mut self.send_window else { return Ok(()) };
            if delta == 0 {
                return Err(SessionError::EmptyUpdate.into());
            }
            window.shift(delta.into()).map_err(|_| SessionError::WindowOverflow)?;
            return Ok(());
        }
        let Some(state) = self.streams.get_mut(stream) else { return Ok(()) };
        let window = state.send_window.as_mut().expect("versions with WINDOW_UPDATE have windows");
        if delta == 0 || window.shift(delta.into()).is_err() {
            return Err(FrameFault::Stream(stream, ResetReason::FLOW_CONTROL_ERROR));
        }
        self.streams.reschedule(stream);
        Ok(())
    }
}

/// Time for an empty bucket to refill.
const REFILL: Duration = Duration::from_secs(4);

/// A burst, then a constant rate (the generic cell rate algorithm).
#[derive(Debug)]
struct FrameRateLimit {
    /// Time per unit.
    interval: Duration,
    /// Time at which the bucket will be full.
    full_at: Duration,
    what: &'static str,
}

impl FrameRateLimit {
    fn new(limit: u32, what: &'static str) -> FrameRateLimit {
        FrameRateLimit { interval: REFILL / limit.max(1), full_at: Duration::ZERO, what }
    }

    fn draw(&mut self, now: Duration) -> Result<(), SessionError> {
        self.full_at = self.full_at.max(now) + self.interval;
        if self.full_at - now > REFILL { Err(SessionError::Flood(self.what)) } else { Ok(()) }
    }
}

/// The buckets of one session.
#[derive(Debug)]
pub(super) struct SessionRateLimits {
    now: Duration,
    resets: FrameRateLimit,
    pings: FrameRateLimit,
    settings: FrameRateLimit,
    idle_frames: FrameRateLimit,
}

impl SessionRateLimits {
    pub(super) fn new(limits: &Limits) -> SessionRateLimits {
        SessionRateLimits {
            now: Duration::ZERO,
            resets: FrameRateLimit::new(limits.resets, "resets"),
            pings: FrameRateLimit::new(limits.pings, "PINGs"),
            settings: FrameRateLimit::new(limits.settings, "SETTINGS"),
            idle_frames: FrameRateLimit::new(limits.idle_frames, "frames that say nothing"),
        }
    }

    /// Sets the current time.
    pub(super) fn tell(&mut self, now: Duration) {
        self.now = self.now.max(now);
    }

    /// Counts a reset of a stream that was not over.
    pub(super) fn reset(&mut self) -> Result<(), SessionError> {
        self.resets.draw(self.now)
    }

    /// Counts a PING that asks for an answer.
    pub(super) fn ping(&mut self) -> Result<(), SessionError> {
        self.pings.draw(self.now)
    }

    /// Counts a SETTINGS frame.
    pub(super) fn settings(&mut self) -> Result<(), SessionError> {
        self.settings.draw(self.now)
    }

    /// Counts a frame that carries nothing, or is for no stream.
    pub(super) fn idle_frame(&mut self) -> Result<(), SessionError> {
        self.idle_frames.draw(self.now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_takes_its_limit_at_once_and_a_quarter_a_second() {
        let mut bucket = FrameRateLimit::new(40, "pings");
        let mut drawn = |at: u64, times: usize| -> usize {
            let now = Duration::from_millis(at);
            (0..times).take_while(|_| bucket.draw(now).is_ok()).count()
        };
        assert_eq!(drawn(0, 100), 40);
        // The refused one was counted, too.
        assert_eq!(drawn(1_100, 100), 10);
        assert_eq!(drawn(3_600_000, 100), 40);
    }
}
