//! Crash upon crash: processes are killed at random, again and again in the same world. A few rounds always run;
//! `UWF_SOAK=1` makes them thousands. A soak that fails prints its seed, and `UWF_SOAK=<seed>` repeats its choices.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Child;
use std::time::{Duration, SystemTime};

use super::reader::Ledger;
use super::sweep::{is_recorded_as_finished, kill_at};
use super::tracer::Verdict;
use super::windows::{ADAPTER, finished, world_of_a_tool};
use crate::gates::{gated_agent, runs};
use crate::world::{REVIEW, World, binary};

const FOR_EVER: &str = "roles:\n  writer:\n    - output: { plan: p }\n  reviewer:\n    - output: { $status: rejected, reason: r }\n";
const ENGINE: &str = " thread ";
const AGENT: &str = " agent mock ";
/// How often as many worlds a soak tries as a run of all tests.
const SOAK: usize = 150;

/// Numbers as if by chance.
pub(crate) struct Chance {
    seed: u64,
    state: u64,
}

impl Chance {
    /// Returns a number below the limit.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        usize::try_from(self.state >> 33).unwrap() % limit
    }
}

impl Drop for Chance {
    #[expect(
        clippy::print_stderr,
        reason = "a test that failed says how it is repeated"
    )]
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("UWF_SOAK={} repeats the choices", self.seed);
        }
    }
}

/// Returns how many worlds are tried, and what chance says about them.
pub(crate) fn soak() -> (usize, Chance) {
    let asked = std::env::var("UWF_SOAK").ok();
    let asked = asked.map(|value| value.parse::<u64>().unwrap());
    let now = || SystemTime::UNIX_EPOCH.elapsed().unwrap().as_nanos();
    let (worlds, seed) = match asked {
        None | Some(0) => (1, 88_172_645_463_325_252),
        Some(1) => (SOAK, u64::try_from(now()).unwrap()),
        Some(seed) => (SOAK, seed),
    };
    (worlds, Chance { seed, state: seed })
}

/// A world with a thread that never ends and has one step.
fn world() -> (World, String) {
    let world = World::new();
    world.put(REVIEW);
    gated_agent(&world, FOR_EVER);
    let thread = world.start("review");
    world.step(&thread).exits(0);
    (world, thread)
}

#[test]
fn a_thread_survives_kill_upon_kill_and_every_run_is_accounted_for() {
    let (worlds, mut chance) = soak();
    let mut kills = BTreeMap::new();
    for _ in 0..worlds {
        let (world, thread) = world();
        let mut lost = 0;
        let mut known = Ledger::read(&world.root());
        for _ in 0..40 {
            let command = ["step", "step", "poke"][chance.below(3)];
            let (words, calls) = [(ENGINE, 55), (AGENT, 30)][chance.below(2)];
            let args = ["thread", command, &thread];
            let traced = kill_at(&world, &args, words, chance.below(calls), Verdict::Kill);
            if traced.killed().is_some() {
                *kills.entry(words).or_insert(0) += 1;
                lost += usize::from(words == AGENT && !is_recorded_as_finished(&traced));
            } else {
                assert_eq!(traced.code, Some(0), "{}", traced.stderr);
            }
            let ledger = Ledger::read(&world.root());
            ledger.keeps(&known);
            known = ledger;
        }
        world.step(&thread).exits(0);
        let ledger = Ledger::read(&world.root());
        let mut done = ledger.replaced.keys().cloned().collect::<BTreeSet<_>>();
        done.extend(ledger.threads[&thread].iter().cloned());
        // A finished run that waited for its place in the thread was given it by the last step.
        assert_eq!(done.len() + lost, runs(&world), "{lost} lost: {ledger:#?}");
    }
    assert!(
        kills[ENGINE] >= 2 * worlds && kills[AGENT] >= 2 * worlds,
        "{kills:?}"
    );
}

#[test]
fn a_program_that_outlives_engine_and_adapter_is_paid_once() {
    let (worlds, mut chance) = soak();
    let mut kills = 0;
    for _ in 0..worlds {
        let (world, thread) = world_of_a_tool();
        for _ in 0..20 {
            let by = [Verdict::Kill, Verdict::KillWith(ADAPTER)][chance.below(2)];
            let (words, calls) = [(ENGINE, 45), (ADAPTER, 40), (ADAPTER, 40)][chance.below(3)];
            let args = ["thread", "step", &thread];
            let traced = kill_at(&world, &args, words, chance.below(calls), by);
            kills += usize::from(traced.killed().is_some());
        }
        world.step(&thread).exits(0);
        // The step that is done without a kill may be the one that an earlier call left behind.
        let steps = world.show(&thread)["steps"].as_u64().unwrap();
        assert_eq!(u64::try_from(finished(&world)).unwrap(), steps);
    }
    assert!(kills >= 5 * worlds, "{kills}");
}

#[test]
fn shells_that_are_killed_while_they_race_lose_nothing_and_never_run_two_agents() {
    let (worlds, mut chance) = soak();
    for _ in 0..worlds {
        let (world, first) = world();
        world.scripted_agent(&format!(
            "echo \"+ $1\" >> {project}/times\n{uwf} agent mock {project}/answers.yaml \"$@\"\ncode=$?\n\
             echo \"- $1\" >> {project}/times\nexit $code",
            project = world.project().display(),
            uwf = binary().display(),
        ));
        let threads = [first, world.start("review"), world.start("review")];
        let mut known = Ledger::read(&world.root());
        for _ in 0..4 {
            let mut shells: Vec<Child> = (0..9)
                .map(|number| match number {
                    0 => world.spawn(&["cas", "gc"]),
                    _ => world.spawn(&["thread", "step", &threads[chance.below(3)]]),
                })
                .collect();
            for shell in &mut shells {
                // Nothing depends on how long this takes: it only has the kills come at different moments.
                std::thread::sleep(Duration::from_millis(chance.below(15) as u64));
                if chance.below(2) == 0 {
                    shell.kill().unwrap();
                }
            }
            for shell in shells {
                let ended = shell.wait_with_output().unwrap();
                let said = String::from_utf8_lossy(&ended.stderr);
                let is_expected = matches!(ended.status.code(), None | Some(0 | 5));
                assert!(is_expected, "{}: {said}", ended.status);
            }
            for thread in &threads {
                world.wait_until_free(thread);
            }
            let ledger = Ledger::read(&world.root());
            ledger.keeps(&known);
            known = ledger;
        }
        for thread in &threads {
            world.step(thread).exits(0);
        }
        is_one_at_a_time(&world.state("../project/times"), &threads);
    }
}

/// Asserts that no agent of a thread began before the one before it had ended.
#[track_caller]
fn is_one_at_a_time(times: &str, threads: &[String]) {
    for thread in threads {
        let of_thread = times.lines().filter(|line| line.ends_with(thread.as_str()));
        let signs: String = of_thread.map(|line| &line[..1]).collect();
        assert_eq!(signs, "+-".repeat(signs.len() / 2), "{thread}:\n{times}");
    }
}
