//! The disk tier: recovery after a restart, a kill at any byte, a full disk.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::rc::Rc;

use bytes::Bytes;
use farlink_cache::{
    CacheEntry, CacheKey, CacheRequest, Date, Directory, Disk, DiskError, DiskLimits,
    ExchangeTimes, Files, Partition, Purge, Scheme, StoragePolicy, StoredResponse, storable,
};
use http::{Method, StatusCode};

const NOW: Date = Date::from_unix_secs(1_700_000_000);
const LIMITS: DiskLimits = DiskLimits { bytes: 80_000, entry_bytes: 5_000, index_bytes: 1 << 20 };
const SECRET: (u64, u64) = (1, 2);

fn key(target: &str) -> CacheKey<'_> {
    CacheKey::new(Partition(0), Scheme::Https, "a.test", target)
}

fn entry(target: &str, language: &str, body: &[u8]) -> CacheEntry<StoredResponse> {
    let asked = [("accept-language", language)];
    let fields = [
        ("cache-control", "max-age=60"),
        ("vary", "accept-language"),
        ("age", "7"),
        ("etag", "\"a\""),
    ];
    let exchange = ExchangeTimes { sent: NOW, received: NOW };
    let request = CacheRequest::new(&Method::GET, &asked[..]);
    let storable =
        storable(&request, StatusCode::OK, &fields[..], exchange, &StoragePolicy::default())
            .unwrap();
    let stored = StoredResponse {
        status: StatusCode::OK,
        fields: storable.fields.clone(),
        body: Bytes::copy_from_slice(body),
    };
    CacheEntry::new(&key(target), storable, stored)
}

fn get<F: Files>(
    disk: &mut Disk<F>,
    target: &str,
    language: &str,
) -> Option<CacheEntry<StoredResponse>> {
    let asked = [("accept-language", language)];
    disk.get(&key(target), &CacheRequest::new(&Method::GET, &asked[..]), &StoragePolicy::default())
}

#[test]
fn survives_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let open = || Disk::open(Directory::open(folder.path()).unwrap(), LIMITS, SECRET).unwrap();
    let (mut disk, _) = open();
    for (language, body) in [("en", "english"), ("de", "deutsch"), ("de", "neu")] {
        disk.put(&entry("/x", language, body.as_bytes()), NOW).unwrap();
    }
    disk.put(&entry("/gone", "en", b"gone"), NOW).unwrap();
    assert_eq!(disk.purge(&Purge::Prefix(Partition(0), "https://a.test/go"), NOW).unwrap(), 1);
    drop(disk);
    let (mut disk, recovery) = open();
    assert_eq!((recovery.entries, recovery.dropped), (2, 0));
    let back = get(&mut disk, "/x", "de").unwrap();
    let original = entry("/x", "de", b"neu");
    assert_eq!(back.value(), original.value());
    assert_eq!(
        (back.terms().age(NOW), back.terms().lifetime()),
        (original.terms().age(NOW), original.terms().lifetime())
    );
    assert_eq!((back.vary(), back.key()), (original.vary(), original.key()));
    assert!(get(&mut disk, "/x", "fr").is_none() && get(&mut disk, "/gone", "en").is_none());
    let second = Directory::open(folder.path()).unwrap_err();
    assert_eq!(second.kind(), io::ErrorKind::ResourceBusy, "one process at a time");
}

/// Segments in memory, with a log of all operations, byte by byte.
#[derive(Clone, Debug, Default)]
struct Recorded {
    segments: Rc<RefCell<BTreeMap<u64, Vec<u8>>>>,
    /// Writes with their places; other operations are single steps.
    deeds: Rc<RefCell<Vec<Deed>>>,
    /// Bytes that the disk still takes.
    free: Rc<RefCell<usize>>,
}

#[derive(Clone, Debug)]
enum Deed {
    Byte(u64, u64, u8),
    Truncate(u64, u64),
    Remove(u64),
    Sync,
}

impl Recorded {
    fn with_room(free: usize) -> Recorded {
        Recorded { free: Rc::new(RefCell::new(free)), ..Recorded::default() }
    }

    /// The disk after the first of these steps.
    fn after(deeds: &[Deed]) -> Recorded {
        let disk = Recorded::with_room(usize::MAX);
        deeds.iter().for_each(|deed| disk.apply(deed));
        disk
    }

    fn apply(&self, deed: &Deed) {
        let mut segments = self.segments.borrow_mut();
        match *deed {
            Deed::Byte(segment, at, byte) => {
                let bytes = segments.entry(segment).or_default();
                bytes.resize(bytes.len().max(at as usize + 1), 0);
                bytes[at as usize] = byte;
            }
            Deed::Truncate(segment, length) => {
                segments.entry(segment).or_default().truncate(length as usize)
            }
            Deed::Remove(segment) => _ = segments.remove(&segment),
            Deed::Sync => {}
        }
    }

    fn perform(&self, deed: Deed) {
        self.apply(&deed);
        self.deeds.borrow_mut().push(deed);
    }
}

impl Files for Recorded {
    fn list(&self) -> io::Result<Vec<u64>> {
        Ok(self.segments.borrow().keys().copied().collect())
    }

    fn read(&self, segment: u64) -> io::Result<Vec<u8>> {
        self.segments.borrow().get(&segment).cloned().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn read_at(&self, segment: u64, at: u64, length: usize) -> io::Result<Vec<u8>> {
        let bytes = self.read(segment)?;
        bytes
            .get(at as usize..at as usize + length)
            .map(<[u8]>::to_vec)
            .ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }

    fn write_at(&mut self, segment: u64, at: u64, bytes: &[u8]) -> io::Result<()> {
        for (place, byte) in (at..).zip(bytes) {
            if *self.free.borrow() == 0 {
                return Err(io::ErrorKind::StorageFull.into());
            }
            *self.free.borrow_mut() -= 1;
            self.perform(Deed::Byte(segment, place, *byte));
        }
        Ok(())
    }

    fn truncate(&mut self, segment: u64, length: u64) -> io::Result<()> {
        self.perform(Deed::Truncate(segment, length));
        Ok(())
    }

    fn sync(&mut self, _segment: u64) -> io::Result<()> {
        self.perform(Deed::Sync);
        Ok(())
    }

    fn remove(&mut self, segment: u64) -> io::Result<()> {
        self.perform(Deed::Remove(segment));
        Ok(())
    }
}

/// The contents of `/n` after a number of steps; empty while it is being changed.
type Expected = Vec<(usize, BTreeMap<u8, u8>)>;

/// Stores and removes so that segments fill, are begun and are removed.
fn history(files: &Recorded) -> Expected {
    let limits = DiskLimits { bytes: 12_000, entry_bytes: 1_500, ..LIMITS };
    let (mut disk, _) = Disk::open(files.clone(), limits, SECRET).unwrap();
    let mut now = BTreeMap::new();
    let mut expected = vec![(0, now.clone())];
    for n in 0..40u8 {
        let page = n % 7;
        if n % 9 == 8 {
            disk.purge(&Purge::Key(key(&format!("/{page}"))), NOW).unwrap();
            now.remove(&page);
        } else {
            disk.put(&entry(&format!("/{page}"), "en", &vec![n; 20 * usize::from(n)]), NOW)
                .unwrap();
            now.insert(page, n);
        }
        assert!(disk.bytes() <= limits.bytes);
        expected.push((files.deeds.borrow().len(), now.clone()));
    }
    expected
}

/// SIGKILL after each single byte that reached a file: every response found is whole, is the last stored or the one being replaced, and
/// no removed response comes back.
#[test]
fn a_kill_at_any_point_loses_no_integrity() {
    let files = Recorded::with_room(usize::MAX);
    let expected = history(&files);
    let deeds = files.deeds.borrow().clone();
    assert!(
        deeds.iter().any(|deed| matches!(deed, Deed::Remove(_))),
        "the history is long enough for segments to go"
    );
    for cut in 0..=deeds.len() {
        let limits = DiskLimits { bytes: 12_000, entry_bytes: 1_500, ..LIMITS };
        let (mut disk, _) = Disk::open(Recorded::after(&deeds[..cut]), limits, SECRET).unwrap();
        let step = expected.partition_point(|(done, _)| *done <= cut);
        let (before, after) = (
            &expected[step - 1].1,
            expected.get(step).map_or(&expected[step - 1].1, |next| &next.1),
        );
        for page in 0..7 {
            let Some(found) = get(&mut disk, &format!("/{page}"), "en") else { continue };
            let body = &found.value().body;
            let number = body.first().copied().unwrap_or_default();
            assert!(
                body.iter().all(|byte| *byte == number) && body.len() == 20 * usize::from(number),
                "whole, at {cut}"
            );
            assert!(
                [before, after].iter().any(|state| state.get(&page) == Some(&number)),
                "/{page} at {cut}: {number}"
            );
        }
        // All responses stored last are there, up to the oldest segments that made room.
        let (newest, _) = before
            .iter()
            .map(|(page, number)| (*number, *page))
            .max()
            .map_or((None, 0), |(number, page)| (Some(page), number));
        if let Some(page) = newest {
            assert!(
                get(&mut disk, &format!("/{page}"), "en").is_some()
                    || after.get(&page) != before.get(&page),
                "the newest, at {cut}"
            );
        }
    }
}

#[test]
fn a_full_disk_stops_storing_and_nothing_else() {
    let files = Recorded::with_room(3_000);
    let (mut disk, _) = Disk::open(files.clone(), LIMITS, SECRET).unwrap();
    disk.put(&entry("/held", "en", b"held"), NOW).unwrap();
    let failed = disk.put(&entry("/large", "en", &[1; 4_000]), NOW).unwrap_err();
    assert!(
        matches!(&failed, DiskError::Io(error) if error.kind() == io::ErrorKind::StorageFull),
        "{failed}"
    );
    assert!(disk.suspended(NOW));
    assert!(matches!(disk.put(&entry("/x", "en", b"x"), NOW), Err(DiskError::Suspended)));
    assert_eq!(get(&mut disk, "/held", "en").unwrap().value().body, "held");
    // There is room again, and the pause is over.
    *files.free.borrow_mut() = usize::MAX;
    let later = NOW.plus_millis(60_000);
    assert!(!disk.suspended(later));
    disk.put(&entry("/x", "en", b"x"), later).unwrap();
    drop(disk);
    let (mut disk, recovery) = Disk::open(files, LIMITS, SECRET).unwrap();
    assert_eq!((recovery.entries, recovery.dropped), (2, 0), "nothing torn was left behind");
    assert!(get(&mut disk, "/x", "en").is_some() && get(&mut disk, "/held", "en").is_some());
}

#[test]
fn a_removal_that_cannot_be_written_is_not_undone_by_a_restart() {
    let files = Recorded::with_room(3_000);
    let (mut disk, _) = Disk::open(files.clone(), LIMITS, SECRET).unwrap();
    disk.put(&entry("/gone", "en", b"gone"), NOW).unwrap();
    *files.free.borrow_mut() = 0;
    assert_eq!(disk.purge(&Purge::Key(key("/gone")), NOW).unwrap(), 1);
    drop(disk);
    let (mut disk, _) = Disk::open(files.clone(), LIMITS, SECRET).unwrap();
    assert!(get(&mut disk, "/gone", "en").is_none());
    *files.free.borrow_mut() = usize::MAX;
    disk.put(&entry("/gone", "en", b"back"), NOW).unwrap();
    assert_eq!(get(&mut disk, "/gone", "en").unwrap().value().body, "back");
}

#[test]
fn the_bound_holds_and_the_oldest_go() {
    let (mut disk, _) = Disk::open(Recorded::with_room(usize::MAX), LIMITS, SECRET).unwrap();
    for n in 0..200 {
        disk.put(&entry(&format!("/{n}"), "en", &[0; 1_000]), NOW).unwrap();
        assert!(disk.bytes() <= LIMITS.bytes);
    }
    assert!(get(&mut disk, "/0", "en").is_none() && get(&mut disk, "/199", "en").is_some());
    assert!(disk.entries() > 40, "{}", disk.entries());
    assert!(matches!(
        disk.put(&entry("/big", "en", &[0; 6_000]), NOW),
        Err(DiskError::Unfit(5_000))
    ));
}

#[test]
fn the_index_has_a_bound_of_its_own() {
    let limits = DiskLimits { index_bytes: 20_000, ..LIMITS };
    let files = Recorded::with_room(usize::MAX);
    let (mut disk, _) = Disk::open(files.clone(), limits, SECRET).unwrap();
    for n in 0..200 {
        disk.put(&entry(&format!("/{n}"), "en", b"small"), NOW).unwrap();
    }
    let held = disk.entries();
    assert!((20..120).contains(&held), "{held} responses of 200 bytes and more");
    assert!(get(&mut disk, "/199", "en").is_some());
    drop(disk);
    let smaller = DiskLimits { index_bytes: 10_000, ..LIMITS };
    let (disk, recovery) = Disk::open(files, smaller, SECRET).unwrap();
    assert!(recovery.entries < held && disk.entries() == recovery.entries, "{recovery:?}");
}

#[test]
fn damage_in_the_middle_takes_all_that_is_older_along() {
    let files = Recorded::with_room(usize::MAX);
    let (mut disk, _) = Disk::open(files.clone(), LIMITS, SECRET).unwrap();
    for n in 0..30 {
        disk.put(&entry(&format!("/{n}"), "en", &[0; 1_000]), NOW).unwrap();
    }
    drop(disk);
    files.segments.borrow_mut().get_mut(&1).unwrap()[500] ^= 1;
    let (mut disk, recovery) = Disk::open(files, LIMITS, SECRET).unwrap();
    assert!(recovery.dropped > 0);
    assert!(get(&mut disk, "/0", "en").is_none(), "older than the damage");
    assert!(get(&mut disk, "/29", "en").is_some());
}
