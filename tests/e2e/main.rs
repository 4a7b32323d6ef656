//! The promises of `uwf`, shown through the real binary: each test kills, races, corrupts or asks wrongly.

mod crashes;
mod races;
mod threads;
mod world;
