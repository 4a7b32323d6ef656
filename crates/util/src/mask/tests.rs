//! Masking, in texts that a person can read.

use serde_json::json;

use super::*;

fn masks(secrets: &[&str]) -> Masks {
    Masks::of(secrets.iter().map(|secret| secret.as_bytes()))
}

#[test]
fn a_secret_is_masked_in_every_form() {
    let masks = masks(&["s3cr3t va/\"ue"]);
    let check = |text: &str, expected: &str| assert_eq!(masks.text(text), expected);
    check("a s3cr3t va/\"ue b", "a *** b");
    check(
        "s3cr3t%20va%2F%22ue s3cr3t%20va%2f%22ue s3cr3t+va%2F%22ue",
        "*** *** ***",
    );
    check(
        r#"{"t":"s3cr3t va/\"ue"} s3cr3t va\/\"ue"#,
        r#"{"t":"***"} ***"#,
    );
    check("s3cr3t", "s3cr3t");
}

#[test]
fn the_lines_of_a_secret_are_masked_each_by_itself() {
    let key =
        "-----BEGIN KEY-----\nMIIEabcdefghijklmnop\nQRSTUVWXYZ0123456789\nab==\n-----END KEY-----";
    let masks = masks(&[key]);
    let check = |text: &str, expected: &str| assert_eq!(masks.text(text), expected);
    check(key, STARS);
    check(
        "text: |\n  -----BEGIN KEY-----\n  MIIEabcdefghijklmnop\n  QRSTUVWXYZ0123456789\n",
        "text: |\n  -----BEGIN KEY-----\n  ***\n  ***\n",
    );
    check("> QRSTUVWXYZ0123456789\r\n", "> ***\r\n");
    check("-----BEGIN KEY-----", "-----BEGIN KEY-----");
    check("ab==", "ab==");
}

#[test]
fn what_programs_make_of_a_secret_of_several_lines_is_masked() {
    let masks = masks(&["one\ntwo\nthree \"3\"\n"]);
    for printed in [
        "one\ntwo\nthree \"3\"",
        "one\r\ntwo\r\nthree \"3\"",
        r#"one\ntwo\nthree \"3\""#,
        r#"one\r\ntwo\r\nthree \"3\""#,
        r#"one\\ntwo\\nthree \\\"3\\\""#,
    ] {
        assert_eq!(masks.text(&format!("[{printed}]")), "[***]", "{printed}");
    }
}

#[test]
fn the_forms_of_pages_are_masked() {
    let masks = masks(&["a<b>&\"c'd"]);
    for page in [
        "a&lt;b&gt;&amp;\"c'd",
        "a&lt;b&gt;&amp;&quot;c'd",
        "a&lt;b&gt;&amp;&quot;c&#39;d",
        "a&lt;b&gt;&amp;&quot;c&#x27;d",
    ] {
        assert_eq!(masks.text(page), STARS, "{page}");
    }
}

#[test]
fn base64_is_found_wherever_the_secret_stands_in_it() {
    let masks = masks(&["s3cr3tvalue"]);
    for (encoded, expected) in [
        // printf s3cr3tvalue | base64
        ("czNjcjN0dmFsdWU=", "***"),
        // echo s3cr3tvalue | base64
        ("czNjcjN0dmFsdWUK", "***UK"),
        // printf u:s3cr3tvalue | base64: the first characters also belong to `u:`
        ("dTpzM2NyM3R2YWx1ZQ==", "dTp***Q=="),
        // printf me:s3cr3tvalue | base64
        ("bWU6czNjcjN0dmFsdWU=", "bWU6***"),
    ] {
        assert_eq!(masks.text(encoded), expected);
    }
}

#[test]
fn a_secret_is_masked_across_chunks_wherever_they_are_cut() {
    let masks = masks(&["s3cr3tvalue", "s3cr3tvalue-long", "abab"]);
    let text = "x s3cr3tvalue y s3cr3tvalue-lon s3cr3tvalue-long ababab s3cr3t";
    let expected = "x *** y ***-lon *** *** s3cr3t";
    assert_eq!(masks.text(text), expected);
    for size in 1..text.len() {
        let mut stream = masks.stream();
        let mut masked = Vec::new();
        for chunk in text.as_bytes().chunks(size) {
            stream.push(chunk, &mut masked);
        }
        stream.finish(&mut masked);
        assert_eq!(
            String::from_utf8(masked).unwrap(),
            expected,
            "chunks of {size}"
        );
    }
}

#[test]
fn secrets_that_overlap_are_masked_together() {
    assert_eq!(masks(&["abcd", "cdef", "efgh"]).text("xabcdefghx"), "x***x");
}

#[test]
fn secrets_that_overlap_for_ever_are_not_kept_back() {
    let masks = masks(&["aaaaaaaaaaaa"]);
    let mut stream = masks.stream();
    let mut masked = Vec::new();
    for _ in 0..1000 {
        stream.push(&[b'a'; 1000], &mut masked);
        assert!(stream.held.len() < 12);
    }
    stream.push(b"b", &mut masked);
    stream.finish(&mut masked);
    assert_eq!(masked, b"***b");
}

#[test]
fn nothing_is_kept_back_that_cannot_become_a_secret() {
    let masks = masks(&["s3cr3tvalue"]);
    let mut stream = masks.stream();
    let mut masked = Vec::new();
    stream.push(b"done\n", &mut masked);
    assert_eq!(masked, b"done\n");
    stream.push(b"s3cr", &mut masked);
    assert_eq!(masked, b"done\n");
    stream.push(b"x", &mut masked);
    assert_eq!(masked, b"done\ns3crx");
}

#[test]
fn a_debug_text_shows_no_secret() {
    let masks = masks(&["s3cr3tvalue"]);
    let mut stream = masks.stream();
    stream.push(b"s3cr3t", &mut Vec::new());
    let text = format!("{masks:?} {stream:?}");
    assert!(!text.contains("s3cr"), "{text}");
}

#[test]
fn short_secrets_and_none_mask_nothing() {
    assert_eq!(masks(&["abc", ""]).text("abc abc"), "abc abc");
    assert!(is_maskable(b"abcd") && !is_maskable(b"abc"));
}

#[test]
fn data_is_masked_in_strings_keys_and_numbers() {
    let masks = masks(&["12345", "tok\"en"]);
    let value = json!({"tok\"en": [1, 9_123_456, true, null, {"a": "x tok\"en"}], "n": 1.5});
    let expected = json!({"***": [1, "***", true, null, {"a": "x ***"}], "n": 1.5});
    assert_eq!(masks.json(&value), expected);
}
