//! Attempts to get out of the folder, by every way that resolves paths.

use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::*;

/// A folder `in` beside a folder `out`, which holds a secret, and a storage root inside.
struct Folders {
    dir: TempDir,
}

impl Folders {
    fn new() -> Self {
        let dir = TempDir::new().unwrap();
        fs::create_dir_all(dir.path().join("in/sub")).unwrap();
        fs::create_dir_all(dir.path().join("in/root")).unwrap();
        fs::create_dir(dir.path().join("out")).unwrap();
        fs::write(dir.path().join("out/secret"), "outside").unwrap();
        fs::write(dir.path().join("in/root/.env"), "KEY=1").unwrap();
        fs::write(dir.path().join("in/file"), "inside").unwrap();
        Self { dir }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn root(&self, name: &str) -> Root {
        Root::at(self.path(name))
    }

    fn workspace(&self, resolver: Resolver) -> Workspace {
        let mut workspace =
            Workspace::open(&self.path("in"), Reach::Inside, &self.root("in/root")).unwrap();
        workspace.resolver = resolver;
        workspace
    }

    /// Both ways to stay inside: that of the kernel, and that of one which cannot do it.
    fn confined(&self) -> [Workspace; 2] {
        [Resolver::Beneath, Resolver::Steps].map(|resolver| self.workspace(resolver))
    }

    fn outside_is_untouched(&self) {
        let names: Vec<_> = fs::read_dir(self.path("out"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        assert_eq!(names, ["secret"]);
        assert_eq!(
            fs::read_to_string(self.path("out/secret")).unwrap(),
            "outside"
        );
    }
}

fn text(mut file: File) -> String {
    let mut text = String::new();
    file.read_to_string(&mut text).unwrap();
    text
}

#[test]
fn this_kernel_confines_by_itself() {
    let folders = Folders::new();
    let workspace =
        Workspace::open(&folders.path("in"), Reach::Inside, &folders.root("x")).unwrap();
    assert_eq!(workspace.resolver, Resolver::Beneath);
}

#[test]
fn files_inside_are_found_by_either_form_of_their_path() {
    let folders = Folders::new();
    let absolute = folders.path("in").canonicalize().unwrap().join("file");
    for workspace in folders.confined() {
        for path in [
            "file",
            "./file",
            "sub/.././../in/file",
            absolute.to_str().unwrap(),
        ] {
            let read = workspace.read(path);
            if path.contains("..") {
                assert!(read.unwrap_err().contains("`..`"));
            } else {
                assert_eq!(text(read.unwrap()), "inside", "{path}");
            }
        }
        let mut file = workspace.write("new/folders/file").unwrap();
        file.write_all(b"x").unwrap();
        assert_eq!(text(workspace.read("new/folders/file").unwrap()), "x");
        fs::remove_dir_all(folders.path("in/new")).unwrap();
    }
}

#[test]
fn nothing_leads_out() {
    let folders = Folders::new();
    let link = |target: &str, name: &str| symlink(target, folders.path("in").join(name)).unwrap();
    link("../out/secret", "link");
    link(folders.path("out/secret").to_str().unwrap(), "absolute");
    link("../out", "folder");
    link("../out/new", "dangling");
    link("/proc/self/cwd", "magic");
    link("/", "slash");
    for workspace in folders.confined() {
        for path in [
            "link",
            "absolute",
            "folder/secret",
            "folder/new",
            "folder/more/new",
            "dangling",
            "magic/file",
            "slash/etc/passwd",
            "../out/secret",
            "sub/../../out/secret",
            "/etc/passwd",
            "/proc/self/environ",
            "/dev/null",
            folders.path("out/secret").to_str().unwrap(),
        ] {
            let read = workspace.read(path).unwrap_err();
            let write = workspace.write(path).unwrap_err();
            for error in [&read, &write] {
                let known = ["outside", "`..`", "link", "folder is a file"];
                assert!(
                    known.iter().any(|part| error.contains(part)),
                    "{path}: {error}"
                );
            }
        }
        assert!(workspace.folder("folder").is_err());
        assert!(workspace.folder("..").is_err());
    }
    folders.outside_is_untouched();
}

#[test]
fn links_that_stay_inside_are_followed_by_the_kernel_alone() {
    let folders = Folders::new();
    symlink("../file", folders.path("in/sub/link")).unwrap();
    let [kernel, steps] = folders.confined();
    assert_eq!(text(kernel.read("sub/link").unwrap()), "inside");
    assert!(steps.read("sub/link").unwrap_err().contains("link"));
}

#[test]
fn the_storage_root_is_closed_by_whatever_name() {
    let folders = Folders::new();
    symlink("root", folders.path("in/alias")).unwrap();
    symlink("root/.env", folders.path("in/env")).unwrap();
    let mut free = folders.workspace(Resolver::Free);
    free.closed = Some(folders.path("in/root").canonicalize().unwrap());
    for workspace in [folders.workspace(Resolver::Beneath), free] {
        for path in ["root/.env", "alias/.env", "env", "root/new", "root/a/b"] {
            let written = workspace.write(path);
            assert!(written.unwrap_err().contains("storage"), "{path}");
        }
        assert!(
            workspace
                .read("alias/.env")
                .unwrap_err()
                .contains("storage")
        );
        assert!(workspace.folder("root").is_err());
    }
    assert_eq!(
        fs::read_to_string(folders.path("in/root/.env")).unwrap(),
        "KEY=1"
    );
    assert_eq!(fs::read_dir(folders.path("in/root")).unwrap().count(), 1);
}

#[test]
fn of_the_storage_root_the_steps_own_worktree_is_open() {
    let folders = Folders::new();
    for tree in ["mine/sub", "other"] {
        let tree = folders.path("in/root/worktrees").join(tree);
        fs::create_dir_all(&tree).unwrap();
        fs::write(tree.join("file"), "text").unwrap();
    }
    let sub = folders.path("in/root/worktrees/mine/sub");
    let root = folders.root("in/root");
    let own = Workspace::open(&sub, Reach::Inside, &root).unwrap();
    assert_eq!(text(own.read("file").unwrap()), "text");
    own.write("a/new").unwrap();
    own.folder(".").unwrap();
    let free = Workspace::open(&sub, Reach::Everywhere, &root).unwrap();
    free.write("../new").unwrap();
    for path in ["../../other/file", "../../other.json", "../../../.env"] {
        let refused = free.write(path).unwrap_err();
        assert!(refused.contains("storage"), "{path}: {refused}");
    }
}

#[test]
fn outside_is_open_only_to_who_may_leave() {
    let folders = Folders::new();
    let secret = folders.path("out/secret");
    let free = Workspace::open(&folders.path("in"), Reach::Everywhere, &folders.root("x")).unwrap();
    assert_eq!(
        text(free.read(secret.to_str().unwrap()).unwrap()),
        "outside"
    );
    assert_eq!(text(free.read("../out/secret").unwrap()), "outside");
    assert_eq!(text(free.read("file").unwrap()), "inside");
}

#[test]
fn what_is_no_file_is_neither_opened_nor_waited_for() {
    let folders = Folders::new();
    let pipe = folders.path("in/pipe");
    rustix::fs::mknodat(CWD, &pipe, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(folders.path("in/socket")).unwrap();
    for workspace in folders.confined() {
        let both = |path: &str, part: &str| {
            for result in [workspace.read(path), workspace.write(path)] {
                let error = result.unwrap_err();
                assert!(error.contains(part), "{path}: {error}");
            }
        };
        both("pipe", "a pipe");
        both("socket", "a socket");
        both("sub", "a folder");
        both(".", "a folder");
        both("file/x", "should be a folder");
        assert_eq!(
            workspace.read("nothing").unwrap_err(),
            "there is no `nothing`"
        );
        assert!(workspace.read("").is_err());
        assert!(workspace.read("a\0b").is_err());
    }
    let free = folders.workspace(Resolver::Free);
    assert!(free.read("/dev/null").unwrap_err().contains("a device"));
}

#[test]
fn a_folder_that_becomes_a_link_while_tools_write_leads_nobody_out() {
    let folders = Folders::new();
    let mut leaked = Vec::new();
    let (folder, aside) = (folders.path("in/sub"), folders.path("in/aside"));
    for workspace in folders.confined() {
        let (stop, swaps) = (AtomicBool::new(false), AtomicU32::new(0));
        let mut written = 0;
        let begun = Instant::now();
        thread::scope(|scope| {
            scope.spawn(|| {
                // The tools make the folder again when it is away, so that each of these may fail.
                while !stop.load(Ordering::Relaxed) {
                    let _ = fs::remove_dir_all(&aside);
                    let _ = fs::rename(&folder, &aside);
                    if symlink("../out", &folder).is_ok() {
                        swaps.fetch_add(1, Ordering::Relaxed);
                        let _ = fs::remove_file(&folder);
                    }
                    let _ = fs::rename(&aside, &folder);
                }
            });
            // On a busy machine the other thread may not have run yet.
            let is_enough = |written| written > 100 && swaps.load(Ordering::Relaxed) > 100;
            while !is_enough(written) && begun.elapsed() < Duration::from_secs(20) {
                if let Ok(mut file) = workspace.write("sub/new") {
                    let _ = file.write_all(b"in");
                    written += 1;
                }
                let _ = workspace
                    .read("sub/secret")
                    .map(|file| leaked.push(text(file)));
            }
            stop.store(true, Ordering::Relaxed);
        });
        let swaps = swaps.load(Ordering::Relaxed);
        assert!(written > 10 && swaps > 10, "{written} {swaps}");
    }
    assert_eq!(leaked, Vec::<String>::new());
    folders.outside_is_untouched();
}

#[test]
fn the_files_of_git_are_read_and_never_written() {
    let folders = Folders::new();
    fs::create_dir(folders.path("in/.git")).unwrap();
    fs::write(folders.path("in/.git/config"), "[core]").unwrap();
    symlink(".git", folders.path("in/link")).unwrap();
    for workspace in folders.confined() {
        assert_eq!(text(workspace.read(".git/config").unwrap()), "[core]");
        for path in [
            ".git/config",
            ".git/hooks/x",
            "sub/.git",
            "sub/.GIT/config",
            "link/config",
        ] {
            assert!(workspace.write(path).is_err(), "{path}");
        }
        assert!(workspace.write(".gitignore").is_ok());
    }
    assert_eq!(
        fs::read_to_string(folders.path("in/.git/config")).unwrap(),
        "[core]"
    );
    assert!(!folders.path("in/.git/hooks").exists());
}
