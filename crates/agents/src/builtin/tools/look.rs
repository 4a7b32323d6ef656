//! The tools that look for files: `list_files` and `search`. Both look at the files that [`super::walk`] finds.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read};
use std::time::{Duration, Instant};

use regex::RegexBuilder;
use serde::Deserialize;
use serde_json::{Value, json};
use uwf_util::mask::Masks;
use uwf_util::text::{counted, cut};

use super::MAX_SHOWN;
use super::walk::{Found, files};
use super::workspace::Workspace;

/// How many files one answer lists, and how many lines one answer shows.
const MOST_SHOWN: usize = 500;
/// The largest file that is searched, in bytes.
const MAX_SEARCHED: u64 = 4 << 20;
/// How much of a line is shown, in characters.
const LINE: usize = 300;
/// How large a compiled expression may be, in bytes.
const MAX_EXPRESSION: usize = 1 << 20;
/// How long a tool may look.
const TIMEOUT: Duration = Duration::from_secs(20);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ListFiles {
    path: Option<String>,
    pattern: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Search {
    pattern: String,
    path: Option<String>,
    files: Option<String>,
    #[serde(default)]
    ignore_case: bool,
}

impl ListFiles {
    pub(super) const DESCRIPTION: &str = "Lists the files below a folder, with all folders in it. `path`: the folder, the \
        working directory if left out. `pattern`: only files whose path fits, such as `*.rs` or `src/**`. Files that git \
        ignores are left out.";

    pub(super) fn parameters() -> Value {
        json!({
            "type": "object",
            "properties": { "path": { "type": "string" }, "pattern": { "type": "string" } },
            "required": [],
            "additionalProperties": false,
        })
    }

    /// Lists the files. `left` is the time that is left for the step.
    pub(super) fn run(
        &self,
        workspace: &Workspace,
        left: Option<Duration>,
    ) -> Result<String, String> {
        let (path, pattern) = (self.path.as_deref(), self.pattern.as_deref());
        let found = files(workspace, path, pattern, over(left))?;
        let mut text = String::new();
        let mut shown = 0;
        for path in &found.files {
            if shown == MOST_SHOWN || text.len() + path.len() > MAX_SHOWN {
                break;
            }
            shown += 1;
            let _ = writeln!(text, "{path}");
        }
        match found.files.len() - shown {
            0 if shown == 0 => text += "(no files)\n",
            0 => {}
            more => {
                let more = counted(more as u64, "more file");
                let _ = writeln!(text, "[{more}; name a folder or a pattern to see them]");
            }
        }
        Ok(text + found.note())
    }
}

impl Search {
    pub(super) const DESCRIPTION: &str = "Searches the lines of text files by a regular expression, and shows each line that \
        fits with its file and number. `path`: a file, or the folder below which to search, the working directory if left \
        out. `files`: only files whose path fits a pattern, such as `*.rs`. Files that git ignores are left out.";

    pub(super) fn parameters() -> Value {
        json!({
            "type": "object",
            "properties": {
                "pattern": { "type": "string" },
                "path": { "type": "string" },
                "files": { "type": "string" },
                "ignore_case": { "type": "boolean" },
            },
            "required": ["pattern"],
            "additionalProperties": false,
        })
    }

    /// Searches. `left` is the time that is left for the step. What is found is returned without secrets.
    pub(super) fn run(
        &self,
        workspace: &Workspace,
        left: Option<Duration>,
        masks: &Masks,
    ) -> Result<String, String> {
        let expression = RegexBuilder::new(&self.pattern)
            .case_insensitive(self.ignore_case)
            .size_limit(MAX_EXPRESSION)
            .build()
            .map_err(|error| format!("`pattern` is no regular expression: {error}"))?;
        let over = over(left);
        let is_file = self
            .path
            .as_deref()
            .filter(|path| workspace.read(path).is_ok());
        let found = match is_file {
            Some(file) => Found::file(file),
            None => files(workspace, self.path.as_deref(), self.files.as_deref(), over)?,
        };
        let mut hits = Hits::new(masks);
        for path in &found.files {
            if Instant::now() >= over {
                return Ok(hits.shown(
                    "[the search took too long and stopped here; search in a smaller part]\n",
                ));
            }
            if search_file(workspace, path, &expression, &mut hits).is_none() {
                return Ok(hits.shown("[there are more; search in a smaller part, or for less]\n"));
            }
        }
        Ok(hits.shown(found.note()))
    }
}

/// Returns when a tool must stop to look.
fn over(left: Option<Duration>) -> Instant {
    Instant::now() + left.unwrap_or(TIMEOUT).min(TIMEOUT)
}

/// The lines that were found.
struct Hits<'a> {
    masks: &'a Masks,
    text: String,
    count: usize,
}

impl<'a> Hits<'a> {
    fn new(masks: &'a Masks) -> Self {
        Self {
            masks,
            text: String::new(),
            count: 0,
        }
    }

    /// Adds a line; `None` if no more can be shown.
    fn add(&mut self, path: &str, number: u64, line: &str) -> Option<()> {
        // Secrets go before anything is cut.
        let line = self.masks.text(line.trim_end());
        let line = format!("{path}:{number}: {}\n", cut(&line, LINE));
        if self.count == MOST_SHOWN || self.text.len() + line.len() > MAX_SHOWN {
            return None;
        }
        self.count += 1;
        self.text += &line;
        Some(())
    }

    fn shown(self, note: &str) -> String {
        match self.count {
            0 => format!("(nothing was found)\n{note}"),
            _ => self.text + note,
        }
    }
}

/// Searches one file. What is not text, is too large or cannot be read is left out. `None` if no more lines can be shown.
fn search_file(
    workspace: &Workspace,
    path: &str,
    expression: &regex::Regex,
    hits: &mut Hits<'_>,
) -> Option<()> {
    let Ok(file) = workspace.read(path) else {
        return Some(());
    };
    if file
        .metadata()
        .is_ok_and(|found| found.len() > MAX_SEARCHED)
    {
        return Some(());
    }
    let mut file = BufReader::new(file.take(MAX_SEARCHED));
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        match file.read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => break,
            Ok(_) if line.contains(&0) => break,
            Ok(_) => {}
        }
        let text = String::from_utf8_lossy(&line);
        if expression.is_match(text.trim_end_matches(['\n', '\r'])) {
            hits.add(path, number, &text)?;
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use tempfile::TempDir;

    use uwf_storage::Root;

    use super::super::workspace::Reach;
    use super::*;

    fn world() -> (TempDir, Workspace) {
        let dir = TempDir::new().unwrap();
        let files = [
            (".gitignore", "built/\n*.log\n"),
            ("a.rs", "fn main() {}\nfn other() {}\n"),
            ("a.log", "fn log\n"),
            ("src/b.rs", "// FN\n"),
            ("src/.gitignore", "!kept.log\n"),
            ("src/kept.log", "fn kept\n"),
            ("src/deep/c.txt", "c\n"),
            ("built/d.rs", "fn built\n"),
            (".git/config", "fn git\n"),
            ("root/.env", "fn KEY=1\n"),
            ("binary", "fn\0\n"),
        ];
        for (path, text) in files {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        symlink("/etc", dir.path().join("link")).unwrap();
        let workspace = Workspace::open(
            dir.path(),
            Reach::Inside,
            &Root::at(dir.path().join("root")),
        );
        (dir, workspace.unwrap())
    }

    fn list(path: Option<&str>, pattern: Option<&str>) -> Result<String, String> {
        let (_dir, workspace) = world();
        let owned = |text: Option<&str>| text.map(str::to_owned);
        ListFiles {
            path: owned(path),
            pattern: owned(pattern),
        }
        .run(&workspace, None)
    }

    fn search(pattern: &str, path: Option<&str>, ignore_case: bool) -> Result<String, String> {
        let (_dir, workspace) = world();
        Search {
            pattern: pattern.to_owned(),
            path: path.map(str::to_owned),
            files: None,
            ignore_case,
        }
        .run(&workspace, None, &Masks::default())
    }

    #[test]
    fn files_are_listed_without_what_git_ignores_and_what_is_closed() {
        let all =
            ".gitignore\na.rs\nbinary\nsrc/.gitignore\nsrc/b.rs\nsrc/deep/c.txt\nsrc/kept.log\n";
        assert_eq!(list(None, None).unwrap(), all);
        assert_eq!(list(None, Some("*.rs")).unwrap(), "a.rs\nsrc/b.rs\n");
        assert_eq!(
            list(Some("src/"), Some("deep/*")).unwrap(),
            "src/deep/c.txt\n"
        );
        assert_eq!(list(Some("src"), Some("*.md")).unwrap(), "(no files)\n");
    }

    #[test]
    fn what_a_folder_above_ignores_is_left_out_below_it_too() {
        let (dir, workspace) = world();
        fs::write(dir.path().join("src/deep/x.log"), "fn log\n").unwrap();
        fs::create_dir(dir.path().join("src/deep/built")).unwrap();
        fs::write(dir.path().join("src/deep/built/x"), "fn x\n").unwrap();
        for path in ["src/deep", "./src/deep/", "src/./deep"] {
            let below = ListFiles {
                path: Some(path.to_owned()),
                pattern: None,
            };
            let listed = below.run(&workspace, None).unwrap();
            assert!(
                listed.ends_with("c.txt\n") && listed.lines().count() == 1,
                "{listed}"
            );
        }
        // A folder that is named is looked at, whoever ignores it.
        assert_eq!(list(Some("built"), None).unwrap(), "built/d.rs\n");
    }

    #[test]
    fn a_tool_that_has_no_time_says_that_it_stopped() {
        let (_dir, workspace) = world();
        let all = ListFiles {
            path: None,
            pattern: None,
        };
        let listed = all.run(&workspace, Some(Duration::ZERO)).unwrap();
        assert!(listed.contains("took too long"), "{listed}");
    }

    #[test]
    fn nothing_outside_is_listed_or_searched() {
        for path in ["..", "/etc", "link", "root"] {
            assert!(list(Some(path), None).is_err(), "{path}");
            assert!(search("root", Some(path), false).is_err(), "{path}");
        }
    }

    #[test]
    fn lines_are_found_by_an_expression() {
        let found = "a.rs:1: fn main() {}\na.rs:2: fn other() {}\nsrc/kept.log:1: fn kept\n";
        assert_eq!(search("^fn ", None, false).unwrap(), found);
        assert_eq!(search("fn$", None, true).unwrap(), "src/b.rs:1: // FN\n");
        assert_eq!(
            search("main", Some("a.rs"), false).unwrap(),
            "a.rs:1: fn main() {}\n"
        );
        assert_eq!(
            search("nowhere", None, false).unwrap(),
            "(nothing was found)\n"
        );
        assert!(
            search("(", None, false)
                .unwrap_err()
                .contains("no regular expression")
        );
    }

    #[test]
    fn what_is_shown_is_bounded() {
        let (dir, workspace) = world();
        fs::write(dir.path().join("long.txt"), "hit\n".repeat(2_000)).unwrap();
        for number in 0..600 {
            fs::write(dir.path().join(format!("f{number}")), "").unwrap();
        }
        let search = Search {
            pattern: "hit".to_owned(),
            path: None,
            files: None,
            ignore_case: false,
        };
        let found = search.run(&workspace, None, &Masks::default()).unwrap();
        assert!(found.lines().count() <= MOST_SHOWN + 1 && found.contains("there are more"));
        let listed = ListFiles {
            path: None,
            pattern: None,
        };
        let listed = listed.run(&workspace, None).unwrap();
        assert!(
            listed.ends_with("name a folder or a pattern to see them]\n"),
            "{listed}"
        );
    }

    #[test]
    fn no_part_of_a_secret_is_left_where_a_line_is_cut() {
        let (dir, workspace) = world();
        let secret = "ghp_a_secret_of_some_length";
        let line = format!(
            "hit {}{secret} {}\n",
            "a".repeat(LINE - 14),
            "b".repeat(LINE)
        );
        fs::write(dir.path().join("long.txt"), line).unwrap();
        let search = Search {
            pattern: "hit".to_owned(),
            path: None,
            files: None,
            ignore_case: false,
        };
        let masks = Masks::of([secret.as_bytes()]);
        let found = search.run(&workspace, None, &masks).unwrap();
        assert!(found.contains("a***") && !found.contains("ghp_"), "{found}");
    }
}
