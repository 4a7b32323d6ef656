//! Files of pipelines: any bytes are a pipeline, or are refused with places in the order of the file. A pipeline is the same
//! after it was stored, and can be drawn and begun.

use std::sync::Arc;

use serde_json::Map;
use uwf_pipeline::course::{Course, RunStart, Steering};
use uwf_pipeline::{Pipeline, RunFacts, dot, graph, load, mermaid};

/// Reads the bytes as the file of a pipeline.
///
/// # Panics
/// When something does not hold.
pub fn check(data: &[u8]) {
    match load(data, "flow.yaml") {
        Ok(loaded) => check_pipeline(loaded.pipeline),
        Err(problems) => {
            let places: Vec<(usize, usize)> = problems
                .iter()
                .map(|problem| (problem.place.line, problem.place.column))
                .collect();
            assert!(!places.is_empty(), "a refusal has a reason");
            assert!(places.is_sorted(), "problems are sorted: {places:?}");
        }
    }
}

fn check_pipeline(pipeline: Pipeline) {
    let drawn = graph(&pipeline);
    assert!(!mermaid(&drawn).is_empty() && !dot(&drawn).is_empty());
    let stored = serde_json::to_string(&pipeline).expect("a pipeline can be stored");
    let again: Pipeline = serde_json::from_str(&stored).expect("what is stored can be read");
    assert_eq!(again, pipeline, "a stored pipeline is the same");
    let start = RunStart {
        facts: RunFacts {
            id: String::new(),
            timestamp_utc: String::new(),
            root: String::new(),
        },
        context: Map::new(),
        steering: Steering::default(),
        from_run: None,
    };
    let _ = Course::begin(Arc::new(pipeline), Arc::new(start)).next();
}
