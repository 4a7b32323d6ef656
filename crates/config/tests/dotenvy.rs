//! Why the crate `dotenvy` does not read `.env`: lines that version 0.15.7 reads otherwise than the dotenv package for
//! Node.js, or refuses, and what is read here. `docs/dependencies.md` says what the crate makes of each.

#![expect(clippy::unwrap_used, reason = "a test may fail in its helpers too")]

use uwf_config::load_dotenv;
use uwf_storage::Root;

/// Asserts which variables a file has.
#[track_caller]
fn check(text: &str, expected: &[(&str, &str)]) {
    let temp = tempfile::tempdir().unwrap();
    let root = Root::at(temp.path().to_owned());
    std::fs::write(root.env_file(), text).unwrap();
    let found = load_dotenv(&root).unwrap();
    let found: Vec<_> = found
        .iter()
        .map(|(n, v)| (n.as_str(), v.as_str()))
        .collect();
    assert_eq!(found, expected, "{text:?}");
}

/// `dotenvy` puts the value of a variable in the place of its name, usually nothing: the keys become `pa` and `sk-`, the
/// third one takes the home directory in, and the fourth one is an error.
#[test]
fn a_dollar_in_a_key_is_a_dollar() {
    check("A=pa$$word", &[("A", "pa$$word")]);
    check("A=sk-$1x", &[("A", "sk-$1x")]);
    check("A=${HOME}", &[("A", "${HOME}")]);
    check("A=\"a$b\"", &[("A", "a$b")]);
}

/// `dotenvy` gives an error for the line and stops there: `B` is not read either.
#[test]
fn a_line_is_read_as_the_dotenv_package_reads_it() {
    for (line, name, value) in [
        ("A=b c", "A", "b c"),
        ("A: b", "A", "b"),
        ("A=`a b`", "A", "a b"),
        ("A-B=c", "A-B", "c"),
        ("1A=b", "1A", "b"),
        ("A=it's", "A", "it's"),
        (r"A=a\b", "A", r"a\b"),
        (r#"A="a\qb""#, "A", r"a\qb"),
    ] {
        check(&format!("{line}\nB=1\n"), &[(name, value), ("B", "1")]);
    }
}

/// `dotenvy` gives an error for the first line and stops there.
#[test]
fn a_line_that_is_no_assignment_hides_no_other() {
    check("FOO BAR\nA=b\n", &[("A", "b")]);
}

/// `dotenvy` makes `b#c` of the first, and one variable of two lines of the second.
#[test]
fn comments_and_line_ends_are_those_of_the_dotenv_package() {
    check("A=b#c", &[("A", "b")]);
    check("A=b\rB=c", &[("A", "b"), ("B", "c")]);
}
