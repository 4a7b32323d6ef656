//! Memory: how much a run needs for much output and for a long loop. `UWF_SOAK` makes both twenty and a hundred times larger.

use std::fs;
use std::time::Duration;

use super::runs::{Ran, start};
use crate::world::{World, is_soak};

/// How much memory the process of a run may need.
const MOST_KIB: u64 = 64 << 10;
/// How much more memory a loop may need for each further item.
const MOST_KIB_OF_ITEM: u64 = 6;

/// Runs a pipeline to its end, and returns what it did and how much memory its process needed at most.
fn run_and_peak(world: &World, pipeline: &str) -> (Ran, u64) {
    let mut running = start(world, pipeline, &["--quiet"]);
    let status = format!("/proc/{}/status", running.id());
    let mut peak_kib = 0;
    while !running.is_over() {
        let text = fs::read_to_string(&status).unwrap_or_default();
        let peak = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let peak = peak.and_then(|peak| peak.trim().strip_suffix(" kB")?.parse().ok());
        peak_kib = peak.unwrap_or(0).max(peak_kib);
        std::thread::sleep(Duration::from_millis(5));
    }
    (running.wait(), peak_kib)
}

#[test]
fn many_megabytes_of_output_take_little_memory_and_room_in_the_state() {
    let bytes: u64 = if is_soak() { 1 << 30 } else { 50 << 20 };
    let world = World::new();
    let pipeline = format!(
        "steps:\n- name: Much\n  command: [sh, -c, 'yes a line of output | head -c {bytes}']\n  output_file: out/much\n"
    );
    let (ran, peak_kib) = run_and_peak(&world, &pipeline);
    let ran = ran.exits(0);
    assert!((1..MOST_KIB).contains(&peak_kib), "{peak_kib} KiB");
    assert_eq!(ran.step("Much")["truncated"], true);
    let state = fs::metadata(ran.root().join("state.json")).unwrap().len();
    assert!(state < 16 << 10, "{state} bytes");
    let file = fs::read(world.project().join("out/much")).unwrap();
    assert_eq!(file.len() as u64, bytes);
    let line = b"a line of output\n";
    assert!(file.chunks(line.len()).all(|chunk| line.starts_with(chunk)));
    assert!(ran.log("Much.stdout") == file);
}

/// Runs a loop over so many items, and returns how much memory its process needed at most.
fn peak_of_loop(count: usize) -> u64 {
    let world = World::new();
    let last = count - 1;
    let pipeline = format!(
        "steps:\n\
         - {{name: List, output_capture: json, command: [sh, -c, 'echo \"[$(seq -s, 0 {last})]\"']}}\n\
         - name: Loop\n  for_each: {{items_from: steps.List.json, steps: [{{name: s, command: ['true']}}]}}\n"
    );
    let (ran, peak_kib) = run_and_peak(&world, &pipeline);
    let ran = ran.exits(0);
    let done = ran.state["for_each"]["Loop"]["completed_indices"].as_array();
    assert_eq!(done.unwrap().len(), count);
    peak_kib
}

#[test]
fn a_long_loop_takes_little_memory() {
    let (few, many) = (100, if is_soak() { 100_000 } else { 1000 });
    let (least, peak) = (peak_of_loop(few), peak_of_loop(many));
    assert!(least > 0 && peak < MOST_KIB, "{least} KiB, {peak} KiB");
    // What is the same for every loop is in both.
    let more = peak.saturating_sub(least);
    let most = (many - few) as u64 * MOST_KIB_OF_ITEM;
    assert!(more < most, "{more} KiB for {} more items", many - few);
}
