//! What runs used up, for people. What is unknown is called unknown: it is not zero.

use uwf_engine::UsageTotal;
use uwf_protocol::nodes::Usage;
use uwf_util::amount::short;
use uwf_util::text::counted;
use uwf_util::time;

/// Returns the cost: `$0.12`, `~$0.12` if a part of it is estimated, `>$0.12` if some runs did not tell theirs, `unknown` if
/// none did.
pub fn cost(usage: &UsageTotal) -> String {
    amount(known_cost(usage), usage.cost_unknown)
}

fn known_cost(usage: &UsageTotal) -> Option<String> {
    usage.cost_usd.map(|usd| usage.cost_kind().show(usd))
}

/// Returns the tokens in the same way, such as `1.2k`.
pub fn tokens(usage: &UsageTotal) -> String {
    amount(usage.tokens.map(short), usage.tokens_unknown)
}

/// Returns the time in the same way.
pub fn duration(usage: &UsageTotal) -> String {
    let known = usage.duration_ms.map(time::format_duration);
    amount(known, usage.duration_unknown)
}

fn amount(known: Option<String>, unknown: u64) -> String {
    match (known, unknown) {
        (None, _) => "unknown".to_owned(),
        (Some(known), 0) => known,
        (Some(known), _) => format!(">{known}"),
    }
}

/// Returns everything in one line.
pub fn sentence(usage: &UsageTotal) -> String {
    let runs = counted(usage.runs, "run");
    let tokens = match usage.tokens {
        None => "tokens unknown".to_owned(),
        Some(_) => format!("{} tokens", tokens(usage)),
    };
    let cost = match usage.cost_usd {
        None => "cost unknown".to_owned(),
        Some(_) => cost(usage),
    };
    format!("{cost}, {tokens}, {} in {runs}", duration(usage))
}

/// Returns each sum behind its label (`Time`, `1m 5s`), for a page that has room for whole words.
pub fn spelled_out(usage: &UsageTotal) -> [(&'static str, String); 3] {
    let of = |known: Option<String>, unknown: u64| match (known, unknown) {
        (None, _) => "unknown".to_owned(),
        (Some(known), 0) => known,
        (Some(known), unknown) => {
            format!("{known}, and {} of unknown amount", counted(unknown, "run"))
        }
    };
    let took = usage.duration_ms.map(time::format_duration);
    let tokens = usage.tokens.map(|tokens| tokens.to_string());
    let cost = known_cost(usage);
    [
        ("Time", of(took, usage.duration_unknown)),
        ("Tokens", of(tokens, usage.tokens_unknown)),
        ("Cost", of(cost, usage.cost_unknown)),
    ]
}

/// Returns what a step has used up so far, as far as it is known. The time is not part of it.
pub fn so_far(usage: &Usage) -> Option<String> {
    let tokens = match (usage.input_tokens, usage.output_tokens) {
        (None, None) => None,
        (input, output) => Some(input.unwrap_or(0).saturating_add(output.unwrap_or(0))),
    };
    let tokens = tokens.map(|tokens| format!("{} tokens", short(tokens)));
    let known: Vec<String> = tokens
        .into_iter()
        .chain(usage.cost_usd.map(|usd| usage.cost_kind().show(usd)))
        .collect();
    (!known.is_empty()).then(|| known.join("  "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(cost_usd: Option<f64>, cost_unknown: u64) -> UsageTotal {
        UsageTotal {
            runs: 2,
            cost_usd,
            cost_estimated: false,
            cost_unknown,
            tokens: Some(1234),
            tokens_unknown: 0,
            duration_ms: Some(1500),
            duration_unknown: 0,
        }
    }

    #[test]
    fn what_is_unknown_is_not_zero() {
        assert_eq!(cost(&usage(Some(0.0), 0)), "$0.00");
        assert_eq!(cost(&usage(None, 2)), "unknown");
        assert_eq!(cost(&usage(Some(0.5), 1)), ">$0.50");
        let estimated = |unknown| UsageTotal {
            cost_estimated: true,
            ..usage(Some(0.5), unknown)
        };
        assert_eq!(cost(&estimated(0)), "~$0.50");
        assert_eq!(cost(&estimated(1)), ">~$0.50");
        assert_eq!(spelled_out(&estimated(0))[2].1, "~$0.50");
        assert_eq!(
            sentence(&usage(None, 2)),
            "cost unknown, 1.2k tokens, 1.5s in 2 runs"
        );
    }

    #[test]
    fn on_a_page_it_is_said_how_many_runs_are_unknown() {
        let shown = spelled_out(&UsageTotal {
            tokens_unknown: 1,
            ..usage(None, 2)
        });
        let shown = shown.map(|(name, text)| format!("{name}: {text}"));
        let expected = [
            "Time: 1.5s",
            "Tokens: 1234, and 1 run of unknown amount",
            "Cost: unknown",
        ];
        assert_eq!(shown, expected);
    }

    #[test]
    fn of_a_running_step_is_shown_what_is_known() {
        let usage = Usage {
            input_tokens: Some(12_000),
            output_tokens: Some(345),
            ..Usage::default()
        };
        assert_eq!(so_far(&usage).as_deref(), Some("12k tokens"));
        let paid = Usage {
            cost_usd: Some(0.4249),
            ..usage
        };
        assert_eq!(so_far(&paid).as_deref(), Some("12k tokens  $0.42"));
        assert_eq!(so_far(&Usage::default()), None);
    }
}
