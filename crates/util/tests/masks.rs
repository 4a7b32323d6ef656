//! Masking, compared with a plain definition: whatever the chunks are, each run of overlapping secrets is three stars.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use proptest::collection::vec;
use proptest::prelude::{prop_assert_eq, proptest};
use uwf_util::mask::Masks;

/// Masks a text by looking for every secret at every position.
fn plainly_masked(text: &[u8], secrets: &[String]) -> Vec<u8> {
    let mut masked = Vec::new();
    let mut covered = 0;
    for at in 0..text.len() {
        let here = &text[at..];
        let found = secrets
            .iter()
            .filter(|secret| here.starts_with(secret.as_bytes()));
        if let Some(longest) = found.map(String::len).max() {
            if at >= covered {
                masked.extend_from_slice(b"***");
            }
            covered = covered.max(at + longest);
        }
        if at >= covered {
            masked.push(text[at]);
        }
    }
    masked
}

proptest! {
    // No encoded form of such a secret has only these letters.
    #[test]
    fn a_stream_is_masked_as_its_definition_says(
        secrets in vec("[ab]{4,20}", 1..4),
        text in "[abc]{0,200}",
        sizes in vec(1..40_usize, 1..20),
    ) {
        let masks = Masks::of(secrets.iter().map(String::as_bytes));
        let expected = plainly_masked(text.as_bytes(), &secrets);
        prop_assert_eq!(masks.text(&text).into_bytes(), expected.clone());
        let (mut stream, mut masked) = (masks.stream(), Vec::new());
        let mut rest = text.as_bytes();
        for size in sizes.iter().cycle() {
            let (chunk, after) = rest.split_at(rest.len().min(*size));
            stream.push(chunk, &mut masked);
            rest = after;
            if rest.is_empty() {
                break;
            }
        }
        stream.finish(&mut masked);
        prop_assert_eq!(masked, expected);
    }

    #[test]
    fn a_secret_that_was_written_does_not_stay(
        secrets in vec("[ -~]{4,40}", 1..6),
        between in "[ -~]{0,40}",
        size in 1..60_usize,
    ) {
        let masks = Masks::of(secrets.iter().map(String::as_bytes));
        let text = format!("{between}{}{between}", secrets.join(&between));
        let (mut stream, mut masked) = (masks.stream(), Vec::new());
        for chunk in text.as_bytes().chunks(size) {
            stream.push(chunk, &mut masked);
        }
        stream.finish(&mut masked);
        prop_assert_eq!(masked.clone(), masks.text(&text).into_bytes());
        let masked = String::from_utf8(masked).unwrap();
        for part in masked.split("***") {
            for secret in &secrets {
                proptest::prop_assert!(!part.contains(secret.as_str()));
            }
        }
    }
}

#[test]
fn encoders_that_leave_or_escape_other_characters_do_not_give_a_secret_away() {
    let secret = "pa/ss+wo'rd=1<é&b c";
    let masks = Masks::of([secret.as_bytes()]);
    for form in [
        // As `quote` of Python, `encodeURI` and `encodeURIComponent` of JavaScript, and forms of HTML write it.
        "pa/ss%2Bwo%27rd%3D1%3C%C3%A9%26b%20c",
        "pa/ss+wo'rd=1%3C%C3%A9&b%20c",
        "pa%2Fss%2Bwo'rd%3D1%3C%C3%A9%26b%20c",
        "pa%2fss%2bwo%27rd%3d1%3c%c3%a9%26b+c",
        // As JSON of PHP, Go and Python has it.
        "pa\\/ss+wo'rd=1<\\u00e9&b c",
        "pa/ss+wo'rd=1\\u003cé\\u0026b c",
        "pa/ss+wo'rd=1<\\u00E9&b c",
    ] {
        assert_eq!(masks.text(form), "***", "{form}");
    }
}

#[test]
fn a_secret_in_base64_that_is_broken_into_lines_is_masked_wherever_the_lines_end() {
    let secret = "ghp_0123456789abcdefghijABCDEFGHIJ012345-and-more-than-a-whole-line-of-it";
    let masks = Masks::of([secret.as_bytes()]);
    for (width, end) in [(76, "\n"), (64, "\r\n"), (76, "\\n")] {
        for before in 0..80 {
            let text = format!("{}{secret}@rest", "u".repeat(before));
            let encoded = STANDARD.encode(text);
            let lines: Vec<&str> = encoded
                .as_bytes()
                .chunks(width)
                .map(|line| std::str::from_utf8(line).unwrap())
                .collect();
            let masked = masks.text(&lines.join(end));
            let kept = masked.replace(end, "").replace(['*', '='], "");
            let of_rest = STANDARD.encode(format!("{}@rest", "u".repeat(before)));
            assert!(masked.contains("***"), "{width} {before}: {masked}");
            // At either end, one character of base64 may belong to the neighbour, too.
            assert!(
                kept.len() <= of_rest.replace('=', "").len() + 2,
                "{width} {before}: {masked}"
            );
        }
    }
}
