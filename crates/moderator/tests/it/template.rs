//! What templates do: every rule of mustache that applies, and the strictness that is ours.

use serde_json::{Value, json};
use uwf_moderator::template::{self, Failure, ParseErrorKind, RenderError};

/// Template, view, result.
type Case = (&'static str, Value, &'static str);

fn check(cases: &[Case]) {
    for (source, view, expected) in cases {
        let result = template::render(source, view);
        assert_eq!(result.as_deref(), Ok(*expected), "{source:?} over {view}");
    }
}

fn message(source: &str, view: &Value) -> String {
    template::render(source, view)
        .expect_err("it renders")
        .to_string()
}

#[test]
fn text_without_tags_stays_as_it_is() {
    check(&[
        ("", json!({}), ""),
        ("plain", json!({}), "plain"),
        (
            "a {single} brace } and a {\n",
            json!({}),
            "a {single} brace } and a {\n",
        ),
        ("\r\n  two lines\r\n", json!({}), "\r\n  two lines\r\n"),
        ("中文 🎉 {{a}} é", json!({ "a": "ß" }), "中文 🎉 ß é"),
    ]);
}

#[test]
fn every_form_of_a_variable_prints_the_value_unescaped() {
    let html = json!({ "v": "<b> & \"q\" 'a'", "n": 85, "d": 1.21, "a b": 1, "$status": "ok" });
    check(&[
        ("-{{v}}-", html.clone(), "-<b> & \"q\" 'a'-"),
        ("-{{{v}}}-", html.clone(), "-<b> & \"q\" 'a'-"),
        ("-{{&v}}-", html.clone(), "-<b> & \"q\" 'a'-"),
        ("{{ n }}{{{ n }}}{{& n }}", html.clone(), "858585"),
        ("{{d}}{{{d}}}{{&d}}", html.clone(), "1.211.211.21"),
        ("{{\n n\t}}", html.clone(), "85"),
        ("{{a b}} {{$status}}", html.clone(), "1 ok"),
        ("{{n}}}", html.clone(), "85}"),
        ("\\{{n}}", html, "\\85"),
        ("{{a}}", json!({ "a": "{{b}}", "b": 1 }), "{{b}}"),
    ]);
}

#[test]
fn white_space_around_a_variable_stays_and_its_line_too() {
    let view = json!({ "v": "---" });
    check(&[
        ("| {{v}} |", view.clone(), "| --- |"),
        ("| {{{v}}} |", view.clone(), "| --- |"),
        ("| {{&v}} |", view.clone(), "| --- |"),
        ("  {{v}}\n", view.clone(), "  ---\n"),
        ("  {{{v}}}\n", view.clone(), "  ---\n"),
        ("  {{&v}}\r\nx", view, "  ---\r\nx"),
    ]);
}

#[test]
fn values_print_as_text_numbers_or_json() {
    let view = json!({
        "null": null, "yes": true, "no": false, "big": 1e21, "small": 1e-7, "minus": -0.0,
        "list": ["a", 1.0, null], "object": { "z": 1, "a": { "b": [] } }, "empty": "",
    });
    check(&[
        ("[{{null}}][{{empty}}]", view.clone(), "[][]"),
        ("{{yes}} {{no}}", view.clone(), "true false"),
        ("{{big}} {{small}} {{minus}}", view.clone(), "1e+21 1e-7 0"),
        ("{{list}}", view.clone(), r#"["a",1,null]"#),
        ("{{object}}", view, r#"{"z":1,"a":{"b":[]}}"#),
    ]);
}

#[test]
fn dotted_names_walk_into_the_value_that_the_first_word_finds() {
    let deep = json!({ "a": { "b": { "c": { "d": "deep" } } } });
    check(&[
        (
            "{{a.b.c.d}} {{{a.b.c.d}}} {{&a.b.c.d}}",
            deep.clone(),
            "deep deep deep",
        ),
        ("{{a.b.c.d}}={{#a}}{{b.c.d}}{{/a}}", deep, "deep=deep"),
        (
            "{{#a}}{{b.c}}{{/a}}",
            json!({ "a": { "b": { "c": "inner" } }, "b": { "c": "outer" } }),
            "inner",
        ),
        (
            "{{a.b}}",
            json!({ "a.b": "one key", "a": { "b": "two words" } }),
            "two words",
        ),
        (
            "{{list.1.x}}",
            json!({ "list": [{ "x": 1 }, { "x": 2 }] }),
            "2",
        ),
    ]);
}

#[test]
fn dotted_names_do_not_look_outside_of_what_the_first_word_found() {
    let check = |source: &str, view: Value| {
        assert!(message(source, &view).contains("has no `"), "{source}");
    };
    check("{{a.b.c}}", json!({ "a": {} }));
    check(
        "{{a.b.c.name}}",
        json!({ "a": { "b": {} }, "c": { "name": "no" } }),
    );
    check(
        "{{#a}}{{b.c}}{{/a}}",
        json!({ "a": { "b": {} }, "b": { "c": "no" } }),
    );
    check("{{a.b}}", json!({ "a.b": "one key" }));
    check("{{text.length}}", json!({ "text": "abc" }));
    check("{{list.2}}", json!({ "list": [1, 2] }));
}

#[test]
fn sections_are_printed_for_true_values() {
    let view = json!({
        "yes": true, "no": false, "null": null, "zero": 0, "one": 1, "text": "t", "blank": "",
        "none": [], "object": { "in": "side" }, "hollow": {},
    });
    check(&[
        ("[{{#yes}}x{{/yes}}]", view.clone(), "[x]"),
        ("[{{#no}}x{{/no}}]", view.clone(), "[]"),
        ("[{{#null}}x{{/null}}]", view.clone(), "[]"),
        ("[{{#zero}}x{{/zero}}]", view.clone(), "[]"),
        ("[{{#blank}}x{{/blank}}]", view.clone(), "[]"),
        ("[{{#none}}x{{/none}}]", view.clone(), "[]"),
        ("[{{#missing}}x{{/missing}}]", view.clone(), "[]"),
        ("[{{#hollow}}x{{/hollow}}]", view.clone(), "[x]"),
        (
            "[{{#one}}{{.}}{{/one}}{{#text}}{{.}}{{/text}}]",
            view.clone(),
            "[1t]",
        ),
        ("[{{#object}}{{in}}{{/object}}]", view.clone(), "[side]"),
        (
            "[{{#object.in}}{{.}}{{/object.in}}]",
            view.clone(),
            "[side]",
        ),
        (
            "[{{#object.out.of}}x{{/object.out.of}}]",
            view.clone(),
            "[]",
        ),
        ("|{{# yes }}={{/ yes }}|", view.clone(), "|=|"),
        ("|{{ #yes }}={{ /yes }}|", view, "|=|"),
    ]);
}

#[test]
fn inverted_sections_are_printed_for_false_and_missing_values() {
    let view =
        json!({ "yes": true, "no": false, "none": [], "list": [{ "n": 1 }], "o": { "n": 1 } });
    check(&[
        ("[{{^no}}x{{/no}}]", view.clone(), "[x]"),
        ("[{{^yes}}x{{/yes}}]", view.clone(), "[]"),
        ("[{{^none}}x{{/none}}]", view.clone(), "[x]"),
        ("[{{^list}}{{n}}{{/list}}]", view.clone(), "[]"),
        ("[{{^o}}x{{/o}}]", view.clone(), "[]"),
        ("[{{^missing}}x{{/missing}}]", view.clone(), "[x]"),
        (
            "[{{^o.n}}x{{/o.n}}{{^o.m}}y{{/o.m}}{{^p.q.r}}z{{/p.q.r}}]",
            view.clone(),
            "[yz]",
        ),
        ("|{{^ no }}={{/ no }}|", view.clone(), "|=|"),
        (
            "A {{^no}}B {{^no}}C{{/no}} D{{/no}} E",
            view.clone(),
            "A B C D E",
        ),
        (
            "A {{^yes}}B {{^yes}}C{{/yes}} D{{/yes}} E",
            view.clone(),
            "A  E",
        ),
        ("{{^no}}1{{/no}}-{{^no}}2{{/no}}", view, "1-2"),
    ]);
}

#[test]
fn sections_over_lists_print_once_per_item() {
    check(&[
        (
            "{{#l}}{{n}}{{/l}}",
            json!({ "l": [{ "n": 1 }, { "n": 2 }] }),
            "12",
        ),
        (
            "{{#l}}({{.}}){{/l}}",
            json!({ "l": ["a", 2, 3.5, true, null] }),
            "(a)(2)(3.5)(true)()",
        ),
        (
            "{{#l}}({{{.}}}{{&.}}){{/l}}",
            json!({ "l": ["<", ">"] }),
            "(<<)(>>)",
        ),
        (
            "{{#l}}[{{#.}}{{.}}{{/.}}]{{/l}}",
            json!({ "l": [[1, 2], [3]] }),
            "[12][3]",
        ),
        (
            "{{#l}}{{#.}}{{x}}{{/.}}{{/l}}",
            json!({ "l": [{ "x": 1 }, { "x": 2 }] }),
            "12",
        ),
        ("{{#.}}{{n}}{{/.}}", json!([{ "n": 1 }, { "n": 2 }]), "12"),
        ("{{^.}}none{{/.}}", json!([]), "none"),
        ("{{.}}", json!("the value itself"), "the value itself"),
        (
            "{{#tops}}{{#m}}{{t.n}}{{m}}{{/m}}{{/tops}}",
            json!({ "tops": [{ "t": { "n": "a" }, "m": "b" }] }),
            "ab",
        ),
    ]);
}

#[test]
fn names_are_looked_up_from_the_innermost_value_outwards() {
    check(&[
        (
            "{{#a}}{{one}}{{#b}}{{one}}{{two}}{{#c.d}}{{one}}{{two}}{{three}}{{/c.d}}{{one}}{{/b}}{{/a}}",
            json!({ "a": { "one": 1 }, "b": { "two": 2 }, "c": { "d": { "three": 3 } } }),
            "1121231",
        ),
        (
            "{{#l}}{{name}}{{outer}};{{/l}}",
            json!({ "l": [{ "name": "x" }, { "name": "y" }], "outer": "!" }),
            "x!;y!;",
        ),
        (
            "{{#v}}{{.}} is {{v}}{{/v}}",
            json!({ "v": "bar" }),
            "bar is bar",
        ),
        (
            "{{#yes}}{{#.}}{{n}}{{/.}}{{/yes}}",
            json!({ "yes": true, "n": 1 }),
            "1",
        ),
        (
            "{{#o}}{{n}}{{/o}}",
            json!({ "o": { "n": null }, "n": "outer" }),
            "",
        ),
    ]);
}

#[test]
fn comments_leave_nothing_behind() {
    check(&[
        ("12{{! no }}34", json!({}), "1234"),
        ("12 {{! no }} 34", json!({}), "12  34"),
        ("12{{!\n  over\n  lines\n}}34\n", json!({}), "1234\n"),
        ("a\n{{! alone }}\nb\n", json!({}), "a\nb\n"),
        ("a\n  {{! indented }}\nb\n", json!({}), "a\nb\n"),
        ("|\r\n{{! alone }}\r\n|", json!({}), "|\r\n|"),
        ("  {{! first }}\n!", json!({}), "!"),
        ("!\n  {{! last }}", json!({}), "!\n"),
        ("a\n{{!\nlines\n}}\nb\n", json!({}), "a\nb\n"),
        ("a\n  {{!\n  lines\n  }}\nb\n", json!({}), "a\nb\n"),
        ("  12 {{! 34 }}\n", json!({}), "  12 \n"),
        (
            "{{! name }}{{!name}}",
            json!({ "name": 1, " name ": 2 }),
            "",
        ),
        ("{{! a | b }}", json!({}), ""),
    ]);
}

#[test]
fn delimiters_can_be_changed() {
    let view = json!({ "t": "x", "s": true, "no": false });
    check(&[
        ("{{=<% %>=}}(<%t%>){{t}}", view.clone(), "(x){{t}}"),
        ("({{=[ ]=}}[t])", view.clone(), "(x)"),
        ("{{=| |=}}|#s||t||/s||^no|y|/no|", view.clone(), "xy"),
        ("{{=<% %>=}}<%{t}%><%& t %>", view.clone(), "xx"),
        ("{{=<% %>=}}<%={{ }}=%>{{t}}", view.clone(), "x"),
        ("{{#s}}{{=| |=}}|t||/s||t|", view.clone(), "xx"),
        ("| {{=@ @=}} |", view.clone(), "|  |"),
        (" | {{=@ @=}}\n", view.clone(), " | \n"),
        ("|{{= @   @ =}}|", view.clone(), "||"),
        ("|{{=\n@ @\n=}}|@t@", view.clone(), "||x"),
        ("a\n{{=@ @=}}\nb\n", view.clone(), "a\nb\n"),
        ("a\n  {{=@ @=}}\nb\n", view.clone(), "a\nb\n"),
        ("|\r\n{{=@ @=}}\r\n|", view.clone(), "|\r\n|"),
        ("  {{=@ @=}}\n=", view.clone(), "="),
        ("=\n  {{=@ @=}}", view, "=\n"),
    ]);
}

#[test]
fn a_line_with_only_a_section_tag_disappears() {
    let view = json!({ "b": true, "l": [1, 2] });
    check(&[
        ("a\n{{#b}}\n|\n{{/b}}\nz\n", view.clone(), "a\n|\nz\n"),
        ("a\n  {{#b}}\n|\n\t{{/b}} \nz\n", view.clone(), "a\n|\nz\n"),
        ("|\r\n{{#b}}\r\n{{/b}}\r\n|", view.clone(), "|\r\n|"),
        ("  {{#b}}\n#{{/b}}\n/", view.clone(), "#\n/"),
        ("#{{#b}}\n/\n  {{/b}}", view.clone(), "#\n/\n"),
        ("a\n{{^no}}\n|\n{{/no}}\nz\n", view.clone(), "a\n|\nz\n"),
        ("  {{^no}}\n^{{/no}}\n/", view.clone(), "^\n/"),
        ("^{{^no}}\n/\n  {{/no}}", view.clone(), "^\n/\n"),
        ("{{#l}}\n- {{.}}\n{{/l}}\n", view.clone(), "- 1\n- 2\n"),
        (
            "{{#b}}\n* 1\n{{/b}}\n* 2\n{{#b}}\n* 3\n{{/b}}\n",
            view,
            "* 1\n* 2\n* 3\n",
        ),
    ]);
}

#[test]
fn a_section_tag_in_a_line_with_other_things_leaves_the_line_alone() {
    let view = json!({ "b": true });
    check(&[
        (" | {{#b}}\t|\t{{/b}} | \n", view.clone(), " | \t|\t | \n"),
        (
            " | {{#b}} {{! keep }}\n {{/b}} | \n",
            view.clone(),
            " |  \n  | \n",
        ),
        (" {{#b}}Y{{/b}}\n {{#b}}Z{{/b}}\n", view.clone(), " Y\n Z\n"),
        (" | {{^no}}\t|\t{{/no}} | \n", view.clone(), " | \t|\t | \n"),
        (" {{^no}}N{{/no}}\n", view, " N\n"),
    ]);
}

#[test]
fn partials_print_nothing() {
    check(&[
        ("a{{> other}}b", json!({}), "ab"),
        ("a\n  {{>other}}\nb", json!({}), "a\nb"),
    ]);
}

#[test]
fn a_missing_variable_is_an_error_with_name_place_and_suggestion() {
    let view = json!({ "reason": "r", "list": [{}] });
    assert_eq!(
        message("one\ntwo é {{ reson }}", &view),
        "the answer has no `reson` (at 2:10 of the template); did you mean `reason`?"
    );
    assert_eq!(
        message("{{{xyz}}}", &view),
        "the answer has no `xyz` (at 1:4 of the template)"
    );
    assert!(message("{{#list}}{{a}}{{/list}}", &view).contains("`a` (at 1:12"));
    assert!(message("{{x}}", &json!("not an object")).contains("`x`"));
}

#[test]
fn malformed_templates_are_reported_with_their_place() {
    let check = |source: &str, what: &str, place: &str| {
        let expected = format!("{what} (at {place} of the template)");
        assert_eq!(message(source, &json!({})), expected);
    };
    check("a {{b", "a tag that is not closed with `}}`", "1:3");
    check("{{{b}}", "a tag that is not closed with `}}}`", "1:1");
    check("{{!b", "a tag that is not closed with `}}`", "1:1");
    check("\n{{}}", "a tag without a name", "2:1");
    check("{{#}}{{/}}", "a tag without a name", "1:1");
    check("{{#a}}", "a section `a` that is not closed", "1:4");
    check(
        "{{/a}}",
        "an end of the section `a`, which is not open",
        "1:4",
    );
    check(
        "{{#a}}{{/b}}",
        "an end of the section `b` while `a` is open",
        "1:10",
    );
    check(
        "{{=x=}}",
        "a change of delimiters that does not have the form `{{=<% %>=}}`",
        "1:4",
    );
    check(
        "{{ x | upcase }}",
        "a Liquid filter `x | upcase`, while templates are plain mustache",
        "1:4",
    );
}

#[test]
fn nesting_and_growth_have_limits() {
    let nested = format!("{}{}", "{{#a}}".repeat(65), "{{/a}}".repeat(65));
    let Err(Failure::Parse(error)) = template::render(&nested, &json!({})) else {
        panic!("65 sections inside each other are accepted");
    };
    assert_eq!(error.kind, ParseErrorKind::TooDeep);

    // Ten items to the power of twenty would never end.
    let view = json!({ "a": vec![1; 10] });
    let bomb = format!("{}{}", "{{#a}}".repeat(20), "{{/a}}".repeat(20));
    let result = template::render(&bomb, &view);
    assert_eq!(result, Err(Failure::Render(RenderError::TooLarge)));

    let view = json!({ "a": vec![1; 1000], "b": "x".repeat(100_000) });
    let result = template::render("{{#a}}{{b}}{{/a}}", &view);
    assert_eq!(result, Err(Failure::Render(RenderError::TooLarge)));
}
