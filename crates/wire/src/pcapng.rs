//! Capture files (pcapng, draft-ietf-opsawg-pcapng-05): a section header, an interface description each, then one
//! block per packet.
//!
//! Times have nanoseconds (`if_tsresol` 9). Packets begin at their IP header (`LINKTYPE_RAW`). Written in little endian,
//! without any clock or randomness: the same packets give the same file.

use std::io::{self, Write};
use std::time::Duration;

/// Block types (section 4).
const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE_DESCRIPTION: u32 = 1;
const ENHANCED_PACKET: u32 = 6;

/// Tells readers the byte order (section 4.1).
const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;
/// Raw IP, v4 or v6 by its first bits (<https://www.tcpdump.org/linktypes.html>).
const LINKTYPE_RAW: u16 = 101;

/// Option codes (sections 3.5, 4.1, 4.2, 4.3).
const OPT_END: u16 = 0;
const OPT_COMMENT: u16 = 1;
const SHB_USERAPPL: u16 = 4;
const IF_NAME: u16 = 2;
const IF_DESCRIPTION: u16 = 3;
const IF_TSRESOL: u16 = 9;
const EPB_FLAGS: u16 = 2;

/// Direction in which a packet crossed its interface (section 4.3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketDirection {
    /// It arrived.
    In,
    /// It left.
    Out,
}

/// An interface of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interface(u32);

/// Writes one section.
pub struct Writer<W> {
    out: W,
    interfaces: u32,
}

impl<W: Write> Writer<W> {
    /// Begins a file that names the `application` that wrote it, with a `comment` about its content.
    ///
    /// # Errors
    /// If `out` fails.
    pub fn new(mut out: W, application: &str, comment: &str) -> io::Result<Writer<W>> {
        let mut body = Vec::new();
        body.extend(BYTE_ORDER_MAGIC.to_le_bytes());
        // Version 1.0 (section 4.1).
        body.extend(1_u16.to_le_bytes());
        body.extend(0_u16.to_le_bytes());
        // A section length of -1: unspecified.
        body.extend(u64::MAX.to_le_bytes());
        option(&mut body, OPT_COMMENT, comment.as_bytes());
        option(&mut body, SHB_USERAPPL, application.as_bytes());
        option(&mut body, OPT_END, &[]);
        block(&mut out, SECTION_HEADER, &body)?;
        Ok(Writer { out, interfaces: 0 })
    }

    /// Adds an interface.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn interface(&mut self, name: &str, description: &str) -> io::Result<Interface> {
        let mut body = Vec::new();
        body.extend(LINKTYPE_RAW.to_le_bytes());
        body.extend(0_u16.to_le_bytes());
        // A snapshot length of 0: packets are whole.
        body.extend(0_u32.to_le_bytes());
        option(&mut body, IF_NAME, name.as_bytes());
        option(&mut body, IF_DESCRIPTION, description.as_bytes());
        option(&mut body, IF_TSRESOL, &[9]);
        option(&mut body, OPT_END, &[]);
        block(&mut self.out, INTERFACE_DESCRIPTION, &body)?;
        self.interfaces += 1;
        Ok(Interface(self.interfaces - 1))
    }

    /// Adds a packet that crossed `interface`, `since_1970` after the beginning of that year.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn packet(
        &mut self,
        interface: Interface,
        since_1970: Duration,
        way: PacketDirection,
        bytes: &[u8],
    ) -> io::Result<()> {
        let nanos = u64::try_from(since_1970.as_nanos()).unwrap_or(u64::MAX);
        let len = u32::try_from(bytes.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
        let mut body = Vec::with_capacity(bytes.len() + 44);
        body.extend(interface.0.to_le_bytes());
        body.extend(((nanos >> 32) as u32).to_le_bytes());
        body.extend((nanos as u32).to_le_bytes());
        body.extend(len.to_le_bytes());
        body.extend(len.to_le_bytes());
        body.extend(bytes);
        pad(&mut body);
        let direction: u32 = match way {
            PacketDirection::In => 1,
            PacketDirection::Out => 2,
        };
        option(&mut body, EPB_FLAGS, &direction.to_le_bytes());
        option(&mut body, OPT_END, &[]);
        block(&mut self.out, ENHANCED_PACKET, &body)
    }

    /// Flushes and returns the output.
    ///
    /// # Errors
    /// If the rest cannot be written.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }
}

/// A block: type, length, body, length (section 3.1).
fn block(out: &mut impl Write, kind: u32, body: &[u8]) -> io::Result<()> {
    let len = u32::try_from(body.len() + 12).map_err(|_| io::ErrorKind::InvalidInput)?;
    out.write_all(&kind.to_le_bytes())?;
    out.write_all(&len.to_le_bytes())?;
    out.write_all(body)?;
    out.write_all(&len.to_le_bytes())
}

/// An option: code, length, value, padded to four bytes (section 3.5). Too long values are truncated.
fn option(body: &mut Vec<u8>, code: u16, value: &[u8]) {
    let len = value.len().min(usize::from(u16::MAX));
    body.extend(code.to_le_bytes());
    body.extend((len as u16).to_le_bytes());
    body.extend(&value[..len]);
    pad(body);
}

fn pad(body: &mut Vec<u8>) {
    body.resize(body.len().next_multiple_of(4), 0);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Types and lengths of a file's blocks.
    fn blocks(mut file: &[u8]) -> Vec<(u32, usize)> {
        let word = |at: &[u8]| u32::from_le_bytes(at[..4].try_into().unwrap());
        let mut blocks = Vec::new();
        while !file.is_empty() {
            let len = word(&file[4..]) as usize;
            assert_eq!(word(&file[len - 4..]) as usize, len, "both lengths agree");
            assert_eq!(len % 4, 0);
            blocks.push((word(file), len));
            file = &file[len..];
        }
        blocks
    }

    #[test]
    fn a_file_is_a_chain_of_blocks() {
        let mut writer = Writer::new(Vec::new(), "farlink", "a test").unwrap();
        let client = writer.interface("client", "10.0.0.1").unwrap();
        let at = Duration::new(1_767_225_600, 1);
        writer.packet(client, at, PacketDirection::Out, &[0x45; 41]).unwrap();
        writer.packet(client, at, PacketDirection::In, &[]).unwrap();
        let file = writer.finish().unwrap();
        assert_eq!(
            blocks(&file),
            [
                (SECTION_HEADER, 28 + 12 + 12 + 4),
                (INTERFACE_DESCRIPTION, 20 + 12 + 12 + 8 + 4),
                (ENHANCED_PACKET, 32 + 44 + 12),
                (ENHANCED_PACKET, 32 + 12),
            ]
        );
        // 1767225600000000001 ns, high word first.
        let stamp = &file[56 + 56 + 12..][..8];
        let high = u32::from_le_bytes(stamp[..4].try_into().unwrap());
        let low = u32::from_le_bytes(stamp[4..].try_into().unwrap());
        assert_eq!((u64::from(high) << 32) | u64::from(low), 1_767_225_600_000_000_001);
    }
}
