//! The providers that `setup` knows, and what the names of models and variables tell. This module calls nobody.

use uwf_util::suggest;

/// A provider for which the user needs only a key.
pub(super) struct Preset {
    pub(super) name: &'static str,
    pub(super) base_url: &'static str,
}

/// The providers that `setup` offers, in the order of its menu.
pub(super) const PRESETS: &[Preset] = &[
    preset("openai", "https://api.openai.com/v1"),
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
    Preset { name, base_url }
}

/// Returns the base URL of a provider that is known by name.
pub(super) fn base_url_of(provider: &str) -> Option<&'static str> {
    let preset = PRESETS.iter().find(|preset| preset.name == provider)?;
    Some(preset.base_url)
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
        assert_eq!(key_variable("my-host.2"), "MY_HOST_2_API_KEY");
        assert_eq!(key_variable("1st"), "_1ST_API_KEY");
    }

    #[test]
    fn every_preset_leads_somewhere() {
        assert_eq!(PRESETS.len(), 13);
        for preset in PRESETS {
            assert!(preset.base_url.starts_with("http") && !preset.base_url.ends_with('/'));
            assert_eq!(base_url_of(preset.name), Some(preset.base_url));
        }
    }
}
