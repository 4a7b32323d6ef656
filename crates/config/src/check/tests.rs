//! Texts of configs, and what is found in them.

use uwf_protocol::config::Config;

use super::*;

fn shown(text: &str) -> Vec<String> {
    let findings = check(text, &|name| name == "SET");
    let show = |one: &Finding| format!("{}:{} {}: {}", one.line, one.column, one.key, one.problem);
    let errors = findings.errors.iter().map(show);
    errors
        .chain(
            findings
                .warnings
                .iter()
                .map(|one| format!("warning {}", show(one))),
        )
        .collect()
}

/// Asserts how the findings in a text begin.
#[track_caller]
fn assert_finds(text: &str, begins: &[&str]) {
    let found = shown(text);
    assert_eq!(found.len(), begins.len(), "{found:#?}");
    for (found, begin) in found.iter().zip(begins) {
        assert!(found.starts_with(begin), "{found}");
    }
}

#[test]
fn a_sound_file_has_no_findings() {
    for text in [
        "",
        "# nothing\n",
        "agents:\nagentOverrides: null\n",
        "providers: { p: { baseUrl: 'http://h/v1', apiKeyEnv: SET } }\n\
         models: { m: { provider: p, name: n } }\n\
         agents: { a: { command: c, args: [x], timeout: 5m, protocol: named } }\n\
         defaultAgent: a\ndefaultModel: m\n\
         agentOverrides: { w: { r: a } }\nmodelOverrides: { extract: m }\n",
    ] {
        assert_eq!(shown(text), Vec::<String>::new(), "{text}");
    }
}

#[test]
fn servers_have_a_command_and_a_name_that_tools_can_have() {
    let text = "\
mcpServers:
  a.b: { command: c, args: [x], env: { N: 1 }, keepEnv: [T], permissions: read, timeout: 30s }
  d: { args: x, keepEnv: [UWF_ROLE], permissions: write }
  good: { command: c }
";
    let begins = [
        "2:3 mcpServers.a.b: the name of a server has 1 to 32 letters, digits, `-` or `_`",
        "3:3 mcpServers.d: `command` is missing",
        "3:14 mcpServers.d.args: a list of texts is needed",
        "3:26 mcpServers.d.keepEnv: `UWF_ROLE` cannot be set",
        "3:51 mcpServers.d.permissions: `write` is not one of `read` or `edit` or `run` or `all`",
    ];
    assert_finds(text, &begins);
}

#[test]
fn fallbacks_must_exist_and_lead_to_an_end() {
    let text = "\
agents:
  a: { command: c, fallback: [b, nobody], retry: { max: 2, on: [auth, cancelled] } }
  b: { command: c, fallback: [c] }
  c: { command: c, fallback: [d, b], retry: { backof: 1s } }
  d: { command: c, retry: 3 }
";
    let begins = [
        "2:34 agents.a.fallback: `nobody` is not in `agents`",
        "2:64 agents.a.retry.on: `cancelled` is not one of `not-installed` or `auth`",
        "3:30 agents.b.fallback: it leads back to `b`: b → c → b",
        "4:30 agents.c.fallback: it leads back to `c`: c → b → c",
        "4:47 agents.c.retry.backof: `backof` is not known, did you mean `backoff`?",
        "5:27 agents.d.retry: a mapping is needed here",
    ];
    assert_finds(text, &begins);
}

#[test]
fn all_findings_are_reported_at_once_with_their_places() {
    let text = "\
defaultAgent: wrter
agnts: {}
agents:
  writer:
    comand: x
    timeout: soon
models:
  m: { provider: nobody, name: n }
agentOverrides:
  w: { r: gone }
providers:
  p: { baseUrl: ftp, apiKeyEnv: UNSET }
";
    let found = shown(text);
    let begins = [
        "1:15 defaultAgent: `wrter` is not in `agents`, did you mean `writer`?",
        "2:1 agnts: `agnts` is not known, did you mean `agents`?",
        "4:3 agents.writer: `command` is missing",
        "5:5 agents.writer.comand: `comand` is not known, did you mean `command`?",
        "6:14 agents.writer.timeout: `soon` is not a duration",
        "8:18 models.m.provider: `nobody` is not in `providers`",
        "10:11 agentOverrides.w.r: `gone` is not in `agents`",
        "12:17 providers.p.baseUrl: not an address",
        "warning 12:33 providers.p.apiKeyEnv: the variable `UNSET`",
    ];
    assert_eq!(found.len(), begins.len(), "{found:#?}");
    for (found, begin) in found.iter().zip(begins) {
        assert!(found.starts_with(begin), "{found} … {begin}");
    }
}

#[test]
fn variables_of_agents_are_checked_where_they_are() {
    let text = "\
agents:
  a:
    command: c
    env: { UWF_HEAD: x, sk-0123456789abcdef: y, NONE: z }
    secrets: [SET, UNSET, NONE, UWF_ROLE]
";
    let found = shown(text);
    let begins = [
        "4:12 agents.a.env: `UWF_HEAD` cannot be set: `uwf` sets it for every agent",
        "4:25 agents.a.env: the name of a variable is needed",
        "5:14 agents.a.secrets: `UWF_ROLE` cannot be set",
        "warning 5:20 agents.a.secrets: the secret `UNSET` is neither in `.env`",
    ];
    assert_eq!(found.len(), begins.len(), "{found:#?}");
    for (found, begin) in found.iter().zip(begins) {
        assert!(found.starts_with(begin), "{found} … {begin}");
    }
}

/// The check reports an `unreadable` error exactly for the texts that the program cannot load.
#[test]
fn the_check_and_the_program_agree() {
    for text in [
        "[]",
        "x",
        "agents: []",
        "agents: 1",
        "agents: { a: x }",
        "agents: { a: { command: [] } }",
        "agents: { a: { command: c, env: { A: 1, B: true, C: text }, secrets: [A, B] } }",
        "agents: { a: { command: c, env: , secrets: } }",
        "agents: { a: { command: c, env: [A], secrets: [] } }",
        "agents: { a: { command: c, env: { A: [] } } }",
        "agents: { a: { command: c, env: { A: } } }",
        "agents: { a: { command: c, secrets: A } }",
        "agents: { a: { command: c, secrets: { A: b } } }",
        "agents: { a: { command: c, args: x } }",
        "agents: { a: { command: c, args: [1] } }",
        "agents: { a: { command: c, args: [[x]] } }",
        "agents: { a: { command: c, args: null } }",
        "agents: { a: { command: c, protocol: both } }",
        "agents: { a: { command: 12 } }",
        "agents: { a: { command: true } }",
        "agents: { a: null }",
        "agents:",
        "providers: ~",
        "agentOverrides: { w: null }",
        "agentOverrides: { w: { r: null } }",
        "modelOverrides: { extract: null }",
        "modelOverrides: { extract: [] }",
        "defaultAgent:",
        "defaultAgent: {}",
        "limits:",
        "limits: { maxSteps: 1, maxVisits: { r: 2 }, maxCostUsd: 0.5, maxDuration: 2h }",
        "limits: { maxSteps: 0 }",
        "limits: { maxSteps: '1' }",
        "limits: { maxSteps: 1.5 }",
        "limits: { maxVisits: { r: 0 } }",
        "limits: { maxVisits: [] }",
        "limits: { maxCostUsd: -1 }",
        "limits: { maxDuration: 5 }",
        "limits: { maxStep: 1 }",
        "limits: { unknownUsage: maybe }",
        "concurrency: { maxRunning: 2 }",
        "concurrency: { maxRunning: 0 }",
        "concurrency: { maxRunning: x }",
        "concurrency: { max: 1 }",
        "concurrency:",
        "maxDepth: 2",
        "maxDepth: 0",
        "agents: { a: { command: c, maxRunning: 5000000000 } }",
        "a: [",
        "defaultAgent: a\ndefaultAgent: b",
    ] {
        agree(text);
    }
}

#[test]
fn the_check_and_the_program_agree_about_prices() {
    for text in [
        "prices:",
        "prices: []",
        "prices: { m: { input: 1, output: 2.5, cacheRead: 0 } }",
        "prices: { m*: { input: 1, output: 2 } }",
        "prices: { m: { input: 1 } }",
        "prices: { m: { input: null } }",
        "prices: { m: null }",
        "prices: { m: 3 }",
        "prices: { m: { input: -1, output: 2 } }",
        "prices: { m: { input: '1', output: 2 } }",
        "prices: { m: { input: dear, output: 2 } }",
        "prices: { m: { input: .nan, output: 2 } }",
        "prices: { m: { input: .inf, output: 2 } }",
        "prices: { m: { inptu: 1, output: 2 } }",
        "prices: { 'a*b': { input: 1, output: 2 } }",
    ] {
        agree(text);
    }
}

fn agree(text: &str) {
    let findings = check(text, &|_| true);
    let unreadable = findings.errors.iter().any(|one| one.unreadable);
    let root = uwf_yaml::parse(text, Dialect::Tolerant);
    let loaded =
        root.is_ok_and(|root| root.is_none_or(|root| root.to_type::<Option<Config>>().is_ok()));
    assert_eq!(loaded, !unreadable, "{text}: {findings:?}");
}
