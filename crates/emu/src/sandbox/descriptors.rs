//! Sockets passed over a channel.
//!
//! A socket belongs to the network namespace in which it was created, regardless of its holder: a listener made inside and passed outside is the
//! only way for a connection to leave a sandbox. Source: unix(7), `SCM_RIGHTS`.

use std::io::{IoSlice, IoSliceMut};
use std::net::TcpListener;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;

use nix::errno::Errno;
use nix::sys::socket::{ControlMessage, ControlMessageOwned, MsgFlags, recvmsg, sendmsg};

use crate::Error;

/// Data sent along with a descriptor: there must be some.
const COMPANION: &[u8] = &[0];

/// Sends a listener; the sender keeps its own descriptor.
pub fn send_listener(channel: &UnixStream, listener: &TcpListener) -> Result<(), Error> {
    let descriptors = [listener.as_raw_fd()];
    let messages = [ControlMessage::ScmRights(&descriptors)];
    let data = [IoSlice::new(COMPANION)];
    sendmsg::<()>(channel.as_raw_fd(), &data, &messages, MsgFlags::MSG_NOSIGNAL, None)
        .map(drop)
        .map_err(Error::system("failed to pass a socket out of the sandbox"))
}

/// Receives a listener; `None` if the channel was closed instead.
pub fn receive_listener(channel: &UnixStream) -> Result<Option<TcpListener>, Error> {
    let what = "failed to receive a socket from the sandbox";
    let mut byte = [0; COMPANION.len()];
    let mut data = [IoSliceMut::new(&mut byte)];
    let mut control = nix::cmsg_space!(RawFd);
    let message = loop {
        let flags = MsgFlags::MSG_CMSG_CLOEXEC;
        match recvmsg::<()>(channel.as_raw_fd(), &mut data, Some(&mut control), flags) {
            Err(Errno::EINTR) => {}
            outcome => break outcome.map_err(Error::system(what))?,
        }
    };
    if message.bytes == 0 {
        return Ok(None);
    }
    let messages = message.cmsgs().map_err(Error::system(what))?;
    let descriptor = messages
        .flat_map(|message| match message {
            ControlMessageOwned::ScmRights(descriptors) => descriptors,
            _ => Vec::new(),
        })
        .next()
        .ok_or(Error::System { what, errno: Errno::EBADMSG })?;
    // SAFETY: the kernel has just opened it for this process.
    let descriptor = unsafe { OwnedFd::from_raw_fd(descriptor) };
    Ok(Some(TcpListener::from(descriptor)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listener_arrives_and_works() {
        let (near, far) = UnixStream::pair().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        send_listener(&near, &listener).unwrap();
        drop(listener);
        let received = receive_listener(&far).unwrap().expect("one was sent");
        assert_eq!(received.local_addr().unwrap(), address);
        drop(near);
        assert!(receive_listener(&far).unwrap().is_none());
    }
}
