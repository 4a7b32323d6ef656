//! The subscriber of `tracing` events. It writes the events of our crates to the process log, and those that `UWF_LOG`
//! selects to stderr. Events of other crates are dropped, because they may contain the headers of a request.

mod filter;

use std::fmt::{self, Debug, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};

use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::set_global_default;
use tracing::{Event, Level, Metadata};
use uwf_storage::{Env, LogEntry, ProcessLog, Root};
use uwf_util::causes::with_causes;

use crate::failure::Failure;
use crate::stderr;
use filter::Filter;

/// The variable that selects the events for stderr.
const VARIABLE: &str = "UWF_LOG";
/// The lowest level in the process log. Lower levels are for debugging.
const LOGGED: Level = Level::INFO;

/// Writes the events of this process to the process log of the root, and those that `UWF_LOG` selects to stderr. No file
/// is touched before the first event.
///
/// # Errors
/// When `UWF_LOG` is invalid.
pub(crate) fn install(env: &Env, root: &Root) -> Result<(), Failure> {
    let log = ProcessLog::new(root, env.process_id(), env.started_ms());
    set(Some(log), asked(env)?, env);
    Ok(())
}

/// Writes the events that `UWF_LOG` selects to stderr. Agents leave no entries in the process log.
///
/// # Errors
/// See [`install`].
pub(crate) fn install_without_log(env: &Env) -> Result<(), Failure> {
    if env.var(VARIABLE).is_some() {
        set(None, asked(env)?, env);
    }
    Ok(())
}

fn asked(env: &Env) -> Result<Filter, Failure> {
    let Some(text) = env.var(VARIABLE) else {
        return Ok(Filter::default());
    };
    text.parse().map_err(|problem| {
        Failure::usage(format!("{problem} in `{VARIABLE}`")).hint(format!(
            "levels are off, error, warn, info, debug and trace, for all or for a part: \
             `{VARIABLE}=debug`, `{VARIABLE}=info,uwf_agent_kit=trace`"
        ))
    })
}

fn set(log: Option<ProcessLog>, shown: Filter, env: &Env) {
    let env = env.clone();
    // This fails only if a subscriber was set before, and nothing else sets one.
    let _ = set_global_default(Subscriber {
        log,
        shown,
        env,
        is_lossy: AtomicBool::new(false),
    });
}

/// The one subscriber of the process. It ignores spans, because our code makes none.
struct Subscriber {
    log: Option<ProcessLog>,
    shown: Filter,
    env: Env,
    /// Whether the last line of the log was lost. People are told of the first one in a row.
    is_lossy: AtomicBool,
}

impl Subscriber {
    fn is_logged(&self, metadata: &Metadata<'_>) -> bool {
        self.log.is_some() && *metadata.level() <= LOGGED
    }
}

impl tracing::Subscriber for Subscriber {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        is_ours(metadata.target()) && (self.is_logged(metadata) || self.shown.passes(metadata))
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        let logged = match self.log {
            Some(_) => LevelFilter::from_level(LOGGED),
            None => LevelFilter::OFF,
        };
        Some(logged.max(self.shown.most()))
    }

    fn event(&self, event: &Event<'_>) {
        let metadata = event.metadata();
        let mut fields = Fields::default();
        event.record(&mut fields);
        if self.is_logged(metadata)
            && let Some(log) = &self.log
        {
            let written = log.write(self.env.now_ms(), &fields.entry());
            let was_lossy = self.is_lossy.swap(written.is_err(), Ordering::Relaxed);
            if let (Err(error), false) = (written, was_lossy) {
                let error = with_causes(&error);
                stderr::message(
                    "note",
                    &format!("`uwf log` lacks what happens now: {error}"),
                );
            }
        }
        if self.shown.passes(metadata) {
            let level = metadata.level().as_str().to_lowercase();
            let elapsed_ms = self.env.now_ms() - self.env.started_ms();
            let text = format!("{} {elapsed_ms} ms: {fields}", metadata.target());
            stderr::message(&level, &text);
        }
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// Tells whether a target, which is the path of a module, is in one of our crates.
fn is_ours(target: &str) -> bool {
    let name = target.split("::").next().unwrap_or_default();
    name == "uwf" || name.starts_with("uwf_")
}

/// The fields of an event.
#[derive(Default)]
struct Fields {
    message: String,
    others: Vec<(&'static str, String)>,
}

impl Fields {
    fn entry(&self) -> LogEntry<'_> {
        let value = |wanted: &str| {
            let mut found = self.others.iter().filter(|(name, _)| *name == wanted);
            found.next().map(|(_, value)| value.as_str())
        };
        LogEntry {
            tag: value("tag").unwrap_or_default(),
            event: value("event").unwrap_or_default(),
            message: &self.message,
            thread: value("thread"),
            workflow: value("workflow"),
        }
    }
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        match field.name() {
            "message" => self.message = format!("{value:?}"),
            name => self.others.push((name, format!("{value:?}"))),
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.record_debug(field, &format_args!("{value}"));
    }
}

/// The message, then the other fields.
impl fmt::Display for Fields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        for (name, value) in &self.others {
            f.write_char(' ')?;
            write!(f, "{name}={value}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use tracing::subscriber::with_default;

    use super::*;

    /// 2026-11-21T23:59:59.999Z
    const NOW: i64 = 1_795_305_599_999;

    /// Returns the process log after some events, of ours and of others.
    fn logged() -> String {
        let temp = tempfile::tempdir().unwrap();
        let root = Root::at(temp.path().to_owned());
        let subscriber = Subscriber {
            log: Some(ProcessLog::new(&root, 7, NOW)),
            shown: Filter::default(),
            env: Env::from_parts(&[], "/", NOW, 0),
            is_lossy: AtomicBool::new(false),
        };
        with_default(subscriber, || {
            assert!(!root.logs_dir().exists());
            tracing::debug!(tag = "AAAAAAAA", "not logged");
            tracing::info!(target: "hyper::client", "authorization: secret");
            let thread = Some("01J7K9Z000000000000000000A");
            tracing::info!(tag = "BBBBBBBB", event = "tried", thread, "n={}", 1);
        });
        std::fs::read_to_string(root.logs_dir().join("2026-11-21.jsonl")).unwrap()
    }

    #[test]
    fn the_process_log_has_the_events_of_our_crates_from_info_on() {
        let start = r#"{"ts":"2026-11-21T23:59:59.999Z","pid":7,"tag":"BBBBBBBB","msg":"n=1","#;
        let end = format!(
            r#""thread":"01J7K9Z000000000000000000A","event":"tried","process":"{NOW}-7"}}"#
        );
        assert_eq!(logged(), format!("{start}{end}\n"));
    }

    #[test]
    fn only_crates_of_ours_are_ours() {
        for (target, expected) in [
            ("uwf", true),
            ("uwf::commands", true),
            ("uwf_agent_kit::llm", true),
            ("uwfx", false),
            ("hyper_util::client", false),
            ("reqwest", false),
        ] {
            assert_eq!(is_ours(target), expected, "{target}");
        }
    }
}
