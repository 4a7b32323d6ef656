//! What the loader refuses, rule by rule: names, variables, paths and loops.

use crate::common::{STEP, accepts, lines, read, refuses, step_accepts, step_refuses};

#[test]
fn v07_jumps_that_lead_nowhere() {
    step_refuses("  on: {success: {goto: B}}\n", &["4:24 V07"]);
    step_refuses("  on: {always: {goto: _ende}}\n", &["4:23 V07"]);
    let flow = |outer: &str, inner: &str| {
        format!(
            "steps:\n- name: A\n  command: [a]\n  on: {{failure: {{goto: {outer}}}}}\n- name: L\n  for_each:\n    items: [1]\n    steps:\n    - name: B\n      command: [b]\n      on: {{success: {{goto: {inner}}}}}\n"
        )
    };
    refuses(&flow("B", "B"), &["4:24 V07"]);
    refuses(&flow("L", "A"), &["11:28 V07"]);
    accepts(&flow("_end", "_end"));
    accepts(&flow("A", "B"));
}

#[test]
fn v08_the_environment_wherever_variables_stand() {
    for text in [
        "steps: [{name: A, command: [\"${env.X}\"]}]",
        "steps: [{name: A, command: \"a ${env.X}\"}]",
        "steps: [{name: A, command_override: [\"${env.X}\"]}]",
        "steps: [{name: A, provider: p}]\nproviders: {p: {command: [\"${env.X}\"]}}",
        "steps: [{name: A, provider: p}]\nproviders: {p: {command: [a], defaults: {a: \"${env.X}\"}}}",
        "steps: [{name: A, provider: gemini, provider_params: {a: [{b: \"${env.X}\"}]}}]",
        "steps: [{name: A, provider: gemini, provider_params: {\"${env.X}\": 1}}]",
        "steps: [{name: A, command: [a], provider_params: {a: \"${env.X}\"}}]",
        "steps: [{name: A, provider: p}]\nproviders: {p: {command: [a], defaults: {a: [{\"${env.X}\": 1}]}}}",
        "steps: [{name: A, workflow: {name: a, task: b, context: {\"${env.X}\": 1}}}]",
        "steps: [{name: A, for_each: {items: [{\"${env.X}\": 1}], steps: [{name: B, command: [b]}]}}]",
        "steps: [{name: A, provider: gemini, input_file: \"${env.X}\"}]",
        "steps: [{name: A, command: [a], output_file: \"${env.X}\"}]",
        "steps: [{name: A, command: [a], depends_on: {optional: [\"${env.X}\"]}}]",
        "steps: [{name: A, wait_for: {glob: \"${env.X}\"}}]",
        "steps: [{name: A, command: [a], when: {exists: \"${env.X}\"}}]",
        "steps: [{name: A, command: [a], when: {not_exists: \"${env.X}\"}}]",
        "steps: [{name: A, command: [a], when: {equals: {left: \"${ env.X }\", right: a}}}]",
        "steps: [{name: A, for_each: {items: [{a: \"${env.X}\"}], steps: [{name: B, command: [b]}]}}]",
        "steps: [{name: A, for_each: {items: [], on_item_complete: {failure: {move_to: \"${env.X}\"}}, steps: [{name: B, command: [b]}]}}]",
    ] {
        let problems = read(text).unwrap_err();
        let found: Vec<&str> = problems
            .iter()
            .map(|problem| problem.code.as_str())
            .collect();
        assert!(found.contains(&"V08"), "{}\n{text}", lines(&problems));
        assert!(!found.contains(&"V09"), "{}\n{text}", lines(&problems));
        let escaped = text.replace("${", "$${");
        accepts(&escaped);
    }
    step_accepts("  env: {A: \"${env.X}\"}\n  agent: \"${env.X}\"\n");
}

#[test]
fn v09_variables_that_mean_nothing() {
    let say = |word: &str| format!("steps:\n- name: A\n  command: [echo, '{word}']\n");
    for word in [
        "${",
        "${}",
        "${ }",
        "${a b}",
        "${X:-y}",
        "${inputs.x}",
        "${step.A.output}",
        "${model}",
        "${run.now}",
        "${loop.index}",
        "${loop.parent.index}",
        "${item}",
        "${steps.A}",
        "${steps.A.lines.0}",
        "${context}",
    ] {
        refuses(&say(word), &["3:19 V09"]);
    }
    refuses(&say("${} ${a b}"), &["3:19 V09", "3:19 V09"]);
    for word in [
        "$HOME $$ $(x) $${y}",
        "${run.timestamp_utc}",
        "${ run.id }",
        "${steps.A.output}",
        "${context.a.b}",
        "${steps.\"A\".status}",
    ] {
        accepts(&say(word));
    }
}

#[test]
fn v09_keys_have_no_variables() {
    let params = |key: &str| {
        format!(
            "steps: [{{name: A, provider: p, provider_params: {{a: [{{'{key}': 1}}]}}}}]\nproviders: {{p: {{command: [a]}}}}\n"
        )
    };
    refuses(&params("x${run.id}"), &["1:55 V09"]);
    refuses(&params("${"), &["1:55 V09"]);
    accepts(&params("$x"));
    let problem = &read(&params("x${run.id}")).unwrap_err()[0];
    assert_eq!(
        problem.message,
        "`${run.id}` stands in a key, and keys have no variables"
    );
}

/// Steps of all kinds, and one that uses a variable.
fn kinds(variable: &str) -> String {
    format!(
        "steps:\n\
         - {{name: Text, command: [a]}}\n\
         - {{name: Lines, command: [a], output_capture: lines}}\n\
         - {{name: Json, command: [a], output_capture: json}}\n\
         - {{name: Either, command: [a], output_capture: json, allow_parse_error: true}}\n\
         - {{name: Wait, wait_for: {{glob: a}}}}\n\
         - {{name: Loop, for_each: {{items: [], steps: [{{name: Inner, command: [a]}}, {{name: Text, command: [a], output_capture: lines}}]}}}}\n\
         - {{name: Flow, workflow: {{name: a, task: b}}}}\n\
         - {{name: Use, command: ['${{steps.{variable}}}']}}\n"
    )
}

#[test]
fn v09_values_that_a_step_never_has() {
    for step in ["Text", "Lines", "Json", "Either", "Wait", "Loop", "Flow"] {
        for field in ["exit_code", "status", "duration", "duration_ms"] {
            accepts(&kinds(&format!("{step}.{field}")));
        }
    }
    let own = [
        ("Text", "output truncated"),
        ("Lines", "lines truncated"),
        ("Json", "json json.a truncated"),
        ("Either", "output json json.a truncated"),
        (
            "Wait",
            "files timed_out wait_duration wait_duration_ms poll_count",
        ),
        ("Loop", "count failed"),
        ("Flow", "json json.a truncated"),
    ];
    let all =
        "output truncated lines json json.a files timed_out wait_duration poll_count count failed";
    for (step, has) in own {
        for field in all.split(' ') {
            let text = kinds(&format!("{step}.{field}"));
            match has.split(' ').any(|one| one == field) {
                true => accepts(&text),
                false => refuses(&text, &["9:25 V09"]),
            }
        }
    }
}

#[test]
fn v09_says_what_a_step_has() {
    let check = |variable: &str, message: &str, hint: &str| {
        let problem = &read(&kinds(variable)).unwrap_err()[0];
        assert_eq!(
            (&*problem.message, problem.hint.as_deref()),
            (message, Some(hint))
        );
    };
    check(
        "Text.lines",
        "step `Text` captures its output as text, so it has no `lines`",
        "give the step `output_capture: lines`",
    );
    check(
        "Lines.output",
        "step `Lines` captures its output as lines, so it has no `output`",
        "give the step `output_capture: text`",
    );
    check(
        "Json.count",
        "step `Json` captures its output as JSON, so it has no `count`",
        "it has `exit_code`, `status`, `duration`, `json`, `truncated`",
    );
    check(
        "Loop.lines",
        "step `Loop` is a loop, so it has no `lines`",
        "it has `exit_code`, `status`, `duration`, `count`, `failed`",
    );
    check(
        "Flow.output",
        "step `Flow` starts a workflow, so it has no `output`",
        "it has `exit_code`, `status`, `duration`, `json`, `truncated`",
    );
}

#[test]
fn v09_the_innermost_step_of_a_name_counts_and_for_a_provider_any() {
    let flow = |inner: &str| {
        format!(
            "steps:\n- {{name: A, command: [a]}}\n- name: L\n  for_each:\n    items: [1]\n    steps:\n    - {{name: A, command: [a], output_capture: lines}}\n    - {{name: B, {inner}}}\n"
        )
    };
    accepts(&flow("command: ['${steps.A.lines}']"));
    refuses(&flow("command: ['${steps.A.output}']"), &["8:27 V09"]);
    let provider = |field: &str| {
        let flow = flow("provider: p");
        format!("providers: {{p: {{command: ['${{steps.A.{field}}}']}}}}\n{flow}")
    };
    accepts(&provider("lines"));
    accepts(&provider("output"));
    refuses(&provider("json"), &["1:27 V09"]);
}

#[test]
fn v09_hints_know_items_and_steps() {
    let hint = |word: &str| {
        let text = format!(
            "steps:\n- {{name: Build, command: [a]}}\n- name: L\n  for_each: {{items: [], as: file, steps: [{{name: B, command: ['{word}']}}]}}\n"
        );
        read(&text).unwrap_err()[0].hint.clone().unwrap()
    };
    assert_eq!(
        hint("${file.path}"),
        "an item has no parts: `${file}` is the whole of it"
    );
    assert_eq!(
        hint("${item.0}"),
        "an item has no parts: `${item}` is the whole of it"
    );
    assert_eq!(
        hint("${Build}"),
        "a result of the step is `${steps.Build.exit_code}`"
    );
    assert_eq!(hint("${loop.parent.index}"), "the loops around the step: 1");
    let outside = read("steps: [{name: A, command: ['${loop.index}']}]").unwrap_err();
    let hint = outside[0].hint.as_deref();
    assert_eq!(hint, Some("only the steps of a loop have it"));
}

#[test]
fn v09_items_and_loops() {
    let body = |word: &str| {
        format!(
            "steps:\n- name: L\n  for_each: {{items: [], as: file, steps: [{{name: B, command: ['{word}']}}]}}\n"
        )
    };
    for word in ["${file}", "${item}", "${loop.index}/${loop.total}"] {
        accepts(&body(word));
    }
    refuses(&body("${fil}"), &["3:63 V09"]);
    refuses(&body("${loop.parent.index}"), &["3:63 V09"]);
    let problems = read(&body("${fil}")).unwrap_err();
    assert_eq!(problems[0].hint.as_deref(), Some("did you mean `file`?"));
}

#[test]
fn v10_steps_that_are_nowhere_in_scope() {
    let flow = |outer: &str, inner: &str| {
        format!(
            "steps:\n- name: A\n  command: ['${{steps.{outer}.status}}']\n- name: L\n  for_each:\n    items: [1]\n    steps:\n    - name: B\n      command: ['${{steps.{inner}.status}}']\n"
        )
    };
    refuses(&flow("B", "A"), &["3:13 V10"]);
    refuses(&flow("L", "C"), &["9:17 V10"]);
    accepts(&flow("L", "A"));
    accepts(&flow("A", "B"));
    refuses(
        "steps: [{name: L, for_each: {items_from: steps.X.lines, steps: [{name: B, command: [b]}]}}]\n",
        &["1:42 V10"],
    );
}

#[test]
fn v11_paths_out_of_the_workspace() {
    for path in [
        "/a",
        "../a",
        "a/..",
        "a/../b",
        "''",
        "'C:/a'",
        "'/${run.id}'",
        "'${run.id}/../x'",
    ] {
        step_refuses(&format!("  output_file: {path}\n"), &["4:16 V11"]);
        refuses(
            &format!("steps: [{{name: A, wait_for: {{glob: {path}}}}}]\n"),
            &["1:36 V11"],
        );
    }
    step_refuses("  when: {exists: /a}\n", &["4:18 V11"]);
    step_refuses("  depends_on: {required: [../a]}\n", &["4:27 V11"]);
    for path in ["a/b", "'${run.id}/x'", "..a", "'${context.a}:x'"] {
        step_accepts(&format!("  output_file: {path}\n"));
    }
}

#[test]
fn v11_folders_of_queues() {
    for folder in [
        "../processed",
        "/tmp/p",
        ".",
        "./",
        ".orchestrate/x",
        "inbox",
        "inbox/done",
    ] {
        refuses(&format!("processed_dir: {folder}\n{STEP}"), &["1:16 V11"]);
    }
    refuses(
        &format!("inbox_dir: q\nfailed_dir: q/f\n{STEP}"),
        &["1:12 V11", "2:13 V11"],
    );
    accepts(&format!(
        "processed_dir: q/done\nfailed_dir: q/failed\ninbox_dir: q/in\n{STEP}"
    ));
    refuses(&format!("task_extension: .tmp\n{STEP}"), &["1:17 V03"]);
}

#[test]
fn v12_unknown_providers() {
    refuses("steps: [{name: A, provider: cloude}]\n", &["1:29 V12"]);
    refuses(
        "steps: [{name: A, provider: mine, command_override: [a]}]\n",
        &["1:29 V12", "1:35 W02"],
    );
    for name in ["claude", "gemini", "codex"] {
        accepts(&format!(
            "steps: [{{name: A, provider: {name}, input_file: a}}]\n"
        ));
    }
    accepts("steps: [{name: A, provider: mine}]\nproviders: {mine: {command: [a]}}\n");
}

#[test]
fn v13_prompts_where_there_are_none() {
    step_refuses("  output_file: '${PROMPT}'\n", &["4:16 V13"]);
    refuses(
        "providers: {p: {command: ['${PROMPT}'], input_mode: stdin}}\nsteps: [{name: A, command: [a]}]\n",
        &["1:27 V13"],
    );
    refuses(
        "steps: [{name: A, provider: codex, input_file: a, command_override: [a, '${PROMPT}']}]\n",
        &["1:29 V13", "1:51 W02"],
    );
    refuses(
        "steps: [{name: A, provider: gemini, input_file: a, provider_params: {x: '${PROMPT}'}}]\n",
        &["1:73 V13"],
    );
    accepts("steps: [{name: A, command_override: ['${PROMPT}']}]\n");
    accepts("providers: {p: {command: ['${PROMPT}']}}\nsteps: [{name: A, provider: p}]\n");
}

#[test]
fn v14_pointers_to_no_list() {
    let flow = |capture: &str, pointer: &str| {
        format!(
            "steps:\n- name: A\n  command: [a]\n  output_capture: {capture}\n- name: L\n  for_each: {{items_from: {pointer}, steps: [{{name: B, command: [b]}}]}}\n"
        )
    };
    for pointer in [
        "steps.A",
        "steps.A.output",
        "steps.A.lines.x",
        "A.lines",
        "'${steps.A.lines}'",
    ] {
        refuses(&flow("lines", pointer), &["6:26 V14"]);
    }
    refuses(&flow("text", "steps.A.lines"), &["6:26 V14"]);
    refuses(&flow("lines", "steps.A.json"), &["6:26 V14"]);
    refuses(&flow("json", "steps.L.lines"), &["6:26 V14"]);
    let problem = &read(&flow("json", "steps.L.lines")).unwrap_err()[0];
    let hint = "it has `exit_code`, `status`, `duration`, `count`, `failed`";
    assert_eq!(problem.hint.as_deref(), Some(hint));
    accepts(&flow("lines", "steps.A.lines"));
    accepts(&flow("json", "steps.A.json"));
    accepts(&flow("json", "steps.A.json.files.0.x"));
    accepts(&flow("json", "'steps.\"A\".json'"));
}

#[test]
fn v15_loops_without_items_or_with_two() {
    let body = "steps: [{name: B, command: [b]}]";
    refuses(
        &format!("steps: [{{name: L, for_each: {{{body}}}}}]\n"),
        &["1:19 V15"],
    );
    refuses(
        &format!(
            "steps: [{{name: L, for_each: {{items: [], items_from: steps.L.lines, {body}}}}}]\n"
        ),
        &["1:30 V15"],
    );
    accepts(&format!(
        "steps: [{{name: L, for_each: {{items: [], {body}}}}}]\n"
    ));
}

#[test]
fn v16_names_of_items() {
    let named = |alias: &str| {
        format!(
            "steps: [{{name: L, for_each: {{items: [], as: {alias}, steps: [{{name: B, command: [b]}}]}}}}]\n"
        )
    };
    for alias in [
        "run", "loop", "steps", "context", "env", "inputs", "PROMPT", "a-b", "1a", "a.b", "''",
    ] {
        refuses(&named(alias), &["1:45 V16"]);
    }
    for alias in ["item", "a_1", "_x", "Prompt"] {
        accepts(&named(alias));
    }
}

#[test]
fn v17_loops_that_are_nested_too_deeply() {
    let nested = |depth: usize| {
        let open = "[{name: L, for_each: {items: [1], steps: ".repeat(depth);
        format!(
            "steps: {open}[{{name: B, command: [b]}}]{}\n",
            "}}]".repeat(depth)
        )
    };
    accepts(&nested(8));
    let problems = read(&nested(9)).unwrap_err();
    assert_eq!(problems.len(), 1);
    assert_eq!(problems[0].code.as_str(), "V17");
    assert_eq!(read(&nested(10)).unwrap_err().len(), 2);
}
