//! Conversion of quinn's ids, codes and errors to h3's.

use std::sync::Arc;

use ::h3::quic::{ConnectionErrorIncoming, StreamErrorIncoming, StreamId};
use quinn::{ReadError, VarInt, WriteError};

pub(super) fn id(stream: quinn::StreamId) -> u64 {
    VarInt::from(stream).into_inner()
}

pub(super) fn stream_id(stream: quinn::StreamId) -> StreamId {
    StreamId::try_from(id(stream)).expect("quinn's stream ids are QUIC's")
}

pub(super) fn application_code(code: u64) -> VarInt {
    VarInt::from_u64(code).unwrap_or(VarInt::MAX)
}

pub(super) fn lost(error: quinn::ConnectionError) -> ConnectionErrorIncoming {
    match error {
        quinn::ConnectionError::ApplicationClosed(close) => {
            ConnectionErrorIncoming::ApplicationClose { error_code: close.error_code.into_inner() }
        }
        quinn::ConnectionError::TimedOut => ConnectionErrorIncoming::Timeout,
        error => ConnectionErrorIncoming::Undefined(Arc::new(error)),
    }
}

pub(super) fn of_connection(error: quinn::ConnectionError) -> StreamErrorIncoming {
    StreamErrorIncoming::ConnectionErrorIncoming { connection_error: lost(error) }
}

pub(super) fn of_read(error: ReadError) -> StreamErrorIncoming {
    match error {
        ReadError::Reset(code) => {
            StreamErrorIncoming::StreamTerminated { error_code: code.into_inner() }
        }
        ReadError::ConnectionLost(error) => of_connection(error),
        error => StreamErrorIncoming::Unknown(Box::new(error)),
    }
}

pub(super) fn of_write(error: WriteError) -> StreamErrorIncoming {
    match error {
        WriteError::Stopped(code) => {
            StreamErrorIncoming::StreamTerminated { error_code: code.into_inner() }
        }
        WriteError::ConnectionLost(error) => of_connection(error),
        error => StreamErrorIncoming::Unknown(Box::new(error)),
    }
}
