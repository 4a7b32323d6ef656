//! Times and durations as people write and read them, always in UTC.
