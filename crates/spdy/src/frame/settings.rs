//! The entries of a SETTINGS frame (2.6.4).

use super::flag;

/// Id of a setting, of 24 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SettingId(pub u32);

impl SettingId {
    /// The sender's estimate of the uplink bandwidth, in kB/s.
    pub const UPLOAD_BANDWIDTH: SettingId = SettingId(1);
    /// The sender's estimate of the downlink bandwidth, in kB/s.
    pub const DOWNLOAD_BANDWIDTH: SettingId = SettingId(2);
    /// The sender's estimate of the round-trip time, in ms.
    pub const ROUND_TRIP_TIME: SettingId = SettingId(3);
    /// Maximum streams that the recipient may have open.
    pub const MAX_CONCURRENT_STREAMS: SettingId = SettingId(4);
    /// The sender's congestion window, in packets.
    pub const CURRENT_CWND: SettingId = SettingId(5);
    /// The sender's rate of retransmissions.
    pub const DOWNLOAD_RETRANS_RATE: SettingId = SettingId(6);
    /// The initial window of each stream at the sender, in bytes.
    pub const INITIAL_WINDOW_SIZE: SettingId = SettingId(7);
    /// Number of client certificates that the sender keeps. In version 3 only.
    pub const CLIENT_CERTIFICATE_VECTOR_SIZE: SettingId = SettingId(8);
}

/// One entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Its id.
    pub id: SettingId,
    /// Its value.
    pub value: u32,
    /// True if the server asks the client to keep it for later sessions (FLAG_SETTINGS_PERSIST_VALUE).
    pub persist: bool,
    /// True if the client returns a value kept from an earlier session of this server (FLAG_SETTINGS_PERSISTED).
    pub persisted: bool,
}

impl Setting {
    /// A setting for this session alone.
    pub fn new(id: SettingId, value: u32) -> Setting {
        Setting { id, value, persist: false, persisted: false }
    }
}

/// All entries of a frame.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// True if the client must forget all kept values (FLAG_SETTINGS_CLEAR_SETTINGS).
    pub clear: bool,
    /// The entries, in order.
    pub entries: Vec<Setting>,
}

impl Settings {
    /// The value of `id`: the first one of several entries.
    pub fn get(&self, id: SettingId) -> Option<u32> {
        self.entries.iter().find(|entry| entry.id == id).map(|entry| entry.value)
    }
}

pub(super) const ENTRY_BYTES: usize = 8;

const PERSIST: u8 = 0x1;
const PERSISTED: u8 = 0x2;

impl Setting {
    /// Flags and id. `is_v2`: the id comes first and in little-endian order, a mistake of the first implementation
    /// that draft 2 made the rule.
    pub(super) fn key(self, is_v2: bool) -> [u8; 4] {
        let flags = flag(PERSIST, self.persist) | flag(PERSISTED, self.persisted);
        let [_, high, middle, low] = self.id.0.to_be_bytes();
        if is_v2 { [low, middle, high, flags] } else { [flags, high, middle, low] }
    }

    pub(super) fn parse(entry: [u8; ENTRY_BYTES], is_v2: bool) -> Setting {
        let [a, b, c, d, value @ ..] = entry;
        let (flags, id) = if is_v2 { (d, [0, c, b, a]) } else { (a, [0, b, c, d]) };
        Setting {
            id: SettingId(u32::from_be_bytes(id)),
            value: u32::from_be_bytes(value),
            persist: flags & PERSIST != 0,
            persisted: flags & PERSISTED != 0,
        }
    }
}
