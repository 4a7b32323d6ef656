//! Examples of calls, for the help of each command.

/// The calls of each command, with what they do.
const EXAMPLES: &[(&str, &[(&str, &str)])] = &[
    (
        "thread start",
        &[
            (
                "uwf thread start hello -p 'Greet the team'",
                "a registered workflow",
            ),
            (
                "uwf thread start review.yaml -p - < task.md",
                "a file, and the task from standard input",
            ),
        ],
    ),
    (
        "thread step",
        &[
            ("uwf thread step @", "one step of the newest thread"),
            (
                "uwf thread step 01M82BGM -c all",
                "until the thread ends, asks or fails",
            ),
            (
                "uwf thread step @ --agent claude-code",
                "with another agent, this once",
            ),
        ],
    ),
    (
        "thread show",
        &[(
            "uwf thread show @",
            "where the newest thread stands, and what to type next",
        )],
    ),
    (
        "thread list",
        &[
            (
                "uwf thread list --status suspended,failed",
                "what waits for you",
            ),
            (
                "uwf thread list --all --after 7d",
                "everything of the last week",
            ),
        ],
    ),
    (
        "thread steps",
        &[(
            "uwf thread steps @ --format json",
            "all steps of the newest thread, as data",
        )],
    ),
    (
        "thread read",
        &[(
            "uwf thread read @ --quota 20000",
            "more of the newest thread than usual",
        )],
    ),
    (
        "thread fork",
        &[(
            "uwf thread fork @~2",
            "go on from two steps before the head of the newest thread",
        )],
    ),
    (
        "thread step-details",
        &[(
            "uwf thread step-details @/reviewer",
            "the last step of a role",
        )],
    ),
    (
        "thread kill",
        &[("uwf thread kill @", "end the newest thread, and its agent")],
    ),
    (
        "thread resume",
        &[
            (
                "uwf thread resume @ -p 'Use version 2'",
                "answer a question",
            ),
            (
                "uwf thread resume @ --raise maxSteps=20",
                "go on beyond a limit",
            ),
        ],
    ),
    (
        "thread poke",
        &[(
            "uwf thread poke @ -p 'Shorter, please'",
            "the same role does its last step again",
        )],
    ),
    (
        "step list",
        &[("uwf step list @", "the steps of the newest thread")],
    ),
    (
        "step show",
        &[("uwf step show @~1", "the last step but one")],
    ),
    (
        "step read",
        &[(
            "uwf step read @/coder",
            "what the agent said and did in its last step",
        )],
    ),
    (
        "step fork",
        &[("uwf step fork @@3", "go on from the third step")],
    ),
    (
        "workflow put",
        &[(
            "uwf workflow put review.yaml",
            "check it, and register it as `review`",
        )],
    ),
    (
        "workflow validate",
        &[(
            "uwf workflow validate review.yaml --format json",
            "its mistakes, as data",
        )],
    ),
    (
        "workflow show",
        &[("uwf workflow show review", "its roles and its graph")],
    ),
    (
        "workflow list",
        &[(
            "uwf workflow list",
            "the workflows of this folder and of the registry",
        )],
    ),
    (
        "cas get",
        &[("uwf cas get @", "the head of the newest thread as a node")],
    ),
    (
        "cas put",
        &[(
            "uwf cas put 4ZQX2TK8N0W1A note.json",
            "data of a schema that is in the store",
        )],
    ),
    (
        "cas put-text",
        &[("uwf cas put-text -", "text from standard input")],
    ),
    (
        "cas hash",
        &[(
            "uwf cas hash 4ZQX2TK8N0W1A note.json",
            "the hash that the data would have",
        )],
    ),
    (
        "cas has",
        &[(
            "uwf cas has 4ZQX2TK8N0W1A",
            "exit code 0 if the node is there",
        )],
    ),
    (
        "cas refs",
        &[("uwf cas refs @", "the nodes that the newest step names")],
    ),
    (
        "cas walk",
        &[("uwf cas walk @", "everything that the newest thread needs")],
    ),
    ("cas list", &[("uwf cas list", "every node of the store")]),
    (
        "cas verify",
        &[(
            "uwf cas verify",
            "read every node, and compare it with its hash",
        )],
    ),
    (
        "cas reindex",
        &[("uwf cas reindex", "make the index of types anew")],
    ),
    (
        "cas gc",
        &[("uwf cas gc --dry-run", "what a collection would remove")],
    ),
    (
        "cas schema list",
        &[("uwf cas schema list", "every schema of the store")],
    ),
    (
        "cas schema get",
        &[("uwf cas schema get 4ZQX2TK8N0W1A", "one of them")],
    ),
    (
        "setup",
        &[
            ("uwf setup", "asks, step by step"),
            (
                "uwf setup --agent claude-code --allow edit",
                "without questions",
            ),
        ],
    ),
    (
        "doctor",
        &[("uwf doctor --offline", "check everything on this machine")],
    ),
    (
        "config list",
        &[(
            "uwf config list",
            "everything that is configured, without secrets",
        )],
    ),
    (
        "config get",
        &[("uwf config get defaultAgent", "one value")],
    ),
    (
        "config set",
        &[(
            "uwf config set limits.maxSteps 50",
            "no thread does more steps",
        )],
    ),
    (
        "config unset",
        &[("uwf config unset limits.maxSteps", "the limit is gone")],
    ),
    (
        "config edit",
        &[(
            "uwf config edit",
            "in your editor, and checked before it is saved",
        )],
    ),
    (
        "config validate",
        &[("uwf config validate", "every mistake with its line")],
    ),
    ("config path", &[("uwf config path", "where the file is")]),
    ("log list", &[("uwf log list", "one file for each day")]),
    (
        "log show",
        &[
            (
                "uwf log show --thread @ --last 20",
                "what happened last to the newest thread",
            ),
            (
                "uwf log show --event step-failed --after 1d",
                "what failed since yesterday",
            ),
        ],
    ),
    (
        "log tail",
        &[(
            "uwf log tail -f --event step-failed",
            "see failures as they happen",
        )],
    ),
    (
        "log clean",
        &[("uwf log clean --before 30d", "keep the last 30 days")],
    ),
    (
        "agent",
        &[(
            "uwf agent mock script.yaml 01M82KYY04F7HVQFPAZSVDXG44 writer",
            "what a step of the thread starts",
        )],
    ),
    ("demo", &[("uwf demo", "see a workflow run, in a minute")]),
    (
        "prompt",
        &[(
            "uwf prompt usage",
            "what to tell an agent that is to run threads",
        )],
    ),
    (
        "completions",
        &[
            (
                "uwf completions bash",
                "print what goes into ~/.local/share/bash-completion/completions/uwf",
            ),
            (
                "uwf completions zsh",
                "print what goes into a file `_uwf` of your $fpath",
            ),
        ],
    ),
    (
        "man",
        &[
            (
                "uwf man",
                "print the page of the program; `| man -l -` shows it",
            ),
            (
                "uwf man ~/.local/share/man/man1",
                "write a page for each command",
            ),
        ],
    ),
    (
        "run",
        &[
            (
                "uwf run review -p 'Greet the team'",
                "start a thread, and step until it ends, asks or fails",
            ),
            (
                "uwf run review.yaml -p @task.md --name fix-42",
                "the task from a file, and a name for the thread",
            ),
        ],
    ),
    (
        "thread run",
        &[(
            "uwf thread run fix-42",
            "go on with a thread until it ends, asks or fails",
        )],
    ),
    (
        "thread wait",
        &[(
            "uwf thread wait @ --for ended --timeout 1h",
            "until another call has ended the thread",
        )],
    ),
    (
        "thread top",
        &[(
            "uwf thread top",
            "what runs and what waits for you, until you press q",
        )],
    ),
    (
        "thread cost",
        &[
            (
                "uwf thread cost --since 7d --by workflow",
                "what the last week cost",
            ),
            (
                "uwf thread cost @ --by role",
                "where the cost of a thread comes from",
            ),
        ],
    ),
    (
        "thread tail",
        &[(
            "uwf thread tail @ -f",
            "what the agent says and does, as it happens",
        )],
    ),
    (
        "thread diff",
        &[
            ("uwf thread diff @~1 @", "what the last step changed"),
            (
                "uwf thread diff fix-42 @",
                "two threads, from their last common step on",
            ),
        ],
    ),
    (
        "thread migrate",
        &[
            (
                "uwf thread migrate @ --dry-run",
                "what would change under the workflow as it is registered now",
            ),
            (
                "uwf thread migrate fix-42 review.yaml",
                "go on under the corrected file",
            ),
        ],
    ),
    (
        "thread rename",
        &[(
            "uwf thread rename @ fix-42",
            "from now on `fix-42` names the thread",
        )],
    ),
    (
        "thread label",
        &[(
            "uwf thread label fix-42 team=web urgent-",
            "set one label, and remove another",
        )],
    ),
    (
        "thread pause",
        &[(
            "uwf thread pause fix-42 -m 'release week'",
            "nothing more is done for it",
        )],
    ),
    (
        "thread unpause",
        &[("uwf thread unpause fix-42", "it can go on")],
    ),
    (
        "thread rm",
        &[(
            "uwf thread rm fix-42",
            "`uwf cas gc` frees what only it needed",
        )],
    ),
    (
        "thread prune",
        &[(
            "uwf thread prune --ended --older-than 30d --dry-run",
            "what would be removed",
        )],
    ),
    (
        "thread export",
        &[(
            "uwf thread export fix-42 -o fix-42.tar",
            "one thread with all that it needs",
        )],
    ),
    (
        "thread import",
        &[(
            "uwf thread import fix-42.tar",
            "into this root; a second time nothing is new",
        )],
    ),
    (
        "workflow graph",
        &[
            ("uwf workflow graph review -o review.svg", "a picture"),
            (
                "uwf workflow graph --thread @",
                "the way of a thread through its workflow",
            ),
        ],
    ),
    (
        "cas cat",
        &[(
            "uwf cas cat 4ZQX2TK8N0W1A",
            "the text or the bytes of a node, as they are",
        )],
    ),
    (
        "cas which",
        &[(
            "uwf cas which 4ZQX2TK8N0W1A",
            "what the node is, and which threads need it",
        )],
    ),
    (
        "cas stats",
        &[(
            "uwf cas stats",
            "how many nodes of which types, and how large",
        )],
    ),
    (
        "cas repair",
        &[
            (
                "uwf cas repair --dry-run",
                "what is damaged, and what needs it",
            ),
            (
                "uwf cas repair --from /backup/uwf",
                "fetch lost nodes from another root",
            ),
        ],
    ),
    (
        "trust",
        &[
            (
                "uwf trust",
                "use the agents that the project of this folder names",
            ),
            ("uwf trust --list", "every project that is trusted"),
        ],
    ),
];

/// Returns the examples of a command, as its help shows them.
pub(super) fn of(path: &str) -> Option<String> {
    let (_, calls) = EXAMPLES.iter().find(|(command, _)| *command == path)?;
    let lines = calls
        .iter()
        .map(|(call, what)| format!("\n  {call}\n      {what}"));
    Some(format!("Examples:{}", lines.collect::<String>()))
}

#[cfg(test)]
mod tests {
    use clap::{Command, CommandFactory as _};
    use uwf_util::words;

    use super::*;
    use crate::args::Cli;

    /// Returns how each command without others below it is called.
    fn leaves(command: &Command, path: &str, found: &mut Vec<String>) {
        if !command.has_subcommands() {
            found.push(path.to_owned());
        }
        for below in command.get_subcommands().filter(|one| !one.is_hide_set()) {
            let path = format!("{path} {}", below.get_name());
            leaves(below, path.trim_start(), found);
        }
    }

    #[test]
    fn every_command_has_an_example_and_every_example_a_command() {
        let mut commands = Vec::new();
        leaves(&Cli::command(), "", &mut commands);
        let with_examples: Vec<&str> = EXAMPLES.iter().map(|(command, _)| *command).collect();
        for command in &commands {
            assert!(
                with_examples.contains(&command.as_str()),
                "`uwf {command}` has no example"
            );
        }
        for command in with_examples {
            assert!(
                commands.iter().any(|one| one == command),
                "`uwf {command}` is not there"
            );
        }
    }

    #[test]
    fn every_example_parses_as_its_command() {
        for (command, calls) in EXAMPLES {
            for (call, _) in *calls {
                let typed = call.split(" < ").next().unwrap();
                assert!(typed.starts_with(&format!("uwf {command}")), "{call}");
                let parsed = Cli::command().try_get_matches_from(words::split(typed).unwrap());
                assert!(parsed.is_ok(), "{call}: {}", parsed.unwrap_err());
            }
        }
    }
}
