//! Parts of scenarios that many cells of a grid have in common, held once: a campaign has hundreds of thousands of cells,
//! which differ in their pages.

use std::fmt::{self, Display};
use std::ops::{Deref, DerefMut};
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::Scenario;

/// A value that is copied when it is changed, not when it is cloned.
#[derive(Debug, Default)]
pub struct Shared<T>(Arc<T>);

impl<T: Clone> Shared<T> {
    /// The value as an own copy.
    pub fn into_inner(self) -> T {
        Arc::unwrap_or_clone(self.0)
    }
}

impl<T> Clone for Shared<T> {
    fn clone(&self) -> Shared<T> {
        Shared(Arc::clone(&self.0))
    }
}

impl<T: PartialEq> PartialEq for Shared<T> {
    fn eq(&self, other: &Shared<T>) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0 == other.0
    }
}

impl<T: PartialEq> PartialEq<T> for Shared<T> {
    fn eq(&self, other: &T) -> bool {
        *self.0 == *other
    }
}

impl<T> From<T> for Shared<T> {
    fn from(value: T) -> Shared<T> {
        Shared(Arc::new(value))
    }
}

impl<T: Display> Display for Shared<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<T: FromStr> FromStr for Shared<T> {
    type Err = T::Err;

    fn from_str(text: &str) -> Result<Shared<T>, T::Err> {
        text.parse().map(|value: T| value.into())
    }
}

impl<T> Deref for Shared<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Clone> DerefMut for Shared<T> {
    fn deref_mut(&mut self) -> &mut T {
        Arc::make_mut(&mut self.0)
    }
}

impl<T: Serialize> Serialize for Shared<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Shared<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Shared<T>, D::Error> {
        T::deserialize(deserializer).map(Shared::from)
    }
}

/// Values that are shared, up to a number that no usual grid reaches.
struct Pool<T>(Vec<Shared<T>>);

const MOST_POOLED: usize = 256;

impl<T: PartialEq> Pool<T> {
    fn share(&mut self, part: &mut Shared<T>) {
        match self.0.iter().find(|pooled| *pooled == part) {
            Some(pooled) => *part = pooled.clone(),
            None if self.0.len() < MOST_POOLED => self.0.push(part.clone()),
            None => {}
        }
    }
}

impl<T> Default for Pool<T> {
    fn default() -> Pool<T> {
        Pool(Vec::new())
    }
}

/// Declares the shared parts of a scenario once.
macro_rules! parts {
    ($($part:ident: $type:ty),+ $(,)?) => {
        /// Parts of the scenarios seen so far.
        #[derive(Default)]
        pub(crate) struct Parts {
            $($part: Pool<$type>,)+
        }

        impl Parts {
            /// Makes a scenario share its parts with those seen before.
            pub(crate) fn share(&mut self, scenario: &mut Scenario) {
                $(self.$part.share(&mut scenario.$part);)+
            }
        }
    };
}

parts! {
    network: crate::NetworkSpec,
    stack: crate::Stack,
    transport: crate::Transport,
    quic: crate::Quic,
    client: crate::Client,
    server: crate::Server,
    traffic: crate::BackgroundTraffic,
    security: crate::Security,
    route: crate::Route,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NetworkSpec;

    #[test]
    fn equal_parts_are_held_once_and_changed_alone() {
        let mut parts = Parts::default();
        let mut cells = ["a", "b"].map(|page| Scenario::new(page, NetworkSpec::default()));
        cells.iter_mut().for_each(|cell| parts.share(cell));
        let [one, other] = &mut cells;
        assert!(Arc::ptr_eq(&one.route.0, &other.route.0));
        one.network.down_bit_per_s = Some(1_000_000);
        assert_eq!(other.network.down_bit_per_s, None);
        assert_eq!(Scenario::from_canonical(&one.canonical()).unwrap(), *one);
    }
}
