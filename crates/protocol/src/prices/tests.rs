//! Which price holds for a model, and what usage costs by it.

use serde_json::{Value, json};

use super::*;

fn prices(config: Value) -> Prices {
    Prices::of(&serde_json::from_value(config).unwrap())
}

fn usage(input: u64, output: u64) -> Usage {
    Usage {
        input_tokens: Some(input),
        output_tokens: Some(output),
        ..Usage::default()
    }
}

#[test]
fn each_kind_of_token_has_its_rate() {
    let prices = prices(json!({
        "m": { "input": 10, "output": 100, "cacheRead": 1, "cacheWrite": 20 },
        "plain": { "input": 10, "output": 100 },
    }));
    let cost = |model: &str, usage: &Usage| prices.price_of(model).unwrap().cost_of(usage);
    assert_eq!(cost("m", &usage(1000, 100)), Some(0.02));
    let cached = Usage {
        cached_tokens: Some(500),
        cache_write_tokens: Some(100),
        ..usage(1000, 100)
    };
    // 400 × 10 + 500 × 1 + 100 × 20 + 100 × 100
    assert_eq!(cost("m", &cached), Some(0.0165));
    assert_eq!(cost("plain", &cached), Some(0.02));
    let unknown = Usage {
        output_tokens: None,
        ..usage(1000, 0)
    };
    assert_eq!(cost("m", &unknown), None);
    // A tool that counts more cached tokens than tokens does not earn money.
    let odd = Usage {
        cached_tokens: Some(5000),
        ..usage(1000, 0)
    };
    assert_eq!(cost("m", &odd), Some(0.001));
}

#[test]
fn what_the_agent_tells_goes_before_what_is_computed() {
    let prices = prices(json!({ "m": { "input": 10, "output": 100, "cacheWrite": 0 } }));
    let told = Usage {
        cost_usd: Some(5.0),
        cache_write_tokens: Some(7),
        ..usage(1000, 0)
    };
    let kept = prices.priced(&told, Some("m"));
    assert_eq!((kept.cost_usd, kept.cost_estimated), (Some(5.0), false));
    assert_eq!(kept.cache_write_tokens, None);
    let computed = prices.priced(&usage(1000, 0), Some("m"));
    assert_eq!(
        (computed.cost_usd, computed.cost_estimated),
        (Some(0.01), true)
    );
    assert_eq!(prices.priced(&computed, Some("m")), computed);
    for model in [None, Some("nobody-knows-it")] {
        assert_eq!(prices.priced(&usage(9, 9), model), usage(9, 9));
    }
}

#[test]
fn the_best_name_counts_and_the_config_goes_first() {
    let rate = |n: u64| json!({ "input": n, "output": 0 });
    let prices = prices(json!({
        "a*": rate(1), "a-b*": rate(2), "a-b-c": rate(3), "gpt-*": rate(4), "gpt-4.1*": { "input": 5 },
    }));
    let input = |model: &str| prices.price_of(model).map(|price| price.input);
    assert_eq!(input("a"), Some(1.0));
    assert_eq!(input("a-bee"), Some(2.0));
    assert_eq!(input("a-b-c"), Some(3.0));
    assert_eq!(input("a-b-cc"), Some(2.0));
    assert_eq!(input("gpt-5"), Some(4.0), "before the built-in price");
    assert_eq!(input("gpt-4.1"), Some(4.0), "an incomplete entry is none");
    assert_eq!(input("claude-sonnet-4-5-20250929"), Some(3.0));
    assert_eq!(input("b"), None);
    let shown = |row: &PriceRow| row.model.to_string();
    let shown: Vec<_> = prices.rows().iter().map(shown).collect();
    assert_eq!(shown[..4], ["a*", "a-b*", "a-b-c", "gpt-*"]);
    assert!(shown.contains(&"claude-opus-4-5*".to_owned()));
    assert!(!shown.contains(&"gpt-5".to_owned()), "it never holds");
}

#[test]
fn a_price_that_cannot_be_is_refused() {
    let refused = |entry: Value, part: &str| {
        let error = serde_json::from_value::<PriceEntry>(entry).unwrap_err();
        assert!(error.to_string().contains(part), "{error}");
    };
    refused(json!({ "input": -1 }), "a number from 0");
    refused(json!({ "input": "x" }), "x");
    refused(json!({ "inptu": 1 }), "inptu");
    for text in ["nan", "inf", "-0.1", "x", ""] {
        assert!(text.parse::<Rate>().is_err(), "{text}");
    }
    for text in ["", "a*b", "**", "*a"] {
        assert!(text.parse::<ModelPattern>().is_err(), "{text}");
    }
    for text in ["a", "a*", "*", "openai/gpt-4.1"] {
        assert_eq!(text.parse::<ModelPattern>().unwrap().as_str(), text);
    }
}

#[test]
fn the_built_in_table_is_sound() {
    let mut names: Vec<_> = built_in().map(|(name, _)| name).collect();
    for (name, known) in built_in() {
        assert!(name.parse::<ModelPattern>().is_ok(), "{name}");
        let Price { input, output, .. } = known.price;
        assert!(0.0 < input && input < output, "{name}");
        let cached = known.price.cache_read;
        assert!(
            cached.is_some_and(|rate| 0.0 < rate && rate < input),
            "{name}"
        );
    }
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count, "each name stands there once");
}

#[test]
fn models_of_one_family_with_other_prices_are_told_apart() {
    let prices = Prices::default();
    let input = |model: &str| prices.price_of(model).map(|price| price.input);
    assert_eq!(input("gpt-4o-2024-08-06"), Some(2.5));
    assert_eq!(input("gpt-4o-mini-2024-07-18"), Some(0.15));
    assert_eq!(input("gpt-4o-audio-preview"), None);
    assert_eq!(input("gpt-5-pro"), None);
    assert_eq!(input("gpt-5-2025-08-07"), Some(1.25));
    assert_eq!(input("claude-opus-4-20250514"), Some(15.0));
    assert_eq!(input("claude-opus-4-5-20251101"), Some(5.0));
}
