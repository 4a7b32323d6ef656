//! The providers that `setup` knows, and what the names of models and variables tell. This module calls nobody.

use uwf_agent_kit::llm::Api;
use uwf_protocol::config::Config;
use uwf_util::suggest;

/// A provider for which the user needs only a key.
pub(super) struct Preset {
    pub(super) name: &'static str,
    pub(super) base_url: &'static str,
    pub(super) api: Api,
    /// The variable that usually holds its key, if that is not the one of its name.
    key: Option<&'static str>,
}

/// The providers that `setup` offers, in the order of its menu.
pub(super) const PRESETS: &[Preset] = &[
    preset("openai", "https://api.openai.com/v1"),
    Preset {
        api: Api::Messages,
        ..preset("anthropic", "https://api.anthropic.com/v1")
    },
    Preset {
        key: Some("GEMINI_API_KEY"),
        ..preset(
            "google",
            "https://generativelanguage.googleapis.com/v1beta/openai",
        )
    },
    preset("xai", "https://api.x.ai/v1"),
    preset("openrouter", "https://openrouter.ai/api/v1"),
    preset("venice", "https://api.venice.ai/api/v1"),
    preset(
        "dashscope",
        "https://dashscope.aliyuncs.com/compatible-mode/v1",
    ),
    preset("deepseek", "https://api.deepseek.com/v1"),
    preset("siliconflow", "https://api.siliconflow.cn/v1"),
    preset("volcengine", "https://ark.cn-beijing.volces.com/api/v3"),
    preset("kimi", "https://api.moonshot.cn/v1"),
    preset("glm", "https://open.bigmodel.cn/api/paas/v4"),
    preset("stepfun", "https://api.stepfun.com/v1"),
    preset("minimax", "https://api.minimax.io/v1"),
    preset("ollama", "http://localhost:11434/v1"),
];

const fn preset(name: &'static str, base_url: &'static str) -> Preset {
    Preset {
        name,
        base_url,
        api: Api::Chat,
        key: None,
    }
}

/// Returns the preset of a provider that is known by name.
fn preset_of(provider: &str) -> Option<&'static Preset> {
    PRESETS.iter().find(|preset| preset.name == provider)
}

/// Returns the base URL of a provider that is known by name.
pub(super) fn base_url_of(provider: &str) -> Option<&'static str> {
    Some(preset_of(provider)?.base_url)
}

/// Returns the API that a provider speaks at an address: what the config says of it there, else what its preset says.
pub(super) fn api_of(provider: &str, base_url: &str, config: &Config) -> Api {
    let known = config.providers.get(provider);
    match known.filter(|known| known.base_url.as_deref() == Some(base_url)) {
        Some(known) => known.api.unwrap_or_default(),
        None => preset_of(provider).map_or(Api::Chat, |preset| preset.api),
    }
}

/// Returns the names of all presets, with commas between them.
pub(crate) fn names() -> String {
    let names: Vec<&str> = PRESETS.iter().map(|preset| preset.name).collect();
    names.join(", ")
}

/// Returns the message about a name that is not a preset, with the nearest preset.
pub(super) fn no_preset(name: &str) -> String {
    let meant = suggest::question(name, PRESETS.iter().map(|preset| preset.name));
    format!("`{name}` is not a preset{meant}")
}

/// Parts of the names of models that do not chat.
const NO_CHAT: &[&str] = &[
    "speech",
    "embed",
    "image",
    "video",
    "audio",
    "ocr",
    "rerank",
    "tts",
    "asr",
    "paraformer",
    "sambert",
    "cosyvoice",
    "wordart",
    "wanx",
    "wan2",
    "flux",
    "stable-diffusion",
    "gui-",
];

/// Returns the models that can chat, sorted.
pub(super) fn chat_models(models: Vec<String>) -> Vec<String> {
    let chats = |name: &String| {
        let name = name.to_lowercase();
        !NO_CHAT.iter().any(|part| name.contains(part))
    };
    let mut models: Vec<String> = models.into_iter().filter(chats).collect();
    models.sort();
    models.dedup();
    models
}

/// Returns the variable that usually holds a provider's key.
pub(super) fn key_variable(provider: &str) -> String {
    if let Some(name) = preset_of(provider).and_then(|preset| preset.key) {
        return name.to_owned();
    }
    let word = |c: char| match c {
        c if c.is_ascii_alphanumeric() => c.to_ascii_uppercase(),
        _ => '_',
    };
    let name: String = provider.chars().map(word).collect();
    match name.chars().next() {
        Some(first) if first.is_ascii_digit() => format!("_{name}_API_KEY"),
        _ => format!("{name}_API_KEY"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_that_do_not_chat_are_left_out() {
        let names = [
            "gpt-5",
            "text-Embedding-3",
            "a-model",
            "whisper-tts",
            "gpt-5",
            "Wan2-x",
        ];
        let models = chat_models(names.map(ToOwned::to_owned).to_vec());
        assert_eq!(models, ["a-model", "gpt-5"]);
    }

    #[test]
    fn the_variable_is_named_after_the_provider() {
        assert_eq!(key_variable("openai"), "OPENAI_API_KEY");
        assert_eq!(key_variable("anthropic"), "ANTHROPIC_API_KEY");
        assert_eq!(key_variable("google"), "GEMINI_API_KEY");
        assert_eq!(key_variable("my-host.2"), "MY_HOST_2_API_KEY");
        assert_eq!(key_variable("1st"), "_1ST_API_KEY");
    }

    #[test]
    fn every_preset_leads_somewhere() {
        assert_eq!(PRESETS.len(), 15);
        for preset in PRESETS {
            assert!(preset.base_url.starts_with("http") && !preset.base_url.ends_with('/'));
            assert_eq!(base_url_of(preset.name), Some(preset.base_url));
        }
    }

    #[test]
    fn the_api_is_that_of_the_preset_unless_the_config_says_something_of_the_same_address() {
        let of = |provider: &str, url: &str, known: serde_json::Value| {
            let config = serde_json::json!({ "providers": { "anthropic": known } });
            api_of(provider, url, &serde_json::from_value(config).unwrap())
        };
        let other = serde_json::json!({ "baseUrl": "https://proxy/v1" });
        assert_eq!(
            of("anthropic", "https://h/v1", other.clone()),
            Api::Messages
        );
        assert_eq!(
            of("anthropic", "https://proxy/v1", other.clone()),
            Api::Chat
        );
        assert_eq!(of("google", "https://h/v1", other.clone()), Api::Chat);
        assert_eq!(of("mine", "https://h/v1", other), Api::Chat);
    }
}
