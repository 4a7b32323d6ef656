//! Time: a clock that a test moves, and leases by clocks that tell whole seconds.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use object_store::memory::InMemory;
use uwf_remote::Acquired;
use uwf_remote::suite::Place;
use uwf_remote_object::Clock;

use crate::InStore;
use crate::world::{acquire_for, share};

/// A clock that stands still until it is moved.
#[derive(Debug)]
pub(crate) struct MovedClock {
    now: Mutex<Duration>,
    precision: Duration,
}

impl MovedClock {
    pub(crate) fn new(precision: Duration) -> Self {
        Self {
            now: Mutex::new(Duration::from_millis(1_780_416_525_900)),
            precision,
        }
    }

    /// Moves the clock so far that a time is over for everybody who reads it.
    pub(crate) fn pass(&self, time: Duration) {
        self.tick(time + self.precision * 2);
    }

    /// Moves the clock by exactly this time.
    pub(crate) fn tick(&self, time: Duration) {
        *self.now.lock().unwrap() += time;
    }
}

impl Clock for MovedClock {
    fn now(&self) -> Option<Duration> {
        let now = *self.now.lock().unwrap();
        Some(match self.precision.is_zero() {
            true => now,
            false => Duration::from_secs(now.as_secs()),
        })
    }

    fn precision(&self) -> Duration {
        self.precision
    }
}

/// Takes a lease when this much of a second is over, and returns how long another owner has to wait for it.
fn waited(begun: Duration, lasts: Duration) -> Duration {
    let place = InStore::new(Arc::new(InMemory::new()), Duration::from_secs(1));
    let step = Duration::from_millis(50);
    place.clock.tick(Duration::from_millis(100) + begun);
    let (mut one, mut other) = (place.connect(), place.connect());
    share(one.as_mut(), 1);
    let first = acquire_for(one.as_mut(), 1, 1, lasts);
    assert!(matches!(first, Acquired::Leased(_)), "{first:?}");
    let mut waited = Duration::ZERO;
    loop {
        match acquire_for(other.as_mut(), 1, 2, lasts) {
            Acquired::Busy { left, .. } => assert!(left <= lasts, "{left:?}"),
            Acquired::Leased(_) => return waited,
            other => panic!("it is busy or free: {other:?}"),
        }
        waited += step;
        place.clock.tick(step);
    }
}

#[test]
fn a_second_of_rounding_never_ends_a_lease_too_early_and_makes_it_a_second_longer_at_most() {
    for begun in [0, 1, 450, 950, 999].map(Duration::from_millis) {
        for lasts in [400, 1000, 1500, 120_000].map(Duration::from_millis) {
            let waited = waited(begun, lasts);
            assert!(waited >= lasts, "{begun:?} {lasts:?}: {waited:?}");
            // The end is looked for in steps.
            let longest = lasts + Duration::from_millis(2050);
            assert!(waited <= longest, "{begun:?} {lasts:?}: {waited:?}");
        }
    }
}
