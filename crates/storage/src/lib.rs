//! The mutable state under the storage root.
