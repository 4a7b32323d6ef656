//! The questions of `uwf setup`, on stderr: stdout is for the result. A question that a flag answers is not asked.

use std::io::{Write as _, stderr};
use std::time::Duration;

use dialoguer::{Input, Password};
use uwf_agent_kit::llm::{CallLimits, Client, Endpoint, Secret};
use uwf_protocol::endpoint;
use uwf_util::printable::printable;
use uwf_util::suggest;

use super::plan::{Answers, Key, MODEL_ALIAS, ModelAnswer};
use super::presets::{
    PRESETS, base_url_of, chat_models, key_variable, names as preset_names, no_preset,
};
use super::{
    Setting, address, agent_named, agents, base_url, default_agent, is_known_agent, key_of_flags,
    named, secret_of,
};
use crate::args::SetupArgs;
use crate::failure::Failure;

/// How long the list of models may take.
const MODELS_LIMIT: Duration = Duration::from_secs(10);

/// What stands in the menu for a provider that is no preset.
const ANOTHER: &str = "another";

/// How wide a list of names may be.
const WIDTH: usize = 100;

/// Asks for everything that the flags leave open.
pub(super) fn ask(args: &SetupArgs, setting: &Setting) -> Result<Answers, Failure> {
    let (provider, base_url) = ask_provider(args)?;
    let key = ask_key(args, setting, &provider, &base_url)?;
    let mut answer = ModelAnswer {
        provider,
        base_url,
        key,
        model: String::new(),
    };
    answer.model = match &args.model {
        Some(model) => named("model", model)?,
        None => ask_model(&answer.endpoint(), setting)?,
    };
    let agent = match &args.agent {
        Some(agent) => agent_named(agent)?,
        None => ask_agent(setting)?,
    };
    say(&format!("Calling `{}` once …", answer.model));
    Ok(Answers {
        model: Some(answer),
        agent,
    })
}

fn ask_provider(args: &SetupArgs) -> Result<(String, String), Failure> {
    let of_flags = base_url(args)?;
    let name = match &args.provider {
        Some(name) => named("provider", name)?,
        None => ask_provider_name()?,
    };
    let preset = || base_url_of(&name).map(ToOwned::to_owned);
    if let Some(url) = of_flags.or_else(preset) {
        return Ok((name, url));
    }
    if args.provider.is_some() {
        say(&format!(
            "{} (presets: {})",
            no_preset(&name),
            preset_names()
        ));
    }
    let prompt = "The address of its OpenAI-compatible API";
    let url = until_right(prompt, None, |text| address("the address", &text))?;
    Ok((name, url))
}

fn ask_provider_name() -> Result<String, Failure> {
    let mut names: Vec<String> = PRESETS.iter().map(|one| one.name.to_owned()).collect();
    names.push(ANOTHER.to_owned());
    say("Where is your model served?");
    say(&menu(&names));
    let chosen = choose("Provider (number or name)", &names, None, |name| {
        if names.contains(&name) {
            return Ok(name);
        }
        let failure = Failure::request(no_preset(&name));
        Err(failure.hint(format!("`{ANOTHER}` is for one of your own")))
    })?;
    match chosen == ANOTHER {
        true => until_right("A name for it", None, |name| named("provider", &name)),
        false => Ok(chosen),
    }
}

fn ask_key(
    args: &SetupArgs,
    setting: &Setting,
    provider: &str,
    base_url: &str,
) -> Result<Key, Failure> {
    if args.api_key.is_some() || args.api_key_env.is_some() {
        return key_of_flags(args, setting, provider);
    }
    let name = key_variable(provider);
    let known = setting.variable(&name).map(Secret::new);
    let may_be_empty = known.is_some() || endpoint::is_loopback(base_url);
    let without = match (&known, may_be_empty) {
        (Some(_), _) => format!(", empty for the one in {name}"),
        (None, true) => ", empty if it wants none".to_owned(),
        (None, false) => String::new(),
    };
    let prompt = format!("Key for {provider} (not shown{without})");
    let Some(secret) = ask_secret(&prompt, may_be_empty)? else {
        return Ok(match known {
            Some(secret) => Key::Variable {
                name,
                secret: Some(secret),
            },
            None => Key::None,
        });
    };
    if args.key_in_config {
        return Ok(Key::Config { secret });
    }
    let places = [format!(".env, as {name}"), "config.yaml".to_owned()];
    say("Where shall the key be kept?");
    say(&menu(&places));
    let place = choose("Place (number)", &places, Some("1"), |place| {
        match places.contains(&place) {
            true => Ok(place),
            false => Err(Failure::request(format!("`{place}` is not in the list"))),
        }
    })?;
    if place == places[1] {
        return Ok(Key::Config { secret });
    }
    Ok(Key::Env { name, secret })
}

/// Asks for a key until it can be one; `None` for an empty one, if it may be empty.
fn ask_secret(prompt: &str, may_be_empty: bool) -> Result<Option<Secret>, Failure> {
    loop {
        let typed = Password::new()
            .with_prompt(prompt)
            .allow_empty_password(may_be_empty)
            .interact()
            .map_err(unasked)?;
        if may_be_empty && typed.trim().is_empty() {
            return Ok(None);
        }
        match secret_of(&typed) {
            Ok(secret) => return Ok(Some(secret)),
            Err(failure) => failure.print(),
        }
    }
}

fn ask_model(endpoint: &Endpoint, setting: &Setting) -> Result<String, Failure> {
    let limits = CallLimits {
        connect: MODELS_LIMIT,
        timeout: MODELS_LIMIT,
        tries: 1,
        ..CallLimits::default()
    };
    let models = match Client::new(endpoint.clone(), limits, setting.env).models() {
        Ok(models) => chat_models(models),
        Err(error) => {
            say(&format!("The models cannot be listed: {error}"));
            Vec::new()
        }
    };
    if !models.is_empty() {
        say(&menu(&models));
    }
    let prompt = match models.is_empty() {
        true => "Model (name)",
        false => "Model (number or name)",
    };
    let model = choose(prompt, &models, None, |model| named("model", &model))?;
    say(&format!("It becomes the model `{MODEL_ALIAS}`."));
    Ok(model)
}

fn ask_agent(setting: &Setting) -> Result<String, Failure> {
    let found = agents::discover(setting.env, setting.built_in);
    let names: Vec<String> = found.iter().map(|one| one.name.clone()).collect();
    let origins = found
        .iter()
        .map(|one| format!("{} ({})", one.name, one.origin));
    if !names.is_empty() {
        say("Who shall do the work?");
        say(&rows(&origins.collect::<Vec<_>>()));
    }
    let default = default_agent(setting);
    choose("Agent (number or name)", &names, Some(&default), |agent| {
        let agent = agent_named(&agent)?;
        if is_known_agent(&agent, setting) {
            return Ok(agent);
        }
        let meant = suggest::question(&agent, names.iter().map(String::as_str));
        let failure = Failure::request(format!("there is no agent `{agent}`{meant}"));
        Err(failure.hint("a name in the list, a path, or a program `uwf-<name>` on PATH"))
    })
}

/// Asks for a number of a list, or a name, until `read` takes it.
fn choose<T>(
    prompt: &str,
    names: &[String],
    default: Option<&str>,
    read: impl Fn(String) -> Result<T, Failure>,
) -> Result<T, Failure> {
    until_right(prompt, default, |answer| read(chosen(answer, names)?))
}

/// Returns the name that a number of the list stands for, or else what was typed.
fn chosen(answer: String, names: &[String]) -> Result<String, Failure> {
    let Ok(number) = answer.parse::<usize>() else {
        return Ok(answer);
    };
    let name = number.checked_sub(1).and_then(|at| names.get(at));
    name.cloned()
        .ok_or_else(|| Failure::request(format!("`{answer}` is no number of the list")))
}

/// Asks until `read` takes the answer, and says what was wrong with the others.
fn until_right<T>(
    prompt: &str,
    default: Option<&str>,
    read: impl Fn(String) -> Result<T, Failure>,
) -> Result<T, Failure> {
    loop {
        match read(line(prompt, default)?) {
            Ok(answer) => return Ok(answer),
            Err(failure) => failure.print(),
        }
    }
}

fn line(prompt: &str, default: Option<&str>) -> Result<String, Failure> {
    let mut input = Input::<String>::new().with_prompt(prompt);
    if let Some(default) = default {
        input = input.default(default.to_owned());
    }
    let answer = input.interact().map_err(unasked)?;
    Ok(answer.trim().to_owned())
}

/// Returns numbered names, one below the other.
fn rows(names: &[String]) -> String {
    let numbered = names.iter().enumerate();
    let rows: Vec<String> = numbered
        .map(|(at, name)| format!("{:>4} {name}", at + 1))
        .collect();
    rows.join("\n")
}

/// Returns numbered names in columns, filled from the top.
fn menu(names: &[String]) -> String {
    let longest = names
        .iter()
        .map(|name| name.chars().count())
        .max()
        .unwrap_or(0);
    let cell = longest + 7;
    let columns = (WIDTH / cell).clamp(1, names.len().div_ceil(10).max(1));
    let lines = names.len().div_ceil(columns);
    let line = |row: usize| {
        let cells = (row..names.len()).step_by(lines.max(1));
        let cells = cells.map(|at| format!("{:>4} {:longest$}  ", at + 1, names[at]));
        cells.collect::<String>().trim_end().to_owned()
    };
    (0..lines).map(line).collect::<Vec<_>>().join("\n")
}

fn say(text: &str) {
    // What providers call their models must not steer the terminal.
    let _ = writeln!(stderr(), "{}", printable(text));
}

fn unasked(dialoguer::Error::IO(error): dialoguer::Error) -> Failure {
    crate::commands::unanswered(&error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fill_columns_from_the_top() {
        let names: Vec<String> = (1..=21).map(|number| format!("m{number}")).collect();
        let menu = menu(&names);
        let lines: Vec<&str> = menu.lines().collect();
        assert_eq!(lines.len(), 7);
        assert_eq!(lines[0], "   1 m1      8 m8     15 m15");
        assert_eq!(lines[6], "   7 m7     14 m14    21 m21");
    }

    #[test]
    fn long_names_stand_alone() {
        let names = vec!["x".repeat(120); 12];
        assert_eq!(menu(&names).lines().count(), 12);
    }
}
