//! The archive of finished tasks.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use flate2::Crc;
use flate2::read::DeflateDecoder;
use rustix::fs::{CWD, Mode, mkfifoat};
use rustix::process::{Signal, getpid, kill_process};
use uwf_pipeline::ErrorKind;
use uwf_runner::ArchiveEnd;

use crate::steps::Steps;

/// Reads an archive by its directory: the names in order, and the contents.
fn read(path: &Path) -> (Vec<String>, BTreeMap<String, Vec<u8>>) {
    let bytes = fs::read(path).unwrap();
    let short = |at: usize| usize::from(u16::from_le_bytes(bytes[at..at + 2].try_into().unwrap()));
    let long = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    let place = |at: usize| usize::try_from(long(at)).unwrap();
    let end = bytes.len() - 22;
    assert_eq!(long(end), 0x0605_4b50);
    let (mut names, mut contents) = (Vec::new(), BTreeMap::new());
    let mut at = place(end + 16);
    for _ in 0..short(end + 10) {
        assert_eq!(long(at), 0x0201_4b50);
        let name_end = at + 46 + short(at + 28);
        let name = String::from_utf8(bytes[at + 46..name_end].to_vec()).unwrap();
        let local = place(at + 42);
        assert_eq!(
            bytes[local + 6..local + 30],
            bytes[at + 8..at + 32],
            "{name}"
        );
        let start = local + 30 + short(local + 26);
        let mut content = Vec::new();
        let compressed = &bytes[start..start + place(at + 20)];
        DeflateDecoder::new(compressed)
            .read_to_end(&mut content)
            .unwrap();
        let mut crc = Crc::new();
        crc.update(&content);
        assert_eq!(
            (crc.sum(), content.len()),
            (long(at + 16), place(at + 24)),
            "{name}"
        );
        names.push(name.clone());
        contents.insert(name, content);
        at = name_end;
    }
    assert_eq!(at, end);
    (names, contents)
}

/// Makes an archive, and returns how many files it has, and the warnings.
#[track_caller]
fn archive(steps: &Steps, destination: &Path) -> (u64, Vec<String>) {
    let workspace = &steps.world.workspace;
    match workspace.archive("processed", destination, &steps.signals) {
        Ok(ArchiveEnd::Made { files, warnings }) => (files, warnings),
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_archive_has_all_files_whole_and_in_order() {
    let steps = Steps::new();
    let large = "line of a file\n".repeat(100_000);
    for (path, content) in [
        ("t/2.task", "two"),
        ("t/1.task", ""),
        ("t.txt", &*large),
        (".hidden", "hidden"),
        ("a\nb", "line"),
        ("ü %0A", "text"),
    ] {
        steps.world.write(&format!("processed/{path}"), content);
    }
    let invalid = steps
        .world
        .inside("processed")
        .join(OsStr::from_bytes(b"x\xff"));
    fs::write(invalid, "bytes").unwrap();
    let zip = steps.world.outside("out.zip");
    assert_eq!(archive(&steps, &zip), (7, Vec::new()));
    let (names, contents) = read(&zip);
    let expected = [
        ".hidden", "a%0Ab", "t/1.task", "t/2.task", "t.txt", "x%FF", "ü %250A",
    ];
    assert_eq!(names, expected.map(|name| format!("processed/{name}")));
    assert_eq!(contents["processed/t.txt"], large.as_bytes());
    assert_eq!(contents["processed/t/1.task"], b"");
    assert_eq!(contents["processed/x%FF"], b"bytes");
    assert!(zip.metadata().unwrap().len() < 50_000);
    let first = fs::read(&zip).unwrap();
    archive(&steps, &zip);
    assert_eq!(
        fs::read(&zip).unwrap(),
        first,
        "the same files, the same archive"
    );
}

#[test]
fn an_archive_of_nothing_is_a_valid_one() {
    let steps = Steps::new();
    for _ in 0..2 {
        assert_eq!(archive(&steps, Path::new("out.zip")), (0, Vec::new()));
        assert!(read(&steps.world.inside("out.zip")).0.is_empty());
        fs::create_dir_all(steps.world.inside("processed/empty")).unwrap();
    }
}

#[test]
fn what_is_no_file_of_the_workspace_is_left_out_with_a_warning() {
    let steps = Steps::new();
    fs::write(steps.world.outside("secret"), "secret").unwrap();
    steps.world.write("processed/file", "in");
    steps.world.write("other/file", "linked");
    steps.world.link("processed/in", "../other/file");
    steps.world.link("processed/folder", "../other");
    steps.world.link("processed/nowhere", "nothing");
    steps
        .world
        .link("processed/out", steps.world.outside("secret"));
    let mode = Mode::RUSR | Mode::WUSR;
    mkfifoat(CWD, steps.world.inside("processed/fifo"), mode).unwrap();
    let zip = steps.world.outside("out.zip");
    let (files, warnings) = archive(&steps, &zip);
    let expected = [
        "`fifo` is a FIFO",
        "`folder` is a directory",
        "`nowhere` is a link that leads nowhere",
        "`out` is a link out of the workspace",
    ];
    assert_eq!((files, warnings), (2, expected.map(str::to_owned).to_vec()));
    let (names, contents) = read(&zip);
    assert_eq!(names, ["processed/file", "processed/in"]);
    assert_eq!(contents["processed/in"], b"linked");
}

#[test]
fn files_that_vanish_meanwhile_spoil_no_archive() {
    let steps = Steps::new();
    for count in 0..2000 {
        steps
            .world
            .write(&format!("processed/{count:04}"), "x".repeat(1000));
    }
    let zip = steps.world.outside("out.zip");
    let folder = steps.world.inside("processed");
    let (files, warnings) = std::thread::scope(|scope| {
        scope.spawn(|| {
            for count in (0..2000).rev() {
                fs::remove_file(folder.join(format!("{count:04}"))).unwrap();
            }
        });
        archive(&steps, &zip)
    });
    assert!(warnings.iter().all(|warning| warning.ends_with("is gone")));
    assert_eq!(read(&zip).0.len() as u64, files);
}

#[test]
fn an_archive_in_the_folder_that_it_contains_is_refused() {
    let steps = Steps::new();
    let check = |path: &Path| {
        let checked = steps.world.workspace.check_archive("processed", path);
        checked.map_err(|failure| failure.kind)
    };
    for _ in 0..2 {
        for inside in [
            "processed/out.zip",
            "processed/new/out.zip",
            "./processed",
            "x/../processed/y",
        ] {
            let refused = check(Path::new(inside));
            assert_eq!(refused, Err(ErrorKind::PathViolation), "{inside}");
        }
        assert_eq!(
            check(Path::new("out.zip")),
            Ok(steps.world.workspace.path().join("out.zip"))
        );
        let outside = steps.world.outside("new/out.zip");
        assert_eq!(check(&outside), Ok(outside.clone()));
        fs::create_dir_all(steps.world.inside("processed")).unwrap();
    }
    steps.world.link("to-processed", "processed");
    assert!(check(Path::new("to-processed/out.zip")).is_err());
}

#[test]
fn an_archive_that_is_interrupted_changes_nothing() {
    let steps = Steps::new();
    steps.world.write("processed/file", "");
    steps.world.write("out.zip", "old");
    steps.signals.watch().unwrap();
    kill_process(getpid(), Signal::TERM).unwrap();
    // Any thread of this process may get it.
    while steps.signals.stop().is_none() {
        std::thread::yield_now();
    }
    let workspace = &steps.world.workspace;
    let end = workspace.archive("processed", Path::new("out.zip"), &steps.signals);
    assert!(matches!(end, Ok(ArchiveEnd::Interrupted(stop)) if stop.signal == 15));
    assert_eq!(steps.world.read("out.zip"), "old");
    assert_eq!(steps.world.names(""), ["closed", "out.zip", "processed"]);
}
