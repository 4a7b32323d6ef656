//! Events as opencode 1.18.33 prints them, reduced.

use crate::stream::tests::{seen, turns};

use super::*;

const WORK: &str = r#"
{"type":"step_start","sessionID":"s1","part":{"messageID":"m1","type":"step-start"}}
{"type":"reasoning","sessionID":"s1","part":{"messageID":"m1","type":"reasoning","text":"Where?"}}
{"type":"tool_use","sessionID":"s1","part":{"type":"tool","tool":"bash","callID":"c1","state":{"status":"completed","input":{"command":"ls"},"output":"a.txt","title":"ls"},"messageID":"m1"}}
{"type":"step_finish","sessionID":"s1","part":{"reason":"tool-calls","messageID":"m1","type":"step-finish","tokens":{"total":110,"input":60,"output":7,"reasoning":3,"cache":{"write":5,"read":40}},"cost":0.01}}
{"type":"tool_use","sessionID":"s1","part":{"type":"tool","tool":"write","callID":"c2","state":{"status":"error","input":{"filePath":"/etc/x"},"error":"The user has specified a rule which prevents you from using this specific tool call."},"messageID":"m2"}}
{"type":"tool_use","sessionID":"s1","part":{"type":"tool","tool":"read","callID":"c3","state":{"status":"error","input":{"filePath":"x"},"error":"File not found: x"},"messageID":"m2"}}
{"type":"step_finish","sessionID":"s1","part":{"reason":"tool-calls","messageID":"m2","type":"step-finish","tokens":{"total":110,"input":60,"output":10,"reasoning":0,"cache":{"write":0,"read":40}},"cost":0.02}}
"#;
const ANSWER: &str = r#"
{"type":"text","sessionID":"s1","part":{"messageID":"m3","type":"text","text":"the answer"}}
{"type":"step_finish","sessionID":"s1","part":{"reason":"stop","messageID":"m3","type":"step-finish","tokens":{"total":110,"input":100,"output":10,"reasoning":0,"cache":{"write":0,"read":0}},"cost":0}}
"#;

#[test]
fn messages_become_turns_and_their_tokens_are_summed_up() {
    let mut seen = seen(read, &format!("{WORK}{ANSWER}"));
    assert_eq!(seen.session_id.as_deref(), Some("s1"));
    assert_eq!(seen.answer.as_deref(), Some("the answer"));
    seen.settle_usage();
    let usage = &seen.usage;
    let tokens = (usage.input_tokens, usage.output_tokens, usage.cached_tokens);
    assert_eq!(tokens, (Some(305), Some(30), Some(80)));
    assert_eq!((usage.turns, usage.cost_usd), (Some(3), Some(0.03)));
    assert_eq!(seen.take_refused(), ["write"]);
    let turns = turns(seen);
    assert_eq!(turns.len(), 8);
    assert_eq!(turns[1], r#"Assistant:  <bash {"command":"ls"}>"#);
    assert_eq!(turns[7], "Assistant: the answer");
}

#[test]
fn an_error_has_its_class_and_when_to_try_again() {
    let failed = |data: &str| {
        let event = format!(r#"{{"type":"error","sessionID":"s1","error":{data}}}"#);
        let seen = seen(read, &event);
        (seen.error.unwrap(), seen.class)
    };
    let refused = r#"{"name":"APIError","data":{"message":"no","statusCode":401}}"#;
    assert_eq!(
        failed(refused),
        ("APIError: no".to_owned(), Some(FailureClass::Auth))
    );
    let long =
        r#"{"name":"ContextOverflowError","data":{"message":"Input exceeds context window"}}"#;
    assert_eq!(failed(long).1, Some(FailureClass::ContextTooLong));
    assert_eq!(
        failed(r#"{"name":"UnknownError"}"#),
        ("UnknownError".to_owned(), None)
    );
    let limited = r#"{"type":"error","error":{"name":"APIError","data":{"message":"slow","statusCode":429,"responseHeaders":{"retry-after":"7"}}}}"#;
    let seen = seen(read, limited);
    assert_eq!(seen.try_again.unwrap().from_now_ms(0), 7000);
}

#[test]
fn what_was_cut_off_is_no_answer() {
    let cut = ANSWER.replace("\"stop\"", "\"length\"");
    let seen = seen(read, &cut);
    assert_eq!(seen.answer, None);
    assert!(seen.error.unwrap().contains("cut off"));
}

#[test]
fn permissions_are_a_variable_and_the_rest_are_arguments() {
    let given = ["--permissions", "edit", "--model", "p/m", "--", "--pure"];
    let options = Options::parse(&TOOL, &given.map(ToOwned::to_owned)).unwrap();
    assert_eq!(
        args(&options, Some("s1")).join(" "),
        "run --format json --session s1 --model p/m --pure"
    );
    let [(name, _)] = &variables(&options)[..] else {
        panic!()
    };
    assert_eq!(*name, "OPENCODE_PERMISSION");
    let open = Options::parse(&TOOL, &[]).unwrap();
    assert_eq!(variables(&open), []);
}

#[test]
fn each_word_allows_more_than_the_one_before() {
    let allowed = |word: Permissions| {
        let rules = rules(word);
        let names = [
            "read",
            "edit",
            "bash",
            "external_directory",
            "question",
            "*",
        ];
        names.map(|name| rules[name] == "allow")
    };
    let check = |word, expected| assert_eq!(allowed(word), expected, "{word}");
    check(Permissions::Read, [true, false, false, false, false, false]);
    check(Permissions::Edit, [true, true, false, false, false, false]);
    check(Permissions::Run, [true, true, true, false, false, true]);
    check(Permissions::All, [true, true, true, true, false, true]);
}
