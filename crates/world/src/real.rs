//! The machine's own clock and sockets: tokio on one thread, no work stealing.
//!
//! The only place, besides the real-time emulator and the command line, that reads a clock.

mod batch_socket;
mod clock;
mod config;
mod kernel_view;
mod lookup;
mod recorder;
mod runtime;
mod sleep;
mod tcp_socket;
mod udp_socket;

pub(crate) use batch_socket::BatchSocket;
pub(crate) use clock::{epoch, now};
pub use config::{Config, Recording, Sampling};
pub(crate) use lookup::lookup;
pub use recorder::report;
pub use runtime::run;
pub(crate) use sleep::{Sleep, sleep_until};
pub(crate) use tcp_socket::{TcpListener, TcpStream};
pub(crate) use udp_socket::bind_udp;
