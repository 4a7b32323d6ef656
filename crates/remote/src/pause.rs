//! Pauses between tries. They are random, so that several clients do not try again together.

use std::time::Duration;

use crate::marks::random;

/// Returns a pause: the first one, doubled so many times, and then made shorter or longer by half of it at most.
#[must_use]
pub fn pause(first: Duration, doubled: u32) -> Duration {
    let spread = u32::from(random().to_le_bytes()[0] % 100);
    first * (1 << doubled) * (50 + spread) / 100
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_grows_with_each_try_and_is_another_one_each_time() {
        let first = Duration::from_millis(100);
        for doubled in 0..6 {
            let whole = first * (1 << doubled);
            let pauses: Vec<Duration> = (0..40).map(|_| pause(first, doubled)).collect();
            let fits = |pause: &Duration| (whole / 2..whole * 3 / 2).contains(pause);
            assert!(pauses.iter().all(fits), "{pauses:?}");
            assert!(pauses.iter().any(|pause| *pause != pauses[0]), "{pauses:?}");
        }
    }
}
