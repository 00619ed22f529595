//! A shared HTTP cache (RFC 9111): storing and reuse rules, a memory tier and a disk tier.
//!
//! Apart from the disk tier the crate is sans-IO: no clock, no sockets, no tasks. Time is an argument ([`Date`]), and so is
//! the hash's secret. A proxy calls in this order:
//!
//! 1. [`CacheKey::new`] and [`CacheRequest::new`] from a request, [`Memory::lookup`] for the cached response: a [`Hit`] with the [`AnswerShape`] of the
//!    answer, an entry to validate, or nothing.
//! 2. On a miss: [`Memory::ticket`], then the origin, then [`storable`], and [`Memory::insert`] with the whole body.
//! 3. On a validation: [`ReuseTerms::validators`] in the request; a 304 that [`ReuseTerms::confirmed_by`] accepts gives [`updated`] fields,
//!    which are judged and inserted as in step 2; another response takes the stored one's place. After an error, [`ReuseTerms::serves_on_error`].
//! 4. After an unsafe request: [`invalidated`] names the keys for [`Memory::invalidate`].
//!
//! [`Disk`] keeps responses across a restart. The proxy consults it after a miss in the memory tier, and repeats each insertion and removal
//! there.
//!
//! Not implemented: storing responses to methods other than GET, rules for private caches, `Cache-Control` extensions beyond RFC 5861.

#![forbid(unsafe_code)]

mod conditions;
mod date;
mod directives;
mod disk;
mod entry;
mod fields;
mod key;
mod lookup;
mod memory;
mod ranges;
mod request;
mod status;
mod storing;
mod terms;
mod validation;
mod vary;

pub use conditions::AnswerShape;
pub use date::{Date, DeltaSeconds};
pub use disk::{Directory, Disk, DiskError, DiskLimits, DiskRecovery, Files};
pub use entry::{CacheEntry, EntryValue, StoredResponse};
pub use fields::{FieldLines, Section, members};
pub use key::{CacheKey, OwnedKey, Partition, Scheme};
pub use lookup::{Hit, Lookup, Reuse, Tolerance, ValidationReason};
pub use memory::{InsertError, InsertTicket, Memory, MemoryLimits, MemoryTally, Purge};
pub use ranges::ContentRange;
pub use request::CacheRequest;
pub use status::{CacheStatus, ForwardReason, Handling};
pub use storing::{Heuristic, NotStored, SetCookie, Storable, StoragePolicy, UNKEYED, storable};
pub use terms::{ExchangeTimes, Lifetime, ReuseTerms, Validation};
pub use validation::{invalidated, replaced_in_validation, updated};
pub use vary::Vary;
