//! Requests that are under way to origins, so that others for the same wait for their answers.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use cache::OwnedKey;
use tokio::sync::Semaphore;

/// How long a request waits for another's answer: that may be as slow as the client that it is for.
const PATIENCE: Duration = Duration::from_secs(2);

/// How long it waits for one that has not got a connection itself: its client may have used up its share of them, which is not for others
/// to wait for.
const PATIENCE_ON_GROUND: Duration = Duration::from_millis(500);

/// What is under way, on all cores. Clones are the same.
#[derive(Clone, Debug, Default)]
pub struct Flights(Arc<Mutex<UnderWay>>);

type UnderWay = BTreeMap<Asked, Arc<Progress>>;

/// What a request asks for: its partition and its address.
type Asked = (u32, String);

/// How far a flight has come: what lies behind it is closed. There is never a permit.
#[derive(Debug)]
struct Progress {
    /// Waiting for a connection.
    ground: Semaphore,
    /// Waiting for the answer.
    air: Semaphore,
}

/// A request that is the first for its object. Whoever waits for it is released when it is dropped.
#[derive(Debug)]
pub struct Flight {
    flights: Flights,
    key: Asked,
    progress: Arc<Progress>,
}

/// Whether a request is the first.
#[derive(Debug)]
pub enum Turn {
    /// It is: it goes to the origin.
    First(Flight),
    /// It waited for the first, whose answer may be in the cache now.
    Waited,
}

impl Flights {
    /// The turn of a request for `key`; waits for the one before it.
    pub async fn turn(&self, key: &OwnedKey) -> Turn {
        let key = (key.partition().0, key.uri().to_owned());
        let progress = match self.join(&key) {
            Ok(progress) => progress,
            Err(progress) => return Turn::First(Flight { flights: self.clone(), key, progress }),
        };
        let began = world::now();
        if world::timeout(PATIENCE_ON_GROUND, progress.ground.acquire()).await.is_ok() {
            let left = PATIENCE.saturating_sub(world::now().since(began));
            // Whether it has landed or not, this one goes on.
            let _ = world::timeout(left, progress.air.acquire()).await;
        }
        Turn::Waited
    }

    /// The flight that is under way, or else a new one.
    fn join(&self, key: &Asked) -> Result<Arc<Progress>, Arc<Progress>> {
        let mut under_way = self.lock();
        if let Some(progress) = under_way.get(key) {
            return Ok(Arc::clone(progress));
        }
        let progress = Arc::new(Progress { ground: Semaphore::new(0), air: Semaphore::new(0) });
        under_way.insert(key.clone(), Arc::clone(&progress));
        Err(progress)
    }

    fn lock(&self) -> MutexGuard<'_, UnderWay> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a request for `key` is under way.
    pub fn is_under_way(&self, key: &OwnedKey) -> bool {
        self.lock().contains_key(&(key.partition().0, key.uri().to_owned()))
    }
}

impl Flight {
    /// It has a connection.
    pub fn take_off(&self) {
        self.progress.ground.close();
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        self.flights.lock().remove(&self.key);
        self.progress.ground.close();
        self.progress.air.close();
    }
}
