//! The three files of the state, through all that may happen to them.

#![expect(clippy::unwrap_used, reason = "a test may fail in its helpers too")]

use std::fs;
use std::os::unix::fs::PermissionsExt;

use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_storage::{
    Advance, Archived, HistoryRecord, Located, Reactivated, Reason, Registered, Registering,
    ReplacedStep, Root, State, StorageError, Unregistered,
};

const FIRST: CasRef = CasRef::from_digits(b"CTS5P6RD8HMCS");
const SECOND: CasRef = CasRef::from_digits(b"0123456789012");
const THIRD: CasRef = CasRef::from_digits(b"ZZZZZZZZZZZZZ");

/// A root in a temporary directory.
struct World {
    root: Root,
    _temp: tempfile::TempDir,
}

impl World {
    fn new() -> Self {
        let temp = tempfile::tempdir().unwrap();
        let root = Root::at(temp.path().to_owned());
        Self { root, _temp: temp }
    }

    fn state(&self) -> State<'_> {
        State::new(&self.root)
    }

    fn threads(&self) -> String {
        fs::read_to_string(self.root.threads_file()).unwrap()
    }

    fn history(&self) -> String {
        fs::read_to_string(self.root.history_file()).unwrap()
    }
}

fn thread(number: u64) -> ThreadId {
    ThreadId::new(1_780_416_525_000 + number, 0)
}

fn ended(thread: ThreadId, head: CasRef) -> HistoryRecord {
    HistoryRecord {
        thread,
        workflow: FIRST,
        head,
        completed_at: 7,
        reason: Reason::Completed,
    }
}

#[test]
fn a_new_root_has_no_threads_no_history_and_no_workflows() {
    let world = World::new();
    assert_eq!(world.state().heads().unwrap(), []);
    assert_eq!(world.state().find(thread(1)).unwrap(), None);
    assert_eq!(world.state().history().unwrap().records, []);
    assert!(world.state().workflows().unwrap().is_empty());
    assert_eq!(fs::read_dir(world.root.path()).unwrap().count(), 0);
}

#[test]
fn a_head_moves_only_from_where_the_caller_saw_it() {
    let world = World::new();
    let state = world.state();
    let (a, b) = (thread(1), thread(2));
    state.insert(b, FIRST).unwrap();
    state.insert(a, FIRST).unwrap();
    assert_eq!(state.advance(a, FIRST, SECOND).unwrap(), Advance::Moved);
    let again = state.advance(a, FIRST, THIRD).unwrap();
    assert_eq!(again, Advance::HeadIs(SECOND));
    let stranger = state.advance(thread(3), FIRST, SECOND).unwrap();
    assert_eq!(stranger, Advance::NotActive);
    assert_eq!(world.threads(), format!("{a}: {SECOND}\n{b}: {FIRST}\n"));
}

#[test]
fn an_active_thread_is_not_added_twice() {
    let world = World::new();
    world.state().insert(thread(1), FIRST).unwrap();
    let again = world.state().insert(thread(1), SECOND);
    assert!(matches!(again, Err(StorageError::ThreadExists(_))));
    assert_eq!(world.state().head(thread(1)).unwrap(), Some(FIRST));
}

#[test]
fn an_ended_thread_moves_to_the_history() {
    let world = World::new();
    let state = world.state();
    let a = thread(1);
    state.insert(a, FIRST).unwrap();
    let early = state.archive(&ended(a, SECOND)).unwrap();
    assert_eq!(early, Archived::HeadIs(FIRST));
    assert_eq!(state.archive(&ended(a, FIRST)).unwrap(), Archived::Done);
    let late = state.archive(&ended(a, FIRST)).unwrap();
    assert_eq!(late, Archived::NotActive);
    let found = state.find(a).unwrap();
    assert_eq!(found, Some(Located::Archived(ended(a, FIRST))));
    assert_eq!(
        world.history(),
        format!(
            "{{\"thread\":\"{a}\",\"workflow\":\"{FIRST}\",\"head\":\"{FIRST}\",\
             \"completedAt\":7,\"reason\":\"completed\"}}\n"
        )
    );
}

#[test]
fn the_last_step_moves_the_head_and_ends_the_thread_at_once() {
    let world = World::new();
    let state = world.state();
    let a = thread(1);
    state.insert(a, FIRST).unwrap();
    let record = ended(a, SECOND);
    let stale = state.advance_and_archive(THIRD, &record).unwrap();
    assert_eq!(stale, Advance::HeadIs(FIRST));
    let moved = state.advance_and_archive(FIRST, &record).unwrap();
    assert_eq!(moved, Advance::Moved);
    assert_eq!(state.find(a).unwrap(), Some(Located::Archived(record)));
}

#[test]
fn a_thread_whose_end_was_interrupted_is_active_and_ends_without_a_second_record() {
    let world = World::new();
    let state = world.state();
    let a = thread(1);
    state.insert(a, FIRST).unwrap();
    let before = world.threads();
    let record = ended(a, SECOND);
    assert_eq!(
        state.advance_and_archive(FIRST, &record).unwrap(),
        Advance::Moved
    );
    // A crash between the two files leaves the first of them written.
    fs::write(world.root.threads_file(), before).unwrap();
    assert_eq!(state.find(a).unwrap(), Some(Located::Active(FIRST)));
    assert_eq!(
        state.advance_and_archive(FIRST, &record).unwrap(),
        Advance::Moved
    );
    assert_eq!(state.history().unwrap().records.len(), 1);
    assert_eq!(state.find(a).unwrap(), Some(Located::Archived(record)));
}

#[test]
fn another_end_of_the_same_thread_is_another_record() {
    let world = World::new();
    let state = world.state();
    let a = thread(1);
    let cancelled = HistoryRecord {
        reason: Reason::Cancelled,
        ..ended(a, FIRST)
    };
    for record in [ended(a, FIRST), cancelled.clone(), ended(a, FIRST)] {
        state.insert(a, FIRST).unwrap();
        assert_eq!(state.archive(&record).unwrap(), Archived::Done);
    }
    assert_eq!(
        state.history().unwrap().records,
        [ended(a, FIRST), cancelled, ended(a, FIRST)]
    );
}

#[test]
fn a_replaced_step_is_recorded_once_and_ends_no_thread() {
    let world = World::new();
    let state = world.state();
    let a = thread(1);
    let step = ReplacedStep {
        replaced: FIRST,
        by: SECOND,
        in_thread: a,
        replaced_at: 1,
        workflow: None,
    };
    let later = ReplacedStep {
        replaced_at: 2,
        workflow: None,
        ..step.clone()
    };
    state.record_replaced(&step).unwrap();
    state.record_replaced(&later).unwrap();
    assert_eq!(state.find(a).unwrap(), None);
    state.insert(a, SECOND).unwrap();
    assert_eq!(state.archive(&ended(a, SECOND)).unwrap(), Archived::Done);
    let back = ReplacedStep {
        replaced: SECOND,
        by: FIRST,
        ..step.clone()
    };
    state.record_replaced(&back).unwrap();
    assert_eq!(
        state.find(a).unwrap(),
        Some(Located::Archived(ended(a, SECOND)))
    );
    let history = state.history().unwrap();
    assert_eq!(history.replaced, [step, back]);
    assert_eq!((history.records.len(), history.damaged.len()), (1, 0));
}

#[test]
fn an_ended_thread_becomes_active_again_with_its_last_head_only() {
    let world = World::new();
    let state = world.state();
    let a = thread(1);
    let check = |head, expected| assert_eq!(state.reactivate(a, head).unwrap(), expected);
    check(FIRST, Reactivated::NotArchived);
    state.insert(a, FIRST).unwrap();
    check(FIRST, Reactivated::Active(FIRST));
    assert_eq!(state.archive(&ended(a, FIRST)).unwrap(), Archived::Done);
    check(SECOND, Reactivated::HeadIs(FIRST));
    check(FIRST, Reactivated::Done);
    assert_eq!(state.find(a).unwrap(), Some(Located::Active(FIRST)));
    assert_eq!(state.history().unwrap().records.len(), 1);
}

#[test]
fn a_damaged_thread_list_is_an_error_and_stops_all_writers() {
    let world = World::new();
    let state = world.state();
    let damaged = format!(
        "{}: {FIRST}\n{}: {FIRST}",
        thread(1),
        &thread(2).as_str()[..9]
    );
    fs::write(world.root.threads_file(), &damaged).unwrap();
    let check = |error: StorageError| {
        assert!(matches!(error, StorageError::Damaged(_)), "{error}");
        assert!(error.to_string().contains("threads.yaml:2`"), "{error}");
    };
    check(state.heads().unwrap_err());
    check(state.insert(thread(3), FIRST).unwrap_err());
    check(state.advance(thread(1), FIRST, SECOND).unwrap_err());
    check(state.archive(&ended(thread(1), FIRST)).unwrap_err());
    check(state.reactivate(thread(1), FIRST).unwrap_err());
    assert_eq!(world.threads(), damaged);
    assert!(!world.root.history_file().exists());
}

#[test]
fn a_thread_list_of_another_program_is_read_and_kept() {
    let world = World::new();
    let (a, b, c) = (thread(1), thread(2), thread(3));
    let foreign = format!(
        "# threads\n{b}: \"{SECOND}\"\n{a}:\n  head: {FIRST}\n  suspendedRole: reviewer\n{c}: {{ head: {THIRD} }}\n"
    );
    fs::write(world.root.threads_file(), foreign).unwrap();
    let heads = [(a, FIRST), (b, SECOND), (c, THIRD)];
    assert_eq!(world.state().heads().unwrap(), heads);
    assert_eq!(
        world.state().advance(a, FIRST, THIRD).unwrap(),
        Advance::Moved
    );
    assert_eq!(
        world.threads(),
        format!("{a}: {THIRD}\n{b}: {SECOND}\n{c}: {THIRD}\n")
    );
}

#[test]
fn the_temporary_file_of_a_crashed_writer_is_ignored() {
    let world = World::new();
    let state = world.state();
    fs::write(world.root.path().join(".uwf-temp-x1y2z3"), "half a li").unwrap();
    state.insert(thread(1), FIRST).unwrap();
    assert_eq!(state.heads().unwrap(), [(thread(1), FIRST)]);
}

#[test]
fn a_removed_lock_file_does_no_harm() {
    let world = World::new();
    world.state().insert(thread(1), FIRST).unwrap();
    fs::remove_dir_all(world.root.path().join("locks")).unwrap();
    world.state().insert(thread(2), FIRST).unwrap();
    assert_eq!(world.state().heads().unwrap().len(), 2);
}

#[test]
fn a_torn_history_goes_on_with_a_new_line() {
    let world = World::new();
    let state = world.state();
    let (a, b) = (thread(1), thread(2));
    state.insert(a, FIRST).unwrap();
    state.insert(b, FIRST).unwrap();
    assert_eq!(state.archive(&ended(a, FIRST)).unwrap(), Archived::Done);
    fs::write(
        world.root.history_file(),
        world.history() + "{\"thread\":\"01",
    )
    .unwrap();
    let torn = state.history().unwrap();
    assert_eq!(torn.records, [ended(a, FIRST)]);
    assert_eq!(torn.damaged, [], "an append may be under way");
    assert_eq!(state.archive(&ended(b, FIRST)).unwrap(), Archived::Done);
    let healed = state.history().unwrap();
    assert_eq!(healed.records, [ended(a, FIRST), ended(b, FIRST)]);
    assert_eq!(healed.damaged, []);
    let kept = fs::read_to_string(world.root.path().join("history.torn")).unwrap();
    assert_eq!(kept, "{\"thread\":\"01\n");
    assert!(state.archived(b).unwrap().is_some());
}

#[test]
fn bytes_that_are_not_utf8_damage_only_their_line_of_the_history() {
    let world = World::new();
    let state = world.state();
    let a = thread(1);
    state.insert(a, FIRST).unwrap();
    assert_eq!(state.archive(&ended(a, FIRST)).unwrap(), Archived::Done);
    let content = [b"\xff\xfe\n".as_slice(), world.history().as_bytes()].concat();
    fs::write(world.root.history_file(), content).unwrap();
    assert_eq!(state.archived(a).unwrap(), Some(ended(a, FIRST)));
    let history = state.history().unwrap();
    assert_eq!(history.records.len(), 1);
    assert_eq!(history.damaged[0].line, 1);
}

#[test]
fn a_name_belongs_to_the_workflow_that_was_registered_last() {
    let world = World::new();
    let state = world.state();
    state.register("solve", FIRST, Registering::Put, 0).unwrap();
    state
        .register("review", FIRST, Registering::Put, 0)
        .unwrap();
    state.register("solve", THIRD, Registering::Put, 0).unwrap();
    let file = fs::read_to_string(world.root.registry_file()).unwrap();
    assert_eq!(file, format!("review: {FIRST}\nsolve: {THIRD}\n"));
    assert_eq!(state.workflows().unwrap()["solve"], THIRD);
}

#[test]
fn the_names_of_another_program_count_unless_our_registry_has_them() {
    let world = World::new();
    let foreign = format!("solve: {FIRST}\nold: {THIRD}\n");
    fs::write(world.root.path().join("workflows.yaml"), &foreign).unwrap();
    world
        .state()
        .register("solve", SECOND, Registering::Put, 0)
        .unwrap();
    let names = world.state().workflows().unwrap();
    assert_eq!(names["solve"], SECOND);
    assert_eq!(names["old"], THIRD);
    let kept = fs::read_to_string(world.root.path().join("workflows.yaml")).unwrap();
    assert_eq!(kept, foreign);
}

#[test]
fn a_name_that_is_taken_is_not_registered_if_it_must_be_free() {
    let world = World::new();
    let state = world.state();
    let foreign = format!("old: {THIRD}\n");
    fs::write(world.root.path().join("workflows.yaml"), foreign).unwrap();
    let register = |name: &str, hash| state.register_if_free(name, hash, 0).unwrap();
    assert_eq!(register("solve", FIRST), None);
    assert_eq!(register("solve", SECOND), Some(FIRST));
    assert_eq!(register("old", SECOND), Some(THIRD));
    let names = state.workflows().unwrap();
    assert_eq!((names["solve"], names["old"]), (FIRST, THIRD));
}

#[test]
fn a_name_that_has_changed_is_not_registered_in_place_of_what_it_stood_for() {
    let world = World::new();
    let state = world.state();
    let register = |known, hash| state.register_after(known, "solve", hash, 0).unwrap();
    assert_eq!(register(None, FIRST), Registered::Done);
    assert_eq!(register(None, SECOND), Registered::StandsFor(Some(FIRST)));
    assert_eq!(register(Some(FIRST), SECOND), Registered::Done);
    assert_eq!(
        register(Some(FIRST), THIRD),
        Registered::StandsFor(Some(SECOND))
    );
    assert_eq!(state.workflows().unwrap()["solve"], SECOND);
    assert_eq!(
        state.unregister("solve", 0).unwrap(),
        Unregistered::Done(SECOND)
    );
    assert_eq!(register(Some(SECOND), THIRD), Registered::StandsFor(None));
    assert!(state.workflows().unwrap().is_empty());
}

#[test]
fn a_damaged_registry_is_not_overwritten() {
    let world = World::new();
    fs::write(world.root.registry_file(), "solve: [\n").unwrap();
    let error = world
        .state()
        .register("other", FIRST, Registering::Put, 0)
        .unwrap_err();
    assert!(matches!(error, StorageError::Damaged(_)), "{error}");
    let kept = fs::read_to_string(world.root.registry_file()).unwrap();
    assert_eq!(kept, "solve: [\n");
}

#[test]
fn the_files_of_the_state_are_private() {
    let world = World::new();
    let state = world.state();
    state.insert(thread(1), FIRST).unwrap();
    assert_eq!(
        state.archive(&ended(thread(1), FIRST)).unwrap(),
        Archived::Done
    );
    state.register("solve", FIRST, Registering::Put, 0).unwrap();
    for file in [
        world.root.threads_file(),
        world.root.history_file(),
        world.root.registry_file(),
        world.root.path().join("locks/state.lock"),
    ] {
        let mode = file.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{}", file.display());
    }
}
