//! What a prompt used up, as far as its agent tells. Agents tell it in several places.

use serde_json::Value;
use uwf_protocol::nodes::Usage;

/// Reads the usage in the result of a prompt: where the protocol has it, or where Gemini CLI tells it.
pub(super) fn of_result(result: &Value) -> Usage {
    match &result["usage"] {
        Value::Null => of_quota(&result["_meta"]["quota"]["token_count"]),
        usage => of_tokens(usage),
    }
}

/// Reads the usage of one call of the model, which Qwen Code tells with its updates.
pub(super) fn of_update(update: &Value) -> Usage {
    of_tokens(&update["_meta"]["usage"])
}

/// Returns the model of a prompt, if the result tells that there was exactly one.
pub(super) fn model(result: &Value) -> Option<String> {
    match result["_meta"]["quota"]["model_usage"]
        .as_array()?
        .as_slice()
    {
        [only] => Some(only["model"].as_str()?.to_owned()),
        _ => None,
    }
}

fn of_quota(tokens: &Value) -> Usage {
    Usage {
        input_tokens: tokens["input_tokens"].as_u64(),
        output_tokens: tokens["output_tokens"].as_u64(),
        ..Usage::default()
    }
}

/// Reads tokens in the words of the protocol. The total tells whether tokens of the cache are part of the input, and thoughts
/// part of the output.
fn of_tokens(usage: &Value) -> Usage {
    let count = |name: &str| usage[name].as_u64();
    let (input, output) = (count("inputTokens"), count("outputTokens"));
    let (read, written) = (count("cachedReadTokens"), count("cachedWriteTokens"));
    let cached = read.unwrap_or(0).saturating_add(written.unwrap_or(0));
    let thought = count("thoughtTokens").unwrap_or(0);
    let sum = input.unwrap_or(0).saturating_add(output.unwrap_or(0));
    let beside = count("totalTokens").and_then(|total| total.checked_sub(sum));
    let (more_input, more_output) = match beside {
        Some(beside) if beside == cached.saturating_add(thought) => (cached, thought),
        Some(beside) if beside == cached => (cached, 0),
        Some(beside) if beside == thought => (0, thought),
        Some(_) | None => (0, 0),
    };
    Usage {
        input_tokens: input.map(|input| input.saturating_add(more_input)),
        output_tokens: output.map(|output| output.saturating_add(more_output)),
        cached_tokens: read,
        cache_write_tokens: written,
        ..Usage::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn all_tokens_count_once_whether_the_agent_tells_them_apart_or_not() {
        let told = |usage: Value| {
            let usage = of_result(&json!({ "usage": usage }));
            (usage.input_tokens, usage.output_tokens)
        };
        let base = json!({ "inputTokens": 200, "outputTokens": 20, "cachedReadTokens": 80, "cachedWriteTokens": 5, "thoughtTokens": 7 });
        let with_total = |total: u64| {
            let mut usage = base.clone();
            usage["totalTokens"] = total.into();
            told(usage)
        };
        assert_eq!(told(base.clone()), (Some(200), Some(20)));
        assert_eq!(with_total(220), (Some(200), Some(20)));
        assert_eq!(with_total(227), (Some(200), Some(27)));
        assert_eq!(with_total(305), (Some(285), Some(20)));
        assert_eq!(with_total(312), (Some(285), Some(27)));
    }

    #[test]
    fn the_sum_of_a_prompt_may_stand_beside_the_result() {
        let tokens = json!({ "input_tokens": 400, "output_tokens": 40 });
        let one = json!({ "model": "pro", "token_count": tokens });
        let result = |models: Value| json!({ "_meta": { "quota": { "token_count": tokens, "model_usage": models } } });
        let usage = of_result(&result(json!([one])));
        assert_eq!(
            (usage.input_tokens, usage.output_tokens),
            (Some(400), Some(40))
        );
        assert_eq!(model(&result(json!([one]))).as_deref(), Some("pro"));
        assert_eq!(model(&result(json!([one, one]))), None);
        assert_eq!(model(&json!({})), None);
    }
}
