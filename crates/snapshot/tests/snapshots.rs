//! Snapshots of real repositories, by the real `git`.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on fails with the value"
)]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use uwf_snapshot::{Change, Place, Repository, Snapshot, Unsupervised, Worktree};

const REFERENCE: &str = "refs/uwf/threads/test";

/// A repository with one commit, and a place for snapshots beside it.
struct World {
    temp: tempfile::TempDir,
    repository: Repository,
}

impl World {
    fn new() -> Self {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().join("work");
        fs::create_dir(&root).unwrap();
        git(&root, &["init", "--quiet", "--initial-branch=main"]);
        fs::write(root.join("kept"), "one\n").unwrap();
        fs::write(root.join(".gitignore"), "target/\n").unwrap();
        git(&root, &["add", "--all"]);
        git(&root, &["commit", "--quiet", "--message=first"]);
        let repository = Repository::of(&root).unwrap().unwrap();
        Self { temp, repository }
    }

    fn root(&self) -> PathBuf {
        self.temp.path().join("work")
    }

    fn write(&self, name: &str, content: &str) {
        let path = self.root().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    fn index(&self) -> PathBuf {
        self.temp.path().join("index")
    }

    fn git(&self, args: &[&str]) -> String {
        git(&self.root(), args)
    }

    fn snapshot(&self) -> Snapshot {
        let index = self.index();
        self.repository.snapshot(place(&index), "test").unwrap()
    }

    /// Returns the names of the files in a snapshot.
    fn files(&self, snapshot: &Snapshot) -> Vec<String> {
        let names = self.git(&["ls-tree", "-r", "--name-only", &snapshot.commit]);
        names.lines().map(str::to_owned).collect()
    }
}

fn place(index: &Path) -> Place<'_> {
    Place {
        index,
        reference: REFERENCE,
        most_bytes: 1000,
        hides: |_| false,
        start: &Unsupervised,
    }
}

fn git(root: &Path, args: &[&str]) -> String {
    let who = ["-c", "user.name=Test", "-c", "user.email=test@localhost"];
    let output = Command::new("git")
        .args(who)
        .args(args)
        .current_dir(root)
        .output()
        .unwrap();
    assert!(output.status.success(), "{args:?}: {output:?}");
    String::from_utf8(output.stdout)
        .unwrap()
        .trim_end()
        .to_owned()
}

#[test]
fn a_directory_outside_a_working_tree_has_no_repository() {
    let world = World::new();
    assert_eq!(Repository::of(world.temp.path()).unwrap(), None);
    assert_eq!(Repository::of(&world.root().join(".git")).unwrap(), None);
    fs::create_dir_all(world.root().join("a/b")).unwrap();
    let inside = Repository::of(&world.root().join("a/b")).unwrap();
    assert_eq!(inside.unwrap().root(), world.root());
    // Something else of that name is no repository.
    fs::write(world.temp.path().join(".git"), "").unwrap();
    assert!(Repository::of(world.temp.path()).is_err());
}

#[test]
fn a_snapshot_has_all_files_that_are_not_ignored_and_touches_nothing_of_the_user() {
    let world = World::new();
    world.write("kept", "staged\n");
    world.git(&["add", "kept"]);
    world.write("kept", "changed\n");
    world.write("new/file with space\n", "new\n");
    world.write("target/built", "ignored\n");
    symlink("nowhere", world.root().join("link")).unwrap();
    let index = fs::read(world.root().join(".git/index")).unwrap();
    let status = world.git(&["status", "--porcelain"]);
    let taken = world.snapshot();
    assert_eq!(fs::read(world.root().join(".git/index")).unwrap(), index);
    assert_eq!(world.git(&["status", "--porcelain"]), status);
    assert_eq!(
        world.git(&["branch", "--all", "--format=%(refname)"]),
        "refs/heads/main"
    );
    assert_eq!(world.git(&["stash", "list"]), "");
    let expected = [".gitignore", "kept", "link", "\"new/file with space\\n\""];
    assert_eq!(world.files(&taken), expected);
    let show = |name: &str| world.git(&["show", &format!("{}:{name}", taken.commit)]);
    assert_eq!(show("kept"), "changed");
    let head = world.git(&["rev-parse", "HEAD"]);
    assert_eq!(world.git(&["rev-parse", &format!("{REFERENCE}^")]), head);
}

#[test]
fn nothing_new_is_the_same_commit_and_a_change_is_a_child_of_it() {
    let world = World::new();
    let first = world.snapshot();
    assert_eq!(world.snapshot(), first);
    world.write("kept", "two\n");
    fs::remove_file(world.root().join(".gitignore")).unwrap();
    world.write("target/built", "built\n");
    let second = world.snapshot();
    let parent = world.git(&["rev-parse", &format!("{}^", second.commit)]);
    assert_eq!(parent, first.commit);
    let changed = world
        .repository
        .changed(&first.commit, &second.commit)
        .unwrap();
    let changed: Vec<_> = changed
        .iter()
        .map(|one| (one.path.to_str().unwrap(), one.change, one.lines))
        .collect();
    assert_eq!(
        changed,
        [
            (".gitignore", Change::Deleted, Some((0, 1))),
            ("kept", Change::Modified, Some((1, 1))),
            ("target/built", Change::Added, Some((1, 0))),
        ]
    );
    let patch = world
        .repository
        .patch(&first.commit, &second.commit)
        .unwrap();
    assert!(String::from_utf8(patch).unwrap().contains("-one\n+two\n"));
}

#[test]
fn a_file_may_become_a_folder_a_link_or_another_repository() {
    let world = World::new();
    world.write("folder/file", "x\n");
    let first = world.snapshot();
    fs::remove_file(world.root().join("kept")).unwrap();
    world.write("kept/inside", "x\n");
    fs::rename(world.root().join("folder"), world.root().join("moved")).unwrap();
    symlink("moved", world.root().join("folder")).unwrap();
    world.write("other/file", "x\n");
    git(&world.root().join("other"), &["init", "--quiet"]);
    let second = world.snapshot();
    let expected = [".gitignore", "folder", "kept/inside", "moved/file"];
    assert_eq!(world.files(&second), expected);
    assert_ne!(first, second);
}

#[test]
fn large_files_that_git_does_not_track_are_left_out() {
    let world = World::new();
    let large = "x".repeat(1001);
    world.write("large", &large);
    world.write("kept", &large);
    let taken = world.snapshot();
    assert_eq!(taken.left_out, [Path::new("large")]);
    assert_eq!(world.files(&taken), [".gitignore", "kept"]);
}

#[test]
fn a_repository_without_a_commit_and_one_whose_index_is_damaged_have_snapshots() {
    let temp = tempfile::tempdir().unwrap();
    git(temp.path(), &["init", "--quiet"]);
    fs::write(temp.path().join("new"), "").unwrap();
    let repository = Repository::of(temp.path()).unwrap().unwrap();
    let outside = tempfile::tempdir().unwrap();
    let index = outside.path().join("index");
    let first = repository.snapshot(place(&index), "test").unwrap();
    let parents = git(temp.path(), &["rev-list", "--parents", &first.commit]);
    assert_eq!(parents, first.commit);
    fs::write(&index, "damaged").unwrap();
    fs::write(
        outside.path().join("index.lock"),
        "of a call that was killed",
    )
    .unwrap();
    assert_eq!(repository.snapshot(place(&index), "test").unwrap(), first);
}

#[test]
fn a_restore_puts_the_files_back_and_touches_neither_index_nor_ignored_files() {
    let world = World::new();
    world.write("new", "new\n");
    let first = world.snapshot();
    world.write("target/built", "ignored\n");
    world.write("kept", "two\n");
    world.write("later", "later\n");
    fs::remove_file(world.root().join("new")).unwrap();
    let index = world.index();
    let users = fs::read(world.root().join(".git/index")).unwrap();
    let now = world.snapshot();
    let restore = |now: &Snapshot, to: &Snapshot| {
        world
            .repository
            .restore(place(&index), &now.commit, &to.commit)
    };
    restore(&now, &first).unwrap();
    let text = |name: &str| fs::read_to_string(world.root().join(name)).unwrap_or_default();
    assert_eq!(
        [text("kept"), text("new"), text("later")],
        ["one\n", "new\n", ""]
    );
    assert_eq!(text("target/built"), "ignored\n");
    assert_eq!(fs::read(world.root().join(".git/index")).unwrap(), users);
    // What was changed meanwhile is not overwritten.
    world.write("kept", "saved just now\n");
    restore(&first, &now).unwrap_err();
    assert_eq!(text("kept"), "saved just now\n");
}

#[test]
fn a_reference_can_be_made_and_removed() {
    let world = World::new();
    let taken = world.snapshot();
    world
        .repository
        .keep("refs/uwf/threads/fork", &taken.commit)
        .unwrap();
    world.repository.forget(REFERENCE).unwrap();
    world.repository.forget(REFERENCE).unwrap();
    let references = world.git(&["for-each-ref", "--format=%(refname)", "refs/uwf"]);
    assert_eq!(references, "refs/uwf/threads/fork");
    world.repository.keep(REFERENCE, "0123").unwrap_err();
}

#[test]
fn a_call_from_a_hook_of_git_works_on_the_right_repository() {
    // The variables of the process belong to all tests, so this one asks in a process of its own.
    if let Some(root) = std::env::var_os("UWF_TEST_ROOT") {
        let found = Repository::of(Path::new(&root)).unwrap().unwrap();
        assert_eq!(found.root(), Path::new(&root));
        let index = Path::new(&root).with_file_name("index");
        found.snapshot(place(&index), "test").unwrap();
        return;
    }
    let (world, other) = (World::new(), World::new());
    let output = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "a_call_from_a_hook_of_git_works_on_the_right_repository",
        ])
        .env("UWF_TEST_ROOT", world.root())
        .env("GIT_DIR", other.root().join(".git"))
        .env("GIT_WORK_TREE", other.root())
        .env("GIT_INDEX_FILE", other.root().join(".git/index"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    world.git(&["rev-parse", "--verify", REFERENCE]);
}

#[test]
fn a_file_that_git_ignores_by_now_is_in_the_way_of_a_restore() {
    let world = World::new();
    world.write("env", "old\n");
    let first = world.snapshot();
    world.write(".gitignore", "target/\nenv\n");
    world.write("env", "new secret\n");
    // An index that does not know the file, as that of a fork.
    fs::remove_file(world.index()).unwrap();
    let now = world.snapshot();
    let index = world.index();
    let changed = |now: &Snapshot| {
        world
            .repository
            .changed(&now.commit, &first.commit)
            .unwrap()
    };
    let in_the_way = |changes: &[uwf_snapshot::Changed]| {
        world.repository.in_the_way(place(&index), changes).unwrap()
    };
    assert_eq!(in_the_way(&changed(&now)), [Path::new("env")]);
    fs::remove_file(world.root().join("env")).unwrap();
    world.write("env/inside", "");
    assert_eq!(in_the_way(&changed(&now)), [Path::new("env/inside")]);
    fs::remove_dir_all(world.root().join("env")).unwrap();
    assert!(in_the_way(&changed(&now)).is_empty());
}

#[test]
fn another_repository_around_the_folder_is_not_taken_for_the_one_that_is_gone() {
    let world = World::new();
    let inner = world.root().join("inner");
    world.git(&["worktree", "add", "--quiet", "--detach", "inner"]);
    assert_eq!(Repository::open(&inner).unwrap().root(), inner);
    fs::remove_file(inner.join(".git")).unwrap();
    Repository::open(&inner).unwrap_err();
    Repository::open(&world.root()).unwrap();
}

#[test]
fn worktrees_of_one_repository_are_made_and_removed_at_the_same_time() {
    let world = World::new();
    let base = world.repository.head().unwrap();
    let git_dir = world.repository.git_dir().unwrap();
    let use_one = |number: u8| {
        let (branch, place) = (
            format!("uwf/{number}"),
            world.temp.path().join(format!("{number}")),
        );
        let worktree = Worktree {
            git_dir: &git_dir,
            place: &place,
            branch: &branch,
            base: &base,
        };
        for _ in 0..10 {
            worktree.make(&Unsupervised).unwrap();
            assert_eq!(fs::read_to_string(place.join("kept")).unwrap(), "one\n");
            assert_eq!(git(&place, &["status", "--porcelain"]), "");
            worktree.remove().unwrap();
        }
    };
    std::thread::scope(|scope| {
        for number in 0..8 {
            scope.spawn(move || use_one(number));
        }
    });
    assert_eq!(world.git(&["worktree", "list"]).lines().count(), 1);
    assert_eq!(
        world.git(&["branch", "--format=%(refname)"]),
        "refs/heads/main"
    );
}

#[test]
fn a_change_within_the_second_of_the_commit_is_seen() {
    let world = World::new();
    world.write("kept", "two\n");
    std::thread::sleep(std::time::Duration::from_millis(1100));
    let taken = world.snapshot();
    let kept = world.git(&["show", &format!("{}:kept", taken.commit)]);
    assert_eq!(kept, "two");
}

#[test]
fn files_that_the_user_hid_from_his_index_are_seen_and_put_back() {
    for flag in ["--assume-unchanged", "--skip-worktree"] {
        let world = World::new();
        world.git(&["update-index", flag, "kept"]);
        let listed = world.git(&["ls-files", "-v"]);
        let before = world.snapshot();
        world.write("kept", "two\n");
        let after = world.snapshot();
        let changed = world.repository.changed(&before.commit, &after.commit);
        let changed: Vec<PathBuf> = changed.unwrap().into_iter().map(|it| it.path).collect();
        assert_eq!(changed, [Path::new("kept")], "{flag}");
        let index = world.index();
        let restored = world
            .repository
            .restore(place(&index), &after.commit, &before.commit);
        restored.unwrap();
        let kept = fs::read_to_string(world.root().join("kept")).unwrap();
        assert_eq!(kept, "one\n", "{flag}");
        assert_eq!(world.git(&["ls-files", "-v"]), listed);
    }
}

#[test]
fn a_file_that_a_sparse_checkout_leaves_out_is_not_gone() {
    let world = World::new();
    world.git(&["update-index", "--skip-worktree", "kept"]);
    fs::remove_file(world.root().join("kept")).unwrap();
    let taken = world.snapshot();
    assert_eq!(world.files(&taken), [".gitignore", "kept"]);
    world.write("kept", "two\n");
    let taken = world.snapshot();
    let kept = world.git(&["show", &format!("{}:kept", taken.commit)]);
    assert_eq!(kept, "two");
}
