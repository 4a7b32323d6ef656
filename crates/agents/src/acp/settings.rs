//! The settings that an agent offers for a session: its model and its mode, which agents tell in two forms.

use serde_json::{Value, json};

/// A setting of a session.
#[derive(Debug, Default, Clone, PartialEq)]
pub(super) struct Setting {
    /// The value that it has; `None` if the agent does not tell.
    pub(super) current: Option<String>,
    /// The values that it can have; `None` if the agent does not tell.
    pub(super) offered: Option<Vec<String>>,
    /// The option of the session that it is; `None` if it has a method of its own.
    option: Option<String>,
}

/// Returns the model of a session that was opened.
pub(super) fn model(opened: &Value) -> Setting {
    let models = &opened["models"];
    let offered = values(&models["availableModels"], "modelId");
    own(models, "currentModelId", offered).unwrap_or_else(|| option(opened, "model"))
}

/// Returns the mode of a session that was opened.
pub(super) fn mode(opened: &Value) -> Setting {
    let modes = &opened["modes"];
    let offered = values(&modes["availableModes"], "id");
    own(modes, "currentModeId", offered).unwrap_or_else(|| option(opened, "mode"))
}

impl Setting {
    /// Returns the method that sets the value, with its parameters. `own` is the method that the setting has beside those of
    /// options, with the name of its parameter.
    pub(super) fn set(
        &self,
        own: (&'static str, &str),
        session: &Value,
        value: &str,
    ) -> (&'static str, Value) {
        let (method, parameter) = own;
        match &self.option {
            Some(option) => (
                "session/set_config_option",
                json!({ "sessionId": session, "configId": option, "value": value }),
            ),
            None => (method, json!({ "sessionId": session, parameter: value })),
        }
    }
}

fn own(told: &Value, current: &str, offered: Option<Vec<String>>) -> Option<Setting> {
    told.is_object().then(|| Setting {
        current: told[current].as_str().map(ToOwned::to_owned),
        offered,
        option: None,
    })
}

/// Returns the setting that is an option of the session, by its category, or else by its id.
fn option(opened: &Value, name: &str) -> Setting {
    let options = opened["configOptions"].as_array();
    let options = options.map_or(&[][..], Vec::as_slice);
    let by = |key: &str| options.iter().find(|option| option[key] == name);
    let Some(option) = by("category").or_else(|| by("id")) else {
        return Setting::default();
    };
    let id = option["id"].as_str().unwrap_or(name);
    Setting {
        current: option["currentValue"].as_str().map(ToOwned::to_owned),
        offered: values(&option["options"], "value"),
        option: Some(id.to_owned()),
    }
}

/// Returns the values of a list, whose entries may be groups of values.
fn values(list: &Value, key: &str) -> Option<Vec<String>> {
    let mut found = Vec::new();
    for entry in list.as_array()? {
        match entry[key].as_str() {
            Some(value) => found.push(value.to_owned()),
            None => found.extend(values(&entry["options"], key).unwrap_or_default()),
        }
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What an agent tells whose settings are options, reduced.
    fn options() -> Value {
        let small = json!({ "value": "p/small", "name": "Small" });
        let groups = json!([{ "group": "more", "options": [{ "value": "p/large" }] }, small]);
        json!({ "sessionId": "s-1", "configOptions": [
            { "id": "m", "category": "model", "type": "select", "currentValue": "p/small", "options": groups },
            { "id": "mode", "type": "select", "currentValue": "build", "options": [{ "value": "build" }, { "value": "plan" }] },
        ] })
    }

    #[test]
    fn settings_that_are_options_are_read_and_set_as_options() {
        let model = model(&options());
        assert_eq!(model.current.as_deref(), Some("p/small"));
        assert_eq!(model.offered.as_ref().unwrap(), &["p/large", "p/small"]);
        let own = ("session/set_model", "modelId");
        let set = model.set(own, &json!("s-1"), "p/large");
        let params = json!({ "sessionId": "s-1", "configId": "m", "value": "p/large" });
        assert_eq!(set, ("session/set_config_option", params));
        assert_eq!(mode(&options()).offered.unwrap(), ["build", "plan"]);
    }

    #[test]
    fn settings_with_methods_of_their_own_go_first() {
        let mut opened = options();
        opened["models"] = json!({ "currentModelId": "small" });
        let setting = model(&opened);
        assert_eq!(
            (setting.current.as_deref(), &setting.offered),
            (Some("small"), &None)
        );
        let own = ("session/set_model", "modelId");
        let set = setting.set(own, &json!("s-1"), "large");
        assert_eq!(set.0, "session/set_model");
        assert_eq!(set.1, json!({ "sessionId": "s-1", "modelId": "large" }));
        assert_eq!(model(&json!({})), Setting::default());
    }
}
