//! Bundles that are not sound: each is refused with its reason, and no thread is there afterwards.

use std::fs;

use serde_json::{Value, json};

use crate::travel::{other_root, three_threads};
use crate::world::{Run, World};

/// A member of a tar archive: its name, its kind and its content.
type Member = (String, u8, Vec<u8>);

const BLOCK: usize = 512;

/// Reads an archive, with no code of the program.
fn unpack(bytes: &[u8]) -> Vec<Member> {
    let mut members = Vec::new();
    let mut at = 0;
    while bytes[at] != 0 {
        let header = &bytes[at..at + BLOCK];
        let text = |from: usize, to: usize| {
            let field = header[from..to].split(|byte| *byte == 0).next().unwrap();
            String::from_utf8(field.to_vec()).unwrap()
        };
        let size = usize::from_str_radix(&text(124, 136), 8).unwrap();
        let content = bytes[at + BLOCK..at + BLOCK + size].to_vec();
        members.push((text(0, 100), header[156], content));
        at += BLOCK + size.div_ceil(BLOCK) * BLOCK;
    }
    members
}

/// Writes an archive. The size in the header may be another one.
fn pack(members: &[Member], size_of: impl Fn(&Member) -> usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    for member in members {
        let (name, kind, content) = member;
        let mut header = [0_u8; BLOCK];
        header[..name.len()].copy_from_slice(name.as_bytes());
        let size = format!("{:011o}", size_of(member));
        header[124..135].copy_from_slice(size.as_bytes());
        header[148..156].copy_from_slice(b"        ");
        header[156] = *kind;
        header[257..263].copy_from_slice(b"ustar\0");
        let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
        header[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
        bytes.extend(header);
        bytes.extend(content);
        bytes.resize(bytes.len().next_multiple_of(BLOCK), 0);
    }
    bytes.resize(bytes.len() + 2 * BLOCK, 0);
    bytes
}

fn is(member: &Member) -> usize {
    member.2.len()
}

/// A world with a bundle, and its members.
fn bundled() -> (World, Vec<Member>) {
    let (world, threads) = three_threads();
    world
        .uwf(&[
            "thread",
            "export",
            &threads[0],
            &threads[1],
            "-o",
            "good.tar",
        ])
        .exits(0);
    let members = unpack(&fs::read(world.project().join("good.tar")).unwrap());
    (world, members)
}

/// Imports a bundle that must be refused, and checks that nothing is there afterwards.
#[track_caller]
fn refused(world: &World, bytes: &[u8], said: &str) {
    fs::write(world.project().join("bad.tar"), bytes).unwrap();
    let other = other_root(world);
    let import = |file: &str| -> Run {
        world.uwf(&["--root", other.to_str().unwrap(), "thread", "import", file])
    };
    let run = import("bad.tar").exits(1).says(said);
    assert!(
        run.stdout.is_empty() && run.stderr.contains("hint: "),
        "{}",
        run.stderr
    );
    for file in ["threads.yaml", "history.jsonl", "runs"] {
        assert!(!other.join(file).exists(), "{file}");
    }
    let outside = world.project().join("outside");
    assert!(!outside.exists() && !world.dir().join("outside").exists());
}

/// Returns the members after one of them was changed.
fn changed(members: &[Member], name: &str, change: impl Fn(&mut Member)) -> Vec<Member> {
    let mut members = members.to_vec();
    let found = members.iter_mut().find(|member| member.0.contains(name));
    change(found.unwrap());
    members
}

fn manifest(members: &[Member], change: impl Fn(&mut Value)) -> Vec<Member> {
    changed(members, "manifest.json", |member| {
        let mut value = serde_json::from_slice(&member.2).unwrap();
        change(&mut value);
        member.2 = serde_json::to_vec(&value).unwrap();
    })
}

#[test]
fn the_tests_write_archives_that_are_accepted() {
    let (world, members) = bundled();
    fs::write(world.project().join("same.tar"), pack(&members, is)).unwrap();
    let other = other_root(&world);
    world
        .uwf(&[
            "--root",
            other.to_str().unwrap(),
            "thread",
            "import",
            "same.tar",
        ])
        .exits(0);
}

#[test]
fn a_bundle_that_is_cut_off_is_refused() {
    let (world, members) = bundled();
    let bytes = pack(&members, is);
    for length in [
        0,
        100,
        512,
        2000,
        bytes.len() / 2,
        bytes.len() - 512,
        bytes.len() - 1,
    ] {
        let said = if length < 512 {
            "not a bundle"
        } else {
            "cut off"
        };
        refused(&world, &bytes[..length], said);
    }
}

#[test]
fn members_that_no_bundle_has_are_refused() {
    let (world, members) = bundled();
    let absolute = world.project().join("outside").display().to_string();
    for name in [
        "../outside",
        absolute.as_str(),
        "cas/../../outside",
        "outside",
    ] {
        let mut bad = members.clone();
        bad.insert(3, (name.to_owned(), b'0', b"x".to_vec()));
        refused(&world, &pack(&bad, is), "no member with the name");
    }
    for (kind, said) in [
        (b'1', "a hard link"),
        (b'2', "a symbolic link"),
        (b'3', "a device"),
        (b'5', "a folder"),
        (b'x', "an extension"),
    ] {
        let mut bad = members.clone();
        bad[3].1 = kind;
        refused(&world, &pack(&bad, is), said);
    }
    let mut doubled = members.clone();
    doubled.push(members[3].clone());
    refused(&world, &pack(&doubled, is), "is in it twice");
    let mut doubled = members.clone();
    doubled.push(members[0].clone());
    refused(&world, &pack(&doubled, is), "is in it twice");
    let last = members.last().unwrap().0.clone();
    let huge = pack(&members, |member| {
        if member.0 == last {
            1 << 31
        } else {
            member.2.len()
        }
    });
    refused(&world, &huge, "larger than any member");
    let long = pack(&members, |member| {
        if member.0 == last {
            1 << 20
        } else {
            member.2.len()
        }
    });
    refused(&world, &long, "cut off");
    refused(&world, &pack(&members[1..], is), "not a bundle");
    refused(&world, b"not a tar archive at all", "not a bundle");
}

#[test]
fn nodes_that_are_not_what_they_say_are_refused() {
    let (world, members) = bundled();
    let last = members.last().unwrap().0.clone();
    let flipped = changed(&members, &last, |member| member.2[40] ^= 1);
    refused(&world, &pack(&flipped, is), "does not hold that node");
    let empty = changed(&members, &last, |member| member.2.clear());
    refused(&world, &pack(&empty, is), "does not hold that node");
    // A whole node is not there, though the manifest does not say so.
    for lost in [1, members.len() / 2, members.len() - 1] {
        let mut fewer = manifest(&members, |value| {
            value["nodes"] = (value["nodes"].as_u64().unwrap() - 1).into();
        });
        let name = fewer.remove(lost).0;
        // Every store has some of them.
        let other = other_root(&world).join(&name);
        if other.exists() {
            continue;
        }
        refused(&world, &pack(&fewer, is), "is not complete");
        let mut fewer = members.clone();
        fewer.remove(lost);
        refused(&world, &pack(&fewer, is), "its manifest says");
        fs::remove_dir_all(other_root(&world)).unwrap();
    }
}

/// Returns a failed attempt with this number, as a manifest has it.
fn attempt(number: u64) -> Value {
    json!({
        "number": number, "head": "0123456789012", "role": "writer", "agent": "mock", "phase": "agent",
        "error": "e", "stderrTail": "", "startedAtMs": 9, "endedAtMs": 10,
    })
}

#[test]
fn a_manifest_that_lies_is_refused() {
    let (world, members) = bundled();
    let lie = |said: &str, change: &dyn Fn(&mut Value)| {
        refused(&world, &pack(&manifest(&members, change), is), said);
    };
    lie("version 2", &|value| value["version"] = 2.into());
    lie("its format is", &|value| value["format"] = "zip".into());
    lie("its workflow is", &|value| {
        value["threads"][0]["workflow"] = "CTS5P6RD8HMCS".into();
    });
    lie("is not sound", &|value| {
        value["threads"][0]["head"] = "CTS5P6RD8HMCS".into();
    });
    lie("is not complete", &|value| {
        value["threads"][0]["head"] = "0123456789012".into();
    });
    lie("is in it twice", &|value| {
        let first = value["threads"][0].clone();
        value["threads"].as_array_mut().unwrap().push(first);
    });
    lie("cannot be read", &|value| {
        value["threads"][0]["thread"] = "../x".into();
    });
    let nothing = serde_json::json!({ "runs": 1, "costUsd": -5.0, "costUnknown": 0, "tokens": 0, "tokensUnknown": 0, "durationMs": 0, "durationUnknown": 0 });
    lie("is not sound: no run can have used up so much", &|value| {
        value["threads"][0]["record"]["dropped"] = nothing.clone();
    });
    for (key, much) in [("costUsd", json!(1.7e308)), ("runs", json!(u64::MAX))] {
        lie("is not sound: no run can have used up so much", &|value| {
            value["threads"][0]["record"]["dropped"] = nothing.clone();
            value["threads"][0]["record"]["dropped"]["costUsd"] = json!(1.0);
            value["threads"][0]["record"]["dropped"][key] = much.clone();
        });
    }
    for number in [u64::MAX, 1 << 53] {
        lie("a number that no attempt can have", &|value| {
            value["threads"][0]["record"]["attempts"] = json!([attempt(number)]);
        });
    }
    lie("cannot be the name of a thread", &|value| {
        value["threads"][0]["naming"] = serde_json::json!({ "name": "a b" });
    });
    lie("64 are the most", &|value| {
        let labels = (0..65).map(|number| (format!("k{number}"), "v".into()));
        value["threads"][0]["naming"] = serde_json::json!({});
        value["threads"][0]["naming"]["labels"] = Value::Object(labels.collect());
    });
    lie("contradicts its end", &|value| {
        value["threads"][0]["status"] = "active".into();
    });
}

#[test]
fn a_bundle_lowers_no_sum() {
    let (world, members) = bundled();
    let other = other_root(&world);
    let at = |args: &[&str]| world.uwf(&[&["--root", other.to_str().unwrap()], args].concat());
    let claims = |runs: u64, cost: f64| {
        let dropped = serde_json::json!({ "runs": runs, "costUsd": cost, "costUnknown": 0, "tokens": 0, "tokensUnknown": 0, "durationMs": 0, "durationUnknown": 0 });
        let lying = manifest(&members, |value| {
            value["threads"][0]["record"]["dropped"] = dropped.clone();
        });
        fs::write(world.project().join("sums.tar"), pack(&lying, is)).unwrap();
        let imported = at(&["thread", "import", "sums.tar"]).exits(0).json();
        let thread = imported["threads"][0]["thread"]
            .as_str()
            .unwrap()
            .to_owned();
        at(&["thread", "show", &thread]).exits(0).json()["usage"]["costUsd"].clone()
    };
    assert_eq!(claims(5, 10.0), serde_json::json!(10.0));
    assert_eq!(claims(6, 0.0), serde_json::json!(10.0));
    assert_eq!(claims(7, 12.0), serde_json::json!(12.0));
}
