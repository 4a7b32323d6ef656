//! One version of the compiler: the one that builds is the oldest that is promised to build.

use regex::Regex;

use crate::{read, root};

#[test]
fn the_version_that_is_promised_is_the_one_that_builds() {
    let promised = value("Cargo.toml", "rust-version");
    let used = value("rust-toolchain.toml", "channel");
    let (minor, _) = used.rsplit_once('.').unwrap();
    assert_eq!(
        promised, minor,
        "rust-version in Cargo.toml, channel {used}"
    );
}

/// Returns the value of a key that stands once in a file.
fn value(file: &str, key: &str) -> String {
    let line = Regex::new(&format!(r#"(?m)^{key} = "([^"]+)"$"#)).unwrap();
    let text = read(&root().join(file));
    let mut found = line.captures_iter(&text);
    let value = found.next().unwrap()[1].to_owned();
    assert!(found.next().is_none(), "{file} says `{key}` twice");
    value
}
