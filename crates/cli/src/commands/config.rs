//! `uwf config …`.

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::SIGINT;
use uwf_config::{ConfigError, Draft, Finding};
use uwf_protocol::exit::Exit;
use uwf_protocol::prices::{DATE, Prices};
use uwf_storage::{Env, Root};
use uwf_util::shell_words;

use crate::args::ConfigCommand;
use crate::ask::{can_ask, confirm};
use crate::commands::{Context, sharing};
use crate::failure::{Failure, say, warn};
use crate::output::print;
use crate::text::{
    CheckView, ConfigView, EditedView, OriginsView, PathView, PricesView, SetView, UnsetView,
    ValueView,
};

pub(crate) fn run(context: &Context, command: ConfigCommand) -> Result<Exit, Failure> {
    let (root, format) = (&context.site().root, context.format);
    match command {
        ConfigCommand::List { origin: false } => {
            print(&ConfigView(uwf_config::list_masked(root)?), format)?;
        }
        ConfigCommand::List { origin: true } => {
            let values = uwf_config::values_for(root, context.site().env.cwd())?;
            print(&OriginsView(values), format)?;
        }
        ConfigCommand::Get { key } => {
            let value = uwf_config::get_masked(root, &key)?;
            print(&ValueView { value }, format)?;
        }
        ConfigCommand::Set { key, value } => {
            match key.as_str() {
                "remote.url" => sharing::check_url(&value)?,
                "remote.schema" => sharing::check_schema(&value)?,
                _ => {}
            }
            root.create()?;
            let before = dangling(context);
            let value = uwf_config::set(root, &key, &value)?;
            warn_of_dangling(context, &before, &key);
            print(&SetView { key, value }, format)?;
        }
        ConfigCommand::Unset { key } => {
            let before = dangling(context);
            uwf_config::unset(root, &key)?;
            warn_of_dangling(context, &before, &key);
            print(&UnsetView { key }, format)?;
        }
        ConfigCommand::Edit => print(&edit(root, &context.site().env)?, format)?,
        ConfigCommand::Validate => return validate(context),
        ConfigCommand::Prices => print(&prices(root)?, format)?,
        ConfigCommand::Path => {
            let path = root.config_file();
            print(&PathView { path }, format)?;
        }
    }
    Ok(Exit::Done)
}

/// Returns the findings about names in the config that refer to nothing. A config that cannot be checked has none; the
/// change that comes next reports its error.
fn dangling(context: &Context) -> Vec<Finding> {
    let found = uwf_config::check(&context.site().root, &context.site().env);
    let mut errors = found.map_or_else(|_| Vec::new(), |found| found.errors);
    errors.retain(|one| one.dangling);
    errors
}

/// Warns of names that refer to nothing because of a change, and of the one that was set. This is no error, because
/// entries are set one by one.
fn warn_of_dangling(context: &Context, before: &[Finding], key: &str) {
    for one in dangling(context) {
        let is_known = |old: &Finding| old.key == one.key && old.problem == one.problem;
        if one.key == key || !before.iter().any(is_known) {
            warn(&format!("{}: {}", one.key, one.problem));
        }
    }
}

/// Returns the prices that hold. An entry of the config that is not complete is none, which is a warning.
fn prices(root: &Root) -> Result<PricesView, Failure> {
    let config = uwf_config::load(root)?.unwrap_or_default();
    for (model, entry) in &config.prices {
        if let Some(field) = entry.missing() {
            let key = format!("prices.{model}.{field}");
            let key = shell_words::quote(&key);
            warn(&format!(
                "prices.{model}: `{field}` is missing, so it is no price; `uwf config set {key} <dollars>` adds it"
            ));
        }
    }
    Ok(PricesView {
        built_in_date: DATE,
        prices: Prices::of(&config.prices).rows(),
    })
}

fn validate(context: &Context) -> Result<Exit, Failure> {
    let root = &context.site().root;
    let findings = uwf_config::check(root, &context.site().env)?;
    let view = CheckView::new(root.config_file(), findings);
    print(&view, context.format)?;
    Ok(if view.valid {
        Exit::Done
    } else {
        Exit::Request
    })
}

/// Lets the user edit a copy until it is sound, then replaces the file.
fn edit(root: &Root, env: &Env) -> Result<EditedView, Failure> {
    // An interrupt is meant for the editor or for the question whether to edit again, and must not end this process.
    signal_hook::flag::register(SIGINT, Arc::new(AtomicBool::new(false)))
        .map_err(|error| Failure::request("cannot watch for signals").cause(&error))?;
    root.create()?;
    let path = root.config_file();
    let draft = Draft::open(root)?;
    loop {
        if let Err(failure) = open_editor(env, &draft) {
            return Err(put_aside(draft, failure));
        }
        let text = draft.text()?;
        if draft.is_unchanged(&text) {
            draft.discard()?;
            return Ok(EditedView {
                path,
                changed: false,
            });
        }
        let findings = uwf_config::check_text(&text, root, env)?;
        if findings.errors.is_empty() {
            let kept = format!("what you wrote is kept in `{}`", draft.path().display());
            draft.accept(root, &text).map_err(|error| match error {
                ConfigError::ChangedMeanwhile { .. } => Failure::from(error),
                other => Failure::from(other).cause(&kept),
            })?;
            return Ok(EditedView {
                path,
                changed: true,
            });
        }
        let view = CheckView::new(draft.path().to_owned(), findings);
        for line in view.lines_of_errors() {
            say("error", &line);
        }
        let kept = format!("it is kept in `{}`", draft.path().display());
        if !edits_again().map_err(|failure| failure.hint(&kept))? {
            return Err(Failure::request("what you wrote cannot be the config").hint(kept));
        }
    }
}

/// Runs the user's editor on the copy. It runs through the shell because the variables may contain arguments.
fn open_editor(env: &Env, draft: &Draft) -> Result<(), Failure> {
    let editor = env
        .var("VISUAL")
        .or_else(|| env.var("EDITOR"))
        .unwrap_or("vi");
    let status = Command::new("sh")
        .arg("-c")
        .arg(format!("{editor} \"$1\""))
        .args(["sh".as_ref(), draft.path().as_os_str()])
        .status();
    let failure = || {
        Failure::request(format!("the editor `{editor}` failed"))
            .hint("VISUAL or EDITOR names the editor")
    };
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(failure().cause(&status)),
        Err(error) => Err(failure().cause(&error)),
    }
}

/// Discards an unchanged copy. A changed one is kept, and the failure names it.
fn put_aside(draft: Draft, failure: Failure) -> Failure {
    let path = draft.path().display().to_string();
    match draft.text() {
        Ok(text) if draft.is_unchanged(&text) => match draft.discard() {
            Ok(()) => failure,
            Err(error) => failure.cause(&error),
        },
        _ => failure.cause(&format!("what you wrote is kept in `{path}`")),
    }
}

/// Asks whether to edit again. Without a terminal nobody can answer, so the answer is no.
fn edits_again() -> Result<bool, Failure> {
    if !can_ask() {
        return Ok(false);
    }
    confirm("Edit again?", true)
}
