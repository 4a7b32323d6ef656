//! The promises of `uwf`, shown through the real binary: each test kills, races, corrupts or asks wrongly.

mod world;
