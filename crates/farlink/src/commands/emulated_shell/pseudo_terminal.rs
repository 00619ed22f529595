//! A terminal between the user's and the shell inside, one row shorter.
//!
//! Source: pty(7), termios(3).

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{
    OptionalActions, Termios, Winsize, tcgetattr, tcgetwinsize, tcsetattr, tcsetwinsize,
};

/// Both ends of a new one, with the settings of the user's.
pub fn open(rows: u16, columns: u16) -> io::Result<(OwnedFd, OwnedFd)> {
    let outer = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
    grantpt(&outer)?;
    unlockpt(&outer)?;
    let inner =
        ioctl_tiocgptpeer(&outer, OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
    tcsetattr(&inner, OptionalActions::Now, &tcgetattr(io::stdin())?)?;
    resize(&outer, rows, columns)?;
    Ok((outer, inner))
}

/// Tells the programs inside.
pub fn resize(outer: impl AsFd, rows: u16, columns: u16) -> io::Result<()> {
    let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    Ok(tcsetwinsize(outer, size)?)
}

/// Rows and columns of the user's terminal.
pub fn user_size() -> io::Result<(u16, u16)> {
    let size = tcgetwinsize(io::stdout())?;
    Ok((size.ws_row, size.ws_col))
}

/// The user's terminal, which hands over every key as it is pressed. Dropped, it is as it was.
pub struct RawTerminal {
    before: Termios,
}

impl RawTerminal {
    /// Takes what every key means from the terminal.
    pub fn enter() -> io::Result<RawTerminal> {
        let before = tcgetattr(io::stdin())?;
        let mut raw = before.clone();
        raw.make_raw();
        tcsetattr(io::stdin(), OptionalActions::Flush, &raw)?;
        Ok(RawTerminal { before })
    }
}

impl Drop for RawTerminal {
    fn drop(&mut self) {
        // A terminal that is gone needs no settings.
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.before);
    }
}
