//! Links as sans-IO state machines, and the named networks made of them.
//!
//! A [`Link`] is one direction of a path: loss, a queue, a serialiser with a constant rate or a recorded one
//! ([`Trace`]), and a delay line, in dummynet's order. It reads no clock: [`Link::handle`] takes a packet,
//! [`Link::poll`] returns those that have arrived, [`Link::deadline`] says when to poll next, [`Link::poll_dropped`]
//! returns packets dropped after they were accepted. A [`Network`] consists of such links, one per direction and hop,
//! with a name and a source: one of the [`profiles`], or [parsed](Network::parse) from text.
//!
//! Not modelled: framing below IP, corruption of packets, losses that depend on rate or delay, channels that vary in
//! time, media shared by both directions.

#![forbid(unsafe_code)]

mod busy;
mod cell;
mod config;
mod error;
mod handover;
mod link;
mod loss;
mod network;
mod packet;
mod profiles;
mod propagation;
mod queue;
mod radio;
mod server;
mod spec;
mod stats;
mod toml_text;
mod trace;

pub use cell::{CellError, CellShare, parse_rate};
pub use config::{
    Channels, Codel, EmulatorModel, Jitter, JitterShape, LaneScheduling, LinkConfig, Management,
    Pie, ProcessingJitter, ProportionalFair, QueueLimit, Reorder,
};
pub use error::{NetworkSpecError, SettingOrigin, ValueError};
pub use handover::{Handover, Handovers, Interruption};
pub use link::{Admission, DropCause, Link};
pub use loss::{DropList, DropListError, GilbertElliott, LossModel, TimedGilbertElliott};
pub use network::{Description, Hop, Network, QueueSetting};
pub use packet::{Delivered, DroppedPacket, Packet};
pub use profiles::{Profiles, profiles};
pub use radio::{
    Dama, Drx, Energy, Fach, Harq, Leo, Lte, Power, Preset, Radio, RadioConfig, RadioDirection,
    RadioError, RadioState, RadioStay, ReleasedPacket, SchedulingRequest, StateEnergy, Technology,
    Transition, TransitionCause, Umts, Wifi, radios,
};
pub use server::Rate;
pub use spec::{is_setting, parse_rtt};
pub use stats::{DelaySpread, LinkStats, Nanos};
pub use trace::{Direction, RateUnit, Trace, TraceError, TraceOptions};
