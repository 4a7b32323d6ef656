//! Golden files: what the program prints is compared byte for byte with what it printed before. Of transcripts, with
//! placeholders for what differs from run to run.
//!
//! `UWF_UPDATE=1 cargo test --workspace --test e2e` writes them all anew; look at the difference.

use std::collections::HashSet;
use std::path::Path;

use regex::{Captures, Regex};
use serde_json::Value;

use crate::world::{Run, World};

/// What is typed and printed, one command after the other.
pub(crate) struct Transcript<'a> {
    world: &'a World,
    text: String,
    /// The hashes that are the same in every run.
    stable: HashSet<String>,
    /// The other hashes and the ids, by first appearance.
    seen: Vec<String>,
}

impl<'a> Transcript<'a> {
    /// Begins a transcript. What is in the store already must have the same hashes in every run.
    pub(crate) fn of(world: &'a World) -> Self {
        let mut transcript = Self {
            world,
            text: String::new(),
            stable: HashSet::new(),
            seen: Vec::new(),
        };
        let listed = world.uwf(&["cas", "list", "--format", "text"]);
        transcript
            .stable
            .extend(listed.stdout.lines().map(str::to_owned));
        transcript
    }

    /// Runs a command that changes nothing in all formats; JSON and YAML must hold the same data.
    #[track_caller]
    pub(crate) fn show(&mut self, args: &[&str]) -> Value {
        let [json, yaml] = self.formats([args, args, args]);
        assert_eq!(json.to_string(), yaml.to_string(), "{args:?}");
        json
    }

    /// Runs a command once in each format, each time with its own arguments; JSON and YAML must have the
    /// same keys in the same order.
    #[track_caller]
    pub(crate) fn show_each(&mut self, args: [&[&str]; 3]) -> [Value; 2] {
        let [json, yaml] = self.formats(args);
        assert_eq!(keys(&json), keys(&yaml), "{args:?}");
        [json, yaml]
    }

    /// Runs a command whose result has one form only.
    #[track_caller]
    pub(crate) fn say(&mut self, args: &[&str]) {
        self.run(args);
    }

    /// Compares the transcript with the one in the file.
    #[track_caller]
    pub(crate) fn matches(self, name: &str) {
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../tests/e2e/snapshots")
            .join(format!("{name}.txt"));
        expect_text(&path, &self.text);
    }

    #[track_caller]
    fn formats(&mut self, args: [&[&str]; 3]) -> [Value; 2] {
        let json = self.run(&[args[0], &["--format", "json"]].concat());
        let yaml = self.run(&[args[1], &["--format", "yaml"]].concat());
        self.run(&[args[2], &["--format", "text"]].concat());
        assert!(!json.stdout.trim_end().contains('\n'), "JSON is one line");
        let yaml = serde_saphyr::from_str(&yaml.stdout).expect("YAML");
        [json.json(), yaml]
    }

    fn run(&mut self, args: &[&str]) -> Run {
        let run = self.world.uwf(args);
        let mut shown = format!("$ uwf {}\n{}{}", args.join(" "), run.stdout, run.stderr);
        if run.code != 0 {
            shown += &format!("[exit {}]\n", run.code);
        }
        let shown = self.redact(&shown);
        self.text += &format!("{shown}\n");
        run
    }

    /// Replaces what differs from run to run.
    fn redact(&mut self, text: &str) -> String {
        let dir = self.world.dir().to_str().unwrap();
        let mut text = text.replace(dir, "[DIR]");
        for (pattern, placeholder) in [
            (r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d{3}Z)?", "[TIME]"),
            (r"\d{4}-\d\d-\d\d", "[DAY]"),
            (r"\b1\d{12}-\d+\b", "[PROCESS]"),
            (r"\b1\d{12}\b", "[MS]"),
            (r#"((durationMs|size|pid)"?: ?)\d+"#, "${1}[N]"),
            (r"\b\d+(\.\d)? (B|KiB)\b", "[SIZE]"),
            (r"\b\d+(\.\d)?m?s\b", "[TOOK]"),
        ] {
            text = replace(&text, pattern, |found| {
                placeholder.replace("${1}", found.get(1).map_or("", |group| group.as_str()))
            });
        }
        text = self.number(&text, r"\b[0-9A-HJKMNP-TV-Z]{26}\b", "THREAD");
        text = self.number(&text, r"\b[0-9A-HJKMNP-TV-Z]{13}\b", "HASH");
        // YAML quotes a hash that looks like a number.
        let quoted = r#"(: |- )"(\[(HASH|THREAD)-\d+\])""#;
        text = replace(&text, quoted, |found| format!("{}{}", &found[1], &found[2]));
        // How wide a column is depends on what was replaced in it.
        replace(&text, "([^ \n])   +", |found| format!("{}  ", &found[1]))
    }

    /// Replaces ids by what they are and the order in which they appeared.
    fn number(&mut self, text: &str, pattern: &str, what: &str) -> String {
        replace(text, pattern, |found| {
            let id = &found[0];
            if self.stable.contains(id) {
                return id.to_owned();
            }
            let name = format!("{what} {id}");
            if !self.seen.contains(&name) {
                self.seen.push(name.clone());
            }
            let of_kind = |other: &&String| other.starts_with(what);
            let mut kind = self.seen.iter().filter(of_kind);
            let number = 1 + kind.position(|other| *other == name).unwrap();
            format!("[{what}-{number}]")
        })
    }
}

/// Tells whether files are to be written anew instead of compared.
pub(crate) fn is_update() -> bool {
    std::env::var_os("UWF_UPDATE").is_some_and(|value| value == "1")
}

/// Compares a text with the one in a file.
#[track_caller]
pub(crate) fn expect_text(path: &Path, text: &str) {
    if is_update() {
        std::fs::write(path, text).unwrap();
        return;
    }
    let expected = std::fs::read_to_string(path).unwrap_or_default();
    if expected == text {
        return;
    }
    let lines = expected.lines().zip(text.lines());
    let same = lines.take_while(|(old, new)| old == new).count();
    panic!(
        "{} differs from line {}:\n  was: {:?}\n  is:  {:?}\n(UWF_UPDATE=1 writes it anew)",
        path.display(),
        same + 1,
        expected.lines().nth(same),
        text.lines().nth(same),
    );
}

fn replace(text: &str, pattern: &str, by: impl FnMut(&Captures<'_>) -> String) -> String {
    let pattern = Regex::new(pattern).unwrap();
    pattern.replace_all(text, by).into_owned()
}

/// Returns all keys of some data, in their order.
fn keys(value: &Value) -> Vec<String> {
    match value {
        Value::Object(map) => {
            let below = |(key, value): (&String, &Value)| {
                let mut found = vec![key.clone()];
                found.extend(keys(value));
                found
            };
            map.iter().flat_map(below).collect()
        }
        Value::Array(items) => items.iter().flat_map(keys).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    }
}
