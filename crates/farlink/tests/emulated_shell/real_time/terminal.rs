//! A shell at a terminal.

use std::io::{Read, Write};
use std::process::Child;
use std::time::{Duration, Instant};

use super::{desk, signal};
use crate::NETWORK;
use crate::common::Desk;

/// A terminal of 24 rows and 80 columns with `farlink shell` at it.
struct Terminal {
    ours: std::fs::File,
    farlink: Child,
    seen: String,
}

impl Terminal {
    fn start(desk: &Desk) -> Terminal {
        use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let ours = openpt(flags).unwrap();
        grantpt(&ours).unwrap();
        unlockpt(&ours).unwrap();
        let theirs = ioctl_tiocgptpeer(&ours, flags).unwrap();
        set_size(&ours, 24, 80);
        let mut command = desk.command(&["shell", "--network", NETWORK]);
        command.env("SHELL", "/bin/sh").env("PS1", "$ ");
        command.stdin(theirs.try_clone().unwrap()).stdout(theirs.try_clone().unwrap());
        let farlink = command.stderr(theirs).spawn().unwrap();
        Terminal { ours: ours.into(), farlink, seen: String::new() }
    }

    fn press(&mut self, keys: &str) {
        self.ours.write_all(keys.as_bytes()).unwrap();
    }

    /// Reads on until this text has been shown since the last call.
    #[track_caller]
    fn await_text(&mut self, text: &str) {
        let began = Instant::now();
        let mut buffer = [0; 4096];
        while !self.seen.contains(text) {
            assert!(
                began.elapsed() < Duration::from_secs(20),
                "`{text}` is not in {:?}",
                self.seen
            );
            // EIO after the last program at the terminal has ended.
            let len = self.ours.read(&mut buffer).unwrap_or_else(|_| panic!("{:?}", self.seen));
            self.seen.push_str(&String::from_utf8_lossy(&buffer[..len]));
        }
        let end = self.seen.find(text).unwrap() + text.len();
        self.seen.drain(..end);
    }
}

fn set_size(terminal: impl std::os::fd::AsFd, rows: u16, columns: u16) {
    use rustix::termios::{Winsize, tcsetwinsize};
    let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(terminal, size).unwrap();
}

#[test]
fn a_shell_at_a_terminal_has_a_line_about_the_links() {
    let Some(desk) = desk() else { return };
    let mut terminal = Terminal::start(&desk);
    let settings = rustix::termios::tcgetattr(&terminal.ours).unwrap();
    terminal.await_text("$ ");
    terminal.await_text("\x1b[24;1H\x1b[2K\x1b[7mdown 0.0 kbit/s, queue 0 ms | up ");
    terminal.press("stty size; echo $((6 * 7))\r");
    terminal.await_text("23 80\r\n");
    terminal.await_text("42");
    // Keys have their usual meaning to the shell.
    terminal.press("sh -c 'echo star\"\"ted; exec sleep 100'\r");
    terminal.await_text("started\r\n");
    terminal.press("\x03");
    terminal.await_text("$ ");
    terminal.press("echo $?\r");
    terminal.await_text("130\r\n");
    set_size(&terminal.ours, 30, 100);
    // Outside of a session of its own, farlink is not notified.
    signal(&terminal.farlink, "WINCH");
    terminal.await_text("\x1b[30;1H");
    terminal.press("stty size\r");
    terminal.await_text("29 100\r\n");
    terminal.press("exit 3\r");
    terminal.await_text("farlink: carried ");
    terminal.await_text("\x1b[r\x1b[30;1H\x1b[2K");
    assert_eq!(terminal.farlink.wait().unwrap().code(), Some(3));
    let after = rustix::termios::tcgetattr(&terminal.ours).unwrap();
    assert_eq!(format!("{after:?}"), format!("{settings:?}"), "the terminal is as it was");
}

#[test]
fn a_shell_that_is_ended_leaves_the_terminal_as_it_was() {
    let Some(desk) = desk() else { return };
    let mut terminal = Terminal::start(&desk);
    terminal.await_text("down 0.0 kbit/s");
    signal(&terminal.farlink, "TERM");
    terminal.await_text("\x1b[r\x1b[24;1H\x1b[2K");
    assert_eq!(terminal.farlink.wait().unwrap().code(), Some(128 + 15));
    let modes = rustix::termios::tcgetattr(&terminal.ours).unwrap().local_modes;
    assert!(
        modes.contains(rustix::termios::LocalModes::ECHO | rustix::termios::LocalModes::ICANON)
    );
}
