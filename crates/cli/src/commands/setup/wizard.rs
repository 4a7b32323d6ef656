//! The questions of `uwf setup`, on stderr: stdout is for the result. A question that a flag answers is not asked.

use std::cell::RefCell;
use std::io::{Write as _, stderr};
use std::time::Duration;

use dialoguer::{Input, Password};
use uwf_agent_kit::llm::{CallLimits, Client, LlmError, Secret};
use uwf_agents::{Keeping, keeping, leaves_open};
use uwf_protocol::endpoint;
use uwf_protocol::permissions::Permissions;
use uwf_util::printable::printable;
use uwf_util::suggest;

use super::plan::{Answers, Behind, Key, MODEL_ALIAS, ModelAnswer};
use super::presets::{
    PRESETS, api_of, base_url_of, chat_models, key_variable, names as preset_names, no_preset,
};
use super::{
    Setting, address, agent_named, agents, base_url, default_agent, is_known_agent, key_of_flags,
    named, secret_of, unknown_agent,
};
use crate::args::SetupArgs;
use crate::commands::doctor::providers::is_called;
use crate::failure::Failure;

/// The time limit for the list of models.
const MODELS_LIMIT: Duration = Duration::from_secs(10);

/// The entry of the menu for a provider without a preset.
const ANOTHER: &str = "another";

/// How wide a list of names may be.
const WIDTH: usize = 100;

/// Asks for everything that the flags leave open.
pub(super) fn ask(args: &SetupArgs, setting: &Setting) -> Result<Answers, Failure> {
    let (provider, base_url) = ask_provider(args, setting)?;
    let (key, is_typed) = ask_key(args, setting, &provider, &base_url)?;
    let mut answer = ModelAnswer {
        api: api_of(&provider, &base_url, &setting.config),
        provider,
        base_url,
        key,
        model: String::new(),
    };
    // Listing the models also tests address and key. This comes before the question where to keep the key.
    let models = list_models(&mut answer, is_typed, args, setting)?;
    if is_typed && !args.key_in_config {
        answer.key = ask_place(answer.key, &answer.provider)?;
    }
    answer.model = match &args.model {
        Some(model) => named("model", model)?,
        None => ask_model(&models, setting, &answer.provider)?,
    };
    let agent = match &args.agent {
        Some(agent) => agent_named(agent)?,
        None => ask_agent(setting)?,
    };
    if !is_known_agent(&agent, setting) {
        return Err(unknown_agent(&agent, setting));
    }
    let permissions = ask_permissions(args, setting, &agent)?;
    say(&format!("Calling `{}` once …", answer.model));
    Ok(Answers {
        model: Some(answer),
        agent,
        permissions,
        limits: args.into(),
    })
}

/// Asks what an agent may do without asking, unless a flag or its entry says so, or `uwf` has no say in it.
pub(super) fn ask_permissions(
    args: &SetupArgs,
    setting: &Setting,
    agent: &str,
) -> Result<Option<Permissions>, Failure> {
    let behind = Behind::of(agent, &setting.config);
    let (adapter, own) = (&behind.adapter, &behind.args);
    let is_open = behind.permissions.is_none() && (own.is_empty() || leaves_open(adapter, own));
    let has_options = matches!(
        keeping(adapter, own, Permissions::Read),
        Some(Keeping::Options(_))
    );
    if args.permissions.is_some() || !has_options || !is_open {
        return Ok(args.permissions);
    }
    let choices = Permissions::ALL.map(|one| format!("{one}: {}", one.about()));
    say(&format!(
        "What may `{agent}` do without asking? A step has nobody to ask."
    ));
    say(&rows(&choices));
    let names = Permissions::WORDS.map(str::to_owned);
    let chosen = choose(
        "Without asking (number or name)",
        &names,
        Some("2"),
        |name| {
            name.parse::<Permissions>()
                .map_err(|_| Failure::request(format!("`{name}` is not in the list")))
        },
    );
    chosen.map(Some)
}

/// Returns the provider and the name of the config's default model.
fn present<'a>(setting: &'a Setting<'_>) -> Option<(&'a str, &'a str)> {
    let config = &setting.config;
    let alias = config.default_model.as_deref().unwrap_or(MODEL_ALIAS);
    let model = config.models.get(alias)?;
    Some((model.provider.as_deref()?, model.name.as_deref()?))
}

fn ask_provider(args: &SetupArgs, setting: &Setting) -> Result<(String, String), Failure> {
    let of_flags = base_url(args)?;
    let name = match &args.provider {
        Some(name) => named("provider", name)?,
        None => ask_provider_name(setting)?,
    };
    let known = setting.config.providers.get(&name);
    let known = known.and_then(|known| known.base_url.clone());
    let preset = base_url_of(&name).map(|url| known.clone().unwrap_or_else(|| url.to_owned()));
    if let Some(url) = of_flags.or(preset) {
        return Ok((name, url));
    }
    if args.provider.is_some() && known.is_none() {
        say(&format!(
            "{} (presets: {})",
            no_preset(&name),
            preset_names()
        ));
    }
    let prompt = "The address of its OpenAI-compatible API";
    let url = until_right(prompt, known.as_deref(), |text| {
        address("the address", &text)
    })?;
    Ok((name, url))
}

fn ask_provider_name(setting: &Setting) -> Result<String, Failure> {
    let mut names: Vec<String> = PRESETS.iter().map(|one| one.name.to_owned()).collect();
    let own = setting.config.providers.keys();
    names.extend(own.filter(|name| base_url_of(name).is_none()).cloned());
    names.push(ANOTHER.to_owned());
    say("Where is your model served?");
    say(&menu(&names));
    let default = present(setting).map(|(provider, _)| provider);
    let default = default.filter(|provider| names.iter().any(|name| name == provider));
    let chosen = choose("Provider (number or name)", &names, default, |name| {
        if names.contains(&name) {
            return Ok(name);
        }
        let failure = Failure::request(no_preset(&name));
        Err(failure.hint(format!("`{ANOTHER}` is for one of your own")))
    })?;
    if chosen == ANOTHER {
        return until_right("A name for it", None, |name| named("provider", &name));
    }
    Ok(chosen)
}

/// Returns the key, and whether it was typed just now. An existing key need not be typed.
fn ask_key(
    args: &SetupArgs,
    setting: &Setting,
    provider: &str,
    base_url: &str,
) -> Result<(Key, bool), Failure> {
    if args.api_key.is_some() || args.api_key_env.is_some() {
        return Ok((key_of_flags(args, setting, provider)?, false));
    }
    let present = present_key(setting, provider);
    let may_be_empty = present.is_some() || endpoint::is_loopback(base_url);
    let without = match (&present, may_be_empty) {
        (Some((_, place)), _) => format!(", empty for the one in {place}"),
        (None, true) => ", empty if it wants none".to_owned(),
        (None, false) => String::new(),
    };
    let prompt = format!("Key for {provider} (not shown{without})");
    Ok(match ask_secret(&prompt, may_be_empty)? {
        Some(secret) => (typed_key(args, secret, provider), true),
        None => (present.map_or(Key::None, |(key, _)| key), false),
    })
}

/// Returns the existing key of a provider, and where it is.
fn present_key(setting: &Setting, provider: &str) -> Option<(Key, String)> {
    let known = setting.config.providers.get(provider);
    if let Some(key) = known.and_then(|known| known.api_key.as_deref()) {
        let secret = Secret::new(key);
        return Some((Key::Config { secret }, "config.yaml".to_owned()));
    }
    let variable = known.and_then(|known| known.api_key_env.clone());
    let name = variable.unwrap_or_else(|| key_variable(provider));
    let secret = Some(Secret::new(setting.variable(&name)?));
    Some((
        Key::Variable {
            name: name.clone(),
            secret,
        },
        name,
    ))
}

/// Returns a typed key with the place where it is kept by default.
fn typed_key(args: &SetupArgs, secret: Secret, provider: &str) -> Key {
    if args.key_in_config {
        return Key::Config { secret };
    }
    let name = key_variable(provider);
    Key::Env { name, secret }
}

/// Asks where to keep a typed key.
fn ask_place(key: Key, provider: &str) -> Result<Key, Failure> {
    let (Key::Env { secret, .. } | Key::Config { secret }) = key else {
        return Ok(key);
    };
    let name = key_variable(provider);
    let places = [format!(".env, as {name}"), "config.yaml".to_owned()];
    say("Where shall the key be kept?");
    say(&menu(&places));
    let place = choose("Place (number)", &places, Some("1"), |place| {
        if places.contains(&place) {
            return Ok(place);
        }
        Err(Failure::request(format!("`{place}` is not in the list")))
    })?;
    Ok(if place == places[1] {
        Key::Config { secret }
    } else {
        Key::Env { name, secret }
    })
}

/// Asks for a key until the answer is a valid one. Returns `None` for an empty answer, if it may be empty.
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

/// Lists the models of a provider. If the server cannot be reached or refuses the key, asks for the address or the key
/// again; an empty answer keeps it.
fn list_models(
    answer: &mut ModelAnswer,
    is_typed: bool,
    args: &SetupArgs,
    setting: &Setting,
) -> Result<Vec<String>, Failure> {
    let limits = CallLimits {
        connect: MODELS_LIMIT,
        timeout: MODELS_LIMIT,
        tries: 1,
        ..CallLimits::default()
    };
    loop {
        let error = match Client::new(answer.endpoint(), limits, setting.env).models() {
            Ok(models) => return Ok(chat_models(models)),
            Err(error) => error,
        };
        say(&format!("The models cannot be listed: {error}"));
        match error {
            LlmError::Unauthorized { .. } if is_typed => {
                let prompt = format!("Key for {} (not shown, empty to keep it)", answer.provider);
                match ask_secret(&prompt, true)? {
                    Some(secret) => answer.key = typed_key(args, secret, &answer.provider),
                    None => return Ok(Vec::new()),
                }
            }
            LlmError::Connection { .. } | LlmError::Timeout { .. } | LlmError::Tls { .. }
                if args.base_url.is_none() =>
            {
                let prompt = "Its address, again (empty to keep it)";
                let url = until_right(prompt, Some(&answer.base_url), |text| {
                    address("the address", &text)
                })?;
                if url == answer.base_url {
                    return Ok(Vec::new());
                }
                answer.base_url = url;
            }
            _ => return Ok(Vec::new()),
        }
    }
}

/// Asks for a model. A name that is not in the list must be typed twice, because some servers serve more than they list.
fn ask_model(models: &[String], setting: &Setting, provider: &str) -> Result<String, Failure> {
    if !models.is_empty() {
        say(&menu(models));
    }
    let prompt = if models.is_empty() {
        "Model (name)"
    } else {
        "Model (number or name)"
    };
    let default = present(setting).filter(|(known, _)| *known == provider);
    let default = default.map(|(_, model)| model);
    let doubted = RefCell::new(None);
    let model = choose(prompt, models, default, |text| {
        let model = named("model", &text)?;
        if model.contains(char::is_whitespace) {
            return Err(Failure::request(format!(
                "`{model}` is no name for a model: it has a blank"
            )));
        }
        let is_listed = models.is_empty() || models.iter().any(|one| is_called(one, &model));
        if is_listed || doubted.replace(Some(model.clone())).as_ref() == Some(&model) {
            return Ok(model);
        }
        let meant = suggest::question(&model, models.iter().map(String::as_str));
        let failure = Failure::request(format!("`{model}` is not in the list{meant}"));
        Err(failure.hint(
            "type it once more to have it all the same: some servers serve more than they list",
        ))
    })?;
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
        Err(unknown_agent(&agent, setting))
    })
}

/// Asks for a number of a list or a name, until `read` accepts the answer.
fn choose<T>(
    prompt: &str,
    names: &[String],
    default: Option<&str>,
    read: impl Fn(String) -> Result<T, Failure>,
) -> Result<T, Failure> {
    until_right(prompt, default, |answer| read(chosen(answer, names)?))
}

/// Returns the name with a number of the list, or any other answer unchanged.
fn chosen(answer: String, names: &[String]) -> Result<String, Failure> {
    let Ok(number) = answer.parse::<usize>() else {
        return Ok(answer);
    };
    let name = number.checked_sub(1).and_then(|at| names.get(at));
    name.cloned()
        .ok_or_else(|| Failure::request(format!("`{answer}` is not a number from the list")))
}

/// Asks until `read` accepts the answer, and prints why it refuses one.
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
    // The names of models come from providers, and must not control the terminal.
    let _ = writeln!(stderr(), "{}", printable(text));
}

fn unasked(dialoguer::Error::IO(error): dialoguer::Error) -> Failure {
    crate::ask::unanswered(&error)
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
