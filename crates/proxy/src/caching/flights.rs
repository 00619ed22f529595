//! Requests that are under way to origins, so that others for the same wait for their answers.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use cache::OwnedKey;
use tokio::sync::Semaphore;

/// How long a request waits for another's answer: that may be as slow as the client that it is for.
const PATIENCE: Duration = Duration::from_secs(2);

/// What is under way, on all cores. Clones are the same.
#[derive(Clone, Debug, Default)]
pub struct Flights(Arc<Mutex<UnderWay>>);

type UnderWay = BTreeMap<Asked, Arc<Semaphore>>;

/// What a request asks for: its partition and its address.
type Asked = (u32, String);

/// A request that is the first for its object. Whoever waits for it is released when it is dropped.
#[derive(Debug)]
pub struct Flight {
    flights: Flights,
    key: Asked,
    landed: Arc<Semaphore>,
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
        let landed = match self.join(&key) {
            Ok(landed) => landed,
            Err(landed) => return Turn::First(Flight { flights: self.clone(), key, landed }),
        };
        // It never has a permit; it is closed when the first is done. Whichever it is, this one goes on.
        let _ = world::timeout(PATIENCE, landed.acquire()).await;
        Turn::Waited
    }

    /// The flight that is under way, or else a new one.
    fn join(&self, key: &Asked) -> Result<Arc<Semaphore>, Arc<Semaphore>> {
        let mut under_way = self.lock();
        if let Some(landed) = under_way.get(key) {
            return Ok(Arc::clone(landed));
        }
        let landed = Arc::new(Semaphore::new(0));
        under_way.insert(key.clone(), Arc::clone(&landed));
        Err(landed)
    }

    fn lock(&self) -> MutexGuard<'_, UnderWay> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a request for `key` is under way.
    pub fn is_under_way(&self, key: &OwnedKey) -> bool {
        self.lock().contains_key(&(key.partition().0, key.uri().to_owned()))
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        self.flights.lock().remove(&self.key);
        self.landed.close();
    }
}
