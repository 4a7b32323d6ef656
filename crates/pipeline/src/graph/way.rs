//! The way of a run through the graph of its pipeline, as its settled visits tell it.

use super::{Graph, On, START};
use crate::pipeline::END;
use crate::{StepKey, StepResult, StepStatus};

/// What a visit says about the way: the places of edges in the graph.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Passage {
    /// The edges into the items that begin with the visit, the outermost first.
    pub into: Vec<usize>,
    /// The edge that the run took after the visit, if it took one.
    pub out: Option<usize>,
}

impl Graph {
    /// Returns the place of the edge that a run begins with.
    #[must_use]
    pub fn first_edge(&self) -> Option<usize> {
        self.place(START, On::Start)
    }

    /// Returns what the visits of a run say about its way, oldest first. What is no visit, such as the step of a person who
    /// resumes the run, is `None`, and gets an empty passage.
    #[must_use]
    pub fn way(&self, visits: &[Option<(StepKey, StepResult)>]) -> Vec<Passage> {
        let mut items: &[(String, usize)] = &[];
        // A step of a loop may lead to the end of the run. Then its loops settle, and lead nowhere.
        let mut has_ended = false;
        let mut passages = Vec::with_capacity(visits.len());
        for visit in visits {
            let Some((key, result)) = visit else {
                has_ended = false;
                passages.push(Passage::default());
                continue;
            };
            let into = self.entered_items(items, key);
            items = key.items();
            let out = self.out_of(key, result).filter(|_| !has_ended);
            has_ended = has_ended || out.is_some_and(|edge| self.edges[edge].to == END);
            passages.push(Passage { into, out });
        }
        passages
    }

    /// Returns the edges into those items of a step that are not the ones of the visit before.
    fn entered_items(&self, before: &[(String, usize)], key: &StepKey) -> Vec<usize> {
        let items = key.items();
        let kept = before
            .iter()
            .zip(items)
            .take_while(|(one, other)| one == other);
        let kept = kept.count();
        let mut around = StepKey::root();
        let mut edges = Vec::new();
        for (depth, (name, index)) in items.iter().enumerate() {
            if depth >= kept {
                let key = around.clone().step(name).without_indices();
                edges.extend(self.place(&key, On::Item));
            }
            around = around.item(name, *index);
        }
        edges
    }

    fn out_of(&self, key: &StepKey, result: &StepResult) -> Option<usize> {
        let on = match result.status {
            StepStatus::Skipped => On::Skipped,
            _ if result.asks_no_handler() => return None,
            StepStatus::Completed => On::Success,
            StepStatus::Failed => On::Failure,
        };
        self.place(&key.without_indices(), on)
    }

    fn place(&self, from: &str, on: On) -> Option<usize> {
        let mut edges = self.edges.iter();
        edges.position(|edge| edge.from == from && edge.on.contains(&on))
    }
}
