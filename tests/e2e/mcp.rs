//! The tools of servers of the Model Context Protocol in steps of `uwf-builtin`. The servers are shell scripts.

use std::fs;

use serde_json::{Value, json};

use crate::builtin::{note, results, world};
use crate::checks::checked;
use crate::model_server::{ModelServer, Scripted};
use crate::processes::{is_running, signal};
use crate::world::{ONE_STEP, World, wait_until};

/// A server with two pages of tools. Each of its tools shows another behaviour.
const SERVER: &str = r#"
echo $$ >> pids
echo "hello from the server" >&2
answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
text() { answer '{"content":[{"type":"text","text":"'"$1"'"}]}'; }
while read -r line; do
  printf '%s\n' "$line" >> heard
  id=${line#*'"id":'}
  id=${id%%,*}
  case $line in
  *'"method":"initialize"'*)
    answer '{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"t","version":"1"}}' ;;
  *'"method":"tools/list"'*'"cursor":"second"'*)
    answer '{"tools":[{"name":"crash"},{"name":"hang"},{"name":"flood"},{"name":"noise"},{"name":"ping"},{"name":"wrong","inputSchema":7},{"name":"daemon"}]}' ;;
  *'"method":"tools/list"'*)
    answer '{"tools":[{"name":"env","description":"Tells its environment","inputSchema":{"type":"object","properties":{"of":{"type":"string"}}},"annotations":{"readOnlyHint":true}},{"name":"a.b c"},{"name":"fail"},{"name":"refuse"},{"name":"picture"},{"name":"long"}],"nextCursor":"second"}' ;;
  *'"name":"env"'*) text "in $PWD: ${GH_TOKEN-no token}, ${MODEL_ACCESS-no key}, ${OWN-nothing}, ${UWF_HEAD-no head}" ;;
  *'"name":"a.b c"'*) text 'a strange name' ;;
  *'"name":"fail"'*) answer '{"isError":true,"content":[{"type":"text","text":"no such file"}]}' ;;
  *'"name":"refuse"'*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"bad arguments"}}\n' "$id" ;;
  *'"name":"picture"'*) answer '{"content":[{"type":"image","mimeType":"image/png","data":"AAAA"}],"structuredContent":{"width":1}}' ;;
  *'"name":"long"'*)
    printf '{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"' "$id"
    head -c 3000000 /dev/zero | tr '\0' x
    printf ' END"}]}}\n' ;;
  *'"name":"crash"'*) echo "out of luck" >&2; exit 3 ;;
  *'"name":"hang"'*) ;;
  *'"name":"flood"'*) exec yes '{"jsonrpc":"2.0","method":"notifications/message","params":{}}' ;;
  *'"name":"noise"'*)
    printf 'no message\n[1]\n{"jsonrpc":"2.0","id":99,"result":{}}\n{"jsonrpc":"2.0","id":"x","method":"sampling/createMessage"}\n'
    text 'after the noise' ;;
  *'"name":"ping"'*)
    printf '{"jsonrpc":"2.0","id":"p","method":"ping"}\n'
    while read -r pong; do case $pong in *'"id":"p","result"'*) break ;; esac; done
    text 'it lives' ;;
  *'"name":"daemon"'*) setsid sleep 100 > /dev/null 2>&1 & echo $! >> pids; text 'a daemon' ;;
  esac
done
"#;

/// A world in which the model does this, one round after the other, and then submits its result.
pub(crate) fn world_of(rounds: Vec<Scripted>) -> (World, ModelServer) {
    let mut script = rounds;
    script.push(note("n"));
    let server = ModelServer::start(script);
    (world(ONE_STEP, &server), server)
}

/// Adds a server to the config whose program is this shell script.
pub(crate) fn serve(world: &World, name: &str, body: &str) {
    let script = world.script(&format!("{name}.sh"), body);
    let key = format!("mcpServers.{name}.command");
    world.configure(&key, script.to_str().unwrap());
}

/// Lets the model make these calls in one round of a step, and returns what they answered.
fn call(options: &[&str], calls: &[(&str, Value)]) -> (World, ModelServer, Vec<String>) {
    let (world, server) = world_of(vec![Scripted::calls(calls)]);
    serve(&world, "t", SERVER);
    world.configure("mcpServers.t.timeout", "1s");
    world.agent("uwf-builtin", options);
    let thread = world.start("one");
    world.step(&thread).exits(0);
    let results = results(&server);
    assert_eq!(results.len(), calls.len());
    assert_all_ended(&world);
    (world, server, results)
}

/// The processes that servers have started, with their own.
fn pids(world: &World) -> Vec<String> {
    let pids = fs::read_to_string(world.project().join("pids")).unwrap_or_default();
    pids.lines().map(ToOwned::to_owned).collect()
}

pub(crate) fn assert_all_ended(world: &World) {
    let pids = pids(world);
    assert!(!pids.is_empty());
    for pid in pids {
        assert!(!is_running(&pid), "{pid}");
    }
}

/// The names of the tools that the model was offered first.
fn offered(server: &ModelServer) -> Vec<String> {
    let tools = server.requests()[0].json()["tools"].clone();
    let tools = tools.as_array().unwrap().iter();
    tools
        .map(|tool| tool["function"]["name"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn tools_of_two_servers_are_offered_and_called_and_their_stderr_is_marked() {
    let (world, server) = world_of(vec![Scripted::calls(&[
        ("one__env", json!({ "of": "me" })),
        ("two__a_b_c", json!({})),
        ("one__picture", json!({})),
        ("read_file", json!({ "path": "notes.md" })),
    ])]);
    world.write("notes.md", "of the file\n");
    serve(&world, "one", SERVER);
    serve(&world, "two", SERVER);
    world.configure("mcpServers.one.env.OWN", "of the entry");
    world.configure("mcpServers.one.keepEnv", r#"["GH_TOKEN"]"#);
    world.agent("uwf-builtin", &["--mcp", "one", "--mcp=two"]);
    let thread = world.start("one");
    let stepped = world
        .command(&["thread", "step", &thread])
        .env("GH_TOKEN", "ghp_1")
        .status();
    assert!(stepped.unwrap().success());
    let results = results(&server);
    let project = world.project().canonicalize().unwrap();
    assert_eq!(
        results[0],
        format!(
            "in {}: ghp_1, no key, of the entry, no head",
            project.display()
        )
    );
    assert_eq!(results[1], "a strange name");
    assert_eq!(
        results[2],
        "[image (image/png, 3 B) is not shown]\n{\"width\":1}"
    );
    assert!(results[3].contains("of the file"), "{}", results[3]);

    let names = offered(&server);
    for name in ["read_file", "one__env", "one__daemon", "two__crash"] {
        assert!(names.iter().any(|known| known == name), "{name}: {names:?}");
    }
    assert!(!names.iter().any(|name| name.ends_with("__wrong")));
    let request = server.requests()[0].json();
    let tools = request["tools"].as_array().unwrap();
    let env = tools
        .iter()
        .find(|tool| tool["function"]["name"] == "one__env");
    let env = &env.unwrap()["function"];
    assert_eq!(env["description"], "Tells its environment");
    assert_eq!(env["parameters"]["properties"]["of"]["type"], "string");
    let system = request["messages"][0]["content"].as_str().unwrap();
    assert!(system.contains("`one__env`"), "{system}");

    let stderr = world.state(&format!("runs/{thread}/stderr"));
    for part in [
        "[one] hello from the server\n",
        "[two] hello from the server\n",
        "the MCP server `one` has 12 tools\n",
        "the tool `wrong` is left out",
    ] {
        assert!(stderr.contains(part), "{part}: {stderr}");
    }
    assert_all_ended(&world);
}

#[test]
fn no_server_is_started_unless_the_agent_names_it() {
    let (world, server) = world_of(Vec::new());
    serve(&world, "t", SERVER);
    world.agent("uwf-builtin", &[]);
    let thread = world.start("one");
    world.step(&thread).exits(0);
    assert!(!offered(&server).iter().any(|name| name.contains("__")));
    assert!(pids(&world).is_empty());
}

#[test]
fn what_a_server_does_wrong_is_an_error_text_for_the_model() {
    let (_, _, results) = call(
        &["--mcp", "t"],
        &[
            ("t__fail", json!({})),
            ("t__refuse", json!({})),
            ("t__long", json!({})),
            ("t__noise", json!({})),
            ("t__hang", json!({})),
            ("t__ping", json!({})),
            ("t__env", json!([])),
            ("t__evn", json!({})),
        ],
    );
    assert_eq!(results[0], "error: no such file");
    assert_eq!(results[1], "error: bad arguments");
    assert!(results[2].len() < 33_000 && results[2].ends_with(" END"));
    assert!(results[2].contains("bytes left out"));
    assert_eq!(results[3], "after the noise");
    assert_eq!(
        results[4],
        "error: the MCP server `t`: `tools/call` was not answered within 1 s; this on its standard output is no \
         message: `no message`"
    );
    assert_eq!(results[5], "it lives");
    assert!(results[6].contains("do not fit"), "{}", results[6]);
    assert!(
        results[7].contains("did you mean `t__env`?"),
        "{}",
        results[7]
    );
}

#[test]
fn a_server_that_ends_or_floods_is_called_no_more_and_the_step_goes_on() {
    let (_, _, results) = call(
        &["--mcp", "t"],
        &[("t__crash", json!({})), ("t__env", json!({}))],
    );
    let ended = "error: the MCP server `t`: it ended (exit code 3) before it answered `tools/call`";
    for result in &results {
        assert!(result.starts_with(ended), "{result}");
        assert!(result.ends_with("out of luck"), "{result}");
    }
    let (world, server) = world_of(vec![Scripted::calls(&[
        ("t__flood", json!({})),
        ("t__env", json!({})),
    ])]);
    serve(&world, "t", SERVER);
    world.agent("uwf-builtin", &["--mcp", "t"]);
    let thread = world.start("one");
    world.step(&thread).exits(0);
    for result in self::results(&server) {
        assert!(result.contains("it sent more than 32.0 MiB"), "{result}");
    }
    assert_all_ended(&world);
}

#[test]
fn a_server_that_cannot_be_used_fails_the_step_and_says_what_to_do() {
    let check = |command: &str, options: &[&str], parts: &[&str]| {
        let (world, server) = world_of(Vec::new());
        let script = world.script("s.sh", command);
        let command = match command {
            "" => "/no/such/program",
            _ => script.to_str().unwrap(),
        };
        world.configure("mcpServers.s.command", command);
        world.configure("mcpServers.s.args", r#"["a b"]"#);
        world.agent("uwf-builtin", options);
        let thread = world.start("one");
        let run = world.step(&thread).exits(3);
        for part in parts {
            assert!(run.stderr.contains(part), "{part}: {}", run.stderr);
        }
        assert_eq!(server.requests().len(), 0);
    };
    check(
        "exit 0",
        &["--mcp", "z"],
        &[
            "`z` is not in `mcpServers` of the config",
            "uwf config set mcpServers.z.command",
        ],
    );
    check(
        "",
        &["--mcp", "s"],
        &[
            "the program `/no/such/program` of the MCP server `s` is not there",
            "uwf config set mcpServers.s.command",
        ],
    );
    check(
        "echo 'cannot find the database' >&2; exit 4",
        &["--mcp", "s"],
        &[
            "the MCP server `s` cannot be used: it ended (exit code 4) before it answered `initialize`: cannot find",
            "s.sh 'a b'` in the folder of the step",
        ],
    );
    check(
        "echo Usage; cat > /dev/null",
        &["--mcp", "s", "--timeout", "1s"],
        &["`initialize` was not answered within", "`Usage`"],
    );
    check(
        r#"read -r l; printf '{"id":1,"result":{"protocolVersion":"1"}}\n'; cat > /dev/null"#,
        &["--mcp", "s"],
        &["it speaks version `1` of the protocol"],
    );
}

#[test]
fn permissions_decide_which_servers_there_are() {
    let calls = [("t__env", json!({})), ("shell_exec", json!({}))];
    for (permissions, of_server, is_offered) in [
        ("read", None, false),
        ("edit", None, false),
        ("run", None, true),
        ("read", Some("read"), true),
        ("run", Some("all"), false),
    ] {
        let (world, server) = world_of(vec![Scripted::calls(&calls)]);
        serve(&world, "t", SERVER);
        world.agent("uwf-builtin", &["--mcp", "t"]);
        if let Some(of_server) = of_server {
            world.configure("mcpServers.t.permissions", of_server);
        }
        let thread = world.start("one");
        let step = ["thread", "step", &thread, "--permissions", permissions];
        let report = world.uwf(&step).exits(0).json();
        let names = offered(&server);
        assert_eq!(names.iter().any(|name| name == "t__env"), is_offered);
        assert_eq!(!pids(&world).is_empty(), is_offered, "{permissions}");
        let result = &results(&server)[0];
        assert_eq!(!result.starts_with("error: "), is_offered, "{result}");
        let refused = report["refusedCalls"].to_string();
        assert_eq!(!refused.contains("t__env"), is_offered, "{refused}");
    }
}

#[test]
fn servers_do_not_outlive_their_agent_and_the_next_attempt_starts_them_anew() {
    for how in ["agent", "engine and agent", "thread kill"] {
        let (world, server) = world_of(vec![
            Scripted::calls(&[("t__daemon", json!({}))]),
            Scripted::calls(&[("t__hang", json!({}))]),
            Scripted::calls(&[("t__env", json!({}))]),
        ]);
        serve(&world, "t", SERVER);
        world.agent("uwf-builtin", &["--mcp", "t"]);
        let thread = world.start("one");
        let mut step = world.spawn(&["thread", "step", &thread]);
        let heard = || fs::read_to_string(world.project().join("heard")).unwrap_or_default();
        wait_until("the server hangs", || heard().contains(r#""name":"hang""#));
        let agent = world.agent_at_work(&thread);
        assert_eq!(pids(&world).len(), 2);
        match how {
            "thread kill" => {
                world.uwf(&["thread", "kill", &thread]).exits(0);
            }
            "agent" => signal("KILL", agent),
            _ => {
                step.kill().unwrap();
                signal("KILL", agent);
            }
        }
        step.wait().unwrap();
        for pid in pids(&world) {
            wait_until(&format!("{pid} is gone: {how}"), || !is_running(&pid));
        }
        if how != "thread kill" {
            wait_until("the thread is free", || world.step(&thread).code == 0);
            // The conversation goes on with a new server. The round that was cut off is not a part of it.
            let results = results(&server);
            assert_eq!(results[0], "a daemon");
            assert!(results[1].starts_with("in /"), "{results:?}");
            assert_eq!(results.len(), 2);
            assert_eq!(pids(&world).len(), 3);
            assert_all_ended(&world);
        }
    }
}

#[test]
fn a_correction_goes_on_with_the_same_server() {
    let server = ModelServer::start(vec![
        Scripted::calls(&[("t__env", json!({}))]),
        note("not yet"),
        Scripted::calls(&[
            ("t__env", json!({})),
            ("write_file", json!({ "path": "ok", "content": "" })),
        ]),
        note("now"),
    ]);
    let world = world(&checked(r#"["test -e ok"]"#, ""), &server);
    serve(&world, "t", SERVER);
    world.agent("uwf-builtin", &["--mcp", "t"]);
    let thread = world.start("checked");
    world.step(&thread).exits(0);
    let results = results(&server);
    let answered = results.iter().filter(|result| result.starts_with("in /"));
    assert_eq!(answered.count(), 2, "{results:?}");
    assert_eq!(pids(&world).len(), 1);
    assert_all_ended(&world);
}

#[test]
fn a_server_that_neither_reads_nor_ends_is_killed() {
    let deaf = r#"
trap '' TERM INT
echo $$ >> pids
read -r line; printf '{"id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}}}}\n'
read -r line
read -r line; printf '{"id":2,"result":{"tools":[{"name":"take"}]}}\n'
while :; do sleep 1; done
"#;
    let long = json!({ "text": "x".repeat(500_000) });
    let (world, server) = world_of(vec![Scripted::calls(&[("deaf__take", long)])]);
    serve(&world, "deaf", deaf);
    world.configure("mcpServers.deaf.timeout", "1s");
    world.configure("grace", "1s");
    world.agent("uwf-builtin", &["--mcp", "deaf"]);
    let thread = world.start("one");
    world.step(&thread).exits(0);
    assert!(results(&server)[0].contains("was not answered within 1 s"));
    assert_all_ended(&world);
}

#[test]
fn secrets_that_a_server_says_are_masked() {
    let (world, server) = world_of(vec![Scripted::calls(&[("t__env", json!({}))])]);
    fs::write(
        world.root().join(".env"),
        "MODEL_ACCESS=sk-1\nGH_TOKEN=ghp_secret_1\n",
    )
    .unwrap();
    serve(&world, "t", SERVER);
    world.configure("mcpServers.t.keepEnv", r#"["GH_TOKEN"]"#);
    world.configure("agents.default.secrets", r#"["GH_TOKEN"]"#);
    world.agent("uwf-builtin", &["--mcp", "t"]);
    let thread = world.start("one");
    world.step(&thread).exits(0);
    let conversation = server.requests().last().unwrap().json()["messages"].to_string();
    assert!(conversation.contains("t__env"));
    let run = world.root().join(format!("runs/{thread}"));
    for entry in fs::read_dir(run).unwrap() {
        let text = fs::read(entry.unwrap().path()).unwrap_or_default();
        assert!(!String::from_utf8_lossy(&text).contains("ghp_secret_1"));
    }
}

#[test]
fn a_secret_at_the_place_where_words_of_a_server_are_cut_is_masked() {
    let secret = "ghp_a_secret_of_some_length_0123456789";
    // One line is longer than what is passed on of it, and the error has the end of stderr only.
    let says = "line=$(head -c 980 /dev/zero | tr '\\0' a); printf '%s%s\\n' \"$line\" \"$GH_TOKEN\" >&2\n\
        line=$(head -c 1980 /dev/zero | tr '\\0' b); printf '%s%s\\n' \"$GH_TOKEN\" \"$line\" >&2; exit 1";
    let (world, _server) = world_of(Vec::new());
    fs::write(
        world.root().join(".env"),
        format!("MODEL_ACCESS=sk-1\nGH_TOKEN={secret}\n"),
    )
    .unwrap();
    serve(&world, "t", says);
    world.configure("mcpServers.t.keepEnv", r#"["GH_TOKEN"]"#);
    world.agent("uwf-builtin", &["--mcp", "t"]);
    world.configure("agents.default.secrets", r#"["GH_TOKEN"]"#);
    let thread = world.start("one");
    let run = world.uwf(&["-v", "thread", "step", &thread]).exits(3);
    let attempts = world.show(&thread)["attempts"].to_string();
    let kept = world.state(&format!("runs/{thread}/stderr"));
    // The secret has arrived, at both places.
    assert!(kept.contains("a***") && kept.contains("***b"), "{kept}");
    assert!(attempts.contains("***b"), "{attempts}");
    for part in [&secret[..12], &secret[secret.len() - 12..]] {
        for (place, text) in [
            ("terminal", &run.stderr),
            ("attempts", &attempts),
            ("stderr", &kept),
        ] {
            assert!(!text.contains(part), "{place}: {text}");
        }
    }
    assert!(kept.contains("[t] "), "{kept}");
}

#[test]
fn doctor_looks_for_the_programs_and_at_who_names_them() {
    let (world, _server) = world_of(Vec::new());
    serve(&world, "t", SERVER);
    world.configure("mcpServers.gone.command", "no-such-program");
    world.agent("uwf-builtin", &["--mcp", "t", "--mcp", "gnoe"]);
    world.configure("agents.default.permissions", "edit");
    let checks = world.uwf(&["doctor", "--offline"]).json()["checks"].clone();
    let checks = checks.as_array().unwrap().iter();
    let found: Vec<String> = checks
        .filter(|check| check["check"] == "mcp")
        .map(|check| {
            let [status, subject, message] =
                ["status", "subject", "message"].map(|key| check[key].as_str().unwrap());
            format!("{status} {subject}: {message}")
        })
        .collect();
    let begins = [
        "ok t: /",
        "error gone: the program `no-such-program` is not there",
        "warning default: it gets no tools of `t`: these are for `run`, and it may do `edit`",
        "error default: its `args` name `gnoe`, which is not in `mcpServers`, did you mean `gone`?",
    ];
    assert_eq!(found.len(), begins.len(), "{found:#?}");
    for (found, begin) in found.iter().zip(begins) {
        assert!(found.starts_with(begin), "{found}");
    }
}
