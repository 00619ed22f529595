//! The browser's own log of its network (`--log-net-log`), for the one fact that the protocol does not report: the
//! local address of each connection, by which the kernel and the emulator know it.
//!
//! The log is a JSON text with one line for the constants and one per event, which grows while it is read
//! (<https://www.chromium.org/developers/design-documents/network-stack/netlog/>). A connection's id there is its
//! `connectionId` in the protocol. The browser writes fifteen events at a time: those of a visit's last requests
//! may still be missing, its connections are not.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::net::SocketAddr;
use std::path::PathBuf;

use serde::Deserialize;

/// The log, read up to its current end.
#[derive(Debug)]
pub(super) struct NetLog {
    path: PathBuf,
    read: u64,
    /// The number of the event that ends a TCP connect, once the constants have been read.
    connect: Option<u64>,
    locals: BTreeMap<u64, SocketAddr>,
}

#[derive(Deserialize)]
struct NetLogHeader {
    constants: NetLogConstants,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct NetLogConstants {
    log_event_types: BTreeMap<String, u64>,
}

#[derive(Deserialize)]
struct NetLogEvent {
    #[serde(rename = "type")]
    kind: u64,
    source: EventSource,
    params: Option<EventParams>,
}

#[derive(Deserialize)]
struct EventSource {
    id: u64,
}

#[derive(Deserialize)]
struct EventParams {
    local_address: Option<SocketAddr>,
}

impl NetLog {
    pub(super) fn new(path: PathBuf) -> NetLog {
        NetLog { path, read: 0, connect: None, locals: BTreeMap::new() }
    }

    /// The local addresses of all logged connections, by their ids. Empty if the log cannot be read: then they are
    /// unknown.
    pub(super) fn locals(&mut self) -> &BTreeMap<u64, SocketAddr> {
        let text = self.more().unwrap_or_default();
        for line in text.lines() {
            self.take(line.trim_end_matches(','));
        }
        &self.locals
    }

    /// The lines written since, if complete.
    fn more(&mut self) -> std::io::Result<String> {
        let mut file = File::open(&self.path)?;
        file.seek(SeekFrom::Start(self.read))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        bytes.truncate(whole);
        self.read += whole as u64;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn take(&mut self, line: &str) {
        let Some(connect) = self.connect else {
            let start = serde_json::from_str::<NetLogHeader>(&format!("{line}}}"));
            self.connect = start
                .ok()
                .and_then(|start| start.constants.log_event_types.get("TCP_CONNECT").copied());
            return;
        };
        // Most events are of other kinds: they need not be parsed.
        if !line.contains("\"local_address\"") {
            return;
        }
        let Ok(entry) = serde_json::from_str::<NetLogEvent>(line) else { return };
        let local = entry.params.and_then(|params| params.local_address);
        if let Some(local) = local.filter(|_| entry.kind == connect) {
            self.locals.insert(entry.source.id, local);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connects_are_found_while_the_log_grows() {
        let name = format!("farlink-net-log-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let connect = r#"{"params":{"local_address":"10.0.0.1:5","remote_address":"10.0.0.2:443"},"phase":2,"source":{"id":15,"type":10},"time":"1","type":42},"#;
        let other = connect.replace("42", "43").replace("15", "16");
        let late = connect.replace("15", "17").replace("10.0.0.1", "[fd00::1]");
        let start = r#"{"constants":{"logEventTypes":{"TCP_CONNECT":42,"X":43}},"#;
        let mut text = format!("{start}\n\"events\": [\n{connect}\n{other}\n{}", &late[..30]);
        std::fs::write(&path, &text).unwrap();
        let mut log = NetLog::new(path.clone());
        assert_eq!(log.locals(), &BTreeMap::from([(15, "10.0.0.1:5".parse().unwrap())]));
        text += &late[30..];
        std::fs::write(&path, text + "\n").unwrap();
        assert_eq!(log.locals()[&17], "[fd00::1]:5".parse().unwrap());
        std::fs::remove_file(path).unwrap();
    }
}
