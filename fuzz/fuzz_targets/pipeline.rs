//! libFuzzer over [`uwf_fuzz::pipeline`]; without it, the files that are named are run.

#![cfg_attr(fuzzing, no_main)]

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|data: &[u8]| uwf_fuzz::pipeline::check(data));

#[cfg(not(fuzzing))]
fn main() {
    uwf_fuzz::replay(uwf_fuzz::pipeline::check);
}
