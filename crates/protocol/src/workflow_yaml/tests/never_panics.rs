//! Whatever a file holds, reading it comes to an end, with a workflow or with something to say.

use proptest::prelude::{any, prop, proptest};
use proptest::strategy::Strategy;

use super::load_with;

fn check(text: &str) {
    let files = [("a.yaml", text), ("b.json", text), ("c.md", text)];
    if let Err(diagnostics) = load_with(text, &files) {
        assert!(!diagnostics.is_empty(), "{text:?}");
    }
}

/// Pieces of workflows in any order, which get deeper into the reader than noise does.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "name: w\n",
        "roles:\n",
        "graph:\n",
        "conditions:\n",
        "  a:\n",
        "  $START:\n",
        "    _:\n",
        "    goal: g\n",
        "    meta:\n",
        "      type: object\n",
        "  - role: a\n",
        "    - condition: c\n",
        "prompt: ",
        "[",
        "]",
        "{",
        "}",
        ", ",
        ": ",
        "- ",
        "? ",
        "&x ",
        "*x",
        "!include ",
        "a.yaml",
        "b.json",
        "c.md",
        "!!int ",
        "!y ",
        "\"",
        "'",
        "|\n",
        ">-\n",
        "\n",
        "  ",
        "\t",
        "#",
        "---\n",
        "...\n",
        "<<",
        "1",
        "true",
        "~",
        "é",
        "\u{feff}",
        "\0",
    ]);
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn arbitrary_texts_are_read_to_an_end(text in any::<String>()) {
        check(&text);
    }

    #[test]
    fn arbitrary_pieces_of_workflows_are_read_to_an_end(text in pieces()) {
        check(&text);
    }

    #[test]
    fn a_damaged_workflow_is_read_to_an_end(at in 0_usize..1500, with in pieces()) {
        let mut text = include_str!("../../../../../tests/fixtures/workflows/gen-3.yaml").to_owned();
        let at = at.min(text.len());
        text.insert_str(at, &with);
        check(&text);
    }
}
