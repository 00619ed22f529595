//! A connection after its handshake: HTTP's data in records, and back.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use world::TcpStream;

use super::handshake::ServerHello;
use super::record::{self, ContentType, HEADER_BYTES, Protection, invalid};
use super::{Sessions, Version};
use crate::records::Sealing;
use crate::records::{MAX_RECORD_BYTES, Records, Sizer};
use crate::settings::Protocol;

/// The end of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EndRole {
    Client,
    Server,
}

/// A warning that the connection is closed (RFC 5246 section 7.2.1).
const CLOSE_NOTIFY: [u8; 2] = [1, 0];

/// Modelled TLS over TCP, either end. As in [`crate::Stream`], no record is made before the transport has accepted all
/// earlier ones.
pub(crate) struct Stream {
    tcp: TcpStream,
    version: Version,
    side: EndRole,
    protocol: Option<Protocol>,
    resumed: bool,
    sizer: Sizer,
    /// Destination of the session once the server's Finished arrives, for which a False Start does not wait.
    unfinished: Option<(Sessions, String)>,
    incoming: Protection,
    inbox: BytesMut,
    plain: Bytes,
    /// Records that the transport has not accepted.
    out: BytesMut,
}

impl Stream {
    pub(super) fn new(
        tcp: TcpStream,
        version: Version,
        side: EndRole,
        answer: ServerHello,
        records: Records,
    ) -> Stream {
        Stream {
            tcp,
            version,
            side,
            protocol: answer.protocol,
            resumed: answer.resumes,
            sizer: Sizer::new(records),
            unfinished: None,
            incoming: Protection::Sealed(version),
            inbox: BytesMut::new(),
            plain: Bytes::new(),
            out: BytesMut::new(),
        }
    }

    /// The same while the server's ticket, ChangeCipherSpec and Finished are outstanding.
    pub(super) fn before_the_servers_finished(self, sessions: Sessions, host: &str) -> Stream {
        let unfinished = Some((sessions, host.to_owned()));
        Stream { unfinished, incoming: Protection::Clear, ..self }
    }

    pub(crate) fn tcp(&self) -> &TcpStream {
        &self.tcp
    }

    pub(crate) fn protocol(&self) -> Option<Protocol> {
        self.protocol
    }

    pub(crate) fn is_resumed(&self) -> bool {
        self.resumed
    }

    /// Bytes of records that the transport has not accepted.
    pub(crate) fn unsent(&self) -> u64 {
        self.out.len() as u64
    }

    fn push(&mut self, content: ContentType, data: &[u8]) {
        let mut record = Vec::with_capacity(data.len() + 64);
        let protection = Protection::Sealed(self.version);
        record::write(&mut record, self.version, protection, content, std::iter::once(data));
        self.out.extend_from_slice(&record);
    }

    /// Makes records of `data`. A client of TLS 1.0 splits off the first byte, so that an attacker cannot predict the
    /// IV of the rest (Chrome 16, Firefox 10: CVE-2011-3389); Apache's OpenSSL was told not to (`SSL_OP_ALL`).
    fn push_application(&mut self, data: &[u8]) {
        let now = world::now();
        let splits =
            self.version == Version::Tls10 && self.side == EndRole::Client && data.len() > 1;
        let (first, mut rest) = data.split_at(usize::from(splits));
        if splits {
            self.push(ContentType::Application, first);
        }
        while !rest.is_empty() {
            let (record, later) = rest.split_at(self.sizer.limit(now).min(rest.len()));
            self.push(ContentType::Application, record);
            self.sizer.wrote(now);
            rest = later;
        }
    }

    /// Takes one record from the inbox, if a whole one is there.
    fn take_record(&mut self) -> io::Result<Option<(ContentType, Bytes)>> {
        let Some(header) = self.inbox.first_chunk::<HEADER_BYTES>() else { return Ok(None) };
        let (content, length) = record::header(*header)?;
        if self.inbox.len() < HEADER_BYTES + length {
            return Ok(None);
        }
        self.inbox.advance(HEADER_BYTES);
        let body = self.inbox.split_to(length).freeze();
        let inner = match content {
            ContentType::ChangeCipherSpec => body,
            _ => body.slice_ref(record::content(&body, self.incoming)?),
        };
        Ok(Some((content, inner)))
    }

    /// Processes the records received until one has data; false once the peer has closed.
    fn take_records(&mut self) -> io::Result<bool> {
        while self.plain.is_empty() {
            match self.take_record()? {
                None => return Ok(true),
                Some((ContentType::Alert, _)) => return Ok(false),
                Some((ContentType::Application, data)) if self.unfinished.is_none() => {
                    self.plain = data;
                }
                Some((ContentType::ChangeCipherSpec, _)) if self.unfinished.is_some() => {
                    self.incoming = Protection::Sealed(self.version);
                }
                Some((ContentType::Handshake, _)) => match self.incoming {
                    // The ticket; the server's Finished follows ChangeCipherSpec.
                    Protection::Clear => {}
                    Protection::Sealed(_) => self.finish()?,
                },
                Some((content, _)) => {
                    return Err(invalid(format!("{content:?} came at the wrong time")));
                }
            }
        }
        Ok(true)
    }

    fn finish(&mut self) -> io::Result<()> {
        let unfinished = self.unfinished.take();
        let (sessions, host) =
            unfinished.ok_or_else(|| invalid("a second Finished came".to_owned()))?;
        sessions.keep(&host);
        Ok(())
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        loop {
            if !this.take_records()? {
                return Poll::Ready(Ok(()));
            }
            if !this.plain.is_empty() {
                let bytes = this.plain.len().min(buf.remaining());
                buf.put_slice(&this.plain.split_to(bytes));
                return Poll::Ready(Ok(()));
            }
            let mut chunk = [0; MAX_RECORD_BYTES];
            let mut chunk = ReadBuf::new(&mut chunk);
            ready!(Pin::new(&mut this.tcp).poll_read(cx, &mut chunk))?;
            if chunk.filled().is_empty() {
                let cut = !this.inbox.is_empty();
                let end = if cut { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(()) };
                return Poll::Ready(end);
            }
            this.inbox.extend_from_slice(chunk.filled());
        }
    }
}

impl Sealing for Stream {
    fn seal(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        let mut data = Vec::with_capacity(MAX_RECORD_BYTES);
        for part in parts {
            let room = MAX_RECORD_BYTES - data.len();
            data.extend_from_slice(&part[..part.len().min(room)]);
        }
        self.push_application(&data);
        Ok(data.len())
    }

    fn seal_end(&mut self) {
        if self.unfinished.is_none() {
            self.push(ContentType::Alert, &CLOSE_NOTIFY);
        }
    }

    fn poll_drain(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.out.is_empty() {
            let written = ready!(Pin::new(&mut self.tcp).poll_write(cx, &self.out))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.out.advance(written);
        }
        Poll::Ready(Ok(()))
    }

    fn transport(&mut self) -> &mut TcpStream {
        &mut self.tcp
    }
}
