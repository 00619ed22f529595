//! Collapsed forwarding: one upstream fetch for concurrent requests of one object.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use cache::OwnedKey;
use tokio::sync::Semaphore;

/// Time that a request waits for another's answer, which may be as slow as that request's client.
const PATIENCE: Duration = Duration::from_secs(2);

/// Time that it waits for a request without a connection: that client may have used up its share of them, which must not delay others.
const PATIENCE_ON_GROUND: Duration = Duration::from_millis(500);

/// Requests under way, on all cores. Clones share the same state.
#[derive(Clone, Debug, Default)]
pub struct Flights(Arc<Mutex<UnderWay>>);

type UnderWay = BTreeMap<Asked, Arc<Progress>>;

/// Identity of a request: its partition and URI.
type Asked = (u32, String);

/// Progress of a flight: a closed semaphore marks a stage that has passed. Permits are never issued.
#[derive(Debug)]
struct Progress {
    /// Waiting for a connection.
    ground: Semaphore,
    /// Waiting for the answer.
    air: Semaphore,
}

/// The first request for an object. Dropping it releases the requests that wait for it.
#[derive(Debug)]
pub struct Flight {
    flights: Flights,
    key: Asked,
    progress: Arc<Progress>,
}

/// Turn of a request.
#[derive(Debug)]
pub enum Turn {
    /// It is the first: it goes to the origin.
    First(Flight),
    /// It has waited for the first, whose answer may be in the cache now.
    Waited,
}

impl Flights {
    /// The turn of a request for `key`; waits for a flight under way.
    pub async fn turn(&self, key: &OwnedKey) -> Turn {
        let key = (key.partition().0, key.uri().to_owned());
        let progress = match self.join(&key) {
            Ok(progress) => progress,
            Err(progress) => return Turn::First(Flight { flights: self.clone(), key, progress }),
        };
        let began = world::now();
        if world::timeout(PATIENCE_ON_GROUND, progress.ground.acquire()).await.is_ok() {
            let left = PATIENCE.saturating_sub(world::now().since(began));
            // It goes on, whether the flight has landed or not.
            let _ = world::timeout(left, progress.air.acquire()).await;
        }
        Turn::Waited
    }

    /// Returns the flight under way as `Ok`, or else a new one as `Err`.
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

    /// Returns true if a request for `key` is under way.
    pub fn is_under_way(&self, key: &OwnedKey) -> bool {
        self.lock().contains_key(&(key.partition().0, key.uri().to_owned()))
    }
}

impl Flight {
    /// Marks that it has a connection.
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
