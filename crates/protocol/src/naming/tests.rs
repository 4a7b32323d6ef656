//! What may be a name or a label, and what changes of labels do.

use super::*;

#[track_caller]
fn name(text: &str) -> Result<String, String> {
    match text.parse::<Name>() {
        Ok(name) => Ok(name.to_string()),
        Err(error) => Err(error.to_string()),
    }
}

#[test]
fn a_name_is_a_word_that_is_nothing_else() {
    for good in [
        "fix-42", "a", "web", "v1.2_rc", "größe", "Übung-3", "123", "hello",
    ] {
        assert_eq!(name(good), Ok(good.to_owned()));
    }
    for (wrong, problem) in [
        ("", "it is empty"),
        ("-", "begin with a letter or a digit"),
        ("-x", "begin with a letter or a digit"),
        (".x", "begin with a letter or a digit"),
        ("@", "stand for a place"),
        ("a@2", "stand for a place"),
        ("a~", "stand for a place"),
        ("a/b", "stand for a place"),
        ("a b", "are allowed"),
        ("a\nb", "are allowed"),
        ("a\u{202e}b", "are allowed"),
        ("a=b", "are allowed"),
        ("beef", "beginning of an id or a hash"),
        ("BEEF42", "beginning of an id or a hash"),
        ("01J7K9Z000000000000000000A", "beginning of an id or a hash"),
        (&"ü".repeat(65), "longer than 64"),
    ] {
        let error = name(wrong).unwrap_err();
        assert!(error.contains(problem), "{wrong:?}: {error}");
    }
    assert!(name(&"ü".repeat(64)).is_ok());
}

#[test]
fn a_wrong_name_comes_with_a_right_one() {
    for (wrong, near) in [
        ("fix 42", Some("fix-42")),
        ("-fix/42-", Some("fix-42")),
        ("test", Some("test-1")),
        ("te st", Some("te-st")),
        ("@", None),
        ("", None),
    ] {
        let error = wrong.parse::<Name>().unwrap_err();
        let NamingError::Name { near: found, .. } = error else {
            panic!("{error}")
        };
        assert_eq!(found.as_deref(), near, "{wrong}");
    }
}

#[test]
fn labels_are_set_and_removed() {
    let thread = "01J7K9Z000000000000000000A".parse().unwrap();
    let changes = |texts: &[&str]| -> Vec<LabelChange> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    };
    let mut naming = Naming::default();
    let first = changes(&["team=web", "example.com/env=prod", "empty="]);
    naming.change(thread, &first).unwrap();
    let second = changes(&["team=core", "empty-", "absent-"]);
    naming.change(thread, &second).unwrap();
    let text = serde_json::to_string(&naming.labels).unwrap();
    assert_eq!(text, r#"{"example.com/env":"prod","team":"core"}"#);
    let many: Vec<_> = (0..63).map(|n| format!("k{n}=v")).collect();
    let many: Vec<_> = many.iter().map(String::as_str).collect();
    let error = naming.change(thread, &changes(&many)).unwrap_err();
    assert_eq!(error, NamingError::TooMany { thread, count: 65 });
}

#[test]
fn what_is_no_label_is_refused() {
    let long = format!("{}=v", "k".repeat(64));
    let long_value = format!("k={}", "v".repeat(64));
    for wrong in [
        "",
        "=",
        "=v",
        "k",
        "-",
        "k =v",
        "k=v v",
        "-k=v",
        "k=-v",
        "k=v.",
        "ä=v",
        "k=a=b",
        &long,
        &long_value,
        "/k-",
        "k--",
    ] {
        assert!(wrong.parse::<LabelChange>().is_err(), "{wrong}");
    }
}

#[test]
fn labels_are_selected_by_key_or_by_key_and_value() {
    let labels: Labels = serde_json::from_str(r#"{"team":"web","empty":""}"#).unwrap();
    for (text, selects) in [
        ("team", true),
        ("team=web", true),
        ("team=core", false),
        ("env", false),
        ("env=x", false),
        ("empty=", true),
        ("team=", false),
    ] {
        let selector: LabelSelector = text.parse().unwrap();
        assert_eq!(selector.selects(&labels), selects, "{text}");
    }
    assert!("team-".parse::<LabelSelector>().is_err());
}

#[test]
fn a_naming_is_read_back_and_its_parts_are_checked() {
    let text = r#"{"name":"fix-42","labels":{"team":"web"}}"#;
    let naming: Naming = serde_json::from_str(text).unwrap();
    assert_eq!(serde_json::to_string(&naming).unwrap(), text);
    for wrong in [r#"{"name":"@"}"#, r#"{"labels":{"a b":"c"}}"#] {
        assert!(serde_json::from_str::<Naming>(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn a_pattern_describes_whole_names() {
    let selects = |pattern: &str, name: &str| {
        let pattern: NamePattern = pattern.parse().unwrap();
        pattern.selects(&name.parse().unwrap())
    };
    for (pattern, name) in [
        ("fix-42", "fix-42"),
        ("fix-*", "fix-42"),
        ("fix-*", "fix-"),
        ("*", "x"),
        ("*-42", "fix-42"),
        ("f*4*", "fix-42"),
        ("fix-?2", "fix-42"),
        ("**2", "fix-42"),
        ("?ber*", "über-1"),
    ] {
        assert!(selects(pattern, name), "{pattern} {name}");
    }
    for (pattern, name) in [
        ("fix", "fix-42"),
        ("ix-*", "fix-42"),
        ("fix-?", "fix-42"),
        ("fix-42?", "fix-42"),
        ("FIX-*", "fix-42"),
        ("*3*", "fix-42"),
    ] {
        assert!(!selects(pattern, name), "{pattern} {name}");
    }
    for wrong in ["", "a b", "fix@1", "@*", "a/*"] {
        assert!(wrong.parse::<NamePattern>().is_err(), "{wrong}");
    }
}
