//! Messages between processes: lines of JSON over a socket pair.

use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;

use serde::Serialize;
use serde::de::DeserializeOwned;

/// One end of a socket pair.
pub(super) struct Channel {
    reader: BufReader<UnixStream>,
    writer: UnixStream,
}

/// Error of passing a message.
#[derive(Debug, thiserror::Error)]
pub(super) enum ChannelError {
    /// The other process is gone.
    #[error("it ended before it had answered")]
    Closed,
    /// The socket failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The text received is not the expected message.
    #[error("it sent something else than expected: {0}")]
    Message(#[from] serde_json::Error),
}

impl Channel {
    /// This end of a pair.
    pub(super) fn new(stream: UnixStream) -> io::Result<Channel> {
        Ok(Channel { reader: BufReader::new(stream.try_clone()?), writer: stream })
    }

    /// Sends one message.
    pub(super) fn send(&mut self, message: &impl Serialize) -> Result<(), ChannelError> {
        let mut line = serde_json::to_vec(message)?;
        line.push(b'\n');
        Ok(self.writer.write_all(&line)?)
    }

    /// Waits for the next message.
    pub(super) fn receive<T: DeserializeOwned>(&mut self) -> Result<T, ChannelError> {
        let mut line = String::new();
        match self.reader.read_line(&mut line)? {
            0 => Err(ChannelError::Closed),
            _ => Ok(serde_json::from_str(&line)?),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_pass_whole_and_an_end_is_noticed() {
        let (near, far) = UnixStream::pair().unwrap();
        let mut near = Channel::new(near).unwrap();
        let mut far = Channel::new(far).unwrap();
        near.send(&("two\nlines", 1)).unwrap();
        near.send(&("next", 2)).unwrap();
        assert_eq!(far.receive::<(String, u8)>().unwrap(), ("two\nlines".to_owned(), 1));
        assert!(matches!(far.receive::<u8>(), Err(ChannelError::Message(_))));
        drop(near);
        assert!(matches!(far.receive::<u8>(), Err(ChannelError::Closed)));
    }
}
