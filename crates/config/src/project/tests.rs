//! Workflow files on a real disk: reading, links that lead outside, and the search by name.

use std::fs;
use std::os::unix::fs::{chown, symlink};
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use uwf_protocol::workflow_yaml::LoadedWorkflow;
use uwf_storage::StorageError;

use super::{ReadError, discover, expected_name, list_local, looks_like_path, read_workflow_file};

const ROLE: &str = "goal: g\nmeta: !include schema.json\n";

/// A directory with these files in it; a path that ends in `/` is an empty directory.
fn tree(files: &[(&str, &str)]) -> TempDir {
    let dir = TempDir::new().unwrap();
    for (path, text) in files {
        let path = dir.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        if path.to_string_lossy().ends_with('/') {
            fs::create_dir(path).unwrap();
        } else {
            fs::write(path, text).unwrap();
        }
    }
    dir
}

/// Reads a workflow file without checking its meaning.
fn read(path: &Path, shown: &Path) -> Result<LoadedWorkflow, ReadError> {
    read_workflow_file(path, shown, &|_| Ok(Vec::new()), &|_| Vec::new())
}

/// Reads `w.yaml` of a directory, shown as `flows/w.yaml`, and returns the messages about it.
fn messages(dir: &TempDir) -> Vec<String> {
    match read(&dir.path().join("w.yaml"), Path::new("flows/w.yaml")) {
        Ok(_) => Vec::new(),
        Err(ReadError::Workflow(diagnostics)) => {
            diagnostics.iter().map(ToString::to_string).collect()
        }
        Err(ReadError::File(error)) => vec![error.to_string()],
    }
}

/// Returns the messages about a workflow whose description is this include.
fn include(dir: &TempDir, path: &str) -> Vec<String> {
    let text = format!("name: w\ndescription: !include {path}\nroles: {{}}\ngraph: {{}}\n");
    fs::write(dir.path().join("w.yaml"), text).unwrap();
    messages(dir)
}

#[test]
fn a_workflow_is_read_with_the_files_around_it() {
    let dir = tree(&[
        (
            "w.yaml",
            "name: w\nroles: { a: !include roles/a.yaml, b: !include roles/b.yaml }\ngraph: {}",
        ),
        ("roles/a.yaml", ROLE),
        (
            "roles/b.yaml",
            "goal: !include ../goals/b.md\nmeta: !include ./schema.json\n",
        ),
        ("roles/schema.json", r#"{ "type": "object" }"#),
        ("goals/b.md", "Work.\n"),
    ]);
    let path = dir.path().join("w.yaml");
    let loaded = read(&path, Path::new("flows/w.yaml")).unwrap();
    assert_eq!(loaded.workflow.roles[1].goal, "Work.\n");
    let of = |path: &[&str]| {
        let path: Vec<String> = path.iter().map(|key| (*key).to_owned()).collect();
        loaded.positions.of(&path).unwrap().to_string()
    };
    assert_eq!(of(&["roles"]), "flows/w.yaml:2:1");
    assert_eq!(of(&["roles", "b", "goal"]), "flows/goals/b.md:1:1");
    assert_eq!(
        of(&["roles", "b", "meta", "type"]),
        "flows/roles/schema.json:1:11"
    );
}

#[test]
fn files_that_cannot_be_read_are_named_as_they_were_given() {
    let dir = tree(&[("w.yaml/", "")]);
    assert_eq!(messages(&dir), ["cannot read `flows/w.yaml`"]);
    let missing = read(&dir.path().join("x.yaml"), Path::new("x.yaml"));
    let Err(ReadError::File(StorageError::Io { source, .. })) = missing else {
        panic!("a missing file is an error of the system");
    };
    assert_eq!(source.kind(), std::io::ErrorKind::NotFound);

    let dir = tree(&[]);
    fs::write(dir.path().join("w.yaml"), b"name: w\ndescription: \xff").unwrap();
    assert_eq!(
        messages(&dir),
        ["flows/w.yaml:2:1: the file is not UTF-8 text"]
    );
    fs::write(dir.path().join("w.yaml"), vec![b'#'; (4 << 20) + 1]).unwrap();
    assert_eq!(
        messages(&dir),
        ["flows/w.yaml:1:1: the file is larger than 4 MiB"]
    );
}

#[test]
fn includes_stay_in_the_folder_of_the_workflow() {
    let outer = tree(&[
        ("secret.txt", "s"),
        ("flows/in.txt", "i"),
        ("flows/dir/", ""),
    ]);
    let dir = outer.path().join("flows");
    let check = |path: &str, problem: &str| {
        let text = format!("name: w\ndescription: !include {path}\nroles: {{}}\ngraph: {{}}\n");
        fs::write(dir.join("w.yaml"), text).unwrap();
        let read = read(&dir.join("w.yaml"), Path::new("w.yaml"));
        let expected = format!("w.yaml:2:23: cannot include `{path}`: {problem}");
        let description = match read {
            Ok(loaded) => loaded.workflow.description,
            Err(ReadError::Workflow(diagnostics)) => diagnostics[0].to_string(),
            Err(ReadError::File(error)) => panic!("{error}"),
        };
        let wanted = if problem.is_empty() { "i" } else { &expected };
        assert_eq!(description, wanted);
    };
    let outside = "it is outside the folder of the workflow";
    symlink("../secret.txt", dir.join("link.txt")).unwrap();
    symlink("..", dir.join("up")).unwrap();
    symlink("in.txt", dir.join("inner.txt")).unwrap();
    symlink("nowhere.txt", dir.join("dangling.txt")).unwrap();
    check("in.txt", "");
    check("inner.txt", "");
    check("dir/../in.txt", "");
    check("up/flows/in.txt", "");
    check("../secret.txt", outside);
    check("link.txt", outside);
    check("up/secret.txt", outside);
    check("dangling.txt", "there is no such file");
    check("in.txt/x", "there is no such file");
    check("dir", "it is a directory, not a regular file");
    check(
        "/etc/passwd",
        "the path must be relative to the including file",
    );
}

#[test]
fn a_cycle_is_found_however_the_file_is_named() {
    let dir = tree(&[
        ("w.yaml", "name: w\nroles: !include r/a.yaml\ngraph: {}"),
        ("r/a.yaml", "!include ../r/./b.yaml"),
    ]);
    symlink("a.yaml", dir.path().join("r/b.yaml")).unwrap();
    assert_eq!(
        messages(&dir),
        [
            "flows/r/a.yaml:1:10: cannot include `../r/./b.yaml`: it includes itself: \
          flows/w.yaml → flows/r/a.yaml → flows/r/a.yaml"
        ]
    );
    let last = include(&dir, "w.yaml").pop();
    assert_eq!(
        last.as_deref(),
        Some(
            "flows/w.yaml:2:23: cannot include `w.yaml`: it includes itself: flows/w.yaml → flows/w.yaml"
        )
    );
}

#[test]
fn included_files_must_be_small_texts() {
    let dir = tree(&[]);
    fs::write(dir.path().join("b.txt"), b"a\n\xff").unwrap();
    fs::write(dir.path().join("c.txt"), vec![b'c'; (4 << 20) + 1]).unwrap();
    let at = "flows/w.yaml:2:23: cannot include";
    assert_eq!(
        include(&dir, "b.txt"),
        [format!("{at} `b.txt`: line 2: the file is not UTF-8 text")]
    );
    assert_eq!(
        include(&dir, "c.txt"),
        [format!(
            "{at} `c.txt`: line 1: the file is larger than 4 MiB"
        )]
    );
}

/// A repository with workflows at its root and in a folder, inside a directory with one more.
fn repository() -> TempDir {
    tree(&[
        (".workflow/planted.yaml", ""),
        ("repo/.git/", ""),
        ("repo/.workflow/deploy.yaml", ""),
        ("repo/.workflow/both.yaml", ""),
        ("repo/.workflow/both.yml", ""),
        ("repo/.workflow/both/index.yaml", ""),
        ("repo/.workflows/both.yaml", ""),
        ("repo/.workflows/nested/index.yml", ""),
        ("repo/.workflows/no-index/other.yaml", ""),
        ("repo/.workflows/README.md", ""),
        ("repo/.workflows/index.yaml", ""),
        ("repo/.workflows/.hidden.yaml", ""),
        ("repo/.workflows/twice.yaml.yaml", ""),
        ("repo/.workflows/folder.yaml/", ""),
        ("repo/a/.workflow/deploy.yml", ""),
        ("repo/a/b/", ""),
        ("plain/.workflow/here.yaml", ""),
        ("plain/sub/", ""),
    ])
}

fn found(dir: &TempDir, cwd: &str, name: &str) -> Option<PathBuf> {
    let path = discover(name, &dir.path().join(cwd)).unwrap()?;
    Some(path.strip_prefix(dir.path()).unwrap().to_owned())
}

#[test]
fn the_nearest_folder_wins_and_the_first_form_in_it() {
    let dir = repository();
    let check = |cwd: &str, name: &str, path: Option<&str>| {
        assert_eq!(
            found(&dir, cwd, name),
            path.map(PathBuf::from),
            "{name} from {cwd}"
        );
    };
    check("repo", "deploy", Some("repo/.workflow/deploy.yaml"));
    check("repo/a/b", "deploy", Some("repo/a/.workflow/deploy.yml"));
    check("repo/a/b", "both", Some("repo/.workflow/both.yaml"));
    check("repo", "nested", Some("repo/.workflows/nested/index.yml"));
    check("repo", "no-index", None);
    check("repo", "folder", None);
    check("repo", "missing", None);
    check("plain", "here", Some("plain/.workflow/here.yaml"));
}

#[test]
fn the_search_ends_at_the_repository_and_outside_of_one_in_the_working_directory() {
    let dir = repository();
    assert_eq!(found(&dir, "repo/a", "planted"), None);
    assert_eq!(found(&dir, "plain/sub", "here"), None);
    assert_eq!(found(&dir, "plain/sub", "planted"), None);
    fs::write(dir.path().join("plain/.git"), "gitdir: elsewhere").unwrap();
    assert!(found(&dir, "plain/sub", "here").is_some());
}

#[test]
fn a_repository_of_someone_else_does_not_widen_the_search() {
    let dir = repository();
    let git = dir.path().join(".git");
    fs::write(&git, "").unwrap();
    assert!(found(&dir, "plain/sub", "planted").is_some());
    // Only root can give a file away; for everybody else the fact cannot be staged.
    if chown(&git, Some(12_345), None).is_ok() {
        assert_eq!(found(&dir, "plain/sub", "planted"), None);
    }
}

#[test]
fn names_cannot_leave_the_folders() {
    let dir = repository();
    fs::write(dir.path().join("repo/index.yaml"), "").unwrap();
    for name in [
        "",
        ".",
        "..",
        "../deploy",
        "a/b",
        "..\\x",
        ".hidden",
        "index",
        "a\0b",
        &"x".repeat(300),
    ] {
        assert_eq!(found(&dir, "repo", name), None, "{name:?}");
    }
}

#[test]
fn the_list_has_exactly_what_is_found_by_name() {
    let dir = repository();
    let cwd = dir.path().join("repo/a/b");
    let listed = list_local(&cwd).unwrap();
    let names: Vec<&str> = listed
        .iter()
        .map(|workflow| workflow.name.as_str())
        .collect();
    assert_eq!(names, ["deploy", "both", "nested"]);
    for workflow in &listed {
        let found = discover(&workflow.name, &cwd).unwrap();
        assert_eq!(found.as_deref(), Some(workflow.path.as_path()));
        assert_eq!(
            expected_name(&workflow.path).as_deref(),
            Some(workflow.name.as_str())
        );
    }
    assert!(list_local(&dir.path().join("nowhere")).unwrap().is_empty());
}

#[test]
fn the_name_of_a_workflow_is_in_its_path() {
    let check = |path: &str, name: &str| {
        assert_eq!(
            expected_name(Path::new(path)).as_deref(),
            Some(name),
            "{path}"
        );
    };
    check("demo.yaml", "demo");
    check("/x/demo.yml", "demo");
    check("a.b.yaml", "a.b");
    check("demo.YAML", "demo.YAML");
    check("/x/demo/index.yaml", "demo");
    check("demo/./index.yml", "demo");
    let here = fs::canonicalize(".").unwrap();
    check("index.yaml", here.file_name().unwrap().to_str().unwrap());
    let up = here.parent().unwrap().file_name().unwrap();
    check("../index.yaml", up.to_str().unwrap());
    assert_eq!(expected_name(Path::new("/")), None);
}

#[test]
fn a_slash_or_an_extension_makes_a_path() {
    let check = |text: &str, is_path: bool| assert_eq!(looks_like_path(text), is_path, "{text}");
    check("demo", false);
    check("demo.json", false);
    check("demo.YAML", false);
    check("demo.yaml", true);
    check("demo.yml", true);
    check("./demo", true);
    check("a\\b", true);
}
