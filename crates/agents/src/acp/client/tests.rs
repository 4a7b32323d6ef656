//! Whole exchanges without a process: what the agent sends, and what comes of it.

use serde_json::{Value, json};

use super::*;

const SESSION: &str = "s-1";

fn request(session: Option<&str>) -> PromptRequest {
    PromptRequest {
        cwd: "/work".into(),
        session: session.map(ToOwned::to_owned),
        prompt: "Write.".to_owned(),
        model: None,
        mode: None,
        permissions: Policy::ReadOnly,
        otherwise: Otherwise::Refuse,
        decided: None,
        masks: Masks::default(),
    }
}

/// A client and all that it did.
struct Talk {
    client: Client,
    actions: Vec<Action>,
}

impl Talk {
    fn begin(request: PromptRequest) -> Self {
        let (client, first) = Client::begin(request);
        let actions = vec![first];
        Self { client, actions }
    }

    /// Begins, and answers until the prompt was sent.
    fn prompted(request: PromptRequest) -> Self {
        let mut talk = Self::begin(request);
        talk.answer(&json!({ "protocolVersion": 1, "agentCapabilities": { "loadSession": true } }));
        talk.answer(&json!({ "sessionId": SESSION }));
        if talk.client.is_settling() {
            talk.settle();
        }
        talk
    }

    fn try_hear(&mut self, message: &Value) -> Result<(), AcpError> {
        let actions = self.client.receive(&message.to_string())?;
        self.actions.extend(actions);
        Ok(())
    }

    /// Lets a session settle that was loaded.
    fn settle(&mut self) {
        assert!(self.client.is_settling());
        let actions = self.client.settled();
        self.actions.extend(actions);
    }

    fn hear(&mut self, message: &Value) {
        self.try_hear(message).unwrap();
    }

    fn reply(&self, member: &str, value: &Value) -> Value {
        json!({ "jsonrpc": "2.0", "id": self.sent().last().unwrap()["id"], member: value })
    }

    fn answer(&mut self, result: &Value) {
        let reply = self.reply("result", result);
        self.hear(&reply);
    }

    fn fails(&mut self, member: &str, value: &Value) -> AcpError {
        let reply = self.reply(member, value);
        self.try_hear(&reply).unwrap_err()
    }

    fn update(&mut self, update: &Value) {
        let params = json!({ "sessionId": SESSION, "update": update });
        self.hear(&json!({ "method": "session/update", "params": params }));
    }

    fn says(&mut self, text: &str) {
        let content = json!({ "type": "text", "text": text });
        self.update(&json!({ "sessionUpdate": "agent_message_chunk", "content": content }));
    }

    fn sent(&self) -> Vec<Value> {
        let lines = self.actions.iter().filter_map(|action| match action {
            Action::Send(line) => Some(line),
            _ => None,
        });
        lines
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    fn methods(&self) -> Vec<String> {
        let sent = self.sent();
        let methods = sent.iter().filter_map(|message| message["method"].as_str());
        methods.map(ToOwned::to_owned).collect()
    }

    fn outcome(mut self) -> Outcome {
        self.answer(&json!({ "stopReason": "end_turn" }));
        assert!(self.client.is_done());
        self.client.outcome()
    }
}

#[test]
fn a_new_session_gets_the_prompt_and_answers() {
    let mut talk = Talk::prompted(request(None));
    assert_eq!(
        talk.methods(),
        ["initialize", "session/new", "session/prompt"]
    );
    let sent = talk.sent();
    assert_eq!(
        sent[1]["params"],
        json!({ "cwd": "/work", "mcpServers": [] })
    );
    assert_eq!(sent[2]["params"]["sessionId"], SESSION);
    assert_eq!(sent[2]["params"]["prompt"][0]["text"], "Write.");
    talk.says("Hel");
    talk.says("lo");
    assert!(talk.actions.contains(&Action::Delta("lo".to_owned())));
    talk.answer(&json!({ "stopReason": "end_turn",
        "usage": { "inputTokens": 200, "outputTokens": 20, "cachedReadTokens": 80, "totalTokens": 220 } }));
    let turns = talk
        .actions
        .iter()
        .filter(|action| matches!(action, Action::Turn(_)));
    assert_eq!(turns.count(), 1);
    let outcome = talk.client.outcome();
    assert_eq!(
        (&*outcome.text, outcome.session_id.as_deref()),
        ("Hello", Some(SESSION))
    );
    let usage = outcome.usage;
    assert_eq!(
        (usage.input_tokens, usage.output_tokens, usage.cached_tokens),
        (Some(200), Some(20), Some(80))
    );
    assert_eq!(usage.cost_usd, None);
}

#[test]
fn an_agent_that_does_not_tell_its_usage_used_an_unknown_amount() {
    let outcome = Talk::prompted(request(None)).outcome();
    assert_eq!(outcome.usage, Usage::default());
}

/// Asks permission to run a command, and returns how that was answered.
fn asks(talk: &mut Talk, command: &str) -> Value {
    let call = json!({ "toolCallId": "c", "title": "Run it", "kind": "execute", "rawInput": { "command": command } });
    let options = json!([
        { "optionId": "yes", "kind": "allow_once" },
        { "optionId": "no", "kind": "reject_once" },
    ]);
    let params = json!({ "sessionId": SESSION, "toolCall": call, "options": options });
    talk.hear(&json!({ "id": 7, "method": "session/request_permission", "params": params }));
    let sent = talk.sent();
    let mut replies = sent.iter().filter(|message| message["id"] == 7);
    replies.next_back().unwrap()["result"]["outcome"].clone()
}

#[test]
fn a_call_that_is_left_to_a_person_cancels_the_prompt_and_is_the_outcome() {
    let mut talk = Talk::prompted(PromptRequest {
        otherwise: Otherwise::Suspend,
        ..request(None)
    });
    let cancelled = json!({ "outcome": "cancelled" });
    assert_eq!(asks(&mut talk, "rm a"), cancelled);
    assert_eq!(talk.methods().last().unwrap(), "session/cancel");
    // A second call at the same time is neither permitted nor the question.
    assert_eq!(asks(&mut talk, "rm b"), cancelled);
    talk.hear(&json!({ "id": 3, "result": { "stopReason": "cancelled" } }));
    assert!(talk.client.is_done());
    let outcome = talk.client.outcome();
    assert_eq!(outcome.asked.unwrap().input, r#"{"command":"rm a"}"#);
    assert_eq!(outcome.refused, [] as [&str; 0]);
}

#[test]
fn a_call_with_a_secret_is_known_again_without_it() {
    let secrets = Masks::of([&b"hunter2-hunter2"[..]]);
    let call = json!({ "title": "Run", "kind": "execute", "rawInput": { "command": "login hunter2-hunter2" } });
    let once = json!([{ "optionId": "yes", "name": "Yes", "kind": "allow_once" }]);
    let asked = permission::asked(&json!({ "toolCall": call, "options": once }), None);
    let asked = asked.masked(&secrets);
    assert!(!asked.input.contains("hunter2"), "{asked:?}");
    let mut talk = Talk::prompted(PromptRequest {
        decided: Some(DecidedPermission {
            asked,
            answer: "yes".to_owned(),
        }),
        masks: secrets,
        ..request(None)
    });
    assert_eq!(asks(&mut talk, "login hunter2-hunter2")["optionId"], "yes");
}

#[test]
fn a_call_that_a_person_has_permitted_is_permitted_once() {
    let asked = permission::asked(
        &json!({
            "toolCall": { "title": "Run", "kind": "execute", "rawInput": { "command": "rm a" } },
            "options": [{ "optionId": "yes", "name": "Yes", "kind": "allow_once" }],
        }),
        None,
    );
    let mut talk = Talk::prompted(PromptRequest {
        decided: Some(DecidedPermission {
            asked,
            answer: "yes".to_owned(),
        }),
        ..request(None)
    });
    assert_eq!(asks(&mut talk, "rm b")["optionId"], "no");
    assert_eq!(asks(&mut talk, "rm a")["optionId"], "yes");
    assert_eq!(asks(&mut talk, "rm a")["optionId"], "no");
    talk.hear(&json!({ "id": 3, "result": { "stopReason": "end_turn" } }));
    assert_eq!(talk.client.outcome().refused, ["execute", "execute"]);
}

#[test]
fn what_a_session_was_about_before_is_not_the_answer() {
    let mut talk = Talk::begin(request(Some(SESSION)));
    talk.answer(&json!({ "protocolVersion": 1, "agentCapabilities": { "loadSession": true } }));
    talk.says("an old answer");
    talk.answer(&Value::Null);
    // Some agents send a part of it only now.
    talk.says("another old answer");
    assert_eq!(talk.methods(), ["initialize", "session/load"]);
    talk.settle();
    assert_eq!(
        talk.methods(),
        ["initialize", "session/load", "session/prompt"]
    );
    talk.says("a new answer");
    let other = json!({ "sessionId": "other", "update": {
        "sessionUpdate": "agent_message_chunk", "content": { "type": "text", "text": "from elsewhere" } } });
    talk.hear(&json!({ "method": "session/update", "params": other }));
    let outcome = talk.outcome();
    assert_eq!(outcome.text, "a new answer");
    assert_eq!(outcome.turns.len(), 1);
}

#[test]
fn a_session_that_is_gone_is_told_apart_from_other_failures() {
    let gone = |error: &AcpError| matches!(error, AcpError::SessionGone { .. });
    let mut talk = Talk::begin(request(Some(SESSION)));
    talk.answer(&json!({ "protocolVersion": 1, "agentCapabilities": { "loadSession": true } }));
    let error = talk.fails(
        "error",
        &json!({ "code": -32602, "message": "no such session" }),
    );
    assert!(gone(&error), "{error}");

    let mut talk = Talk::prompted(request(Some(SESSION)));
    let error = talk.fails("result", &json!({ "stopReason": "refusal" }));
    assert!(gone(&error), "{error}");

    let mut talk = Talk::begin(request(Some(SESSION)));
    let error = talk.fails(
        "result",
        &json!({ "protocolVersion": 1, "agentCapabilities": {} }),
    );
    assert!(gone(&error), "{error}");

    let mut talk = Talk::prompted(request(Some(SESSION)));
    talk.says("I will not.");
    let error = talk.fails("result", &json!({ "stopReason": "refusal" }));
    assert_eq!(
        error,
        AcpError::Stopped {
            reason: "refusal".to_owned()
        }
    );

    let mut talk = Talk::prompted(request(None));
    let error = talk.fails("result", &json!({ "stopReason": "refusal" }));
    assert!(!gone(&error), "{error}");
}

#[test]
fn an_error_names_what_was_refused() {
    let mut talk = Talk::begin(request(None));
    talk.answer(&json!({ "protocolVersion": 1 }));
    let data = json!({ "details": "no provider" });
    let error = talk.fails(
        "error",
        &json!({ "code": -32603, "message": "Internal error", "data": data }),
    );
    assert_eq!(
        error.to_string(),
        "`session/new` was refused: Internal error: no provider"
    );
    let mut talk = Talk::begin(request(Some(SESSION)));
    talk.answer(&json!({ "protocolVersion": 1, "agentCapabilities": { "loadSession": true } }));
    let error = talk.fails("error", &json!({ "code": -32000, "message": "log in" }));
    assert!(matches!(error, AcpError::NotLoggedIn { .. }), "{error}");
    let mut talk = Talk::begin(request(None));
    let error = talk.fails("result", &json!({ "protocolVersion": 2 }));
    assert!(error.to_string().contains("version 2"), "{error}");
    let mut talk = Talk::begin(request(None));
    talk.answer(&json!({ "protocolVersion": 1 }));
    let error = talk.fails("result", &json!({}));
    assert!(error.to_string().contains("names no session"), "{error}");
}

#[test]
fn an_agent_that_stops_early_has_not_answered() {
    for reason in [
        "max_tokens",
        "max_turn_requests",
        "cancelled",
        "something new",
    ] {
        let mut talk = Talk::prompted(request(None));
        talk.says("---\nnote: half");
        let error = talk.fails("result", &json!({ "stopReason": reason }));
        assert_eq!(
            error,
            AcpError::Stopped {
                reason: reason.to_owned()
            }
        );
        assert_eq!(talk.client.outcome().turns.len(), 1);
    }
}

#[test]
fn requests_for_permission_are_answered_by_policy_and_kept() {
    let mut talk = Talk::prompted(request(None));
    talk.update(&json!({ "sessionUpdate": "tool_call", "toolCallId": "c1", "title": "see", "kind": "read" }),
    );
    let options = json!([{ "optionId": "yes", "kind": "allow_once" }, { "optionId": "no", "kind": "reject_once" }]);
    for call in [
        json!({ "toolCallId": "c1" }),
        json!({ "toolCallId": "c2", "title": "change", "kind": "edit" }),
    ] {
        let params = json!({ "sessionId": SESSION, "toolCall": call, "options": options });
        talk.hear(&json!({ "id": 0, "method": "session/request_permission", "params": params }));
    }
    let sent = talk.sent();
    let [.., first, second] = &sent[..] else {
        panic!()
    };
    assert_eq!(first["id"], 0);
    assert_eq!(first["result"]["outcome"]["optionId"], "yes");
    assert_eq!(second["result"]["outcome"]["optionId"], "no");
    let told = talk
        .actions
        .iter()
        .filter(|action| matches!(action, Action::Tell(_)));
    assert_eq!(told.count(), 2);
    let mut answered = talk
        .client
        .outcome()
        .turns
        .into_iter()
        .map(|turn| turn.content);
    assert!(answered.any(|text| text.contains("`change` (edit): rejected")));
}

#[test]
fn no_request_stays_unanswered() {
    let mut talk = Talk::prompted(request(None));
    for (id, method) in [
        (json!(7), "fs/read_text_file"),
        (json!("t-1"), "terminal/create"),
    ] {
        talk.hear(&json!({ "id": id, "method": method, "params": {} }));
        let answer = talk.sent().pop().unwrap();
        assert_eq!(answer["id"], id);
        assert_eq!(answer["error"]["code"], -32601);
    }
}

#[test]
fn noise_is_not_heard() {
    let mut talk = Talk::prompted(request(None));
    for line in [
        "",
        "warning: something",
        r#"{"method":"something/else"}"#,
        r#"{"id":99,"result":{}}"#,
    ] {
        assert_eq!(talk.client.receive(line), Ok(Vec::new()), "{line}");
    }
    talk.says("still here");
    assert_eq!(talk.outcome().text, "still here");
}

#[test]
fn model_and_mode_are_set_when_they_are_not_so_already() {
    let modes = json!({ "currentModeId": "default", "availableModes": [{ "id": "default" }, { "id": "edits" }] });
    let opened =
        json!({ "sessionId": SESSION, "modes": modes, "models": { "currentModelId": "small" } });
    let begin = |model: &str, mode: &str| {
        let mut talk = Talk::begin(PromptRequest {
            model: Some(model.to_owned()),
            mode: Some(mode.to_owned()),
            ..request(None)
        });
        talk.answer(&json!({ "protocolVersion": 1 }));
        talk
    };
    let mut talk = begin("large", "edits");
    talk.answer(&opened);
    talk.answer(&json!({}));
    talk.answer(&json!({}));
    let methods = talk.methods();
    assert_eq!(
        methods[2..],
        ["session/set_model", "session/set_mode", "session/prompt"]
    );
    assert_eq!(
        talk.sent()[2]["params"],
        json!({ "sessionId": SESSION, "modelId": "large" })
    );
    assert_eq!(
        talk.sent()[3]["params"],
        json!({ "sessionId": SESSION, "modeId": "edits" })
    );
    assert_eq!(talk.outcome().model.as_deref(), Some("large"));

    let mut talk = begin("small", "default");
    talk.answer(&opened);
    assert_eq!(talk.methods()[2..], ["session/prompt"]);

    let error = begin("small", "yolo").fails("result", &opened);
    assert_eq!(
        error.to_string(),
        "the agent has no session mode `yolo`; it has `default`, `edits`"
    );
}

#[test]
fn only_a_running_prompt_can_be_cancelled() {
    let talk = Talk::begin(request(None));
    assert_eq!(talk.client.cancel(), None);
    let mut talk = Talk::prompted(request(None));
    let line: Value = serde_json::from_str(&talk.client.cancel().unwrap()).unwrap();
    assert_eq!(
        line,
        json!({ "jsonrpc": "2.0", "method": "session/cancel", "params": { "sessionId": SESSION } })
    );
    talk.answer(&json!({ "stopReason": "end_turn" }));
    assert_eq!(talk.client.cancel(), None);
}

#[test]
fn settings_that_are_options_of_the_session_are_set_as_such() {
    let option = |id: &str, value: &str| json!({ "id": id, "category": id, "currentValue": value, "options": [{ "value": "build" }, { "value": "plan" }] });
    let mut talk = Talk::begin(PromptRequest {
        model: Some("p/large".to_owned()),
        mode: Some("plan".to_owned()),
        ..request(None)
    });
    talk.answer(&json!({ "protocolVersion": 1 }));
    let options = json!([option("model", "p/small"), option("mode", "build")]);
    talk.answer(&json!({ "sessionId": SESSION, "configOptions": options }));
    talk.answer(&json!({}));
    talk.answer(&json!({}));
    let sent = talk.sent();
    let set = |at: usize| {
        assert_eq!(sent[at]["method"], "session/set_config_option");
        sent[at]["params"]["value"].clone()
    };
    assert_eq!((set(2), set(3)), (json!("p/large"), json!("plan")));
    assert_eq!(talk.outcome().model.as_deref(), Some("p/large"));
}

#[test]
fn usage_that_comes_with_the_updates_is_summed_up() {
    let mut talk = Talk::prompted(request(None));
    for _ in 0..2 {
        let usage = json!({ "inputTokens": 100, "outputTokens": 10, "totalTokens": 110 });
        let content = json!({ "type": "text", "text": "" });
        talk.update(&json!({ "sessionUpdate": "agent_message_chunk", "content": content, "_meta": { "usage": usage } }));
    }
    let usage = talk.outcome().usage;
    let tokens = (usage.input_tokens, usage.output_tokens);
    assert_eq!(tokens, (Some(200), Some(20)));
}

#[test]
fn a_change_that_is_only_shown_is_known_by_what_it_writes() {
    let asked = |text: &str| {
        let change = json!([{ "type": "diff", "path": "a.txt", "oldText": "", "newText": text }]);
        let call = json!({ "toolCallId": "c", "title": "Writing a.txt", "kind": "edit", "content": change });
        permission::asked(&json!({ "toolCall": call }), None)
    };
    assert!(asked("x").is_same_call(&asked("x")));
    assert!(!asked("x").is_same_call(&asked("y")));
}
