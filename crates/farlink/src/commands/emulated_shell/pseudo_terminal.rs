//! A terminal between the user's and the shell inside, one row shorter.
//!
//! Source: pty(7), termios(3).

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{
    OptionalActions, Termios, Winsize, tcgetattr, tcgetwinsize, tcsetattr, tcsetwinsize,
};

/// Opens both ends of a new terminal, with the settings of the user's.
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

/// Sets the size, which the programs inside are told.
pub fn resize(outer: impl AsFd, rows: u16, columns: u16) -> io::Result<()> {
    let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    Ok(tcsetwinsize(outer, size)?)
}

/// Rows and columns of the user's terminal.
pub fn user_size() -> io::Result<(u16, u16)> {
    let size = tcgetwinsize(io::stdout())?;
    Ok((size.ws_row, size.ws_col))
}

/// The user's terminal in raw mode, which delivers every key as it is pressed. Dropped, it is restored.
pub struct RawTerminal {
    before: Termios,
}

impl RawTerminal {
    /// Turns off the terminal's own handling of keys.
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
