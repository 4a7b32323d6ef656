//! libFuzzer over [`uwf_fuzz::node`]; without it, the files that are named are run.

#![cfg_attr(fuzzing, no_main)]

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|data: &[u8]| uwf_fuzz::node::check(data));

#[cfg(not(fuzzing))]
fn main() {
    uwf_fuzz::replay(uwf_fuzz::node::check);
}
