//! WACZ 1.1.1: an archive as one ZIP file that replayweb.page and pywb open.
//!
//! Source: <https://specs.webrecorder.net/wacz/1.1.1/>. Records lie in `archive/data.warc.gz`, which is stored, not
//! compressed, so that players can fetch parts of it; `indexes/index.cdx` says which
//! (<https://specs.webrecorder.net/cdxj/0.1.0/>); `pages/pages.jsonl` lists the pages; `datapackage.json` has the digests.

use std::io::{self, Read, Seek, Write};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use thiserror::Error;
use url::Url;
use zip::result::ZipError;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

use crate::records::{self, LoadReader};
use crate::warc::{self, WarcError, WarcReader, WarcRecord};
use crate::{Archive, RecordedLoad, message};

/// Path of the records.
const DATA: &str = "archive/data.warc.gz";
const DATA_NAME: &str = "data.warc.gz";

/// Bytes of blocks and decoded bodies from which an archive is refused: the bodies are held in memory.
const MOST_BYTES: u64 = 8 << 30;

/// A file that is no WACZ file, or is damaged.
#[derive(Debug, Error)]
pub enum WaczError {
    /// It is not a ZIP file, or a damaged one.
    #[error("not a WACZ file, or a damaged one: {0}")]
    Zip(#[from] ZipError),
    /// It has no records.
    #[error("no WARC file in it (archive/*.warc or archive/*.warc.gz)")]
    NoWarc,
    /// Its records cannot be read.
    #[error("{file}: {source}")]
    Warc {
        /// Path inside the archive.
        file: String,
        /// The damage.
        #[source]
        source: WarcError,
    },
}

/// Writes loads as a WACZ file. `software` is the recorder's name and version.
///
/// # Errors
/// If `out` fails.
pub fn write(loads: &[RecordedLoad], software: &str, out: impl Write + Seek) -> io::Result<()> {
    let mut data = Vec::new();
    let mut index = Vec::new();
    for record in records::of_loads(loads, software) {
        let offset = data.len() as u64;
        let length = record.write(&mut data)?;
        index.extend(index_line(&record, offset, length));
    }
    package(&mut &data[..], data.len() as u64, index, loads, software, out)
}

/// Packs WARC records, of `bytes` compressed, with the lines of their index and the list of pages.
pub(crate) fn package(
    records: &mut impl Read,
    bytes: u64,
    mut index: Vec<String>,
    loads: &[RecordedLoad],
    software: &str,
    out: impl Write + Seek,
) -> io::Result<()> {
    let mut zip = ZipWriter::new(out);
    let is_large = bytes >= u64::from(u32::MAX);
    let stored = SimpleFileOptions::default().large_file(is_large);
    zip.start_file(DATA, stored.compression_method(CompressionMethod::Stored))?;
    let mut resources = vec![copy(records, bytes, &mut zip)?];
    index.sort_unstable();
    let deflated = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
    let own = [("indexes/index.cdx", index.concat()), ("pages/pages.jsonl", pages(loads))];
    for (path, text) in own {
        zip.start_file(path, deflated)?;
        zip.write_all(text.as_bytes())?;
        resources.push(resource(path, &warc::digest(text.as_bytes()), text.len() as u64));
    }
    let main = loads.first().cloned().unwrap_or_default();
    let created = records::date(main.began);
    let package = json!({
        "profile": "data-package",
        "wacz_version": "1.1.1",
        "title": main.title,
        "created": created,
        "software": software,
        "mainPageUrl": main.url,
        "mainPageDate": created,
        "resources": resources,
    });
    let package = serde_json::to_vec_pretty(&package)?;
    let digest = json!({"path": "datapackage.json", "hash": warc::digest(&package)});
    let digest = serde_json::to_vec_pretty(&digest)?;
    for (path, bytes) in [("datapackage.json", package), ("datapackage-digest.json", digest)] {
        zip.start_file(path, deflated)?;
        zip.write_all(&bytes)?;
    }
    zip.finish()?;
    Ok(())
}

/// Copies the records into the archive; returns their entry of the package.
fn copy(records: &mut impl Read, bytes: u64, out: &mut impl Write) -> io::Result<Value> {
    let mut hash = Sha256::new();
    let mut piece = vec![0; 1 << 16];
    let mut records = records.take(bytes);
    let mut copied = 0;
    loop {
        match records.read(&mut piece)? {
            0 if copied < bytes => return Err(io::ErrorKind::UnexpectedEof.into()),
            0 => return Ok(resource(DATA, &warc::digest_of(hash), bytes)),
            read => {
                hash.update(&piece[..read]);
                out.write_all(&piece[..read])?;
                copied += read as u64;
            }
        }
    }
}

fn resource(path: &str, digest: &str, bytes: u64) -> Value {
    let name = path.rsplit('/').next().unwrap_or_default();
    json!({"name": name, "path": path, "hash": digest, "bytes": bytes})
}

fn pages(loads: &[RecordedLoad]) -> String {
    let head = json!({"format": "json-pages-1.0", "id": "pages", "title": "All Pages"});
    let page = |load: &RecordedLoad| {
        let date = records::date(load.began);
        let id = warc::digest(format!("{date} {}", load.url).as_bytes());
        let id = &id["sha256:".len()..][..22];
        let page = json!({"id": id, "url": load.url, "title": load.title, "ts": date});
        format!("{page}\n")
    };
    format!("{head}\n{}", loads.iter().map(page).collect::<String>())
}

/// The line of the index for a response: its sort key, its time, and where it lies.
pub(crate) fn index_line(record: &WarcRecord, offset: u64, length: u64) -> Option<String> {
    let url = record.target().filter(|_| record.kind() == "response")?;
    let response = message::response(&record.block)?;
    let date = record.field("WARC-Date")?;
    let digits: String = date.chars().filter(char::is_ascii_digit).take(14).collect();
    let line = json!({
        "url": url, "mime": response.media_type, "status": response.status.to_string(),
        "digest": record.field("WARC-Payload-Digest"), "length": length.to_string(),
        "offset": offset.to_string(), "filename": DATA_NAME,
    });
    Some(format!("{} {digits} {line}\n", sort_key(url)))
}

/// Sort-friendly form of a URL: `http://www.a.test:80/B?c=2&a` as `test,a)/b?a&c=2`.
///
/// Source: <https://specs.webrecorder.net/cdxj/0.1.0/#searchable-url>.
fn sort_key(url: &str) -> String {
    let Ok(parsed) = Url::parse(url) else { return url.to_lowercase() };
    let host = parsed.host_str().unwrap_or_default().to_lowercase();
    let host = host.strip_prefix("www.").unwrap_or(&host);
    let is_name = parsed.domain().is_some();
    let mut key = match is_name {
        true => host.rsplit('.').collect::<Vec<_>>().join(","),
        false => host.to_owned(),
    };
    if let Some(port) = parsed.port() {
        key += &format!(":{port}");
    }
    key += &format!("){}", parsed.path().to_lowercase());
    if let Some(query) = parsed.query() {
        let query = query.to_lowercase();
        let mut pairs: Vec<&str> = query.split('&').collect();
        pairs.sort_unstable();
        key += &format!("?{}", pairs.join("&"));
    }
    key
}

/// Reads the loads of a WACZ file.
///
/// # Errors
/// If it is none. Damage after some records is not an error: they are the loads, with [`Archive::damage`].
pub fn read(file: impl Read + Seek) -> Result<Archive, WaczError> {
    let mut zip = ZipArchive::new(file)?;
    let is_warc = |name: &String| {
        name.starts_with("archive/") && (name.ends_with(".warc") || name.ends_with(".warc.gz"))
    };
    let names = zip.file_names().map(|name| Ok(name?.into_owned()));
    let mut names = names.collect::<Result<Vec<String>, ZipError>>()?;
    names.retain(is_warc);
    names.sort_unstable();
    if names.is_empty() {
        return Err(WaczError::NoWarc);
    }
    let mut reader = LoadReader::default();
    let mut damage = None;
    for name in names {
        let records = zip.by_name(&name)?;
        match add_all(&mut reader, records) {
            Ok(None) => {}
            Ok(Some(problem)) => damage = Some(format!("{name}: {problem}")),
            Err(source) => return Err(WaczError::Warc { file: name, source }),
        }
    }
    Ok(archive(reader, damage))
}

/// Reads the loads of a WARC file, compressed or not.
///
/// # Errors
/// If it is none. Damage after some records is not an error: they are the loads, with [`Archive::damage`].
pub fn read_warc(file: impl Read) -> Result<Archive, WarcError> {
    let mut reader = LoadReader::default();
    let damage = add_all(&mut reader, file)?;
    Ok(archive(reader, damage))
}

fn archive(mut reader: LoadReader, damage: Option<String>) -> Archive {
    let skipped = std::mem::take(&mut reader.skipped).into_iter().collect();
    let software = reader.software.take().unwrap_or_else(|| "WARC".to_owned());
    Archive { loads: reader.finish(), software, skipped, damage }
}

/// Adds all records of a file; returns the damage that ends it, if any.
fn add_all(reader: &mut LoadReader, file: impl Read) -> Result<Option<String>, WarcError> {
    for record in WarcReader::new(file)? {
        match record {
            Ok(record) => reader.add(record),
            Err(error @ WarcError::Damaged { records: 1.., .. }) => {
                return Ok(Some(error.to_string()));
            }
            Err(error) => return Err(error),
        }
        if reader.bytes > MOST_BYTES {
            return Err(WarcError::TooLarge(MOST_BYTES));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use proptest::prelude::*;

    use super::*;
    use crate::{Exchange, RecordedRequest, RecordedResponse};

    fn load() -> RecordedLoad {
        let exchange = |url: &str, body: &[u8]| Exchange {
            request: RecordedRequest {
                method: "GET".to_owned(),
                url: url.to_owned(),
                fields: vec![("host".to_owned(), "a.test".to_owned())],
                ..RecordedRequest::default()
            },
            response: Some(RecordedResponse {
                status: 200,
                body: Some(body.to_vec()),
                ..RecordedResponse::default()
            }),
            ..Exchange::default()
        };
        RecordedLoad {
            url: "http://a.test/".to_owned(),
            exchanges: vec![
                exchange("http://a.test/", b"<p>"),
                exchange("http://a.test/b?c=2&a", &[7; 5000]),
            ],
            ..RecordedLoad::default()
        }
    }

    fn written() -> Vec<u8> {
        let mut file = Cursor::new(Vec::new());
        write(&[load()], "farlink 0.1.0", &mut file).unwrap();
        file.into_inner()
    }

    #[test]
    fn a_load_is_read_as_written() {
        let read = read(Cursor::new(written())).unwrap();
        assert_eq!((read.loads, read.damage), (vec![load()], None));
        assert_eq!(read.skipped, []);
    }

    #[test]
    fn its_index_tells_where_responses_lie() {
        let mut zip = ZipArchive::new(Cursor::new(written())).unwrap();
        let mut text = String::new();
        zip.by_name("indexes/index.cdx").unwrap().read_to_string(&mut text).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].starts_with("test,a)/ 19700101000000 {"), "{text}");
        assert!(lines[1].starts_with("test,a)/b?a&c=2 "), "{text}");
        let line: serde_json::Value =
            serde_json::from_str(lines[1].splitn(3, ' ').nth(2).unwrap()).unwrap();
        let number = |key: &str| line[key].as_str().unwrap().parse::<usize>().unwrap();
        let mut data = Vec::new();
        zip.by_name(DATA).unwrap().read_to_end(&mut data).unwrap();
        let member = &data[number("offset")..][..number("length")];
        let record = WarcReader::new(member).unwrap().next().unwrap().unwrap();
        assert_eq!(record.target(), Some("http://a.test/b?c=2&a"));
        assert_eq!(message::response(&record.block).unwrap().body, Some(vec![7; 5000]));
    }

    #[test]
    fn keys_sort_by_site() {
        assert_eq!(
            sort_key("https://www.Example.com:8443/A/b?z=1&a=2"),
            "com,example:8443)/a/b?a=2&z=1"
        );
        assert_eq!(sort_key("http://127.0.0.1:8081/"), "127.0.0.1:8081)/");
        assert_eq!(sort_key("nonsense"), "nonsense");
    }

    #[test]
    fn a_file_that_is_no_archive_is_refused() {
        let refused = |file: &[u8]| read(Cursor::new(file)).unwrap_err().to_string();
        assert!(refused(b"<html>").starts_with("not a WACZ file"));
        let mut empty = Cursor::new(Vec::new());
        ZipWriter::new(&mut empty).finish().unwrap();
        assert!(refused(empty.get_ref()).starts_with("no WARC file in it"));
    }

    #[test]
    fn a_torn_warc_file_is_read_as_far_as_it_goes() {
        let mut data = Vec::new();
        for record in records::of_loads(&[load()], "farlink") {
            record.write(&mut data).unwrap();
        }
        let whole = read_warc(&data[..]).unwrap();
        assert_eq!((whole.loads, whole.damage), (vec![load()], None));
        let torn = read_warc(&data[..data.len() - 300]).unwrap();
        assert!(torn.damage.unwrap().starts_with("damaged after "), "some records are lost");
        assert_eq!(torn.loads[0].exchanges[0], load().exchanges[0]);
        assert!(matches!(read_warc(&b"<html>"[..]), Err(WarcError::NotWarc(_))));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn damage_anywhere_is_survived(at in 0_usize..3000, bits in 1_u8..) {
            let mut file = written();
            let at = at % file.len();
            file[at] ^= bits;
            let _ = read(Cursor::new(file));
        }
    }
}
