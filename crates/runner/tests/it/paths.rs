//! Which paths lead where: nothing outside of the workspace is read or written, and nothing blocks.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;

use rustix::fs::{CWD, Mode, mkfifoat};
use uwf_pipeline::{ErrorKind, Failure, Matches, PathTest};
use uwf_runner::{NotDone, OutputFile};

use crate::world::World;

const MOST: usize = 1 << 20;

/// Returns the kind and the message of a refusal.
#[track_caller]
fn refusal<T: std::fmt::Debug>(refused: Result<T, Failure>) -> (ErrorKind, String) {
    let failure = refused.unwrap_err();
    (failure.kind, failure.message)
}

/// Writes an output file from start to end.
fn write(world: &World, path: &str, content: &str) -> Result<(), Failure> {
    let file = OutputFile::create(&world.workspace, path).map_err(NotDone::failure)?;
    file.file().write_all(content.as_bytes()).unwrap();
    file.finish().map_err(NotDone::failure)
}

/// Makes everything that a path must not lead to, or may lead to through a link.
fn world_of_links() -> World {
    let world = World::new();
    fs::write(world.outside("secret"), "secret").unwrap();
    world.write("folder/file", "in the folder");
    world.link("out", world.outside(""));
    world.link("out-file", world.outside("secret"));
    world.link("out-relative", "../outside/secret");
    world.link("in", world.inside("folder"));
    world.link("in-file", "./folder/../folder/file");
    world.link("folder/up", "..");
    world.link("nowhere", "nothing");
    world.link("circle", "circle");
    world.link("out-nowhere", world.outside("nothing"));
    world
}

#[test]
fn a_path_that_is_no_path_in_the_workspace_is_refused() {
    let world = world_of_links();
    for path in ["", "/etc/passwd", "..", "folder/../file", "a\0b", "C:/x"] {
        let (kind, _) = refusal(world.workspace.read(path, MOST));
        assert_eq!(kind, ErrorKind::PathViolation, "read {path:?}");
        let (kind, _) = refusal(write(&world, path, ""));
        assert_eq!(kind, ErrorKind::PathViolation, "write {path:?}");
        let (kind, _) = refusal(world.workspace.paths(path));
        assert_eq!(kind, ErrorKind::PathViolation, "match {path:?}");
    }
}

#[test]
fn a_link_is_followed_in_the_workspace_and_refused_where_it_leads_out() {
    let world = world_of_links();
    for path in ["in/file", "in-file", "folder/up/in/file", "./in//file"] {
        let read = world.workspace.read(path, MOST).unwrap();
        assert_eq!(read, b"in the folder", "{path}");
    }
    for path in [
        "out/secret",
        "out-file",
        "out-relative",
        "folder/up/out/secret",
    ] {
        let (kind, message) = refusal(world.workspace.read(path, MOST));
        assert_eq!(kind, ErrorKind::PathViolation, "{path}");
        assert!(message.contains("leads out of it"), "{message}");
        let (kind, _) = refusal(write(&world, path, "changed"));
        assert_eq!(kind, ErrorKind::PathViolation, "{path}");
    }
    let (kind, message) = refusal(world.workspace.read("folder/up/out/secret", MOST));
    assert_eq!(kind, ErrorKind::PathViolation);
    assert!(message.contains("`folder/up/out`"), "{message}");
    assert_eq!(
        fs::read_to_string(world.outside("secret")).unwrap(),
        "secret"
    );
}

#[test]
fn a_link_that_leads_nowhere_makes_no_file() {
    let world = world_of_links();
    for path in ["nowhere", "out-nowhere", "circle", "nowhere/x"] {
        refusal(world.workspace.read(path, MOST));
        refusal(write(&world, path, "x"));
    }
    assert_eq!(world.names_outside(), ["secret"]);
    assert!(!world.inside("nothing").exists());
}

#[test]
fn what_is_no_regular_file_is_refused_and_never_blocks() {
    let world = World::new();
    let mode = Mode::RUSR | Mode::WUSR;
    mkfifoat(CWD, world.inside("fifo"), mode).unwrap();
    world.link("to-fifo", "fifo");
    let _socket = UnixListener::bind(world.inside("socket")).unwrap();
    world.write("folder/file", "");
    for (path, what) in [
        ("fifo", "a FIFO"),
        ("to-fifo", "a FIFO"),
        ("socket", "a socket"),
        ("folder", "a directory"),
        (".", "a directory"),
    ] {
        let (kind, message) = refusal(world.workspace.read(path, MOST));
        assert_eq!(kind, ErrorKind::InputFileError, "{path}");
        assert!(message.contains(what), "{message}");
        if path != "." {
            let (kind, message) = refusal(write(&world, path, ""));
            assert_eq!(kind, ErrorKind::PathError, "{path}");
            assert!(message.contains(what), "{message}");
        }
    }
    let (kind, message) = refusal(world.workspace.read("missing", MOST));
    assert_eq!(
        (kind, &*message),
        (ErrorKind::InputFileError, "there is no `missing`")
    );
    let (kind, _) = refusal(write(&world, "folder/file/below", ""));
    assert_eq!(kind, ErrorKind::PathError);
    let (kind, _) = refusal(write(&world, ".", ""));
    assert_eq!(kind, ErrorKind::PathError);
}

#[test]
fn a_file_is_written_whole_with_its_parents_or_not_at_all() {
    let world = world_of_links();
    write(&world, "new/deep/file", "content").unwrap();
    assert_eq!(world.read("new/deep/file"), "content");
    write(&world, "in/file", "through the folder").unwrap();
    write(&world, "in-file", "through the link").unwrap();
    assert_eq!(world.read("folder/file"), "through the link");
    assert!(world.inside("in-file").is_symlink());

    let dropped = OutputFile::create(&world.workspace, "new/deep/file").unwrap();
    dropped.file().write_all(b"half").unwrap();
    assert_eq!(
        world.read("new/deep/file"),
        "content",
        "while it is written"
    );
    drop(dropped);
    assert_eq!(world.read("new/deep/file"), "content");
    assert_eq!(world.names("new/deep"), ["file"], "nothing is left over");
}

#[test]
fn a_file_that_is_replaced_keeps_its_permissions() {
    let world = World::new();
    world.write("script", "old");
    let mode = |path| world.inside(path).metadata().unwrap().permissions().mode() & 0o777;
    fs::set_permissions(world.inside("script"), PermissionsExt::from_mode(0o750)).unwrap();
    write(&world, "script", "new").unwrap();
    assert_eq!(mode("script"), 0o750);
    write(&world, "new", "").unwrap();
    world.write("usual", "");
    assert_eq!(mode("new"), mode("usual"));
}

#[test]
fn a_folder_that_leaves_the_workspace_while_a_file_is_written_gets_no_file() {
    let world = World::new();
    let file = OutputFile::create(&world.workspace, "out/file").unwrap();
    fs::rename(world.inside("out"), world.outside("out")).unwrap();
    world.link("out", world.outside(""));
    let (kind, _) = refusal(file.finish().map_err(NotDone::failure));
    assert_eq!(kind, ErrorKind::PathViolation);
    assert_eq!(world.names_outside(), ["out"]);
    assert_eq!(fs::read_dir(world.outside("out")).unwrap().count(), 0);

    let file = OutputFile::create(&world.workspace, "gone/file").unwrap();
    fs::remove_dir_all(world.inside("gone")).unwrap();
    let (kind, _) = refusal(file.finish().map_err(NotDone::failure));
    assert_eq!(kind, ErrorKind::PathError);
}

#[test]
fn nothing_is_written_in_a_closed_folder() {
    let world = World::new();
    world.link("to-closed", "closed");
    for path in ["closed/x", "closed/new/x", "to-closed/x"] {
        let (kind, _) = refusal(write(&world, path, ""));
        assert_eq!(kind, ErrorKind::PathViolation, "{path}");
    }
    assert!(world.names("closed").is_empty());
    world.write("closed/log", "readable");
    assert!(world.workspace.read("closed/log", MOST).is_ok());
}

#[test]
fn a_file_is_read_up_to_a_limit() {
    let world = World::new();
    world.write("file", "12345");
    assert_eq!(world.workspace.read("file", 5).unwrap().len(), 5);
    assert_eq!(world.workspace.read("file", 3).unwrap().len(), 4);
}

#[test]
fn matches_are_sorted_and_none_leads_out() {
    let world = world_of_links();
    for path in [
        "q/b.task",
        "q/a.task",
        "q/c.tmp",
        "q/.hidden.task",
        "q/d/x.task",
    ] {
        world.write(path, "");
    }
    world.link("q/link.task", "a.task");
    world.link("q/out.task", world.outside("secret"));
    world.link("q/nowhere.task", "nothing");
    let paths = |glob| world.workspace.paths(glob).unwrap();
    assert_eq!(paths("q/*.task"), ["q/a.task", "q/b.task", "q/link.task"]);
    assert_eq!(paths("./q//?.task"), ["q/a.task", "q/b.task"]);
    assert_eq!(paths("*/*/x.task"), ["q/d/x.task"]);
    assert_eq!(paths("q/.*"), ["q/.hidden.task"]);
    assert_eq!(paths("q/d"), ["q/d"]);
    for nothing in [
        "out/*",
        "*/secret",
        "out-file",
        "none/*",
        "q/a.task/*",
        "nowhere",
    ] {
        assert!(paths(nothing).is_empty(), "{nothing}");
    }
    let files = |glob| world.workspace.files(glob).unwrap();
    assert_eq!(files("q/*"), ["q/a.task", "q/b.task", "q/link.task"]);
    assert_eq!(files("q/*.tmp"), ["q/c.tmp"]);
}

#[test]
fn a_condition_holds_by_what_is_there() {
    let world = world_of_links();
    let holds = |glob: &str, holds_if| {
        let glob = glob.to_owned();
        world.workspace.holds(&PathTest { glob, holds_if }).unwrap()
    };
    assert!(holds("fold*", Matches::Some) && !holds("fold*", Matches::None));
    assert!(holds("out/secret", Matches::None) && !holds("out/secret", Matches::Some));
}
