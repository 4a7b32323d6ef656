//! How long loops take. The step that ends a loop takes no time itself; what people want to know is how long its items took.

use std::collections::HashMap;

use uwf_pipeline::course::{StepKey, Visit};
use uwf_pipeline::{Course, Event};

use super::chain::Seen;

/// When the open loops of a run began, by their keys.
#[derive(Debug, Default)]
pub(crate) struct LoopTimes {
    began_ms: HashMap<String, i64>,
}

impl LoopTimes {
    /// Notes a visit that has settled, and returns how long it took, in milliseconds: a loop, from its first item to its end.
    pub(crate) fn took(&mut self, visit: &Visit, started_at_ms: i64) -> u64 {
        for around in loops_around(&visit.key) {
            self.began_ms.entry(around).or_insert(started_at_ms);
        }
        let began_ms = self.began_ms.remove(&visit.key.to_string());
        let before_ms = began_ms.map_or(0, |began| started_at_ms - began);
        // Clocks may go back.
        u64::try_from(before_ms).unwrap_or(0) + visit.duration_ms
    }

    /// Notes a step of a chain that was read. A resume may leave a loop that was open, and begin it anew.
    pub(crate) fn seen(&mut self, seen: &Seen<'_>) -> u64 {
        match seen.event {
            Event::Visit(visit) => {
                self.took(visit, seen.step.node.started_at_ms.unwrap_or_default())
            }
            Event::Resume(_) => {
                self.resumed(seen.course);
                0
            }
            Event::Archived(_) => 0,
        }
    }

    /// Forgets the loops that a resume has left.
    pub(crate) fn resumed(&mut self, course: &Course) {
        let open = course.open_loops();
        let open: Vec<String> = open.into_iter().map(|open| open.key.to_string()).collect();
        self.began_ms.retain(|key, _| open.contains(key));
    }
}

/// Returns the keys of the loops around a step, the outermost first.
fn loops_around(key: &StepKey) -> Vec<String> {
    let mut within = String::new();
    let keys = key.items().iter().map(|(name, index)| {
        let key = format!("{within}{name}");
        within = format!("{key}[{index}].");
        key
    });
    keys.collect()
}

#[cfg(test)]
mod tests {
    use uwf_pipeline::{StepResult, StepStatus};

    use super::*;

    fn visit(key: &str, duration_ms: u64) -> Visit {
        Visit {
            key: key.parse().unwrap(),
            result: StepResult::of(StepStatus::Completed, 0),
            duration_ms,
        }
    }

    #[test]
    fn a_loop_takes_from_its_first_item_to_its_end() {
        let mut times = LoopTimes::default();
        let mut took = |key, started, duration| times.took(&visit(key, duration), started);
        assert_eq!(took("A[0].B[0].C", 100, 5), 5);
        assert_eq!(took("A[0].B[1].C", 110, 5), 5);
        assert_eq!(took("A[0].B", 120, 1), 21);
        // The next item of the outer loop begins the inner one anew.
        assert_eq!(took("A[1].B[0].C", 200, 5), 5);
        assert_eq!(took("A[1].B", 210, 0), 10);
        assert_eq!(took("A[1]", 220, 2), 2);
        assert_eq!(took("A", 230, 0), 130);
        assert_eq!(took("A", 300, 0), 0, "a loop over nothing");
        assert_eq!(took("D[0].E", 500, 5), 5);
        assert_eq!(took("D", 400, 7), 7, "the clock went back");
    }
}
