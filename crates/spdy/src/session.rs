//! One end of a connection (2.1): its streams, windows, header contexts and queued output.
//!
//! It does no I/O. [`Session::receive`] takes received bytes and the time, [`Session::poll_event`] returns their
//! meaning; commands queue frames in an [`Output`]; [`Session::produce`] appends DATA frames, in the order of a
//! [`Policy`](crate::Policy), and [`Session::advance`] reports the bytes taken by the transport. Bytes in the
//! output can no longer be reordered: produce little at a time.

mod event;
mod receive;
mod streams;

use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};

pub use self::event::{Event, Message};
use self::streams::Streams;
use crate::compress::Context;
use crate::compress::{Deflater, Inflater};
use crate::frame::{self, Block, Reader, Setting, SettingId, Settings, SynStream};
use crate::window::{INITIAL_WINDOW, ReceiveWindow, SendWindow};
use crate::{
    CloseReason, Config, FieldError, Fields, Output, Priority, Recall, ResetReason, StreamId,
    Version,
};
pub use event::{CommandError, OpenError, SessionError};
use receive::SessionRateLimits;
use streams::{HalfState, Stream};

/// Role of an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// The end that began the connection; its streams have odd numbers.
    Client,
    /// The other end; its streams, which are pushed, have even numbers.
    Server,
}

/// A queued frame with a head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opened {
    /// The new stream.
    pub stream: StreamId,
    /// The frame's size on the wire.
    pub wire_bytes: usize,
}

/// One end of a connection.
#[derive(Debug)]
pub struct Session {
    role: Role,
    version: Version,
    config: Config,
    reader: Reader,
    inflater: Context<Inflater>,
    deflater: Context<Deflater>,
    /// A header block on its way to or from compression.
    scratch: Vec<u8>,
    streams: Streams,
    send_window: Option<SendWindow>,
    receive_window: Option<ReceiveWindow>,
    /// The initial size of windows that this end fills.
    initial_window: u32,
    /// Maximum streams opened by this end.
    allowed_streams: u32,
    pings: Pings,
    floods: SessionRateLimits,
    life: Life,
    events: VecDeque<Event>,
    output: Output,
    /// Positions in the output at which streams end.
    endings: VecDeque<(u64, StreamId)>,
}

/// State of a session's end.
#[derive(Clone, Copy, Debug, Default)]
struct Life {
    /// True if the peer accepts no new streams.
    peer_goes: bool,
    /// True if this end accepts none.
    this_goes: bool,
    /// True if the session is over.
    failed: bool,
}

/// State of PINGs sent by this end.
#[derive(Debug)]
struct Pings {
    next: u32,
    unanswered: VecDeque<u32>,
}

impl Session {
    /// Creates a session, with its first frames in the output.
    pub fn new(role: Role, version: Version, config: Config) -> Session {
        Session::recalling(role, version, config, None)
    }

    /// The same, with results of header blocks looked up in `recall`, if given.
    pub fn recalling(
        role: Role,
        version: Version,
        config: Config,
        recall: Option<&Recall>,
    ) -> Session {
        let limits = &config.limits;
        let session_size = config.session_window_bytes.max(INITIAL_WINDOW);
        let has_window = version.has_session_window();
        let mut session = Session {
            role,
            version,
            config,
            reader: Reader::new(version, limits.control_frame_bytes),
            inflater: Context::new((version, limits.header_block_bytes), recall),
            deflater: Context::new((version, config.compression), recall),
            scratch: Vec::new(),
            streams: Streams::new(role, config.policy),
            send_window: has_window.then(|| SendWindow::new(INITIAL_WINDOW)),
            receive_window: has_window.then(|| ReceiveWindow::new(session_size)),
            initial_window: INITIAL_WINDOW,
            allowed_streams: config.assumed_streams,
            pings: Pings {
                next: if role == Role::Client { 1 } else { 2 },
                unanswered: VecDeque::new(),
            },
            floods: SessionRateLimits::new(limits),
            life: Life::default(),
            events: VecDeque::new(),
            output: Output::default(),
            endings: VecDeque::new(),
        };
        session.introduce(session_size);
        session
    }

    fn introduce(&mut self, session_size: u32) {
        let mut entries =
            vec![Setting::new(SettingId::MAX_CONCURRENT_STREAMS, self.config.streams)];
        let stream_size = self.config.stream_window_bytes;
        if self.version.has_stream_windows() && stream_size != INITIAL_WINDOW {
            entries.push(Setting::new(SettingId::INITIAL_WINDOW_SIZE, stream_size));
        }
        self.send_settings(&Settings { clear: false, entries });
        if self.version.has_session_window() && session_size > INITIAL_WINDOW {
            self.update_window(StreamId::ZERO, session_size - INITIAL_WINDOW);
        }
    }

    /// The protocol version.
    pub fn version(&self) -> Version {
        self.version
    }

    /// Its configuration.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// The bytes to be sent.
    pub fn output(&self) -> &Output {
        &self.output
    }

    /// Returns true if this end may open a stream now.
    pub fn has_room(&self) -> bool {
        self.is_open() && self.streams.ours() < self.allowed_streams as usize
    }

    /// Maximum concurrent streams opened by this end.
    pub fn allowed_streams(&self) -> u32 {
        self.allowed_streams
    }

    /// Returns true if neither end has announced the session's end.
    pub fn is_open(&self) -> bool {
        !(self.life.failed || self.life.peer_goes || self.life.this_goes)
    }

    /// Returns true if the session has failed: nothing more is read or sent.
    pub fn has_failed(&self) -> bool {
        self.life.failed
    }

    /// Number of open streams, of both ends.
    pub fn open_streams(&self) -> usize {
        self.streams.len()
    }

    /// Opens a stream; with `fin` this end sends nothing more on it.
    ///
    /// # Errors
    /// See [`OpenError`].
    pub fn open(
        &mut self,
        fields: &Fields,
        priority: Priority,
        fin: bool,
    ) -> Result<Opened, OpenError> {
        let stream = self.next_stream()?;
        let mut state = self.new_stream(stream, priority);
        if fin {
            state.sending = HalfState::Closed;
        }
        let syn = SynStream {
            stream,
            associated: StreamId::ZERO,
            priority,
            slot: 0,
            fin,
            unidirectional: false,
            block: self.compress(fields)?,
        };
        self.begin(syn, state)
    }

    /// Pushes a response for the request on `associated`, which must be open: the stream is unidirectional. Send it
    /// before the data by which the client discovers it.
    ///
    /// # Errors
    /// See [`OpenError`].
    pub fn push(
        &mut self,
        associated: StreamId,
        fields: &Fields,
        priority: Priority,
    ) -> Result<Opened, OpenError> {
        let request = self.streams.get(associated);
        request.filter(|it| it.takes_data()).ok_or(OpenError::Associated(associated))?;
        let stream = self.next_stream()?;
        let mut state = self.new_stream(stream, priority);
        state.receiving = HalfState::Closed;
        state.is_replied = true;
        state.associated = associated;
        let block = self.compress(fields)?;
        let (slot, fin, unidirectional) = (0, false, true);
        let syn = SynStream { stream, associated, priority, slot, fin, unidirectional, block };
        self.begin(syn, state)
    }

    fn next_stream(&self) -> Result<StreamId, OpenError> {
        if !self.is_open() {
            return Err(OpenError::Closed);
        }
        if !self.has_room() {
            return Err(OpenError::Full(self.allowed_streams));
        }
        self.streams.next().ok_or(OpenError::Exhausted)
    }

    fn new_stream(&mut self, stream: StreamId, priority: Priority) -> Stream {
        let place = self.streams.place(stream, priority);
        let has_window = self.version.has_stream_windows();
        let receive_window = ReceiveWindow::new(self.config.stream_window_bytes);
        Stream::new(
            place,
            has_window.then(|| SendWindow::new(self.initial_window)),
            has_window.then_some(receive_window),
        )
    }

    fn begin(&mut self, syn: SynStream, state: Stream) -> Result<Opened, OpenError> {
        let opened = Opened { stream: syn.stream, wire_bytes: syn.wire_bytes() };
        let fin = syn.fin;
        self.put(|out, version| frame::syn_stream(out, version, &syn));
        self.streams.insert(syn.stream, state);
        if fin {
            self.note_ending(syn.stream);
        }
        Ok(opened)
    }

    /// Answers a stream that the peer opened; returns the frame's size on the wire. With `fin` nothing follows.
    ///
    /// # Errors
    /// See [`CommandError`].
    pub fn reply(
        &mut self,
        stream: StreamId,
        fields: &Fields,
        fin: bool,
    ) -> Result<usize, CommandError> {
        self.send_block(stream, fields, fin, frame::syn_reply)
    }

    /// Sends more fields on a stream; returns the frame's size on the wire. With `fin` nothing follows.
    ///
    /// # Errors
    /// See [`CommandError`].
    pub fn headers(
        &mut self,
        stream: StreamId,
        fields: &Fields,
        fin: bool,
    ) -> Result<usize, CommandError> {
        self.send_block(stream, fields, fin, frame::headers)
    }

    fn send_block(
        &mut self,
        stream: StreamId,
        fields: &Fields,
        fin: bool,
        write: fn(&mut BytesMut, Version, &Block),
    ) -> Result<usize, CommandError> {
        let state = self.streams.get_mut(stream).filter(|state| state.takes_data());
        state.ok_or(CommandError::Closed(stream))?;
        let block = Block { stream, fin, block: self.compress(fields)? };
        self.put(|out, version| write(out, version, &block));
        let state = self.streams.get_mut(stream).expect("it was found a moment ago");
        state.is_replied = true;
        if fin {
            state.sending = HalfState::Closed;
            self.note_ending(stream);
            self.streams.settle(stream);
        }
        Ok(block.wire_bytes(self.version))
    }

    /// Queues `data` on a stream; with `fin` nothing follows. [`Session::produce`] sends it in its turn.
    ///
    /// # Errors
    /// [`CommandError::Closed`] if the stream is gone or ended.
    pub fn send(&mut self, stream: StreamId, data: Bytes, fin: bool) -> Result<(), CommandError> {
        let state = self.streams.get_mut(stream).filter(|state| state.takes_data());
        state.ok_or(CommandError::Closed(stream))?.queue(data, fin);
        self.streams.reschedule(stream);
        Ok(())
    }

    /// Releases `bytes` of a stream's data, which the owner has used: the peer may send as many more.
    pub fn consume(&mut self, stream: StreamId, bytes: usize) {
        if let Some(state) = self.streams.get_mut(stream)
            && state.receiving == HalfState::Open
            && let Some(delta) = state.receive_window.as_mut().and_then(|w| w.consume(bytes))
        {
            self.update_window(stream, delta);
        }
        self.consume_session(bytes);
    }

    fn consume_session(&mut self, bytes: usize) {
        if let Some(delta) = self.receive_window.as_mut().and_then(|w| w.consume(bytes)) {
            self.update_window(StreamId::ZERO, delta);
        }
    }

    fn update_window(&mut self, stream: StreamId, delta: u32) {
        self.put(|out, version| frame::window_update(out, version, stream, delta));
    }

    /// Resets a stream. No effect if it is gone already.
    pub fn reset(&mut self, stream: StreamId, reason: ResetReason) {
        if self.streams.remove(stream).is_some() {
            self.send_reset(stream, reason);
        }
    }

    fn send_reset(&mut self, stream: StreamId, reason: ResetReason) {
        self.streams.note_reset(stream);
        self.put(|out, version| frame::rst_stream(out, version, stream, reason));
    }

    /// Sends a PING; returns the id of the matching [`Event::Pong`].
    pub fn ping(&mut self) -> u32 {
        let id = self.pings.next;
        // "It can wrap and start re-using IDs": odd and even ids stay separate.
        self.pings.next = id.wrapping_add(2);
        self.pings.unanswered.push_back(id);
        self.put(|out, version| frame::ping(out, version, id));
        id
    }

    /// Sends SETTINGS in addition to the session's own: bandwidths, or values to be kept or returned. It does not
    /// change the limits that this end enforces.
    pub fn send_settings(&mut self, settings: &Settings) {
        self.put(|out, version| frame::settings(out, version, settings));
    }

    /// Announces that this end accepts no new streams; open ones continue.
    pub fn go_away(&mut self, reason: CloseReason) {
        if !self.life.this_goes {
            self.life.this_goes = true;
            let last = self.streams.last_received();
            self.put(|out, version| frame::go_away(out, version, last, reason));
        }
    }

    /// Queues a control frame, unless the session is over.
    fn put(&mut self, write: impl FnOnce(&mut BytesMut, Version)) {
        if !self.life.failed {
            self.output.write(|out| write(out, self.version));
        }
    }

    fn fail(&mut self, error: SessionError) {
        self.life.this_goes = false;
        self.go_away(error.reason());
        self.life.failed = true;
        self.streams.clear();
        self.events.push_back(Event::Failed(error));
    }

    /// Checks and compresses `fields`. The block must then be sent: the peer's context depends on it.
    fn compress(&mut self, fields: &Fields) -> Result<Bytes, FieldError> {
        self.scratch.clear();
        fields.write(self.version, &mut self.scratch)?;
        // Compression makes a block only slightly longer, if at all.
        if self.scratch.len() > frame::MAX_LENGTH / 2 {
            return Err(FieldError::TooLong);
        }
        let mut block = Vec::new();
        let Ok(()) = self.deflater.code(&self.scratch, &mut block);
        Ok(block.into())
    }

    /// Marks the end of the output as the end of `stream`.
    fn note_ending(&mut self, stream: StreamId) {
        self.endings.push_back((self.output.queued(), stream));
    }
}
