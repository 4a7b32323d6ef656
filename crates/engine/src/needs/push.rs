//! Which nodes another store must get before a thread may have a head there.

use std::collections::HashSet;

use uwf_cas_fs::Store;
use uwf_protocol::ids::CasRef;
use uwf_thread::Head;

use crate::EngineError;

/// Returns the nodes that a store needs for this head if it has everything that the head `known_head` needs: each node after
/// the nodes that it refers to. Without a known head, the store has nothing.
///
/// A hash that a node only mentions is not followed: it may be a step of another thread, and the whole chain of that thread
/// would be sent.
///
/// The time that this takes depends on the new steps and on one step before them, and not on the length of the chain. A node
/// that a new step needs, and that only steps before the known head used, is sent again.
///
/// # Errors
/// When a node that the new steps need is missing or damaged.
pub fn nodes_of_push(
    store: &Store,
    head: CasRef,
    known_head: Option<CasRef>,
) -> Result<Vec<CasRef>, EngineError> {
    let known = known_head.map(|head| known_with(store, head)).transpose()?;
    Ok(store.needed_beyond(&[head], &known.unwrap_or_default())?)
}

/// Returns what a store has that has this head: the head with everything that it needs, but of the steps before it only the
/// last one, and not what that one needs.
fn known_with(store: &Store, head: CasRef) -> Result<HashSet<CasRef>, EngineError> {
    let (of_step, before) = match Head::read(store, head)? {
        Head::Start(start) => return Ok(store.needed(&[start.hash])?.into_iter().collect()),
        Head::Step(step) => {
            let mut of_step = vec![step.node.start, step.node.output, step.node.detail];
            of_step.extend(step.node.assembled_prompt);
            (of_step, step.node.prev)
        }
    };
    let mut known: HashSet<CasRef> = store.needed(&of_step)?.into_iter().collect();
    let step = store.need(head)?;
    known.extend(store.needed(&[step.type_hash])?);
    known.extend(before);
    known.insert(head);
    Ok(known)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use uwf_cas_fs::StoreError;
    use uwf_protocol::schemas::{META, OBJECT, START_NODE, STEP_NODE, TEXT};

    use super::*;

    /// A store with a schema whose field `of` is a reference.
    struct World {
        store: Store,
        schema: CasRef,
        start: CasRef,
        _dir: tempfile::TempDir,
    }

    impl World {
        fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            let store = Store::open(dir.path().join("cas"));
            store.create(0).unwrap();
            let of = json!({ "type": "string", "format": "ocas_ref" });
            let schema = json!({ "type": "object", "properties": { "of": of } });
            let schema = store.put_schema(&schema, 0).unwrap();
            let workflow = store.put(OBJECT, &json!({ "name": "w" }), 0).unwrap();
            let start = json!({ "workflow": workflow, "prompt": "p" });
            let start = store.put(START_NODE, &start, 0).unwrap();
            Self {
                store,
                schema,
                start,
                _dir: dir,
            }
        }

        fn text(&self, text: &str) -> CasRef {
            self.store.put(TEXT, &json!(text), 0).unwrap()
        }

        fn output(&self, of: CasRef) -> CasRef {
            self.store
                .put(self.schema, &json!({ "of": of }), 0)
                .unwrap()
        }

        fn step(&self, prev: Option<CasRef>, output: CasRef, detail: CasRef) -> CasRef {
            let step = json!({
                "start": self.start, "prev": prev, "role": "writer", "output": output,
                "detail": detail, "agent": "a",
            });
            self.store.put(STEP_NODE, &step, 0).unwrap()
        }

        fn damage(&self, node: CasRef) {
            let file = self.store.dir().join(format!("{node}.bin"));
            std::fs::write(file, "damaged").unwrap();
        }

        fn push(&self, head: CasRef, known_head: Option<CasRef>) -> Vec<CasRef> {
            nodes_of_push(&self.store, head, known_head).unwrap()
        }
    }

    fn sorted(mut nodes: Vec<CasRef>) -> Vec<CasRef> {
        nodes.sort_unstable();
        nodes
    }

    #[test]
    fn a_push_of_a_step_has_its_output_and_what_that_refers_to_and_nothing_of_before() {
        let world = World::new();
        let first = world.step(None, world.output(world.text("a")), world.text("d1"));
        let (named, detail) = (world.text("b"), world.text("d2"));
        let output = world.output(named);
        let second = world.step(Some(first), output, detail);
        let found = world.push(second, Some(first));
        assert_eq!(found.last(), Some(&second), "a step comes after its nodes");
        let at = |node| found.iter().position(|found| *found == node);
        assert!(at(named) < at(output), "{found:?}");
        assert_eq!(sorted(found), sorted(vec![named, output, detail, second]));
        assert_eq!(world.push(second, Some(second)), []);
    }

    #[test]
    fn a_push_of_several_steps_has_those_of_all_of_them() {
        let world = World::new();
        let (one, two) = (world.text("one"), world.text("two"));
        let first = world.step(None, one, one);
        let second = world.step(Some(first), two, one);
        assert_eq!(
            sorted(world.push(second, Some(world.start))),
            sorted(vec![one, two, first, second, TEXT, STEP_NODE]),
            "the start has no schema of steps"
        );
    }

    #[test]
    fn a_store_that_has_nothing_gets_the_start_and_the_schemas_too() {
        let world = World::new();
        let head = world.step(None, world.output(world.text("a")), world.text("d"));
        let found = world.push(head, None);
        assert_eq!(found, world.store.closure(&[head]).unwrap());
        for node in [world.start, world.schema, TEXT, META, STEP_NODE] {
            assert!(found.contains(&node), "{node} is needed");
        }
    }

    #[test]
    fn a_step_that_was_done_again_needs_nothing_of_the_steps_before_it() {
        let world = World::new();
        let mut prev = None;
        for number in 0..3 {
            let text = world.text(&format!("{number}"));
            prev = Some(world.step(prev, text, text));
        }
        let same = world.text("same");
        let replaced = world.step(prev, same, world.text("before"));
        let detail = world.text("after");
        let head = world.step(prev, same, detail);
        assert_eq!(
            sorted(world.push(head, Some(replaced))),
            sorted(vec![detail, head])
        );
    }

    #[test]
    fn a_node_that_only_an_older_step_had_is_sent_again() {
        let world = World::new();
        let (old, new) = (world.text("old"), world.text("new"));
        let first = world.step(None, old, old);
        let second = world.step(Some(first), new, new);
        let third = world.step(Some(second), old, new);
        assert_eq!(world.push(third, Some(second)), [old, third]);
    }

    #[test]
    fn a_node_that_is_needed_and_gone_stops_the_push() {
        let world = World::new();
        let first = world.step(None, world.text("a"), world.text("a"));
        let gone = world.text("gone");
        let output = world.output(gone);
        let needing = world.step(Some(first), output, output);
        world.damage(gone);
        let refused = nodes_of_push(&world.store, needing, Some(first));
        assert!(
            matches!(&refused, Err(EngineError::Store(StoreError::Damaged { hash, .. })) if *hash == gone),
            "{refused:?}"
        );
    }

    #[test]
    fn what_the_other_store_has_need_not_be_whole_here() {
        let world = World::new();
        let old = world.text("old");
        let first = world.step(None, old, world.text("whole"));
        let new = world.text("new");
        let second = world.step(Some(first), new, new);
        world.damage(old);
        assert_eq!(world.push(second, Some(first)), [new, second]);
    }

    #[test]
    fn a_push_follows_no_mention() {
        let world = World::new();
        let elsewhere = world.step(None, world.text("x"), world.text("x"));
        let elsewhere = world.step(Some(elsewhere), world.text("y"), world.text("y"));
        let says = |note: CasRef| {
            let says: Value = json!({ "note": note });
            world.store.put(OBJECT, &says, 0).unwrap()
        };
        let first = world.step(None, world.text("a"), world.text("a"));
        let saying = says(elsewhere);
        let second = world.step(Some(first), saying, saying);
        assert_eq!(
            sorted(world.push(second, Some(first))),
            sorted(vec![saying, second])
        );
        assert!(!world.push(second, None).contains(&elsewhere));
        // What the other store got is not more than that, so what was mentioned before is sent once it is needed.
        let third = world.step(Some(second), world.output(world.text("y")), saying);
        assert!(world.push(third, Some(second)).contains(&world.text("y")));
    }
}
