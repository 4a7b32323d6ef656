//! Modules of the pages import downwards: no two of them use each other, directly or by way of others. `routes` and `server` are
//! at the top.

use std::collections::{BTreeMap, BTreeSet};

use regex::Regex;

use crate::{code, read, root, rust_files};

/// Every module with the modules that it uses.
type Uses = BTreeMap<String, BTreeSet<String>>;

#[test]
fn modules_of_the_pages_import_downwards() {
    let src = root().join("crates/web/src");
    let texts = rust_files(&src).into_iter().map(|file| {
        let path = file.strip_prefix(&src).unwrap().with_extension("");
        let path = path.to_str().unwrap().replace('/', "::");
        let name = path.strip_suffix("::mod").unwrap_or(&path).to_owned();
        (name, code(&read(&file)))
    });
    let texts: BTreeMap<String, String> = texts.filter(|(name, _)| name != "lib").collect();
    let uses = uses(&texts);
    assert!(uses["routes"].contains("pages::thread"), "{uses:?}");
    assert_eq!(circle(&uses), None);
}

#[test]
fn a_circle_is_found_however_it_is_imported() {
    let found = |a: &str, b: &str, parent: &str| {
        let texts = [("a", a), ("p", parent), ("p::b", b)];
        let texts = texts.map(|(name, text)| (name.to_owned(), text.to_owned()));
        circle(&uses(&BTreeMap::from(texts)))
    };
    assert_eq!(
        found("use crate::p::b::X;", "use std::a::X;", "mod b;"),
        None
    );
    assert_eq!(found("use crate::p::Y;", "", "use b::{X, Y};"), None);
    for (a, b, parent) in [
        ("use crate::p::b::X;", "use crate::a;", ""),
        ("use crate::p::{\n    X, b,\n};", "crate::a::f()", ""),
        ("use crate::{p, X};", "use crate::a::X;", "b::f()"),
        ("", "use crate::p::X;", "use b::Y;"),
        ("use crate::p;\nfn f() { p::b::g() }", "use crate::a;", ""),
    ] {
        assert!(found(a, b, parent).is_some(), "{a} {b} {parent}");
    }
}

/// Returns what each module uses, by its text: what it names from the crate on, modules of its own, and what it names from one of
/// those on.
fn uses(texts: &BTreeMap<String, String>) -> Uses {
    let named = Regex::new(r"\bcrate::((?:\w+::)*)(\{[^}]*\}|\w+)").unwrap();
    let item = Regex::new(r"[\w:]+").unwrap();
    let of = |(name, text): (&String, &String)| {
        let mut used = BTreeSet::new();
        for path in named.captures_iter(text) {
            let items = item.find_iter(&path[2]);
            let paths = items.map(|it| format!("{}{}", &path[1], it.as_str()));
            used.extend(paths.filter_map(|path| module(&path, texts)));
        }
        let begun: Vec<String> = used.iter().cloned().collect();
        let begun = begun.iter().map(|begun| (&**begun, last(begun)));
        let own = texts
            .keys()
            .filter(|it| it.starts_with(&format!("{name}::")));
        for (module_name, word) in begun.chain(own.map(|own| (&**own, last(own)))) {
            let from = Regex::new(&format!(r"(?:^|[^:\w]){word}::([\w:]+|\{{)")).unwrap();
            let paths = from.captures_iter(text);
            let paths = paths.map(|path| format!("{module_name}::{}", &path[1]));
            used.extend(paths.filter_map(|path| module(&path, texts)));
        }
        used.remove(name);
        (name.clone(), used)
    };
    texts.iter().map(of).collect()
}

fn last(path: &str) -> &str {
    path.rsplit("::").next().unwrap()
}

/// Returns the module in which a path is.
fn module(path: &str, texts: &BTreeMap<String, String>) -> Option<String> {
    let mut path = path;
    while !texts.contains_key(path) {
        path = path.rsplit_once("::")?.0;
    }
    Some(path.to_owned())
}

/// Returns modules that use each other, if there are any. A module that uses only modules of no circle is in none.
fn circle(uses: &Uses) -> Option<BTreeSet<String>> {
    let mut left: BTreeSet<&String> = uses.keys().collect();
    loop {
        let ends = |name: &&String| uses[*name].iter().any(|used| left.contains(used));
        let next: BTreeSet<&String> = left.iter().copied().filter(ends).collect();
        if next.len() == left.len() {
            let found: BTreeSet<String> = left.into_iter().cloned().collect();
            return (!found.is_empty()).then_some(found);
        }
        left = next;
    }
}
