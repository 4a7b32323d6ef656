//! Reading, writing and patching of files, with what models get wrong.

use std::fs;

use tempfile::TempDir;

use uwf_storage::Root;

use super::super::workspace::Reach;
use super::*;

fn workspace() -> (TempDir, Workspace) {
    let dir = TempDir::new().unwrap();
    let workspace =
        Workspace::open(dir.path(), Reach::Inside, &Root::at(dir.path().join("x"))).unwrap();
    (dir, workspace)
}

fn read(
    workspace: &Workspace,
    path: &str,
    offset: Option<u64>,
    limit: Option<u64>,
) -> Result<String, String> {
    let path = path.to_owned();
    ReadFile {
        path,
        offset,
        limit,
    }
    .run(workspace, &Masks::default())
}

#[test]
fn a_file_is_read_whole_or_by_lines() {
    let (dir, workspace) = workspace();
    fs::write(dir.path().join("f"), "one\ntwo\r\nthree").unwrap();
    let part = |offset, limit| read(&workspace, "f", offset, limit).unwrap();
    assert_eq!(part(None, None), "one\ntwo\r\nthree");
    assert_eq!(part(Some(2), Some(1)), "two\r\n");
    assert_eq!(part(Some(3), None), "three");
    assert_eq!(part(None, Some(2)), "one\ntwo\r\n");
    let beyond = read(&workspace, "f", Some(4), None).unwrap_err();
    assert!(beyond.contains("ends before line 4"), "{beyond}");
    fs::write(dir.path().join("e"), "").unwrap();
    assert!(
        read(&workspace, "e", None, None)
            .unwrap()
            .contains("is empty")
    );
}

#[test]
fn a_long_file_is_cut_with_a_note_how_to_continue() {
    let (dir, workspace) = workspace();
    fs::write(dir.path().join("long"), "0123456789\n".repeat(5000)).unwrap();
    let shown = read(&workspace, "long", None, None).unwrap();
    assert!(shown.chars().count() < MAX_SHOWN + 100);
    assert!(
        shown.ends_with("0123456789\n[cut here; go on with `offset` 2910]"),
        "{}",
        &shown[31_900..]
    );
    let rest = read(&workspace, "long", Some(2910), Some(1)).unwrap();
    assert_eq!(rest, "0123456789\n");

    fs::write(dir.path().join("line"), "é".repeat(400_000)).unwrap();
    let refused = read(&workspace, "line", None, None).unwrap_err();
    assert!(
        refused.contains("more than 512.0 KiB") && refused.contains("`offset`"),
        "{refused}"
    );
    let shown = read(&workspace, "line", Some(1), None).unwrap();
    assert!(shown.contains("longer than can be shown"));
    assert!(shown.chars().count() < MAX_SHOWN + 100);
}

#[test]
fn a_file_that_is_not_text_is_an_error() {
    let (dir, workspace) = workspace();
    fs::write(dir.path().join("binary"), b"ELF\0\x01").unwrap();
    fs::write(dir.path().join("latin"), b"caf\xe9 au lait\n").unwrap();
    let says = |path: &str, part: &str| {
        let error = read(&workspace, path, None, None).unwrap_err();
        assert!(error.contains(part), "{error}");
    };
    says("binary", "binary");
    says("latin", "UTF-8");
}

#[test]
fn a_file_is_written_whole_and_keeps_its_mode() {
    use std::os::unix::fs::PermissionsExt;
    let (dir, workspace) = workspace();
    let write = |content: &str| {
        let (path, content) = ("a/b".to_owned(), content.to_owned());
        WriteFile { path, content }.run(&workspace, &Masks::default())
    };
    assert_eq!(write("größer").unwrap(), "wrote 8 bytes to `a/b`");
    let path = dir.path().join("a/b");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    write("x").unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "x");
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o755);
}

#[test]
fn four_mebibytes_can_be_written_or_patched_and_no_byte_more() {
    let (dir, workspace) = workspace();
    let path = dir.path().join("f");
    let most = (4 << 20) as usize;
    let write = |length: usize| {
        let (path, content) = ("f".to_owned(), "x".repeat(length));
        WriteFile { path, content }.run(&workspace, &Masks::default())
    };
    let patch = |replace: &str| {
        let [path, search, replace] = ["f", "end", replace].map(ToOwned::to_owned);
        let patch = PatchFile {
            path,
            search,
            replace,
        };
        patch.run(&workspace)
    };
    let is_refused = |result: Result<String, String>| {
        let length = fs::metadata(&path).unwrap().len();
        let error = result.unwrap_err();
        assert!(error.contains("larger than 4.0 MiB"), "{error}");
        assert_eq!(fs::metadata(&path).unwrap().len(), length);
    };
    write(most).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().len(), most as u64);
    is_refused(write(most + 1));

    fs::write(&path, "x".repeat(most - 3) + "end").unwrap();
    is_refused(patch("more"));
    patch("END").unwrap();
    fs::write(&path, "x".repeat(most - 2) + "end").unwrap();
    is_refused(patch(""));
}

#[test]
fn a_patch_replaces_what_occurs_once() {
    let check = |text: &str, search: &str, expected: Result<(&str, usize), &str>| {
        let patched = patch(text, search, "X");
        match (&patched, expected) {
            (Ok((text, line)), Ok(expected)) => assert_eq!((text.as_str(), *line), expected),
            (Err(error), Err(part)) => assert!(error.contains(part), "{error}"),
            _ => panic!("{text} {search}: {patched:?}"),
        }
    };
    check("a\nb\nc\n", "b\n", Ok(("a\nXc\n", 2)));
    check("äöü", "ö", Ok(("äXü", 1)));
    check("a b a", "a", Err("more than once (lines 1, 1)"));
    check("aaa", "aa", Err("more than once"));
    check("a\r\nb\r\n", "a\nb", Err("\\r\\n"));
    check("x\n  if a {\n", "if  a {", Err("from line 2 on"));
    check("x", "y", Err("copy the part exactly"));
    check("x", "", Err("empty"));
    check("x", "X", Err("the same"));
}

#[test]
fn a_patch_that_does_not_fit_changes_nothing() {
    let (dir, workspace) = workspace();
    fs::write(dir.path().join("f"), "one\ntwo\n").unwrap();
    let patch = |search: &str, replace: &str| {
        let [path, search, replace] = ["f", search, replace].map(ToOwned::to_owned);
        PatchFile {
            path,
            search,
            replace,
        }
        .run(&workspace)
    };
    assert!(patch("three", "x").unwrap_err().starts_with("`f`: "));
    assert_eq!(
        fs::read_to_string(dir.path().join("f")).unwrap(),
        "one\ntwo\n"
    );
    assert_eq!(patch("two", "2").unwrap(), "replaced it in line 2 of `f`");
    assert_eq!(
        fs::read_to_string(dir.path().join("f")).unwrap(),
        "one\n2\n"
    );
}

#[test]
fn no_part_of_a_secret_is_left_where_a_file_is_cut() {
    let (dir, workspace) = workspace();
    let secret = "ghp_a_secret_of_some_length";
    let long = format!(
        "{}{secret}{}",
        "a".repeat(MAX_SHOWN - 10),
        "b".repeat(MAX_SHOWN)
    );
    fs::write(dir.path().join("long"), long).unwrap();
    fs::write(dir.path().join("short"), format!("a {secret} b\n")).unwrap();
    let masks = Masks::of([secret.as_bytes()]);
    let read = |path: &str| {
        let file = ReadFile {
            path: path.to_owned(),
            offset: None,
            limit: None,
        };
        file.run(&workspace, &masks).unwrap()
    };
    let shown = read("long");
    assert!(shown.contains("a***b") && shown.contains("cut here") && !shown.contains("ghp_"));
    assert_eq!(read("short"), "a *** b\n");
}

#[test]
fn no_stars_are_written_in_the_place_of_a_secret() {
    let (dir, workspace) = workspace();
    let secret = "ghp_a_secret_of_some_length";
    let masks = Masks::of([secret.as_bytes()]);
    let write = |path: &str, content: &str| {
        let (path, content) = (path.to_owned(), content.to_owned());
        WriteFile { path, content }.run(&workspace, &masks)
    };
    let file = dir.path().join("env");
    fs::write(&file, format!("TOKEN={secret}\n")).unwrap();
    let refused = write("env", "TOKEN=***\nmore\n").unwrap_err();
    assert!(refused.contains("patch_file"), "{refused}");
    assert_eq!(
        fs::read_to_string(&file).unwrap(),
        format!("TOKEN={secret}\n")
    );
    fs::write(
        &file,
        format!("TOKEN={secret}\ncaf")
            .into_bytes()
            .into_iter()
            .chain([0xe9])
            .collect::<Vec<u8>>(),
    )
    .unwrap();
    assert!(
        write("env", "TOKEN=***\n").is_err(),
        "a file that is not all text"
    );
    // Without stars, the model means it; a file without secrets may have stars.
    assert!(write("env", "TOKEN=\n").is_ok());
    assert!(write("env", "*** heading ***\n").is_ok());
    assert!(write("new", "***\n").is_ok());
}
