//! A shell at the user's terminal, with a status line of the links at the bottom. It runs on a pseudo-terminal that is
//! one row shorter (pty(7), termios(3)).

use std::io::{self, Stdout};
use std::os::fd::{AsFd, OwnedFd};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use rustix::io::{Errno, ioctl_fionbio, read, write};
use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{
    OptionalActions, Termios, Winsize, tcgetattr, tcgetwinsize, tcsetattr, tcsetwinsize,
};

use super::screen::Screen;
use super::signals::{SandboxWatch, ShellSignals};
use super::{inside, start};
use crate::args::Shell;
use crate::failure::CliError;

/// Runs the user's shell inside; returns its exit code.
pub fn run(args: &Shell, signals: ShellSignals) -> Result<u8, CliError> {
    let (rows, columns) = user_size().map_err(failure)?;
    let screen = Screen::new(io::stdout(), rows, columns).map_err(failure)?;
    let (outer, inner) = open_terminal(screen.inner_rows(), columns).map_err(failure)?;
    ioctl_fionbio(&outer, true).map_err(|errno| failure(errno.into()))?;
    let mut command = inside::command();
    let copy = || inner.try_clone().map_err(failure);
    command.stdin(copy()?).stdout(copy()?).stderr(copy()?);
    drop(inner);
    let watch = SandboxWatch::new(start(args, command)?, signals);
    // From here to the end, keys belong to the shell inside.
    let _raw = RawTerminal::enter().map_err(failure)?;
    let open = vec![
        SessionInput::Signals,
        SessionInput::Output,
        SessionInput::Lines,
        SessionInput::Keyboard,
    ];
    TerminalSession { watch, screen, outer, open, keys: Vec::new(), line: Vec::new() }.run()
}

fn failure(error: io::Error) -> CliError {
    CliError::machine(format!("cannot use the terminal: {error}"))
}

/// An input of the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SessionInput {
    /// The kernel.
    Signals,
    /// Programs inside, for the screen.
    Output,
    /// The supervisor, for the line at the bottom.
    Lines,
    /// The user.
    Keyboard,
}

struct TerminalSession {
    watch: SandboxWatch,
    screen: Screen<Stdout>,
    /// The user's end of the terminal inside.
    outer: OwnedFd,
    /// Inputs that have not ended yet.
    open: Vec<SessionInput>,
    /// Keys typed while no program inside had room for them.
    keys: Vec<u8>,
    /// The part received so far of the next line to show.
    line: Vec<u8>,
}

impl TerminalSession {
    fn run(mut self) -> Result<u8, CliError> {
        loop {
            for source in self.ready(self.watch.timeout()) {
                self.serve(source).map_err(failure)?;
            }
            self.press_keys().map_err(failure)?;
            if let Some(code) = self.watch.heed()? {
                // The remaining output.
                while self.ready(PollTimeout::ZERO).contains(&SessionInput::Output) {
                    self.copy_output().map_err(failure)?;
                }
                return Ok(code);
            }
            if self.watch.take_resized() {
                self.resize().map_err(failure)?;
            }
        }
    }

    /// Waits until there is something to read, or room for keys.
    fn ready(&self, timeout: PollTimeout) -> Vec<SessionInput> {
        let stdin = io::stdin();
        let mut fds: Vec<PollFd<'_>> = self
            .open
            .iter()
            .map(|source| match source {
                SessionInput::Signals => PollFd::new(self.watch.signals(), PollFlags::POLLIN),
                SessionInput::Output => PollFd::new(self.outer.as_fd(), self.wanted_of_outer()),
                SessionInput::Lines => {
                    PollFd::new(self.watch.sandbox().channel().as_fd(), PollFlags::POLLIN)
                }
                SessionInput::Keyboard => PollFd::new(stdin.as_fd(), PollFlags::POLLIN),
            })
            .collect();
        if poll(&mut fds, timeout).is_err() {
            // Interrupted: the caller polls again.
            return Vec::new();
        }
        let readable = |fd: &PollFd<'_>| {
            fd.revents().is_some_and(|found| found.intersects(!PollFlags::POLLOUT))
        };
        let found = self.open.iter().zip(&fds).filter(|(_, fd)| readable(fd));
        found.map(|(source, _)| *source).collect()
    }

    fn wanted_of_outer(&self) -> PollFlags {
        match self.keys.is_empty() {
            true => PollFlags::POLLIN,
            false => PollFlags::POLLIN | PollFlags::POLLOUT,
        }
    }

    fn serve(&mut self, source: SessionInput) -> io::Result<()> {
        match source {
            // `Watch::heed` reads them.
            SessionInput::Signals => Ok(()),
            SessionInput::Output => self.copy_output(),
            SessionInput::Lines => self.read_line(),
            SessionInput::Keyboard => self.read_keys(),
        }
    }

    fn copy_output(&mut self) -> io::Result<()> {
        let mut buffer = [0; 1 << 14];
        match read(&self.outer, &mut buffer) {
            // No program holds the other end any more.
            Ok(0) | Err(Errno::IO) => self.end(SessionInput::Output),
            Ok(len) => self.screen.write(&buffer[..len])?,
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
        Ok(())
    }

    fn read_line(&mut self) -> io::Result<()> {
        let mut buffer = [0; 1 << 10];
        match read(self.watch.sandbox().channel(), &mut buffer) {
            Ok(0) | Err(Errno::CONNRESET) => self.end(SessionInput::Lines),
            Ok(len) => {
                self.line.extend_from_slice(&buffer[..len]);
                while let Some(end) = self.line.iter().position(|byte| *byte == b'\n') {
                    let line: Vec<u8> = self.line.drain(..=end).collect();
                    self.screen.show(String::from_utf8_lossy(&line).trim_end())?;
                }
            }
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
        Ok(())
    }

    fn read_keys(&mut self) -> io::Result<()> {
        let mut buffer = [0; 1 << 10];
        match read(io::stdin(), &mut buffer) {
            // The terminal is gone.
            Ok(0) | Err(Errno::IO) => self.end(SessionInput::Keyboard),
            Ok(len) => self.keys.extend_from_slice(&buffer[..len]),
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
        Ok(())
    }

    fn press_keys(&mut self) -> io::Result<()> {
        if self.keys.is_empty() {
            return Ok(());
        }
        match write(&self.outer, &self.keys) {
            Ok(len) => drop(self.keys.drain(..len)),
            // The shell inside has ended.
            Err(Errno::IO) => self.keys.clear(),
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
        Ok(())
    }

    fn resize(&mut self) -> io::Result<()> {
        let (rows, columns) = user_size()?;
        self.screen.resize(rows, columns)?;
        set_size(&self.outer, self.screen.inner_rows(), columns)
    }

    fn end(&mut self, source: SessionInput) {
        self.open.retain(|open| *open != source);
    }
}

/// Opens both ends of a new terminal, with the settings of the user's.
pub fn open_terminal(rows: u16, columns: u16) -> io::Result<(OwnedFd, OwnedFd)> {
    let outer = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
    grantpt(&outer)?;
    unlockpt(&outer)?;
    let inner =
        ioctl_tiocgptpeer(&outer, OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
    tcsetattr(&inner, OptionalActions::Now, &tcgetattr(io::stdin())?)?;
    set_size(&outer, rows, columns)?;
    Ok((outer, inner))
}

/// Sets the size, which the programs inside are told.
pub fn set_size(outer: impl AsFd, rows: u16, columns: u16) -> io::Result<()> {
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
