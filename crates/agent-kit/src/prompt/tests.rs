//! Whole prompts, as agents get them.

use uwf_protocol::policy::ContextPolicy;
use uwf_protocol::work::Work;

use super::*;
use serde_json::json;
use uwf_protocol::schemas;

fn role() -> Role {
    Role {
        description: "for people only".to_owned(),
        goal: "You are a writer.".to_owned(),
        capabilities: vec!["writing".to_owned(), "shell".to_owned()],
        procedure: "Write it.\n".to_owned(),
        output: String::new(),
        schema: schemas::OBJECT,
        extract: None,
        checks: None,
        session: None,
        context: ContextPolicy::default(),
        work: Work::Agent,
    }
}

fn schema() -> Value {
    json!({
        "type": "object",
        "properties": { "plan": { "type": "string" }, "$status": { "const": "done" } },
        "required": ["plan", "$status"],
    })
}

fn past(number: u64, role: &str, content: &str) -> PastStep {
    PastStep {
        number,
        role: role.parse().unwrap(),
        agent: "uwf-mock".to_owned(),
        output: json!({ "$status": "done" }),
        content: Some(content.to_owned()),
    }
}

fn assembled(step: u64, visit: u64, history: &History) -> String {
    assemble(&Inputs {
        thread: "01J7K9Z0000000000000000004".parse().unwrap(),
        role_name: &"writer".parse().unwrap(),
        role: &role(),
        schema: &schema(),
        step,
        visit,
        task: "Write about trees.",
        history,
        earlier: None,
        instruction: "Begin.",
    })
}

const HEAD: &str = "\
## Deliverable

Begin your answer with a YAML block between two lines that are exactly `---`. Write your report in Markdown after it.

```
---
$status: done  # required
plan: <string>  # required
---

<your report in Markdown>
```

Fields:
  - `$status` (required)
  - `plan` (required)

Give these fields and no others.
Write valid YAML: quote a text that contains `: ` or ` #`, and write a text of several lines as a `|` block.
If you need a decision by a person, answer with `$status: $SUSPEND` and a `reason` that asks your question.

Do only the work of your own role. Other roles continue from there.
";

const ROLE: &str = "
## Goal

You are a writer.

## Capabilities

- writing
- shell

## Prepare

To look up more about this thread, use these commands. They change nothing:

- `uwf thread read 01J7K9Z0000000000000000004`: task and answers as Markdown
- `uwf thread steps 01J7K9Z0000000000000000004`: every step with its data and hash
- `uwf step read <step-hash>`: one step in full
- `uwf cas get <hash>`: any node

Never run commands that step, resume or end threads.

Load the skills that match your capabilities: writing, shell.

## Procedure

Write it.

## Task

Write about trees.
";

const INSTRUCTION: &str = "
## Moderator Instruction

Begin.
";

#[test]
fn a_first_visit_shows_what_happened_with_contents() {
    let mut budget = Budget::new(32_000);
    assert!(budget.push(&past(2, "reviewer", "# Findings\n\nNone.")));
    let history = History {
        recap: None,
        steps: budget.into_texts(),
        left_out: 1,
        own: None,
    };
    let progress = "
## Progress

Thread `01J7K9Z0000000000000000004`, step 3, visit 1 of the role `writer`.
";
    let happened = r#"
## What happened

One earlier step is not shown.
<step number="2" role="reviewer" agent="uwf-mock">
<output>
{"$status":"done"}
</output>
<content>
# Findings

None.
</content>
</step>
"#;
    assert_eq!(
        assembled(3, 1, &history),
        [HEAD, progress, ROLE, happened, INSTRUCTION].concat()
    );
}

#[test]
fn a_later_visit_shows_only_what_is_new() {
    let mut budget = Budget::new(32_000);
    assert!(budget.push(&past(2, "reviewer", "Too short.")));
    let own = Some((1, json!({ "plan": "p" })));
    let history = History {
        recap: None,
        steps: budget.into_texts(),
        left_out: 0,
        own,
    };
    let progress = "
## Progress

Thread `01J7K9Z0000000000000000004`, step 3, visit 2 of the role `writer`.
";
    let happened = r#"
## What happened since your last step

Your last step was step 1. Its data:
<output>
{"plan":"p"}
</output>
<step number="2" role="reviewer" agent="uwf-mock">
<output>
{"$status":"done"}
</output>
<content>
Too short.
</content>
</step>
"#;
    assert_eq!(
        assembled(3, 2, &history),
        [HEAD, progress, ROLE, happened, INSTRUCTION].concat()
    );
}

#[test]
fn what_is_empty_has_no_section() {
    let mut role = role();
    role.capabilities.clear();
    let text = assemble(&Inputs {
        thread: "01J7K9Z0000000000000000004".parse().unwrap(),
        role_name: &"writer".parse().unwrap(),
        role: &role,
        schema: &schema(),
        step: 1,
        visit: 1,
        task: "Go.",
        history: &History::default(),
        earlier: None,
        instruction: " ",
    });
    let headings: Vec<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("## "))
        .collect();
    assert_eq!(
        headings,
        [
            "Deliverable",
            "Progress",
            "Goal",
            "Prepare",
            "Procedure",
            "Task"
        ]
    );
    assert!(!text.contains("for people only"));
}

#[test]
fn the_answer_to_replace_stands_before_the_instruction() {
    let text = assemble(&Inputs {
        thread: "01J7K9Z0000000000000000004".parse().unwrap(),
        role_name: &"writer".parse().unwrap(),
        role: &role(),
        schema: &schema(),
        step: 1,
        visit: 1,
        task: "Write about trees.",
        history: &History::default(),
        earlier: Some("<step>\nToo long.\n</step>\n"),
        instruction: "Begin.",
    });
    let progress = "
## Progress

Thread `01J7K9Z0000000000000000004`, step 1, visit 1 of the role `writer`.
";
    let earlier = "
## The Answer to Replace

This step already has the answer below. It was not good enough. Do the step again and give a better, complete answer. Your answer replaces the old one.

<step>
Too long.
</step>
";
    assert_eq!(text, [HEAD, progress, ROLE, earlier, INSTRUCTION].concat());
}

#[test]
fn a_correction_names_the_problem_and_shows_the_form_but_not_the_task() {
    let text = correction("`plan` is missing\n", &schema());
    assert!(
        text.starts_with("Your answer was not accepted: `plan` is missing\n\n"),
        "{text}"
    );
    assert!(text.contains("$status: done  # required"), "{text}");
    assert!(!text.contains("## Task"), "{text}");
}

#[test]
fn an_agent_is_told_which_checks_run_and_what_failed() {
    let role_checks: uwf_protocol::checks::Checks = serde_json::from_value(json!({
        "run": [
            { "name": "cargo test", "command": ["cargo", "test"] },
            { "name": "style", "command": ["./ci/style.sh", "a b"] },
        ],
        "attempts": 1,
    }))
    .unwrap();
    let section = checks::section(&role_checks);
    assert!(
        section.contains("- `cargo test`\n- style: `./ci/style.sh 'a b'`\n"),
        "{section}"
    );
    let failed: uwf_protocol::checks::CheckResult = serde_json::from_value(json!({
        "name": "style", "command": ["./ci/style.sh"], "problem": "exit code 1", "exitCode": 1,
        "durationMs": 5, "output": "line 1\nline 2\n",
    }))
    .unwrap();
    let said = said_by_checks(std::slice::from_ref(&failed), usize::MAX);
    assert_eq!(
        said,
        "The check `style` (`./ci/style.sh`) failed: exit code 1. The end of its output:\n\n```\nline 1\nline 2\n```"
    );
    let short = said_by_checks(std::slice::from_ref(&failed), 6);
    assert!(short.contains("```\nline 2\n```"), "{short}");
    let message = failed_checks(&[failed], &schema());
    assert!(message.contains("## Deliverable"), "{message}");
}
